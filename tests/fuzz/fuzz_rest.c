// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A guest's REST server, as hostrace-http passes its reply on: the messages' frame (base/helper.h), the messages, the
 * JSON in them. First byte: which request; its highest bit: the rest are the messages themselves, else the reply's
 * body.
 */
#include <limits.h>
#include <sys/socket.h>

#include "walk.h"

#define helper_start helper_start_program /* no process for each input: helper_start() is below */
#include "base/helper.c"
#undef helper_start

int helper_start(struct helper *h, const char *name);

#include "fetch/rest.h"

enum { RAW = 0x80, REQUESTS = 4, ANSWER_MAX = 60000 };

static const uint8_t *answer;
static size_t answer_size;
static bool answer_raw;
static int peer = -1; /* the helper's end: open, so that the request can be sent */

static void message_put(int fd, uint32_t kind, const void *data, size_t len)
{
	if (message_send(fd, kind, data, len))
		abort();
}

/* The other end of the socket holds the whole answer. */
int helper_start(struct helper *h, const char *name)
{
	const struct http_end end = {.status = 200};
	const uint32_t status = 200;
	int pair[2];

	*h = (struct helper){.name = name, .pid = INT_MAX}; /* no process has this id */
	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair))
		abort();
	if (answer_raw) {
		if (bytes_send(pair[1], answer, answer_size))
			abort();
	} else {
		message_put(pair[1], HTTP_STATUS, &status, sizeof(status));
		message_put(pair[1], HTTP_BODY, answer, answer_size);
		message_put(pair[1], HTTP_END, &end, sizeof(end));
	}
	shutdown(pair[1], SHUT_WR);
	if (peer >= 0)
		close(peer);
	peer = pair[1];
	h->fd = pair[0];
	return 0;
}

static void events_walk(const struct rest *r)
{
	struct rest_event *ev = NULL;
	unsigned int nr = 0;

	if (rest_events(r, &ev, &nr))
		return;
	for (unsigned int i = 0; i < nr; i++)
		for (const char *c = ev[i].name; *c; c++)
			if ((unsigned char)*c < ' ')
				abort(); /* rest.h: names may be printed */
	rest_events_free(ev, nr);
}

static void counts_walk(const struct rest *r)
{
	struct rest_count *c = NULL;
	unsigned int nr = 0;
	uint64_t time_ms;

	if (!rest_counts(r, &c, &nr, &time_ms))
		rest_counts_free(c, nr);
}

static void request_walk(struct http *h)
{
	struct http_reply reply = {0};

	if (!http_request(h, "GET", "http://guest/", &reply)) {
		if (reply.body && strlen(reply.body) > reply.len)
			abort();
		http_refused(reply.status ? reply.status : 500, "http://guest/", reply.body);
	}
	http_reply_deinit(&reply);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct http *h = size ? http_open(&(struct http_options){0}) : NULL;
	struct rest r = {.http = h, .url = "http://guest:8000"};

	if (!h)
		return 0;
	answer = data + 1;
	answer_size = size - 1 < ANSWER_MAX ? size - 1 : ANSWER_MAX;
	answer_raw = data[0] & RAW;
	if (data[0] % REQUESTS == 0)
		events_walk(&r);
	else if (data[0] % REQUESTS == 1)
		counts_walk(&r);
	else if (data[0] % REQUESTS == 2)
		rest_event_set(&r, &(struct rest_event){.id = (char *)"an id"}, true, false);
	else
		request_walk(h);
	http_close(h);
	return 0;
}
