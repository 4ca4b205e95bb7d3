/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Options for the names of addresses and their display. */
#ifndef HOSTRACE_COMMANDS_SYMBOL_OPTIONS_H
#define HOSTRACE_COMMANDS_SYMBOL_OPTIONS_H

#include "analyzers/profile/frames.h"
#include "base/options.h"
#include "symbols/symbols.h"

extern const struct option_row symbols_options[]; /* --symbols -x */
extern const struct option_row
	profile_symbol_options[]; /* the same and -d -e --no-inlined-by -L -A -F -S */

struct symbols_options symbols_given(void);
struct frames_options frames_given(void);

/*
 * For lists and tables: opens the file of --symbols or -e, or what `record` saved. *ret stays as it is if there is
 * none, or with -x. 0 or -errno with the error message set.
 */
int addresses_given(struct addresses **ret);

/* Notes that the file has no name for any address that was printed. NULL: there is no file. */
void addresses_unused_note(const struct addresses *a);

/* "--symbols" or "--no-resolve" if one of them was given, or NULL. */
const char *symbols_option_given(void);

/* Was an option given that is only of use with backtraces? The first one's name, or NULL. */
const char *profile_symbol_option_given(void);

#endif
