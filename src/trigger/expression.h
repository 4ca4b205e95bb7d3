/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The conditions of `record --trigger`: "exit-latency>5ms", "request-age>1s", "vm-end". */
#ifndef HOSTRACE_TRIGGER_EXPRESSION_H
#define HOSTRACE_TRIGGER_EXPRESSION_H

#include <stdint.h>

#include "pairing/analyzer.h"

enum { TRIGGER_NAME_MAX = 32 };

struct trigger_expression {
	char name[TRIGGER_NAME_MAX]; /* lower case letters, digits, '-': part of a file's name */
	const struct analyzer *analyzer; /* whose spans are too long; NULL: the VM's end */
	uint64_t min_ns;		 /* longer ones */
};

/*
 * "NAME>DURATION", where NAME is an analyzer whose spans have a duration or request-age (that of
 * virtqueue), or "vm-end". Spaces around '>' are skipped. -EINVAL with the error message set.
 */
int trigger_parse(const char *text, struct trigger_expression *ret);

/* Is it the name of a condition, without a duration? */
bool trigger_is_name(const char *name);

#endif
