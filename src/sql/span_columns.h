/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The columns of tables of spans and their values, and an analyzer while its spans are read. */
#ifndef HOSTRACE_SQL_SPAN_COLUMNS_H
#define HOSTRACE_SQL_SPAN_COLUMNS_H

#include "pairing/pair.h"
#include "sql/internal.h"

/* Columns of all tables of spans; SPAN_ANALYZER and SPAN_LABELS: of "spans", else the labels follow. */
enum span_column {
	SPAN_START,
	SPAN_DURATION,
	SPAN_FILE,
	SPAN_VM,
	SPAN_PID,
	SPAN_TID,
	SPAN_VCPU,
	SPAN_WEIGHT,
	SPAN_BYTES,
	SPAN_COMMON,
	SPAN_ANALYZER = SPAN_COMMON,
	SPAN_LABELS
};

struct span_table_def {
	char name[64];
	const struct analyzer *analyzer; /* NULL: of all, "spans" */
	const char *by;
};

/* Table i, in their order; the last one is "spans". False: there are not so many. */
bool span_table_at(unsigned int i, struct span_table_def *ret);

struct span_columns {
	struct sql_columns columns;
	unsigned int nr_labels; /* that have a column */
	struct pairing *labels; /* whose names of labels the columns have */
};

/* Of an analyzer's table; NULL: of "spans". 0 or -errno with the error message set; to be deinitialized in any case. */
int span_columns_init(struct span_columns *c, const struct analyzer *a, const char *by);
void span_columns_deinit(struct span_columns *c);

/* Does the analyzer have events of its own in the inputs? */
bool span_analyzer_occurs(const struct sql *s, const struct analyzer *a);

/* An analyzer's spans, or those of its fallback if the inputs lack its events. Zeroed before. */
struct span_source {
	struct sql *sql;
	const struct analyzer *asked, *used;
	const char *by;
	struct pairing *pairing;
	const struct input_set *set; /* borrowed */
	int map[LABELS_MAX];	     /* which label is that of a column; -1: none */
};

/* Every span goes to fn. 0 or -errno with the error message set; to be closed in both cases. */
int span_source_open(struct span_source *o, struct sql *s, const struct analyzer *asked,
		     const char *by, const struct span_columns *c, span_fn *fn, void *arg);
void span_source_close(struct span_source *o);

/* The set that is read, which is open. */
void span_source_use(struct span_source *o, const struct input_set *set);

bool span_source_wants(const struct span_source *o, const char *event);
bool span_source_needs_before(const struct span_source *o);

/* Adds a note that another analyzer's spans are used. */
void span_source_note_fallback(const struct span_source *o);

/* After the last event: adds notes about spans that are not rows. */
void span_source_note(const struct span_source *o);

/* The value of a common column, or of the table's label k. `source`: of the event that ended the span. */
void span_common_value(struct table_value *v, const struct span_source *o, const struct span *span,
		       unsigned int source, int column);
void span_label_value(struct table_value *v, const struct span_source *o, const struct span *span,
		      unsigned int k);

/* All labels as a JSON object of texts, as people read them, which the caller frees; NULL: no memory. */
char *span_labels_json(const struct span_source *o, const struct span *span, size_t *ret_len);

#endif
