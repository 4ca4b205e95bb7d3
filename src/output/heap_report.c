// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * `hostrace heap`: a row for each call stack and function that allocates, or each function; a row for each pair of
 * functions of which one freed what the other one had allocated; and what is not freed as folded stacks.
 */
#include "output/heap_report.h"

#include <inttypes.h>
#include <string.h>

#include "output/report.h"

enum { STACK_SHOWN = 3 }; /* functions in text */

GET_NUMBER(get_allocs, const struct heap_row *r, r->allocated.blocks)
GET_NUMBER(get_bytes, const struct heap_row *r, r->allocated.bytes)
GET_NUMBER(get_frees, const struct heap_row *r, r->freed.blocks)
GET_NUMBER(get_freed_bytes, const struct heap_row *r, r->freed.bytes)
GET_NUMBER(get_live, const struct heap_row *r, r->live.blocks)
GET_NUMBER(get_live_bytes, const struct heap_row *r, r->live.bytes)

/* What is not freed may have become less: as a text, since cells are unsigned. */
GET_CELL(get_grown, const struct heap_row *r, table_print(t, "%" PRId64, (int64_t)r->grown.blocks))
GET_CELL(get_grown_bytes, const struct heap_row *r,
	 table_print(t, "%" PRId64, (int64_t)r->grown.bytes))

static struct cell stack_cell(struct table *t, const char *stack)
{
	const struct heap_report *r = t->report;
	const char *end = stack;

	if (!stack)
		return (struct cell){0, "(not recorded)"};
	for (int i = 0; i < STACK_SHOWN && end; i++)
		end = strchr(i ? end + 1 : end, ';');
	return !end || r->whole ? (struct cell){0, stack}
				: table_print(t, "%.*s;...", (int)(end - stack), stack);
}

GET_CELL(get_stack, const struct heap_row *r, stack_cell(t, r->stack))

static const struct column_def function_columns[] = {
	{"pid", NULL, COL_COUNT, MEMBER(struct heap_row, pid), .doc = "process of the VM"},
	COLUMN_VM(struct heap_row, pid),
	{"function", "function", COL_TEXT, MEMBER(struct heap_row, function), .nullable = true,
	 .doc = "what the program called: malloc, g_malloc0, mmap, ...; null: not recorded"},
	{"allocs", "allocs", COL_COUNT, .get = get_allocs, .doc = "blocks that were allocated"},
	{"bytes", "bytes", COL_COUNT, .get = get_bytes, .spare = 2, .doc = "their bytes"},
	{"frees", "frees", COL_COUNT, .get = get_frees, .spare = 1,
	 .doc = "of these: how many were freed"},
	{"freed_bytes", NULL, COL_COUNT, .get = get_freed_bytes, .doc = "their bytes"},
	{"live", "live", COL_COUNT, .get = get_live, .doc = "how many were not freed"},
	{"live_bytes", "live_bytes", COL_COUNT, .get = get_live_bytes,
	 .doc = "bytes that were not freed; of mmap: that are still mapped, in whole pages"},
	{"grown", NULL, COL_REAL, .get = get_grown,
	 .doc = "live at the end less live in the middle of the recording, or at --since"},
	{"grown_bytes", "grown", COL_REAL, .get = get_grown_bytes, .doc = "the same of live_bytes"},
	{0},
};

static const struct column_def stack_columns[] = {
	{"stack", NULL, COL_TEXT, MEMBER(struct heap_row, stack), .nullable = true,
	 .doc = "functions, innermost first, separated by ';'; null: not recorded"},
	{NULL, "stack", COL_TEXT, .get = get_stack, .doc = "its innermost functions"},
	{0},
};

const struct table_def heap_table = {"heap",
				     "",
				     "a call stack and the function it allocates with",
				     {function_columns, stack_columns}};
const struct table_def heap_functions_table = {
	"heap", "--by function", "a function that allocates", {function_columns}};

GET_NUMBER(get_count, const struct heap_mismatch_row *r, r->count.blocks)
GET_NUMBER(get_count_bytes, const struct heap_mismatch_row *r, r->count.bytes)
GET_CELL(get_made_at, const struct heap_mismatch_row *r, stack_cell(t, r->stack))
GET_CELL(get_freed_at, const struct heap_mismatch_row *r, stack_cell(t, r->free_stack))

static const struct column_def mismatch_columns[] = {
	{"pid", NULL, COL_COUNT, MEMBER(struct heap_mismatch_row, pid), .doc = "process of the VM"},
	COLUMN_VM(struct heap_mismatch_row, pid),
	{"allocated", "allocated", COL_TEXT, MEMBER(struct heap_mismatch_row, allocated),
	 .nullable = true, .doc = "function that allocated"},
	{"freed", "freed", COL_TEXT, MEMBER(struct heap_mismatch_row, freed), .nullable = true,
	 .doc = "function that freed, which is not of the same family"},
	{"count", "count", COL_COUNT, .get = get_count, .doc = "blocks"},
	{"bytes", "bytes", COL_COUNT, .get = get_count_bytes, .doc = "their bytes"},
	{"stack", NULL, COL_TEXT, MEMBER(struct heap_mismatch_row, stack), .nullable = true,
	 .doc = "where they were allocated, innermost first; null: not recorded"},
	{"free_stack", NULL, COL_TEXT, MEMBER(struct heap_mismatch_row, free_stack),
	 .nullable = true, .doc = "where they were freed; null: not recorded"},
	{NULL, "allocated at", COL_TEXT, .get = get_made_at, .spare = 1,
	 .doc = "its innermost functions"},
	{NULL, "freed at", COL_TEXT, .get = get_freed_at, .doc = "its innermost functions"},
	{0},
};

const struct table_def heap_mismatches_table = {
	"heap", "--mismatches", "two functions and their call stacks", {mismatch_columns}};

int heap_report_rows(const struct heap_report *r, bool by_stack, const struct heap_row *row,
		     size_t nr, struct table *t)
{
	int err = 0;

	table_open(t, by_stack ? &heap_table : &heap_functions_table, r, r->vms);
	for (size_t i = 0; i < nr && !err; i++)
		err = by_stack ? table_add(t, &row[i], &row[i]) : table_add(t, &row[i]);
	return err;
}

int heap_report_mismatches(const struct heap_report *r, const struct heap_mismatch_row *row,
			   size_t nr, struct table *t)
{
	int err = 0;

	table_open(t, &heap_mismatches_table, r, r->vms);
	for (size_t i = 0; i < nr && !err; i++)
		err = table_add(t, &row[i]);
	return err;
}

/* From the outermost function on. */
static void stack_fold(const char *stack, FILE *out)
{
	for (size_t end = strlen(stack), from; end; end = from ? from - 1 : 0) {
		for (from = end; from && stack[from - 1] != ';'; from--)
			;
		fprintf(out, "%.*s;", (int)(end - from), stack + from);
	}
}

void heap_report_fold(const struct heap_row *row, size_t nr, FILE *out)
{
	for (size_t i = 0; i < nr; i++) {
		if (!row[i].live.bytes)
			continue;
		stack_fold(row[i].stack ?: "(not recorded)", out);
		fprintf(out, "%s %" PRIu64 "\n", row[i].function ?: "?", row[i].live.bytes);
	}
}

json_t *heap_report_totals(const struct heap_notes *n)
{
	if (!n->totals)
		return NULL;
	return json_pack("{s:{s:I,s:I,s:I,s:I,s:I,s:I,s:I,s:I,s:I,s:I,s:I}}", "totals", "allocs",
			 (json_int_t)n->allocated.blocks, "bytes", (json_int_t)n->allocated.bytes,
			 "frees", (json_int_t)n->freed.blocks, "freed_bytes",
			 (json_int_t)n->freed.bytes, "unknown_frees", (json_int_t)n->unknown,
			 "not_followed", (json_int_t)n->not_followed, "without_stack",
			 (json_int_t)n->not_sited, "unfinished", (json_int_t)n->unfinished,
			 "replaced", (json_int_t)n->replaced, "failed", (json_int_t)n->failed,
			 "mismatches_left_out", (json_int_t)n->mismatches);
}

const char *heap_report_line(const struct heap_notes *n, char *buf, size_t size)
{
	snprintf(buf, size,
		 "total: %" PRIu64 " blocks allocated, %" PRIu64 " of them freed, %" PRIu64
		 " bytes not freed",
		 n->allocated.blocks, n->freed.blocks,
		 n->allocated.bytes > n->freed.bytes ? n->allocated.bytes - n->freed.bytes : 0);
	return buf;
}

json_t *heap_report_caveats(const struct heap_notes *n)
{
	json_t *list = json_array();

	if (n->totals)
		caveat_add(list,
			   "live: not freed until the end of the recording; memory that is kept on "
			   "purpose is not a leak, one that grows may be");
	caveat_count(list,
		     "frees of blocks that were not followed, as those from before the recording",
		     n->unknown);
	caveat_count(list,
		     "allocations beyond the limit of blocks that are followed at once: in no row",
		     n->not_followed);
	caveat_count(list,
		     "allocations beyond the limit of call stacks: in no row, only in the total",
		     n->not_sited);
	caveat_count(list, "allocations whose return was not seen: not counted", n->unfinished);
	caveat_count(list, "blocks that were freed unseen: their addresses were allocated again",
		     n->replaced);
	caveat_count(list, "allocations that failed", n->failed);
	caveat_count(list, "mismatches beyond their limit", n->mismatches);
	caveat_count(list,
		     "munmap() of memory that was mapped before the recording or by an allocator",
		     n->unmapped_unknown);
	caveat_count(list, "events of mappings that were lost: what is mapped still is uncertain",
		     n->lost_mappings);
	caveat_count(list, "records ignored, as they have more frees than allocations", n->broken);
	caveat_count(list, "sites, stacks or mappings ignored, as there are too many", n->refused);
	return list;
}
