/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Lists and trees in an OSv guest, of Boost (intrusive) and libstdc++: their nodes, in order. A node is the hook in an
 * object, or what libstdc++ has in front of one. A guest that runs changes them meanwhile, and any guest may have
 * damaged them: what cannot be followed ends the walk, which osv_guest.lost says.
 */
#ifndef HOSTRACE_OSV_CONTAINERS_H
#define HOSTRACE_OSV_CONTAINERS_H

#include "fetch/osv_guest.h"

enum {
	OSV_NODES_MAX = 1 << 20, /* of one container */
	OSV_BOOST_LEFT = 8, /* where a node of a tree has its left child; the right one follows */
	OSV_STD_LEFT = 16,

	OSV_STD_HEADER = 8, /* of a std::set: the node of its header */
	OSV_STD_ROOT = 8,   /* ... and in it the root */
	OSV_STD_VALUE = 32, /* of a node */
};

/* Returns 0, or -errno with the error message set, which ends the walk. */
typedef int osv_node_fn(void *arg, uint64_t node);

/* A ring of nodes, closed by the list's header; each begins with the address of the next. `what`: "list of timers" */
int osv_list_walk(struct osv_guest *g, const char *what, uint64_t header, osv_node_fn *fn,
		  void *arg);

/* A binary tree by its root, from its leftmost node on. */
int osv_tree_walk(struct osv_guest *g, const char *what, uint64_t root, unsigned int left,
		  osv_node_fn *fn, void *arg);

#endif
