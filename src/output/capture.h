/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What a command would print, in memory: its answer, its notes and its error message. While common.capture is set, a
 * command prints nothing, opens no file for writing and does not confine the process.
 */
#ifndef HOSTRACE_CAPTURE_H
#define HOSTRACE_CAPTURE_H

#include <jansson.h>
#include <stdbool.h>
#include <stdio.h>

#include "base/options.h"

enum {
	CAPTURE_BYTES_MAX = 256 << 20, /* of the answer */
	CAPTURE_ERROR_BYTES = 1536,
};

struct capture {
	const struct text_list *only; /* no other file may be named; NULL: any may */
	const char *(*stop)(void *arg); /* why an SQL query is to end, or NULL; may be NULL */
	void *stop_arg;
	char *text; /* the answer, owned, ends with a 0; NULL: there is none */
	size_t bytes, capacity;
	bool too_large, complete;
	json_t *notes; /* texts; owned */
	char error[CAPTURE_ERROR_BYTES]; /* "": none */
};

/* The stream of the answer. 0 or -ENOMEM with the error message set. */
int capture_open(struct capture *c, FILE **ret);

/* Closes it. 0, or -errno with the error message set: it could not be kept. */
int capture_end(struct capture *c, FILE *f);
void capture_cancel(struct capture *c, FILE *f);

void capture_note(struct capture *c, const char *text);
void capture_error(struct capture *c, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* Frees what it owns; a zeroed one is fine. */
void capture_free(struct capture *c);

#endif
