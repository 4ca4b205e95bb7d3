// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Sums of threads, and of those that ran instead of them. Threads whose process is unknown are not summed up. All sums
 * of threads are made before the first sum of tasks, which points to one.
 */
#include "analyzers/sched/fold.h"

#include <errno.h>

#include "base/error.h"
#include "base/order.h"
#include "model/threads.h"

enum { TASK_SUMS_MAX = 1 << 16 };

struct thread_sum {
	uint64_t key[5];
	struct sched_thread *sum; /* of one thread: that itself; else owned */
};

struct task_sum {
	uint64_t key[4];
	uint64_t number; /* in the order in which they were found */
	struct sched_preemptor sum;
};

static int fold_failed(void)
{
	return fail(-ENOMEM, "out of memory");
}

/* Into two words, which end in zeros. */
static void comm_key(const char comm[16], uint64_t key[2])
{
	key[0] = key[1] = 0;
	memcpy(key, comm, strnlen(comm, 16));
}

/* ---- threads ---- */

static void thread_key(const struct sched_fold *f, const struct sched_thread *t, uint64_t key[5])
{
	key[0] = (uint64_t)t->source << 32 | t->pid;
	key[1] = (uint64_t)sched_kind(t) << 32 | t->vcpu;
	comm_key(t->comm, &key[2]);
	key[4] = f->by_tid || !t->pid ? t->tid : 0;
}

static int thread_add(struct sched_thread *sum, struct sched_thread *t)
{
	for (unsigned int i = 0; i < SCHED_USES; i++)
		sum->time[i] += t->time[i];
	sum->is_stateless |= t->is_stateless;
	sum->folded++;
	sum->tid = SCHED_SEVERAL;
	return quantiles_merge(&sum->waits, &t->waits) ? fold_failed() : 0;
}

/* Of a second thread: from now on the sum is none of them. */
static int sum_own(struct thread_sum *s)
{
	struct sched_thread *first = s->sum, *sum = malloc(sizeof(*sum));

	if (!sum)
		return fold_failed();
	*sum = *first;
	sum->waits = (struct quantiles){0};
	if (quantiles_merge(&sum->waits, &first->waits)) {
		quantiles_free(&sum->waits);
		free(sum);
		return fold_failed();
	}
	s->sum = sum;
	return 0;
}

static int thread_fold(struct sched_fold *f, struct sched_thread *t)
{
	uint64_t key[5];
	struct thread_sum *sum;
	bool first;

	thread_key(f, t, key);
	sum = hash_add_words(&f->threads, key, &first);
	if (!sum)
		return fold_failed();
	if (first) {
		sum->sum = t;
		t->folded = 1;
		return 0;
	}
	return (sum->sum->folded > 1 ? 0 : sum_own(sum)) ?: thread_add(sum->sum, t);
}

static int threads_fold(struct sched_fold *f)
{
	size_t nr;
	_cleanup_free_ struct sched_thread **all = sched_threads(f->sched, &nr);
	int err = all ? 0 : fold_failed();

	for (size_t i = 0; !err && i < nr; i++)
		if (f->selects(f->arg, all[i]))
			err = thread_fold(f, all[i]);
	return err;
}

/* ---- tasks that ran instead ---- */

static void task_key(const struct sched_fold *f, const struct sched_preemptor *p,
		     const struct sched_thread *thread, const char *vm, uint64_t key[4])
{
	bool is_task = p->tid && p->tid != UINT32_MAX;

	memset(key, 0, 4 * sizeof(*key));
	key[0] = (uint64_t)thread->number << 32;
	key[0] |= !is_task || f->by_tid ? p->tid : 1; /* init's, which 0 and UINT32_MAX are not */
	if (is_task)
		comm_key(p->comm, &key[1]);
	key[3] = (uintptr_t)vm;
}

/* Into the sum of its thread, if that is selected. */
static int task_fold(struct sched_fold *f, const struct sched_preemptor *p)
{
	const char *vm = vm_of_other(f->names, p->tid, p->thread->pid);
	struct thread_sum *of;
	struct task_sum *sum;
	uint64_t key[4], of_key[5];
	bool first;

	thread_key(f, p->thread, of_key);
	of = f->threads.nr ? hash_find_words(&f->threads, of_key) : NULL;
	if (!of || !f->selects(f->arg, p->thread))
		return 0;
	task_key(f, p, of->sum, vm, key);
	sum = hash_add_words(&f->tasks, key, &first);
	if (!sum)
		return fold_failed();
	if (first) {
		sum->number = f->tasks.nr;
		sum->sum = *p;
		sum->sum.time_ns = 0;
		sum->sum.thread = of->sum;
		sum->sum.vm = vm;
	}
	if (sum->sum.tid != p->tid)
		sum->sum.tid = SCHED_SEVERAL;
	sum->sum.time_ns += p->time_ns;
	return 0;
}

static int tasks_fold(struct sched_fold *f)
{
	size_t nr;
	_cleanup_free_ const struct sched_preemptor **all = sched_preemptors(f->sched, &nr);
	int err = all ? 0 : fold_failed();

	for (size_t i = 0; !err && i < nr; i++)
		err = task_fold(f, all[i]);
	return err;
}

/* ---- results ---- */

static int first_thread(const void *a, const void *b)
{
	const struct thread_sum *const *x = a, *const *y = b;

	return order_u64((*x)->sum->number, (*y)->sum->number);
}

static int longest_task(const void *a, const void *b)
{
	const struct task_sum *const *x = a, *const *y = b;

	return order_u64((*y)->sum.time_ns, (*x)->sum.time_ns) ?:
	       order_u64((*x)->number, (*y)->number);
}

static struct sched_thread **threads_sorted(const struct hash_table *t, size_t *ret_nr)
{
	void **all = hash_sorted(t, first_thread, ret_nr);

	for (size_t i = 0; i < *ret_nr; i++)
		all[i] = ((struct thread_sum *)all[i])->sum;
	return (struct sched_thread **)all;
}

static struct sched_preemptor **tasks_sorted(const struct hash_table *t, size_t *ret_nr)
{
	void **all = hash_sorted(t, longest_task, ret_nr);

	for (size_t i = 0; i < *ret_nr; i++)
		all[i] = &((struct task_sum *)all[i])->sum;
	return (struct sched_preemptor **)all;
}

int sched_fold_make(struct sched_fold *f)
{
	int err;

	f->threads = HASH_TABLE(struct thread_sum, 5, MODEL_THREADS_MAX);
	f->tasks = HASH_TABLE(struct task_sum, 4, TASK_SUMS_MAX);
	err = threads_fold(f) ?: tasks_fold(f);
	if (err)
		return err;
	f->thread = threads_sorted(&f->threads, &f->nr_threads);
	f->task = tasks_sorted(&f->tasks, &f->nr_tasks);
	return f->thread && f->task ? 0 : fold_failed();
}

void sched_fold_free(struct sched_fold *f)
{
	struct thread_sum *sum;

	for (uint32_t at = 0; (sum = hash_next(&f->threads, &at));)
		if (sum->sum->folded > 1) {
			quantiles_free(&sum->sum->waits);
			free(sum->sum);
		}
	hash_deinit(&f->threads);
	hash_deinit(&f->tasks);
	free(f->thread);
	free(f->task);
}
