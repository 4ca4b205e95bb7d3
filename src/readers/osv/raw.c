// SPDX-License-Identifier: GPL-2.0-or-later
/* Records are copied out of the rings, without gaps, so that they can be read as those of a dump. */
#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include "base/error.h"
#include "base/file_map.h"
#include "readers/osv/osv_private.h"

enum {
	RECORD_BYTES = 48,
	NAME_OFFSET = 16,
	FLAGS_OFFSET = 44,
	BACKTRACE_BYTES = 80,
	HAS_BACKTRACE = 1,
	NO_TRACEPOINT = 0x7fffffff,
};
#define BEING_WRITTEN UINT64_MAX

struct met_key {
	uint64_t key;
	uint32_t index; /* of its type, or NO_TRACEPOINT */
};

struct walk {
	struct osv_trace *t;
	osv_raw_lookup *lookup;
	void *ctx;
	struct osv_raw_counts *counts;
	struct hash_table keys; /* that were met */
	uint8_t *to; /* where the next record is copied to */
};

/* ---- tracepoints, learnt as they are met ---- */

static int tracepoint_learn(struct walk *w, uint64_t key)
{
	struct osv_raw_tracepoint tp = {0};
	struct buffer b = buffer_of("", 0, w->t->base.file, 0);
	int err = w->lookup(w->ctx, key, &tp);

	if (err)
		return err;
	return osv_type_add(w->t, &b, key, tp.name, tp.signature, tp.format);
}

/* NULL: the key is not a tracepoint; that is remembered, too. */
static const struct sample_type *tracepoint_of(struct walk *w, uint64_t key)
{
	struct met_key *k = hash_find_u64(&w->keys, key);

	if (!k && (k = hash_add_u64(&w->keys, key, NULL)))
		k->index = tracepoint_learn(w, key) ? NO_TRACEPOINT : w->t->base.nr_types - 1;
	return !k || k->index == NO_TRACEPOINT ? NULL : &w->t->base.types[k->index];
}

/* ---- records ---- */

/* The length of a record without its padding; 0: it is not a record. */
static size_t record_len(struct walk *w, uint64_t key, const uint8_t *p, size_t room)
{
	const struct sample_type *tp = tracepoint_of(w, key);
	struct sample_arg args[SAMPLE_ARGS_MAX];
	size_t fixed = RECORD_BYTES, len;

	if (!tp || room < RECORD_BYTES)
		return 0;
	fixed += p[FLAGS_OFFSET] & HAS_BACKTRACE ? BACKTRACE_BYTES : 0;
	if (room < fixed || sample_args(tp, p + fixed, room - fixed, args, &len) < 0)
		return 0;
	return fixed + len;
}

/* As in a dump: 8-aligned, without gaps. The flags' other bits are stale memory. */
static void record_copy(struct walk *w, const uint8_t *p, size_t len)
{
	uint32_t flags = p[FLAGS_OFFSET] & HAS_BACKTRACE;

	memcpy(w->to, p, len);
	memcpy(w->to + FLAGS_OFFSET, &flags, sizeof(flags));
	w->to += (len + 7) & ~(size_t)7; /* the region is zero: so is the padding */
	w->counts->records++;
}

/* The records of one page, up to `end` in it. False: this vCPU was at work here. */
static bool page_walk(struct walk *w, const uint8_t *page, size_t end)
{
	size_t at = 0;

	while (at + 8 <= end) {
		uint64_t key;

		memcpy(&key, page + at, sizeof(key));
		if (!key)
			return true;
		if (key == BEING_WRITTEN)
			return false;
		size_t len = record_len(w, key, page + at, end - at);

		if (!len) {
			w->counts->bad++;
			return true;
		}
		record_copy(w, page + at, len);
		at += (len + 7) & ~(size_t)7;
	}
	return true;
}

/* Pages after the write offset are the oldest; then from the start up to it. */
static void ring_walk(struct walk *w, const struct osv_ring *r)
{
	uint64_t last = r->last % r->size;
	uint64_t pages = r->size / OSV_RING_PAGE;
	uint64_t first = (last + OSV_RING_PAGE - 1) / OSV_RING_PAGE;

	for (uint64_t i = 0; i < pages; i++) {
		uint64_t page = (first + i) % pages;
		uint64_t start = page * OSV_RING_PAGE;
		bool current = start <= last && last < start + OSV_RING_PAGE;
		size_t end = current && first > page ? last - start : OSV_RING_PAGE;

		if (!page_walk(w, r->mem + start, end)) {
			w->counts->unfinished++;
			return;
		}
	}
}

static int stream_make(struct walk *w, const struct osv_ring *r, struct osv_stream *s)
{
	uint8_t *start = w->to;

	ring_walk(w, r);
	s->body = buffer_of(start, (size_t)(w->to - start), w->t->base.file,
			    (uint64_t)(start - w->t->map));
	return 0;
}

static int rings_check(const char *name, const struct osv_ring *rings, unsigned int nr,
		       size_t *ret_bytes)
{
	*ret_bytes = 0;
	if (nr > OSV_STREAMS_MAX)
		return fail(-E2BIG, "%s: %u rings; at most %d are supported", name, nr,
			    OSV_STREAMS_MAX);
	for (unsigned int i = 0; i < nr; i++) {
		if (rings[i].size % OSV_RING_PAGE || rings[i].size > OSV_RING_BYTES_MAX ||
		    !rings[i].size)
			return fail(-EBADMSG, "%s: ring %u has an invalid size of %llu bytes", name,
				    i, (unsigned long long)rings[i].size);
		*ret_bytes += rings[i].size;
	}
	return 0;
}

/* Copied records never need more space than in the rings. */
static int streams_alloc(struct osv_trace *t, size_t bytes, unsigned int nr)
{
	t->is_dump = true;
	t->streams = calloc(nr + 1u, sizeof(*t->streams));
	t->heap = calloc(nr + 1u, sizeof(*t->heap));
	t->map_len = bytes + OSV_RING_PAGE;
	t->map = mmap(NULL, t->map_len, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (t->map == MAP_FAILED)
		t->map = NULL;
	return t->map && t->streams && t->heap ? 0
					       : fail(-ENOMEM, "%s: out of memory", t->base.file);
}

int osv_raw_open(const char *name, const struct osv_ring *rings, unsigned int nr,
		 osv_raw_lookup *lookup, void *ctx, struct sample_trace **ret,
		 struct osv_raw_counts *counts)
{
	struct osv_trace *t = osv_new(name, "osv-rings");
	_cleanup_(sample_trace_cleanup_) struct sample_trace *base = t ? &t->base : NULL;
	struct walk w = {.t = t, .lookup = lookup, .ctx = ctx, .counts = counts};
	size_t bytes;
	int err = rings_check(name, rings, nr, &bytes);

	*counts = (struct osv_raw_counts){0};
	if (!err && !t)
		err = fail(-ENOMEM, "%s: out of memory", name);
	if (!err)
		err = streams_alloc(t, bytes, nr);
	if (err)
		return err;
	w.to = t->map;
	w.keys = HASH_TABLE(struct met_key, 1, OSV_RING_TRACEPOINTS_MAX);
	for (unsigned int i = 0; i < nr && !err; i++)
		err = stream_make(&w, &rings[i], &t->streams[i]);
	t->nr_streams = nr;
	hash_deinit(&w.keys);
	if (err)
		return err;
	t->raw = *counts;
	sample_rewind(base);
	*ret = take_ptr(base);
	return 0;
}

/* ---- images in files ---- */

/*
 * Images of rings in files (memory dumps, `guest extract --raw`), with a description in JSON:
 *
 *   {"page_size": 4096, "backtrace_len": 10,
 *    "cpus": [{"file": "x.ring0.bin", "size": BYTES, "last": OFFSET}, ...],
 *    "tracepoints": [{"key": ADDRESS, "name": "...", "sig": "...", "format": "..."}, ...]}
 *
 * Files must be in the directory of the description.
 */
enum { DESCRIPTION_MAX = 64 << 20, BACKTRACE_SLOTS = 10 };

bool osv_is_rings(const uint8_t *head, size_t len)
{
	static const char first[] = "\"page_size\"";
	size_t i = 1;

	if (!len || head[0] != '{')
		return false;
	while (i < len && strchr(" \t\r\n", head[i]) && head[i])
		i++;
	return len - i >= sizeof(first) - 1 && !memcmp(head + i, first, sizeof(first) - 1);
}

struct image {
	void *map;
	size_t len;
};

static void images_free(struct image *img, size_t nr)
{
	for (size_t i = 0; img && i < nr; i++)
		file_unmap(img[i].map, img[i].len);
	free(img);
}

/* Maps a file of the directory of `path`; at least `size` bytes long. */
static int image_map(const char *path, const char *name, uint64_t size, struct image *ret)
{
	const char *slash = strrchr(path, '/');
	_cleanup_free_ char *file = NULL;
	struct stat st;

	if (strchr(name, '/'))
		return fail(-EBADMSG, "%s: '%s' is in another directory", path, name);
	if (asprintf(&file, "%.*s%s", slash ? (int)(slash + 1 - path) : 0, path, name) < 0)
		return fail(-ENOMEM, "out of memory");
	_cleanup_close_ int fd = open(file, O_RDONLY | O_CLOEXEC);

	if (fd < 0 || fstat(fd, &st))
		return fail(-errno, "%s: %s", file, strerror(errno));
	if (!S_ISREG(st.st_mode) || (uint64_t)st.st_size < size)
		return fail(-EBADMSG, "%s: shorter than the %llu bytes given in %s", file,
			    (unsigned long long)size, path);
	ret->map = file_map(fd, size, file);
	ret->len = size;
	return ret->map ? 0 : -EIO;
}

static int ring_read(const char *path, const json_t *cpu, struct image *img, struct osv_ring *ret)
{
	const char *name = json_string_value(json_object_get(cpu, "file"));
	json_int_t size = json_integer_value(json_object_get(cpu, "size"));
	json_int_t last = json_integer_value(json_object_get(cpu, "last"));
	int err;

	if (!name || size <= 0 || size > OSV_RING_BYTES_MAX || last < 0)
		return fail(-EBADMSG, "%s: a ring without a file, or with an invalid size", path);
	err = image_map(path, name, (uint64_t)size, img);
	if (err)
		return err;
	*ret = (struct osv_ring){img->map, (uint64_t)size, (uint64_t)last};
	return 0;
}

static char *text_of(const json_t *tp, const char *key)
{
	const char *text = json_string_value(json_object_get(tp, key));

	return text && strlen(text) < OSV_RING_TEXT_MAX ? strdup(text) : NULL;
}

static int lookup_in_file(void *ctx, uint64_t key, struct osv_raw_tracepoint *ret)
{
	json_t *list = ctx, *tp;
	size_t i;

	json_array_foreach(list, i, tp)
		if ((uint64_t)json_integer_value(json_object_get(tp, "key")) == key) {
			*ret = (struct osv_raw_tracepoint){text_of(tp, "name"), text_of(tp, "sig"),
							   text_of(tp, "format")};
			return 0;
		}
	return -ENOENT;
}

static int described_open(const char *path, const json_t *all, struct image *img,
			  struct osv_ring *rings, struct sample_trace **ret)
{
	json_t *cpus = json_object_get(all, "cpus"), *cpu;
	struct osv_raw_counts counts;
	int err = 0;
	size_t i;

	json_array_foreach(cpus, i, cpu)
		if (!err)
			err = ring_read(path, cpu, &img[i], &rings[i]);
	if (err)
		return err;
	return osv_raw_open(path, rings, (unsigned int)json_array_size(cpus), lookup_in_file,
			    json_object_get(all, "tracepoints"), ret, &counts);
}

static int description_check(const char *path, const json_t *all)
{
	if (json_integer_value(json_object_get(all, "page_size")) != OSV_RING_PAGE ||
	    json_integer_value(json_object_get(all, "backtrace_len")) != BACKTRACE_SLOTS)
		return fail(-EBADMSG, "%s: only rings with pages of %d bytes and backtraces of %d "
				      "are known",
			    path, OSV_RING_PAGE, BACKTRACE_SLOTS);
	if (json_array_size(json_object_get(all, "cpus")) > OSV_STREAMS_MAX ||
	    json_array_size(json_object_get(all, "tracepoints")) > OSV_RING_TRACEPOINTS_MAX)
		return fail(-E2BIG, "%s: too many rings or tracepoints", path);
	return 0;
}

int osv_raw_files_open(const char *path, struct sample_trace **ret)
{
	struct stat st;
	json_error_t wrong;
	json_t *all;
	size_t nr;
	int err;

	if (stat(path, &st) || st.st_size > DESCRIPTION_MAX)
		return fail(-E2BIG, "%s: too large for a description of rings", path);
	all = json_load_file(path, 0, &wrong);
	if (!all)
		return fail(-EBADMSG, "%s: line %d: %s", path, wrong.line, wrong.text);
	err = description_check(path, all);
	nr = json_array_size(json_object_get(all, "cpus"));
	struct image *img = calloc(nr + 1, sizeof(*img));
	struct osv_ring *rings = calloc(nr + 1, sizeof(*rings));

	if (!err && (!img || !rings))
		err = fail(-ENOMEM, "out of memory");
	if (!err)
		err = described_open(path, all, img, rings, ret);
	images_free(img, nr);
	free(rings);
	json_decref(all);
	return err;
}
