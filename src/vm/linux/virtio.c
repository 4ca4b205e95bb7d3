// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The virtqueues of a Linux guest as its drivers have them (drivers/virtio/virtio_ring.c), and the rings that they
 * share with the devices. Offsets are those of the guest's BTF: struct vring_virtqueue is in that of the module
 * virtio_ring where this is not built in.
 */
#include <errno.h>

#include "base/array.h"
#include "base/error.h"
#include "event/event.h"
#include "vm/linux/lists.h"
#include "vm/linux/modules.h"
#include "vm/virtq_requests.h"

enum {
	VRING_BYTES_MAX = 4096, /* struct vring_virtqueue; 300 are usual */
	LAST_USED_WRAP = 0x8000, /* VRING_PACKED_EVENT_F_WRAP_CTR; in last_used_idx since 6.0 */
};

/* Offsets of what leads to the devices. */
struct bus_layout {
	int kset_list, kset_kobj, kobj_entry, kobj_name, subsys, devices;
	int node, knode_bus, device;
};

struct device_layout {
	int dev, vqs, name, driver, driver_name;
	int vq_list, vq_name, vq_index, vq_free;
};

/* Within struct vring_virtqueue. */
struct ring_layout {
	int size, vq, packed, kind, broken, event, added, last_used;
	int split_num, split_desc, split_avail, split_used, split_avail_idx;
	int packed_num, packed_desc, packed_driver, packed_device, packed_next;
	int packed_kind, packed_in_order_kind; /* of `kind`, which replaced `packed` */
};

struct walk {
	struct linux_guest *g;
	struct bus_layout bus;
	struct device_layout device;
	struct ring_layout ring;
	struct linux_virtqueue *queue;
	size_t nr;
};

static int bus_layout_find(const struct btf_types *t, struct bus_layout *ret)
{
	*ret = (struct bus_layout){
		.kset_list = btf_offset(t, "kset", "list"),
		.kset_kobj = btf_offset(t, "kset", "kobj"),
		.kobj_entry = btf_offset(t, "kobject", "entry"),
		.kobj_name = btf_offset(t, "kobject", "name"),
		.subsys = btf_offset(t, "subsys_private", "subsys"),
		.devices = btf_offset(t, "subsys_private", "klist_devices.k_list"),
		.node = btf_offset(t, "klist_node", "n_node"),
		.knode_bus = btf_offset(t, "device_private", "knode_bus"),
		.device = btf_offset(t, "device_private", "device"),
	};
	if (ret->kset_list < 0 || ret->kset_kobj < 0 || ret->kobj_entry < 0 || ret->kobj_name < 0 ||
	    ret->subsys < 0 || ret->devices < 0 || ret->node < 0 || ret->knode_bus < 0 ||
	    ret->device < 0)
		return fail(-ENOENT, "the guest kernel's BTF has no usable struct subsys_private");
	return 0;
}

static int device_layout_find(const struct btf_types *t, struct device_layout *ret)
{
	*ret = (struct device_layout){
		.dev = btf_offset(t, "virtio_device", "dev"),
		.vqs = btf_offset(t, "virtio_device", "vqs"),
		.name = btf_offset(t, "device", "kobj.name"),
		.driver = btf_offset(t, "device", "driver"),
		.driver_name = btf_offset(t, "device_driver", "name"),
		.vq_list = btf_offset(t, "virtqueue", "list"),
		.vq_name = btf_offset(t, "virtqueue", "name"),
		.vq_index = btf_offset(t, "virtqueue", "index"),
		.vq_free = btf_offset(t, "virtqueue", "num_free"),
	};
	if (ret->dev < 0 || ret->vqs < 0 || ret->name < 0 || ret->driver < 0 ||
	    ret->driver_name < 0 || ret->vq_list < 0 || ret->vq_name < 0 || ret->vq_index < 0 ||
	    ret->vq_free < 0)
		return fail(-ENOENT, "the guest kernel's BTF has no usable struct virtio_device");
	return 0;
}

/* A kernel without packed rings (to 4.20) has neither these members nor a way to tell. */
static int ring_layout_find(const struct btf_types *t, struct ring_layout *ret)
{
	static const char type[] = "vring_virtqueue";

	*ret = (struct ring_layout){
		.size = btf_size(t, type),
		.vq = btf_offset(t, type, "vq"),
		.packed = btf_offset(t, type, "packed_ring"),
		.kind = btf_offset(t, type, "layout"),
		.broken = btf_offset(t, type, "broken"),
		.event = btf_offset(t, type, "event"),
		.added = btf_offset(t, type, "num_added"),
		.last_used = btf_offset(t, type, "last_used_idx"),
		.split_num = btf_offset(t, type, "split.vring.num"),
		.split_desc = btf_offset(t, type, "split.vring.desc"),
		.split_avail = btf_offset(t, type, "split.vring.avail"),
		.split_used = btf_offset(t, type, "split.vring.used"),
		.split_avail_idx = btf_offset(t, type, "split.avail_idx_shadow"),
		.packed_num = btf_offset(t, type, "packed.vring.num"),
		.packed_desc = btf_offset(t, type, "packed.vring.desc"),
		.packed_driver = btf_offset(t, type, "packed.vring.driver"),
		.packed_device = btf_offset(t, type, "packed.vring.device"),
		.packed_next = btf_offset(t, type, "packed.next_avail_idx"),
		.packed_kind = btf_enum_value(t, "vq_layout", "VQ_LAYOUT_PACKED"),
		.packed_in_order_kind =
			btf_enum_value(t, "vq_layout", "VQ_LAYOUT_PACKED_IN_ORDER"),
	};
	if (ret->size <= 0 || ret->size > VRING_BYTES_MAX || ret->vq < 0 || ret->last_used < 0 ||
	    ret->split_num < 0 || ret->split_desc < 0 || ret->split_avail < 0 ||
	    ret->split_used < 0)
		return fail(-ENOENT, "the guest kernel's BTF has no usable struct vring_virtqueue");
	return 0;
}

/* ---- a queue ---- */

/* 0 where there is no such member. */
static uint64_t member(const uint8_t *ring, const struct ring_layout *l, int64_t at, size_t bytes)
{
	if (at < 0 || at > l->size || bytes > (size_t)(l->size - at))
		return 0;
	return memory_le(ring + at, bytes);
}

static bool ring_is_packed(const uint8_t *ring, const struct ring_layout *l)
{
	int kind = (int)member(ring, l, l->kind, 4);

	if (l->packed >= 0)
		return member(ring, l, l->packed, 1) != 0;
	return l->kind >= 0 && (kind == l->packed_kind || kind == l->packed_in_order_kind);
}

static void split_read(struct linux_guest *g, const uint8_t *ring, const struct ring_layout *l,
		       struct linux_virtqueue *q)
{
	uint64_t avail = member(ring, l, l->split_avail, 8),
		 used = member(ring, l, l->split_used, 8);
	uint8_t a[4], u[4], used_event[2] = {0}, avail_event[2] = {0};

	q->size = (uint32_t)member(ring, l, l->split_num, 4);
	q->avail_idx = (uint16_t)member(ring, l, l->split_avail_idx, 2);
	q->seen_idx = (uint16_t)member(ring, l, l->last_used, 2);
	q->ring = guest_address(&g->memory, &g->ram.at, &g->space,
				member(ring, l, l->split_desc, 8));
	if (q->size > VIRTQ_SIZE_MAX || linux_read(g, avail, a, 4) || linux_read(g, used, u, 4) ||
	    (q->event_idx &&
	     (linux_read(g, avail + 4 + 2ull * q->size, used_event, 2) ||
	      linux_read(g, used + 4 + (uint64_t)USED_ELEMENT_BYTES * q->size, avail_event, 2))))
		return;
	q->rings = true;
	q->ring_avail_idx = (uint16_t)memory_le(a + 2, 2);
	q->ring_used_idx = (uint16_t)memory_le(u + 2, 2);
	q->interrupts = virtq_notify_split(q->event_idx, (uint16_t)memory_le(a, 2),
					   (uint16_t)memory_le(used_event, 2));
	q->kicks = virtq_notify_split(q->event_idx, (uint16_t)memory_le(u, 2),
				      (uint16_t)memory_le(avail_event, 2));
}

static void packed_read(struct linux_guest *g, const uint8_t *ring, const struct ring_layout *l,
			struct linux_virtqueue *q)
{
	uint8_t driver[PACKED_EVENT_BYTES], device[PACKED_EVENT_BYTES];

	q->packed = true;
	q->size = (uint32_t)member(ring, l, l->packed_num, 4);
	q->avail_idx = (uint16_t)member(ring, l, l->packed_next, 2);
	q->seen_idx = (uint16_t)(member(ring, l, l->last_used, 2) & ~LAST_USED_WRAP);
	q->ring = guest_address(&g->memory, &g->ram.at, &g->space,
				member(ring, l, l->packed_desc, 8));
	if (linux_read(g, member(ring, l, l->packed_driver, 8), driver, sizeof(driver)) ||
	    linux_read(g, member(ring, l, l->packed_device, 8), device, sizeof(device)))
		return;
	q->rings = true;
	q->interrupts = virtq_notify_packed(driver);
	q->kicks = virtq_notify_packed(device);
}

/* False: it cannot be read. */
static bool ring_read(const struct walk *w, uint64_t vq, struct linux_virtqueue *q)
{
	const struct ring_layout *l = &w->ring;
	uint8_t ring[VRING_BYTES_MAX], again[VRING_BYTES_MAX];
	const size_t size = (size_t)l->size;
	uint64_t at = vq - (uint64_t)l->vq;

	q->moving = true;
	for (int i = 0; i < LINUX_RETRIES && q->moving; i++) {
		if (linux_read(w->g, at, ring, size))
			return false;
		q->broken = member(ring, l, l->broken, 1) != 0;
		q->event_idx = member(ring, l, l->event, 1) != 0;
		q->added = (uint16_t)member(ring, l, l->added, 4);
		q->free = (uint32_t)member(ring, l, (int64_t)l->vq + w->device.vq_free, 4);
		if (ring_is_packed(ring, l))
			packed_read(w->g, ring, l, q);
		else
			split_read(w->g, ring, l, q);
		if (linux_read(w->g, at, again, size))
			return false;
		q->moving = memcmp(ring, again, size) != 0;
	}
	return q->size && q->size <= VIRTQ_SIZE_MAX && q->free <= q->size;
}

/* "" if it cannot be read, or is NULL. */
static void name_read(struct linux_guest *g, uint64_t pointer, char ret[LINUX_VIRTIO_NAME_MAX])
{
	uint64_t text;

	if (linux_read_u64(g, pointer, &text) || !text ||
	    linux_read_text(g, text, ret, LINUX_VIRTIO_NAME_MAX))
		ret[0] = '\0';
	text_sanitize(ret);
}

static int queue_read(struct walk *w, uint64_t vq, const struct linux_virtqueue *device)
{
	const struct device_layout *l = &w->device;
	struct linux_virtqueue *q;

	if (w->nr == LINUX_VIRTQUEUES_MAX)
		return fail(-E2BIG, "the guest has more than %d virtqueues", LINUX_VIRTQUEUES_MAX);
	if (array_room(w->queue, w->nr))
		return -ENOMEM;
	q = &w->queue[w->nr];
	*q = *device;
	name_read(w->g, vq + (uint64_t)l->vq_name, q->name);
	if (linux_read_u32(w->g, vq + (uint64_t)l->vq_index, &q->index) || !ring_read(w, vq, q))
		w->g->torn++;
	else
		w->nr++;
	return 0;
}

/* ---- devices ---- */

static int list_incomplete(void)
{
	return fail(-EAGAIN, "a list of the guest's virtio devices kept changing, or is damaged");
}

static int device_read(struct walk *w, uint64_t device)
{
	const struct device_layout *l = &w->device;
	uint64_t vqs = device - (uint64_t)l->dev + (uint64_t)l->vqs, driver = 0;
	struct linux_virtqueue q = {0};
	_cleanup_free_ uint64_t *entry = NULL;
	size_t nr = 0;
	int listed = linux_list_read(w->g, vqs, LINUX_VIRTQUEUES_MAX, &entry, &nr), err;

	name_read(w->g, device + (uint64_t)l->name, q.device);
	if (!linux_read_u64(w->g, device + (uint64_t)l->driver, &driver) && driver)
		name_read(w->g, driver + (uint64_t)l->driver_name, q.driver);
	err = listed == -EAGAIN ? 0 : listed;
	for (size_t i = 0; i < nr && !err; i++)
		err = queue_read(w, entry[i] - (uint64_t)l->vq_list, &q);
	return !err && listed ? list_incomplete() : err;
}

/* The struct subsys_private of the bus of this name; all are in bus_kset. */
static int bus_find(struct linux_guest *g, const struct bus_layout *l, const char *name,
		    uint64_t *ret)
{
	uint64_t symbol = linux_symbol(g, "bus_kset"), kset = 0;
	_cleanup_free_ uint64_t *entry = NULL;
	size_t nr = 0;
	int err;

	if (!symbol || linux_read_u64(g, symbol, &kset) || !kset)
		return fail(-ENOENT, "the guest's kernel has no symbol bus_kset");
	err = linux_list_read(g, kset + (uint64_t)l->kset_list, LINUX_BUSES_MAX, &entry, &nr);
	for (size_t i = 0; i < nr && (!err || err == -EAGAIN); i++) {
		uint64_t kobj = entry[i] - (uint64_t)l->kobj_entry;
		char text[LINUX_VIRTIO_NAME_MAX];

		name_read(g, kobj + (uint64_t)l->kobj_name, text);
		*ret = kobj - (uint64_t)l->kset_kobj - (uint64_t)l->subsys;
		if (!strcmp(text, name))
			return 0;
	}
	if (err)
		return err == -EAGAIN ? list_incomplete() : err;
	return fail(-ENOENT, "the guest's kernel has no %s bus", name);
}

static int devices_walk(struct walk *w)
{
	const struct bus_layout *l = &w->bus;
	_cleanup_free_ uint64_t *entry = NULL;
	uint64_t bus = 0, device;
	size_t nr = 0;
	int err = bus_find(w->g, l, "virtio", &bus), listed;

	if (err)
		return err;
	listed = linux_list_read(w->g, bus + (uint64_t)l->devices, LINUX_VIRTIO_DEVICES_MAX, &entry,
				 &nr);
	err = listed == -EAGAIN ? 0 : listed;
	for (size_t i = 0; i < nr && !err; i++) {
		uint64_t priv = entry[i] - (uint64_t)l->node - (uint64_t)l->knode_bus;

		if (linux_read_u64(w->g, priv + (uint64_t)l->device, &device))
			w->g->torn++;
		else
			err = device_read(w, device);
	}
	return !err && listed ? list_incomplete() : err;
}

int linux_virtqueues_read(struct linux_guest *g, const struct btf_types *types,
			  struct linux_virtqueue **ret, size_t *ret_nr)
{
	struct walk w = {.g = g};
	struct btf_types module = {0};
	int err = bus_layout_find(types, &w.bus);

	linux_reads_begin(g);
	if (!err && btf_size(types, "vring_virtqueue") < 0) {
		err = linux_module_types_read(g, types, "virtio_ring", &module);
		types = &module;
	}
	if (!err)
		err = device_layout_find(types, &w.device);
	if (!err)
		err = ring_layout_find(types, &w.ring);
	if (!err)
		err = devices_walk(&w);
	btf_types_deinit(&module);
	*ret = w.queue;
	*ret_nr = w.nr;
	return linux_reads_end(g, err);
}
