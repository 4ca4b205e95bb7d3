// SPDX-License-Identifier: GPL-2.0-or-later
/* Causes as text. */
#include <inttypes.h>
#include <string.h>

#include "analyzers/blame/blame.h"
#include "event/exit_reason.h"
#include "event/syscall_table.h"
#include "event/well_known.h"

enum { ACCESS_BYTES = 256 };

const char *const blame_cause_names[BLAME_CAUSES] = {
	[BLAME_KERNEL] = "kernel",
	[BLAME_FAULT] = "fault",
	[BLAME_DEVICE] = "device",
	[BLAME_SIGNAL] = "signal",
	[BLAME_GLOBAL_MUTEX] = "global-mutex",
	[BLAME_HANDOVER] = "handover",
	[BLAME_LOCK] = "lock",
	[BLAME_PREEMPTED] = "preempted",
	[BLAME_RUNQUEUE] = "runqueue",
	[BLAME_SYSCALL] = "syscall",
	[BLAME_HALT_POLL] = "halt-poll",
	[BLAME_HALTED] = "halted",
	[BLAME_HALTED_OR_FAULT] = "halted-or-fault",
	[BLAME_STOPPED] = "stopped",
	[BLAME_INJECT] = "inject",
	[BLAME_UNKNOWN] = "unknown",
};

const char *blame_syscall_print(uint64_t number, char *buf, size_t size)
{
	const char *name = syscall_of_number(number);

	if (name)
		return name;
	snprintf(buf, size, "system call %" PRId64, (int64_t)number);
	return buf;
}

static const char *thread_print(const struct blame_who *who, char *buf, size_t size)
{
	if (!who->tid)
		return "another thread";
	if (who->tid == BLAME_ANY)
		return *who->comm ? who->comm : "a thread";
	snprintf(buf, size, "%s (%u)", *who->comm ? who->comm : "thread", who->tid);
	return buf;
}

/* By QEMU's name of the region, if it was recorded, else by a well-known one. */
static void address_print(const struct blame_who *who, char *buf, size_t size)
{
	bool port = who->kind == BLAME_PORT;
	const char *name = who->region && *who->region
				   ? who->region
				   : well_known_name(port ? "port" : "mmio", who->access);

	if (who->several)
		snprintf(buf, size, "%s of %s", port ? "ports" : "MMIO", name);
	else
		snprintf(buf, size, "%s 0x%" PRIx64 "%s%s%s", port ? "port" : "MMIO", who->access,
			 name ? " (" : "", name ? name : "", name ? ")" : "");
	if (!name && who->region)
		snprintf(buf + strlen(buf), size - strlen(buf), " (no region)");
}

/* "" if unknown. */
static void access_print(const struct blame_who *who, char *buf, size_t size)
{
	const char *name;

	*buf = '\0';
	if (who->kind == BLAME_PORT || who->kind == BLAME_MMIO) {
		address_print(who, buf, size);
		return;
	}
	name = userspace_reason_name((uint32_t)who->access);
	if (who->kind == BLAME_VMM && name)
		snprintf(buf, size, "%s", name);
	else if (who->kind == BLAME_VMM && who->access != BLAME_NO_REASON)
		snprintf(buf, size, "KVM_EXIT %" PRIu64, who->access);
}

/* What the thread sleeps in, and for what access. */
static void sleep_print(const char *what, const struct blame_who *who, char *buf, size_t size)
{
	char access[ACCESS_BYTES];

	access_print(who, access, sizeof(access));
	snprintf(buf, size, "%s%s%s", what, *access ? ", " : "", access);
}

static void mutex_print(const struct blame_who *who, char *buf, size_t size)
{
	char thread[64], number[32];
	const char *name = thread_print(who, thread, sizeof(thread));

	switch (who->kind) {
	case BLAME_RELEASED:
		snprintf(buf, size, "being released");
		break;
	case BLAME_RUNNING:
		snprintf(buf, size, "held by %s, running", name);
		break;
	case BLAME_NO_CPU:
		snprintf(buf, size, "held by %s, no CPU", name);
		break;
	case BLAME_SLEEPING:
		snprintf(buf, size, "held by %s, in %s", name,
			 blame_syscall_print(who->number, number, sizeof(number)));
		break;
	default:
		snprintf(buf, size, "held by %s", name);
	}
}

const char *blame_task_print(const char *comm, uint32_t tid, const char *vm, char *buf, size_t size)
{
	char which[32] = " (several)";

	if (tid != BLAME_SEVERAL)
		snprintf(which, sizeof(which), " (%u)", tid);
	snprintf(buf, size, "%s%s%s%s", *comm ? comm : "thread", tid == BLAME_ANY ? "" : which,
		 vm ? " of " : "", vm ? vm : "");
	return buf;
}

/* The idle task's comm is "swapper/N". */
static void ran_print(const struct blame_who *who, bool preempted, char *buf, size_t size)
{
	char task[BLAME_TASK_BYTES];

	if (who->tid)
		snprintf(buf, size, "%s ran",
			 blame_task_print(who->comm, who->tid, who->vm, task, sizeof(task)));
	else if (*who->comm)
		snprintf(buf, size, preempted ? "its CPU was idle: throttled" : "its CPU was idle");
}

const char *blame_who_print(enum blame_cause cause, const struct blame_who *who, char *buf,
			    size_t size)
{
	char thread[64];

	*buf = '\0';
	switch (cause) {
	case BLAME_DEVICE:
	case BLAME_FAULT:
		access_print(who, buf, size);
		break;
	case BLAME_GLOBAL_MUTEX:
		mutex_print(who, buf, size);
		break;
	case BLAME_HANDOVER:
		snprintf(buf, size, "%s woken, no CPU",
			 thread_print(who, thread, sizeof(thread)));
		break;
	case BLAME_LOCK:
		if (who->number)
			snprintf(thread, sizeof(thread), "futex 0x%" PRIx64, who->number);
		else
			snprintf(thread, sizeof(thread), "a futex");
		sleep_print(thread, who, buf, size);
		break;
	case BLAME_PREEMPTED:
	case BLAME_RUNQUEUE:
		ran_print(who, cause == BLAME_PREEMPTED, buf, size);
		break;
	case BLAME_SYSCALL:
		sleep_print(blame_syscall_print(who->number, thread, sizeof(thread)), who, buf,
			    size);
		break;
	default:
		break;
	}
	return buf;
}

const char *blame_reason_print(uint32_t reason, uint32_t isa, char *buf, size_t size)
{
	if ((!isa && reason == BLAME_IN_RUN) || reason == BLAME_NO_REASON) {
		snprintf(buf, size, reason == BLAME_NO_REASON ? "not recorded" : "KVM_RUN");
		return buf;
	}
	if (isa == BLAME_NO_ISA)
		return value_print("reason", reason, 0, buf, size);
	return isa ? value_print("reason", reason, isa, buf, size)
		   : value_print("userspace_reason", reason, 0, buf, size);
}
