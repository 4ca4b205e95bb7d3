/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Chosen columns of events (`list --columns`): what a script reads is what it named, in that order, whatever else later
 * versions add. A column is one of a row's own (time_ns, source, ..., by their JSON keys), or a field by its name; a
 * field that has the name of one of a row's own is "fields.NAME". A cell is empty where an event has none.
 */
#ifndef HOSTRACE_EVENT_COLUMNS_H
#define HOSTRACE_EVENT_COLUMNS_H

#include <stdio.h>

#include "base/cleanup.h"
#include "output/event_rows.h"

struct event_columns;

enum { EVENT_COLUMNS_MAX = 64 };

enum event_columns_format {
	EVENT_COLUMNS_TEXT, /* separated by tabs; "-" where an event has none */
	EVENT_COLUMNS_CSV,
	EVENT_COLUMNS_JSON, /* an object without newline; null where an event has none */
};

/* "time_ns,vcpu,event,reason". NULL with the error message set: an empty name, more than EVENT_COLUMNS_MAX. */
struct event_columns *event_columns_new(const char *list, enum event_columns_format format);
void event_columns_free(struct event_columns *columns);
DEFINE_CLEANUP(event_columns, struct event_columns *, event_columns_free);
#define _cleanup_event_columns_ _cleanup_(event_columns_cleanup_)

/* The names; nothing for JSON. */
void event_columns_head(const struct event_columns *columns, FILE *out);

/* Text and CSV end with a newline. */
void event_columns_row(struct event_columns *columns, const struct event_row *row, FILE *out);

/* The first column, from *at on, that no row had, *at being the next; NULL: there is none. *at begins as 0. */
const char *event_columns_unused(const struct event_columns *columns, unsigned int *at);

#endif
