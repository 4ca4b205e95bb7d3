// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Where the host has no kvm_entry and kvm_exit (other backends, TCG), what a guest's disk does bounds its clock from
 * both sides: a request is issued by the guest before the device pops its element, and completed after the device
 * filled it.
 *
 *   guest   issue -------------------- complete
 *                \ before      after /
 *   host          pop ---------- fill
 *
 * Requests and elements are paired in order (clock_limits_match); a pairing that contradicts itself is not used.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/order.h"
#include "clock/align_internal.h"

enum { PAIRS_MIN = 16 }; /* fewer agree by chance */

/* Of one disk: completed requests in the order of their issue. */
struct list {
	uint64_t *first, *second; /* issue and complete; pop and fill */
	uint64_t *ns;		  /* host: of pop and fill, two each */
	size_t nr;
};

static void list_free(struct list *l)
{
	free(l->first);
	free(l->second);
	free(l->ns);
}

static int list_room(struct list *l, size_t nr)
{
	*l = (struct list){.first = malloc((nr + 1) * sizeof(uint64_t)),
			   .second = malloc((nr + 1) * sizeof(uint64_t)),
			   .ns = malloc((2 * nr + 2) * sizeof(uint64_t))};
	if (l->first && l->second && l->ns)
		return 0;
	list_free(l);
	*l = (struct list){0};
	return fail(-ENOMEM, "out of memory");
}

static bool same_disk(const struct guest_block *a, const struct guest_block *b)
{
	return a->major == b->major && a->minor == b->minor;
}

/* The disk with the most requests. */
static const struct guest_block *disk_choose(const struct align_guest *g)
{
	const struct guest_block *best = NULL;
	size_t most = 0;

	for (size_t i = 0; i < g->nr_blocks; i++) {
		size_t nr = 0;

		if (best && same_disk(best, &g->block[i].rq))
			continue;
		for (size_t k = i; k < g->nr_blocks; k++)
			nr += g->block[k].complete && same_disk(&g->block[k].rq, &g->block[i].rq);
		if (nr > most) {
			most = nr;
			best = &g->block[i].rq;
		}
		if (2 * most > g->nr_blocks)
			break;
	}
	return best;
}

static int requests_list(const struct align_guest *g, struct list *l)
{
	const struct guest_block *disk = disk_choose(g);
	int err = list_room(l, g->nr_blocks);

	for (size_t i = 0; !err && disk && i < g->nr_blocks; i++) {
		if (!g->block[i].complete || !same_disk(&g->block[i].rq, disk))
			continue;
		l->first[l->nr] = g->block[i].issue;
		l->second[l->nr++] = g->block[i].complete;
	}
	return err;
}

static int by_pop(const void *a, const void *b)
{
	const struct align_element *x = a, *y = b;

	if (x->pop_ns != y->pop_ns)
		return x->pop_ns < y->pop_ns ? -1 : 1;
	if (x->fill_ns != y->fill_ns)
		return x->fill_ns < y->fill_ns ? -1 : 1;
	return x->vdev != y->vdev ? order_u64(x->vdev, y->vdev) : order_u64(x->pid, y->pid);
}

/* `ticks`: as the guest's TSC runs, else ns. */
static int elements_list(const struct align *a, uint32_t pid, uint64_t vdev, bool ticks,
			 struct list *l)
{
	int err = list_room(l, a->nr_elements);

	for (size_t i = 0; !err && i < a->nr_elements; i++) {
		const struct align_element *el = &a->element[i];

		if (el->vdev != vdev || el->pid != pid)
			continue;
		l->ns[2 * l->nr] = el->pop_ns;
		l->ns[2 * l->nr + 1] = el->fill_ns;
		l->first[l->nr] = ticks ? clock_mono_tsc(&a->mono, el->pop_ns) : el->pop_ns;
		l->second[l->nr++] = ticks ? clock_mono_tsc(&a->mono, el->fill_ns) : el->fill_ns;
	}
	return err;
}

static size_t index_of(const uint64_t *list, size_t nr, uint64_t value)
{
	size_t i = 0;

	while (i < nr && list[i] != value)
		i++;
	return i;
}

/* Pairs them; returns the width of the remaining band, UINT64_MAX: none. */
static uint64_t pairs_make(const struct align *a, const struct list *rq, const struct list *el,
			   uint64_t *work, struct clock_limit *limit, size_t *ret_nr)
{
	int64_t low = INT64_MIN, high = INT64_MAX;
	size_t nr = clock_limits_match(rq->first, rq->nr, el->first, el->nr, work, limit), i, k;

	*ret_nr = 0;
	if (nr < PAIRS_MIN)
		return UINT64_MAX;
	i = index_of(rq->first, rq->nr, limit[0].guest_tsc);
	k = index_of(el->first, el->nr, limit[0].host_tsc);
	for (size_t n = 0; n < nr && i + n < rq->nr && k + n < el->nr; n++) {
		int64_t most = (int64_t)(el->first[k + n] - rq->first[i + n]),
			least = (int64_t)(el->second[k + n] - rq->second[i + n]);

		high = most < high ? most : high;
		low = least > low ? least : low;
		limit[2 * n] = (struct clock_limit){
			.guest_tsc = rq->first[i + n],
			.host_tsc = clock_mono_tsc(&a->mono, el->ns[2 * (k + n)]),
			.guest_first = true};
		limit[2 * n + 1] = (struct clock_limit){
			.guest_tsc = rq->second[i + n],
			.host_tsc = clock_mono_tsc(&a->mono, el->ns[2 * (k + n) + 1])};
		*ret_nr = 2 * (n + 1);
	}
	return low <= high ? (uint64_t)(high - low) : UINT64_MAX;
}

/* The device whose elements leave the least possible. */
static int limits_find(const struct align *a, const struct list *rq, uint32_t pid, bool ticks,
		       uint64_t *work, struct clock_limit **ret, size_t *ret_nr)
{
	struct clock_limit *limit = malloc((2 * rq->nr + 2) * sizeof(*limit)), *best = NULL;
	uint64_t narrowest = UINT64_MAX, tried[64];
	size_t nr_tried = 0, nr;
	int err = limit ? 0 : fail(-ENOMEM, "out of memory");

	for (size_t i = 0; !err && i < a->nr_elements && nr_tried < 64; i++) {
		uint64_t vdev = a->element[i].vdev, width;
		struct list el;

		if ((pid && a->element[i].pid != pid) ||
		    index_of(tried, nr_tried, vdev) < nr_tried)
			continue;
		tried[nr_tried++] = vdev;
		err = elements_list(a, a->element[i].pid, vdev, ticks, &el);
		if (err)
			break;
		width = pairs_make(a, rq, &el, work, limit, &nr);
		list_free(&el);
		if (!*work)
			err = clock_work_over();
		if (width >= narrowest)
			continue;
		narrowest = width;
		*ret_nr = nr;
		free(best);
		best = malloc((nr + 1) * sizeof(*best));
		if (best)
			memcpy(best, limit, nr * sizeof(*best));
		err = best ? 0 : fail(-ENOMEM, "out of memory");
	}
	free(limit);
	*ret = best;
	return err;
}

/* A vCPU without data may have run at any time of the host's recording. */
static int spans_suppose(struct align *a, struct align_guest *g)
{
	a->whole = (struct clock_span){clock_mono_tsc(&a->mono, a->first_ns),
				       clock_mono_tsc(&a->mono, a->last_ns)};
	for (unsigned int v = 0; v < g->nr_vcpus; v++)
		if (g->input[v].nr_spans)
			return 0;
	for (unsigned int v = 0; v < g->nr_vcpus; v++) {
		g->input[v].span = &a->whole;
		g->input[v].nr_spans = 1;
	}
	g->by_disk = true;
	return 0;
}

int align_limits(struct align *a, struct align_guest *g, uint32_t pid, bool ticks)
{
	struct list rq;
	size_t nr = 0;
	int err;

	for (unsigned int i = 0; i < a->nr_vcpus; i++)
		if (a->vcpu[i].exits)
			return 0; /* that is more precise */
	if (!g->nr_blocks || !a->nr_elements)
		return 0;
	qsort(a->element, a->nr_elements, sizeof(*a->element), by_pop);
	err = requests_list(g, &rq);
	if (!err && rq.nr >= PAIRS_MIN)
		err = limits_find(a, &rq, pid, ticks, &g->work, &g->limit, &nr);
	list_free(&rq);
	for (unsigned int v = 0; !err && nr && v < g->nr_vcpus; v++) {
		if (!g->input[v].nr_stamps)
			continue;
		g->input[v].limit = g->limit;
		g->input[v].nr_limits = nr;
		break; /* one vCPU's are all's: fits begin with one line for all */
	}
	return err || !nr ? err : spans_suppose(a, g);
}
