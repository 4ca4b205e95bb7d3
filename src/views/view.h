/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A view defines how spans are summarized: it folds them one by one into a shape, which a format
 * writes. One file in src/views/, one line in src/views/all.c. Every view works with every analyzer.
 */
#ifndef HOSTRACE_VIEW_H
#define HOSTRACE_VIEW_H

#include "output/report.h"
#include "pairing/pair.h"
#include "pairing/spans.h"

struct addresses;
struct region_names;
struct view;

struct folding {
	const struct view *view;
	const struct analyzer *analyzer;
	const struct pairing *pairing; /* for labels; complete in draw() */
	const char *by;		       /* as given, or NULL */
	uint64_t start_ns;	       /* of the trace */
	uint64_t since_ns, until_ns;   /* of the report: the time window, no earlier than the trace's start */
	struct addresses *symbols; /* --symbols; NULL: none */
	struct region_names *regions;	 /* names of ports and MMIO, if there is one VM; NULL: none */
	const char *link;		 /* pictures: to the page of `hostrace report`; NULL: none */
	const char *sort;		 /* of the output: the column, NULL: none; rows, 0: all */
	uint64_t limit;
	bool drop_vm;		       /* tables: without the column "vm" if all rows are of one VM */
	void *state;		       /* the view's own */
};

struct view {
	const char *name, *summary;
	const char *formats; /* that it can be written in */

	int (*open)(struct folding *f); /* makes f->state; 0 or -errno with the error message set, as all here */
	int (*span)(struct folding *f, const struct span *s);

	/*
	 * The same for many at once, and for two parts that were folded apart (`from` is a state of its
	 * own, closed by the caller). The result must not depend on the order.
	 * NULL: it needs the order.
	 */
	int (*spans)(void *state, const struct spans *s);
	int (*merge)(void *state, void *from);
	bool wants_ends; /* looks at spans.end_ns */
	bool by_vm;	 /* a row is of one vCPU: in a trace of several VMs it has the VM, too */

	/* It draws the parts of spans within the window: those that are open at its end come last, as ending there. */
	bool clips;

	int (*draw)(struct folding *f, struct report *r); /* once, after the last span */
	void (*close)(struct folding *f); /* also after a failed open() */
};

extern const struct view *const views[]; /* ends with NULL */

extern const struct table_def count_table, summary_table, spans_table;

/*
 * Folds into copies of *f, each with a state of its own: the fold's states are struct folding, to be drawn and closed.
 * *f must live as long as the fold.
 */
struct span_fold folding_fold(const struct folding *f);

/* Ends a table of the view, as report_table(). */
int label_table(const struct folding *f, const struct report *r, struct table *t, const char *sort);

/* How a table shows the values of a label. */
enum column_kind label_kind(const struct label *l);

/* A table's columns and cells for the labels that spans are grouped by. */
void label_columns(const struct folding *f, struct table *t);
void label_cells(const struct folding *f, struct table *t, struct cell *row, const uint64_t *label);

/* State of views that keep spans until the end (list_spans.c); further ones are counted. */
struct kept_spans {
	struct span *span;
	size_t nr;
	uint64_t left_out;
	size_t cut_at; /* with --sort and --limit: when there are so many, those that will be left out go */
	uint64_t vm; /* of the first one */
	bool several_vms;
};
int kept_spans_add(struct folding *f, const struct span *s);
void kept_spans_close(struct folding *f);

#endif
