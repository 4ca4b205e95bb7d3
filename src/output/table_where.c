// SPDX-License-Identifier: GPL-2.0-or-later
/* --where on the rows of a table: the fields of the condition are the keys of its columns. */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/condition.h"
#include "base/error.h"
#include "event/event_where.h"
#include "output/table.h"

enum { LIST_BYTES = 400 };

struct selection {
	const struct table *t;
	const struct cell *row;
	const struct condition_field *field;
	unsigned int column[CONDITION_FIELDS_MAX];
};

static int column_unknown(const struct table *t, const struct condition *where, unsigned int i,
			  const char *name)
{
	char list[LIST_BYTES] = "";

	for (unsigned int k = 0; k < t->nr_columns; k++) {
		size_t len = strlen(list);

		if (t->column[k].key)
			snprintf(list + len, sizeof(list) - len, "%s%s", len ? ", " : "",
				 t->column[k].key);
	}
	return condition_field_fail(where, i, "the rows have no field '%s' (fields: %s)", name,
				    list);
}

static int column_bind(struct selection *s, const struct condition *where, unsigned int i)
{
	const struct condition_field *f = &s->field[i];
	unsigned int *column = &s->column[i];

	for (*column = 0; *column < s->t->nr_columns; ++*column)
		if (table_key_is(&s->t->column[*column], f->name))
			break;
	if (*column == s->t->nr_columns)
		return column_unknown(s->t, where, i, f->name);
	if (!f->is_text && column_is_text(&s->t->column[*column]))
		return condition_field_fail(
			where, i, "'%s' is a text and no number: compare it with a string",
			f->name);
	return 0;
}

static bool number_get(const struct column *c, const struct cell *cell, struct condition_value *v)
{
	char *end;

	v->number = c->kind == COL_PERCENT ? cell->number / 1000.0L : (long double)cell->number;
	if (!cell->text)
		return true;
	if (c->kind != COL_REAL)
		return false;
	v->number = strtold(cell->text, &end);
	return end != cell->text;
}

static bool text_get(const struct column *c, const struct cell *cell, struct condition_value *v)
{
	v->text = cell->text;
	if (!cell->text || cell->text == cell_absent)
		return false;
	if (c->kind == COL_PATH)
		v->others = path_cell_print(cell, v->buf, sizeof(v->buf));
	if (!strcmp(c->key, "reason"))
		condition_value_reason(v, cell->text);
	return true;
}

static bool number_text_get(const struct column *c, const struct cell *cell,
			    struct condition_value *v)
{
	bool is_hex = c->kind == COL_HEX || c->kind == COL_PORT;

	v->text = cell->text;
	if (cell->text)
		return c->kind == COL_REAL && strcmp(cell->text, "-") != 0;
	snprintf(v->buf, sizeof(v->buf), is_hex ? "0x%" PRIx64 : "%" PRIu64, cell->number);
	v->text = v->buf;
	return true;
}

static bool value_get(void *arg, unsigned int i, struct condition_value *v)
{
	const struct selection *s = arg;
	const struct column *c = &s->t->column[s->column[i]];
	const struct cell *cell = &s->row[s->column[i]];

	if (!s->field[i].is_text)
		return number_get(c, cell, v);
	return column_is_text(c) ? text_get(c, cell, v) : number_text_get(c, cell, v);
}

int table_where(struct table *t, const struct condition *where)
{
	unsigned int nr;
	struct selection s = {.t = t, .field = condition_fields(where, &nr)};
	size_t kept = 0, width = t->nr_columns;
	int err = 0;

	for (unsigned int i = 0; i < nr && !err; i++)
		err = column_bind(&s, where, i);
	for (size_t row = 0; row < t->nr_rows && !err; row++) {
		s.row = t->cell + row * width;
		if (condition_holds(where, value_get, &s))
			memmove(t->cell + kept++ * width, s.row, width * sizeof(*t->cell));
	}
	if (!err)
		t->nr_rows = kept;
	return err;
}
