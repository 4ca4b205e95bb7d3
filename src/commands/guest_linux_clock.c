// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * guest clock: a Linux guest's CLOCK_REALTIME against the host's, and the TSC of each vCPU.
 *
 * Two ways lead to the guest's time. By its updates: the timekeeper advances by whole ticks, so that at the moment of
 * an update the guest's time is between what the timekeeper has and a tick more; the moment is seen by reading the
 * sequence count again and again. It needs no knowledge of the clock source, and its bound is some ms. By the TSC: KVM
 * has the relation of the guest's TSC to the host's, and the timekeeper, or kvm-clock's page, that of the TSC to the
 * time. It is exact to the time that the host's two clocks take to read, and is used if the updates do not refute it.
 */
#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "base/clock.h"
#include "base/counter.h"
#include "base/error.h"
#include "base/json_text.h"
#include "base/units.h"
#include "clock/clock.h"
#include "commands/common/guest.h"
#include "commands/guest_linux.h"
#include "output/report.h"
#include "vm/linux/lists.h"

enum {
	CLOCK_UPDATES = 5, /* that are watched */
	CLOCK_TRIES = 8,
	CLOCK_POLL_NS = 20000,
	CLOCK_WAIT_NS = 2000000000,  /* an idle guest updates its time when something wakes it */
	CLOCK_FOUND_NS = 1000000000, /* of difference */
};

/* The guest's time minus the host's lies between these. */
struct skew {
	int64_t from_ns, to_ns;
	bool known;
};

/* The host's TSC and CLOCK_REALTIME at once: within real_ns and real_ns + width_ns. */
struct host_now {
	uint64_t tsc, real_ns, width_ns;
};

struct guest_clock {
	struct linux_clock now;
	struct host_now host;
	struct skew ticks, tsc;
};

/* ---- by its updates ---- */

/* Waits for the next update. 1: seen, *ret_from to *ret_to: the host's clock around it; 0: none until then; -errno */
static int update_await(const struct linux_timekeeper *t, uint64_t until_ns, uint64_t *ret_from,
			uint64_t *ret_to)
{
	const struct timespec pause = {.tv_nsec = CLOCK_POLL_NS};
	uint64_t at = clock_read_ns(CLOCK_REALTIME);
	uint32_t first, seq;
	int err = linux_clock_seq(t, &first);

	while (!err && monotonic_ns() < until_ns) {
		*ret_from = at; /* the reading before was after this */
		clock_nanosleep(CLOCK_MONOTONIC, 0, &pause, NULL);
		at = clock_read_ns(CLOCK_REALTIME);
		err = linux_clock_seq(t, &seq);
		*ret_to = clock_read_ns(CLOCK_REALTIME);
		if (!err && seq != first && seq % 2 == 0)
			return 1;
	}
	return err;
}

/* One that was seen late makes the range larger, not wrong. */
static void skew_add(struct skew *s, const struct linux_clock *c, uint64_t from, uint64_t to)
{
	int64_t low = (int64_t)(c->real_ns - to);
	int64_t high = (int64_t)(c->real_ns + c->tick_ns - from);

	s->from_ns = !s->known || low > s->from_ns ? low : s->from_ns;
	s->to_ns = !s->known || high > s->to_ns ? high : s->to_ns;
	s->known = true;
}

static int updates_watch(const struct linux_timekeeper *t, struct guest_clock *c)
{
	uint64_t until = monotonic_ns() + CLOCK_WAIT_NS, from = 0, to = 0;
	int err = linux_clock_read(t, &c->now), seen = 1;

	for (int i = 0; i < CLOCK_UPDATES && !err && seen; i++) {
		seen = update_await(t, until, &from, &to);
		err = seen < 0 ? seen : seen ? linux_clock_read(t, &c->now) : 0;
		if (!err && seen)
			skew_add(&c->ticks, &c->now, from, to);
	}
	return err;
}

/* ---- by the TSC ---- */

static void host_read(struct host_now *ret)
{
	ret->width_ns = UINT64_MAX;
	for (int i = 0; i < CLOCK_TRIES; i++) {
		uint64_t before = clock_read_ns(CLOCK_REALTIME);
		uint64_t tsc = counter_read();
		uint64_t width = clock_read_ns(CLOCK_REALTIME) - before;

		if (width < ret->width_ns)
			*ret = (struct host_now){tsc, before, width};
	}
}

/* The clock source's value on vCPU 0. False: its relation to the TSC is unknown. */
static bool source_read(struct linux_guest *g, const struct guest_clock *c, uint64_t *ret)
{
	uint64_t tsc = kvm_guest_tsc(&g->vcpu[0], c->host.tsc);
	struct linux_pvclock pv;

	if (!strcmp(c->now.source, "tsc")) {
		*ret = tsc;
		return true;
	}
	if (strcmp(c->now.source, "kvm-clock") != 0 || linux_pvclock_read(g, &pv))
		return false;
	*ret = clock_pvclock_ns(&(struct clock_pvclock){.tsc_timestamp = pv.tsc_timestamp,
							.system_time = pv.system_time,
							.mul = pv.mul,
							.shift = pv.shift},
				tsc);
	return true;
}

static bool agree(const struct guest_clock *c)
{
	int64_t slack = (int64_t)c->now.tick_ns;

	return c->tsc.to_ns >= c->ticks.from_ns - slack && c->tsc.from_ns <= c->ticks.to_ns + slack;
}

/* It counts only if what the updates show does not refute it. */
static void tsc_use(struct linux_guest *g, struct guest_clock *c)
{
	uint64_t cycles, real;

	host_read(&c->host);
	if (!g->nr_vcpus || !(g->vcpu[0].state & KVM_VCPU_TSC) || !source_read(g, c, &cycles))
		return;
	real = linux_clock_real(&c->now, cycles);
	c->tsc = (struct skew){(int64_t)(real - c->host.real_ns - c->host.width_ns),
			       (int64_t)(real - c->host.real_ns), true};
	c->tsc.known = c->ticks.known && agree(c);
}

/* ---- output ---- */

static const struct skew *skew_best(const struct guest_clock *c)
{
	return c->tsc.known ? &c->tsc : c->ticks.known ? &c->ticks : NULL;
}

static int64_t middle(const struct skew *s)
{
	return s->from_ns + (s->to_ns - s->from_ns) / 2;
}

static uint64_t bound_of(const struct skew *s)
{
	return (uint64_t)(s->to_ns - s->from_ns + 1) / 2;
}

static void realtime_print(uint64_t ns, FILE *out)
{
	time_t seconds = (time_t)(ns / NS_PER_S);
	char text[40] = "?";
	struct tm tm;

	if (gmtime_r(&seconds, &tm))
		strftime(text, sizeof(text), "%F %T", &tm);
	fprintf(out, "%s.%09" PRIu64 " UTC", text, ns % NS_PER_S);
}

static void clock_text(const struct guest_clock *c, FILE *out)
{
	const struct skew *s = skew_best(c);
	char by[16], bound[16];
	int64_t ahead;

	fprintf(out, "clock source     %s\n", c->now.source);
	if (!s) {
		fputs("last update      ", out);
		realtime_print(c->now.real_ns, out);
		fputs(", none since: the guest is stopped, or all its CPUs sleep\n", out);
		return;
	}
	ahead = middle(s);
	fputs("CLOCK_REALTIME   ", out);
	realtime_print(c->host.real_ns + (uint64_t)ahead, out);
	fprintf(out, ", %s %s the host's, known to %s\n",
		duration_print((uint64_t)(ahead < 0 ? -ahead : ahead), by, sizeof(by)),
		ahead < 0 ? "behind" : "ahead of",
		duration_print(bound_of(s), bound, sizeof(bound)));
}

/* Ticks by which this vCPU's TSC is ahead of vCPU 0's. */
static int64_t tsc_ahead(const struct linux_guest *g, size_t i, uint64_t host_tsc)
{
	uint64_t first = kvm_guest_tsc(&g->vcpu[0], host_tsc);

	return (int64_t)(kvm_guest_tsc(&g->vcpu[i], host_tsc) - first);
}

static double ratio_of(const struct kvm_vcpu_state *v)
{
	return v->tsc_bits ? (double)v->tsc_ratio / (double)(UINT64_C(1) << v->tsc_bits) : 1;
}

static json_t *vcpus_json(const struct linux_guest *g, uint64_t host_tsc)
{
	json_t *list = json_array();

	for (size_t i = 0; i < g->nr_vcpus; i++)
		if (g->vcpu[i].state & KVM_VCPU_TSC)
			json_array_append_new(
				list,
				json_pack("{s:I,s:I,s:f,s:I}", "vcpu", (json_int_t)g->vcpu[i].index,
					  "tsc_offset", (json_int_t)g->vcpu[i].tsc_offset,
					  "tsc_ratio", ratio_of(&g->vcpu[i]), "tsc_ahead",
					  (json_int_t)tsc_ahead(g, i, host_tsc)));
	return list;
}

static void vcpus_text(const struct linux_guest *g, uint64_t host_tsc, FILE *out)
{
	if (g->nr_vcpus)
		fprintf(out, "%4s  %20s  %9s  %s\n", "vcpu", "tsc_offset", "tsc_ratio",
			"ticks ahead of vCPU 0");
	for (size_t i = 0; i < g->nr_vcpus; i++)
		if (g->vcpu[i].state & KVM_VCPU_TSC)
			fprintf(out, "%4u  %20" PRId64 "  %9.6g  %" PRId64 "\n", g->vcpu[i].index,
				(int64_t)g->vcpu[i].tsc_offset, ratio_of(&g->vcpu[i]),
				tsc_ahead(g, i, host_tsc));
}

static json_t *clock_json(const struct linux_guest *g, const struct guest_clock *c)
{
	const struct skew *s = skew_best(c);
	int64_t real = s ? (int64_t)c->host.real_ns + middle(s) : 0;

	return json_pack("{s:o,s:s?,s:o,s:o,s:o,s:o,s:o}", "clocksource", json_text(c->now.source),
			 "method",
			 c->tsc.known	  ? "tsc"
			 : c->ticks.known ? "updates"
					  : NULL,
			 "realtime_ns", s ? json_integer(real) : json_null(), "ahead_ns",
			 s ? json_integer(middle(s)) : json_null(), "bound_ns",
			 s ? json_u64(bound_of(s)) : json_null(), "last_update_realtime_ns",
			 json_u64(c->now.real_ns), "vcpus", vcpus_json(g, c->host.tsc));
}

/* Does the guest see a wrong time, or different ones on its CPUs? kvm-clock allows for different TSCs. */
static bool is_wrong(const struct linux_guest *g, const struct guest_clock *c)
{
	const struct skew *s = skew_best(c);

	if (s && (s->from_ns >= CLOCK_FOUND_NS || s->to_ns <= -CLOCK_FOUND_NS))
		return true;
	for (size_t i = 0; i < g->nr_vcpus && !strcmp(c->now.source, "tsc"); i++)
		if (g->vcpu[i].state & KVM_VCPU_TSC && tsc_ahead(g, i, c->host.tsc))
			return true;
	return false;
}

static int clock_print(struct linux_list *l)
{
	struct linux_timekeeper t;
	struct guest_clock c = {0};
	int err = linux_timekeeper_find(l->g, l->types, &t);

	linux_reads_begin(l->g);
	if (!err)
		err = updates_watch(&t, &c);
	if (err)
		return linux_reads_end(l->g, err);
	tsc_use(l->g, &c);
	l->found = is_wrong(l->g, &c);
	if (l->json) {
		l->result = clock_json(l->g, &c);
		return l->result ? 0 : fail(-ENOMEM, "out of memory");
	}
	clock_text(&c, l->file);
	vcpus_text(l->g, c.host.tsc, l->file);
	return 0;
}

int guest_clock(int argc, char **argv)
{
	return guest_linux_answer("clock", argc, argv, clock_print);
}
