// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * HTTP through hostrace-http: requests and replies as messages over a socket pair (base/helper.h); http.h lists them.
 */
#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <jansson.h>
#include <string.h>
#include <strings.h>

#include "base/array.h"
#include "base/error.h"
#include "base/json_text.h"
#include "base/helper.h"
#include "base/memory.h"
#include "event/event.h"
#include "fetch/http.h"

#define HTTP_TIMEOUT_NS (60ull * 1000000000)

#define DEFAULT_URL "http://localhost:8000/"

enum { WORDS_MAX = 200 };

struct http {
	struct http_options opt;
	struct helper helper;
	uint32_t status; /* of the reply that is being received */
	char data[HELPER_MESSAGE_MAX];
};

struct http *http_open(const struct http_options *opt)
{
	struct http *h = calloc(1, sizeof(*h));

	if (h)
		h->opt = *opt;
	else
		fail(-ENOMEM, "out of memory");
	return h;
}

void http_close(struct http *h)
{
	if (h)
		helper_stop(&h->helper);
	free(h);
}

pid_t http_pid(const struct http *h)
{
	return h->helper.pid;
}

/* ---- one transfer ---- */

static void text_put(FILE *f, const char *name, const char *value)
{
	if (value)
		fprintf(f, "%s=%s%c", name, value, 0);
}

static void number_put(FILE *f, const char *name, uint64_t value)
{
	if (value)
		fprintf(f, "%s=%" PRIu64 "%c", name, value, 0);
}

static int request_send(struct http *h, const struct http_transfer *t)
{
	const struct http_options *opt = &h->opt;
	uint64_t timeout_ns = opt->timeout_ns ? opt->timeout_ns : HTTP_TIMEOUT_NS;
	_cleanup_free_ char *text = NULL;
	size_t len = 0;
	FILE *f = open_memstream(&text, &len);

	if (!f)
		return fail(-ENOMEM, "out of memory");
	text_put(f, "method", t->method);
	text_put(f, "url", t->url);
	text_put(f, "cert", opt->cert);
	text_put(f, "key", opt->key);
	text_put(f, "cacert", opt->cacert);
	text_put(f, "unix-socket", opt->unix_socket);
	text_put(f, "user", opt->user);
	text_put(f, "password", opt->password);
	number_put(f, "no-verify", opt->no_verify);
	number_put(f, "timeout-seconds", timeout_ns / 1000000000 + 1);
	number_put(f, "range-from", t->range_from);
	text_put(f, "if-range", t->if_range);
	text_put(f, "headers", opt->headers);
	text_put(f, "content-type", t->content_type);
	number_put(f, "post-bytes", t->post_bytes);
	number_put(f, "long", t->is_long);
	if (!memstream_close(f, &text))
		return fail(-ENOMEM, "out of memory");
	return helper_send(&h->helper, HTTP_REQUEST, text, len);
}

static int data_send(struct http *h, const struct http_transfer *t)
{
	const char *from = t->post;
	size_t left = t->post_bytes;
	int err = 0;

	while (left && !err) {
		size_t len = left < HELPER_MESSAGE_MAX ? left : HELPER_MESSAGE_MAX;

		err = helper_send(&h->helper, HTTP_DATA, from, len);
		from += len;
		left -= len;
	}
	return err;
}

/* One message of the reply. 0; 1: it was the last, in *ret; -errno. */
static int reply_take(struct http *h, const struct http_transfer *t, struct http_end *ret)
{
	struct helper_head head;
	int err = helper_receive(&h->helper, &head, h->data);

	if (err)
		return err;
	if (head.kind == HTTP_HEADER && head.len <= HTTP_HEADER_MAX) {
		h->data[head.len] = 0;
		t->header ? t->header(t->arg, h->data) : (void)0;
		return 0;
	}
	if (head.kind == HTTP_STATUS && head.len == sizeof(h->status)) {
		memcpy(&h->status, h->data, sizeof(h->status));
		return 0;
	}
	if (head.kind == HTTP_BODY)
		return t->body ? t->body(t->arg, h->status, h->data, head.len) : 0;
	if (head.kind != HTTP_END || head.len != sizeof(*ret))
		return fail(-EPROTO,
			    "unexpected message from hostrace-http: is it of another version?");
	memcpy(ret, h->data, sizeof(*ret));
	ret->why[sizeof(ret->why) - 1] = ret->message[sizeof(ret->message) - 1] = 0;
	return 1;
}

int http_send(struct http *h, const struct http_transfer *t)
{
	int err = http_start(h);

	h->status = 0;
	if (!err)
		err = request_send(h, t);
	return err ? err : data_send(h, t);
}

int http_fd(const struct http *h)
{
	return h->helper.fd;
}

int http_receive(struct http *h, const struct http_transfer *t, struct http_end *ret)
{
	int err = reply_take(h, t, ret);

	if (err < 0)
		helper_stop(&h->helper); /* the rest of the reply with it */
	return err;
}

int http_perform(struct http *h, const struct http_transfer *t, struct http_end *ret)
{
	int err = http_send(h, t);

	*ret = (struct http_end){0};
	while (!err)
		err = http_receive(h, t, ret);
	return err < 0 ? err : 0;
}

/* Before the first request, in which it reads what a server sends. */
static int privileges_drop(struct http *h)
{
	struct http_end end = {0};
	int err = helper_send(&h->helper, HTTP_UNPRIVILEGED, NULL, 0);

	if (!err)
		err = reply_take(h, &(struct http_transfer){0}, &end);
	return err < 0 ? err : end.err ? fail(end.err, "%s", end.message) : 0;
}

int http_start(struct http *h)
{
	int err;

	if (h->helper.pid)
		return 0;
	err = helper_start(&h->helper, "hostrace-http");
	if (!err && h->opt.unprivileged)
		err = privileges_drop(h);
	if (err)
		helper_stop(&h->helper);
	return err;
}

/* {"message": "...", "code": N} of OSv's server, or the beginning of another reply. */
static void own_words(const char *body, char *ret, size_t size)
{
	json_error_t wrong;
	json_t *j = body ? json_text_load(body, strlen(body), 0, &wrong) : NULL;
	const char *message = json_string_value(json_object_get(j, "message"));

	if (!message)
		message = body && *body != '<' ? body : "";
	snprintf(ret, size, "%.*s", WORDS_MAX, message);
	ret[strcspn(ret, "\r\n")] = 0;
	text_sanitize(ret);
	json_decref(j);
}

int http_refused(uint32_t status, const char *url, const char *body)
{
	char words[WORDS_MAX + 8];

	own_words(body, words, sizeof(words));
	if (status >= 300 && status < 400)
		return fail(-EXDEV,
			    "%s: redirected by the server (status %u); redirects are not followed",
			    url, status);
	if (status == 404)
		return fail(-ENOENT, "%s: not found (404)%s%s", url, *words ? ": " : "", words);
	if (status == 401 || status == 403)
		return fail(-EACCES, "%s: access denied (%u)%s%s", url, status, *words ? ": " : "",
			    words);
	return fail(-EREMOTEIO, "%s: the server replied with status %u%s%s", url, status,
		    *words ? ": " : "", words);
}

/* ---- requests whose reply is kept ---- */

int http_body_keep(void *arg, uint32_t status, const void *data, size_t len)
{
	struct http_reply *r = arg;
	char *more = r->len + len > HTTP_REPLY_MAX ? NULL : realloc(r->body, r->len + len + 1);

	r->status = status;
	if (!more)
		return fail(-E2BIG, "the reply exceeds %d MiB", HTTP_REPLY_MAX >> 20);
	r->body = more;
	memcpy(r->body + r->len, data, len);
	r->len += len;
	r->body[r->len] = 0;
	return 0;
}

int http_request(struct http *h, const char *method, const char *url, struct http_reply *ret)
{
	struct http_transfer t = {.method = method, .url = url, .body = http_body_keep, .arg = ret};
	struct http_end end;
	int err;

	*ret = (struct http_reply){0};
	err = http_perform(h, &t, &end);
	ret->status = end.status;
	if (err == -E2BIG)
		err = fail(err, "%s: %s", url, error_text());
	else if (!err && end.err)
		err = fail(end.err, "%s", end.message);
	if (err)
		http_reply_deinit(ret);
	return err;
}

void http_reply_deinit(struct http_reply *r)
{
	free(r->body);
	*r = (struct http_reply){0};
}

/* ---- URLs ---- */

char *http_url(const char *text)
{
	char *url = NULL;

	if (!text || !*text)
		return strdup(DEFAULT_URL);
	if (strstr(text, "://"))
		return strdup(text);
	if (asprintf(&url, "http://%s%s", text, strpbrk(text, ":/") ? "" : ":8000") < 0)
		return NULL;
	return url;
}

/* ":8000", "": is what follows the host right, up to `end`? */
static bool is_port(const char *text, const char *end)
{
	char *after;
	unsigned long port = *text == ':' && isdigit((unsigned char)text[1])
				     ? strtoul(text + 1, &after, 10)
				     : 0;

	return text == end || (port && port <= UINT16_MAX && after == end);
}

int http_url_check(const char *url)
{
	const char *scheme = !strncasecmp(url, "https://", 8) ? "https://" : "http://",
		   *host = url + strlen(scheme), *end, *user, *host_end;

	if (strncasecmp(url, scheme, strlen(scheme)) ||
	    array_any(strlen(url), i, url[i] == ' ' || iscntrl((unsigned char)url[i])))
		return fail(-EINVAL, "invalid URL '%s' (expected e.g. http://127.0.0.1:8000)", url);
	end = host + strcspn(host, "/?#");
	user = memchr(host, '@', (size_t)(end - host));
	host = user ? user + 1 : host;
	host_end = host + strcspn(host, *host == '[' ? "]/?#" : ":/?#");
	if (*host == '[')
		host_end = *host_end == ']' ? host_end + 1 : host;
	if (host_end == host || !is_port(host_end, end))
		return fail(-EINVAL, "invalid URL '%s': %s", url,
			    host_end == host ? "it has no host" : "invalid port");
	return 0;
}

char *http_join(const char *base, const char *path)
{
	size_t len = strlen(base);
	char *url = NULL;

	while (len && base[len - 1] == '/')
		len--;
	if (asprintf(&url, "%.*s/%s", (int)len, base, path) < 0)
		return NULL;
	return url;
}

char *http_escape(const char *text)
{
	char *ret = malloc(3 * strlen(text) + 1), *to = ret;

	for (; ret && *text; text++)
		if (isalnum((unsigned char)*text) || strchr("-._~", *text))
			*to++ = *text;
		else
			to += sprintf(to, "%%%02X", (unsigned char)*text);
	if (ret)
		*to = 0;
	return ret;
}
