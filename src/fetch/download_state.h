/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What a later run must know of a download that broke: FILE.part.json next to FILE.part, mode 0600.
 */
#ifndef HOSTRACE_DOWNLOAD_STATE_H
#define HOSTRACE_DOWNLOAD_STATE_H

#include <stdbool.h>
#include <stdint.h>

enum { DOWNLOAD_VALIDATOR_MAX = 256 };

struct download_state {
	bool resumable; /* the server sends ranges and a validator */
	uint64_t total; /* bytes; 0: unknown */
	char validator[DOWNLOAD_VALIDATOR_MAX]; /* for If-Range */
};

/* False (and *ret zero) where there is none, or one of another URL, or it cannot be understood. */
bool download_state_load(const char *part, const char *url, struct download_state *ret);
/* 0, or -errno with the error message set. A state that is not resumable removes the file. */
int download_state_save(const char *part, const char *url, const struct download_state *s);
void download_state_remove(const char *part);

#endif
