/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The tree of allocations: memory.c reads them into it, output/samples/memory_print.c prints it; only these two files
 * include this header.
 *
 * Groups by key are at the top, call paths below. A call path's node holds all the frames that its allocations share,
 * not one frame: a guest that allocates many sizes at many call sites would have millions of nodes, nearly all of them
 * the only child of their parent, to be merged for printing.
 */
#ifndef HOSTRACE_MEMORY_TREE_H
#define HOSTRACE_MEMORY_TREE_H

#include "analyzers/profile/memory.h"
#include "base/hash.h"

enum { MEMORY_NONE = UINT32_MAX, ALLOCATORS = 5 };

/* By name, so that sorting by value sorts them by name. */
extern const char *const memory_allocators[ALLOCATORS];

/* The root is a group, too. */
struct memory_node {
	uint32_t child, last_child, sibling, nr_children;
	uint32_t id, parent_id; /* for finding children: a node that is split passes its id on */
	uint32_t count;
	uint8_t key; /* enum memory_key */
	bool is_frame;
	union {
		struct { /* a group */
			uint64_t value; /* of the key */
			/* Sizes are whatever the guest wrote: their sums need more bits. */
			unsigned __int128 total_bytes;
			__int128 lost_bytes;
		};
		struct {			/* part of a call path */
			const uint32_t *frames; /* innermost first; not owned */
			uint32_t nr_frames;
			uint32_t group;
			uint32_t tail; /* a node whose frames (and tail) belong here as well */
		};
	};
};

struct memory_tree {
	const struct memory_options *opt;
	const struct calltree *texts; /* only its frame texts are used */
	struct memory_node *node;     /* the root is the first */
	uint32_t nr_nodes;
	struct hash_index children; /* in `node`, by parent's id and value or first frame */
};

/* Creates the root. This and the others return 0, -ENOMEM, or -E2BIG beyond 4 Mi nodes. */
int memory_tree_open(struct memory_tree *t);
void memory_tree_close(struct memory_tree *t);

/* An allocation; `frames` must live as long as the tree. */
int memory_tree_add(struct memory_tree *t, const uint64_t values[MEMORY_KEYS],
		    const uint32_t *frames, uint32_t nr_frames);

/* Computes the groups' sums and sorts; to be called after the last allocation. */
int memory_tree_finish(struct memory_tree *t);

double memory_unused_percent(const struct memory_node *n);

/* The first of these siblings that the options do not hide, from `number` on; or MEMORY_NONE. */
uint32_t memory_tree_visible(const struct memory_tree *t, uint32_t number);

#endif
