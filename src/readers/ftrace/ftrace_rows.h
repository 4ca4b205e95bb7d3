/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Rows (event/rows.h) of the kernel's events, whatever file they are in: each wanted format is compiled once to the
 * offsets of the wanted fields.
 */
#ifndef HOSTRACE_FTRACE_ROWS_H
#define HOSTRACE_FTRACE_ROWS_H

#include <string.h>

#include "event/rows.h"
#include "readers/ftrace/ftrace.h"

enum { FTRACE_LAYOUTS_MAX = 64 }; /* formats of wanted events */

/* How one of the file's formats becomes a kind's row. */
struct ftrace_layout {
	unsigned int kind, nr;
	struct {
		struct ftrace_load load;
		bool widens; /* only zeros are added: nothing to extend */
		unsigned int value;
	} field[ROWS_VALUES_MAX];
};

struct rows_plan {
	struct ftrace_layout layout[FTRACE_LAYOUTS_MAX];
	unsigned int nr;
	uint8_t by_id[FTRACE_IDS]; /* its layout + 1; 0: not wanted */
};

/* `nr`: how many events of each id there are. To be freed with free(). NULL: it asks for what cannot be read so. */
struct rows_plan *ftrace_rows_plan(const struct ftrace_events *e, const uint64_t *nr,
				   const struct rows_request *request);

static inline uint64_t ftrace_extend(uint64_t v, unsigned int bytes, bool is_signed)
{
	unsigned int shift = 64 - 8 * bytes;

	return is_signed ? (uint64_t)((int64_t)(v << shift) >> shift) : v << shift >> shift;
}

/* As ftrace_event_make() and event_u64() one after the other. */
static inline uint64_t ftrace_load(const struct ftrace_load *l, bool widens, const uint8_t *entry,
				   size_t len)
{
	uint64_t v = 0;
	uint32_t v32;

	if ((size_t)l->offset + l->bytes > len)
		return 0;
	if (l->bytes == sizeof(v32)) {
		memcpy(&v32, entry + l->offset, sizeof(v32));
		v = v32;
	} else if (l->bytes == sizeof(v)) {
		memcpy(&v, entry + l->offset, sizeof(v));
	} else {
		memcpy(&v, entry + l->offset, l->bytes);
	}
	if (widens)
		return v;
	return ftrace_extend(ftrace_extend(v, l->bytes, l->is_signed), l->to_bytes, l->to_signed);
}

/* Adds a row to a run, `step` ns after the run's previous one. */
static inline void ftrace_row_add(struct rows_data *to, struct rows_run *run,
				  const struct ftrace_layout *l, const uint8_t *entry, size_t len,
				  uint64_t step)
{
	uint32_t row = to->nr_of[l->kind]++;

	for (unsigned int i = 0; i < l->nr; i++)
		to->value[l->field[i].value][row] =
			ftrace_load(&l->field[i].load, l->field[i].widens, entry, len);
	to->step[l->kind][row] = step;
	to->kind[to->nr++] = (uint8_t)l->kind;
	run->nr++;
}

#endif
