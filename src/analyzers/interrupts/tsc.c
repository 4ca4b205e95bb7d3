// SPDX-License-Identifier: GPL-2.0-or-later
/* The newest pair of clocks and each vCPU's newest offset, kept from the events that report them. */
#include "analyzers/interrupts/tsc.h"
#include "base/saturate.h"
#include "event/handlers.h"
#include "event/records.h"

enum { VCPUS_MAX = 1 << 14 };

struct vcpu_clock {
	uint64_t key[2]; /* source and pid; vCPU */
	uint64_t scale;	 /* 0: none */
	int64_t offset;
	uint32_t scale_bits;
};

void tsc_clock_init(struct tsc_clock *c)
{
	c->vcpus = HASH_TABLE(struct vcpu_clock, 2, VCPUS_MAX);
}

void tsc_clock_deinit(struct tsc_clock *c)
{
	hash_deinit(&c->vcpus);
}

static struct vcpu_clock *vcpu_get(struct tsc_clock *c, const struct event *ev, uint64_t vcpu)
{
	uint64_t key[2] = {(uint64_t)ev->source << 32 | ev->pid, vcpu};

	return hash_add_words(&c->vcpus, key, NULL);
}

static void on_pair(struct tsc_clock *c, const struct event *ev)
{
	RECORD(clock_pair, r, ev);

	c->pair[0] = c->pair[1];
	c->pair[1].ns = ev->time_ns;
	c->pair[1].tsc = r->tsc;
	c->nr_pairs += c->nr_pairs < 2;
}

static void on_offset(struct tsc_clock *c, const struct event *ev)
{
	RECORD(vcpu_tsc, r, ev);
	bool known = record_has(ev, vcpu_tsc, offset) && record_has(ev, vcpu_tsc, scale);
	struct vcpu_clock *v = known ? vcpu_get(c, ev, ev->vcpu) : NULL;

	if (!v)
		return;
	v->offset = r->offset;
	v->scale = r->scale;
	v->scale_bits = r->scale_bits;
}

static void on_change(struct tsc_clock *c, const struct event *ev)
{
	RECORD(kvm_write_tsc_offset, r, ev);
	bool known = record_has(ev, kvm_write_tsc_offset, new) &&
		     record_has(ev, kvm_write_tsc_offset, target);
	struct vcpu_clock *v = known ? vcpu_get(c, ev, r->target) : NULL;

	if (v)
		v->offset = r->new;
}

static const HANDLERS(struct tsc_clock) handlers = {{
	[EV_clock_pair] = on_pair,
	[EV_vcpu_tsc] = on_offset,
	[EV_kvm_write_tsc_offset] = on_change,
}};

void tsc_clock_event(struct tsc_clock *c, const struct event *ev)
{
	handlers_call(&handlers, c, ev);
}

uint64_t tsc_clock_ns(const struct tsc_clock *c, const struct event *ev, uint64_t guest_tsc)
{
	uint64_t key[2] = {(uint64_t)ev->source << 32 | ev->pid, ev->vcpu};
	const struct vcpu_clock *v = hash_find_words(&c->vcpus, key);
	unsigned __int128 host;
	double ns_per_tick;

	if (!v || c->nr_pairs < 2 || c->pair[1].tsc <= c->pair[0].tsc ||
	    c->pair[1].ns <= c->pair[0].ns || v->scale_bits > 63)
		return 0;
	host = guest_tsc - (uint64_t)v->offset;
	if (v->scale)
		host = (host << v->scale_bits) / v->scale;
	ns_per_tick = (double)(c->pair[1].ns - c->pair[0].ns) /
		      (double)(c->pair[1].tsc - c->pair[0].tsc);
	return c->pair[1].ns +
	       (uint64_t)int64_of_double((double)(int64_t)((uint64_t)host - c->pair[1].tsc) *
					 ns_per_tick);
}
