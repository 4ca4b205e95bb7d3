// SPDX-License-Identifier: GPL-2.0-or-later
#include "output/sched_report.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "analyzers/blame/blame.h"
#include "base/error.h"
#include "output/report.h"

enum { WHAT_BYTES = 64 };

static uint64_t share_of(uint64_t part, uint64_t whole)
{
	return whole ? (uint64_t)((unsigned __int128)part * 100000 / whole) : 0;
}

static bool selected(const struct sched_report *r, const struct sched_thread *t)
{
	return (!r->vms_only || sched_is_of_vm(r->sched, t)) &&
	       (!r->selects || r->selects(r->arg, t));
}

static int out_of_memory(void)
{
	return fail(-ENOMEM, "out of memory");
}

/* ---- notes ---- */

static void count_add(json_t *list, const char *what, uint64_t nr)
{
	if (nr)
		caveat_add(list, "%s: %" PRIu64, what, nr);
}

static void left_out_add(json_t *list, const struct sched_report *r)
{
	size_t nr, left_out = 0;
	_cleanup_free_ struct sched_thread **all = sched_threads(r->sched, &nr);

	for (size_t i = 0; all && r->vms_only && i < nr; i++)
		left_out += !sched_is_of_vm(r->sched, all[i]);
	if (left_out)
		caveat_add(list,
			   "threads of processes without a vCPU, or of unknown ones, left out: "
			   "%zu; try: --tid TID",
			   left_out);
}

json_t *sched_report_caveats(const struct sched_report *r)
{
	const struct sched_counts *n = sched_counts(r->sched);
	json_t *list = json_array();

	if (n->switches && !n->blocks)
		caveat_add(list, "no sched_block in this trace: what threads sleep in is unknown; "
				 "try: hostrace record --for sched");
	if (n->switches && !n->ran && !r->ran_recorded)
		caveat_add(list, "no sched_ran in this trace: of the tasks that ran while a thread "
				 "waited only the first and the last are known");
	count_add(list,
		  r->foreign ? "switches that are not in this trace, with the time before them "
			       "unknown (perf record -p does not record them all, perf record "
			       "-a does)"
			     : "switches that the kernel did not report, with the time before "
			       "them unknown",
		  n->missing);
	count_add(list, "losses after which a thread's time is unknown until its next event",
		  n->losses);
	count_add(list, "events ignored, as there are too many threads", n->refused);
	count_add(list,
		  "waits for a CPU, or parts of them, for which the task that ran is unknown, as "
		  "there are too many",
		  n->unnamed);
	left_out_add(list, r);
	return list;
}

const char *sched_report_first_line(const struct sched_report *r, char *buf, size_t size)
{
	size_t nr;
	_cleanup_free_ struct sched_thread **all = sched_threads(r->sched, &nr);
	uint64_t runs = 0, ready = 0, known = 0;
	unsigned int vcpus = 0;

	for (size_t i = 0; all && i < nr; i++) {
		if (sched_kind(all[i]) != SCHED_VCPU || !selected(r, all[i]))
			continue;
		vcpus++;
		runs += all[i]->time[SCHED_RUNS];
		ready += sched_ready_ns(all[i]);
		known += sched_known_ns(all[i]);
	}
	if (!vcpus)
		return NULL;
	snprintf(buf, size, "%u vCPU%s: running %.1f%%, ready without a CPU (steal) %.1f%%", vcpus,
		 vcpus == 1 ? "" : "s", (double)share_of(runs, known) / 1000,
		 (double)share_of(ready, known) / 1000);
	return buf;
}

/* ---- the keys of a thread ---- */

static void key_columns(const struct sched_report *r, struct table *t)
{
	if (r->vms)
		table_column(t, "vm", "VM", COL_TEXT, 0);
	table_column(t, "thread", "thread", COL_TEXT, 0);
	table_column(t, "tid", NULL, COL_COUNT, 0);
	table_column(t, "kind", NULL, COL_TEXT, 0);
	table_column(t, "vcpu", NULL, COL_COUNT, 0);
}

static struct cell *key_cells(const struct sched_report *r, const struct sched_thread *th,
			      struct table *t, struct cell *row)
{
	char text[VM_NAME_BYTES];

	if (r->vms)
		(row++)->text = table_text(t, vm_name(r->vms, th->pid, text, sizeof(text)));
	(row++)->text = table_text(t, th->comm);
	(row++)->number = th->tid;
	(row++)->text = sched_kind_names[sched_kind(th)];
	*row++ = (struct cell){th->vcpu, th->vcpu == RECORD_NO_VCPU ? "-" : NULL};
	return row;
}

static void wait_columns(struct table *t)
{
	table_column(t, "p50_ns", "p50", COL_NS, 1);
	table_column(t, "p99_ns", "p99", COL_NS, 2);
	table_column(t, "max_ns", "max", COL_NS, 0);
}

static struct cell *wait_cells(struct quantiles *q, struct cell *row)
{
	(row++)->number = quantiles_at(q, 0.5);
	(row++)->number = quantiles_at(q, 0.99);
	(row++)->number = q->max;
	return row;
}

/* ---- who ran instead ---- */

static const char *taker_print(const struct sched_taker *k, char *buf, size_t size)
{
	if (k->tid == UINT32_MAX)
		snprintf(buf, size, "unknown");
	else if (!k->tid)
		snprintf(buf, size, "idle");
	else
		snprintf(buf, size, "%s (%u)", *k->comm ? k->comm : "task", k->tid);
	return buf;
}

/* Of each thread, by its number, the task that ran longest instead. NULL: out of memory. */
static const struct sched_taker **longest_takers(const struct sched *s, size_t nr_threads)
{
	size_t nr;
	_cleanup_free_ const struct sched_taker **all = sched_takers(s, &nr);
	const struct sched_taker **longest = all ? calloc(nr_threads + 1, sizeof(*longest)) : NULL;

	for (size_t i = nr; longest && i-- > 0;)
		if (all[i]->thread->number < nr_threads)
			longest[all[i]->thread->number] = all[i];
	return longest;
}

int sched_report_takers(const struct sched_report *r, struct table *t)
{
	size_t nr;
	_cleanup_free_ const struct sched_taker **all = sched_takers(r->sched, &nr);
	char text[WHAT_BYTES];

	if (!all)
		return out_of_memory();
	key_columns(r, t);
	table_column(t, "task", "ran instead", COL_TEXT, 0);
	table_column(t, "task_tid", NULL, COL_COUNT, 0);
	table_column(t, "time_ns", "time", COL_NS, 0);
	table_column(t, "share", "of ready", COL_PERCENT, 0);
	for (size_t i = 0; i < nr; i++) {
		const struct sched_taker *k = all[i];
		struct cell *row = selected(r, k->thread) ? table_row(t) : NULL;

		if (!row && selected(r, k->thread))
			return -ENOMEM;
		if (!row)
			continue;
		row = key_cells(r, k->thread, t, row);
		(row++)->text = table_text(t, taker_print(k, text, sizeof(text)));
		*row++ = (struct cell){k->tid, k->tid == UINT32_MAX ? "-" : NULL};
		(row++)->number = k->time_ns;
		(row++)->number = share_of(k->time_ns, sched_ready_ns(k->thread));
	}
	return 0;
}

/* ---- threads ---- */

static const char *const use_keys[SCHED_USES] = {
	"run_ns",     "preempted_ns", "runqueue_ns", "poll_ns",	 "lock_ns",
	"syscall_ns", "halted_ns",    "fault_ns",    "sleep_ns", "unknown_ns",
};

static struct cell *use_cells(const uint64_t time[SCHED_USES], struct cell *row)
{
	for (unsigned int i = 0; i < SCHED_USES; i++)
		(row++)->number = time[i];
	return row;
}

static void thread_row(const struct sched_report *r, struct sched_thread *th,
		       const struct sched_taker *k, struct table *t, struct cell *row)
{
	uint64_t known = sched_known_ns(th), ready = sched_ready_ns(th);
	char text[WHAT_BYTES], what[WHAT_BYTES + 16] = "";

	if (k)
		snprintf(what, sizeof(what), "%s %.1f%%", taker_print(k, text, sizeof(text)),
			 (double)share_of(k->time_ns, ready) / 1000);
	row = key_cells(r, th, t, row);
	(row++)->number = share_of(th->time[SCHED_RUNS], known);
	(row++)->number = share_of(ready, known);
	(row++)->number = share_of(known - ready - th->time[SCHED_RUNS], known);
	(row++)->number = th->waits.count;
	row = wait_cells(&th->waits, row);
	(row++)->number = known;
	(row++)->number = ready;
	row = use_cells(th->time, row);
	row->text = table_text(t, what);
}

int sched_report_threads(const struct sched_report *r, struct table *t)
{
	size_t nr;
	_cleanup_free_ struct sched_thread **all = sched_threads(r->sched, &nr);
	_cleanup_free_ const struct sched_taker **takers =
		longest_takers(r->sched, all && nr ? all[nr - 1]->number + 1ul : 0);

	if (!all || !takers)
		return out_of_memory();
	key_columns(r, t);
	table_column(t, "run", "run", COL_PERCENT, 0);
	table_column(t, "ready", "ready", COL_PERCENT, 0);
	table_column(t, "asleep", "asleep", COL_PERCENT, 3);
	table_column(t, "waits", "waits", COL_COUNT, 0);
	wait_columns(t);
	table_column(t, "time_ns", NULL, COL_NS, 0);
	table_column(t, "ready_ns", NULL, COL_NS, 0);
	for (unsigned int i = 0; i < SCHED_USES; i++)
		table_column(t, use_keys[i], NULL, COL_NS, 0);
	table_column(t, "ran_instead", "ran instead", COL_TEXT, 0);
	for (size_t i = 0; i < nr; i++) {
		struct cell *row = selected(r, all[i]) ? table_row(t) : NULL;

		if (!row && selected(r, all[i]))
			return -ENOMEM;
		if (row)
			thread_row(r, all[i], takers[all[i]->number], t, row);
	}
	return 0;
}

/* ---- event loops ---- */

/* What the longest busy period went into: the largest part of it. */
static const char *busy_print(const struct sched_busy *b, char *buf, size_t size)
{
	static const char *const names[SCHED_USES] = {
		"running", "preempted", "runqueue", "poll",   "lock",
		"syscall", "halted",	"fault",    "asleep", "unknown",
	};
	enum sched_use best = SCHED_RUNS;
	char call[32];

	for (unsigned int i = 0; i < SCHED_USES; i++)
		if (b->time[i] > b->time[best])
			best = i;
	*buf = '\0';
	if (b->end_ns == b->start_ns)
		return buf;
	snprintf(buf, size, "%s %.1f%%",
		 best == SCHED_SYSCALL
			 ? blame_syscall_print((uint64_t)(int64_t)b->syscall, call, sizeof(call))
			 : names[best],
		 (double)share_of(b->time[best], b->end_ns - b->start_ns) / 1000);
	return buf;
}

static void loop_columns(struct table *t)
{
	table_column(t, "busy", "busy", COL_PERCENT, 0);
	table_column(t, "run", "run", COL_PERCENT, 2);
	table_column(t, "ready", "ready", COL_PERCENT, 2);
	table_column(t, "blocked", "blocked", COL_PERCENT, 2);
	table_column(t, "wakeups", "wakeups", COL_COUNT, 4);
	table_column(t, "wakeup_p50_ns", NULL, COL_NS, 0);
	table_column(t, "wakeup_p99_ns", "wake-p99", COL_NS, 0);
	table_column(t, "wakeup_max_ns", NULL, COL_NS, 0);
	table_column(t, "busy_p50_ns", NULL, COL_NS, 0);
	table_column(t, "busy_p99_ns", "busy-p99", COL_NS, 3);
	table_column(t, "busy_max_ns", "busy-max", COL_NS, 0);
	table_column(t, "time_ns", NULL, COL_NS, 0);
	for (unsigned int i = 0; i < SCHED_USES; i++)
		table_column(t, use_keys[i], NULL, COL_NS, 0);
	table_column(t, "longest_ns", NULL, COL_NS, 0);
	table_column(t, "longest", "longest", COL_TEXT, 0);
}

static struct cell *loop_cells(struct sched_thread *th, struct cell *row)
{
	uint64_t known = sched_known_ns(th) - th->time[SCHED_SLEEPS]; /* it may have polled */
	uint64_t busy = known - th->time[SCHED_POLLS], ready = sched_ready_ns(th);

	(row++)->number = share_of(busy, known);
	(row++)->number = share_of(th->time[SCHED_RUNS], known);
	(row++)->number = share_of(ready, known);
	(row++)->number = share_of(busy - ready - th->time[SCHED_RUNS], known);
	(row++)->number = th->wakeups.count;
	row = wait_cells(&th->wakeups, row);
	row = wait_cells(&th->busy, row);
	(row++)->number = known;
	return use_cells(th->time, row);
}

int sched_report_loops(const struct sched_report *r, struct table *t)
{
	size_t nr;
	_cleanup_free_ struct sched_thread **all = sched_threads(r->sched, &nr);
	char text[WHAT_BYTES];

	if (!all)
		return out_of_memory();
	key_columns(r, t);
	loop_columns(t);
	for (size_t i = 0; i < nr; i++) {
		bool is_loop = all[i]->polled && selected(r, all[i]);
		struct cell *row = is_loop ? table_row(t) : NULL;

		if (!row && is_loop)
			return -ENOMEM;
		if (!row)
			continue;
		row = key_cells(r, all[i], t, row);
		row = loop_cells(all[i], row);
		(row++)->number = all[i]->longest.start_ns;
		row->text = table_text(t, busy_print(&all[i]->longest, text, sizeof(text)));
	}
	return 0;
}

/* ---- what event loops call ---- */

int sched_report_handlers(const struct sched_report *r, struct table *t)
{
	size_t nr;
	_cleanup_free_ const struct sched_handler **all = sched_handlers(r->sched, &nr);

	if (!all)
		return out_of_memory();
	key_columns(r, t);
	table_column(t, "handler", "handler", COL_TEXT, 0);
	table_column(t, "samples", "samples", COL_COUNT, 0);
	table_column(t, "run_ns", "run", COL_NS, 0);
	table_column(t, "asleep_ns", "asleep", COL_NS, 0);
	table_column(t, "time_ns", "time", COL_NS, 1);
	table_column(t, "stack", "stack", COL_TEXT, 2);
	for (size_t i = 0; i < nr; i++) {
		bool wanted = selected(r, all[i]->thread);
		struct cell *row = wanted ? table_row(t) : NULL;

		if (wanted && !row)
			return -ENOMEM;
		if (!row)
			continue;
		row = key_cells(r, all[i]->thread, t, row);
		(row++)->text = table_text(t, all[i]->name);
		(row++)->number = all[i]->samples;
		(row++)->number = sched_handler_run_ns(all[i]);
		(row++)->number = all[i]->slept_ns;
		(row++)->number = sched_handler_ns(all[i]);
		row->text = table_text(t, all[i]->stack);
	}
	return 0;
}
