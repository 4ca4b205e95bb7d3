// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A directory with traces in the Common Trace Format 1.8: what LTTng writes (a directory of a
 * session, whose folder kernel/ has the kernel's trace, and ust/ those of programs), babeltrace2,
 * perf data convert --to-ctf and hostrace export ctf. Each folder with a file "metadata" is a trace,
 * and its other files are its streams, mostly one for each CPU.
 *
 * The streams' events are merged by time and handed to the reader of texts as lines (ctf_print.h):
 * it knows the kernel's events, threads and VMs, and how to show losses. Times are those of the
 * clock of the first trace, for LTTng CLOCK_MONOTONIC; its offset from CLOCK_REALTIME is metadata.
 */
#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/array.h"
#include "base/error.h"
#include "base/file_map.h"
#include "event/event.h"
#include "readers/ctf/ctf_print.h"
#include "readers/text/text_source.h"

enum {
	TRACES_MAX = 64,
	STREAMS_MAX = 4096,
	FOLDERS_MAX = 6, /* in each other: SESSION/archives/CHUNK/ust/uid/1000/64-bit */
	ENTRIES_MAX = 65536,
};

struct ctf_trace {
	struct ctf_meta meta;
	int64_t clock_offset_ns;
};

struct ctf {
	struct text_source source; /* first */
	struct trace_info *info;
	struct ctf_trace *trace[TRACES_MAX];
	unsigned int nr_traces;
	struct ctf_stream *stream[STREAMS_MAX];
	unsigned int nr_streams;
	uint64_t entries;
	struct open_files *files;

	struct ctf_stream *heap[STREAMS_MAX]; /* those that have an event, the oldest first */
	unsigned int nr_heap;
	struct source_line line;
};

/* ---- finding traces ---- */

static bool is_hidden(const char *name)
{
	return *name == '.' || !strcmp(name, "index");
}

static bool folder_has_trace(const char *path, unsigned int depth)
{
	_cleanup_free_ char *metadata = NULL;
	bool found = asprintf(&metadata, "%s/metadata", path) >= 0 && !access(metadata, F_OK);
	DIR *d = found || depth == FOLDERS_MAX ? NULL : opendir(path);
	struct dirent *e;
	unsigned int nr = 0;

	while (d && !found && (e = readdir(d)) && nr++ < ENTRIES_MAX) {
		_cleanup_free_ char *in = NULL;

		if (e->d_type == DT_DIR && !is_hidden(e->d_name) &&
		    asprintf(&in, "%s/%s", path, e->d_name) >= 0)
			found = folder_has_trace(in, depth + 1);
	}
	if (d)
		closedir(d);
	return found;
}

static bool ctf_probe_directory(const char *path)
{
	return folder_has_trace(path, 0);
}

/* ---- opening ---- */

static int64_t offset_of(const struct ctf_meta *m)
{
	const struct ctf_clock *c = &m->clock[0];

	if (!m->nr_clocks)
		return 0;
	return (int64_t)((uint64_t)c->offset_s * 1000000000 +
			 (uint64_t)((unsigned __int128)c->offset * 1000000000 / c->freq));
}

static int stream_add(struct ctf *c, const struct ctf_trace *trace, const char *path)
{
	struct ctf_stream *s;

	if (c->nr_streams == STREAMS_MAX)
		return fail(-E2BIG, "%s: more than %d streams", c->info->file, STREAMS_MAX);
	s = calloc(1, sizeof(*s));
	if (!s || !(s->path = strdup(path))) {
		free(s);
		return fail(-ENOMEM, "out of memory");
	}
	c->stream[c->nr_streams++] = s;
	s->meta = &trace->meta;
	s->info = c->info;
	s->big = trace->meta.order == CTF_BIG;
	s->clock_offset_ns = (int64_t)((uint64_t)trace->clock_offset_ns -
				       (uint64_t)c->trace[0]->clock_offset_ns);
	return open_files_map(c->files, path, &s->data, &s->bytes);
}

static int trace_add(struct ctf *c, const char *metadata, struct ctf_trace **ret)
{
	struct ctf_trace *trace;
	uint8_t *data;
	uint64_t bytes;
	int err;

	if (c->nr_traces == TRACES_MAX)
		return fail(-E2BIG, "%s: more than %d traces", c->info->file, TRACES_MAX);
	trace = calloc(1, sizeof(*trace));
	if (!trace)
		return fail(-ENOMEM, "out of memory");
	c->trace[c->nr_traces++] = *ret = trace;
	err = open_files_map(c->files, metadata, &data, &bytes);
	if (!err && !data)
		err = fail(-ENODATA, "%s is empty", metadata);
	else if (!err && bytes > CTF_METADATA_MAX)
		err = fail(-E2BIG, "%s: more than %d bytes of metadata", metadata,
			   CTF_METADATA_MAX);
	if (!err)
		err = ctf_meta_parse(&trace->meta, metadata, data, bytes);
	file_unmap(data, bytes);
	trace->clock_offset_ns = offset_of(&trace->meta);
	return err;
}

static int folder_open(struct ctf *c, const char *path, unsigned int depth);

static int entry_open(struct ctf *c, const struct ctf_trace *trace, const char *path,
		      const char *name, unsigned int depth)
{
	_cleanup_free_ char *in = NULL;
	struct stat st;

	if (is_hidden(name) || !strcmp(name, "metadata"))
		return 0;
	if (asprintf(&in, "%s/%s", path, name) < 0)
		return fail(-ENOMEM, "out of memory");
	if (lstat(in, &st))
		return fail(-errno, "%s: %s", in, strerror(errno));
	if (S_ISDIR(st.st_mode))
		return depth < FOLDERS_MAX ? folder_open(c, in, depth + 1) : 0;
	return trace && S_ISREG(st.st_mode) ? stream_add(c, trace, in) : 0;
}

/* The trace in this folder if there is one, and those in its folders. */
static int folder_open(struct ctf *c, const char *path, unsigned int depth)
{
	_cleanup_free_ char *metadata = NULL;
	struct ctf_trace *trace = NULL;
	struct dirent **list = NULL;
	int nr, err = 0;

	if (asprintf(&metadata, "%s/metadata", path) < 0)
		return fail(-ENOMEM, "out of memory");
	if (!access(metadata, F_OK))
		err = trace_add(c, metadata, &trace);
	nr = err ? 0 : scandir(path, &list, NULL, alphasort);
	if (nr < 0)
		return fail(-errno, "%s: %s", path, strerror(errno));
	c->entries += (uint64_t)nr;
	if (!err && c->entries > ENTRIES_MAX)
		err = fail(-E2BIG, "%s: more than %d files", c->info->file, ENTRIES_MAX);
	for (int i = 0; i < nr; i++) {
		err = err ? err : entry_open(c, trace, path, list[i]->d_name, depth);
		free(list[i]);
	}
	free(list);
	return err;
}

/* ---- merging ---- */

static bool is_older(const struct ctf *c, unsigned int a, unsigned int b)
{
	return c->heap[a]->time_ns < c->heap[b]->time_ns ||
	       (c->heap[a]->time_ns == c->heap[b]->time_ns && c->heap[a] < c->heap[b]);
}

static void heap_swap(struct ctf *c, unsigned int a, unsigned int b)
{
	struct ctf_stream *s = c->heap[a];

	c->heap[a] = c->heap[b];
	c->heap[b] = s;
}

static void heap_down(struct ctf *c, unsigned int i)
{
	for (;;) {
		unsigned int oldest = i;

		for (unsigned int k = 2 * i + 1; k <= 2 * i + 2 && k < c->nr_heap; k++)
			if (is_older(c, k, oldest))
				oldest = k;
		if (oldest == i)
			return;
		heap_swap(c, i, oldest);
		i = oldest;
	}
}

static void stream_advance(struct ctf *c, struct ctf_stream *s, bool *ret_more)
{
	*ret_more = ctf_stream_next(s);
	if (!*ret_more)
		ctf_lost_print(&c->line, s, UINT64_MAX);
}

static int ctf_rewind(struct text_source *source)
{
	struct ctf *c = (struct ctf *)source;
	bool more;

	c->nr_heap = 0;
	c->line.len = c->line.read = 0;
	for (unsigned int i = 0; i < c->nr_streams; i++) {
		ctf_stream_rewind(c->stream[i]);
		stream_advance(c, c->stream[i], &more);
		if (more)
			c->heap[c->nr_heap++] = c->stream[i];
	}
	for (unsigned int i = c->nr_heap / 2; i > 0; i--)
		heap_down(c, i - 1);
	return 0;
}

/* The oldest event's line. False: there are no more. */
static bool line_print(void *arg)
{
	struct ctf *c = arg;
	struct ctf_stream *s = c->nr_heap ? c->heap[0] : NULL;
	bool more;

	if (!s)
		return false;
	if (s->lost || s->lost_packets)
		ctf_lost_print(&c->line, s, s->time_ns);
	ctf_event_print(&c->line, s);
	stream_advance(c, s, &more);
	if (!more)
		c->heap[0] = c->heap[--c->nr_heap];
	heap_down(c, 0);
	return true;
}

static ssize_t ctf_read(struct text_source *source, char *to, size_t len)
{
	struct ctf *c = (struct ctf *)source;

	return source_line_read(&c->line, to, len, line_print, c);
}

/* ---- the reader ---- */

static void ctf_close(struct text_source *source)
{
	struct ctf *c = (struct ctf *)source;

	for (unsigned int i = 0; i < c->nr_streams; i++) {
		file_unmap(c->stream[i]->data, c->stream[i]->bytes);
		free(c->stream[i]->path);
		free(c->stream[i]);
	}
	for (unsigned int i = 0; i < c->nr_traces; i++) {
		ctf_meta_deinit(&c->trace[i]->meta);
		free(c->trace[i]);
	}
	free(c);
}

static void meta_set(const struct ctf *c)
{
	const struct ctf_meta *m = &c->trace[0]->meta;
	uint64_t first = c->nr_heap ? c->heap[0]->time_ns : 0;
	json_t *meta = c->info->meta;

	if (*m->tracer)
		json_object_set_new(meta, "tracer", json_string(m->tracer));
	if (*m->hostname)
		json_object_set_new(meta, "hostname", json_string(m->hostname));
	if (!c->nr_heap || c->trace[0]->clock_offset_ns <= 0 || first > INT64_MAX / 4)
		return;
	json_object_set_new(meta, "start_realtime_ns",
			    json_integer(c->trace[0]->clock_offset_ns + (int64_t)first));
	json_object_set_new(meta, "start_monotonic_ns", json_integer((int64_t)first));
}

static int ctf_source_open(struct text_source *source, struct trace_info *info)
{
	struct ctf *c = (struct ctf *)source;
	int err;

	c->info = info;
	err = folder_open(c, info->file, 0);
	if (err)
		return err;
	if (!c->nr_streams)
		return fail(-ENODATA, "%s: the CTF trace has no streams", info->file);
	err = ctf_rewind(source);
	meta_set(c);
	return err;
}

static int ctf_open(const char *path, const struct read_hint *hint, struct reader **ret)
{
	struct ctf *c = calloc(1, sizeof(*c));

	if (!c)
		return fail(-ENOMEM, "%s: out of memory", path);
	c->source = (struct text_source){.kind = "CTF",
					 .open = ctf_source_open,
					 .read = ctf_read,
					 .rewind = ctf_rewind,
					 .close = ctf_close};
	c->files = hint ? hint->files : NULL;
	return text_source_read(path, hint, &c->source, ret);
}

const struct reader_ops ctf_reader = {
	.name = "CTF",
	.summary = "a directory in the Common Trace Format 1.8 (LTTng, perf data convert)",
	.probe_directory = ctf_probe_directory,
	.open = ctf_open,
};
