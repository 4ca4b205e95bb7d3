// SPDX-License-Identifier: GPL-2.0-or-later
/* What the findings read of the rows of more than one section: queues, their threads, and how long vCPUs slept. */
#include "output/report/findings.h"

#include <inttypes.h>
#include <string.h>

#include "base/array.h"
#include "event/exit_reason.h"
#include "output/table.h"

static const double READY_REST_MIN = 0.05; /* of less, the parts would be chance */

/* ---- queues ---- */

/* "queue 0 of disk". */
const char *queue_print(const json_t *row, char *buf, size_t size)
{
	char path[128];

	snprintf(buf, size, "queue %" JSON_INTEGER_FORMAT " of %s",
		 json_integer_value(json_object_get(row, "queue")),
		 path_print(text_of(row, "device"), path, sizeof(path)));
	return buf;
}

/*
 * Do requests of this queue wait for something outside, as a packet, a key or a connection? That they are in flight is
 * no delay then. Where the recording does not have the device's type: does one wait at the end?
 */
bool queue_waits_outside(const json_t *row)
{
	static const char *const served[] = {"virtio-blk", "virtio-9p", "virtio-crypto",
					     "vhost-user-fs", "virtio-pmem"};
	const char *kind = text_of(row, "kind");

	if (!*kind)
		return number(json_object_get(row, "in_flight"), "end");
	if (!strcmp(kind, "virtio-scsi")) /* control, events, requests: virtio 1.2, 5.6.2 */
		return number(row, "queue") < 2;
	return !array_any(sizeof(served) / sizeof(*served), i, !strcmp(kind, served[i]));
}

/* ---- what is asked again and again ---- */

static json_t *rows_by_vm(const struct found *f, const char *section)
{
	json_t *by = json_object(), *row, *list;
	size_t i;

	json_array_foreach (rows_of(f, section), i, row) {
		list = json_object_get(by, text_of(row, "vm"));
		if (!list) {
			list = json_array();
			json_object_set_new(by, text_of(row, "vm"), list);
		}
		json_array_append(list, row);
	}
	return by;
}

/* Of a queue, also of one in a section that names no VM. */
static const char *queue_key(const json_t *row, const char *vm, char *buf, size_t size)
{
	char path[128];

	snprintf(buf, size, "%" PRIu64 " %s of %s", number(row, "queue"),
		 path_print(text_of(row, "device"), path, sizeof(path)), vm);
	return buf;
}

static void most_keep(json_t *by, const json_t *row, const char *vm, uint64_t ns)
{
	char key[WHO_BYTES + 128];

	queue_key(row, vm, key, sizeof(key));
	if (ns > number(by, key))
		json_object_set_new(by, key, json_integer((json_int_t)ns));
}

static uint64_t most_of(const json_t *by, const json_t *row)
{
	char key[WHO_BYTES + 128];

	return number(by, queue_key(row, text_of(row, "vm"), key, sizeof(key)));
}

void findings_rows_index(struct found *f)
{
	const json_t *row;
	size_t i;

	f->of.sched = rows_by_vm(f, "sched");
	f->of.virtio = rows_by_vm(f, "virtio");
	f->of.downtime = rows_by_vm(f, "downtime");
	f->of.longest = json_object();
	f->of.leaked = json_object();
	json_array_foreach (rows_of(f, "virtio"), i, row) {
		const json_t *stages = json_object_get(row, "stages");
		uint64_t ns = number(json_object_get(stages, "pop-push"), "max_ns");

		most_keep(f->of.longest, row, text_of(row, "vm"), ns);
		most_keep(f->of.longest, row, "", ns);
	}
	json_array_foreach (rows_of(f, "leaks"), i, row)
		if (!strcmp(text_of(row, "verdict"), "leaked"))
			most_keep(f->of.leaked, row, text_of(row, "vm"), number(row, "age_ns"));
}

void findings_rows_free(struct found *f)
{
	json_decref(f->of.sched);
	json_decref(f->of.virtio);
	json_decref(f->of.downtime);
	json_decref(f->of.longest);
	json_decref(f->of.leaked);
}

uint64_t leaked_age_ns(const struct found *f, const json_t *queue)
{
	return most_of(f->of.leaked, queue);
}

bool request_is_lost(const struct found *f, const json_t *of, uint64_t age_ns)
{
	uint64_t longest = most_of(f->of.longest, of);

	return longest ? age_ns / 2 > longest : age_ns >= f->span_ns / 2;
}

uint64_t requests_lost(const struct found *f, const json_t **ret_oldest)
{
	const json_t *row;
	uint64_t nr = 0;
	size_t i;

	*ret_oldest = NULL;
	json_array_foreach (rows_of(f, "leaks"), i, row) {
		uint64_t age = number(row, "age_ns");

		if (strcmp(text_of(row, "verdict"), "leaked") != 0 || !request_is_lost(f, row, age))
			continue;
		nr++;
		if (age > number(*ret_oldest, "age_ns"))
			*ret_oldest = row;
	}
	return nr;
}

bool is_same_device(const char *a, const char *b)
{
	char one[128], other[128];

	return !strcmp(path_print(a, one, sizeof(one)), path_print(b, other, sizeof(other)));
}

uint64_t queues_busy_ns(const struct found *f, const char *vm)
{
	const json_t *row;
	uint64_t most = 0, busy;
	size_t i;

	json_array_foreach (json_object_get(f->of.virtio, vm), i, row) {
		busy = number(json_object_get(row, "in_flight"), "busy_ns");
		if (!queue_waits_outside(row) && busy > most)
			most = busy;
	}
	return most;
}

/* ---- threads ---- */

bool thread_is_server(const json_t *row)
{
	return strcmp(text_of(row, "kind"), "vcpu") != 0 &&
	       json_is_integer(json_object_get(row, "ready_ns"));
}

uint64_t servers_ready_ns(const struct found *f, const char *vm)
{
	const json_t *row;
	uint64_t most = 0;
	size_t i;

	json_array_foreach (json_object_get(f->of.sched, vm), i, row)
		if (thread_is_server(row) && number(row, "ready_ns") > most)
			most = number(row, "ready_ns");
	return most;
}

uint64_t vm_stopped_ns(const struct found *f, const char *vm)
{
	const json_t *row;
	uint64_t sum = 0;
	size_t i;

	json_array_foreach (*vm ? json_object_get(f->of.downtime, vm) : rows_of(f, "downtime"), i,
			    row)
		sum += number(row, "window_ns");
	return sum;
}

/* Halts of all vCPUs, as a share of the time of one; 1 if exits are not recorded. */
static double halted(const struct found *f)
{
	const json_t *row, *rows = rows_of(f, "exits");
	uint64_t sum = 0;
	size_t i;

	json_array_foreach (rows, i, row)
		if (exit_reason_is_idle(text_of(row, "reason")))
			sum += number(row, "total_ns");
	return json_array_size(rows) && share_of(f, sum) < 1 ? share_of(f, sum) : 1;
}

/*
 * While a vCPU waits for a CPU, it is not known whether the guest would have run on it, or slept but for a tick: as
 * much of that time is taken to be sleep as of the rest, but not more than of the rest: waiting has causes of its own.
 */
static double with_ready(const struct found *f, const json_t *row, double asleep)
{
	double rest = 1 - share_of(f, number(row, "ready_ns"));

	asleep = rest > READY_REST_MIN && asleep < rest ? asleep / rest : asleep;
	return asleep < rest ? asleep : rest;
}

/* Asleep, and not for a reason that has a cause of its own. */
static double asleep_of(const struct found *f, const json_t *row, const char *vm, bool with_mutex)
{
	uint64_t other = number(row, "stopped_ns") + number(row, "syscall_ns") +
			 number(row, "fault_ns") + vm_stopped_ns(f, vm) +
			 (with_mutex ? 0 : number(row, "mutex_ns"));
	double asleep =
		json_number_value(json_object_get(row, "asleep")) / 100 - share_of(f, other);

	return asleep > 0 ? asleep : 0;
}

/*
 * The share of time in which the VM's vCPUs were asleep, in waits for the global mutex or not: of the one that was so
 * most; 1 if that is not recorded.
 */
double asleep_most(const struct found *f, const char *vm, bool with_mutex)
{
	const json_t *row, *asleep;
	double most = 0, share;
	bool any = false;
	size_t i;

	json_array_foreach (json_object_get(f->of.sched, vm), i, row) {
		asleep = json_object_get(row, "asleep");
		if (strcmp(text_of(row, "kind"), "vcpu") != 0 || !json_is_number(asleep))
			continue;
		any = true;
		share = with_ready(f, row, asleep_of(f, row, vm, with_mutex));
		most = share > most ? share : most;
	}
	return any ? most : halted(f);
}
