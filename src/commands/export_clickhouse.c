// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * export clickhouse: rows to a server, in chunks that it inserts whole or not at all. Chunks have numbers, so that an
 * export that was interrupted continues where it ended.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <sys/random.h>

#include "base/clock.h"
#include "base/crc32c.h"
#include "base/error.h"
#include "base/json_text.h"
#include "base/memory.h"
#include "base/read_full.h"
#include "commands/common/command.h"
#include "commands/common/confined.h"
#include "commands/export_events.h"
#include "event/vm_names.h"
#include "output/rowbinary.h"
#include "reports/rows.h"
#include "upload/clickhouse.h"

enum {
	CHUNK_ROWS = 1 << 18,
	CHUNK_ROWS_MAX = 1 << 20, /* of the server's default max_insert_block_size */
	CHUNK_BYTES = 64 << 20,	  /* a chunk of long rows ends earlier */
	COPY_BYTES = 1 << 16,
	DAY_SECONDS = 86400,
};

/* The analyzers whose spans are sent, and the keys that are added to their own. */
static const struct {
	const char *name, *by;
} span_analyzers[] = {
	{"exit-latency", "guest-task"},
	{"userspace-exit"},
	{"pio"},
	{"mmio"},
	{"msr"},
	{"virtqueue"},
	{"block"},
	{"sched-out"},
	{"bql-wait"},
	{"bql-hold"},
};
enum { ANALYZERS = sizeof(span_analyzers) / sizeof(span_analyzers[0]) };

/* Rows of one table. */
struct stream {
	const char *table, *columns;
	struct rowbinary block;
	uint64_t rows; /* those of earlier blocks */
};

struct target;

struct spans {
	struct target *target;
	const struct analyzer *analyzer;
	struct pairing *pairing;
};

struct target {
	struct export_clickhouse *to;
	FILE *file; /* for events; NULL: the server */
	const struct vm_names *vms;
	struct rowbinary_trace trace;
	struct clickhouse_progress progress;
	struct stream events, spans;
	struct spans by_analyzer[ANALYZERS];
	uint64_t chunk_rows;
	uint32_t next_chunk, chunks, skipped;
};

/* ---- options ---- */

void export_clickhouse_schema(FILE *f)
{
	for (size_t i = 0; clickhouse_schema[i]; i++)
		fprintf(f, "%s%s;\n", i ? "\n" : "", clickhouse_schema[i]);
}

int export_clickhouse_check(struct export_clickhouse *to)
{
	if (to->chunk_rows > CHUNK_ROWS_MAX)
		return fail(-EINVAL, "invalid --chunk-rows %" PRIu64 " (at most %d)",
			    to->chunk_rows, CHUNK_ROWS_MAX);
	if (to->url && http_url_check(to->url))
		return error_code();
	to->http.password = getenv("CLICKHOUSE_PASSWORD");
	return 0;
}

int export_clickhouse_open(struct export_clickhouse *to)
{
	const struct clickhouse_options opt = {
		.url = to->url, .database = to->database, .http = to->http};

	command_confine_sends();
	to->server = clickhouse_open(&opt);
	if (!to->server)
		return error_code();
	return to->create ? clickhouse_create(to->server) : 0;
}

void export_clickhouse_close(struct export_clickhouse *to)
{
	clickhouse_close(to->server);
	to->server = NULL;
}

/* ---- the trace's name ---- */

static int file_crc(const char *path, uint32_t *crc)
{
	_cleanup_close_ int fd = open(path, O_RDONLY | O_CLOEXEC);
	char data[COPY_BYTES];
	ssize_t len = fd < 0 ? -errno : 1;

	while (len > 0) {
		len = read_full(fd, data, sizeof(data));
		*crc = crc32c(*crc, data, len > 0 ? (size_t)len : 0);
	}
	return len < 0 ? fail((int)len, "%s: %s", path, strerror((int)-len)) : 0;
}

static void texts_print(const char *name, const struct text_list *list, FILE *f)
{
	for (unsigned int i = 0; i < list->nr; i++)
		fprintf(f, "%s=%s\n", name, list->item[i]);
}

static void numbers_print(const char *name, const struct number_list *list, FILE *f)
{
	for (unsigned int i = 0; i < list->nr; i++)
		fprintf(f, "%s=%u\n", name, list->item[i]);
}

/* What decides, besides the files, which rows there are. */
static int options_crc(const struct input_options *o, uint32_t *crc)
{
	_cleanup_free_ char *text = NULL;
	size_t len = 0;
	FILE *f = open_memstream(&text, &len);

	if (!f)
		return fail(-ENOMEM, "out of memory");
	fprintf(f, "%s %s %s %d %s %" PRIu64 "\n", o->since.text ? o->since.text : "",
		o->until.text ? o->until.text : "", o->period.text ? o->period.text : "",
		o->is_absolute, o->clock ? o->clock : "", o->tsc_khz);
	texts_print("vm", &o->vms, f);
	texts_print("event", &o->globs, f);
	texts_print("reason", &o->reasons, f);
	numbers_print("vcpu", &o->vcpus, f);
	numbers_print("tid", &o->tids, f);
	if (!memstream_close(f, &text))
		return fail(-ENOMEM, "out of memory");
	*crc = crc32c(*crc, text, len);
	return 0;
}

/* HOST/TIME/CRC: the same for the same events, wherever the file is. Allocated. */
static int name_make(const struct input_set *in, const char *host, int64_t offset_ns, char **ret)
{
	uint64_t start_ns = in->reader->info.start_ns;
	uint32_t crc = 0;
	int err = 0;

	for (unsigned int i = 0; i < input_set_nr(in) && !err; i++)
		err = file_crc(in->input[i].path, &crc);
	if (!err)
		err = options_crc(in->options, &crc);
	if (!err && asprintf(ret, "%s/%" PRIu64 "/%08" PRIx32, *host ? host : "-",
			     start_ns + (uint64_t)offset_ns, crc) < 0)
		err = fail(-ENOMEM, "out of memory");
	return err;
}

/* ---- chunks ---- */

static int upload_number(uint64_t *ret)
{
	if (getrandom(ret, sizeof(*ret), 0) != sizeof(*ret))
		return fail(-errno, "getrandom: %s", strerror(errno));
	return 0;
}

/* What the server has must be what the trace says now, or rows of two versions would be mixed. */
static int chunk_compare(const struct target *t, const struct rowbinary *b,
			 const struct clickhouse_chunk *there)
{
	if (there->crc == b->crc && there->rows == b->rows)
		return 0;
	return fail(-EEXIST,
		    "%s: chunk %" PRIu32 " of trace '%s' differs from what was uploaded before, by "
		    "another version of hostrace; delete the trace's rows from chunk_rows, and "
		    "upload it again",
		    t->to->url, b->chunk, t->trace.id);
}

static int chunk_end(struct target *t, struct stream *s)
{
	const struct rowbinary *b = &s->block;
	const struct clickhouse_chunk *there = hash_find_u64(&t->progress.chunks, b->chunk);
	int err = 0;

	if (!b->rows)
		return 0;
	if (t->file)
		fwrite(b->data, 1, b->len, t->file);
	else if (there)
		err = chunk_compare(t, b, there);
	else
		err = clickhouse_chunk_put(t->to->server, s->table, s->columns, &t->trace, b,
					   t->chunk_rows);
	if (err && err != -EEXIST)
		fail_hint(err,
			  "%" PRIu32 " chunks are there; the same command continues after them",
			  t->chunks);
	s->rows += b->rows;
	t->chunks++;
	t->skipped += there != NULL;
	return err;
}

/* Chunks of both tables are numbered together, in the order in which they begin. */
static int chunk_begin(struct target *t, struct stream *s)
{
	uint64_t upload = 0;
	int err = t->file ? 0 : upload_number(&upload);

	rowbinary_begin(&s->block, t->next_chunk++, upload);
	return err;
}

/* Before a row is added. */
static int chunk_continue(struct target *t, struct stream *s)
{
	int err;

	if (s->block.rows < t->chunk_rows && s->block.len < CHUNK_BYTES)
		return 0;
	err = chunk_end(t, s);
	return err ? err : chunk_begin(t, s);
}

/* ---- rows ---- */

static int span_put(void *arg, const struct span *span)
{
	const struct spans *from = arg;
	struct target *t = from->target;
	struct stream *s = &t->spans;
	char vm[VM_NAME_BYTES] = "";
	int err = chunk_continue(t, s);

	if (vm_is_known(t->vms, span->pid))
		vm_name(t->vms, span->pid, vm, sizeof(vm));
	return err ? err
		   : span_rowbinary_row(&s->block, &t->trace, s->rows + s->block.rows,
					from->analyzer, from->pairing, span, vm);
}

static int spans_open(struct target *t)
{
	int err = 0;

	for (unsigned int i = 0; i < ANALYZERS && !err; i++) {
		struct spans *s = &t->by_analyzer[i];

		s->target = t;
		s->analyzer = analyzer_find(span_analyzers[i].name, NULL);
		err = pairing_open(s->analyzer, span_analyzers[i].by, span_put, s, &s->pairing);
		if (!err)
			pairing_set_vms(s->pairing, t->vms);
	}
	return err;
}

static void target_deinit(struct target *t)
{
	for (unsigned int i = 0; i < ANALYZERS; i++)
		if (t->by_analyzer[i].pairing)
			pairing_close(t->by_analyzer[i].pairing);
	clickhouse_progress_deinit(&t->progress);
	rowbinary_deinit(&t->events.block);
	rowbinary_deinit(&t->spans.block);
}

static int event_put(struct target *t, const struct event_row *row)
{
	struct stream *s = &t->events;
	int err = chunk_continue(t, s);

	return err ? err
		   : event_rowbinary_row(&s->block, &t->trace, s->rows + s->block.rows, row);
}

static int row_put(void *arg, const struct event_row *given, uint64_t lost)
{
	struct target *t = arg;
	struct event_row row = *given;
	char vm[VM_NAME_BYTES];
	int err;

	(void)lost;
	if (vm_is_known(t->vms, row.ev->pid))
		row.vm = vm_name(t->vms, row.ev->pid, vm, sizeof(vm));
	err = event_put(t, &row);
	for (unsigned int i = 0; i < ANALYZERS && !t->file && !err; i++)
		err = pairing_event(t->by_analyzer[i].pairing, row.ev);
	return err;
}

/* ---- the trace ---- */

static const char *day_print(uint16_t day, char *buf, size_t size)
{
	const time_t at = (time_t)day * DAY_SECONDS;
	struct tm tm;

	strftime(buf, size, "%F", gmtime_r(&at, &tm));
	return buf;
}

/* Names may be of any bytes; JSON is UTF-8. */
static json_t *files_make(const struct input_set *in)
{
	json_t *files = json_array();

	for (unsigned int i = 0; i < input_set_nr(in); i++) {
		_cleanup_free_ char *path = strdup(in->input[i].path);

		if (path)
			text_sanitize(path);
		json_array_append_new(files, json_string(path ? path : ""));
	}
	return files;
}

static json_t *trace_row(const struct target *t, const struct input_set *in)
{
	char day[16];
	const struct trace_info *info = &in->reader->info;
	_cleanup_free_ char *meta = json_text_make(info->meta, JSON_COMPACT);
	const char *kernel = json_string_value(json_object_get(info->meta, "kernel"));

	day_print(t->trace.day, day, sizeof(day));
	return json_pack("{s:s,s:s,s:s,s:s,s:I,s:I,s:I,s:I,s:I,s:I,s:I,s:o,s:O,s:s,s:s}",
			 "day", day, "host", t->trace.host, "trace", t->trace.id,
			 "kernel", kernel ? kernel : "",
			 "start_ns", (json_int_t)input_set_start_ns(in),
			 "end_ns", (json_int_t)input_set_end_ns(in),
			 "offset_ns", (json_int_t)t->trace.offset_ns,
			 "rows", (json_int_t)t->events.rows,
			 "spans", (json_int_t)t->spans.rows, "chunks", (json_int_t)t->chunks,
			 "lost", (json_int_t)info->lost, "files", files_make(in),
			 "notes", info->caveats, "meta", meta ? meta : "",
			 "hostrace", HOSTRACE_VERSION);
}

static int clickhouse_finish(struct target *t, const struct input_set *in)
{
	json_auto_t *row = t->file ? NULL : trace_row(t, in);

	if (t->file)
		return 0;
	if (!row)
		return fail(-ENOMEM, "out of memory");
	return clickhouse_trace_put(t->to->server, row);
}

/* Its id has the host's name, which may be hostile. */
static void id_print(const struct target *t)
{
	_cleanup_free_ char *id = strdup(t->trace.id);

	if (id)
		text_sanitize(id);
	printf("%s: ", id ? id : "trace");
}

static int rows_send(struct target *t, const struct input_set *in)
{
	int err = chunk_begin(t, &t->events);

	if (!err)
		err = chunk_begin(t, &t->spans);
	if (!err && t->file)
		rowbinary_head(event_rowbinary_columns, event_rowbinary_types, t->file);
	if (!err)
		err = spans_open(t);
	if (!err)
		err = rows_each(in, row_put, t);
	if (!err)
		err = chunk_end(t, &t->events);
	if (!err)
		err = chunk_end(t, &t->spans);
	if (!err)
		err = clickhouse_finish(t, in);
	if (err || t->file)
		return err;
	id_print(t);
	printf("%" PRIu64 " events and %" PRIu64 " spans in %" PRIu32 " chunks, %" PRIu32
	       " of them were there already\n",
	       t->events.rows, t->spans.rows, t->chunks, t->skipped);
	return 0;
}

static int trace_send(struct target *t, const struct input_set *in)
{
	int err = t->file ? 0 : clickhouse_progress(t->to->server, t->trace.id, &t->progress);

	if (!err && t->progress.complete) {
		id_print(t);
		puts("all rows are there already");
		return 0;
	}
	if (t->progress.chunk_size)
		t->chunk_rows = t->progress.chunk_size;
	return err ? err : rows_send(t, in);
}

int export_clickhouse_write(struct export_clickhouse *to, const struct input_set *in, FILE *file)
{
	const struct trace_info *info = &in->reader->info;
	const char *host = json_string_value(json_object_get(info->meta, "host"));
	int64_t offset_ns = trace_info_realtime_offset(info);
	_cleanup_free_ char *name = NULL;
	struct target t = {.to = to,
			   .file = file,
			   .vms = in->vms,
			   .events = {"event_rows", event_rowbinary_columns},
			   .spans = {"span_rows", span_rowbinary_columns},
			   .chunk_rows = to->chunk_rows ? to->chunk_rows : CHUNK_ROWS};
	int err = name_make(in, host ? host : "", offset_ns, &name);

	if (err)
		return err;
	t.trace = (struct rowbinary_trace){
		.host = host ? host : "",
		.id = name,
		.day = (uint16_t)((info->start_ns + (uint64_t)offset_ns) / NS_PER_S / DAY_SECONDS),
		.offset_ns = offset_ns};
	if (!offset_ns)
		command_note("the trace does not say when it was recorded: its rows are of day "
			     "1970-01-01");
	err = trace_send(&t, in);
	target_deinit(&t);
	return err;
}
