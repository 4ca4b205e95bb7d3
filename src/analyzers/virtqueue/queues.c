// SPDX-License-Identifier: GPL-2.0-or-later
/* Which queue an event is about, by device and index, and how many requests each queue has in flight over time. */
#include <errno.h>

#include "analyzers/virtqueue/queues_private.h"
#include "base/array.h"
#include "base/error.h"
#include "event/handlers.h"
#include "event/records.h"
#include "event/virtio_ids.h"

const struct queue_stage_info queue_stages[QUEUE_STAGES] = {
	[STAGE_KICK_POP] = {"kick-pop", "virtio_queue_notify"},
	[STAGE_POP_COMPLETE] = {"pop-complete", "vblk_done"},
	[STAGE_COMPLETE_PUSH] = {"complete-push", "vblk_done"},
	[STAGE_POP_PUSH] = {"pop-push", "virtqueue_fill"},
	[STAGE_PUSH_NOTIFY] = {"push-notify", "virtio_notify"},
	[STAGE_NOTIFY_RAISE] = {"notify-raise", "kvm_msi_set_irq or kvm_set_irq"},
	[STAGE_RAISE_GUEST] = {"raise-guest", "kvm_inj_virq"},
};

/* ---- queues by (VM, device's name, index) ---- */

static const char *path_of(const struct queues *q, uint32_t pid, uint64_t vdev)
{
	const struct named *d = hash_find_words(&q->devices, (uint64_t[]){pid, vdev});

	return d ? d->path : "";
}

static struct place *place_find(const struct queues *q, uint32_t pid, uint64_t vdev)
{
	return hash_find_words(&q->places, (uint64_t[]){pid, vdev});
}

/* Its device is at this address from now on, as the first of its queues; 0: at none. */
static void queue_place(struct queues *q, struct queue *n, uint64_t vdev)
{
	struct place *p = n->vdev ? place_find(q, n->f.pid, n->vdev) : NULL;

	if (n->next)
		n->next->prev = n->prev;
	if (n->prev)
		n->prev->next = n->next;
	else if (p)
		p->queues = n->next;
	if (p && !p->queues)
		hash_remove(&q->places, p);
	n->vdev = vdev;
	n->next = n->prev = NULL;
	n->is_first = true;
	p = vdev ? hash_add_words(&q->places, (uint64_t[]){n->f.pid, vdev}, NULL) : NULL;
	if (!p)
		return;
	n->next = p->queues;
	if (n->next)
		n->next->prev = n;
	p->queues = n;
}

/* A reset will have something to cut. */
static void queue_first(struct queues *q, struct queue *n)
{
	if (!n->is_first)
		queue_place(q, n, n->vdev);
}

static void on_device(struct queues *q, const struct event *ev)
{
	RECORD(virtio_device, r, ev);
	uint64_t vdev = r->vdev;
	struct named *d = record_has(ev, virtio_device, path)
				  ? hash_add_words(&q->devices, (uint64_t[]){ev->pid, vdev}, NULL)
				  : NULL;
	char name[QUEUES_DEVICE_MAX];
	struct place *p;

	if (!d)
		return;
	RECORD_TEXT(r, path, name);
	if (!strcmp(name, d->path))
		return;
	snprintf(d->path, sizeof(d->path), "%s", name);
	q->newest = NULL;
	while ((p = place_find(q, ev->pid, vdev))) /* another device at this address from now on */
		queue_place(q, p->queues, 0);
}

static bool is_by_vq(uint64_t index)
{
	return index > UINT32_MAX;
}

static uint64_t name_hash(uint32_t pid, uint64_t vdev, const char *path, uint64_t index)
{
	uint64_t device = *path ? hash_keyed_text(path) : is_by_vq(index) ? 0 : vdev;

	return hash_keyed_pair((uint64_t)pid << 32 ^ index, device);
}

static struct queue *queue_add(struct queues *q, uint32_t pid, const struct virtio_ids *ids,
			       const char *path)
{
	struct queue *new;

	if (q->nr == QUEUES_MAX) {
		q->overflow++;
		return NULL;
	}
	new = calloc(1, sizeof(*new));
	if (!new) {
		q->err = fail(-ENOMEM, "out of memory");
		return NULL;
	}
	new->f.pid = pid;
	new->f.queue = ids->queue;
	new->f.vq = ids->vq;
	new->index = virtio_queue_index(ids->queue, ids->vq);
	new->since_ns = q->start_ns;
	snprintf(new->f.device, sizeof(new->f.device), "%s", path);
	queue_place(q, new, ids->vdev);
	if (!hash_index_add(&q->by_name, name_hash(pid, ids->vdev, path, new->index), q->nr))
		q->err = fail(-ENOMEM, "out of memory");
	return q->queue[q->nr++] = new;
}

static struct queue *queue_find(const struct queues *q, uint32_t pid, uint64_t vdev,
				const char *path, uint64_t index)
{
	uint64_t probe = 0, hash = name_hash(pid, vdev, path, index);

	for (uint32_t i; (i = hash_index_next(&q->by_name, hash, &probe)) != HASH_NONE;) {
		struct queue *n = q->queue[i];

		if (n->f.pid == pid && n->index == index && !strcmp(n->f.device, path) &&
		    (*path || is_by_vq(index) || n->vdev == vdev))
			return n;
	}
	return NULL;
}

struct queue *queues_get(struct queues *q, uint32_t pid, const struct virtio_ids *ids)
{
	uint64_t vdev = ids->vdev, index = virtio_queue_index(ids->queue, ids->vq);
	struct queue *n = q->newest;

	if (n && n->f.pid == pid && n->vdev == vdev && n->index == index)
		return n;
	const char *path = path_of(q, pid, vdev);

	n = queue_find(q, pid, vdev, path, index);
	if (n && n->vdev != vdev) /* unplugged and plugged in again under its name */
		queue_place(q, n, vdev);
	return q->newest = n ? n : queue_add(q, pid, ids, path);
}

struct queue *queues_of_element(struct queues *q, const struct element *el)
{
	return queues_get(q, el->pid,
			  &(struct virtio_ids){.vdev = el->vdev, .vq = el->vq, .queue = el->queue});
}

static struct queue *queue_of_event(struct queues *q, const struct event *ev)
{
	struct virtio_ids ids = virtio_ids_of(ev);

	return queues_get(q, ev->pid, &ids);
}

/* Timestamps that are equal or go backwards (merged inputs) have no duration. */
static void stage_add(struct queues *q, struct queue *n, enum queue_stage stage, uint64_t from_ns,
		      uint64_t to_ns)
{
	uint64_t ns = to_ns > from_ns ? to_ns - from_ns : 0;
	int err = to_ns < q->start_ns ? 0 : quantiles_add(&n->f.stage[stage], ns);

	if (!err && q->watcher && to_ns >= q->start_ns)
		err = q->watcher(q->watcher_arg, &n->f, stage, to_ns, ns);
	if (err)
		q->err = err;
}

void queues_watch(struct queues *q, queue_value_fn *fn, void *arg)
{
	q->watcher = fn;
	q->watcher_arg = arg;
}

static bool in_window(const struct queues *q, const struct event *ev)
{
	return ev->time_ns >= q->start_ns;
}

/* ---- in flight over time ---- */

/* Two columns become one for all queues, until `ns` fits. */
static void columns_widen(struct queues *q, uint64_t ns)
{
	while ((ns - q->start_ns) / q->column_ns >= QUEUES_COLUMNS) {
		for (unsigned int i = 0; i < q->nr; i++) {
			uint32_t *c = q->queue[i]->f.column;

			for (unsigned int j = 0; j < QUEUES_COLUMNS / 2; j++)
				c[j] = c[2 * j] > c[2 * j + 1] ? c[2 * j] : c[2 * j + 1];
			memset(c + QUEUES_COLUMNS / 2, 0, QUEUES_COLUMNS / 2 * sizeof(*c));
			q->queue[i]->at /= 2;
		}
		q->column_ns *= 2;
	}
}

void queues_flight_until(struct queues *q, struct queue *n, uint64_t ns)
{
	if (ns <= n->since_ns)
		return;
	columns_widen(q, ns);
	n->f.area += (unsigned __int128)n->f.in_flight * (ns - n->since_ns);
	n->f.busy_ns += n->f.in_flight ? ns - n->since_ns : 0;
	n->since_ns = ns;
	for (unsigned int to = (unsigned int)((ns - q->start_ns) / q->column_ns); n->at < to;)
		n->f.column[++n->at] = (uint32_t)n->f.in_flight;
}

/*
 * Several may be slow at the same time. As none ends before those that were added, only the newest disjoint times
 * can be within a further one. A request that is out for longer than SLOW_TIMES_MAX of them counts from the last that
 * was dropped. All of them are times for which the VM ran (queues_ran_ns()).
 */
void queues_slow_add(struct queues *q, struct queue *n, uint64_t popped_ns, uint64_t ns)
{
	uint64_t first_ns = queues_ran_ns(q, n->f.pid, q->start_ns), start;

	ns = queues_ran_ns(q, n->f.pid, ns);
	popped_ns = queues_ran_ns(q, n->f.pid, popped_ns);
	start = ns > popped_ns ? ns - queues_lost_ns(ns - popped_ns) : ns;
	start = start > first_ns ? start : first_ns;
	start = start > n->slow_dropped_ns ? start : n->slow_dropped_ns;
	if (ns <= start)
		return;
	while (n->nr_slow && n->slow[n->nr_slow - 1].end_ns >= start) {
		const struct slow_time *last = &n->slow[--n->nr_slow];

		start = last->start_ns < start ? last->start_ns : start;
		n->f.slow_ns -= last->end_ns - last->start_ns;
	}
	if (n->nr_slow == SLOW_TIMES_MAX) {
		n->slow_dropped_ns = n->slow[0].end_ns;
		memmove(n->slow, n->slow + 1, --n->nr_slow * sizeof(*n->slow));
	}
	if (array_reserve(n->slow, n->nr_slow + 1, n->max_slow)) {
		q->err = error_code();
		return;
	}
	n->slow[n->nr_slow++] = (struct slow_time){start, ns};
	n->f.slow_ns += ns - start;
}

static void flight_change(struct queues *q, struct queue *n, uint64_t ns, int by)
{
	queues_flight_until(q, n, ns);
	if (by > 0 || n->f.in_flight)
		n->f.in_flight += (uint64_t)(int64_t)by;
	if (ns < q->start_ns) {
		n->f.most = n->f.column[0] = (uint32_t)n->f.in_flight;
		return;
	}
	if (n->f.in_flight > n->f.most)
		n->f.most = n->f.in_flight;
	if (n->f.in_flight > n->f.column[n->at])
		n->f.column[n->at] = (uint32_t)n->f.in_flight;
}

/* ---- elements ---- */

static void unknown_count(struct queues *q, uint64_t ns)
{
	q->unknown += ns >= q->start_ns;
}

static void kick_end(struct queues *q, struct queue *n, const struct event *pop)
{
	n->kicked = false;
	if (end_is_unknown(&q->losses, &n->kick, pop))
		unknown_count(q, pop->time_ns);
	else
		stage_add(q, n, STAGE_KICK_POP, n->kick.ns, pop->time_ns);
}

static void queue_element_popped(void *arg, const struct event *ev)
{
	struct queues *q = arg;
	struct queue *n = queue_of_event(q, ev);

	if (!n)
		return;
	n->f.popped += in_window(q, ev);
	if (virtio_data_of(ev) > n->f.data)
		n->f.data = virtio_data_of(ev);
	if (n->kicked)
		kick_end(q, n, ev);
	flight_change(q, n, ev->time_ns, 1);
}

/* Elements pushed since the queue's previous interrupt. */
static unsigned int *nr_pushed(const struct queues *q, struct queue *n)
{
	if (n->forgets != q->forgets)
		n->nr_pushed = 0;
	n->forgets = q->forgets;
	return &n->nr_pushed;
}

static void pushed(struct queues *q, struct queue *n, const struct element *el, uint64_t ns)
{
	struct completed *c = hash_find_words(&q->completed, (uint64_t[]){el->pid, el->address});

	n->f.returned += ns >= q->start_ns;
	if (el->unknown) {
		unknown_count(q, ns);
		return;
	}
	stage_add(q, n, STAGE_POP_PUSH, el->popped_ns, ns);
	queues_slow_add(q, n, el->popped_ns, ns);
	if (c && c->ns >= el->popped_ns) {
		stage_add(q, n, STAGE_POP_COMPLETE, el->popped_ns, c->ns);
		stage_add(q, n, STAGE_COMPLETE_PUSH, c->ns, ns);
	}
	if (c)
		hash_remove(&q->completed, c);
	if (*nr_pushed(q, n) ==
	    QUEUES_PENDING_MAX) /* interrupts are off: the oldest will have none */
		memmove(n->pushed_ns, n->pushed_ns + 1, --n->nr_pushed * sizeof(*n->pushed_ns));
	if (array_reserve(n->pushed_ns, n->nr_pushed + 1, n->max_pushed)) {
		q->err = error_code();
		return;
	}
	n->pushed_ns[n->nr_pushed++] = ns;
	queue_first(q, n);
}

static void queue_element_left(void *arg, const struct element *el, enum element_end how,
			       const struct event *ev)
{
	struct queues *q = arg;
	struct queue *n = queues_of_element(q, el);

	if (!n)
		return;
	flight_change(q, n, ev->time_ns, -1);
	if (how == ELEMENT_RETURNED)
		pushed(q, n, el, ev->time_ns);
	else if (how != ELEMENT_REPLACED)
		n->f.other += in_window(q, ev);
}

/* What a reset cuts has no end. */
static void queue_element_cleared(void *arg, const struct event *ev, uint64_t vdev, uint64_t index)
{
	struct queues *q = arg;
	const struct place *p = place_find(q, ev->pid, vdev);
	struct queue *n;

	if (index == UINT64_MAX) {
		for (n = p ? p->queues : NULL; n && n->is_first; n = n->next)
			n->nr_pushed = n->kicked = n->is_first = 0;
		return;
	}
	n = p ? queue_find(q, ev->pid, vdev, path_of(q, ev->pid, vdev), index) : NULL;
	if (n && n->vdev == vdev)
		n->nr_pushed = n->kicked = 0;
}

/* ---- kicks, completions, interrupts ---- */

static void on_kick(struct queues *q, const struct event *ev)
{
	struct queue *n = queue_of_event(q, ev);

	q->saw[STAGE_KICK_POP] = true;
	if (!n)
		return;
	n->f.kicks += in_window(q, ev);
	n->kicked = true;
	queue_first(q, n);
	n->kick = loss_mark_of(&q->losses, ev);
}

static void on_complete(struct queues *q, const struct event *ev)
{
	RECORD(vblk_done, r, ev); /* a VirtIOBlockReq begins with its element */
	struct completed *c = hash_add_words(&q->completed, (uint64_t[]){ev->pid, r->req}, NULL);

	q->saw[STAGE_POP_COMPLETE] = q->saw[STAGE_COMPLETE_PUSH] = true;
	if (c)
		c->ns = ev->time_ns;
}

static void on_notify(struct queues *q, const struct event *ev)
{
	struct queue *n = queue_of_event(q, ev);
	struct notifying *t;

	q->saw[STAGE_PUSH_NOTIFY] = true;
	if (!n)
		return;
	n->f.interrupts += in_window(q, ev);
	for (unsigned int i = 0; i < *nr_pushed(q, n); i++)
		stage_add(q, n, STAGE_PUSH_NOTIFY, n->pushed_ns[i], ev->time_ns);
	n->nr_pushed = 0;
	t = hash_add_u64(&q->notifying, ev->tid, NULL);
	if (t) {
		t->ns = ev->time_ns;
		t->queue = n;
	}
}

/* The queue for which this thread is raising an interrupt; it is asked once. */
static struct queue *notifying(struct queues *q, const struct event *ev, uint64_t *ret_ns)
{
	struct notifying *t = hash_find_u64(&q->notifying, ev->tid);
	struct queue *n = t ? t->queue : NULL;

	if (!n || n->f.pid != ev->pid)
		return NULL;
	*ret_ns = t->ns;
	hash_remove(&q->notifying, t);
	return n;
}

static void on_line(struct queues *q, const struct event *ev)
{
	uint64_t ns;
	RECORD(kvm_set_irq, r, ev);
	struct queue *n = r->level == 1 ? notifying(q, ev, &ns) : NULL;

	q->saw[STAGE_NOTIFY_RAISE] = true;
	if (n)
		stage_add(q, n, STAGE_NOTIFY_RAISE, ns, ev->time_ns);
}

static void on_message(struct queues *q, const struct event *ev)
{
	RECORD(kvm_msi_set_irq, r, ev);
	uint64_t ns;
	struct queue *n = notifying(q, ev, &ns);
	unsigned int i = 0;

	q->saw[STAGE_NOTIFY_RAISE] = true;
	if (!n)
		return;
	stage_add(q, n, STAGE_NOTIFY_RAISE, ns, ev->time_ns);
	while (i < q->nr_raised && q->raised[i].queue != n)
		i++;
	if (i == RAISED_MAX) {
		q->nr_raised_refused++;
		return;
	}
	if (i == q->nr_raised)
		q->nr_raised++;
	else
		return; /* raised again before it was injected: the first one counts */
	q->raised[i].queue = n;
	q->raised[i].pid = ev->pid;
	q->raised[i].vector = r->data & 0xff;
	q->raised[i].destination = r->address >> 12 & 0xff;
	q->raised[i].logical = r->address & MSI_LOGICAL;
	q->raised[i].ns = ev->time_ns;
}

static void on_inject(struct queues *q, const struct event *ev)
{
	RECORD(kvm_inj_virq, r, ev);

	q->saw[STAGE_RAISE_GUEST] = true;
	for (unsigned int i = 0; i < q->nr_raised;) {
		bool for_it = q->raised[i].logical
				      ? ev->vcpu < 8 && q->raised[i].destination >> ev->vcpu & 1
				      : q->raised[i].destination == ev->vcpu;

		if (q->raised[i].pid != ev->pid || q->raised[i].vector != r->vector || !for_it) {
			i++;
			continue;
		}
		stage_add(q, q->raised[i].queue, STAGE_RAISE_GUEST, q->raised[i].ns, ev->time_ns);
		q->raised[i] = q->raised[--q->nr_raised];
	}
}

/* A thread that does anything else with virtqueues is no longer raising an interrupt. */
static void notify_over(struct queues *q, const struct event *ev)
{
	struct notifying *t = hash_find_u64(&q->notifying, ev->tid);

	if (t)
		hash_remove(&q->notifying, t);
}

/* ---- losses ---- */

/* What has been raised, or pushed without an interrupt: its end may be missing. */
static void interrupts_forget(struct queues *q)
{
	q->forgets++;
	hash_clear(&q->notifying);
	q->nr_raised = 0;
}

static bool kicks_or_elements(const char *event, void *arg)
{
	return !strcmp(event, "virtio_queue_notify") || elements_wants(event, arg);
}

static void on_lost(struct queues *q, const struct event *ev)
{
	if (loss_matters(ev, queues_wants))
		interrupts_forget(q);
	loss_state_add(&q->losses, ev, loss_matters(ev, kicks_or_elements));
}

static const HANDLERS(struct queues) handlers = {{
	[EV_virtio_queue_notify] = on_kick,
	[EV_vblk_done] = on_complete,
	[EV_virtio_notify] = on_notify,
	[EV_kvm_set_irq] = on_line,
	[EV_kvm_msi_set_irq] = on_message,
	[EV_kvm_inj_virq] = on_inject,
	[EV_virtio_device] = on_device,
	[EV_lost] = on_lost,
	[EV_gap] = on_lost,
}};

bool queues_wants(const char *event, void *arg)
{
	return handlers_want(&handlers, event) || elements_wants(event, arg);
}

int queues_event(struct queues *q, const struct event *ev)
{
	handlers_call(&handlers, q, ev);
	queues_stops_event(q, ev);
	if (elements_take(ev)) {
		notify_over(q, ev);
		elements_event(q->elements, ev);
	}
	return q->err;
}

/* ---- begin and end ---- */

struct queues *queues_new(uint64_t start_ns)
{
	struct queues *q = calloc(1, sizeof(*q));

	if (!q)
		return NULL;
	q->elements = elements_new();
	q->devices = HASH_TABLE(struct named, 2, DEVICES_MAX);
	q->places = HASH_TABLE(struct place, 2, QUEUES_MAX);
	q->by_name = HASH_INDEX(QUEUES_MAX);
	q->completed = HASH_TABLE(struct completed, 2, COMPLETED_MAX);
	q->notifying = HASH_TABLE(struct notifying, 1, NOTIFYING_MAX);
	queues_stops_init(q);
	q->start_ns = start_ns;
	q->column_ns = FIRST_COLUMN_NS;
	q->watch = (struct element_watch){.popped = queue_element_popped,
					  .left = queue_element_left,
					  .cleared = queue_element_cleared,
					  .arg = q};
	if (!q->elements) {
		queues_free(q);
		return NULL;
	}
	elements_watch(q->elements, &q->watch);
	elements_window(q->elements, start_ns);
	return q;
}

void queues_free(struct queues *q)
{
	if (!q)
		return;
	for (unsigned int i = 0; i < q->nr; i++) {
		for (unsigned int s = 0; s < QUEUE_STAGES; s++)
			quantiles_free(&q->queue[i]->f.stage[s]);
		free(q->queue[i]->pushed_ns);
		free(q->queue[i]->slow);
		free(q->queue[i]);
	}
	elements_free(q->elements);
	loss_state_deinit(&q->losses);
	hash_deinit(&q->devices);
	hash_deinit(&q->places);
	hash_index_deinit(&q->by_name);
	hash_deinit(&q->completed);
	hash_deinit(&q->notifying);
	queues_stops_free(q);
	free(q);
}
