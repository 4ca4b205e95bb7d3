/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The interrupts of each vCPU by vector, and its timers, as tables: `hostrace interrupts`. */
#ifndef HOSTRACE_INTERRUPT_REPORT_H
#define HOSTRACE_INTERRUPT_REPORT_H

#include "analyzers/interrupts/interrupts.h"
#include "event/vm_names.h"
#include "output/table.h"

struct interrupt_report {
	const struct interrupts *interrupts; /* after the last event */
	const struct vm_names *vms;	     /* borrowed; NULL: there is one VM */
	bool (*selects)(void *arg, uint16_t vcpu);
	void *arg;
};

/* What limits these figures: an array; new reference. */
json_t *interrupt_report_caveats(const struct interrupt_report *r);

extern const struct table_def interrupt_vectors_table, interrupt_timers_table;

/* A row is a vector of a vCPU; or a timer. 0 or -ENOMEM with the error message set. */
int interrupt_report_vectors(const struct interrupt_report *r, struct table *t);
int interrupt_report_timers(const struct interrupt_report *r, struct table *t);

#endif
