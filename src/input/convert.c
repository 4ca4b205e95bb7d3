// SPDX-License-Identifier: GPL-2.0-or-later
/* Any trace as a recording of ours: its events with the times that they were given, in order. */
#include "input/convert.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "base/error.h"
#include "base/memory.h"

struct destination {
	struct trace_writer *writer;
	int err;
};

/* The new file's number of a type that a record names. */
static uint32_t number_in_file(void *arg, uint64_t number)
{
	const struct event_type *type = event_type_numbered(number);
	struct destination *to = arg;
	uint16_t id = EVENT_UNDECLARED;

	if (type && !to->err)
		to->err = trace_writer_type(to->writer, type, &id);
	return id;
}

/* The record is the event's, with the time that it was given and the id that its type has in the new file. */
static int write_event(struct trace_writer *w, const struct event *ev)
{
	uint8_t record[EVENT_RECORD_MAX] __attribute__((aligned(8)));
	struct record_hdr h = {.time = ev->time_ns,
			       .pid = ev->pid,
			       .tid = ev->tid,
			       .size = (uint16_t)((ev->size + 7) & ~7),
			       .cpu = ev->cpu,
			       .vcpu = ev->vcpu};
	struct destination to = {.writer = w, .err = trace_writer_type(w, ev->type, &h.type)};

	if (to.err)
		return to.err;
	memcpy(record, ev->data, ev->size);
	memset(record + ev->size, 0, h.size - ev->size); /* the kernel's records have any length */
	memcpy(record, &h, sizeof(h));
	if (ev->size >= ev->type->size)
		event_type_numbers_convert(ev->type, record, number_in_file, &to);
	if (to.err)
		return to.err;
	return trace_writer_record(w, (const struct record_hdr *)record);
}

static int write_batch(struct trace_writer *w, const struct batch *batch, struct converted *written)
{
	int err = 0;

	for (unsigned int i = 0; i < batch->nr && !err; i++) {
		const struct event *ev = &batch->ev[i];

		written->placed += lost_record_count(ev);
		written->nr++;
		written->flags += strspn(ev->flags, ".") != strlen(ev->flags);
		err = write_event(w, ev);
	}
	return err ? err : trace_writer_round(w, batch->ev[batch->nr - 1].time_ns);
}

/* bytes_max 0: no limit. */
static int write_events(struct reader *r, struct trace_writer *w, uint64_t bytes_max,
			struct converted *written)
{
	_cleanup_free_ struct batch *batch = malloc(sizeof(*batch));
	int more, err = 0;

	if (!batch)
		return fail(-ENOMEM, "out of memory");
	while (!err && (more = reader_next(r, batch)) > 0) {
		err = write_batch(w, batch, written);
		if (!err && bytes_max && trace_writer_bytes(w) > bytes_max)
			err = fail(-EFBIG, "it is larger than %" PRIu64 " MiB; select less",
				   bytes_max >> 20);
	}
	return err ? err : more;
}

/* A trace that does not know when it began must not get the present time. */
static json_t *meta_make(const struct input_set *in)
{
	json_t *meta = json_object();

	json_object_set_new(meta, "start_monotonic_ns", json_integer(0));
	json_object_set_new(meta, "start_realtime_ns", json_integer(0));
	json_object_update(meta, in->reader->info.meta);
	input_set_put_start(in, meta);
	return meta;
}

int input_set_convert(const struct input_set *in, const char *path,
		      const struct trace_writer_options *opt, uint64_t bytes_max,
		      struct converted *written)
{
	struct trace_writer *w;
	json_t *meta = meta_make(in);
	int err = trace_writer_open(path, opt, meta, &w);

	json_decref(meta);
	if (err)
		return err;
	err = write_events(in->reader, w, bytes_max, written);
	meta = meta_losses_make(&in->reader->info, written->placed);
	input_set_put_end(in, meta);
	if (!err && memory_failures())
		err = fail(-ENOMEM, "%s: out of memory", path);
	if (err)
		trace_writer_abandon(w);
	else
		err = trace_writer_close(w, json_object_size(meta) ? meta : NULL);
	json_decref(meta);
	return err;
}
