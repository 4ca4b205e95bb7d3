/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The events of KVM and the scheduler that are ours (bpf/events.def), from the text that the kernel (print fmt of their
 * format file), trace-cmd's plugins and trace-cmd report -R ("name=value") print. Kernels differ: fields come and go,
 * and the vCPU is missing from some; a record's type lacks the fields that the text lacks.
 */
#ifndef HOSTRACE_TEXT_KVM_H
#define HOSTRACE_TEXT_KVM_H

#include "event/event.h"
#include "readers/text/text_line.h"

struct text_kind;

/* Exit reasons by name, the names of one file: searching all names for each exit would cost more than all else. */
enum { TEXT_REASONS = 64, TEXT_REASON_MAX = 32 };

struct text_reasons {
	struct text_reason {
		char name[TEXT_REASON_MAX]; /* zero padded */
		uint32_t isa, reason;
	} slot[TEXT_REASONS];
	uint32_t isa; /* of the last reason that was known by name: for reasons that are printed as numbers */
};

/* NULL: not an event of ours. `system` may be empty: unknown. */
const struct text_kind *text_kind_of(struct text_slice system, struct text_slice name);

/* The type of a record that has these fields of ours, UINT64_MAX: all. NULL: there are too many types. */
const struct event_type *text_kind_type(const struct text_kind *kind, uint64_t present);

/*
 * Does a line of this kind say which vCPU its thread runs? Then *ret is that vCPU, RECORD_NO_VCPU if the text lacks it.
 */
bool text_kind_own_vcpu(const struct text_kind *kind, struct text_slice text, uint16_t *ret);

/*
 * Fills the fields of a zeroed record and returns which ones the text has, as RECORD_BIT(). *ret_vcpu is the vCPU of
 * the thread, RECORD_NO_VCPU if the text lacks it. The text is followed by a newline (lines.h).
 */
uint64_t text_kind_fill(const struct text_kind *kind, struct text_reasons *reasons,
			struct text_slice text, uint8_t *record, uint16_t *ret_vcpu);

#endif
