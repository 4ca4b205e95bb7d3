// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Reports as tables. A report runs, with its defaults, when the first query names its table, and its rows are kept:
 * those of its JSON answer. The columns are those that the report declares, and what else its rows have; nested
 * values are JSON as text (json_extract()). What the report notes about its inputs becomes a note of the answer.
 */
#include <errno.h>
#include <string.h>

#include "base/array.h"
#include "base/error.h"
#include "output/blame_report.h"
#include "output/downtime_report.h"
#include "output/element_report.h"
#include "output/interrupt_report.h"
#include "output/path_report.h"
#include "output/queue_report.h"
#include "output/sched_report.h"
#include "reports/reports.h"
#include "sql/report_tables.h"

static const struct blame_query causes_query;
static const struct info_query vms_query;
static const struct path_query stages_query;
static const struct interrupts_query vectors_query, timers_query = {.timers = true};
static const struct sched_query threads_query = {.by_tid = true},
				tasks_query = {.by_task = true, .by_tid = true},
				loops_query = {.loops = true};
static const struct path_query slowest_query = {.waterfall = true};
static const struct leaks_query leaks_query = {.min_age_ns = LEAKS_MIN_AGE_NS};

const struct report_table_def report_tables[REPORT_TABLES] = {
	{"causes", &blame_report, &causes_query, "causes", NULL, &blame_causes_table},
	{"thread_states", &sched_report, &threads_query, "rows", NULL, &sched_threads_table},
	{"ran_instead", &sched_report, &tasks_query, "rows", NULL, &sched_tasks_table},
	{"event_loops", &sched_report, &loops_query, "rows", NULL, &sched_loops_table},
	{"interrupts", &interrupts_report, &vectors_query, "rows", NULL, &interrupt_vectors_table},
	{"timers", &interrupts_report, &timers_query, "rows", NULL, &interrupt_timers_table},
	{"queues", &virtio_report, NULL, "rows", NULL, &queues_table},
	{"leaks", &leaks_report, &leaks_query, "rows", NULL, &elements_table},
	{"requests", &requests_report, NULL, "rows", NULL, &requests_table},
	{"request_stages", &path_report, &stages_query, "rows", NULL, &path_stages_table},
	{"slowest_requests", &path_report, &slowest_query, "rows", NULL, &path_requests_table},
	{"downtime", &downtime_report, NULL, "rows", NULL, &downtime_table},
	{"clock",
	 &sync_report,
	 NULL,
	 "rows",
	 NULL,
	 NULL,
	 {"source", "vcpu", "method", "from_ns", "offset", "offset_ns", "scale", "drift_ppb",
	  "error_ns", "checked", "unchecked", "violations", "worst_ns", "repaired", "verdict"}},
	{"vms",
	 &info_report,
	 &vms_query,
	 "vms",
	 "result",
	 NULL,
	 {"pid", "name", "exe", "build_id", "version", "accel", "machine", "memory_bytes",
	  "cmdline", "vcpus", "devices", "vcpu_threads"}},
};

struct module_of {
	struct sql *sql;
	const struct report_table_def *def;
	json_t *rows; /* NULL: it has not run */
};

struct reports_table {
	struct sql_table table;
	struct module_of *of;
	struct sql_columns columns; /* names are the declarations', or of the rows, which are kept as long */
};

struct reports_cursor {
	sqlite3_vtab_cursor base;
	size_t at;
};

/* ---- running it ---- */

const json_t *report_table_rows(struct sql *s, const struct report_table_def *def,
				const json_t *answer)
{
	const json_t *rows = json_object_get(
		def->within ? json_object_get(answer, def->within) : answer, def->rows);
	const json_t *note;
	size_t i;

	json_array_foreach (json_object_get(answer, "caveats"), i, note)
		note_add(s, "%s", json_string_value(note));
	return json_is_array(rows) ? rows : NULL;
}

static int answer_take(struct module_of *of, const json_t *answer)
{
	json_t *rows = (json_t *)report_table_rows(of->sql, of->def, answer);

	of->rows = rows ? json_incref(rows) : json_array();
	return of->rows ? 0 : fail(-ENOMEM, "out of memory");
}

static int report_make(struct module_of *of)
{
	_cleanup_input_set_ struct input_set *in = NULL;
	struct query query = *of->sql->query;
	json_auto_t *answer = NULL;
	struct result r;
	int err;

	query.of = of->def->of;
	err = result_init(&r, of->def->ops, &query);
	if (!err)
		err = inputs_again(of->sql, NULL, &in);
	if (!err)
		err = report_run(&r, in);
	if (!err)
		err = result_tree(&r, 0, NULL, &answer);
	if (!err)
		err = answer_take(of, answer);
	result_close(&r);
	return err;
}

/* ---- columns ---- */

bool report_column_add(struct sql_columns *c, const char *name)
{
	if (c->nr == COLUMNS_MAX || array_any(c->nr, i, !sqlite3_stricmp(c->name[i], name)))
		return false;
	columns_add(c, name, "");
	return true;
}

void report_columns_declared(const struct report_table_def *def, struct sql_columns *c)
{
	for (unsigned int b = 0; def->declared && def->declared->block[b]; b++)
		for (const struct column_def *d = def->declared->block[b]; d->key || d->head; d++)
			if (d->key && *d->key)
				report_column_add(c, d->key);
	for (unsigned int i = 0; def->columns[i]; i++)
		report_column_add(c, def->columns[i]);
}

static void columns_found(const json_t *rows, struct sql_columns *c)
{
	const char *key;
	json_t *row, *value;
	size_t i;

	json_array_foreach (rows, i, row)
		json_object_foreach (row, key, value)
			report_column_add(c, key);
}

static int reports_connect(sqlite3 *db, void *aux, int argc, const char *const *argv,
			   sqlite3_vtab **ret, char **why)
{
	struct module_of *of = aux;
	struct reports_table *t;
	int status;

	(void)db, (void)argc, (void)argv;
	if (!of->rows && report_make(of)) {
		of->sql->err = error_code();
		*why = sqlite3_mprintf("%s", error_text());
		return SQLITE_ERROR;
	}
	t = sqlite3_malloc(sizeof(*t));
	if (!t)
		return SQLITE_NOMEM;
	memset(t, 0, sizeof(*t));
	t->table.sql = of->sql;
	t->of = of;
	report_columns_declared(of->def, &t->columns);
	columns_found(of->rows, &t->columns);
	status = columns_declare(t->table.sql, &t->columns);
	if (status == SQLITE_OK)
		*ret = &t->table.base;
	else
		sqlite3_free(t);
	return status;
}

static int reports_disconnect(sqlite3_vtab *table)
{
	sqlite3_free(table);
	return SQLITE_OK;
}

static int reports_best(sqlite3_vtab *table, sqlite3_index_info *info)
{
	const struct reports_table *t = (const struct reports_table *)table;

	info->estimatedRows = (sqlite3_int64)json_array_size(t->of->rows);
	info->estimatedCost = (double)info->estimatedRows;
	return SQLITE_OK;
}

/* ---- the cursor ---- */

static int reports_open(sqlite3_vtab *table, sqlite3_vtab_cursor **ret)
{
	struct reports_cursor *c = calloc(1, sizeof(*c));

	(void)table;
	if (!c)
		return SQLITE_NOMEM;
	*ret = &c->base;
	return SQLITE_OK;
}

static int reports_close(sqlite3_vtab_cursor *cursor)
{
	free(cursor);
	return SQLITE_OK;
}

static int reports_filter(sqlite3_vtab_cursor *cursor, int nr, const char *text, int argc,
			  sqlite3_value **argv)
{
	(void)nr, (void)text, (void)argc, (void)argv;
	((struct reports_cursor *)cursor)->at = 0;
	return SQLITE_OK;
}

static int reports_next(sqlite3_vtab_cursor *cursor)
{
	((struct reports_cursor *)cursor)->at++;
	return SQLITE_OK;
}

static int reports_eof(sqlite3_vtab_cursor *cursor)
{
	const struct reports_table *t = (const struct reports_table *)cursor->pVtab;

	return ((struct reports_cursor *)cursor)->at >= json_array_size(t->of->rows);
}

static int reports_rowid(sqlite3_vtab_cursor *cursor, sqlite3_int64 *ret)
{
	*ret = (sqlite3_int64)((struct reports_cursor *)cursor)->at;
	return SQLITE_OK;
}

static int json_result(sqlite3_context *to, const json_t *value)
{
	char *text = json_dumps(value, JSON_COMPACT | JSON_ENCODE_ANY);

	if (!text)
		return SQLITE_NOMEM;
	sqlite3_result_text(to, text, -1, free);
	return SQLITE_OK;
}

static int reports_column(sqlite3_vtab_cursor *cursor, sqlite3_context *to, int column)
{
	const struct reports_table *t = (const struct reports_table *)cursor->pVtab;
	const json_t *row = json_array_get(t->of->rows, ((struct reports_cursor *)cursor)->at);
	const json_t *value = json_object_get(row, t->columns.name[column]);

	if (json_is_string(value))
		sqlite3_result_text(to, json_string_value(value), -1, SQLITE_TRANSIENT);
	else if (json_is_integer(value))
		sqlite3_result_int64(to, json_integer_value(value));
	else if (json_is_real(value))
		sqlite3_result_double(to, json_real_value(value));
	else if (json_is_boolean(value))
		sqlite3_result_int(to, json_is_true(value));
	else if (value && !json_is_null(value))
		return json_result(to, value);
	else
		sqlite3_result_null(to);
	return SQLITE_OK;
}

static const sqlite3_module reports_module = {
	.iVersion = 0,
	.xConnect = reports_connect,
	.xBestIndex = reports_best,
	.xDisconnect = reports_disconnect,
	.xOpen = reports_open,
	.xClose = reports_close,
	.xFilter = reports_filter,
	.xNext = reports_next,
	.xEof = reports_eof,
	.xColumn = reports_column,
	.xRowid = reports_rowid,
};

/* ---- the tables ---- */

static void module_free(void *arg)
{
	struct module_of *of = arg;

	json_decref(of->rows);
	free(of);
}

int reports_tables_add(struct sql *s)
{
	int err = 0;

	for (unsigned int i = 0; i < REPORT_TABLES && !err; i++) {
		struct module_of *of = calloc(1, sizeof(*of));

		if (of)
			*of = (struct module_of){.sql = s, .def = &report_tables[i]};
		json_array_append_new(s->tables, json_string(report_tables[i].name));
		err = table_add_module(s, report_tables[i].name, &reports_module, of, module_free);
	}
	return err;
}

bool reports_declare(const char *table, struct sql_columns *c)
{
	for (unsigned int i = 0; i < REPORT_TABLES; i++)
		if (!strcmp(report_tables[i].name, table)) {
			report_columns_declared(&report_tables[i], c);
			return true;
		}
	return false;
}
