// SPDX-License-Identifier: GPL-2.0-or-later
/* The host's I/O requests: see struct path_io for which element they belong to. */
#include <stdlib.h>

#include "analyzers/path/internal.h"

enum { ENCLOSING_LOOKED_AT = 4096 }; /* elements that a request is compared with; more: ambiguous */

static int by_request(const void *a, const void *b)
{
	const struct path_io *x = a, *y = b;

	if (x->request != y->request)
		return x->request < y->request ? -1 : 1;
	return (x->submit_ns > y->submit_ns) - (x->submit_ns < y->submit_ns);
}

/* How many requests were popped until then. */
static size_t popped_until(const struct path *p, uint64_t ns)
{
	size_t lo = 0, hi = p->nr;

	while (lo < hi) {
		size_t mid = lo + (hi - lo) / 2;

		if (p->request[mid].at[POINT_POP] <= ns)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo;
}

/* A vCPU's thread that does not handle the queue reads the guest's memory (a page from a file or from swap). */
static bool is_own_io(const struct path *p, const struct path_io *io, const struct path_request *rq)
{
	const struct thread_log *log = threads_find(&p->threads, io->source, io->tid);

	return rq->pop_tid == io->tid || !log || !log->is_vcpu;
}

static bool encloses(const struct path *p, const struct path_request *rq, const struct path_io *io)
{
	return rq->pid == io->pid && !rq->no_disk && rq->at[POINT_PUSH] >= io->done_ns &&
	       rq->at[POINT_POP] <= io->submit_ns && is_own_io(p, io, rq);
}

/* How many elements that were popped by then were never returned. */
static unsigned int open_before(const struct path *p, const struct path_io *io)
{
	const struct path_open *o;
	unsigned int nr = 0;

	for (uint32_t at = 0; (o = hash_next(&p->open, &at));)
		nr += o->pid == io->pid && !o->no_disk && o->pop_ns <= io->submit_ns;
	return nr;
}

/*
 * The element that encloses the I/O, and in *ret_nr how many do; all are marked if there are several. newest_push[i]:
 * the latest push of the requests up to i, beyond which none encloses it.
 */
static uint32_t enclosing_find(struct path *p, const struct path_io *io,
			       const uint64_t *newest_push, unsigned int *ret_nr)
{
	size_t i = popped_until(p, io->submit_ns), steps = 0;
	uint32_t found = PATH_NO_REQUEST, first = PATH_NO_REQUEST;
	unsigned int nr = open_before(p, io);

	for (; i-- > 0 && newest_push[i] >= io->done_ns; steps++) {
		if (steps == ENCLOSING_LOOKED_AT) {
			nr = 2;
			break;
		}
		if (!encloses(p, &p->request[i], io))
			continue;
		p->request[i].ambiguous |= nr++ > 0;
		found = (uint32_t)i;
		if (first == PATH_NO_REQUEST)
			first = found;
	}
	if (nr > 1 && first != PATH_NO_REQUEST)
		p->request[first].ambiguous = true;
	*ret_nr = nr;
	return found;
}

static void io_assign(struct path *p, struct path_io *io, const uint64_t *newest_push)
{
	unsigned int nr;
	uint32_t found = enclosing_find(p, io, newest_push, &nr);

	io->request = nr == 1 ? found : PATH_NO_REQUEST;
	p->totals.ios_ambiguous += nr > 1;
	p->totals.ios_foreign += nr == 0 || (nr == 1 && found == PATH_NO_REQUEST);
}

/* With a request that may be of several, none is known to be all of it. */
static void request_fill(struct path *p, struct path_request *rq, size_t first, size_t nr)
{
	const struct path_io *io = &p->io[first];

	if (rq->ambiguous)
		return;
	rq->first_io = (uint32_t)first;
	rq->nr_ios = (uint32_t)nr;
	rq->at[POINT_SUBMIT] = io->submit_ns;
	rq->at[POINT_DISPATCH] = io->dispatch_ns;
	rq->submit_tid = io->tid != rq->pop_tid ? io->tid : 0;
	for (size_t i = 0; i < nr; i++)
		if (io[i].done_ns > rq->at[POINT_DONE])
			rq->at[POINT_DONE] = io[i].done_ns;
}

void path_ios_assign(struct path *p)
{
	uint64_t *newest_push = p->nr_ios && p->nr ? calloc(p->nr, sizeof(*newest_push)) : NULL;

	p->totals.ios = p->nr_ios;
	if (!newest_push) {
		p->totals.ios_foreign = p->nr_ios;
		return;
	}
	for (size_t i = 0; i < p->nr; i++) {
		uint64_t ns = p->request[i].at[POINT_PUSH];

		newest_push[i] = i && newest_push[i - 1] > ns ? newest_push[i - 1] : ns;
	}
	for (size_t i = 0; i < p->nr_ios; i++)
		io_assign(p, &p->io[i], newest_push);
	free(newest_push);
	qsort(p->io, p->nr_ios, sizeof(*p->io), by_request);
	for (size_t i = 0, nr; i < p->nr_ios && p->io[i].request != PATH_NO_REQUEST; i += nr) {
		nr = 1;
		while (i + nr < p->nr_ios && p->io[i + nr].request == p->io[i].request)
			nr++;
		request_fill(p, &p->request[p->io[i].request], i, nr);
	}
}
