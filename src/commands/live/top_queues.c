// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Events of the VMs that run at the start, for commands that count as they go: record types are enabled, records are
 * drained in rounds and handed to a callback. Of these, top --queues makes the figures of virtqueues, and top --tasks
 * those of guest tasks.
 */
#include <errno.h>

#include "base/array.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/hash.h"
#include "commands/live/queue_events.h"
#include "commands/live/record.h"
#include "event/records.h"
#include "event/virtio_ids.h"
#include "output/table.h"
#include "pairing/elements.h"

/* A VM that ends meanwhile makes it fail: then again with those that are left. */
int queue_events_open(const struct top_vms *vms, struct queue_events *ret)
{
	_cleanup_free_ struct vm *list = calloc(vms->nr + 1, sizeof(*list));
	struct collector_options options = {0};
	unsigned int nr, before = UINT32_MAX;
	int err = list ? events_choose_for("leaks", options.wants)
		       : fail(-ENOMEM, "out of memory");

	*ret = (struct queue_events){0};
	while (!err && !ret->collector) {
		nr = 0;
		for (unsigned int i = 0; i < vms->nr; i++)
			if (!top_vm_has_ended(&vms->vm[i]))
				list[nr++] = vms->vm[i].vm; /* borrowed */
		if (nr == before)
			return error_code();
		before = nr;
		(void)collector_open(list, nr, &options, &ret->collector);
	}
	return err;
}

int queue_events_follow(const bool wants[EV_LIMIT], struct queue_events *ret)
{
	/* In place of a command that starts VMs: this process, which starts none. */
	const struct vm self = {.pid = getpid()};
	struct collector_options options = {.follow = true};

	memcpy(options.wants, wants, sizeof(options.wants));
	*ret = (struct queue_events){0};
	return collector_open(&self, 1, &options, &ret->collector);
}

void queue_events_close(struct queue_events *q)
{
	collector_close(q->collector);
	record_round_deinit(&q->round);
	*q = (struct queue_events){0};
}

static int on_record(void *arg, const struct record_hdr *rec)
{
	return rec->type < EV_LIMIT ? record_round_add(arg, rec) : 0;
}

int queue_events_read(struct queue_events *q, record_round_fn *fn, void *arg)
{
	int err = collector_round(q->collector, on_record, &q->round, &q->watermark_ns);

	return err ? err : record_round_each(&q->round, q->watermark_ns, fn, arg);
}

/* top --queues: the virtqueues of the VMs that run at the start. */

/* Beyond these, queues are not shown and devices have no names. */
enum { QUEUES_WATCHED_MAX = 4096, DEVICES_WATCHED_MAX = 1024, PATH_BYTES = 128 };

struct queue_of_vm {
	uint64_t key[3]; /* pid, device, queue */
	uint64_t number;
	uint64_t in_flight, count, busy_ns, since_ns; /* busy since then, if one is in flight */
	enum virtio_data data;
	struct quantiles recent, all;
};

struct device_name {
	uint64_t key[2]; /* pid, device */
	char path[PATH_BYTES];
};

struct queue_number {
	uint64_t key[3], number;
};

struct top_queues {
	struct queue_events events;
	struct elements *elements;
	struct element_watch watch;
	struct hash_table queues, devices;
	struct queue_of_vm *list[QUEUES_WATCHED_MAX];
	unsigned int nr;
	int err;
};

/* ---- events ---- */

static struct queue_of_vm *queue_get(struct top_queues *t, uint32_t pid, uint64_t vdev,
				     uint64_t queue)
{
	bool is_new;
	struct queue_number *e =
		hash_add_words(&t->queues, (const uint64_t[]){pid, vdev, queue}, &is_new);

	if (!e)
		return NULL;
	if (!is_new)
		return t->list[e->number];
	t->list[t->nr] = calloc(1, sizeof(**t->list));
	if (!t->list[t->nr]) {
		t->err = fail(-ENOMEM, "out of memory");
		hash_remove(&t->queues, e);
		return NULL;
	}
	*t->list[t->nr] = (struct queue_of_vm){.key = {pid, vdev, queue}, .number = t->nr};
	e->number = t->nr;
	return t->list[t->nr++];
}

static void top_queues_popped(void *arg, const struct event *ev)
{
	struct virtio_ids ids = virtio_ids_of(ev);
	struct queue_of_vm *q = queue_get(arg, ev->pid, ids.vdev, ids.queue);

	if (!q)
		return;
	if (virtio_data_of(ev) > q->data)
		q->data = virtio_data_of(ev);
	if (!q->in_flight++)
		q->since_ns = ev->time_ns;
}

/* One that was replaced left without being seen: how long it took is unknown. */
static void top_queues_left(void *arg, const struct element *el, enum element_end how,
			    const struct event *ev)
{
	struct top_queues *t = arg;
	struct queue_of_vm *q = queue_get(t, el->pid, el->vdev, el->queue);

	if (!q || !q->in_flight)
		return;
	if (!--q->in_flight)
		q->busy_ns += ev->time_ns - q->since_ns;
	if (how != ELEMENT_RETURNED || el->unknown)
		return;
	q->count++;
	if (quantiles_add(&q->recent, ev->time_ns - el->popped_ns) ||
	    quantiles_add(&q->all, ev->time_ns - el->popped_ns))
		t->err = fail(-ENOMEM, "out of memory");
}

static void device_learn(struct top_queues *t, const struct event *ev)
{
	RECORD(virtio_device, r, ev);
	const uint64_t key[] = {ev->pid, r->vdev};
	struct device_name *d = hash_add_words(&t->devices, key, NULL);

	if (d)
		RECORD_TEXT(r, path, d->path);
}

static int on_event(void *arg, const struct event *ev)
{
	struct top_queues *t = arg;

	if (ev->type->id == EV_virtio_device)
		device_learn(t, ev);
	elements_event(t->elements, ev);
	return t->err;
}

/* ---- figures ---- */

static void name_print(const struct top_queues *t, const struct queue_of_vm *q, char *buf,
		       size_t size)
{
	const struct device_name *d = hash_find_words(&t->devices, q->key);
	const char *kind = elements_kind(t->elements, (uint32_t)q->key[0], q->key[1]);
	char path[PATH_BYTES], label[32];

	virtio_queue_label(kind, (uint32_t)q->key[2], q->data, label, sizeof(label));
	if (d && *d->path)
		snprintf(buf, size, "%s queue %s",
			 virtio_device_name(d->path, kind, path, sizeof(path)), label);
	else
		snprintf(buf, size, "0x%llx queue %s", (unsigned long long)q->key[1], label);
}

static int queue_show(const struct top_queues *t, struct queue_of_vm *q, struct top_model *m)
{
	struct top_queue_reading r = {.pid = (int)q->key[0],
				      .number = q->number,
				      .in_flight = q->in_flight,
				      .count = q->count,
				      .busy_ns = q->busy_ns,
				      .ns = m->since_start ? &q->all : &q->recent};
	char name[PATH_BYTES + 32];

	if (q->in_flight && t->events.watermark_ns > q->since_ns)
		r.busy_ns += t->events.watermark_ns - q->since_ns;
	name_print(t, q, name, sizeof(name));
	r.name = name;
	int err = top_model_queue(m, &r);

	quantiles_free(&q->recent);
	q->recent = (struct quantiles){0};
	return err;
}

int top_queues_read(struct top_queues *t, struct top_model *m)
{
	int err = t ? queue_events_read(&t->events, on_event, t) : 0;

	for (unsigned int i = 0; t && i < t->nr && !err; i++)
		err = queue_show(t, t->list[i], m);
	return err;
}

uint64_t top_queues_lost(const struct top_queues *t)
{
	return t ? collector_counts(t->events.collector)->lost : 0;
}

/* ---- start and end ---- */

int top_queues_open(const struct top_vms *vms, struct top_queues **ret)
{
	struct top_queues *t = calloc(1, sizeof(*t));
	int err;

	if (!t)
		return fail(-ENOMEM, "out of memory");
	t->queues = HASH_TABLE(struct queue_number, 3, QUEUES_WATCHED_MAX);
	t->devices = HASH_TABLE(struct device_name, 2, DEVICES_WATCHED_MAX);
	t->watch = (struct element_watch){
		.popped = top_queues_popped, .left = top_queues_left, .arg = t};
	t->elements = elements_new();
	err = t->elements ? queue_events_open(vms, &t->events) : fail(-ENOMEM, "out of memory");
	if (!err)
		elements_watch(t->elements, &t->watch);
	if (err)
		top_queues_close(t);
	else
		*ret = t;
	return err;
}

void top_queues_close(struct top_queues *t)
{
	if (!t)
		return;
	queue_events_close(&t->events);
	for (unsigned int i = 0; i < t->nr; i++) {
		quantiles_free(&t->list[i]->recent);
		quantiles_free(&t->list[i]->all);
		free(t->list[i]);
	}
	elements_free(t->elements);
	hash_deinit(&t->queues);
	hash_deinit(&t->devices);
	free(t);
}

/*
 * top --guest-tasks: which task of a Linux guest caused the exits, of the VMs that run at the start. The counting
 * programs read the guest's current task; a child process per VM finds out where that is (guest_watch.h).
 */

struct task_watch {
	pid_t pid; /* of the VM */
	struct guest_watch watch;
};

struct top_tasks {
	bool rejected; /* by the host's kernel */
	unsigned int nr;
	struct task_watch vm[];
};

static bool is_unknown(const struct task_watch *w)
{
	return w->watch.pid && !w->watch.known;
}

int top_tasks_open(const struct top_vms *vms, struct top_tasks **ret)
{
	struct top_tasks *t = calloc(1, sizeof(*t) + vms->nr * sizeof(t->vm[0]));
	uint64_t until = monotonic_ns() + NS_PER_S;
	int err = 0;

	if (!t)
		return fail(-ENOMEM, "out of memory");
	*ret = t;
	t->rejected = !stat_has_tasks(vms->stat);
	for (unsigned int i = 0; i < vms->nr && !t->rejected && !err; i++) {
		const struct top_watched *vm = &vms->vm[i];
		struct task_watch *w = &t->vm[t->nr];

		if (!vm->at.guest_kernel)
			continue;
		w->pid = vm->vm.pid;
		t->nr++;
		err = guest_watch_start(&w->watch, &vm->vm,
					stat_guest_kernel(vms->stat, vm->at.guest_kernel - 1));
	}
	for (unsigned int i = 0; i < t->nr && !err; i++)
		guest_watch_wait(&t->vm[i].watch, until);
	return err;
}

void top_tasks_close(struct top_tasks *t)
{
	for (unsigned int i = 0; t && i < t->nr; i++)
		guest_watch_stop(&t->vm[i].watch);
	free(t);
}

static bool is_watched(const struct top_vms *vms, pid_t pid)
{
	return array_any(vms->nr, i, vms->vm[i].vm.pid == pid);
}

void top_tasks_look(struct top_tasks *t, const struct top_vms *vms)
{
	for (unsigned int i = 0; t && i < t->nr; i++) {
		struct task_watch *w = &t->vm[i];

		if (!is_watched(vms, w->pid))
			guest_watch_stop(&w->watch);
		else if (is_unknown(w))
			guest_watch_read(&w->watch);
	}
}

const char *top_tasks_why(const struct top_tasks *t, uint64_t pid, char *buf, size_t size)
{
	const char *why = NULL;

	for (unsigned int i = 0; t && i < t->nr; i++)
		if ((uint64_t)t->vm[i].pid == pid && is_unknown(&t->vm[i]))
			why = guest_watch_why(&t->vm[i].watch);
	if (t && t->rejected)
		why = "this kernel rejects the BPF program";
	snprintf(buf, size, "no guest tasks: %s", why ? why : "");
	return why ? buf : NULL;
}

const char *top_tasks_note(const struct top_tasks *t, char *buf, size_t size)
{
	const struct task_watch *first = NULL;
	unsigned int nr = 0;

	for (unsigned int i = 0; t && i < t->nr; i++)
		if (is_unknown(&t->vm[i]) && !nr++)
			first = &t->vm[i];
	if (t && t->rejected)
		snprintf(buf, size, "no guest tasks: this kernel rejects the BPF program");
	else if (nr > 1)
		snprintf(buf, size, "no guest tasks of %u VMs", nr);
	else if (nr)
		snprintf(buf, size, "no guest tasks of %d: %s", (int)first->pid,
			 guest_watch_why(&first->watch));
	return (t && t->rejected) || nr ? buf : NULL;
}
