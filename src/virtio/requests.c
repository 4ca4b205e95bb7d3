// SPDX-License-Identifier: GPL-2.0-or-later
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/array.h"
#include "base/error.h"
#include "exit_reason.h"
#include "virtio/elements.h"
#include "virtio/requests.h"

enum {
	CPUS_MAX = 4096,
	DEVICES_MAX = 256,
	DEVICE_BYTES = 120,
	OPEN_MAX = 4096,      /* requests of the guest in flight */
	EXITS_LOOKED_AT = 256, /* between an issue and its pop */
};

struct element_times {
	uint64_t pop_ns, fill_ns, interrupt_ns, vq;
	uint32_t device, queue, head;
	bool taken;
};

struct exit_times {
	uint64_t ns, latency_ns;
	uint32_t reason;
	uint16_t isa, vcpu; /* isa 0xffff: a userspace exit */
};

enum { ISA_USERSPACE = 0xffff };

struct disk {
	uint32_t major, minor;
	int device; /* of the host; -1: none */
	uint32_t *list; /* of requests, by issue */
	size_t nr;
};

struct requests {
	struct request *rq;
	size_t nr_rq;
	uint32_t open[OPEN_MAX]; /* indices of requests without a completion */
	unsigned int nr_open;
	struct element_times *el;
	size_t nr_el, quiet; /* quiet: elements before it have their interrupt */
	struct exit_times *exit;
	size_t nr_exits;
	uint32_t last_exit[CPUS_MAX]; /* index + 1 of the exit that a vCPU is in */
	uint64_t irq_ns[CPUS_MAX];    /* guest: the newest handler's entry */
	struct {
		uint32_t pid;
		uint64_t vdev;
		char path[DEVICE_BYTES];
	} device[DEVICES_MAX];
	unsigned int nr_devices;
	struct disk disk[REQUEST_DISKS_MAX];
	unsigned int nr_disks;
	struct elements *elements;
	struct element_watch watch;
	struct request_totals totals;
};

/* Room for one more in a list that grows by doubling; NULL: full or no memory, which is counted. */
static void *grow(struct requests *r, void **list, size_t nr, size_t max, size_t size)
{
	if (nr == max || array_room_(list, nr, size)) {
		r->totals.overflow++;
		return NULL;
	}
	return (char *)*list + nr * size;
}

/* ---- the guest's side ---- */

static void issue_take(struct requests *r, const struct event *ev)
{
	struct guest_block block;
	struct request *rq;

	if (!guest_block(ev, &block))
		return;
	rq = grow(r, (void **)&r->rq, r->nr_rq, REQUESTS_MAX, sizeof(*rq));
	if (!rq)
		return;
	*rq = (struct request){.block = block, .vcpu = ev->cpu, .issue_ns = ev->time_ns,
			       .device = ""};
	if (r->nr_open < OPEN_MAX)
		r->open[r->nr_open++] = (uint32_t)r->nr_rq;
	r->nr_rq++;
}

static void complete_take(struct requests *r, const struct event *ev)
{
	struct guest_block b;

	if (!guest_block(ev, &b))
		return;
	for (unsigned int i = 0; i < r->nr_open; i++) {
		struct request *rq = &r->rq[r->open[i]];

		if (rq->block.major != b.major || rq->block.minor != b.minor ||
		    rq->block.sector != b.sector || rq->block.op != b.op)
			continue;
		rq->complete_ns = ev->time_ns;
		rq->irq_ns = ev->cpu < CPUS_MAX ? r->irq_ns[ev->cpu] : 0;
		memmove(&r->open[i], &r->open[i + 1], (--r->nr_open - i) * sizeof(r->open[0]));
		return;
	}
	r->totals.open++;
}

static void guest_event(struct requests *r, const struct event *ev)
{
	switch (guest_event_kind(ev->type)) {
	case GUEST_BLOCK_ISSUE:
		issue_take(r, ev);
		break;
	case GUEST_BLOCK_COMPLETE:
		complete_take(r, ev);
		break;
	case GUEST_IRQ_ENTRY:
		if (ev->cpu < CPUS_MAX)
			r->irq_ns[ev->cpu] = ev->time_ns;
		break;
	default:
		break;
	}
}

/* ---- the host's side ---- */

static void exit_take(struct requests *r, const struct event *ev)
{
	bool userspace = ev->type->id == EV_kvm_userspace_exit;
	struct exit_times *x;

	if (ev->vcpu >= CPUS_MAX)
		return;
	x = grow(r, (void **)&r->exit, r->nr_exits, REQUEST_EXITS_MAX, sizeof(*x));
	if (!x)
		return;
	*x = (struct exit_times){
		.ns = ev->time_ns,
		.reason = (uint32_t)event_value(ev, "reason"),
		.isa = userspace ? ISA_USERSPACE : (uint16_t)event_value(ev, "isa"),
		.vcpu = ev->vcpu,
	};
	r->last_exit[ev->vcpu] = (uint32_t)++r->nr_exits;
}

static void entry_take(struct requests *r, const struct event *ev)
{
	struct exit_times *x;

	if (ev->vcpu >= CPUS_MAX || !r->last_exit[ev->vcpu])
		return;
	x = &r->exit[r->last_exit[ev->vcpu] - 1];
	if ((x->isa == ISA_USERSPACE) != (ev->type->id == EV_kvm_run))
		return;
	x->latency_ns = ev->time_ns - x->ns;
	r->last_exit[ev->vcpu] = 0;
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
	const struct field *f = event_field(ev->type, "path");
	uint32_t i = device_index(r, ev->pid, event_value(ev, "vdev"));

	if (f && i != UINT32_MAX)
		event_text(ev, f, r->device[i].path, DEVICE_BYTES);
}

static void left(void *arg, const struct element *el, enum element_end how, const struct event *ev)
{
	struct requests *r = arg;
	struct element_times *to;

	if (how != ELEMENT_RETURNED)
		return;
	to = grow(r, (void **)&r->el, r->nr_el, REQUESTS_MAX, sizeof(*to));
	if (!to)
		return;
	*to = (struct element_times){.pop_ns = el->popped_ns,
				     .fill_ns = ev->time_ns,
				     .vq = el->vq,
				     .device = device_index(r, el->pid, el->vdev),
				     .queue = el->queue,
				     .head = el->head};
	r->nr_el++;
}

static void popped(void *arg, const struct event *ev)
{
	(void)arg;
	(void)ev;
}

/* An interrupt is for all that its queue returned before it. */
static void interrupt_take(struct requests *r, const struct event *ev)
{
	uint64_t vq = event_value(ev, "vq");

	while (r->quiet < r->nr_el && r->el[r->quiet].interrupt_ns)
		r->quiet++;
	if (r->nr_el - r->quiet > OPEN_MAX)
		r->quiet = r->nr_el - OPEN_MAX; /* queues that never interrupt: polled */
	for (size_t i = r->quiet; i < r->nr_el; i++)
		if (r->el[i].vq == vq && !r->el[i].interrupt_ns)
			r->el[i].interrupt_ns = ev->time_ns;
}

static void host_event(struct requests *r, const struct event *ev)
{
	switch (ev->type->id) {
	case EV_kvm_exit:
	case EV_kvm_userspace_exit:
		exit_take(r, ev);
		break;
	case EV_kvm_entry:
	case EV_kvm_run:
		entry_take(r, ev);
		break;
	case EV_virtio_device:
		device_learn(r, ev);
		break;
	case EV_virtio_notify:
		interrupt_take(r, ev);
		break;
	}
	elements_event(r->elements, ev);
}

void requests_event(struct requests *r, const struct event *ev, bool guest)
{
	if (guest)
		guest_event(r, ev);
	else if (ev->type->id)
		host_event(r, ev);
}

bool requests_wants(const char *event, void *arg)
{
	static const char *const names[] = {"kvm_exit",	     "kvm_entry",
					    "kvm_run",	     "kvm_userspace_exit",
					    "virtio_notify", "guest:irq_handler_entry",
					    "guest:block_rq_issue", "guest:block_rq_complete"};

	(void)arg;
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (!strcmp(event, names[i]))
			return true;
	return elements_wants(event, NULL);
}

/* ---- which belongs to which ---- */

static int by_pop(const void *a, const void *b)
{
	const struct element_times *x = a, *y = b;

	return (x->pop_ns > y->pop_ns) - (x->pop_ns < y->pop_ns);
}

static struct disk *disk_get(struct requests *r, const struct guest_block *b)
{
	struct disk *d;

	for (unsigned int i = 0; i < r->nr_disks; i++)
		if (r->disk[i].major == b->major && r->disk[i].minor == b->minor)
			return &r->disk[i];
	if (r->nr_disks == REQUEST_DISKS_MAX)
		return NULL;
	d = &r->disk[r->nr_disks++];
	*d = (struct disk){.major = b->major, .minor = b->minor, .device = -1};
	return d;
}

static void disks_fill(struct requests *r)
{
	for (size_t i = 0; i < r->nr_rq; i++) {
		struct disk *d = r->rq[i].complete_ns ? disk_get(r, &r->rq[i].block) : NULL;
		uint32_t *to = d ? grow(r, (void **)&d->list, d->nr, REQUESTS_MAX, sizeof(*to))
				 : NULL;

		if (!to)
			continue;
		*to = (uint32_t)i;
		d->nr++;
	}
}

/* The tightest request around an element: `from` is the first that is not taken. */
static struct request *request_around(struct requests *r, const struct disk *d, size_t from,
				      const struct element_times *el, uint64_t error_ns)
{
	struct request *best = NULL;
	uint64_t best_cost = UINT64_MAX;

	for (size_t i = from; i < d->nr; i++) {
		struct request *rq = &r->rq[d->list[i]];
		uint64_t cost;

		if (rq->issue_ns > el->pop_ns + error_ns)
			break;
		if (rq->matched || rq->complete_ns + error_ns < el->fill_ns)
			continue;
		cost = rq->complete_ns - rq->issue_ns;
		if (cost < best_cost) {
			best_cost = cost;
			best = rq;
		}
	}
	return best;
}

static void match_take(struct requests *r, struct request *rq, const struct element_times *el)
{
	rq->pop_ns = el->pop_ns;
	rq->fill_ns = el->fill_ns;
	rq->interrupt_ns = el->interrupt_ns;
	rq->queue = el->queue;
	rq->head = el->head;
	rq->device = r->device[el->device].path;
}

/* How many of the disk's requests have an element of the device. Their `matched` is set. */
static size_t disk_match(struct requests *r, const struct disk *d, uint32_t device,
			 uint64_t error_ns, bool keep)
{
	size_t first = 0, nr = 0;

	for (size_t i = 0; i < d->nr; i++)
		r->rq[d->list[i]].matched = false;
	for (size_t i = 0; i < r->nr_el; i++) {
		const struct element_times *el = &r->el[i];
		struct request *rq;

		if (el->device != device)
			continue;
		while (first < d->nr && (r->rq[d->list[first]].matched ||
					 r->rq[d->list[first]].complete_ns + error_ns < el->pop_ns))
			first++;
		rq = request_around(r, d, first, el, error_ns);
		if (!rq)
			continue;
		rq->matched = true;
		nr++;
		if (keep)
			match_take(r, rq, el);
	}
	return nr;
}

static size_t elements_of(const struct requests *r, uint32_t device)
{
	size_t nr = 0;

	for (size_t i = 0; i < r->nr_el; i++)
		nr += r->el[i].device == device;
	return nr;
}

/* The device whose elements agree best: matches against all that there are on both sides. */
static int device_choose(struct requests *r, const struct disk *d, const bool *used,
			 uint64_t error_ns)
{
	double best = 0.1; /* fewer than one in ten agree by chance */
	int device = -1;

	for (unsigned int i = 0; i < r->nr_devices; i++) {
		size_t all = elements_of(r, i), most = all > d->nr ? all : d->nr;
		double share;

		if (used[i] || !all)
			continue;
		share = (double)disk_match(r, d, i, error_ns, false) / (double)most;
		if (share > best) {
			best = share;
			device = (int)i;
		}
	}
	return device;
}

/* Disks with the most requests first: they are the surest. */
static void disks_match(struct requests *r, uint64_t error_ns)
{
	bool used[DEVICES_MAX] = {false}, done[REQUEST_DISKS_MAX] = {false};

	for (unsigned int n = 0; n < r->nr_disks; n++) {
		struct disk *d = NULL;

		for (unsigned int i = 0; i < r->nr_disks; i++)
			if (!done[i] && (!d || r->disk[i].nr > d->nr))
				d = &r->disk[i];
		done[d - r->disk] = true;
		d->device = device_choose(r, d, used, error_ns);
		if (d->device < 0) {
			for (size_t i = 0; i < d->nr; i++)
				r->rq[d->list[i]].matched = false;
			continue;
		}
		used[d->device] = true;
		r->totals.elements += elements_of(r, (uint32_t)d->device);
		r->totals.matched += disk_match(r, d, (uint32_t)d->device, error_ns, true);
	}
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
	size_t lo = 0, hi = r->nr_exits;

	while (lo < hi) {
		size_t mid = lo + (hi - lo) / 2;

		if (r->exit[mid].ns < since)
			lo = mid + 1;
		else
			hi = mid;
	}
	for (size_t n = 0; lo < r->nr_exits && n < EXITS_LOOKED_AT; lo++, n++) {
		const struct exit_times *x = &r->exit[lo];

		if (x->ns > rq->pop_ns)
			break;
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
	if (r->nr_el)
		qsort(r->el, r->nr_el, sizeof(*r->el), by_pop);
	disks_fill(r);
	disks_match(r, error_ns);
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
	r->elements = elements_new();
	if (!r->elements) {
		free(r);
		return NULL;
	}
	r->watch = (struct element_watch){.popped = popped, .left = left, .arg = r};
	elements_watch(r->elements, &r->watch);
	return r;
}

void requests_free(struct requests *r)
{
	if (!r)
		return;
	for (unsigned int i = 0; i < r->nr_disks; i++)
		free(r->disk[i].list);
	elements_free(r->elements);
	free(r->rq);
	free(r->el);
	free(r->exit);
	free(r);
}
