// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The OSVT dump, version 0.1: chunks { u32 tag; u32 0; u64 size; payload }, each 8-aligned in the
 * file; scalars are aligned to their size by file offset.
 *
 *   OSVT  u32 endian = 1; u32 version; then the other chunks
 *   TRCD  u32 backtrace slots; u32 n; n x { u64 key; str id, name, provider, format; u32 n_args;
 * n_args x { str; char } } MODS  u32 n; n x { str path; u64 base; u64 size; u32 n_seg; n_seg x {
 * str name; u32 x 2; u64 flags, addr, offset, size } } SYMB  u32 n; n x { str name; u64 addr; u64
 * size; str file; u32 n_loc; n_loc x { u32 offset; i32 line } } TRCS  one per CPU: records as in
 * the guest's ring, 8-aligned: { u64 key; u64 thread; char name[16]; u64 time; u32 cpu; u32 flags
 * }, if flags bit 0 the backtrace slots, then the arguments; key 0 ends it
 */
#include <errno.h>
#include <inttypes.h>

#include "base/array.h"
#include "base/error.h"
#include "base/order.h"
#include "readers/osv/osv_private.h"

#define TAG(a, b, c, d)                                                                            \
	((uint32_t)(a) << 24 | (uint32_t)(b) << 16 | (uint32_t)(c) << 8 | (uint32_t)(d))

enum {
	RECORD_BYTES = 48,
	BACKTRACE_SLOTS = 10,
	HAS_BACKTRACE = 1,
	SYMBOLS_MAX = 4 << 20,
};

static void align(struct buffer *b, size_t to)
{
	size_t off = buffer_tell(b) % to;

	if (off)
		buffer_bytes(b, to - off);
}

static uint32_t aligned_u32(struct buffer *b)
{
	align(b, 4);
	return buffer_u32(b);
}

static uint64_t aligned_u64(struct buffer *b)
{
	align(b, 8);
	return buffer_u64(b);
}

static char *aligned_string(struct buffer *b)
{
	align(b, 2);
	return osv_string(b);
}

/* ---- the chunks ---- */

static int read_tracepoint(struct osv_trace *t, struct buffer *b)
{
	uint64_t key = aligned_u64(b);

	free(aligned_string(b)); /* its id */
	_cleanup_free_ char *name = aligned_string(b);

	free(aligned_string(b)); /* its provider */
	_cleanup_free_ char *format = aligned_string(b);
	uint32_t nr = aligned_u32(b);
	char signature[SAMPLE_ARGS_MAX + 1] = "";

	if (nr > SAMPLE_ARGS_MAX)
		return buffer_fail(b, "a tracepoint with %u arguments; at most %d are supported",
				   nr, SAMPLE_ARGS_MAX);
	for (uint32_t i = 0; i < nr; i++) {
		free(aligned_string(b));
		signature[i] = (char)buffer_u8(b);
	}
	int err = buffer_ok(b, "the tracepoint dictionary");

	return err ? err
		   : osv_type_add(t, b, key, take_ptr(name), strdup(signature), take_ptr(format));
}

static int read_dictionary(struct osv_trace *t, struct buffer *b)
{
	uint32_t slots = aligned_u32(b), n = aligned_u32(b);
	int err = buffer_ok(b, "the tracepoint dictionary");

	if (!err && slots != BACKTRACE_SLOTS)
		err = buffer_fail(b, "backtraces of %u slots; only %d are known", slots,
				  BACKTRACE_SLOTS);
	for (uint32_t i = 0; i < n && !err; i++)
		err = read_tracepoint(t, b);
	return err;
}

/* Appends; takes ownership of name and file (file may be NULL: none). */
static int symbol_add(struct osv_table *table, struct buffer *b, struct osv_symbol s)
{
	int err = b->cut || !s.name	     ? buffer_fail(b, "a symbol table is truncated")
		  : table->nr == SYMBOLS_MAX ? buffer_fail(b, "more than %d symbols", SYMBOLS_MAX)
					     : array_room(table->symbol, table->nr);

	if (err) {
		free(s.name);
		free(s.file);
		return err;
	}
	s.nr = table->nr;
	table->symbol[table->nr++] = s;
	return 0;
}

static int read_segment(struct osv_trace *t, struct buffer *b, const char *path)
{
	struct osv_symbol s = {.name = aligned_string(b)};
	uint64_t address;

	aligned_u32(b);
	aligned_u32(b);
	aligned_u64(b);
	address = aligned_u64(b);
	aligned_u64(b);
	s.size = aligned_u64(b);
	s.address = address;
	s.file = strdup(path);
	return symbol_add(&t->table[OSV_SEGMENTS], b, s);
}

static int read_modules(struct osv_trace *t, struct buffer *b)
{
	uint32_t n = aligned_u32(b);
	int err = buffer_ok(b, "the module list");

	for (uint32_t i = 0; i < n && !err; i++) {
		_cleanup_free_ char *path = aligned_string(b);
		struct osv_symbol s = {.name = path ? strdup(path) : NULL};
		uint32_t nr;

		s.address = aligned_u64(b);
		s.size = aligned_u64(b);
		nr = aligned_u32(b);
		err = symbol_add(&t->table[OSV_MODULES], b, s);
		for (uint32_t j = 0; j < nr && !err; j++)
			err = read_segment(t, b, path);
	}
	return err;
}

static int read_symbols(struct osv_trace *t, struct buffer *b)
{
	uint32_t n = aligned_u32(b);
	int err = buffer_ok(b, "a symbol table");

	for (uint32_t i = 0; i < n && !err; i++) {
		struct osv_symbol s = {.name = aligned_string(b)};
		uint32_t nr;

		s.address = aligned_u64(b);
		s.size = aligned_u64(b);
		s.file = aligned_string(b);
		nr = aligned_u32(b);
		if (!buffer_bytes(b, 8ull * nr))
			b->cut = true;
		err = symbol_add(&t->table[OSV_SYMBOLS], b, s);
	}
	return err;
}

static int add_stream(struct osv_trace *t, struct buffer *b)
{
	if (t->nr_streams == OSV_STREAMS_MAX)
		return buffer_fail(b, "samples of more than %d CPUs", OSV_STREAMS_MAX);
	if (array_room(t->streams, t->nr_streams))
		return -ENOMEM;
	t->streams[t->nr_streams++] = (struct osv_stream){.body = *b};
	return 0;
}

/* Chunks of unknown kind are skipped by their size. */
static int read_chunk(struct osv_trace *t, struct buffer *b)
{
	align(b, 8);
	if (b->cut || !buffer_left(b)) { /* a few bytes of padding at the file's end */
		b->pos = b->end;
		return 0;
	}
	uint32_t tag = buffer_u32(b);
	buffer_u32(b);
	uint64_t size = buffer_u64(b), offset = buffer_tell(b);
	const uint8_t *body = buffer_bytes(b, size);

	if (!body)
		return buffer_fail(b, "a chunk is truncated");
	struct buffer inner = buffer_of(body, size, t->base.file, offset);

	switch (tag) {
	case TAG('T', 'R', 'C', 'D'):
		return read_dictionary(t, &inner);
	case TAG('M', 'O', 'D', 'S'):
		return read_modules(t, &inner);
	case TAG('S', 'Y', 'M', 'B'):
		return read_symbols(t, &inner);
	case TAG('T', 'R', 'C', 'S'):
		return add_stream(t, &inner);
	default:
		return 0;
	}
}

/* ---- names of addresses: symbols, segments of modules, modules ---- */

struct osv_made_name {
	struct osv_made_name *next;
	char text[];
};

ORDER_BY(by_address, struct osv_symbol, address, nr)

static void tables_sort(struct osv_trace *t)
{
	for (int i = 0; i < OSV_TABLES; i++)
		if (t->table[i].nr)
			qsort(t->table[i].symbol, t->table[i].nr, sizeof(*t->table[i].symbol),
			      by_address);
}

void osv_tables_free(struct osv_trace *t)
{
	for (int i = 0; i < OSV_TABLES; i++) {
		for (unsigned int k = 0; k < t->table[i].nr; k++) {
			free(t->table[i].symbol[k].name);
			free(t->table[i].symbol[k].file);
		}
		free(t->table[i].symbol);
	}
	while (t->made_names) {
		struct osv_made_name *m = t->made_names;

		t->made_names = m->next;
		free(m);
	}
}

/*
 * The last symbol that begins at or before the address. With `compat`, as in the original's search, the one that
 * begins before it, and never the first of a table.
 */
static const struct osv_symbol *table_find(const struct osv_table *table, uint64_t address,
					   bool compat)
{
	size_t lo = array_prefix(table->nr, i,
				 compat ? table->symbol[i].address < address
					: table->symbol[i].address <= address);

	if (lo < (compat ? 2u : 1u))
		return NULL;
	const struct osv_symbol *f = &table->symbol[lo - 1];

	return address - f->address < f->size ? f : NULL;
}

static const char *name_make(struct osv_trace *t, const struct osv_symbol *f, uint64_t address)
{
	size_t size = strlen(f->name) + 64;
	struct osv_made_name *m = malloc(sizeof(*m) + size);

	if (!m)
		return f->name;
	snprintf(m->text, size, "%s+0x%" PRIx64 " (0x%06" PRIx64 ")", f->name, address - f->address,
		 address);
	m->next = t->made_names;
	t->made_names = m;
	return m->text;
}

unsigned int osv_tables_resolve(struct sample_trace *base, uint64_t address,
				const struct sample_resolve *how, struct frame *ret)
{
	struct osv_trace *t = (struct osv_trace *)base;

	for (int i = 0; i < OSV_TABLES && !how->none && !how->no_file; i++) {
		const struct osv_symbol *f = table_find(&t->table[i], address, how->compat);

		if (!f || (!how->compat && !*f->name)) /* the kernel's module has no path */
			continue;
		*ret = (struct frame){address, name_make(t, f, address), f->file, 0};
		return 1;
	}
	return 0;
}

static int modules_list(struct osv_trace *t)
{
	const struct osv_table *modules = &t->table[OSV_MODULES];

	t->base.has_names = modules->nr || t->table[OSV_SYMBOLS].nr;
	t->base.module = calloc(modules->nr + 1u, sizeof(*t->base.module));
	if (!t->base.module)
		return fail(-ENOMEM, "out of memory");
	for (unsigned int i = 0; i < modules->nr; i++)
		t->base.module[i] =
			(struct sample_module){modules->symbol[i].name, modules->symbol[i].address};
	t->base.nr_modules = modules->nr;
	return 0;
}

int osv_dump_open(struct osv_trace *t, struct buffer *b)
{
	int err = 0;

	buffer_bytes(b, 16); /* tag and size of the outermost chunk: the file's end counts, as for
				OSv's tool */
	uint32_t endian = buffer_u32(b);
	buffer_u32(b);
	if (b->cut || endian != 1)
		return buffer_fail(b, "not a little-endian OSVT dump");
	while (buffer_left(b) && !err)
		err = read_chunk(t, b);
	if (err)
		return err;
	tables_sort(t);
	err = modules_list(t);
	if (err)
		return err;
	t->heap = calloc(t->nr_streams + 1u, sizeof(*t->heap));
	return t->heap ? 0 : fail(-ENOMEM, "out of memory");
}

/* ---- samples ---- */

/* Reads the stream's next sample into s->head: 1, 0 at its end, -EBADMSG. */
static int stream_next(struct osv_trace *t, struct osv_stream *s)
{
	struct buffer *b = &s->at;
	struct sample *ret = &s->head;

	align(b, 8);
	if (buffer_left(b) < 8)
		return 0;
	uint64_t key = buffer_u64(b);
	if (!key)
		return 0;
	ret->thread = buffer_u64(b);
	const uint8_t *name = buffer_bytes(b, 16);
	ret->time_ns = buffer_u64(b);
	ret->guest_ns = 0;
	ret->cpu = buffer_u32(b);
	uint32_t flags = buffer_u32(b);
	ret->nr_backtrace = flags & HAS_BACKTRACE ? BACKTRACE_SLOTS : 0;
	ret->backtrace = buffer_bytes(b, 8u * ret->nr_backtrace);
	if (b->cut)
		return buffer_fail(b, "a sample is truncated");
	memcpy(ret->thread_name, name, 16);
	ret->thread_name[16] = 0;
	ret->tp = osv_type_of(t, key);
	if (!ret->tp)
		return buffer_fail(b, "unknown tracepoint 0x%" PRIx64, key);
	return osv_skip_args(b, ret);
}

/*
 * Merges a dump's per-CPU streams by time. Samples of equal time are returned in the order in which
 * OSv's tool prints them, so that reports can be compared line by line: a binary heap that is
 * compared by "earlier than" only, whose top is replaced by its stream's next sample and sifted to
 * a leaf along the smaller children (the left one only if it is strictly earlier), then back up
 * while strictly earlier.
 */
static bool earlier(const struct osv_stream *a, const struct osv_stream *b)
{
	return a->head.time_ns < b->head.time_ns;
}

static void sift_up(struct osv_stream **heap, unsigned int top, unsigned int pos)
{
	struct osv_stream *s = heap[pos];

	while (pos > top && earlier(s, heap[(pos - 1) / 2])) {
		heap[pos] = heap[(pos - 1) / 2];
		pos = (pos - 1) / 2;
	}
	heap[pos] = s;
}

static void sift_down(struct osv_stream **heap, unsigned int nr, unsigned int pos)
{
	struct osv_stream *s = heap[pos];
	unsigned int top = pos, child;

	while ((child = 2 * pos + 1) < nr) {
		if (child + 1 < nr && !earlier(heap[child], heap[child + 1]))
			child++;
		heap[pos] = heap[child];
		pos = child;
	}
	heap[pos] = s;
	sift_up(heap, top, pos);
}

static int merge_start(struct osv_trace *t)
{
	t->started = true;
	t->nr_heap = 0;
	for (unsigned int i = 0; i < t->nr_streams; i++) {
		int r = stream_next(t, &t->streams[i]);

		if (r < 0)
			return r;
		if (r)
			t->heap[t->nr_heap++] = &t->streams[i];
	}
	for (unsigned int i = t->nr_heap / 2; i-- > 0;)
		sift_down(t->heap, t->nr_heap, i);
	return t->nr_heap ? 1 : 0;
}

/* The head returned last is replaced only now: it had to stay valid until this call. */
static int merge_advance(struct osv_trace *t)
{
	if (!t->nr_heap)
		return 0;
	int r = stream_next(t, t->heap[0]);

	if (r < 0)
		return r;
	if (!r) {
		t->heap[0] = t->heap[--t->nr_heap];
		if (!t->nr_heap)
			return 0;
	}
	sift_down(t->heap, t->nr_heap, 0);
	return 1;
}

int osv_dump_next(struct osv_trace *t, struct sample *ret)
{
	int r = t->started ? merge_advance(t) : merge_start(t);

	if (r > 0)
		*ret = t->heap[0]->head;
	return r;
}
