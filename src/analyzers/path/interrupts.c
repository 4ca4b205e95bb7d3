// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The queues, and the interrupts for elements that were returned to them: notified by QEMU, raised in KVM, injected
 * into a vCPU.
 */
#include <errno.h>

#include "analyzers/path/internal.h"
#include "base/error.h"
#include "event/records.h"
#include "event/virtio_ids.h"

/* ---- queues ---- */

/* Losses: which interrupt is for what is no longer known. What a reset cuts has no end. */
static struct path_queue *queue_fresh(struct path *p, struct path_queue *q,
				      const struct event *ev)
{
	const struct path_cleared *c =
		q ? hash_find_words(&p->cleared, (uint64_t[]){path_queue_pid(q), q->key[1]}) : NULL;
	uint64_t clears = c ? c->nr : 0;
	bool lost = q && !path_goes_on(p, &q->used, ev);

	if (!q)
		return NULL;
	if (lost)
		q->nr = q->nr_notified = q->nr_raised = 0;
	if (lost || q->clears != clears)
		q->handler_ns = 0;
	q->used = loss_mark_of(&p->losses, ev);
	q->clears = clears;
	return q;
}

struct path_queue *path_queue_find(struct path *p, const uint64_t key[2],
				   const struct event *ev)
{
	return queue_fresh(p, hash_find_words(&p->queues, key), ev);
}

struct path_queue *path_queue_get(struct path *p, uint32_t pid, uint64_t vdev, uint32_t index,
				  uint64_t vq, const struct event *ev)
{
	uint64_t key[] = {(uint64_t)pid << 32 | index, index == VIRTIO_NO_QUEUE ? vq : vdev};

	return queue_fresh(p, hash_add_words(&p->queues, key, NULL), ev);
}

struct path_queue *path_queue_of(struct path *p, const struct event *ev)
{
	struct virtio_ids ids = virtio_ids_of(ev);

	return path_queue_get(p, ev->pid, ids.vdev, ids.queue, ids.vq, ev);
}

/* ---- interrupts ---- */

void path_waiting_drop(struct path_queue *q, unsigned int from, unsigned int nr)
{
	if (!nr)
		return;
	memmove(q->waiting + from, q->waiting + from + nr,
		(q->nr - from - nr) * sizeof(*q->waiting));
	q->nr -= nr;
}

/*
 * QEMU notifies before its thread sleeps again, if not at once in a bottom half: what was returned before that, and not
 * notified, the guest polls for. Where it is not known when the thread sleeps, the queue's next kick tells.
 */
static void notified(const struct path *p, const struct path_queue *q, struct path_request *rq,
		     uint64_t ns)
{
	const struct thread_log *log = threads_find(&p->threads, rq->source, rq->push_tid);
	uint64_t push_ns = rq->at[POINT_PUSH];
	bool known = log && thread_at(log, push_ns) >= 0;

	if (known ? !thread_slept(log, push_ns, ns) : q->newest_kick_ns <= push_ns)
		rq->at[POINT_NOTIFY] = ns;
}

/*
 * An interrupt is for all that was returned since the previous one. What was notified and never raised, the guest did
 * not want.
 */
void interrupts_on_notify(struct path *p, const struct event *ev)
{
	struct path_queue *q = path_queue_of(p, ev);
	struct path_notifying *t;

	p->totals.saw[POINT_NOTIFY] = true;
	if (!q)
		return;
	p->totals.notifies += ev->time_ns >= p->since_ns;
	path_waiting_drop(q, q->nr_raised, q->nr_notified - q->nr_raised);
	for (unsigned int i = q->nr_raised; i < q->nr; i++)
		notified(p, q, &p->request[q->waiting[i]], ev->time_ns);
	q->nr_notified = q->nr;
	t = hash_add_u64(&p->notifying, ev->tid, NULL);
	if (!t)
		return;
	t->mark = loss_mark_of(&p->losses, ev);
	memcpy(t->queue, q->key, sizeof(t->queue));
}

/* The interrupt is raised in the function that notifies: after the thread has slept, it is another's. */
static struct path_queue *notifying(struct path *p, const struct event *ev)
{
	const struct thread_log *log = threads_find(&p->threads, ev->source, ev->tid);
	struct path_notifying *t = hash_find_u64(&p->notifying, ev->tid);
	struct path_queue *q = NULL;

	if (!t || t->queue[0] >> 32 != ev->pid)
		return NULL;
	if (path_goes_on(p, &t->mark, ev) &&
	    (!log || !thread_slept(log, t->mark.ns, ev->time_ns)))
		q = path_queue_find(p, t->queue, ev);
	hash_remove(&p->notifying, t);
	return q;
}

static void raised_add(struct path *p, struct path_queue *q)
{
	if (q->is_raised || !q->nr_raised)
		return;
	if (p->nr_raised == PATH_RAISED_MAX) {
		p->totals.refused++;
		return;
	}
	q->is_raised = true;
	memcpy(p->raised[p->nr_raised++], q->key, sizeof(q->key));
}

void interrupts_on_raise(struct path *p, const struct event *ev)
{
	bool message = ev->type->id == EV_kvm_msi_set_irq;
	RECORD(kvm_set_irq, line, ev);
	RECORD(kvm_msi_set_irq, msi, ev);
	struct path_queue *q = message || line->level == 1 ? notifying(p, ev) : NULL;

	p->totals.saw[POINT_RAISE] = true;
	if (!q)
		return;
	p->totals.raises += ev->time_ns >= p->since_ns;
	for (unsigned int i = q->nr_raised; i < q->nr_notified; i++)
		if (p->request[q->waiting[i]].at[POINT_NOTIFY])
			p->request[q->waiting[i]].at[POINT_RAISE] = ev->time_ns;
	q->nr_raised = message ? q->nr_notified : 0;
	if (!message) /* a line: which vCPU gets it is not known */
		path_waiting_drop(q, 0, q->nr_notified);
	q->nr_notified = q->nr_raised;
	q->vector = msi->data & 0xff;
	q->destination = msi->address >> 12 & 0xff;
	q->logical = msi->address & MSI_LOGICAL;
	raised_add(p, q);
}

static bool is_for(const struct path_queue *q, const struct event *ev)
{
	RECORD(kvm_inj_virq, r, ev);

	if (path_queue_pid(q) != ev->pid || !q->nr_raised || q->vector != r->vector)
		return false;
	return q->logical ? ev->vcpu < 8 && q->destination >> ev->vcpu & 1
			  : q->destination == ev->vcpu;
}

static void queue_inject(struct path *p, struct path_queue *q, const struct event *ev)
{
	for (unsigned int i = 0; i < q->nr_raised; i++) {
		struct path_request *rq = &p->request[q->waiting[i]];

		if (!rq->at[POINT_RAISE])
			continue;
		rq->at[POINT_INJECT] = ev->time_ns;
		rq->irq_tid = ev->tid;
	}
	q->nr_notified -= q->nr_raised;
	path_waiting_drop(q, 0, q->nr_raised);
	q->nr_raised = 0;
}

void interrupts_on_inject(struct path *p, const struct event *ev)
{
	p->totals.saw[POINT_INJECT] = true;
	for (unsigned int i = 0; i < p->nr_raised;) {
		struct path_queue *q = hash_find_words(&p->queues, p->raised[i]);

		if (is_for(q, ev))
			queue_inject(p, path_queue_find(p, p->raised[i], ev), ev);
		if (q->nr_raised) {
			i++;
			continue;
		}
		q->is_raised = false;
		memcpy(p->raised[i], p->raised[--p->nr_raised], sizeof(p->raised[i]));
	}
}
