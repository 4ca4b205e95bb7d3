// SPDX-License-Identifier: GPL-2.0-or-later
#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "base/error.h"
#include "commands/common/input.h"
#include "commands/common/reports.h"
#include "commands/common/rows.h"
#include "commands/common/symbol_options.h"
#include "event/vm_names.h"
#include "input/input_events.h"
#include "output/event_csv.h"
#include "output/event_rows.h"
#include "output/json_rows.h"
#include "readers/ring/stream_reader.h"
#include "symbols/addresses.h"

enum {
	FIELDS_COLUMN_MAX = 45,
	VM_COLUMN_MAX = 16, /* longer names are cut, but not with --wide */
};

struct rows {
	const struct input_set *in;
	struct output *out;
	struct thread_names *names;
	uint64_t start_ns, nr, max_frames;
	bool ticks, with_source, with_vm;
	struct event_csv *csv; /* NULL: another format */
	int err;
	int vm_width;
	bool tried[INPUTS_MAX];
	struct addresses *symbols[INPUTS_MAX]; /* that a source brings itself */
	struct addresses *given;		/* --symbols, or -e: for all */
};

/* A guest stream may bring its kernel's symbols; without any, addresses stay. */
static const struct addresses *symbols_of(struct rows *rows, unsigned int source)
{
	const struct reader *r = source < INPUTS_MAX ? rows->in->input[source].reader : NULL;
	_cleanup_free_ char *text = NULL;
	size_t len = 0;

	if (rows->given)
		return rows->given;
	if (!r || symbols_given().none || strcmp(r->info.kind, "guest-stream"))
		return NULL;
	if (!rows->tried[source] && !stream_symbols(r->info.file, &text, &len) && len)
		addresses_parse(text, len, r->info.file, &rows->symbols[source]);
	rows->tried[source] = true;
	return rows->symbols[source];
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
		.max_frames = rows->max_frames,
		.vm_width = rows->vm_width,
	};

	if (rows->with_vm)
		row.vm = vm_is_known(rows->in->vms, ev->pid)
				 ? vm_name(rows->in->vms, ev->pid, vm, sizeof(vm))
				 : "-";

	if (!strcmp(rows->out->format, "text") && row.vm &&
	    strlen(row.vm) > (size_t)rows->vm_width) {
		int len = rows->vm_width - 3;

		while (len && (row.vm[len] & 0xc0) == 0x80) /* within a character of UTF-8 */
			len--;
		snprintf(cut, sizeof(cut), "%.*s...", len, row.vm);
		row.vm = cut;
	}
	if (rows->csv) {
		rows->err = event_csv_row(rows->csv, &row);
	} else if (!strcmp(rows->out->format, "json")) {
		json_rows_next(f, rows->nr);
		event_row_json(&row, f);
	} else if (!strcmp(rows->out->format, "jsonl")) {
		event_row_json(&row, f);
		fputc('\n', f);
	} else {
		row.symbols = symbols_of(rows, ev->source);
		event_row_text(&row, rows->start_ns, rows->with_source, f);
	}
	rows->nr++;
}

/* The rest of a long line begins under its event, but leaves space for a field. */
static int fields_column(const struct rows *rows)
{
	int column = ROW_EVENT_COLUMN + (rows->with_source ? ROW_SOURCE_WIDTH : 0) +
		     (rows->with_vm ? rows->vm_width + 1 : 0);

	return column < FIELDS_COLUMN_MAX ? column : FIELDS_COLUMN_MAX;
}

/* JSON has its rows first: the head about the input is known only at the end. */
static void rows_begin(struct rows *rows)
{
	if (rows->csv || !strcmp(rows->out->format, "jsonl"))
		return; /* the heading of CSV is known only at the end */
	if (!strcmp(rows->out->format, "json"))
		json_rows_begin(rows->out->file);
	else
		event_row_text_head(rows->ticks, rows->with_source, rows->vm_width,
				    rows->out->file);
	output_fields(rows->out, fields_column(rows));
}

static void rows_end(struct rows *rows, const json_t *more)
{
	FILE *f = rows->out->file;

	output_fields(rows->out, 0);
	if (!strcmp(rows->out->format, "text"))
		input_foot(rows->in, more, f);
	else if (!strcmp(rows->out->format, "json"))
		json_rows_end(f, input_head(rows->in, more));
	else if (!strcmp(rows->out->format, "jsonl"))
		json_rows_last(f, input_head(rows->in, more));
}

static void rows_empty(struct rows *rows, json_t *more)
{
	struct report report = report_of(rows->in, rows->out);

	report.caveats = more;
	report_empty(&report);
}

static int rows_loop(struct rows *rows, struct input_events *events)
{
	uint64_t limit = rows->out->limit ? rows->out->limit : UINT64_MAX;
	const struct event *ev;
	int more;

	while ((more = input_events_next(events, &ev)) > 0) {
		row_write(rows, ev);
		if (rows->err)
			return rows->err;
		if (rows->nr == limit || ferror(rows->out->file))
			return 1;
	}
	return more;
}

int rows_write(const struct input_set *in, struct output *out, uint64_t max_frames)
{
	_cleanup_input_events_ struct input_events events;
	struct rows rows = {.in = in,
			    .out = out,
			    .start_ns = in->reader->info.start_ns,
			    .ticks = trace_info_in_ticks(&in->reader->info),
			    .max_frames = max_frames,
			    .with_source = input_set_nr(in) > 1,
			    .with_vm = input_set_nr_vms(in) > 1};
	_cleanup_event_csv_ struct event_csv *csv = NULL;
	json_t *more;
	int ret = input_events_open(in, &events);

	if (!ret)
		ret = addresses_given(&rows.given);
	if (ret)
		return ret;
	rows.names = events.names;
	if (!strcmp(out->format, "csv")) {
		rows.csv = csv = event_csv_new(rows.ticks, rows.with_vm);
		if (!csv)
			return -ENOMEM;
	}
	more = json_array();
	rows.vm_width = rows.with_vm ? vm_names_width(in->vms) : 0;
	if (rows.vm_width > VM_COLUMN_MAX && !out->wide)
		rows.vm_width = VM_COLUMN_MAX;
	rows_begin(&rows);
	ret = rows_loop(&rows, &events);
	if (ret == 1 && rows.nr == out->limit)
		json_array_append_new(
			more, json_sprintf("stopped after %" PRIu64 " events (--limit)", rows.nr));
	if (thread_names_refused(events.names))
		json_array_append_new(
			more, json_sprintf("more than %d threads: further threads have no name",
					   THREADS_MAX));
	if (ret >= 0 && !rows.nr)
		rows_empty(&rows, more);
	if (ret >= 0 && csv)
		ret = event_csv_finish(csv, out->file);
	else if (ret >= 0)
		rows_end(&rows, more);
	json_decref(more);
	for (unsigned int i = 0; i < INPUTS_MAX; i++)
		addresses_close(rows.symbols[i]);
	addresses_close(rows.given);
	return ret < 0 ? ret : 0;
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
