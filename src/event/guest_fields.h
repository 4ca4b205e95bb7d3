/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The fields of a Linux guest's own events, which are records with fields (trace.dat, perf.data, raw pages) or
 * lines of text: "prev_comm=sh prev_pid=1 ... ==> next_comm=dd next_pid=107 next_prio=120". As with our own events
 * (records.h), a record's fields are looked up by name once, when the type is registered.
 */
#ifndef HOSTRACE_GUEST_FIELDS_H
#define HOSTRACE_GUEST_FIELDS_H

#include "event/event.h"

/* Which events are known here. */
enum guest_event {
	GUEST_OTHER,
	GUEST_SCHED_SWITCH,
	GUEST_SCHED_EXEC,
	GUEST_SCHED_FORK,
	GUEST_SCHED_WAKEUP,
	GUEST_TASK_NEW,
	GUEST_TASK_RENAME,
	GUEST_IRQ_ENTRY,
	GUEST_IRQ_EXIT,
	GUEST_BLOCK_ISSUE,
	GUEST_BLOCK_COMPLETE,
	GUEST_KICK, /* of a virtqueue, by OSv: a0 its vring, a1 whether it did */
	GUEST_TIMER, /* hrtimer_expire_entry, of a guest or host */
};

/* The fields that are used, of whichever of these events. */
#define GUEST_FIELDS(X)                                                                            \
	X(a0) X(a1) X(child_comm) X(child_pid) X(comm) X(dev) X(filename) X(irq) X(name)           \
	X(newcomm) X(next_comm) X(next_pid) X(nr_sector) X(now) X(oldcomm) X(pid) X(prev_comm)     \
	X(prev_pid) X(rwbs) X(sector) X(text)

enum guest_field {
#define GUEST_FIELD(name) GUEST_FIELD_##name,
	GUEST_FIELDS(GUEST_FIELD)
#undef GUEST_FIELD
	NR_GUEST_FIELDS
};

enum guest_event guest_event_named(const char *name);

/* The same events of a host's trace, by their kernel names: sched:sched_process_exec, task:task_rename. */
enum guest_event kernel_event_named(const char *name);

static inline enum guest_event guest_event_kind(const struct event_type *type)
{
	return (enum guest_event)type->guest;
}

/* Of a host's trace, too. */
static inline enum guest_event kernel_event_kind(const struct event_type *type)
{
	return (enum guest_event)type->kernel;
}

/*
 * guest_number(ev, next_pid, &next), guest_text(ev, next_comm, buf, size): false if the event does not have the field.
 * The type must be one of those known here, of a guest or host.
 */
#define guest_number(ev, name, ret)	  guest_field_number(ev, GUEST_FIELD_##name, ret)
#define guest_text(ev, name, buf, size) guest_field_text(ev, GUEST_FIELD_##name, buf, size)

bool guest_field_number(const struct event *ev, enum guest_field field, uint64_t *ret);
bool guest_field_text(const struct event *ev, enum guest_field field, char *buf, size_t size);

/* For the registry: how many fields of the type are to be bound, and binds them. */
unsigned int guest_fields_bound(const struct event_type *type);
void guest_fields_bind(struct event_type *type, const struct field **bound);

/* block_rq_issue and block_rq_complete. */
struct guest_block {
	uint32_t major, minor, sectors;
	uint64_t sector;
	char op; /* R, W, D(iscard), F(lush); 0: other */
};

bool guest_block(const struct event *ev, struct guest_block *ret);

#endif
