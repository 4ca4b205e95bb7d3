// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The guest's virtqueues, as `osv info virtio` walks them: hw::driver_manager keeps a vector of
 * drivers; virtio drivers are identified by their vtables' names. In a ring (virtio 1.2,
 * sections 2.7.6 and 2.7.8) flags and idx are the first two u16 of the available and the used ring;
 * avail_event and used_event (2.7.10) follow the other one.
 */
#include <errno.h>
#include <inttypes.h>
#include <libiberty/demangle.h>

#include "base/array.h"
#include "base/error.h"
#include "fetch/osv_guest.h"

enum { VTABLE_HEAD = 16, FLAGS_OFFSET = 0, IDX_OFFSET = 2, USED_F_NO_NOTIFY = 1 };

struct places {
	uint64_t instance;
	uint32_t drivers, nr_queues, queues, queues_size;
	uint32_t avail, used, avail_event, used_event, num, free, used_seen, used_freed;
};

struct walk {
	struct osv_guest g;
	struct places at;
	struct osv_queue *queue;
	unsigned int nr;
};

static int places_find(void *walk)
{
	struct walk *w = walk;
	struct places *at = &w->at;
	const struct layout_member members[] = {
		{"hw::driver_manager", "_drivers", &at->drivers, NULL},
		{"virtio::virtio_driver", "_num_queues", &at->nr_queues, NULL},
		{"virtio::virtio_driver", "_queues", &at->queues, &at->queues_size},
		{"virtio::vring", "_avail", &at->avail, NULL},
		{"virtio::vring", "_used", &at->used, NULL},
		{"virtio::vring", "_avail_event", &at->avail_event, NULL},
		{"virtio::vring", "_used_event", &at->used_event, NULL},
		{"virtio::vring", "_num", &at->num, NULL},
		{"virtio::vring", "_avail_count", &at->free, NULL},
		{"virtio::vring", "_used_ring_host_head", &at->used_seen, NULL},
		{"virtio::vring", "_used_ring_guest_head", &at->used_freed, NULL},
	};
	int err = layout_symbol(w->g.layout, "_ZN2hw14driver_manager9_instanceE", &at->instance);

	return err ? err
		   : layout_members(w->g.layout, members, sizeof(members) / sizeof(*members));
}

/* "vtable for virtio::net": the class of the object that this vtable pointer belongs to. */
static int class_name(struct osv_guest *g, uint64_t vptr, char *ret, size_t size)
{
	static const char head[] = "vtable for ";
	const char *symbol = layout_symbol_at(g->layout, vptr - VTABLE_HEAD);
	char *name = symbol ? cplus_demangle(symbol, DMGL_ANSI) : NULL;
	bool is = name && !strncmp(name, head, sizeof(head) - 1);

	if (is)
		snprintf(ret, size, "%s", name + sizeof(head) - 1);
	free(name);
	return is ? 0 : fail(-EBADMSG, "there is no vtable at 0x%" PRIx64, vptr);
}

/* Reads a u16 through a pointer that is a member of the queue. */
static int through(struct walk *w, uint64_t queue, uint32_t member, unsigned int offset,
		   uint16_t *ret)
{
	uint64_t to;
	int err = osv_guest_u64(&w->g, queue + member, &to);

	return err ? err : osv_guest_u16(&w->g, to + offset, ret);
}

static int queue_read(struct walk *w, struct osv_queue *q)
{
	const struct places *at = &w->at;
	uint64_t a = q->address;
	uint16_t flags = 0;
	int err = through(w, a, at->avail, IDX_OFFSET, &q->avail);

	err = err ? err : through(w, a, at->used, IDX_OFFSET, &q->used);
	err = err ? err : through(w, a, at->used, FLAGS_OFFSET, &flags);
	err = err ? err : through(w, a, at->avail_event, 0, &q->avail_event);
	err = err ? err : through(w, a, at->used_event, 0, &q->used_event);
	err = err ? err : osv_guest_u16(&w->g, a + at->num, &q->size);
	err = err ? err : osv_guest_u16(&w->g, a + at->free, &q->free);
	err = err ? err : osv_guest_u16(&w->g, a + at->used_seen, &q->used_seen);
	err = err ? err : osv_guest_u16(&w->g, a + at->used_freed, &q->used_freed);
	q->no_notify = flags & USED_F_NO_NOTIFY;
	return err;
}

static int driver_read(struct walk *w, uint64_t driver, const char *name)
{
	uint64_t place = driver + w->at.queues, queue;
	uint32_t nr, max = w->at.queues_size / 8;
	int err = osv_guest_read(&w->g, driver + w->at.nr_queues, &nr, sizeof(nr));

	if (!err && (nr > OSV_QUEUES_MAX || nr > max))
		err = fail(-EBADMSG, "%s has %u queues; at most %u are supported", name, nr, max);
	for (uint32_t i = 0; i < nr && !err; i++) {
		if (array_room(w->queue, w->nr))
			return -ENOMEM;
		err = osv_guest_u64(&w->g, place + 8ull * i, &queue);
		if (err || !queue)
			continue;
		struct osv_queue *q = &w->queue[w->nr];

		*q = (struct osv_queue){
			.driver_address = driver, .address = queue, .index = (uint16_t)i};
		snprintf(q->driver, sizeof(q->driver), "%s", name);
		err = queue_read(w, q);
		if (err)
			err = osv_guest_lose(&w->g, "queue", queue, err);
		else
			w->nr++;
	}
	return err;
}

static int any_driver_read(struct walk *w, uint64_t driver)
{
	uint64_t vptr;
	char name[64];
	int err = osv_guest_u64(&w->g, driver, &vptr);

	if (!err)
		err = class_name(&w->g, vptr, name, sizeof(name));
	if (!err && !strncmp(name, "virtio::", 8))
		err = driver_read(w, driver, name);
	return err ? osv_guest_lose(&w->g, "driver", driver, err) : 0;
}

static int drivers_walk(void *walk)
{
	struct walk *w = walk;
	uint64_t manager, *driver = NULL;
	unsigned int nr = 0;
	int err = osv_guest_u64(&w->g, w->at.instance, &manager);

	if (!err)
		err = osv_guest_vector(&w->g, manager + w->at.drivers, OSV_DRIVERS_MAX, &driver,
				       &nr);
	for (unsigned int i = 0; i < nr && !err; i++)
		err = any_driver_read(w, driver[i]);
	free(driver);
	return err;
}

int osv_queues(const struct osv_guest_options *opt, struct osv_queue **ret, unsigned int *ret_nr,
	       struct osv_pause *ret_pause)
{
	struct walk w = {0};
	int err = osv_guest_visit(opt, &w.g, places_find, drivers_walk, &w, ret_pause);

	osv_guest_close(&w.g);
	if (err) {
		free(w.queue);
		return err;
	}
	*ret = w.queue;
	*ret_nr = w.nr;
	return 0;
}
