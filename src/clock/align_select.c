// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Limits an alignment to the VMs, vCPUs and threads that the user selected, after the host's inputs are read: only then
 * is it known which vCPUs and threads there are, and an error message can list them.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/units.h"
#include "clock/align_internal.h"

enum { LIST_TEXT = 400 };

static bool listed(const uint32_t *list, unsigned int nr, uint32_t value)
{
	for (unsigned int i = 0; i < nr; i++)
		if (list[i] == value)
			return true;
	return !nr;
}

/* ---- what there is ---- */

static const char *vm_name(const struct align *a, uint32_t pid)
{
	for (unsigned int i = 0; i < a->nr_vms; i++)
		if (a->vm[i].pid == pid)
			return a->vm[i].name;
	return "";
}

/* "VM 100 (red): vCPU 0 (thread 100), vCPU 1 (thread 101); VM 200 ..." */
static void vcpus_list(const struct align *a, char *text, size_t size)
{
	size_t len = 0;

	text[0] = 0;
	for (unsigned int i = 0; i < a->nr_vcpus && len + 160 < size; i++) {
		const struct align_vcpu *v = &a->vcpu[i], *last = i ? v - 1 : NULL;
		bool same = last && last->pid == v->pid;

		len += (size_t)snprintf(text + len, size - len, "%s", same ? ", " : i ? "; " : "");
		if (!same && v->pid)
			len += (size_t)snprintf(text + len, size - len, "VM %" PRIu32 "%s%.64s%s: ",
						v->pid, *vm_name(a, v->pid) ? " (" : "",
						vm_name(a, v->pid),
						*vm_name(a, v->pid) ? ")" : "");
		len += (size_t)snprintf(text + len, size - len, "vCPU %u", v->vcpu);
		if (v->tid)
			len += (size_t)snprintf(text + len, size - len, " (thread %" PRIu32 ")",
						v->tid);
	}
	if (len + 160 >= size)
		snprintf(text + len, size - len, ", ...");
	text_sanitize(text);
}

static int by_vm(const void *va, const void *vb)
{
	const struct align_vcpu *a = va, *b = vb;

	if (a->pid != b->pid)
		return a->pid < b->pid ? -1 : 1;
	return (a->vcpu > b->vcpu) - (a->vcpu < b->vcpu);
}

static int nothing_selected(const struct align *a, const char *what, uint32_t value)
{
	char text[LIST_TEXT];

	vcpus_list(a, text, sizeof(text));
	return fail(-ESRCH, "the host's recording has no %s %" PRIu32 "; it has: %s", what, value,
		    text);
}

/* ---- threads without a process ---- */

/*
 * In a recording without process ids two threads that ran a vCPU of the same number are of two VMs. Which other threads
 * belong to them is unknown: each becomes a VM of its own, as in readers/ftrace/vm_threads.h.
 */
void align_threads_split(struct align *a)
{
	bool collide = false;

	for (unsigned int i = 0; i < a->nr_vcpus; i++)
		for (unsigned int k = 0; k < i; k++)
			collide |= !a->vcpu[i].pid && !a->vcpu[k].pid &&
				   a->vcpu[i].vcpu == a->vcpu[k].vcpu;
	for (unsigned int i = 0; collide && i < a->nr_vcpus; i++)
		if (!a->vcpu[i].pid)
			a->vcpu[i].pid = a->vcpu[i].tid;
}

/* ---- the selection ---- */

/* Does any vCPU pass these? */
static bool any_selected(const struct align *a, const struct align_selection *s)
{
	for (unsigned int i = 0; i < a->nr_vcpus; i++)
		if (listed(s->pids, s->nr_pids, a->vcpu[i].pid) &&
		    listed(s->vcpus, s->nr_vcpus, a->vcpu[i].vcpu) &&
		    listed(s->tids, s->nr_tids, a->vcpu[i].tid))
			return true;
	return false;
}

int align_select(struct align *a, const struct align_selection *selection)
{
	struct align_selection s = *selection;
	unsigned int kept = 0;

	if (a->nr_vcpus)
		qsort(a->vcpu, a->nr_vcpus, sizeof(*a->vcpu), by_vm);
	a->pid = s.nr_pids == 1 ? s.pids[0] : 0;
	if (!a->nr_vcpus)
		return 0;
	if (!any_selected(a, &(struct align_selection){.pids = s.pids, .nr_pids = s.nr_pids}))
		return nothing_selected(a, "vCPU of VM", s.pids[0]);
	if (!any_selected(a, &(struct align_selection){.vcpus = s.vcpus, .nr_vcpus = s.nr_vcpus}))
		return nothing_selected(a, "vCPU", s.vcpus[0]);
	if (s.nr_tids && !any_selected(a, &s)) { /* they may be a guest's tasks, or QEMU's other threads */
		a->unmatched_tid = s.tids[0];
		s.nr_tids = 0;
	}
	if (!any_selected(a, &s))
		return nothing_selected(a, "such vCPU in the selected VMs: vCPU", s.vcpus[0]);
	a->only_selected = s.nr_vcpus || s.nr_tids;
	a->by_tids = s.nr_tids;
	a->selected = s.nr_pids || a->only_selected;
	for (unsigned int i = 0; i < a->nr_vcpus; i++) {
		struct align_vcpu *v = &a->vcpu[i];

		if (listed(s.pids, s.nr_pids, v->pid) && listed(s.vcpus, s.nr_vcpus, v->vcpu) &&
		    listed(s.tids, s.nr_tids, v->tid))
			a->vcpu[kept++] = *v;
		else
			align_vcpu_deinit(v);
	}
	a->nr_vcpus = kept;
	return 0;
}

bool align_by_tids(const struct align *a)
{
	return a->by_tids;
}

int align_check_tids(const struct align *a)
{
	return a->unmatched_tid ? nothing_selected(a, "vCPU thread", a->unmatched_tid) : 0;
}

bool align_uses_cpu(const struct align *a, unsigned int cpu)
{
	for (unsigned int i = 0; a->only_selected && i < a->nr_vcpus; i++)
		if (a->vcpu[i].vcpu == cpu)
			return true;
	return !a->only_selected;
}
