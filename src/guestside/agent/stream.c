// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * What the agent sends, frame by frame (guestside/stream.h): first what explains the pages (formats, names, symbols),
 * then pages as the kernel's rings give them, unread.
 */
#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>

#include "base/cleanup.h"
#include "guestside/agent/agent.h"
#include "guestside/agent/stream.h"

enum {
	BUFFER = 128 << 10,  /* bytes that go out at once */
	TEXT_FRAME = 64 << 10, /* bytes of names or symbols in one frame */
	PAGE_ROUND = 256,    /* pages of one CPU before the next one's turn */
};

int stream_open(struct stream *st, struct sink *sink)
{
	*st = (struct stream){.sink = sink, .buf = malloc(BUFFER)};
	return st->buf ? 0 : complain(-ENOMEM, "out of memory");
}

void stream_close(struct stream *st)
{
	free(st->buf);
	st->buf = NULL;
}

int stream_flush(struct stream *st)
{
	int err = st->len ? sink_write(st->sink, st->buf, st->len, st->until_ms) : 0;

	st->bytes += st->len;
	st->len = 0;
	return err;
}

static int stream_put(struct stream *st, const void *data, size_t len)
{
	const uint8_t *from = data;

	while (len) {
		size_t n = BUFFER - st->len < len ? BUFFER - st->len : len;
		int err;

		memcpy(st->buf + st->len, from, n);
		st->len += n;
		from += n;
		len -= n;
		err = st->len == BUFFER ? stream_flush(st) : 0;
		if (err)
			return err;
	}
	return 0;
}

int stream_frame(struct stream *st, unsigned int kind, unsigned int cpu, const void *data,
		 size_t len)
{
	uint8_t head[STREAM_HEAD];
	int err;

	stream_head_write(head, (uint8_t)kind, (uint16_t)cpu, data, (uint32_t)len);
	err = stream_put(st, head, sizeof(head));
	return err ? err : stream_put(st, data, len);
}

/* ---- what comes before ---- */

static int begin_send(struct stream *st, const struct trace *t, const char *clock)
{
	char text[1024];
	struct utsname un;

	uname(&un);
	snprintf(text, sizeof(text),
		 STREAM_GREETING
		 "version %d\nagent hostrace-guest\nhost %s\nkernel %s\nmachine %s\nclock %s\n"
		 "page_size %zu\nlong %zu\ncpus %u\n",
		 STREAM_VERSION, un.nodename, un.release, un.machine, clock, t->page_size,
		 sizeof(long), t->nr_cpus);
	return stream_frame(st, STREAM_BEGIN, 0, text, strlen(text));
}

static int format_send(struct stream *st, const struct trace *t, const char *system,
		       const char *name)
{
	size_t len, head = strlen(system) + 1;
	char path[256];

	snprintf(path, sizeof(path), "/events/%s/%s/format", system, name);
	_cleanup_free_ char *text = trace_read(t, path, &len);
	if (!text || !len || len + 128 >= STREAM_PAYLOAD_MAX)
		return 0;
	_cleanup_free_ char *frame = malloc(head + len);
	if (!frame)
		return 0;
	memcpy(frame, system, head);
	memcpy(frame + head, text, len);
	return stream_frame(st, STREAM_FORMAT, 0, frame, head + len);
}

/* set_event lists what is on: "SYSTEM:NAME" a line. */
static int formats_send(struct stream *st, const struct trace *t)
{
	static const char *const always[] = {"kernel_stack", "user_stack", "print"};
	_cleanup_free_ char *list = trace_read(t, "set_event", NULL);
	char *save = NULL;
	unsigned int nr = 0;
	int err = 0;

	for (char *line = list ? strtok_r(list, "\n", &save) : NULL; line && !err;
	     line = strtok_r(NULL, "\n", &save)) {
		char *colon = strchr(line, ':');

		if (!colon)
			continue;
		*colon = '\0';
		err = format_send(st, t, line, colon + 1);
		nr++;
	}
	for (unsigned int i = 0; i < sizeof(always) / sizeof(always[0]) && !err; i++)
		err = format_send(st, t, "ftrace", always[i]);
	if (!err && !nr)
		err = complain(-ENOENT, "no event is enabled");
	return err;
}

/* Lines gathered to frames. */
struct lines {
	struct stream *st;
	unsigned int kind;
	size_t len;
	char text[TEXT_FRAME];
};

static int lines_flush(struct lines *l)
{
	int err = l->len ? stream_frame(l->st, l->kind, 0, l->text, l->len) : 0;

	l->len = 0;
	return err;
}

static int lines_add(struct lines *l, const char *line, size_t len)
{
	int err = 0;

	if (len > TEXT_FRAME)
		return 0;
	if (l->len + len > TEXT_FRAME)
		err = lines_flush(l);
	memcpy(l->text + l->len, line, len);
	l->len += len;
	return err;
}

/* Functions only: "ADDRESS T NAME [MODULE]". Where kernel.kptr_restrict hides them all addresses are 0. */
static int symbols_send(struct stream *st)
{
	_cleanup_fclose_ FILE *f = fopen("/proc/kallsyms", "re");
	_cleanup_free_ struct lines *l = calloc(1, sizeof(*l));
	char line[512];
	int err = 0;

	if (l)
		*l = (struct lines){.st = st, .kind = STREAM_SYMBOLS};
	while (f && l && !err && fgets(line, sizeof(line), f)) {
		const char *kind = strchr(line, ' ');

		if (kind && strchr("tTwW", kind[1]) && strncmp(line, "0000000000000000", 16))
			err = lines_add(l, line, strlen(line));
	}
	if (l && !err)
		err = lines_flush(l);
	return err;
}

static int names_of(struct lines *l, const char *pid)
{
	char path[64], comm[64], line[128];
	struct dirent *e;
	int err = 0;

	snprintf(path, sizeof(path), "/proc/%.16s/task", pid);
	_cleanup_closedir_ DIR *dir = opendir(path);
	while (dir && !err && (e = readdir(dir))) {
		if (!isdigit((unsigned char)e->d_name[0]))
			continue;
		snprintf(path, sizeof(path), "/proc/%.16s/task/%.16s/comm", pid, e->d_name);
		_cleanup_fclose_ FILE *f = fopen(path, "re");
		if (f && fgets(comm, sizeof(comm), f)) {
			snprintf(line, sizeof(line), "%.16s %.60s", e->d_name, comm);
			err = lines_add(l, line, strlen(line));
		}
	}
	return err;
}

static int names_send(struct stream *st, const struct trace *t)
{
	_cleanup_free_ char *saved = trace_read(t, "/saved_cmdlines", NULL);
	_cleanup_free_ struct lines *l = calloc(1, sizeof(*l));
	_cleanup_closedir_ DIR *dir = opendir("/proc");
	char *save = NULL;
	struct dirent *e;
	int err = 0;

	if (l)
		*l = (struct lines){.st = st, .kind = STREAM_NAMES};
	for (char *line = saved && l ? strtok_r(saved, "\n", &save) : NULL; line && !err;
	     line = strtok_r(NULL, "\n", &save)) {
		err = lines_add(l, line, strlen(line));
		err = err ? err : lines_add(l, "\n", 1);
	}
	while (dir && l && !err && (e = readdir(dir)))
		if (isdigit((unsigned char)e->d_name[0]))
			err = names_of(l, e->d_name);
	if (l && !err)
		err = lines_flush(l);
	return err;
}

int stream_begin(struct stream *st, const struct trace *t, const char *clock, bool symbols)
{
	int err = begin_send(st, t, clock);

	if (!err)
		err = formats_send(st, t);
	if (!err && symbols)
		err = symbols_send(st);
	if (!err)
		err = names_send(st, t);
	return err ? err : stream_flush(st);
}

/* ---- pages ---- */

#define COMMIT_BYTES  ((1u << 27) - 1)
#define COMMIT_STORED (1u << 30) /* the number of missed events follows the data */

/* Bytes of a page that mean something (see ../ftrace_page.c). */
static size_t page_used(const uint8_t *page, size_t size)
{
	size_t head = 8 + sizeof(long), used;
	uint32_t commit;

	memcpy(&commit, page + 8, sizeof(commit));
	used = head + (commit & COMMIT_BYTES) + (commit & COMMIT_STORED ? sizeof(long) : 0);
	return used < size ? used : size;
}

int stream_pages(struct stream *st, struct trace *t)
{
	_cleanup_free_ uint8_t *page = malloc(t->page_size);
	int more = page ? 1 : complain(-ENOMEM, "out of memory"), err = 0;

	while (more > 0 && !err) {
		more = 0;
		for (unsigned int cpu = 0; cpu < t->nr_cpus && !err; cpu++)
			for (int n = 0; n < PAGE_ROUND && !err; n++) {
				int got = trace_page(t, cpu, page);

				if (got <= 0) {
					err = got;
					break;
				}
				err = stream_frame(st, STREAM_PAGE, cpu, page,
						   page_used(page, t->page_size));
				st->pages++;
				more |= n == PAGE_ROUND - 1;
			}
	}
	if (more < 0)
		return more;
	return err ? err : stream_flush(st);
}

int stream_end(struct stream *st, const struct trace *t, const char *why)
{
	int err = names_send(st, t);

	for (unsigned int cpu = 0; cpu < t->nr_cpus && !err; cpu++) {
		char name[64], *text;
		size_t len;

		snprintf(name, sizeof(name), "per_cpu/cpu%u/stats", cpu);
		text = trace_read(t, name, &len);
		if (text && len < TEXT_FRAME)
			err = stream_frame(st, STREAM_STATS, cpu, text, len);
		free(text);
	}
	if (!err)
		err = stream_frame(st, STREAM_END, 0, why, strlen(why));
	return err ? err : stream_flush(st);
}
