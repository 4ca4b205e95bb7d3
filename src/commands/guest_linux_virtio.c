// SPDX-License-Identifier: GPL-2.0-or-later
/* guest virtio of a Linux guest: the virtqueues as its drivers have them, beside what QEMU has of the same rings. */
#include <errno.h>
#include <inttypes.h>

#include "base/array.h"
#include "commands/common/guest.h"
#include "commands/guest_linux.h"
#include "vm/linux/lists.h"

static const char header[] =
	"DEVICE    DRIVER          QUEUE        RING    SIZE  FREE AVAIL  USED  SEEN KICKS     "
	"INTERRUPTS  STATE    QEMU: AVAIL  USED  HELD DEVICE\n";

/* What QEMU has of a queue; path "": nothing. */
struct device_view {
	char path[VIRTQ_PATH_MAX];
	struct virtq_state state;
};

struct views {
	struct device_view *view;
	size_t nr;
};

/* All queues of QEMU whose rings are mapped. Without any, QEMU's columns stay empty: it may be another VMM. */
static int views_read(const struct linux_guest *g, struct views *ret)
{
	_cleanup_free_ struct virtq_device *device = NULL;
	unsigned int nr = 0;
	int err = virtq_devices_find(&g->memory, g->ram_bytes, &device, &nr);

	for (unsigned int i = 0; i < nr && !err; i++)
		for (unsigned int q = 0; q < VIRTQ_QUEUES_MAX && !err; q++) {
			struct virtq_state state;

			if (virtq_read(&g->memory, &device[i], q, &state) <= 0 || !state.rings)
				continue;
			if (array_room(ret->view, ret->nr))
				return -ENOMEM;
			ret->view[ret->nr].state = state;
			memcpy(ret->view[ret->nr++].path, device[i].path, sizeof(device[i].path));
		}
	return err;
}

static const struct device_view *view_of(const struct views *v, const struct linux_virtqueue *q)
{
	for (size_t i = 0; q->ring && i < v->nr; i++)
		if (v->view[i].state.at.desc == q->ring)
			return &v->view[i];
	return NULL;
}

static const char *state_of(const struct linux_virtqueue *q)
{
	if (q->broken)
		return "broken";
	return q->moving ? "changing" : "-";
}

static json_t *view_json(const struct device_view *v)
{
	const struct virtq_state *s = &v->state;

	return json_pack("{s:s,s:i,s:i,s:i,s:i,s:b}", "device", v->path, "queue", (int)s->index,
			 "avail_idx", s->last_avail_idx, "used_idx", s->used_idx, "held",
			 (int)s->inuse, "elsewhere", s->elsewhere);
}

static json_t *queue_json(const struct linux_virtqueue *q, const struct device_view *v)
{
	char kicks[16], interrupts[16];
	json_t *row = json_pack(
		"{s:s,s:s?,s:i,s:s,s:s,s:i,s:i,s:i,s:i,s:i,s:b,s:b,s:b}", "device", q->device,
		"driver", *q->driver ? q->driver : NULL, "queue", (int)q->index, "name", q->name,
		"ring", q->packed ? "packed" : "split", "size", (int)q->size, "free", (int)q->free,
		"driver_avail_idx", q->avail_idx, "driver_seen_idx", q->seen_idx, "not_kicked",
		q->added, "event_idx", q->event_idx, "broken", q->broken, "changing", q->moving);

	if (q->rings) {
		virtq_notify_print(&q->kicks, kicks, sizeof(kicks));
		virtq_notify_print(&q->interrupts, interrupts, sizeof(interrupts));
		json_object_set_new(row, "kicks", json_string(kicks));
		json_object_set_new(row, "interrupts", json_string(interrupts));
	}
	if (q->rings && !q->packed) {
		uint16_t avail = q->ring_avail_idx, used = q->ring_used_idx;

		json_object_set_new(row, "avail_idx", json_integer(avail));
		json_object_set_new(row, "used_idx", json_integer(used));
		json_object_set_new(row, "at_device", json_integer((uint16_t)(avail - used)));
		json_object_set_new(row, "not_collected",
				    json_integer((uint16_t)(used - q->seen_idx)));
	}
	json_object_set_new(row, "qemu", v ? view_json(v) : json_null());
	return row;
}

static void queue_text(const struct linux_list *l, const struct linux_virtqueue *q,
		       const struct device_view *v)
{
	char kicks[16] = "-", interrupts[16] = "-", used[8] = "-",
	     queue[LINUX_VIRTIO_NAME_MAX + 16];

	snprintf(queue, sizeof(queue), "%" PRIu32 " %s", q->index, q->name);
	if (q->rings) {
		virtq_notify_print(&q->kicks, kicks, sizeof(kicks));
		virtq_notify_print(&q->interrupts, interrupts, sizeof(interrupts));
	}
	if (q->rings && !q->packed)
		snprintf(used, sizeof(used), "%" PRIu16, q->ring_used_idx);
	fprintf(l->out,
		"%-9s %-15s %-12s %-6s %5" PRIu32 " %5" PRIu32 " %5" PRIu16 " %5s %5" PRIu16
		" %-9s %-11s %-8s",
		q->device, *q->driver ? q->driver : "-", queue, q->packed ? "packed" : "split",
		q->size, q->free, q->avail_idx, used, q->seen_idx, kicks, interrupts, state_of(q));
	if (v)
		fprintf(l->out, "       %5" PRIu16 " %5" PRIu16 " %5" PRIu32 " %s",
			v->state.last_avail_idx, v->state.used_idx, v->state.inuse, v->path);
	fputc('\n', l->out);
}

static int virtio_print(struct linux_list *l)
{
	struct linux_virtqueue *queue = NULL;
	struct views views = {0};
	size_t nr = 0;
	int err = linux_virtqueues_read(l->g, l->types, &queue, &nr),
	    viewed = views_read(l->g, &views), printed = 0;

	if (!l->json)
		fputs(header, l->file);
	for (size_t i = 0; i < nr && !printed; i++) {
		const struct device_view *v = view_of(&views, &queue[i]);

		if (!l->json)
			queue_text(l, &queue[i], v);
		printed = linux_row_end(l, l->json ? queue_json(&queue[i], v) : NULL);
	}
	free(views.view);
	free(queue);
	return printed ? printed : err ? err : viewed;
}

int guest_linux_virtio(int argc, char **argv)
{
	return guest_linux_list("virtio", argc, argv, true, virtio_print);
}
