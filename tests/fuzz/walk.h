/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * For fuzz targets: bytes as a file, through the whole of a reader, and every event and field through the printers.
 *
 * The file, the sink and the tables are made once and used for all inputs; event types are forgotten after each, so
 * that one input does not depend on those before it. A fuzzer reads an input in one way, which its CRC selects; the
 * replayer reads it in all ways.
 */
#ifndef HOSTRACE_FUZZ_WALK_H
#define HOSTRACE_FUZZ_WALK_H

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/crc32c.h"
#include "event/reader.h"
#include "tracefile/tracefile.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
size_t LLVMFuzzerMutate(uint8_t *data, size_t size, size_t max) __attribute__((weak)); /* part of libFuzzer */

/* As a host's or a guest's file, as events or rows. */
enum { WALK_GUEST = 1, WALK_ROWS = 2, WALK_WAYS = 4 };

/* Is an input to be read in this way? */
static inline bool walk_way(const uint8_t *data, size_t size, unsigned int way)
{
	return !LLVMFuzzerMutate || crc32c(0, data, size) % WALK_WAYS == way;
}

/* The same for part `i` of `nr` of a way that does several things. */
static inline bool walk_part(const uint8_t *data, size_t size, unsigned int i, unsigned int nr)
{
	return !LLVMFuzzerMutate || crc32c(0, data, size) / WALK_WAYS % nr == i;
}

static FILE *walk_sink(void)
{
	static FILE *sink;

	if (!sink)
		sink = fopen("/dev/null", "we");
	if (!sink)
		abort();
	return sink;
}

static void walk_events(struct reader *r, FILE *out)
{
	static struct batch batch;
	uint64_t last = 0;

	while (reader_next(r, &batch) > 0) {
		if (!batch.nr || batch.nr > BATCH_MAX)
			abort(); /* reader.h: 1 means that there are events */
		for (unsigned int i = 0; i < batch.nr; i++) {
			const struct event *ev = &batch.ev[i];

			if (ev->time_ns < last && !r->info.late)
				abort(); /* in time order, or counted */
			last = ev->time_ns;
			textfile_print(ev, out);
		}
	}
}

/* The bytes as a file under /proc/self/fd/; valid until the next call. */
static const char *walk_path(const uint8_t *data, size_t size)
{
	static int fd = -1;
	static char path[64];

	if (fd < 0)
		fd = memfd_create("fuzz", MFD_CLOEXEC);
	if (fd < 0 || ftruncate(fd, (off_t)size) || pwrite(fd, data, size, 0) != (ssize_t)size)
		abort();
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	return path;
}

/* All types of ours that occur, with as many of their fields as fit. */
static void walk_request(const uint64_t *counts, struct rows_request *ret)
{
	*ret = (struct rows_request){0};
	for (unsigned int i = 0; i < event_types_count(); i++) {
		const struct event_type *type = event_type_at(i);

		if (!counts[i] || !type->id || type->id == EV_lost || type->id == EV_gap ||
		    ret->nr_kinds == ROWS_KINDS_MAX)
			continue;
		for (unsigned int f = 0; f < type->nr_fields && ret->nr_values < ROWS_VALUES_MAX;
		     f++) {
			if (type->fields[f].kind != FIELD_UINT &&
			    type->fields[f].kind != FIELD_SINT)
				continue;
			ret->value[ret->nr_values].kind = ret->nr_kinds;
			ret->value[ret->nr_values++].field = &type->fields[f];
		}
		ret->kind[ret->nr_kinds++] = type;
	}
}

static void walk_piece(const struct rows_ops *ops, struct rows_cursor *c,
		       const struct rows_plan *plan, const struct rows_request *request,
		       const struct rows_piece *piece, size_t i)
{
	struct rows_data to = {0};
	uint32_t nr = piece->nr_events;

	if (!nr || nr > ROWS_MAX || piece->last_ns < piece->first_ns)
		abort();
	to.kind = malloc(nr); /* exactly as many as promised: the sanitizer sees one more */
	to.run = malloc(nr * sizeof(*to.run));
	for (unsigned int k = 0; k < request->nr_kinds; k++)
		to.step[k] = malloc(nr * sizeof(*to.step[k]));
	for (unsigned int v = 0; v < request->nr_values; v++)
		to.value[v] = malloc(nr * sizeof(*to.value[v]));
	if (ops->read(c, plan, i, &to))
		for (uint32_t run = 0, start = 0; run < to.nr_runs; start += to.run[run++].nr)
			if (to.run[run].start != start || !to.run[run].nr)
				abort();
	for (unsigned int k = 0; k < request->nr_kinds; k++)
		free(to.step[k]);
	for (unsigned int v = 0; v < request->nr_values; v++)
		free(to.value[v]);
	free(to.kind);
	free(to.run);
}

/* The same input as rows (event/rows.h), if the reader offers them. */
static void walk_rows(struct reader *r, uint64_t *counts)
{
	const struct rows_ops *ops = r->ops->rows;
	struct rows_request request;
	struct rows_source source;
	struct rows_cursor *c;
	struct rows_plan *plan;

	if (!ops->open(r, &source) || ops->counts(r, counts))
		return;
	walk_request(counts, &request);
	plan = ops->plan(r, &request);
	c = ops->cursor(r);
	for (size_t i = 0; plan && c && i < source.nr_pieces; i++)
		walk_piece(ops, c, plan, &request, &source.piece[i], i);
	if (c)
		ops->cursor_free(c);
	free(plan);
	ops->finish(r);
}

static void walk_batches(const struct reader_ops *ops, const char *path,
			 const struct read_hint *hint)
{
	static uint64_t counts[EVENT_TYPES_MAX];
	struct reader *r;

	if (ops->open(path, hint, &r))
		return;
	if (ops->counts)
		ops->counts(r, counts);
	textfile_head(&r->info, walk_sink());
	walk_events(r, walk_sink());
	reader_close(r);
}

static void walk_columns(const struct reader_ops *ops, const char *path,
			 const struct read_hint *hint)
{
	static uint64_t counts[EVENT_TYPES_MAX];
	struct reader *r;

	if (!ops->rows || ops->open(path, hint, &r))
		return;
	memset(counts, 0, sizeof(counts));
	walk_rows(r, counts);
	reader_close(r);
}

static inline void walk_way_as(const struct reader_ops *ops, unsigned int way, const uint8_t *data,
			       size_t size)
{
	struct read_hint hint = {.until_ns = UINT64_MAX, .guest = way & WALK_GUEST};
	const char *path = walk_path(data, size);

	if (way & WALK_ROWS && ops->rows)
		walk_columns(ops, path, &hint);
	else
		walk_batches(ops, path, &hint);
	event_types_forget();
}

static inline void walk_file_both(const struct reader_ops *ops, const uint8_t *data, size_t size)
{
	for (unsigned int way = 0; way < WALK_WAYS; way++)
		if (walk_way(data, size, way))
			walk_way_as(ops, way, data, size);
}

/* Of a format for which it makes no difference whether it is a guest's. */
static inline void walk_file(const struct reader_ops *ops, const uint8_t *data, size_t size)
{
	for (unsigned int way = 0; way < WALK_WAYS; way++)
		if (walk_way(data, size, way) && (LLVMFuzzerMutate || !(way & WALK_GUEST)))
			walk_way_as(ops, way & WALK_ROWS, data, size);
}

#endif
