// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * exporter --otlp: sends the figures to a receiver of OpenTelemetry's protocol at intervals, through hostrace-http. One
 * request is on its way at a time; the exporter does not wait for it. A request that fails is not repeated: all figures
 * are totals, so that the next one has what it had.
 */
#include <errno.h>

#include "base/clock.h"
#include "base/error.h"
#include "commands/common/command.h"
#include "commands/live/exporter.h"
#include "exporter/server.h"
#include "fetch/http.h"

/* As OpenTelemetry's exporters wait for an answer. */
#define ANSWER_NS (10 * NS_PER_S)

enum { ANSWER_BYTES = 16384, HEADERS_BYTES = 16384, WHY_BYTES = HTTP_MESSAGE_MAX };

struct exporter_push {
	struct http *http;
	struct http_transfer transfer;
	char *url, *headers;
	uint64_t interval_ns, due_ns;
	bool sending;
	char answer[ANSWER_BYTES];
	size_t answer_len;
	char trouble[WHY_BYTES]; /* of the last request, as reported; "": none */
	struct export_pushes counts;
};

/* ---- start ---- */

/* A URL without a path gets that of the protocol. */
static char *url_make(const char *text)
{
	const char *host = strstr(text, "://");
	char *url = NULL;

	if (host && strchr(host + 3, '/'))
		return strdup(text);
	return asprintf(&url, "%s/v1/metrics", text) < 0 ? NULL : url;
}

/* Each line "NAME: VALUE"; in a file, as values may be secret. */
static int headers_read(struct exporter_push *p, const char *path)
{
	int err;

	p->headers = calloc(1, HEADERS_BYTES);
	if (!p->headers)
		return fail(-ENOMEM, "out of memory");
	err = exporter_file_read(path, p->headers, HEADERS_BYTES);
	for (const char *at = p->headers; !err && *at; at += strcspn(at, "\n"), at += *at == '\n')
		if (strcspn(at, "\n") && strcspn(at, ":") > strcspn(at, "\n"))
			err = fail(-EINVAL, "%s: a line is no header \"NAME: VALUE\"", path);
	return err;
}

static int answer_keep(void *arg, uint32_t status, const void *data, size_t len)
{
	struct exporter_push *p = arg;
	size_t room = sizeof(p->answer) - p->answer_len;

	(void)status;
	len = len < room ? len : room;
	memcpy(p->answer + p->answer_len, data, len);
	p->answer_len += len;
	return 0;
}

static int push_init(struct exporter_push *p, const struct exporter_push_options *o)
{
	int err = o->headers ? headers_read(p, o->headers) : 0;

	p->interval_ns = o->interval_ns;
	p->due_ns = monotonic_ns() + o->interval_ns;
	p->url = url_make(o->url);
	if (err || !p->url)
		return err ? err : fail(-ENOMEM, "out of memory");
	p->transfer = (struct http_transfer){.method = "POST",
					     .url = p->url,
					     .content_type = "application/x-protobuf",
					     .body = answer_keep,
					     .arg = p};
	p->http = http_open(&(struct http_options){.cacert = o->cacert,
						   .headers = p->headers,
						   .timeout_ns = ANSWER_NS,
						   .unprivileged = true});
	return p->http ? http_start(p->http) : error_code();
}

int exporter_push_open(const struct exporter_push_options *o, struct exporter_push **ret)
{
	struct exporter_push *p = calloc(1, sizeof(*p));
	int err = p ? push_init(p, o) : fail(-ENOMEM, "out of memory");

	if (err)
		exporter_push_close(p);
	*ret = err ? NULL : p;
	return err;
}

void exporter_push_close(struct exporter_push *p)
{
	if (!p)
		return;
	http_close(p->http);
	free(p->url);
	free(p->headers);
	free(p);
}

/* ---- requests ---- */

int exporter_push_pause_ms(const struct exporter_push *p, int most)
{
	uint64_t now_ns = monotonic_ns(), left_ns = p->due_ns > now_ns ? p->due_ns - now_ns : 0;

	if (p->sending || left_ns >= (uint64_t)most * NS_PER_MS)
		return most;
	return (int)((left_ns + NS_PER_MS - 1) / NS_PER_MS);
}

int exporter_push_send(struct exporter_push *p, const void *data, size_t len)
{
	uint64_t now_ns = monotonic_ns();

	while (p->due_ns <= now_ns) /* intervals that an answer took are left out */
		p->due_ns += p->interval_ns;
	p->transfer.post = data;
	p->transfer.post_bytes = len;
	p->answer_len = 0;
	p->sending = true;
	return http_send(p->http, &p->transfer);
}

int exporter_push_fd(const struct exporter_push *p)
{
	return p->sending ? http_fd(p->http) : -1;
}

/* As otlp_answer_read(). */
static int result_of(const struct exporter_push *p, const struct http_end *end, char *why,
		     size_t size)
{
	if (end->err)
		snprintf(why, size, "%s", *end->why ? end->why : end->message);
	else if (end->status < 200 || end->status >= 300)
		snprintf(why, size, "the server replied with status %u", end->status);
	else
		return otlp_answer_read(p->answer, p->answer_len, why, size);
	text_sanitize(why);
	return -EIO;
}

static void result_report(struct exporter_push *p, int result, const char *why)
{
	if (!strcmp(why, p->trouble))
		return;
	if (result)
		command_note("warning: %s: %s%s", p->url, why,
			     result < 0 ? "; the next request has these figures, too" : "");
	else
		command_note("%s accepts the figures again", p->url);
	snprintf(p->trouble, sizeof(p->trouble), "%s", why);
}

int exporter_push_receive(struct exporter_push *p)
{
	struct http_end end = {0};
	char why[WHY_BYTES];
	int result, ret = http_receive(p->http, &p->transfer, &end);

	if (ret <= 0)
		return ret;
	p->sending = false;
	result = result_of(p, &end, why, sizeof(why));
	result_report(p, result, why);
	p->counts.accepted += !result;
	p->counts.partial += result > 0;
	p->counts.failed += result < 0;
	return 0;
}

struct export_pushes exporter_push_counts(const struct exporter_push *p)
{
	return p->counts;
}

pid_t exporter_push_pid(const struct exporter_push *p)
{
	return http_pid(p->http);
}
