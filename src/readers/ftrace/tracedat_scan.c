// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The first pass over a trace.dat. Pieces of pages are independent of each other: workers take the next one, count its
 * events and note the vCPU threads and losses in it. tracedat_join.c joins what they found.
 */
#include <errno.h>
#include <pthread.h>

#include "base/array.h"
#include "base/error.h"
#include "readers/ftrace/tracedat_internal.h"

/* What the workers of the first pass find (tracedat_scan.c), for tracedat_join.c. */

enum {
	JOBS_MAX = 16,
	PIECES_PER_JOB = 16, /* at least: below, starting a thread costs too much */
};

/* ---- a piece ---- */

static int loss_add(struct scan_worker *w, struct loss_found loss)
{
	if (array_reserve(w->loss, w->nr_losses + 1, w->max_losses))
		return -ENOMEM;
	w->loss[w->nr_losses++] = loss;
	return 0;
}

static void thread_note(struct scan_worker *w, const uint8_t *entry, unsigned int offset,
			size_t piece)
{
	struct thread_found *t;
	uint32_t vcpu = RECORD_NO_VCPU;
	int32_t tid;
	uint64_t key;

	memcpy(&tid, entry + 4, sizeof(tid));
	if (tid <= 0)
		return;
	if (offset != FTRACE_VCPU_BY_NAME)
		memcpy(&vcpu, entry + offset, sizeof(vcpu));
	else if (w->newest_key >> 16 == (uint32_t)tid) /* nothing new */
		return;
	key = (uint64_t)tid << 16 | (uint16_t)vcpu;
	if (key == w->newest_key)
		return;
	w->newest_key = key;
	t = hash_find_u64(&w->threads, key);
	if (!t && (t = hash_add_u64(&w->threads, key, NULL)))
		t->piece = piece;
}

static void page_scan(struct scan_worker *w, struct ftrace_page *p, struct piece_found *found,
		      size_t piece)
{
	const uint16_t *own_vcpu = w->job->own_vcpu;
	const unsigned int others = w->job->slots - 1;
	const uint8_t *entry;
	uint64_t time, last = found->last;
	unsigned int slot;
	uint32_t nr = 0;
	uint16_t id;
	size_t len;

	while (ftrace_page_next(p, &entry, &len, &time)) {
		if (!(found->nr + nr++))
			found->first = last = time;
		found->late |= time < last;
		last = time;
		if (len < FTRACE_COMMON) {
			w->no_id++;
			continue;
		}
		memcpy(&id, entry, sizeof(id));
		slot = id < others ? id : others;
		w->nr[slot]++;
		if (time < w->first_time[slot])
			w->first_time[slot] = time;
		if (own_vcpu[slot] && (own_vcpu[slot] == FTRACE_VCPU_BY_NAME ||
				       own_vcpu[slot] + sizeof(uint32_t) <= len))
			thread_note(w, entry, own_vcpu[slot], piece);
		if (len > EVENT_RECORD_MAX - sizeof(struct record_hdr))
			found->late = true; /* not made: only batches count it */
	}
	found->nr += nr;
	found->last = last;
	found->damaged += p->damaged;
}

/* The events lost before a page, which is open. */
static int missed_note(struct scan_worker *w, const struct ftrace_page *p,
		       struct piece_found *found, size_t piece)
{
	struct ftrace_page ahead = *p;
	struct loss_found loss = {.piece = piece, .from = found->last, .has_from = found->nr > 0,
				  .page = p->time, .next = UINT64_MAX,
				  .lost = p->missed == UINT64_MAX ? 1 : p->missed};
	const uint8_t *entry;
	size_t len;

	ftrace_page_next(&ahead, &entry, &len, &loss.next);
	found->nr_lost += loss.lost;
	found->uncounted += p->missed == UINT64_MAX;
	return loss_add(w, loss);
}

static int piece_scan(struct scan_worker *w, size_t i)
{
	const struct tracedat_file *f = &w->job->t->file;
	struct piece_found *found = &w->job->found[i];
	const uint8_t *data;
	int more, err = 0;

	tracedat_pages_seek(&w->pages, f, &w->job->pieces->piece[i]);
	while (!err && (more = tracedat_pages_next(&w->pages, &data)) > 0) {
		struct ftrace_page page;

		found->pages++;
		if (ftrace_page_open(&page, data, f->page_size, f->commit_size)) {
			found->damaged++;
			continue;
		}
		if (page.missed)
			err = missed_note(w, &page, found, i);
		else
			++*(found->last ? &found->borders : &found->early);
		page_scan(w, &page, found, i);
	}
	if (!err && !more)
		tracedat_pages_keep(&w->pages, &w->job->pieces->piece[i], &w->job->kept_bytes);
	found->cut = !err && more == -EBADMSG; /* what was read before it is good */
	return err ? err : found->cut ? 0 : more;
}

static void *worker_run(void *arg)
{
	struct scan_worker *w = arg;
	struct scan_job *job = w->job;

	while (!w->err) {
		size_t i = __atomic_fetch_add(&job->next, 1, __ATOMIC_RELAXED);

		if (i >= job->pieces->nr)
			break;
		w->err = piece_scan(w, i);
	}
	return NULL;
}

/* ---- the workers ---- */

static uint64_t *times_new(unsigned int nr)
{
	uint64_t *time = malloc(nr * sizeof(*time));

	if (time)
		memset(time, 0xff, nr * sizeof(*time));
	return time;
}

static int worker_init(struct scan_worker *w, struct scan_job *job)
{
	*w = (struct scan_worker){.job = job};
	w->threads = HASH_TABLE(struct thread_found, 1, 2 * VM_THREADS_MAX);
	w->nr = calloc(job->slots, sizeof(*w->nr));
	w->first_time = times_new(job->slots);
	return w->nr && w->first_time ? 0 : fail(-ENOMEM, "out of memory");
}

static void worker_deinit(struct scan_worker *w)
{
	tracedat_pages_deinit(&w->pages);
	hash_deinit(&w->threads);
	free(w->loss);
	free(w->nr);
	free(w->first_time);
}

static int job_run(struct scan_job *job)
{
	size_t jobs = (size_t)sysconf(_SC_NPROCESSORS_ONLN),
	       most = job->pieces->nr / PIECES_PER_JOB;
	struct scan_worker w[JOBS_MAX];
	pthread_t thread[JOBS_MAX];
	unsigned int nr = 0, started = 1;
	int err = 0;

	jobs = jobs < JOBS_MAX ? jobs : JOBS_MAX;
	jobs = jobs < most ? jobs : most ? most : 1;
	for (; nr < jobs && !err; nr++)
		err = worker_init(&w[nr], job);
	while (!err && started < nr &&
	       !pthread_create(&thread[started], NULL, worker_run, &w[started]))
		started++;
	if (!err)
		worker_run(&w[0]);
	while (started > 1)
		pthread_join(thread[--started], NULL);
	if (!err)
		err = tracedat_scan_join(job, w, nr);
	while (nr)
		worker_deinit(&w[--nr]);
	return err;
}

static int scan_alloc(struct tracedat *t)
{
	struct tracedat_scan *s = t->scan = calloc(1, sizeof(*s));
	unsigned int slots = ftrace_events_slots(t->events);

	if (s)
		s->total = calloc(t->file.nr_cpus + 1u, sizeof(*s->total));
	if (s)
		s->nr = calloc(slots, sizeof(*s->nr));
	if (s)
		s->first_time = times_new(slots);
	return s && s->total && s->nr && s->first_time ? 0 : fail(-ENOMEM, "out of memory");
}

int tracedat_scan(struct tracedat *t)
{
	_cleanup_free_ uint16_t *own_vcpu = ftrace_events_own_vcpus(t->events);
	_cleanup_free_ struct piece_found *found = NULL;
	struct tracedat_pieces pieces = {0};
	struct scan_job job = {.t = t, .pieces = &pieces, .own_vcpu = own_vcpu,
			       .slots = ftrace_events_slots(t->events)};
	int err = own_vcpu ? scan_alloc(t) : -ENOMEM;

	t->vms = tracedat_vms_new(&t->file);
	if (!t->vms)
		err = -ENOMEM;
	for (unsigned int i = 0; !err && i < t->file.nr_cpus; i++)
		err = tracedat_pages_split(&pieces, &t->file, i);
	job.found = found = err ? NULL : calloc(pieces.nr + 1, sizeof(*found));
	if (!err && !found)
		err = fail(-ENOMEM, "out of memory");
	if (!err)
		err = job_run(&job);
	free(pieces.piece);
	return err;
}

void tracedat_scan_free(struct tracedat *t)
{
	if (!t->scan)
		return;
	free(t->scan->piece);
	free(t->scan->loss);
	free(t->scan->total);
	free(t->scan->row_piece);
	free(t->scan->row_loss);
	free(t->scan->nr);
	free(t->scan->first_time);
	free(t->scan);
}
