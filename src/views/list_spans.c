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

/* ---- --limit: what it leaves out is not kept ---- */

static uint64_t span_start(const struct span *s)
{
	return s->start_ns;
}

static uint64_t span_duration(const struct span *s)
{
	return s->end_ns - s->start_ns;
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

/* What the rows are sorted by is known now; NULL: some label. */
static uint64_t (*sort_key(const char *column))(const struct span *s)
{
	if (!strcmp(column, "duration") || !strcmp(column, "duration_ns"))
		return span_duration;
	return !strcmp(column, "time") || !strcmp(column, "time_ns") ? span_start : NULL;
}

struct order {
	const struct span *span;
	uint64_t (*key)(const struct span *s);
};

/* As table_sort(): the largest first; equal ones as they came. */
static int by_key(const void *a, const void *b, void *arg)
{
	const struct order *o = arg;
	uint32_t i = *(const uint32_t *)a, j = *(const uint32_t *)b;
	uint64_t x = o->key(&o->span[i]), y = o->key(&o->span[j]);

	return x == y ? (i > j) - (i < j) : x > y ? -1 : 1;
}

static int kept_spans_cut(struct kept_spans *l, uint64_t limit,
			  uint64_t (*key)(const struct span *s))
{
	_cleanup_free_ uint32_t *order = calloc(l->nr, sizeof(*order));
	struct span *first = calloc(l->nr, sizeof(*first));

	if (!order || !first) {
		free(first);
		return fail(-ENOMEM, "out of memory");
	}
	for (uint32_t i = 0; i < l->nr; i++)
		order[i] = i;
	qsort_r(order, l->nr, sizeof(*order), by_key, &(struct order){l->span, key});
	for (size_t i = 0; i < limit; i++)
		first[i] = l->span[order[i]];
	free(l->span);
	l->span = first;
	l->left_out += l->nr - limit;
	l->nr = limit;
	return 0;
}

static int list_span(struct folding *f, const struct span *s)
{
	uint64_t spare = f->limit > SPARE_MIN ? f->limit : SPARE_MIN;
	struct kept_spans *l = f->state;
	uint64_t (*key)(const struct span *s) = f->sort ? sort_key(f->sort) : NULL;

	vm_note(f, l, s);
	if (f->limit && !f->sort && l->nr == f->limit) {
		l->left_out++;
		return 0;
	}
	if (f->limit && f->limit < SPANS_MAX && key && l->nr == f->limit + spare) {
		int err = kept_spans_cut(l, f->limit, key);

		if (err)
			return err;
	}
	return kept_spans_add(f, s);
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
