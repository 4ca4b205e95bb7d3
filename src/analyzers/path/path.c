// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Collects the points of each element. The kick that an element is popped for is the newest one of its queue; those
 * popped after the first one in the same run of the handler have none of their own ("batched"). A handler's run ends
 * when its thread sleeps: on a receive queue a kick is not what the next pop waits for.
 */
#include <errno.h>

#include "analyzers/path/internal.h"
#include "base/array.h"
#include "event/handlers.h"
#include "event/records.h"
#include "event/virtio_ids.h"

#define QEMU "hostrace record --for requests"

const struct path_point_info path_points[PATH_POINTS] = {
	[POINT_ISSUE] = {"issue", "guest:block_rq_issue", "hostrace record --guest"},
	[POINT_KICK] = {"kick", "sched_woken and kvm_exit", QEMU},
	[POINT_HANDLER] = {"handler", "virtio_queue_notify", QEMU},
	[POINT_ARRIVE] = {"arrive", "sched_woken and net_packet", QEMU},
	[POINT_RECEIVE] = {"receive", "net_packet", QEMU},
	[POINT_POP] = {"pop", "virtqueue_pop", QEMU},
	[POINT_SEND] = {"send", "net_send", QEMU},
	[POINT_SUBMIT] = {"submit", "host_io", QEMU},
	[POINT_DISPATCH] = {"dispatch", "host_io", QEMU},
	[POINT_DONE] = {"done", "host_io", QEMU},
	[POINT_PUSH] = {"push", "virtqueue_fill", QEMU},
	[POINT_NOTIFY] = {"notify", "virtio_notify", QEMU},
	[POINT_RAISE] = {"raise", "kvm_msi_set_irq or kvm_set_irq", QEMU},
	[POINT_INJECT] = {"inject", "kvm_inj_virq",
			  QEMU ", where interrupts are not posted and the guest wants them"},
	[POINT_IRQ] = {"irq", "guest:irq_handler_entry", "hostrace record --guest"},
	[POINT_COMPLETE] = {"complete", "guest:block_rq_complete", "hostrace record --guest"},
};

const char *const path_role_names[PATH_ROLES] = {
	[PATH_NOBODY] = "host",
	[PATH_VCPU] = "vCPU",
	[PATH_IO_THREAD] = "I/O thread",
	[PATH_WORKER] = "worker",
};

/* ---- devices ---- */

static struct path_device *device_get(struct path *p, const struct event *ev)
{
	return hash_add_words(&p->devices, (uint64_t[]){ev->pid, virtio_ids_of(ev).vdev}, NULL);
}

static void on_device(struct path *p, const struct event *ev)
{
	RECORD(virtio_device, r, ev);
	struct path_device *d = record_has(ev, virtio_device, path) ? device_get(p, ev) : NULL;
	char text[PATH_DEVICE_BYTES];

	if (!d || d->path) /* the name of what was there first: requests point to it */
		return;
	RECORD_TEXT(r, path, text);
	d->path = strdup(text);
}

static void on_kind(struct path *p, const struct event *ev)
{
	RECORD(virtio_kind, r, ev);
	struct path_device *d = record_has(ev, virtio_kind, kind) ? device_get(p, ev) : NULL;
	char text[PATH_DEVICE_BYTES];

	if (!d)
		return;
	RECORD_TEXT(r, kind, text);
	d->no_disk = strcmp(text, "virtio-blk") && strcmp(text, "virtio-scsi");
	d->is_net = !strcmp(text, "virtio-net");
}

static const struct path_device *device_find(const struct path *p, uint32_t pid, uint64_t vdev)
{
	return hash_find_words(&p->devices, (uint64_t[]){pid, vdev});
}

/* ---- kicks ---- */

/*
 * When the vCPU began to notify: through a userspace exit the handler runs in its own thread; through an ioeventfd it
 * has woken the handler's thread. Who was woken by another one, or not at all, did not sleep for this kick.
 */
static void kick_find(const struct path *p, struct path_queue *q, const struct event *ev)
{
	const struct thread_log *own = threads_find(&p->threads, ev->source, ev->tid), *vcpu = own;

	q->kick_ns = q->kick_tid = 0;
	if (!own)
		return;
	q->kick_ns = thread_exit_ns(&p->threads, own, ev);
	if (!q->kick_ns) {
		vcpu = own->woken_ns ? threads_find(&p->threads, ev->source, own->waker_tid) : NULL;
		if (!vcpu || !thread_is_vcpu(vcpu) || vcpu->model.pid != ev->pid)
			return;
		q->kick_ns = own->woken_exit_ns ? own->woken_exit_ns : own->woken_ns;
	}
	q->kick_tid = vcpu->model.tid;
}

static void on_kick(struct path *p, const struct event *ev)
{
	struct path_queue *q = path_queue_of(p, ev);
	struct thread_log *own = threads_find(&p->threads, ev->source, ev->tid);

	p->totals.saw[POINT_HANDLER] = true;
	if (!q)
		return;
	p->totals.kicks += ev->time_ns >= p->since_ns;
	kick_find(p, q, ev);
	q->handler_ns = q->newest_kick_ns = ev->time_ns;
	q->handler_tid = ev->tid;
	q->popped_ns = 0;
	if (own)
		own->woken_ns = 0; /* it was woken for this one */
}

/* Is the thread still in the run of the queue's handler? */
static bool in_handler(const struct path *p, const struct path_queue *q, const struct event *ev)
{
	const struct thread_log *log = threads_find(&p->threads, ev->source, ev->tid);

	return q->handler_ns && q->handler_tid == ev->tid &&
	       !(log && thread_slept(log, q->handler_ns, ev->time_ns));
}

/* ---- elements ---- */

static void open_key(uint64_t key[2], uint32_t pid, uint32_t head, uint64_t vq, uint64_t id)
{
	key[0] = (uint64_t)pid << 32 | head;
	key[1] = head == VIRTIO_NO_HEAD ? id : vq;
}

static void path_element_popped(void *arg, const struct event *ev)
{
	struct path *p = arg;
	struct virtio_ids ids = virtio_ids_of(ev);
	struct path_queue *q = path_queue_of(p, ev);
	const struct path_device *d;
	struct path_open *o;
	uint64_t key[2];

	p->totals.saw[POINT_POP] = true;
	open_key(key, ev->pid, ids.head, ids.vq, ids.id);
	o = hash_add_words(&p->open, key, NULL);
	if (!o || !q)
		return;
	d = device_find(p, ev->pid, ids.vdev);
	*o = (struct path_open){.key = {key[0], key[1]},
				.pop_ns = ev->time_ns,
				.pop_tid = ev->tid,
				.pid = ev->pid,
				.no_disk = d && d->no_disk};
	p->totals.disks |= !o->no_disk;
	if (d && d->is_net && net_popped(p, q, o, ev))
		return;
	if (!in_handler(p, q, ev)) {
		q->handler_ns = 0;
		return;
	}
	o->batched = q->popped_ns;
	if (!o->batched) {
		o->kick_ns = q->kick_ns;
		o->kick_tid = q->kick_tid;
		o->handler_ns = q->handler_ns;
	}
	q->popped_ns = ev->time_ns;
}

/* Immediately follows the element's pop. */
static void on_blk(struct path *p, const struct event *ev)
{
	RECORD(blk_request, r, ev);
	struct path_open *o;
	uint64_t key[2];

	open_key(key, ev->pid, r->head, r->vq, r->head);
	o = hash_find_words(&p->open, key);
	if (!o)
		return;
	o->sector = r->sector;
	o->blk_type = 1 + r->type;
}

static void waiting_add(struct path *p, struct path_queue *q, size_t index)
{
	if (q->nr == PATH_WAITING_MAX) {
		path_waiting_drop(q, 0, 1);
		q->nr_notified -= q->nr_notified > 0;
		q->nr_raised -= q->nr_raised > 0;
	}
	if (array_room(q->waiting, q->nr))
		p->err = -ENOMEM;
	else
		q->waiting[q->nr++] = (uint32_t)index;
}

static void request_add(struct path *p, const struct element *el, const struct path_open *o,
			const struct event *ev)
{
	RECORD(virtqueue_fill, fill, ev);
	struct path_queue *q = path_queue_get(p, el->pid, el->vdev, el->queue, el->vq, ev);
	const struct path_device *d = device_find(p, el->pid, el->vdev);
	struct path_request *rq;

	if (p->nr == PATH_REQUESTS_MAX) {
		p->totals.refused++;
		return;
	}
	if (array_room(p->request, p->nr)) {
		p->err = -ENOMEM;
		return;
	}
	rq = &p->request[p->nr];
	*rq = (struct path_request){.pid = el->pid,
				    .queue = el->queue,
				    .head = el->head,
				    .source = ev->source,
				    .device = d && d->path ? d->path : "",
				    .kind = elements_type(p->elements, el->pid, el->vdev),
				    .data = el->data,
				    .no_disk = o->no_disk,
				    .sector = o->sector,
				    .blk_type = o->blk_type,
				    .pop_tid = o->pop_tid,
				    .push_tid = ev->tid,
				    .kick_tid = o->kick_tid,
				    .batched = o->batched};
	if (o->blk_type == PATH_BLK_READ && fill->len)
		rq->bytes = fill->len - 1; /* the last one is the status */
	rq->at[POINT_KICK] = o->kick_ns;
	rq->at[POINT_HANDLER] = o->handler_ns;
	rq->at[POINT_ARRIVE] = o->arrive_ns;
	rq->at[POINT_RECEIVE] = o->receive_ns;
	rq->at[POINT_POP] = el->popped_ns;
	rq->at[POINT_SEND] = o->send_ns;
	rq->at[POINT_PUSH] = ev->time_ns;
	p->totals.saw[POINT_KICK] |= o->kick_ns != 0;
	if (q)
		waiting_add(p, q, p->nr);
	p->nr++;
}

static void path_element_left(void *arg, const struct element *el, enum element_end how,
			      const struct event *ev)
{
	struct path *p = arg;
	struct path_open *o;
	uint64_t key[2];

	open_key(key, el->pid, el->head, el->vq, el->id);
	o = hash_find_words(&p->open, key);
	if (!o)
		return;
	p->totals.saw[POINT_PUSH] = true;
	if (how == ELEMENT_RETURNED && ev->time_ns >= p->since_ns) {
		if (el->unknown)
			p->totals.unknown++;
		else
			request_add(p, el, o, ev);
	}
	if (how != ELEMENT_REPLACED)
		hash_remove(&p->open, o);
}

static void path_element_cleared(void *arg, const struct event *ev, uint64_t vdev, uint64_t index)
{
	struct path *p = arg;
	struct path_queue *q = NULL;
	struct path_cleared *c = NULL;

	if (index == UINT64_MAX)
		c = hash_add_words(&p->cleared, (uint64_t[]){ev->pid, vdev}, NULL);
	else
		q = path_queue_find(p, (uint64_t[]){(uint64_t)ev->pid << 32 | index, vdev}, ev);
	if (c)
		c->nr++;
	if (q)
		q->handler_ns = 0;
}

/* ---- I/O of the host, losses ---- */

static void on_io(struct path *p, const struct event *ev)
{
	RECORD(host_io, r, ev);
	uint64_t total = r->total_ns, device = r->device_ns;
	struct path_io *io;

	p->totals.saw[POINT_SUBMIT] = p->totals.saw[POINT_DONE] = true;
	p->totals.saw[POINT_DISPATCH] |= device != 0;
	if (p->nr_ios == PATH_IOS_MAX) {
		p->totals.refused++;
		return;
	}
	if (array_room(p->io, p->nr_ios)) {
		p->err = -ENOMEM;
		return;
	}
	io = &p->io[p->nr_ios++];
	*io = (struct path_io){.submit_ns = ev->time_ns > total ? ev->time_ns - total : 0,
			       .dispatch_ns = device && device <= total && total <= ev->time_ns
						      ? ev->time_ns - device
						      : 0,
			       .done_ns = ev->time_ns,
			       .inode = r->inode,
			       .bytes = r->bytes,
			       .dev = r->dev,
			       .op = r->op,
			       .pid = ev->pid,
			       .tid = ev->tid,
			       .source = ev->source};
	io->offset = io->inode ? r->offset : r->sector * 512;
}

static void on_lost(struct path *p, const struct event *ev)
{
	loss_state_add(&p->losses, ev, loss_matters(ev, path_wants));
}

/* ---- all events ---- */

static void vcpu_learn(struct path *p, const struct event *ev)
{
	struct path_vcpu *v =
		hash_add_u64(&p->vcpus, (uint64_t)ev->pid << 16 | ev->vcpu, NULL);

	if (v)
		v->tid = ev->tid;
}

static const HANDLERS(struct path) handlers = {{
	[EV_kvm_exit] = vcpu_learn,
	[EV_kvm_userspace_exit] = vcpu_learn,
	[EV_virtio_device] = on_device,
	[EV_virtio_kind] = on_kind,
	[EV_virtio_queue_notify] = on_kick,
	[EV_virtio_notify] = interrupts_on_notify,
	[EV_kvm_set_irq] = interrupts_on_raise,
	[EV_kvm_msi_set_irq] = interrupts_on_raise,
	[EV_kvm_inj_virq] = interrupts_on_inject,
	[EV_host_io] = on_io,
	[EV_blk_request] = on_blk,
	[EV_net_packet] = net_on_packet,
	[EV_net_send] = net_on_send,
	[EV_lost] = on_lost,
	[EV_gap] = on_lost,
}};

bool path_wants(const char *event, void *arg)
{
	return handlers_want(&handlers, event) || model_wants(event, true, false) ||
	       elements_wants(event, arg);
}

int path_event(struct path *p, const struct event *ev)
{
	if (ev->time_ns >= p->until_ns || !ev->type->id)
		return p->err;
	if (threads_event(&p->threads, ev))
		p->err = p->threads.err;
	handlers_call(&handlers, p, ev);
	elements_event(p->elements, ev);
	return p->err;
}

/* ---- begin and end ---- */

const struct path_request *path_requests(const struct path *p, size_t *ret_nr)
{
	*ret_nr = p->nr;
	return p->request;
}

const struct path_totals *path_totals(const struct path *p)
{
	return &p->totals;
}

const struct elements *path_elements(const struct path *p)
{
	return p->elements;
}

void path_window(struct path *p, uint64_t since_ns, uint64_t until_ns)
{
	p->since_ns = since_ns;
	p->until_ns = until_ns;
}

struct path *path_new(void)
{
	struct path *p = calloc(1, sizeof(*p));

	if (!p)
		return NULL;
	p->until_ns = UINT64_MAX;
	threads_init(&p->threads);
	p->queues = HASH_TABLE(struct path_queue, 2, PATH_QUEUES_MAX);
	p->open = HASH_TABLE(struct path_open, 2, PATH_OPEN_MAX);
	p->devices = HASH_TABLE(struct path_device, 2, PATH_DEVICES_MAX);
	p->notifying = HASH_TABLE(struct path_notifying, 1, PATH_NOTIFYING_MAX);
	p->vcpus = HASH_TABLE(struct path_vcpu, 1, PATH_VCPUS_MAX);
	p->nets = HASH_TABLE(struct path_net, 1, PATH_NETS_MAX);
	p->cleared = HASH_TABLE(struct path_cleared, 2, PATH_DEVICES_MAX);
	p->elements = elements_new();
	if (!p->elements) {
		path_free(p);
		return NULL;
	}
	p->watch = (struct element_watch){.popped = path_element_popped,
					  .left = path_element_left,
					  .cleared = path_element_cleared,
					  .arg = p};
	elements_watch(p->elements, &p->watch);
	return p;
}

void path_free(struct path *p)
{
	const struct path_queue *q;
	const struct path_device *d;

	if (!p)
		return;
	for (uint32_t at = 0; (q = hash_next(&p->queues, &at));)
		free(q->waiting);
	for (uint32_t at = 0; (d = hash_next(&p->devices, &at));)
		free(d->path);
	hash_deinit(&p->queues);
	hash_deinit(&p->open);
	hash_deinit(&p->devices);
	hash_deinit(&p->notifying);
	hash_deinit(&p->vcpus);
	hash_deinit(&p->nets);
	hash_deinit(&p->cleared);
	loss_state_deinit(&p->losses);
	threads_deinit(&p->threads);
	elements_free(p->elements);
	free(p->request);
	free(p->io);
	free(p);
}
