// SPDX-License-Identifier: GPL-2.0-or-later
/* What is known only when all events are: the order of the requests, their I/O in the host, the guest's side. */
#include <errno.h>

#include "analyzers/path/internal.h"
#include "base/order.h"

/* ---- the end ---- */

static int by_pop(const void *a, const void *b)
{
	const struct path_request *x = a, *y = b;

	return order_u64(x->at[POINT_POP], y->at[POINT_POP]) ?: order_u64(x->head, y->head) ?:
	       order_u64(x->queue, y->queue) ?: order_u64(x->pid, y->pid) ?:
	       strcmp(x->device, y->device);
}

/* A point before an earlier one, as clocks have errors and threads run at once: it is not used. */
void path_points_order(struct path *p, struct path_request *rq)
{
	uint64_t newest = 0;

	for (unsigned int i = 0; i < PATH_POINTS; i++) {
		if (!rq->at[i])
			continue;
		if (rq->at[i] < newest) {
			rq->at[i] = 0;
			p->totals.out_of_order++;
		} else {
			newest = rq->at[i];
		}
	}
}

int path_end(struct path *p)
{
	struct path_totals *t = &p->totals;

	threads_end(&p->threads);
	t->refused += p->threads.refused + p->threads.model.counts.refused;
	t->refused += p->queues.refused + p->open.refused +
		      p->devices.refused + p->notifying.refused + p->vcpus.refused +
		      p->nets.refused;
	t->switches = p->threads.model.counts.switches;
	t->wakes = p->threads.wakes;
	t->requests = p->nr;
	if (p->nr)
		qsort(p->request, p->nr, sizeof(*p->request), by_pop);
	if (path_ios_assign(p))
		return p->err = -ENOMEM;
	for (size_t i = 0; i < p->nr; i++) {
		struct path_request *rq = &p->request[i];

		t->batched += rq->batched;
		t->unnotified += t->saw[POINT_NOTIFY] && !rq->at[POINT_NOTIFY];
		t->suppressed +=
			t->saw[POINT_RAISE] && rq->at[POINT_NOTIFY] && !rq->at[POINT_RAISE];
		path_points_order(p, rq);
	}
	return 0;
}

/* ---- the guest's side ---- */

static struct path_request *request_find(struct path *p, const struct request *rq)
{
	size_t lo = 0, hi = p->nr;

	while (lo < hi) {
		size_t mid = lo + (hi - lo) / 2;

		if (p->request[mid].at[POINT_POP] < rq->pop_ns)
			lo = mid + 1;
		else
			hi = mid;
	}
	for (; lo < p->nr && p->request[lo].at[POINT_POP] == rq->pop_ns; lo++)
		if (p->request[lo].pid == rq->pid && p->request[lo].queue == rq->queue &&
		    p->request[lo].head == rq->head)
			return &p->request[lo];
	return NULL;
}

static uint32_t vcpu_tid(const struct path *p, uint32_t pid, uint32_t vcpu)
{
	const struct path_vcpu *v = hash_find_u64(&p->vcpus, (uint64_t)pid << 16 | vcpu);

	return v ? v->tid : 0;
}

uint32_t path_vcpu(const struct path *p, uint32_t pid, uint32_t tid)
{
	const struct path_vcpu *v;

	for (uint32_t at = 0; (v = hash_next(&p->vcpus, &at));)
		if (v->key >> 16 == pid && v->tid == tid)
			return (uint16_t)v->key;
	return UINT32_MAX;
}

void path_guest(struct path *p, const struct request *rq)
{
	struct path_request *to = rq->matched ? request_find(p, rq) : NULL;

	p->totals.saw[POINT_ISSUE] = p->totals.saw[POINT_COMPLETE] = true;
	p->totals.saw[POINT_IRQ] |= rq->irq_ns != 0;
	if (!to || !rq->complete_ns) {
		p->totals.guest_only += rq->complete_ns != 0;
		return;
	}
	to->guest = rq;
	to->at[POINT_ISSUE] = rq->issue_ns;
	/* The exit that carried the kick; a kick from before the issue was another request's. */
	if (rq->exit_ns)
		to->at[POINT_KICK] = rq->exit_ns;
	else if (to->at[POINT_KICK] < rq->issue_ns)
		to->at[POINT_KICK] = 0;
	if (to->at[POINT_HANDLER] < rq->issue_ns)
		to->at[POINT_HANDLER] = 0;
	p->totals.saw[POINT_KICK] |= to->at[POINT_KICK] != 0;
	to->kick_tid = vcpu_tid(p, to->pid, rq->vcpu);
	if (!to->irq_tid)
		to->irq_tid = to->kick_tid; /* blk-mq: the queue's interrupt goes to the CPU that issues */
	for (unsigned int i = POINT_NOTIFY; i <= POINT_INJECT; i++)
		if (to->at[i] > rq->complete_ns)
			to->at[i] = 0; /* it was polled for: this was another one's interrupt */
	to->at[POINT_IRQ] = rq->irq_ns;
	to->at[POINT_COMPLETE] = rq->complete_ns;
	path_points_order(p, to);
}
