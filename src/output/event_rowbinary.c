// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Events and spans as rows of RowBinary (rowbinary.c). The names and types of the columns are those of the tables that
 * `export clickhouse` makes.
 */
#include <errno.h>

#include "output/event_formats.h"
#include "output/rowbinary.h"

enum {
	VALUE_MAX = 4096, /* bytes of a printed value; longer text is cut, as in event_rows.c */
	NUMBERS_BYTES = 128, /* of numbers and lengths in a row */
};

#define FIRST_COLUMNS "upload,day,host,trace,chunk,offset_ns,vm,pid,tid,vcpu,"

const char event_rowbinary_columns[] = FIRST_COLUMNS
	"row,time_ns,source,cpu,comm,event,field_names,field_numbers,field_texts";
const char event_rowbinary_types[] =
	"UInt64,Date,String,String,UInt32,Int64,String,UInt32,UInt32,Int32,"
	"UInt64,UInt64,String,Int32,String,String,Array(String),Array(Int64),Array(String)";

const char span_rowbinary_columns[] = FIRST_COLUMNS
	"span,begin_ns,duration_ns,marked,weight,bytes,analyzer,label,label_names,label_texts";

#define put_number(b, number) rowbinary_put(b, &(number), sizeof(number))

/* ---- events ---- */

struct shown {
	const struct field *field[EVENT_FIELDS_MAX];
	unsigned int nr;
};

static void shown_fields(const struct event_row *row, struct shown *ret)
{
	const struct event_type *type = row->ev->type;
	uint64_t frames = 0;

	ret->nr = 0;
	for (unsigned int i = 0; i < type->nr_fields; i++)
		if (event_row_shows(row, &type->fields[i], &frames))
			ret->field[ret->nr++] = &type->fields[i];
}

static int put_texts(struct rowbinary *b, const struct event_row *row, const struct shown *shown)
{
	char text[VALUE_MAX];

	rowbinary_put_length(b, shown->nr);
	for (unsigned int i = 0; i < shown->nr; i++) {
		const struct field *f = shown->field[i];
		bool is_text = event_row_value(f) == ROW_VALUE_TEXT;

		if (rowbinary_reserve(b, VALUE_MAX + ROWBINARY_VARINT_MAX))
			return -ENOMEM;
		rowbinary_put_text(b, is_text ? field_print(row->ev, f, text, sizeof(text)) : "");
	}
	return 0;
}

/* A named number, such as an exit reason, has both its number and its name. */
static int put_fields(struct rowbinary *b, const struct event_row *row)
{
	struct shown shown;

	shown_fields(row, &shown);
	if (rowbinary_reserve(b, NUMBERS_BYTES + shown.nr * (EVENT_NAME_MAX + sizeof(uint64_t) +
							     ROWBINARY_VARINT_MAX)))
		return -ENOMEM;
	rowbinary_put_length(b, shown.nr);
	for (unsigned int i = 0; i < shown.nr; i++)
		rowbinary_put_text(b, shown.field[i]->name);
	rowbinary_put_length(b, shown.nr);
	for (unsigned int i = 0; i < shown.nr; i++) {
		uint64_t number = event_number_stable(row->ev, shown.field[i]);

		put_number(b, number);
	}
	return put_texts(b, row, &shown);
}

int event_rowbinary_row(struct rowbinary *b, const struct rowbinary_trace *trace, uint64_t nr,
			const struct event_row *row)
{
	const struct event *ev = row->ev;
	const struct rowbinary_thread thread = {.vm = row->vm ? row->vm : "",
						.pid = ev->pid,
						.tid = ev->tid,
						.vcpu = row->vcpu};
	int32_t cpu = ev->cpu == RECORD_CPU_UNKNOWN ? -1 : ev->cpu;
	int err = rowbinary_row(b, trace, &thread,
				strlen(row->source) + strlen(row->comm) + strlen(ev->type->name) +
					NUMBERS_BYTES);

	if (err)
		return err;
	put_number(b, nr);
	put_number(b, ev->time_ns);
	rowbinary_put_text(b, row->source);
	put_number(b, cpu);
	rowbinary_put_text(b, row->comm);
	rowbinary_put_text(b, ev->type->name);
	err = put_fields(b, row);
	if (!err)
		rowbinary_row_end(b);
	return err;
}

/* ---- spans ---- */

static int put_label(struct rowbinary *b, const struct pairing *p, unsigned int i,
		     const struct span *s)
{
	char buf[VALUE_MAX];
	const char *text = pairing_label_text(p, i, s->label[i], buf, sizeof(buf));

	if (rowbinary_reserve(b, strlen(text) + ROWBINARY_VARINT_MAX))
		return -ENOMEM;
	rowbinary_put_text(b, text);
	return 0;
}

static int put_labels(struct rowbinary *b, const struct pairing *p, const struct span *s)
{
	unsigned int nr;
	const struct label *label = pairing_labels(p, &nr);
	int err = 0;

	if (nr)
		err = put_label(b, p, 0, s);
	else
		rowbinary_put_text(b, "");
	if (err || rowbinary_reserve(b, NUMBERS_BYTES + nr * EVENT_NAME_MAX))
		return -ENOMEM;
	rowbinary_put_length(b, nr);
	for (unsigned int i = 0; i < nr; i++)
		rowbinary_put_text(b, label[i].name);
	rowbinary_put_length(b, nr);
	for (unsigned int i = 0; i < nr && !err; i++)
		err = put_label(b, p, i, s);
	return err;
}

int span_rowbinary_row(struct rowbinary *b, const struct rowbinary_trace *trace, uint64_t nr,
		       const struct analyzer *analyzer, const struct pairing *p,
		       const struct span *s, const char *vm)
{
	const struct rowbinary_thread thread = {
		.vm = vm, .pid = s->pid, .tid = s->tid, .vcpu = s->vcpu};
	uint64_t duration = s->end_ns - s->start_ns;
	uint8_t marked = s->marked;
	int err = rowbinary_row(b, trace, &thread, strlen(analyzer->name) + NUMBERS_BYTES);

	if (err)
		return err;
	put_number(b, nr);
	put_number(b, s->start_ns);
	put_number(b, duration);
	put_number(b, marked);
	put_number(b, s->weight);
	put_number(b, s->bytes);
	rowbinary_put_text(b, analyzer->name);
	err = put_labels(b, p, s);
	if (!err)
		rowbinary_row_end(b);
	return err;
}
