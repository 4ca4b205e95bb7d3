/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Probes that the user names (record -e kprobe:FUNCTION ...): which values they record, by the names that the probed
 * function or mark has for them. any_kernel.c: functions of the kernel; any_user.c: of programs.
 */
#ifndef HOSTRACE_ANY_PROBE_H
#define HOSTRACE_ANY_PROBE_H

#include "collector/collector.h"

struct btf;

enum {
	PROBE_ARGS_MAX = 32, /* that a function may have */
	PROBE_NAME_MAX = 64,
	PROBE_SIGNATURE_MAX = 1024,
	NEAREST_MAX = 3, /* other names in a message */
};

/* A value that a probe could record. */
struct probe_value {
	char name[PROBE_NAME_MAX];
	const char *fmt;
	enum field_kind kind;
	uint16_t size; /* 1, 2, 4 or 8 */
	uint8_t source;
	const char *why_not; /* NULL: it can be recorded */
};

/* All that it could: arguments in their order, and what the function returns. */
struct probe_values {
	struct probe_value arg[PROBE_ARGS_MAX], ret;
	unsigned int nr_args;
	bool has_ret;
	char signature[PROBE_SIGNATURE_MAX]; /* for messages */
};

/*
 * Chooses them by "[NAME=]ARGUMENT ...", where ARGUMENT is a name, arg0 to argN or ret; all if there are no words. Sets
 * e->settings and registers e's type. -EINVAL, -E2BIG, ... with the error message set.
 */
int probe_choose(struct any_event *e, const struct probe_values *values, const char *words);

/* The arguments of a function by its type; at_return: only what it returns, but with_args those, too. */
void probe_values_of(const struct btf *btf, const char *name, unsigned int proto, bool trampoline,
		     bool with_args, bool at_return, struct probe_values *ret);

/* Fills e->kind and what belongs to it, from "kprobe:FUNCTION [NAME=]ARGUMENT ...". Errors as above. */
int any_kernel_read(struct any_events *a, struct any_event *e, const char *function,
		    const char *words);

/* The same of "PATH:FUNCTION[+OFFSET]", "PATH:PROVIDER:NAME": of programs. */
int any_uprobe_read(struct any_event *e, const char *target, const char *words);
int any_usdt_read(struct any_event *e, const char *target, const char *words);

/* What any_kernel_read() keeps in *a. */
void any_kernel_forget(struct any_events *a);

/* ---- names that are not known ---- */

struct nearest {
	const char *word;
	unsigned int nr;
	struct {
		unsigned int distance;
		char name[EVENT_NAME_MAX];
	} of[NEAREST_MAX];
};

void nearest_try(struct nearest *n, const char *name);

/* "; the nearest: 'A', 'B'", or "". Returns buf. */
const char *nearest_print(const struct nearest *n, char *buf, size_t size);

#endif
