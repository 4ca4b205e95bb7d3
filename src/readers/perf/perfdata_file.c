// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The container of perf's perf.data (tools/perf/Documentation/perf.data-file-format.txt and the kernel's
 * include/uapi/linux/perf_event.h) in its two forms: a file with a head, sections, and features after the data; and
 * the output of `perf record -o -`, where all of that is in records of the stream itself.
 *
 *   file:  head | attrs | data: record record ...  | features        pipe:  head | record record ...
 */
#include <errno.h>
#include <inttypes.h>
#include <sys/stat.h>

#include "base/array.h"
#include "base/error.h"
#include "base/order.h"
#include "base/read_full.h"
#include "readers/ftrace/tracedat_internal.h"
#include "readers/perf/perfdata.h"
#include "readers/perf/perfdata_file.h"

enum {
	HEAD_PIPE = 16,
	HEAD_FILE = 104,
	ATTR_MIN = 64,	   /* PERF_ATTR_SIZE_VER0 */
	ATTR_CLOCKID = 92, /* offset of attr.clockid, since version 4 */
	SECTION = 16,	   /* u64 offset, u64 size */
	FEATURES = 256,	   /* bits */
};

#define BIT_FREQ	  (1ull << 10)
#define BIT_SAMPLE_ID_ALL (1ull << 18)
#define BIT_USE_CLOCKID	  (1ull << 25)

static const uint8_t magic[] = {'P', 'E', 'R', 'F', 'I', 'L', 'E', '2'};
static const uint8_t magic_swapped[] = {'2', 'E', 'L', 'I', 'F', 'R', 'E', 'P'};

bool perfdata_probe(const uint8_t *head, size_t len)
{
	return len >= HEAD_PIPE && (!memcmp(head, magic, sizeof(magic)) ||
				    !memcmp(head, magic_swapped, sizeof(magic)));
}

int perfdata_load(const struct perfdata_file *f, uint64_t offset, size_t len, uint8_t *to)
{
	ssize_t n = pread_full(f->fd, to, len, offset);

	if (n < 0)
		return fail((int)n, "%s: offset %" PRIu64 ": %s", f->path, offset,
			    strerror((int)-n));
	return n == (ssize_t)len ? 0
				 : fail(-EBADMSG, "%s: offset %" PRIu64 ": unexpected end of file",
					f->path, offset + (uint64_t)n);
}

/* To be freed; `what` is for the message. */
static int section_load(const struct perfdata_file *f, uint64_t offset, uint64_t len,
			const char *what, uint8_t **ret)
{
	int err;

	if (offset > f->bytes || len > f->bytes - offset)
		return fail(-EBADMSG, "%s: %s lies beyond the end of the file", f->path, what);
	if (len > PERFDATA_SECTION_MAX)
		return fail(-EFBIG, "%s: too much data (%" PRIu64 " bytes) for %s", f->path, len,
			    what);
	*ret = malloc(len + 1);
	if (!*ret)
		return fail(-ENOMEM, "%s: out of memory", f->path);
	err = perfdata_load(f, offset, len, *ret);
	if (err) {
		free(*ret);
		*ret = NULL;
	}
	return err;
}

/* ---- attrs ---- */

static int attr_add(struct perfdata_file *f, const uint8_t *data, size_t len, uint32_t *ret)
{
	struct buffer b = buffer_of(data, len, f->path, 0);
	struct perfdata_attr *a;
	uint64_t bits, period;

	if (f->nr_attrs == PERFDATA_ATTRS_MAX)
		return fail(-E2BIG, "%s: more than %d events", f->path, PERFDATA_ATTRS_MAX);
	if (array_room(f->attr, f->nr_attrs))
		return fail(-ENOMEM, "%s: out of memory", f->path);
	a = &f->attr[f->nr_attrs];
	*a = (struct perfdata_attr){.type = buffer_u32(&b)};
	buffer_u32(&b); /* its size */
	a->config = buffer_u64(&b);
	period = buffer_u64(&b);
	a->sample_type = buffer_u64(&b);
	a->read_format = buffer_u64(&b);
	bits = buffer_u64(&b);
	a->sample_id_all = bits & BIT_SAMPLE_ID_ALL;
	a->use_clockid = bits & BIT_USE_CLOCKID;
	a->partial = bits & BIT_FREQ || period > 1;
	if (b.cut)
		return buffer_ok(&b, "the event attributes");
	if (len >= ATTR_CLOCKID + 4)
		memcpy(&a->clockid, data + ATTR_CLOCKID, 4);
	*ret = f->nr_attrs++;
	return 0;
}

static int ids_add(struct perfdata_file *f, uint32_t attr, struct buffer *b)
{
	size_t nr = buffer_left(b) / 8;
	void *grown;

	if (nr > PERFDATA_IDS_MAX - f->nr_ids)
		return fail(-E2BIG, "%s: more than %d event IDs", f->path, PERFDATA_IDS_MAX);
	grown = realloc(f->id, (f->nr_ids + nr + 1) * sizeof(*f->id));
	if (!grown)
		return fail(-ENOMEM, "%s: out of memory", f->path);
	f->id = grown;
	f->ids_sorted = false;
	for (size_t i = 0; i < nr; i++)
		f->id[f->nr_ids++] = (struct perfdata_id){buffer_u64(b), attr};
	return 0;
}

static int attrs_read(struct perfdata_file *f, uint64_t offset, uint64_t size, uint64_t entry)
{
	_cleanup_free_ uint8_t *data = NULL;
	int err = section_load(f, offset, size, "the event table", &data);

	if (err)
		return err;
	if (entry < ATTR_MIN + SECTION || entry > 4096)
		return fail(-EBADMSG, "%s: invalid size %" PRIu64 " of event attributes",
			    f->path, entry);
	for (uint64_t at = 0; !err && size - at >= entry; at += entry) {
		struct buffer place = buffer_of(data + at + entry - SECTION, SECTION, f->path, 0);
		uint64_t ids_at = buffer_u64(&place), ids_len = buffer_u64(&place);
		_cleanup_free_ uint8_t *ids = NULL;
		uint32_t attr;

		err = attr_add(f, data + at, entry - SECTION, &attr);
		if (!err && ids_len)
			err = section_load(f, ids_at, ids_len, "the event IDs", &ids);
		if (!err && ids) {
			struct buffer b = buffer_of(ids, ids_len, f->path, ids_at);

			err = ids_add(f, attr, &b);
		}
	}
	return err;
}

int perfdata_attr_record(struct perfdata_file *f, struct buffer *b)
{
	const uint8_t *attr;
	uint32_t size = 0, index;
	int err;

	if (buffer_left(b) >= 8)
		memcpy(&size, b->pos + 4, 4); /* attr.size */
	if (size < ATTR_MIN)
		return buffer_fail(b, "invalid size %u of event attributes", size);
	attr = buffer_bytes(b, size);
	if (!attr)
		return buffer_ok(b, "the event attributes");
	err = attr_add(f, attr, size, &index);
	return err ? err : ids_add(f, index, b);
}

ORDER_BY(id_compare, struct perfdata_id, id, attr)

struct perfdata_attr *perfdata_attr_of(struct perfdata_file *f, uint64_t id)
{
	if (f->nr_attrs == 1)
		return &f->attr[0];
	if (!f->ids_sorted) {
		if (f->nr_ids)
			qsort(f->id, f->nr_ids, sizeof(*f->id), id_compare);
		f->ids_sorted = true;
	}
	size_t at = array_prefix(f->nr_ids, i, f->id[i].id < id);

	if (at == f->nr_ids || f->id[at].id != id || f->id[at].attr >= f->nr_attrs)
		return NULL;
	return &f->attr[f->id[at].attr];
}

/* ---- formats ---- */

static int kernel_symbols_take(struct perfdata_file *f, struct buffer *b)
{
	uint32_t len = buffer_u32(b);
	const uint8_t *text = buffer_bytes(b, len);

	if (!text || !len || f->symbols)
		return 0;
	f->symbols = malloc(len);
	if (!f->symbols)
		return fail(-ENOMEM, "%s: out of memory", f->path);
	memcpy(f->symbols, text, len);
	f->symbols_len = len;
	return 0;
}

/* "0.5" ends after the kernel's symbols and printk's formats, "0.6" has the threads' names too: not needed. */
int perfdata_formats(struct perfdata_file *f, const uint8_t *data, size_t len, uint64_t offset,
		     struct ftrace_events *events)
{
	struct buffer b = buffer_of(data, len, f->path, offset);
	struct tracedat_file shape = {.fd = -1, .path = f->path};
	const uint8_t *head = buffer_bytes(&b, 10);
	int err;

	if (!head || !tracedat_probe(head, 10))
		return buffer_fail(&b, "the event formats have an invalid header");
	f->have_formats = true;
	tracedat_text(&b); /* version */
	if (buffer_u8(&b))
		return buffer_fail(&b, "event formats of a big-endian machine are not supported");
	buffer_u8(&b);	/* the user space's long */
	buffer_u32(&b); /* page size */
	err = tracedat_headers(&shape, &b);
	if (!err)
		err = tracedat_ftrace_formats(&b, events);
	if (!err)
		err = tracedat_formats(&b, events);
	return err || !f->want_symbols ? err : kernel_symbols_take(f, &b);
}

/* ---- features ---- */

/* u32 length, NUL-terminated and padded */
static void text_take(struct buffer *b, char *to, size_t size)
{
	uint32_t len = buffer_u32(b);
	const uint8_t *text = buffer_bytes(b, len);

	if (text && len)
		snprintf(to, size, "%.*s", (int)(len < size ? len : size), (const char *)text);
	text_sanitize(to);
}

/* u32 nr, u32 attr size; nr of: attr, u32 nr of ids, name, ids. In the order of the attrs. */
static void event_desc_take(struct perfdata_file *f, struct buffer *b)
{
	uint32_t nr = buffer_u32(b), size = buffer_u32(b);

	for (uint32_t i = 0; i < nr && i < f->nr_attrs && !b->cut; i++) {
		uint32_t ids;

		buffer_bytes(b, size);
		ids = buffer_u32(b);
		text_take(b, f->attr[i].name, sizeof(f->attr[i].name));
		if (ids > PERFDATA_IDS_MAX)
			return;
		buffer_bytes(b, (size_t)ids * 8);
	}
}

/* Records of a head, s32 pid, u8 id[20], u8 size, 3 bytes, the file's name. */
static void build_ids_take(struct perfdata_file *f, struct buffer *b)
{
	enum { FIXED = 8 + 4 + 24, BUILD_ID_MAX = 20, FILES_MAX = 32768 };
	char text[2 * BUILD_ID_MAX + 1];
	uint16_t size;

	if (!f->build_ids)
		f->build_ids = json_object();
	while (buffer_left(b) > FIXED) {
		const uint8_t *rec = b->pos;
		const char *name = (const char *)rec + FIXED;
		unsigned int len;

		memcpy(&size, rec + 6, sizeof(size));
		if (size <= FIXED || !buffer_bytes(b, size))
			return;
		len = rec[FIXED - 4] && rec[FIXED - 4] <= BUILD_ID_MAX ? rec[FIXED - 4]
								       : BUILD_ID_MAX;
		for (unsigned int i = 0; i < len; i++)
			snprintf(text + 2ul * i, 3, "%02x", rec[12 + i]);
		if (memchr(name, 0, size - FIXED) && json_object_size(f->build_ids) < FILES_MAX)
			json_object_set_new(f->build_ids, name, json_string(text));
	}
}

static int feature_take(struct perfdata_file *f, unsigned int bit, struct buffer *b)
{
	if (bit == PERFDATA_F_HOSTNAME)
		text_take(b, f->host, sizeof(f->host));
	else if (bit == PERFDATA_F_OSRELEASE)
		text_take(b, f->release, sizeof(f->release));
	else if (bit == PERFDATA_F_NRCPUS) {
		buffer_u32(b); /* that the machine has */
		f->nr_cpus = buffer_u32(b);
	} else if (bit == PERFDATA_F_DIR_FORMAT)
		f->has_parts = buffer_u64(b); /* the version; 0: all is in this file (perf record --kcore) */
	else if (bit == PERFDATA_F_EVENT_DESC)
		event_desc_take(f, b);
	else if (bit == PERFDATA_F_BUILD_ID)
		build_ids_take(f, b);
	else if (bit == PERFDATA_F_CLOCK_DATA && buffer_left(b) >= 24) {
		buffer_u64(b); /* version, clock id */
		f->wall_ns = buffer_u64(b);
		f->clock_ns = buffer_u64(b);
		f->have_wall = true;
	}
	return 0;
}

int perfdata_feature_record(struct perfdata_file *f, struct buffer *b)
{
	uint64_t bit = buffer_u64(b);

	return b->cut ? 0 : feature_take(f, bit < FEATURES ? (unsigned int)bit : FEATURES, b);
}

static bool feature_wanted(unsigned int bit)
{
	return bit == PERFDATA_F_TRACING_DATA || bit == PERFDATA_F_HOSTNAME ||
	       bit == PERFDATA_F_OSRELEASE || bit == PERFDATA_F_NRCPUS ||
	       bit == PERFDATA_F_EVENT_DESC || bit == PERFDATA_F_CLOCK_DATA ||
	       bit == PERFDATA_F_DIR_FORMAT || bit == PERFDATA_F_BUILD_ID;
}

static int feature_read(struct perfdata_file *f, unsigned int bit, struct buffer *table,
			struct ftrace_events *events)
{
	uint64_t at = buffer_u64(table), len = buffer_u64(table);
	_cleanup_free_ uint8_t *data = NULL;
	struct buffer b;
	int err;

	if (table->cut)
		return buffer_ok(table, "the table of features");
	if (!feature_wanted(bit))
		return 0;
	err = section_load(f, at, len, "a feature", &data);
	if (err)
		return err;
	b = buffer_of(data, len, f->path, at);
	if (bit == PERFDATA_F_TRACING_DATA)
		return perfdata_formats(f, data, len, at, events);
	return feature_take(f, bit, &b);
}

/* A table after the data: one section for each bit that is set, in their order. */
static int features_read(struct perfdata_file *f, const uint64_t *bits,
			 struct ftrace_events *events)
{
	uint8_t table[FEATURES * SECTION];
	uint64_t left = f->bytes - f->data_end;
	size_t nr = 0, len;
	struct buffer b;
	int err;

	for (unsigned int bit = 0; bit < FEATURES; bit++)
		nr += bits[bit / 64] >> (bit % 64) & 1;
	len = nr * SECTION < left ? nr * SECTION : (size_t)left;
	err = perfdata_load(f, f->data_end, len, table);
	b = buffer_of(table, len, f->path, f->data_end);
	for (unsigned int bit = 0; !err && bit < FEATURES; bit++)
		if (bits[bit / 64] >> (bit % 64) & 1)
			err = feature_read(f, bit, &b, events);
	return err;
}

/* ---- the head ---- */

static int head_read(struct perfdata_file *f, struct buffer *b, struct ftrace_events *events)
{
	uint64_t entry = buffer_u64(b), attrs_at = buffer_u64(b), attrs_len = buffer_u64(b), size;
	uint64_t bits[FEATURES / 64];
	int err;

	f->data_at = buffer_u64(b);
	size = buffer_u64(b);
	buffer_bytes(b, SECTION); /* event types, no longer written */
	for (size_t i = 0; i < FEATURES / 64; i++)
		bits[i] = buffer_u64(b);
	err = buffer_ok(b, "the header");
	if (err)
		return err;
	if (f->data_at > f->bytes)
		return buffer_fail(b, "the data lies beyond the end of the file");
	f->unended = (!size && !f->directory) || size > f->bytes - f->data_at;
	f->data_end = f->unended ? f->bytes : f->data_at + size;
	err = attrs_read(f, attrs_at, attrs_len, entry);
	return err || f->unended ? err : features_read(f, bits, events);
}

/* The file itself, or `data` of the directory of perf record --threads. */
static int file_open(struct perfdata_file *f, struct stat *st)
{
	_cleanup_free_ char *data = NULL;

	f->directory = !stat(f->path, st) && S_ISDIR(st->st_mode);
	if (f->directory && asprintf(&data, "%s/data", f->path) < 0)
		return fail(-ENOMEM, "%s: out of memory", f->path);
	f->fd = open_files_get(f->files, data ? data : f->path);
	if (f->fd < 0 || fstat(f->fd, st))
		return fail(-errno, "%s: %s", data ? data : f->path, strerror(errno));
	return 0;
}

int perfdata_file_open(struct perfdata_file *f, const char *path, struct ftrace_events *events)
{
	uint8_t head[HEAD_FILE];
	struct buffer b;
	struct stat st;
	uint64_t size;
	int err;

	*f = (struct perfdata_file){
		.path = path, .files = f->files, .want_symbols = f->want_symbols};
	err = file_open(f, &st);
	if (err)
		return err;
	f->bytes = (uint64_t)st.st_size;
	size = f->bytes < sizeof(head) ? f->bytes : sizeof(head);
	err = perfdata_load(f, 0, size, head);
	if (err)
		return err;
	if (f->directory && !perfdata_probe(head, size))
		return fail(-EINVAL, "%s/data is not a perf.data file", path);
	if (size >= sizeof(magic) && !memcmp(head, magic_swapped, sizeof(magic)))
		return fail(-ENOTSUP, "%s is from a big-endian machine, which is not supported",
			    path);
	b = buffer_of(head, size, path, 0);
	buffer_bytes(&b, sizeof(magic));
	size = buffer_u64(&b);
	f->pipe = size == HEAD_PIPE;
	f->data_at = HEAD_PIPE;
	f->data_end = f->bytes;
	if (f->pipe)
		return 0;
	if (size < HEAD_FILE)
		return buffer_fail(&b, "unsupported header size %" PRIu64, size);
	return head_read(f, &b, events);
}

void perfdata_file_deinit(struct perfdata_file *f)
{
	if (f->fd >= 0 && f->path)
		close(f->fd);
	free(f->attr);
	free(f->id);
	free(f->symbols);
	json_decref(f->build_ids);
	*f = (struct perfdata_file){.fd = -1, .files = f->files};
}

int perfdata_symbols(const char *path, struct open_files *files, char **ret, size_t *ret_len)
{
	struct ftrace_events *events = ftrace_events_new(FTRACE_HOST, NULL, NULL);
	struct perfdata_file f = {.fd = -1, .files = files, .want_symbols = true};
	int err = events ? perfdata_file_open(&f, path, events) : -ENOMEM;

	*ret = take_ptr(f.symbols);
	*ret_len = f.symbols_len;
	perfdata_file_deinit(&f);
	ftrace_events_free(events);
	return err;
}
