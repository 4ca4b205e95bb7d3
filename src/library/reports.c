// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Reports for other programs: the commands of hostrace, run within the process with their answer in memory
 * (commands/common/captured_run.h). The answer is kept as its JSON text with the place of each row; a row is parsed
 * when one of its values is asked for, so that a long answer takes little more memory than its text.
 */
#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "base/error.h"
#include "base/json_slice.h"
#include "base/json_text.h"
#include "commands/common/captured_run.h"
#include "commands/common/columns.h"
#include "commands/common/report_commands.h"
#include "library/hostrace.h"
#include "output/table.h"

enum { REPORT_COLUMNS_MAX = 4096, REPORT_WORDS_BYTES = 1024 };

struct hostrace_report {
	struct capture capture;
	int status;
	struct json_slice *row;
	uint64_t nr_rows, capacity;
	struct hostrace_column *column; /* name is owned */
	uint32_t nr_columns;
	json_t *keys;  /* object: a column's name to its number */
	json_t *notes; /* those of the answer, then what the command would print */

	json_t *now; /* the row that is parsed; NULL: none */
	uint64_t now_row;
	struct hostrace_value *value; /* of it, one for each column */
	char **nested;		      /* texts of its JSON, owned; NULL: none */
};

/* option_rules.c names the commands that have an option: here the library's. */
#define DECLARE(name) extern const struct command name##_command;
REPORT_COMMANDS(DECLARE)

#define LIST(name) &name##_command,
const struct command *const commands[] = {REPORT_COMMANDS(LIST) NULL};

/* ---- rows ---- */

static int row_append(struct hostrace_report *r, struct json_slice row)
{
	if (r->nr_rows == r->capacity) {
		uint64_t capacity = r->capacity ? 2 * r->capacity : 64;
		struct json_slice *more = reallocarray(r->row, capacity, sizeof(*more));

		if (!more)
			return fail(-ENOMEM, "out of memory");
		r->row = more;
		r->capacity = capacity;
	}
	r->row[r->nr_rows++] = row;
	return 0;
}

static int rows_find(struct hostrace_report *r)
{
	struct json_slice all = json_slice_of(r->capture.text, r->capture.bytes), value;
	struct json_slice rows = json_slice_member(all, "rows");
	size_t offset = 0;
	int err = 0;

	if (!rows.at) {
		value = json_slice_member(all, "result");
		return row_append(r, value.at ? value : all);
	}
	while (!err && json_slice_next(rows, &offset, NULL, &value))
		err = row_append(r, value);
	return err;
}

/* ---- columns ---- */

static enum hostrace_value_kind kind_of(const json_t *value)
{
	static const enum hostrace_value_kind kinds[] = {
		[JSON_OBJECT] = HOSTRACE_VALUE_JSON,	 [JSON_ARRAY] = HOSTRACE_VALUE_JSON,
		[JSON_STRING] = HOSTRACE_VALUE_TEXT,	 [JSON_INTEGER] = HOSTRACE_VALUE_INTEGER,
		[JSON_REAL] = HOSTRACE_VALUE_REAL,	 [JSON_TRUE] = HOSTRACE_VALUE_BOOLEAN,
		[JSON_FALSE] = HOSTRACE_VALUE_BOOLEAN, [JSON_NULL] = HOSTRACE_VALUE_NONE,
	};

	return value ? kinds[json_typeof(value)] : HOSTRACE_VALUE_NONE;
}

static bool name_ends(const char *name, const char *end)
{
	size_t len = strlen(name), of = strlen(end);

	return len >= of && !strcmp(name + len - of, end);
}

static const char *column_unit(const char *name, const struct column_def *def)
{
	return name_ends(name, "_ns")			? "ns"
	       : name_ends(name, "_ticks")		? "ticks"
	       : name_ends(name, "bytes")		? "bytes"
	       : def && def->kind == COL_PERCENT	? "%"
							: "";
}

static int column_append(struct hostrace_report *r, const char *name)
{
	struct hostrace_column *more =
		r->nr_columns < REPORT_COLUMNS_MAX
			? reallocarray(r->column, r->nr_columns + 1, sizeof(*more))
			: NULL;
	char *own = more ? strdup(name) : NULL;

	if (more)
		r->column = more;
	if (!own)
		return fail(-ENOMEM, "more than %d columns, or out of memory", REPORT_COLUMNS_MAX);
	r->column[r->nr_columns] = (struct hostrace_column){.name = own};
	json_object_set_new(r->keys, name, json_integer(r->nr_columns));
	r->nr_columns++;
	return 0;
}

/* Integers and reals of one column are reals. */
static void column_kind_add(struct hostrace_column *c, enum hostrace_value_kind kind, bool *mixed)
{
	bool numbers = (c->kind == HOSTRACE_VALUE_INTEGER && kind == HOSTRACE_VALUE_REAL) ||
		       (c->kind == HOSTRACE_VALUE_REAL && kind == HOSTRACE_VALUE_INTEGER);

	if (!kind || c->kind == kind)
		return;
	*mixed |= c->kind && !numbers;
	c->kind = c->kind ? HOSTRACE_VALUE_REAL : kind;
}

static int row_columns(struct hostrace_report *r, json_t *row, bool *mixed)
{
	const char *key;
	json_t *value;
	int err = 0;

	json_object_foreach (row, key, value) {
		const json_t *at = json_object_get(r->keys, key);
		uint32_t i = at ? (uint32_t)json_integer_value(at) : r->nr_columns;

		if (!at)
			err = column_append(r, key);
		if (err)
			return err;
		column_kind_add(&r->column[i], kind_of(value), &mixed[i]);
	}
	return 0;
}

static int rows_columns(struct hostrace_report *r, bool *mixed)
{
	int err = 0;

	for (uint64_t i = 0; i < r->nr_rows && !err; i++) {
		json_t *row = json_slice_load(r->row[i]);

		if (json_is_object(row))
			err = row_columns(r, row, mixed);
		else
			err = fail(-EBADMSG, "row %" PRIu64 " is not an object", i);
		json_decref(row);
	}
	return err;
}

static int columns_declared(struct hostrace_report *r, const struct table_def *t)
{
	int err = 0;

	for (unsigned int b = 0; t && t->block[b]; b++)
		for (const struct column_def *c = t->block[b]; c->key || c->head; c++)
			if (!err && c->key && *c->key && !json_object_get(r->keys, c->key))
				err = column_append(r, c->key);
	return err;
}

/* The words of the command line in one text, which ends where there is no more room. */
static void words_join(const char *const *options, char *buf, size_t size)
{
	size_t len = 0;

	*buf = '\0';
	for (; options && *options && len < size; options++)
		len += (size_t)snprintf(buf + len, size - len, "%s%s", len ? " " : "", *options);
}

static int columns_make(struct hostrace_report *r, const char *name, const char *const *options)
{
	bool mixed[REPORT_COLUMNS_MAX] = {false};
	char words[REPORT_WORDS_BYTES];
	const struct table_def *t;
	json_t *first = r->nr_rows ? json_slice_load(r->row[0]) : NULL;
	int err = rows_columns(r, mixed);

	words_join(options, words, sizeof(words));
	t = columns_table(name, words, first);
	json_decref(first);
	if (!err && !r->nr_rows)
		err = columns_declared(r, t);
	for (uint32_t i = 0; i < r->nr_columns; i++) {
		const struct column_def *def = columns_find(t, r->column[i].name);

		r->column[i].kind = mixed[i] ? HOSTRACE_VALUE_NONE : r->column[i].kind;
		r->column[i].unit = column_unit(r->column[i].name, def);
		r->column[i].explanation = def ? def->doc : "";
	}
	return err;
}

/* ---- the run ---- */

static int notes_make(struct hostrace_report *r)
{
	struct json_slice all = json_slice_of(r->capture.text, r->capture.bytes);
	struct json_slice caveats = json_slice_member(all, "caveats");

	r->notes = caveats.at ? json_slice_load(caveats) : json_array();
	json_array_extend(r->notes, r->capture.notes);
	r->value = calloc(r->nr_columns + 1, sizeof(*r->value));
	r->nested = calloc(r->nr_columns + 1, sizeof(*r->nested));
	return r->notes && r->value && r->nested ? 0 : fail(-ENOMEM, "out of memory");
}

static int report_make(struct hostrace_report *r, const char *path, const struct command *c,
		       const char *const *options)
{
	static const char *const none[] = {NULL};
	int err;

	r->status = command_run_captured(c, path, "json", options ? options : none, &r->capture);
	if (!r->capture.complete)
		return fail(-EIO, "%s",
			    *r->capture.error ? r->capture.error : "there is no answer");
	r->keys = json_object();
	err = rows_find(r);
	if (!err)
		err = columns_make(r, c->name, options);
	return err ? err : notes_make(r);
}

struct hostrace_report *hostrace_report_run(const char *path, const char *name,
					    const char *const *options)
{
	const struct command *c = report_command_find(name);
	struct hostrace_report *r = c ? calloc(1, sizeof(*r)) : NULL;

	if (!c)
		fail(-EINVAL, "unknown report '%s'", name);
	else if (!r)
		fail(-ENOMEM, "out of memory");
	if (!r || !report_make(r, path, c, options))
		return r;
	hostrace_report_close(r);
	return NULL;
}

static void row_forget(struct hostrace_report *r)
{
	for (uint32_t i = 0; r->nested && i < r->nr_columns; i++) {
		free(r->nested[i]);
		r->nested[i] = NULL;
	}
	json_decref(r->now);
	r->now = NULL;
}

void hostrace_report_close(struct hostrace_report *r)
{
	if (!r)
		return;
	row_forget(r);
	for (uint32_t i = 0; i < r->nr_columns; i++)
		free((char *)r->column[i].name);
	free(r->column);
	free(r->row);
	free(r->value);
	free(r->nested);
	json_decref(r->keys);
	json_decref(r->notes);
	capture_free(&r->capture);
	free(r);
}

/* ---- what it has ---- */

uint32_t hostrace_report_count(void)
{
	return sizeof(commands) / sizeof(*commands) - 1;
}

const char *hostrace_report_name(uint32_t i)
{
	return i < hostrace_report_count() ? commands[i]->name : NULL;
}

const char *hostrace_report_summary(uint32_t i)
{
	return i < hostrace_report_count() ? commands[i]->summary : NULL;
}

uint32_t hostrace_report_columns(const struct hostrace_report *r)
{
	return r->nr_columns;
}

uint64_t hostrace_report_rows(const struct hostrace_report *r)
{
	return r->nr_rows;
}

const struct hostrace_column *hostrace_report_column(const struct hostrace_report *r, uint32_t i)
{
	return i < r->nr_columns ? &r->column[i] : NULL;
}

static bool value_make(struct hostrace_report *r, uint32_t i)
{
	const json_t *json = json_object_get(r->now, r->column[i].name);
	struct hostrace_value *v = &r->value[i];

	*v = (struct hostrace_value){.kind = kind_of(json),
				     .integer = json_is_true(json) ? 1 : json_integer_value(json),
				     .real = json_number_value(json),
				     .text = json_string_value(json)};
	if (v->kind != HOSTRACE_VALUE_JSON)
		return true;
	r->nested[i] = json_text_make(json, JSON_COMPACT);
	v->text = r->nested[i];
	return v->text;
}

static bool row_parse(struct hostrace_report *r, uint64_t row)
{
	bool good;

	if (r->now && r->now_row == row)
		return true;
	row_forget(r);
	r->now = json_slice_load(r->row[row]);
	r->now_row = row;
	good = r->now;
	for (uint32_t i = 0; i < r->nr_columns && good; i++)
		good = value_make(r, i);
	if (!good)
		row_forget(r);
	return good;
}

const struct hostrace_value *hostrace_report_value(struct hostrace_report *r, uint64_t row,
						   uint32_t column)
{
	if (row >= r->nr_rows || column >= r->nr_columns)
		return NULL;
	if (row_parse(r, row))
		return &r->value[column];
	fail(-ENOMEM, "out of memory");
	return NULL;
}

const char *hostrace_report_note(const struct hostrace_report *r, uint32_t i)
{
	return json_string_value(json_array_get(r->notes, i));
}

int hostrace_report_status(const struct hostrace_report *r)
{
	return r->status;
}

const char *hostrace_report_failure(const struct hostrace_report *r)
{
	return r->status == EXIT_FAILED ? r->capture.error : "";
}

const char *hostrace_report_json(const struct hostrace_report *r)
{
	return r->capture.text;
}
