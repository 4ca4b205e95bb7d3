// SPDX-License-Identifier: GPL-2.0-or-later
/* `hostrace stat --interval`: a line per interval (and vCPU or VM), as vmstat prints them. */
#include "commands/live/stat_lines.h"

#include <errno.h>
#include <inttypes.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "base/array.h"
#include "base/error.h"
#include "base/json_text.h"
#include "base/units.h"
#include "output/report.h"

/* ---- text ---- */

/* A line per interval and a heading fill the screen. 0: not a terminal. */
static uint64_t lines_per_screen(const struct output *out)
{
	struct winsize size;
	int fd = fileno(out->wrapped ? out->wrapped : out->file);

	if (!isatty(fd) || ioctl(fd, TIOCGWINSZ, &size) || size.ws_row < 4)
		return 0;
	return size.ws_row - 2u;
}

static const char *const heading_of_part[] = {
	[STAT_BY_REASON] = "", [STAT_BY_VCPU] = "vcpu ", [STAT_BY_VM] = "vm               "};

static void put_heading(struct stat_lines *l)
{
	uint64_t screen = lines_per_screen(l->out);

	if (l->printed && (!screen || l->printed % screen))
		return;
	fprintf(l->out->file, "%8s %s%8s %8s %7s %7s %7s %7s  %s\n", "time_s",
		heading_of_part[l->naming->by], "exits", "user", "total", "p50", "p99", "max",
		"reasons");
}

static void figure_put(FILE *f, uint64_t ns)
{
	char buf[16];

	fprintf(f, " %7s", ns ? duration_print(ns, buf, sizeof(buf)) : "0");
}

static int by_time(const void *a, const void *b)
{
	const struct stat_row *x = a, *y = b;

	if (x->sum.total_ns != y->sum.total_ns)
		return x->sum.total_ns < y->sum.total_ns ? 1 : -1;
	if (x->sum.reason != y->sum.reason)
		return x->sum.reason < y->sum.reason ? -1 : 1;
	return x->part != y->part ? (x->part < y->part ? -1 : 1) : (int)x->other - (int)y->other;
}

/* Those that took most of the time, as many as fit: "HLT 93% IO 5%". */
static void put_reasons(const struct stat_lines *l, const struct stat_interval *in, int part,
			uint64_t total_ns)
{
	int left = l->out->width - 58 - (int)strlen(heading_of_part[l->naming->by]);
	const char *gap = "  ";
	char name[16], text[64];

	for (unsigned int i = 0; i < in->rows->nr && total_ns; i++) {
		const struct stat_row *r = &in->rows->row[i];
		int len;

		if (!r->sum.count || (part != STAT_ALL_PARTS && r->part != part))
			continue;
		len = snprintf(text, sizeof(text), "%s%s %.0f%%", gap,
			       stat_reason_print(r, l->naming->name_of, name, sizeof(name)),
			       (double)r->sum.total_ns * 100 / (double)total_ns);
		left -= len;
		if (left < 0 && !l->out->wide)
			return;
		fputs(text, l->out->file);
		gap = " ";
	}
}

/* Bytes of a name for its column: no part of a character. */
static int name_fit(const char *name)
{
	int n = 16;

	if (strlen(name) <= (size_t)n)
		return n;
	while (n && (name[n] & 0xc0) == 0x80)
		n--;
	return n;
}

static void put_part(const struct stat_lines *l, int part)
{
	if (l->naming->by == STAT_BY_VCPU)
		fprintf(l->out->file, " %4d", part);
	else if (l->naming->by == STAT_BY_VM)
		fprintf(l->out->file, " %-16.*s", name_fit(l->naming->vm[part].name),
			l->naming->vm[part].name);
}

static void put_text(struct stat_lines *l, const struct stat_interval *in, int part,
		     const struct durations *d)
{
	FILE *f = l->out->file;

	put_heading(l);
	fprintf(f, "%8.3f", (double)in->until_ns / 1e9);
	put_part(l, part);
	fprintf(f, " %8" PRIu64 " %8" PRIu64, d->count, d->userspace);
	figure_put(f, d->total_ns);
	figure_put(f, d->p50_ns);
	figure_put(f, d->p99_ns);
	figure_put(f, d->max_ns);
	put_reasons(l, in, part, d->total_ns);
	fputc('\n', f);
}

/* ---- CSV ---- */

struct line_part {
	const struct stat_naming *naming;
	int part;
};

static bool line_is_by_vcpu(const struct table *t)
{
	return ((const struct line_part *)t->report)->naming->by == STAT_BY_VCPU;
}

static bool line_is_by_vm(const struct table *t)
{
	return ((const struct line_part *)t->report)->naming->by == STAT_BY_VM;
}

static struct cell line_vm(struct table *t, const void *at)
{
	const struct line_part *p = at;

	return (struct cell){0, table_text(t, p->naming->vm[p->part].name)};
}

GET_NUMBER(line_vcpu, const struct line_part *p, p->part)
GET_NUMBER_IF(line_pid, const struct line_part *p, p->naming->vm[p->part].pid,
	      p->naming->vm[p->part].pid)

static const struct column_def interval_columns[] = {
	{"from_ns", "from", COL_NS, MEMBER(struct stat_interval, from_ns),
	 .doc = "begin of the interval, since the start"},
	{"until_ns", "until", COL_NS, MEMBER(struct stat_interval, until_ns), .doc = "its end"},
	{0},
};

static const struct column_def interval_part[] = {
	{"vcpu", "vcpu", COL_COUNT, .get = line_vcpu, .when = line_is_by_vcpu,
	 .doc = "index of the vCPU (--by vcpu)"},
	{"vm", "vm", COL_TEXT, .get = line_vm, .when = line_is_by_vm, .doc = "the VM (--all)"},
	{"pid", "pid", COL_COUNT, .get = line_pid, .when = line_is_by_vm, .nullable = true,
	 .doc = "its process"},
	{0},
};

static const struct table_def interval_table = {
	"stat",
	"--interval T",
	"an interval",
	{interval_columns, interval_part, durations_columns, durations_userspace}};

static int put_csv_line(const struct stat_lines *l, const struct stat_interval *in, int part,
			struct durations *d)
{
	const struct line_part of = {l->naming, part};
	struct report report = {.out = l->out, .continues = l->printed};
	struct table t = {0};
	int err;

	d->all_ns = d->total_ns;
	table_open(&t, &interval_table, &of, NULL);
	err = table_add(&t, in, &of, d, d);
	t.report = NULL;
	return report_table_made(&report, err, &t);
}

/* ---- JSON ---- */

static json_t *reasons_json(const struct stat_lines *l, const struct stat_interval *in, int part)
{
	json_t *list = json_array();

	for (unsigned int i = 0; i < in->rows->nr; i++) {
		const struct stat_row *r = &in->rows->row[i];
		struct durations d;
		const char *reason;
		char buf[16];
		json_t *row;

		if (!r->sum.count || (part != STAT_ALL_PARTS && r->part != part))
			continue;
		if (l->out->limit && json_array_size(list) == l->out->limit)
			break;
		stat_durations(&r->sum, &d);
		reason = stat_reason_print(r, l->naming->name_of, buf, sizeof(buf));
		row = json_pack("{s:o}", "reason", json_text(reason));
		json_object_update_new(row, durations_json(&d));
		json_array_append_new(list, row);
	}
	return list;
}

static void part_to_json(const struct stat_lines *l, int part, json_t *line)
{
	const struct stat_part_vm *vm = l->naming->vm;

	if (l->naming->by == STAT_BY_VCPU)
		json_object_set_new(line, "vcpu", json_integer(part));
	if (l->naming->by != STAT_BY_VM)
		return;
	json_object_set_new(line, "vm", json_text(vm[part].name));
	json_object_set_new(line, "pid",
			    vm[part].pid ? json_integer(vm[part].pid) : json_null());
}

static int put_json_line(const struct stat_lines *l, const struct stat_interval *in, int part,
			 const struct durations *d)
{
	json_t *line = json_pack("{s:I,s:I}", "from_ns", (json_int_t)in->from_ns, "until_ns",
				 (json_int_t)in->until_ns);
	int err;

	part_to_json(l, part, line);
	json_object_update_new(line, durations_json(d));
	json_object_set_new(line, "missed", json_integer((json_int_t)in->missed));
	json_object_set_new(line, "rows", reasons_json(l, in, part));
	err = line ? json_text_put(line, l->out->file, JSON_COMPACT) : -1;
	fputc('\n', l->out->file);
	json_decref(line);
	return err ? fail(-ENOMEM, "out of memory") : 0;
}

/* ---- a line ---- */

static int put_line(struct stat_lines *l, const struct stat_interval *in, int part,
		    struct stat_cell *sum)
{
	struct durations d;
	int err = 0;

	stat_rows_sum(in->rows, part, sum);
	stat_durations(sum, &d);
	if (!strcmp(l->out->format, "json"))
		err = put_json_line(l, in, part, &d);
	else if (!strcmp(l->out->format, "csv"))
		err = put_csv_line(l, in, part, &d);
	else
		put_text(l, in, part, &d);
	l->printed++;
	return err;
}

/* A VM that has ended has a line for its last exits. */
static bool has_line(const struct stat_lines *l, const struct stat_interval *in, int part)
{
	return l->naming->by != STAT_BY_VM || !l->naming->vm[part].ended ||
	       array_any(in->rows->nr, i,
			 in->rows->row[i].part == part && in->rows->row[i].sum.count);
}

int stat_lines_print(struct stat_lines *l, const struct stat_interval *in)
{
	struct stat_cell *sum = malloc(sizeof(*sum)); /* 34 KB */
	int err = 0;

	if (!sum)
		return fail(-ENOMEM, "out of memory");
	if (in->rows->nr)
		qsort(in->rows->row, in->rows->nr, sizeof(*in->rows->row), by_time);
	if (l->naming->by == STAT_BY_REASON)
		err = put_line(l, in, STAT_ALL_PARTS, sum);
	for (int i = 0; i < l->nr_parts && !err; i++)
		if (has_line(l, in, i))
			err = put_line(l, in, i, sum);
	free(sum);
	return err;
}

