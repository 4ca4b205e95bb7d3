// SPDX-License-Identifier: GPL-2.0-or-later
/* hostrace stuck: what a VM that hangs waits for, without a recording. */
#include <errno.h>
#include <poll.h>
#include <string.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/memory.h"
#include "base/process.h"
#include "collector/kvm_look.h"
#include "commands/common/command.h"
#include "commands/common/output.h"
#include "commands/live/stuck_guard.h"
#include "commands/live/stuck_kvm.h"
#include "commands/live/stuck_stacks.h"
#include "output/report.h"
#include "output/stuck_report.h"
#include "vm/vm.h"

enum { LOOK_MS = 50 /* for a signal */ };

static const char *vm_option, *symbols_option;
static bool check, stacks_wanted = true; /* the latter is no option: reading them took too long */
static uint64_t min_age_ns = NS_PER_S, interval_ns = NS_PER_S, timeout_ns = 60 * NS_PER_S;

/* clang-format off */
static const struct option_row rows[] = {
	{0, "vm",       OPT_TEXT,     &vm_option,   "PID|NAME", "the VM"},
	{0, "interval", OPT_DURATION, &interval_ns, "T",        "time between the two looks (default 1s)"},
	{0, "min-age",  OPT_DURATION, &min_age_ns,  "T",        "what is younger is not stuck, for --check (default 1s)"},
	{0, "timeout",  OPT_DURATION, &timeout_ns,  "T",        "time to read the VM in, besides --interval (default 60s)"},
	{0, "symbols",  OPT_TEXT,     &symbols_option, "FILE",  "read symbols from the guest's kallsyms, System.map or ELF file"},
	{0, "check",    OPT_FLAG,     &check,       NULL,       "exit with status 3 if something is stuck"},
	{0},
};
/* clang-format on */

static const struct option_row *const options[] = {rows, output_file_options, NULL};

static json_t *head(const struct input_set *in, const json_t *caveats)
{
	(void)in;
	return json_pack("{s:{s:s,s:s}, s:[], s:{}, s:O}", "hostrace", "version", HOSTRACE_VERSION,
			 "command", "stuck", "inputs", "clock", "caveats", caveats);
}

static void empty(const struct report *r)
{
	if (!strcmp(r->out->format, "text"))
		fprintf(r->out->file, "no requests are at a device\n");
}

static char *text_of(const struct stuck_report *r,
		     void (*print)(const struct stuck_report *, FILE *))
{
	char *text = NULL;
	size_t size = 0;
	FILE *f = open_memstream(&text, &size);

	if (!f)
		return NULL;
	print(r, f);
	if (!memstream_close(f, &text) || !size)
		return NULL;
	text[size - 1] = '\0';
	return text;
}

static int draw(const struct stuck_report *r, const char *kvm_error, const struct output *out)
{
	_cleanup_free_ char *findings = text_of(r, stuck_findings_print);
	_cleanup_free_ char *threads = text_of(r, stuck_threads_print);
	json_t *caveats = json_array(), *extra = stuck_json(r);
	struct table t = {0};
	int err = findings && threads ? stuck_table(r, &t) : fail(-ENOMEM, "out of memory");
	struct report report = {.out = out,
				.wide = out->wide,
				.head = head,
				.foot = caveats_print,
				.empty = empty,
				.answers = true,
				.first_line = findings,
				.extra_text = threads,
				.caveats = caveats,
				.extra = extra};

	stuck_caveats(r, caveats);
	if (kvm_error)
		caveat_add(caveats, "what KVM knows of the vCPUs is not shown: %s", kvm_error);
	if (!stacks_wanted)
		caveat_add(caveats,
			   "stacks in user mode are left out: the files that QEMU executes could "
			   "not be read in time");
	if (!err)
		err = report_table(&report, &t, NULL);
	else
		table_free(&t);
	json_decref(caveats);
	json_decref(extra);
	return err;
}

/* -EINTR: ^C. */
static int wait_until(uint64_t until_ns, struct stuck_kvm *kvm, pid_t pid)
{
	for (uint64_t now = monotonic_ns(); now < until_ns; now = monotonic_ns()) {
		uint64_t left_ms = (until_ns - now) / NS_PER_MS + 1;

		if (stop_pending())
			return fail(-EINTR, "interrupted");
		poll(NULL, 0, left_ms < LOOK_MS ? (int)left_ms : LOOK_MS);
		stuck_kvm_look(kvm, pid);
	}
	return 0;
}

static int look_twice(const struct vm *vm, struct stuck_kvm *kvm, struct stuck_look *before,
		      struct stuck_look *now)
{
	int err = stuck_look(vm, before);

	if (!err)
		err = wait_until(before->time_ns + interval_ns, kvm, vm->pid);
	if (!err)
		err = stuck_look(vm, now);
	if (!err && stacks_wanted)
		stuck_stacks_read(vm, now);
	now->kvm = kvm_state_of(&kvm->state, vm->pid, NULL);
	return err;
}

static int look_and_draw(const struct vm *vm, struct stuck_guard *guard, const struct output *out,
			 bool *ret_found)
{
	_cleanup_(addresses_cleanup_) struct addresses *symbols = NULL;
	struct stuck_look before = {0}, now = {0};
	struct stuck_report r = {0};
	struct stuck_kvm kvm;
	int err = symbols_option ? addresses_open(symbols_option, &symbols) : 0;

	stuck_kvm_open(&kvm, vm);
	if (!err)
		err = look_twice(vm, &kvm, &before, &now);
	if (!err)
		err = stuck_report_make(vm, &before, &now, &r);
	r.symbols = symbols;
	stuck_guard_done(guard);
	if (!err)
		err = draw(&r, kvm.error, out);
	*ret_found = stuck_report_found(&r, min_age_ns);
	stuck_report_free(&r);
	stuck_kvm_close(&kvm);
	stuck_look_free(&before);
	stuck_look_free(&now);
	return err;
}

static int report(struct stuck_guard *guard)
{
	struct vm vm = {0};
	struct output out;
	bool found = false;

	if (output_open("text json csv", &out))
		return command_failed();
	int err = vm_find(vm_option, &vm);

	if (!err)
		kvm_look_complete(&vm, 1);
	if (!err)
		err = look_and_draw(&vm, guard, &out, &found);
	vm_free(&vm);
	if (err)
		output_cancel(&out);
	else
		err = output_close(&out);
	return err ? command_failed() : check && found ? EXIT_FOUND : EXIT_FINE;
}

static int run(int argc, char **argv, char **rest)
{
	struct stuck_guard guard;
	int status = EXIT_FAILED;

	if (argc || rest)
		return command_usage("unexpected argument '%s'; select a VM with --vm",
				     argc ? argv[0] : "--");
	if (!vm_option)
		return command_usage("select a VM with --vm PID|NAME ('hostrace ps' lists them)");
	int child = stuck_guard_begin(&guard, interval_ns + timeout_ns, &status);

	if (child == -ETIMEDOUT) {
		stacks_wanted = false;
		child = stuck_guard_begin(&guard, interval_ns + timeout_ns, &status);
	}
	if (child < 0)
		return command_failed();
	return child ? report(&guard) : status;
}

const struct command stuck_command = {
	.name = "stuck",
	.args = "",
	.summary = "Show what a VM that hangs waits for, without a recording.",
	.group = "Live (needs privileges)",
	.details =
		"Looks twice at a running VM, from outside: requests that the guest has offered "
		"and\n"
		"that were not returned, from QEMU's and the guest's memory; the states of QEMU's\n"
		"threads. Works on a QEMU that is stopped or does not answer; changes nothing.\n"
		"Findings name lost kicks, lost interrupts, stopped and blocked threads.",
	.examples = "  hostrace stuck --vm web1\n  hostrace stuck --vm 1234 --check --min-age 10s "
		    "-f json",
	.options = options,
	.run = run,
};
