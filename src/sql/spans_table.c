// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Spans as tables: one for each analyzer, named as it is with '_' for '-', with a column for each label; "exits" is
 * exit_latency with the instruction pointer. "spans" has those of all analyzers, one after the other. An analyzer whose
 * events the inputs lack is replaced by its fallback, as in reports, but not in "spans". Rows come as spans end.
 */
#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "base/array.h"
#include "base/error.h"
#include "event/vm_names.h"
#include "output/escape.h"
#include "sql/grouped.h"
#include "views/view.h"

enum {
	START,
	DURATION,
	SPAN_FILE,
	SPAN_VM,
	SPAN_PID,
	SPAN_TID,
	SPAN_VCPU,
	WEIGHT,
	BYTES,
	SPAN_COMMON
};
enum { ANALYZER = SPAN_COMMON, LABELS }; /* of "spans" */

static const char *const common_name[] = {"time_ns", "duration_ns", "file",  "vm",
					  "pid",     "tid",	    "vcpu",  "count",
					  "bytes",   "analyzer",    "labels"};
static const char *const common_type[] = {"INTEGER", "INTEGER", "TEXT",	   "TEXT",
					  "INTEGER", "INTEGER", "INTEGER", "INTEGER",
					  "INTEGER", "TEXT",	"TEXT"};

struct module_of {
	struct sql *sql;
	const struct analyzer *analyzer; /* NULL: all */
	const char *by;
};

struct spans_table {
	struct sql_table table;
	const struct module_of *of;
	struct pairing *labels; /* whose names of labels the columns have */
	struct sql_columns columns;
	unsigned int nr_labels;
};

struct spans_cursor {
	sqlite3_vtab_cursor base;
	const struct module_of *of;
	const struct analyzer *const *next; /* of "spans": those that follow; NULL: none */
	const struct analyzer *asked;	    /* whose table it is, or that is being read */
	const struct analyzer *used;	    /* in its place */
	struct pairing *pairing;
	struct input_set *set;
	struct input_events events;
	struct span *span; /* that ended with the newest event: `at` is the row */
	size_t nr, at;
	unsigned int source; /* of that event; INPUTS_MAX: it has ended without one */
	bool done; /* the input has ended */
	struct grouped *grouped; /* the rows come from it; NULL: as spans end */
	bool ended;		 /* ... and it has no more */
	sqlite3_int64 rowid;
	int map[LABELS_MAX]; /* which label is that of a column; -1: none */
};

/* ---- which analyzer ---- */

static bool has_begins(const struct sql *s, const struct analyzer *a)
{
	return array_any(event_types_count(), i,
			 s->counts[i] && name_in_list(a->begin, event_type_at(i)->name));
}

/* The analyzer, or the first of its fallbacks that has events. */
static const struct analyzer *analyzer_used(const struct sql *s, const struct analyzer *a)
{
	const struct analyzer *other;

	if (has_begins(s, a))
		return a;
	for (unsigned int i = 0; (other = analyzer_fallback(a, i)); i++)
		if (has_begins(s, other))
			return other;
	return a;
}

/* ---- columns ---- */

static int labels_add(struct spans_table *t)
{
	const struct label *label;
	int err = pairing_open(t->of->analyzer, t->of->by, NULL, NULL, &t->labels);

	if (err)
		return err;
	label = pairing_labels(t->labels, &t->nr_labels);
	for (unsigned int i = 0; i < t->nr_labels; i++) {
		enum column_kind kind = label_kind(&label[i]);

		columns_add(&t->columns, label[i].name,
			    kind == COL_COUNT || kind == COL_PORT || kind == COL_REAL ? "INTEGER"
										      : "TEXT");
	}
	return 0;
}

/* A label that all spans have as a column of their own is not another one. */
static bool is_common(const char *name)
{
	return array_any(SPAN_COMMON, i, !strcmp(common_name[i], name));
}

static int spans_columns(struct spans_table *t)
{
	unsigned int nr = t->of->analyzer ? SPAN_COMMON : LABELS + 1;
	int err = 0;

	for (unsigned int i = 0; i < nr; i++)
		columns_add(&t->columns, common_name[i], common_type[i]);
	if (t->of->analyzer)
		err = labels_add(t);
	for (unsigned int i = nr; i < t->columns.nr; i++)
		if (is_common(t->columns.name[i])) {
			t->columns.nr--;
			t->nr_labels--;
			memmove(&t->columns.name[i], &t->columns.name[i + 1],
				(t->columns.nr - i) * sizeof(t->columns.name[0]));
			memmove(&t->columns.type[i], &t->columns.type[i + 1],
				(t->columns.nr - i) * sizeof(t->columns.type[0]));
			i--;
		}
	return err;
}

static int spans_disconnect(sqlite3_vtab *table)
{
	pairing_close(((struct spans_table *)table)->labels);
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
	if (spans_columns(t))
		*why = sqlite3_mprintf("%s", error_text());
	else
		status = columns_declare(t->table.sql, &t->columns);
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
		if (info->aConstraint[i].iColumn != ANALYZER || !info->aConstraint[i].usable ||
		    info->aConstraint[i].op != SQLITE_INDEX_CONSTRAINT_EQ)
			continue;
		info->aConstraintUsage[i].argvIndex = 1;
		info->idxNum = 1;
	}
	info->estimatedCost = table_cost(info->idxNum);
	if (grouping_plan(info, 1 << START | 1 << DURATION, t->of->analyzer ? 0 : 1 << LABELS,
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

		if (has_begins(c->of->sql, a))
			return a;
	}
	return NULL;
}

static void spans_rewind(struct spans_cursor *c)
{
	input_events_close(&c->events);
	input_set_close(c->set);
	pairing_close(c->pairing);
	c->set = NULL;
	c->pairing = NULL;
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
	const struct spans_cursor *c = cursor;

	return pairing_wants(c->used, c->of->by, event);
}

/* The labels of the analyzer that is used, for the columns of the one that was asked for. */
static void labels_map(struct spans_cursor *c)
{
	const struct spans_table *t = (const struct spans_table *)c->base.pVtab;
	unsigned int nr;
	const struct label *label = pairing_labels(c->pairing, &nr);

	for (unsigned int k = 0; k < t->nr_labels; k++) {
		c->map[k] = -1;
		for (unsigned int i = 0; i < nr; i++)
			if (!strcmp(label[i].name, t->columns.name[SPAN_COMMON + k]))
				c->map[k] = (int)i;
	}
}

/* Which events are used in place of those that the analyzer begins with. */
static void fallback_note(struct sql *s, const struct analyzer *asked, const struct analyzer *used)
{
	for (unsigned int i = 0; i < FALLBACKS_MAX && asked->fallback[i].name; i++)
		if (!strcmp(asked->fallback[i].name, used->name) && asked->fallback[i].instead)
			note_add(s, "no %s in this trace: %s", asked->begin,
				 asked->fallback[i].instead);
}

static int analyzer_begin(struct spans_cursor *c, const struct analyzer *asked)
{
	struct sql *s = c->of->sql;
	const struct analyzer *a = analyzer_used(s, asked);
	int err;

	spans_rewind(c);
	fallback_note(s, asked, a);
	c->asked = asked;
	c->used = a;
	c->done = false;
	err = pairing_open(a, a == asked ? c->of->by : NULL, span_keep, c, &c->pairing);
	if (err)
		return err;
	labels_map(c);
	err = inputs_again(s, NULL, &c->set);
	if (!err)
		err = input_set_open_window(c->set, pairing_needs_before(a, c->of->by), spans_want,
					    c);
	if (err)
		return err;
	pairing_set_vms(c->pairing, c->set->vms);
	pairing_window(c->pairing, c->set->since_ns, c->set->until_ns);
	c->events = (struct input_events){
		.set = c->set, .batch = calloc(1, sizeof(*c->events.batch)), .more = 1};
	return c->events.batch ? 0 : fail(-ENOMEM, "out of memory");
}

/* What the answer is to say of spans that are not rows. */
static void counts_note(struct spans_cursor *c)
{
	const struct pair_counts *n = pairing_counts(c->pairing);
	struct sql *s = c->of->sql;

	if (n->unknown)
		note_add(s, "spans unknown because events were lost: %" PRIu64, n->unknown);
	if (n->gaps)
		note_add(s, "spans not counted because events in them may be missing: %" PRIu64,
			 n->gaps);
	if (n->overflow)
		note_add(s, "spans dropped because too many were open at once: %" PRIu64,
			 n->overflow);
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
		err = pairing_event(c->pairing, &in->batch->ev[in->at++]);
	}
	if (err || c->nr)
		return err;
	c->done = true;
	c->source = INPUTS_MAX;
	counts_note(c);
	return pairing_end(c->pairing) == -ENOMEM ? -ENOMEM : 0; /* a key that no event has is NULL */
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

static bool label_is_null(const struct label *l, uint64_t value)
{
	return label_is_unknown(l, value) || !strcmp(l->fmt, "none") ||
	       (!strcmp(l->name, "vcpu") && value == RECORD_NO_VCPU) ||
	       (!strcmp(l->name, "cpu") && value == RECORD_CPU_UNKNOWN) ||
	       (!strcmp(l->name, "rip") && !value);
}

static void label_value(struct table_value *v, const struct spans_cursor *c, unsigned int i)
{
	unsigned int nr;
	const struct label *l = &pairing_labels(c->pairing, &nr)[i];
	uint64_t value = c->span[c->at].label[i];
	enum column_kind kind = label_kind(l);

	if (label_is_null(l, value))
		value_text(v, NULL);
	else if (kind == COL_HEX)
		value_hex(v, value);
	else if (kind == COL_TEXT || kind == COL_PATH)
		value_text(v, pairing_label_text(c->pairing, i, value, v->text, sizeof(v->text)));
	else
		value_number(v, value);
}

/* All labels as a JSON object of texts, as people read them. */
static int labels_result(sqlite3_context *to, const struct spans_cursor *c)
{
	char *text = NULL;
	unsigned int nr, shown = 0;
	const struct label *l = pairing_labels(c->pairing, &nr);
	char buf[VM_NAME_BYTES];
	size_t len;
	FILE *f = open_memstream(&text, &len);

	if (!f)
		return SQLITE_NOMEM;
	fputc('{', f);
	for (unsigned int i = 0; i < nr; i++) {
		uint64_t value = c->span[c->at].label[i];

		if (label_is_null(&l[i], value))
			continue;
		fputs(shown++ ? "," : "", f);
		put_json(f, l[i].name);
		fputc(':', f);
		put_json(f, pairing_label_text(c->pairing, i, value, buf, sizeof(buf)));
	}
	fputc('}', f);
	if (fclose(f)) {
		free(text);
		return SQLITE_NOMEM;
	}
	sqlite3_result_text(to, text, (int)len, free);
	return SQLITE_OK;
}

static void span_value(struct table_value *v, const struct spans_cursor *c, int column)
{
	const struct span *s = &c->span[c->at];
	const uint64_t value[] = {[START] = s->start_ns, [DURATION] = s->end_ns - s->start_ns,
				  [SPAN_PID] = s->pid,	 [SPAN_TID] = s->tid,
				  [SPAN_VCPU] = s->vcpu, [WEIGHT] = s->weight,
				  [BYTES] = s->bytes};

	if (column == SPAN_FILE)
		value_text(v, input_set_path(c->set, c->source));
	else if (column == SPAN_VM)
		value_vm(v, c->set, s->pid);
	else if (column == SPAN_VCPU)
		value_number_if(v, s->vcpu != RECORD_NO_VCPU, s->vcpu);
	else if (column == BYTES)
		value_number_if(v, s->bytes != BYTES_UNKNOWN && c->asked->size, s->bytes);
	else
		value_number(v, value[column]);
}

/* Any column but LABELS. */
static void spans_value(sqlite3_vtab_cursor *cursor, int column, struct table_value *v)
{
	const struct spans_cursor *c = (const struct spans_cursor *)cursor;

	if (column < SPAN_COMMON)
		span_value(v, c, column);
	else if (!c->of->analyzer)
		value_text(v, c->asked->name);
	else if (c->map[column - SPAN_COMMON] >= 0)
		label_value(v, c, (unsigned int)c->map[column - SPAN_COMMON]);
	else
		value_text(v, NULL);
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

	if (!c->of->analyzer && column == LABELS)
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

static int spans_table_add(struct sql *s, const char *name, const struct analyzer *a,
			   const char *by)
{
	struct module_of *of = malloc(sizeof(*of));

	if (of)
		*of = (struct module_of){s, a, by};
	json_array_append_new(s->tables, json_string(name));
	return table_add_module(s, name, &spans_module, of, free);
}

int spans_tables_add(struct sql *s)
{
	char name[64];
	int err = 0;

	for (unsigned int i = 0; analyzers[i] && !err; i++) {
		snprintf(name, sizeof(name), "%s", analyzers[i]->name);
		for (char *p = name; *p; p++)
			*p = *p == '-' ? '_' : *p;
		err = spans_table_add(s, name, analyzers[i], NULL);
	}
	if (!err)
		err = spans_table_add(s, "exits", analyzers[0], "rip");
	return err ? err : spans_table_add(s, "spans", NULL, NULL);
}
