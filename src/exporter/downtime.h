/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Stops of VMs as the exporter shows them (analyzers/downtime/downtime.h), from vm_state and migrate_step alone: exits
 * are too many to be read for ever. So a stop is from when QEMU has paused the vCPUs until they may run again.
 *
 * A stop is that of the VM that stopped. Of a migration to another host the time is known until the devices' state is
 * written; of one to another VM of this host, until that one runs.
 */
#ifndef HOSTRACE_EXPORTER_DOWNTIME_H
#define HOSTRACE_EXPORTER_DOWNTIME_H

#include <sys/types.h>

#include "analyzers/downtime/downtime.h"
#include "base/cleanup.h"
#include "event/event.h"

/* By QEMU's run state; the last one: states that are not known. */
enum { EXPORT_STATES = 17 };

struct exported_stops {
	uint64_t nr;
	uint64_t ns; /* with that of the stop that has not ended */
};

/* Of the stops that have ended, of all VMs of this host, also of those that have ended. */
struct exported_phases {
	uint64_t nr;
	uint64_t ns[STOP_RUNS]; /* by the phase's first point */
};

struct exported_downtime;

/* NULL: out of memory, error message set. */
struct exported_downtime *exported_downtime_new(void);
void exported_downtime_free(struct exported_downtime *d);
DEFINE_CLEANUP(exported_downtime, struct exported_downtime *, exported_downtime_free);

/* Events in the order of time. 0 or -ENOMEM with the error message set. */
int exported_downtime_event(struct exported_downtime *d, const struct event *ev);

/* Its series end; its pid may be another process's from now on. */
void exported_downtime_forget(struct exported_downtime *d, pid_t pid);

/* now_ns: all events before it have been passed. 0 or -ENOMEM with the error message set. */
int exported_downtime_read(struct exported_downtime *d, uint64_t now_ns);

/* As of the last reading. */
struct exported_stops exported_downtime_of(const struct exported_downtime *d, pid_t pid,
					   unsigned int state);
const struct exported_phases *exported_downtime_phases(const struct exported_downtime *d,
						       unsigned int state);

/* "paused", "unknown" */
const char *exported_state_name(unsigned int state);

/* Series of this state exist from the beginning, so that increase() sees the first stop. */
bool exported_state_is_common(unsigned int state);

#endif
