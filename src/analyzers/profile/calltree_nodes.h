/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The nodes of a call tree, for calltree.c and for printing a finished tree (output/samples/calltree_print.c). */
#ifndef HOSTRACE_CALLTREE_NODES_H
#define HOSTRACE_CALLTREE_NODES_H

#include "analyzers/profile/calltree.h"
#include "base/hash.h"

enum { CALLTREE_NONE = UINT32_MAX };

struct calltree_node {
	uint32_t frame, parent, child, last_child, sibling; /* node numbers or CALLTREE_NONE */
	uint32_t tail; /* first of the nodes merged into this one, chained through their own tail */
	uint32_t nr_children;
	uint32_t title; /* of a root: a frame number, or CALLTREE_NONE */
	uint64_t hits;
	double time_ns;
};

struct calltree {
	struct calltree_node *node;
	uint32_t nr_nodes;
	char **frame;
	uint32_t nr_frames;
	struct hash_table by_text;
	struct hash_index by_step; /* in `node`, by parent and frame */
	uint32_t *root;
	unsigned int nr_roots;
	struct calltree_options opt;
};

#endif
