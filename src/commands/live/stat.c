// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * hostrace stat: the questions of `exits`, answered by histograms that are kept in the kernel: no
 * event is written, so that it can stay on. Without --interval there is one table at the end, with
 * it a line per interval. The VMs of --all are in stat_all.c, the lines in stat_lines.c.
 */
#include <errno.h>
#include <poll.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/error.h"
#include "collector/collector.h"
#include "collector/stat.h"
#include "commands/common/command.h"
#include "commands/common/output.h"
#include "commands/common/vm_options.h"
#include "commands/live/stat_all.h"
#include "commands/live/stat_lines.h"
#include "commands/live/watch.h"
#include "event/exit_reason.h"
#include "output/output.h"
#include "output/report.h"
#include "vm/select.h"

static struct {
	const char *vm, *by;
	bool all;
	struct time_arg interval;
	uint64_t interval_ns, duration_ns;
} opt;

/* clang-format off */
static const struct option_row options[] = {
	{0,   "vm",       OPT_TEXT,     &opt.vm,          "PID|NAME", "the VM to watch; optional if only one of root or of the caller is running"},
	{0,   "all",      OPT_FLAG,     &opt.all,         NULL,       "all VMs, also those that start later; one row per VM and exit reason"},
	{0,   "interval", OPT_TIME,     &opt.interval,    "T",        "print a line every T (1s, 500ms) with the exits since the last one"},
	{'d', "duration", OPT_SPAN,     &opt.duration_ns, "T",        "stop after this time (10s, 500ms, 2m)"},
	{0,   "by",       OPT_TEXT,     &opt.by,          "vcpu",     "one row per vCPU and exit reason; with --interval: one line per vCPU"},
	{0},
};
/* clang-format on */

struct watching {
	struct vm vm;		 /* unused with --all */
	struct stat_all *others; /* --all */
	struct stat *stat;	 /* of the VM, or of others */
	struct stat_naming naming;
	struct stat_rows before;
	struct stat_lines lines;
	struct output out;
	struct confine_paths *paths;
	int signals, pidfd;
	uint64_t start_ns, last_ns;
};

/* ---- a table ---- */

static json_t *stat_head(const struct report *r)
{
	return json_pack("{s:{s:s,s:s},s:[],s:{s:s,s:i},s:O}", "hostrace", "version",
			 HOSTRACE_VERSION, "command", command_now->name, "inputs", "clock",
			 "method", "host", "error_ns", 0, "caveats", r->caveats);
}

static json_t *caveats_make(const struct watching *w)
{
	bool explains = output_explains(&w->out);
	json_t *list = json_array();

	if (stat_span(w->stat) != STAT_EXIT_TO_ENTRY)
		caveat_add(list, "no kvm_exit on this KVM backend: these are userspace-exit "
				 "cycles, from the return of KVM_RUN to its next call in the same "
				 "thread; exits handled within KVM are not counted");
	else if (explains)
		caveat_add(list, "exit latency is the time from the kvm_exit tracepoint to the "
				 "next kvm_entry of the same vCPU; it includes halting, userspace "
				 "and preemption");
	if (explains)
		caveat_add(list, opt.interval_ns
					 ? "minimum, maximum, deviation and percentiles are "
					   "computed from buckets: within 0.4 %%"
					 : "deviation and percentiles (nearest-rank) are computed "
					   "from buckets: within 0.4 %%");
	if (w->others)
		stat_all_caveats(w->others, list);
	else
		caveat_count(list, "exits of hot-plugged vCPUs, which were not counted",
			     stat_missed(w->stat));
	return list;
}

static const char *exit_name(uint32_t reason)
{
	return exit_reason_name(reason, vm_host_isa());
}

/* What is counted now. Free with stat_rows_free(), also after an error. */
static int rows_read(struct watching *w, struct stat_rows *ret)
{
	const struct stat *s = w->stat;
	int err = 0;

	*ret = (struct stat_rows){0};
	if (w->others) {
		err = stat_all_rows(w->others, ret);
		w->naming.vm = stat_all_vms(w->others, &w->lines.nr_parts);
		return err;
	}
	for (unsigned int i = 0; i < stat_nr_vcpus(s) && !err; i++)
		err = stat_rows_add(ret, opt.by ? (int)i : STAT_ALL_PARTS,
				    stat_cells_of(stat_vcpu(s, i)), stat_nr_cells(s));
	return err;
}

static int table_draw(struct watching *w, const struct stat_rows *rows, uint64_t now)
{
	struct report report = {.out = &w->out,
				.wide = w->out.wide,
				.head = stat_head,
				.foot = caveats_print,
				.note = command_note,
				.caveats = caveats_make(w)};
	struct table t = {0};
	int err = stat_rows_table(rows, &w->naming, &t);

	report.extra = json_pack("{s:I,s:I,s:s}", "from_ns", (json_int_t)0, "until_ns",
				 (json_int_t)(now - w->start_ns), "where", stat_where(w->stat));
	if (!err)
		err = report_table(&report, &t, "total_ns");
	else
		table_free(&t);
	json_decref(report.caveats);
	json_decref(report.extra);
	return err;
}

/* Everything since the start. */
static int report_all(struct watching *w)
{
	struct stat_rows rows;
	int err = rows_read(w, &rows);

	if (!err)
		err = table_draw(w, &rows, monotonic_ns());
	stat_rows_free(&rows);
	return err;
}

static int interval_print(struct watching *w, const struct stat_rows *rows, uint64_t now)
{
	struct stat_interval interval = {.from_ns = w->last_ns - w->start_ns,
					 .until_ns = now - w->start_ns,
					 .missed = stat_missed(w->stat),
					 .rows = rows};
	int err = stat_lines_print(&w->lines, &interval);

	output_flush(&w->out);
	return err;
}

/* What came since the last time. */
static int report_interval(struct watching *w)
{
	struct stat_rows rows, all = {0};
	uint64_t now = monotonic_ns();
	int err = rows_read(w, &rows);

	if (!err)
		err = stat_rows_copy(&rows, &all);
	if (err) {
		stat_rows_free(&rows);
		return err;
	}
	stat_rows_subtract(&rows, &w->before);
	err = interval_print(w, &rows, now);
	stat_rows_free(&rows);
	stat_rows_free(&w->before);
	w->before = all;
	w->last_ns = now;
	return err;
}

static int report_now(struct watching *w)
{
	return opt.interval_ns ? report_interval(w) : report_all(w);
}

/* Text: after the last line. */
static void lines_foot(struct watching *w)
{
	json_t *caveats = caveats_make(w);

	if (opt.interval_ns && !strcmp(w->out.format, "text"))
		caveats_print(&(struct report){.out = &w->out, .caveats = caveats});
	json_decref(caveats);
}

/* ---- the loop ---- */

/* Sleeps until then; true: a signal came, or the VM ended. */
static bool ended_before(struct watching *w, uint64_t until)
{
	struct pollfd p[2] = {{.fd = w->signals, .events = POLLIN},
			      {.fd = w->pidfd, .events = POLLIN}};
	uint64_t now = monotonic_ns(), left = until > now ? until - now : 0;
	struct timespec ts = {.tv_sec = (time_t)(left / NS_PER_S),
			      .tv_nsec = (long)(left % NS_PER_S)};

	return ppoll(p, 2, until == UINT64_MAX ? NULL : &ts, NULL) > 0;
}

/* The same with --all, where it is looked meanwhile for VMs that start. Sets *ret_err, and is true, if that fails. */
static bool all_ended_before(struct watching *w, uint64_t until, int *ret_err)
{
	uint64_t now, next;

	do {
		now = monotonic_ns();
		next = until > now + STAT_ALL_LOOK_NS ? now + STAT_ALL_LOOK_NS : until;
		if (ended_before(w, next))
			return true;
		*ret_err = stat_all_look(w->others);
	} while (next < until && !*ret_err);
	return *ret_err;
}

static bool wait_until(struct watching *w, uint64_t until, int *ret_err)
{
	return w->others ? all_ended_before(w, until, ret_err) : ended_before(w, until);
}

static void begin_note(const struct watching *w)
{
	char label[VM_LABEL_TEXT];

	if (w->others)
		command_note("watching all VMs; stop with ^C");
	else
		command_note("watching %s; stop with ^C", vm_label(&w->vm, label, sizeof(label)));
}

static int stat_loop(struct watching *w)
{
	bool vmm_only = stat_span(w->stat) == STAT_USERSPACE_EXIT;
	uint64_t end, next;
	int err = 0;

	w->start_ns = w->last_ns = monotonic_ns();
	w->naming.name_of = vmm_only ? userspace_reason_name : exit_name;
	w->naming.by = w->others ? STAT_BY_VM : opt.by ? STAT_BY_VCPU : STAT_BY_REASON;
	w->lines = (struct stat_lines){.out = &w->out,
				       .naming = &w->naming,
				       .nr_parts = opt.by ? (int)stat_nr_vcpus(w->stat) : 0};
	end = opt.duration_ns ? w->start_ns + opt.duration_ns : UINT64_MAX;
	next = w->start_ns;
	begin_note(w);
	do {
		next = opt.interval_ns ? next + opt.interval_ns : UINT64_MAX;
		if (wait_until(w, next < end ? next : end, &err) || monotonic_ns() >= end)
			break;
		watch_writing_begin();
		err = report_now(w);
		watch_writing_end();
	} while (!err);
	stat_stop(w->stat);
	watch_writing_begin();
	if (!err)
		err = report_now(w);
	lines_foot(w);
	watch_writing_end();
	return err;
}

static int vm_choose(struct vm *ret)
{
	struct vm *vms = NULL;
	unsigned int nr = 0;
	int err;

	if (opt.vm)
		return vm_find_given(opt.vm, ret);
	err = vm_list_own_given(&vms, &nr);
	if (err)
		return err;
	if (nr == 1) {
		*ret = vms[0];
		free(vms);
		return 0;
	}
	vm_list_free(vms, nr);
	return nr ? fail(-EINVAL,
			 "%u VMs are running; select one with --vm PID|NAME ('hostrace ps' lists "
			 "them), or all with --all",
			 nr)
		  : fail(-ESRCH, "no running VM is visible to this user; try: sudo hostrace ps");
}

static int one_open(struct watching *w)
{
	int err = vm_choose(&w->vm);

	if (!err)
		err = stat_vm_check(&w->vm);
	if (err)
		return err;
	w->pidfd = vm_pidfd(&w->vm);
	return w->pidfd < 0 ? w->pidfd : stat_open(&w->vm, &w->stat);
}

static int all_open(struct watching *w)
{
	int err = stat_all_open(&w->others);

	w->stat = w->others ? stat_all_counters(w->others) : NULL;
	return err;
}

static void counters_close(struct watching *w)
{
	if (w->others)
		stat_all_close(w->others);
	else
		stat_close(w->stat);
}

static int stat_watch(struct watching *w)
{
	int err = privileges_check(); /* first: without them a VM does not even look like one */

	if (!err)
		err = opt.all ? all_open(w) : one_open(w);
	if (!err)
		err = watch_confine(&w->out, w->paths, opt.all);
	return err ? err : stat_loop(w);
}

static int options_check(void)
{
	if (opt.by && strcmp(opt.by, "vcpu"))
		return command_usage("invalid --by '%s' (expected vcpu)", opt.by);
	if (opt.all && (opt.vm || opt.by))
		return command_usage("--all and %s exclude each other", opt.vm ? "--vm" : "--by");
	if (opt.interval.text && opt.interval_ns < NS_PER_MS)
		return command_usage("invalid interval '%s' (at least 1ms)", opt.interval.text);
	if (opt.interval_ns && output_sort())
		return command_usage("--sort and --interval exclude each other: lines are in the "
				     "order of time");
	if (opt.interval_ns && output_is("csv") &&
	    options_unused_check("limit", "on the lines of --interval in csv"))
		return command_failed();
	return 0;
}

static int cmd_stat(int argc, char **argv)
{
	struct watching w = {.signals = -1, .pidfd = -1};
	int err;

	if (argc)
		return command_usage("unexpected argument '%s'; select a VM with --vm", argv[0]);
	opt.interval_ns = opt.interval.ns;
	err = options_check();
	if (err)
		return err;
	common.no_pager = true; /* it would wait for the end, too */
	if (output_open(table_formats, &w.out))
		return command_failed();
	w.paths = confine_paths_new();
	w.signals = watch_signals_open();
	err = stat_watch(&w);
	watch_writing_begin();
	if (err)
		output_cancel(&w.out);
	else
		err = output_close(&w.out);
	watch_writing_end();
	counters_close(&w);
	confine_paths_free(w.paths);
	stat_rows_free(&w.before);
	vm_free(&w.vm);
	if (w.pidfd >= 0)
		close(w.pidfd);
	if (w.signals >= 0)
		close(w.signals);
	return err ? command_failed() : EXIT_FINE;
}

extern const struct command stat_command;

const struct command stat_command = {
	.name = "stat",
	.args = "",
	.summary = "Show exit latencies of running VMs without a trace file.",
	.group = "Live (needs privileges)",
	.details = "Prints the table of 'exits' from histograms that are kept in the kernel: no "
		   "events\n"
		   "are written, memory use is constant, and the overhead is the lowest of all\n"
		   "commands. Runs until ^C, the end of the duration or the end of the VM.",
	.examples = "  hostrace stat --vm web1 -d 10s\n"
		    "  hostrace stat --vm 4711 --interval 1s\n"
		    "  hostrace stat --by vcpu -f json -d 1m\n"
		    "  hostrace stat --all --interval 5s",
	.options =
		(const struct option_row *const[]){options, vm_user_options, output_options, NULL},
	.run = cmd_stat,
};
