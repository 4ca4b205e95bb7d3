// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Counts by key: maps of bpftrace, also those of histograms, and histogram triggers of ftrace:
 *
 *	@exits[HLT]: 12       @[tracepoint:kvm:kvm_exit]: 12       @[12]: 345
 *	@us[HLT]:
 *	[2, 4)     1200 |@@@@@@@@@|
 *	{ exit_reason: 12 } hitcount: 7
 *
 * Both print the numbers of exit reasons. Whose numbers they are is seen from the largest: those of SVM are large.
 */
#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/error.h"
#include "event/exit_reason.h"
#include "readers/text/tool_line.h"

/*
 * A row is named by its whole text until the end, "@exits[12]", "{exit_reason: 12", as a map may be printed several
 * times.
 */
static int key_put(struct tool_lines *l, const char *tool, const char *text, uint64_t count,
		   bool running)
{
	struct tool_row *row =
		running ? tool_row_find(l->table, ROW_OF_OTHER, text, strlen(text)) : NULL;
	int err;

	if (row) {
		tool_block_total(l, row);
		row->count = 0;
		l->table->tables = 2;
		l->table->maybe_cleared = true;
		l->print += row->print == l->print;
	}
	l->keyed = true;
	err = tool_count_put(l, tool, ROW_OF_OTHER, text, count);
	row = running ? tool_row_find(l->table, ROW_OF_OTHER, text, strlen(text)) : NULL;
	if (row)
		row->print = l->print;
	return err ? err : 1;
}

int tool_key_put(struct tool_lines *l, const char *tool, const char *name, uint64_t count)
{
	tool_block_once(l, name);
	return key_put(l, tool, name, count, false);
}

void tool_map_end(struct tool_lines *l)
{
	if (l->map_empty)
		tool_missing_row(l, l->map);
	l->map_empty = false;
}

/* A count at s, also in groups, behind which the line ends or has one of `then`. */
static bool key_count_read(const char *s, const char *then, uint64_t *ret)
{
	const char *end = tool_count_read(s, ret);

	end = end ? tool_count_rest(s, end, ret) : NULL;
	return end && (!*end || strchr(then, *end));
}

/* "[2, 4)     1200 |@@@@@@@@@|" of the map above */
static int bucket_line(struct tool_lines *l, const char *text)
{
	const char *at = text + strcspn(text, "])");
	uint64_t count;

	if (!*l->map || !strchr("[(", *text) || !*text || !*at)
		return 0;
	at += 1 + strspn(at + 1, " ");
	if (!isdigit((unsigned char)*at) || !strchr(at, '|'))
		return 0;
	if (!key_count_read(at, " |", &count)) {
		tool_missing_row(l, text);
		return 1;
	}
	int done = key_put(l, "bpftrace", l->map, count, l->map_empty);

	l->map_empty = false;
	return done;
}

/* A histogram whose buckets follow. That of another one, without a bucket, was cut. */
static int map_begin(struct tool_lines *l, const char *key)
{
	tool_map_end(l);
	snprintf(l->map, sizeof(l->map), "%s", key);
	l->map_empty = l->keyed = true;
	if (!l->table->tool)
		l->table->tool = "bpftrace";
	return 1;
}

/* "@name[key]: 12", "@name: 12", "@[key]: count 12, average 3, total 36". A map printed again has
 * all of it. */
static int bpftrace_line(struct tool_lines *l, const char *text)
{
	const char *close = NULL, *at;
	char key[128];
	uint64_t count;

	if (*text != '@')
		return bucket_line(l, text);
	for (const char *p = strstr(text, "]:"); p; p = strstr(p + 1, "]:"))
		close = p[2] == ' ' || !p[2] ? p : close;
	at = close ? close + 1 : text + strcspn(text, ":");
	if (*at != ':')
		return 0;
	snprintf(key, sizeof(key), "%.*s", (int)(at - text), text);
	if (!at[1 + strspn(at + 1, " ")])
		return map_begin(l, key);
	at += 1 + strspn(at + 1, " ");
	l->plain_values |= strncmp(at, "count ", 6) != 0;
	l->table->averages |= strstr(at, ", average ") != NULL;
	at = !strncmp(at, "count ", 6) ? at + 6 : at;
	if (!isdigit((unsigned char)*at))
		return 0;
	if (!key_count_read(at, ",", &count)) {
		tool_missing_row(l, text);
		return 1;
	}
	return key_put(l, "bpftrace", key, count, true);
}

/* "{ exit_reason: HLT [ 12] } hitcount: 7" */
static int histogram_line(struct tool_lines *l, const char *text)
{
	const char *open = strchr(text, '{'), *close = strstr(text, "} hitcount:");
	char key[128] = "{";
	uint64_t count;
	int len = 1;

	if (!open || !close || close < open)
		return 0;
	for (const char *s = open + 1; s < close && len < (int)sizeof(key) - 1; s++)
		if (*s != ' ' || (len > 1 && key[len - 1] != ' '))
			key[len++] = *s;
	while (len > 1 && key[len - 1] == ' ')
		len--;
	key[len] = '\0';
	close += strcspn(close, "0123456789");
	if (!*close)
		return 0;
	if (!key_count_read(close, " }", &count)) {
		tool_missing_row(l, text);
		return 1;
	}
	tool_block_once(l, key);
	return key_put(l, "a histogram trigger", key, count, false);
}

int tool_keys_line(struct tool_lines *l, const char *text)
{
	int done = bpftrace_line(l, text);

	return done ? done : histogram_line(l, text);
}

/* ---- what keys are ---- */

/* A row's name, in parts. */
struct key {
	const char *text; /* ends before `end` */
	int len;
	bool of_reasons; /* its map is called so */
	bool is_nameless, is_number;
	uint32_t number;
};

static bool names_reasons(const char *s, size_t len)
{
	char name[128];

	snprintf(name, sizeof(name), "%.*s", (int)len, s);
	return strcasestr(name, "exit") || strcasestr(name, "reason");
}

static struct key key_split(const char *name)
{
	static const char field[] = "{exit_reason: ";
	size_t prefix = sizeof(field) - 1, len = strlen(name);
	const char *open = strchr(name, '[');
	struct key k = {.text = name, .len = (int)len};
	char *end;

	if (!strncmp(name, field, prefix) && !strchr(name, ',')) {
		k = (struct key){name + prefix, (int)(len - prefix), .of_reasons = true};
	} else if (*name == '{') {
		k = (struct key){name + 1, (int)len - 1, .is_nameless = false};
	} else if (open && name[len - 1] == ']') {
		k = (struct key){open + 1, (int)(name + len - 1 - open - 1),
				 .of_reasons = names_reasons(name, (size_t)(open - name)),
				 .is_nameless = open == name + 1};
	}
	k.number = (uint32_t)strtoul(k.text, &end, 0);
	k.is_number = k.len && end == k.text + k.len;
	return k;
}

/* Of numeric keys: the ISA that has exit reasons of all these numbers, 0: they are no reasons. */
struct numbers {
	uint32_t isa;
	bool guessed; /* the map has no name */
	bool usual;   /* ... but there are reasons that every trace of that ISA has */
};

static bool is_usual(uint32_t reason, uint32_t isa)
{
	static const uint32_t vmx[] = {1, 12, 30, 31, 32, 48, 49},
			      svm[] = {0x60, 0x78, 0x7b, 0x7c, 0x400};

	return isa == EXIT_ISA_VMX ? array_any(sizeof(vmx) / sizeof(*vmx), i, vmx[i] == reason)
				   : array_any(sizeof(svm) / sizeof(*svm), i, svm[i] == reason);
}

/* Numbers of CPUs are no reasons: 2 to 6 are triple faults and signals between CPUs, which do not happen. */
static bool is_odd(uint32_t reason, uint32_t isa)
{
	return !exit_reason_name(reason, isa) ||
	       (isa == EXIT_ISA_VMX && reason >= 2 && reason <= 6);
}

static struct numbers numbers_judge(const struct tool_row *row, size_t nr)
{
	enum { VMX_LAST = 77 };
	struct numbers n = {.isa = EXIT_ISA_VMX};
	bool odd = false, any = false;

	for (size_t i = 0; i < nr; i++) {
		struct key k = key_split(row[i].name);

		if (row[i].of == ROW_OF_OTHER && k.is_number && k.number > VMX_LAST)
			n.isa = EXIT_ISA_SVM;
	}
	for (size_t i = 0; i < nr; i++) {
		struct key k = key_split(row[i].name);

		if (row[i].of != ROW_OF_OTHER || !k.is_number)
			continue;
		any |= k.of_reasons || k.is_nameless;
		n.guessed |= !k.of_reasons;
		odd |= is_odd(k.number, n.isa);
		n.usual |= is_usual(k.number, n.isa);
	}
	if (!any || (n.guessed && (odd || !n.usual)))
		n.isa = 0;
	return n;
}

/* The part of "HLT, CPU 0/KVM" that is an exit reason, else all of it. */
static enum tool_row_of key_kind(struct key *k, const struct numbers *n, char *buf, size_t size)
{
	static const char tracepoint[] = "tracepoint:";
	size_t prefix = sizeof(tracepoint) - 1;
	const char *known = k->is_number && n->isa && (k->of_reasons || k->is_nameless)
				    ? exit_reason_name(k->number, n->isa)
				    : NULL;

	if (known) {
		snprintf(buf, size, "%s", known);
		return ROW_OF_REASON;
	}
	for (const char *p = k->text, *end = p + k->len; p < end; p += strspn(p, ", ")) {
		snprintf(buf, size, "%.*s", (int)(end - p), p);
		buf[strcspn(buf, ",")] = '\0';
		if (exit_reason_known(buf))
			return ROW_OF_REASON;
		p += strlen(buf);
	}
	if (k->len > (int)prefix && !strncmp(k->text, tracepoint, prefix)) {
		k->text += prefix;
		k->len -= (int)prefix;
	}
	snprintf(buf, size, "%.*s", k->len, k->text);
	return tool_is_event(buf, strlen(buf)) ? ROW_OF_EVENT : ROW_OF_OTHER;
}

/* Rows of two maps are not of one table: "@n[HLT]: 12" and "@ns[HLT]: 4012345". */
static void map_see(struct tool_table *t, const char *name)
{
	int len = (int)strcspn(name, "[");
	char map[sizeof(t->maps[0])];

	snprintf(map, sizeof(map), "%.*s", len, name);
	if (!*t->maps[0])
		memcpy(t->maps[0], map, sizeof(map));
	else if (strcmp(t->maps[0], map) != 0)
		memcpy(t->maps[1], map, sizeof(map));
}

/* "@ns", "@avg_us", "@latency": what is counted is not how many there are. */
static bool names_durations(const char *map)
{
	static const char *const words[] = {"ns",  "us",  "ms",	  "avg", "max",	  "min",
					    "lat", "time", "dur", "sum", "total", "bytes"};
	char text[64];

	snprintf(text, sizeof(text), "%s", map);
	for (char *next = text, *word; (word = strsep(&next, "@_."));)
		if (array_any(sizeof(words) / sizeof(*words), i,
			      !strncmp(word, words[i], strlen(words[i]))))
			return true;
	return false;
}

static bool has_several_maps(const struct tool_row *row, size_t nr)
{
	size_t len = nr ? strcspn(row->name, "[") : 0;

	return array_any(nr, i,
			 *row[i].name == '@' && (strcspn(row[i].name, "[") != len ||
						 strncmp(row[i].name, row->name, len) != 0));
}

static int row_sort(struct tool_lines *l, const struct tool_row *row, const struct numbers *n,
		    bool several)
{
	struct key k = key_split(row->name);
	char name[160];
	enum tool_row_of of = row->of;

	if (row->of != ROW_OF_OTHER || !strchr("@{", *row->name))
		return tool_row_put(l, l->table->tool, of, row->name, row);
	of = key_kind(&k, n, name, sizeof(name));
	if (of != ROW_OF_OTHER && *row->name == '@')
		map_see(l->table, row->name);
	else if (of == ROW_OF_OTHER && several)
		snprintf(name, sizeof(name), "%s", row->name);
	if (of == ROW_OF_OTHER)
		l->table->keys = "key";
	else if (of == ROW_OF_REASON && k.is_number)
		l->table->numbers_of = n->isa == EXIT_ISA_VMX ? "VMX (Intel)" : "SVM (AMD)";
	return tool_row_put(l, l->table->tool, of, name, row);
}

int tool_keys_end(struct tool_lines *l)
{
	struct tool_row *row = l->table->row;
	size_t nr = l->table->nr;
	bool several = l->keyed && has_several_maps(row, nr);
	struct numbers n = numbers_judge(row, l->keyed ? nr : 0);
	int err = 0;

	if (!l->keyed)
		return 0;
	for (size_t i = 0; i < nr; i++)
		l->table->old += row[i].print < l->print;
	l->table->row = NULL;
	l->table->nr = 0;
	hash_clear(&l->table->names);
	for (size_t i = 0; i < nr; i++) {
		err = err ? err : row_sort(l, &row[i], &n, several);
		free(row[i].name);
	}
	free(row);
	if (l->plain_values && names_durations(l->table->maps[0]))
		memcpy(l->table->no_counts, l->table->maps[0], sizeof(l->table->no_counts));
	return err;
}
