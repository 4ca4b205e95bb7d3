// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Keeps the guest's requests, the host's elements and the exits in the order they come; what belongs together is found
 * at the end, when the clocks' error is known.
 */

#include "analyzers/virtqueue/requests_private.h"
#include "event/exit_reason.h"
#include "event/handlers.h"
#include "event/records.h"
#include "event/virtio_ids.h"

/* ---- the guest's side ---- */

static void issue_handle(struct requests *r, const struct event *ev)
{
	struct guest_block block;
	struct request *rq;

	if (!guest_block(ev, &block))
		return;
	rq = requests_grow(r, (void **)&r->rq, r->nr_rq, REQUESTS_MAX, sizeof(*rq));
	if (!rq)
		return;
	*rq = (struct request){.block = block, .pid = ev->pid, .vcpu = ev->cpu,
			       .source = ev->source, .issue_ns = ev->time_ns,
			       .device = "", .kind = ""};
	if (r->nr_open < OPEN_MAX)
		r->open[r->nr_open++] = (uint32_t)r->nr_rq;
	r->nr_rq++;
}

/*
 * The open request that is done. Two CPUs may have the same sector read at once; blk-mq completes each on the CPU that
 * issued it, so that one is preferred. -1: none.
 */
static int open_find(const struct requests *r, const struct guest_block *b, const struct event *ev)
{
	int found = -1;

	for (unsigned int i = 0; i < r->nr_open; i++) {
		const struct request *rq = &r->rq[r->open[i]];

		if (rq->source != ev->source || rq->block.major != b->major ||
		    rq->block.minor != b->minor || rq->block.sector != b->sector ||
		    rq->block.op != b->op)
			continue;
		if (rq->vcpu == ev->cpu)
			return (int)i;
		found = found < 0 ? (int)i : found;
	}
	return found;
}

static uint64_t vcpu_id(uint32_t owner, uint16_t vcpu)
{
	return (uint64_t)owner << 16 | vcpu;
}

static void irq_handle(struct requests *r, const struct event *ev)
{
	struct vcpu_irq *irq =
		ev->cpu == RECORD_CPU_UNKNOWN
			? NULL
			: hash_add_u64(&r->irq, vcpu_id(ev->source, ev->cpu), NULL);

	if (irq)
		irq->ns = ev->time_ns;
}

static void complete_handle(struct requests *r, const struct event *ev)
{
	const struct vcpu_irq *irq;
	struct guest_block b;
	struct request *rq;
	int i;

	if (!guest_block(ev, &b))
		return;
	i = open_find(r, &b, ev);
	if (i < 0) {
		r->totals.open += ev->time_ns >= r->since_ns;
		return;
	}
	rq = &r->rq[r->open[i]];
	rq->complete_ns = ev->time_ns;
	irq = hash_find_u64(&r->irq, vcpu_id(ev->source, ev->cpu));
	rq->irq_ns = irq ? irq->ns : 0;
	r->nr_open--;
	memmove(&r->open[i], &r->open[i + 1], (r->nr_open - (unsigned int)i) * sizeof(r->open[0]));
}

static void guest_event(struct requests *r, const struct event *ev)
{
	switch (guest_event_kind(ev->type)) {
	case GUEST_BLOCK_ISSUE:
		issue_handle(r, ev);
		break;
	case GUEST_BLOCK_COMPLETE:
		complete_handle(r, ev);
		break;
	case GUEST_IRQ_ENTRY:
		irq_handle(r, ev);
		break;
	default:
		break;
	}
}

/* ---- the host's side ---- */

static void reason_read(const struct event *ev, struct exit_times *x)
{
	if (ev->type->id == EV_kvm_userspace_exit) {
		RECORD(kvm_userspace_exit, vmm, ev);
		x->reason = vmm->reason;
		x->isa = ISA_USERSPACE;
		return;
	}
	RECORD(kvm_exit, exit, ev);
	x->reason = exit->reason;
	x->isa = (uint16_t)exit->isa;
}

static void exit_handle(struct requests *r, const struct event *ev)
{
	struct vcpu_exit *last;
	struct exit_times *x;

	if (ev->vcpu >= CPUS_MAX)
		return;
	last = hash_add_u64(&r->last_exit, vcpu_id(ev->pid, ev->vcpu), NULL);
	x = requests_grow(r, (void **)&r->exit, r->nr_exits, REQUEST_EXITS_MAX, sizeof(*x));
	if (!x)
		return;
	*x = (struct exit_times){
		.ns = ev->time_ns,
		.pid = ev->pid,
		.vcpu = ev->vcpu,
	};
	reason_read(ev, x);
	r->nr_exits++;
	if (last)
		last->exit = (uint32_t)r->nr_exits;
}

static void entry_handle(struct requests *r, const struct event *ev)
{
	struct vcpu_exit *last = hash_find_u64(&r->last_exit, vcpu_id(ev->pid, ev->vcpu));
	struct exit_times *x;

	if (!last || !last->exit)
		return;
	x = &r->exit[last->exit - 1];
	if ((x->isa == ISA_USERSPACE) != (ev->type->id == EV_kvm_run))
		return;
	x->latency_ns = ev->time_ns - x->ns;
	last->exit = 0;
}

static uint32_t device_index(struct requests *r, uint32_t pid, uint64_t vdev)
{
	unsigned int i;

	for (i = 0; i < r->nr_devices; i++)
		if (r->device[i].pid == pid && r->device[i].vdev == vdev)
			return i;
	if (i == DEVICES_MAX)
		return UINT32_MAX;
	r->device[i].pid = pid;
	r->device[i].vdev = vdev;
	r->nr_devices++;
	return i;
}

static void device_learn(struct requests *r, const struct event *ev)
{
	RECORD(virtio_device, device, ev);
	uint32_t i = device_index(r, ev->pid, device->vdev);

	if (record_has(ev, virtio_device, path) && i != UINT32_MAX)
		RECORD_TEXT(device, path, r->device[i].path);
}

static void request_element_left(void *arg, const struct element *el, enum element_end how,
				 const struct event *ev)
{
	struct requests *r = arg;
	struct element_times *to;

	if (how != ELEMENT_RETURNED)
		return;
	to = requests_grow(r, (void **)&r->el, r->nr_el, REQUESTS_MAX, sizeof(*to));
	if (!to)
		return;
	*to = (struct element_times){.pop_ns = el->popped_ns,
				     .fill_ns = ev->time_ns,
				     .vq = el->vq,
				     .device = device_index(r, el->pid, el->vdev),
				     .queue = el->queue,
				     .kind = elements_type(r->elements, el->pid, el->vdev),
				     .head = el->head};
	r->nr_el++;
}

static uint32_t element_pid(const struct requests *r, const struct element_times *el)
{
	return el->device < r->nr_devices ? r->device[el->device].pid : 0;
}

/* An interrupt is for all that its queue returned before it. */
static void interrupt_handle(struct requests *r, const struct event *ev)
{
	uint64_t vq = virtio_ids_of(ev).vq;

	while (r->quiet < r->nr_el && r->el[r->quiet].interrupt_ns)
		r->quiet++;
	if (r->nr_el - r->quiet > OPEN_MAX)
		r->quiet = r->nr_el - OPEN_MAX; /* queues that never interrupt: polled */
	for (size_t i = r->quiet; i < r->nr_el; i++)
		if (r->el[i].vq == vq && element_pid(r, &r->el[i]) == ev->pid &&
		    !r->el[i].interrupt_ns)
			r->el[i].interrupt_ns = ev->time_ns;
}

static const HANDLERS(struct requests) handlers = {{
	[EV_kvm_exit] = exit_handle,
	[EV_kvm_userspace_exit] = exit_handle,
	[EV_kvm_entry] = entry_handle,
	[EV_kvm_run] = entry_handle,
	[EV_virtio_device] = device_learn,
	[EV_virtio_notify] = interrupt_handle,
}};

static void host_event(struct requests *r, const struct event *ev)
{
	handlers_call(&handlers, r, ev);
	elements_event(r->elements, ev);
}

/* ---- the time window ---- */

void requests_window(struct requests *r, uint64_t since_ns, uint64_t until_ns)
{
	r->since_ns = since_ns;
	r->until_ns = until_ns;
}

/* Keeps of the exits those since the oldest open request. */
static void exits_forget(struct requests *r)
{
	uint64_t oldest_ns = r->nr_open ? r->rq[r->open[0]].issue_ns : UINT64_MAX;
	struct vcpu_exit *last;
	size_t nr = 0;

	while (nr < r->nr_exits && r->exit[nr].ns < oldest_ns)
		nr++;
	r->nr_exits -= nr;
	memmove(r->exit, r->exit + nr, r->nr_exits * sizeof(*r->exit));
	for (uint32_t at = 0; (last = hash_next(&r->last_exit, &at));)
		last->exit = last->exit > nr ? last->exit - (uint32_t)nr : 0;
}

/* Forgets what cannot be part of a request that completes from now on. */
static void past_forget(struct requests *r)
{
	size_t kept = r->nr_el < OPEN_MAX ? r->nr_el : OPEN_MAX, gone = r->nr_el - kept;

	if (r->nr_exits)
		exits_forget(r);
	for (unsigned int i = 0; i < r->nr_open; i++) {
		r->rq[i] = r->rq[r->open[i]];
		r->open[i] = i;
	}
	r->nr_rq = r->nr_open;
	if (gone)
		memmove(r->el, r->el + gone, kept * sizeof(*r->el));
	r->nr_el = kept;
	r->quiet = r->quiet > gone ? r->quiet - gone : 0;
}

static void window_begin(struct requests *r, const struct event *ev)
{
	bool full = r->nr_rq > REQUESTS_MAX / 2 || r->nr_el > REQUESTS_MAX / 2 ||
		    r->nr_exits > REQUEST_EXITS_MAX / 2;

	r->begun = ev->time_ns >= r->since_ns;
	if (r->since_ns && (r->begun || full))
		past_forget(r);
}

void requests_event(struct requests *r, const struct event *ev, bool guest)
{
	if (ev->time_ns >= r->until_ns)
		return;
	if (!r->begun)
		window_begin(r, ev);
	if (guest)
		guest_event(r, ev);
	else if (ev->type->id)
		host_event(r, ev);
}

bool requests_wants(const char *event, void *arg)
{
	enum guest_event guest = guest_event_named(event);

	return handlers_want(&handlers, event) || elements_wants(event, arg) ||
	       guest == GUEST_BLOCK_ISSUE || guest == GUEST_BLOCK_COMPLETE ||
	       guest == GUEST_IRQ_ENTRY;
}

/* ---- the exit that carried the kick ---- */

static const char *exit_name(const struct exit_times *x)
{
	const char *name = x->isa == ISA_USERSPACE ? userspace_reason_name(x->reason)
						   : exit_reason_name(x->reason, x->isa);

	return name && !strncmp(name, "KVM_EXIT_", 9) ? name + 9 : name;
}

/* A kick is a write to a port or to memory-mapped registers. */
static bool exit_kicks(const struct exit_times *x)
{
	static const char *const names[] = {"IO",  "MMIO",	    "IO_INSTRUCTION",
					    "io",  "EPT_MISCONFIG", "EPT_VIOLATION",
					    "npf"};
	const char *name = exit_name(x);

	for (size_t i = 0; name && i < sizeof(names) / sizeof(names[0]); i++)
		if (!strcmp(name, names[i]))
			return true;
	return false;
}

static void exit_find(const struct requests *r, struct request *rq, uint64_t error_ns)
{
	uint64_t since = rq->issue_ns > error_ns ? rq->issue_ns - error_ns : 0;
	const struct exit_times *best = NULL;
	size_t lo, hi;

	lo = array_prefix(r->nr_exits, i, r->exit[i].ns < since);
	hi = r->nr_exits - lo > EXITS_PASSED_MAX ? lo + EXITS_PASSED_MAX : r->nr_exits;
	for (size_t n = 0; lo < hi && n < EXITS_LOOKED_AT; lo++) {
		const struct exit_times *x = &r->exit[lo];

		if (x->ns > rq->pop_ns)
			break;
		if (x->pid && x->pid != rq->pid)
			continue;
		n++;
		if (x->vcpu != rq->vcpu)
			continue;
		rq->exits++;
		if (!best && exit_kicks(x))
			best = x;
	}
	if (!best)
		return;
	rq->exit_ns = best->ns;
	rq->exit_latency_ns = best->latency_ns;
	rq->exit_reason = exit_name(best);
}

int requests_end(struct requests *r, uint64_t error_ns, const struct request **ret, size_t *ret_nr,
		 struct request_totals *totals)
{
	if (r->since_ns && !r->begun)
		past_forget(r);
	requests_match(r, error_ns);
	for (size_t i = 0; i < r->nr_rq; i++) {
		struct request *rq = &r->rq[i];

		r->totals.requests += rq->complete_ns != 0;
		r->totals.open += !rq->complete_ns;
		if (rq->matched)
			exit_find(r, rq, error_ns);
		if (rq->irq_ns &&
		    rq->irq_ns + error_ns < (rq->matched ? rq->fill_ns : rq->issue_ns))
			rq->irq_ns = 0; /* an earlier interrupt: it was completed elsewhere */
	}
	*ret = r->rq;
	*ret_nr = r->nr_rq;
	*totals = r->totals;
	return 0;
}

/* ---- open and close ---- */

struct requests *requests_new(void)
{
	struct requests *r = calloc(1, sizeof(*r));

	if (!r)
		return NULL;
	r->until_ns = UINT64_MAX;
	r->last_exit = HASH_TABLE(struct vcpu_exit, 1, VCPUS_MAX);
	r->irq = HASH_TABLE(struct vcpu_irq, 1, VCPUS_MAX);
	r->elements = elements_new();
	if (!r->elements) {
		free(r);
		return NULL;
	}
	r->watch = (struct element_watch){.left = request_element_left, .arg = r};
	elements_watch(r->elements, &r->watch);
	return r;
}

void requests_free(struct requests *r)
{
	if (!r)
		return;
	for (unsigned int i = 0; i < r->nr_disks; i++) {
		free(r->disk[i].list);
		free(r->disk[i].open);
	}
	elements_free(r->elements);
	hash_deinit(&r->last_exit);
	hash_deinit(&r->irq);
	free(r->rq);
	free(r->el);
	free(r->exit);
	free(r);
}
