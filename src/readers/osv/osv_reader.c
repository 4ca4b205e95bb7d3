// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * OSv's samples as events "osv:NAME", to be merged with those of a host, exported and listed: a record has the thread,
 * its name, the arguments in 8 bytes each, and the first return addresses; blobs follow as hexadecimal text.
 */
#include <errno.h>
#include <inttypes.h>

#include "base/error.h"
#include "base/saturate.h"
#include "readers/osv/raw.h"

enum {
	FRAMES_MAX = 10,	  /* stored by a ring */
	COMM_BYTES = 16, BLOB_BYTES_MAX = 512, /* of a packet: what is shown, in hex */
	TEXT_BYTES = 50,
	RECORD_BYTES = 4096,	  /* the longest record made here */
};

/* How a tracepoint's samples become records: thread, comm, arguments, frames; then blobs' text. */
struct kind {
	const struct event_type *type;
	uint16_t arg_offset[SAMPLE_ARGS_MAX], frames_offset, size;
	bool usable; /* the signature is one that we know */
};

struct osv_events {
	uint8_t record[RECORD_BYTES];
	struct kind kind[]; /* by tracepoint index */
};

struct osv_reader {
	struct reader base;
	struct sample_trace *trace;
	struct osv_events *events;
	uint8_t *records; /* BATCH_MAX of them */
};

static enum field_kind field_kind_of(char type)
{
	return type == 'p'	      ? FIELD_TEXT
	       : type == '*'	      ? FIELD_DYNTEXT
	       : strchr("bhiqfd", type) ? FIELD_SINT
				      : FIELD_UINT;
}

static uint16_t field_size(char type)
{
	return type == 'p' ? TEXT_BYTES : type == '*' ? 4 : 8;
}

static void field_add(struct field *fields, uint16_t *nr, uint16_t *offset, struct field f)
{
	f.offset = *offset;
	fields[(*nr)++] = f;
	*offset = (uint16_t)(*offset + f.size);
}

static int kind_make(const struct sample_type *tp, struct kind *ret)
{
	char arg_name[SAMPLE_ARGS_MAX][16], frame_name[FRAMES_MAX][24];
	struct field fields[SAMPLE_ARGS_MAX + FRAMES_MAX + 2];
	uint16_t nr = 0, offset = sizeof(struct record_hdr);
	char name[EVENT_NAME_MAX];
	int args = 0;

	field_add(
		fields, &nr, &offset,
		(struct field){"thread", "addr", "guest address of the thread", FIELD_UINT, 0, 8});
	field_add(fields, &nr, &offset, (struct field){"comm", "text", "", FIELD_TEXT, 0,
						       COMM_BYTES + 1});
	offset = (uint16_t)(offset + 7) & (uint16_t)~7u;
	for (const char *s = tp->signature; *s; s++) {
		if (*s >= '0' && *s <= '9')
			continue;
		if (args == SAMPLE_ARGS_MAX || !strchr("cbBhHiIqQP?fdp*", *s))
			return 0; /* the trace's reader reports its samples */
		ret->arg_offset[args] = offset;
		if (tp->kind && tp->kind->function)
			snprintf(arg_name[args], sizeof(arg_name[args]), "%s",
				 args ? "caller" : "function");
		else
			snprintf(arg_name[args], sizeof(arg_name[args]), "a%d", args);
		field_add(fields, &nr, &offset,
			  (struct field){arg_name[args++], *s == 'P'		    ? "addr"
							    : strchr("p*", *s) ? "text"
									       : "dec",
					 "", field_kind_of(*s), 0, field_size(*s)});
	}
	offset = (uint16_t)(offset + 7) & (uint16_t)~7u;
	ret->frames_offset = offset;
	for (int i = 0; i < FRAMES_MAX; i++) {
		snprintf(frame_name[i], sizeof(frame_name[i]), "frame%d", i);
		field_add(fields, &nr, &offset, (struct field){frame_name[i], "frame",
							       "return address", FIELD_UINT, 0, 8});
	}
	ret->size = offset;
	ret->usable = true;
	snprintf(name, sizeof(name), "osv:%s", tp->name);
	return event_type_register(&(struct event_type){.name = name,
							.doc = "a tracepoint of OSv",
							.fields = fields,
							.nr_fields = nr,
							.size = offset},
				   &ret->type);
}

int osv_events_new(const struct sample_trace *t, struct osv_events **ret)
{
	_cleanup_free_ struct osv_events *e =
		calloc(1, sizeof(*e) + t->nr_types * sizeof(e->kind[0]));
	int err = e ? 0 : fail(-ENOMEM, "%s: out of memory", t->file);

	for (uint32_t i = 0; !err && i < t->nr_types; i++)
		err = kind_make(&t->types[i], &e->kind[i]);
	*ret = err ? NULL : take_ptr(e);
	return err;
}

void osv_events_free(struct osv_events *e)
{
	free(e);
}

static bool osv_probe(const uint8_t *head, size_t len)
{
	return osv_is_dump(head, len) || osv_is_tracefile(head, len) || osv_is_rings(head, len);
}

static void reader_free(struct reader *base)
{
	struct osv_reader *r = (struct osv_reader *)base;

	trace_info_deinit(&base->info);
	sample_trace_close(r->trace);
	osv_events_free(r->events);
	free(r->records);
	free(r);
}

/* First and last timestamp and the count, in one pass. A truncated file is reported once; its beginning is used. */
static int info_fill(struct osv_reader *r)
{
	struct trace_info *info = &r->base.info;
	struct sample s;
	const struct osv_raw_counts *raw = osv_raw_counts(r->trace);
	uint64_t unstamped = 0, back = 0;
	int err;

	while ((err = sample_next(r->trace, &s)) > 0) {
		info->nr_events++;
		unstamped += !s.time_ns;
		back += s.time_ns < info->end_ns;
		if (!info->start_ns)
			info->start_ns = s.time_ns;
		if (s.time_ns > info->end_ns)
			info->end_ns = s.time_ns;
	}
	info->late = back;
	if (err)
		trace_info_caveat(info, "%s", error_text());
	trace_info_caveat(info, "%s: times are the guest's uptime, not aligned with any host's "
				"clock", info->file);
	if (unstamped)
		trace_info_caveat(info,
				  "%s: %" PRIu64 " samples were made before the guest's clock "
				  "ran; their time is 0",
				  info->file, unstamped);
	if (raw->unfinished)
		trace_info_caveat(info,
				  "%s: vCPUs that were writing a sample: %" PRIu64 "; what "
				  "follows it is not read",
				  info->file, raw->unfinished);
	if (raw->bad)
		trace_info_caveat(info, "%s: %" PRIu64 " pages end in invalid data", info->file,
				  raw->bad);
	if (back > unstamped)
		trace_info_caveat(info, "%s: %" PRIu64 " samples are older than one before them",
				  info->file, back);
	sample_rewind(r->trace);
	return json_object_set_new(info->meta, "clock", json_string("guest-uptime"))
		       ? fail(-ENOMEM, "out of memory")
		       : 0;
}

static int osv_reader_open(const char *path, const struct read_hint *hint, struct reader **ret)
{
	struct osv_reader *r = calloc(1, sizeof(*r));
	int err;

	if (!r)
		return fail(-ENOMEM, "%s: out of memory", path);
	r->base.ops = &osv_reader;
	err = osv_open(path, hint ? hint->files : NULL, &r->trace);
	if (!err)
		err = trace_info_init(&r->base.info, path, r->trace->kind);
	if (!err) {
		r->records = malloc((size_t)BATCH_MAX * RECORD_BYTES);
		if (!r->records)
			err = fail(-ENOMEM, "%s: out of memory", path);
	}
	if (!err)
		err = osv_events_new(r->trace, &r->events);
	if (!err)
		err = info_fill(r);
	if (err) {
		reader_free(&r->base);
		return err;
	}
	*ret = &r->base;
	return 0;
}

/* Bytes as hex after the fixed part: "offset | length << 16". */
static uint16_t blob_put(uint8_t *record, uint16_t at, uint16_t size, const struct sample_arg *a)
{
	unsigned int nr = a->len < BLOB_BYTES_MAX ? a->len : BLOB_BYTES_MAX;

	if (size + 2 * nr + 1 > RECORD_BYTES)
		nr = size + 1 < RECORD_BYTES ? (RECORD_BYTES - 1u - size) / 2 : 0;
	uint32_t place = (uint32_t)size | (2 * nr + 1) << 16;

	for (unsigned int i = 0; i < nr; i++)
		snprintf((char *)record + size + 2 * i, 3, "%02x", a->bytes[i]);
	record[size + 2 * nr] = 0;
	memcpy(record + at, &place, sizeof(place));
	return (uint16_t)(size + 2 * nr + 1);
}

static void text_put(uint8_t *to, const struct sample_arg *a)
{
	unsigned int len = a->len < TEXT_BYTES - 1 ? a->len : TEXT_BYTES - 1;

	copy_array(to, a->bytes, len);
	to[len] = 0;
}

static void record_make(const struct kind *k, const struct sample *s, uint8_t *record,
			struct event *ev)
{
	struct sample_arg args[SAMPLE_ARGS_MAX];
	uint64_t frames[FRAMES_MAX] = {0};
	uint16_t size = k->size;
	size_t len;
	int nr = sample_args(s->tp, s->args, s->args_len, args, &len);

	memset(record, 0, k->size);
	memcpy(record + sizeof(struct record_hdr), &s->thread, 8);
	memcpy(record + sizeof(struct record_hdr) + 8, s->thread_name, COMM_BYTES);
	for (int i = 0; i < nr; i++) {
		uint8_t *to = record + k->arg_offset[i];

		if (args[i].type == 'p')
			text_put(to, &args[i]);
		else if (args[i].type == '*')
			size = blob_put(record, k->arg_offset[i], size, &args[i]);
		else if (args[i].type == 'f' || args[i].type == 'd')
			memcpy(to, &(int64_t){int64_of_double(args[i].d)}, 8);
		else
			memcpy(to, &args[i].u, 8);
	}
	sample_backtrace(s, frames, FRAMES_MAX);
	memcpy(record + k->frames_offset, frames, sizeof(frames));

	struct record_hdr hdr = {.time = s->time_ns,
				 .tid = (uint32_t)s->thread,
				 .size = size,
				 .cpu = (uint16_t)s->cpu,
				 .vcpu = (uint16_t)s->cpu};

	memcpy(record, &hdr, sizeof(hdr));
	*ev = (struct event){.time_ns = hdr.time, .type = k->type, .data = record, .tid = hdr.tid,
			     .size = size, .cpu = hdr.cpu, .vcpu = hdr.vcpu};
}

bool osv_event_make(struct osv_events *e, const struct sample *s, struct event *ret)
{
	const struct kind *k = &e->kind[s->tp->index];

	if (k->usable)
		record_make(k, s, e->record, ret);
	return k->usable;
}

static int osv_reader_next(struct reader *base, struct batch *batch)
{
	struct osv_reader *r = (struct osv_reader *)base;
	struct sample s;

	batch->nr = 0;
	while (batch->nr < BATCH_MAX && sample_next(r->trace, &s) > 0) {
		const struct kind *k = &r->events->kind[s.tp->index];

		if (k->usable)
			record_make(k, &s, r->records + (size_t)batch->nr * RECORD_BYTES,
				    &batch->ev[batch->nr]);
		batch->nr += k->usable;
	}
	return batch->nr > 0;
}

const struct reader_ops osv_reader = {
	.name = "osv",
	.summary = "traces of OSv guests: tracefile version 3, OSVT dump",
	.probe = osv_probe,
	.open = osv_reader_open,
	.next = osv_reader_next,
	.close = reader_free,
};
