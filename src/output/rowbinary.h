/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * ClickHouse's format RowBinary (https://clickhouse.com/docs/interfaces/formats/RowBinary): the values of a row's
 * columns one after the other, without separators. A block of rows is kept in memory, to be inserted as a whole.
 */
#ifndef HOSTRACE_ROWBINARY_H
#define HOSTRACE_ROWBINARY_H

#include "output/event_rows.h"
#include "pairing/pair.h"

struct rowbinary {
	uint8_t *data; /* owned */
	size_t len, size, row; /* row: where the present one begins */
	uint64_t rows, upload;
	uint32_t chunk;
	uint32_t crc; /* CRC32C of all columns but `upload` */
};

/* An empty block; it keeps its memory. */
void rowbinary_begin(struct rowbinary *b, uint32_t chunk, uint64_t upload);
void rowbinary_deinit(struct rowbinary *b);

/* Memory for `more` bytes. -ENOMEM with the error message set. */
int rowbinary_reserve(struct rowbinary *b, size_t more);

enum { ROWBINARY_VARINT_MAX = 10 };

/* To memory that was reserved: bytes of a number; the length of an array; a text, which takes its length more. */
void rowbinary_put(struct rowbinary *b, const void *value, size_t len);
void rowbinary_put_length(struct rowbinary *b, uint64_t value);
void rowbinary_put_text(struct rowbinary *b, const char *text);

/* What begins all rows of a trace, in the columns "upload,day,host,trace,chunk,offset_ns,vm,pid,tid,vcpu". */
struct rowbinary_trace {
	const char *host, *id;
	uint16_t day;	   /* since 1970-01-01 */
	int64_t offset_ns; /* from times to CLOCK_REALTIME; 0: unknown */
};

struct rowbinary_thread {
	const char *vm;
	uint32_t pid, tid;
	uint16_t vcpu; /* RECORD_NO_VCPU: none */
};

/* Begins a row, and reserves `more` bytes after these columns. -ENOMEM with the error message set. */
int rowbinary_row(struct rowbinary *b, const struct rowbinary_trace *trace,
		  const struct rowbinary_thread *thread, size_t more);

/* The row is complete. */
void rowbinary_row_end(struct rowbinary *b);

/* What makes a file of blocks RowBinaryWithNamesAndTypes: both lists are separated by commas. */
void rowbinary_head(const char *columns, const char *types, FILE *out);

/* ---- events, and spans of them, as its rows (event_rowbinary.c) ---- */

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
