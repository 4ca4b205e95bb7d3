/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The columns of tables of events, their values, and the events that are their rows. */
#ifndef HOSTRACE_SQL_EVENT_COLUMNS_H
#define HOSTRACE_SQL_EVENT_COLUMNS_H

#include "output/event_rows.h"
#include "sql/internal.h"

/* Columns of all tables of events; EVENTS_EVENT and EVENTS_FIELDS: of "events" only. */
enum event_column {
	EVENTS_TIME,
	EVENTS_SOURCE,
	EVENTS_FILE,
	EVENTS_VM,
	EVENTS_CPU,
	EVENTS_VCPU,
	EVENTS_PID,
	EVENTS_TID,
	EVENTS_COMM,
	EVENTS_COMMON,
	EVENTS_EVENT = EVENTS_COMMON,
	EVENTS_FIELDS
};

/* Of the table of a type (of all types of this name), or of "events" (""). Names of fields are the types' own. */
void event_columns(const char *type, struct sql_columns *c);

/* The name of a field's column: a field that is called as what all events have gets a name of its own. */
const char *event_field_column(const struct field *f);

/* The events of the inputs once more. Zeroed before. */
struct events_input {
	struct input_set *set;
	struct input_events events;
	struct event_row row; /* what events_input_next() read */
};

/* `options`: NULL: the query's. 0 or -errno with the error message set; to be closed in both cases. */
int events_input_open(struct sql *s, const struct input_options *options, struct events_input *in);
void events_input_close(struct events_input *in);
#define _cleanup_events_input_ _cleanup_(events_input_close)

/* 1; 0: there are no more; -errno with the error message set. */
int events_input_next(struct events_input *in);

/* The value of one of the common columns, or of a field; null if the event does not have it. */
void event_common_value(struct table_value *v, const struct events_input *in, int column);
void event_field_value(struct table_value *v, const struct event *ev, const struct field *f);

/* All fields as a JSON object, which the caller frees; NULL: no memory. */
char *event_fields_json(const struct event_row *row, size_t *ret_len);

#endif
