// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Allocations are read from the samples of *malloc_mempool, *malloc_large and *malloc_page: the
 * text of their arguments names buffer, lengths and alignment. They are grouped, buffers in order
 * of appearance and the allocations of one buffer together, as OSv's tool does it.
 */
#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "base/error.h"
#include "guestside/osv/osv_memory.h"

enum { ALLOCATIONS_MAX = 16 << 20, NODES_MAX = 4 << 20, NONE = UINT32_MAX, DEPTH_MAX = 512 };

struct allocation {
	uint64_t buffer, values[OSV_MEMORY_KEYS];
	const uint32_t *frames; /* of the call path, innermost first */
	uint32_t nr_frames, next; /* next: the buffer's next allocation, or NONE */
	uint32_t last;		  /* of a buffer's first: its last one */
};

/* A group, or a frame of a call path. */
struct node {
	uint32_t child, last_child, sibling, nr_children, group; /* group: of a call path */
	enum osv_memory_key key;
	bool is_frame;
	uint64_t value; /* of the key, or a frame's number */
	uint64_t count, total_bytes;
	int64_t lost_bytes;
	uint32_t tail; /* frames taken in, chained through their own tail */
};

struct memory {
	const struct osv_memory_options *opt;
	struct osv_trace *trace;
	struct osv_symbols *symbols;
	struct osv_frames *frames;
	struct calltree *texts; /* only its frame texts are used */
	struct allocation *allocation;
	uint32_t nr, *slot, slots_mask; /* slot: buffer -> its first allocation + 1 */
	uint32_t *first, nr_buffers;
	struct node *node;
	uint32_t nr_nodes;
	int8_t *allocator; /* by tracepoint index: in allocators[], or -1 */
	char *text;
};

/* By name, so that sorting by value sorts them by name. */
static const char *const allocators[] = {"kmalloc", "large", "mempool", "page", "slab"};

enum { ALLOCATORS = sizeof(allocators) / sizeof(allocators[0]) };

static const char *const key_words[] = {[OSV_ALIGNMENT] = " alignment",
					[OSV_ALLOCATED] = " allocated",
					[OSV_REQUESTED] = " requested"};

/* ---- reading ---- */

static int allocator_of(const struct osv_tracepoint *tp)
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

static int allocation_parse(struct memory *m, const struct osv_sample *s, struct allocation *ret)
{
	enum { TEXT_MAX = 64 << 10 };

	*ret = (struct allocation){.next = NONE};
	ret->values[OSV_ALLOCATOR] = (uint64_t)m->allocator[s->tp->index];
	if (!m->text && !(m->text = malloc(TEXT_MAX)))
		return fail(-ENOMEM, "out of memory");
	if (!osv_format(s, m->text, TEXT_MAX))
		return -EBADMSG;
	int err = number_after(m->text, "buf=", 16, &ret->buffer);

	if (!err)
		err = number_after(m->text, "align=", 10, &ret->values[OSV_ALIGNMENT]);
	if (!err)
		err = number_after(m->text, "alloc_len=", 10, &ret->values[OSV_ALLOCATED]);
	if (!err)
		err = number_after(m->text, "req_len=", 10, &ret->values[OSV_REQUESTED]);
	return err;
}

/* Innermost frames up to malloc are not the caller's. The original keeps one that stands first. */
static int path_of(struct memory *m, const struct osv_sample *s, struct allocation *a)
{
	uint32_t id, malloc_frame;
	unsigned int nr;
	int r = osv_frames_path(m->frames, s, &a->frames, &nr, &id);

	if (r <= 0)
		return r;
	r = calltree_frame(m->texts, "malloc", &malloc_frame);
	if (r)
		return r;
	a->nr_frames = nr;
	for (uint32_t i = 0; i < nr; i++) {
		if (a->frames[i] != malloc_frame)
			continue;
		if (i || !m->opt->compat) {
			a->frames += i + 1;
			a->nr_frames -= i + 1;
		}
		break;
	}
	return 0;
}

static uint32_t *slot_of(const struct memory *m, uint32_t *slot, uint32_t mask, uint64_t buffer)
{
	uint32_t h = (uint32_t)((buffer * 0x9e3779b97f4a7c15ull) >> 36);

	while (slot[h & mask] && m->allocation[slot[h & mask] - 1].buffer != buffer)
		h++;
	return &slot[h & mask];
}

static int slots_room(struct memory *m)
{
	uint32_t mask = m->slots_mask ? m->slots_mask * 2 + 1 : 4095;

	if (m->slots_mask && m->nr_buffers * 2 < m->slots_mask)
		return 0;
	uint32_t *slot = calloc(mask + 1u, sizeof(*slot));

	if (!slot)
		return fail(-ENOMEM, "out of memory");
	for (uint32_t i = 0; i < m->nr_buffers; i++)
		*slot_of(m, slot, mask, m->allocation[m->first[i]].buffer) = m->first[i] + 1;
	free(m->slot);
	m->slot = slot;
	m->slots_mask = mask;
	return 0;
}

static int list_room(struct memory *m)
{
	uint32_t capacity = m->nr ? 2 * m->nr : 1;

	if (m->nr & (m->nr - 1))
		return 0;
	if (m->nr == ALLOCATIONS_MAX)
		return fail(-E2BIG, "more than %d allocations; narrow the time with --since and "
				    "--until", ALLOCATIONS_MAX);
	void *more = realloc(m->allocation, capacity * sizeof(*m->allocation));

	if (more)
		m->allocation = more;
	void *firsts = realloc(m->first, capacity * sizeof(*m->first));

	if (firsts)
		m->first = firsts;
	return more && firsts ? 0 : fail(-ENOMEM, "out of memory");
}

static int allocation_add(struct memory *m, const struct osv_sample *s)
{
	struct allocation a;
	int err = allocation_parse(m, s, &a);

	if (!err && !m->opt->no_backtrace && s->nr_backtrace)
		err = path_of(m, s, &a);
	if (!err)
		err = list_room(m);
	if (!err)
		err = slots_room(m);
	if (err)
		return err;
	uint32_t number = m->nr++, *slot;

	a.last = number;
	m->allocation[number] = a;
	slot = slot_of(m, m->slot, m->slots_mask, a.buffer);
	if (*slot) {
		struct allocation *first = &m->allocation[*slot - 1];

		m->allocation[first->last].next = number;
		first->last = number;
	} else {
		*slot = number + 1;
		m->first[m->nr_buffers++] = number;
	}
	return 0;
}

static int read_all(struct memory *m)
{
	struct osv_sample s;
	int r = 0, err = 0;

	osv_rewind(m->trace);
	while (!err && (r = osv_next(m->trace, &s)) > 0)
		if (m->allocator[s.tp->index] >= 0 && osv_range_has(&m->opt->range, s.time_ns))
			err = allocation_add(m, &s);
	return err ? err : r;
}

/* ---- the tree ---- */

static int child_of(struct memory *m, uint32_t parent, const struct node *like, uint32_t *ret)
{
	uint32_t i = m->nr_nodes ? m->node[parent].child : NONE;

	while (i != NONE && (m->node[i].value != like->value ||
			     m->node[i].is_frame != like->is_frame))
		i = m->node[i].sibling;
	*ret = i;
	if (i != NONE)
		return 0;
	if (m->nr_nodes == NODES_MAX)
		return fail(-E2BIG, "more than %d groups and call paths", NODES_MAX);
	if (!(m->nr_nodes & (m->nr_nodes - 1))) {
		void *more = realloc(m->node,
				     (m->nr_nodes ? 2 * m->nr_nodes : 1) * sizeof(*m->node));

		if (!more)
			return fail(-ENOMEM, "out of memory");
		m->node = more;
	}
	*ret = m->nr_nodes++;
	m->node[*ret] = *like;
	m->node[*ret].child = m->node[*ret].last_child = m->node[*ret].sibling = NONE;
	m->node[*ret].tail = NONE;
	if (!*ret)
		return 0; /* the root */
	struct node *p = &m->node[parent];

	if (p->child == NONE)
		p->child = *ret;
	else
		m->node[p->last_child].sibling = *ret;
	p->last_child = *ret;
	p->nr_children++;
	return 0;
}

static int tree_add(struct memory *m, const struct allocation *a)
{
	uint32_t at = 0, group, nr = a->nr_frames;
	int err = 0;

	for (unsigned int i = 0; i < m->opt->nr_keys && !err; i++)
		err = child_of(m, at, &(struct node){.key = m->opt->keys[i],
						     .value = a->values[m->opt->keys[i]]}, &at);
	group = at;
	if (m->opt->max_levels && nr > m->opt->max_levels)
		nr = m->opt->max_levels;
	for (uint32_t i = 0; i < nr && !err; i++) {
		err = child_of(m, at, &(struct node){.is_frame = true, .value = a->frames[i],
						     .group = group}, &at);
		if (!err)
			m->node[at].count++;
	}
	if (err)
		return err;
	m->node[group].count++;
	m->node[group].total_bytes += a->values[OSV_ALLOCATED];
	m->node[group].lost_bytes +=
		(int64_t)(a->values[OSV_ALLOCATED] - a->values[OSV_REQUESTED]);
	return 0;
}

/*
 * A frame with one child takes it in. The original does so whatever the child's count is, and
 * throws the child's children away; ours takes equals only, and keeps them.
 */
static void flatten(struct memory *m, uint32_t number)
{
	struct node *n = &m->node[number];

	for (uint32_t i = n->child; i != NONE; i = m->node[i].sibling)
		flatten(m, i);
	if (n->nr_children != 1)
		return;
	struct node *c = &m->node[n->child];

	if (!m->opt->compat && c->count != n->count)
		return;
	uint32_t *end = &n->tail;

	while (*end != NONE)
		end = &m->node[*end].tail;
	*end = n->child;
	n->child = m->opt->compat ? NONE : c->child;
	n->nr_children = m->opt->compat ? 0 : c->nr_children;
}

static void sum_up(struct memory *m, uint32_t number)
{
	struct node *n = &m->node[number];

	for (uint32_t i = n->child; i != NONE; i = m->node[i].sibling) {
		const struct node *c = &m->node[i];

		if (c->is_frame) {
			flatten(m, i);
			continue;
		}
		sum_up(m, i);
		n->count += c->count;
		n->total_bytes += c->total_bytes;
		n->lost_bytes += c->lost_bytes;
	}
}

static double unused_percent(const struct node *n)
{
	return n->total_bytes ? (double)n->lost_bytes * 100 / (double)n->total_bytes : 0;
}

static const struct memory *sorting; /* qsort has no argument */

/* Stable: a node's number tells which was first. */
static int compare(const void *a, const void *b)
{
	uint32_t i = *(const uint32_t *)a, j = *(const uint32_t *)b;
	const struct node *x = &sorting->node[i], *y = &sorting->node[j];
	double u = unused_percent(x), v = unused_percent(y);

	if (x->is_frame || y->is_frame || sorting->opt->sort == OSV_SORT_COUNT) {
		if (x->count != y->count)
			return x->count > y->count ? -1 : 1;
	} else if (sorting->opt->sort == OSV_SORT_UNUSED) {
		if (u != v)
			return u > v ? -1 : 1;
	} else if (x->value != y->value) {
		return x->value < y->value ? -1 : 1;
	}
	return i < j ? -1 : i > j;
}

static int sort_children(struct memory *m, uint32_t number)
{
	struct node *n = &m->node[number];
	_cleanup_free_ uint32_t *list = calloc(n->nr_children + 1u, sizeof(*list));
	uint32_t nr = 0, *end = &n->child;
	int err = list ? 0 : fail(-ENOMEM, "out of memory");

	for (uint32_t i = n->child; i != NONE && !err; i = m->node[i].sibling)
		list[nr++] = i;
	sorting = m;
	if (nr)
		qsort(list, nr, sizeof(*list), compare);
	for (uint32_t i = 0; i < nr; i++) {
		*end = list[i];
		end = &m->node[list[i]].sibling;
	}
	if (!err)
		*end = NONE;
	for (uint32_t i = 0; i < nr && !err; i++)
		err = sort_children(m, list[i]);
	return err;
}

/* ---- output ---- */

static bool visible(const struct memory *m, const struct node *n)
{
	if (!n->is_frame)
		return n->count >= m->opt->min_count;
	return n->count >= m->opt->min_hits &&
	       (double)(n->count * 100) / (double)m->node[n->group].count >=
		       m->opt->min_hits_percent;
}

static void name_of(const struct memory *m, const struct node *n, char *buf, size_t size)
{
	if (n == m->node)
		snprintf(buf, size, "All");
	else if (n->is_frame)
		snprintf(buf, size, "%s", calltree_frame_text(m->texts, (uint32_t)n->value));
	else if (n->key == OSV_ALLOCATOR)
		snprintf(buf, size, "%s", allocators[n->value]);
	else
		snprintf(buf, size, "%" PRIu64 "%s", n->value, key_words[n->key]);
}

struct drawing {
	const struct memory *m;
	FILE *out;
	bool last[DEPTH_MAX];
};

static void stems(const struct drawing *d, unsigned int levels)
{
	for (unsigned int i = 1; i <= levels; i++)
		fputs(d->last[i] ? "     " : " |   ", d->out);
}

static void label(const struct drawing *d, const struct node *n, unsigned int level)
{
	const struct memory *m = d->m;
	char name[4096];

	name_of(m, n, name, sizeof(name));
	if (n->is_frame)
		fprintf(d->out, "(%.2f%% #%" PRIu64 ") ",
			(double)(n->count * 100) / (double)m->node[n->group].count, n->count);
	fprintf(d->out, "%s\n", name);
	for (uint32_t i = n->tail; i != NONE; i = m->node[i].tail) {
		name_of(m, &m->node[i], name, sizeof(name));
		stems(d, level);
		fprintf(d->out, "%s\n", name);
	}
	if (n->is_frame)
		return;
	stems(d, level);
	fprintf(d->out, "count: %" PRIu64 "\n", n->count);
	if (n->lost_bytes > 0) {
		stems(d, level);
		fprintf(d->out, "unused: %d%%\n", (int)unused_percent(n));
	}
}

static uint32_t next_visible(const struct memory *m, uint32_t i)
{
	while (i != NONE && !visible(m, &m->node[i]))
		i = m->node[i].sibling;
	return i;
}

static void draw(struct drawing *d, uint32_t number, unsigned int level)
{
	const struct node *n = &d->m->node[number];

	label(d, n, level);
	if (level + 1 >= DEPTH_MAX)
		return;
	for (uint32_t i = next_visible(d->m, n->child), next; i != NONE; i = next) {
		next = next_visible(d->m, d->m->node[i].sibling);
		stems(d, level);
		fputs(next == NONE ? " \\-- " : " |-- ", d->out);
		d->last[level + 1] = next == NONE;
		draw(d, i, level + 1);
		if (next != NONE) {
			stems(d, level);
			fputs(" |   \n", d->out);
		}
	}
}

static json_t *node_json(const struct memory *m, const struct node *n, unsigned int level)
{
	json_t *children = json_array(), *tail = json_array(), *o = json_object();
	char name[4096];

	for (uint32_t i = n->tail; i != NONE; i = m->node[i].tail) {
		name_of(m, &m->node[i], name, sizeof(name));
		json_array_append_new(tail, osv_text_json(name));
	}
	for (uint32_t i = next_visible(m, n->child); i != NONE && level < DEPTH_MAX;
	     i = next_visible(m, m->node[i].sibling))
		json_array_append_new(children, node_json(m, &m->node[i], level + 1));
	name_of(m, n, name, sizeof(name));
	json_object_set_new(o, "name", osv_text_json(name));
	json_object_set_new(o, n->is_frame ? "hits" : "count", json_integer((json_int_t)n->count));
	if (n->is_frame) {
		json_object_set_new(o, "tail", tail);
	} else {
		json_decref(tail);
		json_object_set_new(o, "allocated_bytes",
				    json_integer((json_int_t)n->total_bytes));
		json_object_set_new(o, "unused_bytes", json_integer(n->lost_bytes));
	}
	json_object_set_new(o, "children", children);
	return o;
}

static int memory_open(struct memory *m)
{
	const struct osv_trace *t = m->trace;
	int err = osv_symbols_open(t, &m->opt->symbols, &m->symbols);

	if (!err)
		err = calltree_open(&m->texts);
	if (!err)
		err = osv_frames_open(m->symbols, m->texts, &m->opt->frames, &m->frames);
	m->allocator = calloc(t->nr_tracepoints + 1u, 1);
	if (!err && !m->allocator)
		err = fail(-ENOMEM, "out of memory");
	for (uint32_t i = 0; i < t->nr_tracepoints && !err; i++)
		m->allocator[i] = (int8_t)allocator_of(&t->tracepoints[i]);
	return err;
}

static int tree_make(struct memory *m)
{
	uint32_t root;
	int err = child_of(m, 0, &(struct node){0}, &root);

	for (uint32_t b = 0; b < m->nr_buffers && !err; b++)
		for (uint32_t i = m->first[b]; i != NONE && !err; i = m->allocation[i].next)
			err = tree_add(m, &m->allocation[i]);
	if (err)
		return err;
	sum_up(m, 0);
	return sort_children(m, 0);
}

static void memory_close(struct memory *m)
{
	osv_frames_close(m->frames);
	osv_symbols_close(m->symbols);
	calltree_close(m->texts);
	free(m->allocation);
	free(m->slot);
	free(m->first);
	free(m->node);
	free(m->allocator);
	free(m->text);
}

int osv_memory(struct osv_trace *t, const struct osv_memory_options *opt, struct osv_sink *sink)
{
	struct memory m = {.opt = opt, .trace = t};
	int err = memory_open(&m);

	if (!err)
		err = read_all(&m);
	if (!err)
		err = tree_make(&m);
	if (!err && visible(&m, m.node)) {
		if (sink->json)
			osv_sink_row(sink, node_json(&m, m.node, 0));
		else
			draw(&(struct drawing){.m = &m, .out = sink->out}, 0, 0);
	}
	memory_close(&m);
	return err;
}
