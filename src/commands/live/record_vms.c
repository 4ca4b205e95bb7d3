// SPDX-License-Identifier: GPL-2.0-or-later
/* Which VMs `hostrace record` records, and whether they still live. */
#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/error.h"
#include "commands/common/command.h"
#include "commands/live/record.h"
#include "vm/proc.h"
#include "vm/select.h"

enum { ANCESTORS_MAX = 64 };

int record_vms_choose(struct recording *r)
{
	char list[VM_NAMES_TEXT];
	int err;

	if (record_opt.vms.nr)
		return vm_select(&record_opt.vms, &r->vms, &r->nr_vms);
	if (r->argv && !record_opt.all) {
		r->vms = calloc(1, sizeof(*r->vms));
		if (!r->vms)
			return fail(-ENOMEM, "out of memory");
		r->nr_vms = 1;
		return launch_vm(&r->launch, r->argv, r->vms);
	}
	err = vm_list(&r->vms, &r->nr_vms);
	if (err)
		return err;
	if (!r->nr_vms)
		return fail(-ESRCH, "no running VM is visible to this user; try: sudo hostrace ps, "
				    "or hostrace record -- qemu-system-x86_64 ...");
	if (r->nr_vms == 1 || record_opt.all)
		return 0;
	vm_list_print(r->vms, r->nr_vms, list, sizeof(list));
	return fail(-EINVAL,
		    "%u VMs are running: %s; select with --vm NAME[,NAME], or all with --all",
		    r->nr_vms, list);
}

bool record_vms_ended(struct recording *r)
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

int record_vms_watch(struct recording *r)
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

/*
 * A flight recorder writes files later, into directories that may be another user's; what a command
 * has become can only be looked at with what ptrace needs.
 */
uint64_t record_caps(bool command_unknown)
{
	return (record_opt.ring_bytes ? CAPS_KEPT_TO_WRITE : 0) |
	       (command_unknown || record_guest_looks() ? CAPS_KEPT_TO_LOOK : 0);
}

static bool descends(pid_t pid, pid_t from)
{
	for (int i = 0; i < ANCESTORS_MAX && pid > 1; i++, pid = proc_parent(pid))
		if (pid == from)
			return true;
	return false;
}

/* `timeout qemu-system-x86_64 ...` and the like: the probes are set for the wrapper, not for what it starts. */
static void wrapper_tell(struct recording *r)
{
	struct vm *vms = NULL;
	unsigned int nr = 0;

	if (r->wrapper_told || vm_list(&vms, &nr))
		return;
	for (unsigned int i = 0; i < nr && !r->wrapper_told; i++) {
		/* Itself: it has become a VM since it was looked for. */
		if (vms[i].pid == r->launch.pid || !descends(vms[i].pid, r->launch.pid))
			continue;
		r->wrapper_told = true;
		command_note("warning: '%s' started the VM with pid %d, which is not recorded; put "
			     "the VM's own command line after --, or use: hostrace record --vm %d",
			     r->vms[0].name, vms[i].pid, vms[i].pid);
	}
	vm_list_free(vms, nr);
}

/* A command becomes a VM some time after it began: look again until it is one. */
void record_vms_refresh(struct recording *r)
{
	char pid[16];
	struct vm vm;

	if (!r->argv || record_opt.vms.nr || record_opt.all || r->vms[0].nr_vcpus)
		return;
	snprintf(pid, sizeof(pid), "%d", r->vms[0].pid);
	if (vm_find(pid, &vm)) {
		wrapper_tell(r);
		return;
	}
	if (!*vm.cmdline) { /* in the middle of execve(): the program is there, its words are not */
		vm_free(&vm);
		return;
	}
	vm_free(&r->vms[0]);
	r->vms[0] = vm;
	json_decref(r->vms_json);
	r->vms_json = record_vms_describe(r);
	privileges_drop(record_caps(false));
}
