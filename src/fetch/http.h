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

/*
 * The messages between hostrace and hostrace-http (base/helper.h has their frame). One request is answered by messages
 * of the server's reply and one HTTP_END. The data of a POST follow their request in as many messages as it takes.
 *
 *	HTTP_REQUEST	"name=value" strings, each ended by a NUL: url, method, cert, key, cacert, unix-socket,
 *			no-verify (1), timeout-seconds, range-from, if-range, user, password, headers,
 *			content-type, post-bytes, long (1)
 *	HTTP_UNPRIVILEGED nothing: first, if at all; answered by HTTP_END
 *	HTTP_DATA	bytes, until there were post-bytes of them
 *	HTTP_HEADER	one line of the reply's head, without CR LF, cut to HTTP_HEADER_MAX bytes
 *	HTTP_STATUS	u32: before the first byte of the body
 *	HTTP_BODY	bytes
 *	HTTP_END	struct http_end
 *
 * Names of files go this way, not on the command line; the keys themselves are read by the helper only.
 */

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
	bool is_long;		  /* a reply of any length and duration: a download */
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

/* `body` of a transfer whose reply is kept: `arg` is the struct http_reply. -E2BIG with the error message set. */
int http_body_keep(void *arg, uint32_t status, const void *data, size_t len);

/* The error message for a status that is not wanted; `body` (may be NULL) may hold the server's own words. */
int http_refused(uint32_t status, const char *url, const char *body);

/* "host:8000" and "" get their scheme and default: "http://host:8000". Allocated. */
char *http_url(const char *text);

/* -EINVAL with the error message set if it is no URL of HTTP, with a host and, if there is one, a valid port. */
int http_url_check(const char *url);

/* base and path with one slash between. Allocated. */
char *http_join(const char *base, const char *path);

/* Text as one part of a path: all but unreserved characters (RFC 3986, section 2.3) as %XX. Allocated. */
char *http_escape(const char *text);

/*
 * A file from a guest, whole or not at all: it grows as FILE.part (mode 0600) and is renamed when
 * its last byte is there. A broken transfer is resumed where the server allows it: it
 * must send ranges, and name the contents by a strong ETag (or a date), which FILE.part.json keeps
 * for a later run. Contents that changed meanwhile are fetched from the start (RFC 9110, sections
 * 13.1.5 If-Range and 14 range requests).
 */

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
