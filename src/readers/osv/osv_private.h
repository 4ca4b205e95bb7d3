/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the two file forms share behind osv.h. */
#ifndef HOSTRACE_OSV_PRIVATE_H
#define HOSTRACE_OSV_PRIVATE_H

#include "base/buffer.h"
#include "readers/osv/osv.h"

/* One sequence of samples: the body of a tracefile, or one TRCS chunk of a dump. */
struct osv_stream {
	struct buffer body; /* as opened; `pos` of the copy below moves */
	struct buffer at;
	struct osv_sample head; /* the next sample of a dump's stream */
	bool ended;
};

struct osv_private {
	uint8_t *map;
	size_t map_len;
	struct osv_stream *streams;
	unsigned int nr_streams;
	struct osv_stream **heap; /* dump: streams by their head's time, see osv_merge.c */
	unsigned int nr_heap;
	bool started;
	uint64_t nr_read;
	uint32_t *by_key; /* open-addressed: key -> index + 1 */
	uint32_t by_key_mask;
};

/* Text with u16 length, copied and terminated; NULL (and b->cut or out of memory) on failure. */
char *osv_string(struct buffer *b);

/* Adds a tracepoint to the dictionary; takes the strings over. */
int osv_tracepoint_add(struct osv_trace *t, struct buffer *b, uint64_t key, char *name,
		       char *signature, char *format);
/* Makes the dictionary searchable: once, when it is complete. */
int osv_index(struct osv_trace *t);
const struct osv_tracepoint *osv_tracepoint_of(const struct osv_trace *t, uint64_t key);

/* Sets the sample's argument block and goes behind it: 1, or -EBADMSG with the sentence set. */
int osv_skip_args(struct buffer *b, struct osv_sample *s);

int osv_tracefile_open(struct osv_trace *t, struct buffer *b);
int osv_tracefile_next(struct osv_trace *t, struct osv_sample *ret);
int osv_dump_open(struct osv_trace *t, struct buffer *b);
int osv_dump_stream_next(struct osv_trace *t, struct osv_stream *s);
int osv_merge_next(struct osv_trace *t, struct osv_sample *ret);

#endif
