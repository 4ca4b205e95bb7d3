// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Reads a file with the memory of a guest ring at rest (see ring_image.h). Its event
 * descriptions become types "guest:NAME"; times are guest TSC ticks until the clock aligns them (src/clock/clock.h),
 * as stated in meta by "clock": "guest-tsc".
 */
#include <errno.h>
#include <string.h>
#include <sys/stat.h>

#include "base/array.h"
#include "base/error.h"
#include "base/order.h"
#include "base/read_full.h"
#include "readers/ring/ring_image.h"

/* Undescribed records show their id and the words of the first slot. */
enum { UNKNOWN_ARGS = RING_FIRST_WORDS };

/* Records of a vCPU may be nested, and so their times step back a little. More: its TSC was set back. */
enum { NESTED_TICKS = 1 << 18 };

struct entry {
	uint64_t tsc, pos;
	uint32_t cpu, era; /* era: how often the vCPU's TSC was set back before */
};

struct ring_reader {
	struct reader base;
	uint64_t *mem;
	struct ring_image img;
	struct entry *entry;
	size_t nr_entries, next;
	const struct event_type *unknown, *types[RING_EVENTS_MAX];
	struct ring_event desc[RING_EVENTS_MAX];
	uint8_t *records; /* of the batch that was returned last */
};

#define RECORD_WORDS (RING_ARGS_MAX + RING_FRAMES_MAX)
#define RECORD_BYTES (sizeof(struct record_hdr) + RECORD_WORDS * sizeof(uint64_t))

_Static_assert(UNKNOWN_ARGS + 1 <= RECORD_WORDS, "an undescribed record fits, too");

static bool ring_probe(const uint8_t *head, size_t len)
{
	const uint64_t magic[2] = {RING_MAGIC0, RING_MAGIC1};

	return len >= sizeof(magic) && !memcmp(head, magic, sizeof(magic));
}

static int memory_read(int fd, uint8_t *to, size_t bytes, const char *path)
{
	ssize_t n = pread_full(fd, to, bytes, 0);

	if (n < 0)
		return fail((int)n, "%s: %s", path, strerror((int)-n));
	return n == (ssize_t)bytes ? 0
				   : fail(-EBADMSG, "%s was truncated while being read", path);
}

static int file_load(struct ring_reader *r, const char *path, struct open_files *files)
{
	_cleanup_close_ int fd = open_files_get(files, path);
	struct stat st;
	int err;

	if (fd < 0 || fstat(fd, &st))
		return fail(-errno, "%s: %s", path, strerror(errno));
	if (!S_ISREG(st.st_mode))
		return fail(-EINVAL, "%s: not a regular file", path);
	if ((uint64_t)st.st_size > RING_FILE_MAX)
		return fail(-EFBIG, "%s: guest rings of more than %llu bytes are not supported",
			    path, RING_FILE_MAX);
	r->mem = malloc((size_t)st.st_size + 8);
	if (!r->mem)
		return fail(-ENOMEM, "%s: out of memory", path);
	err = memory_read(fd, (uint8_t *)r->mem, (size_t)st.st_size, path);
	return err ? err : ring_image_open(r->mem, (size_t)st.st_size, path, &r->img);
}

static const char *const printers[] = {
	[RING_DEC] = "dec",   [RING_SDEC] = "dec",  [RING_HEX] = "hex",
	[RING_ADDR] = "addr", [RING_TEXT] = "text",
};

static int type_add(const struct ring_event *ev, const struct event_type **ret)
{
	static const char frame_names[RING_FRAMES_MAX][8] = {
		"frame0",  "frame1",  "frame2",	 "frame3",  "frame4",  "frame5",  "frame6",
		"frame7",  "frame8",  "frame9",	 "frame10", "frame11", "frame12", "frame13",
		"frame14", "frame15", "frame16", "frame17", "frame18", "frame19", "frame20",
		"frame21", "frame22", "frame23", "frame24", "frame25", "frame26", "frame27",
		"frame28", "frame29", "frame30", "frame31",
	};
	struct field fields[RING_FIELDS_MAX + RING_FRAMES_MAX];
	char name[EVENT_NAME_MAX];
	uint16_t nr = 0, offset = sizeof(struct record_hdr);

	for (unsigned int i = 0; i < ev->nr_fields; i++) {
		const struct ring_field *f = &ev->field[i];

		fields[nr++] = (struct field){
			.name = f->name,
			.fmt = printers[f->kind],
			.doc = "",
			.kind = f->kind == RING_TEXT   ? FIELD_TEXT
				: f->kind == RING_SDEC ? FIELD_SINT
						       : FIELD_UINT,
			.offset = offset,
			.size = (uint16_t)(8 * f->words),
		};
		offset = (uint16_t)(offset + 8 * f->words);
	}
	for (unsigned int i = 0; i < ev->nr_frames; i++, offset = (uint16_t)(offset + 8))
		fields[nr++] = (struct field){.name = frame_names[i],
					      .fmt = "frame",
					      .doc = "return address",
					      .kind = FIELD_UINT,
					      .offset = offset,
					      .size = 8};
	snprintf(name, sizeof(name), "guest:%s", ev->name);
	return event_type_register(&(struct event_type){.name = name,
							.doc = "an event of the guest",
							.fields = fields,
							.nr_fields = nr,
							.size = offset},
				   ret);
}

static int types_add(struct ring_reader *r)
{
	static const struct ring_event unknown = {
		.nr_fields = UNKNOWN_ARGS + 1, .name = "undescribed",
		.field = {{"id", RING_DEC, 1}, {"arg0", RING_HEX, 1}, {"arg1", RING_HEX, 1},
			  {"arg2", RING_HEX, 1}, {"arg3", RING_HEX, 1}, {"arg4", RING_HEX, 1}},
	};
	int err = type_add(&unknown, &r->unknown);

	for (unsigned int i = 0; !err && i < r->img.nr_events_max; i++)
		if (ring_image_event(&r->img, i, &r->desc[i]))
			err = type_add(&r->desc[i], &r->types[i]);
	return err;
}

static int entry_add(struct ring_reader *r, const struct ring_record *rec)
{
	const struct entry *last = r->nr_entries ? &r->entry[r->nr_entries - 1] : NULL;
	struct entry e = {.tsc = rec->tsc, .pos = rec->pos, .cpu = rec->cpu};

	if (last && last->cpu == e.cpu)
		e.era = last->era + (last->tsc > e.tsc && last->tsc - e.tsc > NESTED_TICKS);
	return array_add(r->entry, r->nr_entries, e);
}

ORDER_BY(entry_compare, struct entry, era, tsc, cpu, pos)

/* Every good record of every vCPU, by time as far as that does not run back; and the count of what is not there. */
static int entries_collect(struct ring_reader *r)
{
	uint64_t overwritten = 0, unfinished = 0, drops = 0;

	for (unsigned int cpu = 0; cpu < r->img.nr_cpus; cpu++) {
		struct ring_cursor c = {0};
		struct ring_record rec;

		while (ring_cursor_next(&r->img, cpu, &c, &rec)) {
			int err = entry_add(r, &rec);

			if (err)
				return err;
		}
		overwritten += c.overwritten;
		unfinished += c.unfinished + c.torn;
		drops += ring_image_drops(&r->img, cpu);
	}
	r->base.info.lost = drops;
	if (overwritten)
		trace_info_caveat(
			&r->base.info,
			"%s: the guest ring was overwritten: %llu older slots are missing",
			r->base.info.file, (unsigned long long)overwritten);
	if (unfinished)
		trace_info_caveat(&r->base.info,
				  "%s: %llu slots of the guest ring hold no complete record",
				  r->base.info.file, (unsigned long long)unfinished);
	if (r->nr_entries)
		qsort(r->entry, r->nr_entries, sizeof(*r->entry), entry_compare);
	return 0;
}

/* The least and the greatest time; records after a TSC that was set back are late. */
static void times_fill(struct ring_reader *r)
{
	struct trace_info *info = &r->base.info;

	info->nr_events = r->nr_entries;
	info->start_ns = r->nr_entries ? r->entry[0].tsc : 0;
	for (size_t i = 0; i < r->nr_entries; i++) {
		info->late += r->entry[i].tsc < info->end_ns;
		if (r->entry[i].tsc < info->start_ns)
			info->start_ns = r->entry[i].tsc;
		if (r->entry[i].tsc > info->end_ns)
			info->end_ns = r->entry[i].tsc;
	}
	if (info->late)
		trace_info_caveat(info,
				  "%s: the TSC of a vCPU was set back: %llu records have older "
				  "timestamps than records before them",
				  info->file, (unsigned long long)info->late);
}

static int info_fill(struct ring_reader *r)
{
	struct trace_info *info = &r->base.info;
	json_t *ring = json_pack("{s:s, s:I, s:i, s:I}", "name", r->img.name, "clock_hz",
				 (json_int_t)r->img.clock_hz, "vcpus", (int)r->img.nr_cpus, "bytes",
				 (json_int_t)r->img.bytes);

	if (!ring || json_object_set_new(info->meta, "guest_ring", ring) ||
	    json_object_set_new(info->meta, "clock", json_string("guest-tsc")))
		return fail(-ENOMEM, "%s: out of memory", info->file);
	trace_info_caveat(info,
			  "%s: timestamps are guest TSC ticks, not aligned with any host's clock",
			  info->file);
	times_fill(r);
	return 0;
}

static void ring_close(struct reader *base)
{
	struct ring_reader *r = (struct ring_reader *)base;

	trace_info_deinit(&base->info);
	free(r->mem);
	free(r->entry);
	free(r->records);
	free(r);
}

static int ring_open(const char *path, const struct read_hint *hint, struct reader **ret)
{
	struct ring_reader *r = calloc(1, sizeof(*r));
	int err;

	if (!r)
		return fail(-ENOMEM, "%s: out of memory", path);
	r->base.ops = &ring_reader;
	err = trace_info_init(&r->base.info, path, "guest-ring");
	if (!err)
		err = file_load(r, path, hint ? hint->files : NULL);
	if (!err)
		err = types_add(r);
	if (!err)
		err = entries_collect(r);
	if (!err)
		err = info_fill(r);
	r->records = err ? NULL : calloc(BATCH_MAX, RECORD_BYTES);
	if (!err && !r->records)
		err = fail(-ENOMEM, "%s: out of memory", path);
	if (err) {
		ring_close(&r->base);
		return err;
	}
	*ret = &r->base;
	return 0;
}

/* Lays the record's words where the type has its fields: arguments up to their declared number, then frames. */
static void words_place(const struct ring_event *ev, const struct ring_record *rec, uint64_t *to)
{
	unsigned int at = 0;

	for (unsigned int i = 0; i < ev->nr_fields; i++) {
		for (unsigned int w = 0; w < ev->field[i].words; w++, at++)
			to[at] = at < rec->nr_args ? rec->word[at] : 0;
		if (ev->field[i].kind == RING_TEXT)
			to[at - 1] &= ~0ull >> 8; /* ends with a NUL, whatever the guest wrote */
	}
	for (unsigned int i = 0; i < ev->nr_frames; i++)
		to[at + i] = i < rec->nr_frames ? rec->word[rec->nr_args + i] : 0;
}

static void event_make(struct ring_reader *r, const struct ring_record *rec, uint8_t *data,
		       struct event *ev)
{
	const struct event_type *type = rec->event < RING_EVENTS_MAX ? r->types[rec->event] : NULL;
	uint64_t words[RECORD_WORDS] = {0};

	if (type) {
		words_place(&r->desc[rec->event], rec, words);
	} else {
		type = r->unknown;
		words[0] = rec->event;
		for (unsigned int i = 0; i < UNKNOWN_ARGS && i < rec->nr_args; i++)
			words[1 + i] = rec->word[i];
	}
	struct record_hdr hdr = {.time = rec->tsc,
				 .tid = rec->thread,
				 .size = type->size,
				 .cpu = rec->cpu,
				 .vcpu = rec->cpu};

	memcpy(data, &hdr, sizeof(hdr));
	memcpy(data + sizeof(hdr), words, type->size - sizeof(hdr));
	*ev = (struct event){.time_ns = rec->tsc, .type = type, .data = data, .tid = rec->thread,
			     .size = type->size, .cpu = rec->cpu, .vcpu = rec->cpu};
}

static int ring_next(struct reader *base, struct batch *batch)
{
	struct ring_reader *r = (struct ring_reader *)base;
	struct ring_record rec;

	batch->nr = 0;
	for (; r->next < r->nr_entries && batch->nr < BATCH_MAX; r->next++) {
		const struct entry *e = &r->entry[r->next];
		struct ring_cursor c = {.pos = e->pos};

		if (ring_cursor_next(&r->img, e->cpu, &c, &rec))
			event_make(r, &rec, r->records + batch->nr * RECORD_BYTES,
				   &batch->ev[batch->nr]);
		else
			continue;
		batch->nr++;
	}
	return batch->nr > 0;
}

const struct reader_ops ring_reader = {
	.name = "guest-ring",
	.summary = "the memory of a guest ring (doc/guest-ring.md), saved to a file",
	.probe = ring_probe,
	.open = ring_open,
	.next = ring_next,
	.close = ring_close,
};
