// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Counts of sites are since the recording began, so that the newest event of a site is all that counts. At the first
 * event from `base_ns` on, what every site has not freed is kept: later growth is the difference. Mappings are followed
 * by address (heap_ranges); a site of mmap() has left what its ranges have.
 */
#include "analyzers/heap/heap.h"

#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/error.h"
#include "base/hash.h"
#include "event/handlers.h"
#include "event/records.h"

/*
 * Mapped memory by address: what is left of each mapping after others were unmapped, or mapped over it.
 * A sorted array. Mappings are rare next to blocks, and there are few at a time, so that moving what follows is cheap:
 * at most HEAP_RANGES_MAX of 32 bytes.
 */

struct heap_range {
	uint64_t from, to, id; /* id: the caller's */
	uint32_t pid, mapping; /* mapping: its number; pieces of one mapping share it */
};

struct heap_ranges {
	struct heap_range *range; /* by pid and address; none overlap */
	size_t nr, max;
	uint32_t mappings; /* so far */
	uint64_t refused;  /* beyond HEAP_RANGES_MAX */
};

/* The first that ends after `at`. */
static size_t range_find(const struct heap_ranges *r, uint32_t pid, uint64_t at)
{
	return array_prefix(r->nr, i,
			    r->range[i].pid < pid ||
				    (r->range[i].pid == pid && r->range[i].to <= at));
}

static int range_insert(struct heap_ranges *r, size_t at, const struct heap_range *new)
{
	int err;

	if (r->nr == HEAP_RANGES_MAX) {
		r->refused++;
		return 0;
	}
	err = array_room_kept(r->range, r->nr, r->max);
	if (err)
		return err;
	memmove(&r->range[at + 1], &r->range[at], (r->nr - at) * sizeof(*r->range));
	r->range[at] = *new;
	r->nr++;
	return 0;
}

/* A range that would wrap ends with the address space. */
static uint64_t range_end(uint64_t from, uint64_t bytes)
{
	return bytes > UINT64_MAX - from ? UINT64_MAX : from + bytes;
}

/* Removes what is mapped there. How many bytes were. 0 or -ENOMEM. */
static int ranges_cut(struct heap_ranges *r, uint32_t pid, uint64_t from, uint64_t bytes,
		      uint64_t *ret)
{
	uint64_t to = range_end(from, bytes);
	size_t first = range_find(r, pid, from), last;
	int err = 0;

	*ret = 0;
	if (first < r->nr && r->range[first].pid == pid && r->range[first].from < from) {
		struct heap_range rest = r->range[first];
		uint64_t end = rest.to < to ? rest.to : to;

		*ret += end - from;
		r->range[first++].to = from;
		if (rest.to > to) { /* a hole in its middle */
			rest.from = to;
			return range_insert(r, first, &rest);
		}
	}
	for (last = first; last < r->nr && r->range[last].pid == pid && r->range[last].to <= to;
	     last++)
		*ret += r->range[last].to - r->range[last].from;
	if (last > first)
		memmove(&r->range[first], &r->range[last], (r->nr - last) * sizeof(*r->range));
	r->nr -= last - first;
	if (first < r->nr && r->range[first].pid == pid && r->range[first].from < to) {
		*ret += to - r->range[first].from;
		r->range[first].from = to;
	}
	return err;
}

/* Adds a range, instead of what is mapped there. 0, also if it is refused; -ENOMEM. */
static int ranges_add(struct heap_ranges *r, uint32_t pid, uint64_t from, uint64_t bytes,
		      uint64_t id)
{
	const struct heap_range new = {from, range_end(from, bytes), id, pid, r->mappings++};
	uint64_t cut;
	int err = ranges_cut(r, pid, from, bytes, &cut);

	if (err || new.to == new.from)
		return err;
	return range_insert(r, range_find(r, pid, from), &new);
}

static void ranges_free(struct heap_ranges *r)
{
	free(r->range);
	*r = (struct heap_ranges){0};
}

enum { STACK_BYTES = 800, PAGE = 4096 };

/* A text that is kept once: of a stack, or the name of a function. */
struct interned {
	const char *text; /* its key */
};

struct site {
	uint64_t pid, key; /* its key */
	const char *function, *stack;
	struct heap_count allocated, freed, base; /* base: what was not freed then */
	struct heap_count ranges;		  /* of mappings: what is left */
	bool maps, counted;
};

struct stack_of {
	uint64_t pid, key; /* its key */
	const char *text;
};

struct mismatch {
	uint64_t pid, site, free_site,
		functions; /* its key; functions: the two, which are interned */
	const char *allocated, *freed;
	struct heap_count count;
};

struct vm_totals {
	uint64_t pid; /* its key */
	struct rec_alloc_totals last;
};

struct heap_analyzer {
	uint64_t base_ns;
	bool based;
	struct hash_table texts, sites, stacks, mismatches, vms;
	struct heap_ranges ranges;
	uint64_t unmapped_unknown, lost_mappings, broken;
	int err;
};

/* ---- texts ---- */

static const char *text_keep(struct heap_analyzer *h, const char *text)
{
	struct interned *e = hash_find_text(&h->texts, text);
	char *copy;

	if (e)
		return e->text;
	copy = strdup(text);
	e = copy ? hash_add_text(&h->texts, copy, NULL) : NULL;
	if (!e)
		free(copy);
	return e ? e->text : NULL;
}

/* ---- sites ---- */

static struct site *site_get(struct heap_analyzer *h, uint32_t pid, uint64_t key)
{
	const uint64_t words[] = {pid, key};

	return hash_add_words(&h->sites, words, NULL);
}

static struct heap_count site_live(const struct site *s)
{
	if (s->maps)
		return s->ranges;
	return (struct heap_count){s->allocated.blocks - s->freed.blocks,
				   s->allocated.bytes - s->freed.bytes};
}

/* What is left of mappings, into their sites. One with a hole is still one. */
static void ranges_count(struct heap_analyzer *h)
{
	struct hash_table mappings = HASH_TABLE(uint64_t, 1, HEAP_RANGES_MAX);
	struct site *s;
	bool first;

	for (uint32_t at = 0; (s = hash_next(&h->sites, &at));)
		s->ranges = (struct heap_count){0};
	for (size_t i = 0; i < h->ranges.nr; i++) {
		const struct heap_range *r = &h->ranges.range[i];
		const uint64_t words[] = {r->pid, r->id};

		s = hash_find_words(&h->sites, words);
		if (!s)
			continue;
		if (hash_add_u64(&mappings, r->mapping, &first) && first)
			s->ranges.blocks++;
		s->ranges.bytes += r->to - r->from;
	}
	hash_deinit(&mappings);
}

static void base_take(struct heap_analyzer *h)
{
	struct site *s;

	h->based = true;
	ranges_count(h);
	for (uint32_t at = 0; (s = hash_next(&h->sites, &at));)
		s->base = site_live(s);
}

static bool is_mapping(const char *function)
{
	return function && (!strcmp(function, "mmap") || !strcmp(function, "mremap"));
}

static void on_site(struct heap_analyzer *h, const struct event *ev)
{
	RECORD(alloc_site, r, ev);
	struct site *s = site_get(h, ev->pid, r->site);
	char function[HEAP_FUNCTION_BYTES];

	if (!s)
		return;
	if (r->frees > r->allocs || r->freed_bytes > r->bytes) {
		h->broken++;
		return;
	}
	s->counted = true;
	s->function = text_keep(h, RECORD_TEXT(r, function, function));
	s->maps = is_mapping(s->function);
	s->allocated = (struct heap_count){r->allocs, r->bytes};
	s->freed = (struct heap_count){r->frees, r->freed_bytes};
}

static void on_stack(struct heap_analyzer *h, const struct event *ev)
{
	RECORD(alloc_stack, r, ev);
	const uint64_t words[] = {ev->pid, r->site};
	struct stack_of *s = hash_add_words(&h->stacks, words, NULL);
	char text[STACK_BYTES];

	RECORD_TEXT(r, stack, text);
	if (s && *text)
		s->text = text_keep(h, text);
}

static void on_mismatch(struct heap_analyzer *h, const struct event *ev)
{
	RECORD(alloc_mismatch, r, ev);
	char allocated[HEAP_FUNCTION_BYTES], freed[HEAP_FUNCTION_BYTES];
	const char *a = text_keep(h, RECORD_TEXT(r, allocated, allocated));
	const char *f = text_keep(h, RECORD_TEXT(r, freed, freed));
	const uint64_t words[] = {ev->pid, r->site, r->free_site,
				  hash_pair((uintptr_t)a, (uintptr_t)f)};
	struct mismatch *m = hash_add_words(&h->mismatches, words, NULL);

	if (!m)
		return;
	m->allocated = a;
	m->freed = f;
	m->count = (struct heap_count){r->count, r->bytes};
}

static void on_totals(struct heap_analyzer *h, const struct event *ev)
{
	RECORD(alloc_totals, r, ev);
	struct vm_totals *t = hash_add_u64(&h->vms, ev->pid, NULL);

	if (t)
		t->last = *r;
}

static uint64_t pages(uint64_t bytes)
{
	return bytes > UINT64_MAX - PAGE ? bytes : (bytes + PAGE - 1) & ~(uint64_t)(PAGE - 1);
}

static void on_mmap(struct heap_analyzer *h, const struct event *ev)
{
	RECORD(alloc_mmap, r, ev);

	h->err = ranges_add(&h->ranges, ev->pid, r->address, pages(r->bytes), r->site);
}

static void on_munmap(struct heap_analyzer *h, const struct event *ev)
{
	RECORD(alloc_munmap, r, ev);
	uint64_t cut;

	h->err = ranges_cut(&h->ranges, ev->pid, r->address, pages(r->bytes), &cut);
	h->unmapped_unknown += cut < r->bytes;
}

static void on_lost(struct heap_analyzer *h, const struct event *ev)
{
	RECORD(lost, r, ev);

	if (r->lost_event == EV_alloc_mmap || r->lost_event == EV_alloc_munmap)
		h->lost_mappings += r->count;
}

static const HANDLERS(struct heap_analyzer) handlers = {{
	[EV_alloc_site] = on_site,
	[EV_alloc_stack] = on_stack,
	[EV_alloc_mismatch] = on_mismatch,
	[EV_alloc_totals] = on_totals,
	[EV_alloc_mmap] = on_mmap,
	[EV_alloc_munmap] = on_munmap,
	[EV_lost] = on_lost,
}};

bool heap_wants(const char *event, void *arg)
{
	(void)arg;
	return handlers_want(&handlers, event);
}

int heap_event(struct heap_analyzer *h, const struct event *ev)
{
	if (!h->based && ev->time_ns >= h->base_ns)
		base_take(h);
	handlers_call(&handlers, h, ev);
	return h->err ? fail(h->err, "out of memory") : 0;
}

struct heap_analyzer *heap_new(uint64_t base_ns)
{
	struct heap_analyzer *h = calloc(1, sizeof(*h));

	if (!h)
		return NULL;
	h->base_ns = base_ns;
	h->texts = HASH_TABLE_OF_TEXTS(struct interned, HEAP_STACKS_MAX);
	h->sites = HASH_TABLE(struct site, 2, HEAP_SITES_MAX);
	h->stacks = HASH_TABLE(struct stack_of, 2, HEAP_STACKS_MAX);
	h->mismatches = HASH_TABLE(struct mismatch, 4, HEAP_SITES_MAX);
	h->vms = HASH_TABLE(struct vm_totals, 1, HEAP_VMS_MAX);
	return h;
}

void heap_free(struct heap_analyzer *h)
{
	struct interned *e;

	if (!h)
		return;
	for (uint32_t at = 0; (e = hash_next(&h->texts, &at));)
		free((char *)e->text);
	hash_deinit(&h->texts);
	hash_deinit(&h->sites);
	hash_deinit(&h->stacks);
	hash_deinit(&h->mismatches);
	hash_deinit(&h->vms);
	ranges_free(&h->ranges);
	free(h);
}

/* ---- rows ---- */

static const char *stack_text(const struct heap_analyzer *h, uint64_t pid, uint64_t key)
{
	const uint64_t words[] = {pid, key};
	const struct stack_of *s = hash_find_words(&h->stacks, words);

	return s ? s->text : NULL;
}

static void count_add(struct heap_count *to, struct heap_count n)
{
	to->blocks += n.blocks;
	to->bytes += n.bytes;
}

/* Mappings consist of whole pages, which may be more than was asked for. */
static uint64_t left(uint64_t whole, uint64_t part)
{
	return whole > part ? whole - part : 0;
}

static void row_add(struct heap_row *row, const struct site *s)
{
	struct heap_count live = site_live(s);

	count_add(&row->allocated, s->allocated);
	count_add(&row->live, live);
	count_add(&row->freed, (struct heap_count){left(s->allocated.blocks, live.blocks),
						   left(s->allocated.bytes, live.bytes)});
	count_add(&row->grown,
		  (struct heap_count){live.blocks - s->base.blocks, live.bytes - s->base.bytes});
}

static int text_order(const char *a, const char *b)
{
	if (!a || !b)
		return (a != NULL) - (b != NULL);
	return strcmp(a, b);
}

static int row_order(const void *x, const void *y)
{
	const struct heap_row *a = x, *b = y;
	int order;

	if (a->live.bytes != b->live.bytes)
		return a->live.bytes < b->live.bytes ? 1 : -1;
	if (a->allocated.bytes != b->allocated.bytes)
		return a->allocated.bytes < b->allocated.bytes ? 1 : -1;
	if (a->pid != b->pid)
		return a->pid < b->pid ? -1 : 1;
	order = text_order(a->function, b->function);
	return order ? order : text_order(a->stack, b->stack);
}

struct row_of {
	uint64_t pid, function, stack; /* its key: texts are interned */
	size_t row;
};

int heap_rows(struct heap_analyzer *h, bool by_stack, struct heap_row **ret, size_t *ret_nr)
{
	struct hash_table rows = HASH_TABLE(struct row_of, 3, HEAP_SITES_MAX);
	struct heap_row *row = calloc(h->sites.nr + 1, sizeof(*row));
	const struct site *s;
	int err = row ? 0 : -ENOMEM;
	size_t nr = 0;

	if (!h->based)
		base_take(h);
	ranges_count(h);
	for (uint32_t at = 0; !err && (s = hash_next(&h->sites, &at));) {
		const char *stack = by_stack ? stack_text(h, s->pid, s->key) : NULL;
		const uint64_t words[] = {s->pid, (uintptr_t)s->function, (uintptr_t)stack};
		struct row_of *of = s->counted ? hash_add_words(&rows, words, NULL) : NULL;

		if (!s->counted)
			continue;
		if (!of) {
			err = -ENOMEM;
			break;
		}
		if (!of->row)
			of->row = ++nr;
		row[of->row - 1].pid = (uint32_t)s->pid;
		row[of->row - 1].function = s->function;
		row[of->row - 1].stack = stack;
		row_add(&row[of->row - 1], s);
	}
	hash_deinit(&rows);
	if (err) {
		free(row);
		return fail(err, "out of memory");
	}
	qsort(row, nr, sizeof(*row), row_order);
	*ret = row;
	*ret_nr = nr;
	return 0;
}

/* Of the same functions and stacks: 0. */
static int names_order(const void *x, const void *y)
{
	const struct heap_mismatch_row *a = x, *b = y;
	int order;

	if (a->pid != b->pid)
		return a->pid < b->pid ? -1 : 1;
	order = text_order(a->allocated, b->allocated);
	if (!order)
		order = text_order(a->freed, b->freed);
	if (!order)
		order = text_order(a->stack, b->stack);
	return order ? order : text_order(a->free_stack, b->free_stack);
}

static int mismatch_order(const void *x, const void *y)
{
	const struct heap_mismatch_row *a = x, *b = y;

	if (a->count.blocks != b->count.blocks)
		return a->count.blocks < b->count.blocks ? 1 : -1;
	return names_order(x, y);
}

static size_t mismatches_join(struct heap_mismatch_row *row, size_t nr)
{
	size_t kept = 0;

	qsort(row, nr, sizeof(*row), names_order);
	for (size_t i = 0; i < nr; i++)
		if (kept && !names_order(&row[kept - 1], &row[i]))
			count_add(&row[kept - 1].count, row[i].count);
		else
			row[kept++] = row[i];
	qsort(row, kept, sizeof(*row), mismatch_order);
	return kept;
}

int heap_mismatch_rows(struct heap_analyzer *h, struct heap_mismatch_row **ret, size_t *ret_nr)
{
	struct heap_mismatch_row *row = calloc(h->mismatches.nr + 1, sizeof(*row));
	const struct mismatch *m;
	size_t nr = 0;

	if (!row)
		return fail(-ENOMEM, "out of memory");
	for (uint32_t at = 0; (m = hash_next(&h->mismatches, &at));)
		row[nr++] = (struct heap_mismatch_row){
			.pid = (uint32_t)m->pid,
			.allocated = m->allocated,
			.freed = m->freed,
			.stack = stack_text(h, m->pid, m->site),
			.free_stack = stack_text(h, m->pid, m->free_site),
			.count = m->count,
		};
	*ret = row;
	*ret_nr = mismatches_join(row, nr);
	return 0;
}

void heap_notes(const struct heap_analyzer *h, struct heap_notes *ret)
{
	const struct vm_totals *t;

	*ret = (struct heap_notes){
		.totals = h->vms.nr,
		.unmapped_unknown = h->unmapped_unknown,
		.lost_mappings = h->lost_mappings,
		.broken = h->broken,
		.refused = h->sites.refused + h->stacks.refused + h->texts.refused +
			   h->mismatches.refused + h->vms.refused + h->ranges.refused,
	};
	for (uint32_t at = 0; (t = hash_next(&h->vms, &at));) {
		count_add(&ret->allocated, (struct heap_count){t->last.allocs, t->last.bytes});
		count_add(&ret->freed, (struct heap_count){t->last.frees, t->last.freed_bytes});
		ret->unknown += t->last.unknown;
		ret->not_followed += t->last.not_followed;
		ret->not_sited += t->last.not_sited;
		ret->unfinished += t->last.unfinished;
		ret->replaced += t->last.replaced;
		ret->failed += t->last.failed;
		ret->mismatches += t->last.mismatches;
	}
}
