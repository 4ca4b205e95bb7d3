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
	struct sched_thread sum;
};

struct task_sum {
	uint64_t key[5];
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
	if (sum->tid != t->tid)
		sum->tid = SCHED_SEVERAL;
	return quantiles_merge(&sum->waits, &t->waits) ? fold_failed() : 0;
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
		sum->sum = *t;
		sum->sum.waits = (struct quantiles){0};
		memset(sum->sum.time, 0, sizeof(sum->sum.time));
	}
	return thread_add(&sum->sum, t);
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
		     const struct sched_thread *thread, const char *vm, uint64_t key[5])
{
	bool is_task = p->tid && p->tid != UINT32_MAX;

	memset(key, 0, 5 * sizeof(*key));
	key[0] = thread->number;
	if (is_task)
		comm_key(p->comm, &key[1]);
	key[3] = (uintptr_t)vm;
	key[4] = !is_task || f->by_tid ? p->tid : 1; /* init's, which 0 and UINT32_MAX are not */
}

/* Into the sum of its thread, if that is selected. */
static int task_fold(struct sched_fold *f, const struct sched_preemptor *p)
{
	const char *vm = vm_of_other(f->names, p->tid, p->thread->pid);
	struct thread_sum *of;
	struct task_sum *sum;
	uint64_t key[5];
	bool first;

	thread_key(f, p->thread, key);
	of = f->threads.nr ? hash_find_words(&f->threads, key) : NULL;
	if (!of || !f->selects(f->arg, p->thread))
		return 0;
	task_key(f, p, &of->sum, vm, key);
	sum = hash_add_words(&f->tasks, key, &first);
	if (!sum)
		return fold_failed();
	if (first) {
		sum->number = f->tasks.nr;
		sum->sum = *p;
		sum->sum.time_ns = 0;
		sum->sum.thread = &of->sum;
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

	return order_u64((*x)->sum.number, (*y)->sum.number);
}

static int longest_task(const void *a, const void *b)
{
	const struct task_sum *const *x = a, *const *y = b;

	return order_u64((*y)->sum.time_ns, (*x)->sum.time_ns) ?:
	       order_u64((*x)->number, (*y)->number);
}

/* The sums, without their keys. */
static void *sums_sorted(const struct hash_table *t, int (*order)(const void *, const void *),
			 size_t offset, size_t *ret_nr)
{
	char **all = hash_sorted(t, order, ret_nr);

	for (size_t i = 0; i < *ret_nr; i++)
		all[i] += offset;
	return all;
}

int sched_fold_make(struct sched_fold *f)
{
	int err;

	f->threads = HASH_TABLE(struct thread_sum, 5, MODEL_THREADS_MAX);
	f->tasks = HASH_TABLE(struct task_sum, 5, TASK_SUMS_MAX);
	err = threads_fold(f) ?: tasks_fold(f);
	if (err)
		return err;
	f->thread = sums_sorted(&f->threads, first_thread, offsetof(struct thread_sum, sum),
				&f->nr_threads);
	f->task = sums_sorted(&f->tasks, longest_task, offsetof(struct task_sum, sum),
			      &f->nr_tasks);
	return f->thread && f->task ? 0 : fold_failed();
}

void sched_fold_free(struct sched_fold *f)
{
	struct thread_sum *sum;

	for (uint32_t at = 0; (sum = hash_next(&f->threads, &at));)
		quantiles_free(&sum->sum.waits);
	hash_deinit(&f->threads);
	hash_deinit(&f->tasks);
	free(f->thread);
	free(f->task);
}
