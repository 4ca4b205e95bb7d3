/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Call paths with their sums, and the tree that is made of them.
 *
 * Frames are texts, each stored once (calltree_frame). A path is a list of frames from the root outwards, stored once,
 * too (calltree_path). What is measured is added to the sums of a path below a root (calltree_weigh): one look-up per
 * sample. calltree_finish() makes the tree of these sums. Allocations are different only in having groups by key
 * between the root and their paths, and bytes (calltree_allocation).
 *
 * A compressed recording of some kilobytes can hold a million different paths, and the length of texts and paths is the
 * guest's choice: so memory is limited by an estimate of bytes. All frames and paths beyond are one, which says so and
 * has their hits.
 *
 * A node of the tree holds all the frames that its samples share, not one frame: a guest that allocates many sizes at
 * many call sites would have millions of nodes, nearly all of them the only child of their parent.
 */
#ifndef HOSTRACE_CALLTREE_H
#define HOSTRACE_CALLTREE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/cleanup.h"
#include "base/hash.h"

enum {
	CALLTREE_NODES_MAX = 8 << 20,
	CALLTREE_TEXTS_MAX = 1 << 20,
	CALLTREE_PATHS_MAX = 4 << 20,
	CALLTREE_STEPS_MAX = 1 << 28, /* frames of all paths */
	CALLTREE_SUMS_MAX = 8 << 20,
	CALLTREE_MIB_MAX = 48, /* of a profile of samples; that of allocations has a limit of its own */
};

#define CALLTREE_NONE UINT32_MAX

enum allocation_key {
	ALLOCATION_ALLOCATOR,
	ALLOCATION_ALIGNMENT,
	ALLOCATION_ALLOCATED,
	ALLOCATION_REQUESTED,
	ALLOCATION_KEYS
};
enum allocation_sort { ALLOCATIONS_BY_SIZE, ALLOCATIONS_BY_COUNT, ALLOCATIONS_BY_UNUSED };

enum { ALLOCATORS = 5 };

/* By name, so that sorting by value sorts them by name. */
extern const char *const allocators[ALLOCATORS];

/* What is shown; and of allocations, which groups there are. */
struct calltree_options {
	unsigned int max_levels; /* of samples: below the root; of allocations: frames of a path; 0: all */
	double min_time_ns;
	uint64_t min_hits;
	double min_hits_percent; /* of the root's hits; of allocations, of the group's */
	bool allocations, compat;
	enum allocation_key keys[16];
	unsigned int nr_keys;
	enum allocation_sort sort;
	uint64_t min_count; /* of a group */
	size_t page_bytes; /* as JSON: nodes that certainly do not fit are one "(N more)"; 0: all fit */
};

struct calltree_node {
	uint32_t child, last_child, sibling, nr_children; /* numbers of nodes, or CALLTREE_NONE */
	uint32_t id, parent_id; /* for finding children: a node that is split passes its id on */
	uint32_t nr_frames;	/* 0: a root, or a group of allocations */
	union {
		uint32_t tail; /* a node whose frames (and tail) belong here as well; or CALLTREE_NONE */
		uint32_t key;  /* of a group: enum allocation_key */
	};
	union {
		uint32_t frames; /* the first one's index in calltree.step */
		uint64_t value;	 /* of a group's key; of a root: its title, a frame or CALLTREE_NONE */
	};
	uint64_t hits;
	union {
		double time_ns;
		struct { /* of a group. Sizes are whatever the guest wrote: their sums need more bits. */
			unsigned __int128 allocated_bytes;
			__int128 unused_bytes;
		};
	};
};

struct calltree_path {
	uint32_t at, nr; /* in calltree.step */
	uint32_t sum;	 /* the number + 1 of its newest one; 0: none yet */
};

/* Of one path below one root. */
struct calltree_sum {
	uint32_t root, path;
	uint64_t hits;
	double time_ns;
};

struct calltree {
	char **text;
	uint32_t nr_texts;
	struct hash_table by_text;
	uint32_t *step; /* the frames of all paths, one path after another */
	uint32_t nr_steps;
	struct calltree_path *path;
	uint32_t nr_paths;
	struct hash_index by_frames; /* in `path` */
	struct calltree_sum *sum;    /* in order of appearance */
	uint32_t nr_sums;
	struct hash_index by_path; /* in `sum` */
	struct calltree_node *node;
	uint32_t nr_nodes;
	struct hash_index children; /* in `node`, by parent's id and value or first frame */
	uint32_t *root;		    /* by weight once the tree is finished */
	unsigned int nr_roots;
	struct calltree_options opt;
	size_t bytes, max_bytes; /* an estimate of the memory used; its limit */
};

int calltree_open(const struct calltree_options *opt, struct calltree **ret);
void calltree_close(struct calltree *t);
DEFINE_CLEANUP(calltree, struct calltree *, calltree_close);

/*
 * All of these return 0, -ENOMEM, or -E2BIG beyond the limits above, with the error message set.
 *
 * The number of a frame's text, of a path of such frames, of a new root. Several roots make groups, printed one after
 * another, each under its title ("Thread worker (0x..)"; NULL: none). All texts and paths beyond the limit of memory
 * are one frame, which says so.
 */
int calltree_frame(struct calltree *t, const char *text, uint32_t *ret);
int calltree_path(struct calltree *t, const uint32_t *frames, uint32_t nr, uint32_t *ret);
int calltree_root(struct calltree *t, uint32_t *ret);
int calltree_title(struct calltree *t, uint32_t root, const char *title);

int calltree_weigh(struct calltree *t, uint32_t root, uint32_t path, uint64_t hits, double time_ns);

/* An allocation below root 0. path CALLTREE_NONE: it has none. */
int calltree_allocation(struct calltree *t, const uint64_t values[ALLOCATION_KEYS], uint32_t path);

/* Makes the tree, or ends that of allocations: merges nodes and sorts. Nothing may be added afterwards. */
int calltree_finish(struct calltree *t);

/* ---- a finished tree ---- */

/* Do the options show it? `of`: the root or group that it is below, or the node itself if it is one. */
bool calltree_visible(const struct calltree *t, const struct calltree_node *n,
		      const struct calltree_node *of);

double calltree_unused_percent(const struct calltree_node *group);

/* The texts of a node's frames, those merged into it included: from (struct calltree_at){n} on; NULL: no more. */
struct calltree_at {
	const struct calltree_node *node;
	uint32_t i;
};
const char *calltree_next(const struct calltree *t, struct calltree_at *at);

/* "" if it has none. */
const char *calltree_root_title(const struct calltree *t, uint32_t root);

/* Of all roots. */
uint64_t calltree_hits(const struct calltree *t);

#endif
