// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * What a trace's contents can do to the writers of others' formats: a text trace as CTF, trace.dat, CSV and chosen
 * columns; the same bytes as folded stacks for pprof; an OSv trace's packets as pcapng.
 */
#include "output/event_formats.h"
#include "output/folded.h"
#include "output/samples/packets.h"
#include "readers/osv/osv.h"
#include "walk.h"

struct writers {
	struct event_ctf *ctf;
	struct event_tracedat *tracedat;
	struct event_csv *csv;
	struct event_columns *columns;
};

static void writers_row(struct writers *w, const struct event *ev, bool ticks)
{
	const struct event_row row = {
		.ev = ev, .source = "host", .comm = "comm", .vcpu = ev->vcpu, .ticks = ticks};

	event_ctf_row(w->ctf, &row, lost_record_count(ev));
	event_tracedat_row(w->tracedat, &row);
	event_csv_row(w->csv, &row);
	event_columns_row(w->columns, &row, walk_sink());
}

static void events_walk(const char *path)
{
	static struct batch batch;
	_cleanup_reader_ struct reader *r = NULL;
	struct read_hint hint = {.until_ns = UINT64_MAX};

	if (textfile_reader.open(path, &hint, &r)) {
		r = NULL;
		return;
	}
	bool ticks = trace_info_in_ticks(&r->info);
	_cleanup_fclose_ FILE *stream = tmpfile();
	struct event_ctf_clock clock = {.ticks = ticks,
					.offset_ns = trace_info_realtime_offset(&r->info)};
	struct writers w = {.ctf = event_ctf_new(stream, &clock),
			    .tracedat = event_tracedat_new(ticks),
			    .csv = event_csv_new(ticks, false),
			    .columns = event_columns_new("time_ns,vcpu,reason,fields.cpu,port",
							 EVENT_COLUMNS_JSON)};

	if (!stream || !w.ctf || !w.tracedat || !w.csv || !w.columns)
		abort();
	while (reader_next(r, &batch) > 0)
		for (unsigned int i = 0; i < batch.nr; i++)
			writers_row(&w, &batch.ev[i], ticks);
	event_ctf_finish(w.ctf, r->info.lost, walk_sink());
	event_tracedat_finish(w.tracedat, walk_sink());
	event_csv_finish(w.csv, walk_sink());
	event_ctf_close(w.ctf);
	event_tracedat_close(w.tracedat);
	event_csv_close(w.csv);
	event_columns_free(w.columns);
}

static void stacks_walk(const uint8_t *data, size_t size)
{
	char *folded = strndup((const char *)data, size);
	uint64_t nr;

	pprof_put(folded, &(struct pprof){.about = "fuzz"}, walk_sink(), &nr);
	free(folded);
}

static void packets_walk(const char *path)
{
	struct packets_clock clock = {"fuzz", 0};
	const struct time_range all = {0};
	struct sample_trace *t = NULL;
	struct packet_counts n;

	if (osv_open(path, NULL, &t))
		return;
	packets_pcapng(t, &all, &clock, walk_sink(), &n);
	sample_trace_close(t);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const char *path = walk_path(data, size);

	events_walk(path);
	packets_walk(path);
	stacks_walk(data, size);
	event_types_forget();
	return 0;
}
