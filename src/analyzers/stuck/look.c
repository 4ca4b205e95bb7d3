// SPDX-License-Identifier: GPL-2.0-or-later
/* One look at a VM: its devices, their queues and what each queue is for, its threads, the disks behind devices. */
#include <errno.h>

#include "analyzers/stuck/stuck.h"
#include "base/array.h"
#include "base/error.h"
#include "event/virtio_ids.h"

enum { PAIRS_MAX = 64, DISKS_MAX = 64, VIRTIO_NET_F_CTRL_VQ = 17 };

/* ---- roles ---- */

static bool named(const struct virtio_device *d, const char *name)
{
	return strstr(d->name, name) != NULL;
}

/* virtio 1.2, 5: which queue is for what. nr: how many the device has. */
static enum stuck_role role_of(const struct virtio_device *d, unsigned int queue, unsigned int nr)
{
	bool control = d->features >> VIRTIO_NET_F_CTRL_VQ & 1 && queue + 1 == nr;

	if (named(d, "net"))
		return queue % 2 == 0 && !control ? STUCK_BUFFERS : STUCK_REQUESTS;
	if (named(d, "serial") || named(d, "console"))
		return queue % 2 == 0 ? STUCK_BUFFERS : STUCK_REQUESTS;
	if (named(d, "balloon") && queue == BALLOON_STATS_QUEUE)
		return STUCK_HELD;
	if ((named(d, "scsi") && queue == 1) || (named(d, "input") && queue == 0) ||
	    (named(d, "vsock") && queue != 1) || (named(d, "sound") && queue % 2 == 1))
		return STUCK_BUFFERS;
	return STUCK_REQUESTS;
}

/* ---- queues ---- */

static int queue_add(struct stuck_look *l, const struct virtq_device *d,
		     const struct virtq_state *s)
{
	if (l->nr_queues == STUCK_QUEUES_MAX)
		return 0;
	if (array_room(l->queue, l->nr_queues))
		return -ENOMEM;
	l->queue[l->nr_queues++] = (struct stuck_queue){
		.device = *d, .state = *s, .dev = l->nr_devs - 1, .kicks = -1, .interrupts = -1};
	return 0;
}

/* Before the device is counted. */
static int backend_add(struct stuck_look *l, const struct memory *m, const struct virtq_device *d)
{
	int err = array_room(l->backend, l->nr_devs);

	if (!err)
		block_backend_read(m, d->vdev, &l->backend[l->nr_devs]);
	return err;
}

static int device_add(struct stuck_look *l, const struct memory *m, const struct virtq_device *d)
{
	int err = array_room(l->dev, l->nr_devs);
	unsigned int first = l->nr_queues;
	struct virtq_state s;

	if (err)
		return err;
	err = backend_add(l, m, d);
	virtio_device_read(m, d, &l->dev[l->nr_devs++]);
	for (unsigned int q = 0; q < VIRTQ_QUEUES_MAX && !err; q++)
		if (virtq_read(m, d, q, &s) > 0 && s.ready)
			err = queue_add(l, d, &s);
	for (unsigned int i = first; i < l->nr_queues; i++)
		l->queue[i].role = role_of(&l->dev[l->nr_devs - 1], l->queue[i].state.index,
					   l->queue[l->nr_queues - 1].state.index + 1);
	return err;
}

/* Where the guest's RAM is, by the rings of all queues: their addresses on both sides are known. */
static bool ram_find(const struct stuck_look *l, const struct memory *m, uint64_t bytes,
		     struct guest_ram *ret)
{
	struct guest_ram_pair pair[PAIRS_MAX];
	unsigned int nr = 0;

	for (unsigned int i = 0; i < l->nr_queues && nr < PAIRS_MAX; i++)
		if (l->queue[i].state.rings)
			pair[nr++] = (struct guest_ram_pair){l->queue[i].state.desc,
							     l->queue[i].state.at.desc};
	return guest_ram_of_pairs(m, bytes, pair, nr, ret);
}

static uint32_t held_by(const struct block_backend *b)
{
	return b->throttled + b->suspended;
}

static int disk_read(const struct memory *m, uint64_t disk, struct stuck_queue *q)
{
	_cleanup_free_ struct block_backend *b = malloc(sizeof(*b));

	if (!b)
		return fail(-ENOMEM, "out of memory");
	block_backend_read(m, disk, b);
	virtq_path_read(m, disk, b->disk);
	if (b->nr && (!q->disk || held_by(b) > held_by(q->disk))) {
		struct block_backend *other = q->disk;

		q->disk = b;
		b = other;
	}
	return 0;
}

/* Those that a SCSI adapter's requests are for, each once. */
static int disks_read(const struct memory *m, struct stuck_queue *q)
{
	uint64_t disk[DISKS_MAX];
	unsigned int nr = 0;
	int err = 0;

	for (unsigned int i = 0; i < q->nr && nr < DISKS_MAX && !err; i++) {
		const struct virtq_request *r = &q->request[i];
		unsigned int known = 0;

		disk[nr] = r->element ? block_scsi_disk(m, q->device.vdev, r->address, r->bytes)
				      : 0;
		while (disk[known] != disk[nr])
			known++;
		if (disk[nr] && known == nr)
			err = disk_read(m, disk[nr++], q);
	}
	return err;
}

static int requests_add(struct stuck_look *l, const struct vm *vm, const struct memory *m)
{
	struct virtq_elements elements;
	struct guest_ram ram;
	int err = virtq_elements_find(m, vm->memory_bytes, &elements);

	if (err)
		return err;
	l->ram_known = ram_find(l, m, vm->memory_bytes, &ram);
	struct virtq_view view = {
		.m = m,
		.ram = l->ram_known ? &ram : NULL,
		.elements = &elements,
		.now_ns = vm->clock_err ? 0 : l->time_ns + (uint64_t)vm->clock_ahead_ns,
		.ahead_ns = vm->clock_ahead_ns};

	for (unsigned int i = 0; i < l->nr_queues && !err; i++) {
		struct stuck_queue *q = &l->queue[i];

		q->kicks = eventfd_count(vm->pid, q->state.kick_fd);
		q->interrupts = eventfd_count(vm->pid, q->state.interrupt_fd);
		err = virtq_requests_read(&view, &q->device, &q->state, &q->request, &q->nr);
		if (err == -EFAULT) /* unplugged meanwhile */
			err = 0;
		if (!err && named(&l->dev[q->dev], "scsi"))
			err = disks_read(m, q);
	}
	virtq_elements_free(&elements);
	return err;
}

int stuck_look_memory(const struct vm *vm, const struct memory *m, struct stuck_look *l)
{
	_cleanup_free_ struct virtq_device *d = NULL;
	unsigned int nr = 0;
	int err = virtq_devices_find(m, vm->memory_bytes, &d, &nr);

	stuck_mutexes_read(m, l);
	for (unsigned int i = 0; i < nr && !err; i++)
		err = device_add(l, m, &d[i]);
	return err ? err : requests_add(l, vm, m);
}

const struct block_backend *stuck_backend(const struct stuck_look *l, const struct stuck_queue *q)
{
	return q->disk ? q->disk : &l->backend[q->dev];
}

void stuck_look_free(struct stuck_look *l)
{
	for (unsigned int i = 0; i < l->nr_queues; i++) {
		free(l->queue[i].request);
		free(l->queue[i].disk);
	}
	free(l->queue);
	free(l->dev);
	free(l->backend);
	free(l->thread);
	*l = (struct stuck_look){0};
}
