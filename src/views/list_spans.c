// SPDX-License-Identifier: GPL-2.0-or-later
/* Each span as a row, in the order in which they ended. */
#include <errno.h>

#include "base/array.h"
#include "base/error.h"
#include "views/view.h"

enum {
	SPANS_MAX = 1 << 20, /* rows kept; --since, --until and --limit choose which */
	SPARE_MIN = 4096     /* with --limit: further ones that are kept before they are sorted */
};

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

/* The column of the VM is printed also if only spans of others are left out. */
static void vm_note(const struct folding *f, struct kept_spans *l, const struct span *s)
{
	unsigned int nr;
	const struct label *label = pairing_labels(f->pairing, &nr);

	for (unsigned int i = 0; f->drop_vm && i < nr; i++) {
		if (strcmp(label[i].name, "vm"))
			continue;
		l->several_vms |= (l->nr || l->left_out) && l->vm != s->label[i];
		l->vm = s->label[i];
	}
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

/* ---- --sort and --limit: what they leave out is not kept ---- */

/* What the rows will be sorted by. */
struct span_order {
	struct table *t; /* of no rows */
	const struct column *column;
	const struct label *label; /* of this column; NULL: none */
	unsigned int label_nr;
	const struct span *span; /* of kept_spans */
};

/* The number in the column. Texts may only be known at the end: those of equal numbers are equal. */
static uint64_t order_value(const struct span_order *o, uint32_t i)
{
	const struct span *s = &o->span[i];
	const struct column_def *def = o->column->def;

	if (!o->label)
		return def->get(o->t, (const char *)s + def->offset).number;
	return !column_is_text(o->column) && label_is_unknown(o->label, s->label[o->label_nr])
		       ? 0
		       : s->label[o->label_nr];
}

/* As table_sort(): the largest first; equal ones as they came. */
static int by_value(const void *a, const void *b, void *arg)
{
	uint32_t i = *(const uint32_t *)a, j = *(const uint32_t *)b;
	uint64_t x = order_value(arg, i), y = order_value(arg, j);

	return x == y ? (i > j) - (i < j) : x > y ? -1 : 1;
}

/* Keeps those that may be among the first `limit` rows, in the order in which they came: of texts, so many of each. */
static int kept_spans_cut(struct kept_spans *l, uint64_t limit, const struct span_order *o)
{
	_cleanup_free_ uint32_t *order = calloc(l->nr, sizeof(*order));
	_cleanup_free_ bool *keep = calloc(l->nr, sizeof(*keep));
	size_t nr = 0, before = 0;

	if (!order || !keep)
		return fail(-ENOMEM, "out of memory");
	for (uint32_t i = 0; i < l->nr; i++)
		order[i] = i;
	qsort_r(order, l->nr, sizeof(*order), by_value, (void *)o);
	for (size_t i = 0; i < l->nr; i++) {
		if (i && column_is_text(o->column) &&
		    order_value(o, order[i]) != order_value(o, order[i - 1]))
			before = 0;
		keep[order[i]] = before++ < limit;
	}
	for (size_t i = 0; i < l->nr; i++)
		if (keep[i])
			l->span[nr++] = l->span[i];
	l->left_out += l->nr - nr;
	l->nr = nr;
	return 0;
}

static int kept_spans_order(const struct folding *f, struct kept_spans *l)
{
	struct table t = {0};
	struct span_order o = {.t = &t, .span = l->span};
	unsigned int nr, first;
	const struct label *label = pairing_labels(f->pairing, &nr);
	int err = 0;

	table_open(&t, &spans_table, f, NULL);
	first = t.nr_columns;
	label_columns(f, &t);
	for (unsigned int i = 0; i < t.nr_columns && !o.column; i++) {
		if (!table_key_is(&t.column[i], f->sort))
			continue;
		o.column = &t.column[i];
		o.label_nr = i < first ? 0 : i - first;
		o.label = i < first ? NULL : &label[o.label_nr];
	}
	if (o.column) /* else it is an error, at the end */
		err = kept_spans_cut(l, f->limit, &o);
	table_free(&t);
	return err;
}

static int list_span(struct folding *f, const struct span *s)
{
	uint64_t spare = f->limit > SPARE_MIN ? f->limit : SPARE_MIN;
	struct kept_spans *l = f->state;
	int err = 0;

	vm_note(f, l, s);
	if (f->limit && !f->sort && l->nr == f->limit) {
		l->left_out++;
		return 0;
	}
	if (f->limit && f->limit < SPANS_MAX && f->sort && l->nr >= f->limit + spare &&
	    l->nr >= l->cut_at) {
		err = kept_spans_order(f, l);
		l->cut_at = 2 * l->nr;
	}
	return err ? err : kept_spans_add(f, s);
}

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
	f->drop_vm &= !l->several_vms;
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
	.span = list_span,
	.draw = list_draw,
	.by_vm = true,
	.close = kept_spans_close,
};
