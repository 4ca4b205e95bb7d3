// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The end of the first pass over a trace.dat: what its workers found in each piece is joined in the order of the file,
 * and what reaches from one piece of a CPU to the next is found: the order of times, losses at a piece's beginning.
 */
#include <errno.h>

#include "base/array.h"
#include "base/error.h"
#include "base/order.h"
#include "readers/ftrace/tracedat_internal.h"

static int found_loss_join(struct tracedat *t, const struct loss_found *l,
			   const struct cpu_totals *total, unsigned int cpu)
{
	struct tracedat_scan *s = t->scan;
	bool first = !l->has_from && !total->last;
	uint64_t from = l->has_from ? l->from : first ? l->page : total->last;

	if (array_reserve(s->loss, s->nr_losses + 1, s->max_losses))
		return -ENOMEM;
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

ORDER_BY(by_piece, struct loss_found, piece, page)

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
		if (w[i].nr_losses)
			memcpy(*ret + *ret_nr, w[i].loss, w[i].nr_losses * sizeof(**ret));
	qsort(*ret, nr, sizeof(**ret), by_piece);
	return 0;
}

/* Pieces of a CPU after one that is cut are not read by anyone. */
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

ORDER_BY(by_first_piece, struct thread_found, piece, key)

/* Has it the name of a vCPU's thread? */
static void thread_named(struct tracedat *t, uint32_t tid)
{
	char key[16];
	const char *name;

	snprintf(key, sizeof(key), "%u", tid);
	name = json_string_value(
		json_object_get(json_object_get(t->reader.info.meta, "threads"), key));
	if (name)
		vm_threads_named(t->vms, vm_threads_vcpu_of_name(name, strlen(name)), tid, 0);
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
		if ((uint16_t)all[i].key == RECORD_NO_VCPU)
			thread_named(t, (uint32_t)(all[i].key >> 16));
		else
			vm_threads_seen(t->vms, (uint16_t)all[i].key,
					(uint32_t)(all[i].key >> 16), 0);
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
	for (unsigned int id = 0; id < w->job->slots; id++) {
		s->nr[id] += w->nr[id];
		if (w->first_time[id] < s->first_time[id])
			s->first_time[id] = w->first_time[id];
	}
}

int tracedat_scan_join(struct scan_job *job, struct scan_worker *w, unsigned int jobs)
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
