/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A file from a guest, whole or not at all: it grows as FILE.part (mode 0600) and is renamed when
 * its last byte is there. A broken transfer is resumed where the server allows it: it
 * must send ranges, and name the contents by a strong ETag (or a date), which FILE.part.json keeps
 * for a later run. Contents that changed meanwhile are fetched from the start (RFC 9110, sections
 * 13.1.5 If-Range and 14 range requests).
 */
#ifndef HOSTRACE_DOWNLOAD_H
#define HOSTRACE_DOWNLOAD_H

#include <stdbool.h>
#include <stdint.h>

#include "fetch/http.h"

struct download_options {
	struct http_options http;
	const char *url, *file;
	uint64_t max_bytes;   /* a server that sends more is abandoned; 0: DOWNLOAD_MAX */
	unsigned int retries; /* of one run, after a break */

	/*
	 * Looks at the finished file before it gets its name; -errno with the error message set discards it. May be
	 * NULL.
	 */
	int (*check)(const char *path);

	/* Called as bytes arrive, with progress_arg; total is 0 while it is unknown. May be NULL. */
	void (*progress)(uint64_t now, uint64_t total, void *arg);
	void *progress_arg;
};

struct download_result {
	uint64_t bytes;
	uint64_t resumed_at; /* bytes that an earlier run had; 0: none could be used */
	unsigned int breaks; /* of this run */
};

/*
 * 0, or -errno with the error message set: as http_request(), and -ENOENT (404), -EPIPE (it broke: the
 * error message says whether the next run can continue), -EFBIG, -EBUSY (another run is active).
 */
int download(const struct download_options *opt, struct download_result *ret);

#endif
