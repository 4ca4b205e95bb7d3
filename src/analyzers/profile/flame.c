// SPDX-License-Identifier: GPL-2.0-or-later
#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "analyzers/profile/flame.h"
#include "base/error.h"

struct stack {
	uint64_t hits;
	const uint32_t *frames; /* numbers in the tree, outermost first */
	unsigned int nr;
	bool seen;
};

struct flame {
	const struct flame_options *opt;
	struct symbols *symbols;
	struct frames *frames;
	struct calltree *tree; /* finds equal stacks: a stack is the node at its end */
	uint32_t root;
	struct stack *stack; /* by node */
	uint32_t nr_stacks;
	uint32_t *order, nr; /* nodes in order of appearance */
	uint32_t *node_of, nr_nodes_of; /* by number of the backtrace; 0: not yet */
};

/* Grows an array to at least nr + 1 elements, zeroed; lengths are powers of two. */
static int array_grow(void *array, uint32_t *len, uint32_t nr, size_t size)
{
	uint32_t want = *len ? *len : 1024;
	char *old, *more;

	if (nr < *len)
		return 0;
	while (want <= nr)
		want *= 2;
	memcpy(&old, array, sizeof(old));
	more = realloc(old, want * size);
	if (!more)
		return fail(-ENOMEM, "out of memory");
	memset(more + *len * size, 0, (want - *len) * size);
	memcpy(array, &more, sizeof(more));
	*len = want;
	return 0;
}

static int stack_new(struct flame *f, const uint32_t *frames, unsigned int nr, uint32_t id)
{
	uint32_t node, len = f->nr & (f->nr - 1) ? UINT32_MAX : f->nr;
	int err = calltree_path(f->tree, f->root, frames, nr, &node);

	if (!err)
		err = array_grow(&f->stack, &f->nr_stacks, node, sizeof(*f->stack));
	if (!err)
		err = array_grow(&f->node_of, &f->nr_nodes_of, id, sizeof(*f->node_of));
	if (!err && len != UINT32_MAX) { /* a power of two: full, or the first */
		void *more = realloc(f->order, (len ? 2 * len : 1) * sizeof(*f->order));

		if (!more)
			return fail(-ENOMEM, "out of memory");
		f->order = more;
	}
	if (err)
		return err;
	f->node_of[id] = node;
	if (!f->stack[node].seen) {
		f->stack[node] = (struct stack){.frames = frames, .nr = nr, .seen = true};
		f->order[f->nr++] = node;
	}
	return 0;
}

static int sample_add(struct flame *f, const struct sample *s)
{
	const uint32_t *frames;
	unsigned int nr;
	uint32_t id;
	int r = frames_path(f->frames, s, &frames, &nr, &id), err = 0;

	if (r <= 0)
		return r;
	if (id >= f->nr_nodes_of || !f->node_of[id])
		err = stack_new(f, frames, nr, id);
	if (!err)
		f->stack[f->node_of[id]].hits++;
	return err;
}

static int read_all(struct flame *f, struct sample_trace *t)
{
	const struct time_range *range = &f->opt->range;
	struct sample s;
	int r = 0, err = 0;

	sample_rewind(t);
	while (!err && (r = sample_next(t, &s)) > 0) {
		bool in = f->opt->compat ? time_range_trim(range, s.time_ns, 0, &(double){0})
					 : time_range_has(range, s.time_ns);

		if (in && s.nr_backtrace && !(s.tp->kind && s.stands_in) &&
		    (!f->opt->tracepoint || sample_type_is(s.tp, f->opt->tracepoint)))
			err = sample_add(f, &s);
	}
	return err ? err : r;
}

int flame_open(struct sample_trace *t, const struct flame_options *opt, struct flame **ret)
{
	_cleanup_(flame_cleanup_) struct flame *f = calloc(1, sizeof(*f));
	struct frames_options frames = opt->frames;
	int err = f ? symbols_open(t, &opt->symbols, &f->symbols) : fail(-ENOMEM, "out of memory");

	frames.caller_oriented = true; /* outermost first */
	frames.decimal = opt->compat;
	frames.show_line = frames.show_file = frames.show_address = false; /* names alone */
	if (opt->compat)
		frames.function = NULL;
	if (!err)
		err = calltree_open(&f->tree);
	if (!err)
		err = calltree_root(f->tree, "All", &f->root);
	if (!err)
		err = frames_open(f->symbols, f->tree, &frames, &f->frames);
	if (err)
		return err;
	f->opt = opt;
	err = read_all(f, t);
	if (!err)
		*ret = take_ptr(f);
	return err;
}

void flame_close(struct flame *f)
{
	if (!f)
		return;
	frames_close(f->frames);
	calltree_close(f->tree);
	symbols_close(f->symbols);
	free(f->stack);
	free(f->order);
	free(f->node_of);
	free(f);
}

uint32_t flame_nr_stacks(const struct flame *f)
{
	return f->nr;
}

struct flame_stack flame_stack(const struct flame *f, uint32_t i)
{
	const struct stack *k = &f->stack[f->order[i]];

	return (struct flame_stack){k->nr, k->hits, k->frames};
}

const char *flame_frame(const struct flame *f, uint32_t frame)
{
	return calltree_frame_text(f->tree, frame);
}
