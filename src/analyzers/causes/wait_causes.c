// SPDX-License-Identifier: GPL-2.0-or-later
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/array.h"
#include "analyzers/causes/wait_causes.h"
#include "base/error.h"
#include "base/hash.h"
#include "event/exit_reason.h"

enum { THREADS_MAX = 1 << 16, ELEMENTS_MAX = 1 << 20 };

const char *const wait_cause_names[CAUSES] = {"preempted", "vmm",   "device", "halted",
					      "kernel",	   "guest", "unknown"};

/* A change to this cause, and how long each had held before: the difference of two steps has the parts of a wait. */
struct step {
	uint64_t time;
	uint64_t before[CAUSES];
	uint8_t cause;
};

struct vcpu {
	struct step *step;
	size_t nr, capacity;
	bool known, off, ready, in_user, halted, in_kernel;
	bool lost; /* no event of KVM has proved since then what it does, or sleeps for */
};

struct thread {
	uint64_t tid;
	uint16_t vcpu;
};

struct element {
	uint64_t key[2]; /* pid, address */
	uint64_t ordinal; /* of its pop */
};

struct wait_causes {
	struct vcpu vcpu[CAUSES_VCPUS_MAX];
	unsigned int nr_vcpus;
	size_t nr_steps;
	uint32_t pid;
	struct hash_table threads;  /* that run a vCPU */
	struct hash_table elements; /* that are with a device */
	uint64_t pops;
	uint64_t *never; /* ordinals of pops without a fill, ascending */
	size_t nr_never, at_never;
	uint64_t last_ns;
	uint64_t lost_until_ns; /* events before that may be missing */
};

static bool wants(const char *event, void *arg)
{
	static const char *const names[] = {"kvm_exit",	     "kvm_entry",      "kvm_userspace_exit",
					    "kvm_run",	     "sched_switch",   "sched_wakeup",
					    "virtqueue_pop", "virtqueue_fill", "virtqueue_detach",
					    "virtqueue_unpop", "lost",		"gap"};

	(void)arg;
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (!strcmp(event, names[i]))
			return true;
	return false;
}

/* ---- elements ---- */

/* An address is used again: a pop of an element that is open replaces the one before. */
static void element_open(struct wait_causes *c, const struct event *ev, uint64_t ordinal)
{
	struct element *el = hash_add_words(
		&c->elements, (uint64_t[]){ev->pid, event_value(ev, "elem")}, NULL);

	if (el)
		el->ordinal = ordinal;
}

static void element_close(struct wait_causes *c, const struct event *ev)
{
	struct element *el = hash_find_words(&c->elements,
					     (uint64_t[]){ev->pid, event_value(ev, "elem")});

	if (el)
		hash_remove(&c->elements, el);
}

static int by_number(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return x < y ? -1 : x > y;
}

static int never_collect(struct wait_causes *c)
{
	const struct element *el;

	c->never = calloc(c->elements.nr + 1u, sizeof(*c->never));
	if (!c->never)
		return fail(-ENOMEM, "out of memory");
	for (uint32_t at = 0; (el = hash_next(&c->elements, &at));)
		c->never[c->nr_never++] = el->ordinal;
	qsort(c->never, c->nr_never, sizeof(*c->never), by_number);
	hash_clear(&c->elements);
	c->pops = 0;
	return 0;
}

/* The first pass: pops without a fill. */
static int pass_elements(struct wait_causes *c, const struct event *ev)
{
	if (ev->type->id < EV_virtqueue_pop || ev->type->id > EV_virtqueue_unpop ||
	    ev->type->id == EV_virtqueue_flush)
		return 0;
	if (ev->type->id == EV_virtqueue_pop)
		element_open(c, ev, ++c->pops);
	else
		element_close(c, ev);
	return 0;
}

/* ---- vCPUs ---- */

static enum wait_cause cause_of(const struct wait_causes *c, const struct vcpu *v)
{
	if (!v->known)
		return CAUSE_UNKNOWN;
	if (v->off && v->ready)
		return CAUSE_PREEMPTED;
	if (v->lost)
		return CAUSE_UNKNOWN;
	if (v->in_user)
		return CAUSE_VMM;
	if (c->elements.nr)
		return CAUSE_DEVICE;
	if (v->halted || v->off)
		return CAUSE_HALTED;
	return v->in_kernel ? CAUSE_KERNEL : CAUSE_GUEST;
}

static int step_add(struct wait_causes *c, struct vcpu *v, uint64_t time)
{
	enum wait_cause cause = cause_of(c, v);
	const struct step *old = v->nr ? &v->step[v->nr - 1] : NULL;
	struct step new = {.time = time, .cause = (uint8_t)cause};

	if (old && old->cause == cause)
		return 0;
	if (old) {
		memcpy(new.before, old->before, sizeof(new.before));
		new.before[old->cause] += time > old->time ? time - old->time : 0;
		if (time < old->time)
			new.time = old->time;
	}
	if (v->nr == v->capacity) {
		size_t capacity = v->capacity ? 2 * v->capacity : 1024;
		void *more = realloc(v->step, capacity * sizeof(*v->step));

		if (!more)
			return fail(-ENOMEM, "out of memory");
		v->step = more;
		v->capacity = capacity;
	}
	if (c->nr_steps++ == CAUSES_STEPS_MAX)
		return fail(-E2BIG, "more than %d state changes of vCPUs; record a shorter time",
			    CAUSES_STEPS_MAX);
	v->step[v->nr++] = new;
	return 0;
}

static struct vcpu *vcpu_of_tid(struct wait_causes *c, uint32_t tid)
{
	const struct thread *t = hash_find_u64(&c->threads, tid);

	return tid && t ? &c->vcpu[t->vcpu] : NULL;
}

/* Which thread runs which vCPU. A guest's CPU number does not distinguish several VMs. */
static int vcpu_learn(struct wait_causes *c, const struct event *ev)
{
	bool kvm = ev->type->id <= EV_kvm_run;
	bool sched = ev->type->id == EV_sched_switch;

	if ((!kvm && !sched) || ev->vcpu >= CAUSES_VCPUS_MAX)
		return 0;
	if (c->pid && c->pid != ev->pid)
		return fail(-EINVAL, "the recording has several VMs; select one with --vm");
	c->pid = ev->pid;
	struct thread *t = hash_find_u64(&c->threads, ev->tid);

	if (t || (t = hash_add_u64(&c->threads, ev->tid, NULL)))
		t->vcpu = ev->vcpu;
	if (ev->vcpu >= c->nr_vcpus)
		c->nr_vcpus = ev->vcpu + 1u;
	return 0;
}

static int scheduled(struct wait_causes *c, const struct event *ev)
{
	struct vcpu *v;
	int err = 0;

	if (ev->type->id == EV_sched_wakeup) {
		v = vcpu_of_tid(c, (uint32_t)event_value(ev, "wake_tid"));
		if (v)
			v->ready = true;
		return v ? step_add(c, v, ev->time_ns) : 0;
	}
	v = vcpu_of_tid(c, (uint32_t)event_value(ev, "prev_tid"));
	if (v) {
		v->known = v->off = true;
		v->ready = !event_value(ev, "prev_state");
		err = step_add(c, v, ev->time_ns);
	}
	v = vcpu_of_tid(c, (uint32_t)event_value(ev, "next_tid"));
	if (v && !err) {
		v->known = true;
		v->off = v->ready = false;
		err = step_add(c, v, ev->time_ns);
	}
	return err;
}

static int ran(struct wait_causes *c, const struct event *ev)
{
	struct vcpu *v = ev->vcpu < CAUSES_VCPUS_MAX ? &c->vcpu[ev->vcpu] : NULL;
	const char *reason;

	if (!v)
		return 0;
	v->known = true;
	v->off = v->ready = v->lost = false; /* it acts, so it is on a CPU */
	switch (ev->type->id) {
	case EV_kvm_exit:
		reason = exit_reason_name((uint32_t)event_value(ev, "reason"),
					  (uint32_t)event_value(ev, "isa"));
		v->halted = reason && !strcasecmp(reason, "hlt");
		v->in_kernel = !v->halted;
		break;
	case EV_kvm_entry:
		v->halted = v->in_kernel = v->in_user = false;
		break;
	case EV_kvm_userspace_exit:
		v->in_user = true;
		break;
	case EV_kvm_run:
		v->in_user = false;
		break;
	}
	return step_add(c, v, ev->time_ns);
}

static bool is_lost(const struct wait_causes *c, const struct event *ev)
{
	return ev->time_ns < c->lost_until_ns;
}

/*
 * Events may be missing from here until `until`: what each vCPU does is unknown until its next event after that, which
 * proves it. Which CPU a gap is of does not matter, as vCPUs may have come to it meanwhile.
 */
static int events_lost(struct wait_causes *c, const struct event *ev)
{
	uint64_t until = event_value(ev, "until");
	int err = 0;

	if (ev->type->id == EV_lost) {
		uint64_t type = event_value(ev, "lost_event");

		if (type && type != EV_sched_switch && type != EV_sched_wakeup &&
		    type > EV_kvm_run)
			return 0;
	}
	c->lost_until_ns = until > c->lost_until_ns ? until : c->lost_until_ns;
	for (unsigned int i = 0; i < c->nr_vcpus && !err; i++) {
		struct vcpu *v = &c->vcpu[i];

		v->known = v->off = v->ready = v->in_user = v->halted = v->in_kernel = false;
		v->lost = true;
		err = step_add(c, v, ev->time_ns);
	}
	return err;
}

/* What is in flight concerns all vCPUs. */
static int element_moved(struct wait_causes *c, const struct event *ev)
{
	uint32_t before = c->elements.nr;
	int err = 0;

	if (ev->type->id == EV_virtqueue_pop) {
		bool never;

		c->pops++;
		never = c->at_never < c->nr_never && c->never[c->at_never] == c->pops;
		c->at_never += never;
		if (never)
			return 0;
		element_open(c, ev, c->pops);
	} else {
		element_close(c, ev);
	}
	for (unsigned int i = 0; i < c->nr_vcpus && !err && !before != !c->elements.nr; i++)
		err = step_add(c, &c->vcpu[i], ev->time_ns);
	return err;
}

static int pass_vcpus(struct wait_causes *c, const struct event *ev)
{
	int err = vcpu_learn(c, ev);

	if (err)
		return err;
	c->last_ns = ev->time_ns;
	switch (ev->type->id) {
	case EV_lost:
	case EV_gap:
		return events_lost(c, ev);
	case EV_sched_switch:
	case EV_sched_wakeup:
		return is_lost(c, ev) ? 0 : scheduled(c, ev);
	case EV_kvm_exit:
	case EV_kvm_entry:
	case EV_kvm_userspace_exit:
	case EV_kvm_run:
		return is_lost(c, ev) ? 0 : ran(c, ev);
	case EV_virtqueue_pop:
	case EV_virtqueue_fill:
	case EV_virtqueue_detach:
	case EV_virtqueue_unpop:
		return element_moved(c, ev);
	default:
		return 0;
	}
}

/* ---- open, close, query ---- */

static int pass(struct wait_causes *c, const struct wait_causes_input *in,
		int (*handle)(struct wait_causes *c, const struct event *ev))
{
	struct reader *r = NULL;
	_cleanup_free_ struct batch *batch = calloc(1, sizeof(*batch));
	int err = batch ? in->open(in->arg, wants, &r) : fail(-ENOMEM, "out of memory"), more = 1;

	while (!err && (more = reader_next(r, batch)) > 0)
		for (unsigned int i = 0; i < batch->nr && !err; i++)
			if (batch->ev[i].source < in->nr_sources)
				err = handle(c, &batch->ev[i]);
	return err ? err : more;
}

int wait_causes_open(const struct wait_causes_input *in, struct wait_causes **ret)
{
	_cleanup_(wait_causes_cleanup_) struct wait_causes *c = calloc(1, sizeof(*c));
	int err;

	if (!c)
		return fail(-ENOMEM, "out of memory");
	c->threads = HASH_TABLE(struct thread, 1, THREADS_MAX);
	c->elements = HASH_TABLE(struct element, 2, ELEMENTS_MAX);
	err = pass(c, in, pass_elements);
	if (!err)
		err = never_collect(c);
	if (!err)
		err = pass(c, in, pass_vcpus);
	if (!err && !c->nr_vcpus)
		err = fail(-ENODATA, "the host's recording has no vCPU events");
	if (err)
		return err;
	*ret = take_ptr(c);
	return 0;
}

void wait_causes_close(struct wait_causes *c)
{
	if (!c)
		return;
	for (unsigned int i = 0; i < CAUSES_VCPUS_MAX; i++)
		free(c->vcpu[i].step);
	hash_deinit(&c->threads);
	hash_deinit(&c->elements);
	free(c->never);
	free(c);
}

/* How long each cause had held up to this time; what the recording does not cover is unknown. */
static void held_until(const struct wait_causes *c, const struct vcpu *v, uint64_t time,
		       uint64_t ret[CAUSES])
{
	size_t lo;
	uint64_t end = time < c->last_ns ? time : c->last_ns;

	lo = array_prefix(v->nr, i, v->step[i].time <= end);
	memset(ret, 0, CAUSES * sizeof(*ret));
	if (lo) {
		memcpy(ret, v->step[lo - 1].before, CAUSES * sizeof(*ret));
		ret[v->step[lo - 1].cause] += end - v->step[lo - 1].time;
	}
}

void wait_causes_of(const struct wait_causes *c, unsigned int vcpu, uint64_t start_ns,
		    uint64_t end_ns, uint64_t ret[CAUSES])
{
	uint64_t before[CAUSES], sum = 0;

	memset(ret, 0, CAUSES * sizeof(*ret));
	if (vcpu < c->nr_vcpus) {
		held_until(c, &c->vcpu[vcpu], start_ns, before);
		held_until(c, &c->vcpu[vcpu], end_ns, ret);
		for (int i = 0; i < CAUSES; i++) {
			ret[i] -= before[i];
			sum += ret[i];
		}
	}
	ret[CAUSE_UNKNOWN] += end_ns - start_ns - sum;
}

uint64_t wait_causes_refused(const struct wait_causes *c)
{
	return c->threads.refused + c->elements.refused;
}

bool wait_causes_sees_devices(const struct wait_causes *c)
{
	return c->pops > 0;
}
