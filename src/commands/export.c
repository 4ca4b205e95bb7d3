// SPDX-License-Identifier: GPL-2.0-or-later
/* A trace in a format of other programs, every event of it: for grep, babeltrace2, ... The way back is import. */
#include <errno.h>
#include <string.h>

#include "base/error.h"
#include "commands/common/command.h"
#include "commands/common/confined.h"
#include "commands/common/input.h"
#include "commands/export_events.h"
#include "reports/rows.h"
#include "tracefile/tracefile.h"

static const char *output_path;
static struct export_clickhouse clickhouse;

/* clang-format off */
static const struct option_row export_options[] = {
	{'o', "output", OPT_TEXT, &output_path, "FILE", "write to FILE instead of standard output; ctf: to a directory FILE"},
	{0,   "url", OPT_TEXT, &clickhouse.url, "URL", "clickhouse: the server's HTTP interface, e.g. http://localhost:8123"},
	{0,   "database", OPT_TEXT, &clickhouse.database, "NAME", "clickhouse: database of the tables (default hostrace)"},
	{0,   "user", OPT_TEXT, &clickhouse.http.user, "NAME", "clickhouse: user name; the password is read from $CLICKHOUSE_PASSWORD"},
	{0,   "cacert", OPT_TEXT, &clickhouse.http.cacert, "FILE", "clickhouse: CA of the server's certificate (PEM)"},
	{0,   "create-tables", OPT_FLAG, &clickhouse.create, NULL, "clickhouse: create the database and the tables that are missing"},
	{0,   "print-schema", OPT_FLAG, &clickhouse.schema, NULL, "clickhouse: print the tables' definitions and end"},
	{0,   "chunk-rows", OPT_U64, &clickhouse.chunk_rows, "N", "clickhouse: insert N rows at a time (default 262144)"},
	{0},
};
/* clang-format on */

static const struct option_row *const options[] = {input_rows, where_rows, export_options, NULL};

static const char formats[] = "text json jsonl csv ctf trace.dat clickhouse sqlite";

static bool format_known(const char *name)
{
	size_t len = strlen(name);

	for (const char *p = formats; *p; p += strcspn(p, " "), p += *p == ' ')
		if (strcspn(p, " ") == len && !strncmp(p, name, len))
			return true;
	return false;
}

/* Formats of reports, which are not of every event: the report's command writes them. */
static const char *command_of(const char *format)
{
	static const char *const commands_of[][2] = {
		{"perfetto", "timeline -f perfetto"}, {"chrome", "timeline -f chrome"},
		{"svg", "timeline -f svg"},	      {"html", "report"},
		{"folded", "profile -f folded"},      {"pprof", "profile -f pprof"},
		{"pcap", "pcap-dump"},		      {"pcapng", "pcap-dump -f pcapng"},
	};

	for (size_t i = 0; i < sizeof(commands_of) / sizeof(*commands_of); i++)
		if (!strcmp(commands_of[i][0], format))
			return commands_of[i][1];
	return NULL;
}

/*
 * The text form identifies a type by its name, so a type's schema is written when it is not what the name
 * meant so far: the second of two inputs may have another kvm_exit than the first.
 */
struct declared {
	struct {
		uint16_t namesake; /* 1 + index of the first type of that name */
		bool implied; /* by the line, as far as the name means ours: textfile_implies() */
	} type[EVENT_TYPES_MAX];
	const struct event_type *now[EVENT_TYPES_MAX]; /* what the name means, by the namesake's index */
};

static void export_declare(struct declared *d, const struct event_type *type, FILE *f)
{
	const struct event_type *ours = event_type_ours(type->id), **now;

	if (!d->type[type->index].namesake) {
		d->type[type->index].namesake = (uint16_t)(event_type_named(type->name)->index + 1);
		d->type[type->index].implied = textfile_implies(type);
	}
	now = &d->now[d->type[type->index].namesake - 1];
	if (!*now)
		*now = ours;
	if (*now == type || (*now == ours && d->type[type->index].implied))
		return;
	textfile_type(type, f);
	*now = type;
}

struct declaring {
	struct declared *declared;
	FILE *to;
};

static uint32_t named_declare(void *arg, uint64_t number)
{
	const struct event_type *type = event_type_numbered(number);
	struct declaring *d = arg;

	if (type)
		export_declare(d->declared, type, d->to);
	return (uint32_t)number;
}

/* The event's type, and those that it names: a lost event's. */
static void types_declare(struct declared *d, const struct event *ev, FILE *f)
{
	uint8_t copy[EVENT_RECORD_MAX];

	export_declare(d, ev->type, f);
	if (!event_type_names_types(ev->type) || ev->size < ev->type->size)
		return;
	memcpy(copy, ev->data, ev->size);
	event_type_numbers_convert(ev->type, copy, named_declare, &(struct declaring){d, f});
}

static int write_text(const struct input_set *in, FILE *f)
{
	_cleanup_free_ struct batch *batch = malloc(sizeof(*batch));
	_cleanup_free_ struct declared *d = calloc(1, sizeof(*d));
	struct reader *r = in->reader;
	uint64_t placed = 0;
	json_t *meta;
	int more;

	if (!d || !batch)
		return fail(-ENOMEM, "out of memory");
	input_set_put_start(in, r->info.meta);
	textfile_head(&r->info, f);
	while ((more = reader_next(r, batch)) > 0)
		for (unsigned int i = 0; i < batch->nr; i++) {
			placed += lost_record_count(&batch->ev[i]);
			types_declare(d, &batch->ev[i], f);
			textfile_print(&batch->ev[i], f);
			fputc('\n', f);
		}
	meta = meta_losses_make(&r->info, placed);
	input_set_put_end(in, meta);
	textfile_meta(meta, f);
	json_decref(meta);
	return more;
}

/* Where the trace is written to: a file, or for CTF a directory. */
struct destination {
	const char *format;
	bool is_ctf, is_clickhouse, is_sqlite;
	struct new_file file;
	struct export_ctf ctf;
};

static int destination_open(struct destination *to)
{
	int err = output_path ? input_check_output(output_path) : 0;

	if (err || !output_path)
		return err;
	return to->is_ctf ? export_ctf_open(output_path, &to->ctf)
			  : new_file_open(&to->file, output_path, !to->is_sqlite);
}

static int destination_write(struct destination *to, struct input_set *in)
{
	struct output out = {.file = output_path ? to->file.file : stdout,
			     .format = to->format,
			     .note = command_note};

	if (to->is_ctf)
		return export_ctf_write(in, &to->ctf);
	if (to->is_clickhouse)
		return export_clickhouse_write(&clickhouse, in, output_path ? out.file : NULL);
	if (to->is_sqlite)
		return export_sqlite_write(in, &to->file);
	if (!strcmp(to->format, "trace.dat"))
		return export_tracedat_write(in, out.file);
	if (!strcmp(to->format, "text"))
		return write_text(in, out.file);
	return rows_write(&(struct rows_query){.command = "export"}, in, &out);
}

static int destination_close(struct destination *to, int err)
{
	return to->is_ctf ? export_ctf_close(&to->ctf, err) : new_file_close(&to->file, err);
}

static int export(struct destination *to, struct input_set **in)
{
	int err = destination_open(to);

	if (!err && to->is_clickhouse && !output_path)
		err = export_clickhouse_open(&clickhouse);
	if (!err)
		err = command_confine_two(to->is_ctf ? to->ctf.stream.path : to->file.path,
					  to->ctf.metadata.path, to->ctf.made);
	input_given.where_events = true;
	if (!err)
		err = input_make(false, in);
	if (!err && strcmp(to->format, "text"))
		input_set_want_thread_names(*in);
	if (!err)
		err = input_set_open(*in, NULL, NULL);
	if (!err)
		err = destination_write(to, *in);
	export_clickhouse_close(&clickhouse);
	return destination_close(to, err);
}

/* An option that other formats do not have, or NULL. */
static const char *clickhouse_option_given(void)
{
	for (const struct option_row *o = export_options; o->name; o++)
		if (!strncmp(o->help, "clickhouse:", 11) && option_is_given(command_given, o))
			return o->name;
	return NULL;
}

static int schema_print(struct destination *to, int nr_files)
{
	int err;

	if (nr_files)
		return command_usage("--print-schema reads no file");
	if (options_used_check("print-schema output", "together with --print-schema"))
		return command_failed();
	err = destination_open(to);
	if (!err)
		export_clickhouse_schema(output_path ? to->file.file : stdout);
	return destination_close(to, err) ? command_failed() : EXIT_FINE;
}

static int cmd_export(int argc, char **argv)
{
	_cleanup_input_set_ struct input_set *in = NULL;
	struct destination to = {.format = argc ? argv[0] : NULL};

	if (!to.format)
		return command_usage("missing format (supported: %s)", formats);
	if (command_of(to.format))
		return command_usage("'%s' is a format of a report; use 'hostrace %s', or name it "
				     "before the options", to.format, command_of(to.format));
	if (!format_known(to.format))
		return command_usage("'export' does not support format '%s' (supported: %s)",
				     to.format, formats);
	to.is_ctf = !strcmp(to.format, "ctf");
	if (to.is_ctf && !output_path)
		return command_usage("a CTF trace is a directory; name it with -o DIR");
	to.is_sqlite = !strcmp(to.format, "sqlite");
	if (to.is_sqlite && !output_path)
		return command_usage("a database is a file; name it with -o FILE");
	if (to.is_sqlite &&
	    options_unused_check("where", "on format 'sqlite': spans and reports need all events"))
		return command_failed();
	if (!strcmp(to.format, "trace.dat") && !output_path && isatty(STDOUT_FILENO))
		return command_usage("a trace.dat is binary; name a file with -o FILE");
	if (input_add_args(argc - 1, argv + 1, OPTION_LIST_MAX))
		return command_usage("%s", error_text());
	to.is_clickhouse = !strcmp(to.format, "clickhouse");
	if (to.is_clickhouse && clickhouse.schema)
		return schema_print(&to, argc - 1);
	if (!to.is_clickhouse && clickhouse_option_given())
		return command_usage("--%s has no effect on format '%s' (supported: clickhouse)",
				     clickhouse_option_given(), to.format);
	if (to.is_clickhouse && output_path &&
	    options_unused_check("user cacert create-tables database", "without --url"))
		return command_failed();
	if (!clickhouse.database)
		clickhouse.database = "hostrace";
	if (to.is_clickhouse && !clickhouse.url == !output_path)
		return command_usage("clickhouse: give either the server's --url URL, or -o FILE");
	if (to.is_clickhouse && export_clickhouse_check(&clickhouse))
		return command_usage("%s", error_text());
	input_given.allow_ticks = !to.is_clickhouse;
	if (output_path)
		command_progress();
	if (export(&to, &in))
		return command_failed();
	const json_t *caveats = in->reader->info.caveats;

	for (size_t i = 0; i < json_array_size(caveats); i++)
		command_note("%s", json_string_value(json_array_get(caveats, i)));
	return input_set_strict_failed(in) ? EXIT_FOUND : EXIT_FINE;
}

const struct command export_command = {
	.name = "export",
	.args = "FORMAT [FILE...]",
	.summary = "Convert traces: text, json, csv, ctf, trace.dat, SQLite, ...",
	.group = "Convert",
	.details =
		"text is a lossless text form of the trace: one event per line, readable by every\n"
		"command. json, jsonl (a line each) and csv are rows of 'list'. ctf is a "
		"directory\n"
		"(-o DIR) that babeltrace2 and Trace Compass read; trace.dat is for trace-cmd\n"
		"report and KernelShark. clickhouse inserts the events into a ClickHouse server's\n"
		"tables (--url), each once, however often it is called. sqlite is a database file\n"
		"(-o FILE) with the tables of 'hostrace sql'. perfetto, chrome, svg, html,\n"
		"folded, pprof, pcap and pcapng run the report that writes them: export perfetto\n"
		"is timeline -f perfetto.",
	.examples = "  hostrace export text -i vm.hrt | grep kvm_pio\n"
		    "  hostrace export csv vm.hrt -o vm.csv\n"
		    "  hostrace export ctf vm.hrt -o vm.ctf; babeltrace2 vm.ctf\n"
		    "  hostrace export clickhouse vm.hrt -o vm.rows\n"
		    "  hostrace export sqlite vm.hrt -o vm.db; sqlite3 vm.db .tables",
	.options = options,
	.run = cmd_export,
	.instead = command_of,
};
