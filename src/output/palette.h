/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The colour of each state (palette.def). */
#ifndef HOSTRACE_PALETTE_H
#define HOSTRACE_PALETTE_H

/* "#rrggbb"; of a state that is not in the table, that of "unknown". */
const char *palette_fill(const char *state);

#endif
