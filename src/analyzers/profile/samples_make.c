// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Converts one event to samples: none, one, or for a switch up to four (one thread begins to wait,
 * another stops waiting, a CPU goes idle, a queue gets shorter).
 */

#include "analyzers/profile/host_code.h"
#include "analyzers/profile/samples_internal.h"
#include "event/exit_reason.h"

/* ---- the state of each thread: its name, why it does not run, where its guest is ---- */

struct sample_thread *sample_thread_of(struct hash_table *threads, uint32_t source, uint32_t tid)
{
	uint64_t id = (uint64_t)source << 32 | tid;
	struct sample_thread *t = hash_find_u64(threads, id);

	return t ? t : hash_add_u64(threads, id, NULL);
}

void sample_thread_name(struct sample_thread *t, const char *comm)
{
	if (!t || !*comm)
		return;
	snprintf(t->comm, sizeof(t->comm), "%.16s", comm);
	text_sanitize(t->comm);
}

static int sample_made(struct samples *x, const struct event *ev, enum sample_made what,
		       uint32_t tid, const void *args, size_t len, struct sample_held **ret)
{
	struct event of = *ev;

	of.tid = tid;
	return samples_hold(x, &of, x->made[what], args, len, ret);
}

/* ---- backtraces that an event carries itself ---- */

static int frames_own(struct samples *x, const struct sample_rule *r, const struct event *ev,
		      struct sample_held *h)
{
	const struct sample_resolve how = {.none = false};
	uint64_t address[SAMPLES_FRAMES_MAX];
	unsigned int nr = 0;

	if (r->is_chain)
		nr = host_code_frames(ev, x->backtraces, x->maps, &how, address);
	for (unsigned int i = 0; i < r->nr_frames && !r->is_chain; i++) {
		struct field f = *r->frame;

		f.offset = (uint16_t)(f.offset + 8 * i);
		address[nr] = event_u64(ev, &f);
		if (address[nr])
			address[nr++] += r->frames_before;
	}
	return backtrace_set(x->backtraces, &h->s, address, nr);
}

/*
 * For host events: the reason of the VM-exit, and the guest's instruction pointer. That is not a return address,
 * so 1 is added.
 */
static int frames_host(struct samples *x, const struct sample_thread *t, bool waits,
		       struct sample_held *h)
{
	uint64_t address[2];
	unsigned int nr = 0;

	if (!t || (t->in_guest && !waits))
		return 0;
	if (waits) {
		const char *reason = !t->is_vcpu ? t->comm
				     : t->in_user ? userspace_reason_name(t->user_reason)
						  : exit_reason_name(t->reason, t->isa);
		char name[96];

		snprintf(name, sizeof(name), "%s%s",
			 !t->is_vcpu  ? "thread "
			 : t->in_user ? "in the VMM: "
				      : "in the kernel: ",
			 reason && *reason ? reason : "not known");
		address[nr] = backtrace_address(x->backtraces, name) + 1;
		nr += address[nr] > 1;
	}
	if (t->rip)
		address[nr++] = t->rip + 1;
	return backtrace_set(x->backtraces, &h->s, address, nr);
}

/* A host event. A guest recorded by trace-cmd and read without a host has the same events, but with backtraces. */
static bool is_host(const struct samples *x, const struct event *ev)
{
	return ev->type->id != 0 && !x->has_stacks;
}

/* ---- the scheduler ---- */

static int load_change(struct samples *x, const struct event *ev, uint64_t cpu, int by)
{
	struct sample_held *h;
	int64_t *load = cpu < SAMPLES_CPUS_MAX ? &x->load[cpu] : NULL;
	int err;

	if (!load || !by)
		return 0;
	*load = *load < 0 ? (by > 0) : *load + by;
	if (*load < 0)
		*load = 0;
	err = sample_made(x, ev, MADE_LOAD, ev->tid, load, sizeof(*load), &h);
	if (!err)
		h->s.cpu = (uint32_t)cpu;
	return err;
}

/* On a host only the VM's own threads are recorded completely; of others only switches from and to VM threads. */
static bool is_watched(struct samples *x, const struct event *ev, uint32_t tid)
{
	const struct sample_thread *t;

	if (!x->only_vm)
		return true;
	t = tid ? sample_thread_of(&x->own, ev->source, tid) : NULL;
	if (t && t->pid == ev->pid && ev->pid)
		return true;
	x->not_watched += tid != 0;
	return false;
}

/* A dead thread does not wait. */
static int switch_from(struct samples *x, const struct event *ev, uint32_t tid, uint64_t state,
		       bool dead)
{
	struct sample_thread *t = tid ? sample_thread_of(&x->threads, ev->source, tid) : NULL;
	bool runnable = !(state & SAMPLE_STATE_BITS);
	struct sample_held *h;
	int err;

	if (!is_watched(x, ev, tid) || dead)
		return 0;
	if (!tid)
		return sample_made(x, ev, MADE_IDLE_RET, 0, NULL, 0, &h);
	if (t)
		t->state = runnable ? 'p' : 'w';
	err = sample_made(x, ev, runnable ? MADE_PREEMPT : MADE_WAIT, tid, NULL, 0, &h);
	if (!err && is_host(x, ev))
		return frames_host(x, sample_thread_of(&x->threads, ev->source, tid), true, h);
	if (!err)
		h->wants_stack = true;
	return err;
}

static int switch_to(struct samples *x, const struct event *ev, uint32_t tid)
{
	struct sample_thread *t = tid ? sample_thread_of(&x->threads, ev->source, tid) : NULL;
	struct sample_held *h;
	bool preempted = t && t->state == 'p';

	if (!is_watched(x, ev, tid))
		return 0;
	if (!tid)
		return sample_made(x, ev, MADE_IDLE, 0, NULL, 0, &h);
	if (t)
		t->state = 0;
	return sample_made(x, ev, preempted ? MADE_PREEMPT_RET : MADE_WAIT_RET, tid, NULL, 0, &h);
}

static void name_learn(struct samples *x, const struct sample_rule *r, const struct event *ev,
		       uint32_t tid, unsigned int slot)
{
	char comm[64];

	sample_text(r, ev, slot, comm, sizeof(comm));
	if (tid)
		sample_thread_name(sample_thread_of(&x->threads, ev->source, tid), comm);
}

static int make_switch(struct samples *x, const struct sample_rule *r, const struct event *ev)
{
	uint32_t from = (uint32_t)sample_u64(r, ev, 0), to = (uint32_t)sample_u64(r, ev, 2);
	uint64_t state = sample_u64(r, ev, 1);
	bool runnable = !(state & SAMPLE_STATE_BITS);
	bool in_range = ev->cpu < SAMPLES_CPUS_MAX, first = in_range && x->load[ev->cpu] < 0;
	int err;

	name_learn(x, r, ev, from, 3);
	name_learn(x, r, ev, to, 4);
	if (first)
		x->load[ev->cpu] = from ? 1 : 0;
	err = switch_from(x, ev, from, state, state & r->dead);
	if (!err)
		err = switch_to(x, ev, to);
	if (err || x->only_vm)
		return err;
	if (to && in_range && x->load[ev->cpu] < 1 + (from && !runnable))
		x->load[ev->cpu] = 1 + (from && !runnable); /* it was queued unrecorded */
	return load_change(x, ev, ev->cpu, from && !runnable ? -1 : 0);
}

static int make_wake(struct samples *x, const struct sample_rule *r, const struct event *ev)
{
	uint64_t tid = sample_u64(r, ev, 0);
	struct sample_held *h;
	int err;

	if (r->made && x->has_wakeup) /* sched_waking comes first, sched_wakeup when it is queued */
		return 0;
	name_learn(x, r, ev, (uint32_t)tid, 2);
	err = sample_made(x, ev, MADE_WAKE, ev->tid, &tid, sizeof(tid), &h);
	if (err)
		return err;
	h->wants_stack = true;
	return x->only_vm ? 0 : load_change(x, ev, sample_u64(r, ev, 1), 1);
}

/* ---- the others ---- */

static int make_allocation(struct samples *x, const struct sample_rule *r, const struct event *ev)
{
	uint64_t args[4] = {sample_u64(r, ev, 0), sample_u64(r, ev, 1), sample_u64(r, ev, 2), 0};
	struct sample_held *h;
	int err;

	if (r->what == WHAT_PAGES) {
		unsigned int order = (unsigned int)args[1] & 31;

		args[0] <<= 12;
		args[1] = args[2] = 4096ull << order;
		args[3] = args[1];
	} else {
		args[3] = 8; /* the minimum guaranteed by the kernel (ARCH_KMALLOC_MINALIGN) */
	}
	err = sample_made(x, ev, (enum sample_made)r->made, ev->tid, args, sizeof(args), &h);
	if (!err)
		h->wants_stack = true;
	return err;
}

static int make_lock(struct samples *x, const struct sample_rule *r, const struct event *ev)
{
	uint64_t lock = sample_u64(r, ev, 0);
	struct sample_held *h;
	int err = sample_made(x, ev, r->what == WHAT_LOCK ? MADE_LOCK : MADE_LOCK_END, ev->tid,
			      &lock, sizeof(lock), &h);

	if (err)
		return err;
	h->s.key = lock;
	h->wants_stack = true;
	return is_host(x, ev)
		       ? frames_host(x, sample_thread_of(&x->threads, ev->source, ev->tid), true, h)
		       : 0;
}

/* Stores the state of the vCPU and its guest for later events of its thread. */
static void vcpu_learn(struct samples *x, const struct sample_rule *r, const struct event *ev)
{
	struct sample_thread *t = sample_thread_of(&x->threads, ev->source, ev->tid);
	const struct field *rip = r->what == WHAT_EXIT ? NULL : event_field(ev->type, "rip");

	if (!t)
		return;
	if (r->what == WHAT_EXIT) {
		t->is_vcpu = true;
		t->in_guest = t->in_user = false;
		t->rip = sample_u64(r, ev, 0);
		t->reason = (uint32_t)sample_u64(r, ev, 1);
		t->isa = (uint32_t)sample_u64(r, ev, 2);
	} else if (r->what == WHAT_USER_EXIT) {
		t->is_vcpu = t->in_user = true;
		t->user_reason = (uint32_t)sample_u64(r, ev, 0);
	} else if (ev->type->id == EV_kvm_run) {
		t->in_user = false;
	} else if (ev->type->id == EV_kvm_entry) {
		t->in_guest = true;
		t->in_user = false;
	} else if (rip) {
		t->rip = event_u64(ev, rip);
	}
}

static int make_event(struct samples *x, const struct sample_rule *r, const struct event *ev)
{
	uint32_t tp = r->tracepoint;
	struct sample_held *h;
	int err;

	if (is_host(x, ev))
		vcpu_learn(x, r, ev);
	if (tp && r->what == WHAT_SYSCALL)
		tp = sample_syscall_tracepoint(x, r, ev, tp);
	if (!tp)
		return 0;
	err = samples_hold(x, ev, tp - 1, ev->data, ev->size, &h);
	if (err)
		return err;
	if (r->has_key)
		h->s.key = sample_u64(r, ev, 0);
	h->wants_stack = true;
	if (r->nr_frames)
		return frames_own(x, r, ev, h);
	if (!is_host(x, ev))
		return 0;
	h->wants_stack = false;
	return frames_host(x, sample_thread_of(&x->threads, ev->source, ev->tid), false, h);
}

/* ---- kernel_stack events: the backtrace of the newest event of the CPU that has none ---- */

static unsigned int stack_text(struct samples *x, const char *text, uint64_t *address)
{
	unsigned int nr = 0;
	char name[256];

	for (const char *p = text; *p && nr < SAMPLES_FRAMES_MAX; p += strspn(p, ";")) {
		size_t n = strcspn(p, ";");

		snprintf(name, sizeof(name), "%.*s", (int)n, p);
		text_sanitize(name);
		address[nr] = backtrace_address(x->backtraces, name) + 1;
		nr += address[nr] > 1;
		p += n;
	}
	return nr;
}

/* Our header, ftrace's 8 bytes, int size, 4 bytes, then addresses to the end. Old kernels end them with ~0. */
static unsigned int stack_words(const struct event *ev, uint64_t said, uint64_t *address)
{
	enum { AT = sizeof(struct record_hdr) + 16 };
	unsigned int nr = 0;

	for (size_t at = AT; at + 8 <= ev->size && nr < SAMPLES_FRAMES_MAX && nr < said; at += 8) {
		memcpy(&address[nr], ev->data + at, 8);
		if (address[nr] == UINT64_MAX)
			break;
		if (address[nr])
			nr++;
	}
	return nr;
}

static int make_stack(struct samples *x, const struct sample_rule *r, const struct event *ev)
{
	uint64_t address[SAMPLES_FRAMES_MAX], event = 0;
	char text[4096];
	unsigned int nr;
	int err = 0;

	if (r->is_chain)
		nr = call_chain_frames(ev, x->backtraces, x->maps, address);
	else if (r->text)
		nr = stack_text(x, event_text(ev, r->text, text, sizeof(text)), address);
	else
		nr = stack_words(ev, r->field[0] ? sample_u64(r, ev, 0) : SAMPLES_FRAMES_MAX,
				 address);
	for (uint64_t i = x->next; i-- > x->first && !err;) {
		struct sample_held *h = &x->held[i % (SAMPLES_HELD + 64)];

		if (h->cpu != ev->cpu || h->source != ev->source || !h->wants_stack ||
		    (event && h->event != event))
			continue;
		event = h->event;
		h->wants_stack = false;
		err = backtrace_set(x->backtraces, &h->s, address, nr);
	}
	return err;
}

int samples_make(struct samples *x, const struct event *ev)
{
	struct sample_rule *r = x->rule[ev->type->index];

	if (!r)
		return 0;
	x->event++;
	switch (r->what) {
	case WHAT_SWITCH:
		return make_switch(x, r, ev);
	case WHAT_WAKE:
		return make_wake(x, r, ev);
	case WHAT_MIGRATE: {
		int err = load_change(x, ev, sample_u64(r, ev, 1), -1);

		return err ? err : load_change(x, ev, sample_u64(r, ev, 2), 1);
	}
	case WHAT_LOCK:
	case WHAT_LOCK_END:
		return make_lock(x, r, ev);
	case WHAT_ALLOC:
	case WHAT_PAGES:
		return make_allocation(x, r, ev);
	case WHAT_STACK:
		return make_stack(x, r, ev);
	case WHAT_NAME:
		name_learn(x, r, ev, ev->tid, 0);
		return 0;
	case WHAT_NOTHING:
		return 0;
	default:
		return make_event(x, r, ev);
	}
}
