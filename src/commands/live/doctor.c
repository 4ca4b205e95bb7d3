// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * hostrace doctor: what can be recorded here, how, and what to do about the rest. The same plan
 * that `record` attaches is printed, so the two cannot differ.
 */

#include "base/cleanup.h"
#include "base/error.h"
#include "base/json_text.h"
#include "collector/kvm_look.h"
#include "commands/common/command.h"
#include "commands/common/output.h"
#include "commands/common/vm_options.h"
#include "output/live/doctor.h"

static const char *vm_option;
static bool each_event;

/* clang-format off */
static const struct option_row options[] = {
	{0, "vm", OPT_TEXT, &vm_option, "PID|NAME", "check this VM only (default: every VM)"},
	{0, "probes", OPT_FLAG, &each_event, NULL, "list each event and its probe site instead of groups (same as -v)"},
	{0},
};
/* clang-format on */

static void print_json(const struct host_checks *host, const struct vm_report *reports,
		       unsigned int nr, FILE *f)
{
	json_t *all = json_pack("{s:{s:s,s:s},s:[],s:{},s:[]}", "hostrace", "version",
				HOSTRACE_VERSION, "command", "doctor", "inputs", "clock",
				"caveats");

	doctor_json(host, reports, nr, all);
	json_text_put(all, f, JSON_INDENT(1));
	fputc('\n', f);
	json_decref(all);
}

static int vm_reports_print(struct vm *vms, unsigned int nr_vms, const struct output *out)
{
	unsigned int nr = nr_vms ? nr_vms : 1;
	_cleanup_free_ struct vm_report *reports = calloc(nr, sizeof(*reports));
	struct kvm_state state;
	_cleanup_free_ char *state_error = kvm_look(&state) ? strdup(error_text()) : NULL;
	struct host_checks host;
	int err = reports ? 0 : fail(-ENOMEM, "out of memory");

	kvm_state_complete(&state, vms, nr_vms);
	for (unsigned int i = 0; i < nr && !err; i++)
		err = vm_report_make(nr_vms ? &vms[i] : NULL, &reports[i]);
	if (!err) {
		vm_reports_complete(reports, nr, &state, state_error);
		host_check(&host, state_error);
		if (!strcmp(out->format, "json"))
			print_json(&host, reports, nr, out->file);
		else
			doctor_text(&host, reports, nr, each_event, out);
	}
	for (unsigned int i = 0; reports && i < nr; i++)
		vm_report_free(&reports[i]);
	kvm_state_free(&state);
	if (err)
		return command_failed();
	if (!host_obstacle(&host))
		return EXIT_FINE;
	fail(-EPERM, "recording is not possible: %s", host_obstacle(&host)->text);
	return command_failed();
}

static int cmd_doctor(int argc, char **argv)
{
	struct vm one, *vms = NULL;
	struct output out;
	unsigned int nr = 0;
	int status;

	if (argc)
		return command_usage("unexpected argument '%s'; select a VM with --vm", argv[0]);
	each_event |= common.verbose;
	if (collector_memory_check())
		return command_failed();
	if (vm_option ? vm_find_given(vm_option, &one) : vm_list_given(&vms, &nr))
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
	.options = (const struct option_row *const[]){options, vm_user_options, vm_tcg_options,
						      output_options, NULL},
	.unused = "limit sort",
	.run = cmd_doctor,
};
