/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The kernel's tracepoints that are events of ours, and their fields, as kernel_events.def lists
 * them. */
#ifndef HOSTRACE_KERNEL_EVENTS_H
#define HOSTRACE_KERNEL_EVENTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "event/records.h"

/* How a text prints the value of a field. */
enum kernel_form {
	FORM_NUMBER,	  /* 0x1f or 31 */
	FORM_HEX,	  /* 1f, also without 0x */
	FORM_VCPU,	  /* the vCPU of the thread */
	FORM_REASON,	  /* a hardware exit's, by name or number */
	FORM_USER_REASON, /* KVM_EXIT_*, by name or number */
	FORM_TWO,	  /* "info 0 0": this field and the next one of ours, FORM_HEX */
	FORM_NONE,	  /* texts are parsed in another way */
};

enum { KERNEL_FIELDS_MAX = 24 };

struct kernel_field {
	const char *theirs; /* NULL: some kernels lack it; in texts the word before the value */
	enum kernel_form form;
	bool word_only;	       /* no format has it */
	uint16_t offset, size; /* of ours, or an extra field, in its record; size 0: the vCPU */
	uint8_t index;	       /* as in RECORD_BIT() */
	uint8_t at, bytes;     /* of a part of an array; bytes 0: it is no array */
	uint64_t (*convert)(uint64_t theirs); /* NULL: the value is the same */
	const char *kernels;
};

struct kernel_event {
	const char *system, *name;
	uint16_t id;   /* EV_* */
	bool own_vcpu; /* its vcpu_id is the vCPU of the thread itself */
	struct kernel_field field[KERNEL_FIELDS_MAX];
};

/* NULL: none of ours. `system` may be empty: unknown. Neither needs to end with NUL. */
const struct kernel_event *kernel_event_find(const char *system, size_t system_len,
					     const char *name, size_t name_len);

/* Does a kernel that has no field of this index count as usual? */
bool kernel_event_may_lack(const struct kernel_event *e, unsigned int index);

/* The name that a writer uses for a field of ours: of x86, with the value as it is. */
const char *kernel_field_name(const char *event, const char *ours);

/* How texts print an event that is not ours; several kernels' forms follow one another. */
struct kernel_text {
	const char *system, *name, *pattern;
	bool of_kvm; /* of kernel_texts.def, in its language */
};

/* The first of this name, NULL: none. */
const struct kernel_text *kernel_text_find(const char *name, size_t len);

/* The next form of the same event, NULL: none. */
const struct kernel_text *kernel_text_next(const struct kernel_text *text);

/* The name in newer kernels of a field that is not ours. */
const char *kernel_field_renamed(const char *system, const char *field);

/*
 * Our sched_switch's prev_state from the one that the tracepoint reports: from 4.14 on, and before,
 * when it was the task's own state.
 */
uint64_t ftrace_task_state(uint64_t reported);
uint64_t ftrace_task_state_own(uint64_t state);

/* Of an instruction of `len` bytes: those of the 8 bytes from `at` on that belong to it. */
static inline uint64_t kernel_insn_mask(unsigned int len, unsigned int at)
{
	unsigned int bytes = len > at ? len - at : 0;

	return bytes < 8 ? (UINT64_C(1) << 8 * bytes) - 1 : UINT64_MAX;
}

/*
 * record_fields() that its texts can say, too, of those that its tracepoint has: print fmt has the errno of
 * kvm_userspace_exit only if it is negative.
 */
static inline uint64_t kernel_fields_said(unsigned int id, const uint8_t *record, uint64_t present)
{
	const struct rec_kvm_userspace_exit *exit = (const void *)record;

	if (id == EV_kvm_userspace_exit && exit->error >= 0)
		present &= ~RECORD_BIT(kvm_userspace_exit, error);
	return record_fields(id, record, present);
}

/* For writers: the way back. */
uint64_t ftrace_reported_state(uint64_t state);

#endif
