// SPDX-License-Identifier: GPL-2.0-or-later
/* Which VMs `hostrace record` records, and whether they still live. */
#include <poll.h>

#include "base/error.h"
#include "collector/kvm_look.h"
#include "commands/common/command.h"
#include "commands/common/vm_options.h"
#include "commands/live/record.h"
#include "vm/disk_server.h"
#include "vm/select.h"

static int vms_choose(struct recording *r)
{
	char list[VM_NAMES_TEXT];
	unsigned int left;
	int err;

	if (record_opt.vms.nr)
		return vm_select_given(&record_opt.vms, &r->vms, &r->nr_vms);
	if (r->argv && !record_opt.all) {
		r->vms = calloc(1, sizeof(*r->vms));
		if (!r->vms)
			return fail(-ENOMEM, "out of memory");
		r->nr_vms = 1;
		return launch_vm(&r->launch, r->argv, r->vms);
	}
	err = record_opt.all ? vm_list_given(&r->vms, &r->nr_vms)
			     : vm_list_own_given(&r->vms, &r->nr_vms);
	if (err)
		return err;
	if (!r->nr_vms)
		return fail(-ESRCH, "no running VM that uses KVM is visible to this user; try: "
				    "sudo hostrace ps --tcg, or hostrace record -- "
				    "qemu-system-x86_64 ...");
	left = vm_list_share(r->vms, &r->nr_vms, COLLECTOR_VMS_MAX);
	if (left)
		command_note("warning: %u VMs are not recorded: at most %d are at once, of other "
			     "users in turn; --vm selects VMs",
			     left, COLLECTOR_VMS_MAX);
	if (r->nr_vms == 1 || record_opt.all)
		return 0;
	vm_list_print(r->vms, r->nr_vms, list, sizeof(list));
	return fail(-EINVAL,
		    "%u VMs are running: %s; select with --vm NAME[,NAME], or all with --all",
		    r->nr_vms, list);
}

int record_vms_choose(struct recording *r)
{
	int err = vms_choose(r);

	if (err || (!record_opt.vms.nr && !record_opt.all && r->argv))
		return err;
	kvm_look_complete(r->vms, r->nr_vms);
	for (unsigned int i = 0; i < r->nr_vms; i++)
		r->vms[i].disk_servers =
			r->vms[i].is_qemu ? disk_servers_read(r->vms[i].pid) : NULL;
	return 0;
}

static bool watch_ended(const struct vm_watch *w)
{
	struct pollfd p = {.fd = w->pidfd, .events = POLLIN};

	return w->pidfd < 0 || poll(&p, 1, 0) > 0;
}

bool record_vm_ended(const struct recording *r, unsigned int i)
{
	return watch_ended(&r->watch[i]);
}

static void watch_look(struct vm_watch *w)
{
	if (w->pidfd < 0 || !watch_ended(w))
		return;
	close(w->pidfd);
	w->pidfd = -1;
	w->is_vm |= w->has_run; /* what is known of it is all that will be */
}

void record_vms_ignore_ended(struct recording *r)
{
	for (unsigned int i = 0; i < r->nr_vms && !r->follow.active; i++)
		if (watch_ended(&r->watch[i]))
			collector_vm_ignore(r->collector, r->vms[i].pid);
}

unsigned int record_vms_running(struct recording *r)
{
	unsigned int running = 0;

	for (unsigned int i = 0; i < r->nr_vms; i++) {
		watch_look(&r->watch[i]);
		running += r->watch[i].pidfd >= 0 && record_vm_counts(r, i);
	}
	return running;
}

/* One round later than the end is seen: the last thread has been switched out, all events have been read. */
void record_vms_give_back(struct recording *r)
{
	for (unsigned int i = 0; i < r->nr_vms && r->follow.active; i++) {
		struct vm_watch *w = &r->watch[i];

		if (w->pidfd < 0 && !w->given_back) {
			w->given_back = true;
			collector_vm_end(r->collector, r->vms[i].pid);
		}
		watch_look(w);
	}
}

static int watch_open(struct vm_watch *w, const struct vm *vm)
{
	int fd = vm_pidfd(vm);

	w->pidfd = fd < 0 ? -1 : fd;
	return fd < 0 && fd != -ESRCH ? fd : 0;
}

int record_vms_watch(struct recording *r)
{
	int err = 0;

	r->watch = calloc(r->nr_vms, sizeof(*r->watch));
	if (!r->watch)
		return fail(-ENOMEM, "out of memory");
	for (unsigned int i = 0; i < r->nr_vms && !err; i++) {
		r->watch[i].is_vm = !r->follow.active;
		err = watch_open(&r->watch[i], &r->vms[i]);
	}
	return err;
}

int record_vms_append(struct recording *r, struct vm *vm)
{
	struct vm *vms = realloc(r->vms, (r->nr_vms + 1) * sizeof(*vms));
	struct vm_watch *watch;
	int err;

	if (!vms)
		return fail(-ENOMEM, "out of memory");
	r->vms = vms;
	watch = realloc(r->watch, (r->nr_vms + 1) * sizeof(*watch));
	if (!watch)
		return fail(-ENOMEM, "out of memory");
	r->watch = watch;
	watch[r->nr_vms] = (struct vm_watch){0};
	err = watch_open(&watch[r->nr_vms], vm);
	if (err)
		return err;
	r->vms[r->nr_vms] = *vm;
	*vm = (struct vm){0};
	return (int)r->nr_vms++;
}

static bool any_watch(const struct recording *r, bool vm)
{
	for (unsigned int i = 0; r->watch && i < r->nr_vms; i++)
		if (!r->watch[i].replaced && (vm ? r->watch[i].is_vm : r->watch[i].is_qemu))
			return true;
	return false;
}

bool record_vm_counts(const struct recording *r, unsigned int i)
{
	const struct vm_watch *w = r->watch ? &r->watch[i] : NULL;

	if (!w || w->is_vm || !(any_watch(r, true) || any_watch(r, false)))
		return !w || !w->replaced;
	return w->is_qemu && !w->replaced && (w->pidfd >= 0 || !any_watch(r, true));
}

/* KVM's descriptors are open, or there will be none: /proc says all about it. */
static bool vm_complete(const struct vm *vm, const struct vm_watch *w)
{
	if (vm->has_kvm)
		return vm->nr_vcpus > 0;
	return strncmp(vm->accel, "kvm", 3) && (w->forked || !strstr(vm->cmdline, "-daemonize"));
}

static bool vm_refresh(struct recording *r, unsigned int i)
{
	struct vm vm;

	if (vm_by_pid(r->vms[i].pid, &vm))
		return false;
	if (!*vm.cmdline) { /* in the middle of execve(): the program is there, its words are not */
		vm_free(&vm);
		return false;
	}
	vm_free(&r->vms[i]);
	r->vms[i] = vm;
	r->watch[i].is_vm = vm_complete(&vm, &r->watch[i]);
	return true;
}

void record_vms_refresh(struct recording *r)
{
	bool changed = false;

	for (unsigned int i = 0; i < r->nr_vms && r->follow.active; i++)
		if (!r->watch[i].is_vm && r->watch[i].pidfd >= 0)
			changed |= vm_refresh(r, i);
	if (!changed)
		return;
	json_decref(r->vms_json);
	r->vms_json = record_vms_describe(r);
}
