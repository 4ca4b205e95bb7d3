// SPDX-License-Identifier: GPL-2.0-or-later
/* What can be recorded and measured of one VM. `doctor` prints it. */

#include "base/error.h"
#include "collector/collector.h"

bool event_is_kernels(const char *event)
{
	return !strncmp(event, "kvm_", 4) || !strncmp(event, "sched_", 6) ||
	       !strncmp(event, "host_", 5) || !strncmp(event, "syscall_", 8);
}

bool uses_kvm(const struct vm *vm)
{
	return vm->has_kvm || !strcmp(vm->accel, "kvm");
}

static bool can_see(const struct vm_report *p, const char *event)
{
	const struct probe_plan *probe = plan_of(&p->plan, event);

	if (p->vm && !uses_kvm(p->vm) && !strncmp(event, "kvm_", 4))
		return false;
	return probe && probe->how != PROBE_ABSENT && !probe->doubtful;
}

/* Is one of the comma-separated events to be seen? No list: nothing is needed. */
static bool any_seen(const struct vm_report *p, const char *list)
{
	char event[EVENT_NAME_MAX];

	if (!list)
		return true;
	while (*list) {
		size_t len = strcspn(list, ",");

		snprintf(event, sizeof(event), "%.*s", (int)len, list);
		if (can_see(p, event))
			return true;
		list += len + (list[len] == ',');
	}
	return false;
}

enum verdict analyzer_check(const struct vm_report *p, const struct analyzer *a, const char **ret)
{
	const struct analyzer *other;
	const char *lacks;

	if (any_seen(p, a->begin) && any_seen(p, a->end))
		return WORKS;
	for (unsigned int i = 0; (other = analyzer_fallback(a, i)); i++)
		if (analyzer_check(p, other, &lacks) == WORKS) {
			*ret = other->name;
			return FALLS_BACK;
		}
	*ret = any_seen(p, a->begin) ? a->end : a->begin;
	return LACKS;
}

int vm_report_make(const struct vm *vm, struct vm_report *ret)
{
	*ret = (struct vm_report){.vm = vm};
	if (plan_make(vm ? vm->exe_open : NULL, &ret->plan)) {
		ret->unreadable = true;
		return plan_make(NULL, &ret->plan);
	}
	for (unsigned int i = 0; i < ret->plan.nr; i++) {
		struct probe_plan *p = &ret->plan.probe[i];

		if (vm && uses_kvm(vm) && !strcmp(p->event, "qemu_pio"))
			*p = (struct probe_plan){
				.event = p->event,
				.group = p->group,
				.about = p->about,
				.reason = "not needed under KVM: kvm_pio has the same data"};
	}
	return 0;
}

static void memory_describe(struct vm_report *p, const struct kvm_vm *kvm)
{
	struct memory m = {0};

	if (!kvm) {
		snprintf(p->memory, sizeof(p->memory), "unknown: no VM of this process was found");
		return;
	}
	if (memory_open(p->vm->pid, p->vm->start, &m))
		snprintf(p->memory, sizeof(p->memory), "%s", error_text());
	else
		kvm_memory_describe(kvm, &m, p->memory, sizeof(p->memory));
	memory_close(&m);
}

void vm_reports_complete(struct vm_report *reports, unsigned int nr, const struct kvm_state *state,
			 const char *error)
{
	for (unsigned int i = 0; i < nr; i++) {
		const struct vm *vm = reports[i].vm;

		if (vm && vm->has_kvm && error)
			snprintf(reports[i].memory, sizeof(reports[i].memory), "%s", error);
		else if (vm && vm->has_kvm)
			memory_describe(&reports[i], kvm_state_of(state, vm->pid, NULL));
	}
}

void vm_report_free(struct vm_report *p)
{
	plan_free(&p->plan);
}
