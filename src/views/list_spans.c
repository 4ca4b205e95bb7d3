// SPDX-License-Identifier: GPL-2.0-or-later
/* Each span as a row, in the order in which they ended. */
#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "base/array.h"
#include "base/error.h"
#include "views/view.h"

enum { SPANS_MAX = 1 << 20 }; /* rows kept; --since, --until and --limit choose which */

struct state {
	struct span *span;
	uint64_t nr, left_out;
};

static int list_open(struct folding *f)
{
	f->state = calloc(1, sizeof(struct state));
	return f->state ? 0 : fail(-ENOMEM, "out of memory");
}

static int list_span(struct folding *f, const struct span *s)
{
	struct state *l = f->state;

	if (l->nr == SPANS_MAX) {
		l->left_out++;
		return 0;
	}
	if (array_room(l->span, l->nr))
		return -ENOMEM;
	l->span[l->nr++] = *s;
	return 0;
}

/* Adds a column unless the spans are grouped by it anyway. Its number; 0: not added. */
static unsigned int column_unless(const struct folding *f, struct table *t, const char *key,
				  const char *title)
{
	unsigned int nr;
	const struct label *l = pairing_labels(f->pairing, &nr);

	for (unsigned int i = 0; i < nr; i++)
		if (!strcmp(l[i].name, key))
			return 0;
	table_column(t, key, title, COL_COUNT, 0);
	return t->nr_columns - 1;
}

static int list_draw(struct folding *f, struct report *r)
{
	struct state *l = f->state;
	struct table t = {0};

	table_column(&t, "time_ns", NULL, COL_COUNT, 0);
	table_column(&t, NULL, "seconds", COL_SECONDS, 0);
	table_column(&t, "duration_ns", "duration", COL_NS, 0);
	unsigned int pid = column_unless(f, &t, "pid", NULL),
		     tid = column_unless(f, &t, "tid", "tid"),
		     vcpu = column_unless(f, &t, "vcpu", "vcpu"), first = t.nr_columns;

	label_columns(f, &t);
	for (uint64_t i = 0; i < l->nr; i++) {
		const struct span *s = &l->span[i];
		struct cell *row = table_row(&t);

		if (!row)
			return -ENOMEM;
		row[0].number = s->start_ns;
		row[1].number =
			s->start_ns - (s->start_ns < f->start_ns ? s->start_ns : f->start_ns);
		row[2].number = s->end_ns - s->start_ns;
		if (pid)
			row[pid].number = s->pid;
		if (tid)
			row[tid].number = s->tid;
		if (vcpu)
			row[vcpu] = (struct cell){s->vcpu, s->vcpu == RECORD_NO_VCPU ? "-" : NULL};
		label_cells(f, &t, row + first, s->label);
	}
	t.left_out = l->left_out;
	return label_table(f, r, &t, NULL);
}

static void list_close(struct folding *f)
{
	struct state *l = f->state;

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
	.close = list_close,
};
