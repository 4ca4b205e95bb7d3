// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Events as tables: "events" has all of them, and each type has a table of its own name with a column for each field.
 * A type may come from several inputs with other fields: the table has all. WHERE on the time, the type and the thread
 * is given to the readers, which skip what it excludes. Not the vCPU, which may be known by the thread's name only.
 */
#include <errno.h>
#include <limits.h>
#include <string.h>

#include "base/array.h"
#include "base/error.h"
#include "event/vm_names.h"
#include "output/event_rows.h"
#include "output/report.h"
#include "sql/event_columns.h"
#include "sql/grouped.h"

struct module_of {
	struct sql *sql;
	char name[EVENT_NAME_MAX]; /* of the type; "": all events */
};

struct events_table {
	struct sql_table table;
	const struct module_of *of;
	struct sql_columns columns; /* names of fields are the types' own */
};

struct events_cursor {
	sqlite3_vtab_cursor base;
	struct input_options options; /* the query's, narrower */
	char type[EVENT_NAME_MAX];
	struct events_input in;
	sqlite3_int64 nr;
	bool none; /* WHERE excludes all times */
	struct grouped *grouped; /* the rows come from it; NULL: as they are read */
	bool ended;

	const struct event_type *bound; /* the type of: */
	const struct field *field[COLUMNS_MAX];
};

/* ---- columns ---- */

static int events_connect(sqlite3 *db, void *aux, int argc, const char *const *argv,
			  sqlite3_vtab **ret, char **why)
{
	struct events_table *t = sqlite3_malloc(sizeof(*t));
	const struct module_of *of = aux;
	int status;

	(void)db, (void)argc, (void)argv, (void)why;
	if (!t)
		return SQLITE_NOMEM;
	memset(t, 0, sizeof(*t));
	t->table.sql = of->sql;
	t->of = of;
	event_columns(of->name, &t->columns);
	status = columns_declare(t->table.sql, &t->columns);
	if (status == SQLITE_OK)
		*ret = &t->table.base;
	else
		sqlite3_free(t);
	return status;
}

static int events_disconnect(sqlite3_vtab *table)
{
	sqlite3_free(table);
	return SQLITE_OK;
}

/* ---- which constraints the readers get ---- */

/* As a letter of idxStr, for each argument of xFilter; 0: none. */
static char constraint_letter(int column, unsigned char op, bool all)
{
	if (column == EVENTS_TIME)
		return op == SQLITE_INDEX_CONSTRAINT_GE	  ? 'g'
		       : op == SQLITE_INDEX_CONSTRAINT_GT ? 'G'
		       : op == SQLITE_INDEX_CONSTRAINT_LE ? 'l'
		       : op == SQLITE_INDEX_CONSTRAINT_LT ? 'L'
		       : op == SQLITE_INDEX_CONSTRAINT_EQ ? '='
							  : 0;
	if (op != SQLITE_INDEX_CONSTRAINT_EQ)
		return 0;
	return column == EVENTS_TID ? 't' : column == EVENTS_EVENT && all ? 'e' : 0;
}

static int events_best(sqlite3_vtab *table, sqlite3_index_info *info)
{
	const struct events_table *t = (const struct events_table *)table;
	sqlite3_str *letters = sqlite3_str_new(t->table.sql->db);
	struct grouping grouping;
	int args = 0;

	for (int i = 0; i < info->nConstraint; i++) {
		char letter = constraint_letter(info->aConstraint[i].iColumn,
						info->aConstraint[i].op, !*t->of->name);

		if (!letter || !info->aConstraint[i].usable)
			continue;
		sqlite3_str_appendchar(letters, 1, letter);
		info->aConstraintUsage[i].argvIndex = ++args;
	}
	info->estimatedCost = table_cost(args);
	if (grouping_plan(info, 1 << EVENTS_TIME, *t->of->name ? 0 : 1 << EVENTS_FIELDS, &grouping))
		grouping_print(letters, &grouping);
	info->idxStr = sqlite3_str_finish(letters);
	info->needToFreeIdxStr = 1;
	return SQLITE_OK;
}

/* Compared with a time, in whole ns: the least integer that is not less. */
static uint64_t time_up(sqlite3_value *v)
{
	double d = sqlite3_value_double(v);

	if (sqlite3_value_type(v) == SQLITE_INTEGER)
		return sqlite3_value_int64(v) < 0 ? 0 : (uint64_t)sqlite3_value_int64(v);
	return d <= 0			? 0
	       : d >= (double)INT64_MAX ? INT64_MAX
					: (uint64_t)d + (d > (double)(uint64_t)d);
}

static void window_narrow(struct input_options *o, char letter, sqlite3_value *v)
{
	uint64_t ns = time_up(v);
	bool number = sqlite3_value_numeric_type(v) != SQLITE_TEXT &&
		      sqlite3_value_type(v) != SQLITE_NULL;

	if (!number) /* SQLite itself compares */
		return;
	if (strchr("gG=", letter) && ns > o->since.ns)
		o->since = (struct time_arg){"0", ns};
	if (strchr("lL=", letter) && ns < UINT64_MAX - 1 && ns + 1 < o->until.ns)
		o->until = (struct time_arg){"0", ns + 1};
}

static void number_narrow(struct number_list *list, sqlite3_value *v)
{
	sqlite3_int64 n = sqlite3_value_int64(v);

	if (list->nr || sqlite3_value_type(v) != SQLITE_INTEGER || n < 0 || n > UINT32_MAX)
		return;
	list->item[list->nr++] = (uint32_t)n;
}

static void type_narrow(struct events_cursor *c, const char *name)
{
	if (c->options.globs.nr || !name || !*name || strpbrk(name, "*?[],") ||
	    strlen(name) >= sizeof(c->type))
		return;
	snprintf(c->type, sizeof(c->type), "%s", name);
	c->options.globs.item[c->options.globs.nr++] = c->type;
	c->options.globs.given = true;
}

/* Starts with the query's window and filters. */
static void options_narrow(struct events_cursor *c, const struct events_table *t,
			   const char *letters, sqlite3_value **argv)
{
	const struct input_set *in = t->table.sql->in;
	struct input_options *o = &c->options;

	*o = *in->options;
	o->since = (struct time_arg){in->since_ns ? "0" : NULL, in->since_ns};
	o->until = (struct time_arg){in->until_ns == UINT64_MAX ? NULL : "0", in->until_ns};
	o->period = (struct time_arg){0};
	o->is_absolute = true;
	type_narrow(c, t->of->name);
	for (unsigned int i = 0; letters && letters[i] && letters[i] != '#'; i++) {
		if (letters[i] == 't')
			number_narrow(&o->tids, argv[i]);
		else if (letters[i] == 'e')
			type_narrow(c, (const char *)sqlite3_value_text(argv[i]));
		else if (!trace_info_in_ticks(&in->reader->info))
			window_narrow(o, letters[i], argv[i]);
	}
	if (!o->until.text)
		o->until.ns = 0;
	c->none = o->until.ns && o->since.ns >= o->until.ns;
}

/* ---- values ---- */

static int fields_result(sqlite3_context *to, const struct event_row *row)
{
	size_t len;
	char *text = event_fields_json(row, &len);

	if (!text)
		return SQLITE_NOMEM;
	sqlite3_result_text(to, text, (int)len, free);
	return SQLITE_OK;
}

/* The fields of this type of events, for each column. */
static void fields_bind(struct events_cursor *c, const struct events_table *t)
{
	const struct event_type *type = c->in.row.ev->type;

	memset(c->field, 0, sizeof(c->field));
	for (unsigned int i = 0; i < type->nr_fields; i++)
		for (unsigned int k = EVENTS_COMMON; k < t->columns.nr; k++)
			if (!strcmp(t->columns.name[k], event_field_column(&type->fields[i])))
				c->field[k] = &type->fields[i];
	c->bound = type;
}

/* Any column but EVENTS_FIELDS. */
static void events_value(sqlite3_vtab_cursor *cursor, int column, struct table_value *v)
{
	struct events_cursor *c = (struct events_cursor *)cursor;
	const struct events_table *t = (const struct events_table *)cursor->pVtab;
	const struct field *f;

	if (column < EVENTS_COMMON)
		return event_common_value(v, &c->in, column);
	if (!*t->of->name)
		return value_text(v, c->in.row.ev->type->name);
	if (c->bound != c->in.row.ev->type)
		fields_bind(c, t);
	f = c->field[column];
	if (f)
		event_field_value(v, c->in.row.ev, f);
	else
		value_text(v, NULL);
}

/* ---- the cursor ---- */

static int events_open(sqlite3_vtab *table, sqlite3_vtab_cursor **ret)
{
	struct events_cursor *c = calloc(1, sizeof(*c));

	(void)table;
	if (!c)
		return SQLITE_NOMEM;
	*ret = &c->base;
	return SQLITE_OK;
}

static void events_rewind(struct events_cursor *c)
{
	events_input_close(&c->in);
	grouped_free(c->grouped);
	c->grouped = NULL;
	c->ended = false;
	c->nr = 0;
}

static int events_close(sqlite3_vtab_cursor *cursor)
{
	struct events_cursor *c = (struct events_cursor *)cursor;

	events_rewind(c);
	free(c);
	return SQLITE_OK;
}

/* The next event that is a row. 1; 0: there is none; -errno with the error message set. */
static int event_read(sqlite3_vtab_cursor *cursor)
{
	struct events_cursor *c = (struct events_cursor *)cursor;
	const struct events_table *t = (const struct events_table *)cursor->pVtab;
	int more;

	do
		more = events_input_next(&c->in);
	while (more > 0 && *t->of->name && strcmp(c->in.row.ev->type->name, t->of->name));
	return more;
}

static int events_next(sqlite3_vtab_cursor *cursor)
{
	struct events_cursor *c = (struct events_cursor *)cursor;
	int more = c->grouped ? grouped_next(c->grouped) : event_read(cursor);

	if (more < 0)
		return table_failed(cursor->pVtab, more);
	c->nr++;
	c->ended = !more;
	return SQLITE_OK;
}

static int events_filter(sqlite3_vtab_cursor *cursor, int nr, const char *letters, int argc,
			 sqlite3_value **argv)
{
	struct events_cursor *c = (struct events_cursor *)cursor;
	struct events_table *t = (struct events_table *)cursor->pVtab;
	struct grouping grouping;
	int err;

	(void)nr, (void)argc;
	events_rewind(c);
	c->bound = NULL;
	options_narrow(c, t, letters, argv);
	c->ended = c->none;
	if (c->none)
		return SQLITE_OK;
	err = events_input_open(t->table.sql, &c->options, &c->in);
	if (!err && grouping_parse(letters, &grouping))
		err = rows_group(cursor, &grouping, t->table.sql->memory_bytes, event_read,
				 events_value, &c->grouped);
	return err ? table_failed(cursor->pVtab, err) : events_next(cursor);
}

static int events_eof(sqlite3_vtab_cursor *cursor)
{
	return ((struct events_cursor *)cursor)->ended;
}

static int events_rowid(sqlite3_vtab_cursor *cursor, sqlite3_int64 *ret)
{
	*ret = ((struct events_cursor *)cursor)->nr;
	return SQLITE_OK;
}

static int events_column(sqlite3_vtab_cursor *cursor, sqlite3_context *to, int column)
{
	const struct events_cursor *c = (const struct events_cursor *)cursor;
	const struct events_table *t = (const struct events_table *)cursor->pVtab;
	struct table_value v;

	if (!*t->of->name && column == EVENTS_FIELDS)
		return fields_result(to, &c->in.row);
	if (c->grouped)
		return value_result(to, grouped_value(c->grouped, column)), SQLITE_OK;
	events_value(cursor, column, &v);
	value_result(to, &v.value);
	return SQLITE_OK;
}

static const sqlite3_module events_module = {
	.iVersion = 0,
	.xConnect = events_connect,
	.xBestIndex = events_best,
	.xDisconnect = events_disconnect,
	.xOpen = events_open,
	.xClose = events_close,
	.xFilter = events_filter,
	.xNext = events_next,
	.xEof = events_eof,
	.xColumn = events_column,
	.xRowid = events_rowid,
};

/* ---- the tables ---- */

static int events_table_add(struct sql *s, const char *name, const char *type)
{
	struct module_of *of = malloc(sizeof(*of));

	if (of) {
		of->sql = s;
		snprintf(of->name, sizeof(of->name), "%s", type);
	}
	return table_add_module(s, name, &events_module, of, free);
}

/* A type of an input must not take the place of a table of SQLite. */
static bool name_is_free(const struct sql *s, const char *name)
{
	return sqlite3_strnicmp(name, "sqlite_", 7) && sqlite3_strnicmp(name, "pragma_", 7) &&
	       sqlite3_strnicmp(name, "json_", 5) && !table_is_taken(s, name);
}

/* "event:NAME", or more of the prefix. False: such names are taken as well. */
static bool name_prefix(const struct sql *s, char *name, size_t size)
{
	static const char prefix[] = "event:";
	const size_t len = sizeof(prefix) - 1;

	for (int i = 0; i < 8 && !name_is_free(s, name); i++) {
		memmove(name + len, name, size - len);
		memcpy(name, prefix, len);
		name[size - 1] = 0;
	}
	return name_is_free(s, name);
}

/* Whether a type still needs a table, by the index of the first type of its name, whose table is that of all. */
enum need { NEED_NONE, NEED_EMPTY, NEED_ROWS };

static uint8_t *needs_make(const struct sql *s)
{
	uint8_t *need = calloc(EVENT_TYPES_MAX, sizeof(*need));

	for (unsigned int i = 0; need && i < event_types_count(); i++) {
		const struct event_type *type = event_type_named(event_type_at(i)->name);

		if (s->counts[i])
			need[type->index] = NEED_ROWS;
		else if (event_type_at(i)->id && !need[type->index])
			need[type->index] = NEED_EMPTY;
	}
	return need;
}

static int type_table_add(struct sql *s, const struct event_type *type, uint8_t *need,
			  bool prefixed)
{
	char name[TABLE_NAME_BYTES];

	snprintf(name, sizeof(name), "%s", type->name);
	if (!*need || (prefixed ? !name_prefix(s, name, sizeof(name)) : !name_is_free(s, name)))
		return 0;
	if (*need == NEED_ROWS) {
		json_array_append_new(s->tables, json_text(name));
		json_object_set_new_nocheck(s->types, name, json_text(type->name));
	}
	*need = NEED_NONE;
	return events_table_add(s, name, type->name);
}

/* Types have their own names as far as these are free; then come those that need another one. */
static int type_tables_add(struct sql *s)
{
	_cleanup_free_ uint8_t *need = needs_make(s);
	unsigned int taken = 0;
	int err = need ? 0 : fail(-ENOMEM, "out of memory");

	for (unsigned int i = 0; i < event_types_count() && !err; i++)
		err = type_table_add(s, event_type_at(i), &need[i], false);
	for (unsigned int i = 0; i < event_types_count() && !err; i++) {
		taken += need[i] == NEED_ROWS;
		err = type_table_add(s, event_type_at(i), &need[i], true);
	}
	if (taken)
		note_add(s, "types of events with the name of another table: %u; their own tables "
			    "are \"event:NAME\", see --schema", taken);
	return err;
}

/* All types that occur, and ours, whose tables may be empty; they are listed before the other tables. */
int events_tables_add(struct sql *s)
{
	json_t *others = s->tables;
	int err = events_table_add(s, "events", "");

	json_object_set_new(s->taken, "notes", json_true()); /* of an exported database */
	s->tables = json_pack("[s]", "events");
	if (!err)
		err = events_table_add(s, "losses", event_type_ours(EV_lost)->name);
	if (!err)
		err = type_tables_add(s);
	json_array_append_new(s->tables, json_string("losses"));
	json_array_extend(s->tables, others);
	json_decref(others);
	return err;
}
