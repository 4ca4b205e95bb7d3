// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The queues of each type of device (virtio 1.2, chapter 5; 0-based, as QEMU and the drivers count). A name is only
 * given where the number decides it. What depends on features that no event has stays a number: the balloon's queue 3
 * (free pages or reporting), the crypto device's last one. A virtio-net's last queue is its control queue, and how many
 * pairs come before it depends on the driver: of the even ones above 0 the direction of the data decides.
 */
#include "event/virtio_names.h"

#include <stdio.h>
#include <string.h>

#include "event/records.h"
#include "event/virtio_ids.h"

enum { SINGLE_MAX = 5, PAIRS_UNTIL_CONTROL = 1, PAIRS_AFTER = 2 };

static const struct device_type {
	const char *kind;
	const char *single[SINGLE_MAX]; /* the first ones; NULL: not certain */
	unsigned int nr_single;
	const char *others; /* the queues after them, numbered from 0; NULL: none, or not certain */
	int pairs;	    /* rx and tx in turn: with a control queue after them, or after the single ones */
} types[] = {
	{"virtio-net", {0}, 0, NULL, PAIRS_UNTIL_CONTROL},
	{"virtio-blk", {0}, 0, "request", 0},
	{"vhost-user-blk", {0}, 0, "request", 0},
	{"virtio-scsi", {"ctrl", "event"}, 2, "request", 0},
	{"virtio-serial", {"rx0", "tx0", "ctrl-rx", "ctrl-tx"}, 4, NULL, PAIRS_AFTER},
	{"virtio-console", {"rx0", "tx0", "ctrl-rx", "ctrl-tx"}, 4, NULL, PAIRS_AFTER},
	{"virtio-balloon", {"inflate", "deflate", "stats", NULL, "reporting"}, 5, NULL, 0},
	{"virtio-rng", {"request"}, 1, NULL, 0},
	{"virtio-9p", {"request"}, 1, NULL, 0},
	{"virtio-gpu", {"ctrl", "cursor"}, 2, NULL, 0},
	{"virtio-input", {"event", "status"}, 2, NULL, 0},
	{"vhost-vsock", {"rx", "tx", "event"}, 3, NULL, 0},
	{"virtio-iommu", {"request", "event"}, 2, NULL, 0},
	{"virtio-pmem", {"request"}, 1, NULL, 0},
	{"virtio-mem", {"request"}, 1, NULL, 0},
	{"virtio-sound", {"ctrl", "event", "tx", "rx"}, 4, NULL, 0},
	{"virtio-crypto", {"data0"}, 1, NULL, 0},
	{"vhost-user-fs", {"hiprio"}, 1, NULL, 0},
};

enum { NR_TYPES = sizeof(types) / sizeof(types[0]) };

unsigned int virtio_kind_number(const char *kind)
{
	for (unsigned int i = 0; i < NR_TYPES; i++)
		if (!strcmp(types[i].kind, kind))
			return i + 1;
	return 0;
}

const char *virtio_kind_name(unsigned int number)
{
	return number && number <= NR_TYPES ? types[number - 1].kind : "";
}

enum virtio_data virtio_data_of(const struct event *ev)
{
	if (ev->type->id != EV_virtqueue_pop)
		return VIRTIO_DATA_UNKNOWN;
	RECORD(virtqueue_pop, r, ev);
	if (!record_has(ev, virtqueue_pop, in_num) || !record_has(ev, virtqueue_pop, out_num) ||
	    !(r->in_num || r->out_num))
		return VIRTIO_DATA_UNKNOWN;
	return r->out_num ? VIRTIO_DATA_OUT : VIRTIO_DATA_IN;
}

static const char *pair_name(uint32_t number, char *buf, size_t size)
{
	snprintf(buf, size, "%s%u", number % 2 ? "tx" : "rx", number / 2);
	return buf;
}

const char *virtio_queue_name(const char *kind, uint32_t queue, enum virtio_data data, char *buf,
			      size_t size)
{
	unsigned int number = virtio_kind_number(kind);
	const struct device_type *type;

	if (!number || queue == VIRTIO_NO_QUEUE)
		return NULL;
	type = &types[number - 1];
	if (queue < type->nr_single)
		return type->single[queue];
	queue -= type->nr_single;
	if (type->pairs == PAIRS_AFTER)
		return pair_name(queue + 2, buf, size);
	if (type->pairs && queue && queue % 2 == 0 && data != VIRTIO_DATA_IN)
		return data == VIRTIO_DATA_OUT ? "ctrl" : NULL;
	if (type->pairs)
		return pair_name(queue, buf, size);
	if (!type->others)
		return NULL;
	snprintf(buf, size, "%s%u", type->others, queue);
	return buf;
}

const char *virtio_queue_label(const char *kind, uint32_t queue, enum virtio_data data, char *buf,
			       size_t size)
{
	char name[32];
	const char *known = virtio_queue_name(kind, queue, data, name, sizeof(name));

	if (!known)
		return virtio_queue_print(queue, buf, size);
	snprintf(buf, size, "%s", known);
	return buf;
}

const char *virtio_device_name(const char *path, const char *kind, char *buf, size_t size)
{
	static const char backend[] = "/virtio-backend", machine[] = "/machine/";
	static const char unnamed[] = "device[";
	size_t len = strlen(path), tail = strlen(backend), from;
	bool is_backend = len > tail && !strcmp(path + len - tail, backend);

	if (!is_backend && strncmp(path, machine, strlen(machine)) != 0)
		return path;
	if (is_backend)
		len -= tail;
	for (from = len; from && path[from - 1] != '/'; from--)
		;
	if (*kind && !strncmp(path + from, unnamed, strlen(unnamed)))
		snprintf(buf, size, "%s%.*s", kind, (int)(len - from - strlen("device")),
			 path + from + strlen("device"));
	else
		snprintf(buf, size, "%.*s", (int)(len - from), path + from);
	return buf;
}
