// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A table of another tool as rows: names of exit reasons are made the kernel's, and rows of one
 * name, such as those of each CPU or thread, are added up.
 */
#include "readers/text/tool_table.h"

#include <errno.h>
#include <stdlib.h>

#include "base/array.h"
#include "base/error.h"
#include "base/saturate.h"
#include "event/exit_reason.h"
#include "readers/text/lines.h"
#include "readers/text/paste_clean.h"
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

/* A whole line and its newline at `end`. */
static int whole_line_add(struct tool_lines *l, char *s, char *end)
{
	struct tool_join join;
	int err = 0;

	if (l->printable)
		*(end = printable_decode(s, end)) = '\n';
	err = tool_maps_json_line(l, s, end);
	if (err)
		return err < 0 ? err : 0;
	end = tool_groups_replace(s, end);
	*paste_clean(s, end) = '\0';
	tool_join_open(&join, tool_mail_tags_cut(s));
	while (!err && (s = tool_join_next(&join)))
		err = row_add(l, s);
	return err;
}

/* A line and its newline at `end`, which may go on in the next. */
static int line_add(struct tool_lines *l, char *s, char *end)
{
	if (tool_mail_take(l, &s, &end) == TOOL_MAIL_HELD)
		return 0;
	return whole_line_add(l, s, end);
}

static int lines_end(struct tool_lines *l)
{
	char held[TOOL_HELD_BYTES], *s, *end;
	int err = tool_mail_flush(l, &s, &end) ? whole_line_add(l, s, end) : 0;

	if (err)
		return err;
	tool_wrap_flush(l, held);
	err = *held ? tool_line_add(l, held) : 0;
	err = err ? err : tool_lines_end(l);
	err = err ? err : tool_maps_end(l);
	tool_missing_end(l);
	return err;
}

const char *tool_table_probe(const char *text, size_t len)
{
	char *copy = memchr(text, '\0', len) ? NULL : calloc(1, len + 1 + TEXT_LINE_SLACK),
	     *s = copy;
	struct tool_table t;
	struct tool_lines l;
	const char *tool = NULL;
	int err = 0;

	if (!copy)
		return NULL;
	tool_rows_init(&t);
	tool_lines_init(&l, &t);
	memcpy(copy, text, len);
	copy[len] = '\n';
	for (char *end; !err && s < copy + len; s = end + 1) {
		end = memchr(s, '\n', (size_t)(copy + len + 1 - s));
		err = line_add(&l, s, end);
	}
	if (!err)
		err = lines_end(&l);
	if (!err && t.nr)
		tool = t.tool;
	else if (!err && ((t.broken && l.csv) || *t.columns))
		tool = "kvm_stat";
	tool_lines_free(&l);
	tool_table_free(&t);
	free(copy);
	return tool;
}

static int line_read(struct tool_lines *l, const struct text_lines *lines, char *s, char *end)
{
	uint64_t width = tool_missing_width(s, end), rows = l->rows;
	int err;

	if (lines->unended && lines->at >= lines->end)
		end = tool_missing_open(l, s, end);
	err = line_add(l, s, end);
	if (l->rows > rows || l->held_lines)
		l->width = width;
	return err;
}

static int lines_read(const char *path, struct open_files *files, struct tool_table *ret,
		      uint64_t most)
{
	struct tool_lines l;
	struct text_lines lines;
	char *s, *end;
	int err;

	tool_rows_init(ret);
	tool_lines_init(&l, ret);
	err = text_lines_open(&lines, path, files);
	for (uint64_t left = most; !err && left && (s = text_line_next(&lines, &end)); left--)
		err = lines.signature ? 0 : line_read(&l, &lines, s, end);
	if (!err && lines.err)
		err = fail(lines.err, "%s: %s", path, strerror(-lines.err));
	if (!err)
		err = lines_end(&l);
	if (!err && ret->broken && most == UINT64_MAX &&
	    (!ret->tool || !strcmp(ret->tool, "kvm_stat") ||
	     !strcmp(ret->tool, "KVM's debugfs")))
		err = fail(-EINVAL,
			   "%s: the rows of kvm_stat are broken into several lines, and what "
			   "belongs together is not certain: paste it as it was printed, or as a "
			   "file",
			   path);
	if (!err && *ret->columns && most == UINT64_MAX)
		err = fail(-EINVAL,
			   "%s has several columns of counts (%s): put each in a file of its "
			   "own, which diff compares",
			   path, ret->columns);
	if (!err && *ret->maps[1] && most == UINT64_MAX)
		err = fail(-EINVAL,
			   "%s holds several maps of bpftrace (%.40s and %.40s): put each in a "
			   "file of its own, which diff compares",
			   path, ret->maps[0], ret->maps[1]);
	if (!err && !ret->nr)
		err = fail(-EINVAL, "%s: no row of a table was recognized", path);
	if (!err && ret->also && most == UINT64_MAX)
		err = fail(-EINVAL,
			   "%s holds tables of %s and of %s: put each in a file of its own, which "
			   "diff compares",
			   path, ret->tool, ret->also);
	if (!err && ret->cgroups && most == UINT64_MAX)
		err = fail(-EINVAL,
			   "%s has the rows of several cgroups (perf stat --for-each-cgroup): put "
			   "those of each in a file of its own, which diff compares",
			   path);
	if (!err && *ret->twice && !ret->others && most == UINT64_MAX)
		err = fail(-EINVAL,
			   "%s has several rows of %s in one table of perf stat, as for several "
			   "filters of one event, and does not say what each is of: count each "
			   "with a perf stat of its own",
			   path, ret->twice);
	if (!err && ret->others && most == UINT64_MAX)
		err = fail(-EINVAL,
			   "%s holds several tables of %s: put each in a file of its own, which "
			   "diff compares",
			   path, ret->tool);
	tool_lines_free(&l);
	text_lines_close(&lines);
	return err;
}

int tool_table_read(const char *path, struct open_files *files, struct tool_table *ret)
{
	return lines_read(path, files, ret, UINT64_MAX);
}

const char *tool_table_find(const char *path, struct open_files *files)
{
	struct tool_table t;
	const char *tool = lines_read(path, files, &t, FIND_LINES) ? NULL : t.tool;

	tool_table_free(&t);
	return tool;
}
