// SPDX-License-Identifier: GPL-2.0-or-later
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "pairing/elements_private.h"

struct elements *elements_new(void)
{
	struct elements *e = calloc(1, sizeof(*e));

	if (!e)
		return NULL;
	e->out = calloc(SLOTS, sizeof(*e->out));
	e->device = calloc(ELEMENT_DEVICES_MAX, sizeof(*e->device));
	if (e->out && e->device)
		return e;
	elements_free(e);
	return NULL;
}

void elements_free(struct elements *e)
{
	if (!e)
		return;
	free(e->out);
	free(e->device);
	free(e);
}

void elements_watch(struct elements *e, const struct element_watch *watch)
{
	e->watch = watch;
}

/* ---- the table ---- */

static size_t slot_of(uint32_t pid, uint64_t vq, uint32_t head)
{
	uint64_t h = (vq ^ (uint64_t)pid << 40 ^ head) * 0x9e3779b97f4a7c15ull;

	h = (h ^ h >> 29) * 0xff51afd7ed558ccdull;
	return (size_t)(h ^ h >> 32) % SLOTS;
}

static struct out *find(struct elements *e, uint32_t pid, uint64_t vq, uint32_t head)
{
	for (size_t i = slot_of(pid, vq, head); e->out[i].used; i = (i + 1) % SLOTS)
		if (e->out[i].pid == pid && e->out[i].vq == vq && e->out[i].head == head)
			return &e->out[i];
	return NULL;
}

static void tell_left(const struct elements *e, const struct out *o, enum element_end how,
		      const struct event *ev)
{
	struct element el = {.pid = o->pid,
			     .queue = o->queue,
			     .head = o->head,
			     .vq = o->vq,
			     .vdev = o->vdev,
			     .address = o->address,
			     .popped_ns = o->popped_ns,
			     .device = ""};

	if (e->watch)
		e->watch->left(e->watch->arg, &el, how, ev);
}

/* Linear probing without tombstones: what follows is moved up. */
static void take_out(struct elements *e, struct out *o)
{
	size_t hole = (size_t)(o - e->out), i = hole;

	e->nr--;
	while (e->out[i = (i + 1) % SLOTS].used) {
		size_t home = slot_of(e->out[i].pid, e->out[i].vq, e->out[i].head);

		if ((i - home + SLOTS) % SLOTS >= (i - hole + SLOTS) % SLOTS) {
			e->out[hole] = e->out[i];
			hole = i;
		}
	}
	e->out[hole].used = false;
}

/* ---- fields, devices, VMs ---- */

struct device *elements_device(struct elements *e, uint32_t pid, uint64_t vdev)
{
	for (unsigned int i = 0; i < e->nr_devices; i++)
		if (e->device[i].pid == pid && e->device[i].vdev == vdev)
			return &e->device[i];
	if (e->nr_devices == ELEMENT_DEVICES_MAX)
		return &e->device[ELEMENT_DEVICES_MAX - 1];
	e->device[e->nr_devices] = (struct device){.pid = pid, .vdev = vdev};
	return &e->device[e->nr_devices++];
}

struct vm_clock *elements_vm(struct elements *e, uint32_t pid)
{
	for (unsigned int i = 0; i < e->nr_vms; i++)
		if (e->vm[i].pid == pid)
			return &e->vm[i];
	if (e->nr_vms == VMS_MAX)
		return &e->vm[VMS_MAX - 1];
	e->vm[e->nr_vms] = (struct vm_clock){.pid = pid};
	return &e->vm[e->nr_vms++];
}

uint64_t elements_stopped_ns(const struct vm_clock *vm, uint64_t now_ns)
{
	return vm->stopped_ns + (vm->stopped && now_ns > vm->since_ns ? now_ns - vm->since_ns : 0);
}

static unsigned int *dropping(struct elements *e, uint32_t tid)
{
	unsigned int free_place = 0;

	for (unsigned int i = 0; i < DROPPING_MAX; i++) {
		if (e->dropping[i].tid == tid)
			return &e->dropping[i].depth;
		if (!e->dropping[i].depth)
			free_place = i;
	}
	e->dropping[free_place].tid = tid;
	e->dropping[free_place].depth = 0;
	return &e->dropping[free_place].depth;
}

/* ---- what events do ---- */

static void on_pop(struct elements *e, const struct event *ev)
{
	uint64_t vq = event_value(ev, "vq");
	uint32_t head = (uint32_t)event_value(ev, "head");
	struct out *o = find(e, ev->pid, vq, head);

	e->totals.popped++;
	if (o) {
		tell_left(e, o, ELEMENT_REPLACED, ev);
		e->totals.replaced++;
	} else if (e->nr == ELEMENTS_MAX) {
		e->totals.overflow++;
		return;
	} else {
		size_t i = slot_of(ev->pid, vq, head);

		while (e->out[i].used)
			i = (i + 1) % SLOTS;
		o = &e->out[i];
		e->nr++;
	}
	e->unpopping.vq = 0; /* the same head may come and go again */
	*o = (struct out){.pid = ev->pid,
			  .head = head,
			  .queue = (uint32_t)event_value(ev, "queue"),
			  .vq = vq,
			  .vdev = event_value(ev, "vdev"),
			  .address = event_value(ev, "elem"),
			  .popped_ns = ev->time_ns,
			  .stopped_ns = elements_stopped_ns(elements_vm(e, ev->pid), ev->time_ns),
			  .order = e->order++,
			  .losses = e->losses - (ev->time_ns < e->blind_until_ns),
			  .used = true};
	if (e->watch)
		e->watch->popped(e->watch->arg, ev);
}

/* One element leaves the device: counted in `count`, or as returned-before if it was never seen popped. */
static void on_leave(struct elements *e, const struct event *ev, uint64_t *count,
		     enum element_end how)
{
	struct out *o = find(e, ev->pid, event_value(ev, "vq"), (uint32_t)event_value(ev, "head"));

	if (!o) {
		e->totals.before++;
		return;
	}
	(*count)++;
	tell_left(e, o, how, ev);
	take_out(e, o);
}

static void on_fill(struct elements *e, const struct event *ev)
{
	if (!*dropping(e, ev->tid))
		on_leave(e, ev, &e->totals.returned, ELEMENT_RETURNED);
}

static bool is_unpopping(const struct elements *e, const struct event *ev)
{
	return e->unpopping.tid == ev->tid && e->unpopping.vq == event_value(ev, "vq") &&
	       e->unpopping.head == event_value(ev, "head");
}

static void unpopping_set(struct elements *e, const struct event *ev, uint64_t vq)
{
	e->unpopping.tid = ev->tid;
	e->unpopping.vq = vq;
	e->unpopping.head = (uint32_t)event_value(ev, "head");
}

/* One of the two counts, whichever is seen first. */
static void on_detach(struct elements *e, const struct event *ev)
{
	bool counted = is_unpopping(e, ev);

	unpopping_set(e, ev, counted ? 0 : event_value(ev, "vq"));
	if (!counted)
		on_leave(e, ev, &e->totals.detached, ELEMENT_DETACHED);
}

static void on_unpop(struct elements *e, const struct event *ev)
{
	bool counted = is_unpopping(e, ev);

	unpopping_set(e, ev, counted ? 0 : event_value(ev, "vq"));
	if (!counted)
		on_leave(e, ev, &e->totals.unpopped, ELEMENT_UNPOPPED);
}

static int newest_first(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return x > y ? -1 : x < y;
}

/* The order of the n-th newest element of a queue: all from there on go. */
static bool nth_newest(struct elements *e, uint32_t pid, uint64_t vq, uint64_t n, uint64_t *ret)
{
	_cleanup_free_ uint64_t *order = calloc(e->nr + 1, sizeof(*order));
	uint64_t nr = 0;

	for (size_t i = 0; order && i < SLOTS; i++)
		if (e->out[i].used && e->out[i].pid == pid && e->out[i].vq == vq)
			order[nr++] = e->out[i].order;
	if (!nr || !n)
		return false;
	qsort(order, nr, sizeof(*order), newest_first);
	*ret = order[(n < nr ? n : nr) - 1];
	return true;
}

static void on_rewind(struct elements *e, const struct event *ev)
{
	uint64_t vq = event_value(ev, "vq"), from;

	if (!nth_newest(e, ev->pid, vq, event_value(ev, "count"), &from))
		return;
	for (size_t i = 0; i < SLOTS;) {
		struct out *o = &e->out[i];

		if (o->used && o->pid == ev->pid && o->vq == vq && o->order >= from) {
			tell_left(e, o, ELEMENT_UNPOPPED, ev);
			take_out(e, o);
			e->totals.unpopped++;
		} else {
			i++;
		}
	}
}

static void on_drop_all(struct elements *e, const struct event *ev)
{
	unsigned int *depth = dropping(e, ev->tid);

	if (!event_value(ev, "leave"))
		++*depth;
	else if (*depth)
		--*depth;
}

/* All elements of a device, or of one of its queues (vq not 0, or queue not ~0). */
static void clear(struct elements *e, const struct event *ev, uint64_t vdev, uint64_t vq,
		  uint64_t queue)
{
	for (size_t i = 0; i < SLOTS;) {
		struct out *o = &e->out[i];

		if (o->used && o->pid == ev->pid &&
		    (vq ? o->vq == vq : o->vdev == vdev && (queue == ~0ull || o->queue == queue))) {
			tell_left(e, o, ELEMENT_RESET, ev);
			take_out(e, o);
			e->totals.reset++;
		} else {
			i++;
		}
	}
}

static void on_reset(struct elements *e, const struct event *ev)
{
	struct device *d = elements_device(e, ev->pid, event_value(ev, "vdev"));

	e->sees_resets = true;
	if (!event_value(ev, "leave"))
		return;
	clear(e, ev, d->vdev, 0, ~0ull);
	d->broken = d->resetting = d->vhost = false;
}

static void on_status(struct elements *e, const struct event *ev)
{
	struct device *d = elements_device(e, ev->pid, event_value(ev, "vdev"));
	uint32_t status = (uint32_t)event_value(ev, "status");

	if (d->status_known && d->status == status)
		return;
	d->status = status;
	d->status_known = true;
	if (!status) {
		d->resetting = true;
		return;
	}
	if (d->resetting && !e->sees_resets)
		clear(e, ev, d->vdev, 0, ~0ull);
	/* virtio_error() itself sets a bit of the status: only a reset mends the device. */
	if (d->resetting)
		d->resetting = d->broken = false;
}

static void on_queue_reset(struct elements *e, const struct event *ev)
{
	clear(e, ev, event_value(ev, "vdev"), 0, event_value(ev, "queue"));
}

static void on_queue_gone(struct elements *e, const struct event *ev)
{
	clear(e, ev, event_value(ev, "vdev"), event_value(ev, "vq"), event_value(ev, "queue"));
}

/* Unplugged: another device may get this address. */
static void on_cleanup(struct elements *e, const struct event *ev)
{
	struct device *d = elements_device(e, ev->pid, event_value(ev, "vdev"));

	clear(e, ev, d->vdev, 0, ~0ull);
	d->status_known = d->resetting = d->broken = d->vhost = false;
}

static void on_error(struct elements *e, const struct event *ev)
{
	elements_device(e, ev->pid, event_value(ev, "vdev"))->broken = true;
}

static void on_vhost(struct elements *e, const struct event *ev)
{
	struct device *d = elements_device(e, ev->pid, event_value(ev, "vdev"));

	d->vhost = d->was_vhost = true;
}

static void on_device(struct elements *e, const struct event *ev)
{
	const struct field *path = event_field(ev->type, "path");
	struct device *d = elements_device(e, ev->pid, event_value(ev, "vdev"));

	if (path)
		field_print(ev, path, d->path, sizeof(d->path));
	*d->kind = '\0'; /* of what had this address before */
}

static void on_kind(struct elements *e, const struct event *ev)
{
	const struct field *kind = event_field(ev->type, "kind");
	struct device *d = elements_device(e, ev->pid, event_value(ev, "vdev"));

	if (kind)
		field_print(ev, kind, d->kind, sizeof(d->kind));
}

/*
 * QEMU's qapi/run-state.json: debug, inmigrate, internal-error, io-error, paused, postmigrate, prelaunch,
 * finish-migrate. A migration stops the VM with the last one; that it then becomes postmigrate is not notified. One
 * that fails lets the VM run again.
 */
enum { RUN_STATE_POSTMIGRATE = 5, RUN_STATE_FINISH_MIGRATE = 7 };

static void on_vm_state(struct elements *e, const struct event *ev)
{
	struct vm_clock *vm = elements_vm(e, ev->pid);
	bool stopped = !event_value(ev, "running");

	vm->migrated =
		stopped && (vm->migrated || event_value(ev, "state") == RUN_STATE_POSTMIGRATE ||
			    event_value(ev, "state") == RUN_STATE_FINISH_MIGRATE);
	if (stopped == vm->stopped)
		return;
	vm->stopped_ns = elements_stopped_ns(vm, ev->time_ns);
	vm->stopped = stopped;
	vm->since_ns = ev->time_ns;
}

static void on_lost(struct elements *e, const struct event *ev)
{
	uint64_t id = event_value(ev, "lost_event");
	const struct event_type *t = event_type_ours((unsigned int)id);

	if (t && !elements_wants(t->name, NULL))
		return;
	e->totals.lost += event_value(ev, "count");
	e->losses++;
	if (event_value(ev, "until") > e->blind_until_ns)
		e->blind_until_ns = event_value(ev, "until");
}

static const struct {
	const char *event;
	void (*on)(struct elements *e, const struct event *ev);
} handlers[] = {
	{"virtqueue_pop", on_pop},
	{"virtqueue_fill", on_fill},
	{"virtqueue_detach", on_detach},
	{"virtqueue_unpop", on_unpop},
	{"virtqueue_rewind", on_rewind},
	{"virtqueue_drop_all", on_drop_all},
	{"virtio_reset", on_reset},
	{"virtio_set_status", on_status},
	{"virtio_queue_reset", on_queue_reset},
	{"virtio_delete_queue", on_queue_gone},
	{"virtio_cleanup", on_cleanup},
	{"virtio_error", on_error},
	{"vhost_start", on_vhost},
	{"virtio_device", on_device},
	{"virtio_kind", on_kind},
	{"vm_state", on_vm_state},
	{"lost", on_lost},
};

enum { NR_HANDLERS = sizeof(handlers) / sizeof(handlers[0]) };

bool elements_wants(const char *event, void *arg)
{
	(void)arg;
	for (size_t i = 0; i < NR_HANDLERS; i++)
		if (!strcmp(handlers[i].event, event))
			return true;
	return false;
}

void elements_event(struct elements *e, const struct event *ev)
{
	static int8_t
		known[EVENT_TYPES_MAX]; /* by type: 0 not looked up, -1 none, else handler + 1 */
	int8_t *k = &known[ev->type->index];

	if (!*k) {
		*k = -1;
		for (size_t i = 0; i < NR_HANDLERS; i++)
			if (!strcmp(handlers[i].event, ev->type->name))
				*k = (int8_t)(i + 1);
	}
	if (*k > 0)
		handlers[*k - 1].on(e, ev);
}
