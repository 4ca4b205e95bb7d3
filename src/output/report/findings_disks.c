// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Disks that are not virtio, by what QEMU counted of them (the metadata "disks", vm/disks.h): how many requests ended,
 * their bytes, and the sum of their times.
 *
 * A limit of n a second lets so many requests pass in no less than that number by n: for as long as requests were in
 * flight, up to that time, they waited for the throttling. The rest of it was the disk's. Requests of several disks
 * share the limits of their group.
 */
#include "output/report/findings.h"

#include <string.h>

#include "analyzers/virtqueue/queues.h"
#include "base/units.h"
#include "vm/disks.h"

struct requests {
	double reads, writes, read_bytes, write_bytes;
};

static const json_t *disks_of(const struct found *f)
{
	return json_object_get(json_object_get(data_of(f->sections, "info"), "result"), "disks");
}

static const json_t *disk_list(const struct found *f)
{
	return json_object_get(disks_of(f), "list");
}

static void requests_add(struct requests *r, const json_t *disk)
{
	r->reads += (double)number(disk, "reads");
	r->writes += (double)number(disk, "writes");
	r->read_bytes += (double)number(disk, "read_bytes");
	r->write_bytes += (double)number(disk, "write_bytes");
}

/* Of all disks of its group. */
static struct requests requests_of(const struct found *f, const json_t *disk)
{
	const char *group = text_of(disk, "group");
	struct requests sum = {0};
	const json_t *one;
	size_t i;

	if (!*group)
		requests_add(&sum, disk);
	json_array_foreach (disk_list(f), i, one)
		if (*group && !strcmp(text_of(one, "group"), group))
			requests_add(&sum, one);
	return sum;
}

/* A request of more than iops_size bytes counts as several. */
static double passes(double requests, double bytes, uint64_t size)
{
	double parts = size ? bytes / (double)size : 0;

	return parts > requests ? parts : requests;
}

/* The time, in ns, in which throttling lets these pass; *ret_limit: of which limit. 0: there is none. */
static double needed_ns(const struct requests *r, const json_t *limits, const char **ret_limit)
{
	uint64_t size = number(limits, "iops_size");
	double reads = passes(r->reads, r->read_bytes, size),
	       writes = passes(r->writes, r->write_bytes, size), most = 0;
	const struct {
		const char *limit;
		double n;
	} each[] = {{"iops", reads + writes},  {"iops_rd", reads},
		    {"iops_wr", writes},       {"bps", r->read_bytes + r->write_bytes},
		    {"bps_rd", r->read_bytes}, {"bps_wr", r->write_bytes}};

	for (size_t i = 0; i < sizeof(each) / sizeof(*each); i++) {
		uint64_t limit = number(limits, each[i].limit);
		double ns = limit ? each[i].n * 1e9 / (double)limit : 0;

		if (ns > most) {
			most = ns;
			*ret_limit = each[i].limit;
		}
	}
	return most;
}

/* "d0 (ide-hd)" */
const char *disk_print(const json_t *disk, char *buf, size_t size)
{
	const char *model = text_of(disk, "model");

	snprintf(buf, size, "%s%s%s%s", text_of(disk, "device"), *model ? " (" : "", model,
		 *model ? ")" : "");
	return buf;
}

/* "217 requests of d0 (ide-hd) took 46.1ms on average" */
static const char *took_print(const json_t *disk, uint64_t time_ns, char *buf, size_t size)
{
	uint64_t n = disk_ended(disk);
	char who[WHO_BYTES], each[16];

	snprintf(buf, size, "%llu request%s of %s took %s%s", (unsigned long long)n,
		 n == 1 ? "" : "s", disk_print(disk, who, sizeof(who)),
		 duration_print(n ? time_ns / n : time_ns, each, sizeof(each)),
		 n == 1 ? "" : " on average");
	return buf;
}

/* Of a virtio disk, whose requests were in flight for `busy_ns`. */
bool disk_limits_explain(const struct found *f, const char *device, uint64_t busy_ns)
{
	uint64_t all = number(disks_of(f), "ns");
	double part = all > f->span_ns ? (double)f->span_ns / (double)all : 1;
	const char *limit = "";
	const json_t *disk;
	struct requests sum;
	size_t i;

	json_array_foreach (disk_list(f), i, disk) {
		if (!is_same_device(text_of(disk, "qdev"), device))
			continue;
		sum = requests_of(f, disk);
		return 2 * part * needed_ns(&sum, json_object_get(disk, "limits"), &limit) >=
			       (double)busy_ns &&
		       *limit;
	}
	return false;
}

static void throttled_add(struct found *f, const json_t *disk, const char *limit, uint64_t ns,
			  double asleep)
{
	double share = share_of(f, ns);
	char took[2 * WHO_BYTES], of[SHARE_BYTES];

	finding_add(
		f, "disk", "disk-throttled", "info", share < asleep ? share : asleep,
		json_sprintf("%s; QEMU's throttling (%s=%llu) let these pass in no less than %s.",
			     took_print(disk, number(disk, "time_ns"), took, sizeof(took)), limit,
			     (unsigned long long)number(json_object_get(disk, "limits"), limit),
			     share_print(f, ns, of, sizeof(of))));
}

/*
 * What is lost of each request. Time for which QEMU's threads had no CPU is not the disk's: all requests that were in
 * flight then took longer by it, on average as many as there were at any time, but one at least.
 */
static uint64_t lost_each_ns(const struct found *f, const json_t *disk, const char *vm)
{
	uint64_t n = disk_ended(disk), time = number(disk, "time_ns"),
		 all = number(disks_of(f), "ns");
	double waited = share_of(f, servers_ready_ns(f, vm)) * (double)(time > all ? time : all);

	return n && waited < (double)time ? queues_lost_ns((time - (uint64_t)waited) / n) : 0;
}

static void slow_add(struct found *f, const json_t *disk, const char *vm, uint64_t ns,
		     double asleep)
{
	uint64_t n = disk_ended(disk), lost = lost_each_ns(f, disk, vm),
		 each = n ? number(disk, "time_ns") / n : 0;
	double part = lost ? (double)lost / (double)each : 1,
	       share = share_of(f, (uint64_t)((double)ns * part));
	const char *limits = io_limits_of(f, vm);
	char took[2 * WHO_BYTES], of[SHARE_BYTES], server[WHO_BYTES];

	finding_add(f, "disk", lost ? "disk-slow" : "disk-busy", "info",
		    share < asleep ? share : asleep,
		    json_sprintf("%s; of that, the disk had up to %s%s%s%s%s.",
				 took_print(disk, number(disk, "time_ns"), took, sizeof(took)),
				 share_print(f, ns, of, sizeof(of)),
				 disk_server_print(f, vm, text_of(disk, "device"), server,
						   sizeof(server)),
				 *limits ? "; its cgroup limits I/O (" : "", limits,
				 *limits ? ")" : ""));
}

static void disk_add(struct found *f, const json_t *disk, const char *vm)
{
	uint64_t all = number(disks_of(f), "ns"), time = number(disk, "time_ns"),
		 busy = time < all ? time : all;
	double asleep = asleep_most(f, vm, !finding_is_there(f, "qemu-mutex")), part, needed;
	const struct requests sum = requests_of(f, disk);
	const char *limit = "";

	if (!busy)
		return;
	part = all > f->span_ns ? (double)f->span_ns / (double)all : 1;
	needed = needed_ns(&sum, json_object_get(disk, "limits"), &limit);
	needed = needed < (double)busy ? needed : (double)busy;
	throttled_add(f, disk, limit, (uint64_t)(needed * part), asleep);
	slow_add(f, disk, vm, (uint64_t)(((double)busy - needed) * part), asleep);
}

uint64_t disk_ended(const json_t *disk)
{
	return number(disk, "reads") + number(disk, "writes") + number(disk, "flushes");
}

uint64_t disks_busy_ns(const struct found *f, const char *vm)
{
	uint64_t all = number(disks_of(f), "ns"), most = 0;
	const json_t *disk;
	size_t i;

	if (!all || strcmp(vm, vm_name_of(f, number(disks_of(f), "pid"))) != 0)
		return 0;
	json_array_foreach (disk_list(f), i, disk) {
		uint64_t time = number(disk, "time_ns");

		if (json_is_object(disk) && !json_is_true(json_object_get(disk, "virtio")))
			most = time > most ? time : most;
	}
	return most < all ? (uint64_t)((double)most * (double)f->span_ns / (double)all)
			  : f->span_ns;
}

void findings_disks(struct found *f)
{
	const char *vm = vm_name_of(f, number(disks_of(f), "pid"));
	const json_t *disk;
	size_t i;

	json_array_foreach (disk_list(f), i, disk)
		if (json_is_object(disk) && !json_is_true(json_object_get(disk, "virtio")) &&
		    i < DISKS_MAX)
			disk_add(f, disk, vm);
}
