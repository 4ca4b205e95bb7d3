// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The cell of an exit by its end and its length, in columns and rows that the caller gives; each cell keeps its longest
 * exits. Offsets in a second: when the columns are full, they are joined in pairs.
 */
#include "analyzers/blame/grid.h"

#include <errno.h>
#include <string.h>

#include "base/error.h"

enum { OFFSET_ROW_NS = 1000000000 / OFFSET_ROWS };

static struct grid_cell *cell_of(struct blame_grid *g, const struct blame_exit *x)
{
	uint64_t ns = x->end_ns - x->start_ns;
	uint64_t column = x->end_ns > g->t0_ns ? (x->end_ns - g->t0_ns) / g->column_ns : 0;

	if (column >= g->nr_columns)
		return NULL;
	for (unsigned int row = 0; row < g->nr_rows; row++)
		if (ns >= g->lo_ns[row] && ns < g->lo_ns[row + 1])
			return &g->cell[row * g->nr_columns + column];
	return NULL;
}

static struct grid_span span_of(const struct blame_exit *x)
{
	const struct blame_part *longest = NULL;
	struct grid_span s = {.start_ns = x->start_ns,
			      .end_ns = x->end_ns,
			      .pid = x->pid,
			      .reason = x->reason,
			      .isa = x->isa,
			      .vcpu = x->vcpu,
			      .cause = BLAME_UNKNOWN};

	for (unsigned int i = 0; i < x->nr_parts; i++)
		if (!longest || x->part[i].end_ns - x->part[i].start_ns >
					longest->end_ns - longest->start_ns)
			longest = &x->part[i];
	if (longest) {
		s.cause = longest->cause;
		s.who = longest->who;
	}
	return s;
}

static void cell_keep(struct grid_cell *c, const struct blame_exit *x)
{
	uint64_t ns = x->end_ns - x->start_ns;
	unsigned int at = c->nr_spans;

	while (at && c->span[at - 1].end_ns - c->span[at - 1].start_ns < ns)
		at--;
	if (at == GRID_SPANS)
		return;
	if (c->nr_spans < GRID_SPANS)
		c->nr_spans++;
	memmove(&c->span[at + 1], &c->span[at], (c->nr_spans - at - 1) * sizeof(c->span[0]));
	c->span[at] = span_of(x);
}

static void offsets_double(struct blame_grid *g)
{
	for (unsigned int y = 0; y < OFFSET_ROWS; y++) {
		for (unsigned int x = 0; x < OFFSET_COLUMNS_MAX / 2; x++)
			g->offset[y][x] = g->offset[y][2 * x] + g->offset[y][2 * x + 1];
		memset(&g->offset[y][OFFSET_COLUMNS_MAX / 2], 0, sizeof(g->offset[y]) / 2);
	}
	g->seconds *= 2;
	g->offset_columns = (g->offset_columns + 1) / 2;
}

static void offset_add(struct blame_grid *g, uint64_t ns)
{
	uint64_t s = ns / 1000000000 > g->first_s ? ns / 1000000000 - g->first_s : 0;

	while (s / g->seconds >= OFFSET_COLUMNS_MAX)
		offsets_double(g);
	unsigned int x = (unsigned int)(s / g->seconds);

	g->offset[ns % 1000000000 / OFFSET_ROW_NS][x]++;
	if (x >= g->offset_columns)
		g->offset_columns = x + 1;
}

static int ended(void *arg, const struct blame_exit *x)
{
	struct blame_grid *g = arg;
	struct grid_cell *c;

	if (x->reason == BLAME_IN_RUN && !x->isa) /* not among the latencies of exits */
		return 0;
	if (g->selects && !g->selects(g->arg, x))
		return 0;
	offset_add(g, x->start_ns);
	c = cell_of(g, x);
	if (!c) {
		g->outside++;
		return 0;
	}
	c->exits++;
	for (unsigned int i = 0; i < x->nr_parts; i++)
		c->causes[x->part[i].cause] += x->part[i].end_ns - x->part[i].start_ns;
	cell_keep(c, x);
	return 0;
}

static void clear(void *arg)
{
	struct blame_grid *g = arg;

	memset(g->cell, 0, (size_t)g->nr_columns * g->nr_rows * sizeof(*g->cell));
	memset(g->offset, 0, sizeof(g->offset));
	g->outside = 0;
	g->first_s = g->t0_ns / 1000000000;
	g->seconds = 1;
	g->offset_columns = 0;
}

int blame_grid_open(struct blame_grid *g)
{
	g->cell = calloc((size_t)g->nr_columns * g->nr_rows + 1, sizeof(*g->cell));
	if (!g->cell)
		return fail(-ENOMEM, "out of memory");
	clear(g);
	return 0;
}

void blame_grid_close(struct blame_grid *g)
{
	free(g->cell);
	g->cell = NULL;
}

struct blame_sink blame_grid_sink(struct blame_grid *g)
{
	return (struct blame_sink){.ended = ended, .restart = clear, .arg = g};
}
