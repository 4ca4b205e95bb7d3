// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * record --guest-tasks: guest_task events, from which reports know which task of a Linux guest caused an exit. The BPF
 * programs read the guest's current task (bpf/guest_task.bpf.h); where that is, a child process per VM finds out
 * (guest_watch.h) and writes into memory that it shares with them.
 */
#include <errno.h>

#include "base/clock.h"
#include "base/error.h"
#include "commands/common/command.h"
#include "commands/live/record.h"

enum { REPORT_WAIT_MS = 2000 /* the recorder waits so long for the first report of each child */ };

static bool wanted;

/* clang-format off */
const struct option_row record_tasks_options[] = {
	{0, "guest-tasks", OPT_FLAG, &wanted, NULL, "record which task of a Linux guest runs, read from its memory at each exit (exits --by guest-task)"},
	{0},
};
/* clang-format on */

/* The events that call bpf/guest_task.bpf.h. */
static const unsigned int with_task[] = {EV_kvm_exit,	   EV_kvm_userspace_exit, EV_kvm_pio,
					 EV_kvm_mmio,	   EV_kvm_msr,		  EV_kvm_hypercall,
					 EV_kvm_page_fault, EV_guest_sample,	  EV_guest_stack};

static int tasks_choose(struct collector_options *c)
{
	bool used = false;

	c->guest_tasks = wanted;
	if (wanted && c->follow) /* its children may be started only before privileges are given up */
		return fail_usage(-EINVAL,
				  "--guest-tasks requires a VM that already runs: start the VM, "
				  "then record it with --vm");
	for (size_t i = 0; i < sizeof(with_task) / sizeof(with_task[0]); i++)
		used |= c->wants[with_task[i]];
	if (wanted && !used)
		return fail_usage(-EINVAL, "--guest-tasks has no effect without events of exits, "
					   "at which the task is read; see --events");
	return 0;
}

static void tasks_report(const struct recording *r, unsigned int i)
{
	if (r->tasks[i].known)
		command_note("guest tasks of pid %d: %.60s", r->vms[i].pid, r->tasks[i].text);
}

static int tasks_start(struct recording *r)
{
	uint64_t until = monotonic_ns() + REPORT_WAIT_MS * NS_PER_MS;
	int err = 0;

	if (!wanted)
		return 0;
	r->tasks = calloc(r->nr_vms, sizeof(*r->tasks));
	if (!r->tasks)
		return fail(-ENOMEM, "out of memory");
	r->nr_tasks = r->nr_vms;
	for (unsigned int i = 0; i < r->nr_tasks && !err; i++)
		err = guest_watch_start(&r->tasks[i], &r->vms[i],
					collector_guest_kernel(r->collector, i));
	for (unsigned int i = 0; i < r->nr_tasks && !err; i++)
		if (guest_watch_wait(&r->tasks[i], until))
			tasks_report(r, i);
	return err;
}

static int round_end(struct recording *r, uint64_t now_ns)
{
	(void)now_ns;
	for (unsigned int i = 0; i < r->nr_tasks; i++)
		if (!r->tasks[i].known && guest_watch_read(&r->tasks[i]))
			tasks_report(r, i);
	return 0;
}

static int tasks_stop(struct recording *r)
{
	for (unsigned int i = 0; i < r->nr_tasks; i++)
		guest_watch_stop(&r->tasks[i]);
	return 0;
}

/* The programs find a vCPU's slot by KVM's struct of it, which is only at hand while KVM has the vCPU loaded. */
static void none_report(const struct recording *r)
{
	bool known = false;

	for (unsigned int i = 0; i < r->nr_tasks; i++)
		known = known || r->tasks[i].known;
	if (known && !collector_counts(r->collector)->by_type[EV_guest_task])
		command_note("warning: no guest task was recorded: no recorded event came while "
			     "KVM had a vCPU loaded; add kvm_exit,kvm_pio,kvm_mmio to --events");
}

static void tasks_summary(struct recording *r)
{
	none_report(r);
	for (unsigned int i = 0; i < r->nr_tasks; i++)
		if (!r->tasks[i].known)
			command_note("warning: no guest tasks of pid %d: %s", r->vms[i].pid,
				     guest_watch_why(&r->tasks[i]));
}

static void close_all(struct recording *r)
{
	tasks_stop(r);
	free(r->tasks);
}

const struct record_part record_tasks_part = {
	.choose = tasks_choose,
	.start = tasks_start,
	.round = round_end,
	.stop = tasks_stop,
	.summary = tasks_summary,
	.close = close_all,
};
