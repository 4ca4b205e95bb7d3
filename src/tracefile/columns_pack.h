/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Shared by the two parts of columns_pack(): the order of the records and the forms of the columns. */
#ifndef HOSTRACE_TRACEFILE_COLUMNS_PACK_H
#define HOSTRACE_TRACEFILE_COLUMNS_PACK_H

#include "base/hash.h"
#include "tracefile/columns.h"

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
