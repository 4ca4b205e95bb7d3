// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * `hostrace sched`: its tables (threads, tasks that ran instead, event loops, their handlers) and what limits the
 * figures. The states of threads and their times are those of analyzers/sched/sched.h.
 */
#include "output/sched_report.h"

#include <errno.h>

#include "analyzers/blame/blame.h"
#include "analyzers/sched/fold.h"
#include "base/error.h"
#include "output/report.h"

enum { WHAT_BYTES = BLAME_TASK_BYTES + 16 };

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
	caveat_count(list,
		  "sched_switch without prev_tid or next_tid, or sched_wakeup without wake_tid, in "
		  "this trace, which are not counted",
		  n->nameless);
	caveat_count(list,
		  "sched_switch without the CPU in this trace: which task ran while a thread "
		  "waited for a CPU is not recorded",
		  n->cpuless);
	caveat_count(list,
		  "sched_switch without prev_state in this trace: whether a thread waited for a "
		  "CPU or slept is unknown",
		  n->stateless);
	caveat_count(list,
		  r->foreign ? "sched_switch events missing from this trace; the preceding state "
			       "is unknown (perf record -p does not record them all, perf record "
			       "-a does)"
			     : "missing sched_switch events; the preceding state is unknown",
		  n->missing);
	caveat_count(list, "losses after which a thread's time is unknown until its next event",
		  n->losses);
	caveat_count(list, "events dropped: thread table full", n->refused);
	caveat_count(list,
		  "waits for a CPU, or parts of them, for which the task that ran is unknown, as "
		  "there are too many",
		  n->unnamed);
	caveat_count(list,
		  "waits for a CPU and busy periods that began before the time window, counted "
		  "whole",
		  n->cut);
	left_out_add(list, r);
	return list;
}

/* What its percentages are of. Off the CPU it did something, if the recording does not tell what, too. */
static uint64_t seen_ns(const struct sched_thread *t)
{
	return sched_known_ns(t) + (t->is_stateless ? t->time[SCHED_UNKNOWN] : 0);
}

const char *sched_report_first_line(const struct sched_report *r, char *buf, size_t size)
{
	size_t nr;
	_cleanup_free_ struct sched_thread **all = sched_threads(r->sched, &nr);
	uint64_t runs = 0, ready = 0, seen = 0;
	unsigned int vcpus = 0;
	bool stateless = false;
	char steal[16];

	for (size_t i = 0; all && i < nr; i++) {
		if (sched_kind(all[i]) != SCHED_VCPU || !selected(r, all[i]))
			continue;
		vcpus++;
		runs += all[i]->time[SCHED_RUNS];
		ready += sched_ready_ns(all[i]);
		seen += seen_ns(all[i]);
		stateless |= all[i]->is_stateless;
	}
	if (!vcpus)
		return NULL;
	snprintf(steal, sizeof(steal), "%.1f%%", (double)percent_of(ready, seen) / 1000);
	snprintf(buf, size, "%u vCPU%s: running %.1f%%, ready without a CPU (steal) %s", vcpus,
		 vcpus == 1 ? "" : "s", (double)percent_of(runs, seen) / 1000,
		 stateless ? "not recorded" : steal);
	return buf;
}

/* ---- columns that tables share ---- */

GET_TEXT(get_kind, const void *at, sched_kind_names[sched_kind(at)])

GET_NUMBER_IF(get_tid, const struct sched_thread *th, th->tid != SCHED_SEVERAL, th->tid)
GET_CELL(get_tid_text, const struct sched_thread *th,
	 th->tid != SCHED_SEVERAL ? (struct cell){th->tid, NULL}
				  : table_print(t, "%u threads", th->folded))

static struct cell get_role(struct table *t, const void *at)
{
	static const char *const roles[] = {
		[SCHED_VCPU] = "vCPU",
		[SCHED_MAIN_LOOP] = "main loop",
		[SCHED_LOOP] = "loop",
		[SCHED_WORKER] = "worker",
	};
	const struct sched_thread *th = at;
	enum sched_kind kind = sched_kind(th);

	if (kind == SCHED_VCPU && th->vcpu != RECORD_NO_VCPU)
		return table_print(t, "vCPU %u", th->vcpu);
	return (struct cell){0, roles[kind]};
}

static const struct column_def thread_keys[] = {
	COLUMN_VM(struct sched_thread, pid),
	{"thread", "thread", COL_TEXT, MEMBER(struct sched_thread, comm),
	 .doc = "name of the thread"},
	{"tid", NULL, COL_COUNT, .get = get_tid, .nullable = true,
	 .doc = "its thread id; null: several threads of that name"},
	{NULL, "tid", COL_COUNT, .get = get_tid_text, .doc = "thread id, or how many threads"},
	{NULL, "role", COL_TEXT, .get = get_role,
	 .doc = "vCPU and its index, main loop, loop (another event loop) or worker"},
	{"kind", NULL, COL_TEXT, .get = get_kind, .doc = "vcpu, main-loop, event-loop or worker"},
	{"vcpu", NULL, COL_COUNT, offsetof(struct sched_thread, vcpu), column_vcpu,
	 .nullable = true, .doc = "index of the vCPU; null: not a vCPU"},
	{0},
};

#define TIME(use) MEMBER(struct sched_thread, time[use])

/* Without prev_state, 0 is not known to be 0. */
#define OFF_CPU(use)                                                                               \
	GET_NUMBER_IF(get_##use, const struct sched_thread *th,                                    \
		      th->time[use] || !th->is_stateless, th->time[use])
OFF_CPU(SCHED_PREEMPTED)
OFF_CPU(SCHED_RUNQUEUE)
OFF_CPU(SCHED_POLLS)
OFF_CPU(SCHED_MUTEX)
OFF_CPU(SCHED_LOCK)
OFF_CPU(SCHED_SYSCALL)
OFF_CPU(SCHED_HALTED)
OFF_CPU(SCHED_FAULT)
OFF_CPU(SCHED_STOPPED)
OFF_CPU(SCHED_SLEEPS)
#undef OFF_CPU
#define OFF_CPU(use) .get = get_##use, .nullable = true

/* What time_ns is divided into; unknown_ns is not part of it. */
static const struct column_def thread_uses[] = {
	{"run_ns", NULL, COL_NS, TIME(SCHED_RUNS), .doc = "on a CPU"},
	{"preempted_ns", NULL, COL_NS, OFF_CPU(SCHED_PREEMPTED),
	 .doc = "ready: it was switched out; null: sched_switch has no prev_state"},
	{"runqueue_ns", NULL, COL_NS, OFF_CPU(SCHED_RUNQUEUE),
	 .doc = "ready: it was woken and not yet switched in"},
	{"poll_ns", NULL, COL_NS, OFF_CPU(SCHED_POLLS),
	 .doc = "asleep until a file descriptor is ready or a timer expires"},
	{"mutex_ns", NULL, COL_NS, OFF_CPU(SCHED_MUTEX),
	 .doc = "asleep on the futex of QEMU's global mutex"},
	{"lock_ns", NULL, COL_NS, OFF_CPU(SCHED_LOCK),
	 .doc = "asleep on another futex; an emulated vCPU also while its guest is halted"},
	{"syscall_ns", NULL, COL_NS, OFF_CPU(SCHED_SYSCALL),
	 .doc = "asleep in another system call"},
	{"halted_ns", NULL, COL_NS, OFF_CPU(SCHED_HALTED), .doc = "a vCPU asleep in KVM_RUN"},
	{"fault_ns", NULL, COL_NS, OFF_CPU(SCHED_FAULT),
	 .doc = "asleep outside system calls: a page fault"},
	{"stopped_ns", NULL, COL_NS, OFF_CPU(SCHED_STOPPED),
	 .doc = "stopped by a signal (SIGSTOP) or a tracer"},
	{"sleep_ns", NULL, COL_NS, OFF_CPU(SCHED_SLEEPS),
	 .doc = "asleep, in what is not known, or for hostrace, which read where memory is mapped"},
	{"unknown_ns", NULL, COL_NS, TIME(SCHED_UNKNOWN),
	 .doc = "events are missing; not part of time_ns"},
	{0},
};

/* ---- who ran instead ---- */

/* "gcc (4711)"; of another VM: "CPU 0/KVM (4712) of db". */
static const char *preemptor_print(const struct sched_preemptor *k, char *buf, size_t size)
{
	if (k->tid == UINT32_MAX || !k->tid)
		return k->tid ? "unknown" : "idle";
	return blame_task_print(k->comm, k->tid == SCHED_SEVERAL ? BLAME_SEVERAL : k->tid, k->vm,
				buf, size);
}

static bool fold_selects(const void *arg, const struct sched_thread *t)
{
	return selected(arg, t);
}

static struct sched_fold fold_of(const struct sched_report *r)
{
	return (struct sched_fold){.sched = r->sched,
				   .names = r->names,
				   .by_tid = r->by_tid,
				   .selects = fold_selects,
				   .arg = r};
}

static struct cell get_task(struct table *t, const void *at)
{
	char text[WHAT_BYTES];

	return (struct cell){0, table_text(t, preemptor_print(at, text, sizeof(text)))};
}

GET_NUMBER_IF(get_task_tid, const struct sched_preemptor *k, k->tid < SCHED_SEVERAL, k->tid)
GET_NUMBER(get_task_share, const struct sched_preemptor *k,
	   percent_of(k->time_ns, sched_ready_ns(k->thread)))

static const struct column_def task_columns[] = {
	{"task", "ran instead", COL_TEXT, .get = get_task,
	 .doc = "what ran on the CPU that the thread waited for; \"idle\": nothing"},
	{"task_tid", NULL, COL_COUNT, .get = get_task_tid, .nullable = true,
	 .doc = "its thread id; null: unknown, or several threads of that name"},
	{"time_ns", "time", COL_NS, MEMBER(struct sched_preemptor, time_ns),
	 .doc = "how long it ran while the thread waited"},
	{"share", "of ready", COL_PERCENT, .get = get_task_share,
	 .doc = "percent of the thread's time ready"},
	{0},
};

const struct table_def sched_tasks_table = {
	"sched", "--by task", "threads of one name and a task that ran while they waited",
	{thread_keys, task_columns}};

int sched_report_preemptors(const struct sched_report *r, struct table *t)
{
	_cleanup_sched_fold_ struct sched_fold f = fold_of(r);
	int err = sched_fold_make(&f);

	table_open(t, &sched_tasks_table, r, r->vms);
	for (size_t i = 0; !err && i < f.nr_tasks; i++)
		err = table_add(t, f.task[i]->thread, f.task[i]);
	return err;
}

/* ---- threads ---- */

GET_NUMBER_IF(get_run, const struct sched_thread *th, seen_ns(th),
	      percent_of(th->time[SCHED_RUNS], seen_ns(th)))
GET_NUMBER_IF(get_ready, const struct sched_thread *th, sched_known_ns(th) && !th->is_stateless,
	      percent_of(sched_ready_ns(th), sched_known_ns(th)))
GET_NUMBER_IF(get_asleep, const struct sched_thread *th, sched_known_ns(th) && !th->is_stateless,
	      percent_of(sched_known_ns(th) - sched_ready_ns(th) - th->time[SCHED_RUNS],
			 sched_known_ns(th)))
GET_NUMBER(get_known_ns, const void *at, sched_known_ns(at))
GET_NUMBER_IF(get_waits, const struct sched_thread *th, th->waits.count || !th->is_stateless,
	      th->waits.count)
GET_NUMBER_IF(get_ready_ns, const struct sched_thread *th, !th->is_stateless, sched_ready_ns(th))

static struct cell get_ran_instead(struct table *t, const void *at)
{
	const struct sched_preemptor *k = at;
	char text[WHAT_BYTES];

	if (!k->thread)
		return (struct cell){0, ""};
	return table_print(t, "%s %.1f%%", preemptor_print(k, text, sizeof(text)),
			   (double)percent_of(k->time_ns, sched_ready_ns(k->thread)) / 1000);
}

static const struct column_def thread_columns[] = {
	{"threads", NULL, COL_COUNT, MEMBER(struct sched_thread, folded),
	 .doc = "how many threads have that name; 1 with --by tid"},
	{"run", "run", COL_PERCENT, .get = get_run, .nullable = true,
	 .doc = "percent of its time on a CPU"},
	{"ready", "ready", COL_PERCENT, .get = get_ready, .nullable = true,
	 .doc = "percent of its time ready without a CPU: of a vCPU, what the guest sees as steal"},
	{"asleep", "asleep", COL_PERCENT, .get = get_asleep, .spare = 5, .nullable = true,
	 .doc = "percent of its time asleep"},
	{"waits", "waits", COL_COUNT, .get = get_waits, .spare = 2, .nullable = true,
	 .doc = "how often it waited for a CPU"},
	{"p50_ns", "p50", COL_NS, QUANTILE(p50, struct sched_thread, waits), 4, true,
	 .doc = "median of these waits"},
	{"p99_ns", "p99", COL_NS, QUANTILE(p99, struct sched_thread, waits), 3, true,
	 .doc = "their 99th percentile"},
	{"max_ns", "max", COL_NS, QUANTILE(max, struct sched_thread, waits), 1, true,
	 .doc = "the longest; null, as the others: it waited for none"},
	{"time_ns", NULL, COL_NS, .get = get_known_ns, .doc = "for which the thread was seen"},
	{"ready_ns", NULL, COL_NS, .get = get_ready_ns, .nullable = true,
	 .doc = "ready without a CPU; null: sched_switch has no prev_state"},
	{0},
};

static const struct column_def thread_preemptor[] = {
	{"ran_instead", "ran instead", COL_TEXT, .get = get_ran_instead,
	 .doc = "the task that ran longest while it was ready, with its share of that time"},
	{0},
};

const struct table_def sched_threads_table = {
	"sched", "", "threads of one name; --by tid: a thread",
	{thread_keys, thread_columns, thread_uses, thread_preemptor}};

/* Of each sum of threads, by its number, the task that ran longest instead. NULL: out of memory. */
static const struct sched_preemptor **longest_preemptors(const struct sched_fold *f)
{
	size_t nr = f->nr_threads ? f->thread[f->nr_threads - 1]->number + 1ul : 1;
	const struct sched_preemptor **longest = calloc(nr, sizeof(*longest));

	for (size_t i = f->nr_tasks; longest && i-- > 0;)
		longest[f->task[i]->thread->number] = f->task[i];
	return longest;
}

int sched_report_threads(const struct sched_report *r, struct table *t)
{
	static const struct sched_preemptor nobody;
	_cleanup_sched_fold_ struct sched_fold f = fold_of(r);
	int err = sched_fold_make(&f);
	_cleanup_free_ const struct sched_preemptor **longest = err ? NULL : longest_preemptors(&f);

	if (!err && !longest)
		err = out_of_memory();
	table_open(t, &sched_threads_table, r, r->vms);
	for (size_t i = 0; !err && i < f.nr_threads; i++)
		err = table_add(t, f.thread[i], f.thread[i], f.thread[i],
				longest[f.thread[i]->number] ?: &nobody);
	return err;
}

/* ---- event loops ---- */

/* Of its time without sleeps in what is not known, in which it may have polled, and in which it was stopped. */
static uint64_t loop_ns(const struct sched_thread *th)
{
	return sched_known_ns(th) - th->time[SCHED_SLEEPS] - th->time[SCHED_STOPPED];
}

static uint64_t busy_ns(const struct sched_thread *th)
{
	return loop_ns(th) - th->time[SCHED_POLLS];
}

/* Without prev_state it is not known when it polled. */
static bool has_loop(const struct sched_thread *th)
{
	return loop_ns(th) && !th->is_stateless;
}

GET_NUMBER_IF(get_busy, const void *at, has_loop(at), percent_of(busy_ns(at), loop_ns(at)))
GET_NUMBER_IF(get_loop_run, const struct sched_thread *th, has_loop(th),
	      percent_of(th->time[SCHED_RUNS], loop_ns(th)))
GET_NUMBER_IF(get_loop_ready, const void *at, has_loop(at),
	      percent_of(sched_ready_ns(at), loop_ns(at)))
GET_NUMBER_IF(get_blocked, const struct sched_thread *th, has_loop(th),
	      percent_of(busy_ns(th) - sched_ready_ns(th) - th->time[SCHED_RUNS], loop_ns(th)))
GET_NUMBER(get_loop_ns, const void *at, loop_ns(at))

/* What the longest busy period went into: the largest part of it. */
static struct cell get_longest(struct table *t, const void *at)
{
	static const char *const names[SCHED_USES] = {
		"running", "preempted", "runqueue", "poll",    "mutex",  "lock",
		"syscall", "halted",	"fault",    "stopped", "asleep", "unknown",
	};
	const struct sched_busy *b = at;
	enum sched_use best = SCHED_RUNS;
	char call[32];

	for (unsigned int i = 0; i < SCHED_USES; i++)
		if (b->time[i] > b->time[best])
			best = i;
	if (b->end_ns == b->start_ns)
		return (struct cell){0, ""};
	return table_print(
		t, "%s %.1f%%",
		best == SCHED_SYSCALL
			? blame_syscall_print((uint64_t)(int64_t)b->syscall, call, sizeof(call))
			: names[best],
		(double)percent_of(b->time[best], b->end_ns - b->start_ns) / 1000);
}

static const struct column_def loop_shares[] = {
	{"busy", "busy", COL_PERCENT, .get = get_busy, .nullable = true,
	 .doc = "percent of its time from a wake-up until it polls again"},
	{"run", "run", COL_PERCENT, .get = get_loop_run, .spare = 2, .nullable = true,
	 .doc = "percent on a CPU"},
	{"ready", "ready", COL_PERCENT, .get = get_loop_ready, .spare = 2, .nullable = true,
	 .doc = "percent ready without a CPU"},
	{"blocked", "blocked", COL_PERCENT, .get = get_blocked, .spare = 1, .nullable = true,
	 .doc = "percent in which a handler slept"},
	{0},
};

static const struct column_def loop_columns[] = {
	{"wakeups", "wakeups", COL_COUNT, QUANTILE(count, struct sched_loop, wakeups), .spare = 4,
	 .doc = "wake-ups out of polling"},
	{"wakeup_p50_ns", NULL, COL_NS, QUANTILE(p50, struct sched_loop, wakeups), 0, true,
	 .doc = "from a wake-up to the CPU: median"},
	{"wakeup_p99_ns", "wake-p99", COL_NS, QUANTILE(p99, struct sched_loop, wakeups), 0, true,
	 .doc = "99th percentile"},
	{"wakeup_max_ns", NULL, COL_NS, QUANTILE(max, struct sched_loop, wakeups), 0, true,
	 .doc = "the longest"},
	{"busy_p50_ns", NULL, COL_NS, QUANTILE(p50, struct sched_loop, busy), 0, true,
	 .doc = "busy periods: median"},
	{"busy_p99_ns", "busy-p99", COL_NS, QUANTILE(p99, struct sched_loop, busy), 3, true,
	 .doc = "99th percentile"},
	{"busy_max_ns", "busy-max", COL_NS, QUANTILE(max, struct sched_loop, busy), 0, true,
	 .doc = "the longest"},
	{0},
};

static const struct column_def loop_time[] = {
	{"time_ns", NULL, COL_NS, .get = get_loop_ns, .doc = "for which the thread was seen"},
	{0},
};

static const struct column_def loop_longest[] = {
	{"longest_ns", NULL, COL_NS, MEMBER(struct sched_loop, longest.start_ns),
	 .doc = "begin of the longest busy period"},
	{"longest", "longest", COL_TEXT, offsetof(struct sched_loop, longest), get_longest,
	 .doc = "the largest part of it: a system call, lock, running, preempted, runqueue, ..."},
	{0},
};

const struct table_def sched_loops_table = {
	"sched", "--loops", "an event loop",
	{thread_keys, loop_shares, loop_columns, loop_time, thread_uses, loop_longest}};

int sched_report_loops(const struct sched_report *r, struct table *t)
{
	size_t nr;
	_cleanup_free_ struct sched_thread **all = sched_threads(r->sched, &nr);
	int err = all ? 0 : out_of_memory();

	table_open(t, &sched_loops_table, r, r->vms);
	for (size_t i = 0; !err && i < nr; i++)
		if (all[i]->loop && selected(r, all[i]))
			err = table_add(t, all[i], all[i], all[i]->loop, all[i], all[i],
					all[i]->loop);
	return err;
}

/* ---- what event loops call ---- */

GET_NUMBER(get_handler_run_ns, const void *at, sched_handler_run_ns(at))
GET_NUMBER(get_handler_ns, const void *at, sched_handler_ns(at))

static const struct column_def handler_columns[] = {
	{"handler", "handler", COL_TEXT, MEMBER(struct sched_handler, name),
	 .doc = "the function and what it calls, innermost first, as far as names are known"},
	{"samples", "samples", COL_COUNT, MEMBER(struct sched_handler, samples),
	 .doc = "of its call stack while it ran"},
	{"run_ns", "run", COL_NS, .get = get_handler_run_ns,
	 .doc = "time on a CPU that the samples stand for"},
	{"asleep_ns", "asleep", COL_NS, MEMBER(struct sched_handler, slept_ns),
	 .doc = "asleep in it"},
	{"time_ns", "time", COL_NS, .get = get_handler_ns, .spare = 1, .doc = "both together"},
	{"stack", "stack", COL_TEXT, MEMBER(struct sched_handler, stack), .spare = 2,
	 .doc = "the first call stack seen, innermost function first"},
	{0},
};

const struct table_def sched_handlers_table = {
	"sched", "--by handler", "an event loop and a function that it called",
	{thread_keys, handler_columns}};

int sched_report_handlers(const struct sched_report *r, struct table *t)
{
	size_t nr;
	_cleanup_free_ const struct sched_handler **all = sched_handlers(r->sched, &nr);
	int err = all ? 0 : out_of_memory();

	table_open(t, &sched_handlers_table, r, r->vms);
	for (size_t i = 0; !err && i < nr; i++)
		if (selected(r, all[i]->thread))
			err = table_add(t, all[i]->thread, all[i]);
	return err;
}
