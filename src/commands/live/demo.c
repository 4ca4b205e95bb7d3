// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * hostrace demo: boots a VM whose workload is known to the last port access, records it, shows the
 * reports, and compares the figures. Everything goes by the same commands that a user would type;
 * they are printed.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <sys/stat.h>

#include "base/error.h"
#include "base/process.h"
#include "base/safe_path.h"
#include "commands/common/command.h"
#include "commands/live/demo.h"
#include "commands/live/record.h"
#include "guestside/demo/workload.h"

enum {
	GUEST_TIMEOUT_S = 60,
	RECORD_PATIENCE_S = 10,
	RECORD_TIMEOUT_S = 30,
	LEAKS = 6,
};

static const char *accel_option, *qemu_option;

/* clang-format off */
static const struct option_row demo_options[] = {
	{0, "accel", OPT_TEXT, &accel_option, "kvm|tcg", "accelerator (default: KVM, or TCG if KVM is unavailable)"},
	{0, "qemu",  OPT_TEXT, &qemu_option,  "PROGRAM", "QEMU executable (default qemu-system-x86_64)"},
	{0},
};
/* clang-format on */

/* ---- recording ---- */

struct recorder {
	pid_t pid;
	int hold; /* closing it ends the recording, if the VM's end has not */
};

/*
 * `record ... -- CMD` starts CMD once it records, and ends with it. Ours prints "ready" and runs until
 * we let go of its standard input.
 */
static int recorder_start(struct recorder *r, pid_t vm, const char *trace)
{
	char pid[16], line[16] = "", self[PATH_MAX];
	char *argv[] = {self_path(self),
			"record",
			"--vm",
			pid,
			"-o",
			(char *)trace,
			"--",
			"/bin/sh",
			"-c",
			"echo ready; exec cat >/dev/null",
			NULL};
	int in[2], out[2];

	snprintf(pid, sizeof(pid), "%d", (int)vm);
	if (pipe2(in, O_CLOEXEC))
		return fail(-errno, "pipe: %s", strerror(errno));
	r->hold = in[1];
	_cleanup_close_ int in_child = in[0];
	if (pipe2(out, O_CLOEXEC))
		return fail(-errno, "pipe: %s", strerror(errno));
	r->pid = process_start(argv, in_child, out[1], -1, SIGINT);
	close(out[1]);
	_cleanup_fclose_ FILE *log = fdopen(out[0], "r");
	if (r->pid < 0 || !log)
		return fail(-EIO, "cannot start the recording");
	while (fgets(line, sizeof(line), log))
		if (!strcmp(line, "ready\n"))
			return 0;
	return fail(-EPERM, "the recording did not start; see its error message above");
}

/* The recording ends with the VM; if it does not, it is asked to. */
static int recorder_wait(struct recorder *r)
{
	int status = process_wait(r->pid, RECORD_PATIENCE_S);

	close(r->hold);
	r->hold = -1;
	if (status == -ETIMEDOUT)
		status = process_wait(r->pid, RECORD_TIMEOUT_S);
	if (status < 0)
		return status;
	r->pid = 0;
	return status ? fail(-EIO, "the recording failed with exit status %d", status) : 0;
}

static void recorder_close(struct recorder *r)
{
	if (r->hold >= 0)
		close(r->hold);
	if (r->pid > 0) {
		kill(r->pid, SIGINT);
		process_wait(r->pid, RECORD_TIMEOUT_S);
	}
}

struct demo {
	char dir[PATH_MAX - 64];
	char qemu[PATH_MAX], trace[PATH_MAX], json[PATH_MAX];
	char exits_svg[PATH_MAX], disk_svg[PATH_MAX];
	bool kvm;
	struct demo_vm vm;
	struct recorder recorder;
};

/* ---- showing ---- */

/*
 * Runs one of our commands on the trace with its output to `path`, or to ours, where it is
 * announced.
 */
static int show(const char *why, const char *trace, const char *path, char *const *words)
{
	char self[PATH_MAX], *argv[16] = {self_path(self)};
	int nr = 1;

	for (; *words; words++)
		argv[nr++] = *words;
	argv[nr++] = "-i";
	argv[nr++] = (char *)trace;
	argv[nr++] = "--no-pager";
	if (path) {
		argv[nr++] = "-o";
		argv[nr++] = (char *)path;
	} else {
		printf("\n$ hostrace");
		for (int i = 1; argv[i]; i++)
			if (strcmp(argv[i], "--no-pager"))
				printf(" %s", argv[i]);
		printf("\n%s\n\n", why);
		fflush(stdout);
	}
	pid_t pid = process_start(argv, -1, -1, -1, SIGTERM);
	int status = pid < 0 ? pid : process_wait(pid, RECORD_TIMEOUT_S);
	return status ? fail(-EIO, "'hostrace %s' failed", argv[1]) : 0;
}

/*
 * The latency that this host can show: not every KVM backend has kvm_exit, and TCG has none of
 * KVM's events.
 */
static const char *latency_analyzer(const char *trace)
{
	static const char *const choice[][2] = {
		{"kvm_exit", "exit-latency"},
		{"kvm_userspace_exit", "userspace-exit"},
		{"virtqueue_pop", "virtqueue"},
	};
	json_t *info = report_json("info", trace);
	json_t *events = json_object_get(json_object_get(info, "result"), "events");
	const char *analyzer = "exit-latency";

	for (size_t i = sizeof(choice) / sizeof(*choice); i--;)
		if (json_integer_value(json_object_get(events, choice[i][0])))
			analyzer = choice[i][1];
	json_decref(info);
	return analyzer;
}

/* The reports, as a user would run them. Without KVM there are no exits. */
static int show_reports(const struct demo *d)
{
	char *analyzer = (char *)latency_analyzer(d->trace), command[64], *until;

	until = strrchr(leaks_words(d->trace, command, sizeof(command)), ' ');
	until += until != NULL;

	const struct {
		const char *why, *path;
		char *words[6];
	} reports[] = {
		{"Why the guest exited to the host, and for how long: one row per exit reason.",
		 NULL,
		 {"exits"}},
		{"The same over time: one column per slice of time, one row per latency.",
		 NULL,
		 {"heatmap", analyzer}},
		{NULL, d->exits_svg, {"heatmap", analyzer, "-f", "svg"}},
		{NULL, d->disk_svg, {"heatmap", "virtqueue", "-f", "svg"}},
		{"The ports that the guest accessed; most are accesses of its firmware, probing "
		 "for devices.",
		 NULL,
		 {"ports", "--limit", "25"}},
		{"Requests that a device took and never returned. Disk 'slow' keeps some on "
		 "purpose.",
		 NULL,
		 {"leaks", until ? "--until" : NULL, until}},
	};
	int r = 0;

	for (size_t i = d->kvm ? 0 : 1; i < sizeof(reports) / sizeof(*reports) && !r; i++)
		r = show(reports[i].why, d->trace, reports[i].path, reports[i].words);
	return r;
}

/* ---- the story ---- */

static int choose_accel(struct demo *d)
{
	const char *missing = kvm_missing();

	d->vm.accel = accel_option ? accel_option : missing ? "tcg" : "kvm";
	if (strcmp(d->vm.accel, "kvm") && strcmp(d->vm.accel, "tcg"))
		return fail(-EINVAL, "invalid --accel '%s' (expected kvm or tcg)", d->vm.accel);
	d->kvm = !strcmp(d->vm.accel, "kvm");
	if (d->kvm && missing)
		return fail(-ENODEV, "%s", missing);
	if (missing && !accel_option)
		printf("KVM is unavailable (%s): the guest runs under TCG, without KVM's events.\n",
		       missing);
	return 0;
}

/* Nobody else can have put links or files there, which this command would write to. */
static int directory_make(const char *dir)
{
	_cleanup_free_ char *at = NULL;
	struct stat st;
	int err = safe_path_resolve(dir, &at);

	if (err)
		return err;
	if (safe_path_mkdir(at) && errno != EEXIST)
		return fail(-errno, "%s: %s", dir, strerror(errno));
	if (lstat(dir, &st))
		return fail(-errno, "%s: %s", dir, strerror(errno));
	if (!S_ISDIR(st.st_mode) || st.st_uid != geteuid() || st.st_mode & (S_IWGRP | S_IWOTH))
		return fail(-EACCES,
			    "%s exists and is not a directory that only this user may write to; "
			    "choose another name",
			    dir);
	return 0;
}

static int prepare(struct demo *d, const char *dir)
{
	int r = choose_accel(d);

	if (r)
		return r;
	if (strlen(dir) >= sizeof(d->dir) || strchr(dir, ','))
		return fail(-EINVAL,
			    "invalid directory '%s': the path must be short and without commas",
			    dir);
	umask(077); /* also of what QEMU and the reports write */
	strcpy(d->dir, dir);
	snprintf(d->trace, sizeof(d->trace), "%s/demo.hrt", dir);
	snprintf(d->exits_svg, sizeof(d->exits_svg), "%s/heatmap.svg", dir);
	snprintf(d->disk_svg, sizeof(d->disk_svg), "%s/disk.svg", dir);
	snprintf(d->json, sizeof(d->json), "%s/demo.json", dir);
	r = directory_make(dir);
	if (r)
		return r;
	d->vm.dir = d->dir;
	r = program_path(qemu_option ? qemu_option : "qemu-system-x86_64", d->qemu,
			 sizeof(d->qemu));
	if (r)
		return fail_hint(r, "install qemu-system-x86, or give --qemu PROGRAM");
	d->vm.qemu = d->qemu;
	d->vm.leaks = LEAKS;
	return demo_image_make(dir);
}

static int run_guest(struct demo *d)
{
	int r = demo_vm_start(&d->vm);

	if (r)
		return r;
	printf("Booting and recording a small guest in QEMU (pid %d, %s); this takes a few seconds "
	       "...\n",
	       (int)d->vm.pid, d->vm.accel);
	fflush(stdout);
	r = recorder_start(&d->recorder, d->vm.pid, d->trace);
	if (!r)
		r = demo_vm_go(&d->vm);
	if (!r)
		r = demo_vm_wait(&d->vm, GUEST_TIMEOUT_S);
	return r ? r : recorder_wait(&d->recorder);
}

static int write_json(const struct demo *d, const struct demo_checks *c)
{
	json_t *root = json_pack("{s:{s:s, s:s}, s:{s:s, s:s, s:s, s:s, s:b, s:O}}", "hostrace",
				 "version", HOSTRACE_VERSION, "command", "demo", "result", "accel",
				 d->vm.accel, "trace", d->trace, "heatmap", d->exits_svg,
				 "disk_heatmap", d->disk_svg, "ok", !c->wrong, "checks", c->rows);
	int r = root ? json_dump_file(root, d->json, JSON_INDENT(2)) : -1;

	json_decref(root);
	return r ? fail(-EIO, "cannot write %s", d->json) : 0;
}

static int demo_compare(struct demo *d, struct demo_checks *c)
{
	int wrong = demo_image_check(d->dir, WORK_WRITES);

	printf("\nThe guest's workload is known (src/guestside/demo/workload.h). Comparing the "
	       "recording with it:\n\n");
	if (wrong < 0)
		return wrong;
	check_add(c, "wrong sectors on the disk", 0, wrong);
	int r = check_reports(c, d->trace, d->kvm, LEAKS);
	return r ? r : write_json(d, c);
}

static int demo(struct demo *d, const char *dir, struct demo_checks *c)
{
	int r = prepare(d, dir);

	if (!r)
		r = run_guest(d);
	if (!r)
		r = show_reports(d);
	if (!r)
		r = demo_compare(d, c);
	if (r)
		return r;
	printf("\nlatency of exits     %s (open it in a web browser)\n"
	       "latency of the disk  %s\n"
	       "trace                %s (more: hostrace info -i %s)\n"
	       "these figures        %s\n",
	       d->exits_svg, d->disk_svg, d->trace, d->trace, d->json);
	return c->wrong ? fail(-EPROTO, "the recording does not match the known workload") : 0;
}

static int demo_run(int argc, char **argv)
{
	struct demo d = {.recorder.hold = -1};
	struct demo_checks checks = {.rows = json_array(), .out = stdout};

	if (argc > 1)
		return command_usage("at most one directory");
	int r = demo(&d, argc ? argv[0] : "hostrace-demo", &checks);
	demo_vm_close(&d.vm);
	recorder_close(&d.recorder);
	json_decref(checks.rows);
	fflush(stdout);
	return r ? command_failed() : EXIT_FINE;
}

static const struct option_row *const tables[] = {demo_options, NULL};

const struct command demo_command = {
	.name = "demo",
	.args = "[DIR]",
	.summary = "Boot and record a small VM, and print the reports.",
	.group = "Live (needs privileges)",
	.details =
		"The guest runs a known workload; the reports are compared with it. The trace, "
		"the\n"
		"heat maps as SVG, the guest's console and the results as JSON are written to DIR\n"
		"(default hostrace-demo).",
	.examples = "  hostrace demo\n  hostrace demo --accel tcg /tmp/demo",
	.options = tables,
	.run = demo_run,
};
