// SPDX-License-Identifier: GPL-2.0-or-later
/* Each span as a row, in the order in which they ended. */
#include <errno.h>

#include "base/array.h"
#include "base/error.h"
#include "views/view.h"

enum { SPANS_MAX = 1 << 20 }; /* rows kept; --since, --until and --limit choose which */

static int list_open(struct folding *f)
{
	f->state = calloc(1, sizeof(struct kept_spans));
	return f->state ? 0 : fail(-ENOMEM, "out of memory");
}

int kept_spans_add(struct folding *f, const struct span *s)
{
	struct kept_spans *l = f->state;

	if (l->nr == SPANS_MAX) {
		l->left_out++;
		return 0;
	}
	return array_add(l->span, l->nr, *s);
}

/* The spans are grouped by some label of this name: then that is the column. */
static bool has_label(const struct table *t, const char *name)
{
	const struct folding *f = t->report;
	unsigned int nr;
	const struct label *l = pairing_labels(f->pairing, &nr);

	return array_any(nr, i, !strcmp(l[i].name, name));
}

static bool needs_pid(const struct table *t)
{
	return !has_label(t, "pid");
}

static bool needs_tid(const struct table *t)
{
	return !has_label(t, "tid");
}

static bool needs_vcpu(const struct table *t)
{
	return !has_label(t, "vcpu");
}

static struct cell get_seconds(struct table *t, const void *at)
{
	const struct folding *f = t->report;
	uint64_t ns = *(const uint64_t *)at;

	return (struct cell){ns - (ns < f->start_ns ? ns : f->start_ns), NULL};
}

GET_NUMBER(get_duration, const struct span *s, s->end_ns - s->start_ns)

static const struct column_def span_columns[] = {
	{"time_ns", NULL, COL_COUNT, MEMBER(struct span, start_ns), .doc = "when it began"},
	{NULL, "seconds", COL_SECONDS, offsetof(struct span, start_ns), get_seconds,
	 .doc = "the same, since the start of the trace"},
	{"duration_ns", "duration", COL_NS, .get = get_duration, .doc = "how long it took"},
	{"pid", NULL, COL_COUNT, MEMBER(struct span, pid), .when = needs_pid,
	 .doc = "process id of the VM"},
	{"tid", "tid", COL_COUNT, MEMBER(struct span, tid), .when = needs_tid,
	 .doc = "thread id"},
	{"vcpu", "vcpu", COL_COUNT, offsetof(struct span, vcpu), column_vcpu, .nullable = true,
	 .when = needs_vcpu, .doc = "index of the vCPU; null: not a vCPU, or unknown"},
	{0},
};

/* Before the labels of the analyzer. */
const struct table_def spans_table = {
	"list-spans", "", "a span; its labels follow", {span_columns}};

static int list_draw(struct folding *f, struct report *r)
{
	struct kept_spans *l = f->state;
	struct table t = {0};

	table_open(&t, &spans_table, f, NULL);

	unsigned int first = t.nr_columns;

	label_columns(f, &t);
	for (uint64_t i = 0; i < l->nr; i++) {
		struct cell *row = table_row(&t);

		if (!row)
			return -ENOMEM;
		table_fill(&t, row, &l->span[i]);
		label_cells(f, &t, row + first, l->span[i].label);
	}
	t.left_out = l->left_out;
	return label_table(f, r, &t, NULL);
}

void kept_spans_close(struct folding *f)
{
	struct kept_spans *l = f->state;

	if (l)
		free(l->span);
	free(l);
}

const struct view list_spans_view = {
	.name = "list-spans",
	.summary = "each span as a row",
	.formats = table_formats,
	.open = list_open,
	.span = kept_spans_add,
	.draw = list_draw,
	.by_vm = true,
	.close = kept_spans_close,
};
