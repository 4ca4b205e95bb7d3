// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * hostrace probes: how often each probe of a running QEMU is hit. Which probes there are is a property of the build, so
 * they are searched in the process, not taken from a list: collector/probe_counts.h.
 */
#include <errno.h>
#include <inttypes.h>
#include <poll.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/units.h"
#include "base/version.h"
#include "collector/collector.h"
#include "collector/probe_counts.h"
#include "commands/common/command.h"
#include "commands/common/output.h"
#include "commands/common/vm_options.h"
#include "commands/live/watch.h"
#include "output/probes_report.h"
#include "vm/select.h"

static struct {
	const char *vm, *filter;
	uint64_t duration_ns;
	bool all;
} opt;

/* clang-format off */
static const struct option_row options[] = {
	{0,   "vm",       OPT_TEXT,     &opt.vm,          "PID|NAME", "the VM to watch"},
	{'d', "duration", OPT_SPAN,     &opt.duration_ns, "T",        "stop after this time (10s, 500ms, 2m)"},
	{0,   "probe",    OPT_TEXT,     &opt.filter,      "GLOB",     "only probes or events of this name (virtqueue_*)"},
	{0,   "all",      OPT_FLAG,     &opt.all,         NULL,       "also probes that were not hit, and events that this QEMU has no probe for"},
	{0},
};
/* clang-format on */

struct probe_watch {
	struct vm vm;
	struct probe_counts *counts;
	struct output out;
	struct confine_paths *paths;
	int signals, pidfd;
	uint64_t start_ns, end_ns;
};

/* What is not among the rows. */
struct unseen {
	uint64_t idle, absent, partly;
};

static int rows_fill(const struct probe_watch *w, struct table *t, struct unseen *u)
{
	int err = 0;

	for (unsigned int i = 0; i < probe_counts_nr(w->counts) && !err; i++) {
		const struct counted_probe *p = probe_counts_probe(w->counts, i);
		struct probe_row row = {.probe = *p->name ? p->name : NULL,
					.how = !*p->name ? "absent"
					       : p->usdt ? "usdt"
							 : "function",
					.event = p->event,
					.file = *p->file ? p->file : NULL,
					.reason = *p->reason ? p->reason : NULL,
					.sites = p->sites,
					.counted = p->attached,
					.count = probe_counts_hits(w->counts, i)};

		u->partly += p->attached && p->attached < p->sites;
		if (!opt.all && !row.count) {
			u->idle += p->attached > 0;
			u->absent += !p->attached;
		} else {
			err = table_add(t, &row);
		}
	}
	return err;
}

static json_t *probes_head(const struct report *r)
{
	return json_pack("{s:{s:s,s:s},s:[],s:{s:s,s:i},s:O}", "hostrace", "version",
			 HOSTRACE_VERSION, "command", command_now->name, "inputs", "clock",
			 "method", "host", "error_ns", 0, "caveats", r->caveats);
}

static json_t *notes_make(const struct probe_watch *w, const struct unseen *u)
{
	json_t *list = json_array();

	if (u->idle)
		caveat_add(list, "%" PRIu64 " probes were not hit (--all lists them)", u->idle);
	if (u->absent)
		caveat_add(list,
			   "%" PRIu64
			   " probes are not counted (--all lists them, with the reasons)",
			   u->absent);
	caveat_count(list, "probes of which some sites are not counted", u->partly);
	caveat_count(list, "probes, sites or files beyond the limits, not counted",
		     probe_counts_left_out(w->counts));
	caveat_count(list, "notes of USDT probes that cannot be read",
		     probe_counts_broken(w->counts));
	return list;
}

static int probes_report(struct probe_watch *w)
{
	struct report report = {.out = &w->out,
				.wide = w->out.wide,
				.head = probes_head,
				.foot = caveats_print,
				.note = command_note,
				.answers = true};
	struct unseen u = {0};
	struct table t = {0};
	int err;

	table_open(&t, &probes_table, NULL, NULL);
	err = rows_fill(w, &t, &u);
	report.caveats = notes_make(w, &u);
	report.extra = json_pack("{s:I,s:I}", "duration_ns", (json_int_t)(w->end_ns - w->start_ns),
				 "probes", (json_int_t)probe_counts_nr(w->counts));
	if (!err)
		err = report_table(&report, &t, "count");
	else
		table_free(&t);
	json_decref(report.caveats);
	json_decref(report.extra);
	return err;
}

/* Until ^C, the duration's or the VM's end. */
static void end_wait(const struct probe_watch *w)
{
	struct pollfd p[2] = {{.fd = w->signals, .events = POLLIN},
			      {.fd = w->pidfd, .events = POLLIN}};
	struct timespec ts = {.tv_sec = (time_t)(opt.duration_ns / NS_PER_S),
			      .tv_nsec = (long)(opt.duration_ns % NS_PER_S)};

	ppoll(p, 2, opt.duration_ns ? &ts : NULL, NULL);
}

static int probes_watch(struct probe_watch *w)
{
	char label[VM_LABEL_TEXT];
	int err = privileges_check(); /* first: without them a VM does not even look like one */

	if (!err)
		err = vm_find_given(opt.vm, &w->vm);
	if (err)
		return err;
	w->pidfd = vm_pidfd(&w->vm);
	if (w->pidfd < 0)
		return w->pidfd;
	err = probe_counts_open(&w->vm, opt.filter, &w->counts);
	if (!err)
		err = watch_confine(&w->out, w->paths, false);
	if (err)
		return err;
	w->start_ns = monotonic_ns();
	command_note("counting %u probes of %s; stop with ^C", probe_counts_nr(w->counts),
		     vm_label(&w->vm, label, sizeof(label)));
	end_wait(w);
	probe_counts_stop(w->counts);
	w->end_ns = monotonic_ns();
	watch_writing_begin();
	err = probes_report(w);
	watch_writing_end();
	return err;
}

static int cmd_probes(int argc, char **argv)
{
	struct probe_watch w = {.signals = -1, .pidfd = -1};
	int err;

	if (argc)
		return command_usage("unexpected argument '%s'; select a VM with --vm", argv[0]);
	if (!opt.vm)
		return command_usage("--vm PID|NAME is missing");
	common.no_pager = true; /* it would wait for the end, too */
	if (output_open(table_formats, &w.out))
		return command_failed();
	w.paths = confine_paths_new();
	w.signals = watch_signals_open();
	err = probes_watch(&w);
	watch_writing_begin();
	if (err)
		output_cancel(&w.out);
	else
		err = output_close(&w.out);
	watch_writing_end();
	probe_counts_close(w.counts);
	confine_paths_free(w.paths);
	vm_free(&w.vm);
	if (w.pidfd >= 0)
		close(w.pidfd);
	if (w.signals >= 0)
		close(w.signals);
	return err ? command_failed() : EXIT_FINE;
}

extern const struct command probes_command;

const struct command probes_command = {
	.name = "probes",
	.args = "",
	.summary = "Count how often each probe of a running QEMU is hit.",
	.group = "Live (needs privileges)",
	.details =
		"All USDT probes that its executable and its modules have, and the functions that\n"
		"stand in for those that this build lacks. Counted in the kernel: no events are\n"
		"written. Runs until ^C, the end of the duration or the end of the VM.",
	.examples = "  hostrace probes --vm web1 -d 10s\n"
		    "  hostrace probes --vm web1 --probe 'virtio_*' --all",
	.options = (const struct option_row *const[]){options, vm_user_options, vm_tcg_options,
						      output_options, NULL},
	.run = cmd_probes,
};
