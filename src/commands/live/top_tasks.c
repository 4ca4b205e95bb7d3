// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * top --guest-tasks: which task of a Linux guest caused the exits, of the VMs that run at the start. The counting
 * programs read the guest's current task; a child process per VM finds out where that is (guest_watch.h).
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/clock.h"
#include "base/error.h"
#include "commands/live/guest_watch.h"
#include "commands/live/top.h"

struct task_watch {
	pid_t pid; /* of the VM */
	struct guest_watch watch;
};

struct top_tasks {
	bool rejected; /* by the host's kernel */
	unsigned int nr;
	struct task_watch vm[];
};

static bool is_unknown(const struct task_watch *w)
{
	return w->watch.pid && !w->watch.known;
}

int top_tasks_open(const struct top_vms *vms, struct top_tasks **ret)
{
	struct top_tasks *t = calloc(1, sizeof(*t) + vms->nr * sizeof(t->vm[0]));
	uint64_t until = monotonic_ns() + NS_PER_S;
	int err = 0;

	if (!t)
		return fail(-ENOMEM, "out of memory");
	*ret = t;
	t->rejected = !stat_has_tasks(vms->stat);
	for (unsigned int i = 0; i < vms->nr && !t->rejected && !err; i++) {
		const struct top_watched *vm = &vms->vm[i];
		struct task_watch *w = &t->vm[t->nr];

		if (!vm->at.guest_kernel)
			continue;
		w->pid = vm->vm.pid;
		t->nr++;
		err = guest_watch_start(&w->watch, &vm->vm,
					stat_guest_kernel(vms->stat, vm->at.guest_kernel - 1));
	}
	for (unsigned int i = 0; i < t->nr && !err; i++)
		guest_watch_wait(&t->vm[i].watch, until);
	return err;
}

void top_tasks_close(struct top_tasks *t)
{
	for (unsigned int i = 0; t && i < t->nr; i++)
		guest_watch_stop(&t->vm[i].watch);
	free(t);
}

static bool is_watched(const struct top_vms *vms, pid_t pid)
{
	for (unsigned int i = 0; i < vms->nr; i++)
		if (vms->vm[i].vm.pid == pid)
			return true;
	return false;
}

void top_tasks_look(struct top_tasks *t, const struct top_vms *vms)
{
	for (unsigned int i = 0; t && i < t->nr; i++) {
		struct task_watch *w = &t->vm[i];

		if (!is_watched(vms, w->pid))
			guest_watch_stop(&w->watch);
		else if (is_unknown(w))
			guest_watch_read(&w->watch);
	}
}

const char *top_tasks_why(const struct top_tasks *t, uint64_t pid, char *buf, size_t size)
{
	const char *why = NULL;

	for (unsigned int i = 0; t && i < t->nr; i++)
		if ((uint64_t)t->vm[i].pid == pid && is_unknown(&t->vm[i]))
			why = guest_watch_why(&t->vm[i].watch);
	if (t && t->rejected)
		why = "this kernel rejects the BPF program";
	snprintf(buf, size, "no guest tasks: %s", why ? why : "");
	return why ? buf : NULL;
}

const char *top_tasks_note(const struct top_tasks *t, char *buf, size_t size)
{
	const struct task_watch *first = NULL;
	unsigned int nr = 0;

	for (unsigned int i = 0; t && i < t->nr; i++)
		if (is_unknown(&t->vm[i]) && !nr++)
			first = &t->vm[i];
	if (t && t->rejected)
		snprintf(buf, size, "no guest tasks: this kernel rejects the BPF program");
	else if (nr > 1)
		snprintf(buf, size, "no guest tasks of %u VMs", nr);
	else if (nr)
		snprintf(buf, size, "no guest tasks of %d: %s", (int)first->pid,
			 guest_watch_why(&first->watch));
	return (t && t->rejected) || nr ? buf : NULL;
}
