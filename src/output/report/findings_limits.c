// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * What the metadata "limits" says (vm/limits.h): quotas, and CPU time that the host itself did not get. Its counts
 * are of the whole recording: of a part of it they are taken to be the same share.
 */
#include "output/report/findings.h"

#include <inttypes.h>
#include <string.h>

#include "base/units.h"

static const double MIB = 1 << 20;

static const json_t *limits_of(const struct found *f)
{
	return json_object_get(json_object_get(data_of(f->sections, "info"), "result"), "limits");
}

static bool has_tid(const json_t *group, uint64_t tid)
{
	const json_t *one;
	size_t i;

	json_array_foreach (json_object_get(group, "tids"), i, one)
		if ((uint64_t)json_integer_value(one) == tid)
			return true;
	return false;
}

const json_t *quota_of(const struct found *f, uint64_t tid)
{
	const json_t *group, *most = NULL;
	size_t i;

	json_array_foreach (json_object_get(limits_of(f), "cgroups"), i, group)
		if (number(group, "throttled_ns") > number(most, "throttled_ns") &&
		    has_tid(group, tid))
			most = group;
	return most;
}

/*
 * While a cgroup is throttled on a CPU, its threads there are ready. The time is that of its vCPUs, as they were ready:
 * other threads wait at the same time, mostly on the same CPUs.
 */
uint64_t throttled_ns(const struct found *f, const json_t *thread)
{
	const json_t *group = quota_of(f, number(thread, "tid")), *row;
	uint64_t all = number(limits_of(f), "ns"), ready = number(thread, "ready_ns");
	double throttled = (double)number(group, "throttled_ns"), sum = 0;
	size_t i;

	if (!group)
		return 0;
	if (all > f->span_ns)
		throttled *= (double)f->span_ns / (double)all;
	json_array_foreach (rows_of(f, "sched"), i, row)
		if (!strcmp(text_of(row, "kind"), "vcpu") && has_tid(group, number(row, "tid")))
			sum += (double)number(row, "ready_ns");
	return throttled < sum ? (uint64_t)((double)ready * throttled / sum) : ready;
}

static double sum_of(const json_t *list)
{
	const json_t *one;
	double sum = 0;
	size_t i;

	json_array_foreach (list, i, one)
		sum += json_number_value(one);
	return sum;
}

/* The vCPU whose thread had a CPU the longest; NULL: that is not known of any. */
static const json_t *ran_most(const struct found *f)
{
	const json_t *row, *most = NULL;
	size_t i;

	json_array_foreach (rows_of(f, "sched"), i, row)
		if (!strcmp(text_of(row, "kind"), "vcpu") &&
		    (!most || number(row, "run_ns") > number(most, "run_ns")))
			most = row;
	return most;
}

/*
 * Steal is not known of each thread: it is taken to be the same part of all time that the host's CPUs were busy. A
 * vCPU that slept lost nothing. Where busy time or the scheduler's events are not recorded, the average of all CPUs is
 * the most that it can be.
 */
void findings_host(struct found *f)
{
	const json_t *host = json_object_get(limits_of(f), "host"), *row = ran_most(f);
	const json_t *list = json_object_get(host, "stolen_ns");
	uint64_t all = number(limits_of(f), "ns"), ns;
	double stolen = sum_of(list), busy = sum_of(json_object_get(host, "busy_ns"));
	char share[SHARE_BYTES], who[WHO_BYTES];

	if (!json_array_size(list) || !all)
		return;
	if (json_array_size(rows_of(f, "sched")) && busy > 0) {
		ns = (uint64_t)((double)number(row, "run_ns") *
				(stolen < busy ? stolen / busy : 1));
		finding_add(f, "host-steal", "cpu-host-steal", "info", share_of(f, ns),
			    json_sprintf("The host is a VM itself, and its hypervisor had other "
					 "work (steal) while %s was on a CPU, for about %s.",
					 vcpu_print(row, who, sizeof(who)),
					 share_print(f, ns, share, sizeof(share))));
		return;
	}
	ns = (uint64_t)(stolen / (double)json_array_size(list) * (double)f->span_ns / (double)all);
	finding_add(f, "host-steal", "cpu-host-steal", "info", share_of(f, ns),
		    json_sprintf("The host is a VM itself, and its CPUs did not run for %s on "
				 "average, as its hypervisor had other work (steal).",
				 share_print(f, ns, share, sizeof(share))));
}

uint64_t vm_pid(const struct found *f, const char *vm_name)
{
	const json_t *info = json_object_get(data_of(f->sections, "info"), "result"), *vm;
	uint64_t pid = 0;
	size_t i;

	json_array_foreach (json_object_get(info, "vms"), i, vm)
		if (!strcmp(text_of(vm, "name"), vm_name) ||
		    json_array_size(json_object_get(info, "vms")) == 1)
			pid = number(vm, "pid");
	return pid;
}

const char *vm_name_of(const struct found *f, uint64_t pid)
{
	const json_t *info = json_object_get(data_of(f->sections, "info"), "result"), *vm,
		     *vms = json_object_get(info, "vms");
	size_t i;

	json_array_foreach (vms, i, vm)
		if (json_array_size(vms) > 1 && number(vm, "pid") == pid)
			return text_of(vm, "name");
	return "";
}

const char *io_limits_of(const struct found *f, const char *vm_name)
{
	uint64_t pid = vm_pid(f, vm_name);
	const json_t *group;
	size_t i;

	json_array_foreach (json_object_get(limits_of(f), "cgroups"), i, group)
		if (number(group, "pid") == pid && *text_of(group, "io_limits"))
			return text_of(group, "io_limits");
	return "";
}

/* The VM's cgroup that reached its memory limit most often; NULL: none did. */
static const json_t *memory_limit_of(const struct found *f, const char *vm_name)
{
	uint64_t pid = vm_pid(f, vm_name);
	const json_t *group, *most = NULL;
	size_t i;

	json_array_foreach (json_object_get(limits_of(f), "cgroups"), i, group)
		if (number(group, "pid") == pid &&
		    number(group, "memory_reached") > number(most, "memory_reached"))
			most = group;
	return most;
}

bool memory_print(const struct found *f, const char *vm_name, char *buf, size_t size)
{
	const json_t *group = memory_limit_of(f, vm_name);
	uint64_t swapped = number(json_object_get(limits_of(f), "host"), "swapped_in");

	*buf = '\0';
	if (group)
		snprintf(buf, size,
			 "; its cgroup %.200s reached its memory limit of %.1f MiB %" PRIu64
			 " times",
			 text_of(group, "path"), (double)number(group, "memory") / MIB,
			 number(group, "memory_reached"));
	else if (swapped)
		snprintf(buf, size, "; the host read %" PRIu64 " pages from swap meanwhile",
			 swapped);
	return group;
}
