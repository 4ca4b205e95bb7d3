// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * What the metadata "limits" says (vm/limits.h): its counts in the window that is diagnosed, by their values every
 * second; quotas; limits of memory and I/O.
 */
#include "output/report/findings.h"

#include <inttypes.h>
#include <string.h>

#include "base/units.h"

static const double MIB = 1 << 20;

const json_t *limits_of(const struct found *f)
{
	return json_object_get(json_object_get(data_of(f->sections, "info"), "result"), "limits");
}

/* ---- counts ---- */

struct point {
	double time, value;
};

static double value_between(struct point a, struct point b, double time)
{
	double part = b.time > a.time ? (time - a.time) / (b.time - a.time) : 1;

	part = part < 0 ? 0 : part > 1 ? 1 : part;
	return a.value + part * (b.value - a.value);
}

/* The count until then: between two readings it is taken to grow evenly. A reading that goes back is not one. */
static double value_at(const struct found *f, const json_t *every, double total, double time)
{
	const json_t *limits = limits_of(f), *at = json_object_get(limits, "at_ns"), *one;
	double start = (double)number(limits, "start_ns");
	struct point before = {start, 0}, p;
	size_t i;

	json_array_foreach (every, i, one) {
		p = (struct point){json_number_value(json_array_get(at, i)),
				   json_number_value(one)};
		if (p.time < before.time || p.value < before.value || p.value > total)
			continue;
		if (p.time >= time)
			return value_between(before, p, time);
		before = p;
	}
	p = (struct point){start + (double)number(limits, "ns"), total};
	return value_between(before, p, time);
}

/*
 * Of a count with this total, in the window: by its readings if the recording has their times, else in proportion.
 * Where events are known of a part of the window only, it is that part.
 */
static double count_in_window(const struct found *f, const json_t *every, double total)
{
	const json_t *info = json_object_get(data_of(f->sections, "info"), "result");
	const char *key = json_object_get(info, "window_start_ns") ? "window_start_ns" : "start_ns";
	double start = (double)number(info, key), span = (double)number(info, "span_ns"),
	       all = (double)number(limits_of(f), "ns");

	if (total <= 0 || all <= 0)
		return 0;
	if (!json_is_integer(json_object_get(limits_of(f), "start_ns")) || f->is_interval)
		return all > (double)f->span_ns ? total * (double)f->span_ns / all : total;
	total = value_at(f, every, total, start + span) - value_at(f, every, total, start);
	return f->is_part && span > 0 ? total * (double)f->span_ns / span : total;
}

double limit_count(const struct found *f, const json_t *of, const char *name)
{
	return count_in_window(f, json_object_get(json_object_get(of, "every"), name),
			       (double)number(of, name));
}

double limit_cpu_count(const struct found *f, const char *name, size_t cpu)
{
	const json_t *host = json_object_get(limits_of(f), "host"),
		     *every = json_object_get(json_object_get(host, "every"), name);

	return count_in_window(f, json_array_get(every, cpu),
			       json_number_value(json_array_get(json_object_get(host, name), cpu)));
}

/* ---- threads ---- */

const json_t *place_of(const struct found *f, uint64_t tid)
{
	const json_t *vm, *thread;
	size_t i, k;

	json_array_foreach (json_object_get(limits_of(f), "vms"), i, vm)
		json_array_foreach (json_object_get(vm, "threads"), k, thread)
			if (tid && number(thread, "tid") == tid)
				return thread;
	return NULL;
}

/* Is the list "0-3" that of all CPUs? */
static bool is_everywhere(const struct found *f, const char *cpus)
{
	size_t nr =
		json_array_size(json_object_get(json_object_get(limits_of(f), "host"), "busy_ns"));
	char all[32];

	snprintf(all, sizeof(all), nr > 1 ? "0-%zu" : "%zu", nr - 1);
	return !strcmp(cpus, all);
}

bool has_tid(const json_t *group, uint64_t tid)
{
	const json_t *one;
	size_t i;

	json_array_foreach (json_object_get(group, "tids"), i, one)
		if ((uint64_t)json_integer_value(one) == tid)
			return true;
	return false;
}

/* The cgroup of the thread with the smallest weight for CPU time, if that is below the default; NULL: there is none. */
static const json_t *light_group(const struct found *f, uint64_t tid)
{
	const json_t *group, *least = NULL;
	double weight, min = 1;
	size_t i;

	json_array_foreach (json_object_get(limits_of(f), "cgroups"), i, group) {
		weight = json_number_value(json_object_get(group, "weight"));
		if (weight > 0 && weight < min && has_tid(group, tid)) {
			least = group;
			min = weight;
		}
	}
	return least;
}

const char *place_print(const struct found *f, uint64_t tid, char *buf, size_t size)
{
	const json_t *place = place_of(f, tid);
	const char *cpus = text_of(place, "cpus"), *policy = text_of(place, "policy");
	json_int_t nice = json_integer_value(json_object_get(place, "nice"));
	const json_t *group = light_group(f, tid);
	size_t len = 0;

	*buf = '\0';
	if (*cpus && !is_everywhere(f, cpus))
		len = (size_t)snprintf(buf, size, "; it may run on CPU%s %.64s only",
				       cpus[strspn(cpus, "0123456789")] ? "s" : "", cpus);
	if (nice > 0 && len < size)
		len += (size_t)snprintf(buf + len, size - len, "; its nice value is %d", (int)nice);
	if (!strcmp(policy, "idle") && len < size)
		len += (size_t)snprintf(buf + len, size - len, "; its scheduling policy is %s",
					policy);
	if (group && len < size)
		snprintf(buf + len, size - len,
			 "; its cgroup %.128s has %.3g of the default weight for CPU time",
			 text_of(group, "path"),
			 json_number_value(json_object_get(group, "weight")));
	return buf;
}

/* ---- quotas ---- */

const json_t *quota_of(const struct found *f, uint64_t tid)
{
	const json_t *group, *most = NULL;
	size_t i;

	json_array_foreach (json_object_get(limits_of(f), "cgroups"), i, group)
		if (limit_count(f, group, "throttled_ns") > limit_count(f, most, "throttled_ns") &&
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
	uint64_t ready = number(thread, "ready_ns");
	double throttled = limit_count(f, group, "throttled_ns"), sum = 0;
	size_t i;

	if (!group)
		return 0;
	json_array_foreach (rows_of(f, "sched"), i, row)
		if (!strcmp(text_of(row, "kind"), "vcpu") && has_tid(group, number(row, "tid")))
			sum += (double)number(row, "ready_ns");
	return throttled < sum ? (uint64_t)((double)ready * throttled / sum) : ready;
}

/* ---- VMs ---- */

/* {"web1": [vm, ...]}: the elements of a list by a key, which may be a number. */
static json_t *index_by(const json_t *list, const char *key)
{
	json_t *index = json_object(), *same;
	const json_t *one;
	char text[32];
	size_t i;

	json_array_foreach (list, i, one) {
		const char *name = json_string_value(json_object_get(one, key));

		snprintf(text, sizeof(text), "%" PRIu64, number(one, key));
		name = name ? name : text;
		same = json_object_get(index, name);
		if (!same)
			json_object_set_new(index, name, same = json_array());
		json_array_append(same, (json_t *)one);
	}
	return index;
}

static const json_t *of_pid(const json_t *index, uint64_t pid)
{
	char text[32];

	snprintf(text, sizeof(text), "%" PRIu64, pid);
	return json_object_get(index, text);
}

static const json_t *vms_of(const struct found *f)
{
	return json_object_get(json_object_get(data_of(f->sections, "info"), "result"), "vms");
}

void findings_limits_index(struct found *f)
{
	f->by.vms = index_by(vms_of(f), "name");
	f->by.cgroups = index_by(json_object_get(limits_of(f), "cgroups"), "pid");
	f->by.limited = index_by(json_object_get(limits_of(f), "vms"), "pid");
}

void findings_limits_free(struct found *f)
{
	json_decref(f->by.vms);
	json_decref(f->by.cgroups);
	json_decref(f->by.limited);
}

const json_t *vm_meta(const struct found *f, const char *vm_name)
{
	const json_t *vms = vms_of(f);

	if (json_array_size(vms) != 1)
		vms = json_object_get(f->by.vms, vm_name);
	return json_array_get(vms, json_array_size(vms) - 1);
}

uint64_t vm_pid(const struct found *f, const char *vm_name)
{
	return number(vm_meta(f, vm_name), "pid");
}

const char *vm_name_of(const struct found *f, uint64_t pid)
{
	const json_t *vms = vms_of(f), *vm;
	size_t i;

	json_array_foreach (vms, i, vm)
		if (json_array_size(vms) > 1 && number(vm, "pid") == pid)
			return text_of(vm, "name");
	return "";
}

const char *io_limits_of(const struct found *f, const char *vm_name)
{
	const json_t *group;
	size_t i;

	json_array_foreach (of_pid(f->by.cgroups, vm_pid(f, vm_name)), i, group)
		if (*text_of(group, "io_limits"))
			return text_of(group, "io_limits");
	return "";
}

/* The VM's cgroup that reached its memory limit most often; NULL: none did. */
static const json_t *memory_limit_of(const struct found *f, const char *vm_name)
{
	const json_t *group, *most = NULL;
	size_t i;

	json_array_foreach (of_pid(f->by.cgroups, vm_pid(f, vm_name)), i, group)
		if (limit_count(f, group, "memory_reached") >= 1 &&
		    limit_count(f, group, "memory_reached") >
			    limit_count(f, most, "memory_reached"))
			most = group;
	return most;
}

/* Bytes of the VM that are swapped out at the end. */
static uint64_t swapped_of(const struct found *f, const char *vm_name)
{
	const json_t *vms = of_pid(f->by.limited, vm_pid(f, vm_name));

	return number(json_array_get(vms, 0), "swapped");
}

/* "; tasks of the host waited 1.2s for memory": by PSI, of the VM's own cgroup if that has it; "": none did. */
static void memory_waits_print(const struct found *f, const char *vm_name, char *buf, size_t size)
{
	const json_t *host = json_object_get(limits_of(f), "host"), *group;
	uint64_t all = (uint64_t)limit_count(f, host, "memory_waited_ns"), own = 0, ns;
	char time[16];
	size_t i;

	json_array_foreach (of_pid(f->by.cgroups, vm_pid(f, vm_name)), i, group) {
		ns = (uint64_t)limit_count(f, group, "memory_waited_ns");
		own = ns > own ? ns : own;
	}
	*buf = '\0';
	if (own || all)
		snprintf(buf, size, "; tasks of %s waited for memory for %s",
			 own ? "its cgroup" : "the host",
			 duration_print(own ? own : all, time, sizeof(time)));
}

/* Requests of the balloon's queue: 0 takes pages from the guest, 1 gives them back (virtio 1.2, 5.5.2). */
static uint64_t balloon_count(const struct found *f, const char *vm_name, uint64_t queue)
{
	const json_t *row;
	uint64_t sum = 0;
	size_t i;

	json_array_foreach (rows_of(f, "virtio"), i, row)
		if (!strcmp(text_of(row, "kind"), "virtio-balloon") &&
		    !strcmp(text_of(row, "vm"), vm_name) && number(row, "queue") == queue)
			sum += number(row, "count");
	return sum;
}

bool balloon_print(const struct found *f, const char *vm_name, char *buf, size_t size)
{
	uint64_t out = balloon_count(f, vm_name, 0), back = balloon_count(f, vm_name, 1);

	*buf = '\0';
	if (out && back)
		snprintf(buf, size,
			 "; its balloon took pages with %" PRIu64 " requests, and gave some back "
			 "with %" PRIu64,
			 out, back);
	return *buf;
}

const char *memory_cause(const struct found *f, const char *vm_name, char *buf, size_t size)
{
	const json_t *group = memory_limit_of(f, vm_name);
	uint64_t in = (uint64_t)(limit_count(f, json_object_get(limits_of(f), "host"),
					     "swapped_in") +
				 0.5),
		 out = swapped_of(f, vm_name);
	size_t len = 0;

	if (!group && !(in && out) && balloon_print(f, vm_name, buf, size))
		return "balloon-thrash";
	*buf = '\0';
	if (group)
		len = (size_t)snprintf(buf, size,
				       "; its cgroup %.128s reached its memory limit of %.1f MiB "
				       "%.0f times",
				       text_of(group, "path"),
				       (double)number(group, "memory") / MIB,
				       limit_count(f, group, "memory_reached"));
	else if (in && out)
		len = (size_t)snprintf(buf, size, "; %.1f MiB of it are swapped out",
				       (double)out / MIB);
	if (!group && in && len < size)
		len += (size_t)snprintf(buf + len, size - len,
					"; the host read %" PRIu64 " pages from swap meanwhile",
					in);
	if (len < size)
		memory_waits_print(f, vm_name, buf + len, size - len);
	return group ? "memory-limit" : in && out ? "memory-swapped" : "page-faults";
}
