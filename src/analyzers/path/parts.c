// SPDX-License-Identifier: GPL-2.0-or-later
/* Divides the stages of a request by what the threads did that it waited for. */

#include "analyzers/path/internal.h"

/* The thread that a stage waits for; while it sleeps, the second one. */
struct actors {
	const struct thread_log *log[2];
	enum path_role role[2];
	uint32_t tid[2];
};

struct builder {
	const struct path *path;
	const struct path_request *rq;
	struct path_part *part;
	unsigned int nr;
	enum path_point from, to;
};

uint64_t path_start_ns(const struct path_request *rq)
{
	for (unsigned int i = 0; i < PATH_POINTS; i++)
		if (rq->at[i])
			return rq->at[i];
	return 0;
}

uint64_t path_end_ns(const struct path_request *rq)
{
	for (unsigned int i = PATH_POINTS; i-- > 0;)
		if (rq->at[i])
			return rq->at[i];
	return 0;
}

static void actor_set(const struct builder *b, struct actors *a, unsigned int i, uint32_t tid,
		      enum path_role role)
{
	const struct thread_log *log =
		tid ? threads_find(&b->path->threads, b->rq->source, tid) : NULL;

	a->tid[i] = tid;
	a->log[i] = log;
	a->role[i] = log && thread_is_vcpu(log) ? PATH_VCPU : role;
}

static struct actors actors_of(const struct builder *b)
{
	const struct path_request *rq = b->rq;
	struct actors a = {0};

	if (b->from == POINT_ISSUE && b->to == POINT_KICK) {
		actor_set(b, &a, 0, rq->kick_tid, PATH_VCPU);
	} else if (b->from < POINT_POP) {
		actor_set(b, &a, 0, rq->pop_tid, PATH_IO_THREAD);
	} else if (b->from == POINT_POP && b->to < POINT_PUSH && rq->submit_tid) {
		actor_set(b, &a, 0, rq->submit_tid, PATH_WORKER);
		actor_set(b, &a, 1, rq->pop_tid, PATH_IO_THREAD);
	} else if (b->from == POINT_POP && b->to < POINT_PUSH) {
		actor_set(b, &a, 0, rq->pop_tid, PATH_IO_THREAD);
	} else if (b->from < POINT_NOTIFY && b->to <= POINT_NOTIFY) {
		actor_set(b, &a, 0, rq->push_tid, PATH_IO_THREAD);
		actor_set(b, &a, 1, rq->submit_tid, PATH_WORKER);
	} else if (b->to <= POINT_RAISE) {
		actor_set(b, &a, 0, rq->push_tid, PATH_IO_THREAD);
	} else {
		actor_set(b, &a, 0, rq->irq_tid, PATH_VCPU);
	}
	return a;
}

/* Adds the time from the end of the last part until then; what is the same goes on. */
static void part_add(struct builder *b, struct path_part part)
{
	struct path_part *last = b->nr ? &b->part[b->nr - 1] : NULL;

	part.from = b->from;
	part.to = b->to;
	if (part.end_ns <= part.start_ns)
		return;
	if (last && last->from == part.from && last->to == part.to && last->role == part.role &&
	    last->run == part.run && last->tid == part.tid && last->other_tid == part.other_tid)
		last->end_ns = part.end_ns;
	else
		b->part[b->nr++] = part;
}

static enum path_run run_at(const struct thread_log *log, uint64_t ns, uint64_t *ret_until_ns,
			      const struct thread_change **ret)
{
	ptrdiff_t i = log ? thread_at(log, ns) : -1;

	*ret = i < 0 ? NULL : &log->change[i];
	if (log && (size_t)(i + 1) < log->nr && log->change[i + 1].ns < *ret_until_ns)
		*ret_until_ns = log->change[i + 1].ns;
	return *ret ? (*ret)->run : PATH_RUN_UNKNOWN;
}

static void divide(struct builder *b, uint64_t from_ns, uint64_t to_ns)
{
	struct actors a = actors_of(b);

	while (from_ns < to_ns && b->nr < PATH_PARTS_MAX - 2 * PATH_POINTS) {
		const struct thread_change *change[2];
		uint64_t until_ns = to_ns;
		enum path_run run[2] = {run_at(a.log[0], from_ns, &until_ns, &change[0]),
					  run_at(a.log[1], from_ns, &until_ns, &change[1])};
		bool second = (run[0] == PATH_ASLEEP || run[0] == PATH_RUN_UNKNOWN) &&
			      (run[1] == PATH_RUNNING || run[1] == PATH_RUNQUEUE);
		const struct thread_change *c = change[second];

		part_add(b, (struct path_part){
				    .start_ns = from_ns,
				    .end_ns = until_ns,
				    .role = a.role[second],
				    .run = run[second],
				    .tid = a.tid[second],
				    .other_tid = c ? c->other_tid : 0,
				    .other = c ? c->other : "",
				    .cpu = c ? c->cpu : 0,
			    });
		from_ns = until_ns;
	}
	part_add(b, (struct path_part){.start_ns = from_ns,
				       .end_ns = to_ns,
				       .role = a.role[0],
				       .tid = a.tid[0],
				       .other = ""});
}

static void disk_add(struct builder *b, uint64_t from_ns, uint64_t to_ns)
{
	part_add(b, (struct path_part){.start_ns = from_ns, .end_ns = to_ns, .other = ""});
}

/* The host's disk works, or between two of several requests QEMU does. */
static void divide_disk(struct builder *b, uint64_t from_ns, uint64_t to_ns)
{
	for (uint32_t i = 0; i < b->rq->nr_ios; i++) {
		const struct path_io *io = &b->path->io[b->rq->first_io + i];

		if (io->submit_ns > from_ns && b->nr < PATH_PARTS_MAX / 2) {
			divide(b, from_ns, io->submit_ns);
			from_ns = io->submit_ns;
		}
		if (io->done_ns > from_ns) {
			disk_add(b, from_ns, io->done_ns < to_ns ? io->done_ns : to_ns);
			from_ns = io->done_ns < to_ns ? io->done_ns : to_ns;
		}
	}
	disk_add(b, from_ns, to_ns);
}

unsigned int path_parts(const struct path *p, const struct path_request *rq,
			struct path_part part[PATH_PARTS_MAX])
{
	struct builder b = {.path = p, .rq = rq, .part = part};
	unsigned int from = 0;

	while (from < PATH_POINTS && !rq->at[from])
		from++;
	for (unsigned int to = from + 1; to < PATH_POINTS; to++) {
		if (!rq->at[to])
			continue;
		b.from = from;
		b.to = to;
		if (from == POINT_SUBMIT && to == POINT_DISPATCH)
			disk_add(&b, rq->at[from], rq->at[to]);
		else if (to == POINT_DONE)
			divide_disk(&b, rq->at[from], rq->at[to]);
		else
			divide(&b, rq->at[from], rq->at[to]);
		from = to;
	}
	return b.nr;
}
