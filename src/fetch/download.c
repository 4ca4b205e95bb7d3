// SPDX-License-Identifier: GPL-2.0-or-later
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <string.h>
#include <strings.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>

#include "base/error.h"
#include "fetch/download.h"
#include "fetch/download_state.h"

enum { REFUSAL_MAX = 2048, RETRY_PAUSE_MS = 200 };

/* One reply of the server, from its headers. */
struct answer {
	long status;
	char validator[DOWNLOAD_VALIDATOR_MAX]; /* strong ETag, else Last-Modified; "" if neither */
	bool validator_is_etag, ranges;
	uint64_t first, total; /* Content-Range, or 0 and Content-Length; total 0: unknown */
};

struct transfer {
	const struct download_options *opt;
	struct download_state state;
	char *part;
	int fd;
	uint64_t have; /* bytes of the part that are good */
	uint64_t asked_from;
	struct answer answer;
	bool body_began, restart;
	int err; /* our own error; curl only reports that it was aborted */
	char refusal[REFUSAL_MAX + 1];
	size_t refusal_len;
	CURL *curl;
};

/* ---- headers ---- */

static void header_copy(char *to, const char *value, size_t len)
{
	if (len >= DOWNLOAD_VALIDATOR_MAX)
		len = 0; /* too long to be compared: none */
	memcpy(to, value, len);
	to[len] = 0;
}

/* "bytes 100-199/200" */
static void content_range(struct answer *a, const char *value)
{
	unsigned long long first, last, total;

	if (sscanf(value, "bytes %llu-%llu/%llu", &first, &last, &total) == 3 && first <= last &&
	    last < total) {
		a->first = first;
		a->total = total;
	}
}

static void header_read(struct answer *a, const char *name, const char *value, size_t len)
{
	if (!strcasecmp(name, "ETag") && len && *value == '"') {
		header_copy(a->validator, value, len);
		a->validator_is_etag = true;
	} else if (!strcasecmp(name, "Last-Modified") && !a->validator_is_etag) {
		header_copy(a->validator, value, len);
	} else if (!strcasecmp(name, "Accept-Ranges")) {
		a->ranges = !strncasecmp(value, "bytes", 5);
	} else if (!strcasecmp(name, "Content-Range")) {
		content_range(a, value);
	} else if (!strcasecmp(name, "Content-Length") && !a->total) {
		a->total = strtoull(value, NULL, 10);
	}
}

static size_t header_arrived(char *data, size_t size, size_t nr, void *to)
{
	struct transfer *t = to;
	char line[512];
	size_t len = size * nr;

	snprintf(line, sizeof(line), "%.*s", (int)len, data);
	line[strcspn(line, "\r\n")] = 0;
	if (!strncmp(line, "HTTP/", 5)) { /* informational replies such as 100 Continue precede the final one */
		t->answer = (struct answer){0};
		return len;
	}
	char *value = strchr(line, ':');

	if (!value)
		return len;
	*value++ = 0;
	value += strspn(value, " \t");
	header_read(&t->answer, line, value, strlen(value));
	return len;
}

/* ---- the body ---- */

static int start_over(struct transfer *t)
{
	t->have = 0;
	return ftruncate(t->fd, 0) ? fail(-errno, "%s: %s", t->part, strerror(errno)) : 0;
}

/* A 206 must continue exactly where the part ends, with the same contents. */
static bool goes_on(const struct transfer *t)
{
	const struct answer *a = &t->answer;

	return a->first == t->have && (!t->state.total || a->total == t->state.total) &&
	       (!*a->validator || !strcmp(a->validator, t->state.validator));
}

static int body_begins(struct transfer *t)
{
	struct answer *a = &t->answer;
	int err;

	t->body_began = true;
	curl_easy_getinfo(t->curl, CURLINFO_RESPONSE_CODE, &a->status);
	if (a->status == 206 && !goes_on(t)) {
		t->restart = true;
		return -ESTALE;
	}
	if (a->status != 206 && a->status != 200)
		return 0; /* the words of a refusal */
	if (a->status == 200 && (err = start_over(t)))
		return err;
	if (a->total > t->opt->max_bytes)
		return fail(-EFBIG, "%s: %" PRIu64 " bytes, more than the %" PRIu64 " allowed",
			    t->opt->url, a->total, t->opt->max_bytes);
	t->state.total = a->total;
	if (a->status == 200) {
		memcpy(t->state.validator, a->validator, sizeof(a->validator));
		t->state.resumable = *a->validator && a->ranges && a->total;
	}
	return download_state_save(t->part, t->opt->url, &t->state);
}

static void refusal_add(struct transfer *t, const char *data, size_t len)
{
	if (len > REFUSAL_MAX - t->refusal_len)
		len = REFUSAL_MAX - t->refusal_len;
	memcpy(t->refusal + t->refusal_len, data, len);
	t->refusal_len += len;
}

static int body_write(struct transfer *t, const char *data, size_t len)
{
	if (t->have + len > t->opt->max_bytes)
		return fail(-EFBIG, "%s: more than the %" PRIu64 " bytes allowed", t->opt->url,
			    t->opt->max_bytes);
	while (len) {
		ssize_t n = pwrite(t->fd, data, len, (off_t)t->have);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return fail(-errno, "%s: %s", t->part, strerror(errno));
		t->have += (uint64_t)n;
		data += n;
		len -= (size_t)n;
	}
	if (t->opt->progress)
		t->opt->progress(t->have, t->answer.total, t->opt->progress_arg);
	return 0;
}

static size_t body_arrived(char *data, size_t size, size_t nr, void *to)
{
	struct transfer *t = to;
	size_t len = size * nr;

	if (!t->body_began)
		t->err = body_begins(t);
	if (!t->err && t->answer.status != 200 && t->answer.status != 206)
		refusal_add(t, data, len);
	else if (!t->err)
		t->err = body_write(t, data, len);
	return t->err ? 0 : len;
}

/* ---- one try ---- */

static struct curl_slist *range_set(struct transfer *t)
{
	char text[DOWNLOAD_VALIDATOR_MAX + 32];

	if (!t->have)
		return NULL;
	snprintf(text, sizeof(text), "%" PRIu64 "-", t->have);
	curl_easy_setopt(t->curl, CURLOPT_RANGE, text);
	snprintf(text, sizeof(text), "If-Range: %s", t->state.validator);
	struct curl_slist *headers = curl_slist_append(NULL, text);

	curl_easy_setopt(t->curl, CURLOPT_HTTPHEADER, headers);
	return headers;
}

static CURLcode transfer_once(struct transfer *t, char error[CURL_ERROR_SIZE])
{
	struct curl_slist *headers;
	CURLcode code;

	t->curl = http_handle(&t->opt->http, t->opt->url, error);
	if (!t->curl) {
		t->err = -EINVAL;
		return CURLE_FAILED_INIT;
	}
	t->answer = (struct answer){0};
	t->body_began = t->restart = false;
	t->refusal_len = 0;
	t->err = 0;
	t->asked_from = t->have;
	headers = range_set(t);
	curl_easy_setopt(t->curl, CURLOPT_HEADERFUNCTION, header_arrived);
	curl_easy_setopt(t->curl, CURLOPT_HEADERDATA, t);
	curl_easy_setopt(t->curl, CURLOPT_WRITEFUNCTION, body_arrived);
	curl_easy_setopt(t->curl, CURLOPT_WRITEDATA, t);
	code = curl_easy_perform(t->curl);
	curl_easy_getinfo(t->curl, CURLINFO_RESPONSE_CODE, &t->answer.status);
	curl_slist_free_all(headers);
	curl_easy_cleanup(t->curl);
	t->refusal[t->refusal_len] = 0;
	return code;
}

/* The connection broke after the reply had begun. */
static bool broke(const struct transfer *t, CURLcode code)
{
	return t->body_began && !t->err &&
	       (code == CURLE_PARTIAL_FILE || code == CURLE_RECV_ERROR ||
		code == CURLE_OPERATION_TIMEDOUT || code == CURLE_GOT_NOTHING ||
		code == CURLE_SSL_CONNECT_ERROR);
}

static int finished(struct transfer *t)
{
	const struct answer *a = &t->answer;
	int err = 0;

	if (a->status != 200 && a->status != 206)
		return http_refused(a->status, t->opt->url, t->refusal);
	if (!t->body_began) /* a reply of no bytes */
		err = body_begins(t);
	if (!err && a->total && t->have != a->total)
		err = fail(-EPIPE, "%s: truncated: %" PRIu64 " of %" PRIu64 " bytes", t->opt->url,
			   t->have, a->total);
	return err;
}

/* The state after a broken connection, and what to do. */
static int broken(const struct transfer *t, const char *why)
{
	fail(-EPIPE, "%s: connection lost after %" PRIu64 " of %" PRIu64 " bytes (%s)", t->opt->url,
	     t->have, t->state.total, why);
	return t->state.resumable ? fail_hint(-EPIPE, "run the same command again to resume")
				  : fail_hint(-EPIPE, "the server does not support resuming");
}

static void pause_ms(unsigned int ms)
{
	struct timespec ts = {.tv_sec = ms / 1000, .tv_nsec = (long)(ms % 1000) * 1000000};

	nanosleep(&ts, NULL);
}

/* The part is not what the server has (any more): once more from the start. */
static bool stale(const struct transfer *t)
{
	return t->asked_from && (t->restart || t->answer.status == 416);
}

static int transfer_all(struct transfer *t, struct download_result *ret)
{
	char error[CURL_ERROR_SIZE];

	for (;;) {
		CURLcode code = transfer_once(t, error);
		int err;

		if (stale(t)) {
			t->state = (struct download_state){0};
			ret->resumed_at = 0;
			if ((err = start_over(t)))
				return err;
			continue; /* without a range: cannot be stale again */
		}
		if (t->asked_from && t->answer.status == 200)
			ret->resumed_at = 0;
		if (code == CURLE_OK)
			return finished(t);
		if (t->err)
			return t->err;
		if (!broke(t, code))
			return http_failed(code, &t->opt->http, t->opt->url, error);
		if (!t->state.resumable || ret->breaks >= t->opt->retries)
			return broken(t, *error ? error : curl_easy_strerror(code));
		pause_ms(RETRY_PAUSE_MS << ret->breaks++);
	}
}

/* ---- the file ---- */

/* Nobody else's file, no link: in a directory that others may write to, the name proves nothing. */
static int part_open(struct transfer *t)
{
	struct stat st;

	t->fd = open(t->part, O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (t->fd < 0 || fstat(t->fd, &st))
		return fail(-errno, "%s: %s", t->part, strerror(errno));
	if (!S_ISREG(st.st_mode) || st.st_uid != geteuid() || st.st_nlink != 1)
		return fail(-EPERM, "%s is not a regular file owned by this user; remove it",
			    t->part);
	if (flock(t->fd, LOCK_EX | LOCK_NB))
		return fail(-EBUSY, "%s is in use by another download", t->part);
	if (fchmod(t->fd, 0600))
		return fail(-errno, "%s: %s", t->part, strerror(errno));
	if (download_state_load(t->part, t->opt->url, &t->state) && t->state.resumable &&
	    (uint64_t)st.st_size < t->state.total)
		t->have = (uint64_t)st.st_size;
	else
		t->state = (struct download_state){0};
	return t->have ? 0 : start_over(t);
}

static int part_done(struct transfer *t)
{
	int err = t->opt->check ? t->opt->check(t->part) : 0;

	if (!err && rename(t->part, t->opt->file))
		err = fail(-errno, "%s: %s", t->opt->file, strerror(errno));
	if (err)
		unlink(t->part);
	download_state_remove(t->part);
	return err;
}

int download(const struct download_options *given, struct download_result *ret)
{
	struct download_options opt = *given;
	struct transfer t = {.opt = &opt, .fd = -1};
	int err;

	*ret = (struct download_result){0};
	struct stat st;

	if (!lstat(opt.file, &st) && !S_ISREG(st.st_mode)) /* it is renamed into place at the end */
		return fail(-EEXIST, "%s exists and is not a regular file", opt.file);
	opt.max_bytes = opt.max_bytes ? opt.max_bytes : DOWNLOAD_MAX;
	if (asprintf(&t.part, "%s.part", opt.file) < 0)
		return fail(-ENOMEM, "out of memory");
	err = part_open(&t);
	bool ours = !err;

	ret->resumed_at = t.have;
	if (!err)
		err = transfer_all(&t, ret);
	ret->bytes = t.have;
	if (!err)
		err = part_done(&t);
	else if (ours && (!t.state.resumable || !t.have)) {
		unlink(t.part);
		download_state_remove(t.part);
	}
	if (t.fd >= 0)
		close(t.fd);
	free(t.part);
	return err;
}
