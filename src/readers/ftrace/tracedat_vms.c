// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The option GUEST, which trace-cmd record -A writes into the host's file for each guest that it records with it
 * (add_guest_info() in trace-cmd's trace-record.c):
 *
 *   name, NUL | u64 trace id | u32 number of CPUs | for each: u32 vCPU, u32 host thread
 */
#include <errno.h>
#include <stdlib.h>

#include "base/error.h"
#include "readers/ftrace/tracedat_internal.h"
#include "readers/ftrace/vm_threads.h"

int tracedat_guest_parse(struct tracedat_file *f, struct buffer *b)
{
	struct tracedat_guest *g = &f->guest[f->nr_guests];
	uint32_t nr;

	if (f->nr_guests == TRACEDAT_GUESTS_MAX)
		return 0;
	snprintf(g->name, sizeof(g->name), "%s", tracedat_text(b));
	g->trace_id = buffer_u64(b);
	nr = buffer_u32(b);
	if (b->cut || nr > TRACEDAT_CPUS_MAX || nr > buffer_left(b) / 8)
		return 0;
	g->cpu = calloc(nr + 1u, sizeof(*g->cpu));
	if (!g->cpu)
		return fail(-ENOMEM, "%s: out of memory", f->path);
	for (; g->nr_cpus < nr; g->nr_cpus++) {
		g->cpu[g->nr_cpus].vcpu = buffer_u32(b);
		g->cpu[g->nr_cpus].tid = buffer_u32(b);
	}
	f->nr_guests++;
	return 0;
}

struct vm_threads *tracedat_vms_new(const struct tracedat_file *f)
{
	struct vm_threads *x = vm_threads_new();

	for (unsigned int i = 0; x && i < f->nr_guests; i++) {
		const struct tracedat_guest *g = &f->guest[i];
		int vm = vm_threads_guest(x, g->name, g->trace_id);

		for (unsigned int k = 0; k < g->nr_cpus; k++)
			vm_threads_guest_cpu(x, vm, g->cpu[k].vcpu, g->cpu[k].tid);
	}
	return x;
}
