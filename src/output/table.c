// SPDX-License-Identifier: GPL-2.0-or-later
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/error.h"
#include "event/event.h"
#include "output/table.h"

struct table_text {
	struct table_text *next;
	char text[];
};

void table_column(struct table *t, const char *key, const char *head, enum column_kind kind,
		  unsigned int spare)
{
	if (t->nr_columns < TABLE_COLUMNS_MAX)
		t->column[t->nr_columns++] = (struct column){key, head, kind, spare};
}

const char *path_print(const char *path, char *buf, size_t size)
{
	static const char tail[] = "/virtio-backend";
	size_t len = strlen(path);

	if (len < sizeof(tail) || strcmp(path + len - strlen(tail), tail))
		return path;
	len -= strlen(tail);
	while (len && path[len - 1] != '/')
		len--;
	snprintf(buf, size, "%.*s", (int)(strlen(path) - strlen(tail) - len), path + len);
	return buf;
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
	text_neutralise(keep->text);
	keep->next = t->texts;
	t->texts = keep;
	return keep->text;
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

/* "total" means total_ns. */
static bool key_is(const struct column *c, const char *key)
{
	size_t len = strlen(key);

	return c->key && len && !strncmp(c->key, key, len) &&
	       (!c->key[len] || !strcmp(c->key + len, "_ns"));
}

int table_sort(struct table *t, const char *key)
{
	struct sorting s = {0};

	while (s.column < t->nr_columns && !key_is(&t->column[s.column], key))
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

	while (at < width && !key_is(&t->column[at], key))
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

void table_free(struct table *t)
{
	while (t->texts) {
		struct table_text *gone = t->texts;

		t->texts = gone->next;
		free(gone);
	}
	free(t->cell);
	*t = (struct table){0};
}
