// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Lists and trees by their links (osv_containers.h). Each node is visited once: one that is met again ends the walk. A
 * tree is walked with a stack of the nodes whose left side is being visited; a balanced one has few of them.
 */
#include <errno.h>
#include <inttypes.h>

#include "base/error.h"
#include "base/hash.h"
#include "fetch/osv_containers.h"

enum { DEPTH_MAX = 128 };

struct nodes {
	struct osv_guest *g;
	const char *what;
	struct hash_table seen;
};

/* Ends here, before its end: the first loss is kept. */
static void nodes_leave(struct nodes *n, uint64_t node, const char *why)
{
	char *end = n->g->lost.end;

	if (!*end)
		snprintf(end, sizeof(n->g->lost.end),
			 "the %s breaks off at 0x%" PRIx64 " after %u nodes: %s", n->what, node,
			 n->seen.nr, why);
}

/* 1: visit it; 0: the walk ends; -ENOMEM. */
static int node_enter(struct nodes *n, uint64_t node)
{
	bool first;

	if (n->seen.nr == OSV_NODES_MAX && !hash_find_u64(&n->seen, node)) {
		nodes_leave(n, node, "it has more nodes");
		return 0;
	}
	if (!hash_add_u64(&n->seen, node, &first))
		return fail(-ENOMEM, "out of memory");
	if (!first)
		nodes_leave(n, node, "it returns to that node");
	return first;
}

/* 0; 1: it cannot be read, which ends the walk; -errno. */
static int link_read(struct nodes *n, uint64_t node, unsigned int offset, uint64_t *ret)
{
	int err = osv_guest_u64(n->g, node + offset, ret);

	if (err != -EFAULT)
		return err;
	nodes_leave(n, node, error_text());
	return 1;
}

int osv_list_walk(struct osv_guest *g, const char *what, uint64_t header, osv_node_fn *fn,
		  void *arg)
{
	struct nodes n = {g, what, HASH_TABLE(uint64_t, 1, OSV_NODES_MAX)};
	uint64_t node = header;
	int err;

	while (!(err = link_read(&n, node, 0, &node)) && node != header) {
		err = node_enter(&n, node);
		if (err <= 0 || (err = fn(arg, node)))
			break;
	}
	hash_deinit(&n.seen);
	return err < 0 ? err : 0;
}

/* Down on the left side; each node on the way gets its turn later. 0; 1: the walk ends; -errno. */
static int left_descend(struct nodes *n, uint64_t node, unsigned int left, uint64_t *stack,
			unsigned int *depth)
{
	int err = 0;

	while (node && !err) {
		err = node_enter(n, node);
		if (err <= 0)
			return err < 0 ? err : 1;
		if (*depth == DEPTH_MAX) {
			nodes_leave(n, node, "it is too deep");
			return 1;
		}
		stack[(*depth)++] = node;
		err = link_read(n, node, left, &node);
	}
	return err;
}

int osv_tree_walk(struct osv_guest *g, const char *what, uint64_t root, unsigned int left,
		  osv_node_fn *fn, void *arg)
{
	struct nodes n = {g, what, HASH_TABLE(uint64_t, 1, OSV_NODES_MAX)};
	uint64_t stack[DEPTH_MAX], node;
	unsigned int depth = 0;
	int err = left_descend(&n, root, left, stack, &depth);

	while (err >= 0 && depth) {
		node = stack[--depth];
		if ((err = fn(arg, node)))
			break;
		err = link_read(&n, node, left + 8, &node);
		if (!err)
			err = left_descend(&n, node, left, stack, &depth);
		if (err)
			break;
	}
	hash_deinit(&n.seen);
	return err < 0 ? err : 0;
}
