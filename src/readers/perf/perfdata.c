// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * perf's perf.data, of a host or of a guest. A tracepoint's sample carries the same bytes as a record of ftrace's, so
 * kvm's and the scheduler's become ours, and a guest's become "guest:NAME"; other samples (cycles, ...) become
 * "perf:NAME" with the instruction pointer.
 *
 * perf empties one buffer per CPU in rounds (FINISHED_ROUND). All records from before the start of a round are present
 * two rounds later: until then records wait (event/pending.h). That is a round more than perf itself waits.
 * Losses are found in a pass before (perfdata_lost.c).
 *
 * Times are those of the clock that was requested (-k); unless that is mono, they are the kernel's sched_clock, which
 * is near CLOCK_MONOTONIC but not it. A TIME_CONV record describes its conversion from the TSC: meta's "tsc_map".
 */
#include <errno.h>
#include <inttypes.h>
#include <time.h>

#include "base/error.h"
#include "base/log.h"
#include "base/saturate.h"
#include "readers/ftrace/vm_threads.h"
#include "readers/perf/perfdata_scan.h"

enum {
	NAMES_MAX = 65536,
	NAME_PARENT = 8, /* bytes into rec_thread.comm, see name_take() */
	AHEAD_MAX = 4 << 20, /* of records kept after the look at the beginning of the file */
};

struct rec_sample {
	struct record_hdr hdr;
	uint64_t ip, period;
};

/* ---- events ---- */

int perfdata_record_add(struct perfdata *p, const struct event_type *type, const uint8_t *rec,
		      size_t size)
{
	struct record_hdr hdr;
	int err = pending_reserve(&p->pending, 1);
	uint8_t *to;

	if (err)
		return err;
	to = pending_memory(&p->pending, size);
	if (!to)
		return fail(-ENOMEM, "out of memory");
	memcpy(to, rec, size);
	memcpy(&hdr, rec, sizeof(hdr));
	hdr.type = type->index;
	hdr.size = (uint16_t)size;
	memcpy(to, &hdr, sizeof(hdr));
	p->types[type->index] = type;
	pending_add(&p->pending, hdr.time, to, size);
	return 0;
}

struct record_hdr perfdata_head_of(const struct perfdata *p, const struct perfdata_sample *s)
{
	uint16_t cpu = s->have_cpu && s->cpu < PERFDATA_CPUS_MAX ? (uint16_t)s->cpu
								 : RECORD_CPU_UNKNOWN;

	return (struct record_hdr){.time = s->time, .pid = s->pid, .tid = s->tid, .cpu = cpu,
				   .vcpu = p->guest ? cpu : RECORD_NO_VCPU};
}

static const struct event_type *type_of(const struct perfdata *p, struct perfdata_attr *a)
{
	static const struct field fields[] = {
		{.name = "ip", .fmt = "addr", .doc = "instruction pointer", .kind = FIELD_UINT,
		 .offset = offsetof(struct rec_sample, ip), .size = 8},
		{.name = "period", .fmt = "dec", .doc = "what the sample stands for",
		 .kind = FIELD_UINT, .offset = offsetof(struct rec_sample, period), .size = 8},
	};
	char name[EVENT_NAME_MAX];

	if (a->made)
		return a->made;
	if (*a->name)
		snprintf(name, sizeof(name), "%s:%s", p->guest ? "guest" : "perf", a->name);
	else
		snprintf(name, sizeof(name), "%s:type%u-%" PRIu64, p->guest ? "guest" : "perf",
			 a->type, a->config);
	for (char *c = strchr(name, ':') + 1; *c; c++) /* "cycles:ppp" */
		*c = *c == ':' || *c == ' ' || *c == ',' ? '-' : *c;
	if (event_type_register(&(struct event_type){.name = name,
						     .doc = "a perf sample",
						     .fields = fields,
						     .nr_fields = 2,
						     .size = sizeof(struct rec_sample)},
				&a->made))
		return NULL;
	return a->made;
}

static int plain_sample(struct perfdata *p, struct perfdata_attr *a,
			const struct perfdata_sample *s)
{
	struct rec_sample rec = {.hdr = perfdata_head_of(p, s), .ip = s->ip, .period = s->period};
	const struct event_type *type = type_of(p, a);

	if (!type) {
		p->unknown++;
		return 0;
	}
	return perfdata_record_add(p, type, (const uint8_t *)&rec, sizeof(rec)) ?:
	       perfdata_chain_add(p, s);
}

static int tracepoint_sample(struct perfdata *p, const struct perfdata_sample *s)
{
	struct record_hdr hdr = perfdata_head_of(p, s), made;
	struct event ev;

	if (!s->raw || ftrace_event_make(p->events, s->raw, s->raw_len, hdr.cpu, p->scratch,
					 &ev) != 1) {
		p->unknown++;
		return 0;
	}
	memcpy(&made, p->scratch, sizeof(made));
	made.time = hdr.time;
	made.pid = s->have_tid ? hdr.pid : made.pid;
	made.tid = s->have_tid ? hdr.tid : made.tid;
	memcpy(p->scratch, &made, sizeof(made));
	return perfdata_record_add(p, ev.type, p->scratch, ev.size) ?: perfdata_chain_add(p, s);
}

static int sample_take(struct perfdata *p, const struct perfdata_record *rec)
{
	struct perfdata_attr *a;
	struct perfdata_sample s;

	if (perfdata_sample_parse(&p->file, rec, &s) ||
	    !(a = perfdata_attr_of(&p->file, s.have_id ? s.id : 0))) {
		p->foreign++;
		return 0;
	}
	if (!s.have_time) {
		p->no_time++;
		return 0;
	}
	if (s.time > p->newest)
		p->newest = s.time;
	if (s.have_cpu && s.cpu < PERFDATA_CPUS_MAX && s.time > p->last[s.cpu])
		p->last[s.cpu] = s.time;
	return a->type == PERFDATA_TYPE_TRACEPOINT ? tracepoint_sample(p, &s)
						   : plain_sample(p, a, &s);
}

static void name_set(struct perfdata *p, uint32_t tid, const char *comm)
{
	char key[16];

	snprintf(key, sizeof(key), "%u", tid);
	if (json_object_size(p->threads) < NAMES_MAX)
		json_object_set_new(p->threads, key, json_string(comm));
}

/*
 * Threads that were there at the start have the time 0: they go to the metadata only; a new name is an event too. A new
 * thread is called what its parent is called, which is only known in order of time: `comm` is then "" and the parent's
 * id is after it until the event is returned.
 */
static int name_take(struct perfdata *p, const struct perfdata_record *rec, uint32_t pid,
		     uint32_t tid, const char *comm, uint32_t parent)
{
	struct rec_thread thread = {0};
	struct perfdata_sample s;

	perfdata_trailer_parse(&p->file, rec, &s);
	snprintf(thread.comm, sizeof(thread.comm), "%s", comm);
	text_sanitize(thread.comm);
	if (p->guest || !s.have_time || !s.time) {
		if (*thread.comm)
			name_set(p, tid, thread.comm);
		return 0;
	}
	memcpy(thread.comm + NAME_PARENT, &parent, *thread.comm ? 0 : sizeof(parent));
	thread.hdr = perfdata_head_of(p, &s);
	thread.hdr.vcpu = RECORD_NO_VCPU;
	thread.hdr.pid = pid;
	thread.hdr.tid = tid;
	return perfdata_record_add(p, event_type_ours(EV_thread), (const uint8_t *)&thread,
				   sizeof(thread));
}

static void name_resolve(struct perfdata *p, const struct event *ev)
{
	char *comm = (char *)ev->data + offsetof(struct rec_thread, comm); /* it is in `pending` */
	uint32_t parent;
	char key[16];
	const char *known;

	if (!*comm) {
		memcpy(&parent, comm + NAME_PARENT, sizeof(parent));
		snprintf(key, sizeof(key), "%u", parent);
		known = json_string_value(json_object_get(p->threads, key));
		memset(comm, 0, sizeof(((struct rec_thread *)0)->comm));
		snprintf(comm, sizeof(((struct rec_thread *)0)->comm), "%s", known ? known : "");
	}
	name_set(p, ev->tid, comm);
}

static int comm_take(struct perfdata *p, const struct perfdata_record *rec)
{
	struct buffer b = buffer_of(rec->data, rec->len, p->file.path, rec->offset);
	uint32_t pid = buffer_u32(&b), tid = buffer_u32(&b);
	char comm[16] = "";

	for (size_t i = 0; i < sizeof(comm) - 1 && buffer_left(&b); i++) {
		comm[i] = (char)buffer_u8(&b);
		if (!comm[i])
			break;
	}
	if (b.cut || !*comm)
		return 0;
	perfdata_map_exec(p, rec, pid);
	if (vm_threads_vcpu_of_name(comm, strlen(comm)) != RECORD_NO_VCPU && !p->guest)
		ftrace_events_thread_named(p->events, tid,
					   vm_threads_vcpu_of_name(comm, strlen(comm)));
	return name_take(p, rec, pid, tid, comm, 0);
}

static int fork_take(struct perfdata *p, const struct perfdata_record *rec)
{
	struct buffer b = buffer_of(rec->data, rec->len, p->file.path, rec->offset);
	uint32_t pid = buffer_u32(&b), from = buffer_u32(&b), tid = buffer_u32(&b),
		 parent = buffer_u32(&b);

	if (!b.cut)
		perfdata_map_fork(p, rec, pid, from);
	return b.cut ? 0 : name_take(p, rec, pid, tid, "", parent);
}

/* ns = time_zero + (tsc * mult >> shift) */
int perfdata_time_conv(struct perfdata *p, const struct perfdata_record *rec)
{
	struct buffer b = buffer_of(rec->data, rec->len, p->file.path, rec->offset);
	uint64_t shift = buffer_u64(&b), mult = buffer_u64(&b), zero = buffer_u64(&b);
	json_t *meta = p->reader.info.meta;
	double k;

	if (b.cut || shift > 63 || !mult || p->file.nr_attrs == 0 || p->file.attr[0].use_clockid)
		return 0;
	k = (double)mult / (double)(1ull << shift);
	if (k < 1e-3 || k > 1e6 || json_object_get(meta, "tsc_map"))
		return 0;
	json_object_set_new(meta, "tsc_map",
			    json_pack("{s:f, s:I}", "ns_per_tick", k, "ns_offset",
				      (json_int_t)zero));
	json_object_set_new(meta, "tsc_khz", json_integer(int64_of_double(1e6 / k + 0.5)));
	return 0;
}

static int record_take(struct perfdata *p, const struct perfdata_record *rec)
{
	switch (rec->type) {
	case PERFDATA_SAMPLE:
		return sample_take(p, rec);
	case PERFDATA_LOST:
		return p->losses_known ? 0 : perfdata_lost(p, rec);
	case PERFDATA_LOST_SAMPLES:
		return p->losses_known ? 0 : perfdata_lost_samples(p, rec);
	case PERFDATA_COMM:
		return comm_take(p, rec);
	case PERFDATA_FORK:
		return fork_take(p, rec);
	case PERFDATA_MMAP:
	case PERFDATA_MMAP2:
		return p->chains.type ? perfdata_map_take(p, rec) : 0;
	case PERFDATA_TIME_CONV:
		return perfdata_time_conv(p, rec);
	case PERFDATA_FINISHED_ROUND:
		if (p->older)
			pending_release(&p->pending, p->older);
		p->older = p->before;
		p->before = p->newest;
		return 0;
	default:
		return 0;
	}
}

/* ---- batches ---- */

/* Reads one more record; p->ended if there is none. */
static int record_next(struct perfdata *p)
{
	struct perfdata_record rec;
	int more = perfdata_stream_next(&p->stream, &rec);

	if (more == -EBADMSG && p->stream.at) { /* what was read before it is good */
		trace_info_caveat(&p->reader.info, "%s; the rest is missing", error_text());
		more = 0;
	}
	if (more < 0)
		return more;
	if (!more) {
		p->ended = true;
		pending_release(&p->pending, UINT64_MAX);
		return 0;
	}
	more = record_take(p, &rec);
	if (!more && pending_full(&p->pending))
		pending_release_half(&p->pending);
	return more;
}

/* Reads on until something is ready or nothing is left. */
static int perfdata_next_fill(struct perfdata *p)
{
	int err = 0;

	while (!err && p->pending.head == p->pending.ready && !p->ended)
		err = record_next(p);
	return err;
}

/*
 * Reads on until an event is ready: when it was. perf writes the names of all threads before it begins (records COMM),
 * with the times at which they were named.
 */
static int fill_to_event(struct perfdata *p, uint64_t *ret_start)
{
	const uint16_t thread = event_type_ours(EV_thread)->index;
	size_t at = p->pending.head;
	struct record_hdr hdr;
	int err = 0;

	for (; !err; at++) {
		while (!err && at == p->pending.ready && !p->ended && !pending_full(&p->pending))
			err = record_next(p);
		if (err || at == p->pending.ready)
			break;
		memcpy(&hdr, p->pending.slots[at].data, sizeof(hdr));
		if (hdr.type != thread)
			break;
	}
	if (at == p->pending.ready)
		at = p->pending.head; /* there are only names */
	if (!err && at < p->pending.ready)
		*ret_start = p->pending.slots[at].time_ns;
	return err;
}

static void count_caveat(struct perfdata *p, uint64_t n, const char *what)
{
	if (n)
		trace_info_caveat(&p->reader.info, "%s: %" PRIu64 " %s", p->reader.info.file, n,
				  what);
}

static void end_take(struct perfdata *p)
{
	struct trace_info *info = &p->reader.info;

	pending_deinit(&p->pending); /* another reader of the file may follow before this one is closed */
	perfdata_losses_end(p);
	perfdata_chains_end(p);
	info->truncated = p->file.unended || p->stream.cut;
	if (info->truncated)
		trace_info_caveat(info, "%s is truncated or was not finished: the rest is missing",
				  info->file);
	count_caveat(p, p->unknown,
		     p->file.have_formats
			     ? "samples without a usable format were skipped"
			     : "samples of tracepoints were skipped: the file lacks their formats");
	count_caveat(p, p->no_time, "samples without a timestamp (perf record -T) were skipped");
	count_caveat(p, p->foreign, "corrupt samples were skipped");
	ftrace_events_caveats(p->events, info);
}

static int perfdata_next(struct reader *r, struct batch *batch)
{
	struct perfdata *p = (struct perfdata *)r;
	int err = perfdata_next_fill(p);

	batch->nr = 0;
	if (err)
		return err;
	if (p->pending.head == p->pending.ready) {
		end_take(p);
		return 0;
	}
	pending_batch(&p->pending, p->types, &r->info, batch);
	for (unsigned int i = 0; i < batch->nr; i++)
		if (batch->ev[i].type->id == EV_thread)
			name_resolve(p, &batch->ev[i]);
	if (batch->ev[batch->nr - 1].time_ns > r->info.end_ns)
		r->info.end_ns = batch->ev[batch->nr - 1].time_ns;
	return 1;
}

void perfdata_names_read(struct perfdata *p, const uint8_t *map, const uint64_t *at, size_t nr)
{
	struct batch *batch = malloc(sizeof(*batch));
	struct pending names = {.since_ns = p->pending.since_ns, .until_ns = p->pending.until_ns};

	pending_deinit(&p->pending); /* what was read ahead */
	p->pending = names;
	for (size_t i = 0; i < nr && batch; i++) {
		struct perfdata_record rec = {.offset = at[i] + PERFDATA_HEAD,
					      .data = map + at[i] + PERFDATA_HEAD};
		uint16_t size;

		memcpy(&rec.type, map + at[i], sizeof(rec.type));
		memcpy(&size, map + at[i] + 6, sizeof(size));
		rec.len = size - PERFDATA_HEAD;
		if (size < PERFDATA_HEAD || record_take(p, &rec))
			break;
	}
	p->ended = true;
	pending_release(&p->pending, UINT64_MAX);
	while (batch && perfdata_next(&p->reader, batch) > 0)
		;
	free(batch);
}

/* ---- open and close ---- */

static const char *clock_name(const struct perfdata_file *f)
{
	static const char *const names[] = {
		[CLOCK_REALTIME] = "realtime",	[CLOCK_MONOTONIC] = "monotonic",
		[CLOCK_MONOTONIC_RAW] = "mono_raw", [CLOCK_BOOTTIME] = "boottime",
		[CLOCK_TAI] = "tai",
	};
	const struct perfdata_attr *a = f->nr_attrs ? f->attr : NULL;

	if (!a || !a->use_clockid)
		return "perf";
	if (a->clockid < 0 || (size_t)a->clockid >= sizeof(names) / sizeof(names[0]) ||
	    !names[a->clockid])
		return "unknown";
	return names[a->clockid];
}

static void meta_take(struct perfdata *p)
{
	struct trace_info *info = &p->reader.info;
	const char *clock = clock_name(&p->file);
	char name[64];

	snprintf(name, sizeof(name), "%s%s", p->guest ? "guest-" : "", clock);
	json_object_set_new(info->meta, "clock", json_string(name));
	if (*p->file.host)
		json_object_set_new(info->meta, "host", json_string(p->file.host));
	if (*p->file.release)
		json_object_set_new(info->meta, "kernel", json_string(p->file.release));
	if (p->file.have_wall)
		json_object_set_new(info->meta, "wall_ns_offset",
				    json_integer((json_int_t)(p->file.wall_ns - p->file.clock_ns)));
	if (!p->guest && strcmp(clock, "monotonic"))
		trace_info_caveat(info,
				  "%s: timestamps are from perf's clock '%s', not CLOCK_MONOTONIC "
				  "(perf record -k mono)",
				  info->file, clock);
}

static void perfdata_close(struct reader *r)
{
	struct perfdata *p = (struct perfdata *)r;

	perfdata_scan_free(p->scan);
	perfdata_stream_deinit(&p->stream);
	perfdata_file_deinit(&p->file);
	ftrace_events_free(p->events);
	pending_deinit(&p->pending);
	free(p->scratch);
	trace_info_deinit(&r->info);
	free(p);
}

/* At the first record. A hint's wants() is valid only during open(): all types are created, the trim is exact. */
static int file_begin(struct perfdata *p)
{
	int err;

	perfdata_stream_deinit(&p->stream);
	perfdata_file_deinit(&p->file);
	ftrace_events_free(p->events);
	perfdata_chains_begin(p);
	p->events = ftrace_events_new(p->guest ? FTRACE_GUEST : FTRACE_HOST, NULL, NULL);
	err = p->events ? perfdata_file_open(&p->file, p->reader.info.file, p->events) : -ENOMEM;
	return err ? err : perfdata_stream_init(&p->stream, &p->file, p->events, 0);
}

/* A host's losses, before the events: by the scan that rows need anyway, or as the records are read. */
static int losses_take(struct perfdata *p)
{
	struct perfdata_record first;
	int err;

	if (p->file.pipe && perfdata_stream_next(&p->stream, &first) < 0)
		debug("read", "%s: %s", p->reader.info.file, error_text()); /* it is reported when it is read again */
	p->scan = perfdata_scan(p);
	err = p->scan ? perfdata_losses_add(p, p->scan) : perfdata_losses_find(p);
	p->losses_known = true;
	return err || (p->scan && !p->file.pipe) ? err : file_begin(p);
}

/*
 * After the look at the beginning, which may have needed all of the memory that a reader uses: all but the losses is
 * read again, as a caller may read another reader of the file first.
 */
static int ahead_free(struct perfdata *p)
{
	struct pending all = p->pending;
	struct record_hdr hdr;
	int err = 0;

	p->pending = (struct pending){.since_ns = all.since_ns, .until_ns = all.until_ns};
	for (size_t i = all.head; i < all.nr && !err; i++) {
		memcpy(&hdr, all.slots[i].data, sizeof(hdr));
		if (p->types[hdr.type]->id == EV_lost || p->types[hdr.type]->id == EV_gap)
			err = perfdata_record_add(p, p->types[hdr.type], all.slots[i].data,
						  hdr.size);
	}
	pending_deinit(&all);
	p->newest = p->before = p->older = p->unknown = p->no_time = p->foreign = 0;
	memset(p->last, 0, sizeof(p->last));
	p->ended = false;
	return err ? err : file_begin(p);
}

static int perfdata_fill(struct perfdata *p, const char *path, const struct read_hint *hint)
{
	struct trace_info *info = &p->reader.info;
	int err = trace_info_init(info, path, "perf.data");

	if (err)
		return err;
	info->types_read = calloc(EVENT_TYPES_MAX, sizeof(*info->types_read));
	if (!info->types_read)
		return fail(-ENOMEM, "%s: out of memory", path);
	p->guest = hint && hint->guest;
	p->file.files = hint ? hint->files : NULL;
	p->pending.since_ns = hint ? hint->since_ns : 0;
	p->pending.until_ns = hint ? hint->until_ns : UINT64_MAX;
	p->scratch = malloc(EVENT_RECORD_MAX + sizeof(uint64_t));
	p->threads = json_object();
	json_object_set_new(info->meta, "threads", p->threads);
	if (!p->scratch || !p->threads)
		return fail(-ENOMEM, "%s: out of memory", path);
	err = file_begin(p);
	err = err ? err : perfdata_parts_demand(&p->file);
	if (!err && !p->guest)
		err = losses_take(p);
	if (!err)
		err = fill_to_event(p, &info->start_ns); /* names, and when it begins */
	if (err)
		return err;
	info->end_ns = info->start_ns;
	meta_take(p);
	if (p->stream.parts)
		perfdata_parts_caveat(p->stream.parts, &p->file, info);
	if (!p->losses_known || (!p->stream.zstd && p->pending.live_bytes < AHEAD_MAX))
		return 0;
	return ahead_free(p);
}

static int perfdata_open(const char *path, const struct read_hint *hint, struct reader **ret)
{
	struct perfdata *p = calloc(1, sizeof(*p));
	int err;

	if (!p)
		return fail(-ENOMEM, "%s: out of memory", path);
	p->reader.ops = &perfdata_reader;
	p->file.fd = -1;
	err = perfdata_fill(p, path, hint);
	if (err) {
		perfdata_close(&p->reader);
		return err;
	}
	*ret = &p->reader;
	return 0;
}

/* A directory of perf record --threads without its `data`, which the error message names. */
static bool holds_parts(const char *directory)
{
	_cleanup_free_ char *path = NULL;

	return asprintf(&path, "%s/data.0", directory) >= 0 && !access(path, F_OK);
}

const struct reader_ops perfdata_reader = {
	.name = "perf.data",
	.summary = "recordings of perf, from a file, a pipe or its threads, also compressed",
	.directory = "data",
	.probe_directory = holds_parts,
	.probe = perfdata_probe,
	.open = perfdata_open,
	.next = perfdata_next,
	.rows = &perfdata_rows,
	.close = perfdata_close,
};
