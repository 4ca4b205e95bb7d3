/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Records, packed by columns. A chunk's records are sorted by thread and each kind of record (type and size) becomes a
 * table of its own: one column a field. Numbers of one field resemble each other, so a column is a few bytes a row,
 * or nothing at all if it never changes; and a reader that needs durations and reasons decodes two columns in
 * straight loops and leaves the others alone. The form is in doc/format.md, 1.4.
 *
 *   | kinds | threads | runs | sequence | heads of columns | bytes of column 0 | of column 1 | ...
 *                       '- order of the records in the chunk
 *                              '- kinds of each thread's records, in its own order
 */
#ifndef HOSTRACE_TRACEFILE_COLUMNS_H
#define HOSTRACE_TRACEFILE_COLUMNS_H

#include "base/hash.h"
#include "tracefile/format.h"

enum {
	COLUMNS_RECORDS_MAX = RECORDS_RAW_MAX / sizeof(struct record_hdr),
	COLUMNS_KINDS_MAX = 255,   /* in one chunk */
	COLUMNS_MAX = 4096,	   /* of all kinds */
	COLUMNS_DICTIONARY = 256,  /* values of one dictionary */
	COLUMNS_LIKE_MAX = 64,	   /* columns that follow another one */
	COLUMNS_BYTES_MAX = RECORDS_RAW_MAX + (128 << 10), /* of the output of columns_pack() */
};

/* How a column's numbers become values. */
enum column_how {
	COLUMN_PLAIN = 0,      /* base + number */
	COLUMN_PREVIOUS = 1,   /* the value before + base + signed number */
	COLUMN_LIKE = 2,       /* a column of an earlier kind, in the thread's newest record + base + signed number */
	COLUMN_DICTIONARY = 3, /* the number is an index into a list */
};

struct column {
	uint8_t how, size, width; /* bytes of a value in the record; of a number here */
	uint16_t offset;	  /* in the record */
	uint16_t like;		  /* COLUMN_LIKE: which column */
	uint8_t kind, like_kind;  /* whose columns these are */
	uint32_t nr_exceptions;	  /* numbers that do not fit into width bytes */
	uint32_t nr_words;	  /* COLUMN_DICTIONARY: its entries */
	uint64_t base;
	const uint8_t *exceptions, *words; /* varints; checked */
	const uint8_t *bytes;		   /* width * rows: all lowest bytes, all second ones, ... */
};

struct column_kind {
	uint16_t type, size;	 /* of a record */
	uint16_t first, nr;	 /* its columns: time, CPU, fields */
	uint32_t rows;
};

struct column_thread {
	uint32_t pid, tid;
	uint16_t vcpu;
	uint32_t start, nr; /* its records in `sequence` */
	uint64_t first_ns;  /* base of its first record's time */
};

/* A parsed chunk, not yet decoded. Points into the payload. */
struct columns {
	struct column_kind kind[COLUMNS_KINDS_MAX];
	struct column column[COLUMNS_MAX];
	struct column_thread *thread; /* COLUMNS_RECORDS_MAX of them, nr_threads in use */
	uint8_t *sequence;	      /* kind of each record, thread by thread */
	uint32_t *run_thread, *run_nr; /* order in the chunk */
	unsigned int nr_kinds, nr_columns, nr_like;
	uint32_t nr_threads, nr_runs, nr_records;
	struct unpacking *unpacking; /* memory of columns_unpack(), kept for the next chunk */
};

struct columns *columns_new(void); /* NULL: out of memory */
void columns_free(struct columns *c);

/* Parses a payload. False: it is malformed. All pointers in the result are within the payload. */
bool columns_parse(struct columns *c, const uint8_t *payload, size_t len);

/*
 * The values of a column, kind's rows of them; `scratch` has space for COLUMNS_RECORDS_MAX. Only the lowest `size`
 * bytes of a value count.
 */
void column_decode(const struct columns *c, unsigned int column, uint64_t *out, uint64_t *scratch);

/*
 * All as records again, in their order, exactly raw bytes. `wanted` (by type id; NULL: all): other records have only
 * their headers. False: broken; nothing outside of out was touched.
 */
bool columns_unpack(struct columns *c, const uint8_t *payload, size_t len, const bool *wanted,
		    uint8_t *out, size_t raw);

/* ---- packing ---- */

struct columns_packer;
struct columns_packer *columns_packer_new(void); /* NULL: out of memory */
void columns_packer_free(struct columns_packer *p);

/*
 * Packs len bytes of whole records into out, which has space for `max` <= COLUMNS_BYTES_MAX bytes. `types` (by id) has
 * the fields' offsets; entries may be NULL. 0: it would not fit. ret_cuts: offsets in the result where numbers of
 * another sort begin, which a compressor should know; valid until the next call.
 */
size_t columns_pack(struct columns_packer *p, const uint8_t *records, size_t len,
		    const struct event_type *const *types, uint8_t *out, size_t max,
		    const uint32_t **ret_cuts, unsigned int *ret_nr_cuts);

enum { PACK_PIECES_MAX = 640 }; /* columns of one kind */

struct pack_thread {
	uint32_t pid, tid;
	uint16_t vcpu;
	uint32_t nr, start, fill;
	uint64_t first_ns;
};

struct pack_kind {
	uint16_t type, size;
	uint8_t was;		    /* its number before they were sorted */
	uint32_t rows, start, fill; /* its part of `row` and `step_ns` */
};

/* A value in a column's dictionary. */
struct pack_word {
	uint64_t value;
	uint32_t place;
};

/* A form that was tried: numbers are in packer->number. */
struct pack_form {
	enum column_how how;
	unsigned int width;
	uint64_t base;
	uint32_t exceptions;
	uint16_t like;
	size_t cost; /* bytes */
};

struct pack_column {
	uint16_t offset;
	uint8_t size, kind;
	const char *name; /* of the field; NULL: none */
	struct pack_form form;
};

/* Large, and reused from chunk to chunk. Arrays by record: in original order, by thread, or by kind. */
struct columns_packer {
	const uint8_t *records;
	uint32_t nr;
	unsigned int nr_kinds, nr_columns, nr_pieces, nr_cuts, nr_like;
	uint32_t nr_threads, nr_words;
	struct pack_kind kind[COLUMNS_KINDS_MAX];
	struct pack_column column[COLUMNS_MAX], piece[PACK_PIECES_MAX + EVENT_FIELDS_MAX];
	struct pack_thread thread[COLUMNS_RECORDS_MAX + 1];
	struct hash_table threads; /* in `thread`, by pid, tid and vCPU */
	struct hash_table words;   /* in `word` */
	uint32_t at[COLUMNS_RECORDS_MAX], thread_of[COLUMNS_RECORDS_MAX];
	uint8_t kind_of[COLUMNS_RECORDS_MAX];
	uint32_t order[COLUMNS_RECORDS_MAX];
	uint8_t sequence[COLUMNS_RECORDS_MAX]; /* by thread */
	uint32_t row[COLUMNS_RECORDS_MAX];     /* by kind: offset of the record */
	uint64_t step_ns[COLUMNS_RECORDS_MAX]; /* by kind: since the thread's record before */
	uint64_t value[COLUMNS_RECORDS_MAX], number[COLUMNS_RECORDS_MAX],
		other[COLUMNS_RECORDS_MAX];
	uint64_t word[COLUMNS_DICTIONARY];
	uint8_t covered[EVENT_RECORD_MAX];
	uint32_t cut[8 * COLUMNS_MAX], final[8 * COLUMNS_MAX + 1];
	uint8_t directory[COLUMNS_BYTES_MAX], bytes[COLUMNS_BYTES_MAX];
	uint8_t *to, *directory_end, *bytes_to, *bytes_end;
	bool full;
};

/* Gives p->value as numbers above the smallest, in p->number. */
void pack_plain(struct columns_packer *p, struct pack_column *c, uint32_t rows);

/* Reads a column's values from its kind's records and chooses the smallest form. */
void pack_choose(struct columns_packer *p, struct pack_column *c, const struct pack_kind *k);

#endif
