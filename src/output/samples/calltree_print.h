/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Writes finished call trees: as text,
 *
 *   25.23 ms (100.00%, #234) All
 *    sched::thread::wait()                           merged: the only child, of equal weight
 *    |-- 9.79 ms (38.78%, #80) sleep_impl(int)
 *    |    \-- 6.16 ms (24.42%, #53) worker_loop
 *    |
 *    \-- 15.44 ms (61.22%, #154) app_main
 *
 * folded for flame graphs, and as JSON.
 */
#ifndef HOSTRACE_CALLTREE_PRINT_H
#define HOSTRACE_CALLTREE_PRINT_H

#include <jansson.h>
#include <stdio.h>

#include "analyzers/profile/calltree.h"

/* The drawing above. */
void calltree_print(const struct calltree *t, uint32_t root, FILE *out);

/*
 * Folded, for flame graphs: "a;b;c N", N the hits that end there, for paths that were added outermost frame first.
 * `title` (or NULL) is put before each. Filters are not applied. times: N is the time in ns instead.
 */
void calltree_fold(const struct calltree *t, uint32_t root, const char *title, bool times,
		   FILE *out);

/* {"name","hits","time_ns","children":[..]}: names of merged nodes are in "tail". New reference. */
json_t *calltree_json(const struct calltree *t, uint32_t root);

#endif
