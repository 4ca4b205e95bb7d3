/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What threads of VMs did with their time, as tables: `hostrace sched`. */
#ifndef HOSTRACE_SCHED_REPORT_H
#define HOSTRACE_SCHED_REPORT_H

#include "analyzers/sched/sched.h"
#include "event/vm_names.h"
#include "output/table.h"

struct sched_report {
	const struct sched *sched;  /* after sched_end() */
	const struct vm_names *vms; /* borrowed; NULL: there is one VM */
	const struct vm_names *names; /* borrowed: of the tasks that ran instead */
	bool foreign;	   /* the trace is not ours */
	bool ran_recorded; /* sched_ran was recorded, whether it occurred or not */
	bool vms_only;	   /* only threads of VMs; those left out are counted */
	bool (*selects)(void *arg, const struct sched_thread *t); /* NULL: all */
	void *arg;
	bool by_tid; /* rows of threads and of tasks that ran instead: of each, not of all with one name */
};

/* What limits these figures: an array; new reference. */
json_t *sched_report_caveats(const struct sched_report *r);

/* "2 vCPUs in 3.00s: ran 48.1%, ready 51.9%": valid until the next call with this buf. */
const char *sched_report_first_line(const struct sched_report *r, char *buf, size_t size);

extern const struct table_def sched_threads_table, sched_tasks_table, sched_loops_table,
	sched_handlers_table;

/*
 * A row is a thread, or threads of one name; such and a task that ran instead; an event loop; an event loop and a
 * handler. 0 or -ENOMEM with the error message set.
 */
int sched_report_threads(const struct sched_report *r, struct table *t);
int sched_report_preemptors(const struct sched_report *r, struct table *t);
int sched_report_loops(const struct sched_report *r, struct table *t);
int sched_report_handlers(const struct sched_report *r, struct table *t);

#endif
