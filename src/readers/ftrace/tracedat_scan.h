/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the workers of the first pass find (tracedat_scan.c), for tracedat_join.c. */
#ifndef HOSTRACE_TRACEDAT_SCAN_H
#define HOSTRACE_TRACEDAT_SCAN_H

#include "base/hash.h"
#include "readers/ftrace/tracedat_reader.h"

struct piece_found {
	uint64_t first, last; /* times; no event: nr is 0 */
	uint64_t nr_lost, uncounted, damaged;
	uint32_t nr, pages;
	uint32_t borders, early; /* pages that may follow a gap: after an event of the piece, before its first */
	bool cut, late;
};

/* Events lost before a page. */
struct loss_found {
	size_t piece;
	uint64_t from; /* time of the event before it in the piece */
	uint64_t page, next, lost; /* the page's time; that of its first event, UINT64_MAX if it has none */
	bool has_from;
};

/* A page that may follow a gap. */
struct border_found {
	uint64_t from, page, next; /* as in struct loss_found */
	uint32_t piece;
	bool has_from;
};

struct thread_found {
	uint64_t key; /* tid << 16 | vCPU */
	size_t piece;
};

struct scan_job {
	struct tracedat *t;
	const struct tracedat_pieces *pieces;
	struct piece_found *found; /* by piece */
	const uint16_t *own_vcpu;  /* by slot, see ftrace_events_own_vcpus() */
	unsigned int slots;	   /* ftrace_events_slots() */
	size_t next, kept_bytes;
};

struct scan_worker {
	struct scan_job *job;
	struct tracedat_pages pages;
	uint64_t *nr, *first_time; /* by slot */
	uint64_t no_id; /* events too short to have one */
	struct hash_table threads; /* of struct thread_found */
	uint64_t newest_key;
	struct loss_found *loss;
	size_t nr_losses, max_losses;
	struct border_found *border;
	size_t nr_borders, max_borders;
	bool borders_unlisted;
	int err;
};

/* Fills t->scan, t->vms and the CPUs' `unplaced`. -errno with the error message set. */
int tracedat_scan_join(struct scan_job *job, struct scan_worker *w, unsigned int jobs);

#endif
