// SPDX-License-Identifier: GPL-2.0-or-later
/* Evaluates a condition for a record. The recursion is bounded by CONDITION_NODES_MAX: a chain of && or ||. */
#include <float.h>
#include <fnmatch.h>
#include <stdio.h>
#include <string.h>

#include "base/condition_private.h"

_Static_assert(LDBL_MANT_DIG >= 64, "a long double holds every integer of 64 bits");

enum verdict { IS_FALSE, IS_TRUE, IS_UNKNOWN };

struct evaluation {
	const struct condition *c;
	condition_get *get;
	void *arg;
};

static bool is_named(const char *list, const char *name)
{
	size_t len = strlen(name);

	for (const char *p = list; p && *p; p += strcspn(p, ","), p += *p == ',')
		if (strcspn(p, ",") == len && !strncasecmp(p, name, len))
			return true;
	return false;
}

static bool equals(const struct condition_value *v, const struct value *value)
{
	if (!value->text)
		return v->number == value->number;
	return !(v->fold ? strcasecmp : strcmp)(v->text, value->text) ||
	       is_named(v->others, value->text);
}

static bool glob_matches(const struct condition_value *v, const char *glob)
{
	char name[CONDITION_TEXT_MAX];
	int flags = v->fold ? FNM_CASEFOLD : 0;

	if (!fnmatch(glob, v->text, flags))
		return true;
	for (const char *p = v->others; p && *p; p += strcspn(p, ","), p += *p == ',') {
		snprintf(name, sizeof(name), "%.*s", (int)strcspn(p, ","), p);
		if (!fnmatch(glob, name, flags))
			return true;
	}
	return false;
}

bool node_holds(const struct condition *c, const struct node *n, const struct condition_value *v)
{
	const struct value *value = &c->value[n->first];

	switch (n->op) {
	case OP_EQ:
	case OP_IN:
		for (unsigned int i = 0; i < n->nr; i++)
			if (equals(v, &value[i]))
				return true;
		return false;
	case OP_NE:
		return !equals(v, value);
	case OP_LT:
		return v->number < value->number;
	case OP_LE:
		return v->number <= value->number;
	case OP_GT:
		return v->number > value->number;
	case OP_GE:
		return v->number >= value->number;
	case OP_GLOB:
		return glob_matches(v, value->text);
	case OP_NO_GLOB:
		return !glob_matches(v, value->text);
	case OP_NONE:
		break;
	}
	return v->number != 0;
}

static enum verdict evaluate(const struct evaluation *e, unsigned int at)
{
	const struct node *n = &e->c->node[at];
	struct condition_value v;
	enum verdict left, right, decides = n->kind == NODE_OR ? IS_TRUE : IS_FALSE;

	if (n->kind == NODE_COMPARE) {
		v.others = NULL;
		v.fold = false;
		if (!e->get(e->arg, n->field, &v))
			return IS_UNKNOWN;
		return node_holds(e->c, n, &v) ? IS_TRUE : IS_FALSE;
	}
	left = evaluate(e, n->left);
	if (n->kind == NODE_NOT)
		return left == IS_UNKNOWN ? IS_UNKNOWN : left == IS_TRUE ? IS_FALSE : IS_TRUE;
	if (left == decides)
		return decides;
	right = evaluate(e, n->right);
	return right == decides ? decides : left == IS_UNKNOWN ? IS_UNKNOWN : right;
}

bool condition_holds(const struct condition *c, condition_get *get, void *arg)
{
	const struct evaluation e = {c, get, arg};

	return evaluate(&e, c->root) == IS_TRUE;
}
