/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The paths of the requests that an item has to do with. */
#ifndef HOSTRACE_BROWSE_FLOWS_H
#define HOSTRACE_BROWSE_FLOWS_H

#include "analyzers/path/path.h"
#include "browse/internal.h"

/* Times are absolute. */
struct browse_item {
	uint32_t track; /* of the index */
	uint64_t from_ns, to_ns;
	uint64_t read_from_ns, read_to_ns; /* set by browse_flows(): requests that are not within lack points */
};

/*
 * {"from_ns", "to_ns": what was read, "left_out": further requests,
 *  "flows": [{"pid", "device", "queue", "head", "points": [{"point", "ns", "tid", "track"}...]}...]}
 *
 * 0 or -errno with the error message set.
 */
int browse_flows(struct browse *b, struct browse_item *item, json_t **ret);

#endif
