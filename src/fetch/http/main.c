// SPDX-License-Identifier: GPL-2.0-or-later
/* hostrace-http: transfers for hostrace, by libcurl. The messages are in fetch/http_messages.h. */
#include <curl/curl.h>
#include <errno.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/helper.h"
#include "confine/confine.h"
#include "fetch/http.h"

enum {
	CONNECT_SECONDS = 15,
	REPLY_TIMES = 2, /* of timeout-seconds, in which a reply must be complete that is not long */
};

struct request {
	const char *method, *url, *cert, *key, *cacert, *unix_socket, *no_verify, *timeout_seconds;
	const char *is_long;
	const char *range_from, *if_range, *user, *password, *headers, *content_type,
		*post_bytes; /* NULL: not given */
	uint8_t *post; /* owned */
	size_t post_len;
};

struct transfer {
	CURL *curl;
	struct request rq;
	char error[CURL_ERROR_SIZE];
	bool body_began, closed; /* closed: hostrace reads no more */
	struct curl_slist *headers;
	uint64_t sent_ms; /* when all of the request had been sent; 0: not yet */
};

/* ---- the request ---- */

static int request_parse(struct request *rq, const char *data, size_t len)
{
	const struct {
		const char *name, **value;
	} fields[] = {
		{"method=", &rq->method},     {"url=", &rq->url},
		{"cert=", &rq->cert},	      {"key=", &rq->key},
		{"cacert=", &rq->cacert},     {"unix-socket=", &rq->unix_socket},
		{"no-verify=", &rq->no_verify}, {"timeout-seconds=", &rq->timeout_seconds},
		{"range-from=", &rq->range_from}, {"if-range=", &rq->if_range},
		{"user=", &rq->user},	      {"password=", &rq->password},
		{"headers=", &rq->headers},   {"content-type=", &rq->content_type},
		{"post-bytes=", &rq->post_bytes}, {"long=", &rq->is_long},
	};

	if (!len || data[len - 1])
		return -EPROTO;
	for (const char *at = data; at < data + len; at += strlen(at) + 1)
		for (size_t i = 0; i < sizeof(fields) / sizeof(*fields); i++)
			if (!strncmp(at, fields[i].name, strlen(fields[i].name)))
				*fields[i].value = at + strlen(fields[i].name);
	return rq->method && rq->url && rq->timeout_seconds ? 0 : -EPROTO;
}

/* All of it before the transfer begins, so that neither process waits for the other while a server replies early. */
static int data_receive(struct request *rq)
{
	uint64_t bytes = rq->post_bytes ? strtoull(rq->post_bytes, NULL, 10) : 0;
	struct helper_head head;
	int err = 0;

	if (!bytes)
		return 0;
	rq->post = bytes <= HTTP_POST_MAX ? malloc(bytes + HELPER_MESSAGE_MAX) : NULL;
	if (!rq->post)
		return fail(-ENOMEM, "out of memory");
	while (rq->post_len < bytes && !err) {
		err = helper_request(&head, rq->post + rq->post_len);
		if (!err && (head.kind != HTTP_DATA || head.len > bytes - rq->post_len))
			err = -EPROTO;
		rq->post_len += err ? 0 : head.len;
	}
	return err;
}

/* Schemes by name since 7.85, by bits before. */
static void schemes_set(CURL *c)
{
#if LIBCURL_VERSION_NUM >= 0x075500
	curl_easy_setopt(c, CURLOPT_PROTOCOLS_STR, "http,https");
#else
	curl_easy_setopt(c, CURLOPT_PROTOCOLS, (long)(CURLPROTO_HTTP | CURLPROTO_HTTPS));
#endif
}

/* OSv's server requires at least TLS 1.2 and a client certificate. */
static void tls_set(CURL *c, const struct request *rq)
{
	curl_easy_setopt(c, CURLOPT_SSLVERSION, (long)CURL_SSLVERSION_TLSv1_2);
	if (rq->cert)
		curl_easy_setopt(c, CURLOPT_SSLCERT, rq->cert);
	if (rq->key)
		curl_easy_setopt(c, CURLOPT_SSLKEY, rq->key);
	if (rq->cacert)
		curl_easy_setopt(c, CURLOPT_CAINFO, rq->cacert);
	if (rq->no_verify) {
		curl_easy_setopt(c, CURLOPT_SSL_VERIFYPEER, 0L);
		curl_easy_setopt(c, CURLOPT_SSL_VERIFYHOST, 0L);
	}
}

/* curl's own words about a file that is not there are hard to understand. */
static int files_check(const struct request *rq)
{
	const char *const file[] = {rq->cert, rq->key, rq->cacert};

	for (int i = 0; i < 3; i++)
		if (file[i] && access(file[i], R_OK))
			return fail(-errno, "%s: %s", file[i], strerror(errno));
	return 0;
}

/* If-Range: the rest only of the same contents, else all of the new ones (RFC 9110, section 13.1.5). */
static void range_set(struct transfer *t)
{
	_cleanup_free_ char *range = NULL, *condition = NULL;

	if (!t->rq.range_from || asprintf(&range, "%s-", t->rq.range_from) < 0)
		return;
	curl_easy_setopt(t->curl, CURLOPT_RANGE, range);
	if (t->rq.if_range && asprintf(&condition, "If-Range: %s", t->rq.if_range) >= 0)
		t->headers = curl_slist_append(t->headers, condition);
}

/* Without "Expect: 100-continue", after which some servers are waited for in vain. */
static void post_set(struct transfer *t)
{
	curl_easy_setopt(t->curl, CURLOPT_POST, 1L);
	curl_easy_setopt(t->curl, CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)t->rq.post_len);
	curl_easy_setopt(t->curl, CURLOPT_POSTFIELDS, t->rq.post ? (char *)t->rq.post : "");
	t->headers = curl_slist_append(t->headers, "Expect:");
}

/* Lines. */
static void headers_set(struct transfer *t)
{
	_cleanup_free_ char *lines = t->rq.headers ? strdup(t->rq.headers) : NULL, *type = NULL;
	char *rest = NULL;

	for (char *line = lines ? strtok_r(lines, "\n", &rest) : NULL; line;
	     line = strtok_r(NULL, "\n", &rest))
		t->headers = curl_slist_append(t->headers, line);
	if (t->rq.content_type && asprintf(&type, "Content-Type: %s", t->rq.content_type) >= 0)
		t->headers = curl_slist_append(t->headers, type);
}

/* A server that sends a byte now and then would never end. */
static int end_check(void *arg, curl_off_t down_all, curl_off_t down, curl_off_t up_all,
		     curl_off_t up)
{
	struct transfer *t = arg;
	uint64_t now = monotonic_ms();

	(void)down_all, (void)down;
	if (up < up_all)
		return 0;
	t->sent_ms = t->sent_ms ? t->sent_ms : now;
	return now - t->sent_ms > REPLY_TIMES * 1000 * strtoull(t->rq.timeout_seconds, NULL, 10);
}

static void method_set(struct transfer *t)
{
	if (!t->rq.is_long) {
		curl_easy_setopt(t->curl, CURLOPT_XFERINFOFUNCTION, end_check);
		curl_easy_setopt(t->curl, CURLOPT_XFERINFODATA, t);
		curl_easy_setopt(t->curl, CURLOPT_NOPROGRESS, 0L);
	}
	if (!strcmp(t->rq.method, "POST"))
		post_set(t);
	else if (strcmp(t->rq.method, "GET"))
		curl_easy_setopt(t->curl, CURLOPT_CUSTOMREQUEST, t->rq.method);
}

static void user_set(CURL *c, const struct request *rq)
{
	if (!rq->user)
		return;
	curl_easy_setopt(c, CURLOPT_HTTPAUTH, (long)CURLAUTH_BASIC);
	curl_easy_setopt(c, CURLOPT_USERNAME, rq->user);
	curl_easy_setopt(c, CURLOPT_PASSWORD, rq->password ? rq->password : "");
}

/* ---- the reply ---- */

static uint32_t status_of(CURL *c)
{
	long status = 0;

	curl_easy_getinfo(c, CURLINFO_RESPONSE_CODE, &status);
	return (uint32_t)status;
}

static size_t header_arrived(char *data, size_t size, size_t nr, void *arg)
{
	struct transfer *t = arg;
	size_t len = size * nr, line = 0;

	while (line < len && data[line] != '\r' && data[line] != '\n')
		line++;

	t->closed =
		helper_reply(HTTP_HEADER, data, line < HTTP_HEADER_MAX ? line : HTTP_HEADER_MAX);
	return t->closed ? 0 : len;
}

static size_t body_arrived(char *data, size_t size, size_t nr, void *arg)
{
	struct transfer *t = arg;
	size_t len = size * nr;

	if (!t->body_began) {
		uint32_t status = status_of(t->curl);

		t->body_began = true;
		t->closed = helper_reply(HTTP_STATUS, &status, sizeof(status));
	}
	t->closed = t->closed || helper_reply(HTTP_BODY, data, len);
	return t->closed ? 0 : len;
}

static void transfer_set(struct transfer *t)
{
	CURL *c = t->curl;

	curl_easy_setopt(c, CURLOPT_ERRORBUFFER, t->error);
	curl_easy_setopt(c, CURLOPT_URL, t->rq.url);
	curl_easy_setopt(c, CURLOPT_NOSIGNAL, 1L);
	curl_easy_setopt(c, CURLOPT_FOLLOWLOCATION, 0L);
	curl_easy_setopt(c, CURLOPT_CONNECTTIMEOUT, (long)CONNECT_SECONDS);
	curl_easy_setopt(c, CURLOPT_LOW_SPEED_LIMIT, 1L);
	curl_easy_setopt(c, CURLOPT_LOW_SPEED_TIME, strtol(t->rq.timeout_seconds, NULL, 10));
	curl_easy_setopt(c, CURLOPT_USERAGENT, "hostrace");
	if (t->rq.unix_socket)
		curl_easy_setopt(c, CURLOPT_UNIX_SOCKET_PATH, t->rq.unix_socket);
	curl_easy_setopt(c, CURLOPT_HEADERFUNCTION, header_arrived);
	curl_easy_setopt(c, CURLOPT_HEADERDATA, t);
	curl_easy_setopt(c, CURLOPT_WRITEFUNCTION, body_arrived);
	curl_easy_setopt(c, CURLOPT_WRITEDATA, t);
	schemes_set(c);
	tls_set(c, &t->rq);
	user_set(c, &t->rq);
	method_set(t);
	range_set(t);
	headers_set(t);
	curl_easy_setopt(c, CURLOPT_HTTPHEADER, t->headers);
}

/* ---- what went wrong ---- */

/*
 * TLS 1.3 servers reject a client's certificate only after the handshake: by an alert, or, where a
 * reset of the connection overtakes it, by that.
 */
static bool broke_off(CURLcode code)
{
	return code == CURLE_RECV_ERROR || code == CURLE_SEND_ERROR ||
	       code == CURLE_SSL_CONNECT_ERROR || code == CURLE_GOT_NOTHING;
}

static int client_refused(CURLcode code, const struct request *rq, const char *url,
			  const char *why)
{
	bool sure = code == CURLE_SSL_CERTPROBLEM || strstr(why, "alert");

	/* Its plain reply may have been overtaken as well. */
	return fail(-EACCES, "%s: the server %s %s (%s)%s", url,
		    sure ? "rejected" : "does not speak TLS, or rejected",
		    rq->cert ? "the client certificate"
			      : "a connection without a client certificate",
		    why, rq->cert ? "" : "; give one with --cert and --key");
}

/* What OpenSSL and GnuTLS say of a reply that is no TLS record. */
static bool is_plain(const char *why)
{
	return strstr(why, "wrong version number") || strstr(why, "packet length too long") ||
	       strstr(why, "unexpected TLS packet") || strstr(why, "http request");
}

/* A server whose newest TLS is older than 1.2 says so by an alert; GnuTLS and OpenSSL word it alike. */
static bool is_old(const char *why)
{
	return strstr(why, "protocol version") || strstr(why, "unsupported protocol");
}

static int failed(CURLcode code, const struct request *rq, const char *why)
{
	const char *url = rq->url;

	if (code == CURLE_SSL_CONNECT_ERROR && is_plain(why))
		return fail(-EPROTO, "%s: the server does not speak TLS (%s); try: http://", url,
			    why);
	if (code == CURLE_UNSUPPORTED_PROTOCOL && strstr(why, "HTTP/"))
		return fail(-EPROTO, "%s: the server does not speak HTTP (%s)", url, why);
	if (code == CURLE_SSL_CONNECT_ERROR && is_old(why))
		return fail(-EPROTO, "%s: the server does not support TLS 1.2 or later (%s)", url,
			    why);
	if (code == CURLE_SSL_CERTPROBLEM || (broke_off(code) && !strncmp(url, "https:", 6)))
		return client_refused(code, rq, url, why);
	switch (code) {
	case CURLE_PEER_FAILED_VERIFICATION:
	case CURLE_SSL_CACERT_BADFILE:
		return fail(-EACCES,
			    "%s: cannot verify the server's certificate (%s); give its CA with "
			    "--cacert",
			    url, why);
	case CURLE_COULDNT_CONNECT:
	case CURLE_COULDNT_RESOLVE_HOST:
		return fail(-ECONNREFUSED,
			    "%s: %s; does the guest run its REST server, and is its port "
			    "forwarded?",
			    url, why);
	case CURLE_OPERATION_TIMEDOUT:
		return fail(-ETIMEDOUT, "%s: %s", url, why);
	case CURLE_ABORTED_BY_CALLBACK:
		return fail(-ETIMEDOUT, "%s: the server's reply does not end", url);
	case CURLE_UNSUPPORTED_PROTOCOL:
	case CURLE_URL_MALFORMAT:
		return fail(-EINVAL, "'%s' is not an http or https URL", url);
	default:
		return fail(-EIO, "%s: %s", url, why);
	}
}

/* May the rest of a reply that had begun come another time? */
static bool is_break(CURLcode code)
{
	return code == CURLE_PARTIAL_FILE || code == CURLE_OPERATION_TIMEDOUT ||
	       (broke_off(code) && code != CURLE_SEND_ERROR);
}

static int transfer(struct transfer *t, struct http_end *ret)
{
	CURLcode code;
	const char *why;

	if (files_check(&t->rq))
		return -EINVAL;
	if (!(t->curl = curl_easy_init()))
		return fail(-ENOMEM, "cannot initialize libcurl");
	transfer_set(t);
	code = curl_easy_perform(t->curl);
	ret->status = status_of(t->curl);
	curl_slist_free_all(t->headers);
	curl_easy_cleanup(t->curl);
	if (!code)
		return 0;
	why = *t->error ? t->error : curl_easy_strerror(code);
	snprintf(ret->why, sizeof(ret->why), "%s", why);
	ret->broke = t->body_began && is_break(code);
	return failed(code, &t->rq, why);
}

static int http_answer(uint32_t kind, const uint8_t *data, size_t len)
{
	struct confinement c = {.phase = CONFINE_EXECUTE}; /* libcurl's system calls are not ours to know */
	struct transfer t = {0};
	struct http_end end = {0};

	if (kind == HTTP_UNPRIVILEGED)
		end.err = confine(&c);
	else if (kind != HTTP_REQUEST || request_parse(&t.rq, (const char *)data, len))
		end.err =
			fail(-EPROTO, "hostrace-http: unknown request: is it of another version?");
	else if (!(end.err = data_receive(&t.rq)))
		end.err = transfer(&t, &end);
	free(t.rq.post);
	if (end.err)
		snprintf(end.message, sizeof(end.message), "%s", error_text());
	return t.closed ? -EPIPE : helper_reply(HTTP_END, &end, sizeof(end));
}

int main(int argc, char **argv)
{
	(void)argv;
	if (argc > 1 || isatty(STDIN_FILENO)) {
		puts("hostrace-http is started by hostrace, to connect to a guest or a server");
		return 2;
	}
	if (curl_global_init(CURL_GLOBAL_DEFAULT))
		return EXIT_FAILURE;
	return helper_serve(http_answer);
}
