/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Names of well-known ports, MMIO addresses and model-specific registers of a PC. For display only, never a key. */
#ifndef HOSTRACE_PLACES_H
#define HOSTRACE_PLACES_H

#include <stdint.h>

/* NULL if it is not well known. `kind` is "port", "mmio" (an address) or "msr"; others have no names. */
const char *place_name(const char *kind, uint64_t number);

#endif
