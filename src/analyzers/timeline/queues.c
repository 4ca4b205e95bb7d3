// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A queue has a track for its points (kick, interrupt) and one for each element that it had in flight at once: a lane.
 * Arrows lead from a kick to the elements that were popped after it, and from these to the interrupt that followed
 * their return; there they end, unless the guest's own trace shows the request's completion. A kick is only drawn when
 * the next one comes, since its arrows are not known before.
 */

#include <inttypes.h>

#include "analyzers/timeline/queues.h"
#include "analyzers/timeline/timeline.h"
#include "base/array.h"
#include "base/hash.h"
#include "event/handlers.h"
#include "event/records.h"
#include "event/virtio_ids.h"
#include "model/loss_state.h"
#include "pairing/elements.h"

enum {
	LABEL_BYTES = 24,
	QUEUES_MAX = 4096,
	LANES_MAX = 256,   /* elements of a queue that are drawn at once */
	DEVICES_MAX = 1024,
	DEVICE_BYTES = 40,
	PATH_BYTES = 128,
};

struct arrow {
	uint64_t flow;
	uint64_t complete_ns; /* the guest's: it ends there; 0: not seen, it ends at the interrupt */
};

struct lane {
	struct timeline_run run;
	uint64_t id; /* of struct virtio_ids */
	uint32_t losses; /* losses: of its queue, when it was popped */
	struct arrow arrow;
};

struct queue {
	uint32_t pid, index, group;
	uint64_t vq, vdev;
	char device[DEVICE_BYTES], label[LABEL_BYTES]; /* label: "rx0"; "q2" where it has no name */
	struct timeline_run kick; /* the newest, which is not drawn yet */
	uint32_t points;	  /* track */
	uint32_t depth, in_flight; /* track of the counter; its value */
	struct arrow done[TIMELINE_FLOWS]; /* of elements that were returned since the last interrupt */
	unsigned int nr_done, nr_lanes;
	struct lane *lane;
	uint32_t losses; /* number of those that it was touched before: what was popped before them is not counted */
	bool is_touched; /* had an event since the last loss */
	struct queue *next_touched, *next_of_device;
};

struct device {
	uint64_t key[2]; /* pid, vdev */
	char path[PATH_BYTES]; /* "": unknown */
	struct queue *queues;
};

struct queue_place {
	uint64_t key[3]; /* pid, vq, QUEUE_BY_VQ; or pid, vdev, index */
	uint32_t number;
};

#define QUEUE_BY_VQ UINT64_MAX

struct timeline_queues {
	struct timeline *t;
	struct elements *elements;
	struct element_watch watch;
	uint32_t group; /* of the event that is handled */
	struct queue queue[QUEUES_MAX];
	unsigned int nr_queues;
	struct hash_table places, devices;
	struct queue *touched;
};

static struct device *device_get(struct timeline_queues *q, uint32_t pid, uint64_t vdev)
{
	return hash_add_words(&q->devices, (uint64_t[]){pid, vdev}, NULL);
}

static void on_device(struct timeline_queues *q, const struct event *ev)
{
	RECORD(virtio_device, r, ev);
	struct device *d = record_has(ev, virtio_device, path) ? device_get(q, ev->pid, r->vdev)
							       : NULL;

	if (d && !*d->path)
		RECORD_TEXT(r, path, d->path);
}

/* NULL: there is none. */
static struct queue *queue_find(struct timeline_queues *q, uint32_t pid, uint64_t address,
				uint64_t index)
{
	const struct queue_place *p =
		hash_find_words(&q->places, (uint64_t[]){pid, address, index});
	struct queue *queue = p ? &q->queue[p->number] : NULL;

	if (queue && !queue->is_touched) {
		queue->is_touched = true;
		queue->next_touched = q->touched;
		q->touched = queue;
	}
	return queue;
}

/* Of several queues with this key the first one is found. */
static void queue_place(struct timeline_queues *q, uint32_t pid, uint64_t address, uint64_t index)
{
	bool first;
	struct queue_place *p =
		hash_add_words(&q->places, (uint64_t[]){pid, address, index}, &first);

	if (first)
		p->number = q->nr_queues - 1;
}

static void place_forget(struct timeline_queues *q, const struct queue *queue, uint64_t address,
			 uint64_t index)
{
	struct queue_place *p =
		hash_find_words(&q->places, (uint64_t[]){queue->pid, address, index});

	if (p && &q->queue[p->number] == queue)
		hash_remove(&q->places, p);
}

static void queue_name(const struct timeline_queues *q, struct queue *queue, const struct device *d,
		       const struct event *ev)
{
	const char *kind = elements_kind(q->elements, queue->pid, queue->vdev);
	const char *path = d && *d->path ? d->path : "virtio";
	char name[PATH_BYTES], number[LABEL_BYTES - 1];
	const char *known = virtio_queue_name(kind, queue->index, virtio_data_of(ev), name,
					      sizeof(name));

	snprintf(queue->label, LABEL_BYTES, known ? "%s" : "q%s",
		 known ?: virtio_queue_print(queue->index, number, sizeof(number)));
	snprintf(queue->device, DEVICE_BYTES, "%.39s",
		 virtio_device_name(path, kind, name, sizeof(name)));
}

/* By address of the VirtQueue; where only the index is known, by device and index. */
static struct queue *queue_get(struct timeline_queues *q, const struct event *ev, bool make)
{
	struct virtio_ids ids = virtio_ids_of(ev);
	uint64_t vq = ids.vq, vdev = ids.vdev;
	uint32_t index = ids.queue;
	struct queue *known = queue_find(q, ev->pid, vq ? vq : vdev, vq ? QUEUE_BY_VQ : index);
	struct device *d;
	struct queue *new;

	if (known)
		return known;
	if (!make || !vq || q->nr_queues == QUEUES_MAX)
		return NULL;
	new = &q->queue[q->nr_queues++];
	*new = (struct queue){.pid = ev->pid, .index = index, .group = q->group, .vq = vq,
			      .vdev = vdev};
	d = device_get(q, ev->pid, vdev);
	queue_name(q, new, d, ev);
	if (d) {
		new->next_of_device = d->queues;
		d->queues = new;
	}
	new->points = timeline_track(q->t, q->group, TRACK_QUEUE, (q->nr_queues - 1) * 512, 0,
				     "%s %s", new->device, new->label);
	new->kick.track = new->points;
	new->depth = timeline_counter(q->t, q->group, TRACK_QUEUE,
				      (q->nr_queues - 1) * 512 + LANES_MAX + 1, "%s %s in flight",
				      new->device, new->label);
	queue_place(q, ev->pid, vq, QUEUE_BY_VQ);
	queue_place(q, ev->pid, vdev, index);
	return queue_find(q, ev->pid, vq, QUEUE_BY_VQ);
}

/* A free lane, a new one, or NULL. */
static struct lane *lane_get(struct timeline_queues *q, struct queue *queue)
{
	unsigned int nr = queue->nr_lanes;

	for (unsigned int i = 0; i < nr; i++)
		if (!queue->lane[i].run.on)
			return &queue->lane[i];
	if (nr == LANES_MAX || array_room(queue->lane, nr))
		return NULL;
	queue->lane[nr] = (struct lane){
		.run.track = timeline_track(q->t, queue->group, TRACK_QUEUE,
					    (uint32_t)(queue - q->queue) * 512 + nr + 1, 0,
					    "%s %s #%u", queue->device, queue->label, nr + 1)};
	queue->nr_lanes++;
	return &queue->lane[nr];
}

/* ---- callbacks of the elements ---- */

static void element_begin(struct timeline_queues *q, struct lane *lane, const struct event *ev,
			  const struct virtio_ids *ids)
{
	if (ids->head == VIRTIO_NO_HEAD)
		run_begin(q->t, &lane->run, ev->time_ns, SLICE_REQUEST, "elem 0x%" PRIx64,
			  ids->elem);
	else
		run_begin(q->t, &lane->run, ev->time_ns, SLICE_REQUEST, "head %u", ids->head);
}

static void name_append(struct lane *lane, const char *what)
{
	char *name = lane->run.name;
	size_t len = strlen(name);

	snprintf(name + len, sizeof(lane->run.name) - len, " %s", what);
}

static void timeline_element_popped(void *arg, const struct event *ev)
{
	struct timeline_queues *q = arg;
	struct queue *queue = queue_get(q, ev, true);
	struct lane *lane = queue ? lane_get(q, queue) : NULL;
	const struct virtio_ids ids = virtio_ids_of(ev);
	const struct timeline_link *link;

	if (queue)
		timeline_count(q->t, queue->depth, ev->time_ns, ++queue->in_flight);
	if (!lane) {
		q->t->not_drawn++;
		return;
	}
	lane->run.nr_flows = 0;
	lane->losses = queue->losses;
	lane->id = ids.id;
	link = timeline_link_find(q->t, LINK_POP, ev->pid, ev->time_ns, ids.head);
	lane->arrow = link ? (struct arrow){link->flow, link->complete_ns}
			   : (struct arrow){.flow = timeline_flow(q->t)};
	element_begin(q, lane, ev, &ids);
	run_flow(&lane->run, lane->arrow.flow);
	run_flow(&queue->kick, lane->arrow.flow);
}

static struct lane *lane_of(const struct queue *queue, uint64_t id)
{
	return queue ? array_find(queue->lane, queue->nr_lanes, i,
				  queue->lane[i].run.on && queue->lane[i].id == id)
		     : NULL;
}

static void timeline_element_left(void *arg, const struct element *el, enum element_end how,
				  const struct event *ev)
{
	static const char *const why[] = {[ELEMENT_DETACHED] = "detached",
					  [ELEMENT_UNPOPPED] = "put back",
					  [ELEMENT_RESET] = "reset",
					  [ELEMENT_REPLACED] = "replaced"};
	struct timeline_queues *q = arg;
	struct queue *queue = queue_find(q, el->pid, el->vq, QUEUE_BY_VQ);
	struct lane *lane = lane_of(queue, el->id);

	if (queue && queue->in_flight && (!lane || lane->losses == queue->losses))
		timeline_count(q->t, queue->depth, ev->time_ns, --queue->in_flight);
	if (!lane)
		return;
	if (el->unknown)
		lane->run.on = false;
	else if (how == ELEMENT_RETURNED && queue->nr_done < TIMELINE_FLOWS)
		queue->done[queue->nr_done++] = lane->arrow;
	else if (how != ELEMENT_RETURNED)
		name_append(lane, why[how]);
	run_end(q->t, &lane->run, ev->time_ns);
}

/* ---- points ---- */

static void on_kick(struct timeline_queues *q, const struct event *ev)
{
	struct queue *queue = queue_get(q, ev, true);

	if (!queue)
		return;
	run_end(q->t, &queue->kick, queue->kick.since_ns);
	run_begin(q->t, &queue->kick, ev->time_ns, SLICE_INSTANT, "kick");
}

static void on_notify(struct timeline_queues *q, const struct event *ev)
{
	struct queue *queue = queue_get(q, ev, false);
	uint64_t flow[TIMELINE_FLOWS];
	struct timeline_slice s = {.kind = SLICE_INSTANT,
				   .start_ns = ev->time_ns,
				   .end_ns = ev->time_ns,
				   .name = "interrupt",
				   .flow = flow};

	if (!queue)
		return;
	s.track = queue->points;
	for (unsigned int i = 0; i < queue->nr_done; i++) {
		const struct arrow *arrow = &queue->done[i];

		if (arrow->complete_ns && arrow->complete_ns < ev->time_ns)
			continue; /* the guest found it without this interrupt */
		s.flows_end |= (unsigned int)!arrow->complete_ns << s.nr_flows;
		flow[s.nr_flows++] = arrow->flow;
	}
	queue->nr_done = 0;
	timeline_slice(q->t, &s);
}

/* Unplugged: another device may get these addresses. */
static void on_cleanup(struct timeline_queues *q, const struct event *ev)
{
	struct device *d = device_get(q, ev->pid, virtio_ids_of(ev).vdev);

	for (struct queue *queue = d ? d->queues : NULL; queue; queue = queue->next_of_device) {
		place_forget(q, queue, queue->vq, QUEUE_BY_VQ);
		place_forget(q, queue, queue->vdev, queue->index);
	}
	if (d)
		hash_remove(&q->devices, d);
}

/* What is in flight may have ended among these events: the elements know it when they end. */
static void queues_forget(struct timeline_queues *q, const struct event *ev)
{
	struct queue *queue;

	while ((queue = q->touched)) {
		q->touched = queue->next_touched;
		queue->is_touched = false;
		queue->losses++;
		run_end(q->t, &queue->kick, queue->kick.since_ns);
		queue->nr_done = 0;
		if (queue->in_flight)
			timeline_count(q->t, queue->depth, ev->time_ns, queue->in_flight = 0);
	}
}

static void on_lost(struct timeline_queues *q, const struct event *ev)
{
	if (loss_matters(ev, timeline_queues_wants))
		queues_forget(q, ev);
}

static const HANDLERS(struct timeline_queues) handlers = {{
	[EV_virtio_device] = on_device,
	[EV_virtio_queue_notify] = on_kick,
	[EV_virtio_notify] = on_notify,
	[EV_virtio_cleanup] = on_cleanup,
	[EV_lost] = on_lost,
	[EV_gap] = on_lost,
}};

bool timeline_queues_wants(const char *event, void *arg)
{
	return handlers_want(&handlers, event) || elements_wants(event, arg);
}

bool timeline_queues_take(const struct event *ev)
{
	return handlers_have(&handlers, ev) || elements_take(ev);
}

void timeline_queues_event(struct timeline_queues *q, const struct event *ev, uint32_t group)
{
	q->group = group;
	elements_event(q->elements, ev);
	handlers_call(&handlers, q, ev);
}

/* What may have ended among missing events is not drawn. */
static void unknown_drop(struct timeline_queues *q, uint64_t ns)
{
	struct element_totals totals;
	struct element *list;
	size_t nr;

	if (elements_end(q->elements, ns, UINT64_MAX, &list, &nr, &totals))
		return;
	for (size_t i = 0; i < nr; i++) {
		struct lane *lane = lane_of(queue_find(q, list[i].pid, list[i].vq, QUEUE_BY_VQ),
					    list[i].id);

		if (lane && list[i].verdict == ELEMENT_UNKNOWN)
			lane->run.on = false;
	}
	free(list);
}

void timeline_queues_end(struct timeline_queues *q, uint64_t ns)
{
	unknown_drop(q, ns);
	for (unsigned int i = 0; i < q->nr_queues; i++) {
		struct queue *queue = &q->queue[i];

		run_end(q->t, &queue->kick, queue->kick.since_ns);
		for (unsigned int l = 0; l < queue->nr_lanes; l++) {
			struct lane *lane = &queue->lane[l];

			if (lane->run.on)
				name_append(lane, "in flight");
			run_end(q->t, &lane->run, ns);
		}
	}
}

struct timeline_queues *timeline_queues_new(struct timeline *t)
{
	struct timeline_queues *q = calloc(1, sizeof(*q));

	if (!q)
		return NULL;
	q->t = t;
	q->places = HASH_TABLE(struct queue_place, 3, 2 * QUEUES_MAX);
	q->devices = HASH_TABLE(struct device, 2, DEVICES_MAX);
	q->elements = elements_new();
	if (!q->elements) {
		free(q);
		return NULL;
	}
	q->watch = (struct element_watch){
		.popped = timeline_element_popped, .left = timeline_element_left, .arg = q};
	elements_watch(q->elements, &q->watch);
	return q;
}

void timeline_queues_free(struct timeline_queues *q)
{
	if (!q)
		return;
	for (unsigned int i = 0; i < q->nr_queues; i++)
		free(q->queue[i].lane);
	elements_free(q->elements);
	hash_deinit(&q->places);
	hash_deinit(&q->devices);
	free(q);
}
