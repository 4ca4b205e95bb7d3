// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Which VMs are watched. Those that start later are found by the counting programs: they note the process of a vCPU
 * that they do not know. To look for VMs in /proc costs a thousand times as much.
 */
#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <string.h>

#include "base/array.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/log.h"
#include "commands/common/vm_options.h"
#include "commands/live/top.h"

enum { SPARE_VCPUS = 32, TASK_VMS_MAX = 32 /* whose guest tasks are counted */ };

/* ---- one VM ---- */

static bool is_countable(const struct vm *vm)
{
	return vm->has_kvm && vm->nr_vcpus;
}

bool top_vm_has_ended(const struct top_watched *w)
{
	struct pollfd p = {.fd = w->pidfd, .events = POLLIN};

	return poll(&p, 1, 0) > 0;
}

/* Steals *vm. kernel: as in struct stat_vm. 0 also if it cannot be watched, which is counted. */
static int top_vms_watch(struct top_vms *t, struct vm *vm, uint32_t kernel)
{
	struct top_watched w = {.vm = *vm,
				.at.guest_kernel = kernel,
				.pidfd = vm_pidfd(vm),
				.since_ns = monotonic_ns()};

	*vm = (struct vm){0};
	if (w.pidfd < 0) {
		vm_free(&w.vm);
		return 0; /* it ended meanwhile */
	}
	w.at.nr = stat_nr_vcpus(t->stat);
	if (!t->only && stat_vm_add(t->stat, &w.vm, &w.at)) {
		debug("attach", "%s", error_text());
		t->refused++;
		w.at.nr = 0;
	}
	if (array_room_kept(t->vm, t->nr, t->max)) {
		close(w.pidfd);
		vm_free(&w.vm);
		return -ENOMEM;
	}
	w.number = ++t->begun;
	t->vm[t->nr++] = w;
	return 0;
}

static void unwatch(struct top_vms *t, unsigned int i)
{
	struct top_watched *w = &t->vm[i];

	if (t->leaves)
		t->leaves(t->arg, w);
	if (!t->only && w->at.nr)
		stat_vm_remove(t->stat, w->vm.pid, &w->at);
	else if (!t->only)
		t->refused--;
	close(w->pidfd);
	vm_free(&w->vm);
	*w = t->vm[--t->nr];
}

static struct top_watched *watched_find(struct top_vms *t, pid_t pid)
{
	return array_find(t->vm, t->nr, i, t->vm[i].vm.pid == pid);
}

/* ---- VMs that come and go ---- */

/* vCPUs were added to it: it gets a larger part of the array, and is counted anew. */
static int again(struct top_vms *t, struct top_model *m, struct vm *vm)
{
	struct top_watched *w = watched_find(t, vm->pid);
	uint32_t kernel = w->at.guest_kernel;

	if (w->at.nr >= vm->nr_vcpus)
		return 0;
	if (m)
		top_model_forget(m, vm->pid);
	unwatch(t, (unsigned int)(w - t->vm));
	return top_vms_watch(t, vm, kernel);
}

static bool is_in_scope(const struct top_vms *t, const struct vm *vm)
{
	return !t->scope.nr_users || vm_is_of_user(vm, &t->scope);
}

static int look_at(struct top_vms *t, struct top_model *m, pid_t pid)
{
	struct vm vm = {0};
	int err = 0;

	if (vm_by_pid(pid, &vm))
		return 0; /* no VM, or it has ended */
	if (watched_find(t, pid))
		err = again(t, m, &vm);
	else if (is_countable(&vm) && is_in_scope(t, &vm))
		err = top_vms_watch(t, &vm, 0);
	vm_free(&vm);
	return err;
}

static int strangers_look(struct top_vms *t, struct top_model *m)
{
	pid_t pid[STAT_STRANGERS];
	unsigned int nr = stat_strangers(t->stat, pid);
	int err = 0;

	for (unsigned int i = 0; i < nr && !err; i++)
		err = look_at(t, m, pid[i]);
	return err;
}

/* The next process with the pid may be a VM, too: what was noted of it is not told from what this one did. */
static int ended_unwatch(struct top_vms *t, struct top_model *m, unsigned int i)
{
	pid_t pid = t->vm[i].vm.pid;

	unwatch(t, i); /* the model still has its last figures */
	return t->only ? 0 : look_at(t, m, pid);
}

int top_vms_look(struct top_vms *t, struct top_model *m)
{
	int err = 0;

	for (unsigned int i = t->nr; i-- && !err;)
		if (top_vm_has_ended(&t->vm[i]))
			err = ended_unwatch(t, m, i);
	return err || t->only ? err : strangers_look(t, m);
}

int top_vms_scan(struct top_vms *t)
{
	struct vm *vms = NULL;
	unsigned int nr = 0;
	int err = vm_list(&t->scope, &vms, &nr, NULL);

	for (unsigned int i = 0; i < nr && !err; i++)
		if (is_countable(&vms[i]) && !watched_find(t, vms[i].pid))
			err = top_vms_watch(t, &vms[i], 0);
	vm_list_free(vms, nr);
	return err;
}

/* ---- reading ---- */

static const struct stat_vcpu *vcpu_at(void *arg, unsigned int index)
{
	const struct top_vms *t = ((void **)arg)[0];
	const struct top_watched *w = ((void **)arg)[1];

	return stat_vcpu(t->stat, w->at.first + index);
}

int top_vms_read(struct top_vms *t, struct top_model *m)
{
	int err = 0;

	top_model_begin(m, monotonic_ns());
	for (unsigned int i = 0; i < t->nr && !err; i++) {
		struct top_watched *w = &t->vm[i];
		void *arg[] = {t, w};

		err = top_model_vm(m, &(struct top_vm_reading){.pid = w->vm.pid,
							       .name = w->vm.name,
							       .since_ns = w->since_ns,
							       .nr_vcpus = w->at.nr,
							       .nr_cells = stat_nr_cells(t->stat),
							       .vcpu = vcpu_at,
							       .arg = arg});
	}
	top_model_end(m);
	return err;
}

void top_note_add(char *buf, size_t size, const char *text)
{
	size_t len = strlen(buf);

	if (text && *text)
		snprintf(buf + len, size - len, "%s%s", len ? "; " : "", text);
}

const char *top_vms_note(const struct top_vms *t, char *buf, size_t size)
{
	char text[96];

	*buf = '\0';
	if (stat_span(t->stat) == STAT_USERSPACE_EXIT)
		top_note_add(buf, size, "no kvm_exit on this KVM backend: only exits to the VMM");
	snprintf(text, sizeof(text), "%u VMs not counted: no capacity", t->refused);
	if (t->refused)
		top_note_add(buf, size, text);
	snprintf(text, sizeof(text), "%" PRIu64 " exits of vCPUs added later not counted",
		 stat_missed(t->stat));
	if (stat_missed(t->stat))
		top_note_add(buf, size, text);
	return *buf ? buf : NULL;
}

/* ---- opening ---- */

static int open_one(struct top_vms *t, const char *selected, bool tasks)
{
	struct stat_request request = {.details = true, .preemptors = true, .nr_kernels = tasks};
	struct vm vm = {0};
	int err = vm_find_given(selected, &vm);

	if (!err)
		err = stat_vm_check(&vm);
	request.only = vm.pid;
	request.nr_vcpus = vm.nr_vcpus;
	t->only = true;
	if (!err)
		err = stat_open_request(&request, &t->stat);
	if (!err)
		err = top_vms_watch(t, &vm, tasks);
	if (!err && !t->nr)
		err = fail(-ESRCH, "the VM '%s' has ended", selected);
	vm_free(&vm);
	return err;
}

/* request: what is counted. */
static int open_all(struct top_vms *t, struct stat_request request, bool tasks)
{
	struct vm *vms = NULL;
	unsigned int nr = 0, kernels = 0, left = 0;
	int err = vm_scope_given(&t->scope);

	if (!err)
		err = vm_list(&t->scope, &vms, &nr, &left);
	if (!err)
		vm_left_note(left);
	for (unsigned int i = 0; i < nr; i++)
		if (is_countable(&vms[i]))
			request.nr_vcpus += vms[i].nr_vcpus;
	request.nr_vcpus += request.nr_vcpus > SPARE_VCPUS ? request.nr_vcpus : SPARE_VCPUS;
	request.nr_kernels = tasks ? TASK_VMS_MAX : 0;
	if (!err)
		err = stat_open_request(&request, &t->stat);
	for (unsigned int i = 0; i < nr && !err; i++)
		if (is_countable(&vms[i]))
			err = top_vms_watch(t, &vms[i],
					    kernels < request.nr_kernels ? ++kernels : 0);
	vm_list_free(vms, nr);
	return err;
}

int top_vms_open(struct top_vms *t, const char *selected, bool tasks)
{
	*t = (struct top_vms){0};
	return selected ? open_one(t, selected, tasks)
			: open_all(t, (struct stat_request){.details = true, .preemptors = true},
				   tasks);
}

int top_vms_open_with_pages(struct top_vms *t)
{
	*t = (struct top_vms){0};
	return open_all(t,
			(struct stat_request){
				.details = true, .pages = true, .steals = true, .preemptors = true},
			false);
}

int top_vms_open_counters(struct top_vms *t)
{
	*t = (struct top_vms){0};
	return open_all(t, (struct stat_request){0}, false);
}

void top_vms_close(struct top_vms *t)
{
	for (unsigned int i = 0; i < t->nr; i++) {
		close(t->vm[i].pidfd);
		vm_free(&t->vm[i].vm);
	}
	free(t->vm);
	stat_close(t->stat);
}
