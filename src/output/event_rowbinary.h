/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Events, and spans of them, as rows of ClickHouse's format RowBinary. */
#ifndef HOSTRACE_EVENT_ROWBINARY_H
#define HOSTRACE_EVENT_ROWBINARY_H

#include "output/event_rows.h"
#include "output/rowbinary.h"
#include "pairing/pair.h"

/* Names and types of the columns in their order, separated by commas. */
extern const char event_rowbinary_columns[], event_rowbinary_types[], span_rowbinary_columns[];

/* Adds row number `nr` of the trace. -ENOMEM with the error message set. */
int event_rowbinary_row(struct rowbinary *b, const struct rowbinary_trace *trace, uint64_t nr,
			const struct event_row *row);

/* The same for a span of an analyzer; `vm`: its VM's name. */
int span_rowbinary_row(struct rowbinary *b, const struct rowbinary_trace *trace, uint64_t nr,
		       const struct analyzer *analyzer, const struct pairing *p,
		       const struct span *s, const char *vm);

#endif
