/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * HTTP and HTTPS to a guest (libcurl). The guest is hostile: redirections are not followed (they
 * could lead to the host's own services), replies are bounded, a server that sends nothing for
 * `timeout_ns` is abandoned.
 */
#ifndef HOSTRACE_HTTP_H
#define HOSTRACE_HTTP_H

#include <curl/curl.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/cleanup.h"

enum { HTTP_REPLY_MAX = 16 << 20 }; /* bytes of a reply that is kept in memory */

struct http_options {
	const char *cert, *key; /* PEM: client certificate; NULL: none */
	const char *cacert;	/* PEM: who vouches for the server; NULL: the system's authorities */
	const char *unix_socket; /* connect there instead of to the URL's host */
	bool no_verify;		 /* do not verify the server's certificate */
	uint64_t timeout_ns;	 /* without a byte; 0: HTTP_TIMEOUT_NS */
};
#define HTTP_TIMEOUT_NS (60ull * 1000000000)

struct http_reply {
	long status;
	char *body; /* terminated; owned */
	size_t len;
};

/* A handle with the options set; curl_easy_cleanup() frees it. NULL with the error message set. */
CURL *http_handle(const struct http_options *opt, const char *url, char error[CURL_ERROR_SIZE]);

/*
 * One request; method is GET, POST or DELETE. 0 whatever the status is; -errno with the error message
 * set if no reply was received: -ECONNREFUSED, -EACCES (a certificate is not accepted, on either side),
 * -ETIMEDOUT, -E2BIG, -EIO.
 */
int http_request(const struct http_options *opt, const char *method, const char *url,
		 struct http_reply *ret);
void http_reply_deinit(struct http_reply *r);

/* Why a transfer failed, as an error message with what to do. */
int http_failed(CURLcode code, const struct http_options *opt, const char *url, const char *error);

/* The error message for a status that is not wanted; `body` (may be NULL) may hold the server's own words. */
int http_refused(long status, const char *url, const char *body);

/* "host:8000" and "" get their scheme and default: "http://host:8000". Allocated. */
char *http_url(const char *text);

/* base and path with one slash between. Allocated. */
char *http_join(const char *base, const char *path);

#endif
