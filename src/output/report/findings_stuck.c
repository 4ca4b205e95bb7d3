// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * What stood still when `stuck` looked, after the recording. Requests that are only slow are out at any time, too: one
 * counts if it was there all the time, or if its queue has returned no request meanwhile.
 */
#include "output/report/findings.h"

#include <string.h>

#include "base/clock.h"
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

/* The name that recordings have: "/machine/peripheral/disk/virtio-backend" is disk. */
static bool is_same_device(const char *a, const char *b)
{
	char one[128], other[128];

	return !strcmp(path_print(a, one, sizeof(one)), path_print(b, other, sizeof(other)));
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

static bool counts(const struct found *f, const json_t *finding)
{
	uint64_t age = number(finding, "age_ns");

	if (age < NS_PER_S || waits_for_guest(f, finding))
		return false;
	return !cause_of(finding)->is_request || (f->span_ns && age >= f->span_ns) ||
	       !returned(f, text_of(finding, "device"), number(finding, "queue"));
}

static json_t *text_make(const json_t *finding)
{
	const char *device = text_of(finding, "device");
	char path[128];

	if (!*device)
		return json_sprintf("%s.", text_of(finding, "text"));
	return json_sprintf("%s, queue %llu: %s.", path_print(device, path, sizeof(path)),
			    (unsigned long long)number(finding, "queue"),
			    text_of(finding, "text"));
}

void findings_stuck(struct found *f)
{
	const json_t *one, *list = json_object_get(data_of(f->sections, "stuck"), "findings");
	size_t i;

	json_array_foreach (list, i, one)
		if (counts(f, one))
			finding_add(f, text_of(one, "kind"), cause_of(one)->cause, "stuck",
				    FINDING_FIRST + (double)(stuck_causes_end - cause_of(one)),
				    text_make(one));
}

/* Requests may wait for their turn in QEMU's throttling whenever it is looked at. */
bool is_throttled(const struct found *f, const char *device)
{
	const json_t *queue;
	size_t i;

	json_array_foreach (json_object_get(data_of(f->sections, "stuck"), "queues"), i, queue)
		if (number(json_object_get(queue, "backend"), "throttled") &&
		    is_same_device(text_of(queue, "device"), device))
			return true;
	return false;
}
