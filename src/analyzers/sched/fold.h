/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Sums of threads of one process that have one name, kind and vCPU, and of tasks with one name, of one VM, that ran
 * instead of them: what `hostrace blame` counts as one, too. With by_tid each thread and each task is a sum of itself.
 */
#ifndef HOSTRACE_SCHED_FOLD_H
#define HOSTRACE_SCHED_FOLD_H

#include "analyzers/sched/sched.h"
#include "base/hash.h"
#include "event/vm_names.h"

struct sched_fold {
	const struct sched *sched;    /* after sched_end(); must outlive the sums */
	const struct vm_names *names; /* of tasks' VMs; NULL: unknown */
	bool by_tid;
	bool (*selects)(const void *arg, const struct sched_thread *t);
	const void *arg; /* of selects */

	/* By sched_fold_make(): threads in the order of their first events, tasks by time, the longest first. */
	struct sched_thread **thread; /* tid: SCHED_SEVERAL, where several are summed up */
	struct sched_preemptor **task;
	size_t nr_threads, nr_tasks;

	struct hash_table threads, tasks;
};

/* 0 or -ENOMEM with the error message set; to be freed in any case. */
int sched_fold_make(struct sched_fold *f);
void sched_fold_free(struct sched_fold *f);
#define _cleanup_sched_fold_ __attribute__((cleanup(sched_fold_free)))

#endif
