// SPDX-License-Identifier: GPL-2.0-or-later
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "base/error.h"
#include "base/json_text.h"
#include "base/units.h"
#include "commands/live/stat_lines.h"
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

static void put_heading(struct stat_lines *l)
{
	uint64_t screen = lines_per_screen(l->out);

	if (l->printed && (!screen || l->printed % screen))
		return;
	fprintf(l->out->file, "%8s %s%8s %8s %7s %7s %7s %7s  %s\n", "time_s",
		l->nr_vcpus ? "vcpu " : "", "exits", "user", "total", "p50", "p99", "max",
		"reasons");
}

static void put_duration(FILE *f, uint64_t ns)
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
	return x->vcpu != y->vcpu ? (x->vcpu < y->vcpu ? -1 : 1) : (int)x->other - (int)y->other;
}

/* Those that took most of the time, as many as fit: "HLT 93% IO 5%". */
static void put_reasons(const struct stat_lines *l, const struct stat_interval *in, int vcpu,
			uint64_t total_ns)
{
	int left = l->out->width - (l->nr_vcpus ? 63 : 58);
	const char *gap = "  ";
	char name[16], text[64];

	for (unsigned int i = 0; i < in->rows->nr && total_ns; i++) {
		const struct stat_row *r = &in->rows->row[i];
		int len;

		if (!r->sum.count || (vcpu != STAT_ALL_VCPUS && r->vcpu != vcpu))
			continue;
		len = snprintf(text, sizeof(text), "%s%s %.0f%%", gap,
			       stat_reason_print(r, l->name_of, name, sizeof(name)),
			       (double)r->sum.total_ns * 100 / (double)total_ns);
		left -= len;
		if (left < 0 && !l->out->wide)
			return;
		fputs(text, l->out->file);
		gap = " ";
	}
}

static void put_text(struct stat_lines *l, const struct stat_interval *in, int vcpu,
		     const struct durations *d)
{
	FILE *f = l->out->file;

	put_heading(l);
	fprintf(f, "%8.3f", (double)in->until_ns / 1e9);
	if (vcpu != STAT_ALL_VCPUS)
		fprintf(f, " %4d", vcpu);
	fprintf(f, " %8" PRIu64 " %8" PRIu64, d->count, d->userspace);
	put_duration(f, d->total_ns);
	put_duration(f, d->p50_ns);
	put_duration(f, d->p99_ns);
	put_duration(f, d->max_ns);
	put_reasons(l, in, vcpu, d->total_ns);
	fputc('\n', f);
}

/* ---- CSV ---- */

static bool is_of_vcpu(const struct table *t)
{
	return *(const int *)t->report != STAT_ALL_VCPUS;
}

GET_NUMBER(get_vcpu, const int *vcpu, *vcpu)

static const struct column_def interval_columns[] = {
	{"from_ns", "from", COL_NS, MEMBER(struct stat_interval, from_ns),
	 .doc = "begin of the interval, since the start"},
	{"until_ns", "until", COL_NS, MEMBER(struct stat_interval, until_ns), .doc = "its end"},
	{0},
};

static const struct column_def interval_vcpu[] = {
	{"vcpu", "vcpu", COL_COUNT, .get = get_vcpu, .when = is_of_vcpu,
	 .doc = "index of the vCPU (--by vcpu)"},
	{0},
};

static const struct table_def interval_table = {
	"stat",
	"--interval T",
	"an interval",
	{interval_columns, interval_vcpu, durations_columns, durations_userspace}};

static int put_csv_line(const struct stat_lines *l, const struct stat_interval *in, int vcpu,
			struct durations *d)
{
	struct report report = {.out = l->out, .continues = l->printed};
	struct table t = {0};
	int err;

	d->all_ns = d->total_ns;
	table_open(&t, &interval_table, &vcpu, NULL);
	err = table_add(&t, in, &vcpu, d, d);
	return report_table_made(&report, err, &t);
}

/* ---- JSON ---- */

static json_t *reasons_json(const struct stat_lines *l, const struct stat_interval *in, int vcpu)
{
	json_t *list = json_array();

	for (unsigned int i = 0; i < in->rows->nr; i++) {
		const struct stat_row *r = &in->rows->row[i];
		struct durations d;
		char buf[16];
		json_t *row;

		if (!r->sum.count || (vcpu != STAT_ALL_VCPUS && r->vcpu != vcpu))
			continue;
		if (l->out->limit && json_array_size(list) == l->out->limit)
			break;
		stat_durations(&r->sum, &d);
		row = json_pack("{s:o}", "reason",
				json_text(stat_reason_print(r, l->name_of, buf, sizeof(buf))));
		json_object_update_new(row, durations_json(&d));
		json_array_append_new(list, row);
	}
	return list;
}

static int put_json_line(const struct stat_lines *l, const struct stat_interval *in, int vcpu,
			 const struct durations *d)
{
	json_t *line = json_pack("{s:I,s:I}", "from_ns", (json_int_t)in->from_ns, "until_ns",
				 (json_int_t)in->until_ns);
	int err;

	if (vcpu != STAT_ALL_VCPUS)
		json_object_set_new(line, "vcpu", json_integer(vcpu));
	json_object_update_new(line, durations_json(d));
	json_object_set_new(line, "missed", json_integer((json_int_t)in->missed));
	json_object_set_new(line, "rows", reasons_json(l, in, vcpu));
	err = line ? json_text_put(line, l->out->file, JSON_COMPACT | JSON_ENSURE_ASCII) : -1;
	fputc('\n', l->out->file);
	json_decref(line);
	return err ? fail(-ENOMEM, "out of memory") : 0;
}

/* ---- a line ---- */

static int put_line(struct stat_lines *l, const struct stat_interval *in, int vcpu,
		    struct stat_cell *sum)
{
	struct durations d;
	int err = 0;

	stat_rows_sum(in->rows, vcpu, sum);
	stat_durations(sum, &d);
	if (!strcmp(l->out->format, "json"))
		err = put_json_line(l, in, vcpu, &d);
	else if (!strcmp(l->out->format, "csv"))
		err = put_csv_line(l, in, vcpu, &d);
	else
		put_text(l, in, vcpu, &d);
	l->printed++;
	return err;
}

int stat_lines_print(struct stat_lines *l, const struct stat_interval *in)
{
	struct stat_cell *sum = malloc(sizeof(*sum)); /* 34 KB */
	int err = 0;

	if (!sum)
		return fail(-ENOMEM, "out of memory");
	if (in->rows->nr)
		qsort(in->rows->row, in->rows->nr, sizeof(*in->rows->row), by_time);
	if (!l->nr_vcpus)
		err = put_line(l, in, STAT_ALL_VCPUS, sum);
	for (int i = 0; i < l->nr_vcpus && !err; i++)
		err = put_line(l, in, i, sum);
	free(sum);
	return err;
}
