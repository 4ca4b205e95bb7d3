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
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/syscall.h>
#include <sys/utsname.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "command.h"
#include "event.h"
#include "record.h"
#include "tracefile.h"

#define NS_PER_S UINT64_C(1000000000)

enum {
	SUMMARY_TYPES = 6, /* event types named in the summary */
	FINAL_ROUNDS = 50, /* to wait for slots that are not published yet */
	FINAL_PAUSE_US = 2000,
	DUMP_PATH_MAX = 4096,
	RECORDER_NICE = -10,
};

static struct {
	const char *vm, *output, *events, *analyzers;
	bool all, zstd;
	uint64_t duration_ns, buffer_bytes, ring_bytes;
} opt;

/* clang-format off */
static const struct option_row options[] = {
	{0,   "vm",       OPT_TEXT,     &opt.vm,           "PID|NAME", "the VM to record; may be left out if there is only one"},
	{'a', "all",      OPT_FLAG,     &opt.all,          NULL,       "record every VM of this host"},
	{'o', "output",   OPT_TEXT,     &opt.output,       "FILE",     "trace file (default hostrace.hrt)"},
	{'d', "duration", OPT_DURATION, &opt.duration_ns,  "T",        "stop after this time (10s, 500ms, 2m)"},
	{'e', "events",   OPT_TEXT,     &opt.events,       "LIST",     "sets (default, kvm, sched, qemu, irq, all), names and globs; -NAME takes away"},
	{0,   "for",      OPT_TEXT,     &opt.analyzers,    "ANALYZER,...", "only the events that these reports need (exit-latency, virtqueue, ...)"},
	{0,   "buffer",   OPT_SIZE,     &opt.buffer_bytes, "SIZE",     "buffer per CPU (default 8M, at most 64M in all)"},
	{0,   "ring",     OPT_SIZE,     &opt.ring_bytes,   "SIZE",     "flight recorder: keep only the newest SIZE; SIGUSR1 writes them to FILE-1, ..."},
	{'z', "zstd",     OPT_FLAG,     &opt.zstd,         NULL,       "compress the file"},
	{0},
};
/* clang-format on */

enum stop { GO_ON, STOP_SIGNAL, STOP_DURATION, STOP_VM, STOP_COMMAND, STOP_ERROR };

static const char *const stop_words[] = {
	[STOP_SIGNAL] = "signal",	  [STOP_DURATION] = "duration", [STOP_VM] = "VM ended",
	[STOP_COMMAND] = "command ended", [STOP_ERROR] = "error",
};

struct recording {
	struct vm *vms;
	unsigned int nr_vms;
	struct launch launch;
	char **argv; /* the command, or NULL */
	struct collector *collector;
	struct trace_writer *writer;
	json_t *vms_json; /* as known now */
	int *pidfds;
	int signals;
	uint64_t start_ns, progress_ns;
	unsigned int dumps;
	enum stop stop;
};

static uint64_t now_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * NS_PER_S + ts.tv_nsec;
}

/* ---- what to record ---- */

static int vms_choose(struct recording *r)
{
	struct vm *vm = calloc(1, sizeof(*vm));
	int err;

	if (!vm)
		return fail(-ENOMEM, "out of memory");
	r->vms = vm;
	r->nr_vms = 1;
	if (opt.vm)
		return vm_find(opt.vm, vm);
	if (r->argv && !opt.all)
		return launch_vm(&r->launch, r->argv, vm);
	free(vm);
	r->vms = NULL;
	r->nr_vms = 0;
	err = vm_list(&r->vms, &r->nr_vms);
	if (err)
		return err;
	if (!r->nr_vms)
		return fail(-ESRCH,
			    "no VM is running here that this user may see; "
			    "try: sudo hostrace ps, or hostrace record -- qemu-system-x86_64 ...");
	if (r->nr_vms > 1 && !opt.all)
		return fail(-EINVAL,
			    "%u VMs are running; say which with --vm PID|NAME, or --all "
			    "('hostrace ps' lists them)",
			    r->nr_vms);
	return 0;
}

static int events_wanted(struct collector_options *c)
{
	int err = 0;

	if (opt.analyzers)
		err = events_choose_for(opt.analyzers, c->wants);
	if (!err && (opt.events || !opt.analyzers))
		err = events_choose(opt.events ? opt.events : "default", c->wants);
	events_explain(c->wants);
	c->ring_bytes = opt.buffer_bytes;
	return err;
}

/* ---- metadata ---- */

static json_t *vms_describe(const struct recording *r)
{
	json_t *all = json_array();

	for (unsigned int i = 0; i < r->nr_vms; i++)
		json_array_append_new(all, vm_json(&r->vms[i]));
	return all;
}

static json_t *options_describe(void)
{
	return json_pack("{s:s,s:I,s:I,s:b}", "events", opt.events ? opt.events : "default",
			 "duration_ns", (json_int_t)opt.duration_ns, "ring_bytes",
			 (json_int_t)opt.ring_bytes, "zstd", opt.zstd);
}

static json_t *command_describe(char **argv)
{
	json_t *words = json_array();

	for (char **a = argv; a && *a; a++)
		json_array_append_new(words, json_string(*a));
	return words;
}

static json_t *caveats_make(void)
{
	return json_pack(
		"[s]",
		"interrupts that the host kernel's own threads (vhost in kernels before 6.4, "
		"irqfd workers) drive into the VM are not recorded");
}

static json_t *meta_make(struct recording *r)
{
	struct utsname un;

	uname(&un);
	return json_pack("{s:s,s:s,s:s,s:i,s:I,s:O,s:o,s:o,s:o,s:I,s:o}", "hostrace",
			 HOSTRACE_VERSION, "host", un.nodename, "kernel", un.release, "cpus",
			 (int)sysconf(_SC_NPROCESSORS_ONLN), "tsc_khz",
			 (json_int_t)collector_tsc_khz(r->collector), "vms", r->vms_json, "probes",
			 collector_probes(r->collector), "command", command_describe(r->argv),
			 "options", options_describe(), "buffer_bytes",
			 (json_int_t)collector_ring_bytes(r->collector), "caveats", caveats_make());
}

/* Events have told which thread runs which vCPU; /proc does not always. */
static void vcpus_fill(struct recording *r)
{
	json_t *vcpus = collector_vcpus(r->collector), *one;
	size_t k;

	json_array_foreach (vcpus, k, one) {
		pid_t pid = (pid_t)json_integer_value(json_object_get(one, "pid"));
		json_int_t index = json_integer_value(json_object_get(one, "index"));
		json_int_t tid = json_integer_value(json_object_get(one, "tid"));

		for (unsigned int i = 0; i < r->nr_vms; i++)
			for (unsigned int v = 0; v < r->vms[i].nr_vcpus; v++)
				if (r->vms[i].pid == pid && r->vms[i].vcpus[v].index == index)
					r->vms[i].vcpus[v].tid = (pid_t)tid;
	}
	json_decref(vcpus);
	json_decref(r->vms_json);
	r->vms_json = vms_describe(r);
}

static json_t *meta_final(struct recording *r)
{
	vcpus_fill(r);

	json_t *meta =
		json_pack("{s:o,s:o,s:s,s:I,s:O}", "lost", collector_lost(r->collector), "vcpus",
			  collector_vcpus(r->collector), "end", stop_words[r->stop], "tsc_khz",
			  (json_int_t)collector_tsc_khz(r->collector), "vms", r->vms_json);

	if (r->launch.ended)
		json_object_set_new(meta, "command_status", json_integer(r->launch.status));
	return meta;
}

/*
 * A flight recorder writes files later, into directories that may be another user's; what a command
 * has become can only be looked at with what ptrace needs.
 */
static uint64_t caps_to_keep(bool command_unknown)
{
	return (opt.ring_bytes ? CAPS_KEPT_TO_WRITE : 0) |
	       (command_unknown ? CAPS_KEPT_TO_LOOK : 0);
}

/* A command becomes a VM some time after it began: look again until it is one. */
static void vms_refresh(struct recording *r)
{
	char pid[16];
	struct vm vm;

	if (!r->argv || opt.vm || opt.all || r->vms[0].nr_vcpus)
		return;
	snprintf(pid, sizeof(pid), "%d", r->vms[0].pid);
	if (vm_find(pid, &vm))
		return;
	vm_free(&r->vms[0]);
	r->vms[0] = vm;
	json_decref(r->vms_json);
	r->vms_json = vms_describe(r);
	privileges_drop(caps_to_keep(false));
}

/* ---- the loop ---- */

static int sink(void *arg, const struct record_hdr *rec)
{
	struct recording *r = arg;

	return trace_writer_record(r->writer, rec);
}

static int round_once(struct recording *r, uint64_t *watermark)
{
	int err = collector_round(r->collector, sink, r, watermark);

	return err ? err : trace_writer_round(r->writer, *watermark);
}

static void progress(struct recording *r, uint64_t now)
{
	const struct collector_counts *n = collector_counts(r->collector);

	if (now < r->progress_ns)
		return;
	r->progress_ns = now + NS_PER_S;
	vms_refresh(r);
	if (common.quiet || !isatty(STDERR_FILENO))
		return;
	fprintf(stderr, "\r%4" PRIu64 " s  %" PRIu64 " events  %" PRIu64 " lost  %" PRIu64 " KiB ",
		(now - r->start_ns) / NS_PER_S, n->events, n->lost,
		trace_writer_bytes(r->writer) / 1024);
}

static void dump_now(struct recording *r)
{
	char path[DUMP_PATH_MAX];
	json_t *meta;

	if (!opt.ring_bytes)
		return;
	snprintf(path, sizeof(path), "%s-%u", opt.output, ++r->dumps);
	meta = meta_final(r);
	if (trace_writer_dump(r->writer, path, meta))
		command_note("cannot dump: %s", error_text());
	else
		command_note("wrote %s", path);
	json_decref(meta);
}

static enum stop signal_read(struct recording *r)
{
	struct signalfd_siginfo si;

	if (read(r->signals, &si, sizeof(si)) != sizeof(si))
		return GO_ON;
	if (si.ssi_signo == SIGUSR1) {
		dump_now(r);
		return GO_ON;
	}
	return si.ssi_signo == SIGCHLD ? GO_ON : STOP_SIGNAL;
}

static bool vms_ended(struct recording *r)
{
	unsigned int running = 0;

	for (unsigned int i = 0; i < r->nr_vms; i++) {
		struct pollfd p = {.fd = r->pidfds[i], .events = POLLIN};

		if (r->pidfds[i] >= 0 && poll(&p, 1, 0) > 0) {
			close(r->pidfds[i]);
			r->pidfds[i] = -1;
		}
		running += r->pidfds[i] >= 0;
	}
	return !running;
}

static enum stop stop_reason(struct recording *r, uint64_t now)
{
	if (r->argv && launch_poll(&r->launch))
		return STOP_COMMAND;
	if (vms_ended(r))
		return STOP_VM;
	return opt.duration_ns && now - r->start_ns >= opt.duration_ns ? STOP_DURATION : GO_ON;
}

static void pause_until_round(struct recording *r, uint64_t now)
{
	uint64_t pause = collector_pause_ns(r->collector);
	uint64_t end = r->start_ns + opt.duration_ns;

	if (opt.duration_ns && now < end && end - now < pause)
		pause = end - now;

	struct timespec ts = {.tv_nsec = (long)pause};
	struct pollfd p = {.fd = r->signals, .events = POLLIN};

	if (ppoll(&p, 1, &ts, NULL) > 0)
		r->stop = signal_read(r);
}

/* Scripts wait for this line: from here on events are taken. */
static void started(const struct recording *r)
{
	if (r->nr_vms == 1)
		command_note("recording %s (pid %d) to %s; %s",
			     r->vms[0].name ? r->vms[0].name : "VM", r->vms[0].pid, opt.output,
			     r->argv ? "ends with the command" : "^C ends it");
	else
		command_note("recording %u VMs to %s; ^C ends it", r->nr_vms, opt.output);
}

static int loop(struct recording *r)
{
	uint64_t watermark;
	int err = 0;

	started(r);
	r->start_ns = now_ns();
	while (!r->stop && !err) {
		uint64_t now = now_ns();

		pause_until_round(r, now);
		err = round_once(r, &watermark);
		now = now_ns();
		progress(r, now);
		if (!r->stop)
			r->stop = stop_reason(r, now);
	}
	if (isatty(STDERR_FILENO) && !common.quiet)
		fputc('\n', stderr);
	return err;
}

/*
 * Hands over what happened until now. The probes are still there: taking them away may take
 * seconds, and the file need not wait for it. A second ^C from here on ends the program at once.
 */
static int finish(struct recording *r)
{
	uint64_t watermark = 0;
	sigset_t interrupt;
	int err = 0;

	signal(SIGINT, SIG_DFL);
	sigemptyset(&interrupt);
	sigaddset(&interrupt, SIGINT);
	sigprocmask(SIG_UNBLOCK, &interrupt, NULL);
	collector_stop(r->collector);
	for (int i = 0; i < FINAL_ROUNDS && !err && watermark <= collector_stop_ns(r->collector);
	     i++) {
		usleep(i ? FINAL_PAUSE_US : 0);
		err = round_once(r, &watermark);
	}
	return err;
}

/* ---- set up, tear down ---- */

static int signals_open(void)
{
	static const int nrs[] = {SIGINT, SIGTERM, SIGHUP, SIGUSR1, SIGCHLD};
	sigset_t set;

	sigemptyset(&set);
	for (unsigned int i = 0; i < sizeof(nrs) / sizeof(nrs[0]); i++)
		sigaddset(&set, nrs[i]);
	sigprocmask(SIG_BLOCK, &set, NULL);
	return signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
}

static int pidfds_open(struct recording *r)
{
	r->pidfds = calloc(r->nr_vms, sizeof(*r->pidfds));
	if (!r->pidfds)
		return fail(-ENOMEM, "out of memory");
	for (unsigned int i = 0; i < r->nr_vms; i++) {
		r->pidfds[i] = (int)syscall(SYS_pidfd_open, r->vms[i].pid, 0);
		if (r->pidfds[i] < 0 && errno != ESRCH)
			return fail(-errno, "pidfd_open %d: %s", r->vms[i].pid, strerror(errno));
	}
	return 0;
}

static int setup(struct recording *r)
{
	struct trace_writer_options wopt = {.zstd = opt.zstd, .max_bytes = opt.ring_bytes};
	struct collector_options copt = {0};
	json_t *meta;
	int err = events_wanted(&copt);

	if (!err) /* first: without them a VM does not even look like one */
		err = privileges_check();
	if (!err && r->argv)
		err = launch_start(r->argv, &r->launch);
	if (!err)
		err = vms_choose(r);
	if (!err)
		err = pidfds_open(r);
	if (!err)
		err = collector_open(r->vms, r->nr_vms, &copt, &r->collector);
	if (err)
		return err;
	r->vms_json = vms_describe(r);
	meta = meta_make(r);
	err = trace_writer_open(opt.output, &wopt, meta, &r->writer);
	json_decref(meta);
	if (err)
		return err;
	setpriority(PRIO_PROCESS, 0,
		    RECORDER_NICE); /* a starved recorder loses events; no matter if refused */
	err = privileges_drop(caps_to_keep(r->argv && !opt.vm && !opt.all));
	return err || !r->argv ? err : launch_go(&r->launch);
}

static int by_count(const void *a, const void *b, void *arg)
{
	const uint64_t *count = arg;
	uint64_t x = count[*(const unsigned int *)a], y = count[*(const unsigned int *)b];

	return x < y ? 1 : x > y ? -1 : 0;
}

static void summary(struct recording *r, uint64_t bytes)
{
	const struct collector_counts *n = collector_counts(r->collector);
	unsigned int order[EV_LIMIT];
	char line[512] = "";
	size_t len = 0;

	for (unsigned int i = 0; i < EV_LIMIT; i++)
		order[i] = i;
	qsort_r(order, EV_LIMIT, sizeof(order[0]), by_count, (void *)n->by_type);
	for (unsigned int i = 0; i < SUMMARY_TYPES && n->by_type[order[i]]; i++)
		len += snprintf(line + len, sizeof(line) - len, "%s%s %" PRIu64, len ? ", " : "",
				event_type_ours(order[i])->name, n->by_type[order[i]]);
	command_note("%" PRIu64 " events in %.1f s (%s), %" PRIu64 " lost, %" PRIu64
		     " KiB in %s; ended by: %s",
		     n->events, (double)(now_ns() - r->start_ns) / 1e9, len ? line : "none",
		     n->lost, bytes / 1024, opt.output, stop_words[r->stop]);
	if (n->lost)
		command_note("warning: %" PRIu64
			     " events found the buffer full; try: --buffer %" PRIu64 "M, or "
			     "fewer --events",
			     n->lost, collector_ring_bytes(r->collector) * 4 >> 20);
	if (n->events)
		command_note("next: hostrace exits -i %s", opt.output);
	else
		command_note(
			"no event came; 'hostrace doctor --vm PID' says what can be seen here");
}

static void command_status_tell(const struct launch *c)
{
	if (c->ended && WIFSIGNALED(c->status))
		command_note("the command was ended by signal %d", WTERMSIG(c->status));
	else if (c->ended && WEXITSTATUS(c->status))
		command_note("the command ended with status %d", WEXITSTATUS(c->status));
}

static void teardown(struct recording *r)
{
	launch_close(&r->launch);
	collector_close(r->collector);
	for (unsigned int i = 0; r->pidfds && i < r->nr_vms; i++)
		if (r->pidfds[i] >= 0)
			close(r->pidfds[i]);
	free(r->pidfds);
	vm_list_free(r->vms, r->nr_vms);
	json_decref(r->vms_json);
	if (r->signals >= 0)
		close(r->signals);
}

static int record(struct recording *r)
{
	uint64_t bytes;
	json_t *meta;
	int err = setup(r), end;

	if (!err)
		err = loop(r);
	if (err && !r->writer)
		return err;
	if (err)
		r->stop = STOP_ERROR;
	end = finish(r);
	err = err ? err : end;
	meta = meta_final(r);
	bytes = trace_writer_bytes(r->writer);
	end = trace_writer_close(r->writer, meta);
	r->writer = NULL;
	json_decref(meta);
	summary(r, bytes);
	return err ? err : end;
}

static int run(int argc, char **argv, char **rest)
{
	struct recording r = {.argv = rest && *rest ? rest : NULL, .launch = {.gate = -1}};
	int err;

	if (argc)
		return command_usage(
			"unexpected argument '%s'%s", argv[0],
			opt.vm ? "" : "; a VM is named with --vm, a command stands behind --");
	if (rest && !*rest)
		return command_usage("no command behind --");
	if (opt.vm && opt.all)
		return command_usage("--vm and --all exclude each other");
	if (!opt.output)
		opt.output = "hostrace.hrt";
	r.signals = signals_open();
	err = record(&r);
	if (err)
		command_failed();
	command_status_tell(&r.launch);
	teardown(&r);
	return err ? EXIT_FAILED : EXIT_FINE;
}

extern const struct command record_command;

const struct command record_command = {
	.name = "record",
	.args = "[-- COMMAND...]",
	.summary = "Records a VM into a trace file.",
	.group = "Live (needs privileges)",
	.details = "Records until ^C, the duration, the VM's end or the command's end. With a "
		   "command and without\n"
		   "--vm the command itself is recorded: hostrace record -- qemu-system-x86_64 ...",
	.examples = "  hostrace record --vm web1 -d 10s\n"
		    "  hostrace record --vm 4711 --events kvm,irq -o boot.hrt\n"
		    "  hostrace record -- qemu-system-x86_64 -accel kvm -m 64 -nographic",
	.options = (const struct option_row *const[]){options, NULL},
	.run = run,
};
