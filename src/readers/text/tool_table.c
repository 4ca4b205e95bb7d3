// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A table of another tool as rows: names of exit reasons are made the kernel's, and rows of one
 * name, such as those of each CPU or thread, are added up.
 */
#include "readers/text/tool_table.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/error.h"
#include "readers/text/lines.h"
#include "readers/text/paste_clean.h"
#include "readers/text/paste_json.h"
#include "readers/text/paste_printable.h"
#include "readers/text/tool_line.h"

enum { FIND_LINES = 1 << 20 }; /* in which a table is looked for */

void tool_table_free(struct tool_table *t)
{
	tool_table_clear(t);
	hash_deinit(&t->names);
	free(t->row);
	t->row = NULL;
}

size_t tool_table_rows_of(const struct tool_table *t, enum tool_row_of of)
{
	size_t nr = 0;

	for (size_t i = 0; i < t->nr; i++)
		nr += t->row[i].of == of;
	return nr;
}

static int row_add(struct tool_lines *l, char *s)
{
	char held[TOOL_HELD_BYTES];
	bool take;
	int err;

	take = tool_wrap_take(l, s, tool_heading_is(l, "kvm_stat"), held);
	err = *held ? tool_line_add(l, held) : 0;
	return err || take ? err : tool_line_add(l, s);
}

/* ---- lines and their prefixes ---- */

/*
 * A line as it was in the file, and as it is cleaned, with its prefixes (paste_layers.c): of logs, grep -n, quotes.
 * How many of them are removed is one number for the whole text: `depth`.
 */
struct tool_front {
	char *raw, *raw_end;
	char *line, *end; /* owned, as is `copy` */
	char *copy;
	const char *layer[PASTE_LAYERS_MAX + 1];
	unsigned int nr;
};

enum { FRONT_BYTES = TEXT_LINE_MAX + TEXT_LINE_SLACK + 1 };

static int front_init(struct tool_front *f)
{
	*f = (struct tool_front){.line = calloc(1, FRONT_BYTES), .copy = calloc(1, FRONT_BYTES)};
	return f->line && f->copy ? 0 : fail(-ENOMEM, "out of memory");
}

static void front_deinit(struct tool_front *f)
{
	free(f->line);
	free(f->copy);
}

static void front_end(struct tool_front *f)
{
	*f->end = '\n';
	memset(f->end + 1, 0, TEXT_LINE_SLACK);
}

/* A whole line and its newline at `end`. */
static void front_set(struct tool_front *f, const struct tool_lines *l, char *s, char *end)
{
	size_t len;

	if (l->printable)
		*(end = printable_decode(s, end)) = '\n';
	f->raw = s;
	f->raw_end = end;
	len = end - s < TEXT_LINE_MAX ? (size_t)(end - s) : TEXT_LINE_MAX;
	memcpy(f->line, s, len);
	f->line[len] = '\n';
	f->end = tool_groups_replace(f->line, f->line + len);
	front_end(f);
	f->end = paste_clean(f->line, f->end);
	front_end(f);
	f->nr = paste_layers_find(f->layer, f->line, &f->end, false);
}

/* The next line, which may go on in the one after it: then false. */
static bool front_take(struct tool_front *f, struct tool_lines *l, char *s, char *end)
{
	if (tool_mail_take(l, &s, &end) == TOOL_MAIL_HELD)
		return false;
	front_set(f, l, s, end);
	return true;
}

/* "{\"type\": \"map\" in the text of an object of JSON */
static char *quotes_unescape(char *s, char *end)
{
	char *to = s;

	for (; s < end; s++) {
		s += *s == '\\' && s + 1 < end && strchr("\"\\", s[1]);
		*to++ = *s;
	}
	*to = '\n';
	memset(to + 1, 0, TEXT_LINE_SLACK);
	return to;
}

/* Removes `depth` prefixes, and adds the rest to a table. */
static int front_add(const struct tool_front *f, struct tool_lines *l, unsigned int depth)
{
	const char *layer[PASTE_LAYERS_MAX + 1];
	size_t len = (size_t)(f->end - f->line);
	char *s, *end = f->copy + len;
	struct tool_join join;
	int err = tool_maps_json_line(l, f->raw, f->raw_end);

	if (err)
		return err < 0 ? err : 0;
	depth = depth < f->nr ? depth : f->nr;
	memcpy(f->copy, f->line, len + 1 + TEXT_LINE_SLACK);
	for (unsigned int i = 0; i <= depth; i++)
		layer[i] = f->copy + (f->layer[i] - f->line);
	s = paste_layers_strip(layer, depth, f->copy, &end);
	if (depth && memchr(s, '\\', (size_t)(end - s))) {
		end = quotes_unescape(s, end);
		err = tool_maps_json_line(l, s, end);
	}
	if (err)
		return err < 0 ? err : 0;
	*end = '\0';
	tool_join_open(&join, tool_mail_tags_cut(s));
	while (!err && (s = tool_join_next(&join)))
		err = row_add(l, s);
	return err;
}

/* After the last line. `is_held`: that of `f` is to be added. */
static int lines_end(const struct tool_front *f, struct tool_lines *l, unsigned int depth,
		     bool is_held)
{
	char held[TOOL_HELD_BYTES];
	int err = is_held ? front_add(f, l, depth) : 0;

	if (err)
		return err;
	tool_wrap_flush(l, held);
	err = *held ? tool_line_add(l, held) : 0;
	err = err ? err : tool_lines_end(l);
	err = err ? err : tool_maps_end(l);
	tool_missing_end(l);
	return err;
}

/* A line that goes on, after which there is none. */
static bool front_flush(struct tool_front *f, struct tool_lines *l)
{
	char *s, *end;
	bool is_held = tool_mail_flush(l, &s, &end);

	if (is_held)
		front_set(f, l, s, end);
	return is_held;
}

/* ---- how many prefixes ---- */

/*
 * A text is read with no prefix removed, with one, and so on, each beginning at the first line that has so many. That
 * which gives most rows is right, of equal ones that with the fewest prefixes removed: a table may have columns of its
 * own that look like prefixes, such as the times of perf stat -I. But a row whose first number may be that of a line,
 * with another number behind it, is none.
 */
struct tool_trial {
	struct tool_lines lines;
	struct tool_table table;
	bool begun;
	uint64_t doubtful; /* rows of objects of JSON */
	uint64_t numbered, last_number; /* rows whose first number may be that of a line, */
	bool unordered;			/* unless it does not grow */
	uint64_t bare;	   /* rows that lack the prefixes: what others have may be columns */
};

enum { TRIAL_ROWS = 256 }; /* that are enough to decide */

/* "12: 4512 kvm_exit", "12. 4512", "12 | 4512", "12  4512": the number of a line before another number; 0: none. */
static uint64_t line_number(const char *s, const char *next)
{
	const char *mark = s + strspn(s, " \t"), *after = next + strspn(next, " \t");
	uint64_t number = text_decimal(&mark);

	mark += mark[strspn(mark, " ")] == '|' ? strspn(mark, " ") : 0;
	if (mark > next || !strchr(":.)-\t| ", *mark) || !text_is_digit(*after))
		return 0;
	after += strspn(after, "0123456789,.");
	return next - mark <= 2 && (*after == ' ' || *after == '\t') ? number : 0;
}

/* Is the row of a line with prefixes after the first `depth` none? An object of JSON is never a part of one. */
static bool is_doubtful(struct tool_trial *t, const struct tool_front *f, unsigned int depth)
{
	uint64_t number = line_number(f->layer[depth], f->layer[depth + 1]);
	struct paste_json json;

	if (array_any(f->nr - depth, i, paste_json_parse(f->layer[depth + i], f->end, &json)))
		return true;
	t->unordered |= number && number <= t->last_number;
	t->last_number = number ? number : t->last_number;
	t->numbered += number > 0;
	return false;
}

static void trial_begin(struct tool_trial *t)
{
	tool_rows_init(&t->table);
	tool_lines_init(&t->lines, &t->table);
	t->begun = true;
}

static int trial_add(struct tool_trial *t, const struct tool_front *f, unsigned int depth)
{
	uint64_t rows = t->lines.rows;
	int err;

	if (!t->begun && f->nr < depth)
		return 0;
	if (!t->begun) {
		trial_begin(t);
		t->lines.has_rule = t[-1].lines.has_rule;
	}
	err = front_add(f, &t->lines, depth);
	rows = t->lines.rows - rows;
	if (f->nr < depth)
		t->bare += rows;
	else if (rows && f->nr > depth && is_doubtful(t, f, depth))
		t->doubtful += rows;
	return err;
}

static int trials_add(struct tool_trial *trials, const struct tool_front *f)
{
	int err = 0;

	for (unsigned int i = 0; !err && i <= PASTE_LAYERS_MAX; i++)
		err = trial_add(&trials[i], f, i);
	return err;
}

static uint64_t trial_rows(const struct tool_trial *t)
{
	bool kvm_stat = (t->table.broken && t->lines.csv) || *t->table.columns;

	uint64_t numbered = t->unordered ? 0 : t->numbered,
		 none = t->doubtful + numbered + 2 * t->bare;

	return !t->begun				? 0
	       : t->table.nr && t->lines.rows > none ? t->lines.rows - none
						     : kvm_stat;
}

static bool trials_are_enough(const struct tool_trial *trials)
{
	return array_any(PASTE_LAYERS_MAX + 1, i, trials[i].lines.rows >= TRIAL_ROWS);
}

/* The number of prefixes; the tool is NULL if it is no table. */
static unsigned int trials_decide(struct tool_trial *trials, const char **ret_tool)
{
	unsigned int best = 0;

	for (unsigned int i = 1; i <= PASTE_LAYERS_MAX; i++)
		if (trial_rows(&trials[i]) > trial_rows(&trials[best]))
			best = i;
	*ret_tool = !trial_rows(&trials[best]) ? NULL
		    : trials[best].table.nr    ? trials[best].table.tool
					       : "kvm_stat";
	return best;
}

static void trials_free(struct tool_trial *trials)
{
	for (unsigned int i = 0; trials && i <= PASTE_LAYERS_MAX; i++)
		if (trials[i].begun) {
			tool_lines_free(&trials[i].lines);
			tool_table_free(&trials[i].table);
		}
	free(trials);
}

/* Of the first lines: how many prefixes are removed, and the tool; *ret_tool is NULL on an error, too. */
static unsigned int depth_find(struct text_lines *lines, const char **ret_tool)
{
	struct tool_trial *trials = calloc(PASTE_LAYERS_MAX + 1, sizeof(*trials));
	struct tool_front f;
	int err = front_init(&f);
	unsigned int depth = 0;
	char *s, *end;
	bool is_held;

	*ret_tool = NULL;
	err = trials ? err : -ENOMEM;
	if (!err)
		trial_begin(trials);
	for (uint64_t left = FIND_LINES;
	     !err && left && !trials_are_enough(trials) &&
	     (s = text_line_next(lines, &end));
	     left--)
		if (!lines->signature && front_take(&f, &trials->lines, s, end))
			err = trials_add(trials, &f);
	is_held = !err && front_flush(&f, &trials->lines);
	for (unsigned int i = 0; !err && i <= PASTE_LAYERS_MAX; i++)
		err = trials[i].begun ? lines_end(&f, &trials[i].lines, i, is_held) : 0;
	if (!err)
		depth = trials_decide(trials, ret_tool);
	trials_free(trials);
	front_deinit(&f);
	return depth;
}

const char *tool_table_probe(const char *text, size_t len)
{
	char *copy = memchr(text, '\0', len) ? NULL : text_copy(text, len);
	struct text_lines lines = {.fd = -1, .ended = true, .buffer = copy, .at = copy};
	const char *tool = NULL;

	if (copy) {
		lines.end = copy + len + 1;
		depth_find(&lines, &tool);
	}
	text_lines_close(&lines);
	return tool;
}

const char *tool_table_find(const char *path, struct open_files *files)
{
	struct text_lines lines;
	const char *tool = NULL;

	if (!text_lines_open(&lines, path, files))
		depth_find(&lines, &tool);
	text_lines_close(&lines);
	return tool;
}

/* ---- all of it ---- */

static int line_read(struct tool_lines *l, struct tool_front *f, unsigned int depth,
		     const struct text_lines *lines, char *s, char *end)
{
	uint64_t width = tool_missing_width(s, end), rows = l->rows;
	int err;

	if (lines->unended && lines->at >= lines->end)
		end = tool_missing_open(l, s, end);
	err = front_take(f, l, s, end) ? front_add(f, l, depth) : 0;
	if (l->rows > rows || l->held_lines)
		l->width = width;
	return err;
}

/* What a table has that cannot be shown as one. */
static int table_check(const struct tool_table *t, const char *path)
{
	if (t->broken &&
	    (!t->tool || !strcmp(t->tool, "kvm_stat") ||
	     !strcmp(t->tool, "KVM's debugfs")))
		return fail(-EINVAL,
			   "%s: the rows of kvm_stat are broken into several lines, and what "
			   "belongs together is not certain: paste it as it was printed, or as a "
			   "file",
			   path);
	if (*t->columns)
		return fail(-EINVAL,
			   "%s has several columns of counts (%s): put each in a file of its "
			   "own, which diff compares",
			   path, t->columns);
	if (*t->maps[1])
		return fail(-EINVAL,
			   "%s holds several maps of bpftrace (%.40s and %.40s): put each in a "
			   "file of its own, which diff compares",
			   path, t->maps[0], t->maps[1]);
	if (!t->nr)
		return fail(-EINVAL, "%s: no row of a table was recognized", path);
	if (t->also)
		return fail(-EINVAL,
			   "%s holds tables of %s and of %s: put each in a file of its own, which "
			   "diff compares",
			   path, t->tool, t->also);
	if (t->cgroups)
		return fail(-EINVAL,
			   "%s has the rows of several cgroups (perf stat --for-each-cgroup): put "
			   "those of each in a file of its own, which diff compares",
			   path);
	if (*t->twice && !t->others)
		return fail(-EINVAL,
			   "%s has several rows of %s in one table of perf stat, as for several "
			   "filters of one event, and does not say what each is of: count each "
			   "with a perf stat of its own",
			   path, t->twice);
	if (t->others)
		return fail(-EINVAL,
			   "%s holds several tables of %s: put each in a file of its own, which "
			   "diff compares",
			   path, t->tool);
	return 0;
}

int tool_table_read(const char *path, struct open_files *files, struct tool_table *ret)
{
	struct tool_lines l;
	struct text_lines lines;
	struct tool_front f;
	const char *tool;
	char *s, *end;
	unsigned int depth = 0;
	int err;

	tool_rows_init(ret);
	tool_lines_init(&l, ret);
	err = front_init(&f);
	err = text_lines_open(&lines, path, files) ?: err;
	if (!err) {
		depth = depth_find(&lines, &tool);
		err = text_lines_rewind(&lines);
	}
	while (!err && (s = text_line_next(&lines, &end)))
		err = lines.signature ? 0 : line_read(&l, &f, depth, &lines, s, end);
	if (!err && lines.err)
		err = fail(lines.err, "%s: %s", path, strerror(-lines.err));
	if (!err)
		err = lines_end(&f, &l, depth, front_flush(&f, &l));
	if (!err)
		err = table_check(ret, path);
	tool_lines_free(&l);
	text_lines_close(&lines);
	front_deinit(&f);
	return err;
}
