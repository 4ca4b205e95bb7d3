// SPDX-License-Identifier: GPL-2.0-or-later
/* Opening either form, the dictionary of tracepoints, and what does not depend on the form. */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include "base/array.h"
#include "base/error.h"
#include "readers/osv/osv_private.h"
#include "readers/osv/raw.h"

enum { TRACEFILE_VERSION = 3 };

/* FOURCC OSVT on a little-endian guest; OSv's tool takes the other order too, and so do we. */
bool osv_is_dump(const uint8_t *head, size_t len)
{
	return len >= 8 && (!memcmp(head, "TVSO", 4) || !memcmp(head, "OSVT", 4));
}

/* Version 3 and a number of tracepoints that one can believe; older versions are recognised to be
 * refused by name. */
bool osv_is_tracefile(const uint8_t *head, size_t len)
{
	struct buffer b = buffer_of(head, len, "", 0);
	uint32_t version = buffer_u32(&b);
	uint64_t n = buffer_u64(&b);

	return !b.cut && version >= 1 && version <= TRACEFILE_VERSION && n <= OSV_TRACEPOINTS_MAX;
}

char *osv_string(struct buffer *b)
{
	uint16_t len = buffer_u16(b);
	const uint8_t *p = buffer_bytes(b, len);

	return p ? strndup((const char *)p, len) : NULL;
}

static uint32_t key_hash(uint64_t key)
{
	return (uint32_t)((key * 0x9e3779b97f4a7c15ull) >> 40);
}

int osv_index(struct osv_trace *t)
{
	uint32_t slots = t->nr_tracepoints < 512 ? 1024 : t->nr_tracepoints * 4;
	struct osv_private *p = t->priv;

	while (slots & (slots - 1))
		slots += slots & -slots;
	uint32_t *table = calloc(slots, sizeof(*table));

	if (!table)
		return fail(-ENOMEM, "out of memory");
	free(p->by_key);
	p->by_key = table;
	p->by_key_mask = slots - 1;
	for (unsigned int i = 0; i < t->nr_tracepoints; i++) {
		uint32_t h = key_hash(t->tracepoints[i].key);

		while (table[h & p->by_key_mask])
			h++;
		table[h & p->by_key_mask] = i + 1;
	}
	return 0;
}

const struct osv_tracepoint *osv_tracepoint_of(const struct osv_trace *t, uint64_t key)
{
	const struct osv_private *p = t->priv;

	for (uint32_t h = key_hash(key); p->by_key; h++) {
		uint32_t slot = p->by_key[h & p->by_key_mask];

		if (!slot)
			return NULL;
		if (t->tracepoints[slot - 1].key == key)
			return &t->tracepoints[slot - 1];
	}
	return NULL;
}

int osv_tracepoint_add(struct osv_trace *t, struct buffer *b, uint64_t key, char *name,
		       char *signature, char *format)
{
	unsigned int n = t->nr_tracepoints;

	if (!name || !signature || !format || n == OSV_TRACEPOINTS_MAX) {
		free(name);
		free(signature);
		free(format);
		return n == OSV_TRACEPOINTS_MAX
			       ? buffer_fail(b, "more than %d tracepoints", n)
			       : buffer_fail(b, "a tracepoint's description is cut short");
	}
	return osv_add(t, key, name, signature, format);
}

int osv_add(struct osv_trace *t, uint64_t key, char *name, char *signature, char *format)
{
	unsigned int n = t->nr_tracepoints;

	if (!name || !signature || !format || n == OSV_TRACEPOINTS_MAX) {
		free(name);
		free(signature);
		free(format);
		return n == OSV_TRACEPOINTS_MAX ? fail(-E2BIG, "more than %u tracepoints", n)
						: fail(-ENOMEM, "out of memory");
	}
	if (array_room(t->tracepoints, n))
		return -ENOMEM;
	struct osv_place place[OSV_ARGS_MAX];
	size_t size;
	bool fixed = osv_layout(signature, place, &size) >= 0;

	t->tracepoints[n] = (struct osv_tracepoint){
		key, name, format, signature, n, fixed ? (int)size : -1, NULL};
	t->nr_tracepoints++;
	return 0;
}

static int map_file(struct osv_trace *t, const char *path)
{
	_cleanup_close_ int fd = open(path, O_RDONLY | O_CLOEXEC);
	struct stat st;

	if (fd < 0 || fstat(fd, &st))
		return fail(-errno, "%s: %s", path, strerror(errno));
	if (!st.st_size)
		return fail(-ENODATA, "%s is empty", path);
	t->priv->map_len = (size_t)st.st_size;
	t->priv->map = mmap(NULL, t->priv->map_len, PROT_READ, MAP_PRIVATE, fd, 0);
	if (t->priv->map == MAP_FAILED) {
		t->priv->map = NULL;
		return fail(-errno, "%s: %s", path, strerror(errno));
	}
	madvise(t->priv->map, t->priv->map_len, MADV_SEQUENTIAL);
	return 0;
}

static int open_mapped(struct osv_trace *t)
{
	struct osv_private *p = t->priv;
	struct buffer b = buffer_of(p->map, p->map_len, t->file, 0);
	int err;

	t->is_dump = osv_is_dump(p->map, p->map_len);
	if (!t->is_dump && !osv_is_tracefile(p->map, p->map_len))
		return fail(-EINVAL, "%s is no OSv trace (neither a tracefile nor an OSVT dump)",
			    t->file);
	err = t->is_dump ? osv_dump_open(t, &b) : osv_tracefile_open(t, &b);
	return err ? err : osv_index(t);
}

struct osv_trace *osv_new(const char *file)
{
	_cleanup_(osv_cleanup_) struct osv_trace *t = calloc(1, sizeof(*t));

	if (t && (t->priv = calloc(1, sizeof(*t->priv))) && (t->file = strdup(file)))
		return take_ptr(t);
	fail(-ENOMEM, "%s: out of memory", file);
	return NULL;
}

int osv_open(const char *path, struct osv_trace **ret)
{
	_cleanup_(osv_cleanup_) struct osv_trace *t = osv_new(path);
	int err;

	if (!t)
		return -ENOMEM;
	err = map_file(t, path);
	if (!err && osv_is_rings(t->priv->map, t->priv->map_len))
		return osv_raw_files_open(path, ret);
	if (!err)
		err = open_mapped(t);
	if (err)
		return err;
	osv_rewind(t);
	*ret = take_ptr(t);
	return 0;
}

static void symbols_free(struct osv_symbol *s, unsigned int nr)
{
	for (unsigned int i = 0; i < nr; i++) {
		free(s[i].name);
		free(s[i].file);
	}
	free(s);
}

void osv_close(struct osv_trace *t)
{
	if (!t)
		return;
	if (t->source)
		t->source->close(t->source_arg);
	for (unsigned int i = 0; i < t->nr_tracepoints; i++) {
		free(t->tracepoints[i].name);
		free(t->tracepoints[i].signature);
		free(t->tracepoints[i].format);
	}
	free(t->tracepoints);
	symbols_free(t->symbols, t->nr_symbols);
	symbols_free(t->segments, t->nr_segments);
	symbols_free(t->modules, t->nr_modules);
	if (t->priv) {
		if (t->priv->map)
			munmap(t->priv->map, t->priv->map_len);
		free(t->priv->streams);
		free(t->priv->heap);
		free(t->priv->by_key);
		free(t->priv);
	}
	free((void *)t->file);
	free(t);
}

void osv_rewind(struct osv_trace *t)
{
	struct osv_private *p = t->priv;

	if (t->source && p->nr_read)
		t->source->rewind(t->source_arg);
	p->started = false;
	p->nr_read = 0;
	for (unsigned int i = 0; i < p->nr_streams; i++) {
		p->streams[i].at = p->streams[i].body;
		p->streams[i].ended = false;
	}
}

int osv_skip_args(struct buffer *b, struct osv_sample *s)
{
	struct osv_arg args[OSV_ARGS_MAX];
	size_t len;

	s->args = b->pos;
	if (s->tp->args_size >= 0 && buffer_left(b) >= (size_t)s->tp->args_size)
		len = (size_t)s->tp->args_size;
	else if (osv_args(s->tp, b->pos, buffer_left(b), args, &len) < 0)
		return buffer_fail(b, "arguments of %s: %s", s->tp->name, error_text());
	s->args_len = (uint32_t)len;
	buffer_bytes(b, len);
	return 1;
}

int osv_next(struct osv_trace *t, struct osv_sample *ret)
{
	int r = t->is_dump  ? osv_merge_next(t, ret)
		: t->source ? t->source->next(t->source_arg, ret)
			    : osv_tracefile_next(t, ret);

	t->priv->nr_read += r > 0;
	return r;
}

bool osv_tracepoint_is(const struct osv_tracepoint *tp, const char *name)
{
	return !strcmp(tp->name, name) ||
	       (tp->kind && tp->kind->event && !strcmp(tp->kind->event, name)) ||
	       (tp->kind && tp->kind->base && !strcmp(tp->kind->base, name)) ||
	       (tp->kind && tp->kind->all && !strcmp(tp->kind->all, name));
}

const char *osv_kind(const struct osv_trace *t)
{
	return t->is_rings ? "osv-rings" : t->is_dump ? "osv-dump" : "osv-tracefile";
}

uint64_t osv_nr_read(const struct osv_trace *t)
{
	return t->priv->nr_read;
}

unsigned int osv_backtrace(const struct osv_sample *s, uint64_t *ret, unsigned int max)
{
	unsigned int nr = 0;

	for (unsigned int i = 0; i < s->nr_backtrace && nr < max; i++) {
		uint64_t address;

		memcpy(&address, s->backtrace + 8 * i, 8);
		if (address)
			ret[nr++] = address - 1;
	}
	return nr;
}
