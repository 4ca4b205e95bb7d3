// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A condition as a list of comparisons, for machines that cannot recurse (bpf/any.bpf.c): each says where to go on if
 * it is true and if it is false. They are made from the last one to the first, so that where to go on is known:
 *
 *	a && (b || c)		c: yes, no	b: yes, c	a: b, no
 *
 * What the caller knows beforehand leaves no comparison. There is nothing unknown: a field that is neither known nor
 * there is an error of the caller's.
 */
#include <errno.h>

#include "base/condition_private.h"
#include "base/error.h"

struct making {
	const struct condition *c;
	const struct condition_maker *m;
};

enum known { KNOWN_FALSE, KNOWN_TRUE, NOT_KNOWN };

static enum known known_of(const struct making *k, unsigned int at)
{
	const struct node *n = &k->c->node[at];
	enum known left, right, decides = n->kind == NODE_OR ? KNOWN_TRUE : KNOWN_FALSE;
	struct condition_value v = {.number = 0};

	if (n->kind == NODE_COMPARE) {
		if (!k->m->known(k->m->arg, n->field, &v))
			return NOT_KNOWN;
		return node_holds(k->c, n, &v) ? KNOWN_TRUE : KNOWN_FALSE;
	}
	left = known_of(k, n->left);
	if (n->kind == NODE_NOT)
		return left == NOT_KNOWN    ? NOT_KNOWN
		       : left == KNOWN_TRUE ? KNOWN_FALSE
					    : KNOWN_TRUE;
	right = known_of(k, n->right);
	if (left == decides || right == decides)
		return decides;
	return left == right ? left : NOT_KNOWN;
}

static int comparison_make(const struct making *k, const struct node *n, unsigned int yes,
			   unsigned int no, unsigned int *ret)
{
	unsigned int nr = n->nr ? n->nr : 1;
	int err = 0;

	*ret = no;
	for (unsigned int i = nr; i-- && !err;) {
		const struct value *v = n->nr ? &k->c->value[n->first + i] : NULL;
		struct condition_comparison c = {.field = n->field,
						 .op = n->op == OP_IN ? OP_EQ : n->op,
						 .number = v ? v->number : 0,
						 .text = v ? v->text : NULL,
						 .yes = yes,
						 .no = *ret};

		err = k->m->make(k->m->arg, &c, ret);
	}
	return err;
}

/* Makes the comparisons of a node; *ret is where to begin. The recursion is bounded by CONDITION_NODES_MAX. */
static int node_make(const struct making *k, unsigned int at, unsigned int yes, unsigned int no,
		     unsigned int *ret)
{
	const struct node *n = &k->c->node[at];
	enum known known = known_of(k, at);
	int err;

	if (known != NOT_KNOWN) {
		*ret = known == KNOWN_TRUE ? yes : no;
		return 0;
	}
	switch (n->kind) {
	case NODE_COMPARE:
		return comparison_make(k, n, yes, no, ret);
	case NODE_NOT:
		return node_make(k, n->left, no, yes, ret);
	case NODE_AND:
		err = node_make(k, n->right, yes, no, ret);
		return err ? err : node_make(k, n->left, *ret, no, ret);
	case NODE_OR:
		err = node_make(k, n->right, yes, no, ret);
		return err ? err : node_make(k, n->left, yes, *ret, ret);
	}
	return -EINVAL;
}

int condition_make(const struct condition *c, const struct condition_maker *m, unsigned int yes,
		   unsigned int no, unsigned int *ret)
{
	return node_make(&(struct making){c, m}, c->root, yes, no, ret);
}
