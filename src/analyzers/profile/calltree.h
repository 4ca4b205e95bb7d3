/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A tree of call paths with hits and time. A node with one child of equal weight is merged with it.
 *
 * Frames are interned once (calltree_frame); a path is a list of frames from the root outwards.
 * Paths may be added once and then weighted many times by their leaf (calltree_path,
 * calltree_weigh), so that a sample costs one addition. Sums go up the tree when it is finished.
 */
#ifndef HOSTRACE_CALLTREE_H
#define HOSTRACE_CALLTREE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/cleanup.h"

enum {
	CALLTREE_NODES_MAX = 8 << 20,
	CALLTREE_FRAMES_MAX = 1 << 20,
};

struct calltree;

int calltree_open(struct calltree **ret);
void calltree_close(struct calltree *t);
DEFINE_CLEANUP(calltree, struct calltree *, calltree_close);

/* The number of a frame text; the same text has the same number. -E2BIG, -ENOMEM. */
int calltree_frame(struct calltree *t, const char *text, uint32_t *ret);

const char *calltree_frame_text(const struct calltree *t, uint32_t frame);

/* A new root of this label; several make groups, printed one after another. */
int calltree_root(struct calltree *t, const char *label, uint32_t *ret_node);

/* The node at the end of a path below a root; created if it does not exist. */
int calltree_path(struct calltree *t, uint32_t root, const uint32_t *frames, unsigned int nr,
		  uint32_t *ret_node);

/* Adds to a node and, in calltree_finish(), to all its ancestors. */
void calltree_weigh(struct calltree *t, uint32_t node, uint64_t hits, double time_ns);

struct calltree_options {
	unsigned int max_levels; /* below the root, after merging; 0: all */
	double min_time_ns;
	uint64_t min_hits;
	double min_hits_percent; /* of the root's hits */
};

/* Sums, merges and sorts; the tree must not be changed afterwards. */
void calltree_finish(struct calltree *t, const struct calltree_options *opt);

/* The heading of a root's tree where there are several: "Thread worker (0x..)". */
int calltree_root_title(struct calltree *t, uint32_t root, const char *title);
const char *calltree_title(const struct calltree *t, uint32_t root);

/* Roots in order of weight. */
unsigned int calltree_nr_roots(const struct calltree *t);
uint32_t calltree_root_at(const struct calltree *t, unsigned int i);
uint64_t calltree_root_hits(const struct calltree *t, uint32_t root);

#endif
