// SPDX-License-Identifier: GPL-2.0-or-later
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
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "base/error.h"
#include "clock/align_internal.h"
#include "event/records.h"
#include "readers/readers.h"

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
	if (array_room(q->at, q->nr))
		return -ENOMEM;
	q->at[q->nr++] = at;
	return 0;
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
	struct read_hint hint = {.until_ns = UINT64_MAX, .wants = wants};
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
