// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Spans as tables: one for each analyzer, named as it is with '_' for '-', with a column for each label; "exits" is
 * exit_latency with the instruction pointer. "spans" has those of all analyzers, one after the other. An analyzer whose
 * events the inputs lack is replaced by its fallback, as in reports, but not in "spans". Rows come as spans end.
 */
#include <errno.h>
#include <string.h>

#include "base/array.h"
#include "base/error.h"
#include "sql/grouped.h"
#include "sql/span_columns.h"

struct module_of {
	struct sql *sql;
	const struct analyzer *analyzer; /* NULL: all */
	const char *by;
};

struct spans_table {
	struct sql_table table;
	const struct module_of *of;
	struct span_columns columns;
};

struct spans_cursor {
	sqlite3_vtab_cursor base;
	const struct module_of *of;
	const struct analyzer *const *next; /* of "spans": those that follow; NULL: none */
	struct span_source from;	    /* the analyzer whose table it is, or that is being read */
	struct input_set *set;
	struct input_events events;
	struct span *span; /* that ended with the newest event: `at` is the row */
	size_t nr, at;
	unsigned int source; /* of that event; INPUTS_MAX: it has ended without one */
	bool done; /* the input has ended */
	struct grouped *grouped; /* the rows come from it; NULL: as spans end */
	bool ended;		 /* ... and it has no more */
	sqlite3_int64 rowid;
};

/* ---- columns ---- */

static int spans_disconnect(sqlite3_vtab *table)
{
	span_columns_deinit(&((struct spans_table *)table)->columns);
	sqlite3_free(table);
	return SQLITE_OK;
}

static int spans_connect(sqlite3 *db, void *aux, int argc, const char *const *argv,
			 sqlite3_vtab **ret, char **why)
{
	struct spans_table *t = sqlite3_malloc(sizeof(*t));
	int status = SQLITE_NOMEM;

	(void)db, (void)argc, (void)argv;
	if (!t)
		return SQLITE_NOMEM;
	memset(t, 0, sizeof(*t));
	t->of = aux;
	t->table.sql = t->of->sql;
	if (span_columns_init(&t->columns, t->of->analyzer, t->of->by))
		*why = sqlite3_mprintf("%s", error_text());
	else
		status = columns_declare(t->table.sql, &t->columns.columns);
	if (status == SQLITE_OK)
		*ret = &t->table.base;
	else
		spans_disconnect(&t->table.base);
	return status;
}

/* WHERE analyzer = '...' on "spans" reads the inputs once, not once for each. */
static int spans_best(sqlite3_vtab *table, sqlite3_index_info *info)
{
	const struct spans_table *t = (const struct spans_table *)table;
	struct grouping grouping;

	for (int i = 0; i < info->nConstraint && !t->of->analyzer && !info->idxNum; i++) {
		if (info->aConstraint[i].iColumn != SPAN_ANALYZER || !info->aConstraint[i].usable ||
		    info->aConstraint[i].op != SQLITE_INDEX_CONSTRAINT_EQ)
			continue;
		info->aConstraintUsage[i].argvIndex = 1;
		info->idxNum = 1;
	}
	info->estimatedCost = table_cost(info->idxNum);
	if (grouping_plan(info, 1 << SPAN_START | 1 << SPAN_DURATION,
			  t->of->analyzer ? 0 : 1 << SPAN_LABELS,
			  &grouping)) {
		sqlite3_str *text = sqlite3_str_new(t->table.sql->db);

		grouping_print(text, &grouping);
		info->idxStr = sqlite3_str_finish(text);
		info->needToFreeIdxStr = 1;
	}
	return SQLITE_OK;
}

/* ---- the cursor ---- */

static int spans_open(sqlite3_vtab *table, sqlite3_vtab_cursor **ret)
{
	struct spans_cursor *c = calloc(1, sizeof(*c));

	if (!c)
		return SQLITE_NOMEM;
	c->of = ((const struct spans_table *)table)->of;
	*ret = &c->base;
	return SQLITE_OK;
}

/* Of "spans": the next one that has events of its own. NULL: there is none. */
static const struct analyzer *analyzer_next(struct spans_cursor *c)
{
	while (c->next && *c->next) {
		const struct analyzer *a = *c->next++;

		if (span_analyzer_occurs(c->of->sql, a))
			return a;
	}
	return NULL;
}

static void spans_rewind(struct spans_cursor *c)
{
	input_events_close(&c->events);
	input_set_close(c->set);
	span_source_close(&c->from);
	c->set = NULL;
	c->nr = c->at = 0;
	c->done = true;
}

static int spans_close(sqlite3_vtab_cursor *cursor)
{
	struct spans_cursor *c = (struct spans_cursor *)cursor;

	spans_rewind(c);
	grouped_free(c->grouped);
	free(c->span);
	free(c);
	return SQLITE_OK;
}

static int span_keep(void *arg, const struct span *s)
{
	struct spans_cursor *c = arg;

	if (array_room(c->span, c->nr))
		return fail(-ENOMEM, "out of memory");
	c->span[c->nr++] = *s;
	return 0;
}

static bool spans_want(const char *event, void *cursor)
{
	return span_source_wants(&((const struct spans_cursor *)cursor)->from, event);
}

static int analyzer_begin(struct spans_cursor *c, const struct analyzer *asked)
{
	const struct spans_table *t = (const struct spans_table *)c->base.pVtab;
	struct sql *s = c->of->sql;
	int err;

	spans_rewind(c);
	c->done = false;
	err = span_source_open(&c->from, s, asked, c->of->by, &t->columns, span_keep, c);
	span_source_note_fallback(&c->from);
	if (!err)
		err = inputs_again(s, NULL, &c->set);
	if (!err)
		err = input_set_open_window(c->set, span_source_needs_before(&c->from), spans_want,
					    c);
	if (err)
		return err;
	span_source_use(&c->from, c->set);
	c->events = (struct input_events){
		.set = c->set, .batch = calloc(1, sizeof(*c->events.batch)), .more = 1};
	return c->events.batch ? 0 : fail(-ENOMEM, "out of memory");
}

/* Reads until a span has ended. */
static int spans_read(struct spans_cursor *c)
{
	struct input_events *in = &c->events;
	int err = 0;

	c->nr = c->at = 0;
	while (!err && !c->nr && in->more > 0) {
		if (in->at == in->batch->nr) {
			in->more = reader_next(c->set->reader, in->batch);
			in->at = 0;
			err = in->more < 0 ? in->more : 0;
			continue;
		}
		c->source = in->batch->ev[in->at].source;
		err = pairing_event(c->from.pairing, &in->batch->ev[in->at++]);
	}
	if (err || c->nr)
		return err;
	c->done = true;
	c->source = INPUTS_MAX;
	err = pairing_end(c->from.pairing);
	err = err == -ENOMEM ? err : 0; /* a key that no event has is NULL */
	span_source_note(&c->from);
	return err;
}

/* The next span. 1; 0: there is none; -errno with the error message set. */
static int span_next(sqlite3_vtab_cursor *cursor)
{
	struct spans_cursor *c = (struct spans_cursor *)cursor;
	const struct analyzer *next;
	int err = 0;

	c->at++;
	while (!err && c->at >= c->nr && !c->done) {
		err = spans_read(c);
		if (!err && c->done && (next = analyzer_next(c)))
			err = analyzer_begin(c, next);
	}
	return err ? err : c->at < c->nr;
}

static int spans_next(sqlite3_vtab_cursor *cursor)
{
	struct spans_cursor *c = (struct spans_cursor *)cursor;
	int more = c->grouped ? grouped_next(c->grouped) : span_next(cursor);

	if (more < 0)
		return table_failed(cursor->pVtab, more);
	c->rowid++;
	c->ended = !more;
	return SQLITE_OK;
}

/* ---- values ---- */

static int labels_result(sqlite3_context *to, const struct spans_cursor *c)
{
	size_t len;
	char *text = span_labels_json(&c->from, &c->span[c->at], &len);

	if (!text)
		return SQLITE_NOMEM;
	sqlite3_result_text(to, text, (int)len, free);
	return SQLITE_OK;
}

/* Any column but SPAN_LABELS. */
static void spans_value(sqlite3_vtab_cursor *cursor, int column, struct table_value *v)
{
	const struct spans_cursor *c = (const struct spans_cursor *)cursor;

	if (column < SPAN_COMMON)
		span_common_value(v, &c->from, &c->span[c->at], c->source, column);
	else if (!c->of->analyzer)
		value_text(v, c->from.asked->name);
	else
		span_label_value(v, &c->from, &c->span[c->at],
				 (unsigned int)(column - SPAN_COMMON));
}

/* ---- which rows ---- */

/* "exit-latency" or "exit_latency". */
static bool is_named(const struct analyzer *a, const char *name)
{
	size_t i = 0;

	while (a->name[i] && name[i] &&
	       (a->name[i] == name[i] || (a->name[i] == '-' && name[i] == '_')))
		i++;
	return !a->name[i] && !name[i];
}

static const struct analyzer *analyzer_named(const char *name)
{
	for (unsigned int i = 0; name && analyzers[i]; i++)
		if (is_named(analyzers[i], name))
			return analyzers[i];
	return NULL;
}

static int spans_filter(sqlite3_vtab_cursor *cursor, int one, const char *text, int argc,
			sqlite3_value **argv)
{
	struct spans_cursor *c = (struct spans_cursor *)cursor;
	const struct analyzer *first = c->of->analyzer;
	struct sql *s = c->of->sql;
	struct grouping grouping;
	int err;

	(void)argc;
	spans_rewind(c);
	grouped_free(c->grouped);
	c->grouped = NULL;
	c->next = NULL;
	c->ended = true;
	if (!first && one) {
		first = analyzer_named((const char *)sqlite3_value_text(argv[0]));
	} else if (!first) {
		c->next = analyzers;
		first = analyzer_next(c);
	}
	if (!first)
		return SQLITE_OK;
	err = analyzer_begin(c, first);
	c->at = c->nr;
	if (!err && grouping_parse(text, &grouping))
		err = rows_group(cursor, &grouping, s->memory_bytes, span_next, spans_value,
				 &c->grouped);
	return err ? table_failed(cursor->pVtab, err) : spans_next(cursor);
}

static int spans_eof(sqlite3_vtab_cursor *cursor)
{
	return ((const struct spans_cursor *)cursor)->ended;
}

static int spans_rowid(sqlite3_vtab_cursor *cursor, sqlite3_int64 *ret)
{
	*ret = ((struct spans_cursor *)cursor)->rowid;
	return SQLITE_OK;
}

static int spans_column(sqlite3_vtab_cursor *cursor, sqlite3_context *to, int column)
{
	const struct spans_cursor *c = (const struct spans_cursor *)cursor;
	struct table_value v;

	if (!c->of->analyzer && column == SPAN_LABELS)
		return labels_result(to, c);
	if (c->grouped)
		return value_result(to, grouped_value(c->grouped, column)), SQLITE_OK;
	spans_value(cursor, column, &v);
	value_result(to, &v.value);
	return SQLITE_OK;
}

static const sqlite3_module spans_module = {
	.iVersion = 0,
	.xConnect = spans_connect,
	.xBestIndex = spans_best,
	.xDisconnect = spans_disconnect,
	.xOpen = spans_open,
	.xClose = spans_close,
	.xFilter = spans_filter,
	.xNext = spans_next,
	.xEof = spans_eof,
	.xColumn = spans_column,
	.xRowid = spans_rowid,
};

/* ---- the tables ---- */

static int spans_table_add(struct sql *s, const struct span_table_def *def)
{
	struct module_of *of = malloc(sizeof(*of));

	if (of)
		*of = (struct module_of){s, def->analyzer, def->by};
	json_array_append_new(s->tables, json_string(def->name));
	return table_add_module(s, def->name, &spans_module, of, free);
}

int spans_tables_add(struct sql *s)
{
	struct span_table_def def;
	int err = 0;

	for (unsigned int i = 0; !err && span_table_at(i, &def); i++)
		err = spans_table_add(s, &def);
	return err;
}
