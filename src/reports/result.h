/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A report is a function from a query to a result, and prints nothing:
 *
 *	command: options -> struct query -> report_run() -> struct result -> result_write() -> text, JSON, CSV, ...
 *	page:    several -------------> reports_run(), which reads once --> result_tree()  -> values of JSON
 *
 * Each report is one file of this folder with its `struct report_ops`: which events it wants, how it selects them,
 * and how its state is opened, fed with one event after the other, and ended. Nobody but the runner reads the inputs,
 * so that reports that want the same selection of events share one pass over them (run.c).
 */
#ifndef HOSTRACE_REPORTS_RESULT_H
#define HOSTRACE_REPORTS_RESULT_H

#include "input/input_set.h"
#include "output/report.h"

struct addresses;
struct tool_table;

/* What is asked. All is borrowed for as long as the result. */
struct query {
	const char *command;		   /* for the head of the answer: "exits" */
	const struct input_options *input; /* files, the time window, the filters */
	struct addresses *symbols;   /* names of the guest's addresses; NULL: none */

	/* Makes the inputs, not open, for a report that reads them twice in different ways. 0 or -errno. */
	int (*inputs)(bool guests, struct input_set **ret);
	/*
	 * The answer is used only if the inputs have one of these (comma-separated), or lack all of those that
	 * or_without has, if it is set; NULL: in any case.
	 */
	const char *events, *or_without;
	const struct output *out;	   /* of a report that is written while it is read: timeline_report */
	const void *of; /* the report's own options, such as struct sched_query; NULL: their defaults */
};

/* How a report's events are selected, where it is not simply by all filters. */
enum {
	READ_GUESTS = 1 << 0,	    /* a guest's trace that was saved with the recording is merged */
	READ_WINDOW = 1 << 1,	    /* the report itself applies the time window */
	READ_BEFORE = 1 << 2,	    /* the same, and it needs all events from before the window */
	READ_ALL_TIMES = 1 << 3,    /* whatever the time window */
	READ_ALL_VCPUS = 1 << 4,    /* --vcpu selects rows, not events */
	READ_ALL_THREADS = 1 << 5,  /* so does --tid */
	READ_ALL_EVENTS = 1 << 6,   /* so do --reason and --event */
	READ_THREAD_NAMES = 1 << 7, /* input_set_want_thread_names() */
	READ_OTHER_THREADS = 1 << 8, /* input_set_want_other_threads() */
	READ_STACKS = 1 << 9, /* input_set_want_stacks() */
};

struct result {
	const struct report_ops *ops;
	const struct query *query;
	struct input_set *in; /* borrowed; known from wants() on; read to its end */
	void *state;	      /* the report's, zeroed at first: ops->state_bytes */
	unsigned int reads;   /* READ_...: its selection of events */
	unsigned int pass;    /* passes that ended */
	bool done;	      /* after the last one */
	bool unused; /* it was not made: the inputs have none of query->events */
	bool found;	      /* what a command with --check looks for */
	const char *not_checked; /* why it could not be looked for; NULL: it was */
	int err;	      /* of reports_run(), with its error message */
	char *error;	      /* owned */
	struct tool_table *tool; /* the only input is a table of another tool, of which this is the result; owned */
};

struct report_ops {
	unsigned int reads;
	size_t state_bytes; /* of r->state, which the runner makes and frees; 0: the report itself does */

	bool where_rows; /* --where selects rows of its table */
	bool (*where_on)(const char *event); /* --where is about these events; NULL: about all; of a report alone */
	bool symbols; /* names of the guest's addresses are used */

	/* Looks at the query, before any input is open; may add to r->reads. NULL: nothing to do. */
	int (*init)(struct result *r);
	bool (*wants)(const char *event, void *result); /* as struct read_hint has it; NULL: all */

	/*
	 * What its rows are made of; a variant may have other needs. With needs->record_for, `record --for` records
	 * what it wants but these events, which it uses where they are.
	 */
	const struct report_needs *needs;
	const char *optional;

	/*
	 * Before each pass, the inputs are open. 0 or -errno with the error message set, as all here; 1: it depends
	 * on a report that is not done, and takes part in a later pass. NULL: nothing to do.
	 */
	int (*open)(struct result *r);

	/*
	 * If `allowed`, does from columns what all events would do (pairing/fast_path.h): 1; 0: it is to be fed. Or
	 * NULL.
	 */
	int (*columns)(struct result *r, bool allowed);
	int (*event)(void *state, const struct event *ev);

	/* After the last event. 1: all are to be read once more. NULL: nothing to do. */
	int (*end)(struct result *r);

	/* Can it be the report of r->tool, with this query? 0, or -errno with the error message. NULL: it cannot. */
	int (*tool)(const struct result *r);

	/* Writes the result as out->format has it. Once. */
	int (*write)(struct result *r, const struct output *out);
	void (*close)(struct result *r); /* or NULL; with state_bytes there is a state, else it may be NULL */
};

/* 0, or -errno with the error message set: the query is not right. In both cases r is to be closed. */
int result_init(struct result *r, const struct report_ops *ops, const struct query *query);

/* Runs the report on the inputs of `in`, which is not open. 0 or -errno with the error message set. */
int report_run(struct result *r, struct input_set *in);

enum { RESULTS_MAX = 31, RESULT_SETS_MAX = 32 };

/* The inputs of several reports: as they are, and with READ_GUESTS (borrowed, not open); the sets that were read. */
struct result_sets {
	const struct input_set *plain, *merged;
	struct input_set *read[RESULT_SETS_MAX];
	unsigned int nr;
};

/*
 * Runs several reports, after result_init(), in as few passes as possible. Each has its own error, in r->err and
 * r->error. 0, or -errno with the error message set if none could be run.
 */
int reports_run(struct result *const *results, unsigned int nr, struct result_sets *sets);
void result_sets_close(struct result_sets *sets);

/* After reports_run(): 0, or r->err with its error message set. */
int result_error(const struct result *r);

int result_write(struct result *r, const struct output *out);

/* The JSON answer with at most `limit` rows (0: all), sorted by a column (NULL: as they are). 0 or -errno. */
int result_tree(struct result *r, uint64_t limit, const char *sort, json_t **ret);
void result_close(struct result *r);

/* As report_of_inputs(), for the result's query. */
struct report result_report(const struct result *r, const struct output *out);

/* The VMs' names where there are several; else NULL. */
const struct vm_names *result_vms(const struct result *r);

#endif
