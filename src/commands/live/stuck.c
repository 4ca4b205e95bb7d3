// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * hostrace stuck: what a VM that hangs waits for, without a recording. Three processes: one that waits and gives up
 * (stuck_guard.h); one that opens files and memory, gives up its privileges, and reads what the guest and QEMU have
 * written; one that reads for it what needs privileges each time (stuck_facts.h).
 */
#include <fcntl.h>
#include <poll.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/memory.h"
#include "base/process.h"
#include "base/user_rights.h"
#include "collector/kvm_look.h"
#include "commands/common/command.h"
#include "commands/common/output.h"
#include "commands/common/vm_options.h"
#include "commands/live/stuck_facts.h"
#include "confine/confine.h"
#include "output/report.h"
#include "output/stuck_report.h"

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

static const struct option_row *const options[] = {rows, vm_user_options, vm_tcg_options,
						   output_file_options, NULL};

static json_t *stuck_head(const struct report *r)
{
	return json_pack("{s:{s:s,s:s}, s:[], s:{}, s:O}", "hostrace", "version", HOSTRACE_VERSION,
			 "command", "stuck", "inputs", "clock", "caveats", r->caveats);
}

static void empty(const struct report *r)
{
	if (!strcmp(r->out->format, "text"))
		fprintf(r->out->file, "no requests are at a device\n");
}

static char *stuck_text(const struct stuck_report *r,
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

static int stuck_draw(const struct stuck_report *r, const char *kvm_error, const struct output *out)
{
	_cleanup_free_ char *findings = stuck_text(r, stuck_findings_print);
	_cleanup_free_ char *threads = stuck_text(r, stuck_threads_print);
	json_t *caveats = json_array(), *extra = stuck_json(r);
	struct table t = {0};
	int err = findings && threads ? stuck_table(r, &t) : fail(-ENOMEM, "out of memory");
	struct report report = {.out = out,
				.wide = out->wide,
				.head = stuck_head,
				.foot = caveats_print,
				.note = command_note,
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

/* ---- what is open while the VM is looked at ---- */

struct looking {
	struct vm vm;
	struct stuck_facts facts;
	struct stuck_kvm kvm;
	struct memory memory; /* closed if memory_error says why */
	char *memory_error;
	int pidfd; /* whether it still has its pid, by which threads and descriptors are read */
	struct unwinder *unwinder; /* NULL: no stacks in user mode */
	struct addresses *symbols;
	char symbols_path[32]; /* of the descriptor: opened with the user's rights */
	struct stuck_look before, now;
};

/* What can only be opened with privileges, or by an unconfined process. */
static int looking_open(struct looking *l)
{
	int err, fd;

	l->pidfd = vm_pidfd(&l->vm);
	err = l->pidfd < 0 ? l->pidfd : stuck_facts_start(&l->facts, &l->vm);
	if (err)
		return err;
	if (memory_open(l->vm.pid, l->vm.start, &l->memory)) {
		l->memory_error = strdup(error_text());
		return l->memory_error ? 0 : fail(-ENOMEM, "out of memory");
	}
	if (stacks_wanted)
		l->unwinder = unwinder_open(l->vm.pid);
	if (!symbols_option)
		return 0;
	fd = open_as_user(symbols_option, O_RDONLY);
	if (fd < 0)
		return fail(-errno, "%s: %s", symbols_option, strerror(errno));
	snprintf(l->symbols_path, sizeof(l->symbols_path), "/proc/self/fd/%d", fd);
	return 0;
}

static void looking_close(struct looking *l)
{
	stuck_kvm_close(&l->kvm);
	stuck_look_free(&l->before);
	stuck_look_free(&l->now);
	addresses_close(l->symbols);
	unwinder_close(l->unwinder);
	memory_close(&l->memory);
	if (l->pidfd >= 0)
		close(l->pidfd);
	free(l->memory_error);
	vm_free(&l->vm);
}

/* From here on, what the guest, QEMU and a file of symbols say is read. */
static int confine_now(const struct looking *l, const struct output *out)
{
	_cleanup_confine_paths_ struct confine_paths *p = confine_paths_new();
	struct confinement c = {.phase = CONFINE_READ, .paths = p};
	const char *output = out->new_file.path;
	char fdinfo[64];
	int err;

	if (!p)
		return -ENOMEM;
	snprintf(fdinfo, sizeof(fdinfo), "/proc/%d/fdinfo", (int)l->vm.pid);
	err = confine_paths_read(p, fdinfo); /* of eventfds */
	if (!err)
		err = confine_paths_read(p, VCPU_DEBUGFS);
	if (!err && *l->symbols_path)
		err = confine_paths_read(p, l->symbols_path);
	if (!err && output)
		err = confine_paths_write(p, output, false);
	return err ? err : confine(&c);
}

/* ---- looking ---- */

/* -EINTR: ^C. */
static int wait_until(uint64_t until_ns, struct stuck_kvm *kvm)
{
	for (uint64_t now = monotonic_ns(); now < until_ns; now = monotonic_ns()) {
		uint64_t left_ms = (until_ns - now) / NS_PER_MS + 1;

		if (stop_pending())
			return fail(-EINTR, "interrupted");
		poll(NULL, 0, left_ms < LOOK_MS ? (int)left_ms : LOOK_MS);
		stuck_kvm_look(kvm);
	}
	return 0;
}

static int stuck_look_once(struct looking *l, struct stuck_look *ret)
{
	int err = stuck_facts_threads(&l->facts, ret);

	ret->memory_error = l->memory_error;
	if (err || l->memory_error)
		return err;
	err = memory_reread(&l->memory);
	return err ? err : stuck_look_memory(&l->vm, &l->memory, ret);
}

/* What was read may be of another process then, which has its pid. */
static int ended_check(const struct looking *l)
{
	struct pollfd p = {.fd = l->pidfd, .events = POLLIN};

	return poll(&p, 1, 0) > 0 ? fail(-ESRCH, "the VM (process %d) ended while it was looked at",
					 (int)l->vm.pid)
				  : 0;
}

static int look_twice(struct looking *l)
{
	int err = stuck_look_once(l, &l->before);

	if (!err)
		err = wait_until(l->before.time_ns + interval_ns, &l->kvm);
	if (!err)
		err = stuck_look_once(l, &l->now);
	if (!err && l->unwinder)
		stuck_stacks_read(l->unwinder, &l->memory, &l->now);
	l->now.kvm = stuck_kvm_state(&l->kvm);
	return ended_check(l) ? -ESRCH : err;
}

static int peers_add(const struct looking *l, struct stuck_report *r)
{
	_cleanup_free_ struct socket_peer *peer = NULL;
	unsigned int nr;
	int err = stuck_facts_peers(&l->facts, &peer, &nr);

	return err ? err : stuck_peer_findings(r, peer, nr);
}

static int looking_symbols_open(struct looking *l)
{
	int err = *l->symbols_path ? addresses_open(l->symbols_path, &l->symbols) : 0;
	_cleanup_free_ char *text = err ? strdup(error_text()) : NULL;

	return err ? fail(err, "%s: %s", symbols_option, text ? text : strerror(-err)) : 0;
}

static int look_and_draw(struct looking *l, struct stuck_guard *guard, const struct output *out,
			 bool *ret_found)
{
	struct stuck_report r = {0};
	int err = looking_symbols_open(l);

	stuck_kvm_open(&l->kvm, &l->vm, &l->facts);
	if (!err)
		err = look_twice(l);
	if (!err)
		err = stuck_report_make(&l->vm, &l->before, &l->now, &r);
	if (!err && r.nr_findings)
		err = peers_add(l, &r);
	r.symbols = l->symbols;
	stuck_facts_stop(&l->facts);
	stuck_guard_done(guard);
	if (!err)
		err = stuck_draw(&r, l->kvm.error, out);
	*ret_found = stuck_report_found(&r, min_age_ns);
	stuck_report_free(&r);
	return err;
}

static int stuck_print(struct stuck_guard *guard)
{
	struct looking l = {.pidfd = -1};
	struct output out;
	bool found = false;

	if (output_open("text json csv", &out))
		return command_failed();
	int err = vm_find_given(vm_option, &l.vm);

	if (!err)
		kvm_look_complete(&l.vm, 1);
	if (!err)
		err = looking_open(&l);
	if (!err)
		err = confine_now(&l, &out);
	if (!err)
		err = look_and_draw(&l, guard, &out, &found);
	looking_close(&l);
	return output_end(err, &out, check && found);
}

static int cmd_stuck(int argc, char **argv)
{
	struct stuck_guard guard;
	int status = EXIT_FAILED;

	if (argc)
		return command_usage("unexpected argument '%s'; select a VM with --vm", argv[0]);
	if (!vm_option)
		return command_usage("select a VM with --vm PID|NAME ('hostrace ps' lists them)");
	int child = stuck_guard_begin(&guard, interval_ns + timeout_ns, &status);

	if (child == -ETIMEDOUT) {
		stacks_wanted = false;
		child = stuck_guard_begin(&guard, interval_ns + timeout_ns, &status);
	}
	if (child < 0)
		return command_failed();
	return child ? stuck_print(&guard) : status;
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
	.rules = (const struct option_rule[]){{"min-age", .with = "check"}, {0}},
	.run = cmd_stuck,
};
