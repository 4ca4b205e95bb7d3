// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Which element belongs to which request. A request's time encloses its element's, but often the times of several
 * requests enclose one element. Two things decide. Linux sends all requests of one CPU through one queue of the device
 * (blk-mq: block/blk-mq-cpumap.c), so each CPU's queue is learnt from the elements that only one request encloses, and
 * who goes through another queue is out of question. Among the rest, elements in the order of their pops, the request
 * that completes first has it: no other rule leaves fewer without (each element takes what those after it can use
 * least).
 */

#include "base/order.h"
#include "analyzers/virtqueue/requests_private.h"

ORDER_BY(by_pop, struct element_times, pop_ns, fill_ns, device, queue, head)

static struct disk *disk_get(struct requests *r, const struct request *rq)
{
	const struct guest_block *b = &rq->block;
	struct disk *d;

	for (unsigned int i = 0; i < r->nr_disks; i++)
		if (r->disk[i].source == rq->source && r->disk[i].major == b->major &&
		    r->disk[i].minor == b->minor)
			return &r->disk[i];
	if (r->nr_disks == REQUEST_DISKS_MAX)
		return NULL;
	d = &r->disk[r->nr_disks++];
	*d = (struct disk){.major = b->major, .minor = b->minor, .pid = rq->pid,
			   .source = rq->source, .device = -1};
	return d;
}

static void disks_fill(struct requests *r)
{
	for (size_t i = 0; i < r->nr_rq; i++) {
		struct disk *d = r->rq[i].complete_ns ? disk_get(r, &r->rq[i]) : NULL;
		uint32_t *to;

		if (!d)
			continue;
		to = requests_grow(r, (void **)&d->list, d->nr, REQUESTS_MAX, sizeof(*to));
		if (!to || !requests_grow(r, (void **)&d->open, d->nr, REQUESTS_MAX, sizeof(*to)))
			continue;
		*to = (uint32_t)i;
		d->nr++;
	}
}

/* The queue that a CPU's requests go through, by the majority of votes (Boyer and Moore: one counter is enough). */
struct route {
	uint32_t queue, votes;
};

static void route_vote(struct route *to, uint32_t queue)
{
	if (!to->votes)
		to->queue = queue;
	if (to->queue == queue)
		to->votes++;
	else
		to->votes--;
}

static bool goes_elsewhere(const struct route *routes, const struct request *rq,
			   const struct element_times *el)
{
	return routes && rq->vcpu < CPUS_MAX && routes[rq->vcpu].votes &&
	       routes[rq->vcpu].queue != el->queue;
}

/* The requests that elements from here on can belong to, by issue; elements come in order of their pops. */
struct candidates {
	size_t nr;   /* in d->open */
	size_t next; /* of d->list: the first that is not issued yet */
};

/*
 * The request around an element that completes first, and how many are around it (no more than 2 are counted). Those
 * that are matched, or complete before the element is popped, are looked at no more.
 */
static struct request *request_around(struct requests *r, const struct disk *d,
				      struct candidates *open, const struct element_times *el,
				      uint64_t error_ns, const struct route *routes,
				      unsigned int *ret_nr)
{
	struct request *best = NULL;
	unsigned int nr = 0;
	size_t kept = 0;

	while (open->next < d->nr &&
	       r->rq[d->list[open->next]].issue_ns <= el->pop_ns + error_ns)
		d->open[open->nr++] = d->list[open->next++];
	for (size_t i = 0; i < open->nr; i++) {
		struct request *rq = &r->rq[d->open[i]];

		if (rq->matched || rq->complete_ns + error_ns < el->pop_ns)
			continue;
		d->open[kept++] = d->open[i];
		if (rq->complete_ns + error_ns < el->fill_ns || goes_elsewhere(routes, rq, el))
			continue;
		nr += nr < 2;
		if (!best || rq->complete_ns < best->complete_ns)
			best = rq;
	}
	open->nr = kept;
	if (ret_nr)
		*ret_nr = nr;
	return best;
}

static void match_set(struct requests *r, struct request *rq, const struct element_times *el)
{
	rq->pop_ns = el->pop_ns;
	rq->fill_ns = el->fill_ns;
	rq->interrupt_ns = el->interrupt_ns;
	rq->queue = el->queue;
	rq->head = el->head;
	rq->device = r->device[el->device].path;
	rq->pid = r->device[el->device].pid;
	rq->kind = el->kind;
}

/* How many more of the disk's requests have an element of the device. `keep`: also stores the element's data. */
static size_t match_pass(struct requests *r, const struct disk *d, uint32_t device,
			 uint64_t error_ns, const struct route *routes, bool keep)
{
	struct candidates open = {0};
	size_t nr = 0;

	for (size_t i = 0; i < r->nr_el; i++) {
		struct element_times *el = &r->el[i];
		struct request *rq;

		if (el->device != device || el->taken)
			continue;
		rq = request_around(r, d, &open, el, error_ns, routes, NULL);
		if (!rq)
			continue;
		rq->matched = el->taken = true;
		nr++;
		if (keep)
			match_set(r, rq, el);
	}
	return nr;
}

static void match_forget(struct requests *r, const struct disk *d, uint32_t device)
{
	for (size_t i = 0; i < d->nr; i++)
		r->rq[d->list[i]].matched = false;
	for (size_t i = 0; i < r->nr_el; i++)
		if (r->el[i].device == device)
			r->el[i].taken = false;
}

static void routes_learn(struct requests *r, const struct disk *d, uint32_t device,
			 uint64_t error_ns, struct route *routes)
{
	struct candidates open = {0};

	for (size_t i = 0; i < r->nr_el; i++) {
		const struct element_times *el = &r->el[i];
		struct request *rq;
		unsigned int nr;

		if (el->device != device)
			continue;
		rq = request_around(r, d, &open, el, error_ns, NULL, &nr);
		if (nr == 1 && rq->vcpu < CPUS_MAX)
			route_vote(&routes[rq->vcpu], el->queue);
	}
}

/* What goes through its CPU's queue, then the rest: a request may be issued by another CPU for its own. */
static size_t disk_match(struct requests *r, const struct disk *d, uint32_t device,
			 uint64_t error_ns)
{
	_cleanup_free_ struct route *routes = calloc(CPUS_MAX, sizeof(*routes));
	size_t nr = 0;

	match_forget(r, d, device);
	if (routes) {
		routes_learn(r, d, device, error_ns, routes);
		nr = match_pass(r, d, device, error_ns, routes, true);
	}
	return nr + match_pass(r, d, device, error_ns, NULL, true);
}

static size_t elements_of(const struct requests *r, uint32_t device)
{
	size_t nr = 0;

	for (size_t i = 0; i < r->nr_el; i++)
		nr += r->el[i].device == device && r->el[i].fill_ns >= r->since_ns;
	return nr;
}

/* Of a disk's requests that the time window has, those whose elements were returned before it. */
static size_t returned_before(const struct requests *r, const struct disk *d)
{
	size_t nr = 0;

	for (size_t i = 0; r->since_ns && i < d->nr; i++)
		nr += r->rq[d->list[i]].matched && r->rq[d->list[i]].fill_ns < r->since_ns;
	return nr;
}

/* Is it known that the device belongs to another VM than the disk's guest? */
static bool device_is_foreign(const struct requests *r, const struct disk *d, unsigned int device)
{
	return d->pid && r->device[device].pid && d->pid != r->device[device].pid;
}

/* The device whose elements agree best: matches against all that there are on both sides. */
static int device_choose(struct requests *r, const struct disk *d, const bool *used,
			 uint64_t error_ns)
{
	double best = 0.1; /* fewer than one in ten agree by chance */
	int device = -1;

	for (unsigned int i = 0; i < r->nr_devices; i++) {
		size_t all = elements_of(r, i), most = all > d->nr ? all : d->nr;
		double share;

		if (used[i] || !all || device_is_foreign(r, d, i))
			continue;
		match_forget(r, d, i);
		share = (double)match_pass(r, d, i, error_ns, NULL, false) / (double)most;
		if (share > best) {
			best = share;
			device = (int)i;
		}
	}
	return device;
}

/* Disks with the most requests first: they are the surest. */
static void disks_match(struct requests *r, uint64_t error_ns)
{
	bool used[DEVICES_MAX] = {false}, done[REQUEST_DISKS_MAX] = {false};

	for (unsigned int n = 0; n < r->nr_disks; n++) {
		struct disk *d = NULL;

		for (unsigned int i = 0; i < r->nr_disks; i++)
			if (!done[i] && (!d || r->disk[i].nr > d->nr))
				d = &r->disk[i];
		done[d - r->disk] = true;
		d->device = device_choose(r, d, used, error_ns);
		if (d->device < 0) {
			for (size_t i = 0; i < d->nr; i++)
				r->rq[d->list[i]].matched = false;
			continue;
		}
		used[d->device] = true;
		r->totals.elements += elements_of(r, (uint32_t)d->device);
		r->totals.matched += disk_match(r, d, (uint32_t)d->device, error_ns);
		r->totals.elements += returned_before(r, d);
	}
}

/* Was there any element of the device in the request's time? Elements lie in the order of their pops. */
static bool any_within(const struct requests *r, const struct request *rq, uint32_t device,
		       uint64_t error_ns)
{
	size_t lo = array_prefix(r->nr_el, i, r->el[i].pop_ns + error_ns < rq->issue_ns);

	for (; lo < r->nr_el && r->el[lo].pop_ns <= rq->complete_ns + error_ns; lo++)
		if (r->el[lo].device == device &&
		    r->el[lo].fill_ns <= rq->complete_ns + error_ns)
			return true;
	return false;
}

static void unmatched_count(struct requests *r, uint64_t error_ns)
{
	struct request_totals *t = &r->totals;

	for (unsigned int n = 0; n < r->nr_disks; n++) {
		const struct disk *d = &r->disk[n];

		for (size_t i = 0; i < d->nr; i++) {
			const struct request *rq = &r->rq[d->list[i]];

			if (rq->matched)
				continue;
			if (d->device < 0)
				t->without_disk++;
			else if (any_within(r, rq, (uint32_t)d->device, error_ns))
				t->without_taken++;
			else
				t->without_element++;
		}
	}
}

void requests_match(struct requests *r, uint64_t error_ns)
{
	if (r->nr_el)
		qsort(r->el, r->nr_el, sizeof(*r->el), by_pop);
	disks_fill(r);
	disks_match(r, error_ns);
	unmatched_count(r, error_ns);
}
