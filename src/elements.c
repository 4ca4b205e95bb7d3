// SPDX-License-Identifier: GPL-2.0-or-later
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "elements.h"

enum {
	SLOTS = 2 * ELEMENTS_MAX,
	DROPPING_MAX = 256,
	VMS_MAX = 1024,
	PATH_MAX_LEN = 128,
	BALLOON_STATS_QUEUE = 2
};

struct out { /* an element that the device has */
	uint32_t pid, head, queue;
	uint64_t vq, vdev, address, popped_ns;
	uint64_t stopped_ns; /* of its VM, when it was popped */
	uint64_t order;
	uint64_t losses; /* reports of lost events before it was popped */
	bool used;
};

struct device {
	uint32_t pid;
	uint64_t vdev;
	char path[PATH_MAX_LEN];
	uint32_t status;
	bool status_known, resetting, broken, vhost;
	bool holds; /* one element by design, found at the end */
};

struct vm_clock {
	uint32_t pid;
	bool stopped, migrated;
	uint64_t since_ns, stopped_ns; /* stopped since; stopped in all before that */
};

struct elements {
	struct out *out; /* open-addressed by (pid, vq, head) */
	uint64_t nr, order, losses, blind_until_ns; /* end of the newest window of loss */
	struct device *device;
	unsigned int nr_devices;
	struct vm_clock vm[VMS_MAX];
	unsigned int nr_vms;
	struct {
		uint32_t tid;
		unsigned int depth;
	} dropping[DROPPING_MAX]; /* threads inside virtqueue_drop_all */
	bool sees_resets;	  /* the trace has virtio_reset events */
	struct element_totals totals;
	const struct element_watch *watch;
};

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

static uint64_t get(const struct event *ev, const char *name)
{
	const struct field *f = event_field(ev->type, name);

	return f ? event_u64(ev, f) : 0;
}

static struct device *device_of(struct elements *e, uint32_t pid, uint64_t vdev)
{
	for (unsigned int i = 0; i < e->nr_devices; i++)
		if (e->device[i].pid == pid && e->device[i].vdev == vdev)
			return &e->device[i];
	if (e->nr_devices == ELEMENT_DEVICES_MAX)
		return &e->device[ELEMENT_DEVICES_MAX - 1];
	e->device[e->nr_devices] = (struct device){.pid = pid, .vdev = vdev};
	return &e->device[e->nr_devices++];
}

static struct vm_clock *vm_of(struct elements *e, uint32_t pid)
{
	for (unsigned int i = 0; i < e->nr_vms; i++)
		if (e->vm[i].pid == pid)
			return &e->vm[i];
	if (e->nr_vms == VMS_MAX)
		return &e->vm[VMS_MAX - 1];
	e->vm[e->nr_vms] = (struct vm_clock){.pid = pid};
	return &e->vm[e->nr_vms++];
}

static uint64_t stopped_until(const struct vm_clock *vm, uint64_t now_ns)
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
	uint64_t vq = get(ev, "vq");
	uint32_t head = (uint32_t)get(ev, "head");
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
	*o = (struct out){.pid = ev->pid,
			  .head = head,
			  .queue = (uint32_t)get(ev, "queue"),
			  .vq = vq,
			  .vdev = get(ev, "vdev"),
			  .address = get(ev, "elem"),
			  .popped_ns = ev->time_ns,
			  .stopped_ns = stopped_until(vm_of(e, ev->pid), ev->time_ns),
			  .order = e->order++,
			  .losses = e->losses - (ev->time_ns < e->blind_until_ns),
			  .used = true};
	if (e->watch)
		e->watch->popped(e->watch->arg, ev);
}

/* One element leaves the device: counted in `count`, or as returned-before if it was never seen
 * popped. */
static void on_leave(struct elements *e, const struct event *ev, uint64_t *count,
		     enum element_end how)
{
	struct out *o = find(e, ev->pid, get(ev, "vq"), (uint32_t)get(ev, "head"));

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

static void on_detach(struct elements *e, const struct event *ev)
{
	on_leave(e, ev, &e->totals.detached, ELEMENT_DETACHED);
}

/* QEMU's unpop calls detach where the compiler did not inline it: then the element is gone already.
 */
static void on_unpop(struct elements *e, const struct event *ev)
{
	if (find(e, ev->pid, get(ev, "vq"), (uint32_t)get(ev, "head")))
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
	uint64_t vq = get(ev, "vq"), from;

	if (!nth_newest(e, ev->pid, vq, get(ev, "count"), &from))
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

	if (!get(ev, "leave"))
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
	struct device *d = device_of(e, ev->pid, get(ev, "vdev"));

	e->sees_resets = true;
	if (!get(ev, "leave"))
		return;
	clear(e, ev, d->vdev, 0, ~0ull);
	d->broken = d->resetting = d->vhost = false;
}

static void on_status(struct elements *e, const struct event *ev)
{
	struct device *d = device_of(e, ev->pid, get(ev, "vdev"));
	uint32_t status = (uint32_t)get(ev, "status");

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
	clear(e, ev, get(ev, "vdev"), 0, get(ev, "queue"));
}

static void on_queue_gone(struct elements *e, const struct event *ev)
{
	clear(e, ev, get(ev, "vdev"), get(ev, "vq"), get(ev, "queue"));
}

static void on_error(struct elements *e, const struct event *ev)
{
	device_of(e, ev->pid, get(ev, "vdev"))->broken = true;
}

static void on_vhost(struct elements *e, const struct event *ev)
{
	device_of(e, ev->pid, get(ev, "vdev"))->vhost = true;
}

static void on_device(struct elements *e, const struct event *ev)
{
	const struct field *path = event_field(ev->type, "path");
	struct device *d = device_of(e, ev->pid, get(ev, "vdev"));

	if (path)
		field_print(ev, path, d->path, sizeof(d->path));
}

enum {
	RUN_STATE_POSTMIGRATE = 5
}; /* QEMU's qapi/run-state.json: debug, inmigrate, internal-error, io-error, paused, .. */

static void on_vm_state(struct elements *e, const struct event *ev)
{
	struct vm_clock *vm = vm_of(e, ev->pid);
	bool stopped = !get(ev, "running");

	if (stopped && get(ev, "state") == RUN_STATE_POSTMIGRATE)
		vm->migrated = true;
	if (stopped == vm->stopped)
		return;
	vm->stopped_ns = stopped_until(vm, ev->time_ns);
	vm->stopped = stopped;
	vm->since_ns = ev->time_ns;
}

static void on_lost(struct elements *e, const struct event *ev)
{
	uint64_t id = get(ev, "lost_event");
	const struct event_type *t = event_type_ours((unsigned int)id);

	if (t && !elements_want(t->name))
		return;
	e->totals.lost += get(ev, "count");
	e->losses++;
	if (get(ev, "until") > e->blind_until_ns)
		e->blind_until_ns = get(ev, "until");
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
	{"virtio_error", on_error},
	{"vhost_start", on_vhost},
	{"virtio_device", on_device},
	{"vm_state", on_vm_state},
	{"lost", on_lost},
};

enum { NR_HANDLERS = sizeof(handlers) / sizeof(handlers[0]) };

bool elements_want(const char *event)
{
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

/* ---- the verdict ---- */

static enum element_verdict judge(struct elements *e, const struct out *o, const struct device *d,
				  uint64_t age_ns, uint64_t min_age_ns)
{
	if (vm_of(e, o->pid)->migrated)
		return ELEMENT_MIGRATED;
	if (d->broken)
		return ELEMENT_BROKEN_DEVICE;
	if (d->vhost)
		return ELEMENT_NOT_VISIBLE;
	if (o->losses != e->losses)
		return ELEMENT_UNKNOWN;
	return age_ns >= min_age_ns ? ELEMENT_LEAKED : ELEMENT_IN_FLIGHT;
}

static int by_pop(const void *a, const void *b)
{
	const struct element *x = a, *y = b;

	return x->popped_ns < y->popped_ns ? -1 : x->popped_ns > y->popped_ns;
}

static uint64_t *total_of(struct element_totals *t, enum element_verdict v)
{
	switch (v) {
	case ELEMENT_LEAKED:
		return &t->leaked;
	case ELEMENT_HELD:
		return &t->held;
	case ELEMENT_IN_FLIGHT:
		return &t->in_flight;
	default:
		return &t->other;
	}
}

/* The balloon keeps the oldest element of its statistics queue, and only that one. */
static bool held(struct elements *e, const struct element *el)
{
	struct device *d = device_of(e, el->pid, el->vdev);

	if (d->holds || el->queue != BALLOON_STATS_QUEUE || !strstr(d->path, "balloon"))
		return false;
	d->holds = true;
	return true;
}

int elements_end(struct elements *e, uint64_t end_ns, uint64_t min_age_ns, struct element **ret,
		 size_t *ret_nr, struct element_totals *totals)
{
	struct element *list = calloc(e->nr + 1, sizeof(*list));
	size_t nr = 0;

	if (!list)
		return fail(-ENOMEM, "out of memory");
	for (size_t i = 0; i < SLOTS; i++) {
		const struct out *o = &e->out[i];

		if (!o->used)
			continue;
		struct device *d = device_of(e, o->pid, o->vdev);

		if (d->resetting && !e->sees_resets) { /* only statuses are seen: the reset is under way */
			e->totals.reset++;
			continue;
		}
		uint64_t stopped = stopped_until(vm_of(e, o->pid), end_ns) - o->stopped_ns;
		uint64_t age =
			end_ns > o->popped_ns + stopped ? end_ns - o->popped_ns - stopped : 0;
		list[nr++] = (struct element){.pid = o->pid,
					      .queue = o->queue,
					      .head = o->head,
					      .vq = o->vq,
					      .vdev = o->vdev,
					      .address = o->address,
					      .popped_ns = o->popped_ns,
					      .age_ns = age,
					      .device = d->path,
					      .verdict = judge(e, o, d, age, min_age_ns)};
	}
	qsort(list, nr, sizeof(*list), by_pop);
	for (size_t i = 0; i < nr; i++) {
		if (held(e, &list[i]))
			list[i].verdict = ELEMENT_HELD;
		++*total_of(&e->totals, list[i].verdict);
	}
	*ret = list;
	*ret_nr = nr;
	*totals = e->totals;
	return 0;
}

unsigned int elements_vhost(const struct elements *e, const char **ret_device, unsigned int max)
{
	unsigned int nr = 0;

	for (unsigned int i = 0; i < e->nr_devices && nr < max; i++)
		if (e->device[i].vhost)
			ret_device[nr++] = e->device[i].path;
	return nr;
}

const char *element_verdict_name(enum element_verdict v)
{
	static const char *const name[] = {
		[ELEMENT_LEAKED] = "leaked",
		[ELEMENT_IN_FLIGHT] = "in-flight",
		[ELEMENT_HELD] = "held",
		[ELEMENT_MIGRATED] = "migrated",
		[ELEMENT_BROKEN_DEVICE] = "broken device",
		[ELEMENT_NOT_VISIBLE] = "not visible",
		[ELEMENT_UNKNOWN] = "unknown (events lost)",
	};

	return name[v];
}
