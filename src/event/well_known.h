/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Names of well-known ports, MMIO addresses and model-specific registers of a PC. For display only, never a key. */
#ifndef HOSTRACE_WELL_KNOWN_H
#define HOSTRACE_WELL_KNOWN_H

#include <stdint.h>

/*
 * kind: "port", "mmio" (number: a guest physical address) or "msr". Returns a constant; NULL for other kinds, and if
 * the number has no name.
 */
const char *well_known_name(const char *kind, uint64_t number);

#endif
