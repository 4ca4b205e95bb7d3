// SPDX-License-Identifier: GPL-2.0-or-later
/* Sampling clocks: perf's cpu-clock on every CPU, and a BPF program at each tick. */
#include <errno.h>
#include <inttypes.h>
#include <linux/perf_event.h>
#include <sys/syscall.h>

#include "base/clock.h"
#include "base/counter.h"
#include "base/error.h"
#include "base/log.h"
#include "collector/internal.h"
#include "hostrace.skel.h" /* knows record.h's types */

static int collector_lose(struct collector *c, unsigned int cpu, unsigned int type, uint64_t count,
			  collector_sink *sink, void *arg);

/* On each CPU, not on a thread, so that vCPUs which begin later are seen too. */
static int perf_everywhere(struct collector *c, struct bpf_program *prog,
			   struct perf_event_attr *attr, const char *what)
{
	unsigned int nr = 0;

	for (unsigned int cpu = 0; cpu < c->nr_cpus; cpu++) {
		int fd = (int)syscall(SYS_perf_event_open, attr, -1, (int)cpu, -1,
				      PERF_FLAG_FD_CLOEXEC);
		struct bpf_link *link;
		int err;

		if (fd < 0 && errno == ENODEV) /* a CPU that is possible but not there */
			continue;
		if (fd < 0)
			return fail(-errno, "cannot open the %s of CPU %u: %s", what, cpu,
				    strerror(errno));
		link = bpf_program__attach_perf_event(prog, fd);
		err = link ? 0 : -errno;
		if (err) {
			close(fd);
			return fail(err, "cannot attach to the %s: %s", what, strerror(-err));
		}
		if (c->nr_links == LINKS_MAX) {
			bpf_link__destroy(link);
			return fail(-E2BIG, "more than %d probes", LINKS_MAX);
		}
		c->links[c->nr_links++] = (struct probe_link){.link = link};
		nr++;
	}
	debug("attach", "%s on %u CPUs", what, nr);
	return 0;
}

/* A high resolution timer that also ticks while nothing of ours runs. */
int collector_sample(struct collector *c, struct bpf_program *prog, uint64_t hz)
{
	struct perf_event_attr attr = {
		.type = PERF_TYPE_SOFTWARE,
		.config = PERF_COUNT_SW_CPU_CLOCK,
		.size = sizeof(attr),
		.sample_period = 1000000000ull / hz,
	};

	return perf_everywhere(c, prog, &attr, "sampling clock");
}

/* Minor and major ones, which the kernel counts at their ends; the event of all faults is at their begins. */
int collector_faults(struct collector *c, struct bpf_program *prog)
{
	static const uint64_t configs[] = {PERF_COUNT_SW_PAGE_FAULTS_MIN,
					   PERF_COUNT_SW_PAGE_FAULTS_MAJ};
	int err = 0;

	for (size_t i = 0; i < sizeof(configs) / sizeof(*configs) && !err; i++) {
		struct perf_event_attr attr = {
			.type = PERF_TYPE_SOFTWARE,
			.config = configs[i],
			.size = sizeof(attr),
			.sample_period = 1,
		};

		err = perf_everywhere(c, prog, &attr, "event of page faults");
	}
	return err;
}

/*
 * A reading of the clock is put between two readings of the TSC; their distance bounds the error.
 * Of several tries the tightest is kept: an interrupt in between makes a try useless, not wrong.
 * Pairs are measured throughout a recording because NTP slews CLOCK_MONOTONIC.
 */

enum { TRIES = 8 };

/*
 * calib.c: reads the host's TSC and CLOCK_MONOTONIC at once and fills the record: its time and its TSC belong together
 * within `bracket` TSC ticks.
 */
static void clock_pair_take(struct rec_clock_pair *rec)
{
	uint64_t best = UINT64_MAX;

	memset(rec, 0, sizeof(*rec));
	for (int i = 0; i < TRIES; i++) {
		uint64_t before = counter_read();
		uint64_t now = monotonic_ns();
		uint64_t bracket = counter_read() - before;

		if (bracket >= best)
			continue;
		best = bracket;
		rec->hdr.time = now;
		rec->tsc = before + bracket / 2;
		rec->bracket = bracket > UINT32_MAX ? UINT32_MAX : (uint32_t)bracket;
	}
	rec->hdr.type = EV_clock_pair;
	rec->hdr.size = sizeof(*rec);
	rec->hdr.vcpu = RECORD_NO_VCPU;
}

/*
 * Events that no program recorded, although their probes are attached: the kernel does not run a program on a CPU on
 * which it is running already (an interrupt that comes meanwhile), and counts that. Of I/O requests of the host it is
 * known in another way, too: their bio is used again.
 */

/* Of all threads of the host, so that events of a VM may be fewer. */
static uint64_t programs_skipped(const struct collector *c, const struct probe_result *r)
{
	uint64_t sum = 0;

	for (unsigned int i = 0; i < r->plan->nr_places; i++)
		if (!collector_program_repeats(c, r, i))
			sum += collector_program_info(c, r, i).recursion_misses;
	return sum;
}

static uint64_t event_skipped(const struct collector *c, const struct probe_result *r)
{
	uint64_t skipped = programs_skipped(c, r) + collector_any_missed(c, r);

	if (r->id == EV_host_io && c->skel->bss->host_ios_unseen > skipped)
		return c->skel->bss->host_ios_unseen;
	return skipped;
}

/* skipped.c: reports the events that no program recorded since the previous call, as lost. */
static int collector_skipped_report(struct collector *c, collector_sink *sink, void *arg)
{
	bool reported[RING_TYPES] = {false};
	int ret = 0;

	for (unsigned int i = 0; i < c->nr_results && !ret; i++) {
		const struct probe_result *r = &c->results[i];
		uint64_t count;

		if (!r->attached || reported[r->id]) /* VMs share the programs */
			continue;
		reported[r->id] = true;
		count = event_skipped(c, r) - c->skipped_seen[r->id];
		if (!count)
			continue;
		c->skipped_seen[r->id] += count;
		c->counts.skipped += count;
		ret = collector_lose(c, RECORD_NO_CPU, r->id, count, sink, arg);
	}
	return ret;
}

uint64_t collector_host_ios_open(const struct collector *c)
{
	return c->skel->bss->host_ios_open;
}

/*
 * Rounds. Events do not wake the collector; every pause_ns it reads all rings and passes
 * over what is there.
 *
 * Order: a round notes the time first and reads the rings' heads after it. BPF reserves a slot and
 * only then reads the clock, so a record not yet reserved at that moment is later than the noted
 * time: it is the watermark. A slot that is reserved and not published (its program was
 * interrupted, or preempted) ends its CPU's part of the round; the watermark then stays where it
 * was.
 */

enum {
	PAUSE_MIN_MS = 1,
	PAUSE_MAX_MS = 50,
	PAIR_EVERY_MS = 100,
	RENEW_MS = 100, /* at least between two looks for a process's libraries */
	TAIL_EVERY = 512,	/* records after which BPF gets space back */
	CLOCK_SLACK_NS = 10000, /* the kernel's fast clock may be late by an update */
};

#define OUTSIDE_NS (NS_PER_S / 10) /* later than a reading of the clock after it */

/* Of a vCPU that is created, which has no thread yet, the one that creates it. */
static bool shows_vcpu(const struct record_hdr *hdr)
{
	return hdr->type == EV_vcpu_tsc || hdr->type == EV_kvm_write_tsc_offset;
}

static void vcpu_learn(struct collector *c, const struct record_hdr *hdr)
{
	for (unsigned int i = 0; i < c->nr_vcpus; i++)
		if (c->vcpus[i].tid == (pid_t)hdr->tid && c->vcpus[i].pid == (pid_t)hdr->pid) {
			if (hdr->vcpu != RECORD_NO_VCPU)
				c->vcpus[i].index = hdr->vcpu;
			return;
		}
	if (c->nr_vcpus == VCPUS_MAX)
		return;

	struct collector_vcpu *v = &c->vcpus[c->nr_vcpus++];

	*v = (struct collector_vcpu){
		.pid = hdr->pid, .tid = hdr->tid, .index = hdr->vcpu, .first_ns = hdr->time};
	if (c->last_thread.hdr.tid == hdr->tid)
		snprintf(v->comm, sizeof(v->comm), "%.15s", c->last_thread.comm);
}

static bool record_valid(const struct collector *c, const struct record_hdr *hdr)
{
	unsigned int end = c->any ? ANY_FIRST + c->any->nr : EV_LIMIT;

	return hdr->size >= sizeof(*hdr) && hdr->size % 8 == 0 && hdr->type < end &&
	       hdr->size <= RING_SPILL_BYTES - RING_MARK_BYTES;
}

/*
 * Probes are attached and detached one by one: what some of them recorded before all were attached, or after
 * the end, would only look like exits without entries. Names are kept, they explain later events.
 */
static bool record_in_time(const struct collector *c, const struct record_hdr *hdr)
{
	if (event_is_own(hdr->type))
		return true;
	if (c->dropped_ns[hdr->type] && hdr->time >= c->dropped_ns[hdr->type])
		return false;
	return hdr->time >= c->start_ns && (!c->stop_ns || hdr->time <= c->stop_ns);
}

/*
 * Not even while the collector was opened, or later than now: BPF's clock is not ours. Which would look as if nothing
 * had happened, so that collector_round() fails.
 */
static bool record_outside(struct collector *c, const struct record_hdr *hdr)
{
	uint64_t now = c->round_ns;

	if (hdr->time >= c->open_ns && hdr->time <= now + OUTSIDE_NS)
		return false;
	now = monotonic_ns(); /* the round may take long */
	if (hdr->time >= c->open_ns && hdr->time <= now + OUTSIDE_NS)
		return false;
	c->outside++;
	c->outside_ns = (int64_t)(hdr->time - now);
	return true;
}

static int outside_report(struct collector *c)
{
	uint64_t nr = c->outside;

	c->outside = 0;
	return fail(-EPROTO,
		    "%" PRIu64 " events have timestamps that are not of this recording (the last "
		    "is %+.3f s from now): the clock of the kernel's programs is not that of this "
		    "process; run hostrace in the host's time namespace",
		    nr, (double)c->outside_ns / 1e9);
}

/*
 * Of a command it is opened when QEMU begins, before its libraries are mapped. Later the files could not be opened
 * where no VMs are followed: see src/confine.
 */
static void unwinder_renew(struct target *t)
{
	uint64_t now = monotonic_ns();
	struct unwinder *unwinder;

	if (t->unwinder_ns && now - t->unwinder_ns < RENEW_MS * NS_PER_MS)
		return;
	t->unwinder_ns = now;
	unwinder = unwinder_open(t->pid);
	debug("attach", "process %d: opened again for stacks%s%s", (int)t->pid,
	      unwinder ? "" : ": ", unwinder ? "" : error_text());
	if (!unwinder)
		return;
	unwinder_close(t->unwinder);
	t->unwinder = unwinder;
}

/* To unwind a stack of this process that begins at `rip`; NULL: not possible. */
static struct unwinder *unwinder_of(const struct collector *c, pid_t pid, uint64_t rip)
{
	for (unsigned int i = 0; i < c->nr_targets; i++) {
		struct target *t = &c->targets[i];

		if (t->pid != pid || t->ended)
			continue;
		if (c->follow && !(t->unwinder && unwinder_knows(t->unwinder, rip)))
			unwinder_renew(t);
		return t->unwinder;
	}
	return NULL;
}

/* The event of a copied stack. */
static int take_in_stack(struct collector *c, const struct record_hdr *hdr, collector_sink *sink,
			 void *arg)
{
	const struct stack_copy *copy = (const void *)hdr;
	struct unwinder *unwinder = NULL;
	struct rec_sched_holder rec = {.hdr = *hdr}; /* sched_stack has the same fields */

	_Static_assert(sizeof(rec) == sizeof(struct rec_sched_stack), "the same fields");

	if (hdr->size < sizeof(*copy))
		return 0;
	rec.hdr.size = sizeof(rec);
	rec.sampled = copy->sampled;
	unwinder = unwinder_of(c, (pid_t)hdr->pid, copy->rip);
	if (unwinder)
		rec.nr = unwinder_print(unwinder, copy, rec.stack, sizeof(rec.stack));
	return sink(arg, &rec.hdr);
}

/* The stack of a site of the heap. */
static int take_in_heap_stack(struct collector *c, const struct record_hdr *hdr,
			      collector_sink *sink, void *arg)
{
	const struct heap_stack_copy *from = (const void *)hdr;
	struct rec_alloc_stack rec = {.hdr = *hdr};
	struct unwinder *unwinder;

	if (hdr->size < sizeof(*from))
		return 0;
	rec.hdr.size = sizeof(rec);
	rec.site = from->site;
	unwinder = unwinder_of(c, (pid_t)hdr->pid, from->copy.rip);
	if (unwinder)
		rec.nr = unwinder_print(unwinder, &from->copy, rec.stack, sizeof(rec.stack));
	return sink(arg, &rec.hdr);
}

static int take_in(struct collector *c, struct record_hdr *hdr, collector_sink *sink,
		   void *arg)
{
	if (record_outside(c, hdr) || !record_in_time(c, hdr))
		return 0;
	if (hdr->type == EV_thread && hdr->size >= sizeof(c->last_thread))
		memcpy(&c->last_thread, hdr, sizeof(c->last_thread));
	if (shows_vcpu(hdr))
		vcpu_learn(c, hdr);
	c->counts.events++;
	c->counts.by_type[hdr->type]++;
	if (hdr->type >= ANY_FIRST)
		collector_any_complete(c, hdr);
	if (hdr->type == EV_alloc_stack)
		return take_in_heap_stack(c, hdr, sink, arg);
	return hdr->type == EV_sched_holder || hdr->type == EV_sched_stack
		       ? take_in_stack(c, hdr, sink, arg)
		       : sink(arg, hdr);
}

/* One CPU's ring up to its head, or up to a slot that is not published yet (*ret_early). */
static int drain_cpu(struct collector *c, unsigned int cpu, collector_sink *sink, void *arg,
		     bool *ret_early, uint64_t *ret_bytes)
{
	struct ring_head *ring = ring_of(c, cpu);
	uint8_t *slots = (uint8_t *)ring + RING_HEAD_BYTES;
	uint64_t head = __atomic_load_n(&ring->head, __ATOMIC_ACQUIRE);
	uint64_t tail = ring->tail, start = tail;
	int ret = 0;

	for (unsigned int n = 1; tail != head && !ret; n++) {
		uint8_t *slot = slots + (tail & (c->ring_bytes - 1));
		struct record_hdr *hdr = (void *)(slot + RING_MARK_BYTES);

		if (__atomic_load_n((const uint64_t *)slot, __ATOMIC_ACQUIRE) != tail + c->secret) {
			*ret_early = true;
			break;
		}
		if (!record_valid(c, hdr)) {
			ret = fail(-EPROTO,
				   "corrupt record in the ring buffer of CPU %u (type %u, size %u)",
				   cpu, hdr->type, hdr->size);
			break;
		}
		ret = take_in(c, hdr, sink, arg);
		tail += hdr->size + RING_MARK_BYTES;
		if (n % TAIL_EVERY == 0)
			__atomic_store_n(&ring->tail, tail, __ATOMIC_RELEASE);
	}
	__atomic_store_n(&ring->tail, tail, __ATOMIC_RELEASE);
	*ret_bytes = tail - start;
	return ret;
}

/*
 * What was lost on a CPU since the previous report, as records of their own. When exactly is unknown: after the
 * previous round's watermark and before now. The record is at the window's begin, so that readers are warned before
 * they meet what may be wrong.
 */
/* drain.c: passes on a record of this loss. */
static int collector_lose(struct collector *c, unsigned int cpu, unsigned int type, uint64_t count,
			  collector_sink *sink, void *arg)
{
	struct rec_lost rec = {
		.hdr = {.time = c->watermark_ns ? c->watermark_ns : monotonic_ns(),
			.type = EV_lost,
			.size = sizeof(rec),
			.cpu = cpu == RECORD_NO_CPU ? 0 : (uint16_t)cpu,
			.vcpu = RECORD_NO_VCPU},
		.count = count,
		.until = monotonic_ns(),
		.lost_cpu = cpu,
		.lost_event = type,
	};

	c->counts.lost += count;
	return sink(arg, &rec.hdr);
}

static int report_lost(struct collector *c, unsigned int cpu, collector_sink *sink, void *arg)
{
	struct ring_head *ring = ring_of(c, cpu);
	uint64_t *seen = c->lost_seen + (size_t)cpu * RING_TYPES;
	int ret = 0;

	for (unsigned int type = 0; type < RING_TYPES && !ret; type++) {
		uint64_t lost = __atomic_load_n(&ring->lost[type], __ATOMIC_RELAXED);
		uint64_t count = lost - seen[type];

		seen[type] = lost;
		ret = count ? collector_lose(c, cpu, type, count, sink, arg) : 0;
	}
	return ret;
}

void collector_calibrate(struct collector *c, struct rec_clock_pair *rec)
{
	clock_pair_take(rec);
	if (!c->first_tsc) {
		c->first_tsc = rec->tsc;
		c->first_tsc_ns = rec->hdr.time;
	}
	c->last_tsc = rec->tsc;
	c->last_tsc_ns = rec->hdr.time;
}

static int calibrate(struct collector *c, uint64_t now, collector_sink *sink, void *arg)
{
	struct rec_clock_pair rec;
	bool is_needed = c->stop_ns && c->nr_pairs < 2; /* two make a rate */

	if (now < c->pair_due_ns && !is_needed)
		return 0;
	c->pair_due_ns = now + PAIR_EVERY_MS * NS_PER_MS;
	c->nr_pairs++;
	collector_calibrate(c, &rec);
	return sink(arg, &rec.hdr);
}

/* Come back when the fullest ring would be a quarter full at the rate just seen. */
static void pause_set(struct collector *c, uint64_t elapsed_ns, uint64_t bytes_max)
{
	uint64_t pause = PAUSE_MAX_MS * NS_PER_MS;

	if (bytes_max)
		pause = (uint64_t)((double)elapsed_ns * (double)(c->ring_bytes / 4) /
				   (double)bytes_max);
	if (pause > PAUSE_MAX_MS * NS_PER_MS)
		pause = PAUSE_MAX_MS * NS_PER_MS;
	if (pause < PAUSE_MIN_MS * NS_PER_MS)
		pause = PAUSE_MIN_MS * NS_PER_MS;
	c->pause_ns = pause;
}

int collector_round(struct collector *c, collector_sink *sink, void *arg,
		    uint64_t *ret_watermark_ns)
{
	uint64_t now = monotonic_ns(), bytes_max = 0;
	bool early = false, skipped_due = now >= c->pair_due_ns || c->stop_ns;
	int ret = calibrate(c, now, sink, arg);
	uint64_t before = c->round_ns;

	c->round_ns = now;
	for (unsigned int cpu = 0; cpu < c->nr_cpus && !ret; cpu++) {
		uint64_t bytes = 0;

		ret = drain_cpu(c, cpu, sink, arg, &early, &bytes);
		if (!ret)
			ret = report_lost(c, cpu, sink, arg);
		if (bytes > bytes_max)
			bytes_max = bytes;
	}
	if (!ret && skipped_due)
		ret = collector_skipped_report(c, sink, arg);
	if (!ret && c->outside)
		ret = outside_report(c);
	pause_set(c, now - before, bytes_max);
	if (!early)
		c->watermark_ns = now - CLOCK_SLACK_NS;
	*ret_watermark_ns = c->watermark_ns;
	debug("drain", "round: fullest %llu bytes, pause %llu us%s", (unsigned long long)bytes_max,
	      (unsigned long long)c->pause_ns / 1000,
	      early ? ", a slot was not published yet" : "");
	return ret;
}

uint64_t collector_pause_ns(const struct collector *c)
{
	return c->pause_ns;
}

const struct collector_counts *collector_counts(const struct collector *c)
{
	return &c->counts;
}

uint64_t collector_ring_bytes(const struct collector *c)
{
	return c->ring_bytes;
}

uint64_t collector_tsc_khz(const struct collector *c)
{
	if (c->last_tsc_ns <= c->first_tsc_ns)
		return 0;
	return (uint64_t)((double)(c->last_tsc - c->first_tsc) * 1e6 /
			  (double)(c->last_tsc_ns - c->first_tsc_ns));
}

json_t *collector_vcpus(const struct collector *c)
{
	json_t *all = json_array();

	for (unsigned int i = 0; i < c->nr_vcpus; i++)
		if (c->vcpus[i].index != RECORD_NO_VCPU)
			json_array_append_new(all, json_pack("{s:i,s:i,s:i}", "pid",
							     (int)c->vcpus[i].pid, "index",
							     (int)c->vcpus[i].index, "tid",
							     (int)c->vcpus[i].tid));
	return all;
}

json_t *collector_lost(const struct collector *c)
{
	json_t *all = json_object();

	for (unsigned int type = 0; type < RING_TYPES; type++) {
		const char *event = collector_type_name(c, type);
		json_t *by_cpu = json_object();

		for (unsigned int cpu = 0; cpu < c->nr_cpus; cpu++) {
			uint64_t lost = c->lost_seen[(size_t)cpu * RING_TYPES + type];
			char name[16];

			snprintf(name, sizeof(name), "%u", cpu);
			if (lost)
				json_object_set_new(by_cpu, name, json_integer((json_int_t)lost));
		}
		if (event && json_object_size(by_cpu))
			json_object_set(all, event, by_cpu);
		json_decref(by_cpu);
	}
	return all;
}
