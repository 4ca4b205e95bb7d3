// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Events as CSV. Which fields there are is known after the last event, so rows go to a temporary file, each cell with
 * its column's number, and are written with all columns at the end.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
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
	FILE *rows; /* each: uint32_t columns of fields, then a line */
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

static void put_own(const struct event_row *row, FILE *out)
{
	fprintf(out, "%" PRIu64 ",", row->ev->time_ns);
	put_csv(out, row->source);
	fputc(',', out);
	if (row->vm) {
		put_csv(out, row->vm);
		fputc(',', out);
	}
	fprintf(out, "%u,", row->ev->cpu);
	if (row->vcpu != RECORD_NO_VCPU)
		fprintf(out, "%u", row->vcpu);
	fprintf(out, ",%u,", row->ev->tid);
	put_csv(out, row->comm);
	fputc(',', out);
	put_csv(out, row->ev->type->name);
}

int event_csv_row(struct event_csv *csv, const struct event_row *row)
{
	const struct event_type *type = row->ev->type;
	struct event_fields *f = fields_of(csv, type);
	uint32_t written = 0;
	uint64_t frames = 0;
	int err = f ? columns_make(csv, row, f) : -ENOMEM;

	if (err)
		return err;
	fwrite(&csv->nr_columns, sizeof(csv->nr_columns), 1, csv->rows);
	put_own(row, csv->rows);
	for (unsigned int i = 0; i < type->nr_fields; i++) {
		uint32_t column = f->column[f->order[i]];

		if (column == UINT32_MAX) /* all that follow neither */
			break;
		if (column < written) /* a second field of the same name */
			continue;
		for (; written <= column; written++)
			fputc(',', csv->rows);
		if (event_row_shows(row, &type->fields[f->order[i]], &frames))
			event_row_field_csv(row, &type->fields[f->order[i]], csv->rows);
	}
	for (; written < csv->nr_columns; written++)
		fputc(',', csv->rows);
	fputc('\n', csv->rows);
	return ferror(csv->rows) ? fail(-EIO, "temporary file: %s", strerror(errno)) : 0;
}

/* ---- the end ---- */

static bool is_own(const char *name)
{
	for (size_t i = 0; i < sizeof(own_columns) / sizeof(own_columns[0]); i++)
		if (!strcmp(name, own_columns[i]))
			return true;
	return false;
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

/* Rows that were written before a column was known end earlier: no cell contains a newline. */
static int rows_copy(struct event_csv *csv, FILE *out)
{
	_cleanup_free_ char *line = NULL;
	size_t size = 0;
	uint32_t columns;
	ssize_t len;

	while (fread(&columns, sizeof(columns), 1, csv->rows) == 1 && !ferror(out)) {
		len = getline(&line, &size, csv->rows);
		if (len < 1)
			break;
		fwrite(line, 1, (size_t)len - 1, out);
		for (; columns < csv->nr_columns; columns++)
			fputc(',', out);
		fputc('\n', out);
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
