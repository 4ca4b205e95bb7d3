/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * For fuzz targets: bytes as a file, through the whole of a reader, and every event and field through the printers.
 */
#ifndef HOSTRACE_FUZZ_WALK_H
#define HOSTRACE_FUZZ_WALK_H

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "event/reader.h"
#include "tracefile/tracefile.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

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

/* The bytes as a file under /proc/self/fd/: its descriptor, which the caller closes. */
static int walk_path(const uint8_t *data, size_t size, char *path, size_t path_size)
{
	int fd = memfd_create("fuzz", MFD_CLOEXEC);

	if (fd < 0 || write(fd, data, size) != (ssize_t)size)
		abort();
	snprintf(path, path_size, "/proc/self/fd/%d", fd);
	return fd;
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
	if (plan)
		ops->plan_free(plan);
	ops->finish(r);
}

static void walk_opened(const struct reader_ops *ops, const char *path, bool guest)
{
	static uint64_t counts[EVENT_TYPES_MAX];
	struct read_hint hint = {.until_ns = UINT64_MAX, .guest = guest};
	FILE *out = fopen("/dev/null", "w");
	struct reader *r;

	if (!out)
		abort();
	if (!ops->open(path, &hint, &r)) {
		if (ops->counts)
			ops->counts(r, counts);
		textfile_head(&r->info, out);
		walk_events(r, out);
		reader_close(r);
	}
	if (ops->rows && !ops->open(path, &hint, &r)) {
		memset(counts, 0, sizeof(counts));
		walk_rows(r, counts);
		reader_close(r);
	}
	fclose(out);
}

/* As a host's file, or as a guest's. */
static inline void walk_file_as(const struct reader_ops *ops, bool guest, const uint8_t *data,
				size_t size)
{
	char path[64];
	int fd = walk_path(data, size, path, sizeof(path));

	walk_opened(ops, path, guest);
	close(fd);
}

static inline void walk_file(const struct reader_ops *ops, const uint8_t *data, size_t size)
{
	walk_file_as(ops, false, data, size);
}

#endif
