// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * hostrace doctor: what can be recorded here, how, and what to do about the rest. The same plan
 * that `record` attaches is printed, so the two cannot differ.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "commands/common/command.h"
#include "commands/live/doctor.h"

static const char *vm_option;
bool doctor_each_probe;

/* clang-format off */
static const struct option_row options[] = {
	{0, "vm", OPT_TEXT, &vm_option, "PID|NAME", "check this VM only (default: every VM)"},
	{0, "probes", OPT_FLAG, &doctor_each_probe, NULL, "list each event and its probe site instead of groups (same as -v)"},
	{0},
};
/* clang-format on */

bool event_is_kernels(const struct probe_plan *p)
{
	return !strncmp(p->event, "kvm_", 4) || !strncmp(p->event, "sched_", 6);
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
	const struct analyzer *other = analyzer_fallback(a);
	const char *lacks;

	if (any_seen(p, a->begin) && any_seen(p, a->end))
		return WORKS;
	if (other && analyzer_check(p, other, &lacks) == WORKS) {
		*ret = other->name;
		return FALLS_BACK;
	}
	*ret = any_seen(p, a->begin) ? a->end : a->begin;
	return LACKS;
}

/* A binary that cannot be read (another user's VM) still leaves the kernel's events. */
static int vm_report_make(const struct vm *vm, struct vm_report *ret)
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

static int vm_reports_print(const struct vm *vms, unsigned int nr_vms, const struct output *out)
{
	unsigned int nr = nr_vms ? nr_vms : 1;
	_cleanup_free_ struct vm_report *reports = calloc(nr, sizeof(*reports));
	struct host_checks host;
	int err = reports ? 0 : fail(-ENOMEM, "out of memory");

	for (unsigned int i = 0; i < nr && !err; i++)
		err = vm_report_make(nr_vms ? &vms[i] : NULL, &reports[i]);
	if (!err) {
		host_check(&host);
		if (!strcmp(out->format, "json"))
			doctor_json(&host, reports, nr, out);
		else
			doctor_text(&host, reports, nr, out);
	}
	for (unsigned int i = 0; reports && i < nr; i++)
		plan_free(&reports[i].plan);
	if (err)
		return command_failed();
	if (!host_obstacle(&host))
		return EXIT_FINE;
	fail(-EPERM, "recording is not possible: %s", host_obstacle(&host)->text);
	return command_failed();
}

static int run(int argc, char **argv, char **rest)
{
	struct vm one, *vms = NULL;
	struct output out;
	unsigned int nr = 0;
	int status;

	if (argc || rest)
		return command_usage("unexpected argument '%s'; select a VM with --vm",
				     argc ? argv[0] : "--");
	doctor_each_probe |= common.verbose;
	if (vm_option ? vm_find(vm_option, &one) : vm_list(&vms, &nr))
		return command_failed();
	if (output_open("text json", &out)) {
		status = command_failed();
	} else {
		status = vm_reports_print(vm_option ? &one : vms, vm_option ? 1 : nr, &out);
		if (output_close(&out))
			status = command_failed();
	}
	if (vm_option)
		vm_free(&one);
	vm_list_free(vms, nr);
	return status;
}

extern const struct command doctor_command;

const struct command doctor_command = {
	.name = "doctor",
	.args = "",
	.summary = "Show what can be recorded on this host, and what is missing.",
	.group = "Live (needs privileges)",
	.details =
		"Checks the kernel, the capabilities and KVM, then lists for each event how it is\n"
		"recorded: by a tracepoint, by a USDT probe or a function of QEMU, or why it is\n"
		"unavailable. A probe of QEMU is cheap if the kernel emulates the probed\n"
		"instruction, expensive if it single-steps it. Exit status: 0 if recording is\n"
		"possible, 1 if not; the message says what to do.",
	.examples = "  hostrace doctor\n"
		    "  hostrace doctor --vm web1 -f json",
	.options = (const struct option_row *const[]){options, output_options, NULL},
	.run = run,
};
