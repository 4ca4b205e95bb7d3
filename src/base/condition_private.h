/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A parsed condition: made by condition.c, evaluated by condition_holds.c. */
#ifndef HOSTRACE_CONDITION_PRIVATE_H
#define HOSTRACE_CONDITION_PRIVATE_H

#include "base/condition.h"

enum node_kind { NODE_OR, NODE_AND, NODE_NOT, NODE_COMPARE };

struct node {
	enum node_kind kind;
	unsigned int left, right; /* nodes */
	enum condition_op op;
	unsigned int field, first, nr; /* of a comparison: the values */
};

struct value {
	long double number;
	char *text; /* NULL: a number */
	size_t at, len;
};

struct condition {
	char *option, *text;
	struct node node[CONDITION_NODES_MAX];
	struct value value[CONDITION_VALUES_MAX];
	struct condition_field field[CONDITION_FIELDS_MAX];
	unsigned int nr_nodes, nr_values, nr_fields, root;
	char *single; /* the only value as it is written */
};

/* Does a comparison hold for its field's value? */
bool node_holds(const struct condition *c, const struct node *n, const struct condition_value *v);

#endif
