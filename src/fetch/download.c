// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * What a later run must know of a download that broke: FILE.part.json next to FILE.part, mode 0600.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <jansson.h>
#include <string.h>
#include <strings.h>
#include <sys/file.h>
#include <time.h>

#include "base/error.h"
#include "base/safe_path.h"
#include "fetch/http.h"

/*
 * A file from a guest, whole or not at all: it grows as FILE.part (mode 0600) and is renamed when
 * its last byte is there. A broken transfer is resumed where the server allows it: it
 * must send ranges, and name the contents by a strong ETag (or a date), which FILE.part.json keeps
 * for a later run. Contents that changed meanwhile are fetched from the start (RFC 9110, sections
 * 13.1.5 If-Range and 14 range requests).
 */

#define DOWNLOAD_MAX (16ull << 30)
enum { DOWNLOAD_VALIDATOR_MAX = 256 };

struct download_state {
	bool resumable; /* the server sends ranges and a validator */
	uint64_t total; /* bytes; 0: unknown */
	char validator[DOWNLOAD_VALIDATOR_MAX]; /* for If-Range */
};

enum { STATE_BYTES_MAX = 16384 };

static char *state_name(const char *part)
{
	char *name;

	return asprintf(&name, "%s.json", part) < 0 ? NULL : name;
}

static void download_state_remove(const char *part)
{
	_cleanup_free_ char *name = state_name(part);

	if (name)
		safe_path_unlink(name);
}

static json_t *state_read(const char *part)
{
	_cleanup_free_ char *name = state_name(part);
	_cleanup_close_ int fd =
		name ? safe_path_open(name, O_RDONLY | O_NONBLOCK, 0) : -1;
	char text[STATE_BYTES_MAX];
	struct stat st;

	if (fd < 0 || fstat(fd, &st) || !S_ISREG(st.st_mode) || st.st_uid != geteuid())
		return NULL;
	ssize_t len = read(fd, text, sizeof(text));

	return len > 0 ? json_loadb(text, (size_t)len, 0, NULL) : NULL;
}

/* False (and *ret zero) where there is none, or one of another URL, or it cannot be understood. */
static bool download_state_load(const char *part, const char *url, struct download_state *ret)
{
	json_t *j = state_read(part);
	const char *of = json_string_value(json_object_get(j, "url"));
	const char *validator = json_string_value(json_object_get(j, "validator"));
	json_int_t total = json_integer_value(json_object_get(j, "total"));

	*ret = (struct download_state){0};
	if (of && !strcmp(of, url) && validator && *validator && total > 0 &&
	    strlen(validator) < sizeof(ret->validator) && !strpbrk(validator, "\r\n")) {
		strcpy(ret->validator, validator);
		ret->total = (uint64_t)total;
		ret->resumable = true;
	}
	json_decref(j);
	return ret->resumable;
}

/* Made again under O_EXCL: never through somebody else's file. */
/* 0, or -errno with the error message set. A state that is not resumable removes the file. */
static int download_state_save(const char *part, const char *url, const struct download_state *s)
{
	_cleanup_free_ char *name = state_name(part);
	json_t *j;
	int fd, bad;

	if (!name)
		return fail(-ENOMEM, "out of memory");
	safe_path_unlink(name);
	if (!s->resumable)
		return 0;
	fd = safe_path_open(name, O_WRONLY | O_CREAT | O_EXCL, 0600);
	if (fd < 0)
		return fail(-errno, "%s: %s", name, strerror(errno));
	j = json_pack("{s:s,s:s,s:I}", "url", url, "validator", s->validator, "total",
		      (json_int_t)s->total);
	bad = !j || json_dumpfd(j, fd, JSON_INDENT(1));
	json_decref(j);
	bad |= close(fd) != 0;
	return bad ? fail(-EIO, "cannot write %s", name) : 0;
}

enum { REFUSAL_MAX = 2048, RETRY_PAUSE_MS = 200 };

/* One reply of the server, from its headers. */
struct answer {
	uint32_t status;
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
	char refusal[REFUSAL_MAX + 1];
	size_t refusal_len;
	struct http *http;
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

static void header_arrived(void *arg, char *line)
{
	struct transfer *t = arg;
	char *value;

	if (!strncmp(line, "HTTP/", 5)) /* informational replies such as 100 Continue precede the final one */
		t->answer = (struct answer){0};
	if (!(value = strchr(line, ':')))
		return;
	*value++ = 0;
	value += strspn(value, " \t");
	header_read(&t->answer, line, value, strlen(value));
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

static int body_begins(struct transfer *t, uint32_t status)
{
	struct answer *a = &t->answer;
	int err;

	t->body_began = true;
	a->status = status;
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

static int body_arrived(void *arg, uint32_t status, const void *data, size_t len)
{
	struct transfer *t = arg;
	int err = t->body_began ? 0 : body_begins(t, status);

	if (err || status == 200 || status == 206)
		return err ? err : body_write(t, data, len);
	refusal_add(t, data, len);
	return 0;
}

/* ---- one try ---- */

/* What http_perform() returns. */
static int transfer_once(struct transfer *t, struct http_end *ret)
{
	struct http_transfer request = {.method = "GET", .url = t->opt->url, .is_long = true,
					.range_from = t->have,
					.if_range = t->have ? t->state.validator : NULL,
					.header = header_arrived, .body = body_arrived, .arg = t};
	int err;

	t->answer = (struct answer){0};
	t->body_began = t->restart = false;
	t->refusal_len = 0;
	t->asked_from = t->have;
	err = http_perform(t->http, &request, ret);
	if (!err)
		t->answer.status = ret->status;
	t->refusal[t->refusal_len] = 0;
	return err;
}

static int finished(struct transfer *t)
{
	const struct answer *a = &t->answer;
	int err = 0;

	if (a->status != 200 && a->status != 206)
		return http_refused(a->status, t->opt->url, t->refusal);
	if (!t->body_began) /* a reply of no bytes */
		err = body_begins(t, a->status);
	if (!err && a->total && t->have != a->total)
		err = fail(-EPIPE, "%s: truncated: %" PRIu64 " of %" PRIu64 " bytes", t->opt->url,
			   t->have, a->total);
	return err;
}

/* The state after a broken connection, and what to do. */
static int broken(const struct transfer *t, const char *why)
{
	char total[32] = "";

	if (t->state.total)
		snprintf(total, sizeof(total), " of %" PRIu64, t->state.total);
	fail(-EPIPE, "%s: connection lost after %" PRIu64 "%s bytes (%s)", t->opt->url, t->have,
	     total, why);
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
	for (;;) {
		struct http_end end;
		int err = transfer_once(t, &end);

		if (stale(t)) {
			t->state = (struct download_state){0};
			ret->resumed_at = 0;
			if ((err = start_over(t)))
				return err;
			continue; /* without a range: cannot be stale again */
		}
		if (t->asked_from && t->answer.status == 200)
			ret->resumed_at = 0;
		if (err)
			return err;
		if (!end.err)
			return finished(t);
		if (!end.broke)
			return fail(end.err, "%s", end.message);
		if (!t->state.resumable || ret->breaks >= t->opt->retries)
			return broken(t, end.why);
		pause_ms(RETRY_PAUSE_MS << ret->breaks++);
	}
}

/* ---- the file ---- */

/* Nobody else's file, no link: in a directory that others may write to, the name proves nothing. */
static int part_open(struct transfer *t)
{
	struct stat st;

	t->fd = safe_path_open(t->part, O_RDWR | O_NONBLOCK | O_NOCTTY, 0);
	if (t->fd < 0 && errno == ENOENT)
		t->fd = safe_path_open(t->part, O_RDWR | O_CREAT | O_EXCL, 0600);
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

	if (!err && safe_path_rename(t->part, t->opt->file))
		err = fail(-errno, "%s: %s", t->opt->file, strerror(errno));
	if (err)
		safe_path_unlink(t->part);
	download_state_remove(t->part);
	return err;
}

static int download_to(const char *file, struct download_options *opt, struct download_result *ret)
{
	struct transfer t = {.opt = opt, .fd = -1};
	int err;

	if (asprintf(&t.part, "%s.part", file) < 0)
		return fail(-ENOMEM, "out of memory");
	if (!(t.http = http_open(&opt->http))) {
		free(t.part);
		return -ENOMEM;
	}
	err = part_open(&t);
	bool ours = !err;

	ret->resumed_at = t.have;
	if (!err)
		err = transfer_all(&t, ret);
	ret->bytes = t.have;
	if (!err)
		err = part_done(&t);
	else if (ours && (!t.state.resumable || !t.have)) {
		safe_path_unlink(t.part);
		download_state_remove(t.part);
	}
	if (t.fd >= 0)
		close(t.fd);
	http_close(t.http);
	free(t.part);
	return err;
}

int download(const struct download_options *given, struct download_result *ret)
{
	struct download_options opt = *given;
	struct stat st;
	char *at;
	int err;

	*ret = (struct download_result){0};
	if (!lstat(opt.file, &st) && !S_ISREG(st.st_mode)) /* it is renamed into place at the end */
		return fail(-EEXIST, "%s exists and is not a regular file", opt.file);
	err = safe_path_resolve(given->file, &at);
	if (err)
		return err;
	opt.file = at;
	opt.max_bytes = opt.max_bytes ? opt.max_bytes : DOWNLOAD_MAX;
	err = download_to(at, &opt, ret);
	free(at);
	return err;
}
