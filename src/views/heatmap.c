// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Latency over time: two rows for each power of two, columns of time that double when the trace
 * outgrows them, so that memory and work do not depend on its length.
 */
#include <errno.h>

#include "base/array.h"
#include "base/error.h"
#include "views/view.h"

enum {
	FIRST_COLUMN_NS = 1000,
	ROWS = 128, /* of HEATMAP_ROWS; see row_of() */
};

struct state {
	struct heatmap map; /* rows not yet cut to those in use */
	char title[160];
};

static int heatmap_open(struct folding *f)
{
	struct state *s = calloc(1, sizeof(*s));

	f->state = s;
	if (!s)
		return fail(-ENOMEM, "out of memory");
	s->map.t0_ns = f->since_ns;
	s->map.column_ns = FIRST_COLUMN_NS;
	return 0;
}

/* Row 0: 0 ns; row 1: 1 ns, which has no halves; then each octave's lower and upper half. */
static unsigned int row_of(uint64_t ns)
{
	if (!ns)
		return 0;
	unsigned int e = 63u - (unsigned int)__builtin_clzll(ns);

	return e ? 2 * e + (ns >> (e - 1) & 1) : 1;
}

static uint64_t row_start(unsigned int row)
{
	if (row < 2)
		return row;
	return (2ull + row % 2) << (row / 2 - 1);
}

static void columns_double(struct heatmap *m)
{
	for (unsigned int y = 0; y < HEATMAP_ROWS; y++) {
		for (unsigned int x = 0; x < HEATMAP_COLUMNS / 2; x++)
			m->cell[y][x] = m->cell[y][2 * x] + m->cell[y][2 * x + 1];
		memset(&m->cell[y][HEATMAP_COLUMNS / 2], 0, sizeof(m->cell[y]) / 2);
	}
	m->column_ns *= 2;
}

static void cell_add(struct heatmap *m, uint64_t end_ns, uint64_t ns)
{
	uint64_t at = end_ns > m->t0_ns ? end_ns - m->t0_ns : 0;

	while (at / m->column_ns >= HEATMAP_COLUMNS)
		columns_double(m);
	unsigned int x = (unsigned int)(at / m->column_ns);

	m->cell[row_of(ns)][x]++;
	m->total++;
	if (x >= m->nr_columns)
		m->nr_columns = x + 1;
}

static int heatmap_span(struct folding *f, const struct span *s)
{
	cell_add(&((struct state *)f->state)->map, s->end_ns, s->end_ns - s->start_ns);
	return 0;
}

/* Spans that end in one column need no division; they come in order, many to a column. */
static int heatmap_spans(void *state, const struct spans *s)
{
	struct heatmap *m = &((struct state *)state)->map;
	uint64_t from = 1, until = 0; /* of the column x: none yet */
	unsigned int x = 0;

	for (unsigned int i = 0; i < s->nr; i++) {
		if (s->end_ns[i] >= from && s->end_ns[i] < until) {
			m->cell[row_of(s->ns[i])][x]++;
			m->total++;
			continue;
		}
		cell_add(m, s->end_ns[i], s->ns[i]);
		x = s->end_ns[i] > m->t0_ns
			    ? (unsigned int)((s->end_ns[i] - m->t0_ns) / m->column_ns)
			    : 0;
		from = m->t0_ns + x * m->column_ns;
		until = from + m->column_ns;
	}
	return 0;
}

static int heatmap_merge(void *state, void *from)
{
	struct heatmap *m = &((struct state *)state)->map, *theirs = &((struct state *)from)->map;

	while (m->column_ns < theirs->column_ns)
		columns_double(m);
	while (theirs->column_ns < m->column_ns) {
		columns_double(theirs);
		theirs->nr_columns = (theirs->nr_columns + 1) / 2;
	}
	for (unsigned int y = 0; y < HEATMAP_ROWS; y++)
		for (unsigned int x = 0; x < HEATMAP_COLUMNS; x++)
			m->cell[y][x] += theirs->cell[y][x];
	m->total += theirs->total;
	m->nr_columns = m->nr_columns > theirs->nr_columns ? m->nr_columns : theirs->nr_columns;
	return 0;
}

static bool row_used(const struct heatmap *m, unsigned int row)
{
	return array_any(m->nr_columns, x, m->cell[row][x]);
}

/* Cuts away the rows below the lowest and above the highest in use; columns that doubled may lie
 * beyond the end. */
static void cut(struct heatmap *m)
{
	unsigned int first = 0, last = HEATMAP_ROWS - 1;

	while (first < last && !row_used(m, first))
		first++;
	while (last > first && !row_used(m, last))
		last--;
	m->nr_rows = last - first + 1;
	memmove(m->cell[0], m->cell[first], m->nr_rows * sizeof(m->cell[0]));
	for (unsigned int y = 0; y < m->nr_rows; y++) {
		m->row[y].lo_ns = row_start(first + y);
		m->row[y].hi_ns =
			first + y + 1 < ROWS ? row_start(first + y + 1) : UINT64_MAX;
		for (unsigned int x = 0; x < m->nr_columns; x++)
			m->max = m->cell[y][x] > m->max ? m->cell[y][x] : m->max;
	}
	while (m->nr_columns > 1) {
		bool used = false;

		for (unsigned int y = 0; y < m->nr_rows && !used; y++)
			used = m->cell[y][m->nr_columns - 1];
		if (used)
			break;
		m->nr_columns--;
	}
}

static int heatmap_draw(struct folding *f, struct report *r)
{
	struct state *s = f->state;

	if (s->map.total)
		cut(&s->map);
	s->map.analyzer = f->analyzer->name;
	snprintf(s->title, sizeof(s->title), "%s: %s", f->analyzer->name, f->analyzer->summary);
	s->map.title = s->title;
	s->map.link = f->link;
	return format_find(r->out->format)->heatmap(r, &s->map);
}

static void heatmap_close(struct folding *f)
{
	free(f->state);
}

const struct view heatmap_view = {
	.name = "heatmap",
	.summary = "latency over time",
	.formats = heatmap_formats,
	.open = heatmap_open,
	.span = heatmap_span,
	.spans = heatmap_spans,
	.merge = heatmap_merge,
	.wants_ends = true,
	.draw = heatmap_draw,
	.close = heatmap_close,
};
