// SPDX-License-Identifier: GPL-2.0-or-later
#include <errno.h>
#include <jansson.h>
#include <string.h>

#include "base/error.h"
#include "event/event.h"
#include "fetch/http.h"

#define DEFAULT_URL "http://localhost:8000/"

enum { CONNECT_SECONDS = 15, WORDS_MAX = 200 };

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
static void tls_set(CURL *c, const struct http_options *opt)
{
	curl_easy_setopt(c, CURLOPT_SSLVERSION, (long)CURL_SSLVERSION_TLSv1_2);
	if (opt->cert)
		curl_easy_setopt(c, CURLOPT_SSLCERT, opt->cert);
	if (opt->key)
		curl_easy_setopt(c, CURLOPT_SSLKEY, opt->key);
	if (opt->cacert)
		curl_easy_setopt(c, CURLOPT_CAINFO, opt->cacert);
	if (opt->no_verify) {
		curl_easy_setopt(c, CURLOPT_SSL_VERIFYPEER, 0L);
		curl_easy_setopt(c, CURLOPT_SSL_VERIFYHOST, 0L);
	}
}

/* curl's own words about a file that is not there are hard to understand. */
static int files_check(const struct http_options *opt)
{
	const char *const file[] = {opt->cert, opt->key, opt->cacert};

	for (int i = 0; i < 3; i++)
		if (file[i] && access(file[i], R_OK))
			return fail(-errno, "%s: %s", file[i], strerror(errno));
	return 0;
}

CURL *http_handle(const struct http_options *opt, const char *url, char error[CURL_ERROR_SIZE])
{
	uint64_t timeout_ns = opt->timeout_ns ? opt->timeout_ns : HTTP_TIMEOUT_NS;
	CURL *c = NULL;

	if (files_check(opt))
		return NULL;
	if (curl_global_init(CURL_GLOBAL_DEFAULT) || !(c = curl_easy_init())) {
		fail(-ENOMEM, "cannot initialize libcurl");
		return NULL;
	}
	error[0] = 0;
	curl_easy_setopt(c, CURLOPT_ERRORBUFFER, error);
	curl_easy_setopt(c, CURLOPT_URL, url);
	curl_easy_setopt(c, CURLOPT_NOSIGNAL, 1L);
	curl_easy_setopt(c, CURLOPT_FOLLOWLOCATION, 0L);
	curl_easy_setopt(c, CURLOPT_CONNECTTIMEOUT, (long)CONNECT_SECONDS);
	curl_easy_setopt(c, CURLOPT_LOW_SPEED_LIMIT, 1L);
	curl_easy_setopt(c, CURLOPT_LOW_SPEED_TIME, (long)(timeout_ns / 1000000000 + 1));
	curl_easy_setopt(c, CURLOPT_USERAGENT, "hostrace");
	if (opt->unix_socket)
		curl_easy_setopt(c, CURLOPT_UNIX_SOCKET_PATH, opt->unix_socket);
	schemes_set(c);
	tls_set(c, opt);
	return c;
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

static int client_refused(CURLcode code, const struct http_options *opt, const char *url,
			  const char *why)
{
	bool sure = code == CURLE_SSL_CERTPROBLEM || strstr(why, "alert");

	return fail(-EACCES, "%s: the server %s %s (%s)%s", url,
		    sure ? "rejected" : "may have rejected",
		    opt->cert ? "the client certificate"
			      : "a connection without a client certificate",
		    why, opt->cert ? "" : "; give one with --cert and --key");
}

int http_failed(CURLcode code, const struct http_options *opt, const char *url, const char *error)
{
	const char *why = *error ? error : curl_easy_strerror(code);

	if (code == CURLE_SSL_CERTPROBLEM || (broke_off(code) && !strncmp(url, "https:", 6)))
		return client_refused(code, opt, url, why);
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
	case CURLE_UNSUPPORTED_PROTOCOL:
	case CURLE_URL_MALFORMAT:
		return fail(-EINVAL, "'%s' is not an http or https URL", url);
	default:
		return fail(-EIO, "%s: %s", url, why);
	}
}

/* {"message": "...", "code": N} of OSv's server, or the beginning of another reply. */
static void own_words(const char *body, char *ret, size_t size)
{
	json_t *j = body ? json_loads(body, 0, NULL) : NULL;
	const char *message = json_string_value(json_object_get(j, "message"));

	if (!message)
		message = body && *body != '<' ? body : "";
	snprintf(ret, size, "%.*s", WORDS_MAX, message);
	ret[strcspn(ret, "\r\n")] = 0;
	text_neutralise(ret);
	json_decref(j);
}

int http_refused(long status, const char *url, const char *body)
{
	char words[WORDS_MAX + 8];

	own_words(body, words, sizeof(words));
	if (status >= 300 && status < 400)
		return fail(-EXDEV,
			    "%s: redirected by the server (status %ld); redirects are not followed",
			    url, status);
	if (status == 404)
		return fail(-ENOENT, "%s: not found (404)%s%s", url, *words ? ": " : "", words);
	if (status == 401 || status == 403)
		return fail(-EACCES, "%s: access denied (%ld)%s%s", url, status, *words ? ": " : "",
			    words);
	return fail(-EREMOTEIO, "%s: the server replied with status %ld%s%s", url, status,
		    *words ? ": " : "", words);
}

/* ---- requests whose reply is kept ---- */

static size_t body_arrived(char *data, size_t size, size_t nr, void *to)
{
	struct http_reply *r = to;
	size_t len = size * nr;

	if (r->len + len > HTTP_REPLY_MAX)
		return 0;
	char *more = realloc(r->body, r->len + len + 1);

	if (!more)
		return 0;
	r->body = more;
	memcpy(r->body + r->len, data, len);
	r->len += len;
	r->body[r->len] = 0;
	return len;
}

int http_request(const struct http_options *opt, const char *method, const char *url,
		 struct http_reply *ret)
{
	char error[CURL_ERROR_SIZE];
	CURL *c = http_handle(opt, url, error);
	CURLcode code;

	*ret = (struct http_reply){0};
	if (!c)
		return -EINVAL;
	if (!strcmp(method, "POST"))
		curl_easy_setopt(c, CURLOPT_COPYPOSTFIELDS, "");
	else if (strcmp(method, "GET"))
		curl_easy_setopt(c, CURLOPT_CUSTOMREQUEST, method);
	curl_easy_setopt(c, CURLOPT_WRITEFUNCTION, body_arrived);
	curl_easy_setopt(c, CURLOPT_WRITEDATA, ret);
	code = curl_easy_perform(c);
	curl_easy_getinfo(c, CURLINFO_RESPONSE_CODE, &ret->status);
	curl_easy_cleanup(c);
	if (!code)
		return 0;
	http_reply_deinit(ret);
	if (code == CURLE_WRITE_ERROR)
		return fail(-E2BIG, "%s: the reply exceeds %d MiB", url, HTTP_REPLY_MAX >> 20);
	return http_failed(code, opt, url, error);
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
