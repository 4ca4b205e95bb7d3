// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * What stood still when `stuck` looked: after the recording of a running VM, or when the recording started, which has
 * its answer in the metadata (output/stuck_kept.h). Requests that are only slow are out at any time, too: after the
 * recording one counts if it was there all the time, or if its queue has returned no request meanwhile.
 *
 * What stood still at the start may have gone on since. It counts if the recording has what would show that, and does
 * not show it: a request, if its queue returns none; a thread, if it does not run; a VM, if none of its vCPUs does.
 */
#include "output/report/findings.h"

#include <string.h>

#include "base/clock.h"
#include "output/stuck_kept.h"
#include "output/table.h"

/* Findings of stuck (hostrace-stuck(1)), those first that explain others. */
static const struct stuck_cause {
	const char *kind, *cause;
	bool is_request; /* it may only be slow */
} stuck_causes[] =
	{
		{"not-connected", "server-gone", false},
		{"peer-stopped", "server-gone", false},
		{"peer-silent", "server-gone", false},
		{"traced", "vmm-stopped", false},
		{"frozen", "vmm-stopped", false},
		{"stopped", "vmm-stopped", false},
		{"paused", "vm-stopped", false},
		{"device-broken", "device-broken", false},
		{"lost-kick", "lost-kick", false},
		{"kicks-suppressed", "lost-kick", false},
		{"lost-interrupt", "lost-interrupt", false},
		{"interrupt-not-taken", "interrupt-not-taken", false},
		{"throttled", "disk-throttled", true},
		{"page-fault", "page-faults", false},
		{"blocked", "vmm-blocked", false},
		{"global-mutex", "qemu-mutex", false},
		{"mutex", "vmm-lock", false},
		{"kick-not-handled", "vmm-blocked", false},
		{"suspended", "request-lost", true},
		{"not-returned", "request-lost", true},
		{"", "stuck", true}, /* all others */
},
  *const stuck_causes_end = stuck_causes + sizeof(stuck_causes) / sizeof(*stuck_causes);

static const struct stuck_cause *cause_of(const json_t *finding)
{
	const struct stuck_cause *c = stuck_causes;

	while (*c->kind && strcmp(c->kind, text_of(finding, "kind")) != 0)
		c++;
	return c;
}

/* A member of the queue's row of virtio. */
static uint64_t queue_number(const struct found *f, const json_t *finding, const char *key)
{
	const json_t *row;
	uint64_t sum = 0;
	size_t i;

	json_array_foreach (rows_of(f, "virtio"), i, row)
		if (number(row, "queue") == number(finding, "queue") &&
		    is_same_device(text_of(row, "device"), text_of(finding, "device")))
			sum += number(row, key);
	return sum;
}

/* Requests of this queue that were returned during the recording. */
static uint64_t returned(const struct found *f, const char *device, uint64_t queue)
{
	const json_t *row, *stages;
	uint64_t sum = 0;
	size_t i;

	json_array_foreach (rows_of(f, "virtio"), i, row) {
		stages = json_object_get(row, "stages");
		if (number(row, "queue") == queue && is_same_device(text_of(row, "device"), device))
			sum += number(json_object_get(stages, "pop-push"), "count");
	}
	return sum;
}

/* Other threads of the VMM may wait for what a vCPU does. */
static bool waits_for_guest(const struct found *f, const json_t *finding)
{
	const json_t *vcpu, *tid = json_object_get(finding, "tid");
	size_t i;

	if (!strstr(text_of(finding, "kind"), "mutex"))
		return false;
	json_array_foreach (json_object_get(data_of(f->sections, "stuck"), "vcpus"), i, vcpu)
		if (json_equal(json_object_get(vcpu, "tid"), tid))
			return false;
	return true;
}

/* ---- at the start of the recording ---- */

static const json_t *info_events(const struct found *f)
{
	return json_object_get(json_object_get(data_of(f->sections, "info"), "result"), "events");
}

bool event_is_recorded(const struct found *f, const char *event)
{
	const json_t *info = json_object_get(data_of(f->sections, "info"), "result"), *probe;
	size_t i;

	if (number(info_events(f), event))
		return true;
	json_array_foreach (json_object_get(info, "probes"), i, probe)
		if (!strcmp(text_of(probe, "event"), event))
			return strcmp(text_of(probe, "how"), "absent") != 0;
	return false;
}

/* What only a vCPU that runs causes. */
static const char *const run_events[] = {
	"kvm_exit", "kvm_entry", "kvm_userspace_exit", "kvm_run",	   "kvm_pio",
	"kvm_mmio", "kvm_msr",	 "kvm_vcpu_wakeup",    "kvm_halt_poll_ns", NULL};

static bool guest_ran(const struct found *f)
{
	for (const char *const *e = run_events; *e; e++)
		if (number(info_events(f), *e))
			return true;
	return false;
}

static bool thread_ran(const struct found *f, uint64_t tid)
{
	const json_t *row;
	size_t i;

	json_array_foreach (rows_of(f, "sched"), i, row)
		if (number(row, "tid") == tid && number(row, "run_ns"))
			return true;
	return false;
}

static bool any_returned(const struct found *f)
{
	const json_t *row;
	size_t i;

	json_array_foreach (rows_of(f, "virtio"), i, row)
		if (number(json_object_get(json_object_get(row, "stages"), "pop-push"), "count"))
			return true;
	return false;
}

static bool is_of_server(const json_t *finding)
{
	return !strcmp(cause_of(finding)->cause, "server-gone");
}

enum since { STANDS, WENT_ON, UNCLEAR };

/* If there was something of that, it went on; without, it did not, if it would be in the recording. */
static enum since since_of(bool recorded, bool seen)
{
	return seen ? WENT_ON : recorded ? STANDS : UNCLEAR;
}

/*
 * A request that was popped before is returned without its pop, and the guest notified; one that the device did not
 * have is popped. Of throttled ones each waits for long, although they are returned in the end.
 */
static bool queue_moved(const struct found *f, const json_t *finding)
{
	const char *cause = cause_of(finding)->cause;
	bool throttled = !strcmp(cause, "disk-throttled"),
	     popped = throttled || !strcmp(cause, "request-lost");

	return returned(f, text_of(finding, "device"), number(finding, "queue")) ||
	       (!popped && queue_number(f, finding, "count")) ||
	       (!throttled && queue_number(f, finding, "notifications"));
}

static enum since queue_since(const struct found *f, const json_t *finding)
{
	return since_of(event_is_recorded(f, "virtqueue_pop"), queue_moved(f, finding));
}

/* A thread that tries to connect runs; the VM's requests show whether it succeeded. */
static enum since server_since(const struct found *f)
{
	const json_t *one;
	size_t i;

	json_array_foreach (json_object_get(data_of(f->sections, "stuck"), "findings"), i, one)
		if (*text_of(one, "device") && queue_since(f, one) == STANDS)
			return STANDS;
	return since_of(event_is_recorded(f, "virtqueue_pop"), any_returned(f));
}

static enum since start_since(const struct found *f, const json_t *finding)
{
	uint64_t tid = number(finding, "tid");

	if (!json_is_true(json_object_get(data_of(f->sections, "stuck"), "covers")))
		return UNCLEAR;
	if (*text_of(finding, "device"))
		return queue_since(f, finding);
	if (is_of_server(finding))
		return server_since(f);
	if (tid)
		return since_of(event_is_recorded(f, "sched_switch"), thread_ran(f, tid));
	return since_of(event_is_recorded(f, "kvm_run"), guest_ran(f));
}

/* ---- which count ---- */

static bool is_old(const struct found *f, const json_t *finding)
{
	return number(finding, "age_ns") >= NS_PER_S && !waits_for_guest(f, finding);
}

static bool is_of_start(const json_t *sections)
{
	return json_object_get(data_of(sections, "stuck"), "covers");
}

static bool counts(const struct found *f, const json_t *finding)
{
	uint64_t age = number(finding, "age_ns");

	if (!is_old(f, finding))
		return false;
	if (is_of_start(f->sections))
		return start_since(f, finding) == STANDS;
	if (!cause_of(finding)->is_request)
		return true;
	if (!strcmp(cause_of(finding)->cause, "request-lost"))
		return request_is_lost(f, finding, age);
	return (f->span_ns && age >= f->span_ns) ||
	       !returned(f, text_of(finding, "device"), number(finding, "queue"));
}

/* "; the VM's disk is on nbd 10.0.0.1:10809": if the VM has one only. */
static const char *server_gone_print(const struct found *f, const json_t *finding, char *buf,
				     size_t size)
{
	const json_t *list = json_object_get(vm_meta(f, ""), "disk_servers"),
		     *one = json_array_get(list, 0);

	*buf = '\0';
	if (is_of_server(finding) && json_array_size(list) == 1 && *text_of(one, "address"))
		snprintf(buf, size, "; the VM's disk is on %.31s %.200s", text_of(one, "driver"),
			 text_of(one, "address"));
	return buf;
}

static json_t *text_make(const struct found *f, const json_t *finding)
{
	const char *device = text_of(finding, "device"), *text = text_of(finding, "text"),
		   *when = is_of_start(f->sections) ? "When the recording started: " : "";
	char path[128], server[WHO_BYTES];

	if (!*device)
		return json_sprintf("%s%s%s.", when, text,
				    server_gone_print(f, finding, server, sizeof(server)));
	return json_sprintf("%s%s, queue %llu: %s.", when, path_print(device, path, sizeof(path)),
			    (unsigned long long)number(finding, "queue"), text);
}

void findings_stuck(struct found *f)
{
	const json_t *one, *list = json_object_get(data_of(f->sections, "stuck"), "findings");
	size_t i;

	json_array_foreach (list, i, one)
		if (counts(f, one))
			finding_add(f, text_of(one, "kind"), cause_of(one)->cause, "stuck",
				    FINDING_FIRST + (double)(stuck_causes_end - cause_of(one)),
				    text_make(f, one));
}

bool findings_guest_ran(const json_t *sections)
{
	return guest_ran(&(struct found){.sections = sections});
}

/* The largest that has the same cause and a measured share; NULL: there is none. */
static json_t *measured_of(const struct found *f, const json_t *finding)
{
	json_t *one, *most = NULL;
	size_t i;

	json_array_foreach (f->list, i, one) {
		double share = json_real_value(json_object_get(one, "share"));

		if (share <= 1 && !strcmp(text_of(one, "cause"), text_of(finding, "cause")) &&
		    share > json_real_value(json_object_get(most, "share")))
			most = one;
	}
	return most;
}

static void stands_set(const struct found *f, json_t *measured, const json_t *finding)
{
	if (json_is_true(json_object_get(measured, "stands")))
		return;
	json_object_set_new(measured, "stands", json_true());
	json_object_set_new(measured, "text",
			    json_sprintf("%s %s%s", text_of(measured, "text"),
					 is_of_start(f->sections) ? "" : "After the recording: ",
					 text_of(finding, "text")));
}

void findings_stopped_join(struct found *f)
{
	size_t i = 0;

	while (i < json_array_size(f->list)) {
		const json_t *one = json_array_get(f->list, i);
		json_t *measured = NULL;

		if (!strcmp(text_of(one, "section"), "stuck") &&
		    (!strcmp(text_of(one, "cause"), "vm-stopped") ||
		     !strcmp(text_of(one, "cause"), "vmm-stopped")))
			measured = measured_of(f, one);
		if (measured) {
			stands_set(f, measured, one);
			json_array_remove(f->list, i);
		} else {
			i++;
		}
	}
}

void findings_stuck_since(const json_t *sections, json_t *notes, json_t *doubts)
{
	const struct found f = {.sections = sections};
	const json_t *one;
	size_t i;

	if (!is_of_start(sections))
		return;
	json_array_foreach (json_object_get(data_of(sections, "stuck"), "findings"), i, one) {
		enum since since = is_old(&f, one) ? start_since(&f, one) : STANDS;
		json_t *text = text_make(&f, one);

		if (since == WENT_ON && notes)
			json_array_append_new(notes, json_sprintf("%s It went on since then.",
								  json_string_value(text)));
		if (since == UNCLEAR && doubts)
			json_array_append(doubts, text);
		json_decref(text);
	}
}

/* Requests may wait for their turn in QEMU's throttling whenever it is looked at. */
bool is_throttled(const struct found *f, const char *device)
{
	const json_t *queue, *covers = json_object_get(data_of(f->sections, "stuck"), "covers");
	size_t i;

	if (json_is_false(covers))
		return false;
	json_array_foreach (json_object_get(data_of(f->sections, "stuck"), "queues"), i, queue)
		if (number(json_object_get(queue, "backend"), "throttled") &&
		    is_same_device(text_of(queue, "device"), device))
			return true;
	return false;
}

/* By the recording's metadata; a device without an id, if there is no other disk of a server. */
static const json_t *disk_server_meta(const struct found *f, const char *vm, const char *device)
{
	const json_t *list = json_object_get(vm_meta(f, vm), "disk_servers"), *one;
	size_t i;

	json_array_foreach (list, i, one)
		if (is_same_device(text_of(one, "drive"), device) ||
		    (*text_of(one, "device") && is_same_device(text_of(one, "device"), device)))
			return one;
	one = json_array_get(list, 0);
	return json_array_size(list) == 1 && !*text_of(one, "device") ? one : NULL;
}

static const char *disk_server_seen(const struct found *f, const char *device)
{
	const json_t *queue;
	const char *server = NULL;
	size_t i;

	json_array_foreach (json_object_get(data_of(f->sections, "stuck"), "queues"), i, queue)
		if (!server && is_same_device(text_of(queue, "device"), device))
			server = stuck_backend_server(json_object_get(queue, "backend"));
	return server;
}

const char *disk_server_print(const struct found *f, const char *vm, const char *device, char *buf,
			      size_t size)
{
	const json_t *meta = disk_server_meta(f, vm, device);
	const char *driver = meta ? text_of(meta, "driver") : disk_server_seen(f, device),
		   *address = text_of(meta, "address");

	*buf = '\0';
	if (driver && *driver)
		snprintf(buf, size, "; a server has its data (%.31s%s%.200s)", driver,
			 *address ? " " : "", address);
	return buf;
}
