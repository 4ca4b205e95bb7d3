// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * hostrace-httpd: serves the pages of `hostrace exporter` by libmicrohttpd, in a process without privileges. The
 * messages are in exporter/httpd_messages.h.
 */
#include <errno.h>
#include <microhttpd.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/error.h"
#include "base/helper.h"
#include "confine/confine.h"
#include "exporter/httpd/listen.h"
#include "exporter/httpd_messages.h"

enum {
	CONNECTIONS_MAX = 64,
	CONNECTION_MEMORY = 16 << 10, /* bytes for a request's head */
	IDLE_SECONDS = 15,
};

#define TEXT_FORMAT "text/plain; version=0.0.4; charset=utf-8"

struct server {
	struct MHD_Daemon *daemon;
	uint8_t *message; /* HELPER_MESSAGE_MAX bytes */
	char *page;	  /* malloc()ed, being received */
	size_t len;
	bool ended; /* hostrace has */
};

/* ---- the page ---- */

static int part_add(struct server *s, const struct helper_head *head)
{
	char *more;

	if (head->len > HTTPD_PAGE_MAX - s->len)
		return -E2BIG;
	more = realloc(s->page, s->len + head->len + 1);
	if (!more)
		return -ENOMEM;
	memcpy(more + s->len, s->message, head->len);
	s->page = more;
	s->len += head->len;
	return 0;
}

static int page_receive(struct server *s)
{
	struct helper_head head;
	int err = helper_reply(HTTPD_WANTED, NULL, 0);

	while (!err) {
		err = helper_request(&head, s->message);
		if (!err && head.kind == HTTPD_END)
			return s->page ? 0 : -ENODATA;
		if (!err)
			err = head.kind == HTTPD_PART ? part_add(s, &head) : -EPROTO;
	}
	s->ended = true;
	return err;
}

/* NULL: there is none. */
static struct MHD_Response *page_response(struct server *s)
{
	struct MHD_Response *r;

	s->page = NULL;
	s->len = 0;
	if (page_receive(s)) {
		free(s->page);
		return NULL;
	}
	r = MHD_create_response_from_buffer(s->len, s->page, MHD_RESPMEM_MUST_FREE);
	if (r)
		MHD_add_response_header(r, MHD_HTTP_HEADER_CONTENT_TYPE, TEXT_FORMAT);
	else
		free(s->page);
	return r;
}

/* ---- requests ---- */

static enum MHD_Result reply(struct MHD_Connection *c, unsigned int status, struct MHD_Response *r)
{
	enum MHD_Result ret = MHD_queue_response(c, status, r);

	MHD_destroy_response(r);
	return ret;
}

static enum MHD_Result text_reply(struct MHD_Connection *c, unsigned int status, const char *text)
{
	struct MHD_Response *r = MHD_create_response_from_buffer(strlen(text), (void *)text,
								  MHD_RESPMEM_PERSISTENT);

	if (!r)
		return MHD_NO;
	MHD_add_response_header(r, MHD_HTTP_HEADER_CONTENT_TYPE, "text/html; charset=utf-8");
	if (status == MHD_HTTP_METHOD_NOT_ALLOWED)
		MHD_add_response_header(r, MHD_HTTP_HEADER_ALLOW, "GET, HEAD");
	return reply(c, status, r);
}

static enum MHD_Result answer(void *arg, struct MHD_Connection *c, const char *url,
			      const char *method, const char *version, const char *upload,
			      size_t *upload_len, void **state)
{
	struct server *s = arg;
	struct MHD_Response *page;

	(void)version, (void)upload;
	if (!*state) { /* the head has arrived; the body, if there is one, has not */
		*state = s;
		return MHD_YES;
	}
	if (*upload_len) {
		*upload_len = 0;
		return MHD_YES;
	}
	if (strcmp(method, MHD_HTTP_METHOD_GET) && strcmp(method, MHD_HTTP_METHOD_HEAD))
		return text_reply(c, MHD_HTTP_METHOD_NOT_ALLOWED, "only GET and HEAD\n");
	if (!strcmp(url, "/"))
		return text_reply(c, MHD_HTTP_OK,
				  "<!DOCTYPE html><title>hostrace</title>"
				  "<p>hostrace: <a href=\"/metrics\">metrics</a>\n");
	if (strcmp(url, "/metrics"))
		return text_reply(c, MHD_HTTP_NOT_FOUND, "no such page; try /metrics\n");
	page = page_response(s);
	return page ? reply(c, MHD_HTTP_OK, page)
		    : text_reply(c, MHD_HTTP_SERVICE_UNAVAILABLE, "hostrace sent no page\n");
}

/* ---- start and loop ---- */

static int daemon_start(struct server *s, int fd)
{
	s->daemon = MHD_start_daemon(MHD_USE_EPOLL, 0, NULL, NULL,
				     answer, s, MHD_OPTION_LISTEN_SOCKET, fd,
				     MHD_OPTION_CONNECTION_LIMIT, (unsigned int)CONNECTIONS_MAX,
				     MHD_OPTION_CONNECTION_MEMORY_LIMIT, (size_t)CONNECTION_MEMORY,
				     MHD_OPTION_CONNECTION_TIMEOUT, (unsigned int)IDLE_SECONDS,
				     MHD_OPTION_END);
	return s->daemon ? 0 : fail(-EIO, "libmicrohttpd does not start");
}

static int serve_start(struct server *s, char *address, size_t size)
{
	struct confinement c = {.phase = CONFINE_SERVE};
	struct helper_head head;
	int fd, err = helper_request(&head, s->message);

	if (err || head.kind != HTTPD_LISTEN || !head.len || s->message[head.len - 1])
		return fail(-EPROTO, "hostrace-httpd is started by 'hostrace exporter' only");
	fd = listen_open((char *)s->message, address, size);
	err = fd < 0 ? fd : daemon_start(s, fd);
	return err ? err : confine(&c);
}

static int loop(struct server *s)
{
	const union MHD_DaemonInfo *info = MHD_get_daemon_info(s->daemon, MHD_DAEMON_INFO_EPOLL_FD);
	struct pollfd p[2] = {{.fd = info->epoll_fd, .events = POLLIN},
			      {.fd = STDIN_FILENO, .events = POLLIN}};

	while (!s->ended) {
		MHD_UNSIGNED_LONG_LONG left;
		int timeout = MHD_get_timeout(s->daemon, &left) == MHD_YES ? (int)left : -1;

		if (poll(p, 2, timeout) < 0 && errno != EINTR)
			return EXIT_FAILURE;
		if (p[1].revents) /* hostrace sends only what was requested: it has ended */
			break;
		MHD_run(s->daemon);
	}
	return EXIT_SUCCESS;
}

int main(void)
{
	struct server s = {.message = malloc(HELPER_MESSAGE_MAX)};
	char address[256];
	int status;

	signal(SIGPIPE, SIG_IGN);
	helper_ignore_signals();
	if (!s.message)
		return EXIT_FAILURE;
	if (serve_start(&s, address, sizeof(address))) {
		helper_reply(HTTPD_FAILED, error_text(), strlen(error_text()) + 1);
		return EXIT_FAILURE;
	}
	if (helper_reply(HTTPD_READY, address, strlen(address) + 1))
		return EXIT_FAILURE;
	status = loop(&s);
	MHD_stop_daemon(s.daemon);
	free(s.message);
	return status;
}
