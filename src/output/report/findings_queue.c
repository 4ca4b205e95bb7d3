// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Requests of virtqueues: how long they were in flight, and why so long. What is lost of them is without the time for
 * which threads that serve them waited for a CPU (analyzers/virtqueue/queues_stops.c): that is what ran instead
 * (findings_cpu.c).
 */
#include "output/report/findings.h"

#include <string.h>

#include "base/array.h"
#include "base/units.h"

/* The stage of the largest 99th percentile. */
static const char *slowest_stage(const json_t *stages, uint64_t *ret_p99)
{
	const char *key, *found = "";
	json_t *one;

	*ret_p99 = 0;
	json_object_foreach ((json_t *)stages, key, one)
		if (number(one, "p99_ns") > *ret_p99) {
			*ret_p99 = number(one, "p99_ns");
			found = key;
		}
	return found;
}

/* "; the slowest stage is push-notify with 3.1ms; its cgroup limits I/O (8:0 riops=20)". */
static const char *queue_more_print(const struct found *f, const json_t *row, char *buf,
				    size_t size)
{
	uint64_t p99;
	const char *stage = slowest_stage(json_object_get(row, "stages"), &p99),
		   *limits = io_limits_of(f, text_of(row, "vm"));
	bool elsewhere = *stage && strcmp(stage, "pop-push") != 0;
	char worst[16], server[WHO_BYTES];

	snprintf(buf, size, "%s%s%s%s%s%s%s%s",
		 disk_server_print(f, text_of(row, "vm"), text_of(row, "device"), server,
				   sizeof(server)),
		 elsewhere ? "; the slowest stage is " : "", elsewhere ? stage : "",
		 elsewhere ? " with " : "",
		 elsewhere ? duration_print(p99, worst, sizeof(worst)) : "",
		 *limits ? "; its cgroup limits I/O (" : "", limits, *limits ? ")" : "");
	return buf;
}

/* "; the oldest is out for 1.95s at the end": for a second or more; "" if there is none, or it is lost. */
static const char *open_print(const struct found *f, const json_t *queue, char *buf, size_t size)
{
	uint64_t age = leaked_age_ns(f, queue);
	char time[16];

	*buf = '\0';
	if (age && !request_is_lost(f, queue, age))
		snprintf(buf, size, "; the oldest is out for %s at the end",
			 duration_print(age, time, sizeof(time)));
	return buf;
}

/*
 * Requests that were in flight for `ns`: all, or the slow ones. A guest that waits for its device sleeps: it can have
 * lost to it no more than the time for which it did.
 */
static void queue_add(struct found *f, const json_t *row, const char *cause, uint64_t ns)
{
	const json_t *device = json_object_get(json_object_get(row, "stages"), "pop-push");
	double share = share_of(f, ns),
	       asleep = asleep_most(f, text_of(row, "vm"), !finding_is_there(f, "qemu-mutex"));
	uint64_t busy = number(json_object_get(row, "in_flight"), "busy_ns");
	char who[WHO_BYTES], of[SHARE_BYTES], p50[16], p99[16], more[WHO_BYTES], took[96], open[64];

	if (!number(device, "count"))
		snprintf(took, sizeof(took), "none was returned");
	else
		snprintf(took, sizeof(took),
			 "each took the device %s (median) and %s (99th percentile)",
			 duration_print(number(device, "p50_ns"), p50, sizeof(p50)),
			 duration_print(number(device, "p99_ns"), p99, sizeof(p99)));
	finding_add(f, "queue", cause, "virtio", share < asleep ? share : asleep,
		    json_sprintf("Requests of %s%s %s for %s%s; %s%s%s.",
				 queue_print(row, who, sizeof(who)),
				 ns < busy ? " that took more than 5ms" : "",
				 ns < busy ? "were late" : "were in flight",
				 share_print(f, ns, of, sizeof(of)),
				 share > asleep ? ", longer than vCPUs slept" : "",
				 took,
				 queue_more_print(f, row, more, sizeof(more)),
				 open_print(f, row, open, sizeof(open))));
}

/* That is a cause of its own: a queue that returns nothing is not slow, too. */
static bool has_leaked(const struct found *f)
{
	const json_t *oldest;

	return requests_lost(f, &oldest);
}

/* Whatever most requests take: a disk that is slow for a part of the time is slow for that part. */
static void from_queue(struct found *f, const json_t *row)
{
	const json_t *flight = json_object_get(row, "in_flight"),
		     *device = json_object_get(json_object_get(row, "stages"), "pop-push");
	uint64_t busy = number(flight, "busy_ns"),
		 slow = *text_of(row, "kind") ? number(flight, "slow_ns") : 0;

	if (queue_waits_outside(row) || (!number(device, "count") && has_leaked(f)))
		return;
	slow = slow < busy ? slow : busy;
	queue_add(f, row, slow_cause(f, row), slow);
	if (slow < busy / 2)
		queue_add(f, row, "disk-busy", busy);
}

void findings_queues(struct found *f)
{
	const json_t *row;
	size_t i;

	json_array_foreach (rows_of(f, "virtio"), i, row)
		from_queue(f, row);
}

/* A share of the time for which something of a device was waited for. */
static bool is_of_device(const json_t *finding)
{
	const char *kind = text_of(finding, "kind");
	double share = json_real_value(json_object_get(finding, "share"));

	return (!strcmp(kind, "queue") || !strcmp(kind, "disk") || !strcmp(kind, "server")) &&
	       strcmp(text_of(finding, "cause"), "disk-busy") != 0 && share <= 1;
}

/* Is there a larger one that becomes the same cause (findings_list.c)? */
static bool is_merged(const struct found *f, const json_t *finding, size_t at)
{
	double share = json_real_value(json_object_get(finding, "share")), other;
	const json_t *one;
	size_t i;

	json_array_foreach (f->list, i, one) {
		other = json_real_value(json_object_get(one, "share"));
		if (i != at && is_of_device(one) && (other > share || (other >= share && i < at)) &&
		    !strcmp(text_of(one, "kind"), text_of(finding, "kind")) &&
		    !strcmp(text_of(one, "cause"), text_of(finding, "cause")))
			return true;
	}
	return false;
}

void findings_devices_limit(struct found *f)
{
	const json_t *info = json_object_get(data_of(f->sections, "info"), "result");
	double most = asleep_most(f, "", !finding_is_there(f, "qemu-mutex")), sum = 0;
	json_t *one;
	size_t i;

	if (json_array_size(json_object_get(info, "vms")) > 1)
		return;
	json_array_foreach (f->list, i, one)
		if (is_of_device(one) && !is_merged(f, one, i))
			sum += json_real_value(json_object_get(one, "share"));
	json_array_foreach (f->list, i, one)
		if (sum > most && is_of_device(one))
			json_real_set(json_object_get(one, "share"),
				      json_real_value(json_object_get(one, "share")) * most / sum);
}
