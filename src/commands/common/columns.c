// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The list of all tables with declared columns, and what is generated from it: `hostrace help columns`, from which the
 * manual has its lists (doc/options.sh), and the schemas of the rows, doc/schema/columns.json (make docs). A new table
 * is one line in the list.
 */
#include <ctype.h>

#include "commands/common/baseline_table.h"
#include "commands/common/columns.h"
#include "commands/common/guest_tables.h"
#include "output/annotate_report.h"
#include "output/blame_report.h"
#include "output/boot_report.h"
#include "output/diff_report.h"
#include "output/downtime_report.h"
#include "output/element_report.h"
#include "output/event_formats.h"
#include "output/faults_report.h"
#include "output/heap_report.h"
#include "output/interrupt_report.h"
#include "output/path_report.h"
#include "output/probes_report.h"
#include "output/queue_report.h"
#include "output/sched_report.h"
#include "output/stuck_report.h"
#include "output/virtq_list.h"
#include "output/syscalls_report.h"
#include "reports/tool_counts.h"
#include "views/stat_rows.h"
#include "views/view.h"

static const struct table_def *const tables[] = {
	&events_table,
	&sched_threads_table,
	&sched_tasks_table,
	&sched_loops_table,
	&sched_handlers_table,
	&interrupt_vectors_table,
	&interrupt_timers_table,
	&downtime_table,
	&boot_table,
	&boot_phases_table,
	&boot_points_table,
	&elements_table,
	&annotate_table,
	&heap_table,
	&heap_functions_table,
	&heap_mismatches_table,
	&syscalls_table,
	&syscalls_threads_table,
	&faults_table,
	&faults_vcpu_table,
	&faults_slot_table,
	&faults_vma_table,
	&diff_table,
	&baseline_table,
	&summary_table,
	&spans_table,
	&count_table,
	&tool_counts_table,
	&stat_table,
	&probes_table,
	&requests_table,
	&path_stages_table,
	&path_requests_table,
	&blame_causes_table,
	&blame_groups_table,
	&blame_exits_table,
	&stuck_requests_table,
	&queues_table,
	&queue_stages_table,
	&virtq_states_table,
	&virtq_list_def,
	&guest_runqueue_table,
	&guest_callouts_table,
	&guest_heap_table,
	&guest_mmap_table,
	&guest_zfs_table,
	&guest_syms_table,
	NULL,
};

/* Prints a column. `nr`: how many of the table's were printed before. Returns whether it was. */
typedef bool column_fn(const struct column_def *c, unsigned int nr, FILE *out);

static void columns_each(const struct table_def *t, column_fn *fn, FILE *out)
{
	unsigned int nr = 0;

	for (unsigned int b = 0; t->block[b]; b++)
		for (const struct column_def *c = t->block[b]; c->key || c->head; c++)
			nr += fn(c, nr, out);
}

/* ---- text ---- */

/* A nested one by its path: "parts.start_ns". */
static void column_line(const char *path, const struct column_def *c, FILE *out)
{
	char key[128];

	if (!*c->doc || (c->key && !*c->key)) /* the same as an earlier one; values without a key */
		return;
	snprintf(key, sizeof(key), "%s%s%s", path, *path ? "." : "", c->key ? c->key : "-");
	fprintf(out, "  %-16s %-12s %s\n", key, c->head ? c->head : "-", c->doc);
	for (const struct column_def *n = c->nested ?: c->objects; n && n->key; n++)
		column_line(key, n, out);
}

static bool column_print(const struct column_def *c, unsigned int nr, FILE *out)
{
	(void)nr;
	column_line("", c, out);
	return true;
}

bool columns_print(const char *command, FILE *out)
{
	bool any = false;

	for (const struct table_def *const *t = tables; *t; t++) {
		if (command && strcmp((*t)->command, command))
			continue;
		fprintf(out, "%shostrace %s%s%s: a row is %s\n", any ? "\n" : "", (*t)->command,
			*(*t)->options ? " " : "", (*t)->options, (*t)->row);
		columns_each(*t, column_print, out);
		any = true;
	}
	return any;
}

/* ---- of rows ---- */

const struct column_def *columns_find(const struct table_def *t, const char *key)
{
	for (unsigned int b = 0; t && t->block[b]; b++)
		for (const struct column_def *c = t->block[b]; c->key || c->head; c++)
			if (c->key && !strcmp(c->key, key) && *c->doc)
				return c;
	return NULL;
}

/* How well a table fits: its command, the options that it needs, and how many keys of the row it has. */
static int table_fit(const struct table_def *t, const char *command, const char *words,
		     json_t *row)
{
	int fit = strcmp(t->command, command) ? 0 : 4;
	const char *key;
	json_t *value;

	if (*t->options && !strstr(t->options, "-f csv"))
		fit += strstr(words, t->options) ? 2 : -2;
	json_object_foreach (row, key, value)
		fit += columns_find(t, key) ? 8 : 0;
	return fit;
}

const struct table_def *columns_table(const char *command, const char *words, json_t *row)
{
	const struct table_def *best = NULL;
	int most = row ? 7 : 3;

	for (const struct table_def *const *t = tables; *t; t++) {
		int fit = table_fit(*t, command, words, row);

		if (fit > most) {
			most = fit;
			best = *t;
		}
	}
	return best;
}

/* ---- JSON Schema ---- */

static const char *type_of(enum column_kind kind)
{
	switch (kind) {
	case COL_TEXT:
	case COL_PATH:
	case COL_HEX:
		return "string";
	case COL_PERCENT:
	case COL_REAL:
		return "number";
	case COL_BOOL:
		return "boolean";
	case COL_OBJECT:
		return "object";
	case COL_JSON:
	case COL_ROWS:
		return "array";
	default:
		return "integer";
	}
}

static json_t *column_schema(const struct column_def *c);

/* Of the objects in a column; of its values if the only column of these has no key. */
static json_t *nested_schema(const struct column_def *c)
{
	json_t *s, *required, *properties;

	if (!*c->key)
		return column_schema(c);
	required = json_array();
	properties = json_object();
	for (; c->key; c++) {
		json_object_set_new(properties, c->key, column_schema(c));
		if (!c->when && !c->optional)
			json_array_append_new(required, json_string(c->key));
	}
	s = json_pack("{s:s, s:o, s:o, s:b}", "type", "object", "required", required, "properties",
		      properties, "additionalProperties", 0);
	return s;
}

static json_t *column_schema(const struct column_def *c)
{
	const char *type = type_of(c->kind);
	json_t *s = c->kind == COL_OBJECT && c->nested ? nested_schema(c->nested) : json_object();

	json_object_set_new(s, "type", c->nullable ? json_pack("[s, s]", type, "null")
						   : json_string(type));
	if (c->kind == COL_OBJECT && !c->nested)
		json_object_set_new(s, "additionalProperties",
				    c->objects ? nested_schema(c->objects)
					       : json_pack("{s:s, s:i}", "type", "integer",
							   "minimum", 0));
	if (c->kind == COL_ROWS && c->nested)
		json_object_set_new(s, "items", nested_schema(c->nested));
	if (!strcmp(type, "integer") || c->kind == COL_PERCENT)
		json_object_set_new(s, "minimum", json_integer(0));
	if (c->kind == COL_HEX)
		json_object_set_new(s, "pattern", json_string("^0x[0-9a-f]+$"));
	json_object_set_new(s, "description", json_string(c->doc));
	return s;
}

/* Those of text and CSV alone are not in JSON. */
static bool is_in_json(const struct column_def *c)
{
	return c->key && c->when != table_is_flat;
}

static bool required_put(const struct column_def *c, unsigned int nr, FILE *out)
{
	if (!c->key || (c->when && c->when != table_is_tree) || c->optional)
		return false;
	fprintf(out, "%s\"%s\"", nr ? ", " : "", c->key);
	return true;
}

static bool property_put(const struct column_def *c, unsigned int nr, FILE *out)
{
	json_t *schema = is_in_json(c) ? column_schema(c) : NULL;

	if (!schema)
		return false;
	fprintf(out, "%s        \"%s\": ", nr ? ",\n" : "", c->key);
	json_dumpf(schema, out, JSON_ENSURE_ASCII);
	json_decref(schema);
	return true;
}

/* "sched --by task": sched-by-task. */
static void name_put(const struct table_def *t, FILE *out)
{
	bool gap = true;

	fputs(t->command, out);
	for (const char *c = t->options; *c; c++) {
		if (isalnum((unsigned char)*c))
			fprintf(out, "%s%c", gap ? "-" : "", tolower((unsigned char)*c));
		gap = !isalnum((unsigned char)*c);
	}
}

static void table_schema(const struct table_def *t, FILE *out)
{
	fputs("    \"", out);
	name_put(t, out);
	fprintf(out, "\": {\n      \"type\": \"object\",\n      \"description\": \"%s\",\n"
		     "      \"required\": [",
		t->row);
	columns_each(t, required_put, out);
	fputs("],\n      \"properties\": {\n", out);
	columns_each(t, property_put, out);
	fputs("\n      },\n      \"additionalProperties\": false\n    }", out);
}

void columns_schema(FILE *out)
{
	const char *gap = "";

	fputs("{\n  \"$schema\": \"http://json-schema.org/draft-07/schema#\",\n"
	      "  \"title\": \"Rows of tables, generated by make docs\",\n  \"definitions\": {\n",
	      out);
	for (const struct table_def *const *t = tables; *t; t++)
		if (!strstr((*t)->options, "-f csv")) { /* it has no JSON */
			fputs(gap, out);
			table_schema(*t, out);
			gap = ",\n";
		}
	fputs("\n  }\n}\n", out);
}
