/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Requests of virtio devices as the exporter shows them, from the events that `leaks` looks at, by its rules
 * (pairing/elements.h), and from kicks and interrupts. A request is an element of a virtqueue.
 *
 * The first devices of a VM have series of their own, further ones share "other". A device that is unplugged and
 * plugged in again under its name continues its series.
 */
#ifndef HOSTRACE_EXPORTER_DEVICES_H
#define HOSTRACE_EXPORTER_DEVICES_H

#include <sys/types.h>

#include "base/cleanup.h"
#include "event/event.h"
#include "exporter/buckets.h"

enum { EXPORT_DEVICE_MAX = 64 }; /* bytes of a name, with its end; longer ones are cut */

struct exported_device {
	pid_t pid; /* 0: the VM has ended */
	char name[EXPORT_DEVICE_MAX];
	uint64_t requests; /* returned to the guest */
	uint64_t kicks, interrupts;
	/* from pop to push; not where the pop may have been lost */
	uint64_t bucket[EXPORT_BUCKETS], native[EXPORT_NATIVES], total_ns;
	uint64_t in_flight, oldest_ns; /* as of exported_devices_read(); without time in which the VM was stopped */
};

struct exported_devices;

/* `max`: devices of a VM that have series of their own. NULL: out of memory, error message set. */
struct exported_devices *exported_devices_new(unsigned int max);
void exported_devices_free(struct exported_devices *d);
DEFINE_CLEANUP(exported_devices, struct exported_devices *, exported_devices_free);

/* Events in the order of time. 0 or -ENOMEM with the error message set. */
int exported_devices_event(struct exported_devices *d, const struct event *ev);

/* What it had is not shown any more: its pid may be another process's from now on. */
void exported_devices_forget(struct exported_devices *d, pid_t pid);

/* Determines what is in flight. 0 or -ENOMEM with the error message set. */
int exported_devices_read(struct exported_devices *d, uint64_t now_ns);

/* In the order in which they were first seen; NULL beyond the last. Valid until the next event. */
const struct exported_device *exported_devices_at(const struct exported_devices *d, unsigned int i);

#endif
