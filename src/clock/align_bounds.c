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

#include "base/array.h"
#include "base/error.h"
#include "base/order.h"
#include "clock/align_internal.h"
#include "event/records.h"
#include "readers/readers.h"

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

ORDER_BY(by_pop, struct align_element, pop_ns, fill_ns, vdev, pid)

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

/*
 * Kicks bound a guest's clock from above where the host has no kvm_entry and kvm_exit: OSv timestamps
 * virtio_kicked_event_idx and then writes to the device's notify register, which the host sees as kvm_pio (legacy
 * devices) or kvm_mmio. Kicks of one queue do not overtake each other, so timestamps and writes alternate:
 *
 *   guest   g1      g2            g3
 *   host      h1       h2 ...        h3      g[i] + c <= h[i] <= g[i+1] + c
 *
 * Which register is which queue's, and how many writes the host saw before the guest's first, is unknown. Every pair
 * of sequences that alternates all the way with a constant c that is possible otherwise, too, may be the right one; so
 * the bound is the largest that one of them gives. What is lost or missing makes no sequence alternate: then there is
 * none.
 */

enum {
	KICKS_MIN = 16,	    /* fewer alternate by chance */
	KICKS_MAX = 1 << 16, /* of one queue; with more no bound is computed */
	SEQUENCES_MAX = 64, /* queues of the guest, registers of the host */
};

/* Timestamps of one queue or writes of one value to one register, in order. */
struct sequence {
	uint64_t key;
	uint64_t *at;
	size_t nr;
};

struct sequences {
	struct sequence list[SEQUENCES_MAX];
	unsigned int nr;
	bool full; /* something is missing in them */
};

static void sequences_free(struct sequences *s)
{
	for (unsigned int i = 0; i < s->nr; i++)
		free(s->list[i].at);
}

static int sequence_add(struct sequences *s, uint64_t key, uint64_t at)
{
	struct sequence *q = s->list;

	while (q < s->list + s->nr && q->key != key)
		q++;
	if (q == s->list + SEQUENCES_MAX || q->nr == KICKS_MAX) {
		s->full = true;
		return 0;
	}
	if (q == s->list + s->nr)
		s->list[s->nr++] = (struct sequence){.key = key};
	return array_add(q->at, q->nr, at);
}

/* ---- the host's writes ---- */

static bool wants(const char *event, void *arg)
{
	(void)arg;
	return !strcmp(event, "kvm_pio") || !strcmp(event, "kvm_mmio");
}

static bool is_number(uint32_t size, uint64_t val)
{
	return val <= UINT16_MAX && (size == 2 || size == 4);
}

/* A notify register gets the queue's number, in 2 bytes or (MMIO transport) 4. */
static bool write_key(const struct event *ev, uint64_t *ret)
{
	if (ev->type->id == EV_kvm_pio) {
		RECORD(kvm_pio, pio, ev);
		*ret = (uint64_t)pio->port << 16 | pio->val;
		return is_number(pio->size, pio->val) && pio->write && pio->count == 1;
	}
	if (ev->type->id != EV_kvm_mmio)
		return false;
	RECORD(kvm_mmio, mmio, ev);
	*ret = mmio->gpa << 16 | mmio->val | 1ull << 63;
	return is_number(mmio->size, mmio->val) && mmio->type == 2;
}

static int writes_read(const struct align *a, const char *path, uint32_t pid, struct sequences *s)
{
	struct read_hint hint = {.until_ns = UINT64_MAX, .wants = wants, .files = a->files};
	_cleanup_reader_ struct reader *r = NULL;
	_cleanup_free_ struct batch *batch = malloc(sizeof(*batch));
	int more = 0, err = batch ? reader_open(path, &hint, &r) : fail(-ENOMEM, "out of memory");
	uint64_t key;

	while (!err && (more = reader_next(r, batch)) > 0)
		for (unsigned int i = 0; !err && i < batch->nr; i++)
			if (batch->ev[i].pid == pid && write_key(&batch->ev[i], &key))
				err = sequence_add(s, key,
						   clock_mono_tsc(&a->mono, batch->ev[i].time_ns));
	return more < 0 ? more : err;
}

/* ---- matching ---- */

struct band {
	double low, high;
};

struct match {
	struct band known; /* of the constant */
	double tolerance;
	uint64_t *work; /* steps left */
};

#define NONE (-1e300)

/*
 * Timestamps from g on with writes from h on: each write less its timestamp is at least the constant, and less the
 * next timestamp at most. The largest constant that is left; NONE: they do not alternate.
 */
static double alternate(struct match *m, const struct sequence *guest, size_t g,
			const struct sequence *host, size_t h)
{
	struct band b = m->known;

	for (; g < guest->nr && h < host->nr && b.low <= b.high; g++, h++) {
		if (!clock_work(m->work, 1))
			break;
		double most = (double)(int64_t)(host->at[h] - guest->at[g]) + m->tolerance, least;

		b.high = most < b.high ? most : b.high;
		if (g + 1 == guest->nr)
			continue;
		least = (double)(int64_t)(host->at[h] - guest->at[g + 1]) - m->tolerance;
		b.low = least > b.low ? least : b.low;
	}
	return b.low <= b.high ? b.high : NONE;
}

/* The largest constant that any alignment of these two allows. */
static double highest(struct match *m, const struct sequence *guest, const struct sequence *host)
{
	size_t least = guest->nr < host->nr ? guest->nr : host->nr;
	double best = NONE;

	for (size_t i = 0; i < guest->nr + host->nr && clock_work(m->work, 1); i++) {
		size_t g = i < guest->nr ? guest->nr - 1 - i : 0,
		       h = i < guest->nr ? 0 : i - guest->nr + 1;
		size_t nr = guest->nr - g < host->nr - h ? guest->nr - g : host->nr - h;
		double one;

		if (nr < KICKS_MIN || 2 * nr < least)
			continue;
		one = alternate(m, guest, g, host, h);
		best = one > best ? one : best;
	}
	return best;
}

/* What all queues allow. */
static double bound_find(struct match *m, const struct sequences *guest,
			 const struct sequences *host)
{
	double bound = m->known.high;

	for (unsigned int i = 0; i < guest->nr; i++) {
		double most = NONE;

		for (unsigned int k = 0; k < host->nr; k++) {
			double one = highest(m, &guest->list[i], &host->list[k]);

			most = one > most ? one : most;
		}
		if (most > NONE && most < bound)
			bound = most;
	}
	return *m->work ? bound : m->known.high;
}

static int kicks_sort(const struct align_guest *g, struct sequences *s)
{
	int err = 0;

	for (size_t i = 0; !err && i < g->nr_kicks; i++)
		err = sequence_add(s, g->kick[i].queue, g->kick[i].stamp);
	return err;
}

int align_kicks(const struct align *a, struct align_guest *g, uint32_t pid,
		uint64_t (*convert)(const void *arg, uint64_t tsc), const void *arg,
		double low, double *high, double tolerance)
{
	struct match m = {.known = {low, *high}, .tolerance = tolerance, .work = &g->work};
	struct sequences guest = {0}, host = {0};
	int err = g->nr_kicks >= KICKS_MIN ? kicks_sort(g, &guest) : 0;

	for (unsigned int i = 0; !err && guest.nr && i < a->nr_hosts; i++)
		err = writes_read(a, a->host[i], pid, &host);
	for (unsigned int i = 0; !err && i < host.nr; i++)
		for (size_t k = 0; k < host.list[i].nr; k++)
			host.list[i].at[k] = convert(arg, host.list[i].at[k]);
	if (!err && !guest.full && !host.full)
		*high = bound_find(&m, &guest, &host);
	sequences_free(&guest);
	sequences_free(&host);
	return err;
}
