/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Folded stacks of two profiles, for a flame graph of what changed. */
#ifndef HOSTRACE_FOLDED_DIFF_H
#define HOSTRACE_FOLDED_DIFF_H

#include <stdint.h>
#include <stdio.h>

/*
 * a, b: lines "outermost;...;innermost COUNT", changed here. Writes "outermost;...;innermost COUNT_A COUNT_B", as
 * difffolded.pl does and flamegraph.pl reads, in order of the stacks; 0 if a profile lacks one. *ret_nr: lines written.
 * 0 or -ENOMEM with the error message set.
 */
int folded_diff(char *a, char *b, FILE *out, uint64_t *ret_nr);

#endif
