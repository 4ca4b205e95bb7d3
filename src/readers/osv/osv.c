// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Opening each form, the dictionary of tracepoints, and the "tracefile", version 3. That one is little-endian, without
 * any alignment:
 *
 *   i32 version; u64 n; n x { u64 key; str name; str signature; str format }      str = u16 length + bytes
 *   until the end: { u64 key; u64 thread; char name[16]; u64 time; u32 cpu; u64 return address ...; u64 0; arguments }
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <sys/mman.h>

#include "base/error.h"
#include "base/file_map.h"
#include "base/read_full.h"
#include "readers/osv/osv_private.h"

enum { TRACEFILE_VERSION = 3 };

/* FOURCC OSVT on a little-endian guest; OSv's tool accepts the other order too, and so do we. */
bool osv_is_dump(const uint8_t *head, size_t len)
{
	return len >= 8 && (!memcmp(head, "TVSO", 4) || !memcmp(head, "OSVT", 4));
}

/* Version 3 and a plausible number of tracepoints; older versions are recognised in order to be
 * rejected by name. */
bool osv_is_tracefile(const uint8_t *head, size_t len)
{
	struct buffer b = buffer_of(head, len, "", 0);
	uint32_t version = buffer_u32(&b);
	uint64_t n = buffer_u64(&b);

	return !b.cut && version >= 1 && version <= TRACEFILE_VERSION && n <= SAMPLE_TYPES_MAX;
}

char *osv_string(struct buffer *b)
{
	uint16_t len = buffer_u16(b);
	const uint8_t *p = buffer_bytes(b, len);

	return p && !b->cut ? strndup((const char *)p, len) : NULL;
}

struct known_key {
	uint64_t key;
	uint32_t index; /* of the first type with this key */
};

const struct sample_type *osv_type_of(const struct osv_trace *t, uint64_t key)
{
	const struct known_key *k = hash_find_u64(&t->by_key, key);

	return k ? &t->base.types[k->index] : NULL;
}

/* A kernel built with conf-tracing=1 traces functions, by -finstrument-functions: "fn %p caller %p". */
static const struct sample_kind *function_kind(const struct sample_type *tp)
{
	static const struct sample_kind kinds[] = {
		{.base = "function",
		 .keyed = true,
		 .in_thread = true,
		 .nests = true,
		 .function = true},
		{.base = "function",
		 .keyed = true,
		 .in_thread = true,
		 .nests = true,
		 .function = true,
		 .ends = true},
	};
	static const char *const names[][2] = {{"function entry", "function_entry"},
					       {"function exit", "function_exit"}};

	for (int i = 0; i < 2; i++)
		if (!strcmp(tp->name, names[i][0]) || !strcmp(tp->name, names[i][1]))
			return !strcmp(tp->signature, "PP") || !strcmp(tp->signature, "P")
				       ? &kinds[i]
				       : NULL;
	return NULL;
}

int osv_type_add(struct osv_trace *t, struct buffer *b, uint64_t key, char *name, char *signature,
		 char *format)
{
	unsigned int n = t->base.nr_types;
	struct known_key *k;
	bool first;
	int err;

	if (!name || !signature || !format || n == SAMPLE_TYPES_MAX) {
		free(name);
		free(signature);
		free(format);
		return n == SAMPLE_TYPES_MAX
			       ? buffer_fail(b, "more than %d tracepoints", n)
			       : buffer_fail(b, "a tracepoint's description is truncated");
	}
	err = sample_type_add(&t->base, key, name, signature, format);
	if (err)
		return err;
	t->base.types[n].kind = function_kind(&t->base.types[n]);
	k = hash_add_u64(&t->by_key, key, &first);
	if (!k)
		return fail(-ENOMEM, "out of memory");
	if (first)
		k->index = n;
	return 0;
}

int osv_skip_args(struct buffer *b, struct sample *s)
{
	struct sample_arg args[SAMPLE_ARGS_MAX];
	size_t len;

	s->args = b->pos;
	if (s->tp->args_size >= 0 && buffer_left(b) >= (size_t)s->tp->args_size)
		len = (size_t)s->tp->args_size;
	else if (sample_args(s->tp, b->pos, buffer_left(b), args, &len) < 0)
		return buffer_fail(b, "arguments of %s: %s", s->tp->name, error_text());
	s->args_len = (uint32_t)len;
	if (s->tp->kind)
		memcpy(&s->key, s->args, sizeof(s->key));
	buffer_bytes(b, len);
	return 1;
}

/* ---- the tracefile ---- */

static int tracefile_open(struct osv_trace *t, struct buffer *b)
{
	uint32_t version = buffer_u32(b);
	uint64_t n = buffer_u64(b);

	if (version != 3)
		return fail(-EINVAL, "%s: tracefile of version %u; only version 3 can be read",
			    t->base.file, version);
	for (uint64_t i = 0; i < n; i++) {
		uint64_t key = buffer_u64(b);
		char *name = osv_string(b), *signature = osv_string(b), *format = osv_string(b);
		int err = osv_type_add(t, b, key, name, signature, format);

		if (err)
			return err;
	}
	t->streams = calloc(1, sizeof(*t->streams));
	if (!t->streams)
		return fail(-ENOMEM, "out of memory");
	t->nr_streams = 1;
	t->streams[0].body = *b;
	return 0;
}

enum { HEAD_BYTES = 44 }; /* of a sample: tracepoint, thread, its name, time, CPU */

/* Return addresses up to the closing zero. */
static int backtrace_read(struct buffer *b, struct sample *ret)
{
	const uint8_t *p = b->pos, *end = p + (buffer_left(b) & ~(size_t)7);
	uint64_t address = 0;

	/* Nearly always short and complete. The loop below handles the rest and reports errors. */
	if (buffer_left(b) > 8 * 64)
		end = p + 8 * 64;
	while (p < end && (memcpy(&address, p, 8), address))
		p += 8;
	if (p < end) {
		ret->backtrace = b->pos;
		ret->nr_backtrace = (uint32_t)((p - b->pos) / 8);
		b->pos = p + 8;
		return 0;
	}
	ret->backtrace = b->pos;
	ret->nr_backtrace = 0;
	while (buffer_u64(b)) {
		if (++ret->nr_backtrace == OSV_BACKTRACE_MAX)
			return buffer_fail(b, "a backtrace of more than %d addresses",
					   OSV_BACKTRACE_MAX);
	}
	return buffer_ok(b, "a sample");
}

static int tracefile_next(struct osv_trace *t, struct sample *ret)
{
	struct buffer *b = &t->streams[0].at;
	int err;

	if (!buffer_left(b))
		return 0;
	const uint8_t *head = buffer_bytes(b, HEAD_BYTES);
	uint64_t key;

	err = head ? 0 : buffer_ok(b, "a sample");
	if (err)
		return err;
	memcpy(&key, head, 8);
	memcpy(&ret->thread, head + 8, 8);
	memcpy(ret->thread_name, head + 16, 16);
	memcpy(&ret->time_ns, head + 32, 8);
	ret->guest_ns = 0;
	memcpy(&ret->cpu, head + 40, 4);
	ret->thread_name[16] = 0;
	ret->tp = osv_type_of(t, key);
	if (!ret->tp)
		return buffer_fail(b, "unknown tracepoint 0x%" PRIx64, key);
	err = backtrace_read(b, ret);
	if (err)
		return err;
	return osv_skip_args(b, ret);
}

/* ---- opening ---- */

static int map_file(struct osv_trace *t, const char *path, struct open_files *files)
{
	uint8_t *map;
	uint64_t bytes;
	int err = open_files_map(files, path, &map, &bytes);

	if (err)
		return err;
	if (!bytes)
		return fail(-ENODATA, "%s is empty", path);
	t->map = map;
	t->map_len = bytes;
	madvise(t->map, t->map_len, MADV_SEQUENTIAL);
	return 0;
}

static int open_mapped(struct osv_trace *t)
{
	struct buffer b = buffer_of(t->map, t->map_len, t->base.file, 0);

	t->is_dump = osv_is_dump(t->map, t->map_len);
	if (!t->is_dump && !osv_is_tracefile(t->map, t->map_len))
		return fail(-EINVAL,
			    "%s is not an OSv trace (neither a tracefile nor an OSVT dump)",
			    t->base.file);
	t->base.kind = t->is_dump ? "osv-dump" : "osv-tracefile";
	t->base.has_padded_names = !t->is_dump;
	return t->is_dump ? osv_dump_open(t, &b) : tracefile_open(t, &b);
}

static int osv_next(struct sample_trace *base, struct sample *ret)
{
	struct osv_trace *t = (struct osv_trace *)base;
	int r = 0;

	if (!t->ended)
		r = t->is_dump ? osv_dump_next(t, ret) : tracefile_next(t, ret);
	t->ended = r <= 0; /* what follows an invalid sample cannot be located */
	return r;
}

static void osv_rewind(struct sample_trace *base)
{
	struct osv_trace *t = (struct osv_trace *)base;

	t->started = t->ended = false;
	for (unsigned int i = 0; i < t->nr_streams; i++)
		t->streams[i].at = t->streams[i].body;
}

static void osv_close(struct sample_trace *base)
{
	struct osv_trace *t = (struct osv_trace *)base;

	sample_trace_deinit(base);
	osv_tables_free(t);
	file_unmap(t->map, t->map_len);
	free(t->streams);
	free(t->heap);
	hash_deinit(&t->by_key);
	free(t);
}

static const struct sample_ops osv_ops = {
	.next = osv_next,
	.rewind = osv_rewind,
	.resolve = osv_tables_resolve,
	.close = osv_close,
};

struct osv_trace *osv_new(const char *file, const char *kind)
{
	struct osv_trace *t = calloc(1, sizeof(*t));

	if (!t || sample_trace_init(&t->base, file, kind, &osv_ops)) {
		fail(-ENOMEM, "%s: out of memory", file);
		free(t);
		return NULL;
	}
	t->by_key = HASH_TABLE(struct known_key, 1, SAMPLE_TYPES_MAX);
	t->base.default_elf = OSV_DEFAULT_ELF;
	t->base.keeps_args = true;
	t->base.has_thread_addresses = true;
	return t;
}

const struct osv_raw_counts *osv_raw_counts(const struct sample_trace *t)
{
	static const struct osv_raw_counts none;

	return t->ops == &osv_ops ? &((const struct osv_trace *)t)->raw : &none;
}

int osv_open(const char *path, struct open_files *files, struct sample_trace **ret)
{
	struct osv_trace *t = osv_new(path, "osv-tracefile");
	_cleanup_(sample_trace_cleanup_) struct sample_trace *base = t ? &t->base : NULL;
	int err;

	if (!t)
		return -ENOMEM;
	err = map_file(t, path, files);
	if (!err && osv_is_rings(t->map, t->map_len))
		return osv_raw_files_open(path, ret);
	if (!err)
		err = open_mapped(t);
	if (err)
		return err;
	osv_rewind(base);
	*ret = take_ptr(base);
	return 0;
}

int osv_is_trace(const char *path, struct open_files *files)
{
	_cleanup_close_ int fd = !path	 ? -1
				 : files ? open_files_get(files, path)
					 : open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	uint8_t head[64];
	ssize_t len = fd >= 0 ? pread_full(fd, head, sizeof(head), 0) : 0;

	if ((path && fd < 0 && errno != ENOENT) || (len < 0 && errno != EISDIR))
		return fail(-errno, "%s: %s", path, strerror(errno));
	return len > 0 && (osv_is_tracefile(head, (size_t)len) || osv_is_dump(head, (size_t)len) ||
			   osv_is_rings(head, (size_t)len));
}
