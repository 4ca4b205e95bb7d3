// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A guest stream (stream.h) in a file. It contains the same as trace.dat, in frames instead of sections, so only the
 * container is read here: one pass over all frames finds the formats, names and statistics and remembers where the
 * pages lie; the pages are read as trace.dat's are (src/readers/ftrace/tracedat.c).
 *
 * What the guest wrote may be anything. A frame whose CRC is wrong is skipped and counted; where no frame begins,
 * the stream ends.
 */
#include <errno.h>
#include <inttypes.h>
#include <sys/stat.h>

#include "base/array.h"
#include "base/error.h"
#include "base/read_full.h"
#include "guestside/agent/stream.h"
#include "readers/ftrace/tracedat_internal.h"
#include "readers/ring/stream_reader.h"

enum {
	PAGES_MAX = 1 << 26,	   /* 256 GiB of pages of 4096 */
	NAMES_BYTES_MAX = 8 << 20, /* of threads' names */
	SYMBOLS_BYTES_MAX = 64 << 20,
	LINES_MAX = 64,		   /* of BEGIN */
};

struct opening {
	struct tracedat_file *file;
	struct trace_info *info;
	struct ftrace_events *events;
	struct tracedat_all_stats stats;
	size_t pages;
	uint64_t damaged;
	unsigned int begun;
	bool ended;
	uint8_t *payload; /* STREAM_PAYLOAD_MAX and a NUL */
};

static bool stream_probe(const uint8_t *head, size_t len)
{
	struct stream_head h;
	size_t greeting = strlen(STREAM_GREETING);

	return len >= STREAM_HEAD + greeting && stream_head_read(head, &h) &&
	       h.kind == STREAM_BEGIN && !memcmp(head + STREAM_HEAD, STREAM_GREETING, greeting);
}

/* ---- frames ---- */

static int read_at(const struct tracedat_file *f, uint64_t at, void *to, size_t len)
{
	ssize_t n = pread_full(f->fd, to, len, at);

	if (n == (ssize_t)len)
		return 0;
	return fail(n < 0 ? (int)n : -EBADMSG, "%s: %s", f->path,
		    n < 0 ? strerror((int)-n) : "became shorter while it was read");
}

static int page_right(const struct tracedat_file *f, const struct tracedat_frame *frame,
		      const uint8_t *page)
{
	uint8_t head[STREAM_HEAD];
	int err = read_at(f, frame->offset - STREAM_HEAD, head, sizeof(head));

	return err ? err : stream_crc_right(head, page, frame->bytes);
}

/* "KEY VALUE": a line of BEGIN. */
static void begin_line(struct opening *o, const char *key, char *value)
{
	struct tracedat_file *f = o->file;
	json_t *meta = o->info->meta;

	text_sanitize(value);
	if (!strcmp(key, "version"))
		f->version = (int)strtol(value, NULL, 10);
	else if (!strcmp(key, "page_size"))
		f->page_size = (uint32_t)strtoul(value, NULL, 10);
	else if (!strcmp(key, "long"))
		f->commit_size = strtoul(value, NULL, 10) == 4 ? 4 : 8;
	else if (!strcmp(key, "clock"))
		snprintf(f->clock, sizeof(f->clock), "%s", value);
	else if (!strcmp(key, "host"))
		json_object_set_new(meta, "host", json_string(value));
	else if (!strcmp(key, "kernel"))
		json_object_set_new(meta, "kernel", json_string(value));
	else if (!strcmp(key, "agent"))
		json_object_set_new(meta, "agent", json_string(value));
}

static int begin_take(struct opening *o)
{
	struct tracedat_file *f = o->file;
	char *save = NULL, *line;
	int nr = 0;

	if (o->begun++)
		return 0;
	strtok_r((char *)o->payload, "\n", &save); /* the greeting */
	while ((line = strtok_r(NULL, "\n", &save)) && nr++ < LINES_MAX) {
		char *space = strchr(line, ' ');

		if (!space)
			continue;
		*space = '\0';
		begin_line(o, line, space + 1);
	}
	if (f->version != STREAM_VERSION)
		return fail(
			-EPROTONOSUPPORT,
			"%s: unsupported guest stream version %d; this program reads version %d",
			f->path, f->version, STREAM_VERSION);
	if (f->page_size < 512 || f->page_size > FTRACE_PAGE_MAX)
		return fail(-EBADMSG, "%s: invalid page size %u", f->path,
			    f->page_size);
	return 0;
}

static int format_take(struct opening *o, const struct stream_head *h)
{
	const uint8_t *nul = memchr(o->payload, 0, h->bytes);
	size_t at = nul ? (size_t)(nul - o->payload) + 1 : 0;

	if (!nul)
		return 0;
	return ftrace_events_add(o->events, (const char *)o->payload,
				 (const char *)o->payload + at, h->bytes - at);
}

/* If a thread has several names, the last is used. */
static int names_add(struct opening *o, const struct stream_head *h)
{
	struct tracedat_file *f = o->file;
	char *grown;

	if (f->cmdlines_len + h->bytes > NAMES_BYTES_MAX)
		return 0;
	grown = realloc(f->cmdlines, f->cmdlines_len + h->bytes + 2);
	if (!grown)
		return fail(-ENOMEM, "%s: out of memory", f->path);
	f->cmdlines = grown;
	memcpy(grown + f->cmdlines_len, o->payload, h->bytes);
	f->cmdlines_len += h->bytes;
	memcpy(grown + f->cmdlines_len, "\n", 2);
	f->cmdlines_len++;
	return 0;
}

static int cpu_find(struct tracedat_file *f, unsigned int cpu, struct tracedat_cpu **ret)
{
	int err;

	for (unsigned int i = f->nr_cpus; i-- > 0;)
		if (f->cpu[i].cpu == cpu) {
			*ret = &f->cpu[i];
			return 0;
		}
	err = cpu >= STREAM_CPUS_MAX ? fail(-EBADMSG, "%s: invalid CPU number %u", f->path, cpu)
				     : tracedat_cpu_add(f, cpu, 0, 0, false);
	*ret = err ? NULL : &f->cpu[f->nr_cpus - 1];
	return err;
}

/* Also for a CPU without pages, because its losses count. */
static int stats_add(struct opening *o, const struct stream_head *h)
{
	char text[TRACEDAT_TEXT_MAX];
	struct tracedat_cpu *c;
	int err;

	if (h->bytes > sizeof(text) - 32 || h->cpu >= STREAM_CPUS_MAX)
		return 0;
	err = cpu_find(o->file, h->cpu, &c);
	if (err)
		return err;
	snprintf(text, sizeof(text), "CPU: %u\n%s", h->cpu, (const char *)o->payload);
	return tracedat_stats_take(&o->stats, text);
}

static int page_add(struct opening *o, const struct stream_head *h, uint64_t at)
{
	struct tracedat_cpu *c;
	int err = cpu_find(o->file, h->cpu, &c);

	if (err)
		return err;
	if (o->pages >= PAGES_MAX || h->bytes > o->file->page_size) {
		o->damaged++;
		return 0;
	}
	if (array_room(c->frame, c->nr_frames))
		return -ENOMEM;
	c->frame[c->nr_frames++] = (struct tracedat_frame){.offset = at, .bytes = h->bytes};
	o->pages++;
	return 0;
}

/* A frame other than a page, read whole into o->payload. */
static int frame_take(struct opening *o, const struct stream_head *h)
{
	switch (h->kind) {
	case STREAM_BEGIN:
		return begin_take(o);
	case STREAM_FORMAT:
		return format_take(o, h);
	case STREAM_NAMES:
		return names_add(o, h);
	case STREAM_STATS:
		return stats_add(o, h);
	case STREAM_END:
		o->ended = true;
		text_sanitize((char *)o->payload);
		json_object_set_new(o->info->meta, "end", json_string((char *)o->payload));
		return 0;
	default:
		return 0;
	}
}

static bool kind_is_read(unsigned int kind)
{
	return kind < STREAM_KINDS && kind != STREAM_SYMBOLS;
}

/* 1: the frame at `at` was read; 0: no complete frame begins there. */
static int frame_at(struct opening *o, uint64_t at, uint64_t *ret_next)
{
	uint64_t bytes = o->file->bytes;
	uint8_t head[STREAM_HEAD];
	struct stream_head h;
	int err;

	if (bytes - at < STREAM_HEAD)
		return 0;
	err = read_at(o->file, at, head, sizeof(head));
	if (err)
		return err;
	at += STREAM_HEAD;
	if (!stream_head_read(head, &h) || bytes - at < h.bytes)
		return 0;
	*ret_next = at + h.bytes;
	if (!kind_is_read(h.kind) || (h.kind != STREAM_BEGIN && o->begun != 1))
		return 1;
	if (h.kind == STREAM_PAGE) {
		err = page_add(o, &h, at);
		return err ? err : 1;
	}
	err = read_at(o->file, at, o->payload, h.bytes);
	if (err)
		return err;
	o->payload[h.bytes] = '\0';
	if (!stream_crc_right(head, o->payload, h.bytes)) {
		o->damaged++;
		return 1;
	}
	err = frame_take(o, &h);
	return err ? err : 1;
}

static void caveats_add(const struct opening *o, uint64_t at)
{
	struct trace_info *info = o->info;

	if (at < o->file->bytes)
		trace_info_caveat(info,
				  "%s: offset %" PRIu64
				  ": no complete frame; the rest of the stream was ignored",
				  info->file, at);
	else if (!o->ended)
		trace_info_caveat(info,
				  "%s: the stream has no end marker: the agent or its connection "
				  "was interrupted, and the last events may be missing",
				  info->file);
	if (o->damaged)
		trace_info_caveat(info, "%s: %" PRIu64 " corrupt frames were skipped", info->file,
				  o->damaged);
	if (o->begun > 1)
		trace_info_caveat(info, "%s holds %u recordings; only the first was read",
				  info->file, o->begun);
	if (!strcmp(o->file->clock, "x86-tsc"))
		trace_info_caveat(
			info,
			"%s: timestamps are guest TSC ticks, not aligned with any host's clock",
			info->file);
}

static int frames_read(struct opening *o)
{
	uint64_t at = 0;
	int more;

	do
		more = frame_at(o, at, &at);
	while (more > 0);
	if (more < 0)
		return more;
	if (!o->begun)
		return fail(-EBADMSG, "%s: the start of the guest stream is corrupt",
			    o->file->path);
	caveats_add(o, at);
	tracedat_stats_give(o->file, &o->stats);
	return 0;
}

static int stream_file_open(struct tracedat_file *f, struct trace_info *info,
			    struct ftrace_events *events)
{
	struct opening o = {.file = f, .info = info, .events = events};
	struct stat st;
	int err;

	*f = (struct tracedat_file){.path = info->file,
				    .commit_size = 8,
				    .page_size = 4096,
				    .files = f->files,
				    .frame_right = page_right};
	f->fd = open_files_get(f->files, f->path);
	if (f->fd < 0 || fstat(f->fd, &st))
		return fail(-errno, "%s: %s", f->path, strerror(errno));
	if (!S_ISREG(st.st_mode))
		return fail(-EINVAL, "%s: not a regular file", f->path);
	f->bytes = (uint64_t)st.st_size;
	o.payload = malloc(STREAM_PAYLOAD_MAX + 1);
	err = o.payload ? frames_read(&o) : fail(-ENOMEM, "%s: out of memory", f->path);
	free(o.payload);
	free(o.stats.cpu);
	return err;
}

/* Whole frames only, so that a table is not cut within a line. */
int stream_symbols(const char *path, struct open_files *files, char **ret, size_t *ret_len)
{
	struct tracedat_file f = {.path = path, .fd = open_files_get(files, path)};
	uint64_t at = 0;
	uint8_t head[STREAM_HEAD];
	struct stream_head h;
	struct stat st;
	int err = f.fd < 0 || fstat(f.fd, &st) ? fail(-errno, "%s: %s", path, strerror(errno)) : 0;

	*ret = NULL;
	*ret_len = 0;
	f.bytes = err ? 0 : (uint64_t)st.st_size;
	for (; !err && f.bytes - at >= STREAM_HEAD; at += h.bytes) {
		char *grown;

		err = read_at(&f, at, head, sizeof(head));
		at += STREAM_HEAD;
		if (err || !stream_head_read(head, &h) || f.bytes - at < h.bytes ||
		    h.kind == STREAM_PAGE) /* symbols precede pages */
			break;
		if (h.kind != STREAM_SYMBOLS || *ret_len + h.bytes > SYMBOLS_BYTES_MAX)
			continue;
		grown = realloc(*ret, *ret_len + h.bytes + 1);
		err = grown ? 0 : fail(-ENOMEM, "%s: out of memory", path);
		if (grown)
			*ret = grown;
		if (!err)
			err = read_at(&f, at, *ret + *ret_len, h.bytes);
		if (!err && stream_crc_right(head, *ret + *ret_len, h.bytes))
			*ret_len += h.bytes;
	}
	if (f.fd >= 0)
		close(f.fd);
	if (err) {
		free(*ret);
		*ret = NULL;
		*ret_len = 0;
	}
	return err;
}

static int stream_open(const char *path, const struct read_hint *hint, struct reader **ret)
{
	static const struct tracedat_container stream = {.kind = "guest-stream",
							 .ops = &stream_reader,
							 .guest = true,
							 .open = stream_file_open};

	return tracedat_open_as(&stream, path, hint, ret);
}

const struct reader_ops stream_reader = {
	.name = "guest-stream",
	.summary = "the stream of hostrace-guest in a Linux guest (doc/guest-stream.md)",
	.probe = stream_probe,
	.open = stream_open,
	.next = tracedat_next,
	.close = tracedat_close,
};
