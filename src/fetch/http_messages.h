/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The messages between hostrace and hostrace-http (base/helper.h has their frame). One request is answered by messages
 * of the server's reply and one HTTP_END. The data of a POST follow their request in as many messages as it takes.
 *
 *	HTTP_REQUEST	"name=value" strings, each ended by a NUL: url, method, cert, key, cacert, unix-socket,
 *			no-verify (1), timeout-seconds, range-from, if-range, user, password, headers,
 *			content-type, post-bytes
 *	HTTP_UNPRIVILEGED nothing: first, if at all; answered by HTTP_END
 *	HTTP_DATA	bytes, until there were post-bytes of them
 *	HTTP_HEADER	one line of the reply's head, without CR LF, cut to HTTP_HEADER_MAX bytes
 *	HTTP_STATUS	u32: before the first byte of the body
 *	HTTP_BODY	bytes
 *	HTTP_END	struct http_end
 *
 * Names of files go this way, not on the command line; the keys themselves are read by the helper only.
 */
#ifndef HOSTRACE_HTTP_MESSAGES_H
#define HOSTRACE_HTTP_MESSAGES_H

#include <stdint.h>

enum {
	HTTP_REQUEST = 1,
	HTTP_HEADER,
	HTTP_STATUS,
	HTTP_BODY,
	HTTP_END,
	HTTP_DATA,
	HTTP_UNPRIVILEGED,
};

#define HTTP_POST_MAX (1ull << 30) /* bytes; they are held in memory */

enum { HTTP_HEADER_MAX = 511, HTTP_WHY_MAX = 256, HTTP_MESSAGE_MAX = 1024 };

struct http_end {
	uint32_t status;		/* 0: there was no reply */
	int32_t err;			/* 0, or -errno with its error message */
	uint32_t broke;			/* the connection broke: the rest may come another time */
	char why[HTTP_WHY_MAX];		/* libcurl's words, for an error message of the caller */
	char message[HTTP_MESSAGE_MAX]; /* the error message */
};

#endif
