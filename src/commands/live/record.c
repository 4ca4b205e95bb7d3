// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * hostrace record: from running VMs to a file. The loop sleeps, lets the collector hand over what
 * has come, ends the file's round, and looks whether it is time to stop: a signal, the duration,
 * the VM's or the command's end, an error of the file. However it stops, the file is closed and
 * valid; if it is killed, up to its last chunk.
 */
#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/wait.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/order.h"
#include "base/process.h"
#include "base/units.h"
#include "commands/common/command.h"
#include "commands/common/output.h"
#include "commands/live/record.h"
#include "vm/select.h"

enum {
	FINAL_ROUNDS = 50, /* to wait for slots that are not published yet */
	FINAL_PAUSE_US = 2000,
	DUMP_PATH_MAX = 4096,
	END_ROUNDS = 250, /* to wait for the end of a VM that is ending: half a second */
	END_PAUSE_US = 2000,
	RECORDER_NICE = -10,
};

struct record_options record_opt;

/* clang-format off */
const struct option_row record_own_options[] = {
	{0,   "vm",       OPT_LIST,     &record_opt.vms,          "VM[,VM]",  "the VMs to record, each by PID, NAME, UUID or glob; optional if only one of root or of the caller is running"},
	{'a', "all",      OPT_FLAG,     &record_opt.all,          NULL,       "record every VM of this host"},
	{'o', "output",   OPT_TEXT,     &record_opt.output,       "FILE",     "trace file (default hostrace.hrt); - writes to standard output"},
	{'d', "duration", OPT_SPAN,     &record_opt.duration_ns,  "T",        "stop after this time (10s, 500ms, 2m)"},
	{'e', "events",   OPT_TEXT,     &record_opt.events,       "LIST",     "event sets (default, kvm, sched, qemu, irq, inside, all, ...), names and globs; any tracepoint of the kernel as SUBSYSTEM:EVENT; 'kprobe:FUNCTION [[NAME=]ARG ...]', kretprobe, fentry, fexit, uprobe:PATH:FUNCTION, uretprobe, usdt:PATH:PROVIDER:NAME; -NAME excludes"},
	{0,   "filter",   OPT_TEXT,     &record_opt.filter,       "CONDITION", "with SUBSYSTEM:EVENT or a probe: record only the events that the condition on their fields holds for, such as 'ret < 0' (doc/filters.md)"},
	{0,   "host",     OPT_FLAG,     &record_opt.host,         NULL,         "with SUBSYSTEM:EVENT or a probe: also in threads that belong to no VM"},
	{0,   "for",      OPT_TEXT,     &record_opt.analyzers,    "REPORT,...", "only the events that these need: blame, boot, diagnose, downtime, exits, faults, heap, interrupts, leaks, msrs, ports, requests, sched, syscalls, timeline, virtio, or an analyzer of 'hostrace summary'"},
	{0,   "exact",    OPT_FLAG,     &record_opt.exact,        NULL,         "with --for blame: also probe each lock and unlock of QEMU's global mutex (expensive)"},
	{0,   "buffer",   OPT_SIZE,     &record_opt.buffer_bytes, "SIZE",     "buffer size per CPU (default 8M, at most 64M in total)"},
	{0,   "ring",     OPT_SIZE,     &record_opt.ring_bytes,   "SIZE",     "flight recorder: keep only the newest SIZE; SIGUSR1 writes them to NAME-1.hrt, ..."},
	{'z', "zstd",     OPT_FLAG,     &record_opt.zstd,         NULL,       "compress the file with zstd"},
	{0,   "sync",     OPT_TEXT,     &record_opt.sync.when,    "WHEN",     "force the file to disk: end (default), none, or also every T (1s, 200ms, ...)"},
	{0},
};
/* clang-format on */

/* ---- what to record ---- */

static int sync_read(struct record_sync *s)
{
	s->at_end = !s->when || strcmp(s->when, "none");
	if (!s->when || !s->at_end || !strcmp(s->when, "end"))
		return 0;
	if (parse_duration(s->when, &s->every_ns) || !s->every_ns)
		return fail_usage(-EINVAL,
				  "invalid --sync '%s' (expected end, none, or a duration such as "
				  "1s)",
				  s->when);
	return 0;
}

static int events_wanted(struct collector_options *c, struct any_events *any)
{
	int err = 0;

	c->any = any;
	if (record_opt.analyzers)
		err = events_choose_for(record_opt.analyzers, c->wants);
	if (!err && (record_opt.events || !record_opt.analyzers))
		err = events_choose(record_opt.events ? record_opt.events : "default", c->wants,
				    any);
	if (!err && record_opt.exact)
		err = events_choose_exact(c->wants);
	if (!err)
		err = parts_choose(c);
	if (!err && c->wants[EV_alloc_site] && (record_opt.ring_bytes || record_has_triggers()))
		err = fail_usage(-EINVAL, "the heap cannot be recorded with --ring or --trigger: "
					  "its counts are since the recording began");
	events_explain(c->wants);
	c->ring_bytes = record_opt.buffer_bytes;
	err = err ? err : events_host(any, record_opt.host);
	return !err && record_opt.filter ? any_events_filter(any, record_opt.filter) : err;
}

/* ---- the loop ---- */

int record_put(struct recording *r, const struct record_hdr *rec)
{
	int err = trace_writer_record(r->writer, rec);

	err = err ? err : record_stop_on_record(r, rec);
	return err ? err : record_trigger_record(r, rec);
}

static int sink(void *arg, const struct record_hdr *rec)
{
	struct recording *r = arg;

	record_silence_record(r, rec);
	return record_control_drops(r, rec) ? 0 : record_put(r, rec);
}

static int round_once(struct recording *r, uint64_t *watermark)
{
	int err = collector_round(r->collector, sink, r, watermark);

	if (!err)
		err = trace_writer_round(r->writer, *watermark);
	record_control_drained(r, *watermark);
	err = err ? err : record_stop_on_round(r, *watermark);
	return err ? err : record_trigger_round(r, *watermark);
}

static void progress_show(struct recording *r, uint64_t now)
{
	const struct collector_counts *n = collector_counts(r->collector);
	uint64_t ran = now - r->start_ns, since = now - (r->shown_ns ? r->shown_ns : r->start_ns);
	char left[32] = "";

	if (record_opt.duration_ns > ran)
		snprintf(left, sizeof(left), "  %" PRIu64 " s left",
			 (record_opt.duration_ns - ran + NS_PER_S - 1) / NS_PER_S);
	progress_line_show("%4" PRIu64 " s  %" PRIu64 " events  %.0f/s  %" PRIu64 " lost  %" PRIu64
			   " KiB%s",
			   ran / NS_PER_S, n->events,
			   since ? (double)(n->events - r->shown_events) * NS_PER_S / (double)since
				 : 0,
			   n->lost, trace_writer_bytes(r->writer) / 1024, left);
	r->shown_events = n->events;
	r->shown_ns = now;
}

static void progress(struct recording *r, uint64_t now)
{
	if (now < r->progress_ns)
		return;
	r->progress_ns = now + NS_PER_S;
	record_vms_refresh(r);
	record_follow_look(r);
	record_vms_give_back(r);
	if (!common.quiet && isatty(STDERR_FILENO))
		progress_show(r, now);
}

int record_output_stem(void)
{
	size_t len = strlen(record_opt.output);

	return (int)(len > 4 && !strcmp(record_opt.output + len - 4, ".hrt") ? len - 4 : len);
}

/* vm.hrt -> vm-1.hrt, vm-2.hrt, ...: confine_paths_write() allows these, with any extension. */
static void dump_now(struct recording *r)
{
	const char *output = record_opt.output, *slash = strrchr(output, '/'),
		   *name = slash ? slash + 1 : output, *dot = strrchr(name, '.');
	size_t stem = dot && dot > name ? (size_t)(dot - output) : strlen(output);
	char path[DUMP_PATH_MAX];
	json_t *meta;

	if (r->flight)
		record_trigger_signal(r);
	if (r->flight || !record_opt.ring_bytes)
		return;
	snprintf(path, sizeof(path), "%.*s-%u%s", (int)stem, output, ++r->dumps, output + stem);
	meta = record_meta_end(r);
	if (!trace_writer_dump(r->writer, path, 0, meta)) {
		command_note("wrote %s", path);
	} else {
		r->dumps_failed++;
		command_note("cannot write the dump: %s", error_text());
	}
	json_decref(meta);
}

static void signal_read(struct recording *r)
{
	struct signalfd_siginfo si;

	if (read(r->signals, &si, sizeof(si)) != sizeof(si))
		return;
	if (si.ssi_signo == SIGUSR1)
		dump_now(r);
	r->pauses |= si.ssi_signo == SIGUSR2;
}

static enum stop stop_reason(struct recording *r, uint64_t now)
{
	if (r->follow.active) {
		if (record_follow_ended(r))
			return STOP_COMMAND;
	} else if (r->argv && launch_poll(&r->launch)) {
		return STOP_COMMAND;
	} else if (!record_vms_running(r)) {
		return STOP_VM;
	}
	return record_opt.duration_ns && now - r->start_ns >= record_opt.duration_ns ? STOP_DURATION
										     : GO_ON;
}

static void pause_until_round(struct recording *r, uint64_t now)
{
	uint64_t pause = collector_pause_ns(r->collector);
	uint64_t end = r->start_ns + record_opt.duration_ns;

	if (record_opt.duration_ns && now < end && end - now < pause)
		pause = end - now;

	struct timespec ts = {.tv_nsec = (long)pause};
	struct pollfd p[] = {
		{.fd = r->signals, .events = POLLIN},
		{.fd = collector_follow_fd(r->collector), .events = POLLIN},
		{.fd = record_stop_fd(r), .events = POLLIN},
		{.fd = record_control_fd(r), .events = POLLIN},
		{.fd = record_opt.stream ? record_opt.stream : -1}, /* its reader's end */
	};
	int n = ppoll(p, 5, &ts, NULL);

	if (n > 0 && p[0].revents)
		signal_read(r);
	if (n > 0 && p[4].revents)
		r->stop = STOP_READER;
	if (n > 0 && p[2].revents)
		r->stop = STOP_SIGNAL;
}

static int record_loop(struct recording *r)
{
	uint64_t watermark;
	int err = 0;

	record_stop_ready(r);
	record_tell_start(r);
	r->start_ns = monotonic_ns();
	r->progress_ns = r->start_ns + NS_PER_S; /* to attach to the command's VM comes first */
	while (!r->stop && !err) {
		uint64_t now = monotonic_ns();

		pause_until_round(r, now);
		record_follow_round(r);
		err = round_once(r, &watermark);
		now = monotonic_ns();
		if (!err)
			err = parts_round(r, now);
		if (!err)
			err = record_confine_more(r);
		progress(r, now);
		if (!r->stop)
			r->stop = stop_reason(r, now);
	}
	progress_line_erase();
	return err;
}

/*
 * A signal or the end of the time may be read before the VM's end, although that came first: a shutdown of the host
 * ends both. Nor does a VM end at once, so that its end is waited for, if a trigger wants it.
 */
static void end_look(struct recording *r)
{
	int left = record_trigger_at_end(r) && r->stop != STOP_ERROR ? END_ROUNDS : 0;

	do {
		enum stop why = r->stop == STOP_VM || r->stop == STOP_COMMAND
					? r->stop
					: stop_reason(r, r->start_ns);

		r->vms_ended = why == STOP_VM || why == STOP_COMMAND;
	} while (!r->vms_ended && left-- > 0 && !usleep(END_PAUSE_US));
}

/*
 * Hands over what happened until now. The probes are still there: taking them away may take
 * seconds, and the file need not wait for it.
 */
static int record_finish(struct recording *r)
{
	uint64_t watermark = 0;
	int err = 0, last;

	end_look(r);
	collector_stop(r->collector);
	/* Also if the file cannot be written: what is missing in it is counted. */
	for (int i = 0; i < FINAL_ROUNDS && watermark <= collector_stop_ns(r->collector); i++) {
		usleep(i ? FINAL_PAUSE_US : 0);
		error_keep_first(&err, round_once(r, &watermark));
	}

	record_follow_last(r); /* a VM whose first event was in the last round */
	last = parts_stop(r);
	if (!r->flight)
		error_keep_first(&err, trace_writer_end(r->writer));
	if (err)
		r->stop = STOP_ERROR;
	return err ? err : last;
}

/* ---- set up, tear down ---- */

static int setup(struct recording *r)
{
	struct trace_writer_options wopt = {.zstd = record_opt.zstd,
					    .sync = record_opt.sync.at_end,
					    .sync_ns = record_opt.sync.every_ns,
					    .written = &r->written,
					    .stream = record_opt.stream};
	struct collector_options copt = {.follow = r->follow.active, .whichever = record_opt.all};
	json_t *meta;
	int err = events_wanted(&copt, &r->any);

	if (!err) /* first: without them a VM does not even look like one */
		err = privileges_check();
	if (!err && r->argv)
		err = launch_start(r->argv, &r->launch);
	if (!err)
		err = record_vms_choose(r);
	if (!err)
		err = record_vms_watch(r);
	if (!err)
		err = parts_begin(r);
	if (!err)
		err = collector_open(r->vms, r->nr_vms, &copt, &r->collector);
	if (!err)
		err = record_stop_open(r);
	if (err)
		return err;
	record_vms_ignore_ended(r);
	r->vms_json = record_vms_describe(r);
	if (r->vms_shortened)
		command_note("the command lines of %u VMs are shortened in %s", r->vms_shortened,
			     record_opt.output);
	meta = record_meta_begin(r);
	wopt.max_bytes = record_opt.ring_bytes; /* --trigger has a default */
	err = trace_writer_open(record_opt.output, &wopt, meta, &r->writer);
	json_decref(meta);
	r->start_ns = monotonic_ns();
	if (!err)
		err = events_announce(r);
	if (!err)
		err = parts_start(r);
	if (!err)
		err = record_follow_start(r);
	if (err)
		return err;
	setpriority(PRIO_PROCESS, 0,
		    RECORDER_NICE); /* a starved recorder loses events; no matter if rejected */
	inherited_close(NULL); /* the command has them */
	err = record_confine(r);
	/* ^C ends what reads our messages as well (| tee): the file and the status are right without a reader. */
	signal(SIGPIPE, SIG_IGN);
	return err || !r->argv ? err : launch_go(&r->launch);
}

static void teardown(struct recording *r)
{
	launch_close(&r->launch);
	parts_close(r);
	record_stop_detached(r);
	collector_close(r->collector);
	any_events_free(&r->any);
	for (unsigned int i = 0; r->watch && i < r->nr_vms; i++)
		if (r->watch[i].pidfd >= 0)
			close(r->watch[i].pidfd);
	free(r->watch);
	free(r->follow.vms_before);
	vm_list_free(r->vms, r->nr_vms);
	json_decref(r->vms_json);
	record_confine_close(r);
	record_stop_close(r);
	if (r->signals >= 0)
		close(r->signals);
}

/* With --trigger, dumps are all that is kept: the file was only locked. */
static int file_end(struct recording *r)
{
	struct trace_writer *w = take_ptr(r->writer);
	json_t *meta;
	int err;

	if (r->flight) {
		trace_writer_abandon(w);
		return 0;
	}
	meta = record_meta_end(r);
	err = trace_writer_close(w, meta);
	json_decref(meta);
	if (!err)
		record_stop_complete(r);
	return err;
}

static int dumps_judge(const struct recording *r)
{
	if (!r->dumps_failed)
		return 0;
	return fail(-EIO, "%" PRIu64 " dump%s could not be written completely (see above)",
		    r->dumps_failed, r->dumps_failed == 1 ? "" : "s");
}

static int record(struct recording *r)
{
	int err = setup(r), end;

	if (err) { /* the file that was there before stays */
		trace_writer_abandon(r->writer);
		return err;
	}
	err = record_loop(r);
	if (err)
		r->stop = STOP_ERROR;
	end = record_finish(r);
	err = err ? err : end;
	r->file_err = file_end(r);
	err = err ? err : r->file_err;
	record_tell_end(r);
	err = err ? err : dumps_judge(r);
	return err ? err : record_follow_stop(r);
}

/* The exit status. */
static int record_once(struct recording *r)
{
	int status;

	r->signals = record_signals_open();
	status = record(r) ? command_failed() : EXIT_FINE;
	record_tell_command(&r->launch);
	teardown(r);
	return status;
}

static int cmd_record(int argc, char **argv)
{
	struct recording r = {.argv = command_rest && *command_rest ? command_rest : NULL,
			      .launch = {.gate = -1}};

	if (argc)
		return command_usage(
			"unexpected argument '%s'%s", argv[0],
			record_opt.vms.nr ? ""
					  : "; select a VM with --vm, or put a command after --");
	if (command_rest && !*command_rest)
		return command_usage("no command after --");
	if (record_opt.vms.nr && record_opt.all)
		return command_usage("--vm and --all are mutually exclusive");
	if (sync_read(&record_opt.sync))
		return command_failed();
	if (record_opt.sync.every_ns && record_opt.ring_bytes)
		return command_usage("--sync %s has no effect together with --ring, which writes "
				     "no file meanwhile; use end or none", record_opt.sync.when);
	r.follow.active = r.follow.started = command_rest && !record_opt.vms.nr && !record_opt.all;
	if (!record_opt.output)
		record_opt.output = "hostrace.hrt";
	if (output_recording_check(record_opt.output) || record_stream_open())
		return command_failed();
	if (record_waits() && record_wait_check(&r))
		return command_failed();
	return record_waits() ? record_wait(&r, record_once) : record_once(&r);
}

static const struct option_rule rules[] = {
	{"before", .with = "trigger"},	 {"after", .with = "trigger"},	{"keep", .with = "trigger"},
	{"max-disk", .with = "trigger"}, {"guest-size", .with = "guest"},
	{0},
};

extern const struct command record_command;

const struct command record_command = {
	.name = "record",
	.args = "[-- COMMAND...]",
	.starts_command = true,
	.summary = "Record a VM into a trace file.",
	.group = "Live (needs privileges)",
	.details = "Records until ^C, or until the duration, the VM or the command ends. With a "
		   "command\n"
		   "and without --vm, the VMs that the command becomes or starts are recorded:\n"
		   "hostrace record -- qemu-system-x86_64 ...",
	.examples = "  hostrace record --vm web1 -d 10s\n"
		    "  hostrace record --vm web1,web2 -d 10s\n"
		    "  hostrace record --vm 'db*' --vm 4711\n"
		    "  hostrace record --vm 4711 --events kvm,irq -o boot.hrt\n"
		    "  hostrace record -- qemu-system-x86_64 -accel kvm -m 64 -nographic\n"
		    "  hostrace record -o run.hrt -- ./run.py\n"
		    "  ssh host hostrace record --vm web1 -o - | hostrace list --follow -i -\n"
		    "  hostrace record --vm web1 --trigger 'exit-latency>5ms' --keep 3",
	.options = record_option_tables,
	.rules = rules,
	.run = cmd_record,
};
