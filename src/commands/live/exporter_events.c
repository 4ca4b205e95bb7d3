// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * exporter --queues, --downtime: requests of virtio devices, and stops of VMs, from probes of QEMU. They are attached
 * to each VM, also to those that start later.
 */
#include <errno.h>
#include <poll.h>

#include "base/array.h"
#include "base/clock.h"
#include "base/error.h"
#include "commands/common/command.h"
#include "commands/live/exporter.h"
#include "commands/live/queue_events.h"
#include "commands/live/record.h"
#include "exporter/attach.h"

/* pidfd: another process may get its pid. */
struct probed_vm {
	pid_t pid;
	int pidfd;
	bool ended;
	bool devices, downtime; /* are watched */
	struct attach_attempts attempts;
	bool attempted;		     /* in this round */
	char why[ATTACH_WHY_BYTES]; /* that it is not watched, if attempted */
};

struct exporter_events {
	struct queue_events events;
	struct exported_devices *devices;   /* NULL: not wanted */
	struct exported_downtime *downtime; /* the same */
	struct probed_vm *vm;
	unsigned int nr;
	json_t *probes; /* event: is it attached to all of the VMs? */
	uint64_t attach_failures;
};

/* ---- probes ---- */

static bool is_attached(const json_t *probe)
{
	return strcmp(json_string_value(json_object_get(probe, "how")), "absent") != 0;
}

/* Without these two, nothing is known of requests. */
static bool devices_need(const char *event)
{
	return !strcmp(event, "virtqueue_pop") || !strcmp(event, "virtqueue_fill");
}

static bool is_needed(const struct exporter_events *e, const char *event)
{
	return (e->devices && devices_need(event)) || (e->downtime && !strcmp(event, "vm_state"));
}

static struct probed_vm *vm_of(const struct exporter_events *e, pid_t pid)
{
	return array_find(e->vm, e->nr, i, e->vm[i].pid == pid);
}

static void why_note(struct probed_vm *vm, const char *event, const json_t *probe)
{
	if (!*vm->why)
		snprintf(vm->why, sizeof(vm->why), "%s: %s", event,
			 json_string_value(json_object_get(probe, "reason")));
}

static int probe_note(struct exporter_events *e, const json_t *probe)
{
	const char *event = json_string_value(json_object_get(probe, "event"));
	struct probed_vm *vm = vm_of(e, (pid_t)json_integer_value(json_object_get(probe, "pid")));
	const json_t *others = json_object_get(e->probes, event);
	bool attached = is_attached(probe);

	if (vm && !attached && is_needed(e, event))
		why_note(vm, event, probe);
	if (!vm || !collector_vm_probes(e->events.collector, vm->pid)) /* no QEMU: its requests are not followed */
		return 0;
	if (devices_need(event))
		vm->devices &= attached;
	if (!strcmp(event, "vm_state"))
		vm->downtime &= attached;
	return json_object_set_new(e->probes, event,
				   json_boolean(attached && !json_is_false(others)));
}

static int probes_note(struct exporter_events *e)
{
	json_t *all = collector_probes(e->events.collector), *probe;
	int err = all && e->probes ? json_object_clear(e->probes) : -1;
	size_t i;

	for (i = 0; i < e->nr; i++) {
		bool probed = collector_vm_probes(e->events.collector, e->vm[i].pid);

		e->vm[i].devices = probed && e->devices;
		e->vm[i].downtime = probed && e->downtime;
	}
	json_array_foreach(all, i, probe)
		err |= probe_note(e, probe);
	json_decref(all);
	return err ? fail(-ENOMEM, "out of memory") : 0;
}

bool exporter_events_probe(struct exporter_events *e, unsigned int i, struct export_probe *ret)
{
	void *at = json_object_iter(e->probes);

	while (at && i--)
		at = json_object_iter_next(e->probes, at);
	if (at)
		*ret = (struct export_probe){json_object_iter_key(at),
					     json_is_true(json_object_iter_value(at))};
	return at;
}

/* ---- VMs ---- */

static bool any_has_ended(struct exporter_events *e)
{
	bool any = false;

	for (unsigned int i = 0; i < e->nr; i++) {
		struct pollfd p = {.fd = e->vm[i].pidfd, .events = POLLIN};

		e->vm[i].ended = poll(&p, 1, 0) > 0;
		any |= e->vm[i].ended;
	}
	return any;
}

static void vm_forget(struct exporter_events *e, const struct probed_vm *vm)
{
	collector_vm_end(e->events.collector, vm->pid);
	if (e->devices)
		exported_devices_forget(e->devices, vm->pid);
	if (e->downtime)
		exported_downtime_forget(e->downtime, vm->pid);
	close(vm->pidfd);
}

/* Its last events come first. */
static int ended_forget(struct exporter_events *e)
{
	int err = exporter_events_drain(e);
	unsigned int left = 0;

	for (unsigned int i = 0; i < e->nr && !err; i++)
		if (e->vm[i].ended)
			vm_forget(e, &e->vm[i]);
		else
			e->vm[left++] = e->vm[i];
	if (!err)
		e->nr = left;
	return err;
}

static void vm_attach(struct exporter_events *e, struct probed_vm *p, const struct vm *vm)
{
	p->attempted = true;
	p->why[0] = '\0';
	if (collector_vm_add(e->events.collector, vm))
		snprintf(p->why, sizeof(p->why), "%s", error_text());
	else
		collector_vm_follow(e->events.collector, vm->pid, false);
}

static int vm_add(struct exporter_events *e, const struct vm *vm)
{
	int err = array_room(e->vm, e->nr);

	if (err)
		return err;
	e->vm[e->nr] = (struct probed_vm){.pid = vm->pid, .pidfd = vm_pidfd(vm)};
	if (e->vm[e->nr].pidfd >= 0) /* else it has ended */
		vm_attach(e, &e->vm[e->nr++], vm);
	return 0;
}

static bool lacks_probes(const struct exporter_events *e, const struct probed_vm *p)
{
	return (e->devices && !p->devices) || (e->downtime && !p->downtime);
}

static bool attempt_is_due(const struct exporter_events *e, const struct probed_vm *p)
{
	return lacks_probes(e, p) && attach_is_due(&p->attempts, monotonic_ns());
}

/* A failure is reported once, and again when it has another reason. */
static void attempt_report(struct exporter_events *e, struct probed_vm *p, const struct vm *vm)
{
	p->attempted = false;
	if (lacks_probes(e, p)) {
		if (!*p->why)
			snprintf(p->why, sizeof(p->why), "it has no probe");
		e->attach_failures++;
		if (attach_failed(&p->attempts, p->why, monotonic_ns()))
			command_note("warning: VM %s (pid %d) is not watched completely: %s; "
				     "this is tried again",
				     vm->name, vm->pid, p->why);
	} else if (attach_succeeded(&p->attempts)) {
		command_note("VM %s (pid %d) is watched now", vm->name, vm->pid);
	}
}

static void attempts_report(struct exporter_events *e, const struct top_vms *vms)
{
	for (unsigned int i = 0; i < vms->nr; i++) {
		struct probed_vm *p = vm_of(e, vms->vm[i].vm.pid);

		if (p && p->attempted)
			attempt_report(e, p, &vms->vm[i].vm);
	}
}

int exporter_events_follow(struct exporter_events *e, const struct top_vms *vms)
{
	bool changed = any_has_ended(e);
	int err = changed ? ended_forget(e) : 0;

	for (unsigned int i = 0; i < vms->nr && !err; i++) {
		const struct vm *vm = &vms->vm[i].vm;
		struct probed_vm *p = vm_of(e, vm->pid);

		if (p && !attempt_is_due(e, p))
			continue;
		if (p)
			vm_attach(e, p, vm);
		else
			err = vm_add(e, vm);
		changed = true;
	}
	if (err || !changed)
		return err;
	err = probes_note(e);
	attempts_report(e, vms);
	return err;
}

bool exporter_events_watch_devices(const struct exporter_events *e, pid_t pid)
{
	const struct probed_vm *vm = vm_of(e, pid);

	return vm && vm->devices;
}

bool exporter_events_watch_downtime(const struct exporter_events *e, pid_t pid)
{
	const struct probed_vm *vm = vm_of(e, pid);

	return vm && vm->downtime;
}

/* ---- events ---- */

int exporter_events_pause_ms(const struct exporter_events *e)
{
	return (int)(collector_pause_ns(e->events.collector) / NS_PER_MS) + 1;
}

static int on_event(void *arg, const struct event *ev)
{
	struct exporter_events *e = arg;
	int err = e->devices ? exported_devices_event(e->devices, ev) : 0;

	return err || !e->downtime ? err : exported_downtime_event(e->downtime, ev);
}

int exporter_events_drain(struct exporter_events *e)
{
	return queue_events_read(&e->events, on_event, e);
}

int exporter_events_read(struct exporter_events *e, struct export_state *ret)
{
	int err = exporter_events_drain(e);

	if (!err && e->devices)
		err = exported_devices_read(e->devices, e->events.watermark_ns);
	if (!err && e->downtime)
		err = exported_downtime_read(e->downtime, e->events.watermark_ns);
	ret->devices = e->devices;
	ret->downtime = e->downtime;
	ret->lost_device_events = collector_counts(e->events.collector)->lost;
	ret->attach_failures = e->attach_failures;
	return err;
}

/* ---- start and end ---- */

static int events_choose_wanted(const struct exporter_events_options *o, bool wants[EV_LIMIT])
{
	int err = o->queues ? events_choose_for("leaks", wants) : 0;

	if (o->queues)
		wants[EV_virtio_queue_notify] = wants[EV_virtio_notify] = true;
	if (o->downtime)
		wants[EV_vm_state] = wants[EV_migrate_step] = true;
	return err;
}

static int analyzers_make(struct exporter_events *e, const struct exporter_events_options *o)
{
	e->probes = json_object();
	if (!e->probes)
		return fail(-ENOMEM, "out of memory");
	if (o->queues && !(e->devices = exported_devices_new(o->devices_max)))
		return error_code();
	if (o->downtime && !(e->downtime = exported_downtime_new()))
		return error_code();
	return 0;
}

int exporter_events_open(const struct exporter_events_options *o, struct exporter_events **ret)
{
	struct exporter_events *e = calloc(1, sizeof(*e));
	bool wants[EV_LIMIT] = {0};
	int err = e ? analyzers_make(e, o) : fail(-ENOMEM, "out of memory");

	if (!err)
		err = events_choose_wanted(o, wants);
	if (!err)
		err = queue_events_follow(wants, &e->events);
	if (err)
		exporter_events_close(e);
	else
		*ret = e;
	return err;
}

void exporter_events_close(struct exporter_events *e)
{
	if (!e)
		return;
	queue_events_close(&e->events);
	exported_devices_free(e->devices);
	exported_downtime_free(e->downtime);
	for (unsigned int i = 0; i < e->nr; i++)
		close(e->vm[i].pidfd);
	free(e->vm);
	json_decref(e->probes);
	free(e);
}
