/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef HOSTRACE_FAST_PLAN_H
#define HOSTRACE_FAST_PLAN_H

#include "pairing/fast_internal.h"

/* Fills a zeroed plan. False: the slow path must be used; debug output gives the reason. */
bool fast_plan_make(struct fast_plan *plan, struct reader *r, struct pairing *p,
		    const struct span_fold *fold, const struct pairing_options *opt);
void fast_plan_free(struct fast_plan *plan);

/* ---- its parts; false: the slow path must be used ---- */

/* Returns false; the reason is for `HOSTRACE_DEBUG=read`. */
bool fast_unsuited(const char *why);

/* The role of a type that occurs. */
bool fast_type_plan(struct fast_plan *plan, struct pairing *p, const struct event_type *type,
		    uint8_t *ret_role);

/* Pieces: of a .hrt file; of another reader, also their roles and what to read of them. */
bool fast_chunks_plan(struct fast_plan *plan, struct reader *r);
bool fast_rows_plan(struct fast_plan *plan, struct reader *r, struct pairing *p);

/* Rounds and segments from the pieces; the number of workers. */
bool fast_rounds_plan(struct fast_plan *plan, const struct pairing_options *opt);

#endif
