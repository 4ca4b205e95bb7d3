// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The files of QEMU's trace backend "simple" (trace/simple.c), little-endian:
 *
 *   header   u64 0xffffffffffffffff, u64 0xf2b177cb0aa429b4, u64 version
 *   name     u64 0, u64 event, u32 length, the event's name               (version 4)
 *   event    u64 1, u64 event, u64 ns (CLOCK_MONOTONIC), u32 length of the record, u32 pid, arguments
 *
 * An argument has 8 bytes, or is a text: u32 length and its bytes. The event 0xfffffffffffffffe says how many events
 * were dropped since the one before. Version 3 has neither names nor the first word of each record: its events are
 * called by their number in QEMU's trace-events, which differs between builds.
 */
#include <errno.h>
#include <inttypes.h>

#include "base/error.h"
#include "event/losses.h"
#include "readers/qemu/qemu_events.h"
#include "readers/qemu/qemu_reader.h"

enum {
	HEADER_BYTES = 24,
	RECORD_BYTES = 24, /* event, time, length, pid */
	ARGS_BYTES_MAX = 4096, /* QEMU's buffer has 64 KiB, its largest record is much smaller */
	NAME_BYTES_MAX = 256,
	IDS_MAX = 1 << 16,
};

#define HEADER_EVENT UINT64_MAX
#define DROPPED_EVENT (UINT64_MAX - 1)
#define HEADER_MAGIC 0xf2b177cb0aa429b4ull

enum { TYPE_NAME = 0, TYPE_EVENT = 1 };

struct simpletrace {
	struct reader reader;
	FILE *file;
	uint64_t offset, version;
	struct qemu_events events;
	struct qemu_name *by_id[IDS_MAX];
	uint8_t *arena;
	uint64_t time_ns, unnamed;
	bool cut, ended;
};

struct record {
	uint64_t id, time_ns;
	uint32_t pid;
	size_t len;
	uint8_t args[ARGS_BYTES_MAX];
};

static uint64_t word_at(const uint8_t *p)
{
	uint64_t v;

	memcpy(&v, p, sizeof(v));
	return v;
}

static uint32_t half_at(const uint8_t *p)
{
	uint32_t v;

	memcpy(&v, p, sizeof(v));
	return v;
}

static bool simpletrace_probe(const uint8_t *head, size_t len)
{
	return len >= HEADER_BYTES && word_at(head) == HEADER_EVENT &&
	       word_at(head + 8) == HEADER_MAGIC;
}

/* False: the file ends, within the bytes if it is cut. */
static bool bytes_read(struct simpletrace *t, void *to, size_t len)
{
	size_t n = fread(to, 1, len, t->file);

	progress_read(n);

	t->offset += n;
	t->cut |= n && n < len;
	return n == len;
}

static int name_read(struct simpletrace *t)
{
	uint8_t head[12];
	char name[NAME_BYTES_MAX];
	uint64_t id;
	uint32_t len;

	if (!bytes_read(t, head, sizeof(head))) {
		t->cut = true;
		return 0;
	}
	id = word_at(head);
	len = half_at(head + 8);
	if (!len || len >= sizeof(name))
		return fail(-EBADMSG, "%s: offset %" PRIu64 ": an event's name has %u bytes",
			    t->reader.info.file, t->offset, len);
	if (!bytes_read(t, name, len)) {
		t->cut = true;
		return 0;
	}
	if (id < IDS_MAX)
		t->by_id[id] = qemu_event_name(&t->events, (struct text_slice){name, len}, NULL);
	return 0;
}

/* 1 and the next event, 0 at the end. */
static int record_read(struct simpletrace *t, struct record *rec)
{
	uint8_t head[RECORD_BYTES];
	uint32_t len;
	uint64_t type = TYPE_EVENT;

	for (;;) {
		int err;

		if (t->version >= 4 && !bytes_read(t, &type, sizeof(type)))
			return 0;
		if (type != TYPE_NAME)
			break;
		err = name_read(t);
		if (err || t->cut)
			return err;
	}
	if (type != TYPE_EVENT)
		return fail(-EBADMSG, "%s: offset %" PRIu64 ": unknown record type %" PRIu64,
			    t->reader.info.file, t->offset - sizeof(type), type);
	if (!bytes_read(t, head, sizeof(head))) {
		t->cut |= t->version >= 4;
		return 0;
	}
	len = half_at(head + 16);
	if (len < RECORD_BYTES || len > RECORD_BYTES + ARGS_BYTES_MAX)
		return fail(-EBADMSG, "%s: offset %" PRIu64 ": a record has %u bytes",
			    t->reader.info.file, t->offset - RECORD_BYTES, len);
	rec->id = word_at(head);
	rec->time_ns = word_at(head + 8);
	rec->pid = half_at(head + 20);
	rec->len = len - RECORD_BYTES;
	if (rec->len && !bytes_read(t, rec->args, rec->len)) {
		t->cut = true;
		return 0;
	}
	return 1;
}

/* "event-12": version 3, or an id whose name is missing. */
static struct qemu_name *name_of(struct simpletrace *t, uint64_t id)
{
	char name[32];

	if (id < IDS_MAX && t->by_id[id])
		return t->by_id[id];
	t->unnamed++;
	snprintf(name, sizeof(name), "event-%" PRIu64, id);
	return qemu_event_name(&t->events, (struct text_slice){name, (uint32_t)strlen(name)}, NULL);
}

/* Events that QEMU could not store since the event before. */
static bool dropped_make(struct simpletrace *t, const struct record *rec, uint8_t *to,
			 struct event *ev)
{
	const struct event_type *type = event_type_ours(EV_lost);
	struct rec_lost lost = {.hdr = {.time = t->time_ns, .pid = rec->pid, .type = EV_lost,
					.size = sizeof(lost), .cpu = RECORD_CPU_UNKNOWN,
					.vcpu = RECORD_NO_VCPU},
				.count = rec->len >= 8 ? word_at(rec->args) : 1,
				.lost_cpu = LOSS_CPU_UNKNOWN,
				.until = rec->time_ns};

	if (!t->time_ns)
		lost.hdr.time = rec->time_ns;
	t->reader.info.lost += lost.count;
	memcpy(to, &lost, sizeof(lost));
	*ev = (struct event){.time_ns = lost.hdr.time, .type = type, .data = to, .pid = rec->pid,
			     .size = sizeof(lost), .cpu = RECORD_CPU_UNKNOWN,
			     .vcpu = RECORD_NO_VCPU};
	return lost.count;
}

static bool event_make(struct simpletrace *t, const struct record *rec, uint8_t *to,
		       struct event *ev)
{
	struct qemu_head head = {.time_ns = rec->time_ns, .pid = rec->pid};
	struct qemu_name *n;

	if (rec->id == DROPPED_EVENT)
		return dropped_make(t, rec, to, ev);
	n = name_of(t, rec->id);
	if (!n)
		return false;
	qemu_event_make(&t->events, n, head,
			(struct text_slice){(const char *)rec->args, (uint32_t)rec->len}, to, ev);
	return true;
}

static void end_report(struct simpletrace *t)
{
	struct trace_info *info = &t->reader.info;

	info->truncated = t->cut;
	if (t->cut)
		trace_info_caveat(info, "%s is truncated: the rest is missing", info->file);
	if (t->unnamed)
		trace_info_caveat(info,
				  "%s: %" PRIu64
				  " events have no name in the file and are shown by "
				  "number",
				  info->file, t->unnamed);
	if (info->late)
		trace_info_caveat(info, "%s: %" PRIu64 " events are out of order", info->file,
				  info->late);
}

static int simpletrace_next(struct reader *r, struct batch *batch)
{
	struct simpletrace *t = (struct simpletrace *)r;
	struct record rec;
	int more = 1;

	batch->nr = 0;
	while (batch->nr < BATCH_MAX && !t->ended && (more = record_read(t, &rec)) > 0) {
		struct event *ev = &batch->ev[batch->nr];

		if (!event_make(t, &rec, t->arena + batch->nr * QEMU_RECORD_MAX, ev))
			continue;
		batch->nr++;
		r->info.nr_events++;
		if (ev->time_ns < t->time_ns)
			r->info.late++;
		else
			t->time_ns = ev->time_ns;
	}
	if (more < 0 && t->offset > HEADER_BYTES) { /* what was read before it is good */
		trace_info_caveat(&r->info, "%s; the rest is missing", error_text());
		more = 0;
	}
	t->ended |= !more;
	r->info.end_ns = t->time_ns;
	if (!batch->nr)
		end_report(t);
	return batch->nr > 0;
}

static void simpletrace_close(struct reader *r)
{
	struct simpletrace *t = (struct simpletrace *)r;

	if (t->file)
		fclose(t->file);
	qemu_events_deinit(&t->events);
	free(t->arena);
	trace_info_deinit(&r->info);
	free(t);
}

/* After the header; version 3 and older have no types before their records. */
static int simpletrace_begin(struct simpletrace *t)
{
	struct trace_info *info = &t->reader.info;
	uint8_t head[HEADER_BYTES];
	struct record rec;
	int more;

	if (!bytes_read(t, head, sizeof(head)))
		return fail(-EBADMSG, "%s: the header is truncated", info->file);
	t->version = word_at(head + 16);
	if (t->version < 3 || t->version > 4)
		return fail(-EINVAL,
			    "%s: version %" PRIu64
			    " of simpletrace is not supported (supported: 3, 4)",
			    info->file, t->version);
	more = record_read(t, &rec);
	if (more < 0)
		return more;
	if (more)
		info->start_ns = info->end_ns = rec.time_ns;
	t->offset = HEADER_BYTES;
	t->cut = false;
	json_object_set_new(info->meta, "clock", json_string("monotonic"));
	return fseek(t->file, HEADER_BYTES, SEEK_SET)
		       ? fail(-errno, "%s: %s", info->file, strerror(errno))
		       : 0;
}

static int simpletrace_open(const char *path, const struct read_hint *hint, struct reader **ret)
{
	struct simpletrace *t = calloc(1, sizeof(*t));
	int err = t ? trace_info_init(&t->reader.info, path, "simpletrace")
		    : fail(-ENOMEM, "%s: out of memory", path);

	if (err) {
		free(t);
		return err;
	}
	t->reader.ops = &simpletrace_reader;
	qemu_events_init(&t->events, true);
	t->file = open_files_stream(hint ? hint->files : NULL, path);
	t->arena = malloc(BATCH_MAX * QEMU_RECORD_MAX);
	if (!t->file)
		err = fail(-errno, "%s: %s", path, strerror(errno));
	else
		err = t->arena ? simpletrace_begin(t) : fail(-ENOMEM, "%s: out of memory", path);
	if (err)
		simpletrace_close(&t->reader);
	else
		*ret = &t->reader;
	return err;
}

const struct reader_ops simpletrace_reader = {
	.name = "simpletrace",
	.summary = "files of QEMU's trace backend \"simple\"",
	.probe = simpletrace_probe,
	.open = simpletrace_open,
	.next = simpletrace_next,
	.close = simpletrace_close,
};
