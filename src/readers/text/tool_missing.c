// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * What a table of another tool lacks: rows that are cut, losses that it states, and rows that do not add up to its
 * total. Nothing of that can be repaired; it is noted, so that no count is quietly too small.
 *
 *	Total Samples:1000, ...          the rows' sum is 700
 *	Lost events: 1234
 *	kvm_exit     12                  the end of the file, and the end of "1234 50.0 100"?
 */
#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "base/array.h"
#include "event/exit_reason.h"
#include "readers/text/tool_line.h"

static const char blanks[] = " \t|";

/* ---- the last line ---- */

/* Is it the name of an exit reason, and not the beginning of another one's? */
static bool is_whole_reason(const char *name)
{
	enum { REASONS = 0x420 };
	static const uint32_t isas[] = {EXIT_ISA_VMX, EXIT_ISA_SVM};
	size_t len = strlen(name);

	for (uint32_t i = 0; i < 2 * REASONS; i++) {
		const char *other = exit_reason_name(i / 2, isas[i % 2]);

		if (other && !strncmp(other, name, len) && other[len])
			return false;
	}
	return exit_reason_known(name);
}

/* Would a longer word be none that a tool prints? */
static bool is_whole(const char *word)
{
	char last = word[strlen(word) - 1];
	size_t number = strspn(word, "0123456789.,'");

	if (number && tool_unit_parse(word + number, strlen(word + number)) > 0)
		return true;
	return strchr(")%|]},;\">", last) || is_whole_reason(word);
}

char *tool_missing_open(struct tool_lines *l, char *s, char *end)
{
	uint64_t width = tool_missing_width(s, end);
	char *at;

	end = s + width;
	for (at = end; at > s && !strchr(" \t|,;:", at[-1]);)
		at--;
	snprintf(l->table->cut_value, sizeof(l->table->cut_value), "%.*s", (int)(end - at), at);
	if (at == end || is_whole(l->table->cut_value) ||
	    (width == l->width && at > s + 1 && at[-1] == ' ' && at[-2] == ' '))
		return end;
	l->is_cut = true;
	return at;
}

uint64_t tool_missing_width(const char *s, const char *end)
{
	while (end > s && strchr(blanks, end[-1]))
		end--;
	return (uint64_t)(end - s);
}

/* ---- lines that are no rows ---- */

static bool has_number(const char *text, bool *is_zero)
{
	*is_zero = true;
	if (!strpbrk(text, "0123456789"))
		return false;
	*is_zero = !strpbrk(text, "123456789");
	return true;
}

static void loss_see(struct tool_lines *l, const char *text)
{
	static const char *const words[] = {"lost",    "dropped",     "discarded",
					    "overrun", "overwritten", "missed"};
	bool zero, number = has_number(text, &zero);
	bool said = strcasestr(text, "map full") || strcasestr(text, "skipped events");

	if (number && !zero)
		said |= array_any(sizeof(words) / sizeof(*words), i, strcasestr(text, words[i]));
	if (said && !l->table->losses++)
		snprintf(l->table->first_loss, sizeof(l->table->first_loss), "%.79s", text);
}

static bool is_name(const char *word)
{
	size_t len = strlen(word);

	return exit_reason_known(word) || tool_is_kvm_name(word) ||
	       tool_is_event(word, len - (len && word[len - 1] == ':')) ||
	       (strchr(word, '_') && len > 4 && strncmp(word, "KVM_", 4) != 0 &&
		strspn(word, "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_") == len);
}

/* A command, or what perf and kvm_stat print above a table. */
static bool is_heading(const struct tool_words *w)
{
	return !strcmp(w->word[0], "$") || *w->word[0] == '#' ||
	       array_any(w->nr, i,
			 !strcmp(w->word[i], "-e") || !strcmp(w->word[i], "counter") ||
				 !strcmp(w->word[i], "statistics"));
}

/* Fewer numbers than there are names of kvm_stat -l. */
static bool is_short(const struct tool_lines *l, const struct tool_words *w)
{
	return l->nr_names > 1 && w->nr > 1 && w->nr < l->nr_names &&
	       !array_any(w->nr, i, !strspn(w->word[i], "0123456789"));
}

/* "[...]", "<snip>": what people write for rows that they removed. */
static bool is_ellipsis(const struct tool_words *w)
{
	static const char ellipsis[] = "\xe2\x80\xa6";
	const char *word = w->word[0];

	return w->nr == 1 && (strspn(word, "[]()<>.") == strlen(word)
				      ? strstr(word, "..") != NULL
				      : strstr(word, ellipsis) || strcasestr(word, "snip"));
}

static bool is_part(const struct tool_lines *l, const struct tool_words *w)
{
	bool names = array_any(w->nr, i, is_name(w->word[i])),
	     numbers = array_any(w->nr, i, isdigit((unsigned char)*w->word[i]));

	if (is_heading(w) || (l->table->tool && !strcmp(l->table->tool, "perf report")))
		return false;
	return (names && numbers) || is_ellipsis(w) || is_short(l, w) || *w->word[0] == '@' ||
	       (l->keyed && *w->word[0] == '{') ||
	       (l->heading && w->nr == 1 && strlen(w->word[0]) > 1 &&
		strspn(w->word[0], "ABCDEFGHIJKLMNOPQRSTUVWXYZ_") == strlen(w->word[0]));
}

/* "2:786 sched:sched_switch": a row of perf stat, whose count is in no known form. */
static bool is_count_and_event(const struct tool_words *w)
{
	return w->nr > 1 && isdigit((unsigned char)*w->word[0]) &&
	       tool_is_event(w->word[1], strlen(w->word[1]));
}

/* "@exits[12]: -1" of bpftrace. */
static bool is_of_map(const struct tool_words *w)
{
	return w->nr > 1 && *w->word[0] == '@' && strchr(w->word[0], '[');
}

static void words_print(const struct tool_words *w, char *buf, size_t size)
{
	size_t len = 0;

	*buf = '\0';
	for (unsigned int i = 0; i < w->nr && len + 1 < size; i++)
		len += (size_t)snprintf(buf + len, size - len, "%s%s", i ? " " : "", w->word[i]);
}

void tool_missing_part(struct tool_lines *l, const struct tool_words *w)
{
	char text[128];

	words_print(w, text, sizeof(text));
	loss_see(l, text);
	tool_missing_total_see(l, text);
	if (!w->nr || !is_part(l, w))
		return;
	/* before the first row only what no prose has: a map's, the name of an exit reason, a count before an event */
	if (!l->rows && !l->heading && !l->nr_names && !is_of_map(w) && !is_count_and_event(w) &&
	    !array_any(w->nr, i,
		       isupper((unsigned char)*w->word[i]) && exit_reason_known(w->word[i])))
		return;
	tool_missing_row(l, text);
}

void tool_missing_row(struct tool_lines *l, const char *name)
{
	if (!l->table->parts++)
		snprintf(l->table->first_part, sizeof(l->table->first_part), "%.47s", name);
}

/* ---- columns ---- */

void tool_columns_note(struct tool_table *t, const char *heading)
{
	if (!*t->columns)
		snprintf(t->columns, sizeof(t->columns), "%.47s",
			 heading + strspn(heading, " \t|"));
}

/* Words of those who compare. */
static bool compares(const char *word)
{
	static const char *const words[] = {"old",     "new",	"before",   "after",  "vs",
					    "patched", "good",	"bad",	    "slow",   "fast",
					    "guest",   "host",	"baseline", "kernel", "vanilla"};

	return array_any(sizeof(words) / sizeof(*words), i, !strcasecmp(word, words[i])) ||
	       (isdigit((unsigned char)*word) && strchr(word, '.'));
}

/* "Every 2.0s: kvm_stat -1   host: Thu Mar 12 10:14:55 2026" of watch, a command, a time: no columns. */
static bool names_command(const char *text)
{
	unsigned int h, m, s;

	for (const char *p = strchr(text, ':'); p; p = strchr(p + 1, ':'))
		if (p - text >= 2 && ((p[-1] == 's' && isdigit((unsigned char)p[-2])) ||
				      sscanf(p - 2, "%2u:%2u:%2u", &h, &m, &s) == 3))
			return true;
	return strstr(text, "kvm_stat") || strstr(text, "/sys/");
}

/* "old kernel   new kernel" above two columns of numbers; no sentence, and no command. */
bool tool_columns_precede(const struct tool_lines *l, bool sure)
{
	char text[sizeof(l->above)];
	size_t len = strlen(l->above);
	struct tool_words w;
	bool wide;

	if (!len || strchr("$#", *l->above) || names_command(l->above) ||
	    strchr(".:?!", l->above[len - 1]))
		return false;
	memcpy(text, l->above, sizeof(text));
	wide = !sure && (strstr(text, "  ") || strpbrk(text, "\t|"));
	tool_words_split(text, &w);
	return w.nr > 1 && (wide || array_any(w.nr, i, compares(w.word[i])));
}

/* ---- sums ---- */

void tool_missing_total(struct tool_lines *l, uint64_t total)
{
	l->stated++;
	l->table->has_total = true;
	l->table->total += total;
}

void tool_missing_total_see(struct tool_lines *l, const char *text)
{
	static const char samples[] = "Total Samples:", hits[] = "Hits:";
	const char *at = l->heading ? strstr(text, samples) : NULL;
	uint64_t total;

	at = at ? at + strlen(samples) : NULL;
	if (l->keyed && !strncmp(text, hits, strlen(hits)))
		at = text + strlen(hits);
	if (at && tool_count_read(at + strspn(at, " "), &total))
		tool_missing_total(l, total);
}

/* kvm_stat's total is of events; those with an exit reason, and instructions of s390, are parts of others. */
static bool is_added(const struct tool_lines *l, const struct tool_row *row)
{
	return row->count != TOOL_TABLE_UNKNOWN &&
	       (strcmp(l->table->tool, "kvm_stat") != 0 ||
		(row->of != ROW_OF_REASON && strncmp(row->name, "instruction_", 12) != 0));
}

/* KVM's statistics that say how many there are now, not how many there were. */
static bool is_gauge(const char *name)
{
	static const char *const gauges[] = {"mmu_unsync", "nx_lpage_splits", "guest_mode",
					     "blocking",   "lpages",	      "largepages"};

	return array_any(sizeof(gauges) / sizeof(*gauges), i, !strcmp(name, gauges[i])) ||
	       !strncmp(name, "pages_", 6) || !strncmp(name, "max_", 4);
}

/* Of KVM's statistics, nanoseconds and states are no counts of events. */
static void statistic_see(struct tool_table *t, struct tool_row *row)
{
	size_t len = strlen(row->name);

	if (row->of != ROW_OF_EVENT)
		return;
	if (len > 3 && !strcmp(row->name + len - 3, "_ns")) {
		row->total_ns = row->count;
		row->count = row->per_s = TOOL_TABLE_UNKNOWN;
	} else if (is_gauge(row->name)) {
		row->of = ROW_OF_OTHER;
		if (!t->gauges++)
			snprintf(t->first_gauge, sizeof(t->first_gauge), "%.31s", row->name);
	}
}

static void partial_see(struct tool_table *t, const struct tool_row *row)
{
	if (row->counted && row->uncounted && !t->partial++)
		snprintf(t->first_partial, sizeof(t->first_partial), "%.47s", row->name);
}

void tool_missing_end(struct tool_lines *l)
{
	struct tool_table *t = l->table;

	t->cut = l->is_cut;
	t->sum = 0;
	for (size_t i = 0; i < t->nr; i++)
		partial_see(t, &t->row[i]);
	for (size_t i = 0; i < t->nr; i++)
		t->sum += is_added(l, &t->row[i]) ? t->row[i].count : 0;
	if (t->tool && (!strcmp(t->tool, "kvm_stat") || !strcmp(t->tool, "KVM's debugfs") ||
			!strcmp(t->tool, "virsh domstats")))
		for (size_t i = 0; i < t->nr; i++)
			statistic_see(t, &t->row[i]);
	t->total_differs = t->has_total && t->sum != t->total && l->stated >= l->headings;
}
