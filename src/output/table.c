// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Tables: columns from their declarations, rows from the objects that these describe, texts that live as long as the
 * table, sorting by a column. What a column means to a format is in the formats (text.c, json.c, csv.c).
 */
#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <string.h>

#include "base/array.h"
#include "base/error.h"
#include "base/json_text.h"
#include "base/quantiles.h"
#include "event/vm_names.h"
#include "output/report.h"

struct table_text {
	struct table_text *next;
	char text[];
};

void table_column(struct table *t, const char *key, const char *head, enum column_kind kind,
		  unsigned int spare)
{
	if (t->nr_columns < TABLE_COLUMNS_MAX)
		t->column[t->nr_columns++] =
			(struct column){.key = key, .head = head, .kind = kind, .spare = spare};
}

void table_block(struct table *t, const struct column_def *columns, unsigned int block)
{
	for (const struct column_def *d = columns; d->key || d->head; d++)
		if (t->nr_columns < TABLE_COLUMNS_MAX && (!d->when || d->when(t)))
			t->column[t->nr_columns++] =
				(struct column){d, d->key, d->head, d->kind, d->spare, block};
}

void table_open(struct table *t, const struct table_def *def, const void *report,
		const struct vm_names *vms)
{
	t->report = report;
	t->vms = vms;
	for (unsigned int b = 0; def->block[b]; b++)
		table_block(t, def->block[b], b);
}

void table_fill_row(struct table *t, struct cell *row, const void *const *object)
{
	for (unsigned int i = 0; i < t->nr_columns; i++) {
		const struct column *c = &t->column[i];

		if (c->def && object[c->block])
			row[i] = c->def->get(t, (const char *)object[c->block] + c->def->offset);
		else if (c->def)
			row[i].text = cell_absent;
	}
}

int table_add_row(struct table *t, const void *const *object)
{
	struct cell *row = table_row(t);

	if (!row)
		return -ENOMEM;
	table_fill_row(t, row, object);
	return 0;
}

/* ---- nested tables, and all as a tree ---- */

bool table_is_tree(const struct table *t)
{
	return t->tree;
}

bool table_is_flat(const struct table *t)
{
	return !t->tree;
}

static size_t columns_nr(const struct column_def *columns)
{
	size_t nr = 0;

	while (columns[nr].key || columns[nr].head)
		nr++;
	return nr;
}

struct cell table_nest(struct table *t, const struct column_def *columns, struct table **ret)
{
	size_t max = columns ? columns_nr(columns) : TABLE_COLUMNS_MAX;
	struct table *n = calloc(1, offsetof(struct table, column) + max * sizeof(*n->column));

	*ret = n;
	if (!n)
		return (struct cell){0};
	n->report = t->report;
	n->vms = t->vms;
	n->tree = true;
	n->next = t->inner;
	t->inner = n;
	if (columns)
		table_block(n, columns, 0);
	return (struct cell){(uintptr_t)n, NULL};
}

static json_t *row_json(const struct table *t, const struct cell *row);

static json_t *elements_json(const char *elements)
{
	_cleanup_free_ char *text = NULL;

	return asprintf(&text, "[%s]", elements) < 0 ? json_null() : json_loads(text, 0, NULL);
}

static json_t *real_json(const char *text)
{
	if (!text)
		return json_null();
	return strpbrk(text, ".eE") ? json_real(strtod(text, NULL))
				    : json_integer(strtoll(text, NULL, 10));
}

static json_t *cell_json(const struct column *c, const struct cell *v)
{
	const struct table *nested = (const struct table *)(uintptr_t)v->number;

	if (v->text && !column_is_text(c) && !strcmp(v->text, "-"))
		return json_null();
	switch (c->kind) {
	case COL_TEXT:
	case COL_PATH:
		return v->text ? json_text(v->text) : json_null();
	case COL_JSON:
		return elements_json(v->text);
	case COL_REAL:
		return real_json(v->text);
	case COL_HEX:
		return json_sprintf("0x%" PRIx64, v->number);
	case COL_PERCENT:
		return json_real((double)v->number / 1000);
	case COL_BOOL:
		return json_boolean(v->number);
	case COL_OBJECT:
		return nested && nested->nr_rows ? row_json(nested, nested->cell) : json_null();
	case COL_ROWS:
		return nested ? table_json(nested) : json_null();
	default:
		return v->text ? json_text(v->text) : json_u64(v->number);
	}
}

static json_t *row_json(const struct table *t, const struct cell *row)
{
	json_t *o = json_object();

	for (unsigned int i = 0; i < t->nr_columns; i++) {
		const struct column *c = &t->column[i];

		if (c->key && !*c->key) {
			json_decref(o);
			return cell_json(c, &row[i]);
		}
		if (c->key && row[i].text != cell_absent)
			json_object_set_new(o, c->key, cell_json(c, &row[i]));
	}
	return o;
}

json_t *table_row_json(const struct table *t, size_t row)
{
	return row_json(t, &t->cell[row * t->nr_columns]);
}

json_t *table_json(const struct table *t)
{
	json_t *rows = json_array();

	for (size_t i = 0; i < t->nr_rows; i++)
		json_array_append_new(rows, table_row_json(t, i));
	return rows;
}

/* ---- getters of members ---- */

struct cell column_u64(struct table *t, const void *at)
{
	(void)t;
	return (struct cell){*(const uint64_t *)at, NULL};
}

struct cell column_u32(struct table *t, const void *at)
{
	(void)t;
	return (struct cell){*(const uint32_t *)at, NULL};
}

struct cell column_u16(struct table *t, const void *at)
{
	(void)t;
	return (struct cell){*(const uint16_t *)at, NULL};
}

struct cell column_chars(struct table *t, const void *at)
{
	return (struct cell){0, table_text(t, at)};
}

struct cell column_text(struct table *t, const void *at)
{
	const char *text = *(const char *const *)at;

	return (struct cell){0, text ? table_text(t, text) : NULL};
}

bool table_has_vms(const struct table *t)
{
	return t->vms;
}

struct cell column_u32_known(struct table *t, const void *at)
{
	uint32_t value = *(const uint32_t *)at;

	(void)t;
	return (struct cell){value, value == UINT32_MAX ? "-" : NULL};
}

struct cell column_vm(struct table *t, const void *at)
{
	char text[VM_NAME_BYTES];

	return (struct cell){
		0, table_text(t, vm_name(t->vms, *(const uint32_t *)at, text, sizeof(text)))};
}

struct cell column_vcpu(struct table *t, const void *at)
{
	uint16_t vcpu = *(const uint16_t *)at;

	(void)t;
	return (struct cell){vcpu, vcpu == RECORD_NO_VCPU ? "-" : NULL};
}

/* Of no values: none. Reading quantiles sorts them. */
static struct cell quantile(const void *at, double fraction)
{
	const struct quantiles *q = at;

	if (!q->count)
		return (struct cell){0, "-"};
	return (struct cell){quantiles_at((struct quantiles *)at, fraction), NULL};
}

struct cell column_count(struct table *t, const void *at)
{
	(void)t;
	return (struct cell){((const struct quantiles *)at)->count, NULL};
}

struct cell column_p50(struct table *t, const void *at)
{
	(void)t;
	return quantile(at, .5);
}

struct cell column_p99(struct table *t, const void *at)
{
	(void)t;
	return quantile(at, .99);
}

struct cell column_max(struct table *t, const void *at)
{
	const struct quantiles *q = at;

	(void)t;
	return (struct cell){q->max, q->count ? NULL : "-"};
}

uint64_t percent_of(unsigned __int128 part, uint64_t whole)
{
	return whole ? (uint64_t)(part * 100000 / whole) : 0;
}

struct cell *table_row(struct table *t)
{
	if (array_room_(&t->cell, t->nr_rows, t->nr_columns * sizeof(*t->cell)))
		return NULL;
	struct cell *row = &t->cell[t->nr_rows++ * t->nr_columns];

	memset(row, 0, t->nr_columns * sizeof(*row));
	return row;
}

const char *table_text(struct table *t, const char *text)
{
	size_t len = strlen(text) + 1;
	struct table_text *keep = malloc(sizeof(*keep) + len);

	if (!keep)
		return "?";
	memcpy(keep->text, text, len);
	text_sanitize(keep->text);
	keep->next = t->texts;
	t->texts = keep;
	return keep->text;
}

struct cell table_print(struct table *t, const char *fmt, ...)
{
	char text[512];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	return (struct cell){0, table_text(t, text)};
}

struct cell device_cell(struct table *t, const char *path, const char *kind)
{
	return (struct cell){virtio_kind_number(kind), *path ? table_text(t, path) : "unknown"};
}

struct cell queue_name_cell(struct table *t, const char *kind, uint32_t queue,
			    enum virtio_data data)
{
	char buf[32];
	const char *name = virtio_queue_name(kind, queue, data, buf, sizeof(buf));

	return (struct cell){0, name ? table_text(t, name) : NULL};
}

struct cell queue_label_cell(struct table *t, const char *kind, uint32_t queue,
			     enum virtio_data data)
{
	char buf[32];

	return (struct cell){
		0, table_text(t, virtio_queue_label(kind, queue, data, buf, sizeof(buf)))};
}

struct sorting {
	unsigned int column;
	bool is_text;
};

static int by_column(const void *a, const void *b, void *arg)
{
	const struct sorting *s = arg;
	const struct cell *x = (const struct cell *)a + s->column,
			  *y = (const struct cell *)b + s->column;

	if (s->is_text)
		return strcmp(x->text ? x->text : "", y->text ? y->text : "");
	return x->number > y->number ? -1 : x->number < y->number;
}

/* Merge sort (glibc's qsort_r is one while memory lasts; this one is stable always). */
static void sort_rows(struct cell *row, size_t nr, size_t width, struct sorting *s,
		      struct cell *spare)
{
	size_t half = nr / 2, i = 0, j = half, out = 0;

	if (nr < 2)
		return;
	sort_rows(row, half, width, s, spare);
	sort_rows(row + half * width, nr - half, width, s, spare);
	while (i < half || j < nr) {
		bool right =
			i == half || (j < nr && by_column(row + i * width, row + j * width, s) > 0);

		memcpy(spare + out++ * width, row + (right ? j++ : i++) * width,
		       width * sizeof(*row));
	}
	memcpy(row, spare, nr * width * sizeof(*row));
}

int table_sort(struct table *t, const char *key)
{
	struct sorting s = {0};

	while (s.column < t->nr_columns && !table_key_is(&t->column[s.column], key))
		s.column++;
	if (s.column == t->nr_columns)
		return fail_usage(-EINVAL, "unknown column '%s' for --sort", key);
	s.is_text = column_is_text(&t->column[s.column]);
	_cleanup_free_ struct cell *spare = calloc(t->nr_rows * t->nr_columns + 1, sizeof(*spare));

	if (!spare)
		return fail(-ENOMEM, "out of memory");
	sort_rows(t->cell, t->nr_rows, t->nr_columns, &s, spare);
	return 0;
}

void table_limit(struct table *t, uint64_t limit)
{
	if (!limit || t->nr_rows <= limit)
		return;
	t->left_out += t->nr_rows - limit;
	t->nr_rows = limit;
}

static bool cells_equal(const struct cell *a, const struct cell *b)
{
	return a->number == b->number && !strcmp(a->text ? a->text : "", b->text ? b->text : "");
}

void table_drop_constant(struct table *t, const char *key)
{
	unsigned int at = 0, width = t->nr_columns;

	while (at < width && !table_key_is(&t->column[at], key))
		at++;
	if (at == width)
		return;
	for (size_t row = 1; row < t->nr_rows; row++)
		if (!cells_equal(&t->cell[at], &t->cell[row * width + at]))
			return;
	for (size_t i = 0, to = 0; i < t->nr_rows * width; i++)
		if (i % width != at)
			t->cell[to++] = t->cell[i];
	t->nr_columns--;
	memmove(&t->column[at], &t->column[at + 1], (width - at - 1) * sizeof(*t->column));
}

static void table_clear(struct table *t)
{
	while (t->texts) {
		struct table_text *gone = t->texts;

		t->texts = gone->next;
		free(gone);
	}
	while (t->inner) {
		struct table *gone = t->inner;

		t->inner = gone->next;
		table_clear(gone);
		free(gone);
	}
	free(t->cell);
}

void table_free(struct table *t)
{
	table_clear(t);
	*t = (struct table){0};
}
