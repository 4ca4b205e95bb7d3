/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Shared by the forms of OSv traces; for readers/osv/ only. */
#ifndef HOSTRACE_OSV_PRIVATE_H
#define HOSTRACE_OSV_PRIVATE_H

#include "base/buffer.h"
#include "base/hash.h"
#include "readers/osv/raw.h"

/* One sequence of samples: the body of a tracefile, or one TRCS chunk of a dump. */
struct osv_stream {
	struct buffer body; /* as opened; `pos` of the copy below moves */
	struct buffer at;
	struct sample head; /* the next sample of a dump's stream */
};

/* One line of MODS and SYMB of a dump: names of addresses that are in no ELF file. */
struct osv_symbol {
	char *name, *file;
	uint64_t address, size;
	unsigned int nr; /* index in its table */
};

struct osv_table {
	struct osv_symbol *symbol; /* in file order, then by address */
	unsigned int nr;
};

enum { OSV_SYMBOLS, OSV_SEGMENTS, OSV_MODULES, OSV_TABLES };

struct osv_trace {
	struct sample_trace base;
	bool is_dump;
	struct osv_raw_counts raw; /* of images of rings */
	struct osv_table table[OSV_TABLES];
	struct osv_made_name *made_names; /* "app.so+0x12 (0x...)" */
	uint8_t *map;
	size_t map_len;
	struct osv_stream *streams;
	unsigned int nr_streams;
	struct osv_stream **heap; /* dump: streams by their head's time, see osv_dump.c */
	unsigned int nr_heap;
	bool started, ended; /* ended: the last sample was returned, or an invalid one met */
	struct hash_table by_key; /* types */
};

/* A trace without streams yet; `kind` as in struct sample_trace. NULL: out of memory, with the error message set. */
struct osv_trace *osv_new(const char *file, const char *kind);

/* Text with u16 length, copied and terminated; NULL (and b->cut or out of memory) on failure. */
char *osv_string(struct buffer *b);

/* Adds a tracepoint to the dictionary; takes ownership of the strings. Of several with one key the first is found. */
int osv_type_add(struct osv_trace *t, struct buffer *b, uint64_t key, char *name, char *signature,
		 char *format);
const struct sample_type *osv_type_of(const struct osv_trace *t, uint64_t key);

/* Sets the sample's argument block and advances past it: 1, or -EBADMSG with the error message set. */
int osv_skip_args(struct buffer *b, struct sample *s);

/* osv_dump.c, also for copies of rings: the next sample of all streams. */
int osv_dump_open(struct osv_trace *t, struct buffer *b);
int osv_dump_next(struct osv_trace *t, struct sample *ret);
void osv_tables_free(struct osv_trace *t);
unsigned int osv_tables_resolve(struct sample_trace *t, uint64_t address,
				const struct sample_resolve *how, struct frame *ret);

#endif
