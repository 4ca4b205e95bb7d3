/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef HOSTRACE_REPORT_GRID_JSON_H
#define HOSTRACE_REPORT_GRID_JSON_H

#include <jansson.h>

#include "analyzers/blame/grid.h"
#include "event/vm_names.h"

/*
 * {"causes": [name], "exits", "outside", "spans_per_cell",
 *  "cells": [[column, row, exits, [[cause, ns]...], [[start_ns, ns, vcpu, reason, cause, what, vm]...]]...],
 *  "offsets": {"t0_ns", "column_ns", "row_ns", "cells": [[count..]..]}}: as arrays, since there are thousands of cells.
 *
 * `vms`: NULL if there is only one. Spans are dropped, the shortest of each cell first, until it takes at most `max`
 * bytes in the page. New reference; NULL: out of memory.
 */
json_t *blame_grid_json(const struct blame_grid *g, const struct vm_names *vms, size_t max);

#endif
