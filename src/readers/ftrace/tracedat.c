// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The option GUEST, which trace-cmd record -A writes into the host's file for each guest that it records with it
 * (add_guest_info() in trace-cmd's trace-record.c):
 *
 *   name, NUL | u64 trace id | u32 number of CPUs | for each: u32 vCPU, u32 host thread
 */
#include <errno.h>
#include <inttypes.h>
#include <math.h>

#include "base/error.h"
#include "event/losses.h"
#include "readers/ftrace/tracedat.h"
#include "readers/ftrace/tracedat_internal.h"

int tracedat_guest_parse(struct tracedat_file *f, struct buffer *b)
{
	struct tracedat_guest *g = &f->guest[f->nr_guests];
	uint32_t nr;

	if (f->nr_guests == TRACEDAT_GUESTS_MAX)
		return 0;
	snprintf(g->name, sizeof(g->name), "%s", tracedat_text(b));
	g->trace_id = buffer_u64(b);
	nr = buffer_u32(b);
	if (b->cut || nr > TRACEDAT_CPUS_MAX || nr > buffer_left(b) / 8)
		return 0;
	g->cpu = calloc(nr + 1u, sizeof(*g->cpu));
	if (!g->cpu)
		return fail(-ENOMEM, "%s: out of memory", f->path);
	for (; g->nr_cpus < nr; g->nr_cpus++) {
		g->cpu[g->nr_cpus].vcpu = buffer_u32(b);
		g->cpu[g->nr_cpus].tid = buffer_u32(b);
	}
	f->nr_guests++;
	return 0;
}

struct vm_threads *tracedat_vms_new(const struct tracedat_file *f)
{
	struct vm_threads *x = vm_threads_new();

	for (unsigned int i = 0; x && i < f->nr_guests; i++) {
		const struct tracedat_guest *g = &f->guest[i];
		int vm = vm_threads_guest(x, g->name, g->trace_id);

		for (unsigned int k = 0; k < g->nr_cpus; k++)
			vm_threads_guest_cpu(x, vm, g->cpu[k].vcpu, g->cpu[k].tid);
	}
	return x;
}

/*
 * trace-cmd's trace.dat, of a host or of a guest. Each CPU's events are in order; the oldest of all CPUs goes next, and
 * a CPU's own order is never changed, since across a change of the TSC offset only it is right.
 *
 * Times: of a guest, raw (what its clock said: ticks of its TSC with -C x86-tsc); clock/ makes them the host's. Of
 * a host, ns: as they are, or ticks converted by the file's own TSC2NSEC, or by the rate that KVM told a guest's
 * kvm-clock (kvm_pvclock_update). Meta then says how to come back: "tsc_map".
 *
 * What was lost is a `lost` event where it happened, or a `gap` wherever it may have happened (cpu_stream.h).
 */

enum {
	ARENA = 1 << 20, /* bytes of records in one batch */
	NAMES_MAX = 65536, /* threads named in the metadata */
};

/* ---- the CPUs ---- */

/* A CPU of which there is no event: what it left behind is missing from the trace's start to its end. */
static void losses_place(struct tracedat *t)
{
	uint64_t first = UINT64_MAX;

	for (unsigned int i = 0; i < t->file.nr_cpus; i++) {
		const struct cpu_stream *c = &t->cpu[i];

		if (c->head != CPU_STREAM_END && !c->total.end_reported && c->time < first)
			first = c->time;
	}
	for (unsigned int i = 0; i < t->file.nr_cpus && first < UINT64_MAX; i++)
		if (t->cpu[i].total.end_reported && !t->cpu[i].total.last)
			t->cpu[i].time = first;
}

static int cpus_begin(struct tracedat *t)
{
	int err = 0;

	for (unsigned int i = 0; !err && i < t->file.nr_cpus; i++)
		err = cpu_stream_begin(&t->cpu[i], &t->file, &t->file.cpu[i], t->cpu[i].unplaced);
	t->unknown = 0;
	losses_place(t);
	return err;
}

/* The CPU whose head is the oldest, and the time until which it stays so. */
static struct cpu_stream *oldest(struct tracedat *t, uint64_t *ret_limit)
{
	struct cpu_stream *best = NULL;

	*ret_limit = UINT64_MAX;
	for (unsigned int i = 0; i < t->file.nr_cpus; i++) {
		struct cpu_stream *c = &t->cpu[i];

		if (c->head == CPU_STREAM_END)
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

/* The record of a loss or a gap; its length. */
static size_t missing_make(const struct tracedat *t, const struct cpu_stream *c, uint8_t *to)
{
	struct record_hdr hdr = {.cpu = (uint16_t)c->info->cpu, .vcpu = RECORD_NO_VCPU};
	uint64_t until = c->until == INT64_MAX ? c->until : tracedat_time(t, c->until);
	struct rec_lost lost = {
		.hdr = hdr, .count = c->lost, .lost_cpu = c->info->cpu, .until = until};
	struct rec_gap gap = {.hdr = hdr, .gap_cpu = c->info->cpu, .until = until};

	if (c->head == CPU_STREAM_GAP)
		memcpy(to, &gap, sizeof(gap));
	else
		memcpy(to, &lost, sizeof(lost));
	return c->head == CPU_STREAM_GAP ? sizeof(gap) : sizeof(lost);
}

static void missing_event(struct tracedat *t, const struct cpu_stream *c, uint8_t *to,
			  struct event *ev)
{
	unsigned int id = c->head == CPU_STREAM_GAP ? EV_gap : EV_lost;
	size_t size = missing_make(t, c, to);
	struct record_hdr hdr;

	memcpy(&hdr, to, sizeof(hdr));
	hdr.type = (uint16_t)id;
	hdr.size = (uint16_t)size;
	memcpy(to, &hdr, sizeof(hdr));
	*ev = (struct event){.type = event_type_ours(id), .data = to, .size = hdr.size,
			     .cpu = hdr.cpu, .vcpu = RECORD_NO_VCPU};
	t->reader.info.lost += c->head == CPU_STREAM_LOST ? c->lost : 0;
}

/* A loss that is an event (output/event_tracedat.c). In a guest it says nothing about the host's events. */
static int loss_count(struct tracedat *t, int made, const struct event *ev)
{
	uint64_t lost = made > 0 ? lost_record_count(ev) : 0;

	t->reader.info.lost += lost;
	return lost && t->guest ? -1 : made;
}

/* 1: the head became an event of the batch; 0: it is an event that is not wanted; -1: it is none. */
static int head_make(struct tracedat *t, struct cpu_stream *c, uint8_t *to, struct event *ev)
{
	uint64_t time = tracedat_time(t, c->time);
	int made = 1;

	if (c->head != CPU_STREAM_EVENT && t->guest) { /* says nothing about the host's events */
		t->reader.info.lost += c->head == CPU_STREAM_LOST ? c->lost : 0;
		made = -1;
	} else if (c->head != CPU_STREAM_EVENT) {
		missing_event(t, c, to, ev);
	} else {
		made = ftrace_event_make(t->events, c->entry, c->len, c->info->cpu, to, ev);
		t->unknown += made < 0;
		made = loss_count(t, made, ev);
	}
	if (made < 0)
		return -1;
	t->reader.info.nr_events++;
	if (time < t->reader.info.end_ns)
		t->reader.info.late++; /* a CPU's clock went back */
	else
		t->reader.info.end_ns = time;
	if (!made)
		return 0;
	if (t->vms)
		vm_threads_set(t->vms, to, ev);
	memcpy(to, &time, sizeof(time)); /* record_hdr.time */
	ev->time_ns = time;
	return 1;
}

/* What the statistics know and no page says. */
static void unplaced_report(struct tracedat *t, const struct cpu_stream *c)
{
	struct trace_info *info = &t->reader.info;
	uint64_t unplaced = cpu_unplaced(c->info, &c->total);

	info->lost += unplaced;
	if (unplaced)
		trace_info_caveat(info,
				  "%s: %" PRIu64
				  " events of CPU %u are missing; the file does not say "
				  "where: every page boundary of this CPU may be a gap",
				  info->file, unplaced, c->info->cpu);
}

static void losses_report(struct tracedat *t)
{
	struct trace_info *info = &t->reader.info;
	uint64_t left = 0, uncounted = 0, damaged = 0, cut = 0;

	for (unsigned int i = 0; i < t->file.nr_cpus; i++) {
		const struct cpu_stream *c = &t->cpu[i];

		left += c->total.end_reported ? cpu_left(c->info, &c->total) : 0;
		uncounted += c->total.uncounted;
		damaged += c->total.damaged;
		cut += c->total.cut;
		unplaced_report(t, c);
	}
	if (left)
		trace_info_caveat(info,
				  "%s: %" PRIu64 " events were left in the kernel's buffers when "
				  "the recording ended; they are missing at its end",
				  info->file, left);
	if (uncounted)
		trace_info_caveat(info,
				  "%s: an unknown number of events is missing in %" PRIu64
				  " places; each place counts as one lost event",
				  info->file, uncounted);
	info->truncated |= cut > 0;
	if (cut)
		trace_info_caveat(info,
				  "%s: the data of %" PRIu64
				  " CPUs is truncated or corrupt; the rest of it is missing",
				  info->file, cut);
	if (damaged)
		trace_info_caveat(info, "%s: %" PRIu64 " corrupt pages were read only in part",
				  info->file, damaged);
}

void tracedat_end_report(struct tracedat *t)
{
	struct trace_info *info = &t->reader.info;

	losses_report(t);
	if (info->late)
		trace_info_caveat(info,
				  "%s: %" PRIu64
				  " events are out of order: the clock of their CPU went backwards",
				  info->file, info->late);
	if (t->unknown)
		trace_info_caveat(info,
				  "%s: %" PRIu64 " events without a usable format were skipped",
				  info->file, t->unknown);
	ftrace_events_caveats(t->events, info);
}

int tracedat_next(struct reader *r, struct batch *batch)
{
	struct tracedat *t = (struct tracedat *)r;
	uint64_t limit;
	size_t used = 0;
	struct cpu_stream *c;

	batch->nr = 0;
	while (batch->nr < BATCH_MAX && ARENA - used > EVENT_RECORD_MAX && (c = oldest(t, &limit)))
		do {
			struct event *ev = &batch->ev[batch->nr];
			int err;

			if (head_make(t, c, t->arena + used, ev) > 0) {
				used += ((size_t)ev->size + 7) & ~7ul;
				batch->nr++;
			}
			err = cpu_stream_step(c);
			if (err)
				return err;
		} while (c->head != CPU_STREAM_END && c->time <= limit && batch->nr < BATCH_MAX &&
			 ARENA - used > EVENT_RECORD_MAX);
	if (!batch->nr)
		tracedat_end_report(t);
	return batch->nr > 0;
}

/* ---- the clock ---- */

static bool shows_rate(const char *event)
{
	return !strcmp(event, "kvm_pvclock_update") || !strcmp(event, "kvm_exit") ||
	       !strcmp(event, "kvm_vcpu_wakeup") || !strcmp(event, "hrtimer_expire_entry");
}

/* The rate that the events show; 0: none of them does. */
static double rate_of_events(struct tracedat *t, const char **ret_event)
{
	struct tick_rate rate = TICK_RATE;
	double ns_per_tick;
	uint64_t limit;
	struct cpu_stream *c;
	struct event ev;

	while (rate.pvclock <= 0 && (c = oldest(t, &limit))) {
		if (c->head == CPU_STREAM_EVENT &&
		    shows_rate(ftrace_event_name(t->events, c->entry, c->len)) &&
		    ftrace_event_make(t->events, c->entry, c->len, 0, t->arena, &ev) == 1) {
			ev.time_ns = c->time;
			tick_rate_event(&rate, &ev);
		}
		if (cpu_stream_step(c))
			break;
	}
	ns_per_tick = tick_rate_find(&rate, ret_event);
	tick_rate_deinit(&rate);
	return ns_per_tick;
}

static bool scan_occurs(const struct tracedat *t, const char *event)
{
	return t->scan && ftrace_events_occurs(t->events, t->scan->nr, event);
}

static void ticks_host(struct tracedat *t, uint64_t tsc_khz)
{
	const char *event = NULL;

	if (tsc_khz)
		t->ns_per_tick = 1e6 / (double)tsc_khz;
	else if (t->file.tsc_to_ns)
		t->ns_per_tick = ldexp(t->file.tsc_mult, -(int)t->file.tsc_shift);
	else if (scan_occurs(t, "kvm_pvclock_update") || scan_occurs(t, "kvm_vcpu_wakeup") ||
		 scan_occurs(t, "hrtimer_expire_entry"))
		t->ns_per_tick = rate_of_events(t, &event);
	t->ticks = tick_rate_is_valid(t->ns_per_tick);
	t->ns_per_tick = tick_rate_describe(&t->reader.info, t->ns_per_tick, event);
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

static void clock_take(struct tracedat *t, bool guest, uint64_t tsc_khz)
{
	struct trace_info *info = &t->reader.info;
	const char *clock = *t->file.clock ? t->file.clock : "local";
	bool tsc = !strcmp(clock, "x86-tsc") || !strcmp(clock, "tsc2nsec");
	char name[64];

	snprintf(name, sizeof(name), "%s%s", guest ? "guest-" : "", tsc ? "tsc" : clock);
	text_sanitize(name);
	json_object_set_new(info->meta, "clock", json_string(name));
	if (guest) {
		shifts_tell(t);
		if (tsc && t->file.tsc_to_ns)
			json_object_set_new(info->meta, "tsc_ns_per_tick",
					    json_real(ldexp(t->file.tsc_mult,
							    -(int)t->file.tsc_shift)));
		return;
	}
	if (tsc)
		ticks_host(t, tsc_khz);
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
		text_sanitize(space + 1);
		json_object_set_new(threads, line, json_string(space + 1));
	}
	json_object_set_new(t->reader.info.meta, "threads", threads);
}

void tracedat_close(struct reader *r)
{
	struct tracedat *t = (struct tracedat *)r;

	for (unsigned int i = 0; t->cpu && i < t->file.nr_cpus; i++)
		cpu_stream_deinit(&t->cpu[i]);
	free(t->cpu);
	free(t->arena);
	vm_threads_free(t->vms);
	tracedat_scan_free(t);
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
		trace_info_caveat(info,
				  "%s: %u more buffers (trace-cmd record -B) were skipped: they "
				  "have another clock",
				  info->file, t->file.instances);
	if (t->file.nr_buffers > 1 ||
	    (t->file.nr_buffers && strcmp(t->file.buffers, "main buffer"))) {
		text_sanitize(t->file.buffers);
		trace_info_caveat(info, "%s: the events are those of %u buffers: %s", info->file,
				  t->file.nr_buffers, t->file.buffers);
	}
	t->cpu = calloc(t->file.nr_cpus + 1u, sizeof(*t->cpu));
	t->arena = malloc(ARENA);
	if (!t->cpu || !t->arena)
		return fail(-ENOMEM, "%s: out of memory", info->file);
	return cpus_begin(t);
}

static void scan_want(struct tracedat *t, const struct read_hint *hint)
{
	t->scan->unknown +=
		ftrace_events_want(t->events, t->scan->nr, ftrace_events_slots(t->events),
				   hint ? hint->wants : NULL, hint ? hint->arg : NULL);
}

static void start_take(struct tracedat *t)
{
	struct trace_info *info = &t->reader.info;
	uint64_t limit;
	const struct cpu_stream *c = oldest(t, &limit);

	info->start_ns = c ? tracedat_time(t, c->time) : 0;
	info->end_ns = info->start_ns;
	for (unsigned int i = 0; t->scan && i < t->file.nr_cpus; i++) {
		uint64_t last_ns = tracedat_time(t, t->scan->total[i].last);

		if (t->scan->total[i].nr_read && last_ns > info->last_ns)
			info->last_ns = last_ns;
	}
}

static int tracedat_fill(struct tracedat *t, const struct tracedat_container *container,
			 const char *path, const struct read_hint *hint)
{
	bool guest = container->guest || (hint && hint->guest);
	int err = trace_info_init(&t->reader.info, path, container->kind);

	if (err)
		return err;
	t->events = ftrace_events_new(guest ? FTRACE_GUEST : FTRACE_HOST, NULL, NULL);
	if (!t->events)
		return -ENOMEM;
	t->file.files = hint ? hint->files : NULL;
	err = container->open(&t->file, &t->reader.info, t->events);
	if (!err)
		err = content_check(t);
	if (err)
		return err;
	t->guest = guest;
	names_take(t);
	tracedat_describe(&t->file, t->reader.info.meta);
	if (!guest && (err = tracedat_scan(t)))
		return err;
	clock_take(t, guest, hint ? hint->tsc_khz : 0);
	if (!guest) /* a hint's wants() lives only as long as this call */
		scan_want(t, hint);
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

int tracedat_symbols(const char *path, struct open_files *files, char **ret, size_t *ret_len)
{
	struct tracedat_file file = {.files = files, .want_symbols = true};
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
	.counts = tracedat_counts,
	.rows = &tracedat_rows,
	.close = tracedat_close,
};
