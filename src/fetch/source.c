// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The list of sources of a guest's trace, and what they share: an output file that grows, limited retries, and the
 * frames of a guest stream, of which only whole ones with a correct CRC are written.
 */
#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <string.h>
#include <sys/stat.h>

#include "base/clock.h"
#include "base/error.h"
#include "fetch/source_internal.h"

enum { STOP_PAUSE_MS = 10 };

static const struct source_ops *const kinds[] = {&source_serial, &source_vsock, &source_shm,
						 &source_mem, &source_file};

int source_write(struct guest_source *s, const void *data, size_t len)
{
	const uint8_t *at = data;

	if (len > s->max_bytes || s->bytes > s->max_bytes - len)
		return fail(-EFBIG,
			    "%s: the guest sent more than %" PRIu64
			    " bytes (--guest-size); the rest was discarded",
			    s->out.path, s->max_bytes);
	while (len) {
		ssize_t n = write(s->out.fd, at, len);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return fail(-errno, "%s: %s", s->out.path, strerror(errno));
		at += n;
		len -= (size_t)n;
		s->bytes += (uint64_t)n;
	}
	return growing_file_publish(&s->out);
}

/* ---- frames ---- */

uint8_t *frames_room(struct guest_source *s, size_t *ret_room)
{
	struct frames *f = &s->frames;

	if (!f->buf)
		f->buf = malloc(FRAMES_ROOM);
	*ret_room = f->buf ? FRAMES_ROOM - f->len : 0;
	return f->buf ? f->buf + f->len : NULL;
}

/* A whole, right frame: only what is between BEGIN and END is kept. */
static int frame_keep(struct guest_source *s, const struct stream_head *h, const uint8_t *frame)
{
	struct frames *f = &s->frames;

	if (h->kind == STREAM_BEGIN && f->begun)
		f->ended = true; /* the agent was restarted: that is another recording */
	f->begun |= h->kind == STREAM_BEGIN;
	if (!f->begun || f->ended)
		return 0;
	f->frames++;
	f->ended = h->kind == STREAM_END;
	return source_write(s, frame, STREAM_HEAD + h->bytes);
}

/* Each byte is looked at once, whatever a guest sends: of a damaged frame the whole length is
 * skipped. */
int frames_take(struct guest_source *s, size_t len)
{
	struct frames *f = &s->frames;
	size_t at = 0;
	int err = 0;

	f->len += len;
	f->received += len;
	while (!err && !f->ended && f->len - at >= STREAM_HEAD) {
		const uint8_t *frame = f->buf + at;
		struct stream_head h;

		if (!stream_head_read(frame, &h)) {
			f->damaged += !f->noise && f->begun;
			f->noise = true;
			at++;
			continue;
		}
		f->noise = false;
		if (f->len - at - STREAM_HEAD < h.bytes)
			break;
		if (stream_crc_right(frame, frame + STREAM_HEAD, h.bytes))
			err = frame_keep(s, &h, frame);
		else
			f->damaged += f->begun;
		at += STREAM_HEAD + h.bytes;
	}
	f->len -= at;
	memmove(f->buf, f->buf + at, f->len);
	return err;
}

/* ---- the source ---- */

static const struct source_ops *kind_of(const char *text, const char **ret_arg)
{
	for (unsigned int i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
		size_t len = strlen(kinds[i]->name);

		if (!strncmp(text, kinds[i]->name, len) && text[len] == ':' && text[len + 1]) {
			*ret_arg = text + len + 1;
			return kinds[i];
		}
	}
	return NULL;
}

int guest_source_check(const char *text)
{
	const char *arg;

	return kind_of(text, &arg)
		       ? 0
		       : fail_usage(-EINVAL,
				    "invalid source '%s' of a guest trace (expected serial:PATH, "
				    "vsock:CID:PORT, shm:FILE, mem:WHERE or file:FILE)",
				    text);
}

/* The newest error message ends the source. */
static void give_up(struct guest_source *s)
{
	s->failed = true;
	snprintf(s->error, sizeof(s->error), "%s", error_text());
}

static int source_look(struct guest_source *s)
{
	uint64_t now = monotonic_ms();
	int err;

	if (now < s->retry_ms)
		return -EAGAIN;
	s->retry_ms = now + GUEST_SOURCE_RETRY_MS;
	err = s->ops->find(s);
	s->there = !err;
	snprintf(s->error, sizeof(s->error), "%s", err ? error_text() : "");
	return err;
}

static bool is_guest_trace(const uint8_t *head, size_t len)
{
	const uint64_t ring[2] = {RING_MAGIC0, RING_MAGIC1};
	const uint32_t stream = STREAM_MAGIC;

	return (len >= sizeof(ring) && !memcmp(head, ring, sizeof(ring))) ||
	       (len >= sizeof(stream) && !memcmp(head, &stream, sizeof(stream)));
}

/* A trace that is read must not be replaced by its own copy. */
static int output_check(const char *text, const char *to)
{
	struct stat in, out;

	if (strncmp(text, "file:", 5) || stat(text + 5, &in) || stat(to, &out) ||
	    in.st_dev != out.st_dev || in.st_ino != out.st_ino)
		return 0;
	return fail(-EINVAL, "%s is the guest's trace and would be replaced; choose another -o",
		    to);
}

int guest_source_open(const char *text, pid_t pid, const char *to, bool must,
		      struct guest_source **ret)
{
	struct guest_source *s = calloc(1, sizeof(*s));
	int err = s ? guest_source_check(text) : fail(-ENOMEM, "out of memory");

	if (err) {
		free(s);
		return err;
	}
	*s = (struct guest_source){.max_bytes = GUEST_SOURCE_FILE_DEFAULT,
				   .text = text,
				   .pid = pid,
				   .fd = -1,
				   .stop_ms = GUEST_SOURCE_STOP_MS};
	s->ops = kind_of(text, &s->arg);
	err = output_check(text, to);
	if (!err)
		err = growing_file_create(&s->out, to, false, is_guest_trace);
	if (!err && s->ops->prepare)
		err = s->ops->prepare(s);
	if (!err) {
		err = source_look(s);
		err = err == -EAGAIN && !must ? 0 : err;
	}
	if (err) {
		guest_source_close(s);
		return err;
	}
	*ret = s;
	return 0;
}

bool guest_source_found(const struct guest_source *s)
{
	return s->there || s->failed;
}

void guest_source_limit(struct guest_source *s, uint64_t file_bytes)
{
	s->max_bytes = file_bytes;
}

void guest_source_round(struct guest_source *s)
{
	int err = s->failed ? -EIO : s->there ? 0 : source_look(s);

	if (err == -EAGAIN || s->failed)
		return;
	if (!err)
		err = s->ops->take(s);
	if (err < 0)
		give_up(s);
}

static bool may_wait(const struct guest_source *s, uint64_t waited_ms)
{
	return waited_ms < s->stop_ms && (s->frames.begun || waited_ms < GUEST_SOURCE_SILENT_MS);
}

void guest_source_stop(struct guest_source *s)
{
	uint64_t begin = monotonic_ms();
	int err = 0;

	s->retry_ms = 0;
	guest_source_round(s); /* also what has only appeared now */
	if (s->there && !s->failed && s->ops->ask_end) {
		s->ops->ask_end(s);
		while (!s->failed && !s->frames.ended && may_wait(s, monotonic_ms() - begin)) {
			err = s->ops->take(s);
			if (err < 0)
				give_up(s);
			else if (!err)
				poll(NULL, 0, STOP_PAUSE_MS);
		}
	}
	if (s->there && s->ops->finish && s->ops->finish(s))
		give_up(s);
	if (!s->failed && s->frames.received && !s->frames.begun)
		snprintf(s->error, sizeof(s->error),
			 "%" PRIu64 " bytes received, among them no beginning of an agent's stream",
			 s->frames.received);
}

int guest_source_sync(const struct guest_source *s)
{
	return s->bytes ? growing_file_sync(&s->out) : 0;
}

json_t *guest_source_json(const struct guest_source *s)
{
	bool ring = s->ring, stream = s->frames.begun;

	return json_pack("{s:s, s:s, s:s, s:I, s:I, s:I, s:s}", "source", s->text, "file",
			 s->out.path,
			 "kind",
			 ring	  ? "guest-ring"
			 : stream ? "guest-stream"
				  : "",
			 "bytes", (json_int_t)s->bytes, "units",
			 (json_int_t)(ring ? ring_follow_records(s->ring) : s->frames.frames),
			 "damaged", (json_int_t)s->frames.damaged, "error", s->error);
}

void guest_source_close(struct guest_source *s)
{
	if (!s)
		return;
	if (s->ops->close)
		s->ops->close(s);
	if (s->fd >= 0)
		close(s->fd);
	growing_file_close(&s->out, s->bytes);
	ring_follow_free(s->ring);
	free(s->frames.buf);
	free(s);
}
