// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * hostrace sql: questions in SQL, of the command line, of standard input or of a prompt. Rows of JSON and CSV are
 * written as they come; those of text are kept, as the widths of columns depend on all of them.
 */
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "base/error.h"
#include "base/new_file.h"
#include "base/read_full.h"
#include "output/capture.h"
#include "commands/common/command.h"
#include "commands/common/confined.h"
#include "commands/common/input.h"
#include "commands/common/output.h"
#include "commands/prompt.h"
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

/* The queries that one text has. */
struct question {
	const struct input_set *in;
	const struct output *out;
	struct sql *sql;
};

static int answer_end(struct answer *a, int err, const json_t *notes)
{
	if (!err && is_format(a, "text"))
		err = text_end(a, notes);
	else if (!err)
		rows_end(a, notes);
	else
		table_free(&a->table);
	for (unsigned int i = 0; i < a->nr; i++)
		free(a->name[i]);
	free(a->name);
	free(a->is_number);
	return err;
}

static int query_answer(const struct question *q, const char *text, const char **at)
{
	struct answer a = {.in = q->in, .out = q->out};
	const struct sql_sink sink = {&a, answer_columns, answer_row};
	int err = sql_run(q->sql, text, at, &sink);

	return answer_end(&a, err, sql_notes(q->sql));
}

static int queries_answer(const struct question *q, const char *text)
{
	bool json = !strcmp(q->out->format, "json"), lines = !strcmp(q->out->format, "jsonl");
	const char *at = text;
	int err = json ? sql_check_single(q->sql, text) : 0;

	if (!err)
		err = query_answer(q, text, &at);
	while (!err && sql_has_more(q->sql, at)) {
		fputs(lines ? "" : "\n", q->out->file);
		err = query_answer(q, text, &at);
	}
	return err;
}

/* ---- queries on standard input ---- */

/* To its end, owned by the caller; NULL with the error message set. */
static char *script_read(void)
{
	char *text = malloc(SQL_TEXT_MAX);
	ssize_t len = text ? read_full(STDIN_FILENO, text, SQL_TEXT_MAX) : -ENOMEM;

	if (len < 0)
		fail((int)len, "standard input: %s", strerror((int)-len));
	else if (len == SQL_TEXT_MAX)
		fail_usage(-E2BIG, "the queries have more than %d bytes", SQL_TEXT_MAX - 1);
	else if (memchr(text, 0, (size_t)len))
		fail_usage(-EINVAL, "standard input is not a text");
	else if (!len)
		fail_usage(-EINVAL, "no query; for the tables: hostrace sql --schema");
	else
		return text[len] = 0, text;
	free(text);
	return NULL;
}

/* An error ends nothing but the query. Returns whether nothing can be written any more. */
static bool prompt_statement(const struct question *q, const char *text)
{
	int err = sql_has_more(q->sql, text) ? queries_answer(q, text) : 0;

	prompt_remember(text);
	if (err)
		command_failed();
	return stream_flush(q->out->file);
}

/* What is typed up to a query's end. */
struct typed {
	char *text; /* owned; NULL: nothing */
	size_t len;
};

/* Steals the line. False: it is too long. */
static bool typed_add(struct typed *t, char *line)
{
	size_t nr = strlen(line);
	char *more = t->len + nr < SQL_TEXT_MAX - 2 ? realloc(t->text, t->len + nr + 2) : NULL;

	if (more) {
		t->text = more;
		t->len += (size_t)sprintf(more + t->len, "%s%s", t->len ? "\n" : "", line);
	}
	free(line);
	return more;
}

/* Returns whether the prompt ends. */
static bool typed_answer(const struct question *q, const char *text)
{
	if (!strcmp(text, ".quit") || !strcmp(text, ".exit"))
		return true;
	if (strcmp(text, ".schema"))
		return prompt_statement(q, text);
	sql_tables(q->sql, table_print_schema, q->out->file);
	return stream_flush(q->out->file);
}

static bool typed_is_complete(const char *text)
{
	return !*text || *text == '.' || sql_is_complete(text);
}

/* Until the end of standard input, or .quit. */
static int prompt(const struct question *q)
{
	struct typed t = {0};
	bool end = false;
	char *line;

	while (!end && (line = prompt_line(t.len ? "     ...> " : "hostrace> "))) {
		if (!typed_add(&t, line)) {
			command_note("the query has more than %d bytes", SQL_TEXT_MAX);
			break;
		}
		if (!typed_is_complete(t.text))
			continue;
		end = typed_answer(q, t.text);
		t.len = 0;
	}
	if (!end)
		puts("");
	free(t.text);
	return 0;
}

/* ---- the command ---- */

static bool prompts(void)
{
	return isatty(STDIN_FILENO) && isatty(STDOUT_FILENO);
}

/* `text`: NULL: on standard input. */
static int question_answer(const struct query *query, struct input_set *in, const char *text,
			   const struct output *out)
{
	_cleanup_(sql_cleanup_) struct sql *s = NULL;
	_cleanup_free_ char *script = NULL;
	struct question q = {in, out};
	int err;

	if (!text && !schema && common.capture)
		return fail_usage(-EINVAL, "no query; it has blanks or parentheses");
	if (!text && !schema && !prompts()) {
		text = script = script_read();
		if (!text)
			return error_code();
	}
	err = sql_open(query, in, memory_bytes, &s);
	q.sql = s;
	if (err)
		return err;
	if (common.capture && common.capture->stop)
		sql_stop_by(s, common.capture->stop, common.capture->stop_arg);
	return schema ? sql_tables(s, table_print_schema, out->file)
	       : text ? queries_answer(&q, text)
		      : prompt(&q);
}

/* The last argument, if it is not a file. What is no file has blanks or parentheses, or is a mistyped name. */
static bool is_query(const char *arg)
{
	return access(arg, F_OK) && (!*arg || strpbrk(arg, " \t\n(;*,"));
}

static int terminal_begin(void)
{
	for (unsigned int i = 0; i < input_given.files.nr; i++)
		if (!strcmp(input_given.files.item[i], "-") ||
		    !strcmp(input_given.files.item[i], "/dev/stdin"))
			return command_usage("standard input is a trace; give the query as "
					     "argument");
	if (!prompts())
		return 0;
	common.no_pager = true;
	command_confine_terminal();
	prompt_begin();
	return 0;
}

static int cmd_sql(int argc, char **argv)
{
	_cleanup_input_set_ struct input_set *in = NULL;
	struct query query = {.command = "sql", .input = &input_given, .inputs = input_make};
	const char *text = !schema && argc && is_query(argv[argc - 1]) ? argv[argc - 1] : NULL;
	struct output out;
	int err;

	if (memory_bytes < SQL_MEMORY_MIN)
		return command_usage("--memory: at least %d MiB", SQL_MEMORY_MIN >> 20);
	if (input_add_args(argc - (text != NULL), argv, OPTION_LIST_MAX))
		return command_usage("%s", error_text());
	if (!text && !schema && !common.capture && terminal_begin())
		return EXIT_USAGE;
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
	.args = "[FILE...] [QUERY]",
	.summary = "Answer a question in SQL: events, spans and reports as tables.",
	.group = "Report",
	.details =
		"Queries are SELECTs of SQLite, separated by semicolons; without QUERY they are\n"
		"read from standard input, on a terminal with a prompt. Tables: events, one for\n"
		"each type of event (kvm_exit, sched_switch, ...), exits and the other spans, and\n"
		"the reports' rows (causes, thread_states, interrupts, queues, ...); --schema\n"
		"lists them. Times are integer nanoseconds, what was not recorded is NULL.\n"
		"Functions besides SQLite's: quantile(NS, FRACTION), hist(NS), ns('1.5ms').",
	.examples =
		"  hostrace sql vm.hrt 'SELECT reason, count(*), quantile(duration_ns, .99) p99\n"
		"                       FROM exits GROUP BY reason ORDER BY p99 DESC'\n"
		"  hostrace sql -i vm.hrt 'SELECT * FROM causes LIMIT 5' -f json\n"
		"  hostrace sql vm.hrt\n"
		"  hostrace sql vm.hrt <queries.sql\n"
		"  hostrace sql -i vm.hrt --schema",
	.options = options,
	.run = cmd_sql,
};
