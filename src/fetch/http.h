/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * HTTP and HTTPS to a guest, or to a database that recordings are sent to. The program hostrace-http (src/fetch/http)
 * does it with libcurl: loading that with the 30 libraries it needs takes longer than most reports, and what the guest
 * sends is parsed in a process that has no other task. The guest is hostile: redirections are not followed (they could
 * lead to the host's own services), replies are bounded, a server that sends nothing for `timeout_ns` is abandoned.
 */
#ifndef HOSTRACE_HTTP_H
#define HOSTRACE_HTTP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/cleanup.h"
#include "fetch/http_messages.h"

enum { HTTP_REPLY_MAX = 16 << 20 }; /* bytes of a reply that is kept in memory */

struct http_options {
	const char *cert, *key; /* PEM: client certificate; NULL: none */
	const char *cacert;	/* PEM: who vouches for the server; NULL: the system's authorities */
	const char *unix_socket; /* connect there instead of to the URL's host */
	const char *user, *password; /* basic authentication; NULL: none */
	const char *headers;	 /* further lines "NAME: VALUE" of each request; NULL: none */
	bool unprivileged; /* hostrace-http gives up user and capabilities: it must be started before confine() */
	bool no_verify;		 /* do not verify the server's certificate */
	uint64_t timeout_ns;	 /* without a byte; 0: HTTP_TIMEOUT_NS */
};
#define HTTP_TIMEOUT_NS (60ull * 1000000000)

/* hostrace-http, which is started by the first request. */
struct http;

/* `opt` is copied; its strings are borrowed. NULL with the error message set. */
struct http *http_open(const struct http_options *opt);
void http_close(struct http *h);

/* Starts hostrace-http, if it does not run. 0 or -errno with the error message set. */
int http_start(struct http *h);

/* 0: it does not run. */
pid_t http_pid(const struct http *h);

DEFINE_CLEANUP(http, struct http *, http_close);

struct http_transfer {
	const char *method, *url; /* GET, POST or DELETE */
	uint64_t range_from;	  /* 0: all */
	const char *if_range;	  /* NULL: none */
	const char *content_type; /* of the data; NULL: as libcurl has it */
	const void *post;	  /* the data of a POST, at most HTTP_POST_MAX bytes; NULL: none */
	size_t post_bytes;

	/* Called as the reply arrives. `body` returns 0, or -errno, which ends the transfer. */
	void (*header)(void *arg, char *line);
	int (*body)(void *arg, uint32_t status, const void *data, size_t len);
	void *arg;
};

/*
 * 0: *ret says how the transfer ended, ret->err included; or -errno: what `body` returned, or that hostrace-http cannot
 * be run or ended early, with the error message set.
 */
int http_perform(struct http *h, const struct http_transfer *t, struct http_end *ret);

/*
 * The same for a caller that does not wait: http_send() begins the transfer; whenever http_fd() can be read,
 * http_receive() takes one message: 0; 1: it was the last, *ret is set; or -errno. No other transfer meanwhile. The
 * post may be freed after http_send().
 */
int http_send(struct http *h, const struct http_transfer *t);
int http_fd(const struct http *h);
int http_receive(struct http *h, const struct http_transfer *t, struct http_end *ret);

struct http_reply {
	uint32_t status;
	char *body; /* terminated; owned */
	size_t len;
};

/*
 * One request whose reply is kept. 0 whatever the status is; -errno with the error message set if no reply was
 * received: -ECONNREFUSED, -EACCES (a certificate is not accepted, on either side), -ETIMEDOUT, -E2BIG, -EIO.
 */
int http_request(struct http *h, const char *method, const char *url, struct http_reply *ret);
void http_reply_deinit(struct http_reply *r);

/* The error message for a status that is not wanted; `body` (may be NULL) may hold the server's own words. */
int http_refused(uint32_t status, const char *url, const char *body);

/* "host:8000" and "" get their scheme and default: "http://host:8000". Allocated. */
char *http_url(const char *text);

/* base and path with one slash between. Allocated. */
char *http_join(const char *base, const char *path);

/* Text as one part of a path: all but unreserved characters (RFC 3986, section 2.3) as %XX. Allocated. */
char *http_escape(const char *text);

#endif
