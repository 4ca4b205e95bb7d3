// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The first pass over a trace.dat. Pieces of pages are independent of each other: workers take the next one, count its
 * events and note the vCPU threads and losses in it; what reaches from one piece of a CPU to the next (the order of
 * times, losses at a piece's beginning) is found when all are joined in the order of the file.
 */
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/error.h"
#include "base/hash.h"
#include "readers/ftrace/tracedat_internal.h"
#include "readers/ftrace/tracedat_reader.h"

enum {
	JOBS_MAX = 16,
	PIECES_PER_JOB = 16, /* at least: below, starting a thread costs too much */
};

struct piece_found {
	uint64_t first, last; /* times; no event: nr is 0 */
	uint64_t nr_lost, uncounted, damaged;
	uint32_t nr, pages;
	uint32_t borders, early; /* pages that may follow a gap: after an event of the piece, before its first */
	bool cut, late;
};

/* Events lost before a page. */
struct loss_found {
	size_t piece;
	uint64_t from; /* time of the event before it in the piece */
	uint64_t page, next, lost; /* the page's time; that of its first event, UINT64_MAX if it has none */
	bool has_from;
};

struct thread_found {
	uint64_t key; /* tid << 16 | vCPU */
	size_t piece;
};

struct scan_job {
	struct tracedat *t;
	const struct tracedat_pieces *pieces;
	struct piece_found *found; /* by piece */
	const uint16_t *own_vcpu;  /* by event id, see ftrace_events_own_vcpus() */
	size_t next, kept_bytes;
};

struct scan_worker {
	struct scan_job *job;
	struct tracedat_pages pages;
	uint64_t *nr, *first_time; /* by id */
	uint64_t no_id; /* events too short to have one */
	struct hash_table threads; /* of struct thread_found */
	uint64_t newest_key;
	struct loss_found *loss;
	size_t nr_losses, max_losses;
	int err;
};

/* ---- a piece ---- */

static int loss_add(struct scan_worker *w, struct loss_found loss)
{
	if (w->nr_losses == w->max_losses) {
		size_t max = w->max_losses ? 2 * w->max_losses : 64;
		void *more = realloc(w->loss, max * sizeof(*w->loss));

		if (!more)
			return fail(-ENOMEM, "out of memory");
		w->loss = more;
		w->max_losses = max;
	}
	w->loss[w->nr_losses++] = loss;
	return 0;
}

static void thread_note(struct scan_worker *w, const uint8_t *entry, unsigned int offset,
			size_t piece)
{
	struct thread_found *t;
	uint32_t vcpu;
	int32_t tid;
	uint64_t key;

	memcpy(&tid, entry + 4, sizeof(tid));
	memcpy(&vcpu, entry + offset, sizeof(vcpu));
	if (tid <= 0)
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
	const uint8_t *entry;
	uint64_t time, last = found->last;
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
		w->nr[id]++;
		if (time < w->first_time[id])
			w->first_time[id] = time;
		if (own_vcpu[id] && own_vcpu[id] + sizeof(uint32_t) <= len)
			thread_note(w, entry, own_vcpu[id], piece);
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

/* ---- joining ---- */

static int found_loss_join(struct tracedat *t, const struct loss_found *l,
			   const struct cpu_totals *total, unsigned int cpu)
{
	struct tracedat_scan *s = t->scan;
	bool first = !l->has_from && !total->last;
	uint64_t from = l->has_from ? l->from : first ? l->page : total->last;

	if (s->nr_losses == s->max_losses) {
		size_t max = s->max_losses ? 2 * s->max_losses : 64;
		void *more = realloc(s->loss, max * sizeof(*s->loss));

		if (!more)
			return fail(-ENOMEM, "out of memory");
		s->loss = more;
		s->max_losses = max;
	}
	s->unordered |= !first && l->next <= from;
	s->loss[s->nr_losses++] = (struct scanned_loss){
		.time = from, .until = l->page, .lost = l->lost, .cpu = (uint16_t)cpu,
		.first = first};
	return 0;
}

static void piece_join(struct tracedat *t, const struct tracedat_piece *at,
		       const struct piece_found *found, uint64_t *borders)
{
	struct tracedat_scan *s = t->scan;
	struct cpu_totals *total = &s->total[at->cpu];

	*borders += found->borders + (total->last ? found->early : 0);
	total->nr_lost += found->nr_lost;
	total->uncounted += found->uncounted;
	total->damaged += found->damaged;
	total->cut = found->cut;
	if (!found->nr)
		return;
	s->unordered |= found->late || (total->nr_read && found->first < total->last);
	total->nr_read += found->nr;
	total->last = found->last;
	s->piece[s->nr_pieces++] = (struct scanned_piece){
		.at = *at, .bytes = found->pages * t->file.page_size, .nr_events = found->nr,
		.first = found->first, .last = found->last};
}

static int by_piece(const void *a, const void *b)
{
	const struct loss_found *x = a, *y = b;

	if (x->piece != y->piece)
		return x->piece < y->piece ? -1 : 1;
	return x->page < y->page ? -1 : x->page > y->page;
}

/* All workers' losses in order of pieces; *ret is to be freed. */
static int losses_gather(struct scan_worker *w, unsigned int jobs, struct loss_found **ret,
			 size_t *ret_nr)
{
	size_t nr = 0;

	for (unsigned int i = 0; i < jobs; i++)
		nr += w[i].nr_losses;
	*ret = calloc(nr + 1, sizeof(**ret));
	if (!*ret)
		return fail(-ENOMEM, "out of memory");
	for (unsigned int i = 0; i < jobs; *ret_nr += w[i++].nr_losses)
		memcpy(*ret + *ret_nr, w[i].loss, w[i].nr_losses * sizeof(**ret));
	qsort(*ret, nr, sizeof(**ret), by_piece);
	return 0;
}

/* Pieces of a CPU behind one that is cut are not read by anyone. */
static int pieces_join(struct scan_job *job, struct scan_worker *w, unsigned int jobs,
		       uint64_t *borders)
{
	struct tracedat *t = job->t;
	_cleanup_free_ struct loss_found *losses = NULL;
	size_t nr = 0, loss = 0;
	int err = losses_gather(w, jobs, &losses, &nr);

	t->scan->piece = calloc(job->pieces->nr + 1, sizeof(*t->scan->piece));
	if (!err && !t->scan->piece)
		err = fail(-ENOMEM, "out of memory");
	for (size_t i = 0; i < job->pieces->nr && !err; i++) {
		const struct tracedat_piece *at = &job->pieces->piece[i];
		const struct cpu_totals *total = &t->scan->total[at->cpu];
		bool beyond = total->cut;

		for (; loss < nr && losses[loss].piece == i && !err; loss++)
			err = beyond ? 0 : found_loss_join(t, &losses[loss], total, at->cpu);
		if (!beyond && !err)
			piece_join(t, at, &job->found[i], &borders[at->cpu]);
	}
	return err;
}

static int by_first_piece(const void *a, const void *b)
{
	const struct thread_found *x = a, *y = b;

	if (x->piece != y->piece)
		return x->piece < y->piece ? -1 : 1;
	return x->key < y->key ? -1 : x->key > y->key;
}

static int threads_join(struct tracedat *t, struct scan_worker *w, unsigned int jobs)
{
	_cleanup_free_ struct thread_found *all = NULL;
	const struct thread_found *one;
	size_t nr = 0;

	for (unsigned int i = 0; i < jobs; i++)
		nr += w[i].threads.nr;
	all = calloc(nr + 1, sizeof(*all));
	if (!all)
		return fail(-ENOMEM, "out of memory");
	nr = 0;
	for (unsigned int i = 0; i < jobs; i++)
		for (uint32_t at = 0; (one = hash_next(&w[i].threads, &at));)
			all[nr++] = *one;
	qsort(all, nr, sizeof(*all), by_first_piece);
	for (size_t i = 0; i < nr; i++)
		vm_threads_seen(t->vms, (uint16_t)all[i].key, (uint32_t)(all[i].key >> 16), 0);
	vm_threads_settle(t->vms, &t->reader.info);
	return 0;
}

/* What the statistics add, which is complete only now. */
static void ends_join(struct tracedat *t, const uint64_t *borders)
{
	struct tracedat_scan *s = t->scan;

	for (unsigned int i = 0; i < t->file.nr_cpus; i++) {
		const struct tracedat_cpu *cpu = &t->file.cpu[i];

		t->cpu[i].unplaced = cpu_unplaced(cpu, &s->total[i]) > 0;
		if (t->cpu[i].unplaced)
			s->nr_gaps += borders[i] + !cpu_left(cpu, &s->total[i]);
	}
}

static void ids_join(struct tracedat_scan *s, const struct scan_worker *w)
{
	for (unsigned int id = 0; id < FTRACE_IDS; id++) {
		s->nr[id] += w->nr[id];
		if (w->first_time[id] < s->first_time[id])
			s->first_time[id] = w->first_time[id];
	}
}

static int join(struct scan_job *job, struct scan_worker *w, unsigned int jobs)
{
	struct tracedat_scan *s = job->t->scan;
	_cleanup_free_ uint64_t *borders = calloc(job->t->file.nr_cpus + 1u, sizeof(*borders));
	int err = borders ? 0 : fail(-ENOMEM, "out of memory");

	for (unsigned int i = 0; i < jobs && !err; i++)
		if (w[i].err) /* its error message was set in its own thread */
			err = fail(w[i].err, "%s: %s", job->t->reader.info.file,
				   strerror(-w[i].err));
	if (!err)
		err = pieces_join(job, w, jobs, borders);
	for (unsigned int i = 0; i < jobs && !err; i++) {
		s->unknown += w[i].no_id;
		ids_join(s, &w[i]);
	}
	if (!err)
		err = threads_join(job->t, w, jobs);
	if (!err)
		ends_join(job->t, borders);
	return err;
}

/* ---- the workers ---- */

static uint64_t *times_new(void)
{
	uint64_t *time = malloc(FTRACE_IDS * sizeof(*time));

	if (time)
		memset(time, 0xff, FTRACE_IDS * sizeof(*time));
	return time;
}

static int worker_init(struct scan_worker *w, struct scan_job *job)
{
	*w = (struct scan_worker){.job = job};
	w->threads = HASH_TABLE(struct thread_found, 1, 2 * VM_THREADS_MAX);
	w->nr = calloc(FTRACE_IDS, sizeof(*w->nr));
	w->first_time = times_new();
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
		err = join(job, w, nr);
	while (nr)
		worker_deinit(&w[--nr]);
	return err;
}

static int scan_alloc(struct tracedat *t)
{
	struct tracedat_scan *s = t->scan = calloc(1, sizeof(*s));

	if (s)
		s->total = calloc(t->file.nr_cpus + 1u, sizeof(*s->total));
	if (s)
		s->nr = calloc(FTRACE_IDS, sizeof(*s->nr));
	if (s)
		s->first_time = times_new();
	return s && s->total && s->nr && s->first_time ? 0 : fail(-ENOMEM, "out of memory");
}

int tracedat_scan(struct tracedat *t)
{
	_cleanup_free_ uint16_t *own_vcpu = ftrace_events_own_vcpus(t->events);
	_cleanup_free_ struct piece_found *found = NULL;
	struct tracedat_pieces pieces = {0};
	struct scan_job job = {.t = t, .pieces = &pieces, .own_vcpu = own_vcpu};
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
