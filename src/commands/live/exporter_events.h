/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * exporter --queues, --downtime: requests of virtio devices, and stops of VMs, from probes of QEMU. They are attached
 * to each VM, also to those that start later.
 */
#ifndef HOSTRACE_COMMANDS_EXPORTER_EVENTS_H
#define HOSTRACE_COMMANDS_EXPORTER_EVENTS_H

#include "commands/live/top.h"
#include "exporter/page.h"

struct exporter_events_options {
	bool queues, downtime;	  /* which of them */
	unsigned int devices_max; /* of a VM that have series of their own */
};

struct exporter_events;

/* Errors with the error message set. */
int exporter_events_open(const struct exporter_events_options *o, struct exporter_events **ret);
void exporter_events_close(struct exporter_events *e);

/*
 * Attaches to VMs that are new, and forgets those that have ended. A VM to which nothing can be attached is not
 * watched. -ENOMEM with the error message set.
 */
int exporter_events_follow(struct exporter_events *e, const struct top_vms *vms);

/* Are its requests followed, its stops? */
bool exporter_events_watch_devices(const struct exporter_events *e, pid_t pid);
bool exporter_events_watch_downtime(const struct exporter_events *e, pid_t pid);

/* How long events may wait to be read. */
int exporter_events_pause_ms(const struct exporter_events *e);

/* Reads the events that have come. */
int exporter_events_drain(struct exporter_events *e);

/* What is in flight, and how long VMs have been stopped: to be called before a page is written. */
int exporter_events_read(struct exporter_events *e, struct export_state *ret);

/* The i-th of the probes that are attached to QEMU; false: there are no more. */
bool exporter_events_probe(struct exporter_events *e, unsigned int i, struct export_probe *ret);

#endif
