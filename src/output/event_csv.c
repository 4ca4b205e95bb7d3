// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Events as CSV. Which fields there are is known after the last event, so rows go to a temporary file, each cell with
 * its column's number, and are written with all columns at the end.
 */
#include <errno.h>

#include "base/array.h"
#include "base/digits.h"
#include "base/error.h"
#include "base/hash.h"
#include "output/escape.h"
#include "output/event_formats.h"

enum {
	TYPES_MAX = 65536,
	COPY_BYTES = 1 << 16,
};

static const char *const own_columns[] = {"time_ns", "source", "vm",   "cpu",
					  "vcpu",    "tid",    "comm", "event"};

/* A column of fields, found by its name, which belongs to the first event type that has it. */
struct column_entry {
	const char *name;
	uint64_t column;
};

struct event_fields {
	uint64_t type; /* its address */
	uint32_t *order; /* its fields, by their columns */
	uint32_t *column; /* by field; UINT32_MAX: not written yet */
};

struct event_csv {
	FILE *rows; /* lines */
	struct csv_part {
		uint64_t rows; /* lines that have */
		uint32_t columns; /* so many columns of fields */
	} *part; /* owned; the last one grows */
	uint32_t nr_parts;
	bool ticks, with_vm;
	struct hash_table types, names;
	char **name; /* by column */
	uint32_t nr_columns;
};

struct event_csv *event_csv_new(bool ticks, bool with_vm)
{
	struct event_csv *csv = calloc(1, sizeof(*csv));

	if (!csv) {
		fail(-ENOMEM, "out of memory");
		return NULL;
	}
	csv->ticks = ticks;
	csv->with_vm = with_vm;
	csv->types = HASH_TABLE(struct event_fields, 1, TYPES_MAX);
	csv->names = HASH_TABLE_OF_TEXTS(struct column_entry, EVENT_CSV_FIELDS_MAX);
	csv->rows = tmpfile();
	if (csv->rows)
		return csv;
	fail(-errno, "cannot create a temporary file: %s", strerror(errno));
	event_csv_close(csv);
	return NULL;
}

void event_csv_close(struct event_csv *csv)
{
	struct event_fields *f;
	uint32_t at = 0;

	if (!csv)
		return;
	while ((f = hash_next(&csv->types, &at))) {
		free(f->order);
		free(f->column);
	}
	hash_deinit(&csv->types);
	hash_deinit(&csv->names);
	for (uint32_t i = 0; i < csv->nr_columns; i++)
		free(csv->name[i]);
	free(csv->name);
	free(csv->part);
	if (csv->rows)
		fclose(csv->rows);
	free(csv);
}

/* ---- columns ---- */

static int column_add(struct event_csv *csv, struct column_entry *entry)
{
	int err = array_room(csv->name, csv->nr_columns);
	char *copy = err ? NULL : strdup(entry->name);

	if (!copy)
		return fail(-ENOMEM, "out of memory");
	csv->name[csv->nr_columns] = copy;
	entry->name = copy;
	entry->column = csv->nr_columns++;
	return 0;
}

static int column_of(struct event_csv *csv, const char *name, uint32_t *ret)
{
	bool new;
	struct column_entry *entry = hash_add_text(&csv->names, name, &new);
	int err = 0;

	if (!entry)
		return fail(-E2BIG,
			    "more than %d names of fields in one CSV; select events with --event",
			    EVENT_CSV_FIELDS_MAX);
	if (new)
		err = column_add(csv, entry);
	*ret = (uint32_t)entry->column;
	return err;
}

/* Insertion: a type has few fields, and this is done once for each of them. */
static void order_make(struct event_fields *f, unsigned int nr)
{
	for (unsigned int i = 0; i < nr; i++) {
		unsigned int at = i;

		for (; at && f->column[f->order[at - 1]] > f->column[i]; at--)
			f->order[at] = f->order[at - 1];
		f->order[at] = i;
	}
}

static struct event_fields *fields_of(struct event_csv *csv, const struct event_type *type)
{
	unsigned int nr = type->nr_fields;
	bool new;
	struct event_fields *f = hash_add_u64(&csv->types, (uint64_t)(uintptr_t)type, &new);

	if (f && new) {
		f->order = malloc((nr + 1) * sizeof(*f->order));
		f->column = malloc((nr + 1) * sizeof(*f->column));
		for (unsigned int i = 0; f->order && f->column && i < nr; i++) {
			f->column[i] = UINT32_MAX;
			f->order[i] = i;
		}
	}
	if (f && f->order && f->column)
		return f;
	fail(-ENOMEM, "out of memory");
	return NULL;
}

/* Fields that are shown for the first time get their columns. */
static int columns_make(struct event_csv *csv, const struct event_row *row, struct event_fields *f)
{
	const struct event_type *type = row->ev->type;
	uint64_t frames = 0;
	bool any = false;

	for (unsigned int i = 0; i < type->nr_fields; i++) {
		int err;

		if (!event_row_shows(row, &type->fields[i], &frames) || f->column[i] != UINT32_MAX)
			continue;
		err = column_of(csv, type->fields[i].name, &f->column[i]);
		if (err)
			return err;
		any = true;
	}
	if (any)
		order_make(f, type->nr_fields);
	return 0;
}

/* ---- rows ---- */

/* A line that is written to the file piece by piece. */
struct line {
	char text[4 * ROW_CELL_MAX], *end;
	FILE *out;
};

static void line_flush(struct line *l)
{
	fwrite_unlocked(l->text, 1, (size_t)(l->end - l->text), l->out);
	l->end = l->text;
}

/* Makes space for a cell. */
static void line_reserve(struct line *l)
{
	if (l->end > l->text + sizeof(l->text) - ROW_CELL_MAX)
		line_flush(l);
}

static void line_text(struct line *l, const char *text)
{
	char cut[ROW_VALUE_MAX];

	line_reserve(l);
	if (strlen(text) >= sizeof(cut)) {
		snprintf(cut, sizeof(cut), "%.*s", (int)sizeof(cut) - 1, text);
		text = cut;
	}
	l->end = put_csv_text(l->end, text);
	*l->end++ = ',';
}

static void line_number(struct line *l, uint64_t number)
{
	line_reserve(l);
	l->end = put_dec(l->end, number);
	*l->end++ = ',';
}

static void line_commas(struct line *l, uint32_t nr)
{
	for (; nr; nr--) {
		line_reserve(l);
		*l->end++ = ',';
	}
}

/* Empty instead of the value that stands for none. */
static void line_number_unless(struct line *l, uint16_t value, uint16_t none)
{
	if (value != none)
		line_number(l, value);
	else
		line_commas(l, 1);
}

static void put_own(const struct event_row *row, struct line *l)
{
	line_number(l, row->ev->time_ns);
	line_text(l, row->source);
	if (row->vm)
		line_text(l, row->vm);
	line_number_unless(l, row->ev->cpu, RECORD_CPU_UNKNOWN);
	line_number_unless(l, row->vcpu, RECORD_NO_VCPU);
	line_number(l, row->ev->tid);
	line_text(l, row->comm);
	line_text(l, row->ev->type->name);
	l->end--; /* each field's column brings its comma */
}

/* Counts a line of so many columns as they are now. */
static int part_count(struct event_csv *csv)
{
	struct csv_part *last = csv->nr_parts ? &csv->part[csv->nr_parts - 1] : NULL;

	if (!last || last->columns != csv->nr_columns) {
		if (array_room(csv->part, csv->nr_parts))
			return -ENOMEM;
		last = &csv->part[csv->nr_parts++];
		*last = (struct csv_part){.columns = csv->nr_columns};
	}
	last->rows++;
	return 0;
}

int event_csv_row(struct event_csv *csv, const struct event_row *row)
{
	const struct event_type *type = row->ev->type;
	struct event_fields *f = fields_of(csv, type);
	struct line line; /* not cleared: it is long */
	uint32_t written = 0;
	uint64_t frames = 0;
	int err = f ? columns_make(csv, row, f) : -ENOMEM;

	if (!err)
		err = part_count(csv);
	if (err)
		return err;
	line.end = line.text;
	line.out = csv->rows;
	put_own(row, &line);
	for (unsigned int i = 0; i < type->nr_fields; i++) {
		uint32_t column = f->column[f->order[i]];

		if (column == UINT32_MAX) /* all that follow neither */
			break;
		if (column < written) /* a second field of the same name */
			continue;
		line_commas(&line, column + 1 - written);
		written = column + 1;
		line_reserve(&line);
		if (event_row_shows(row, &type->fields[f->order[i]], &frames))
			line.end = event_row_cell(row, &type->fields[f->order[i]], line.end);
	}
	line_commas(&line, csv->nr_columns - written);
	*line.end++ = '\n';
	line_flush(&line);
	return ferror(csv->rows) ? fail(-EIO, "temporary file: %s", strerror(errno)) : 0;
}

/* ---- the end ---- */

static bool is_own(const char *name)
{
	return array_any(sizeof(own_columns) / sizeof(own_columns[0]), i,
			 !strcmp(name, own_columns[i]));
}

static void put_head(const struct event_csv *csv, FILE *out)
{
	fputs(csv->ticks ? "time_ticks" : own_columns[0], out);
	for (size_t i = 1; i < sizeof(own_columns) / sizeof(own_columns[0]); i++)
		if (csv->with_vm || strcmp(own_columns[i], "vm"))
			fprintf(out, ",%s", own_columns[i]);
	for (uint32_t i = 0; i < csv->nr_columns; i++) {
		fputs(is_own(csv->name[i]) ? ",fields." : ",", out);
		put_csv(out, csv->name[i]);
	}
	fputc('\n', out);
}

static void all_copy(FILE *from, FILE *out)
{
	char block[COPY_BYTES];
	size_t len;

	while ((len = fread(block, 1, sizeof(block), from)) && !ferror(out))
		fwrite(block, 1, len, out);
}

/* Rows that were written before a column was known end earlier: no cell contains a newline. */
static int rows_copy(struct event_csv *csv, FILE *out)
{
	_cleanup_free_ char *line = NULL;
	size_t size = 0;
	ssize_t len;

	for (uint32_t i = 0; i < csv->nr_parts; i++) {
		if (csv->part[i].columns == csv->nr_columns) {
			all_copy(csv->rows, out);
			break;
		}
		for (uint64_t k = 0; k < csv->part[i].rows && !ferror(out); k++) {
			len = getline(&line, &size, csv->rows);
			if (len < 1)
				break;
			fwrite(line, 1, (size_t)len - 1, out);
			for (uint32_t c = csv->part[i].columns; c < csv->nr_columns; c++)
				fputc(',', out);
			fputc('\n', out);
		}
	}
	return ferror(csv->rows) ? fail(-EIO, "temporary file: %s", strerror(errno)) : 0;
}

int event_csv_finish(struct event_csv *csv, FILE *out)
{
	if (fflush(csv->rows) || fseeko(csv->rows, 0, SEEK_SET))
		return fail(-errno, "temporary file: %s", strerror(errno));
	put_head(csv, out);
	return rows_copy(csv, out);
}
