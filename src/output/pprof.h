/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A profile for `pprof` (https://github.com/google/pprof, proto/profile.proto), and for what else reads its format, as
 * speedscope. Not compressed, which its readers accept.
 */
#ifndef HOSTRACE_PPROF_H
#define HOSTRACE_PPROF_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

struct pprof {
	bool times;	       /* counts are ns, not samples */
	const char *about;     /* a comment in the profile: of which file */
	uint64_t realtime_ns;  /* when it begins, of CLOCK_REALTIME; 0: unknown */
	uint64_t duration_ns;
};

enum { PPROF_FRAMES_MAX = 1 << 20 };

/*
 * `folded`: lines "outermost;...;innermost COUNT", changed here. *ret_nr: lines with a count. 0; -E2BIG: more than
 * PPROF_FRAMES_MAX functions; -ENOMEM; with the error message set.
 */
int pprof_put(char *folded, const struct pprof *how, FILE *out, uint64_t *ret_nr);

#endif
