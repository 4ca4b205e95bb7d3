// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Two passes: the first finds the elements that are never given back and the threads that run vCPUs, as a wake-up is an
 * event of another thread and may be the first one; the second keeps, for each vCPU, a list of steps
 * from one cause to the next, by the model of threads and by what is with a device. A wait's parts are the difference
 * of two sums in it.
 */
#include <errno.h>

#include "analyzers/causes/wait_causes.h"
#include "base/array.h"
#include "base/error.h"
#include "base/hash.h"
#include "base/order.h"
#include "event/handlers.h"
#include "event/records.h"
#include "event/virtio_ids.h"
#include "model/threads.h"

enum { ELEMENTS_MAX = 1 << 17 };

#define NAME(id, name) name,
const char *const wait_cause_names[CAUSES] = {WAIT_CAUSES(NAME)};
#undef NAME

/* A change to this cause, and how long each had held before: the difference of two steps has the parts of a wait. */
struct step {
	uint64_t time;
	uint64_t before[CAUSES];
	uint8_t cause;
};

struct vcpu {
	const struct model_thread *thread; /* the newest that ran it; NULL: none yet */
	enum run_state state; /* that the newest step is of */
	uint16_t cpu;	      /* where it was then */
	struct step *step;
	size_t nr, capacity;
};

/* The first thread that ran a vCPU, from before its first event. */
struct first_thread {
	uint64_t key; /* as a model_thread's */
	uint64_t vcpu;
};

struct element {
	uint64_t key[2]; /* pid, address */
	uint64_t ordinal; /* of its pop */
};

struct wait_causes {
	struct model model;
	struct vcpu vcpu[CAUSES_VCPUS_MAX];
	unsigned int nr_vcpus;
	size_t nr_steps;
	uint32_t pid;
	struct hash_table first_threads;
	bool is_owned[CAUSES_VCPUS_MAX]; /* the vCPU has one */
	struct hash_table elements; /* that are with a device */
	uint64_t pops;
	uint64_t *never; /* ordinals of pops without a fill, ascending */
	size_t nr_never, at_never;
	uint64_t last_ns;
	int err;
};

/* ---- elements ---- */

/* An address is used again: a pop of an element that is open replaces the one before. */
static void element_open(struct wait_causes *c, const struct event *ev, uint64_t ordinal)
{
	struct element *el = hash_add_words(
		&c->elements, (uint64_t[]){ev->pid, virtio_ids_of(ev).elem}, NULL);

	if (el)
		el->ordinal = ordinal;
}

static void element_close(struct wait_causes *c, const struct event *ev)
{
	struct element *el = hash_find_words(&c->elements,
					     (uint64_t[]){ev->pid, virtio_ids_of(ev).elem});

	if (el)
		hash_remove(&c->elements, el);
}

static int never_collect(struct wait_causes *c)
{
	const struct element *el;

	c->never = calloc(c->elements.nr + 1u, sizeof(*c->never));
	if (!c->never)
		return fail(-ENOMEM, "out of memory");
	for (uint32_t at = 0; (el = hash_next(&c->elements, &at));)
		c->never[c->nr_never++] = el->ordinal;
	qsort(c->never, c->nr_never, sizeof(*c->never), order_numbers);
	hash_clear(&c->elements);
	c->pops = 0;
	return 0;
}

/* The first pass: pops without a fill. */
static void on_pop(struct wait_causes *c, const struct event *ev)
{
	if (virtio_ids_of(ev).elem)
		element_open(c, ev, ++c->pops);
}

static const HANDLERS(struct wait_causes) of_elements = {{
	[EV_virtqueue_pop] = on_pop,
	[EV_virtqueue_fill] = element_close,
	[EV_virtqueue_detach] = element_close,
	[EV_virtqueue_unpop] = element_close,
}};

static bool is_of_vcpu(const struct event *ev)
{
	return ev->vcpu < CAUSES_VCPUS_MAX && !trim_is_naming(ev->type); /* those are of any VM */
}

static void first_thread_learn(struct wait_causes *c, const struct event *ev)
{
	struct first_thread *first;

	if (!is_of_vcpu(ev) || c->is_owned[ev->vcpu])
		return;
	c->is_owned[ev->vcpu] = true;
	first = hash_add_u64(&c->first_threads, model_thread_key(ev->source, ev->tid), NULL);
	if (first)
		first->vcpu = ev->vcpu;
}

static int pass_first(struct wait_causes *c, const struct event *ev)
{
	first_thread_learn(c, ev);
	handlers_call(&of_elements, c, ev);
	return 0;
}

/* ---- vCPUs ---- */

static enum wait_cause cause_of(const struct wait_causes *c, const struct vcpu *v)
{
	const struct vcpu_place *place = &v->thread->place;

	if (v->state == THREAD_UNKNOWN || v->state == THREAD_ENDED)
		return CAUSE_UNKNOWN;
	if (v->state == THREAD_PREEMPTED)
		return CAUSE_PREEMPTED;
	if (v->state == THREAD_WOKEN)
		return CAUSE_RUNQUEUE;
	if (v->state == THREAD_ASLEEP && v->thread->stopped)
		return CAUSE_STOPPED;
	if (!model_place_known(&c->model, v->thread, v->cpu, v->thread->since_ns))
		return CAUSE_UNKNOWN;
	if (place->in_vmm)
		return CAUSE_VMM;
	if (c->elements.nr)
		return CAUSE_DEVICE;
	if (place->halts || (v->state == THREAD_ASLEEP && !c->model.counts.exits))
		return CAUSE_HALTED;
	return place->in_exit ? CAUSE_KERNEL : CAUSE_GUEST;
}

static void step_append(struct wait_causes *c, struct vcpu *v, const struct step *step)
{
	if (array_reserve(v->step, v->nr + 1, v->capacity)) {
		c->err = -ENOMEM;
		return;
	}
	if (c->nr_steps++ == CAUSES_STEPS_MAX)
		c->err = fail(-E2BIG,
			      "more than %d state changes of vCPUs; record a shorter time",
			      CAUSES_STEPS_MAX);
	v->step[v->nr++] = *step;
}

static void step_add(struct wait_causes *c, struct vcpu *v, uint64_t time)
{
	enum wait_cause cause = v->thread ? cause_of(c, v) : CAUSE_UNKNOWN;
	const struct step *old = v->nr ? &v->step[v->nr - 1] : NULL;
	struct step new = {.time = time, .cause = (uint8_t)cause};

	if (c->err || (old && old->cause == cause))
		return;
	if (old) {
		memcpy(new.before, old->before, sizeof(new.before));
		new.before[old->cause] += time > old->time ? time - old->time : 0;
		if (time < old->time)
			new.time = old->time;
	}
	step_append(c, v, &new);
}

/* The steps since the thread changed were of another state than it is now known to have had. */
static void steps_correct(struct wait_causes *c, struct vcpu *v)
{
	while (v->nr && v->step[v->nr - 1].time >= v->thread->since_ns) {
		v->nr--;
		c->nr_steps--;
	}
	v->state = v->thread->state;
	v->cpu = v->thread->cpu;
	step_add(c, v, v->thread->since_ns);
}

/* NULL: the thread runs none. */
static struct vcpu *vcpu_of(struct wait_causes *c, const struct model_thread *t)
{
	const struct first_thread *first;
	struct vcpu *v;

	if (t->vcpu < CAUSES_VCPUS_MAX)
		v = &c->vcpu[t->vcpu];
	else if ((first = hash_find_u64(&c->first_threads, t->key)))
		v = &c->vcpu[first->vcpu];
	else
		return NULL;
	if (!v->thread)
		v->thread = t;
	return v;
}

static void period_ended(void *arg, struct model_thread *t, uint64_t ns, enum run_state next,
			 const struct event *ev)
{
	struct wait_causes *c = arg;
	struct vcpu *v = vcpu_of(c, t);

	if (!v || v->thread != t)
		return;
	if (v->state != t->state)
		steps_correct(c, v);
	v->state = next;
	v->cpu = ev ? ev->cpu : t->cpu;
	step_add(c, v, ns);
}

/* Which thread runs which vCPU. A guest's CPU number does not distinguish several VMs. */
static int vcpu_learn(struct wait_causes *c, const struct event *ev)
{
	struct model_thread *t;
	struct vcpu *v;

	if (!is_of_vcpu(ev))
		return 0;
	if (c->pid && c->pid != ev->pid)
		return fail(-EINVAL, "the recording has several VMs; select one with --vm");
	c->pid = ev->pid;
	if (ev->vcpu >= c->nr_vcpus)
		c->nr_vcpus = ev->vcpu + 1u;
	v = &c->vcpu[ev->vcpu];
	t = model_thread_get(&c->model, ev);
	if (t && (ev->type->id <= EV_kvm_run || v->thread != t)) {
		v->thread = t;
		v->state = t->state;
		v->cpu = ev->cpu;
		step_add(c, v, ev->time_ns);
	}
	return 0;
}

static void steps_add(struct wait_causes *c, const struct event *ev)
{
	for (unsigned int i = 0; i < c->nr_vcpus; i++)
		step_add(c, &c->vcpu[i], ev->time_ns);
}

/* What is in flight concerns all vCPUs. */
static void element_moved(struct wait_causes *c, const struct event *ev)
{
	uint32_t before = c->elements.nr;

	if (!virtio_ids_of(ev).elem) /* not recorded */
		return;
	if (ev->type->id == EV_virtqueue_pop) {
		bool never;

		c->pops++;
		never = c->at_never < c->nr_never && c->never[c->at_never] == c->pops;
		c->at_never += never;
		if (never)
			return;
		element_open(c, ev, c->pops);
	} else {
		element_close(c, ev);
	}
	if (!before != !c->elements.nr)
		steps_add(c, ev);
}

/* A thread that has left its CPU: the model knows now whether something stopped it. */
static void thread_left(struct wait_causes *c, const struct event *ev)
{
	RECORD(sched_switch, sw, ev);
	const struct model_thread *t = model_thread_find(&c->model, ev->source, sw->prev_tid);
	struct vcpu *v = t ? vcpu_of(c, t) : NULL;

	if (v && v->thread == t)
		step_add(c, v, ev->time_ns);
}

static const HANDLERS(struct wait_causes) handlers = {{
	[EV_sched_switch] = thread_left,
	[EV_lost] = steps_add,
	[EV_gap] = steps_add,
	[EV_probe_dropped] = steps_add,
	[EV_virtqueue_pop] = element_moved,
	[EV_virtqueue_fill] = element_moved,
	[EV_virtqueue_detach] = element_moved,
	[EV_virtqueue_unpop] = element_moved,
}};

static bool wants(const char *event, void *arg)
{
	(void)arg;
	return handlers_want(&handlers, event) || model_wants(event, false, false);
}

static int pass_vcpus(struct wait_causes *c, const struct event *ev)
{
	int err;

	c->last_ns = ev->time_ns;
	model_event(&c->model, ev);
	err = vcpu_learn(c, ev);
	handlers_call(&handlers, c, ev);
	return err ? err : c->err;
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
	model_init(&c->model,
		   &(struct model_reader){.period = period_ended,
				       .arg = c,
				       .thread_size = sizeof(struct model_thread)}, 0);
	if (in->foreign)
		model_set_foreign(&c->model);
	c->elements = HASH_TABLE(struct element, 2, ELEMENTS_MAX);
	c->first_threads = HASH_TABLE(struct first_thread, 1, CAUSES_VCPUS_MAX);
	err = pass(c, in, pass_first);
	if (!err)
		err = never_collect(c);
	if (!err)
		err = pass(c, in, pass_vcpus);
	if (!err) {
		model_end(&c->model, c->last_ns);
		err = c->err;
	}
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
	model_deinit(&c->model);
	hash_deinit(&c->first_threads);
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
	return c->model.counts.refused + c->elements.refused;
}

bool wait_causes_sees_devices(const struct wait_causes *c)
{
	return c->pops > 0;
}
