// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Requests to `hostrace view`. Every program of this host can connect, so the path of each request begins with a token
 * that only the user's browser has. The parameters are passed on as libmicrohttpd decodes them.
 */
#include <errno.h>
#include <string.h>

#include "exporter/httpd/httpd.h"

/* The time that it takes does not depend on how much is right. */
static bool same_bytes(const char *a, const char *b, size_t len)
{
	unsigned char differs = 0;

	for (size_t i = 0; i < len; i++)
		differs |= (unsigned char)(a[i] ^ b[i]);
	return !differs;
}

const char *asked_path(const char *token, const char *url)
{
	size_t len = strlen(token);

	if (*url != '/' || strnlen(url + 1, len + 1) <= len || url[len + 1] != '/' ||
	    !same_bytes(url + 1, token, len))
		return NULL;
	return url + len + 2;
}

struct asked {
	char *text;
	size_t len, size;
	bool too_long, has_nul; /* what a parameter has after a NUL would be lost without a word */
};

static void asked_add(struct asked *a, const char *text)
{
	size_t len = strlen(text) + 1;

	a->too_long |= len > a->size - a->len;
	if (a->too_long)
		return;
	memcpy(a->text + a->len, text, len);
	a->len += len;
}

static enum MHD_Result asked_parameter(void *arg, enum MHD_ValueKind kind, const char *key,
				       size_t key_len, const char *value, size_t value_len)
{
	struct asked *a = arg;

	(void)kind;
	asked_add(a, key);
	asked_add(a, value ? value : "");
	a->has_nul |= strlen(key) < key_len || (value && strlen(value) < value_len);
	return MHD_YES;
}

ssize_t asked_make(struct MHD_Connection *c, const char *path, char *text, size_t size)
{
	struct asked a = {.text = text, .size = size};

	asked_add(&a, path);
	MHD_get_connection_values_n(c, MHD_GET_ARGUMENT_KIND, asked_parameter, &a);
	if (a.has_nul)
		return -EINVAL;
	return a.too_long ? -E2BIG : (ssize_t)a.len;
}

void asked_headers(struct MHD_Response *r, const char *type)
{
	static const char *const headers[][2] = {
		{"Content-Security-Policy",
		 "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; "
		 "img-src data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"},
		{"X-Content-Type-Options", "nosniff"},
		{"Referrer-Policy", "no-referrer"}, /* it has the token */
		{"Cross-Origin-Resource-Policy", "same-origin"},
		{"Cache-Control", "no-store"},
	};

	MHD_add_response_header(r, MHD_HTTP_HEADER_CONTENT_TYPE, type);
	for (size_t i = 0; i < sizeof(headers) / sizeof(*headers); i++)
		MHD_add_response_header(r, headers[i][0], headers[i][1]);
}
