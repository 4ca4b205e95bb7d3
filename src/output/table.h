/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The shapes that views make and formats draw: a table, a histogram, a heat map. A shape knows
 * neither VMs nor events, only the kind of quantity in each column, so that every format can write
 * it in its own way.
 *
 * A column is declared once, as one row of a `struct column_def`: its names, its kind, where its value is, and what it
 * means. Text, JSON and CSV are written from it; `hostrace help columns`, the manual and the schemas of the rows
 * (doc/schema/columns.json) are generated from it. A table consists of blocks of such columns, so that tables share
 * them; each block is filled from an object of its own:
 *
 *	static const struct column_def keys[] = {
 *		{"tid", NULL, COL_COUNT, MEMBER(struct sched_thread, tid), .doc = "thread id"},
 *		{0}};
 *	const struct table_def sched_tasks_table = {"sched", "--by task", "thread and task", {keys, tasks}};
 *
 *	table_open(t, &sched_tasks_table, report, vms);
 *	err = table_add(t, thread, task);
 */
#ifndef HOSTRACE_TABLE_H
#define HOSTRACE_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <jansson.h>

#include "base/cleanup.h"
#include "event/virtio_names.h"

enum column_kind {
	COL_TEXT,
	COL_PATH,    /* a QOM path; text: only the device's name in it */
	COL_COUNT,   /* a number, decimal */
	COL_NS,	     /* text: scaled with its unit; elsewhere integer ns */
	COL_HEX,     /* text and JSON: "0x..." */
	COL_PORT,    /* text: 0x..; JSON: a number */
	COL_PERCENT, /* in 1/1000 of a percent; text: "12.3%"; JSON: a number with decimals */
	COL_REAL,    /* the text is a number with decimals, which JSON and CSV print as it is; "-": no value */
	COL_SECONDS, /* ns; text: seconds with 9 decimals; JSON: integer ns */

	/* Only in table_json(): */
	COL_BOOL,
	COL_OBJECT, /* the first row of a nested table; null: it has none */
	COL_JSON,   /* an array: the text has its elements as JSON */
	COL_ROWS,   /* all its rows, null: there is no table; values of a column with the key "" are not in objects */
};

extern const char cell_absent[];

enum { TABLE_COLUMNS_MAX = 48, TABLE_BLOCKS_MAX = 6 };

struct cell {
	uint64_t number;

	/*
	 * Of a text column: its text, owned by the table (table_text) or static; NULL: null. Of others: printed instead
	 * of the number; "-" means no value (null in JSON, empty in CSV); cell_absent means that table_json() omits the
	 * key.
	 */
	const char *text;
};

struct table;
struct vm_names;

struct column_def {
	const char *key;  /* JSON and CSV name; NULL: only in text */
	const char *head; /* text heading; NULL: not in text */
	enum column_kind kind;

	/* The value: of what is at this offset of the row's object, usually by MEMBER(). */
	size_t offset;
	struct cell (*get)(struct table *t, const void *at);

	unsigned int spare; /* 0: always in text; else only if it fits the width, lower ones first */
	bool nullable;	    /* the value may be unknown; with optional: absent */
	bool optional;	    /* it may be cell_absent */
	const struct column_def *nested; /* of COL_OBJECT and COL_ROWS; NULL: keys that only the input knows, of */
	const struct column_def *objects; /* ... objects of these; NULL: numbers */
	bool (*when)(const struct table *t); /* the table has this column; NULL: always */
	const char *doc;		     /* the value's meaning, with its unit if the key does not end in _ns */
};

/* A member by its type: an integer, or a text. */
#define MEMBER(type, member) \
	.offset = offsetof(type, member), \
	.get = _Generic(((type *)0)->member, \
		uint64_t: column_u64, uint32_t: column_u32, uint16_t: column_u16, \
		char *: column_chars, const char *: column_text)

/* A uint32_t; UINT32_MAX: the recording does not have it. */
#define KNOWN_MEMBER(type, member) \
	.offset = offsetof(type, member), .get = column_u32_known, .nullable = true

/*
 * Defines a getter of an expression: `object` declares the variable that it is of.
 *
 *	GET_NUMBER(get_busy_ns, const struct sched_thread *th, th->time_ns - th->idle_ns)
 */
#define GET_CELL(name, object, ...) \
	static struct cell name(struct table *t, const void *object_) \
	{ \
		object = object_; \
		(void)t; \
		return __VA_ARGS__; \
	}
#define GET_NUMBER(name, object, ...) \
	GET_CELL(name, object, (struct cell){(uint64_t)(__VA_ARGS__), NULL})
#define GET_NUMBER_IF(name, object, known, ...) \
	GET_CELL(name, object, (struct cell){(uint64_t)(__VA_ARGS__), (known) ? NULL : "-"})
#define GET_TEXT(name, object, ...) GET_CELL(name, object, (struct cell){0, __VA_ARGS__})

/* Of a member that is a struct quantiles; but for `count` it is nullable, if there may be no values. */
#define QUANTILE(which, type, member) .offset = offsetof(type, member), .get = column_##which

struct cell column_u64(struct table *t, const void *at);
struct cell column_u32(struct table *t, const void *at);
struct cell column_u16(struct table *t, const void *at);
struct cell column_chars(struct table *t, const void *at); /* an array */
struct cell column_text(struct table *t, const void *at);  /* a pointer */
struct cell column_count(struct table *t, const void *at);
struct cell column_p50(struct table *t, const void *at);
struct cell column_p99(struct table *t, const void *at);
struct cell column_max(struct table *t, const void *at);

/* The VM of this pid, in traces with several; a vCPU's number. */
#define COLUMN_VM(type, member) \
	{"vm", "VM", COL_TEXT, offsetof(type, member), column_vm, .when = table_has_vms, \
	 .doc = "name of the VM, in traces with several"}
#define COLUMN_VCPU(type, member) \
	{"vcpu", "vcpu", COL_COUNT, offsetof(type, member), column_vcpu, .nullable = true, \
	 .doc = "index of the vCPU; null: not a vCPU, or unknown"}
bool table_has_vms(const struct table *t);
struct cell column_u32_known(struct table *t, const void *at);
struct cell column_vm(struct table *t, const void *at);	  /* uint32_t: the pid */
struct cell column_vcpu(struct table *t, const void *at); /* uint16_t */

struct table_def {
	const char *command; /* whose table it is */
	const char *options; /* ... with these options; "": without */
	const char *row;     /* what a row is */
	const struct column_def *block[TABLE_BLOCKS_MAX + 1]; /* each ends with {0}; ends with NULL */
};

struct column {
	const struct column_def *def;
	const char *key, *head;
	enum column_kind kind;
	unsigned int spare, block;
};

struct table {
	const void *report; /* what the getters of the columns need besides the row's object */
	const struct vm_names *vms; /* borrowed; NULL: there is one VM */
	unsigned int nr_columns;
	struct cell *cell; /* nr_rows * nr_columns */
	size_t nr_rows;
	uint64_t left_out; /* rows above --limit */
	struct table_text *texts;

	bool tree; /* for table_json(): with the columns for which table_is_tree(); to be set before table_open() */
	struct table *inner, *next; /* tables nested in it; of a nested table, the next one */
	struct column column[TABLE_COLUMNS_MAX]; /* of a nested one of given columns: these */
};

static inline bool column_is_text(const struct column *c)
{
	return c->kind == COL_TEXT || c->kind == COL_PATH;
}

/* Adds the columns of a declaration. vms: names; NULL: there is one VM. */
void table_open(struct table *t, const struct table_def *def, const void *report,
		const struct vm_names *vms);

/* Adds one block of columns, in a table that has others as well. */
void table_block(struct table *t, const struct column_def *columns, unsigned int block);

/*
 * Adds a row of the declared columns: of each block the object; NULL: its cells are absent. 0 or -ENOMEM with the error
 * message set.
 */
#define table_add(t, ...) table_add_row(t, (const void *const[]){__VA_ARGS__})
int table_add_row(struct table *t, const void *const *object);

/* The same for a row whose other cells the caller fills. */
#define table_fill(t, row, ...) table_fill_row(t, row, (const void *const[]){__VA_ARGS__})
void table_fill_row(struct table *t, struct cell *row, const void *const *object);

/* Adds a column whose names only the input knows, before the first row. Names are borrowed for as long as the table. */
void table_column(struct table *t, const char *key, const char *head, enum column_kind kind,
		  unsigned int spare);

/* Removes a column, with its cells, if every row has the same text there (or there is no row). */
void table_drop_constant(struct table *t, const char *key);

/* "/machine/peripheral/disk/virtio-backend" is what QEMU calls "disk". Returns buf or the path itself. */
const char *path_print(const char *path, char *buf, size_t size);

/* The same of a cell that device_cell() made, by its type of device where it has no other name. */
const char *path_cell_print(const struct cell *cell, char *buf, size_t size);

/* A cell with a text of its own, by printf. "-": no value, of any kind but text. */
struct cell table_print(struct table *t, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));

/*
 * A cell with a nested table, which is filled through *ret: NULL if there is no memory. Its columns are `columns`; if
 * that is NULL, the caller adds them.
 */
struct cell table_nest(struct table *t, const struct column_def *columns, struct table **ret);

/* Conditions of columns: the table is for table_json(); it is not. */
bool table_is_tree(const struct table *t);
bool table_is_flat(const struct table *t);

/* All rows as an array of objects, by the keys of the columns; new reference. */
json_t *table_json(const struct table *t);
json_t *table_row_json(const struct table *t, size_t row);

/* A cell of COL_PATH: "" is unknown; kind: as event/virtio_names.h has it. Its number is that of the kind. */
struct cell device_cell(struct table *t, const char *path, const char *kind);

/* The name of a virtqueue, or null; for people the number where there is no name. */
struct cell queue_name_cell(struct table *t, const char *kind, uint32_t queue,
			    enum virtio_data data);
struct cell queue_label_cell(struct table *t, const char *kind, uint32_t queue,
			     enum virtio_data data);

/* Defines getters of a queue, of members of `object`; and the columns with them. `priority`: .spare in text. */
#define GET_QUEUE(object, kind_, queue_, data_) \
	GET_NUMBER_IF(get_queue, object, (queue_) != VIRTIO_NO_QUEUE, queue_) \
	GET_TEXT(get_kind, object, *(kind_) ? (kind_) : NULL) \
	GET_CELL(get_queue_name, object, queue_name_cell(t, kind_, queue_, data_)) \
	GET_CELL(get_queue_label, object, queue_label_cell(t, kind_, queue_, data_))
#define COLUMNS_QUEUE(priority) \
	{"queue", NULL, COL_COUNT, .get = get_queue, .nullable = true, \
	 .doc = "index of the virtqueue"}, \
	{NULL, "queue", COL_TEXT, .get = get_queue_label, .spare = priority, \
	 .doc = "queue_name, else the index"}
#define COLUMNS_QUEUE_NAMES \
	{"kind", NULL, COL_TEXT, .get = get_kind, .nullable = true, \
	 .doc = "what QEMU calls the device's type, as virtio-blk"}, \
	{"queue_name", NULL, COL_TEXT, .get = get_queue_name, .nullable = true, \
	 .doc = "what the specification calls it: rx0, tx0, ctrl, request0; null: not certain"}

/* `part` as COL_PERCENT has it. */
uint64_t percent_of(unsigned __int128 part, uint64_t whole);

/* A new row of zeroes, valid until the next one; NULL with the error message set if out of memory. */
struct cell *table_row(struct table *t);

/* Keeps a copy of the text as long as the table; control bytes are replaced. */
const char *table_text(struct table *t, const char *text);

/* Is it the column of this key? "_ns" may be omitted. */
bool table_key_is(const struct column *c, const char *key);

/*
 * Sorts by the column of this key, "_ns" may be omitted: largest first for numbers, a to z for text, stable.
 * -EINVAL with the error message set: no such column.
 */
int table_sort(struct table *t, const char *key);

struct condition;

/*
 * Keeps the rows that the condition holds for: its fields are the keys of the columns, "_ns" may be omitted. -EINVAL
 * with the error message set: no such column.
 */
int table_where(struct table *t, const struct condition *where);

/* Keeps the first `limit` rows (0: all). */
void table_limit(struct table *t, uint64_t limit);

/* Frees what the table owns; a zeroed one is fine. */
void table_free(struct table *t);

/* ---- histogram: powers of two ---- */

enum { HISTOGRAM_ROWS = 65 };

struct histogram {
	uint64_t count[HISTOGRAM_ROWS]; /* [0]: value 0; [i]: 2^(i-1) <= value < 2^i */
	unsigned int first, last;	/* rows that are not empty, first > last if none */
};

/* ---- heat map ---- */

enum { HEATMAP_COLUMNS = 128, HEATMAP_ROWS = 64 * 2 + 1 };

struct heatmap {
	const char *analyzer, *title;
	uint64_t t0_ns, column_ns;
	unsigned int nr_columns, nr_rows;
	struct {
		uint64_t lo_ns, hi_ns;
	} row[HEATMAP_ROWS];
	uint64_t cell[HEATMAP_ROWS][HEATMAP_COLUMNS];
	uint64_t max, total;
	const char *link; /* to the page of `hostrace report`; NULL: none */
};

#endif
