// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Time for which vCPUs were ready to run and had no CPU. It has as many causes as there are kinds of what ran on the
 * CPU meanwhile: each is a finding, with the sum of the time of its tasks, of which there may be many.
 */
#include "output/report/findings.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/units.h"

/* An idle CPU takes less to run a thread that was woken, whatever its sleep state was. */
enum { WAKE_MAX_NS = 1000000 };

enum ran {
	RAN_NOTHING,
	RAN_THROTTLED,
	RAN_OTHER_VM,
	RAN_OWN,
	RAN_HOST,
	RAN_INTERRUPT, /* a thread of the kernel that handles interrupts of the host */
	RAN_RECORDER,  /* hostrace: without it, the VM does not wait for that */
	RAN_UNKNOWN,
	NR_RAN
};

struct steal {
	uint64_t ns[NR_RAN];
	unsigned int nr[NR_RAN];
	const json_t *longest[NR_RAN]; /* task, a row of sched --by task; NULL: not known */
};

static const json_t *thread_row(const struct found *f, json_int_t tid)
{
	const json_t *row;
	size_t i;

	json_array_foreach (rows_of(f, "sched"), i, row)
		if (json_integer_value(json_object_get(row, "tid")) == tid)
			return row;
	return NULL;
}

/* QEMU's name of a vCPU's thread: "CPU 1/KVM (4711)", "CPU 1/TCG (4711)". */
static bool is_vcpu_name(const char *name)
{
	return !strncmp(name, "CPU ", 4) && (strstr(name, "/KVM (") || strstr(name, "/TCG ("));
}

/* "worker (55) of db": the recording has the threads of VMs that ran beside it (blame_task_print()). */
static bool is_of_neighbour(const json_t *task)
{
	char of[48];

	snprintf(of, sizeof(of), "(%" PRIu64 ") of ", number(task, "task_tid"));
	return strstr(text_of(task, "task"), of);
}

/*
 * The process that a thread of the kernel works for, by its name: "kvm-pit/4711 (4720)", "vhost-4711 (4721)",
 * "kvm-nx-lpage-recovery-4711 (4722)". 0: none.
 */
static uint64_t works_for(const char *name)
{
	static const char *const names[] = {"kvm-pit/", "vhost-", "kvm-nx-lpage-recovery-"};

	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
		if (!strncmp(name, names[i], strlen(names[i])))
			return strtoull(name + strlen(names[i]), NULL, 10);
	return 0;
}

/*
 * Counters have the task's process, recordings its thread. The recorder has child processes, as the one that looks what
 * stands still when the recording starts; these are known by their name.
 */
static bool is_recorder(const struct found *f, const json_t *task)
{
	static const char *const names[] = {"hostrace (", "hostrace-decode (", "hostrace-http (",
					    "hostrace-httpd ("};
	const json_t *info = json_object_get(data_of(f->sections, "info"), "result"),
		     *pid = json_object_get(task, "task_pid");

	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
		if (!strncmp(text_of(task, "task"), names[i], strlen(names[i])))
			return true;
	return json_equal(json_object_get(json_object_get(info, "recorder"), "pid"),
			  pid ? pid : json_object_get(task, "task_tid"));
}

/* "ksoftirqd/1 (24)", "irq/35-nvme0q1 (310)" */
static bool handles_interrupts(const char *name)
{
	return !strncmp(name, "ksoftirqd/", 10) || !strncmp(name, "irq/", 4);
}

static enum ran ran_of(const struct found *f, const json_t *row, const json_t *task)
{
	const json_t *tid = json_object_get(task, "task_tid"), *other;
	uint64_t pid;

	if (!json_is_integer(tid))
		return RAN_UNKNOWN;
	if (!json_integer_value(tid))
		return RAN_NOTHING;
	if (is_recorder(f, task))
		return RAN_RECORDER;
	if (*text_of(task, "ran"))
		return strcmp(text_of(task, "ran"), "own") ? RAN_OTHER_VM : RAN_OWN;
	other = thread_row(f, json_integer_value(tid));
	if (other)
		return strcmp(text_of(other, "vm"), text_of(row, "vm")) ? RAN_OTHER_VM : RAN_OWN;
	pid = works_for(text_of(task, "task"));
	if (pid)
		return pid == vm_pid(f, text_of(row, "vm")) ? RAN_OWN : RAN_OTHER_VM;
	if (handles_interrupts(text_of(task, "task")))
		return RAN_INTERRUPT;
	return is_of_neighbour(task) || is_vcpu_name(text_of(task, "task")) ? RAN_OTHER_VM
									    : RAN_HOST;
}

/* Rows of tasks, or of cgroups, are the longest ones; the rest is unknown. */
static void steal_sum(const struct found *f, const json_t *row, struct steal *ret)
{
	const json_t *task, *tid = json_object_get(row, "tid");
	uint64_t ready = number(row, "ready_ns"), sum = 0;
	size_t i;

	*ret = (struct steal){0};
	json_array_foreach (rows_of(f, "sched_tasks"), i, task) {
		uint64_t ns = number(task, "time_ns");
		enum ran ran;

		if (!json_equal(json_object_get(task, "tid"), tid))
			continue;
		ran = ran_of(f, row, task);
		ret->ns[ran] += ns;
		ret->nr[ran]++;
		sum += ns;
		if (ns > number(ret->longest[ran], "time_ns"))
			ret->longest[ran] = task;
	}
	ret->ns[RAN_UNKNOWN] += ready > sum ? ready - sum : 0;
}

/*
 * Whatever had the CPU while a cgroup was throttled, its threads would not have run: first the time in which nothing
 * did, the rest of all others as their times are.
 */
static void throttled_move(const struct found *f, const json_t *row, struct steal *s)
{
	uint64_t throttled = throttled_ns(f, row), others = 0;

	if (!throttled)
		return;
	s->ns[RAN_THROTTLED] = s->ns[RAN_NOTHING];
	s->ns[RAN_NOTHING] = 0;
	if (throttled <= s->ns[RAN_THROTTLED])
		return;
	for (enum ran ran = RAN_OTHER_VM; ran < NR_RAN; ran++)
		others += s->ns[ran];
	throttled -= s->ns[RAN_THROTTLED];
	for (enum ran ran = RAN_OTHER_VM; ran < NR_RAN; ran++) {
		double part = others > throttled ? (double)throttled / (double)others : 1;
		uint64_t ns = (uint64_t)((double)s->ns[ran] * part);

		s->ns[ran] -= ns;
		s->ns[RAN_THROTTLED] += ns;
	}
}

static const char *ran_cause(const json_t *row, enum ran ran)
{
	static const char *const causes[] = {
		[RAN_THROTTLED] = "cpu-quota",	  [RAN_OTHER_VM] = "cpu-other-vm",
		[RAN_OWN] = "cpu-own-threads",	  [RAN_HOST] = "cpu-host-task",
		[RAN_INTERRUPT] = "cpu-host-irq", [RAN_RECORDER] = "recorder",
		[RAN_UNKNOWN] = "cpu-wait"};
	uint64_t waits = number(row, "waits");

	if (ran != RAN_NOTHING)
		return causes[ran];
	return waits && number(row, "ready_ns") / waits < WAKE_MAX_NS ? "cpu-wakeup" : "cpu-quota";
}

/* "; its cgroup /web, with a quota of 0.20 CPUs, was throttled 25 times". */
static const char *quota_print(const struct found *f, const json_t *group, char *buf, size_t size)
{
	snprintf(buf, size,
		 "; its cgroup %.200s, with a quota of %.2f CPUs, was throttled %.0f times",
		 text_of(group, "path"), json_number_value(json_object_get(group, "cpus")),
		 limit_count(f, group, "throttled"));
	return buf;
}

/* "; the CPU was idle meanwhile", "; ran instead: stress (55), 310ms, and 2 other tasks"; "" if unknown. */
static const char *instead_print(const struct found *f, const json_t *row, const struct steal *s,
				 enum ran ran, char *buf, size_t size)
{
	char time[16], more[48] = "", place[WHO_BYTES];

	*buf = '\0';
	if (ran == RAN_NOTHING)
		snprintf(buf, size, "; the CPU was idle meanwhile");
	if (ran == RAN_NOTHING || ran == RAN_UNKNOWN)
		return buf;
	if (s->nr[ran] > 1)
		snprintf(more, sizeof(more), ", and %u other task%s", s->nr[ran] - 1,
			 s->nr[ran] == 2 ? "" : "s");
	snprintf(buf, size, "; ran instead: %s, %s%s%s", text_of(s->longest[ran], "task"),
		 duration_print(number(s->longest[ran], "time_ns"), time, sizeof(time)), more,
		 place_print(f, number(row, "tid"), place, sizeof(place)));
	return buf;
}

static const char *why_print(const struct found *f, const json_t *row, const struct steal *s,
			     enum ran ran, char *buf, size_t size)
{
	return ran == RAN_THROTTLED ? quota_print(f, quota_of(f, number(row, "tid")), buf, size)
				    : instead_print(f, row, s, ran, buf, size);
}

/* ", at most 31ms at a time"; "": counters do not have it. */
static const char *max_print(const json_t *row, char *buf, size_t size)
{
	char max[16];

	*buf = '\0';
	if (json_is_integer(json_object_get(row, "max_ns")))
		snprintf(buf, size, ", at most %s at a time",
			 duration_print(number(row, "max_ns"), max, sizeof(max)));
	return buf;
}

static void steal_add(struct found *f, const json_t *row, const struct steal *s, enum ran ran)
{
	char who[WHO_BYTES], share[SHARE_BYTES], max[48], instead[WHO_BYTES];

	if (!finding_counts(f, share_of(f, s->ns[ran])))
		return;
	finding_add(f, "steal", ran_cause(row, ran), "sched", share_of(f, s->ns[ran]),
		    json_sprintf("%s was ready to run without a CPU for %s%s%s.",
				 vcpu_print(row, who, sizeof(who)),
				 share_print(f, s->ns[ran], share, sizeof(share)),
				 max_print(row, max, sizeof(max)),
				 why_print(f, row, s, ran, instead, sizeof(instead))));
}

/* A guest waits for a thread that has no CPU only while it has a request, and while it sleeps. */
static void server_add(struct found *f, const json_t *row)
{
	const char *vm = text_of(row, "vm");
	uint64_t queues = queues_busy_ns(f, vm), disks = disks_busy_ns(f, vm);
	double most = share_of(f, queues > disks ? queues : disks),
	       asleep = asleep_most(f, vm, true);
	char share[SHARE_BYTES], instead[WHO_BYTES];
	struct steal s;

	most = asleep < most ? asleep : most;
	steal_sum(f, row, &s);
	throttled_move(f, row, &s);
	for (enum ran ran = RAN_THROTTLED; ran < NR_RAN; ran++) {
		double part = share_of(f, s.ns[ran]);

		finding_add(f, "server", ran_cause(row, ran), "sched", part < most ? part : most,
			    json_sprintf("%s's thread %s, which serves devices, was ready to run "
					 "without a CPU for %s%s.",
					 f->vmm, text_of(row, "thread"),
					 share_print(f, s.ns[ran], share, sizeof(share)),
					 why_print(f, row, &s, ran, instead, sizeof(instead))));
	}
}

/* ---- vCPUs without an event ---- */

/* The scheduler's events of all the recording are known, of all threads. */
static bool is_whole(const struct found *f)
{
	return json_is_true(json_object_get(f->sections, "whole")) &&
	       event_is_recorded(f, "sched_switch");
}

/* It could run when it was looked at, and had used no CPU time: without a switch it did not get a CPU at all. */
static bool never_ran(const struct found *f, uint64_t tid)
{
	const json_t *stuck = data_of(f->sections, "stuck"), *vcpu, *busy;
	size_t i;

	if (json_is_false(json_object_get(stuck, "covers")))
		return false;
	json_array_foreach (json_object_get(stuck, "vcpus"), i, vcpu) {
		busy = json_object_get(vcpu, "busy_ns");
		if (number(vcpu, "tid") == tid)
			return !strcmp(text_of(vcpu, "where"), "runnable") &&
			       json_is_integer(busy) && !json_integer_value(busy);
	}
	return false;
}

/* Its time without a CPU is counted when it ends, unlike how often that began. */
static const json_t *quota_open(const struct found *f, uint64_t tid)
{
	const json_t *group, *most = NULL;
	size_t i;

	json_array_foreach (json_object_get(limits_of(f), "cgroups"), i, group)
		if (has_tid(group, tid) && limit_count(f, group, "throttled") > 0 &&
		    (!most || json_number_value(json_object_get(group, "cpus")) <
				      json_number_value(json_object_get(most, "cpus"))))
			most = group;
	return most;
}

static void still_add(struct found *f, const json_t *vm, const json_t *vcpu)
{
	uint64_t tid = number(vcpu, "tid");
	const json_t *group = quota_open(f, tid);
	json_auto_t *row = json_pack("{s:O,s:s}", "vcpu", json_object_get(vcpu, "index"), "vm",
				     vm_name_of(f, number(vm, "pid")));
	char who[WHO_BYTES], share[SHARE_BYTES], why[WHO_BYTES];

	if (group)
		quota_print(f, group, why, sizeof(why));
	else
		place_print(f, tid, why, sizeof(why));
	finding_add(f, "steal", group ? "cpu-quota" : "cpu-wait", "stuck", 1,
		    json_sprintf("%s was ready to run without a CPU for %s, and did not run "
				 "once%s.",
				 vcpu_print(row, who, sizeof(who)),
				 share_print(f, f->span_ns, share, sizeof(share)), why));
}

static void from_still(struct found *f)
{
	const json_t *info = json_object_get(data_of(f->sections, "info"), "result"), *vm, *vcpu;
	size_t i, k;

	if (!is_whole(f))
		return;
	json_array_foreach (json_object_get(info, "vms"), i, vm)
		json_array_foreach (json_object_get(vm, "vcpu_threads"), k, vcpu)
			if (!thread_row(f, json_integer_value(json_object_get(vcpu, "tid"))) &&
			    never_ran(f, number(vcpu, "tid")))
				still_add(f, vm, vcpu);
}

bool findings_cpu(struct found *f)
{
	struct steal s;
	bool any = false;
	const json_t *row;
	size_t i;

	from_still(f);
	json_array_foreach (rows_of(f, "sched"), i, row) {
		if (thread_is_server(row))
			server_add(f, row);
		if (strcmp(text_of(row, "kind"), "vcpu") != 0 ||
		    !json_is_integer(json_object_get(row, "ready_ns")))
			continue;
		any = true;
		if (!finding_counts(f, share_of(f, number(row, "ready_ns"))))
			continue;
		steal_sum(f, row, &s);
		throttled_move(f, row, &s);
		for (enum ran ran = 0; ran < NR_RAN; ran++)
			steal_add(f, row, &s, ran);
	}
	return any;
}
