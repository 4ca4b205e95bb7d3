/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The kernel's tracepoints that are events of ours (bpf/events.def): their fields moved by name, so that every report
 * works on a recording made by trace-cmd too.
 */
#ifndef HOSTRACE_FTRACE_KVM_H
#define HOSTRACE_FTRACE_KVM_H

#include "base/hash.h"
#include "event/rows.h"
#include "readers/ftrace/ftrace.h"

struct tep_event;
struct ftrace_load;
struct ftrace_ours;

enum { FTRACE_VCPUS_MAX = 1 << 16 }; /* threads remembered as vCPUs */

/* The vCPU that a thread runs: from kvm_entry; other events are of the same thread. */
struct ftrace_vcpu {
	uint64_t tid;
	uint16_t vcpu;
	bool is_name; /* only of its thread, which had no event of KVM yet */
};

/* What the print format of an event says about its values. */
enum {
	FTRACE_PRINT_OWN_STATE = 1, /* sched_switch, before 4.14: prev_state is the task's own */
	FTRACE_PRINT_SERROR = 2,    /* arm64's kvm_exit, from 4.9 on: it knows EL1_SERROR */
};

/* Is it what 'export trace.dat' writes where pages that say that events are missing would be too many? */
bool ftrace_ours_is_loss(const char *system, const char *name);

/* NULL: none of ours, or not with the fields that it needs. To be freed with free(). `print`: FTRACE_PRINT_*. */
struct ftrace_ours *ftrace_ours_new(const char *system, const char *name, struct tep_event *event,
				    unsigned int print);

/* The next field of ours, from index *at on, that the format lacks though no kernel is known to; NULL: none. */
const char *ftrace_ours_unbound(const struct ftrace_ours *o, unsigned int *at);

/* The type of its records: ours, with the fields that the kernel's event has. */
const struct event_type *ftrace_ours_type(const struct ftrace_ours *o);

/* The vCPU that the event's thread runs, RECORD_NO_VCPU if it is unknown; learns it (struct ftrace_vcpu). */
uint16_t ftrace_ours_vcpu(const struct ftrace_ours *o, struct hash_table *vcpus, uint32_t tid,
			  const uint8_t *entry, size_t len);

/* The offset of that vCPU number in the event, 0 if it has none. Does this tracepoint name it at all? */
unsigned int ftrace_ours_vcpu_offset(const struct ftrace_ours *o);
bool ftrace_names_own_vcpu(const char *name);

/* As ftrace_events_load(). */
bool ftrace_ours_load(const struct ftrace_ours *o, const struct field *field,
		      struct ftrace_load *ret);

/* Fills the fields of a zeroed record, and returns its type: that of ftrace_ours_type(), or one with fewer fields. */
const struct event_type *ftrace_ours_fill(struct ftrace_ours *o, const uint8_t *entry, size_t len,
					  uint8_t *record);

enum { FTRACE_LAYOUTS_MAX = 64 }; /* formats of wanted events */

/* How one of the file's formats becomes a kind's row. */
struct ftrace_layout {
	unsigned int kind, nr;
	struct {
		struct ftrace_load load;
		bool widens; /* only zeros are added: nothing to extend */
		unsigned int value;
	} field[ROWS_VALUES_MAX];
};

struct rows_plan {
	struct ftrace_layout layout[FTRACE_LAYOUTS_MAX];
	unsigned int nr;
	uint8_t by_id[FTRACE_IDS]; /* its layout + 1; 0: not wanted */
};

/* `nr`: how many events of each id there are. To be freed with free(). NULL: it asks for what cannot be read so. */
struct rows_plan *ftrace_rows_plan(const struct ftrace_events *e, const uint64_t *nr,
				   const struct rows_request *request);

static inline uint64_t ftrace_extend(uint64_t v, unsigned int bytes, bool is_signed)
{
	unsigned int shift = 64 - 8 * bytes;

	return is_signed ? (uint64_t)((int64_t)(v << shift) >> shift) : v << shift >> shift;
}

/* As ftrace_event_make() and event_u64() one after the other. */
static inline uint64_t ftrace_load(const struct ftrace_load *l, bool widens, const uint8_t *entry,
				   size_t len)
{
	uint64_t v = 0;
	uint32_t v32;

	if ((size_t)l->offset + l->bytes > len)
		return 0;
	if (l->bytes == sizeof(v32)) {
		memcpy(&v32, entry + l->offset, sizeof(v32));
		v = v32;
	} else if (l->bytes == sizeof(v)) {
		memcpy(&v, entry + l->offset, sizeof(v));
	} else {
		memcpy(&v, entry + l->offset, l->bytes);
	}
	if (widens)
		return v;
	return ftrace_extend(ftrace_extend(v, l->bytes, l->is_signed), l->to_bytes, l->to_signed);
}

/* Adds a row to a run, `step` ns after the run's previous one. */
static inline void ftrace_row_add(struct rows_data *to, struct rows_run *run,
				  const struct ftrace_layout *l, const uint8_t *entry, size_t len,
				  uint64_t step)
{
	uint32_t row = to->nr_of[l->kind]++;

	for (unsigned int i = 0; i < l->nr; i++)
		to->value[l->field[i].value][row] =
			ftrace_load(&l->field[i].load, l->field[i].widens, entry, len);
	to->step[l->kind][row] = step;
	to->kind[to->nr++] = (uint8_t)l->kind;
	run->nr++;
}

#endif
