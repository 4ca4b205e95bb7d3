/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Every report and its own options, `of` of its struct query. One file each. */
#ifndef HOSTRACE_REPORTS_REPORTS_H
#define HOSTRACE_REPORTS_REPORTS_H

#include "analyzers/blame/summary.h"
#include "analyzers/faults/faults.h"
#include "analyzers/profile/annotate.h"
#include "analyzers/profile/host_profile.h"
#include "output/boot_report.h"
#include "reports/result.h"
#include "views/view.h"

/* A view of an analyzer: exits, ports, heatmap exit-latency, ... */
struct spans_query {
	const struct view *view;
	const char *analyzer; /* "exit-latency", "pair:BEGIN,END,KEY" */
	const char *by;	      /* keys, or NULL */
	const char *link;     /* of heat maps as SVG; NULL: none */
	unsigned int jobs;    /* threads; 0: one per CPU */
	bool all_vms;	      /* groups are not kept apart by VM */
	const char *sort;     /* --sort and --limit of the output */
	uint64_t limit;
};
extern const struct report_ops spans_report;

/* What the time of exits went into. */
struct blame_query {
	struct blame_by by;
	bool grouped;	   /* a row for each group of `by`, and not for each cause */
	bool list;	   /* text: the exits that are kept */
	uint64_t min_ns;   /* shorter exits are not counted */
	uint64_t keep;	   /* so many of the longest exits are kept: for lists, JSON and SVG */
	uint64_t around_ns; /* with the events around each of them; 0: without */
	bool around_json;  /* ... as JSON */
	bool across;	   /* folded stacks are compared with another recording's */
};
extern const struct report_ops blame_report;

/* Guest code by the instruction pointers in the host's events. */
struct host_profile_query {
	struct host_profile_options options; /* but the members that the pass sets: of, vms and the times */
	bool causes; /* of exits */
	int *kind;   /* of two recordings, which must be of one kind (enum host_profile_of): -1 at first; NULL: any */
	const struct annotate_options *annotate; /* of annotate_report; borrowed */
};
extern const struct report_ops host_profile_report;

/* The instructions of a function, with their samples: `of` is a struct host_profile_query with `annotate`. */
extern const struct report_ops annotate_report;

/* What a trace holds. */
struct info_query {
	bool exits_come; /* other reports of the pass want kvm_exit and kvm_entry */
};
extern const struct report_ops info_report;

/* How clocks are related. result.found: a guest's is refuted. */
extern const struct report_ops sync_report;

struct sched_query {
	bool loops;		   /* of event loops */
	bool by_task, by_handler; /* at most one of the three */
	bool by_tid; /* each thread, and each task that ran instead; without: all of one name as one */
};
extern const struct report_ops sched_report;

struct interrupts_query {
	bool timers;
};
extern const struct report_ops interrupts_report;

extern const struct report_ops downtime_report;

/* What a VMM allocated and did not free. */
struct heap_query {
	bool by_function; /* not by call stack */
	bool mismatches;  /* what was freed with another function */
};
extern const struct report_ops heap_report;

/* Faults of guest RAM. */
struct faults_query {
	enum faults_by by;
};
extern const struct report_ops faults_report;

/* System calls of threads. */
struct syscalls_query {
	bool by_tid; /* a row for each thread and call */
};
extern const struct report_ops syscalls_report;

/* Boots of VMs. */
struct boot_query {
	enum boot_by by;
	struct boot_marker marker[BOOT_MARKERS_MAX]; /* in their order */
	unsigned int nr_markers;
	struct trace_parent parent; /* in the format otlp */
};
extern const struct report_ops boot_report;

/* result.found: an element has leaked. */
struct leaks_query {
	uint64_t min_age_ns; /* younger ones are in flight */
};
enum { LEAKS_MIN_AGE_NS = 1000000000 };
extern const struct report_ops leaks_report;

/*
 * virtio_lost_report: what is lost of requests (slow_ns) is without the time for which their VM was stopped, or its
 * threads that serve devices had no CPU.
 */
extern const struct report_ops virtio_report, virtio_lost_report;

/* A guest's block requests. */
extern const struct report_ops requests_report;

/* The path of requests: stages, or the slowest ones. */
struct path_query {
	bool waterfall;
	uint64_t min_ns; /* shorter ones are not counted */
};
extern const struct report_ops path_report;

/* Its requests, for who makes another result of them. */
const struct path *path_of_result(const struct result *r);

/* Written to the query's `out` while it is read; result_write() ends it. As a value of JSON it is that of the page. */
extern const struct report_ops timeline_report;

/* The report whose events `record --for NAME` records. NULL: it is none of these. */
const struct report_ops *report_recorded(const char *name);

/* The names of these, by number; NULL: i is beyond the last one. Call with 0, 1, ... until then. */
const char *report_recorded_name(unsigned int i);

/* Is the event of this id one of them? */
bool report_records(const struct report_ops *ops, unsigned int id);

/* What `hostrace diagnose` is made of: `record --for diagnose` records the events of all of them. */
#define REPORTS_OF_DIAGNOSE "blame,sched,virtio,leaks"

/* "NAME: EVENT, EVENT": a line for each. */
void reports_recorded_print(FILE *out);

#endif
