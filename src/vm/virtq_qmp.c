// SPDX-License-Identifier: GPL-2.0-or-later
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/error.h"
#include "event/event.h"
#include "vm/virtq_qmp.h"

static void text_take(const json_t *object, const char *key, char *buf, size_t size)
{
	const char *text = json_string_value(json_object_get(object, key));

	snprintf(buf, size, "%s", text ? text : "");
	text_sanitize(buf);
}

/* QEMU prints uint64; jansson's integers are signed. */
static uint64_t number(const json_t *object, const char *key)
{
	return (uint64_t)json_integer_value(json_object_get(object, key));
}

bool virtq_qmp_parse(const json_t *answer, struct virtq_qmp *ret)
{
	if (!json_is_integer(json_object_get(answer, "vring-num")) ||
	    number(answer, "vring-num") > VIRTQ_SIZE_MAX)
		return false;
	text_take(answer, "name", ret->name, sizeof(ret->name));
	ret->size = (unsigned int)number(answer, "vring-num");
	ret->desc = number(answer, "vring-desc");
	ret->avail = number(answer, "vring-avail");
	ret->used = number(answer, "vring-used");
	ret->last_avail_idx = (uint16_t)number(answer, "last-avail-idx");
	ret->shadow_avail_idx = (uint16_t)number(answer, "shadow-avail-idx");
	ret->used_idx = (uint16_t)number(answer, "used-idx");
	ret->signalled_used = (uint16_t)number(answer, "signalled-used");
	ret->inuse = (uint32_t)number(answer, "inuse");
	return true;
}

static bool vhost_parse(const json_t *answer, struct virtq_qmp *ret)
{
	if (number(answer, "num") > VIRTQ_SIZE_MAX)
		return false;
	text_take(answer, "name", ret->name, sizeof(ret->name));
	ret->size = (unsigned int)number(answer, "num");
	ret->desc = number(answer, "desc-phys");
	ret->avail = number(answer, "avail-phys");
	ret->used = number(answer, "used-phys");
	return true;
}

struct reading {
	struct qmp *qmp;
	struct virtq_qmp *list;
	unsigned int nr;
};

static int list_add(struct reading *r, const struct virtq_qmp *one)
{
	if (array_room(r->list, r->nr))
		return -ENOMEM;
	r->list[r->nr++] = *one;
	return 0;
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
