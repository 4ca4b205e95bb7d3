// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The tables of spans as those of a database file, in one pass over the inputs, which all analyzers are fed with; with
 * a time window in two, as only some need the events before it. A span becomes a row of its analyzer's table and of
 * "spans", when it ends.
 */
#include <errno.h>

#include "base/array.h"
#include "base/error.h"
#include "sql/file_table.h"
#include "sql/span_columns.h"

enum { SPAN_TABLES_MAX = 31 };

struct spans_export;

struct span_export {
	struct spans_export *x;
	struct span_table_def def;
	struct span_columns columns;
	struct span_source from;
	struct file_table table;
	bool in_all; /* its spans are rows of "spans", too */
};

struct spans_export {
	struct sql *s;
	struct input_set *set;
	struct span_export of[SPAN_TABLES_MAX];
	unsigned int nr;
	struct file_table all;
	bool before;	      /* this pass is for those that need what is before the window */
	unsigned int source;  /* of the newest event; INPUTS_MAX: there are no more */
	uint32_t *receivers;  /* by event type: a bit for each that wants it, and DECIDED */
	int status;
};

#define DECIDED (UINT32_C(1) << SPAN_TABLES_MAX)

/* ---- rows ---- */

static int common_values(const struct span_export *e, struct file_table *t, const struct span *span)
{
	int status = file_row_begin(t);
	struct table_value v;

	for (unsigned int i = 0; i < SPAN_COMMON && status == SQLITE_OK; i++) {
		span_common_value(&v, &e->from, span, e->x->source, (int)i);
		status = file_row_value(t, i, &v.value);
	}
	return status;
}

static int all_insert(struct span_export *e, const struct span *span)
{
	const struct sql_value analyzer = {.kind = SQL_TEXT, .text = e->def.analyzer->name};
	struct sql_value labels = {.kind = SQL_TEXT};
	struct file_table *t = &e->x->all;
	size_t len;
	char *text = span_labels_json(&e->from, span, &len);
	int status = text ? common_values(e, t, span) : SQLITE_NOMEM;

	labels.text = text;
	if (status == SQLITE_OK)
		status = file_row_value(t, SPAN_ANALYZER, &analyzer);
	if (status == SQLITE_OK)
		status = file_row_value(t, SPAN_LABELS, &labels);
	free(text);
	return status == SQLITE_OK ? file_row_end(t) : status;
}

static int own_insert(struct span_export *e, const struct span *span)
{
	int status = common_values(e, &e->table, span);
	struct table_value v;

	for (unsigned int k = 0; k < e->columns.nr_labels && status == SQLITE_OK; k++) {
		span_label_value(&v, &e->from, span, k);
		status = file_row_value(&e->table, SPAN_COMMON + k, &v.value);
	}
	return status == SQLITE_OK ? file_row_end(&e->table) : status;
}

static int span_insert(void *arg, const struct span *span)
{
	struct span_export *e = arg;
	int status = own_insert(e, span);

	if (status == SQLITE_OK && e->in_all)
		status = all_insert(e, span);
	e->x->status = status;
	return status == SQLITE_OK ? 0 : fail(-EIO, "SQLite: %s", sqlite3_errstr(status));
}

/* ---- a pass ---- */

static bool is_member(const struct span_export *e)
{
	return !input_options_have_window(e->x->s->in->options) ||
	       span_source_needs_before(&e->from) == e->x->before;
}

static bool pass_wants(const char *event, void *arg)
{
	const struct spans_export *x = arg;

	return array_any(x->nr, i,
			 is_member(&x->of[i]) && span_source_wants(&x->of[i].from, event));
}

static uint32_t receivers_of(const struct spans_export *x, const struct event_type *type)
{
	bool loss = type->id == EV_lost || type->id == EV_gap;
	uint32_t receivers = DECIDED;

	for (unsigned int i = 0; i < x->nr; i++)
		if (is_member(&x->of[i]) && (loss || span_source_wants(&x->of[i].from, type->name)))
			receivers |= UINT32_C(1) << i;
	return receivers;
}

static int pass_event(void *arg, const struct event *ev)
{
	struct spans_export *x = arg;
	uint32_t *receivers = &x->receivers[ev->type->index];
	int err = 0;

	if (!*receivers)
		*receivers = receivers_of(x, ev->type);
	x->source = ev->source;
	for (uint32_t left = *receivers & ~DECIDED; left && !err; left &= left - 1)
		err = pairing_event(x->of[__builtin_ctz(left)].from.pairing, ev);
	return err;
}

static int sources_open(struct spans_export *x)
{
	int err = 0;

	for (unsigned int i = 0; i < x->nr && !err; i++) {
		struct span_export *e = &x->of[i];

		err = span_source_open(&e->from, x->s, e->def.analyzer, e->def.by, &e->columns,
				       span_insert, e);
	}
	return err;
}

/* A key that no event has is NULL. */
static int sources_end(struct spans_export *x)
{
	int err = 0;

	x->source = INPUTS_MAX;
	for (unsigned int i = 0; i < x->nr && !err; i++)
		if (is_member(&x->of[i]) && pairing_end(x->of[i].from.pairing) == -ENOMEM)
			err = -ENOMEM;
	return err;
}

static int pass_run(struct spans_export *x)
{
	int err = input_set_open_window(x->set, x->before, pass_wants, x);

	memset(x->receivers, 0, EVENT_TYPES_MAX * sizeof(*x->receivers));
	for (unsigned int i = 0; i < x->nr && !err; i++)
		if (is_member(&x->of[i]))
			span_source_use(&x->of[i].from, x->set);
	if (!err)
		err = reader_each(x->set->reader, pass_event, x);
	return err ? err : sources_end(x);
}

static int spans_read(struct spans_export *x)
{
	int err = inputs_again(x->s, NULL, &x->set);

	x->receivers = calloc(EVENT_TYPES_MAX, sizeof(*x->receivers));
	if (!err && !x->receivers)
		err = fail(-ENOMEM, "out of memory");
	if (!err)
		err = sources_open(x);
	if (!err)
		err = pass_run(x);
	if (err || !input_options_have_window(x->s->in->options))
		return err;
	x->before = true;
	return pass_run(x);
}

/* ---- the tables ---- */

static int table_make(struct spans_export *x, unsigned int i)
{
	struct span_export *e = &x->of[i];
	int err;

	e->x = x;
	err = span_columns_init(&e->columns, e->def.analyzer, e->def.by);
	e->in_all = !e->def.by && span_analyzer_occurs(x->s, e->def.analyzer);
	if (!err)
		x->status = file_table_create(&e->table, x->s->db, e->def.name,
					      &e->columns.columns);
	return err;
}

static int tables_make(struct spans_export *x)
{
	struct span_table_def def;
	struct span_columns all;
	int err = 0;

	for (unsigned int i = 0; !err && x->status == SQLITE_OK && span_table_at(i, &def); i++) {
		if (!def.analyzer || x->nr == SPAN_TABLES_MAX)
			continue;
		x->of[x->nr].def = def;
		err = table_make(x, x->nr++);
	}
	if (err || x->status != SQLITE_OK)
		return err;
	err = span_columns_init(&all, NULL, NULL);
	x->status = file_table_create(&x->all, x->s->db, "spans", &all.columns);
	return err;
}

static void export_notes(struct spans_export *x)
{
	for (unsigned int i = 0; i < x->nr && x->status == SQLITE_OK; i++) {
		span_source_note_fallback(&x->of[i].from);
		span_source_note(&x->of[i].from);
		x->status = notes_write(x->s, x->of[i].def.name, x->s->notes);
	}
	for (unsigned int i = 0; i < x->nr; i++)
		if (x->of[i].in_all)
			span_source_note(&x->of[i].from);
	if (x->status == SQLITE_OK)
		x->status = notes_write(x->s, "spans", x->s->notes);
}

static void spans_export_free(struct spans_export *x)
{
	for (unsigned int i = 0; i < x->nr; i++) {
		span_source_close(&x->of[i].from);
		span_columns_deinit(&x->of[i].columns);
		file_table_close(&x->of[i].table);
	}
	file_table_close(&x->all);
	input_set_close(x->set);
	free(x->receivers);
	free(x);
}

int spans_tables_copy(struct sql *s)
{
	struct spans_export *x = calloc(1, sizeof(*x));
	int err, status;

	if (!x)
		return SQLITE_NOMEM;
	x->s = s;
	err = tables_make(x);
	if (!err && x->status == SQLITE_OK)
		err = spans_read(x);
	if (!err && x->status == SQLITE_OK)
		export_notes(x);
	status = x->status;
	if (err && status == SQLITE_OK) {
		s->err = err;
		status = SQLITE_ERROR;
	}
	spans_export_free(x);
	return status;
}
