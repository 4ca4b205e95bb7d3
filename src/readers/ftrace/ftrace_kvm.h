/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The kernel's tracepoints that are events of ours (bpf/events.def): their fields moved by name, so that every report
 * works on a recording made by trace-cmd too.
 */
#ifndef HOSTRACE_FTRACE_KVM_H
#define HOSTRACE_FTRACE_KVM_H

#include "base/hash.h"
#include "event/event.h"

struct tep_event;
struct ftrace_load;
struct ftrace_ours;

enum { FTRACE_VCPUS_MAX = 1 << 16 }; /* threads remembered as vCPUs */

/* The vCPU that a thread runs: from kvm_entry; other events are of the same thread. */
struct ftrace_vcpu {
	uint64_t tid;
	uint16_t vcpu;
};

/* NULL: none of ours, or not with the fields that it needs. To be freed with free(). */
struct ftrace_ours *ftrace_ours_new(const char *system, const char *name, struct tep_event *event);

/* The type of its records: ours, with the fields that the kernel's event has. */
const struct event_type *ftrace_ours_type(const struct ftrace_ours *o);

/* The vCPU that the event's thread runs, RECORD_NO_VCPU if it is unknown; learns it (struct ftrace_vcpu). */
uint16_t ftrace_ours_vcpu(const struct ftrace_ours *o, struct hash_table *vcpus, uint32_t tid,
			  const uint8_t *entry, size_t len);

/* The vCPU that the event itself names as its own thread's, RECORD_NO_VCPU if it names none. */
uint16_t ftrace_ours_own_vcpu(const struct ftrace_ours *o, const uint8_t *entry, size_t len);

/* The offset of that vCPU number in the event, 0 if it has none. Does this tracepoint name it at all? */
unsigned int ftrace_ours_vcpu_offset(const struct ftrace_ours *o);
bool ftrace_names_own_vcpu(const char *name);

/* As ftrace_events_load(). */
bool ftrace_ours_load(const struct ftrace_ours *o, const struct field *field,
		      struct ftrace_load *ret);

/* Fills the fields of a zeroed record of `type`. */
void ftrace_ours_fill(const struct ftrace_ours *o, const struct event_type *type,
		      const uint8_t *entry, size_t len, uint8_t *record);

/* Our sched_switch's prev_state from the one that the tracepoint reports. */
uint64_t ftrace_task_state(uint64_t reported);

/* For writers: the way back, and the x86 tracepoint's name of a field of ours. */
uint64_t ftrace_reported_state(uint64_t state);
const char *ftrace_their_name(const char *event, const char *ours);

#endif
