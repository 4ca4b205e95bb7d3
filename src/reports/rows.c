// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Chooses the columns and the printer of the format, then writes a row per event; symbols come from the event's own
 * source.
 */
#include <errno.h>

#include "base/error.h"
#include "event/vm_names.h"
#include "output/event_formats.h"
#include "output/json_rows.h"
#include "readers/ring/stream_reader.h"
#include "reports/head.h"
#include "reports/rows.h"
#include "symbols/symbols.h"

enum {
	FIELDS_COLUMN_MAX = 45,
	VM_COLUMN_MAX = 16, /* longer names are cut, but not with --wide */
};

struct rows {
	const struct rows_query *q;
	const struct input_set *in;
	struct output *out;
	struct thread_names *names;
	uint64_t start_ns, nr;
	bool ticks, with_source, with_vm;
	struct event_csv *csv; /* NULL: another format, or chosen columns */
	struct event_columns *columns; /* NULL: all */
	int err;
	int vm_width;
	bool has_frames, has_addresses, has_flags; /* in the events so far */
	bool noted[EVENT_TYPES_MAX];	/* types whose fields are in them */
	bool tried[INPUTS_MAX];
	struct addresses *symbols[INPUTS_MAX]; /* that a source brings itself */
};

/* A guest stream may bring its kernel's symbols; without any, addresses stay. */
static struct addresses *symbols_of(struct rows *rows, unsigned int source)
{
	const struct reader *r = source < INPUTS_MAX ? rows->in->input[source].reader : NULL;
	_cleanup_free_ char *text = NULL;
	size_t len = 0;

	if (rows->q->symbols)
		return rows->q->symbols;
	if (!r || rows->q->no_symbols || strcmp(r->info.kind, "guest-stream"))
		return NULL;
	if (!rows->tried[source] &&
	    !stream_symbols(r->info.file, input_set_files(rows->in), &text, &len) && len)
		addresses_parse(text, len, r->info.file, &rows->symbols[source]);
	rows->tried[source] = true;
	return rows->symbols[source];
}

static bool is(const struct rows *rows, const char *format)
{
	return !strcmp(rows->out->format, format);
}

/* What --frames and --no-resolve would have an effect on. */
static void fields_note(struct rows *rows, const struct event_type *type)
{
	rows->noted[type->index] = true;
	for (unsigned int i = 0; i < type->nr_fields; i++) {
		bool frame = !strcmp(type->fields[i].fmt, "frame");

		rows->has_frames |= frame;
		rows->has_addresses |= frame || !strcmp(type->fields[i].fmt, "addr");
	}
}

static void row_write(struct rows *rows, const struct event *ev)
{
	FILE *f = rows->out->file;
	char vm[VM_NAME_BYTES], cut[VM_COLUMN_MAX + 1];
	struct event_row row = {
		.ev = ev,
		.source = input_set_name(rows->in, ev->source),
		.comm = thread_comm(rows->names, ev),
		.vcpu = thread_vcpu(rows->names, ev),
		.ticks = rows->ticks,
		.max_frames = rows->q->max_frames,
		.with_flags = rows->q->flags,
		.vm_width = rows->vm_width,
	};

	rows->has_flags |= *ev->flags;
	if (!rows->noted[ev->type->index])
		fields_note(rows, ev->type);

	if (rows->with_vm && vm_is_known(rows->in->vms, ev->pid))
		row.vm = vm_name(rows->in->vms, ev->pid, vm, sizeof(vm));
	else if (rows->with_vm && !rows->columns)
		row.vm = "-";

	if (is(rows, "text") && row.vm && !rows->columns &&
	    strlen(row.vm) > (size_t)rows->vm_width) {
		int len = rows->vm_width - 3;

		while (len && (row.vm[len] & 0xc0) == 0x80) /* within a character of UTF-8 */
			len--;
		snprintf(cut, sizeof(cut), "%.*s...", len, row.vm);
		row.vm = cut;
	}
	if (is(rows, "text"))
		row.symbols = symbols_of(rows, ev->source);
	if (is(rows, "json"))
		json_rows_next(f, rows->nr);
	if (rows->columns)
		event_columns_row(rows->columns, &row, f);
	else if (rows->csv)
		rows->err = event_csv_row(rows->csv, &row);
	else if (is(rows, "text"))
		event_row_text(&row, rows->start_ns, rows->with_source, f);
	else
		event_row_json(&row, f);
	if (is(rows, "jsonl"))
		fputc('\n', f);
	rows->nr++;
}

/* The rest of a long line begins under its event, but leaves space for a field. */
static int fields_column(const struct rows *rows)
{
	int column = ROW_EVENT_COLUMN + (rows->with_source ? ROW_SOURCE_WIDTH : 0) +
		     (rows->with_vm ? rows->vm_width + 1 : 0) +
		     (rows->q->flags ? ROW_FLAGS_WIDTH : 0);

	return column < FIELDS_COLUMN_MAX ? column : FIELDS_COLUMN_MAX;
}

/* JSON has its rows first: the head about the input is known only at the end. */
static void rows_begin(struct rows *rows)
{
	if (is(rows, "json"))
		json_rows_begin(rows->out->file);
	if (rows->columns) {
		output_unwrap(rows->out);
		event_columns_head(rows->columns, rows->out->file);
	}
	if (!is(rows, "text") || rows->columns)
		return; /* the heading of CSV is known only at the end */
	event_row_text_head(&(const struct event_row){.ticks = rows->ticks,
						      .vm_width = rows->vm_width,
						      .with_flags = rows->q->flags},
			    rows->with_source, rows->out->file);
	output_fields(rows->out, fields_column(rows));
}

static int rows_end(struct rows *rows, const json_t *more)
{
	FILE *f = rows->out->file;

	if (rows->csv)
		return event_csv_finish(rows->csv, f);
	if (is(rows, "text") && !rows->columns)
		output_fields(rows->out, 0);
	if (is(rows, "text"))
		inputs_foot(rows->in, more, rows->out, f);
	else if (is(rows, "json"))
		json_rows_end(f, inputs_head(rows->in, rows->q->command, more));
	else if (is(rows, "jsonl"))
		json_rows_last(f, inputs_head(rows->in, rows->q->command, more));
	return 0;
}

static void rows_empty(struct rows *rows, json_t *more)
{
	struct report report = report_of_inputs(rows->in, rows->q->command, rows->out);

	report.caveats = more;
	report_empty(&report);
}

static void rows_flush(void *arg)
{
	struct rows *rows = arg;

	output_flush(rows->out);
}

/* 1: there may be more events than the limit. */
static int rows_loop(struct rows *rows, struct input_events *events)
{
	uint64_t limit = rows->out->limit ? rows->out->limit : UINT64_MAX;
	const struct event *ev;
	int more;

	while ((more = input_events_next(events, &ev)) > 0) {
		if (rows->nr == limit)
			return 1;
		row_write(rows, ev);
		if (rows->err)
			return rows->err;
		if (ferror(rows->out->file))
			return 0;
	}
	return more < 0 && rows->nr == limit ? 1 : more;
}

/* What the rows are written to. 0 or -errno with the error message set. */
static int rows_open(struct rows *rows)
{
	bool csv = is(rows, "csv");

	if (rows->q->columns) {
		rows->columns = event_columns_new(rows->q->columns,
						  csv ? EVENT_COLUMNS_CSV
						      : is(rows, "text") ? EVENT_COLUMNS_TEXT
									 : EVENT_COLUMNS_JSON);
		return rows->columns ? 0 : error_code();
	}
	if (csv)
		rows->csv = event_csv_new(rows->ticks, rows->with_vm);
	return csv && !rows->csv ? -ENOMEM : 0;
}

static void rows_close(struct rows *rows)
{
	event_csv_close(rows->csv);
	event_columns_free(rows->columns);
	for (unsigned int i = 0; i < INPUTS_MAX; i++)
		addresses_close(rows->symbols[i]);
}

/* What the foot says besides the notes of the inputs. New reference. */
static json_t *notes_make(const struct rows *rows, bool limited)
{
	json_t *more = json_array();
	unsigned int at = 0;
	const char *column;

	if (limited)
		json_array_append_new(
			more,
			json_sprintf("stopped after %" PRIu64 " events (--limit)", rows->nr));
	if (rows->q->follow && !rows->nr)
		json_array_append_new(more, json_string("no events were listed"));
	if (thread_names_refused(rows->names))
		json_array_append_new(
			more, json_sprintf("more than %d threads: further threads have no name",
					   NAMED_THREADS_MAX));
	if (rows->q->max_frames && rows->nr && !rows->has_frames)
		json_array_append_new(more, json_string("--frames has no effect: none of these "
							"events has a call chain"));
	if (rows->q->flags && rows->nr && !rows->has_flags)
		json_array_append_new(more, json_string("--flags has no effect: none of these "
							"events has latency flags"));
	if (rows->q->no_symbols && rows->nr && !rows->has_addresses)
		json_array_append_new(more, json_string("--no-resolve has no effect: none of these "
							"events has an address or a call chain"));
	while (rows->columns && rows->nr && (column = event_columns_unused(rows->columns, &at)))
		json_array_append_new(
			more, json_sprintf("column '%s' is empty: none of these events has it",
					   column));
	return more;
}

int rows_write(const struct rows_query *q, const struct input_set *in, struct output *out)
{
	_cleanup_input_events_ struct input_events events;
	struct rows rows = {.q = q,
			    .in = in,
			    .out = out,
			    .start_ns = in->reader->info.start_ns,
			    .ticks = trace_info_in_ticks(&in->reader->info),
			    .with_source = input_set_nr(in) > 1,
			    .with_vm = input_set_nr_vms(in) > 1 || q->columns};
	int ret = input_events_open(in, &events);

	if (!ret)
		ret = rows_open(&rows);
	if (!ret) {
		rows.names = events.names;
		events.before_read = q->follow ? rows_flush : NULL;
		events.arg = &rows;
		rows.vm_width = rows.with_vm ? vm_names_width(in->vms) : 0;
		if (rows.vm_width > VM_COLUMN_MAX && !out->wide)
			rows.vm_width = VM_COLUMN_MAX;
		rows_begin(&rows);
		ret = rows_loop(&rows, &events);
	}
	if (ret >= 0) {
		json_auto_t *more = notes_make(&rows, ret == 1);

		if (!rows.nr && !q->follow) /* which looks into the inputs again */
			rows_empty(&rows, more);
		for (size_t i = 0; is(&rows, "csv") && i < json_array_size(more); i++)
			out->note("%s", json_string_value(json_array_get(more, i)));
		ret = rows_end(&rows, more);
	}
	rows_close(&rows);
	return ret;
}

static int each_loop(struct input_events *events, rows_put *put, void *arg)
{
	const struct event *ev;
	int err = 0, more;

	while (!err && (more = input_events_next(events, &ev)) > 0) {
		const struct event_row row = {.ev = ev,
					      .source = input_set_name(events->set, ev->source),
					      .comm = thread_comm(events->names, ev),
					      .vcpu = thread_vcpu(events->names, ev)};

		err = put(arg, &row, events->lost);
	}
	return err ? err : more;
}

int rows_each(const struct input_set *in, rows_put *put, void *arg)
{
	_cleanup_input_events_ struct input_events events;
	int err = input_events_open(in, &events);

	return err ? err : each_loop(&events, put, arg);
}
