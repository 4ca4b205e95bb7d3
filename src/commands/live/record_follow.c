// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A command after "--" that is not the VM but starts it: a script, a shell, timeout, sudo, or a QEMU that continues as
 * a daemon. The collector follows its processes. One that executes QEMU, or whose vCPU an event shows, is a VM and gets
 * the user probes; what it did before is missing, which is said if a vCPU had already run.
 *
 * What asks a daemon for a VM (virsh) is not followed: the VM is no descendant. It is recorded if it has a name that is
 * on the command line; else it is named at the end.
 */
#include <errno.h>
#include <inttypes.h>

#include "base/array.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/log.h"
#include "commands/common/command.h"
#include "commands/common/vm_options.h"
#include "commands/live/record.h"
#include "vm/proc.h"
#include "vm/select.h"

/* A daemon forks twice (os_daemonize() in os-posix.c of QEMU); one that has not by this time will not. */
#define FORK_AGAIN_NS (300 * NS_PER_MS)

/*
 * CPU time of QEMU's threads (RCU, vCPUs) before its guest runs; measured 1.5 to 2 ms with QEMU 7.2. A guest needs more
 * than the rest for its first access to a virtio device.
 */
#define THREADS_START_NS (5 * NS_PER_MS)

/* What may stand around a word of a shell script. */
static const char SHELL_SPACE[] = " \t\n;&|()`'\"$";

/* Commands that ask a daemon to start a VM. */
static const struct daemon_client {
	const char *name, *advice;
} clients[] = {
	{"virsh", "for a complete recording: virsh start --paused VM; hostrace record --vm VM; "
		  "virsh resume VM"},
	{"virt-install", "for a complete recording: virsh start --paused VM; hostrace record --vm "
			 "VM; virsh resume VM"},
	{"systemctl", "put the unit's own command line after --"},
	{"systemd-run", "use systemd-run --scope, or put the VM's own command line after --"},
	{"docker", "run hostrace record --vm PID once the VM runs"},
	{"podman", "run hostrace record --vm PID once the VM runs"},
};

static const struct daemon_client *client_of(const struct recording *r)
{
	const char *base = strrchr(r->argv[0], '/');

	base = base ? base + 1 : r->argv[0];
	for (size_t i = 0; i < sizeof(clients) / sizeof(clients[0]); i++) {
		if (strcmp(base, clients[i].name))
			continue;
		for (char **word = r->argv; *word; word++)
			if (!strcmp(*word, "--scope"))
				return NULL;
		return &clients[i];
	}
	return NULL;
}

static int index_of(const struct recording *r, pid_t pid)
{
	for (unsigned int i = 0; i < r->nr_vms; i++)
		if (r->vms[i].pid == pid)
			return (int)i;
	return -1;
}

/* ---- the start ---- */

static int vms_before_read(struct recording *r)
{
	struct vm *vms = NULL;
	unsigned int nr = 0;
	int err = vm_list_given(&vms, &nr);

	if (err)
		return err;
	r->follow.vms_before = calloc(nr + 1, sizeof(pid_t));
	for (unsigned int i = 0; r->follow.vms_before && i < nr; i++)
		r->follow.vms_before[r->follow.before++] = vms[i].pid;
	vm_list_free(vms, nr);
	return r->follow.vms_before ? 0 : fail(-ENOMEM, "out of memory");
}

static void word_plan_ahead(struct recording *r, const char *word)
{
	const char *base = strrchr(word, '/');
	char path[4096];

	base = base ? base + 1 : word;
	if ((!strncmp(base, "qemu", 4) || !strcmp(base, "kvm")) &&
	    !program_path(word, path, sizeof(path)))
		collector_plan_ahead(r->collector, path);
}

/* The QEMU that a command is likely to start: those that its words name, and the ordinary one. */
static void plan_ahead(struct recording *r)
{
	for (char **word = r->argv; *word; word++) {
		_cleanup_free_ char *text = strdup(*word); /* "sh -c SCRIPT" has all words in one */
		char *rest = NULL;

		for (char *w = text ? strtok_r(text, SHELL_SPACE, &rest) : NULL; w;
		     w = strtok_r(NULL, SHELL_SPACE, &rest))
			word_plan_ahead(r, w);
	}
	word_plan_ahead(r, "qemu-system-x86_64");
}

int record_follow_start(struct recording *r)
{
	const struct daemon_client *client;
	const char *error;

	if (!r->follow.active)
		return 0;
	client = client_of(r);
	error = collector_follow_error(r->collector);
	r->watch[0].is_qemu = collector_vm_probes(r->collector, r->vms[0].pid) > 0;
	if (client)
		command_note(
			"warning: '%s' asks a daemon to start a VM, which is then no process of "
			"this command: its first events are missing; %s",
			client->name, client->advice);
	if (*error && !r->watch[0].is_qemu)
		command_note("warning: processes that '%s' starts cannot be followed (%s); put the "
			     "VM's own command line after --",
			     r->vms[0].name, error);
	if (!r->watch[0].is_qemu)
		plan_ahead(r);
	return vms_before_read(r);
}

/* ---- a VM ---- */

/* What /proc says of a process; little if it does not look like a VM yet, or no longer. */
static void vm_read(pid_t pid, const char *comm, struct vm *ret)
{
	char text[64], path[4096] = "";
	const char *base;

	if (!vm_by_pid(pid, ret)) {
		ret->has_kvm |= !strncmp(ret->accel, "kvm", 3);
		if (*ret->cmdline)
			return;
		vm_free(ret);
	}
	debug("attach", "process %d has no command line: %s", pid, error_text());
	proc_exe(pid, path, sizeof(path));
	base = strrchr(path, '/');
	snprintf(text, sizeof(text), "/proc/%d/exe", pid);
	*ret = (struct vm){
		.pid = pid,
		.has_kvm = true,
		.name = strdup(base ? base + 1 : comm),
		.exe = strdup(path),
		.exe_open = strdup(*path ? text : ""),
		.cmdline = strdup(""),
		.machine = strdup(""),
		.accel = strdup("kvm"),
		.version = strdup(""),
		.build_id = strdup(""),
	};
	text_sanitize(ret->name);
}

/* Its entry, made or made anew; the process was found by what happened at that time. Its index or -errno. */
static int vm_enter(struct recording *r, pid_t pid, const char *comm, uint64_t time_ns)
{
	int i = index_of(r, pid);
	struct vm vm = {0};

	vm_read(pid, comm, &vm);
	if (i < 0) {
		i = record_vms_append(r, &vm);
	} else {
		vm_free(&r->vms[i]);
		r->vms[i] = vm;
		vm = (struct vm){0};
	}
	vm_free(&vm);
	if (i >= 0)
		r->watch[i].begin_ns = time_ns;
	return i;
}

static void vm_attach(struct recording *r, unsigned int i)
{
	struct vm_watch *w = &r->watch[i];

	if (collector_vm_add(r->collector, &r->vms[i]))
		command_note("warning: %s", error_text());
	w->attached_ns = monotonic_ns();
	debug("attach", "process %d: %u probes %.1f ms after it was seen", r->vms[i].pid,
	      collector_vm_probes(r->collector, r->vms[i].pid),
	      (double)(w->attached_ns - w->begin_ns) / 1e6);
}

static int vm_take(struct recording *r, pid_t pid, const char *comm, uint64_t time_ns)
{
	int i = vm_enter(r, pid, comm, time_ns);

	if (i >= 0)
		vm_attach(r, (unsigned int)i);
	return i;
}

static void vm_announce(struct recording *r, unsigned int i, const char *how)
{
	char label[VM_LABEL_TEXT];

	if (r->watch[i].told || !i)
		return;
	r->watch[i].told = true;
	vm_label(&r->vms[i], label, sizeof(label));
	command_note("also recording %s, %s", label, how);
}

/* ---- processes ---- */

static bool has_word(const struct vm *vm, const char *word)
{
	const char *at = strstr(vm->cmdline, word);

	return at && (at == vm->cmdline || at[-1] == ' ') &&
	       (!at[strlen(word)] || at[strlen(word)] == ' ');
}

static void daemon_attach(struct recording *r, unsigned int i)
{
	vm_attach(r, i);
	vm_announce(r, i, "the daemon that QEMU became");
}

/*
 * A QEMU that does not have its VM yet forks: as a daemon it continues in the child, else it runs a helper. A daemon
 * forks twice, so that the first child is not worth the time that attaching takes: see pending_attach().
 */
static void process_forked(struct recording *r, pid_t pid, unsigned int parent, uint64_t time_ns)
{
	bool daemon = !r->watch[parent].is_vm && has_word(&r->vms[parent], "-daemonize");
	int i = daemon ? vm_enter(r, pid, "", time_ns) : -1;

	if (i < 0) {
		collector_vm_remove(r->collector, pid);
		return;
	}
	r->watch[i].is_qemu = r->watch[i].forked = true;
	r->watch[parent].replaced = true;
	r->watch[parent].pending = false;
	if (r->watch[parent].forked)
		daemon_attach(r, (unsigned int)i);
	else
		r->watch[i].pending = r->follow.pending = true;
}

/* Attaches to the daemons that have not forked again. */
static void pending_attach(struct recording *r)
{
	uint64_t now = monotonic_ns();

	for (unsigned int i = 0; i < r->nr_vms && r->follow.pending; i++)
		if (r->watch[i].pending && now < r->watch[i].begin_ns + FORK_AGAIN_NS)
			return;
	for (unsigned int i = 0; i < r->nr_vms && r->follow.pending; i++) {
		if (!r->watch[i].pending)
			continue;
		r->watch[i].pending = false;
		daemon_attach(r, i);
	}
	r->follow.pending = false;
}

/* Without KVM no event shows when a vCPU ran first. */
static void late_tcg_warn(const struct recording *r, unsigned int i)
{
	uint64_t run_ns = r->vms[i].has_kvm ? 0 : proc_threads_run_ns(r->vms[i].pid);

	if (run_ns > THREADS_START_NS && collector_vm_probes(r->collector, r->vms[i].pid))
		command_note("warning: the QEMU probes of %s (pid %d) were attached %.1f ms after "
			     "it started, when its guest may have run: earlier virtqueue events "
			     "are missing",
			     r->vms[i].name, r->vms[i].pid,
			     (double)(r->watch[i].attached_ns - r->watch[i].begin_ns) / 1e6);
}

static void process_executed(struct recording *r, pid_t pid, uint64_t time_ns)
{
	char exe[64];
	int i;

	snprintf(exe, sizeof(exe), "/proc/%d/exe", pid);
	if (!collector_exe_is_qemu(r->collector, exe))
		return;
	i = index_of(r, pid);
	if (i >= 0 && r->watch[i].is_qemu) /* the probes were attached before it was let go */
		return;
	i = vm_take(r, pid, "", time_ns);
	if (i < 0)
		return;
	r->watch[i].is_qemu = true;
	vm_announce(r, (unsigned int)i, "started by the command");
	late_tcg_warn(r, (unsigned int)i);
}

static void process_changed(void *arg, pid_t pid, pid_t parent, uint64_t time_ns)
{
	struct recording *r = arg;
	int from = parent ? index_of(r, parent) : -1;

	if (!parent)
		process_executed(r, pid, time_ns);
	else if (from >= 0 && r->watch[from].is_qemu)
		process_forked(r, pid, (unsigned int)from, time_ns);
}

/* ---- vCPUs ---- */

static void late_warn(const struct recording *r, unsigned int i, uint64_t first_ns)
{
	const struct vm_watch *w = &r->watch[i];

	if (first_ns >= w->attached_ns || !collector_vm_probes(r->collector, r->vms[i].pid))
		return;
	command_note(
		"warning: the QEMU probes of %s (pid %d) were attached %.1f ms after its first "
		"vCPU ran: earlier virtqueue events are missing",
		r->vms[i].name, r->vms[i].pid, (double)(w->attached_ns - first_ns) / 1e6);
}

/* The first event of a vCPU: its process is a VM, whatever it executes. */
static void vcpu_seen(struct recording *r, const struct collector_vcpu *v)
{
	int i = index_of(r, v->pid);

	if (i < 0) {
		i = vm_take(r, v->pid, v->comm, v->first_ns);
		if (i >= 0)
			vm_announce(r, (unsigned int)i, "started by the command");
	}
	if (i < 0)
		return;
	late_warn(r, (unsigned int)i, v->first_ns);
	r->watch[i].has_run = true;
	r->watch[i].is_vm |= r->watch[i].pidfd < 0;
}

/* VMs that are completely known need not be followed; if the command itself is one, nothing is. */
static void follow_less(struct recording *r)
{
	for (unsigned int i = 0; i < r->nr_vms; i++)
		if (r->watch[i].is_vm)
			collector_vm_follow(r->collector, r->vms[i].pid, false);
	if (r->watch[0].is_vm)
		r->follow.active = false; /* record_confine_more() */
}

void record_follow_round(struct recording *r)
{
	unsigned int seen = r->follow.vcpus_seen;
	const struct collector_vcpu *v;

	if (!r->follow.active)
		return;
	collector_follow_read(r->collector, process_changed, r);
	pending_attach(r);
	while ((v = collector_vcpu(r->collector, r->follow.vcpus_seen))) {
		vcpu_seen(r, v);
		r->follow.vcpus_seen++;
	}
	if (seen != r->follow.vcpus_seen) {
		record_vms_refresh(r);
		follow_less(r);
	}
}

/* ---- VMs of a daemon ---- */

static bool ran_before(const struct recording *r, pid_t pid)
{
	return array_any(r->follow.before, i, r->follow.vms_before[i] == pid);
}

static bool named_by_command(const struct recording *r, const struct vm *vm)
{
	struct vm_scope scope;

	if (vm_scope_given(&scope) || !vm_is_of_user(vm, &scope))
		return false;
	for (char **word = r->argv + 1; *word; word++)
		if (!strcmp(*word, vm->name))
			return true;
	return false;
}

static bool vm_known(const struct recording *r)
{
	return array_any(r->nr_vms, i,
			 r->watch[i].is_vm || r->watch[i].has_run ||
				 (r->watch[i].is_qemu && !r->watch[i].replaced));
}

/* VMs that appeared since the recording began and are not of the command's processes. *ret is to be freed. */
static unsigned int strangers_list(const struct recording *r, struct vm **ret)
{
	unsigned int nr = 0, kept = 0;
	struct vm *vms = NULL;

	if (vm_list_given(&vms, &nr))
		nr = 0;
	for (unsigned int i = 0; i < nr; i++) {
		struct vm vm = vms[i];

		vms[i] = (struct vm){0};
		if (ran_before(r, vm.pid) || collector_follows(r->collector, vm.pid))
			vm_free(&vm);
		else
			vms[kept++] = vm;
	}
	*ret = vms;
	return kept;
}

void record_follow_look(struct recording *r)
{
	struct vm *vms;
	unsigned int nr;

	if (!r->follow.active || vm_known(r))
		return;
	nr = strangers_list(r, &vms);
	for (unsigned int i = 0; i < nr; i++) {
		int at = named_by_command(r, &vms[i]) ? vm_take(r, vms[i].pid, "", monotonic_ns())
						      : -1;

		if (at < 0)
			continue;
		r->watch[at].is_qemu = true;
		vm_announce(r, (unsigned int)at,
			    "started by another process for the command: its first events are "
			    "missing");
	}
	vm_list_free(vms, nr);
}

/* ---- the end ---- */

static void waiting_tell(struct recording *r, const char *what)
{
	if (!r->follow.waiting_told)
		command_note("the command ended; %s; stop with ^C", what);
	r->follow.waiting_told = true;
}

bool record_follow_ended(struct recording *r)
{
	if (!launch_poll(&r->launch))
		return false;
	record_follow_round(r);
	record_follow_look(r);
	if (vm_known(r) && record_vms_running(r)) {
		waiting_tell(r, "recording until its VMs end");
		return false;
	}
	if (!vm_known(r) && collector_followed(r->collector)) {
		waiting_tell(r, "waiting for a VM of the processes that it left behind");
		return false;
	}
	return true;
}

void record_follow_last(struct recording *r)
{
	char label[VM_LABEL_TEXT];

	record_follow_round(r);
	for (unsigned int i = 0; i < r->nr_vms && r->follow.active; i++) {
		r->watch[i].is_vm |= r->watch[i].has_run;
		if (r->watch[i].has_run && !r->vms[i].start)
			command_note("warning: %s ended before its process was read: its memory, "
				     "devices and command line are not recorded, and its name may "
				     "be another",
				     vm_label(&r->vms[i], label, sizeof(label)));
	}
}

int record_follow_stop(struct recording *r)
{
	uint64_t missed = collector_follow_missed(r->collector);
	char label[VM_LABEL_TEXT];
	unsigned int nr;
	struct vm *vms;

	if (missed)
		command_note("warning: %" PRIu64 " processes of the command were not followed",
			     missed);
	if (r->follow.active && !collector_counts(r->collector)->events)
		for (unsigned int i = 0; i < r->nr_vms; i++)
			if (r->watch[i].has_run)
				return fail(-ENODATA, "no event was recorded although a vCPU of %s "
						      "ran; 'hostrace doctor' lists what there is",
					    vm_label(&r->vms[i], label, sizeof(label)));
	if (!r->follow.active || vm_known(r))
		return 0;
	nr = strangers_list(r, &vms);
	for (unsigned int i = 0; i < nr; i++)
		command_note(
			"VM %s was started meanwhile, but not by the command; to record it: "
			"hostrace record --vm %d",
			vm_label(&vms[i], label, sizeof(label)), vms[i].pid);
	vm_list_free(vms, nr);
	if (collector_counts(r->collector)->events) {
		command_note("warning: the process whose events were recorded is not known");
		return 0;
	}
	return fail(-ESRCH, "'%s' started no VM: nothing was recorded", r->vms[0].name);
}
