/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef HOSTRACE_TOP_NODES_H
#define HOSTRACE_TOP_NODES_H

#include "views/top/model.h"

/* The node of this key, made if there is none; NULL: out of memory, error message set. */
struct top_node *top_node_get(struct top_node *parent, enum top_list list, enum top_kind kind,
			      uint64_t key);

/* Frees node i of the list and all below it. */
void top_node_remove(struct top_node *parent, enum top_list list, unsigned int i);

/* Frees what is below a node. */
void top_node_clear(struct top_node *n);

void top_history_add(struct top_node *n, double value);
/* Adds history_count as a rate, of the last interval also if the figures are those since the start. */
void top_history_rate(const struct top_model *m, struct top_node *n);

#endif
