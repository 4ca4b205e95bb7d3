// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The elements in flight of a device, of a queue by its number, and of a VirtQueue: what a reset or a rewind ends is
 * found without looking at those of others. Each element is in three lists, in order of its pop; a list exists while it
 * has elements.
 */

#include "event/handlers.h"
#include "event/records.h"
#include "pairing/elements_private.h"

struct device_place {
	uint64_t pid, vdev;
	uint32_t index;
};

struct chain {
	uint64_t key[3];
	uint32_t oldest, newest; /* numbers of elements */
};

/* elements_chains.c: a new element is the newest of its chains; it leaves them before it is removed or changed. */
static struct hash_table element_chains_table(void)
{
	return HASH_TABLE(struct chain, 3, CHAINS * ELEMENTS_MAX);
}

static void key_make(enum element_chain which, uint32_t pid, uint64_t address, uint32_t queue,
		     uint64_t key[3])
{
	key[0] = (uint64_t)which << 32 | pid;
	key[1] = address;
	key[2] = which == CHAIN_QUEUE ? queue : 0;
}

static struct chain *chain_of(const struct elements *e, const struct open_element *o,
			      enum element_chain which, uint64_t key[3])
{
	key_make(which, o->pid, which == CHAIN_VQ ? o->vq : o->vdev, o->queue, key);
	return hash_find_words(&e->chains, key);
}

static void append(struct elements *e, struct open_element *o, enum element_chain which)
{
	uint64_t key[3];
	struct chain *c = chain_of(e, o, which, key);
	struct chain_link *link = &o->link[which];

	if (!c)
		c = hash_add_words(&e->chains, key, NULL);
	*link = (struct chain_link){.older = c ? c->newest : 0, .on = c};
	if (!c)
		return; /* out of memory: a reset will not end it */
	if (link->older)
		open_numbered(&e->open, link->older, struct open_element)->link[which].newer =
			o->begin.number;
	else
		c->oldest = o->begin.number;
	c->newest = o->begin.number;
}

static void unlink_from(struct elements *e, struct open_element *o, enum element_chain which)
{
	const struct chain_link *link = &o->link[which];
	uint64_t key[3];
	struct chain *c = link->older && link->newer ? NULL : chain_of(e, o, which, key);

	if (!link->on)
		return;
	if (link->older)
		open_numbered(&e->open, link->older, struct open_element)->link[which].newer =
			link->newer;
	else
		c->oldest = link->newer;
	if (link->newer)
		open_numbered(&e->open, link->newer, struct open_element)->link[which].older =
			link->older;
	else
		c->newest = link->older;
	if (c && !c->oldest)
		hash_remove(&e->chains, c);
}

static void element_chains_add(struct elements *e, struct open_element *o)
{
	for (unsigned int i = 0; i < CHAINS; i++)
		append(e, o, i);
}

static void element_chains_remove(struct elements *e, struct open_element *o)
{
	for (unsigned int i = 0; i < CHAINS; i++)
		unlink_from(e, o, i);
}

/*
 * The oldest or newest element of a chain, or NULL. address: of the device, or the VirtQueue; queue: number, for
 * CHAIN_QUEUE.
 */
static struct open_element *element_chain_end(const struct elements *e, enum element_chain which,
					      uint32_t pid, uint64_t address, uint32_t queue,
					      bool newest)
{
	const struct chain *c;
	uint64_t key[3];

	key_make(which, pid, address, queue, key);
	c = hash_find_words(&e->chains, key);
	return c ? open_numbered(&e->open, newest ? c->newest : c->oldest, struct open_element)
		 : NULL;
}

struct elements *elements_new(void)
{
	struct elements *e = calloc(1, sizeof(*e));

	if (!e)
		return NULL;
	e->open = OPEN_TABLE(struct open_element, 3, ELEMENTS_MAX);
	e->chains = element_chains_table();
	e->devices = HASH_TABLE(struct device_place, 2, ELEMENT_DEVICES_MAX);
	e->vms = HASH_TABLE(struct vm_clock, 1, ELEMENT_VMS_MAX);
	e->dropping = HASH_TABLE(struct dropping, 1, ELEMENT_DROPPING_MAX);
	e->device = calloc(ELEMENT_DEVICES_MAX, sizeof(*e->device));
	if (e->device)
		return e;
	elements_free(e);
	return NULL;
}

void elements_free(struct elements *e)
{
	if (!e)
		return;
	open_table_deinit(&e->open);
	hash_deinit(&e->chains);
	loss_state_deinit(&e->losses);
	hash_deinit(&e->devices);
	hash_deinit(&e->vms);
	hash_deinit(&e->dropping);
	free(e->device);
	free(e);
}

void elements_watch(struct elements *e, const struct element_watch *watch)
{
	e->watch = watch;
}

/* ---- elements in flight ---- */

static void watch_left(const struct elements *e, const struct open_element *o, enum element_end how,
		      const struct event *ev)
{
	struct element el = {.pid = o->pid,
			     .queue = o->queue,
			     .head = o->head,
			     .id = o->id,
			     .vq = o->vq,
			     .vdev = o->vdev,
			     .address = o->address,
			     .popped_ns = o->popped_ns,
			     .data = o->data,
			     .unknown = end_is_unknown(&e->losses, &o->mark, ev),
			     .device = "", .kind = ""};

	if (e->watch && e->watch->left)
		e->watch->left(e->watch->arg, &el, how, ev);
}

static void element_end(struct elements *e, struct open_element *o, enum element_end how,
			const struct event *ev, uint64_t *count)
{
	++*count;
	watch_left(e, o, how, ev);
	element_chains_remove(e, o);
	open_remove(&e->open, o);
}

/* ---- devices, VMs ---- */

struct device *elements_device(struct elements *e, uint32_t pid, uint64_t vdev)
{
	uint64_t key[] = {pid, vdev};
	bool is_new;
	struct device_place *p = hash_add_words(&e->devices, key, &is_new);

	if (!p)
		return NULL;
	if (is_new) {
		p->index = e->devices.nr - 1;
		e->device[p->index] = (struct device){.pid = pid, .vdev = vdev};
	}
	return &e->device[p->index];
}

const char *elements_kind(const struct elements *e, uint32_t pid, uint64_t vdev)
{
	const struct device_place *p = hash_find_words(&e->devices, (uint64_t[]){pid, vdev});

	return p ? e->device[p->index].kind : "";
}

struct vm_clock *elements_vm(struct elements *e, uint32_t pid)
{
	return hash_add_u64(&e->vms, pid, NULL);
}

uint64_t elements_stopped_ns(const struct vm_clock *vm, uint64_t now_ns)
{
	return vm->stopped_ns + (vm->stopped && now_ns > vm->since_ns ? now_ns - vm->since_ns : 0);
}

/* ---- what events do ---- */

static struct open_element *pop_open(struct elements *e, const struct event *ev,
				     const struct virtio_ids *ids)
{
	struct pair_key key = {{ev->pid, ids->vq, ids->id}};
	struct open_element *o = open_find(&e->open, key);

	if (!o)
		return open_add(&e->open, key);
	watch_left(e, o, ELEMENT_REPLACED, ev);
	e->totals.replaced++;
	element_chains_remove(e, o);
	open_renew(&e->open, o);
	return o;
}

static void on_pop(struct elements *e, const struct event *ev)
{
	struct virtio_ids ids = virtio_ids_of(ev);
	struct open_element *o = pop_open(e, ev, &ids);

	e->totals.popped++;
	e->pops_have[ids.head != VIRTIO_NO_HEAD] = true;
	if (!o) {
		e->totals.overflow++;
		return;
	}
	e->unpopping.vq = 0; /* the same head may come and go again */
	*o = (struct open_element){
		.begin = o->begin,
		.pid = ev->pid,
		.head = ids.head,
		.id = ids.id,
		.queue = ids.queue,
		.vq = ids.vq,
		.vdev = ids.vdev,
		.address = ids.elem,
		.popped_ns = ev->time_ns,
		.data = virtio_data_of(ev),
		.stopped_ns = elements_stopped_ns(elements_vm(e, ev->pid), ev->time_ns),
		.mark = loss_mark_of(&e->losses, ev)};
	element_chains_add(e, o);
	if (e->watch && e->watch->popped)
		e->watch->popped(e->watch->arg, ev);
}

/* All in flight may have ended by this event: the recording lacks what it is about. */
static void all_doubt(struct elements *e)
{
	e->totals.incomplete++;
	e->losses.nr++;
}

/* An element leaves the device: counted in `count`, or as returned-before if its pop was not seen. */
static void on_leave(struct elements *e, const struct event *ev, uint64_t *count,
		     enum element_end how)
{
	struct virtio_ids ids = virtio_ids_of(ev);
	struct open_element *o = open_find(&e->open, (struct pair_key){{ev->pid, ids.vq, ids.id}});

	if (o)
		element_end(e, o, how, ev, count);
	else if (e->pops_have[ids.head == VIRTIO_NO_HEAD]) /* which of those it ends is not known */
		all_doubt(e);
	else
		e->totals.before++;
}

static void on_fill(struct elements *e, const struct event *ev)
{
	if (!hash_find_u64(&e->dropping, ev->tid))
		on_leave(e, ev, &e->totals.returned, ELEMENT_RETURNED);
}

/* A detach and an unpop of the same element: one of the two counts, whichever is seen first. */
static bool unpopping_is_counted(struct elements *e, const struct event *ev)
{
	struct virtio_ids ids = virtio_ids_of(ev);
	bool counted = e->unpopping.tid == ev->tid && e->unpopping.vq == ids.vq &&
		       e->unpopping.id == ids.id;

	e->unpopping.tid = ev->tid;
	e->unpopping.vq = counted ? 0 : ids.vq;
	e->unpopping.id = ids.id;
	return counted;
}

static void on_detach(struct elements *e, const struct event *ev)
{
	if (!unpopping_is_counted(e, ev))
		on_leave(e, ev, &e->totals.detached, ELEMENT_DETACHED);
}

static void on_unpop(struct elements *e, const struct event *ev)
{
	if (!unpopping_is_counted(e, ev))
		on_leave(e, ev, &e->totals.unpopped, ELEMENT_UNPOPPED);
}

/* All in flight whose device is not known may have ended, by an event of a device. They are doubted once. */
/* So may those whose device is not known, by an event of a device. They are doubted once. */
static void unnamed_doubt(struct elements *e, uint32_t pid)
{
	struct open_element *o;

	while ((o = element_chain_end(e, CHAIN_DEVICE, pid, 0, 0, false))) {
		o->mark.nr = UINT64_MAX;
		unlink_from(e, o, CHAIN_DEVICE);
		o->link[CHAIN_DEVICE] = (struct chain_link){0};
	}
}

/* Or those of a VirtQueue: from the newest on, as older ones than one that is doubted are, too. */
static void vq_doubt(const struct elements *e, uint32_t pid, uint64_t vq)
{
	struct open_element *o = element_chain_end(e, CHAIN_VQ, pid, vq, 0, true);

	for (uint32_t older; o && o->mark.nr != UINT64_MAX;
	     o = older ? open_numbered(&e->open, older, struct open_element) : NULL) {
		older = o->link[CHAIN_VQ].older;
		o->mark.nr = UINT64_MAX;
	}
}

static void on_rewind(struct elements *e, const struct event *ev)
{
	RECORD(virtqueue_rewind, r, ev);
	struct open_element *o;

	if (!record_has(ev, virtqueue_rewind, count)) {
		e->totals.incomplete++;
		vq_doubt(e, ev->pid, r->vq);
		return;
	}
	for (uint32_t left = r->count;
	     left && (o = element_chain_end(e, CHAIN_VQ, ev->pid, r->vq, 0, true)); left--)
		element_end(e, o, ELEMENT_UNPOPPED, ev, &e->totals.unpopped);
}

static void on_drop_all(struct elements *e, const struct event *ev)
{
	RECORD(virtqueue_drop_all, r, ev);
	bool enter = !r->leave;

	if (!record_has(ev, virtqueue_drop_all, leave)) { /* its fills end elements that are in flight, if any */
		e->totals.incomplete++;
		return;
	}
	struct dropping *d = enter ? hash_add_u64(&e->dropping, ev->tid, NULL)
				   : hash_find_u64(&e->dropping, ev->tid);

	if (enter && d)
		d->depth++;
	else if (enter)
		e->totals.unchecked_threads++;
	else if (d && !--d->depth)
		hash_remove(&e->dropping, d);
}

/* All elements of a device, or of one of its queues (vq not 0, or queue not ~0). */
static void clear(struct elements *e, const struct event *ev, uint64_t vdev, uint64_t vq,
		  uint64_t queue)
{
	enum element_chain which = vq ? CHAIN_VQ : queue == ~0ull ? CHAIN_DEVICE : CHAIN_QUEUE;
	struct open_element *o;

	if (!vq)
		unnamed_doubt(e, ev->pid);
	while ((o = element_chain_end(e, which, ev->pid, vq ? vq : vdev, (uint32_t)queue, false)))
		element_end(e, o, ELEMENT_RESET, ev, &e->totals.reset);
	if (e->watch && e->watch->cleared)
		e->watch->cleared(e->watch->arg, ev, vdev, queue);
}

static struct device *device_of(struct elements *e, const struct event *ev)
{
	return elements_device(e, ev->pid, virtio_ids_of(ev).vdev);
}

static void on_reset(struct elements *e, const struct event *ev)
{
	RECORD(virtio_reset, r, ev);
	struct device *d = elements_device(e, ev->pid, r->vdev);

	e->sees_resets = true;
	if (!r->leave && record_has(ev, virtio_reset, leave))
		return;
	clear(e, ev, d->vdev, 0, ~0ull);
	d->broken = d->resetting = d->vhost = false;
}

static void on_status(struct elements *e, const struct event *ev)
{
	RECORD(virtio_set_status, r, ev);
	struct device *d = elements_device(e, ev->pid, r->vdev);

	if (!record_has(ev, virtio_set_status, status)) {
		all_doubt(e);
		return;
	}
	if (d->status_known && d->status == r->status)
		return;
	d->status = r->status;
	d->status_known = true;
	if (!r->status) {
		d->resetting = true;
		return;
	}
	if (d->resetting && !e->sees_resets)
		clear(e, ev, d->vdev, 0, ~0ull);
	/* virtio_error() itself sets a bit of the status: only a reset makes the device work again. */
	if (d->resetting)
		d->resetting = d->broken = false;
}

static void on_queue_reset(struct elements *e, const struct event *ev)
{
	struct virtio_ids ids = virtio_ids_of(ev);

	clear(e, ev, ids.vdev, 0, ids.queue == VIRTIO_NO_QUEUE ? ~0ull : ids.queue);
}

static void on_queue_gone(struct elements *e, const struct event *ev)
{
	struct virtio_ids ids = virtio_ids_of(ev);

	clear(e, ev, ids.vdev, ids.vq, ids.queue == VIRTIO_NO_QUEUE ? ~0ull : ids.queue);
}

/* Unplugged: another device may get this address. */
static void on_cleanup(struct elements *e, const struct event *ev)
{
	struct device *d = device_of(e, ev);

	clear(e, ev, d->vdev, 0, ~0ull);
	d->status_known = d->resetting = d->broken = d->vhost = false;
}

static void on_error(struct elements *e, const struct event *ev)
{
	device_of(e, ev)->broken = true;
}

static void on_vhost(struct elements *e, const struct event *ev)
{
	struct device *d = device_of(e, ev);

	d->vhost = d->was_vhost = true;
}

static void on_device(struct elements *e, const struct event *ev)
{
	RECORD(virtio_device, r, ev);
	struct device *d = elements_device(e, ev->pid, r->vdev);

	if (record_has(ev, virtio_device, path))
		RECORD_TEXT(r, path, d->path);
	*d->kind = '\0'; /* of what had this address before */
}

static void on_kind(struct elements *e, const struct event *ev)
{
	RECORD(virtio_kind, r, ev);
	struct device *d = elements_device(e, ev->pid, r->vdev);

	if (record_has(ev, virtio_kind, kind))
		RECORD_TEXT(r, kind, d->kind);
}

/*
 * A migration stops the VM with finish-migrate; that it then becomes postmigrate is not notified. One that fails lets
 * the VM run again.
 */
static void on_vm_state(struct elements *e, const struct event *ev)
{
	RECORD(vm_state, r, ev);
	struct vm_clock *vm = elements_vm(e, ev->pid);
	bool stopped = !r->running && record_has(ev, vm_state, running);

	vm->migrated = stopped && (vm->migrated || r->state == RUN_STATE_POSTMIGRATE ||
				   r->state == RUN_STATE_FINISH_MIGRATE);
	if (stopped == vm->stopped)
		return;
	vm->stopped_ns = elements_stopped_ns(vm, ev->time_ns);
	vm->stopped = stopped;
	vm->since_ns = ev->time_ns;
}

static void on_lost(struct elements *e, const struct event *ev)
{
	bool matters = loss_matters(ev, elements_wants);

	if (matters)
		losses_add(&e->totals.lost, ev); /* of a gap it counts nothing */
	loss_state_add(&e->losses, ev, matters);
}

static const HANDLERS(struct elements) handlers = {{
	[EV_virtqueue_pop] = on_pop,
	[EV_virtqueue_fill] = on_fill,
	[EV_virtqueue_detach] = on_detach,
	[EV_virtqueue_unpop] = on_unpop,
	[EV_virtqueue_rewind] = on_rewind,
	[EV_virtqueue_drop_all] = on_drop_all,
	[EV_virtio_reset] = on_reset,
	[EV_virtio_set_status] = on_status,
	[EV_virtio_queue_reset] = on_queue_reset,
	[EV_virtio_delete_queue] = on_queue_gone,
	[EV_virtio_cleanup] = on_cleanup,
	[EV_virtio_error] = on_error,
	[EV_vhost_start] = on_vhost,
	[EV_virtio_device] = on_device,
	[EV_virtio_kind] = on_kind,
	[EV_vm_state] = on_vm_state,
	[EV_lost] = on_lost,
	[EV_gap] = on_lost,
}};

bool elements_wants(const char *event, void *arg)
{
	(void)arg;
	return handlers_want(&handlers, event);
}

bool elements_take(const struct event *ev)
{
	return handlers_have(&handlers, ev);
}

/* Is the event's VM within the limits, and its device where it has one? */
static bool is_checked(struct elements *e, const struct event *ev)
{
	struct virtio_ids ids;
	bool fits;

	if (ev->type->id == EV_lost || ev->type->id == EV_gap)
		return true;
	if (!elements_vm(e, ev->pid)) {
		e->totals.unchecked_vms++;
		return false;
	}
	ids = virtio_ids_of(ev);
	if (ids.of_element && !ids.is_known) {
		e->totals.unidentified++;
		return false;
	}
	if (ids.of_device && !ids.vdev && !ids.vq) {
		if (ev->type->id != EV_virtio_device && ev->type->id != EV_virtio_kind)
			all_doubt(e);
		return false;
	}
	fits = !ids.of_device || elements_device(e, ev->pid, ids.vdev);
	e->totals.unchecked_devices += !fits;
	return fits;
}

void elements_window(struct elements *e, uint64_t since_ns)
{
	e->since_ns = since_ns;
}

/* What could not be checked before the window is not known in it either. */
void elements_window_begin(struct elements *e)
{
	e->totals = (struct element_totals){.at_start = e->open.nr,
					    .overflow = e->totals.overflow,
					    .unidentified = e->totals.unidentified,
					    .incomplete = e->totals.incomplete,
					    .unchecked_devices = e->totals.unchecked_devices,
					    .unchecked_vms = e->totals.unchecked_vms,
					    .unchecked_threads = e->totals.unchecked_threads};
	e->since_ns = 0;
}

const struct element_totals *elements_totals(const struct elements *e)
{
	return &e->totals;
}

void elements_event(struct elements *e, const struct event *ev)
{
	if (e->since_ns && ev->time_ns >= e->since_ns)
		elements_window_begin(e);
	if (handlers_have(&handlers, ev) && is_checked(e, ev))
		handlers.on[ev->type->id](e, ev);
}
