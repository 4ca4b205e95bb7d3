// SPDX-License-Identifier: GPL-2.0-or-later
/* Compares both looks: which requests stand still, whose threads hold them up, and the findings that follow from it. */
#include <errno.h>

#include "analyzers/stuck/stuck.h"
#include "base/array.h"

/* Was the same request there before? Not another one that has got the same descriptors in the meantime. */
static bool is_same(const struct stuck_queue *qa, const struct virtq_request *a,
		    const struct stuck_queue *qb, const struct virtq_request *b)
{
	if (a->head != b->head || a->first != b->first || a->stage != b->stage)
		return false;
	if (a->stage == VIRTQ_OFFERED)
		return qa->state.last_avail_idx == qb->state.last_avail_idx;
	if (a->block && b->block && a->note.begin_ns)
		return a->note.begin_ns == b->note.begin_ns;
	return qa->state.used_idx == qb->state.used_idx &&
	       qa->state.ring_used_idx == qb->state.ring_used_idx;
}

static bool stands(const struct stuck_report *r, const struct stuck_queue *q,
		   const struct virtq_request *v)
{
	const struct stuck_queue *b = stuck_queue_before(r, q);

	for (unsigned int i = 0; b && i < b->nr; i++)
		if (is_same(b, &b->request[i], q, v))
			return true;
	return false;
}

static void request_judge(const struct stuck_report *r, struct stuck_request *s)
{
	const struct virtq_block_note *note = &s->request->note;

	s->stands = stands(r, s->queue, s->request);
	s->age_ns = s->stands ? r->now->time_ns - r->before->time_ns : 0;
	if (s->request->block && note->begin_ns) {
		s->age_exact = true;
		s->age_ns = r->now->time_ns - note->begin_ns;
	}
}

/* Buffers for input that has not come are no requests: they are left out. */
static int requests_collect(struct stuck_report *r)
{
	for (unsigned int i = 0; i < r->now->nr_queues; i++) {
		const struct stuck_queue *q = &r->now->queue[i];

		for (unsigned int n = 0; n < q->nr; n++) {
			if (q->role == STUCK_BUFFERS ||
			    (q->role == STUCK_HELD && q->request[n].stage == VIRTQ_POPPED))
				continue;
			if (array_room(r->request, r->nr_requests))
				return -ENOMEM;
			struct stuck_request *s = &r->request[r->nr_requests++];

			*s = (struct stuck_request){.queue = q, .request = &q->request[n]};
			request_judge(r, s);
		}
	}
	return 0;
}

/* By queue, the oldest first; then those of unknown age in the ring's order. */
static int by_age(const void *a, const void *b)
{
	const struct stuck_request *x = a, *y = b;

	if (x->queue != y->queue)
		return x->queue < y->queue ? -1 : 1;
	if (x->age_exact != y->age_exact)
		return x->age_exact ? -1 : 1;
	if (x->age_exact && x->age_ns != y->age_ns)
		return x->age_ns > y->age_ns ? -1 : 1;
	return x->request < y->request ? -1 : x->request > y->request;
}

int stuck_report_make(const struct vm *vm, const struct stuck_look *before,
		      const struct stuck_look *now, struct stuck_report *ret)
{
	*ret = (struct stuck_report){.vm = vm, .before = before, .now = now};
	int err = requests_collect(ret);

	if (!err && ret->nr_requests)
		qsort(ret->request, ret->nr_requests, sizeof(*ret->request), by_age);
	if (!err)
		err = stuck_vcpus(ret, &ret->vcpu, &ret->nr_vcpus);
	if (!err)
		err = stuck_thread_findings(ret);
	if (!err)
		err = stuck_mutex_findings(ret);
	if (!err)
		err = stuck_vcpu_findings(ret);
	if (!err)
		err = stuck_queue_findings(ret);
	if (err)
		stuck_report_free(ret);
	return err;
}

void stuck_report_free(struct stuck_report *r)
{
	free(r->request);
	free(r->finding);
	free(r->vcpu);
	*r = (struct stuck_report){0};
}

bool stuck_report_found(const struct stuck_report *r, uint64_t min_age_ns)
{
	return array_any(r->nr_findings, i, r->finding[i].age_ns >= min_age_ns);
}
