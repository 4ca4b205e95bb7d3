/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Distinct backtraces, numbered from 0 in order of appearance: a trace has many samples and few backtraces, so data
 * derived from one (frames, text) is computed once and stored by its number. Frames that have only a name (tracefs's
 * text, "hlt exit") get an address that no machine has.
 */
#ifndef HOSTRACE_BACKTRACES_H
#define HOSTRACE_BACKTRACES_H

#include "event/sample.h"

enum {
	BACKTRACES_MAX = 1 << 17,
	BACKTRACE_NAMES_MAX = 1 << 16,
	BACKTRACE_BYTES_MAX = 16 << 20, /* of copies */
};

#define BACKTRACE_NONE UINT32_MAX

struct backtraces;

int backtraces_open(struct backtraces **ret);
void backtraces_close(struct backtraces *b);
DEFINE_CLEANUP(backtraces, struct backtraces *, backtraces_close);

/*
 * The number of the sample's backtrace: 1 if it is new, 0 if it was seen before, -errno with the error message set. Its
 * bytes must live as long as this. All beyond BACKTRACES_MAX are new each time, with number BACKTRACE_NONE.
 */
int backtrace_number(struct backtraces *b, const struct sample *s, uint32_t *ret);

/*
 * Sets the sample's backtrace to a copy that lives as long as this; all beyond the limits have one frame, whose name
 * says so. Addresses as in a ring: return addresses.
 */
int backtrace_set(struct backtraces *b, struct sample *to, const uint64_t *address,
		  unsigned int nr);

/* The address that represents a name; 0: too many names. */
uint64_t backtrace_address(struct backtraces *b, const char *name);
/* The same of code in the file `dso`, which may be NULL. */
uint64_t backtrace_address_in(struct backtraces *b, const char *name, const char *dso);
/* NULL: the address represents no name; the file of that code is unknown. */
const char *backtrace_name(const struct backtraces *b, uint64_t address);
const char *backtrace_dso(const struct backtraces *b, uint64_t address);

#endif
