// SPDX-License-Identifier: GPL-2.0-or-later
/* What remains when all events were read: the list of queues, what is in flight, totals. */

#include <stdio.h>

#include "analyzers/virtqueue/queues_private.h"
#include "base/order.h"

static int busiest_first(const void *a, const void *b)
{
	const struct queue_figures *x = *(struct queue_figures *const *)a,
				   *y = *(struct queue_figures *const *)b;
	int device;

	if (x->popped != y->popped)
		return x->popped < y->popped ? 1 : -1;
	if (x->pid != y->pid)
		return x->pid < y->pid ? -1 : 1;
	device = strcmp(x->device, y->device);
	return device ?: order_u64(x->queue, y->queue) ?: order_u64(x->vq, y->vq);
}

/* Elements of a device whose reset is under way at the end are not in flight, as in elements_end(). */
static void resets_count(struct queues *q, const struct element *left_over, size_t nr,
			 uint64_t end_ns)
{
	for (unsigned int i = 0; i < q->nr; i++) {
		q->queue[i]->f.other += q->queue[i]->f.in_flight;
		q->queue[i]->f.in_flight = 0;
	}
	for (size_t i = 0; i < nr; i++) {
		struct queue *n = queues_of_element(q, &left_over[i]);

		if (!n)
			continue;
		n->f.other--;
		n->f.in_flight++;
		queues_slow_add(q, n, end_ns - left_over[i].age_ns, end_ns);
	}
}

/* Had it anything in the time window? */
static bool is_used(const struct queue_figures *f)
{
	return f->popped || f->returned || f->other || f->kicks || f->interrupts || f->most;
}

unsigned int queues_end(struct queues *q, uint64_t end_ns, struct queue_figures ***ret,
			uint64_t *ret_column_ns, unsigned int *ret_columns)
{
	struct element *left_over = NULL;
	unsigned int listed = 0;
	size_t nr = 0;

	if (elements_end(q->elements, end_ns, 0, &left_over, &nr, &q->totals))
		q->totals = (struct element_totals){0};
	for (unsigned int i = 0; i < q->nr; i++) {
		struct queue *n = q->queue[i];

		queues_flight_until(q, n, end_ns);
		snprintf(n->f.kind, sizeof(n->f.kind), "%s",
			 elements_kind(q->elements, n->f.pid, n->vdev));
	}
	resets_count(q, left_over, nr, end_ns);
	free(left_over);
	for (unsigned int i = 0; i < q->nr; i++)
		if (is_used(&q->queue[i]->f))
			q->list[listed++] = &q->queue[i]->f;
	qsort(q->list, listed, sizeof(q->list[0]), busiest_first);
	*ret = q->list;
	*ret_column_ns = q->column_ns;
	*ret_columns = end_ns > q->start_ns
			       ? (unsigned int)((end_ns - q->start_ns) / q->column_ns) + 1
			       : 1;
	if (*ret_columns > QUEUES_COLUMNS)
		*ret_columns = QUEUES_COLUMNS;
	return listed;
}

bool queues_saw(const struct queues *q, enum queue_stage stage)
{
	return stage == STAGE_POP_PUSH || q->saw[stage];
}

const struct element_totals *queues_totals(const struct queues *q)
{
	return &q->totals;
}

uint64_t queues_overflow(const struct queues *q)
{
	return q->overflow;
}

uint64_t queues_refused(const struct queues *q)
{
	return q->devices.refused + q->completed.refused + q->notifying.refused +
	       q->nr_raised_refused;
}

uint64_t queues_unknown(const struct queues *q)
{
	return q->unknown;
}

const struct elements *queues_elements(const struct queues *q)
{
	return q->elements;
}
