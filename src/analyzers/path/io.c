// SPDX-License-Identifier: GPL-2.0-or-later
/* The host's I/O requests: see struct path_io for which element they belong to. */
#include <errno.h>

#include "analyzers/path/internal.h"
#include "base/array.h"
#include "base/error.h"
#include "base/order.h"

enum {
	ENCLOSING_LOOKED_AT = 4096, /* elements that an I/O request is compared with */
	ENCLOSING_MAX = 1024,	    /* ... of which so many can enclose it */
	IMAGES_MAX = 4096,
	SPLIT_MAX_BYTES = 16 << 20, /* a request of the guest's is not longer */
};

enum { OP_READ, OP_WRITE, OP_FLUSH };

/* A file of the host and a disk of the guest: is it the disk's raw image? */
struct image {
	uint64_t key[4]; /* pid and dev, inode, disk (address of its name), queue's VM */
	uint64_t ios, matched, starts; /* with elements of the disk around; at their sectors; where one begins */
	uint64_t last_io;	       /* number of the newest that was counted */
	bool has_match, has_start;     /* ... and what it counted in */
	bool raw;
};

/* An element of a disk that was popped and never returned; they are sorted by VM and time. */
struct unreturned {
	uint64_t pop_ns;
	uint32_t pid;
	uint32_t nr_written; /* of those up to this one: how many do not read */
};

/* The elements around an I/O request, newest first. */
struct enclosing {
	uint32_t request[ENCLOSING_MAX];
	unsigned int nr, unreturned;
	bool too_many;
};

struct assigner {
	struct path *path;
	const uint64_t *newest_push; /* [i]: the latest push of the requests up to i */
	struct hash_table images;
	struct unreturned *unreturned;
	size_t nr_unreturned;
	struct path_io *owned; /* a copy per owner */
	size_t nr_owned;
	struct enclosing enclosing;
};

ORDER_BY(by_request, struct path_io, request, submit_ns, done_ns, offset, tid)

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

	return rq->pop_tid == io->tid || !log || !thread_is_vcpu(log);
}

/* Writing may read (metadata, blocks that are written in part), and a flush writes what is in a cache. */
static bool is_possible(uint32_t blk_type, uint32_t op)
{
	return blk_type != PATH_BLK_READ || op == OP_READ;
}

static bool encloses(const struct path *p, const struct path_request *rq, const struct path_io *io)
{
	return rq->pid == io->pid && !rq->no_disk && rq->at[POINT_PUSH] >= io->done_ns &&
	       rq->at[POINT_POP] <= io->submit_ns && is_possible(rq->blk_type, io->op) &&
	       is_own_io(p, io, rq);
}

ORDER_BY(by_pop, struct unreturned, pid, pop_ns)

/* 0 or -ENOMEM. */
static int unreturned_sort(struct assigner *a)
{
	const struct path *p = a->path;
	const struct path_open *o;
	uint32_t nr_written = 0;

	a->unreturned = calloc(p->open.nr + 1ul, sizeof(*a->unreturned));
	if (!a->unreturned)
		return -ENOMEM;
	for (uint32_t at = 0; (o = hash_next(&p->open, &at));)
		if (!o->no_disk)
			a->unreturned[a->nr_unreturned++] = (struct unreturned){
				o->pop_ns, o->pid, is_possible(o->blk_type, OP_WRITE)};
	qsort(a->unreturned, a->nr_unreturned, sizeof(*a->unreturned), by_pop);
	for (size_t i = 0; i < a->nr_unreturned; i++)
		a->unreturned[i].nr_written = nr_written += a->unreturned[i].nr_written;
	return 0;
}

/* How many elements that were popped by then were never returned. */
static unsigned int unreturned_count(const struct assigner *a, const struct path_io *io)
{
	const struct unreturned *list = a->unreturned;
	size_t first = array_prefix(a->nr_unreturned, i, list[i].pid < io->pid);
	size_t end = array_prefix(a->nr_unreturned, i,
				  list[i].pid < io->pid || (list[i].pid == io->pid &&
							    list[i].pop_ns <= io->submit_ns));

	if (io->op == OP_READ)
		return (unsigned int)(end - first);
	return (end ? list[end - 1].nr_written : 0) - (first ? list[first - 1].nr_written : 0);
}

static const struct enclosing *enclosing_find(struct assigner *a, const struct path_io *io)
{
	const struct path *p = a->path;
	struct enclosing *e = &a->enclosing;
	size_t i = popped_until(p, io->submit_ns), steps = 0;

	e->nr = 0;
	e->unreturned = unreturned_count(a, io);
	e->too_many = false;
	for (; i-- > 0 && a->newest_push[i] >= io->done_ns && !e->too_many; steps++) {
		if (encloses(p, &p->request[i], io))
			e->request[e->nr++] = (uint32_t)i;
		e->too_many = steps == ENCLOSING_LOOKED_AT || e->nr == ENCLOSING_MAX;
	}
	return e;
}

/* ---- raw images ---- */

/* Of a block that is written in part, QEMU reads the rest. */
static bool has_sectors(const struct path_request *rq, const struct path_io *io)
{
	return (rq->blk_type == PATH_BLK_READ && io->op == OP_READ) ||
	       (rq->blk_type == PATH_BLK_WRITE && io->op <= OP_WRITE);
}

/* Is the element's first sector within the I/O? */
static bool begins_in(const struct path_request *rq, const struct path_io *io)
{
	uint64_t start = rq->sector * 512;

	return has_sectors(rq, io) && start >= io->offset && start - io->offset < io->bytes;
}

/* May the I/O begin within the element? */
static bool begins_before(const struct path_request *rq, const struct path_io *io)
{
	uint64_t start = rq->sector * 512;

	return has_sectors(rq, io) && start < io->offset &&
	       io->offset - start < (rq->bytes ? rq->bytes : SPLIT_MAX_BYTES);
}

/* Of the elements of this disk the one within which the I/O begins: that which begins last before it. */
static uint32_t split_find(const struct assigner *a, const struct path_io *io, const char *device)
{
	const struct enclosing *e = &a->enclosing;
	const struct path_request *best = NULL;

	for (unsigned int i = 0; i < e->nr; i++) {
		const struct path_request *rq = &a->path->request[e->request[i]];

		if (rq->device == device && begins_before(rq, io) &&
		    (!best || rq->sector > best->sector))
			best = rq;
	}
	return best ? (uint32_t)(best - a->path->request) : PATH_NO_REQUEST;
}

static struct image *image_get(struct assigner *a, const struct path_io *io, const char *device,
			       bool add)
{
	const uint64_t key[] = {(uint64_t)io->pid << 32 | io->dev, io->inode,
				(uint64_t)(uintptr_t)device, io->source};

	return add ? hash_add_words(&a->images, key, NULL) : hash_find_words_(&a->images, key);
}

/* An I/O counts once for each disk that has elements around it. */
static void image_count(struct image *image, const struct path_request *rq,
			const struct path_io *io, uint64_t number)
{
	bool starts = begins_in(rq, io), matches = starts || begins_before(rq, io);

	if (image->last_io != number) {
		image->last_io = number;
		image->has_match = image->has_start = false;
		image->ios++;
	}
	image->starts += starts && !image->has_start;
	image->matched += matches && !image->has_match;
	image->has_start |= starts;
	image->has_match |= matches;
}

static void images_learn(struct assigner *a, const struct path_io *io, uint64_t number)
{
	const struct enclosing *e = enclosing_find(a, io);

	for (unsigned int i = 0; i < e->nr; i++) {
		const struct path_request *rq = &a->path->request[e->request[i]];
		struct image *image =
			rq->blk_type ? image_get(a, io, rq->device, true) : NULL;

		if (image)
			image_count(image, rq, io, number);
	}
}

/* 99 % of a file's I/O; a quarter of it has an element's begin, which the image of another format has not. */
static void images_decide(struct assigner *a)
{
	struct image *image;

	for (uint32_t at = 0; (image = hash_next(&a->images, &at));)
		image->raw = image->matched * 100 >= image->ios * 99 &&
			     image->starts * 4 >= image->ios;
}

/* ---- owners ---- */

static void own(struct assigner *a, const struct path_io *io, uint32_t request, bool exact)
{
	if (array_room(a->owned, a->nr_owned)) {
		a->path->err = -ENOMEM;
		return;
	}
	a->owned[a->nr_owned] = *io;
	a->owned[a->nr_owned].request = request;
	a->owned[a->nr_owned++].exact = exact;
}

/* By sectors: how many elements it is of. */
static unsigned int own_exactly(struct assigner *a, const struct path_io *io)
{
	const struct enclosing *e = &a->enclosing;
	const char *device = NULL;
	unsigned int nr = 0;

	for (unsigned int i = 0; i < e->nr; i++) {
		const struct path_request *rq = &a->path->request[e->request[i]];
		const struct image *image =
			rq->blk_type ? image_get(a, io, rq->device, false) : NULL;

		if (!image || !image->raw)
			continue;
		device = rq->device;
		if (begins_in(rq, io)) {
			own(a, io, e->request[i], true);
			nr++;
		}
	}
	if (device && split_find(a, io, device) != PATH_NO_REQUEST && !nr) {
		own(a, io, split_find(a, io, device), true);
		nr++;
	}
	return nr;
}

static void io_assign(struct assigner *a, const struct path_io *io)
{
	const struct enclosing *e = enclosing_find(a, io);
	unsigned int nr = e->nr + e->unreturned;

	if (own_exactly(a, io))
		return;
	if (nr == 1 && e->nr && !e->too_many) {
		own(a, io, e->request[0], false);
		return;
	}
	a->path->totals.ios_ambiguous += nr > 1;
	a->path->totals.ios_foreign += nr <= 1;
	for (unsigned int i = 0; nr > 1 && i < e->nr; i++)
		a->path->request[e->request[i]].ambiguous = true;
}

/* The I/O of a request; what is only assumed to be its own does not count if there is more that may be, too. */
static void request_fill(struct path *p, struct path_request *rq, size_t first, size_t nr)
{
	const struct path_io *io = &p->io[first];
	bool exact = false;

	for (size_t i = 0; i < nr; i++)
		exact |= io[i].exact;
	if (rq->ambiguous && !exact)
		return;
	rq->ambiguous = false;
	rq->first_io = (uint32_t)first;
	rq->nr_ios = (uint32_t)nr;
	rq->at[POINT_SUBMIT] = io->submit_ns;
	rq->at[POINT_DISPATCH] = io->dispatch_ns;
	rq->submit_tid = io->tid != rq->pop_tid ? io->tid : 0;
	for (size_t i = 0; i < nr; i++)
		if (io[i].done_ns > rq->at[POINT_DONE])
			rq->at[POINT_DONE] = io[i].done_ns;
}

static void requests_fill(struct path *p)
{
	if (p->nr_ios)
		qsort(p->io, p->nr_ios, sizeof(*p->io), by_request);
	for (size_t i = 0, nr; i < p->nr_ios; i += nr) {
		nr = 1;
		while (i + nr < p->nr_ios && p->io[i + nr].request == p->io[i].request)
			nr++;
		request_fill(p, &p->request[p->io[i].request], i, nr);
	}
}

static uint64_t *newest_pushes(const struct path *p)
{
	uint64_t *list = p->nr ? calloc(p->nr, sizeof(*list)) : NULL;

	for (size_t i = 0; list && i < p->nr; i++) {
		uint64_t ns = p->request[i].at[POINT_PUSH];

		list[i] = i && list[i - 1] > ns ? list[i - 1] : ns;
	}
	return list;
}

int path_ios_assign(struct path *p)
{
	uint64_t *newest_push = newest_pushes(p);
	struct assigner *a = calloc(1, sizeof(*a));

	p->totals.ios = p->nr_ios;
	if (a)
		a->path = p;
	if (!a || (p->nr && !newest_push) || unreturned_sort(a)) {
		free(a);
		free(newest_push);
		return fail(-ENOMEM, "out of memory");
	}
	a->newest_push = newest_push;
	a->images = HASH_TABLE(struct image, 4, IMAGES_MAX);
	for (size_t i = 0; i < p->nr_ios; i++)
		images_learn(a, &p->io[i], i + 1);
	images_decide(a);
	for (size_t i = 0; i < p->nr_ios; i++)
		io_assign(a, &p->io[i]);
	p->totals.refused += a->images.refused;
	hash_deinit(&a->images);
	free(a->unreturned);
	free(newest_push);
	free(p->io);
	p->io = a->owned;
	p->nr_ios = a->nr_owned;
	free(a);
	requests_fill(p);
	return p->err;
}
