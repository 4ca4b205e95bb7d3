// SPDX-License-Identifier: GPL-2.0-or-later
/* A record's parts, as perf_output_sample() and perf_event__output_id_sample() write them (kernel/events/core.c). */
#include <errno.h>

#include "base/error.h"
#include "readers/perf/perfdata_scan.h"

enum { /* PERF_SAMPLE_* */
	S_IP = 1 << 0,
	S_TID = 1 << 1,
	S_TIME = 1 << 2,
	S_ADDR = 1 << 3,
	S_READ = 1 << 4,
	S_CALLCHAIN = 1 << 5,
	S_ID = 1 << 6,
	S_CPU = 1 << 7,
	S_PERIOD = 1 << 8,
	S_STREAM_ID = 1 << 9,
	S_RAW = 1 << 10,
	S_IDENTIFIER = 1 << 16,
};

enum { /* PERF_FORMAT_* */
	F_ENABLED = 1,
	F_RUNNING = 2,
	F_ID = 4,
	F_GROUP = 8,
	F_LOST = 16,
};

static unsigned int bits(uint64_t v)
{
	return (unsigned int)__builtin_popcountll(v);
}

static void read_skip(struct buffer *b, uint64_t format)
{
	uint64_t each = 1 + bits(format & (F_ID | F_LOST)), nr = 1;

	if (format & F_GROUP)
		nr = buffer_u64(b);
	buffer_bytes(b, 8ul * bits(format & (F_ENABLED | F_RUNNING)));
	if (nr > PERFDATA_RECORD_MAX)
		b->cut = true;
	else
		buffer_bytes(b, 8 * nr * each);
}

static void chain_skip(struct buffer *b)
{
	uint64_t nr = buffer_u64(b);

	if (nr > PERFDATA_RECORD_MAX)
		b->cut = true;
	else
		buffer_bytes(b, 8 * nr);
}

static void tid_take(struct buffer *b, struct perfdata_sample *ret)
{
	ret->pid = buffer_u32(b);
	ret->tid = buffer_u32(b);
	ret->have_tid = true;
}

static void cpu_take(struct buffer *b, struct perfdata_sample *ret)
{
	ret->cpu = buffer_u32(b);
	buffer_u32(b);
	ret->have_cpu = true;
}

/* The event id must be read before the other fields; its offset is the same for all events. */
static const struct perfdata_attr *attr_find(const struct perfdata_file *f, struct buffer b)
{
	uint64_t type = f->nr_attrs ? f->attr[0].sample_type : 0, id;

	if (f->nr_attrs < 2 || !(type & (S_IDENTIFIER | S_ID)))
		return f->nr_attrs ? &f->attr[0] : NULL;
	if (!(type & S_IDENTIFIER))
		buffer_bytes(&b, 8ul * bits(type & (S_IP | S_TID | S_TIME | S_ADDR)));
	id = buffer_u64(&b);
	return b.cut ? NULL : perfdata_attr_of((struct perfdata_file *)f, id);
}

static void raw_take(struct buffer *b, struct perfdata_sample *ret)
{
	uint32_t len = buffer_u32(b);

	ret->raw = buffer_bytes(b, len);
	ret->raw_len = ret->raw ? len : 0;
}

int perfdata_sample_parse(const struct perfdata_file *f, const struct perfdata_record *rec,
			  struct perfdata_sample *ret)
{
	struct buffer b = buffer_of(rec->data, rec->len, f->path, rec->offset);
	const struct perfdata_attr *a = attr_find(f, b);
	uint64_t type = a ? a->sample_type : 0;

	*ret = (struct perfdata_sample){0};
	if (!a)
		return fail(-EBADMSG, "%s: sample of an undescribed event", f->path);
	ret->have_id = type & (S_IDENTIFIER | S_ID);
	ret->have_time = type & S_TIME;
	if (type & S_IDENTIFIER)
		ret->id = buffer_u64(&b);
	if (type & S_IP)
		ret->ip = buffer_u64(&b);
	if (type & S_TID)
		tid_take(&b, ret);
	if (type & S_TIME)
		ret->time = buffer_u64(&b);
	if (type & S_ADDR)
		buffer_u64(&b);
	if (type & S_ID)
		ret->id = buffer_u64(&b);
	if (type & S_STREAM_ID)
		buffer_u64(&b);
	if (type & S_CPU)
		cpu_take(&b, ret);
	if (type & S_PERIOD)
		ret->period = buffer_u64(&b);
	if (type & S_READ)
		read_skip(&b, a->read_format);
	if (type & S_CALLCHAIN)
		chain_skip(&b);
	if (type & S_RAW)
		raw_take(&b, ret);
	return buffer_ok(&b, "a sample");
}

void perfdata_trailer_parse(const struct perfdata_file *f, const struct perfdata_record *rec,
			    struct perfdata_sample *ret)
{
	const struct perfdata_attr *a = f->nr_attrs ? &f->attr[0] : NULL;
	uint64_t type = a && a->sample_id_all ? a->sample_type : 0;
	size_t len =
		8ul * bits(type & (S_TID | S_TIME | S_ID | S_STREAM_ID | S_CPU | S_IDENTIFIER));
	struct buffer b;

	*ret = (struct perfdata_sample){0};
	if (!len || rec->len < len)
		return;
	b = buffer_of(rec->data + rec->len - len, len, f->path, rec->offset);
	if (type & S_TID)
		tid_take(&b, ret);
	if (type & S_TIME) {
		ret->time = buffer_u64(&b);
		ret->have_time = true;
	}
	if (type & S_ID)
		ret->id = buffer_u64(&b);
	if (type & S_STREAM_ID)
		buffer_u64(&b);
	if (type & S_CPU)
		cpu_take(&b, ret);
	if (type & S_IDENTIFIER)
		ret->id = buffer_u64(&b);
}

bool perfdata_layout_make(const struct perfdata_attr *a, struct perfdata_layout *ret,
			  uint16_t *ret_id_at)
{
	static const uint64_t parts[] = {S_IDENTIFIER, S_IP, S_TID, S_TIME, S_ADDR, S_ID,
					 S_STREAM_ID, S_CPU, S_PERIOD};
	uint64_t type = a->sample_type, needed = S_TID | S_TIME | S_CPU | S_RAW;
	uint16_t at = PERFDATA_HEAD;

	*ret = (struct perfdata_layout){.tracepoint = a->type == PERFDATA_TYPE_TRACEPOINT};
	*ret_id_at = 0;
	for (size_t i = 0; i < sizeof(parts) / sizeof(*parts); i++) {
		if (!(type & parts[i]))
			continue;
		if (parts[i] & (S_IDENTIFIER | S_ID) && !*ret_id_at)
			*ret_id_at = at;
		ret->tid = parts[i] == S_TID ? at : ret->tid;
		ret->time = parts[i] == S_TIME ? at : ret->time;
		ret->cpu = parts[i] == S_CPU ? at : ret->cpu;
		at += 8;
	}
	ret->chain = type & S_CALLCHAIN ? at : 0;
	ret->raw = at + (type & S_CALLCHAIN ? 8 : 0);
	if (!ret->tracepoint)
		return ret->time;
	return (type & needed) == needed && !(type & S_READ);
}
