// SPDX-License-Identifier: GPL-2.0-or-later
/* Version 7: a chain of option sections; options say where the other sections are, each packed or not. */
#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>

#include "base/error.h"
#include "base/order.h"
#include "base/read_full.h"
#include "readers/ftrace/tracedat.h"
#include "readers/ftrace/tracedat_internal.h"

enum { SECTION_HEAD = 16, SECTION_PACKED = 1, CHAIN_MAX = 64 };

struct section {
	uint8_t *data;
	struct buffer b;
};

static int unpack(struct tracedat_file *f, struct section *s)
{
	uint32_t packed = buffer_u32(&s->b), len = buffer_u32(&s->b);
	const uint8_t *from = buffer_bytes(&s->b, packed);
	uint8_t *to;
	int err;

	if (!from)
		return buffer_ok(&s->b, "a compressed section");
	if (len > TRACEDAT_SECTION_MAX)
		return buffer_fail(&s->b, "too much metadata (%u bytes)", len);
	to = malloc((size_t)len + 1);
	if (!to)
		return fail(-ENOMEM, "%s: out of memory", f->path);
	err = tracedat_unpack(f->packing, from, packed, to, len, f->path);
	free(s->data);
	s->data = to;
	to[len] = '\0';
	s->b = buffer_of(to, len, f->path, s->b.offset);
	return err;
}

/* The section at `offset`, which must have this id. */
static int section_read(struct tracedat_file *f, uint64_t offset, unsigned int id,
			struct section *ret)
{
	_cleanup_free_ uint8_t *head = NULL;
	int err = tracedat_load(f, offset, SECTION_HEAD, &head);
	struct buffer b;
	unsigned int flags, is;
	uint64_t size;

	*ret = (struct section){0};
	if (err)
		return err;
	b = buffer_of(head, SECTION_HEAD, f->path, offset);
	is = buffer_u16(&b);
	flags = buffer_u16(&b);
	buffer_u32(&b); /* its description */
	size = buffer_u64(&b);
	if (is != id)
		return buffer_fail(&b, "unexpected section %u (expected %u)", is, id);
	err = tracedat_load(f, offset + SECTION_HEAD, size, &ret->data);
	if (err)
		return err;
	ret->b = buffer_of(ret->data, size, f->path, offset + SECTION_HEAD);
	return flags & SECTION_PACKED ? unpack(f, ret) : 0;
}

static int is_packed(struct tracedat_file *f, uint64_t offset, bool *ret)
{
	_cleanup_free_ uint8_t *head = NULL;
	int err = tracedat_load(f, offset, SECTION_HEAD, &head);

	if (!err)
		*ret = head[2] & SECTION_PACKED;
	return err;
}

/* Can the buffer's events be put in order with those of the buffers before? Sets what all have in common. */
static bool buffer_fits(struct tracedat_file *f, const char *clock, uint32_t page)
{
	if (f->nr_buffers)
		return page == f->page_size && (!*clock || !strcmp(clock, f->clock));
	f->page_size = page;
	if (strlen(clock) < sizeof(f->clock) && *clock)
		strcpy(f->clock, clock);
	return true;
}

/* BUFFER: the main one has no name, those of instances (trace-cmd record -B) have. Each has CPUs of its own. */
static int buffer_option(struct tracedat_file *f, struct buffer *b)
{
	uint64_t offset = buffer_u64(b);
	const char *name = tracedat_text(b), *clock = tracedat_text(b);
	uint32_t page = buffer_u32(b), nr = buffer_u32(b);
	bool packed = false;
	int err = buffer_ok(b, "a buffer's description");

	if (err)
		return err;
	if (page < 512 || page > FTRACE_PAGE_MAX)
		return buffer_fail(b, "invalid page size %u", page);
	if (!buffer_fits(f, clock, page)) {
		f->instances++;
		return 0;
	}
	err = is_packed(f, offset, &packed);
	for (uint32_t i = 0; i < nr && !err; i++) {
		uint32_t cpu = buffer_u32(b);
		uint64_t at = buffer_u64(b), size = buffer_u64(b);

		err = buffer_ok(b, "a buffer's description");
		if (!err && size)
			err = tracedat_region_check(f, cpu, at, size, packed);
		if (!err && size)
			err = tracedat_cpu_add(f, cpu, at, size, packed);
		if (!err && size)
			f->cpu[f->nr_cpus - 1].is_instance = *name;
	}
	tracedat_buffer_add(f, name);
	return err;
}

/* Each part is there once: a file that named it again and again would be unpacked as often. */
static int part_read(struct tracedat_file *f, unsigned int id, struct buffer *b,
		     struct ftrace_events *events)
{
	struct section s;
	int err;

	if (f->parts & UINT32_C(1) << id)
		return buffer_fail(b, "a second section of the same kind");
	f->parts |= UINT32_C(1) << id;
	err = section_read(f, buffer_u64(b), id, &s);

	if (!err && id == TRACEDAT_HEADERS)
		err = tracedat_headers(f, &s.b);
	else if (!err && id == TRACEDAT_FTRACE_FORMATS)
		err = tracedat_ftrace_formats(&s.b, events);
	else if (!err && id == TRACEDAT_FORMATS)
		err = tracedat_formats(&s.b, events);
	else if (!err && id == TRACEDAT_KALLSYMS)
		err = tracedat_kallsyms(f, &s.b);
	else if (!err)
		err = tracedat_cmdlines(f, &s.b);
	free(s.data);
	return err;
}

static int option_read(struct tracedat_file *f, unsigned int id, struct buffer *b,
		       struct ftrace_events *events, struct tracedat_all_stats *stats)
{
	bool has_offset = buffer_left(b) >= 8;

	switch (id) {
	case TRACEDAT_BUFFER:
		return buffer_option(f, b);
	case TRACEDAT_BUFFER_TEXT:
		f->latency = true;
		return 0;
	case TRACEDAT_HEADERS:
	case TRACEDAT_FTRACE_FORMATS:
	case TRACEDAT_FORMATS:
	case TRACEDAT_CMDLINES:
		return has_offset ? part_read(f, id, b, events) : 0;
	case TRACEDAT_KALLSYMS:
		return has_offset && f->want_symbols ? part_read(f, id, b, events) : 0;
	default:
		return tracedat_option(f, id, b, stats);
	}
}

/* One option section; ret_next: the offset of the next, 0 if it is the last. */
static int options_read(struct tracedat_file *f, struct buffer *b, struct ftrace_events *events,
			struct tracedat_all_stats *stats, uint64_t *ret_next)
{
	*ret_next = 0;
	for (int n = 0; n < TRACEDAT_OPTIONS_MAX; n++) {
		uint16_t id = buffer_u16(b);
		uint32_t len = buffer_u32(b);
		uint64_t at = buffer_tell(b);
		const uint8_t *data = buffer_bytes(b, len);
		struct buffer option;
		int err;

		if (!data)
			return buffer_ok(b, "the options");
		option = buffer_of(data, len, f->path, at);
		if (id == TRACEDAT_DONE) {
			*ret_next = buffer_u64(&option);
			return 0;
		}
		err = option_read(f, id, &option, events, stats);
		if (err)
			return err;
	}
	return 0;
}

static int packing_of(struct tracedat_file *f, struct buffer *b)
{
	const char *name = tracedat_text(b);

	tracedat_text(b); /* the packer's version */
	if (!strcmp(name, "zstd"))
		f->packing = TRACEDAT_ZSTD;
	else if (!strcmp(name, "zlib"))
		f->packing = TRACEDAT_ZLIB;
	else if (*name && strcmp(name, "none"))
		return fail(-ENOTSUP,
			    "%s: unsupported compression (supported: zlib, zstd)",
			    f->path);
	return 0;
}

int tracedat_v7(struct tracedat_file *f, struct buffer *b, struct ftrace_events *events,
		struct tracedat_all_stats *stats)
{
	int err = packing_of(f, b), n = 0;
	uint64_t next = buffer_u64(b), seen = 0;

	if (!err)
		err = buffer_ok(b, "the beginning");
	for (; !err && next; n++) {
		struct section s;

		if (n == CHAIN_MAX || next == seen)
			return fail(-EBADMSG, "%s: the chain of option sections does not end",
				    f->path);
		seen = next;
		err = section_read(f, next, TRACEDAT_DONE, &s);
		if (!err)
			err = options_read(f, &s.b, events, stats, &next);
		free(s.data);
	}
	if (!err && !f->nr_cpus && !f->latency)
		err = fail(-ENODATA, "%s holds no trace data; was the recording interrupted?",
			   f->path);
	return err;
}

/*
 * The option TIME_SHIFT: how far the guest's clock was from the host's when trace-cmd recorded both, see
 * trace-cmd.dat.v7(5); the fractions came later and follow everything that older readers know:
 *
 *   u64 the peer's id, u32 flags, u32 CPUs
 *   for each CPU:  u32 nr, u64 time[nr], offset[nr], scale[nr]
 *   for each CPU:  u64 fraction[nr]
 *
 * With the protocol "kvm" offset is minus KVM's offset, scale its ratio (debugfs tsc-scaling-ratio) and fraction the
 * ratio's fixed point; 1 or 0 stand for no scaling.
 */

enum { SHIFT_LINEAR = 1 }; /* flags: TRACECMD_TSYNC_FLAG_INTERPOLATE */

enum { AMD_BITS = 32, INTEL_BITS = 48, BITS_BETWEEN = 40, RATIO_MAX = 1024 };

/* One CPU's part. Too many or too few bytes: cut. */
static void shift_take(struct tracedat_file *f, struct buffer *b, unsigned int cpu)
{
	uint32_t nr = buffer_u32(b);
	struct tracedat_shift *s = &f->shift[f->nr_shifts];

	if (nr > TRACEDAT_SHIFTS_MAX - f->nr_shifts) {
		b->cut = true;
		return;
	}
	for (uint32_t i = 0; i < nr && !b->cut; i++)
		s[i] = (struct tracedat_shift){.cpu = cpu, .time = buffer_u64(b)};
	for (uint32_t i = 0; i < nr && !b->cut; i++)
		s[i].offset = (int64_t)buffer_u64(b);
	for (uint32_t i = 0; i < nr && !b->cut; i++)
		s[i].scale = buffer_u64(b);
	f->nr_shifts += nr;
}

/* Where a file has no fractions the ratio itself tells which of KVM's two fixed points it is in. */
static uint64_t fraction_guess(uint64_t scale)
{
	return scale >> BITS_BETWEEN ? INTEL_BITS : AMD_BITS;
}

/* False: no TSC runs so much faster or slower. */
static bool scale_settle(struct tracedat_shift *s, uint64_t fraction)
{
	uint64_t one;

	s->scale_bits = 0;
	if (s->scale <= 1)
		return fraction == 0;
	fraction = fraction ? fraction : fraction_guess(s->scale);
	if (fraction > INTEL_BITS)
		return false;
	one = 1ull << fraction;
	if (s->scale / RATIO_MAX > one || s->scale < one / RATIO_MAX)
		return false;
	if (s->scale != one)
		s->scale_bits = (uint32_t)fraction;
	return true;
}

ORDER_BY(by_time, struct tracedat_shift, cpu, time, offset, scale, scale_bits)

int tracedat_shifts_take(struct tracedat_file *f, struct buffer *b)
{
	uint32_t nr, cpu = 0;
	bool fractions;

	if (f->shift)
		return 0;
	f->shift = calloc(TRACEDAT_SHIFTS_MAX, sizeof(*f->shift));
	if (!f->shift)
		return fail(-ENOMEM, "%s: out of memory", f->path);
	buffer_u64(b);
	f->shift_linear = buffer_u32(b) & SHIFT_LINEAR;
	nr = buffer_u32(b);
	for (; cpu < nr && !b->cut && cpu < TRACEDAT_CPUS_MAX; cpu++)
		shift_take(f, b, cpu);
	fractions = buffer_left(b) > 0;
	f->shift_broken = cpu < nr;
	for (unsigned int i = 0; i < f->nr_shifts && !b->cut; i++)
		f->shift_broken |= !scale_settle(&f->shift[i], fractions ? buffer_u64(b) : 0);
	f->shift_broken |= b->cut;
	if (f->shift_broken)
		f->nr_shifts = 0;
	qsort(f->shift, f->nr_shifts, sizeof(*f->shift), by_time);
	return 0;
}

/*
 * A copy of the parts of tracefs that a recording needs, as a guest without any tool can make it with cp and cat:
 *
 *   DIR/events/SYSTEM/NAME/format, DIR/events/header_page
 *   DIR/per_cpu/cpuN/trace_pipe_raw (or DIR/cpuN.raw): pages of the ring buffer; DIR/per_cpu/cpuN/stats
 *   DIR/trace_clock, DIR/saved_cmdlines
 *
 * It becomes a struct tracedat_file whose CPUs have files of their own.
 */

enum {
	CPUS_TRIED = 1024,
	FORMATS_MAX = 1 << 16,
	PAGE_USUAL = 4096,
};

/* A small file as text, "" if it is not there. To be freed; NULL: no memory. */
static char *text_load(int dir, const char *name, size_t max)
{
	int fd = openat(dir, name, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
	char *text = malloc(max + 1);
	ssize_t n = text && fd >= 0 ? read_full(fd, text, max) : 0;

	if (fd >= 0)
		close(fd);
	if (text)
		text[n < 0 ? 0 : n] = '\0';
	return text;
}

/* "field: char data; offset:16; size:4080;" tells the page's size, "commit; ... size:8" the kernel's long. */
static void header_page_take(struct tracedat_file *f, const char *text)
{
	const char *commit = strstr(text, "commit;"), *data = strstr(text, " data;"),
		   *size = commit ? strstr(commit, "size:") : NULL,
		   *at = data ? strstr(data, "offset:") : NULL,
		   *len = data ? strstr(data, "size:") : NULL;
	unsigned long page;

	f->page_size = PAGE_USUAL;
	if (size)
		f->commit_size = strtoul(size + 5, NULL, 10) == 4 ? 4 : 8;
	page = at && len ? strtoul(at + 7, NULL, 10) + strtoul(len + 5, NULL, 10) : 0;
	if (page >= 512 && page <= FTRACE_PAGE_MAX)
		f->page_size = (uint32_t)page;
}

static int format_take(int system_dir, const char *system, const char *event, unsigned int *nr,
		       struct ftrace_events *events)
{
	char name[300];
	char *text;
	int err = 0;

	if (*event == '.' || (*nr)++ >= FORMATS_MAX)
		return 0;
	snprintf(name, sizeof(name), "%.255s/format", event);
	text = text_load(system_dir, name, FTRACE_FORMAT_MAX);
	if (!text)
		return fail(-ENOMEM, "out of memory");
	if (*text)
		err = ftrace_events_add(events, system, text, strlen(text));
	free(text);
	return err;
}

static DIR *dir_open(int at, const char *name)
{
	int fd = openat(at, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
	DIR *d = fd >= 0 ? fdopendir(fd) : NULL;

	if (!d && fd >= 0)
		close(fd);
	return d;
}

static int system_take(int events_dir, const char *system, unsigned int *nr,
		       struct ftrace_events *events)
{
	DIR *d = *system == '.' ? NULL : dir_open(events_dir, system);
	struct dirent *e;
	int err = 0;

	while (!err && d && (e = readdir(d)))
		err = format_take(dirfd(d), system, e->d_name, nr, events);
	if (d)
		closedir(d);
	return err;
}

static int formats_take(struct tracedat_file *f, int dir, struct ftrace_events *events)
{
	DIR *d = dir_open(dir, "events");
	unsigned int nr = 0;
	struct dirent *e;
	int err = 0;

	if (!d)
		return fail(-EINVAL, "%s is a directory without events/: not a copy of tracefs",
			    f->path);
	while (!err && (e = readdir(d)))
		err = system_take(dirfd(d), e->d_name, &nr, events);
	closedir(d);
	return err;
}

static int stats_take(int dir, unsigned int cpu, struct tracedat_all_stats *stats)
{
	char name[64], line[TRACEDAT_TEXT_MAX];
	char *text;
	int err = 0;

	snprintf(name, sizeof(name), "per_cpu/cpu%u/stats", cpu);
	text = text_load(dir, name, TRACEDAT_TEXT_MAX / 2);
	if (!text)
		return fail(-ENOMEM, "out of memory");
	snprintf(line, sizeof(line), "CPU: %u\n%s", cpu, text);
	if (*text)
		err = tracedat_stats_take(stats, line);
	free(text);
	return err;
}

static int cpu_take(struct tracedat_file *f, int dir, unsigned int cpu,
		    struct tracedat_all_stats *stats)
{
	static const char *const names[] = {"per_cpu/cpu%u/trace_pipe_raw", "cpu%u.raw", "cpu%u"};
	struct stat st;
	char name[64];
	int fd = -1, err;

	for (size_t i = 0; fd < 0 && i < sizeof(names) / sizeof(names[0]); i++) {
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
		snprintf(name, sizeof(name), names[i], cpu);
#pragma GCC diagnostic pop
		fd = openat(dir, name, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
	}
	if (fd < 0)
		return 0;
	if (fstat(fd, &st) || !S_ISREG(st.st_mode) || !st.st_size) {
		close(fd);
		return 0;
	}
	err = tracedat_cpu_add(f, cpu, 0, (uint64_t)st.st_size, false);
	if (err) {
		close(fd);
		return err;
	}
	f->cpu[f->nr_cpus - 1].fd = fd;
	f->cpu[f->nr_cpus - 1].bytes = (uint64_t)st.st_size;
	return stats_take(dir, cpu, stats);
}

static int parts_take(struct tracedat_file *f, int dir, struct ftrace_events *events,
		      struct tracedat_all_stats *stats)
{
	char *header = text_load(dir, "events/header_page", TRACEDAT_TEXT_MAX),
	     *clock = text_load(dir, "trace_clock", TRACEDAT_TEXT_MAX);
	int err = header && clock ? formats_take(f, dir, events) : fail(-ENOMEM, "out of memory");

	if (!err) {
		header_page_take(f, header);
		tracedat_clock_take(f, clock);
		f->cmdlines = text_load(dir, "saved_cmdlines", TRACEDAT_SECTION_MAX);
	}
	free(header);
	free(clock);
	for (unsigned int cpu = 0; !err && cpu < CPUS_TRIED; cpu++)
		err = cpu_take(f, dir, cpu, stats);
	if (!err && !f->nr_cpus)
		err = fail(-ENODATA,
			   "%s has no pages (per_cpu/cpu0/trace_pipe_raw, cpu0.raw, ...)",
			   f->path);
	return err;
}

static int dir_read(struct tracedat_file *f, struct trace_info *info, struct ftrace_events *events)
{
	struct tracedat_all_stats stats = {0};
	int dir = open(info->file, O_RDONLY | O_DIRECTORY | O_CLOEXEC), err;

	f->path = info->file;
	f->commit_size = 8;
	if (dir < 0)
		return fail(-errno, "%s: %s", info->file, strerror(errno));
	err = parts_take(f, dir, events, &stats);
	close(dir);
	if (!err)
		tracedat_stats_give(f, &stats);
	free(stats.cpu);
	return err;
}

static int tracefs_open(const char *path, const struct read_hint *hint, struct reader **ret)
{
	static const struct tracedat_container folder = {
		.kind = "ftrace pages", .ops = &tracefs_reader, .open = dir_read};

	return tracedat_open_as(&folder, path, hint, ret);
}

const struct reader_ops tracefs_reader = {
	.name = "ftrace pages",
	.summary = "a directory with ftrace's raw pages, one file per CPU, and the formats",
	.directory = "events",
	.open = tracefs_open,
	.next = tracedat_next,
	.counts = tracedat_counts,
	.rows = &tracedat_rows,
	.close = tracedat_close,
};
