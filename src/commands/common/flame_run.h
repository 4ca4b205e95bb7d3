/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A profile's folded stacks in other formats: as a flame graph (svg, flame), or for pprof. */
#ifndef HOSTRACE_COMMANDS_FLAME_RUN_H
#define HOSTRACE_COMMANDS_FLAME_RUN_H

#include "input/input_set.h"
#include "output/flame_svg.h"
#include "output/output.h"

/*
 * Writes them in out->format. `folded` as in flame_svg_put(). `in` was read to its end, NULL: `file` is an OSv trace.
 * *ret_nr: stacks. 0 or -errno with the error message set.
 */
int flame_run(char *folded, const char *title, bool times, const struct input_set *in,
	      const char *file, const struct output *out, uint64_t *ret_nr);

#endif
