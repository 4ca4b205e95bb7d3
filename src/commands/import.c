// SPDX-License-Identifier: GPL-2.0-or-later
/* Any trace that hostrace reads as a file of its own: smaller, indexed, read by columns. */
#include <errno.h>
#include <inttypes.h>
#include <string.h>
#include <sys/stat.h>

#include "base/error.h"
#include "base/memory.h"
#include "commands/common/command.h"
#include "commands/common/confined.h"
#include "commands/common/input.h"
#include "commands/common/output.h"
#include "tracefile/tracefile.h"

static const char *output_path;
static bool zstd;

/* clang-format off */
static const struct option_row import_options[] = {
	{'o', "output", OPT_TEXT, &output_path, "FILE", "trace to write (default: the input's name with .hrt)"},
	{0,   "zstd",   OPT_FLAG, &zstd,        NULL,   "compress the trace with zstd"},
	{0},
};
/* clang-format on */

static const struct option_row *const options[] = {input_rows, import_options, NULL};

/* "dir/trace.txt" -> "dir/trace.hrt". NULL: out of memory. */
static char *default_path(const char *input)
{
	const char *slash = strrchr(input, '/'), *dot = strrchr(input, '.');
	int len = (int)(dot && dot > (slash ? slash + 1 : input) ? (size_t)(dot - input)
								 : strlen(input));
	char *path;

	return asprintf(&path, "%.*s.hrt", len, input) < 0 ? NULL : path;
}

struct destination {
	struct trace_writer *writer;
	int err;
};

/* The new file's number of a type that a record names. */
static uint32_t number_in_file(void *arg, uint64_t number)
{
	const struct event_type *type = event_type_numbered(number);
	struct destination *to = arg;
	uint16_t id = EVENT_UNDECLARED;

	if (type && !to->err)
		to->err = trace_writer_type(to->writer, type, &id);
	return id;
}

/* The record is the event's, with the time that it was given and the id that its type has in the new file. */
static int write_event(struct trace_writer *w, const struct event *ev)
{
	uint8_t record[EVENT_RECORD_MAX] __attribute__((aligned(8)));
	struct record_hdr h = {.time = ev->time_ns,
			       .pid = ev->pid,
			       .tid = ev->tid,
			       .size = (uint16_t)((ev->size + 7) & ~7),
			       .cpu = ev->cpu,
			       .vcpu = ev->vcpu};
	struct destination to = {.writer = w, .err = trace_writer_type(w, ev->type, &h.type)};

	if (to.err)
		return to.err;
	memcpy(record, ev->data, ev->size);
	memset(record + ev->size, 0, h.size - ev->size); /* the kernel's records have any length */
	memcpy(record, &h, sizeof(h));
	if (ev->size >= ev->type->size)
		event_type_numbers_convert(ev->type, record, number_in_file, &to);
	if (to.err)
		return to.err;
	return trace_writer_record(w, (const struct record_hdr *)record);
}

/* What the new file holds. */
struct written {
	uint64_t nr;	 /* events */
	uint64_t placed; /* lost events that `lost` records report */
	uint64_t flags;	 /* events with latency flags, which a record has no place for */
};

static int write_events(struct reader *r, struct trace_writer *w, struct written *written)
{
	_cleanup_free_ struct batch *batch = malloc(sizeof(*batch));
	int more, err = 0;

	if (!batch)
		return fail(-ENOMEM, "out of memory");
	while (!err && (more = reader_next(r, batch)) > 0) {
		for (unsigned int i = 0; i < batch->nr && !err; i++) {
			written->placed += lost_record_count(&batch->ev[i]);
			written->nr++;
			written->flags += strspn(batch->ev[i].flags, ".") !=
					  strlen(batch->ev[i].flags);
			err = write_event(w, &batch->ev[i]);
		}
		if (!err)
			err = trace_writer_round(w, batch->ev[batch->nr - 1].time_ns);
	}
	return err ? err : more;
}

/* A trace that does not know when it began must not get the present time. */
static json_t *meta_make(const struct input_set *in)
{
	json_t *meta = json_object();

	json_object_set_new(meta, "start_monotonic_ns", json_integer(0));
	json_object_set_new(meta, "start_realtime_ns", json_integer(0));
	json_object_update(meta, in->reader->info.meta);
	input_set_put_start(in, meta);
	return meta;
}

static int convert(const struct input_set *in, const char *path, struct written *written)
{
	struct trace_writer_options opt = {.zstd = zstd, .whole = true, .sync = true};
	struct trace_writer *w;
	json_t *meta = meta_make(in);
	int err = trace_writer_open(path, &opt, meta, &w);

	json_decref(meta);
	if (err)
		return err;
	err = write_events(in->reader, w, written);
	meta = meta_losses_make(&in->reader->info, written->placed);
	input_set_put_end(in, meta);
	if (!err && memory_failures())
		err = fail(-ENOMEM, "%s: out of memory", path);
	if (err)
		trace_writer_abandon(w);
	else
		err = trace_writer_close(w, json_object_size(meta) ? meta : NULL);
	json_decref(meta);
	return err;
}

static int cmd_import(int argc, char **argv)
{
	_cleanup_input_set_ struct input_set *in = NULL;
	_cleanup_free_ char *made = NULL;
	struct written written = {0};
	const char *path = output_path;

	if (argc > 1)
		return command_usage("expected exactly one file");
	if (input_add_args(argc, argv, 1))
		return command_usage("%s", error_text());
	input_given.allow_ticks = true;
	if (!path)
		path = made = default_path(input_given.files.nr ? input_given.files.item[0]
								: INPUT_DEFAULT);
	command_progress();
	if (!path)
		fail(-ENOMEM, "out of memory");
	if (!path || input_check_output(path) || output_recording_check(path) ||
	    command_confine(path) || input_make(false, &in) || input_set_open(in, NULL, NULL))
		return command_failed();
	if (convert(in, path, &written))
		return command_failed();
	const json_t *notes = in->reader->info.caveats;

	for (size_t i = 0; i < json_array_size(notes); i++)
		command_note("%s", json_string_value(json_array_get(notes, i)));
	if (written.flags)
		command_note("%" PRIu64 " events have latency flags, which are not kept: list them "
			     "from the original", written.flags);
	command_note("%s: %" PRIu64 " events", path, written.nr);
	return input_set_strict_failed(in) ? EXIT_FOUND : EXIT_FINE;
}

const struct command import_command = {
	.name = "import",
	.args = "FILE",
	.summary = "Convert a trace of any supported format to hostrace's own.",
	.group = "Convert",
	.examples = "  hostrace import trace.txt -o trace.hrt\n"
		    "  hostrace import vm.hrt --zstd -o small.hrt --since 1s --until 2s",
	.options = options,
	.run = cmd_import,
};
