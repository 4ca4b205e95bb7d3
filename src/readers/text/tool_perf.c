// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Lines of perf stat, also per CPU (-A), with times (-I), as CSV (-x) or JSON (-j), and of perf report, which prints
 *
 *	# Samples: 3K of event 'kvm:kvm_pio'
 *	# Event count (approx.): 3707
 */
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "base/saturate.h"
#include "event/exit_reason.h"
#include "readers/text/lines.h"
#include "readers/text/tool_line.h"

static void span_seen(struct tool_lines *l, double s)
{
	uint64_t ns = uint64_of_double(s * 1e9 + 0.5);

	l->intervals = true;
	if (ns > l->table->span_ns)
		l->table->span_ns = ns;
}

/* The count before word `event`, whose groups of digits may be words of their own. */
static bool count_before(const struct tool_words *w, unsigned int event, uint64_t *ret,
			 unsigned int *ret_first)
{
	char number[64];
	unsigned int at = event - 1;

	if (event >= 2 && !strcmp(w->word[event - 2], "<not") && w->word[at][0] &&
	    strchr(w->word[at], '>')) {
		*ret = TOOL_TABLE_UNKNOWN;
		*ret_first = event - 2;
		return true;
	}
	while (at && w->joined[at] && strlen(w->word[at]) == 3 &&
	       strspn(w->word[at], "0123456789") == 3 && strlen(w->word[at - 1]) <= 3 &&
	       strspn(w->word[at - 1], "0123456789") == strlen(w->word[at - 1]))
		at--;
	number[0] = '\0';
	for (unsigned int i = at; i < event; i++)
		strncat(number, w->word[i], sizeof(number) - strlen(number) - 1);
	*ret_first = at;
	return tool_count_parse(number, ret);
}

/* perf stat --for-each-cgroup: after the event, where other rows end or have "#", "(" and numbers. */
static void cgroup_seen(struct tool_lines *l, const char *word)
{
	if (!*word || strchr("#(<%+-.0123456789", *word))
		return;
	if (!*l->cgroup)
		snprintf(l->cgroup, sizeof(l->cgroup), "%s", word);
	l->table->cgroups |= strncmp(l->cgroup, word, sizeof(l->cgroup) - 1) != 0;
}

enum { IDENTITY_BYTES = 256 };

static void part_add(char *identity, const char *part)
{
	size_t len = strlen(identity), more = tool_event_len(part, strlen(part));

	if (len + more + 1 < IDENTITY_BYTES)
		strcat(strncat(identity, part, more), " ");
}

/*
 * A row comes again: of another table, unless it is directly below the same heading, or of the same interval. perf stat
 * prints such rows for several filters of one event.
 */
static void row_once(struct tool_lines *l, const char *identity, const char *event)
{
	bool same = l->intervals || (l->stats == 1 && !l->text_since);

	if (!same || !tool_block_repeats(l, identity))
		tool_block_once(l, identity);
	else if (!*l->table->twice)
		snprintf(l->table->twice, sizeof(l->table->twice), "%.47s", event);
}

/* A row is of the event and of what precedes the count: a time, a CPU, a thread. */
static void words_once(struct tool_lines *l, const struct tool_words *w, unsigned int first,
		       unsigned int event)
{
	char identity[IDENTITY_BYTES] = "";

	for (unsigned int i = 0; i < first; i++)
		part_add(identity, w->word[i]);
	part_add(identity, w->word[event]);
	row_once(l, identity, w->word[event]);
}

/* ---- rows of events that are no tracepoints (cs, cycles, task-clock), which are not read ---- */

static bool is_of_stat(const struct tool_lines *l)
{
	return l->table->tool && !strcmp(l->table->tool, "perf stat");
}

/* "cpu-cycles", "cpu/cycles/u" */
static bool is_event_name(const char *s)
{
	size_t len = strlen(s);

	return isalpha((unsigned char)*s) && !s[strcspn(s, " #()<>;|\"")] && s[len - 1] != ':' &&
	       !tool_is_event(s, len);
}

static bool is_value(const char *s)
{
	double v;
	const char *end = tool_number_parse(s, &v, &(uint64_t){0});

	return (end && !*end) || !strcmp(s, "<not") || !strcmp(s, "counted>") ||
	       !strcmp(s, "supported>");
}

/* "CPU1", "S0-D0-C1", "N0", "qemu-system-x86-4711" */
static bool is_place(const char *s)
{
	const char *dash = strrchr(s, '-');
	size_t upper = strspn(s, "CPUSDN");

	return (upper && text_is_digit(s[upper])) ||
	       (dash && dash[1] && strspn(dash + 1, "0123456789") == strlen(dash + 1));
}

/* [time] [place [CPUs]] count [unit] event */
static bool is_other_event(const struct tool_lines *l, const struct tool_words *w)
{
	unsigned int at = 0;

	if (!is_of_stat(l))
		return false;
	while (at < w->nr && (is_value(w->word[at]) || is_place(w->word[at])))
		at++;
	if (!at || !is_value(w->word[at - 1]))
		return false;
	if (at + 1 < w->nr && is_event_name(w->word[at + 1])) /* "msec" */
		at++;
	return at < w->nr && is_event_name(w->word[at]) &&
	       (at + 1 == w->nr || strchr("#(<", *w->word[at + 1]));
}

/* 1: it is a row of perf stat. */
int tool_perf_stat_row(struct tool_lines *l, const struct tool_words *w)
{
	unsigned int first;
	uint64_t count, integer;
	bool has_number = l->has_number && w->nr;
	double s;
	int done = 0;

	l->has_number = false;
	if (l->intervals && (l->summary || (w->nr && !strcmp(w->word[0], "summary"))))
		return 1;
	if (has_number && tool_is_event(w->word[0], strlen(w->word[0]))) {
		tool_block_once(l, w->word[0]);
		int err = tool_count_put(l, "perf stat", ROW_OF_EVENT, w->word[0], l->number);

		return err ? err : 1;
	}
	l->has_number = w->nr && count_before(w, w->nr, &l->number, &first) && !first;
	for (unsigned int i = 1; i < w->nr && done >= 0; i++) {
		if (!tool_is_event(w->word[i], strlen(w->word[i])) ||
		    !count_before(w, i, &count, &first))
			continue;
		const char *end =
			first && !done ? tool_number_parse(w->word[0], &s, &integer) : NULL;

		if (end && !*end && strpbrk(w->word[0], ".,"))
			span_seen(l, s);
		if (i + 1 < w->nr)
			cgroup_seen(l, w->word[i + 1]);
		words_once(l, w, done ? 0 : first, i);
		done = tool_count_put(l, "perf stat", ROW_OF_EVENT, w->word[i], count) ?: 1;
	}
	return done ? done : is_other_event(l, w);
}

/* "4.012820135 +- 0.002 seconds time elapsed"; several runs follow each other. */
void tool_elapsed_parse(struct tool_lines *l, const char *text)
{
	const char *end = strstr(text, " seconds time elapsed"), *error, *at;
	uint64_t integer;
	double s;

	if (!end || l->intervals)
		return;
	error = strstr(text, "+-");
	end = error && error < end ? error : end;
	while (end > text && end[-1] == ' ')
		end--;
	for (at = end; at > text && !strchr(" \t", at[-1]);)
		at--;
	if (tool_number_parse(at, &s, &integer) == end)
		l->table->span_ns += uint64_of_double(s * 1e9 + 0.5);
}

/* A row without a time below those of intervals is of their sum. Returns 1. */
static int sum_seen(struct tool_lines *l, const char *event, uint64_t count)
{
	tool_block_sum(l, tool_row_find(l->table, ROW_OF_EVENT, event, strlen(event)), count);
	return 1;
}

enum { FIELDS_MAX = 24, FIELD_BYTES = 128 };

/* Cuts the text of CSV into fields. Returns their number. */
static unsigned int fields_split(const char *s, char sep, char field[FIELDS_MAX][FIELD_BYTES])
{
	unsigned int nr = 0;

	for (const char *end; nr < FIELDS_MAX; s = end + 1) {
		end = strchrnul(s, sep);
		snprintf(field[nr++], FIELD_BYTES, "%.*s", (int)(end - s), s);
		if (!*end)
			break;
	}
	return nr;
}

/* [time,] [CPU,] count, unit, event, ... */
static int perf_csv_fields(struct tool_lines *l, char field[FIELDS_MAX][FIELD_BYTES],
			   unsigned int event)
{
	const char *number = field[event - 2], *end;
	char identity[IDENTITY_BYTES] = "";
	uint64_t count;
	double v;
	int err;

	end = tool_number_parse(number, &v, &count);
	if (end ? *end : *number != '<')
		return 0;
	if (l->intervals && strstr(field[0], "summary"))
		return 1;
	count = end ? uint64_of_double(v + 0.5) : TOOL_TABLE_UNKNOWN;
	end = event > 2 && strpbrk(field[0], ".,")
		      ? tool_number_parse(field[0], &v, &(uint64_t){0}) : NULL;
	if (end && !*end)
		span_seen(l, v);
	else if (l->intervals)
		return sum_seen(l, field[event], count);
	for (unsigned int i = 0; i < event - 2; i++)
		part_add(identity, field[i]);
	part_add(identity, field[event]);
	row_once(l, identity, field[event]);
	err = tool_count_put(l, "perf stat", ROW_OF_EVENT, field[event], count);
	return err ? err : 1;
}

/* [time,] [place, [CPUs,]] count, unit, event, time that it was counted, part of that, ... */
static bool is_other_fields(const struct tool_lines *l, char field[FIELDS_MAX][FIELD_BYTES],
			    unsigned int nr)
{
	for (unsigned int event = 2; is_of_stat(l) && event + 2 < nr && event < 6; event++)
		if (is_event_name(field[event]) &&
		    (is_value(field[event - 2]) || *field[event - 2] == '<') &&
		    is_value(field[event + 1]) && is_value(field[event + 2]))
			return true;
	return false;
}

/* perf stat -x, 1: it is such a row. */
static int perf_csv_row(struct tool_lines *l, const char *text)
{
	char field[FIELDS_MAX][FIELD_BYTES];

	for (const char *sep = strchr(text, ':') || is_of_stat(l) ? ",;|\t" : ""; *sep; sep++) {
		unsigned int nr = fields_split(text, *sep, field);

		if (is_other_fields(l, field, nr))
			return 1;
		for (unsigned int i = 2; i < nr; i++)
			if (tool_is_event(field[i], strlen(field[i]))) {
				if (i + 1 < nr)
					cgroup_seen(l, field[i + 1]);
				return perf_csv_fields(l, field, i);
			}
	}
	return 0;
}

/* The text of a member of a line of JSON; NULL: it has none. */
static const char *member_find(const char *text, const char *key)
{
	const char *at = strstr(text, key);

	return at ? at + strlen(key) + strspn(at + strlen(key), "\" :") : NULL;
}

static int perf_json_row(struct tool_lines *l, const char *text)
{
	const char *count = member_find(text, "\"counter-value\""),
		   *event = member_find(text, "\"event\""),
		   *interval = member_find(text, "\"interval\""),
		   *cgroup = member_find(text, "\"cgroup\"");
	char name[128], identity[IDENTITY_BYTES];
	size_t len = event ? strcspn(event, "\"") : 0;
	double v;
	uint64_t number;

	if (!count || !tool_is_event(event, len))
		return count && event && is_of_stat(l);
	snprintf(name, sizeof(name), "%.*s", (int)len, event);
	if (cgroup) {
		char group[128];

		snprintf(group, sizeof(group), "%.*s", (int)strcspn(cgroup, "\""), cgroup);
		cgroup_seen(l, group);
	}
	number = tool_number_parse(count, &v, &number) ? uint64_of_double(v + 0.5)
						       : TOOL_TABLE_UNKNOWN;
	if (!interval && l->intervals)
		return sum_seen(l, name, number);
	snprintf(identity, sizeof(identity), "%.*s", (int)(count - text), text);
	part_add(identity, name);
	row_once(l, identity, name);
	if (interval && tool_number_parse(interval, &v, &(uint64_t){0}))
		span_seen(l, v);
	int err = tool_count_put(l, "perf stat", ROW_OF_EVENT, name, number);

	return err ? err : 1;
}

/* "60.00%  600  CPU 0/KVM  vcpu 0 reason HLT rip 0x1 ..." of perf report -n --sort ...,trace */
static int perf_report_row(struct tool_lines *l, const char *text)
{
	static const char mark[] = " reason ";
	const char *at = strstr(text, mark), *end;
	char reason[64];
	uint64_t count;
	double v;
	int err;

	end = at && text_is_digit(*text) ? tool_number_parse(text, &v, &count) : NULL;
	if (!end || *end != '%')
		return 0;
	end = tool_count_read(end + 1 + strspn(end + 1, " "), &count);
	at += sizeof(mark) - 1;
	snprintf(reason, sizeof(reason), "%.*s", (int)strcspn(at, " "), at);
	if (!end || *end != ' ' || !exit_reason_known(reason))
		return 0;
	tool_block_once(l, text);
	err = tool_count_put(l, "perf report", ROW_OF_REASON, reason, count);
	return err ? err : 1;
}

static int perf_report_line(struct tool_lines *l, const char *text)
{
	static const char of[] = "of event '", approx[] = "Event count (approx.):";
	const char *at = strstr(text, of);
	uint64_t count;
	double v;
	int err;

	if (at) {
		at += sizeof(of) - 1;
		snprintf(l->event, sizeof(l->event), "%.*s", (int)strcspn(at, "'"), at);
		return 1;
	}
	at = strstr(text, approx);
	if (!at || !*l->event)
		return perf_report_row(l, text);
	at += sizeof(approx) - 1;
	at += strspn(at, " ");
	if (!tool_number_parse(at, &v, &count) || count == TOOL_TABLE_UNKNOWN)
		return 0;
	tool_block_once(l, l->event);
	err = tool_count_put(l, "perf report", ROW_OF_EVENT, l->event, count);
	l->event[0] = '\0';
	return err ? err : 1;
}

/* Before the rows of perf stat, whose intervals are followed by their sums, or of all threads of perf trace -s. */
static void table_begin(struct tool_lines *l, const char *text)
{
	bool stat = strstr(text, "Performance counter stats for");

	l->stats += stat;
	if (!l->table->nr)
		return;
	if (stat) {
		l->summary = l->intervals;
		l->table->others |= !l->intervals;
	}
	l->table->others |= strstr(text, "Summary of events") != NULL;
}

int tool_perf_line(struct tool_lines *l, const char *text)
{
	table_begin(l, text);

	int done = perf_json_row(l, text);

	if (!done)
		done = perf_csv_row(l, text);
	return done ? done : perf_report_line(l, text);
}
