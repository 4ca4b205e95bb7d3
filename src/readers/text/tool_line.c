// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * What a line of a table is: of one with a heading (tool_heading.c), or one that is recognized by
 * its form:
 *
 *	3,707      kvm:kvm_pio   # 0.9 K/sec      perf (tool_perf.c)
 *	@exits[HLT]: 12                           bpftrace, histogram triggers (tool_keys.c)
 *	kvm_exit    1234    56                    kvm_stat -1
 *	kvm_entry kvm_exit                        kvm_stat -l, -c: names, then lines of as many
 *	                                          numbers
 *	/sys/kernel/debug/kvm/exits:1234          KVM's debugfs, by grep; also "exits 1234"
 *	1234 kvm_exit                             sort | uniq -c, and others (tool_pair.c)
 */
#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/error.h"
#include "event/exit_reason.h"
#include "readers/text/tool_line.h"

/* ---- rows ---- */

static uint64_t sum_known(uint64_t a, uint64_t b)
{
	return a == TOOL_TABLE_UNKNOWN ? b : b == TOOL_TABLE_UNKNOWN ? a : a + b;
}

static void row_add(struct tool_row *to, const struct tool_row *r)
{
	bool first = !to->counted && !to->uncounted;

	to->total_ns =
		first || (r->total_ns != TOOL_TABLE_UNKNOWN && to->total_ns != TOOL_TABLE_UNKNOWN)
			? sum_known(to->total_ns, r->total_ns)
			: TOOL_TABLE_UNKNOWN;
	to->count = first ? r->count : sum_known(to->count, r->count);
	to->counted |= r->count != TOOL_TABLE_UNKNOWN;
	to->uncounted |= r->count == TOOL_TABLE_UNKNOWN;
	to->per_s = sum_known(to->per_s, r->per_s);
	to->min_ns = r->min_ns < to->min_ns ? r->min_ns : to->min_ns;
	if (r->max_ns != TOOL_TABLE_UNKNOWN &&
	    (to->max_ns == TOOL_TABLE_UNKNOWN || r->max_ns > to->max_ns))
		to->max_ns = r->max_ns;
	to->mean_ns = to->total_ns != TOOL_TABLE_UNKNOWN && to->count ? to->total_ns / to->count
								      : TOOL_TABLE_UNKNOWN;
}

/* Is a row of this tool certainly of a table of its own? Others may be lines of prose around one. */
static bool is_certain(const char *tool)
{
	static const char *const tools[] = {"perf kvm stat", "kvm_stat", "perf stat", "kvmexit",
					    "perf trace -s"};

	return array_any(sizeof(tools) / sizeof(tools[0]), i, !strcmp(tool, tools[i]));
}

/* Adds a row, or to the row of this name. "kvm_exit(HLT)" of kvm_stat is an exit reason. */
int tool_row_put(struct tool_lines *l, const char *tool, enum tool_row_of of, const char *name,
		 const struct tool_row *r)
{
	static const char exit[] = "kvm_exit(";
	size_t len = strlen(name), nr;
	struct tool_row *to;

	if (of == ROW_OF_EVENT && len > sizeof(exit) && !strncmp(name, exit, sizeof(exit) - 1) &&
	    name[len - 1] == ')') {
		of = ROW_OF_REASON;
		name += sizeof(exit) - 1;
		len -= sizeof(exit);
	}
	if (of == ROW_OF_EVENT && tool_is_child(name))
		of = ROW_OF_REASON;
	if (l->table->tool && strcmp(l->table->tool, tool) && is_certain(l->table->tool) &&
	    is_certain(tool)) {
		l->table->also = tool;
		return 0;
	}
	l->rows++;
	nr = l->table->nr;
	to = tool_row_get(l->table, of, name, len);
	if (!l->table->tool)
		l->table->tool = tool;
	if (to) {
		tool_block_row(l, to, l->table->nr > nr);
		row_add(to, r);
	}
	return to || l->table->dropped ? 0 : -ENOMEM;
}

int tool_count_put(struct tool_lines *l, const char *tool, enum tool_row_of of, const char *name,
		   uint64_t count)
{
	struct tool_row r = tool_no_figures;

	r.count = count;
	return tool_row_put(l, tool, of, name, &r);
}

void tool_row_odd(struct tool_lines *l, const char *name)
{
	if (l->table->nr && !l->table->odd++)
		snprintf(l->table->first_odd, sizeof(l->table->first_odd), "%.31s", name);
}

/* ---- kvm_stat without a heading ---- */

/* A line whose form is that of much text is no row of another tool's table: "phone 5550199" below it. */
static bool may_be_of(const struct tool_lines *l, const char *tool)
{
	return !l->table->tool || !strcmp(l->table->tool, tool);
}

/* "---------- -----", "|---|---|": what is between the heading of another table and its rows. */
static bool is_rule(const struct tool_words *w)
{
	for (unsigned int i = 0; i < w->nr; i++)
		if (strspn(w->word[i], "-+|:=") != strlen(w->word[i]))
			return false;
	return w->nr > 1 || (w->nr && strchr("|+", w->word[0][0]) && strchr(w->word[0], '-'));
}

/* Of lsmod: "kvm_intel 458752 4". */
static bool is_module(const char *name)
{
	static const char *const modules[] = {"kvm_intel", "kvm_amd", "kvm_hv", "kvm_pr"};

	return array_any(sizeof(modules) / sizeof(*modules), i, !strcmp(name, modules[i]));
}

/*
 * Is "kvm_exit 1234 56" a row of a table with other columns? kvm_stat has no heading with a rule below it, no number
 * before a name, and events of the last second, which are not more than all.
 */
static bool is_of_other_table(const struct tool_lines *l, const struct tool_words *w,
			      const struct tool_row *r)
{
	return l->has_rule || is_module(w->word[w->nr - 3]) || r->per_s > r->count ||
	       (w->nr > 3 && isdigit((unsigned char)w->word[w->nr - 4][0]));
}

/* kvm_stat -1, and its screen before Linux 4.11: a name and two numbers. */
static int once_line(struct tool_lines *l, const struct tool_words *w)
{
	struct tool_row r = tool_no_figures;

	if (w->nr < 3 || !may_be_of(l, "kvm_stat") || !tool_is_lower(w->word[w->nr - 3]) ||
	    !tool_count_parse(w->word[w->nr - 2], &r.count) ||
	    !tool_count_parse(w->word[w->nr - 1], &r.per_s))
		return 0;
	if (!tool_is_kvm_event(w->word[w->nr - 3])) {
		tool_row_odd(l, w->word[w->nr - 3]);
		return 0;
	}
	l->is_other |= is_of_other_table(l, w, &r);
	if (!l->table->nr && tool_columns_precede(l, l->is_other))
		tool_columns_note(l->table, l->above);
	if (l->is_other)
		return 0;
	for (unsigned int i = 0; i + 4 < w->nr; i++)
		if (tool_is_kvm_name(w->word[i]))
			tool_missing_row(l, w->word[i]);
	l->certain |= tool_is_kvm_name(w->word[w->nr - 3]);
	tool_block_once(l, w->word[w->nr - 3]);
	int err = tool_row_put(l, "kvm_stat", ROW_OF_EVENT, w->word[w->nr - 3], &r);

	if (!err && l->table->nr)
		l->table->row[l->table->nr - 1].maybe = true;
	return err ? err : 1;
}

/* ---- debugfs ---- */

/* Whose figure a file of KVM's debugfs is. */
enum debugfs_level { DEBUGFS_VCPU, DEBUGFS_VM, DEBUGFS_HOST };

/* "/sys/kernel/debug/kvm/1234-14/exits", or a part of it: its name. */
static const char *debugfs_name(const char *path, enum debugfs_level *ret)
{
	const char *kvm = strstr(path, "/kvm/"), *from = kvm ? kvm + strlen("/kvm/") : path,
		   *slash = strrchr(from, '/');

	*ret = !slash ? DEBUGFS_HOST : strstr(from, "vcpu") ? DEBUGFS_VCPU : DEBUGFS_VM;
	return slash ? slash + 1 : from;
}

/*
 * The figure of a file. The host's are the sums of its VMs', and those of vCPUs are parts of a VM's: the widest that
 * the text has count.
 */
static int debugfs_put(struct tool_lines *l, const char *path, uint64_t count)
{
	enum debugfs_level level;
	const char *name = debugfs_name(path, &level);
	struct tool_row *row;
	int err;

	if (!tool_is_lower(name) || !may_be_of(l, "KVM's debugfs"))
		return 0;
	if (!tool_is_kvm_event(name)) {
		tool_row_odd(l, name);
		return 0;
	}
	if (level == DEBUGFS_VCPU || level < l->debugfs)
		return 1;
	if (l->debugfs && level > l->debugfs)
		tool_table_clear(l->table);
	l->debugfs = level;
	l->certain |= tool_is_kvm_name(name);
	tool_block_once(l, path);
	err = tool_count_put(l, "KVM's debugfs", ROW_OF_EVENT, name, count);
	row = tool_row_find(l->table, ROW_OF_EVENT, name, strlen(name));
	if (row) /* "kvm_exit(HLT)" is a reason */
		row->maybe = true;
	return err ? err : 1;
}

/* grep . /sys/kernel/debug/kvm/\*: "PATH:12"; head and tail of several files: "==> PATH <==" and "12" */
static int debugfs_line(struct tool_lines *l, const char *text)
{
	const char *colon = strrchr(text, ':'), *end = strstr(text, " <==");
	uint64_t count;

	if (!strncmp(text, "==> ", 4) && end) {
		snprintf(l->file, sizeof(l->file), "%.*s", (int)(end - text - 4), text + 4);
		return 1;
	}
	if (*l->file && tool_count_parse(text, &count)) {
		char path[sizeof(l->file)];

		memcpy(path, l->file, sizeof(path));
		*l->file = '\0';
		return debugfs_put(l, path, count);
	}
	if (!colon || strchr(text, ' ') || !tool_count_parse(colon + 1, &count))
		return 0;
	char path[128];

	snprintf(path, sizeof(path), "%.*s", (int)(colon - text), text);
	return debugfs_put(l, path, count);
}

/* A script's list: "exits 12" */
static int list_line(struct tool_lines *l, const struct tool_words *w)
{
	uint64_t count;

	return w->nr == 2 && !strchr(w->word[0], ':') && tool_count_parse(w->word[1], &count)
		       ? debugfs_put(l, w->word[0], count)
		       : 0;
}

/* ---- all ---- */

static int kvm_stat_line(struct tool_lines *l, const struct tool_words *w)
{
	bool names_before = l->names_now;
	int done = 0;

	l->has_rule |= is_rule(w);
	l->names_now = false;
	if (w->nr && !strcasecmp(w->word[0], "timestamp"))
		done = tool_log_names(l, w, 1, names_before);
	else if (w->nr > 1 || (w->nr && !l->heading && !strncmp(w->word[0], "kvm_", 4)))
		done = tool_log_names(l, w, 0, names_before);
	if (!done && l->name_lines > 1)
		done = tool_log_part(l, w);
	else if (!done && l->nr_names && w->nr >= l->nr_names)
		done = tool_log_numbers(l, w);
	l->table->broken |= !done && names_before && l->csv; /* the rest of the names */
	l->table->broken |= l->nr_pending && (!done || l->names_now);
	if (!done && !l->heading)
		done = once_line(l, w);
	if (!done && !l->heading)
		done = list_line(l, w);
	return done || l->heading ? done : tool_pair_line(l, w);
}


/* Does perf stat's next row follow in the line? */
static bool has_event(const char *s)
{
	for (size_t len; *s; s += len) {
		s += strspn(s, " ");
		len = strcspn(s, " ");
		if (tool_is_event(s, len))
			return true;
	}
	return false;
}

/* "( +- 0.42% )" */
static void parentheses_cut(char *s)
{
	for (char *p = strchr(s, '('); p; p = strchr(p + 1, '('))
		if (p[1] == ' ' || p[1] == '+' || p[1] == '\0') {
			char *close = strchr(p, ')');

			if (!close || !has_event(close + 1)) {
				*p = '\0';
				return;
			}
			memset(p, ' ', (size_t)(close + 1 - p));
		}
}

static int line_of_text(struct tool_lines *l, const char *text)
{
	int done = tool_counted_line(l, text);

	if (!done)
		done = tool_heading_line(l, text);
	if (!done)
		done = tool_perf_line(l, text);
	if (!done)
		done = tool_keys_line(l, text);
	if (!done)
		done = debugfs_line(l, text);
	if (!done)
		tool_elapsed_parse(l, text);
	return done;
}

/* "1.2K" in a line, which is no bucket of a histogram: "[1K, 2K)" */
static bool has_rounded(const char *text)
{
	for (const char *p = strpbrk(text, "KkMGT"); p && !strchr("[(", *text);
	     p = strpbrk(p + 1, "KkMGT")) {
		const char *number = p;

		while (number > text && strchr("0123456789.,", number[-1]))
			number--;
		if (p > text && isdigit((unsigned char)p[-1]) && strchr(" \t,|", p[1]) &&
		    (number == text || strchr(" \t:=|", number[-1]))) /* "pages_4k" is a name */
			return true;
	}
	return false;
}

/* "kvm_entry;kvm_exit", "VM-EXIT,Samples,...", "\"timestamp\";...": the separator, 0: it is no such heading. */
static char separator_of(const char *text)
{
	static const char *const first[] = {"timestamp", "VM-EXIT", "Event name", "kvm_"};
	const char *cell = text + (*text == '"');

	for (const char *sep = ";,"; *sep; sep++)
		if (array_any(sizeof(first) / sizeof(first[0]), i,
			      strchr(text, *sep) &&
				      !strncasecmp(cell, first[i], strlen(first[i])) &&
				      !strpbrk(cell, "0123456789:=")))
			return *sep;
	return 0;
}

/* Cells of a spreadsheet to words; those after a time keep their commas, as some may be empty (tool_log_cells()). */
static void cells_split(struct tool_lines *l, char *text)
{
	char separator = separator_of(text);

	l->separator = separator ? separator : l->separator;
	if (separator)
		l->csv = !strncasecmp(text + (*text == '"'), "timestamp", 9);
	for (char *p = l->separator ? text : ""; *p; p++)
		*p = *p == l->separator ? l->csv ? ',' : ' ' : *p == '"' ? ' ' : *p;
}

/* "HLT 1193 47.23% 99.79% 3.30us 2000.26us 600.00us": perf kvm stat, of which the heading was not pasted. */
static bool lacks_heading(const struct tool_lines *l, const struct tool_words *w)
{
	double min, max, mean;
	uint64_t count;

	return !l->heading && !l->table->nr && w->nr >= 7 && exit_reason_known(w->word[0]) &&
	       tool_count_parse(w->word[1], &count) && strchr(w->word[2], '%') &&
	       strchr(w->word[3], '%') && strchr(w->word[4], 's') &&
	       tool_value_parse(w->word[4], 1, &min) && tool_value_parse(w->word[5], 1, &max) &&
	       tool_value_parse(w->word[6], 1, &mean) && min <= mean && mean <= max;
}

static int line_take(struct tool_lines *l, char *text)
{
	static const char heading[] =
		"VM-EXIT Samples Samples% Time% Min Time Max Time Avg time";
	char whole[sizeof(l->above)];
	struct tool_words w;
	bool is_text;
	int done;

	text = (char *)text + (tool_blanks_skip(text) - text);
	cells_split(l, text);
	text = (char *)text + (tool_blanks_skip(text) - text);
	l->live |= strlen(text) >= 8 && text[2] == ':' && text[5] == ':' &&
		   isdigit((unsigned char)*text);
	done = line_of_text(l, text);
	if (done)
		return done < 0 ? done : 0;
	is_text = tool_block_is_text(text);
	if (tool_block_is_address(text)) {
		done = tool_row_flush(l);
		tool_block_text(l);
		return done;
	}
	done = tool_log_cells(l, text);
	if (done)
		return done < 0 ? done : 0;
	if (!strncasecmp(text, "timestamp,", 10) || l->csv)
		for (char *p = strchr(text, ','); p; p = strchr(p, ','))
			*p = ' ';
	snprintf(whole, sizeof(whole), "%s", text);
	parentheses_cut(text);
	tool_words_split(text, &w);
	if (!w.nr)
		return 0;
	tool_remarks_cut(l, &w);
	done = lacks_heading(l, &w) ? tool_heading_line(l, heading) : 0;
	if (done < 0)
		return done;
	done = tool_perf_stat_row(l, &w);
	if (!done)
		done = kvm_stat_line(l, &w);
	if (!done && l->heading) {
		done = tool_heading_row(l, &w);
		done = done ? done : l->row.nr > 0;
	}
	if (!done) {
		tool_missing_part(l, &w);
		if (!is_rule(&w))
			memcpy(l->above, whole, sizeof(whole));
	}
	if (!done && is_text)
		tool_block_text(l);
	return done < 0 ? done : 0;
}

int tool_line_add(struct tool_lines *l, char *text)
{
	bool rounded = has_rounded(text);
	uint64_t rows = l->rows;
	int err = line_take(l, text);

	l->table->rounded |= rounded && l->rows > rows;
	return err;
}

int tool_lines_end(struct tool_lines *l)
{
	int err = tool_row_flush(l);

	tool_blocks_end(l);
	tool_log_span(l);
	if (!err && (!l->certain || (l->is_other && l->table->nr && l->table->row[0].maybe)))
		tool_rows_drop(l->table);
	tool_map_end(l);
	if (l->has_number && l->table->tool && !strcmp(l->table->tool, "perf stat"))
		tool_missing_row(l, "a count without an event");
	return err;
}

void tool_lines_init(struct tool_lines *l, struct tool_table *t)
{
	*l = (struct tool_lines){.table = t};
	tool_block_init(l);
}

void tool_lines_free(struct tool_lines *l)
{
	tool_names_clear(l);
	tool_block_deinit(l);
}
