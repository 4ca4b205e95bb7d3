// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Allocations are read from the samples of *malloc_mempool, *malloc_large and *malloc_page: the
 * text of their arguments names buffer, lengths and alignment. They are grouped, buffers in order
 * of appearance and the allocations of one buffer together, as OSv's tool does it.
 */
#include <ctype.h>
#include <errno.h>

#include "analyzers/profile/profile.h"
#include "base/array.h"
#include "base/error.h"

enum { ALLOCATIONS_MAX = 16 << 20 };

struct allocation {
	uint64_t buffer, values[ALLOCATION_KEYS];
	uint32_t path; /* in the tree, or CALLTREE_NONE */
	uint32_t next; /* the buffer's next allocation, or CALLTREE_NONE */
	uint32_t last; /* in a buffer's first allocation: its last one */
};

/* Positions of buf, align, alloc_len and req_len in a tracepoint's arguments. */
struct places {
	struct sample_arg_place place[4];
	bool known;
};

struct memory_profile {
	const struct memory_options *opt;
	struct sample_trace *trace;
	struct frames *frames;
	struct calltree *tree;
	struct allocation *allocation;
	uint32_t nr;
	struct hash_index buffers; /* first allocations, by buffer */
	uint32_t *first, nr_buffers;
	struct places *places;
	int8_t *allocator; /* by tracepoint index: in allocators[], or -1 */
	char *text;
};

/* ---- reading ---- */

static int allocator_of(const struct sample_type *tp)
{
	const char *name = tp->name, *said = tp->kind ? tp->kind->allocator : NULL;
	size_t len = strlen(name);

	for (int i = 0; i < ALLOCATORS; i++) {
		if (said && !strcmp(said, allocators[i]))
			return i;
		char end[32];
		size_t n = (size_t)snprintf(end, sizeof(end), "malloc_%s", allocators[i]);

		if (len >= n && !strcmp(name + len - n, end))
			return i;
	}
	return -1;
}

static int number_after(const char *text, const char *field, int base, uint64_t *ret)
{
	const char *at = strstr(text, field);
	char *end;

	if (at && isxdigit((unsigned char)at[strlen(field)])) {
		*ret = strtoull(at + strlen(field), &end, base);
		return 0;
	}
	return fail(-EBADMSG, "an allocation without %s: \"%.80s\"", field, text);
}

/* Which argument the format prints as "FIELD=%CONV", if it is an unsigned number; -1: none. */
static int argument_of(const struct sample_type *tp, const struct sample_arg_place *place, int nr,
		       const char *field, const char *convs)
{
	const char *at = strstr(tp->format, field);
	int arg = 0;

	if (!at || at[strlen(field)] != '%' || !at[strlen(field) + 1] ||
	    !strchr(convs, at[strlen(field) + 1]))
		return -1;
	for (const char *p = tp->format; p < at + strlen(field); p++)
		if (*p == '%') {
			if (p[1] == '%')
				return -1;
			arg++;
		}
	return arg < nr && strchr("BHIQP", place[arg].type) ? arg : -1;
}

/* Finds the four numbers in the argument block, so that no text needs to be formatted and parsed. */
static void places_find(struct memory_profile *m, const struct sample_type *tp)
{
	struct sample_arg_place place[SAMPLE_ARGS_MAX];
	struct places *to = &m->places[tp->index];
	size_t size;
	int nr = sample_args_layout(tp->signature, place, &size), arg[4];

	if (nr < 0 || (tp->kind && tp->kind->type))
		return;
	arg[0] = argument_of(tp, place, nr, "buf=", "p");
	arg[1] = argument_of(tp, place, nr, "align=", "du");
	arg[2] = argument_of(tp, place, nr, "alloc_len=", "du");
	arg[3] = argument_of(tp, place, nr, "req_len=", "du");
	to->known = arg[0] >= 0 && arg[1] >= 0 && arg[2] >= 0 && arg[3] >= 0;
	for (int i = 0; i < 4 && to->known; i++)
		to->place[i] = place[arg[i]];
}

static uint64_t number_at(const struct sample *s, const struct sample_arg_place *place)
{
	uint64_t v = 0;

	memcpy(&v, s->args + place->offset, place->size);
	return v;
}

static int allocation_parse(struct memory_profile *m, const struct sample *s,
			    struct allocation *ret)
{
	enum { TEXT_MAX = 64 << 10 };
	const struct places *at = &m->places[s->tp->index];

	*ret = (struct allocation){.path = CALLTREE_NONE, .next = CALLTREE_NONE};
	ret->values[ALLOCATION_ALLOCATOR] = (uint64_t)m->allocator[s->tp->index];
	if (at->known) {
		ret->buffer = number_at(s, &at->place[0]);
		ret->values[ALLOCATION_ALIGNMENT] = number_at(s, &at->place[1]);
		ret->values[ALLOCATION_ALLOCATED] = number_at(s, &at->place[2]);
		ret->values[ALLOCATION_REQUESTED] = number_at(s, &at->place[3]);
		return 0;
	}
	if (!m->text && !(m->text = malloc(TEXT_MAX)))
		return fail(-ENOMEM, "out of memory");
	if (!sample_format(s, m->text, TEXT_MAX))
		return -EBADMSG;
	int err = number_after(m->text, "buf=", 16, &ret->buffer);

	if (!err)
		err = number_after(m->text, "align=", 10, &ret->values[ALLOCATION_ALIGNMENT]);
	if (!err)
		err = number_after(m->text, "alloc_len=", 10, &ret->values[ALLOCATION_ALLOCATED]);
	if (!err)
		err = number_after(m->text, "req_len=", 10, &ret->values[ALLOCATION_REQUESTED]);
	return err;
}

static int list_room(struct memory_profile *m)
{
	int err;

	if (m->nr == ALLOCATIONS_MAX)
		return fail(-E2BIG, "more than %d allocations; narrow the time with --since and "
				    "--until", ALLOCATIONS_MAX);
	err = array_room(m->allocation, m->nr);
	return err ? err : array_room(m->first, m->nr);
}

/* The buffer's first allocation, CALLTREE_NONE if it is new. */
static uint32_t first_find(const struct memory_profile *m, uint64_t hash, uint64_t buffer)
{
	uint32_t i;

	for (uint64_t probe = 0; (i = hash_index_next(&m->buffers, hash, &probe)) != HASH_NONE;)
		if (m->allocation[i].buffer == buffer)
			return i;
	return CALLTREE_NONE;
}

static int allocation_add(void *profile, const struct sample *s)
{
	struct memory_profile *m = profile;
	struct allocation a;

	if (m->allocator[s->tp->index] < 0 || !time_range_has(&m->opt->range, s->time_ns))
		return 0;
	int err = allocation_parse(m, s, &a);

	if (!err && !m->opt->no_backtrace && s->nr_backtrace)
		err = frames_path(m->frames, s, &a.path);
	if (err >= 0)
		err = list_room(m);
	if (err)
		return err;
	uint64_t hash = hash_keyed_pair(a.buffer, 0);
	uint32_t known = first_find(m, hash, a.buffer), number = m->nr;

	a.last = number;
	m->allocation[number] = a;
	if (known == CALLTREE_NONE) {
		if (!hash_index_add(&m->buffers, hash, number))
			return fail(-ENOMEM, "out of memory");
		m->first[m->nr_buffers++] = number;
	} else {
		struct allocation *first = &m->allocation[known];

		m->allocation[first->last].next = number;
		first->last = number;
	}
	m->nr++;
	return 0;
}

static int memory_open(struct memory_profile *m)
{
	struct sample_trace *t = m->trace;
	struct frames_options frames = m->opt->frames;
	int err = calltree_open(&m->opt->tree, &m->tree);

	frames.beyond_malloc = true;
	m->buffers = HASH_INDEX(ALLOCATIONS_MAX);
	if (!err)
		err = frames_open(t, &frames, m->tree, &m->frames);
	m->allocator = calloc(t->nr_types + 1u, 1);
	m->places = calloc(t->nr_types + 1u, sizeof(*m->places));
	if (!err && (!m->allocator || !m->places))
		err = fail(-ENOMEM, "out of memory");
	for (uint32_t i = 0; i < t->nr_types && !err; i++) {
		m->allocator[i] = (int8_t)allocator_of(&t->types[i]);
		if (m->allocator[i] >= 0)
			places_find(m, &t->types[i]);
	}
	return err;
}

static int tree_make(struct memory_profile *m)
{
	int err = calltree_root(m->tree, &(uint32_t){0});

	for (uint32_t b = 0; b < m->nr_buffers && !err; b++)
		for (uint32_t i = m->first[b]; i != CALLTREE_NONE && !err;) {
			const struct allocation *a = &m->allocation[i];

			err = calltree_allocation(m->tree, a->values, a->path);
			i = a->next;
		}
	return err ? err : calltree_finish(m->tree);
}

static void memory_deinit(struct memory_profile *m)
{
	frames_close(m->frames);
	calltree_close(m->tree);
	free(m->allocation);
	hash_index_deinit(&m->buffers);
	free(m->places);
	free(m->first);
	free(m->allocator);
	free(m->text);
}

int memory_profile(struct sample_trace *t, const struct memory_options *opt, struct calltree **ret)
{
	struct memory_profile m = {.opt = opt, .trace = t};
	int err = memory_open(&m);

	if (!err)
		err = sample_each(t, allocation_add, &m);
	if (!err)
		err = tree_make(&m);
	if (!err)
		*ret = take_ptr(m.tree);
	memory_deinit(&m);
	return err;
}
