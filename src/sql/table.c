// SPDX-License-Identifier: GPL-2.0-or-later
/* What the kinds of tables share: declaring their columns, notes and errors, values of columns. */
#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>

#include "base/error.h"
#include "event/vm_names.h"
#include "output/report.h"
#include "sql/internal.h"

void columns_add(struct sql_columns *c, const char *name, const char *type)
{
	if (c->nr == COLUMNS_MAX)
		return;
	c->name[c->nr] = name;
	c->type[c->nr++] = type;
}

int columns_declare(struct sql *s, const struct sql_columns *c)
{
	sqlite3_str *text = sqlite3_str_new(s->db);
	char *sql;
	int status = SQLITE_NOMEM;

	sqlite3_str_appendall(text, "CREATE TABLE t(");
	for (unsigned int i = 0; i < c->nr; i++)
		sqlite3_str_appendf(text, "%s\"%w\" %s", i ? ", " : "", c->name[i], c->type[i]);
	sqlite3_str_appendall(text, ")");
	sql = sqlite3_str_finish(text);
	s->declares = true;
	if (sql)
		status = sqlite3_declare_vtab(s->db, sql);
	s->declares = false;
	sqlite3_free(sql);
	return status;
}

void note_add(struct sql *s, const char *fmt, ...)
{
	va_list args;
	json_t *known, *text;
	size_t i;

	va_start(args, fmt);
	text = json_sanitized(json_vsprintf(fmt, args));
	va_end(args);
	json_array_foreach (s->notes, i, known)
		if (json_equal(text, known)) {
			json_decref(text);
			return;
		}
	json_array_append_new(s->notes, text);
}

int table_failed(sqlite3_vtab *table, int err)
{
	struct sql *s = ((struct sql_table *)table)->sql;

	s->err = err;
	sqlite3_free(table->zErrMsg);
	table->zErrMsg = sqlite3_mprintf("%s", error_text());
	return err == -ENOMEM ? SQLITE_NOMEM : SQLITE_ERROR;
}

/* Returns buf. */
static const char *name_fold(const char *name, char *buf, size_t size)
{
	snprintf(buf, size, "%s", name);
	for (char *p = buf; *p; p++)
		*p = (char)(*p >= 'A' && *p <= 'Z' ? *p - 'A' + 'a' : *p);
	return buf;
}

bool table_is_taken(const struct sql *s, const char *name)
{
	char buf[TABLE_NAME_BYTES];

	return json_object_get(s->taken, name_fold(name, buf, sizeof(buf)));
}

int table_add_module(struct sql *s, const char *name, const sqlite3_module *module, void *aux,
		     void (*aux_free)(void *aux))
{
	char buf[TABLE_NAME_BYTES];

	json_object_set_new_nocheck(s->taken, name_fold(name, buf, sizeof(buf)), json_true());
	if (!aux || sqlite3_create_module_v2(s->db, name, module, aux, aux_free) != SQLITE_OK)
		return fail(-ENOMEM, "out of memory");
	return 0;
}

int inputs_again(struct sql *s, const struct input_options *options, struct input_set **ret)
{
	return input_set_copy_for(s->in, options ? options : s->in->options, ret);
}

/* ---- values ---- */

void value_text(struct table_value *v, const char *text)
{
	v->value = (struct sql_value){.kind = text ? SQL_TEXT : SQL_NULL, .text = text};
}

void value_signed(struct table_value *v, int64_t number)
{
	v->value = (struct sql_value){.kind = SQL_INTEGER, .integer = number};
}

void value_number(struct table_value *v, uint64_t number)
{
	if (number <= INT64_MAX) {
		value_signed(v, (int64_t)number);
		return;
	}
	snprintf(v->text, sizeof(v->text), "%" PRIu64, number);
	value_text(v, v->text);
}

void value_number_if(struct table_value *v, bool known, uint64_t number)
{
	if (known)
		value_number(v, number);
	else
		value_text(v, NULL);
}

void value_hex(struct table_value *v, uint64_t number)
{
	snprintf(v->text, sizeof(v->text), "0x%" PRIx64, number);
	value_text(v, v->text);
}

void value_vm(struct table_value *v, const struct input_set *in, uint32_t pid)
{
	value_text(v, vm_is_known(in->vms, pid) ? vm_name(in->vms, pid, v->text, sizeof(v->text))
						: NULL);
}

void value_result(sqlite3_context *to, const struct sql_value *v)
{
	if (v->kind == SQL_INTEGER)
		sqlite3_result_int64(to, v->integer);
	else if (v->kind == SQL_TEXT)
		sqlite3_result_text(to, v->text, -1, SQLITE_TRANSIENT);
	else
		sqlite3_result_null(to);
}
