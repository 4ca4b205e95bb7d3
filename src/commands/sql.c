// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * hostrace sql: a question in SQL. Rows of JSON and CSV are written as they come; those of text are kept, as the widths
 * of columns depend on all of them.
 */
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "base/error.h"
#include "commands/common/command.h"
#include "commands/common/input.h"
#include "commands/common/output.h"
#include "output/escape.h"
#include "output/json_rows.h"
#include "output/report.h"
#include "reports/head.h"
#include "sql/sql.h"

enum { TEXT_ROWS_MAX = 1 << 16 }; /* of text: the rest is counted */

static uint64_t memory_bytes = SQL_MEMORY_DEFAULT;
static bool schema;

/* clang-format off */
static const struct option_row sql_options[] = {
	{0, "schema", OPT_FLAG, &schema,       NULL,   "list the tables and their columns; no query"},
	{0, "memory", OPT_SIZE, &memory_bytes, "SIZE", "memory for what a query sorts or groups (default 64M)"},
	{0},
};
/* clang-format on */

static const struct option_row *const options[] = {input_rows, output_file_options, sql_options,
						   NULL};

struct answer {
	const struct input_set *in;
	const struct output *out;
	unsigned int nr;
	char **name;
	uint64_t rows, left_out;
	struct table table; /* text */
	bool *is_number;    /* text: a column has had nothing but numbers */
};

static bool is_format(const struct answer *a, const char *format)
{
	return !strcmp(a->out->format, format);
}

/* As a number of JSON; false: it is infinite. */
static bool number_print(const struct sql_value *v, char *buf, size_t size)
{
	if (v->kind == SQL_INTEGER)
		snprintf(buf, size, "%" PRId64, v->integer);
	else
		snprintf(buf, size, "%.15g", v->real);
	return v->kind == SQL_INTEGER || isfinite(v->real);
}

/* ---- text ---- */

static int text_columns(struct answer *a)
{
	for (unsigned int i = 0; i < a->nr; i++)
		table_column(&a->table, a->name[i], a->name[i], COL_TEXT, 0);
	a->is_number = malloc(a->nr);
	if (!a->is_number)
		return fail(-ENOMEM, "out of memory");
	memset(a->is_number, 1, a->nr);
	return 0;
}

static int text_row(struct answer *a, const struct sql_value *value)
{
	struct cell *row = table_row(&a->table);
	char buf[32];

	if (!row)
		return -ENOMEM;
	for (unsigned int i = 0; i < a->nr; i++) {
		const struct sql_value *v = &value[i];

		if (v->kind == SQL_NULL)
			continue;
		a->is_number[i] &= v->kind != SQL_TEXT;
		if (v->kind != SQL_TEXT)
			number_print(v, buf, sizeof(buf));
		row[i].text = table_text(&a->table, v->kind == SQL_TEXT ? v->text : buf);
	}
	return 0;
}

static int text_end(struct answer *a, const json_t *notes)
{
	struct report report = report_of_inputs(a->in, "sql", a->out);
	struct table *t = &a->table;

	for (unsigned int i = 0; i < a->nr; i++) {
		if (!a->is_number[i] || !t->nr_rows)
			continue;
		t->column[i].kind = COL_REAL;
		for (size_t k = 0; k < t->nr_rows; k++)
			if (!t->cell[k * t->nr_columns + i].text)
				t->cell[k * t->nr_columns + i].text = "-";
	}
	t->left_out = a->left_out;
	report.caveats = json_deep_copy(notes);
	report.answers = true;
	report.first_line = t->nr_rows ? NULL : "no rows";

	int err = report_table(&report, t, NULL);

	json_decref(report.caveats);
	return err;
}

/* ---- JSON, CSV ---- */

static void value_write(const struct answer *a, const struct sql_value *v)
{
	bool csv = is_format(a, "csv");
	FILE *f = a->out->file;
	char buf[32];

	if (v->kind == SQL_TEXT)
		(csv ? put_csv : put_json)(f, v->text);
	else if (v->kind != SQL_NULL && number_print(v, buf, sizeof(buf)))
		fputs(buf, f);
	else
		fputs(csv ? "" : "null", f);
}

static void row_write(const struct answer *a, const struct sql_value *value)
{
	bool csv = is_format(a, "csv");
	FILE *f = a->out->file;

	if (is_format(a, "json"))
		json_rows_next(f, a->rows);
	fputs(csv ? "" : "{", f);
	for (unsigned int i = 0; i < a->nr; i++) {
		fputs(i ? "," : "", f);
		if (!csv) {
			put_json(f, a->name[i]);
			fputc(':', f);
		}
		value_write(a, &value[i]);
	}
	fputs(csv ? "\n" : is_format(a, "jsonl") ? "}\n" : "}", f);
}

static void rows_end(struct answer *a, const json_t *notes)
{
	const json_t *note;
	size_t i;

	if (is_format(a, "json"))
		json_rows_end(a->out->file, inputs_head(a->in, "sql", notes));
	else if (is_format(a, "jsonl"))
		json_rows_last(a->out->file, inputs_head(a->in, "sql", notes));
	else
		json_array_foreach (notes, i, note)
			a->out->note("%s", json_string_value(note));
}

/* ---- the answer ---- */

/* Names that are the same would be one member of a JSON object: "ns", "ns:2". */
static char *name_make(const struct answer *a, const char *name, unsigned int before)
{
	char buf[256];
	unsigned int same = 1;

	for (unsigned int i = 0; i < before; i++)
		same += !strncmp(a->name[i], name, strlen(name)) &&
			(!a->name[i][strlen(name)] || a->name[i][strlen(name)] == ':');
	snprintf(buf, sizeof(buf), same > 1 ? "%.200s:%u" : "%.200s", name, same);
	text_sanitize(buf);
	return strdup(buf);
}

static int answer_columns(void *arg, unsigned int nr, const char *const *name)
{
	struct answer *a = arg;

	if (is_format(a, "text") && nr > TABLE_COLUMNS_MAX)
		return fail_usage(-E2BIG,
				  "text has at most %d columns: select fewer, or use -f csv",
				  TABLE_COLUMNS_MAX);
	a->name = calloc(nr, sizeof(*a->name));
	for (; a->name && a->nr < nr; a->nr++) {
		a->name[a->nr] = name_make(a, name[a->nr], a->nr);
		if (!a->name[a->nr])
			break;
	}
	if (!a->name || a->nr < nr)
		return fail(-ENOMEM, "out of memory");
	if (is_format(a, "text"))
		return text_columns(a);
	if (is_format(a, "json"))
		json_rows_begin(a->out->file);
	for (unsigned int i = 0; is_format(a, "csv") && i < nr; i++) {
		fputs(i ? "," : "", a->out->file);
		put_csv(a->out->file, a->name[i]);
	}
	fputs(is_format(a, "csv") ? "\n" : "", a->out->file);
	return 0;
}

static int answer_row(void *arg, unsigned int nr, const struct sql_value *value)
{
	struct answer *a = arg;
	int err = 0;

	(void)nr;
	if (a->out->limit && a->rows == a->out->limit)
		return 1;
	if (!is_format(a, "text"))
		row_write(a, value);
	else if (a->rows < TEXT_ROWS_MAX)
		err = text_row(a, value);
	else
		a->left_out++;
	a->rows++;
	return err ? err : ferror(a->out->file) ? 1 : 0;
}

static int table_print_schema(void *arg, const char *table, const char *columns)
{
	fprintf(arg, "%s(%s)\n", table, columns);
	return 0;
}

static int question_answer(const struct query *query, struct input_set *in, const char *text,
			   const struct output *out)
{
	_cleanup_(sql_cleanup_) struct sql *s = NULL;
	struct answer a = {.in = in, .out = out};
	int err = sql_open(query, in, memory_bytes, &s);

	if (!err && schema)
		return sql_tables(s, table_print_schema, out->file);
	if (!err)
		err = sql_run(s, text, &(const struct sql_sink){&a, answer_columns, answer_row});
	if (!err && is_format(&a, "text"))
		err = text_end(&a, sql_notes(s));
	else if (!err)
		rows_end(&a, sql_notes(s));
	else
		table_free(&a.table);
	for (unsigned int i = 0; i < a.nr; i++)
		free(a.name[i]);
	free(a.name);
	free(a.is_number);
	return err;
}

/* The last argument is the query, those before it are files. */
static int cmd_sql(int argc, char **argv)
{
	_cleanup_input_set_ struct input_set *in = NULL;
	struct query query = {.command = "sql", .input = &input_given, .inputs = input_make};
	const char *text = schema ? "" : argc ? argv[argc - 1] : NULL;
	struct output out;
	int err;

	if (!text)
		return command_usage("no query; for the tables: hostrace sql --schema");
	if (memory_bytes < SQL_MEMORY_MIN)
		return command_usage("--memory: at least %d MiB", SQL_MEMORY_MIN >> 20);
	if (input_add_args(argc - !schema, argv, OPTION_LIST_MAX))
		return command_usage("%s", error_text());
	input_given.allow_ticks = true;
	if (output_open("text json jsonl csv", &out))
		return command_failed();
	query.out = &out;
	err = input_make(true, &in);
	if (!err)
		err = input_set_open(in, NULL, NULL);
	if (!err)
		err = question_answer(&query, in, text, &out);
	return output_end(err, &out, !err && input_set_strict_failed(in));
}

const struct command sql_command = {
	.name = "sql",
	.args = "[FILE...] QUERY",
	.summary = "Answer a question in SQL: events, spans and reports as tables.",
	.group = "Report",
	.details =
		"The query is one SELECT of SQLite. Tables: events, one for each type of event\n"
		"(kvm_exit, sched_switch, ...), exits and the other spans, and the reports' rows\n"
		"(causes, thread_states, interrupts, queues, ...); --schema lists them. Times are\n"
		"integer nanoseconds, what was not recorded is NULL. Functions besides SQLite's:\n"
		"quantile(NS, FRACTION), hist(NS), ns('1.5ms').",
	.examples =
		"  hostrace sql vm.hrt 'SELECT reason, count(*), quantile(duration_ns, .99) p99\n"
		"                       FROM exits GROUP BY reason ORDER BY p99 DESC'\n"
		"  hostrace sql -i vm.hrt 'SELECT * FROM causes LIMIT 5' -f json\n"
		"  hostrace sql -i vm.hrt --schema",
	.options = options,
	.run = cmd_sql,
};
