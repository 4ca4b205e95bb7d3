// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * trace-cmd's trace.dat, of a host or of a guest. Each CPU's events are in order; the oldest of all CPUs goes next, and
 * a CPU's own order is never changed, since across a change of the TSC offset only it is right.
 *
 * Times: of a guest, raw (what its clock said: ticks of its TSC with -C x86-tsc); clock/ makes them the host's. Of
 * a host, ns: as they are, or ticks converted by the file's own TSC2NSEC, or by the rate that KVM told a guest's
 * kvm-clock (kvm_pvclock_update). Meta then says how to come back: "tsc_map".
 *
 * What was lost is a `lost` event where it happened: pages say that events were missed before them; the kernel's
 * statistics say what was left in its buffers when the recording ended.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "readers/ftrace/tracedat.h"
#include "readers/ftrace/tracedat_internal.h"
#include "readers/ftrace/vm_threads.h"

enum {
	ARENA = 1 << 20, /* bytes of records in one batch */
	NAMES_MAX = 65536, /* threads named in the metadata */
};

enum head_state { HEAD_EVENT, HEAD_LOST, HEAD_END };

struct cpu {
	const struct tracedat_cpu *info;
	struct tracedat_pages pages;
	struct ftrace_page page;
	enum head_state state;
	uint64_t time, lost;  /* of the head; HEAD_LOST: how many */
	uint64_t last, until; /* of the newest event; HEAD_LOST: they were lost from time to until */
	const uint8_t *entry;
	size_t len;
	uint64_t read, missed; /* events so far */
	bool left_told;
};

struct tracedat {
	struct reader reader;
	struct tracedat_file file;
	struct ftrace_events *events;
	struct vm_threads *vms; /* NULL: of a guest */
	struct cpu *cpu;
	uint8_t *arena;
	uint64_t damaged, unknown, uncounted, cut;
	bool guest;
	bool ticks;	    /* times are TSC ticks, to be converted by the map */
	double ns_per_tick; /* of the map; ns 0 is tick 0 plus offset */
	int64_t ns_offset;
};

/* ---- one CPU ---- */

/* Entries that the kernel still had when it was asked last, and that are not in the file. */
static uint64_t left_behind(const struct cpu *c)
{
	const struct tracedat_stats *s = &c->info->stats;
	uint64_t there = s->entries + s->read;

	return s->known && there > c->read && there < UINT64_MAX / 2 ? there - c->read : 0;
}

static int cpu_end(struct cpu *c)
{
	uint64_t left = left_behind(c);

	c->state = HEAD_END;
	if (left && !c->left_told) {
		c->left_told = true;
		c->state = HEAD_LOST;
		c->time = c->last;
		c->until = INT64_MAX; /* to the end */
		c->lost = left;
		c->missed += left;
	}
	return 0;
}

static int page_take(struct tracedat *t, struct cpu *c, const uint8_t *data)
{
	if (ftrace_page_open(&c->page, data, t->file.page_size, t->file.commit_size)) {
		t->damaged++;
		c->page = (struct ftrace_page){0};
		return 0;
	}
	if (!c->page.missed)
		return 0;
	t->uncounted += c->page.missed == UINT64_MAX;
	c->state = HEAD_LOST;
	c->time = c->last ? c->last : c->page.time;
	c->until = c->page.time;
	c->lost = c->page.missed == UINT64_MAX ? 1 : c->page.missed;
	c->missed += c->lost;
	return 1;
}

/* Steps to the CPU's next event, loss or end. */
static int cpu_step(struct tracedat *t, struct cpu *c)
{
	const uint8_t *data;
	int more;

	if (c->state == HEAD_END)
		return 0;
	for (;;) {
		if (c->page.at && ftrace_page_next(&c->page, &c->entry, &c->len, &c->time)) {
			c->state = HEAD_EVENT;
			c->last = c->time;
			c->read++;
			return 0;
		}
		t->damaged += c->page.damaged;
		c->page = (struct ftrace_page){0};
		if (c->left_told)
			return cpu_end(c);
		more = tracedat_pages_next(&c->pages, &data);
		if (more == -EBADMSG) { /* what was read before it is good */
			t->cut++;
			more = 0;
		}
		if (more < 0)
			return more;
		if (!more)
			return cpu_end(c);
		if (page_take(t, c, data))
			return 0;
	}
}

/* A CPU of which there is no event: what it left behind is missing from the trace's start to its end. */
static void holes_place(struct tracedat *t)
{
	uint64_t first = UINT64_MAX;

	for (unsigned int i = 0; i < t->file.nr_cpus; i++) {
		const struct cpu *c = &t->cpu[i];

		if (c->state != HEAD_END && !c->left_told && c->time < first)
			first = c->time;
	}
	for (unsigned int i = 0; i < t->file.nr_cpus && first < UINT64_MAX; i++)
		if (t->cpu[i].left_told && !t->cpu[i].last)
			t->cpu[i].time = first;
}

static int cpus_begin(struct tracedat *t)
{
	int err = 0;

	for (unsigned int i = 0; !err && i < t->file.nr_cpus; i++) {
		struct cpu *c = &t->cpu[i];

		tracedat_pages_deinit(&c->pages);
		*c = (struct cpu){.info = &t->file.cpu[i]};
		tracedat_pages_init(&c->pages, &t->file, c->info);
		err = cpu_step(t, c);
	}
	holes_place(t);
	return err;
}

/* The CPU whose head is the oldest, and the time until which it stays so. */
static struct cpu *oldest(struct tracedat *t, uint64_t *ret_limit)
{
	struct cpu *best = NULL;

	*ret_limit = UINT64_MAX;
	for (unsigned int i = 0; i < t->file.nr_cpus; i++) {
		struct cpu *c = &t->cpu[i];

		if (c->state == HEAD_END)
			continue;
		if (!best || c->time < best->time) {
			*ret_limit = best ? best->time : UINT64_MAX;
			best = c;
		} else if (c->time < *ret_limit) {
			*ret_limit = c->time;
		}
	}
	return best;
}

/* ---- batches ---- */

static uint64_t time_of(const struct tracedat *t, uint64_t time)
{
	if (!t->ticks)
		return time;
	return (uint64_t)((double)time * t->ns_per_tick + 0.5) + (uint64_t)t->ns_offset;
}

static void lost_make(struct tracedat *t, const struct cpu *c, uint8_t *to, struct event *ev)
{
	struct rec_lost rec = {.hdr = {.type = EV_lost, .size = sizeof(rec),
				       .cpu = (uint16_t)c->info->cpu, .vcpu = RECORD_NO_VCPU},
			       .count = c->lost,
			       .lost_cpu = c->info->cpu,
			       .until = c->until == INT64_MAX ? c->until : time_of(t, c->until)};

	memcpy(to, &rec, sizeof(rec));
	*ev = (struct event){.type = event_type_ours(EV_lost), .data = to, .size = sizeof(rec),
			     .cpu = rec.hdr.cpu, .vcpu = RECORD_NO_VCPU};
	t->reader.info.lost += c->lost;
}

/* 1 if the head became an event of the batch. */
static int head_make(struct tracedat *t, struct cpu *c, uint8_t *to, struct event *ev)
{
	uint64_t time = time_of(t, c->time);
	int made = 1;

	if (c->state == HEAD_LOST && t->guest) { /* says nothing about the host's events */
		t->reader.info.lost += c->lost;
		made = 0;
	} else if (c->state == HEAD_LOST) {
		lost_make(t, c, to, ev);
	} else {
		made = ftrace_event_make(t->events, c->entry, c->len, c->info->cpu, to, ev);
		t->unknown += made < 0;
	}
	if (made <= 0)
		return 0;
	if (t->vms)
		vm_threads_set(t->vms, to, ev);
	memcpy(to, &time, sizeof(time)); /* record_hdr.time */
	ev->time_ns = time;
	return 1;
}

/* What the statistics know and no page told. */
static void end_take(struct tracedat *t)
{
	struct trace_info *info = &t->reader.info;
	uint64_t left = 0;

	for (unsigned int i = 0; i < t->file.nr_cpus; i++) {
		const struct cpu *c = &t->cpu[i];
		const struct tracedat_stats *s = &c->info->stats;
		uint64_t told = c->missed - (c->left_told ? left_behind(c) : 0),
			 said = s->overrun + s->commit_overrun + s->dropped;

		left += c->left_told ? left_behind(c) : 0;
		info->lost += s->known && said > told ? said - told : 0;
	}
	if (left)
		trace_info_caveat(info,
				  "%s: %" PRIu64 " events were left in the kernel's buffers when "
						 "the recording ended; they are missing at its end",
				  info->file, left);
	if (t->uncounted)
		trace_info_caveat(info,
				  "%s: an unknown number of events is missing in %" PRIu64
				  " places; each place counts as one lost event",
				  info->file, t->uncounted);
	if (t->cut)
		trace_info_caveat(info,
				  "%s: the data of %" PRIu64
				  " CPUs is truncated or corrupt; the rest of it is missing",
				  info->file, t->cut);
	if (t->damaged)
		trace_info_caveat(info, "%s: %" PRIu64 " corrupt pages were read only in part",
				  info->file, t->damaged);
	if (info->late)
		trace_info_caveat(info,
				  "%s: %" PRIu64
				  " events are out of order: the clock of their CPU went backwards",
				  info->file, info->late);
	if (t->unknown)
		trace_info_caveat(info,
				  "%s: %" PRIu64 " events without a usable format were skipped",
				  info->file, t->unknown);
}

int tracedat_next(struct reader *r, struct batch *batch)
{
	struct tracedat *t = (struct tracedat *)r;
	uint64_t limit;
	size_t used = 0;
	struct cpu *c;

	batch->nr = 0;
	while (batch->nr < BATCH_MAX && ARENA - used > EVENT_RECORD_MAX && (c = oldest(t, &limit)))
		do {
			struct event *ev = &batch->ev[batch->nr];
			int err;

			if (head_make(t, c, t->arena + used, ev)) {
				used += ((size_t)ev->size + 7) & ~7ul;
				batch->nr++;
				t->reader.info.nr_events++;
				if (ev->time_ns < t->reader.info.end_ns)
					t->reader.info.late++; /* a CPU's clock went back */
				else
					t->reader.info.end_ns = ev->time_ns;
			}
			err = cpu_step(t, c);
			if (err)
				return err;
		} while (c->state != HEAD_END && c->time <= limit && batch->nr < BATCH_MAX &&
			 ARENA - used > EVENT_RECORD_MAX);
	if (!batch->nr)
		end_take(t);
	return batch->nr > 0;
}

/* ---- the clock ---- */

/* The rate that KVM itself believes the guest's TSC to have, from the first kvm_pvclock_update; 0 if there is none. */
static double rate_of_pvclock(struct tracedat *t)
{
	double ns_per_tick = 0;
	uint8_t *to = t->arena;
	uint64_t limit;
	struct cpu *c;
	struct event ev;

	while (!ns_per_tick && (c = oldest(t, &limit))) {
		if (c->state == HEAD_EVENT &&
		    !strcmp(ftrace_event_name(t->events, c->entry, c->len), "kvm_pvclock_update") &&
		    ftrace_event_make(t->events, c->entry, c->len, 0, to, &ev) == 1 &&
		    ev.type->id == EV_kvm_pvclock_update) {
			const struct field *mul = event_field(ev.type, "mul"),
					   *shift = event_field(ev.type, "shift");
			int by = mul && shift ? (int8_t)event_u64(&ev, shift) : 99;

			if (by > -32 && by < 32)
				ns_per_tick = (double)event_u64(&ev, mul) / 4294967296.0 *
					      (by < 0 ? 1.0 / (double)(1ull << -by)
						      : (double)(1ull << by));
		}
		if (cpu_step(t, c))
			break;
	}
	t->damaged = t->unknown = t->uncounted = t->cut = 0;
	return ns_per_tick;
}

static void ticks_host(struct tracedat *t)
{
	struct trace_info *info = &t->reader.info;

	if (t->file.tsc_to_ns) {
		t->ns_per_tick = (double)t->file.tsc_mult / (double)(1ull << t->file.tsc_shift);
	} else {
		t->ns_per_tick = rate_of_pvclock(t);
	}
	t->ticks = t->ns_per_tick > 1e-3 && t->ns_per_tick < 1e6;
	if (!t->ticks) {
		trace_info_caveat(
			info, "%s: timestamps are TSC ticks, not ns: the TSC frequency is unknown",
			info->file);
		t->ns_per_tick = 1;
	}
	json_object_set_new(info->meta, "tsc_map",
			    json_pack("{s:f, s:I}", "ns_per_tick", t->ns_per_tick, "ns_offset",
				      (json_int_t)t->ns_offset));
	json_object_set_new(info->meta, "tsc_khz",
			    json_integer((json_int_t)(1e6 / t->ns_per_tick + 0.5)));
}

/* What trace-cmd's own synchronisation says: taken where the host's recording says nothing, see clock/align_shift.c. */
static void shifts_tell(struct tracedat *t)
{
	struct trace_info *info = &t->reader.info;
	json_t *list = json_array();

	for (unsigned int i = 0; i < t->file.nr_shifts; i++) {
		const struct tracedat_shift *s = &t->file.shift[i];
		json_t *item = json_pack("{s:i, s:I, s:I}", "cpu", (int)s->cpu, "time",
					 (json_int_t)s->time, "offset", (json_int_t)s->offset);

		if (s->scale_bits)
			json_object_update_new(item, json_pack("{s:I, s:i}", "scale",
							       (json_int_t)s->scale, "scale_bits",
							       (int)s->scale_bits));
		json_array_append_new(list, item);
	}
	if (json_array_size(list))
		json_object_set(info->meta, "time_shift", list);
	if (t->file.shift_linear)
		json_object_set_new(info->meta, "time_shift_linear", json_true());
	json_decref(list);
	if (t->file.shift_broken)
		trace_info_caveat(
			info,
			"%s: trace-cmd's time synchronization data is corrupt and was ignored",
			info->file);
}

static void clock_take(struct tracedat *t, bool guest)
{
	struct trace_info *info = &t->reader.info;
	const char *clock = *t->file.clock ? t->file.clock : "local";
	bool tsc = !strcmp(clock, "x86-tsc") || !strcmp(clock, "tsc2nsec");
	char name[64];

	snprintf(name, sizeof(name), "%s%s", guest ? "guest-" : "", tsc ? "tsc" : clock);
	text_neutralise(name);
	json_object_set_new(info->meta, "clock", json_string(name));
	if (guest) {
		shifts_tell(t);
		return;
	}
	if (tsc)
		ticks_host(t);
	else if (strcmp(clock, "mono"))
		trace_info_caveat(info,
				  "%s: timestamps are from the clock '%s', not CLOCK_MONOTONIC",
				  info->file, clock);
}

/* ---- open and close ---- */

static void names_take(struct tracedat *t)
{
	json_t *threads = json_object();
	char *save = NULL, *line;
	int nr = 0;

	for (line = t->file.cmdlines ? strtok_r(t->file.cmdlines, "\n", &save) : NULL;
	     line && nr < NAMES_MAX; line = strtok_r(NULL, "\n", &save), nr++) {
		char *space = strchr(line, ' ');

		if (!space)
			continue;
		*space = '\0';
		text_neutralise(space + 1);
		json_object_set_new(threads, line, json_string(space + 1));
	}
	json_object_set_new(t->reader.info.meta, "threads", threads);
}

/* A pass over the vCPU threads: whether several VMs were recorded is only known at its end. */
static int vms_find(struct tracedat *t)
{
	int err = 0;

	t->vms = tracedat_vms_new(&t->file);
	if (!t->vms)
		return -ENOMEM;
	for (unsigned int i = 0; !err && i < t->file.nr_cpus; i++) {
		struct cpu *c = &t->cpu[i];

		for (; !err && c->state != HEAD_END; err = cpu_step(t, c)) {
			uint32_t tid = 0;
			uint16_t vcpu = RECORD_NO_VCPU;

			if (c->state == HEAD_EVENT)
				vcpu = ftrace_event_own_vcpu(t->events, c->entry, c->len, &tid);
			vm_threads_seen(t->vms, vcpu, tid, 0);
		}
	}
	vm_threads_settle(t->vms, &t->reader.info);
	return err ? err : cpus_begin(t);
}

void tracedat_close(struct reader *r)
{
	struct tracedat *t = (struct tracedat *)r;

	for (unsigned int i = 0; t->cpu && i < t->file.nr_cpus; i++)
		tracedat_pages_deinit(&t->cpu[i].pages);
	free(t->cpu);
	free(t->arena);
	vm_threads_free(t->vms);
	ftrace_events_free(t->events);
	tracedat_file_deinit(&t->file);
	trace_info_deinit(&r->info);
	free(t);
}

static int content_check(struct tracedat *t)
{
	struct trace_info *info = &t->reader.info;

	if (t->file.latency)
		return fail(-ENOTSUP, "%s holds the text of a latency tracer, not events",
			    info->file);
	if (t->file.instances)
		trace_info_caveat(info, "%s: %u more buffers (trace-cmd record -B) were skipped",
				  info->file, t->file.instances);
	t->cpu = calloc(t->file.nr_cpus + 1u, sizeof(*t->cpu));
	t->arena = malloc(ARENA);
	if (!t->cpu || !t->arena)
		return fail(-ENOMEM, "%s: out of memory", info->file);
	return cpus_begin(t);
}

static void start_take(struct tracedat *t)
{
	struct trace_info *info = &t->reader.info;
	uint64_t limit;
	const struct cpu *c = oldest(t, &limit);

	info->start_ns = c ? time_of(t, c->time) : 0;
	info->end_ns = info->start_ns;
}

static int tracedat_fill(struct tracedat *t, const struct tracedat_container *container,
			 const char *path, const struct read_hint *hint)
{
	bool guest = container->guest || (hint && hint->guest);
	int err = trace_info_init(&t->reader.info, path, container->kind);

	if (err)
		return err;
	/* A hint's wants() lives only as long as this call: everything is made, the trim is exact. */
	t->events = ftrace_events_new(guest ? FTRACE_GUEST : FTRACE_HOST, NULL, NULL);
	if (!t->events)
		return -ENOMEM;
	err = container->open(&t->file, &t->reader.info, t->events);
	if (!err)
		err = content_check(t);
	if (err)
		return err;
	t->guest = guest;
	names_take(t);
	tracedat_describe(&t->file, t->reader.info.meta);
	if (!guest && (err = vms_find(t)))
		return err;
	clock_take(t, guest);
	t->damaged = t->unknown = t->uncounted = t->cut = 0;
	err = cpus_begin(t); /* the search for the rate has read from it */
	if (!err)
		start_take(t);
	return err;
}

int tracedat_open_as(const struct tracedat_container *container, const char *path,
		     const struct read_hint *hint, struct reader **ret)
{
	struct tracedat *t = calloc(1, sizeof(*t));
	int err;

	if (!t)
		return fail(-ENOMEM, "%s: out of memory", path);
	t->reader.ops = container->ops;
	t->file.fd = -1;
	err = tracedat_fill(t, container, path, hint);
	if (err) {
		tracedat_close(&t->reader);
		return err;
	}
	*ret = &t->reader;
	return 0;
}

static int file_open(struct tracedat_file *f, struct trace_info *info, struct ftrace_events *events)
{
	return tracedat_file_open(f, info->file, events);
}

static int tracedat_open(const char *path, const struct read_hint *hint, struct reader **ret)
{
	static const struct tracedat_container trace_dat = {
		.kind = "trace.dat", .ops = &tracedat_reader, .open = file_open};

	return tracedat_open_as(&trace_dat, path, hint, ret);
}

int tracedat_symbols(const char *path, char **ret, size_t *ret_len)
{
	struct tracedat_file file = {.want_symbols = true};
	struct ftrace_events *events = ftrace_events_new(FTRACE_GUEST, NULL, NULL);
	int err = events ? tracedat_file_open(&file, path, events) : -ENOMEM;

	if (!err) {
		*ret = file.symbols;
		*ret_len = file.symbols_len;
		file.symbols = NULL;
	}
	if (events)
		tracedat_file_deinit(&file);
	ftrace_events_free(events);
	return err;
}

const struct reader_ops tracedat_reader = {
	.name = "trace.dat",
	.summary = "recordings of trace-cmd, versions 6 and 7",
	.probe = tracedat_probe,
	.open = tracedat_open,
	.next = tracedat_next,
	.close = tracedat_close,
};
