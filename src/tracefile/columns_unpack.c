// SPDX-License-Identifier: GPL-2.0-or-later
/* Converts columns back to records: the order gives each record's offset, then each column is filled in. */
#include <string.h>

#include "base/cleanup.h"
#include "tracefile/columns.h"

/* Arrays by record, thread by thread, but `row`: by kind. */
struct unpacking {
	uint32_t at[COLUMNS_RECORDS_MAX], row[COLUMNS_RECORDS_MAX];
	uint64_t value[COLUMNS_RECORDS_MAX], scratch[COLUMNS_RECORDS_MAX];
	uint32_t start[COLUMNS_KINDS_MAX]; /* of a kind's rows */
	uint32_t fill[COLUMNS_KINDS_MAX];
};

/* Where each record begins. False: together they are not `raw` bytes long. */
static bool places_find(const struct columns *c, struct unpacking *u, uint32_t *cursor, size_t raw)
{
	size_t at = 0;

	for (uint32_t t = 0; t < c->nr_threads; t++)
		cursor[t] = c->thread[t].start;
	for (uint32_t r = 0; r < c->nr_runs; r++)
		for (uint32_t n = c->run_nr[r]; n; n--) {
			uint32_t i = cursor[c->run_thread[r]]++;

			u->at[i] = (uint32_t)at;
			at += c->kind[c->sequence[i]].size;
			if (at > raw)
				return false;
		}
	return at == raw;
}

static void headers_fill(const struct columns *c, struct unpacking *u, uint8_t *out)
{
	uint32_t start = 0;

	for (unsigned int k = 0; k < c->nr_kinds; k++) {
		u->start[k] = u->fill[k] = start;
		start += c->kind[k].rows;
	}
	for (uint32_t t = 0; t < c->nr_threads; t++) {
		const struct column_thread *th = &c->thread[t];

		for (uint32_t i = th->start; i < th->start + th->nr; i++) {
			const struct column_kind *k = &c->kind[c->sequence[i]];
			struct record_hdr h = {.pid = th->pid,
					       .tid = th->tid,
					       .type = k->type,
					       .size = k->size,
					       .vcpu = th->vcpu};

			memcpy(out + u->at[i], &h, sizeof(h));
			u->row[u->fill[c->sequence[i]]++] = u->at[i];
		}
	}
}

static void column_fill(const struct column *col, const uint32_t *row, uint32_t rows,
			const uint64_t *value, uint8_t *out)
{
	out += col->offset;
	switch (col->size) {
	case 8:
		for (uint32_t i = 0; i < rows; i++)
			memcpy(out + row[i], value + i, 8);
		break;
	case 4:
		for (uint32_t i = 0; i < rows; i++)
			memcpy(out + row[i], value + i, 4);
		break;
	case 2:
		for (uint32_t i = 0; i < rows; i++)
			memcpy(out + row[i], value + i, 2);
		break;
	default:
		for (uint32_t i = 0; i < rows; i++)
			out[row[i]] = (uint8_t)value[i];
	}
}

/* Times were filled in as steps from the thread's record before. */
static void times_sum(const struct columns *c, const struct unpacking *u, uint8_t *out)
{
	for (uint32_t t = 0; t < c->nr_threads; t++) {
		uint64_t time = c->thread[t].first_ns, step;

		for (uint32_t i = 0; i < c->thread[t].nr; i++) {
			uint8_t *at = out + u->at[c->thread[t].start + i];

			memcpy(&step, at, sizeof(step));
			time += step;
			memcpy(at, &time, sizeof(time));
		}
	}
}

bool columns_unpack(struct columns *c, const uint8_t *payload, size_t len, uint8_t *out, size_t raw)
{
	if (!columns_parse(c, payload, len))
		return false;
	_cleanup_free_ struct unpacking *u = malloc(sizeof(*u));
	_cleanup_free_ uint32_t *cursor = malloc((c->nr_threads + 1) * sizeof(*cursor));

	if (!u || !cursor || !places_find(c, u, cursor, raw))
		return false;
	memset(out, 0, raw);
	headers_fill(c, u, out);
	for (unsigned int i = 0; i < c->nr_columns; i++) {
		const struct column *col = &c->column[i];
		const struct column_kind *k = &c->kind[col->kind];

		if (!k->rows)
			continue;
		column_decode(c, i, u->value, u->scratch);
		column_fill(col, u->row + u->start[col->kind], k->rows, u->value, out);
	}
	times_sum(c, u, out);
	return true;
}
