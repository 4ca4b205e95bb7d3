// SPDX-License-Identifier: GPL-2.0-or-later
/* `hostrace stat --interval`: a line per interval (and vCPU), as vmstat prints them. */
#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <sys/ioctl.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/json_text.h"
#include "base/units.h"
#include "collector/collector.h"
#include "collector/stat.h"
#include "commands/common/command.h"
#include "commands/common/output.h"
#include "commands/common/vm_options.h"
#include "commands/live/watch.h"
#include "event/exit_reason.h"
#include "output/output.h"
#include "output/report.h"
#include "views/stat_rows.h"
#include "vm/select.h"

struct stat_lines {
	const struct output *out;
	const char *(*name_of)(uint32_t reason);
	int nr_vcpus;	  /* lines per interval; 0: one for all vCPUs */
	uint64_t printed; /* lines so far */
};

struct stat_interval {
	uint64_t from_ns, until_ns;   /* since the start */
	uint64_t missed;	      /* exits of hot-plugged vCPUs, since the start */
	const struct stat_rows *rows; /* of this interval; ordered by time here */
};

/* ---- text ---- */

/* A line per interval and a heading fill the screen. 0: not a terminal. */
static uint64_t lines_per_screen(const struct output *out)
{
	struct winsize size;
	int fd = fileno(out->wrapped ? out->wrapped : out->file);

	if (!isatty(fd) || ioctl(fd, TIOCGWINSZ, &size) || size.ws_row < 4)
		return 0;
	return size.ws_row - 2u;
}

static void put_heading(struct stat_lines *l)
{
	uint64_t screen = lines_per_screen(l->out);

	if (l->printed && (!screen || l->printed % screen))
		return;
	fprintf(l->out->file, "%8s %s%8s %8s %7s %7s %7s %7s  %s\n", "time_s",
		l->nr_vcpus ? "vcpu " : "", "exits", "user", "total", "p50", "p99", "max",
		"reasons");
}

static void figure_put(FILE *f, uint64_t ns)
{
	char buf[16];

	fprintf(f, " %7s", ns ? duration_print(ns, buf, sizeof(buf)) : "0");
}

static int by_time(const void *a, const void *b)
{
	const struct stat_row *x = a, *y = b;

	if (x->sum.total_ns != y->sum.total_ns)
		return x->sum.total_ns < y->sum.total_ns ? 1 : -1;
	if (x->sum.reason != y->sum.reason)
		return x->sum.reason < y->sum.reason ? -1 : 1;
	return x->vcpu != y->vcpu ? (x->vcpu < y->vcpu ? -1 : 1) : (int)x->other - (int)y->other;
}

/* Those that took most of the time, as many as fit: "HLT 93% IO 5%". */
static void put_reasons(const struct stat_lines *l, const struct stat_interval *in, int vcpu,
			uint64_t total_ns)
{
	int left = l->out->width - (l->nr_vcpus ? 63 : 58);
	const char *gap = "  ";
	char name[16], text[64];

	for (unsigned int i = 0; i < in->rows->nr && total_ns; i++) {
		const struct stat_row *r = &in->rows->row[i];
		int len;

		if (!r->sum.count || (vcpu != STAT_ALL_VCPUS && r->vcpu != vcpu))
			continue;
		len = snprintf(text, sizeof(text), "%s%s %.0f%%", gap,
			       stat_reason_print(r, l->name_of, name, sizeof(name)),
			       (double)r->sum.total_ns * 100 / (double)total_ns);
		left -= len;
		if (left < 0 && !l->out->wide)
			return;
		fputs(text, l->out->file);
		gap = " ";
	}
}

static void put_text(struct stat_lines *l, const struct stat_interval *in, int vcpu,
		     const struct durations *d)
{
	FILE *f = l->out->file;

	put_heading(l);
	fprintf(f, "%8.3f", (double)in->until_ns / 1e9);
	if (vcpu != STAT_ALL_VCPUS)
		fprintf(f, " %4d", vcpu);
	fprintf(f, " %8" PRIu64 " %8" PRIu64, d->count, d->userspace);
	figure_put(f, d->total_ns);
	figure_put(f, d->p50_ns);
	figure_put(f, d->p99_ns);
	figure_put(f, d->max_ns);
	put_reasons(l, in, vcpu, d->total_ns);
	fputc('\n', f);
}

/* ---- CSV ---- */

static bool is_of_vcpu(const struct table *t)
{
	return *(const int *)t->report != STAT_ALL_VCPUS;
}

GET_NUMBER(get_vcpu, const int *vcpu, *vcpu)

static const struct column_def interval_columns[] = {
	{"from_ns", "from", COL_NS, MEMBER(struct stat_interval, from_ns),
	 .doc = "begin of the interval, since the start"},
	{"until_ns", "until", COL_NS, MEMBER(struct stat_interval, until_ns), .doc = "its end"},
	{0},
};

static const struct column_def interval_vcpu[] = {
	{"vcpu", "vcpu", COL_COUNT, .get = get_vcpu, .when = is_of_vcpu,
	 .doc = "index of the vCPU (--by vcpu)"},
	{0},
};

static const struct table_def interval_table = {
	"stat",
	"--interval T",
	"an interval",
	{interval_columns, interval_vcpu, durations_columns, durations_userspace}};

static int put_csv_line(const struct stat_lines *l, const struct stat_interval *in, int vcpu,
			struct durations *d)
{
	struct report report = {.out = l->out, .continues = l->printed};
	struct table t = {0};
	int err;

	d->all_ns = d->total_ns;
	table_open(&t, &interval_table, &vcpu, NULL);
	err = table_add(&t, in, &vcpu, d, d);
	return report_table_made(&report, err, &t);
}

/* ---- JSON ---- */

static json_t *reasons_json(const struct stat_lines *l, const struct stat_interval *in, int vcpu)
{
	json_t *list = json_array();

	for (unsigned int i = 0; i < in->rows->nr; i++) {
		const struct stat_row *r = &in->rows->row[i];
		struct durations d;
		char buf[16];
		json_t *row;

		if (!r->sum.count || (vcpu != STAT_ALL_VCPUS && r->vcpu != vcpu))
			continue;
		if (l->out->limit && json_array_size(list) == l->out->limit)
			break;
		stat_durations(&r->sum, &d);
		row = json_pack("{s:o}", "reason",
				json_text(stat_reason_print(r, l->name_of, buf, sizeof(buf))));
		json_object_update_new(row, durations_json(&d));
		json_array_append_new(list, row);
	}
	return list;
}

static int put_json_line(const struct stat_lines *l, const struct stat_interval *in, int vcpu,
			 const struct durations *d)
{
	json_t *line = json_pack("{s:I,s:I}", "from_ns", (json_int_t)in->from_ns, "until_ns",
				 (json_int_t)in->until_ns);
	int err;

	if (vcpu != STAT_ALL_VCPUS)
		json_object_set_new(line, "vcpu", json_integer(vcpu));
	json_object_update_new(line, durations_json(d));
	json_object_set_new(line, "missed", json_integer((json_int_t)in->missed));
	json_object_set_new(line, "rows", reasons_json(l, in, vcpu));
	err = line ? json_text_put(line, l->out->file, JSON_COMPACT) : -1;
	fputc('\n', l->out->file);
	json_decref(line);
	return err ? fail(-ENOMEM, "out of memory") : 0;
}

/* ---- a line ---- */

static int put_line(struct stat_lines *l, const struct stat_interval *in, int vcpu,
		    struct stat_cell *sum)
{
	struct durations d;
	int err = 0;

	stat_rows_sum(in->rows, vcpu, sum);
	stat_durations(sum, &d);
	if (!strcmp(l->out->format, "json"))
		err = put_json_line(l, in, vcpu, &d);
	else if (!strcmp(l->out->format, "csv"))
		err = put_csv_line(l, in, vcpu, &d);
	else
		put_text(l, in, vcpu, &d);
	l->printed++;
	return err;
}

/*
 * Text: the heading comes first, and again on each screen of a terminal. CSV: the heading comes first. JSON: an object
 * per line, with the exits by reason in "rows". An interval without exits is a line of zeros. 0 or -errno with the
 * error message set.
 */
static int stat_lines_print(struct stat_lines *l, const struct stat_interval *in)
{
	struct stat_cell *sum = malloc(sizeof(*sum)); /* 34 KB */
	int err = 0;

	if (!sum)
		return fail(-ENOMEM, "out of memory");
	if (in->rows->nr)
		qsort(in->rows->row, in->rows->nr, sizeof(*in->rows->row), by_time);
	if (!l->nr_vcpus)
		err = put_line(l, in, STAT_ALL_VCPUS, sum);
	for (int i = 0; i < l->nr_vcpus && !err; i++)
		err = put_line(l, in, i, sum);
	free(sum);
	return err;
}

/*
 * hostrace stat: the questions of `exits`, answered by histograms that are kept in the kernel: no
 * event is written, so that it can stay on. Without --interval there is one table at the end, with
 * it a line per interval.
 */

static struct {
	const char *vm, *by;
	struct time_arg interval;
	uint64_t interval_ns, duration_ns;
} opt;

/* clang-format off */
static const struct option_row options[] = {
	{0,   "vm",       OPT_TEXT,     &opt.vm,          "PID|NAME", "the VM to watch; optional if only one of root or of the caller is running"},
	{0,   "interval", OPT_TIME,     &opt.interval,    "T",        "print a line every T (1s, 500ms) with the exits since the last one"},
	{'d', "duration", OPT_DURATION, &opt.duration_ns, "T",        "stop after this time (10s, 500ms, 2m)"},
	{0,   "by",       OPT_TEXT,     &opt.by,          "vcpu",     "one row per vCPU and exit reason; with --interval: one line per vCPU"},
	{0},
};
/* clang-format on */

struct watching {
	struct vm vm;
	struct stat *stat;
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
	caveat_count(list, "exits of hot-plugged vCPUs, which were not counted",
		     stat_missed(w->stat));
	return list;
}

static const char *exit_name(uint32_t reason)
{
	return exit_reason_name(reason, vm_host_isa());
}

/* What is counted now. Free with stat_rows_free(), also after an error. */
static int rows_read(const struct stat *s, bool by_vcpu, struct stat_rows *ret)
{
	int err = 0;

	*ret = (struct stat_rows){0};
	for (unsigned int i = 0; i < stat_nr_vcpus(s) && !err; i++)
		err = stat_rows_add(ret, by_vcpu ? (int)i : STAT_ALL_VCPUS,
				    stat_cells_of(stat_vcpu(s, i)), stat_nr_cells(s));
	return err;
}

static const char *(*name_of(const struct watching *w))(uint32_t)
{
	return stat_span(w->stat) == STAT_USERSPACE_EXIT ? userspace_reason_name : exit_name;
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
	int err = stat_rows_table(rows, name_of(w), opt.by, &t);

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
	int err = rows_read(w->stat, opt.by, &rows);

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
	int err = rows_read(w->stat, opt.by, &rows);

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

static int stat_loop(struct watching *w)
{
	char label[VM_LABEL_TEXT];
	uint64_t end, next;
	int err = 0;

	w->start_ns = w->last_ns = monotonic_ns();
	w->lines = (struct stat_lines){.out = &w->out,
				       .name_of = name_of(w),
				       .nr_vcpus = opt.by ? (int)stat_nr_vcpus(w->stat) : 0};
	end = opt.duration_ns ? w->start_ns + opt.duration_ns : UINT64_MAX;
	next = w->start_ns;
	command_note("watching %s; stop with ^C", vm_label(&w->vm, label, sizeof(label)));
	do {
		next = opt.interval_ns ? next + opt.interval_ns : UINT64_MAX;
		if (ended_before(w, next < end ? next : end) || monotonic_ns() >= end)
			break;
		err = report_now(w);
	} while (!err);
	stat_stop(w->stat);
	if (!err)
		err = report_now(w);
	lines_foot(w);
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
			 "them), or watch all with 'hostrace top'",
			 nr)
		  : fail(-ESRCH, "no running VM is visible to this user; try: sudo hostrace ps");
}

static int stat_watch(struct watching *w)
{
	int err = privileges_check(); /* first: without them a VM does not even look like one */

	if (!err)
		err = vm_choose(&w->vm);
	if (!err)
		err = stat_vm_check(&w->vm);
	if (err)
		return err;
	w->pidfd = vm_pidfd(&w->vm);
	if (w->pidfd < 0)
		return w->pidfd;
	err = stat_open(&w->vm, &w->stat);
	if (!err)
		err = watch_confine(&w->out, w->paths);
	return err ? err : stat_loop(w);
}

static int cmd_stat(int argc, char **argv)
{
	struct watching w = {.signals = -1, .pidfd = -1};
	int err;

	if (argc || command_rest)
		return command_usage("unexpected argument '%s'; select a VM with --vm",
				     argc ? argv[0] : "--");
	if (opt.by && strcmp(opt.by, "vcpu"))
		return command_usage("invalid --by '%s' (expected vcpu)", opt.by);
	opt.interval_ns = opt.interval.ns;
	if (opt.interval.text && opt.interval_ns < NS_PER_MS)
		return command_usage("invalid interval '%s' (at least 1ms)", opt.interval.text);
	if (opt.interval_ns && output_sort())
		return command_usage("--sort and --interval exclude each other: lines are in the "
				     "order of time");
	if (opt.interval_ns && output_is("csv") &&
	    options_unused_check("limit", "on the lines of --interval in csv"))
		return command_failed();
	common.no_pager = true; /* it would wait for the end, too */
	if (output_open(table_formats, &w.out))
		return command_failed();
	w.paths = confine_paths_new();
	w.signals = watch_signals_open();
	err = stat_watch(&w);
	if (err)
		output_cancel(&w.out);
	else
		err = output_close(&w.out);
	stat_close(w.stat);
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
	.summary = "Show exit latencies of a running VM without a trace file.",
	.group = "Live (needs privileges)",
	.details = "Prints the table of 'exits' from histograms that are kept in the kernel: no "
		   "events\n"
		   "are written, memory use is constant, and the overhead is the lowest of all\n"
		   "commands. Runs until ^C, the end of the duration or the end of the VM.",
	.examples = "  hostrace stat --vm web1 -d 10s\n"
		    "  hostrace stat --vm 4711 --interval 1s\n"
		    "  hostrace stat --by vcpu -f json -d 1m",
	.options =
		(const struct option_row *const[]){options, vm_user_options, output_options, NULL},
	.run = cmd_stat,
};
