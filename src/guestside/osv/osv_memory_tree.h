/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The tree of memory-analyzer, as osv_memory.c makes it and osv_memory_print.c writes it; nobody else includes it. */
#ifndef HOSTRACE_OSV_MEMORY_TREE_H
#define HOSTRACE_OSV_MEMORY_TREE_H

#include "guestside/osv/osv_memory.h"

enum { MEMORY_NONE = UINT32_MAX, ALLOCATORS = 5 };

/* By name, so that sorting by value sorts them by name. */
extern const char *const memory_allocators[ALLOCATORS];

/* A group, or a frame of a call path. */
struct memory_node {
	uint32_t parent, child, last_child, sibling, nr_children, group; /* group: of a call path */
	enum osv_memory_key key;
	bool is_frame;
	uint64_t value; /* of the key, or a frame's number */
	uint64_t count, total_bytes;
	int64_t lost_bytes;
	uint32_t tail; /* frames taken in, chained through their own tail */
};

struct memory_tree {
	const struct osv_memory_options *opt;
	const struct calltree *texts; /* only its frame texts are used */
	struct memory_node *node;     /* the root is the first */
};

double memory_unused_percent(const struct memory_node *n);

/* Writes it as text, or as a row of JSON. Sorted and summed up already. */
void memory_tree_print(const struct memory_tree *tree, struct osv_sink *sink);

#endif
