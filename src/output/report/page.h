/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The page: one HTML file with the data as JSON, one script and one style, and nothing from elsewhere.
 *
 *	{"version", "findings": [{"kind", "cause", "section", "text", "share"}], "notes": [text],
 *	 "sections": {KEY: {"command", "data": the command's JSON, "error", "cut": [..]}}}
 *
 * Text of a recording is untrusted. The page has it in two places only: in the JSON, in which everything that could end
 * or confuse a script element is escaped, and in the summary's sentences, as escaped markup. The script makes text
 * nodes of it, and no markup. A Content-Security-Policy permits this script and this style, by their hashes, and no
 * request of any kind.
 */
#ifndef HOSTRACE_REPORT_PAGE_H
#define HOSTRACE_REPORT_PAGE_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#include "analyzers/blame/grid.h"
#include "event/vm_names.h"

/* ASCII only: U+2028 and the like are \u escapes. */
#define PAGE_JSON_FLAGS (JSON_COMPACT | JSON_ENSURE_ASCII | JSON_REAL_PRECISION(6))

enum { PAGE_ESCAPE_BYTES = 6 }; /* \u003c */

/* Bytes of JSON that HTML could take for markup, and DEL. They are in strings only. */
static inline bool page_byte_is_escaped(char c)
{
	return c == '<' || c == '>' || c == '&' || c == 0x7f;
}

/* Both return 0 or -errno with the error message set; the caller finds write errors when it closes the file. */
int page_write(const json_t *page, FILE *f);
int page_write_json(const json_t *page, FILE *f);

/* ---- fit.c: keeps the sections small, whatever the recording's length. What is cut is counted. ---- */

/* How many bytes it takes in the page (page.h), escaped. */
size_t page_json_bytes(const json_t *value);

/*
 * Shortens a command's answer to `max` bytes:
 *
 *	rows that are call trees	nodes with few hits become one "(N more)" each
 *	other rows			the first ones are kept; of blame's, the longest parts of each exit
 *	other arrays			("stages", "groups", "causes", ...) the first members are kept
 *
 * Adds "cut" to `section`: [{"what", "shown", "of"}, ...] if anything is missing.
 */
void section_fit(json_t *data, size_t max, json_t *section);

/*
 * For who makes a call tree for a page: a tree larger than the page has room for need not be made as JSON first. The
 * weight, time or hits, below which section_fit() drops nodes when it shortens a section for the round-th time (from 0
 * on; 0: no further), `total` being that of all roots; and what it leaves for them.
 */
json_int_t page_tree_least(unsigned int round, json_int_t total);
json_t *page_tree_more(json_int_t nodes, json_int_t hits, json_int_t time_ns);

/* ---- grid_json.c ---- */

/*
 * {"causes": [name], "exits", "outside", "spans_per_cell",
 *  "cells": [[column, row, exits, [[cause, ns]...], [[start_ns, ns, vcpu, reason, cause, what, vm]...]]...],
 *  "offsets": {"t0_ns", "column_ns", "row_ns", "cells": [[count..]..]}}: as arrays, since there are thousands of cells.
 *
 * `vms`: NULL if there is only one. Spans are dropped, the shortest of each cell first, until it takes at most `max`
 * bytes in the page. New reference; NULL: out of memory.
 */
json_t *blame_grid_json(const struct blame_grid *g, const struct vm_names *vms, size_t max);

/*
 * The summary in sentences: what cost the VM the most time, from the sections of the page (page.h). Requests that a
 * device did not return come first; then what is largest as a share of the recording's time:
 *
 *	sched, blame	time of a vCPU without a CPU, waiting for QEMU's global mutex, in a device, ...
 *	exits		where blame knows nothing: the reason with the longest total, without halts
 *	virtio		time for which a queue had requests in flight, but no more than vCPUs slept
 */
enum { FINDINGS_MAX = 8 };

/*
 * [{"kind", "section", "text", "share", "more", "more_share"}], the largest first, one of each kind: `more` others (of
 * other vCPUs, of other queues) are not larger than more_share. New reference.
 */
json_t *findings_make(const json_t *sections);

/* What has to be known before reading the figures: lost events, unreliable guest timestamps. [text]. New reference. */
json_t *page_notes_make(const json_t *sections);

/* "hostrace-demo, 7.45 s on vm". New reference. */
json_t *page_title_make(const json_t *sections);

#endif
