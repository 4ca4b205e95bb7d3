/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The stages of virtqueue requests, and how many were in flight, as a report: `hostrace virtio`. */
#ifndef HOSTRACE_QUEUE_REPORT_H
#define HOSTRACE_QUEUE_REPORT_H

#include "analyzers/virtqueue/queues.h"
#include "output/table.h"

struct condition;
struct trace_info;

struct queue_report {
	/* Given to queue_report_make(): the queues after their last event (borrowed), the time
	 * window. */
	struct queues *queues;
	uint64_t start_ns, end_ns;
	const struct vm_names *vms; /* borrowed; NULL: there is one VM */
	bool explains;		    /* notes tell what exactly is measured */
	const struct condition *where; /* borrowed; NULL: all queues */

	struct queue_figures **list; /* owned by the queues */
	unsigned int nr, columns;
	unsigned int all;      /* queues, whatever `where` selects */
	unsigned int left_out; /* queues above the limit */
	uint64_t column_ns;
	bool estimated; /* percentiles: from buckets */
	bool pids;	/* several VMs without names */
};

/* limit: of queues, 0: all. 0, or -errno with the error message set: of `where`, or -ENOMEM. */
int queue_report_make(struct queue_report *a, uint64_t limit);

/* What limits these figures. An array; new reference. */
json_t *queue_report_caveats(const struct queue_report *a, const struct trace_info *info);

extern const struct table_def queues_table, queue_stages_table;

/* An array of objects, one per queue; new reference. */
json_t *queue_report_json(const struct queue_report *a);

/* A row is a stage of a queue. */
void queue_report_table(const struct queue_report *a, bool csv, struct table *t);

/* The lines below the table: how many requests there were, and in flight over time. */
void queue_report_flight(const struct queue_report *a, FILE *f);

#endif
