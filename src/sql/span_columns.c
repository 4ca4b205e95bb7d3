// SPDX-License-Identifier: GPL-2.0-or-later
/* The columns of tables of spans and their values, and which analyzer's spans are used for a table. */
#include <inttypes.h>
#include <string.h>

#include "base/array.h"
#include "event/vm_names.h"
#include "output/escape.h"
#include "sql/span_columns.h"
#include "views/view.h"

static const char *const common_name[] = {"time_ns", "duration_ns", "file",  "vm",
					  "pid",     "tid",	    "vcpu",  "count",
					  "bytes",   "analyzer",    "labels"};
static const char *const common_type[] = {"INTEGER", "INTEGER", "TEXT",	   "TEXT",
					  "INTEGER", "INTEGER", "INTEGER", "INTEGER",
					  "INTEGER", "TEXT",	"TEXT"};

/* ---- which tables, of which analyzer ---- */

static unsigned int analyzers_nr(void)
{
	unsigned int nr = 0;

	while (analyzers[nr])
		nr++;
	return nr;
}

bool span_table_at(unsigned int i, struct span_table_def *ret)
{
	const unsigned int nr = analyzers_nr();

	*ret = (struct span_table_def){.name = "spans"};
	if (i == nr)
		*ret = (struct span_table_def){"exits", analyzers[0], "rip"};
	if (i >= nr)
		return i <= nr + 1;
	ret->analyzer = analyzers[i];
	snprintf(ret->name, sizeof(ret->name), "%s", analyzers[i]->name);
	for (char *p = ret->name; *p; p++)
		*p = *p == '-' ? '_' : *p;
	return true;
}

bool span_analyzer_occurs(const struct sql *s, const struct analyzer *a)
{
	return array_any(event_types_count(), i,
			 s->counts[i] && name_in_list(a->begin, event_type_at(i)->name));
}

/* The analyzer, or the first of its fallbacks that has events. */
static const struct analyzer *analyzer_used(const struct sql *s, const struct analyzer *a)
{
	const struct analyzer *other;

	if (span_analyzer_occurs(s, a))
		return a;
	for (unsigned int i = 0; (other = analyzer_fallback(a, i)); i++)
		if (span_analyzer_occurs(s, other))
			return other;
	return a;
}

/* ---- columns ---- */

/* A label that all spans have as a column of their own is not another one. */
static bool is_common(const char *name)
{
	return array_any(SPAN_COMMON, i, !strcmp(common_name[i], name));
}

static int labels_add(struct span_columns *c, const struct analyzer *a, const char *by)
{
	const struct label *label;
	unsigned int nr;
	int err = pairing_open(a, by, NULL, NULL, &c->labels);

	if (err)
		return err;
	label = pairing_labels(c->labels, &nr);
	for (unsigned int i = 0; i < nr; i++) {
		enum column_kind kind = label_kind(&label[i]);

		if (is_common(label[i].name))
			continue;
		c->nr_labels++;
		columns_add(&c->columns, label[i].name,
			    kind == COL_COUNT || kind == COL_PORT || kind == COL_REAL ? "INTEGER"
										      : "TEXT");
	}
	return 0;
}

int span_columns_init(struct span_columns *c, const struct analyzer *a, const char *by)
{
	unsigned int nr = a ? SPAN_COMMON : SPAN_LABELS + 1;

	*c = (struct span_columns){.nr_labels = 0};
	for (unsigned int i = 0; i < nr; i++)
		columns_add(&c->columns, common_name[i], common_type[i]);
	return a ? labels_add(c, a, by) : 0;
}

void span_columns_deinit(struct span_columns *c)
{
	pairing_close(c->labels);
}

/* ---- while they are read ---- */

/* The labels of the analyzer that is used, for the columns of the one that was asked for. */
static void labels_map(struct span_source *o, const struct span_columns *c)
{
	unsigned int nr;
	const struct label *label = pairing_labels(o->pairing, &nr);

	for (unsigned int k = 0; k < c->nr_labels; k++) {
		o->map[k] = -1;
		for (unsigned int i = 0; i < nr; i++)
			if (!strcmp(label[i].name, c->columns.name[SPAN_COMMON + k]))
				o->map[k] = (int)i;
	}
}

int span_source_open(struct span_source *o, struct sql *s, const struct analyzer *asked,
		     const char *by, const struct span_columns *c, span_fn *fn, void *arg)
{
	const struct analyzer *used = analyzer_used(s, asked);
	int err;

	*o = (struct span_source){
		.sql = s, .asked = asked, .used = used, .by = used == asked ? by : NULL};
	err = pairing_open(used, o->by, fn, arg, &o->pairing);
	if (!err)
		labels_map(o, c);
	return err;
}

void span_source_close(struct span_source *o)
{
	pairing_close(o->pairing);
	o->pairing = NULL;
}

void span_source_use(struct span_source *o, const struct input_set *set)
{
	o->set = set;
	pairing_set_vms(o->pairing, set->vms);
	pairing_window(o->pairing, set->since_ns, set->until_ns);
}

bool span_source_wants(const struct span_source *o, const char *event)
{
	return pairing_wants(o->used, o->by, event);
}

bool span_source_needs_before(const struct span_source *o)
{
	return pairing_needs_before(o->used, o->by);
}

void span_source_note_fallback(const struct span_source *o)
{
	const struct analyzer *a = o->asked;

	for (unsigned int i = 0; i < FALLBACKS_MAX && a->fallback[i].name; i++)
		if (!strcmp(a->fallback[i].name, o->used->name) && a->fallback[i].instead)
			note_add(o->sql, "no %s in this trace: %s", a->begin,
				 a->fallback[i].instead);
}

void span_source_note(const struct span_source *o)
{
	const struct pair_counts *n = pairing_counts(o->pairing);

	if (n->unknown)
		note_add(o->sql, "spans unknown because events were lost: %" PRIu64, n->unknown);
	if (n->gaps)
		note_add(o->sql,
			 "spans not counted because events in them may be missing: %" PRIu64,
			 n->gaps);
	if (n->overflow)
		note_add(o->sql, "spans dropped because too many were open at once: %" PRIu64,
			 n->overflow);
}

/* ---- values ---- */

void span_common_value(struct table_value *v, const struct span_source *o, const struct span *s,
		       unsigned int source, int column)
{
	const uint64_t value[] = {[SPAN_START] = s->start_ns,
				  [SPAN_DURATION] = s->end_ns - s->start_ns,
				  [SPAN_PID] = s->pid,
				  [SPAN_TID] = s->tid,
				  [SPAN_VCPU] = s->vcpu,
				  [SPAN_WEIGHT] = s->weight,
				  [SPAN_BYTES] = s->bytes};

	if (column == SPAN_FILE)
		value_text(v, input_set_path(o->set, source));
	else if (column == SPAN_VM)
		value_vm(v, o->set, s->pid);
	else if (column == SPAN_VCPU)
		value_number_if(v, s->vcpu != RECORD_NO_VCPU, s->vcpu);
	else if (column == SPAN_BYTES)
		value_number_if(v, s->bytes != BYTES_UNKNOWN && o->asked->size, s->bytes);
	else
		value_number(v, value[column]);
}

static bool label_is_null(const struct label *l, uint64_t value)
{
	return label_is_unknown(l, value) || !strcmp(l->fmt, "none") ||
	       (!strcmp(l->name, "vcpu") && value == RECORD_NO_VCPU) ||
	       (!strcmp(l->name, "cpu") && value == RECORD_CPU_UNKNOWN) ||
	       (!strcmp(l->name, "rip") && !value);
}

void span_label_value(struct table_value *v, const struct span_source *o, const struct span *span,
		      unsigned int k)
{
	unsigned int nr, i = (unsigned int)o->map[k];
	const struct label *l;
	enum column_kind kind;
	uint64_t value;

	if (o->map[k] < 0)
		return value_text(v, NULL);
	l = &pairing_labels(o->pairing, &nr)[i];
	kind = label_kind(l);
	value = span->label[i];
	if (label_is_null(l, value))
		value_text(v, NULL);
	else if (kind == COL_HEX)
		value_hex(v, value);
	else if (kind == COL_TEXT || kind == COL_PATH)
		value_text(v, pairing_label_text(o->pairing, i, value, v->text, sizeof(v->text)));
	else
		value_number(v, value);
}

char *span_labels_json(const struct span_source *o, const struct span *span, size_t *ret_len)
{
	char *text = NULL;
	unsigned int nr, shown = 0;
	const struct label *l = pairing_labels(o->pairing, &nr);
	char buf[VM_NAME_BYTES];
	FILE *f = open_memstream(&text, ret_len);

	if (!f)
		return NULL;
	fputc('{', f);
	for (unsigned int i = 0; i < nr; i++) {
		uint64_t value = span->label[i];

		if (label_is_null(&l[i], value))
			continue;
		fputs(shown++ ? "," : "", f);
		put_json(f, l[i].name);
		fputc(':', f);
		put_json(f, pairing_label_text(o->pairing, i, value, buf, sizeof(buf)));
	}
	fputc('}', f);
	if (!fclose(f))
		return text;
	free(text);
	return NULL;
}
