// SPDX-License-Identifier: GPL-2.0-or-later
/* libcurl's functions, for http.c and who uses its handles; the library is loaded when the first one is made. */
#include <curl/curl.h>
#include <stdarg.h>

#include "base/lazy.h"

/* curl.h wraps these in macros that check the types of callers. */
#undef curl_easy_setopt
#undef curl_easy_getinfo

#define CURL_FUNCTIONS(X) \
	X(curl_global_init) \
	X(curl_easy_init) \
	X(curl_easy_setopt) \
	X(curl_easy_perform) \
	X(curl_easy_getinfo) \
	X(curl_easy_cleanup) \
	X(curl_easy_strerror) \
	X(curl_easy_escape) \
	X(curl_free) \
	X(curl_slist_append) \
	X(curl_slist_free_all)

static struct {
	CURL_FUNCTIONS(LAZY_MEMBER)
} real;

static const struct lazy_symbol symbols[] = {CURL_FUNCTIONS(LAZY_SYMBOL)};
struct lazy_library lazy_curl = {LAZY_SONAME, symbols, sizeof(symbols) / sizeof(*symbols)};
LAZY_NOTE(LAZY_SONAME);

CURLcode curl_global_init(long flags)
{
	return lazy_load(&lazy_curl) ? CURLE_FAILED_INIT : real.curl_global_init(flags);
}

CURL *curl_easy_init(void)
{
	return lazy_load(&lazy_curl) ? NULL : real.curl_easy_init();
}

/* Works without a handle, so that it may come first. */
char *curl_easy_escape(CURL *handle, const char *string, int length)
{
	return lazy_load(&lazy_curl) ? NULL : real.curl_easy_escape(handle, string, length);
}

/* The option's number tells the type of its value: CURLOPTTYPE_*. */
CURLcode curl_easy_setopt(CURL *handle, CURLoption option, ...)
{
	CURLcode code;
	va_list ap;

	va_start(ap, option);
	if (option < CURLOPTTYPE_OBJECTPOINT)
		code = real.curl_easy_setopt(handle, option, va_arg(ap, long));
	else if (option >= CURLOPTTYPE_OFF_T && option < CURLOPTTYPE_BLOB)
		code = real.curl_easy_setopt(handle, option, va_arg(ap, curl_off_t));
	else
		code = real.curl_easy_setopt(handle, option, va_arg(ap, void *));
	va_end(ap);
	return code;
}

CURLcode curl_easy_perform(CURL *handle)
{
	return real.curl_easy_perform(handle);
}

CURLcode curl_easy_getinfo(CURL *handle, CURLINFO info, ...)
{
	CURLcode code;
	va_list ap;

	va_start(ap, info);
	code = real.curl_easy_getinfo(handle, info, va_arg(ap, void *));
	va_end(ap);
	return code;
}

void curl_easy_cleanup(CURL *handle)
{
	if (handle)
		real.curl_easy_cleanup(handle);
}

const char *curl_easy_strerror(CURLcode code)
{
	return lazy_load(&lazy_curl) ? "libcurl is missing" : real.curl_easy_strerror(code);
}

void curl_free(void *p)
{
	if (p)
		real.curl_free(p);
}

struct curl_slist *curl_slist_append(struct curl_slist *list, const char *string)
{
	return lazy_load(&lazy_curl) ? NULL : real.curl_slist_append(list, string);
}

void curl_slist_free_all(struct curl_slist *list)
{
	if (list)
		real.curl_slist_free_all(list);
}
