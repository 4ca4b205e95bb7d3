// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The virtqueues of a running QEMU, read out of its memory: no monitor, no probe, nothing stopped.
 *
 * How they are found. virtio_init() (hw/virtio/virtio.c) makes one array of VIRTIO_QUEUE_MAX VirtQueues per device and
 * writes into each its number and a pointer to the VirtIODevice, whether the queue will be used or not:
 *
 *   array ─► [0] queue_index 0, vdev ──┐   [1] queue_index 1, vdev ──┐   ...   [1023]
 *              ▲                       ▼                             ▼
 *              └──────────── VirtIODevice.vq;   canonical_path ─► "/machine/peripheral/disk/virtio-backend"
 *
 * Such a row of numbers with one pointer that points back at it does not arise by chance, and a guest cannot make one
 * without knowing the addresses of QEMU's heap. Guest memory itself is not searched.
 *
 * VirtQueue begins with VRing {num, num_default, align, desc, avail, used, caches}; the caches tell where QEMU itself
 * has the rings mapped, and how long they are, which distinguishes split from packed and whether event indices are
 * used: virtio 1.2, 2.7 (split), 2.8 (packed). Offsets: probes/qemu.def and reference sources 4.2 to 10.2;
 * 11.1 as its executable has them.
 *
 * All of it may change while it is read, and rings are the guest's: each part is read once into a copy, lengths are
 * checked, and a queue that would not hold still is marked as moving.
 */
#include <errno.h>
#include <inttypes.h>

#include "base/array.h"
#include "base/error.h"
#include "base/json_text.h"
#include "event/event.h"
#include "vm/virtq_requests.h"

enum {
	/* VirtQueue */
	VQ_NUM = 0,
	VQ_NUM_DEFAULT = 4,
	VQ_DESC = 16,
	VQ_INDICES = 56, /* last_avail_idx ... notification */
	VQ_INDEX = 72,
	VQ_INUSE = 76,
	VQ_VECTOR = 80,
	VQ_HEAD_BYTES = 82,
	VQ_BEHIND_VDEV = 56, /* from vdev to the end of VirtQueue */
	NOTIFIERS_BYTES = 24, /* after vdev: to the guest, from the guest; each {int rfd, wfd; bool initialized} */
	NAMED_MIN = 8,	     /* queues of a row that must match before the others are checked */

	/* VRingMemoryRegionCaches: an RCU head, then three MemoryRegionCaches {ptr, xlat, len, ...} */
	CACHES_DESC = 16,
	CACHE_BYTES = 112,
	CACHES_BYTES = CACHES_DESC + 3 * CACHE_BYTES,
	CACHE_LEN = 16,

	TRIES = 4,
};

/* Where VirtQueue.vdev is: since 7.0, and from 4.2 to 6.2. */
static const uint32_t vdev_offsets[] = {96, 104};

/* ---- finding devices ---- */

/* Are the first `nr` queues at p a row with this vdev? */
static bool is_row(const uint8_t *p, uint32_t vdev_offset, uint64_t vdev, unsigned int from,
		   unsigned int nr)
{
	size_t stride = vdev_offset + VQ_BEHIND_VDEV;

	for (unsigned int i = from; i < nr; i++)
		if (memory_le(p + i * stride + vdev_offset, 8) != vdev ||
		    memory_le(p + i * stride + VQ_INDEX, 2) != i)
			return false;
	return true;
}

/* The row's other end, and the device that points back at it. */
static bool is_array(const struct memory *m, uint64_t array, uint32_t vdev_offset, uint64_t vdev)
{
	size_t stride = vdev_offset + VQ_BEHIND_VDEV;
	_cleanup_free_ uint8_t *all = malloc(VIRTQ_QUEUES_MAX * stride);
	uint8_t device[VDEV_BYTES];

	if (!all || memory_read(m, array, all, VIRTQ_QUEUES_MAX * stride) ||
	    !is_row(all, vdev_offset, vdev, 0, VIRTQ_QUEUES_MAX) ||
	    memory_read(m, vdev, device, sizeof(device)))
		return false;
	for (size_t i = 0; i + 8 <= sizeof(device); i += 8)
		if (memory_le(device + i, 8) == array)
			return true;
	return false;
}

void virtq_path_read(const struct memory *m, uint64_t vdev, char path[VIRTQ_PATH_MAX])
{
	uint8_t at[8];

	memset(path, 0, VIRTQ_PATH_MAX);
	if (memory_read(m, vdev + VDEV_PATH, at, sizeof(at)))
		return;
	for (unsigned int i = 0; i < VIRTQ_PATH_MAX - 1; i++) /* it may end a page */
		if (memory_read(m, memory_le(at, 8) + i, path + i, 1) || !path[i])
			break;
	if (path[0] != '/')
		path[0] = '\0';
	text_sanitize(path);
}

struct finding {
	const struct memory *m;
	struct virtq_device *device;
	unsigned int nr;
};

static int device_add(struct finding *f, uint64_t array, uint32_t vdev_offset, uint64_t vdev)
{
	struct virtq_device *d;

	if (f->nr == VIRTQ_DEVICES_MAX)
		return 0;
	for (unsigned int i = 0; i < f->nr; i++)
		if (f->device[i].array == array)
			return 0;
	if (array_room(f->device, f->nr))
		return -ENOMEM;
	d = &f->device[f->nr++];
	*d = (struct virtq_device){.vdev = vdev, .array = array, .vdev_offset = vdev_offset};
	virtq_path_read(f->m, vdev, d->path);
	return 0;
}

static int bytes_search(void *arg, const uint8_t *bytes, size_t size, uint64_t base)
{
	struct finding *f = arg;
	int err = 0;

	for (size_t k = 0; k < sizeof(vdev_offsets) / sizeof(vdev_offsets[0]); k++) {
		uint32_t at = vdev_offsets[k];
		size_t need = NAMED_MIN * (size_t)(at + VQ_BEHIND_VDEV);

		for (size_t i = 0; i + need <= size && !err; i += HEAP_ALIGN) {
			uint64_t vdev = memory_le(bytes + i + at, 8);

			if (vdev && !(vdev & 7) && is_row(bytes + i, at, vdev, 0, NAMED_MIN) &&
			    is_array(f->m, base + i, at, vdev))
				err = device_add(f, base + i, at, vdev);
		}
	}
	return err;
}

static int by_path(const void *a, const void *b)
{
	const struct virtq_device *x = a, *y = b;
	int c = strcmp(x->path, y->path);

	return c ? c : x->vdev < y->vdev ? -1 : x->vdev > y->vdev;
}

int virtq_devices_find(const struct memory *m, uint64_t skip_bytes, struct virtq_device **ret,
		       unsigned int *ret_nr)
{
	struct finding f = {.m = m};
	int err = heap_search(m, skip_bytes, NAMED_MIN * (vdev_offsets[1] + VQ_BEHIND_VDEV),
			      bytes_search, &f);

	if (err) {
		free(f.device);
		return err;
	}
	if (f.nr)
		qsort(f.device, f.nr, sizeof(*f.device), by_path);
	*ret = f.device;
	*ret_nr = f.nr;
	return 0;
}

/* ---- one queue ---- */

static bool rings_read(const struct memory *m, uint64_t caches, struct virtq_rings *r)
{
	uint8_t bytes[CACHES_BYTES];
	uint64_t *part[] = {&r->desc, &r->avail, &r->used};
	uint64_t *len[] = {&r->desc_len, &r->avail_len, &r->used_len};

	if (!caches || memory_read(m, caches, bytes, sizeof(bytes)))
		return false;
	for (unsigned int i = 0; i < 3; i++) {
		*part[i] = memory_le(bytes + CACHES_DESC + i * CACHE_BYTES, 8);
		*len[i] = memory_le(bytes + CACHES_DESC + i * CACHE_BYTES + CACHE_LEN, 8);
	}
	return r->desc && r->avail && r->used;
}

struct virtq_notify virtq_notify_split(bool event_idx, uint16_t flags, uint16_t event)
{
	if (event_idx) /* virtio 1.2, 2.7.7: the flags count for nothing then */
		return (struct virtq_notify){.mode = VIRTQ_AT, .at = event};
	return (struct virtq_notify){.mode = flags & 1 ? VIRTQ_OFF : VIRTQ_ON};
}

/* Flags at 0, idx at 2, and the other side's event index after the ring: virtio 1.2, 2.7.6 and 2.7.8. */
static bool split_read(const struct memory *m, const struct virtq_rings *r, struct virtq_state *s)
{
	uint8_t avail[4], used[4], used_event[2] = {0}, avail_event[2] = {0};
	uint64_t plain_avail = 4 + 2ull * s->size,
		 plain_used = 4 + (uint64_t)USED_ELEMENT_BYTES * s->size;

	s->event_idx = r->avail_len == plain_avail + 2;
	if (r->desc_len != (uint64_t)DESC_BYTES * s->size ||
	    (!s->event_idx && r->avail_len != plain_avail) ||
	    r->used_len != plain_used + (s->event_idx ? 2 : 0))
		return false;
	if (memory_read(m, r->avail, avail, 4) || memory_read(m, r->used, used, 4) ||
	    (s->event_idx && (memory_read(m, r->avail + plain_avail, used_event, 2) ||
			      memory_read(m, r->used + plain_used, avail_event, 2))))
		return false;
	s->ring_avail_idx = (uint16_t)memory_le(avail + 2, 2);
	s->ring_used_idx = (uint16_t)memory_le(used + 2, 2);
	s->interrupts = virtq_notify_split(s->event_idx, (uint16_t)memory_le(avail, 2),
				     (uint16_t)memory_le(used_event, 2));
	s->kicks = virtq_notify_split(s->event_idx, (uint16_t)memory_le(used, 2),
				(uint16_t)memory_le(avail_event, 2));
	s->elsewhere = s->ring_used_idx != s->used_idx;
	s->posted = (uint16_t)(s->ring_avail_idx -
			       (s->elsewhere ? s->ring_used_idx : s->last_avail_idx));
	return true;
}

/* Event suppression structure: offset and wrap bit at 0, flags at 2 (0 enable, 1 disable, 2 at the offset). */
struct virtq_notify virtq_notify_packed(const uint8_t *p)
{
	unsigned int flags = memory_le(p + 2, 2) & 3, at = (unsigned int)memory_le(p, 2);

	if (flags == 2)
		return (struct virtq_notify){VIRTQ_AT, (uint16_t)(at & 0x7fff), at >> 15};
	return (struct virtq_notify){.mode = flags == 1 ? VIRTQ_OFF : VIRTQ_ON};
}

/* Descriptors from last_avail_idx on that the driver has made available: virtio 1.2, 2.8.1. */
static bool packed_read(const struct memory *m, const struct virtq_rings *r, bool wrap,
			struct virtq_state *s)
{
	_cleanup_free_ uint8_t *desc = malloc((size_t)DESC_BYTES * s->size);
	uint8_t driver[PACKED_EVENT_BYTES], device[PACKED_EVENT_BYTES];
	unsigned int at = s->last_avail_idx;

	if (!desc || r->desc_len != (uint64_t)DESC_BYTES * s->size || at >= s->size ||
	    memory_read(m, r->desc, desc, (size_t)DESC_BYTES * s->size) ||
	    memory_read(m, r->avail, driver, sizeof(driver)) ||
	    memory_read(m, r->used, device, sizeof(device)))
		return false;
	while (s->posted < s->size) {
		unsigned int flags =
			(unsigned int)memory_le(desc + (size_t)at * DESC_BYTES + 14, 2);

		if (!(flags & PACKED_AVAIL) != !wrap || !(flags & PACKED_USED) == !wrap)
			break;
		s->posted++;
		if (++at == s->size) {
			at = 0;
			wrap = !wrap;
		}
	}
	s->packed = true;
	s->ring_avail_idx = (uint16_t)at;
	s->interrupts = virtq_notify_packed(driver);
	s->kicks = virtq_notify_packed(device);
	s->event_idx = s->interrupts.mode == VIRTQ_AT || s->kicks.mode == VIRTQ_AT;
	return true;
}

static void rings_follow(const struct memory *m, const uint8_t *head, struct virtq_state *s)
{
	const struct virtq_rings *r = &s->at;

	if (!s->ready || !rings_read(m, memory_le(head + VQ_DESC + 24, 8), &s->at))
		return;
	if (r->avail_len == PACKED_EVENT_BYTES && r->used_len == PACKED_EVENT_BYTES)
		s->rings = packed_read(m, r, s->last_avail_wrap, s);
	else
		s->rings = split_read(m, r, s);
}

/* -1: not initialized, or not ours to read. */
static int notifier_fd(const uint8_t *p)
{
	int fd = (int)memory_le(p, 4);

	return p[8] == 1 && fd > 0 ? fd : -1;
}

static void notifiers_read(const struct memory *m, const struct virtq_device *d,
			   struct virtq_state *s)
{
	uint8_t both[NOTIFIERS_BYTES] = {0};

	if (memory_read(m, s->vq + d->vdev_offset + 8, both, sizeof(both)))
		memset(both, 0, sizeof(both));
	s->interrupt_fd = notifier_fd(both);
	s->kick_fd = notifier_fd(both + NOTIFIERS_BYTES / 2);
}

static int queue_read(const struct memory *m, const struct virtq_device *d, unsigned int index,
		      uint8_t *head, struct virtq_state *s)
{
	*s = (struct virtq_state){
		.vq = d->array + (uint64_t)index * (d->vdev_offset + VQ_BEHIND_VDEV),
		.index = index};
	if (memory_read(m, s->vq, head, VQ_HEAD_BYTES))
		return -EFAULT;
	if (memory_le(head + VQ_INDEX, 2) != index)
		return -EFAULT; /* the device was removed */
	if (!memory_le(head + VQ_NUM_DEFAULT, 4) && !memory_le(head + VQ_NUM, 4))
		return 0;
	s->size = (unsigned int)memory_le(head + VQ_NUM, 4);
	s->desc = memory_le(head + VQ_DESC, 8);
	s->avail = memory_le(head + VQ_DESC + 8, 8);
	s->used = memory_le(head + VQ_DESC + 16, 8);
	s->ready = s->desc && s->size && s->size <= VIRTQ_SIZE_MAX;
	s->last_avail_idx = (uint16_t)memory_le(head + VQ_INDICES, 2);
	s->shadow_avail_idx = (uint16_t)memory_le(head + VQ_INDICES + 4, 2);
	s->used_idx = (uint16_t)memory_le(head + VQ_INDICES + 8, 2);
	s->signalled_used = (uint16_t)memory_le(head + VQ_INDICES + 12, 2);
	s->signalled_used_valid = head[VQ_INDICES + 14] != 0;
	s->inuse = (uint32_t)memory_le(head + VQ_INUSE, 4);
	s->last_avail_wrap = head[VQ_INDICES + 2];
	s->used_wrap = head[VQ_INDICES + 10];
	s->vector = (uint16_t)memory_le(head + VQ_VECTOR, 2);
	notifiers_read(m, d, s);
	return 1;
}

int virtq_read(const struct memory *m, const struct virtq_device *d, unsigned int index,
	       struct virtq_state *ret)
{
	uint8_t head[VQ_HEAD_BYTES], again[VQ_HEAD_BYTES];

	if (index >= VIRTQ_QUEUES_MAX)
		return 0;
	for (unsigned int i = 0; i < TRIES; i++) {
		int have = queue_read(m, d, index, head, ret);

		if (have <= 0)
			return have;
		rings_follow(m, head, ret);
		if (memory_read(m, ret->vq, again, sizeof(again)))
			return -EFAULT;
		ret->moving = memcmp(head, again, sizeof(head)) != 0;
		/* used and QEMU's copy of it are written one after the other: read again before reporting it */
		if (!ret->moving && !ret->elsewhere)
			break;
	}
	if (ret->moving) {
		ret->elsewhere = false;
		ret->posted = ret->rings && !ret->packed
				      ? (uint16_t)(ret->ring_avail_idx - ret->last_avail_idx)
				      : ret->posted;
	}
	return 1;
}

const char *virtq_notify_print(const struct virtq_notify *n, char *buf, size_t size)
{
	if (n->mode == VIRTQ_AT)
		snprintf(buf, size, "at %" PRIu16, n->at);
	else
		snprintf(buf, size, "%s", n->mode == VIRTQ_ON ? "on" : "off");
	return buf;
}

/*
 * The same virtqueues as reported by QEMU's monitor (x-query-virtio*, QEMU 7.2 and later).
 *
 * Four things are left unasked on purpose. x-query-virtio-status aborts QEMU 11.1 (an assertion of
 * visit_start_struct()). x-query-virtio-queue-element maps the element that is next, and a guest that was looked at so
 * has failed. x-query-virtio-queue-status of a device that vhost serves asks the backend for the ring's base
 * (VHOST_GET_VRING_BASE), which by the protocol stops the ring (QEMU's docs/interop/vhost-user.rst): such queues are
 * requested by x-query-virtio-vhost-queue-status, which only reads QEMU's own copy, and which is rejected where vhost
 * does not serve the device. And devices that the VM has not realised are not named.
 */

static void text_take(const json_t *object, const char *key, char *buf, size_t size)
{
	const char *text = json_string_value(json_object_get(object, key));

	snprintf(buf, size, "%s", text ? text : "");
	text_sanitize(buf);
}

/* QEMU prints uint64; jansson's integers are signed. */
bool virtq_qmp_parse(const json_t *answer, struct virtq_qmp *ret)
{
	if (!json_is_integer(json_object_get(answer, "vring-num")) ||
	    (uint64_t)number_of(answer, "vring-num") > VIRTQ_SIZE_MAX)
		return false;
	text_take(answer, "name", ret->name, sizeof(ret->name));
	ret->size = (unsigned int)(uint64_t)number_of(answer, "vring-num");
	ret->desc = (uint64_t)number_of(answer, "vring-desc");
	ret->avail = (uint64_t)number_of(answer, "vring-avail");
	ret->used = (uint64_t)number_of(answer, "vring-used");
	ret->last_avail_idx = (uint16_t)(uint64_t)number_of(answer, "last-avail-idx");
	ret->shadow_avail_idx = (uint16_t)(uint64_t)number_of(answer, "shadow-avail-idx");
	ret->used_idx = (uint16_t)(uint64_t)number_of(answer, "used-idx");
	ret->signalled_used = (uint16_t)(uint64_t)number_of(answer, "signalled-used");
	ret->inuse = (uint32_t)(uint64_t)number_of(answer, "inuse");
	return true;
}

static bool vhost_parse(const json_t *answer, struct virtq_qmp *ret)
{
	if ((uint64_t)number_of(answer, "num") > VIRTQ_SIZE_MAX)
		return false;
	text_take(answer, "name", ret->name, sizeof(ret->name));
	ret->size = (unsigned int)(uint64_t)number_of(answer, "num");
	ret->desc = (uint64_t)number_of(answer, "desc-phys");
	ret->avail = (uint64_t)number_of(answer, "avail-phys");
	ret->used = (uint64_t)number_of(answer, "used-phys");
	return true;
}

struct reading {
	struct qmp *qmp;
	struct virtq_qmp *list;
	unsigned int nr;
};

static int list_add(struct reading *r, const struct virtq_qmp *one)
{
	return array_add(r->list, r->nr, *one);
}

/* -EREMOTEIO: the device has no such queue, or vhost does not serve it. */
static int queue_ask(struct reading *r, const char *path, unsigned int index, bool vhost)
{
	struct virtq_qmp one = {.index = index, .vhost = vhost};
	json_t *answer;
	int err = qmp_execute(r->qmp,
			      vhost ? "x-query-virtio-vhost-queue-status"
				    : "x-query-virtio-queue-status",
			      json_pack("{s:s, s:i}", "path", path, "queue", (int)index), &answer);

	if (err)
		return err;
	snprintf(one.path, sizeof(one.path), "%s", path);
	text_sanitize(one.path);
	if (vhost ? vhost_parse(answer, &one) : virtq_qmp_parse(answer, &one))
		err = list_add(r, &one);
	json_decref(answer);
	return err;
}

/*
 * Only a device that vhost serves answers the first question. Rejected for another reason than "Error: vhost device has
 * not started yet" (it was unplugged meanwhile), it is asked nothing else: see the header.
 */
static int device_ask(struct reading *r, const char *path)
{
	int err = queue_ask(r, path, 0, true);
	bool vhost = !err;

	if (err == -EREMOTEIO && strstr(error_text(), "has not started"))
		err = queue_ask(r, path, 0, false);
	for (unsigned int i = 1; i < VIRTQ_QUEUES_MAX && !err; i++)
		err = queue_ask(r, path, i, vhost);
	return err == -EREMOTEIO ? 0 : err;
}

int virtq_qmp_read(struct qmp *q, struct virtq_qmp **ret, unsigned int *ret_nr)
{
	struct reading r = {.qmp = q};
	json_t *devices, *device;
	size_t i;
	int err = qmp_execute(q, "x-query-virtio", NULL, &devices);

	*ret = NULL;
	*ret_nr = 0;
	if (err == -EREMOTEIO && strstr(error_text(), "No virtio devices")) /* QEMU 11.1 */
		return 0;
	if (err)
		return err;
	json_array_foreach (devices, i, device) {
		const char *path = json_string_value(json_object_get(device, "path"));

		if (path && i < VIRTQ_DEVICES_MAX && !err)
			err = device_ask(&r, path);
	}
	json_decref(devices);
	if (err) {
		free(r.list);
		return err;
	}
	*ret = r.list;
	*ret_nr = r.nr;
	return 0;
}
