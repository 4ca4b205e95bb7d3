// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The container of trace-cmd's trace.dat, versions 6 and 7 (trace-cmd.dat.v6(5), trace-cmd.dat.v7(5)): event formats,
 * options, and for each CPU a run of ring buffer pages, as they are or in compressed chunks. Read here and not by
 * libtracecmd, whose Debian build has no zlib, which most files in the wild use.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <sys/stat.h>

#include "base/array.h"
#include "base/error.h"
#include "base/read_full.h"
#include "readers/ftrace/tracedat_internal.h"

static const uint8_t magic[] = {0x17, 0x08, 0x44, 't', 'r', 'a', 'c', 'i', 'n', 'g'};

bool tracedat_probe(const uint8_t *head, size_t len)
{
	return len >= sizeof(magic) && !memcmp(head, magic, sizeof(magic));
}

int tracedat_load(const struct tracedat_file *f, uint64_t offset, uint64_t len, uint8_t **ret)
{
	uint8_t *buf;

	if (offset > f->bytes || len > f->bytes - offset)
		return fail(-EBADMSG, "%s: offset %" PRIu64 ": unexpected end of file", f->path,
			    offset);
	if (len > TRACEDAT_SECTION_MAX)
		return fail(-EFBIG,
			    "%s: offset %" PRIu64 ": too much metadata (%" PRIu64 " bytes)",
			    f->path, offset, len);
	buf = malloc(len + 1);
	if (!buf)
		return fail(-ENOMEM, "%s: out of memory", f->path);
	ssize_t n = pread_full(f->fd, buf, len, offset);

	if (n < (ssize_t)len) {
		free(buf);
		return fail(n < 0 ? (int)n : -EBADMSG, "%s: %s", f->path,
			    n < 0 ? strerror((int)-n) : "truncated while being read");
	}
	buf[len] = '\0';
	*ret = buf;
	return 0;
}

const char *tracedat_text(struct buffer *b)
{
	const uint8_t *nul = memchr(b->pos, 0, buffer_left(b));

	if (!nul) {
		b->cut = true;
		return "";
	}
	return (const char *)buffer_bytes(b, (size_t)(nul - b->pos) + 1);
}

/* "SIZE bytes": a u64 and so many bytes. */
const uint8_t *tracedat_sized(struct buffer *b, size_t *ret_len)
{
	uint64_t len = buffer_u64(b);

	*ret_len = len;
	if (len > buffer_left(b)) {
		b->cut = true;
		return NULL;
	}
	return buffer_bytes(b, len);
}

/* The size of `commit` tells the kernel's long. */
static void header_page_take(struct tracedat_file *f, const char *text)
{
	const char *commit = strstr(text, "commit;"),
		   *size = commit ? strstr(commit, "size:") : NULL;

	if (size)
		f->commit_size = strtoul(size + 5, NULL, 10) == 4 ? 4 : 8;
}

int tracedat_headers(struct tracedat_file *f, struct buffer *b)
{
	char text[1024];
	const uint8_t *p;
	size_t len;

	if (strcmp(tracedat_text(b), "header_page"))
		return buffer_fail(b, "missing header_page");
	p = tracedat_sized(b, &len);
	if (p) {
		len = len < sizeof(text) - 1 ? len : sizeof(text) - 1;
		memcpy(text, p, len);
		text[len] = '\0';
		header_page_take(f, text);
	}
	tracedat_text(b); /* header_event */
	tracedat_sized(b, &len);
	return buffer_ok(b, "the page header's description");
}

static int formats_of(struct buffer *b, const char *system, struct ftrace_events *events)
{
	uint32_t nr = buffer_u32(b);

	for (uint32_t i = 0; i < nr && !b->cut; i++) {
		size_t len;
		const uint8_t *text = tracedat_sized(b, &len);
		int err = text ? ftrace_events_add(events, system, (const char *)text, len) : 0;

		if (err)
			return err;
	}
	return buffer_ok(b, "the event formats");
}

int tracedat_ftrace_formats(struct buffer *b, struct ftrace_events *events)
{
	return formats_of(b, "ftrace", events);
}

int tracedat_formats(struct buffer *b, struct ftrace_events *events)
{
	uint32_t nr = buffer_u32(b);
	int err = 0;

	for (uint32_t i = 0; i < nr && !b->cut && !err; i++) {
		const char *system = tracedat_text(b);

		err = formats_of(b, system, events);
	}
	return err ? err : buffer_ok(b, "the event formats");
}

int tracedat_cmdlines(struct tracedat_file *f, struct buffer *b)
{
	size_t len;
	const uint8_t *text = tracedat_sized(b, &len);

	if (!text || f->cmdlines)
		return buffer_ok(b, "the threads' names");
	f->cmdlines = malloc(len + 1);
	if (!f->cmdlines)
		return fail(-ENOMEM, "%s: out of memory", f->path);
	memcpy(f->cmdlines, text, len);
	f->cmdlines[len] = '\0';
	f->cmdlines_len = len;
	return 0;
}

int tracedat_kallsyms(struct tracedat_file *f, struct buffer *b)
{
	uint32_t len = buffer_u32(b);
	const uint8_t *text = buffer_bytes(b, len);

	if (!text || !f->want_symbols || f->symbols)
		return buffer_ok(b, "the kernel's symbols");
	f->symbols = malloc((size_t)len + 1);
	if (!f->symbols)
		return fail(-ENOMEM, "%s: out of memory", f->path);
	memcpy(f->symbols, text, len);
	f->symbols_len = len;
	return 0;
}

int tracedat_cpu_add(struct tracedat_file *f, unsigned int cpu, uint64_t offset, uint64_t size,
		     bool chunked)
{
	if (f->nr_cpus >= TRACEDAT_CPUS_MAX || cpu >= RECORD_NO_VCPU)
		return fail(-E2BIG, "%s: more than %d CPUs", f->path, TRACEDAT_CPUS_MAX);
	if (array_room(f->cpu, f->nr_cpus))
		return fail(-ENOMEM, "%s: out of memory", f->path);
	f->cpu[f->nr_cpus++] = (struct tracedat_cpu){
		.cpu = cpu, .offset = offset, .size = size, .chunked = chunked, .fd = -1};
	return 0;
}

int tracedat_region_check(const struct tracedat_file *f, unsigned int cpu, uint64_t offset,
			  uint64_t size, bool chunked)
{
	for (unsigned int i = 0; i < f->nr_cpus; i++) {
		const struct tracedat_cpu *c = &f->cpu[i];

		if (chunked ? c->offset == offset
			    : offset < c->offset + c->size && c->offset < offset + size)
			return fail(-EBADMSG,
				    "%s: offset %" PRIu64
				    ": the data of CPU %u are also those of CPU %u",
				    f->path, offset, cpu, c->cpu);
	}
	return 0;
}

void tracedat_buffer_add(struct tracedat_file *f, const char *name)
{
	size_t len = strlen(f->buffers);

	snprintf(f->buffers + len, sizeof(f->buffers) - len, "%s%s", len ? ", " : "",
		 *name ? name : "main buffer");
	f->nr_buffers++;
}

/* ---- options, the same in both versions ---- */

/* "local global [mono] ..." -> "mono" */
void tracedat_clock_take(struct tracedat_file *f, const char *text)
{
	const char *from = strchr(text, '['), *to = from ? strchr(from, ']') : NULL;

	if (to && to - from > 1 && (size_t)(to - from) <= sizeof(f->clock))
		snprintf(f->clock, sizeof(f->clock), "%.*s", (int)(to - from - 1), from + 1);
}

static uint64_t stat_of(const char *text, const char *key)
{
	const char *p = strstr(text, key);

	return p ? strtoull(p + strlen(key), NULL, 10) : 0;
}

/* Kept by position until the CPUs are known. */
int tracedat_stats_take(struct tracedat_all_stats *all, const char *text)
{
	struct tracedat_stats *grown;
	unsigned int cpu = (unsigned int)stat_of(text, "CPU:");

	if (cpu >= TRACEDAT_CPUS_MAX)
		return 0;
	if (cpu >= all->nr) {
		grown = realloc(all->cpu, (cpu + 1) * sizeof(*grown));
		if (!grown)
			return fail(-ENOMEM, "out of memory");
		memset(grown + all->nr, 0, (cpu + 1 - all->nr) * sizeof(*grown));
		all->cpu = grown;
		all->nr = cpu + 1;
	}
	all->cpu[cpu] =
		(struct tracedat_stats){.known = true,
					.entries = stat_of(text, "\nentries:"),
					.overrun = stat_of(text, "\noverrun:"),
					.commit_overrun = stat_of(text, "\ncommit overrun:"),
					.dropped = stat_of(text, "\ndropped events:"),
					.read = stat_of(text, "\nread events:")};
	return 0;
}

void tracedat_stats_give(struct tracedat_file *f, const struct tracedat_all_stats *all)
{
	for (unsigned int i = 0; i < f->nr_cpus; i++)
		if (f->cpu[i].cpu < all->nr && !f->cpu[i].is_instance) {
			f->cpu[i].stats = all->cpu[f->cpu[i].cpu];
			f->nr_stats += f->cpu[i].stats.known;
		}
}

int tracedat_option(struct tracedat_file *f, unsigned int id, struct buffer *b,
		    struct tracedat_all_stats *stats)
{
	char text[TRACEDAT_TEXT_MAX];
	size_t len = buffer_left(b) < sizeof(text) - 1 ? buffer_left(b) : sizeof(text) - 1;

	memcpy(text, b->pos, len);
	text[len] = '\0';
	if (id == TRACEDAT_CPUSTAT)
		return tracedat_stats_take(stats, text);
	if (id == TRACEDAT_TRACECLOCK)
		tracedat_clock_take(f, text);
	if (id == TRACEDAT_UNAME)
		snprintf(f->uname, sizeof(f->uname), "%.255s", text);
	if (id == TRACEDAT_GUEST)
		return tracedat_guest_parse(f, b);
	if (id == TRACEDAT_TRACEID)
		f->trace_id = buffer_u64(b);
	if (id == TRACEDAT_TIME_SHIFT)
		return tracedat_shifts_take(f, b);
	if (id == TRACEDAT_TSC2NSEC && buffer_left(b) >= 16) {
		f->tsc_mult = buffer_u32(b);
		f->tsc_shift = buffer_u32(b);
		f->tsc_offset = buffer_u64(b);
		f->tsc_to_ns = f->tsc_mult && f->tsc_shift < 64;
	}
	return 0;
}

/* ---- the beginning, and which version ---- */

static int head_read(struct tracedat_file *f, struct buffer *b)
{
	const char *version;

	buffer_bytes(b, sizeof(magic));
	version = tracedat_text(b);
	f->version = (int)strtol(version, NULL, 10);
	if (buffer_u8(b))
		return fail(-ENOTSUP, "%s is from a big-endian machine, which is not supported",
			    f->path);
	buffer_u8(b); /* the user space's long */
	f->page_size = buffer_u32(b);
	if (buffer_ok(b, "the beginning"))
		return -EBADMSG;
	if (f->page_size < 512 || f->page_size > FTRACE_PAGE_MAX)
		return buffer_fail(b, "invalid page size %u", f->page_size);
	if (f->version != 6 && f->version != 7)
		return fail(-EPROTONOSUPPORT,
			    "%s: unsupported trace.dat version %d (supported: 6, 7)", f->path,
			    f->version);
	return 0;
}

int tracedat_file_open(struct tracedat_file *f, const char *path, struct ftrace_events *events)
{
	_cleanup_free_ uint8_t *head = NULL;
	struct tracedat_all_stats stats = {0};
	struct buffer b;
	struct stat st;
	int err;

	*f = (struct tracedat_file){.path = path,
				    .commit_size = 8,
				    .files = f->files,
				    .want_symbols = f->want_symbols};
	f->fd = open_files_get(f->files, path);
	if (f->fd < 0 || fstat(f->fd, &st))
		return fail(-errno, "%s: %s", path, strerror(errno));
	f->bytes = (uint64_t)st.st_size;
	err = tracedat_load(f, 0, f->bytes < 256 ? f->bytes : 256, &head);
	if (err)
		return err;
	b = buffer_of(head, f->bytes < 256 ? f->bytes : 256, path, 0);
	err = head_read(f, &b);
	if (!err)
		err = f->version == 6 ? tracedat_v6(f, buffer_tell(&b), events, &stats)
				      : tracedat_v7(f, &b, events, &stats);
	if (!err)
		tracedat_stats_give(f, &stats);
	free(stats.cpu);
	return err;
}

void tracedat_describe(struct tracedat_file *f, json_t *meta)
{
	char word[2][128] = {"", ""};

	text_sanitize(f->uname);
	if (sscanf(f->uname, "%*127s %127s %127s", word[0], word[1]) == 2) {
		json_object_set_new(meta, "host", json_string(word[0]));
		json_object_set_new(meta, "kernel", json_string(word[1]));
	}
	if (f->trace_id)
		json_object_set_new(meta, "trace_id", json_integer((json_int_t)f->trace_id));
}

void tracedat_file_deinit(struct tracedat_file *f)
{
	if (f->fd >= 0 && f->path)
		close(f->fd);
	for (unsigned int i = 0; i < f->nr_cpus; i++) {
		for (uint32_t k = 0; k < f->cpu[i].nr_kept; k++)
			free(f->cpu[i].kept[k].data);
		free(f->cpu[i].kept);
		free(f->cpu[i].frame);
		if (f->cpu[i].fd >= 0)
			close(f->cpu[i].fd);
	}
	free(f->cpu);
	free(f->cmdlines);
	free(f->symbols);
	free(f->shift);
	for (unsigned int i = 0; i < f->nr_guests; i++)
		free(f->guest[i].cpu);
	*f = (struct tracedat_file){.fd = -1};
}

/* Version 6: everything in one row, nothing packed; pages stand where a table at the end of it says. */

/* The row is taken into memory whole, up to here; kallsyms is the largest part of it, some 10 MB. */
#define HEAD_MAX (TRACEDAT_SECTION_MAX)

enum { KIND_BYTES = 10 }; /* "options  ", "latency  " or "flyrecord", with its NUL */

enum { INSTANCES_MAX = 64 };

/* BUFFER options: where the tables of buffers with names are. */
struct instances {
	struct {
		uint64_t offset;
		uint32_t nr_cpus; /* 0: as many as the main one */
		char name[64];
	} of[INSTANCES_MAX];
	unsigned int nr;
};

static void instance_take(struct tracedat_file *f, struct buffer *b, struct instances *all)
{
	uint64_t offset = buffer_u64(b);
	const char *name = tracedat_text(b);

	if (b->cut || all->nr == INSTANCES_MAX) {
		f->instances++;
		return;
	}
	all->of[all->nr].offset = offset;
	all->of[all->nr].nr_cpus = buffer_left(b) >= 4 ? buffer_u32(b) : 0;
	snprintf(all->of[all->nr].name, sizeof(all->of[0].name), "%s", name);
	all->nr++;
}

static int options_read(struct tracedat_file *f, struct buffer *b, struct instances *instances,
			struct tracedat_all_stats *stats)
{
	for (int n = 0; n < TRACEDAT_OPTIONS_MAX; n++) {
		uint16_t id = buffer_u16(b);
		uint32_t len;
		const uint8_t *data;
		struct buffer option;
		uint64_t at;
		int err;

		if (!id || b->cut)
			break;
		len = buffer_u32(b);
		at = buffer_tell(b);
		data = buffer_bytes(b, len);
		if (!data)
			break;
		option = buffer_of(data, len, f->path, at);
		if (id == TRACEDAT_BUFFER) {
			instance_take(f, &option, instances);
			continue;
		}
		err = tracedat_option(f, id, &option, stats);
		if (err)
			return err;
	}
	return buffer_ok(b, "the options");
}

static int table_read(struct tracedat_file *f, struct buffer *b, uint32_t nr, bool instance)
{
	for (uint32_t i = 0; i < nr; i++) {
		uint64_t offset = buffer_u64(b), size = buffer_u64(b);
		int err;

		if (b->cut)
			return buffer_ok(b, "the table of CPUs");
		err = size ? tracedat_region_check(f, i, offset, size, false) : 0;
		if (!err && (size || !instance))
			err = tracedat_cpu_add(f, i, offset, size, false);
		if (err)
			return err;
		if (size && instance)
			f->cpu[f->nr_cpus - 1].is_instance = true;
	}
	return 0;
}

/* "flyrecord" and a table of CPUs for each buffer with a name. */
static int instances_read(struct tracedat_file *f, const struct instances *all, uint32_t nr_cpus)
{
	if (all->nr)
		tracedat_buffer_add(f, "");
	for (unsigned int i = 0; i < all->nr; i++) {
		uint32_t nr = all->of[i].nr_cpus ? all->of[i].nr_cpus : nr_cpus;
		uint64_t len = KIND_BYTES + 16ull * nr;
		_cleanup_free_ uint8_t *table = NULL;
		struct buffer b;
		int err;

		if (nr > TRACEDAT_CPUS_MAX)
			return fail(-E2BIG, "%s: more than %d CPUs", f->path, TRACEDAT_CPUS_MAX);
		err = tracedat_load(f, all->of[i].offset, len, &table);
		if (err)
			return err;
		b = buffer_of(table, len, f->path, all->of[i].offset);
		if (memcmp(buffer_bytes(&b, KIND_BYTES), "flyrecord", 9))
			return buffer_fail(&b, "no table of CPUs of buffer %s", all->of[i].name);
		err = table_read(f, &b, nr, true);
		if (err)
			return err;
		tracedat_buffer_add(f, all->of[i].name);
	}
	return 0;
}

static int cpus_read(struct tracedat_file *f, struct buffer *b, uint32_t nr)
{
	const uint8_t *clock;
	size_t len;
	int err = table_read(f, b, nr, false);

	if (err)
		return err;
	clock = buffer_left(b) >= 8 ? tracedat_sized(b, &len) : NULL;
	if (clock && len < 512 && !f->clock[0]) { /* since trace-cmd 2.2 */
		char text[512];

		memcpy(text, clock, len);
		text[len] = '\0';
		tracedat_clock_take(f, text);
	}
	return 0;
}

static int rest_read(struct tracedat_file *f, struct buffer *b, struct tracedat_all_stats *stats)
{
	struct instances instances = {.nr = 0};
	uint32_t nr = buffer_u32(b);
	const uint8_t *kind = buffer_bytes(b, KIND_BYTES);
	int err = 0;

	if (kind && !memcmp(kind, "options", 7)) {
		err = options_read(f, b, &instances, stats);
		kind = buffer_bytes(b, KIND_BYTES);
	}
	if (err || !kind)
		return err ? err : buffer_ok(b, "the header");
	if (!memcmp(kind, "latency", 7)) {
		f->latency = true;
		return 0;
	}
	if (memcmp(kind, "flyrecord", 9))
		return buffer_fail(b, "unknown section after the header");
	err = cpus_read(f, b, nr);
	return err ? err : instances_read(f, &instances, nr);
}

static void skip_32(struct buffer *b)
{
	buffer_bytes(b, buffer_u32(b));
}

int tracedat_v6(struct tracedat_file *f, uint64_t at, struct ftrace_events *events,
		struct tracedat_all_stats *stats)
{
	_cleanup_free_ uint8_t *head = NULL;
	uint64_t len = f->bytes - at < HEAD_MAX ? f->bytes - at : HEAD_MAX;
	struct buffer b;
	int err = tracedat_load(f, at, len, &head);

	if (err)
		return err;
	b = buffer_of(head, len, f->path, at);
	err = tracedat_headers(f, &b);
	if (!err)
		err = tracedat_ftrace_formats(&b, events);
	if (!err)
		err = tracedat_formats(&b, events);
	if (err)
		return err;
	err = tracedat_kallsyms(f, &b);
	skip_32(&b); /* trace_printk's formats */
	if (!err)
		err = tracedat_cmdlines(f, &b);
	return err ? err : rest_read(f, &b, stats);
}
