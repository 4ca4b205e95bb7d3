// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Writes a trace.dat (trace-cmd.dat.v6(5), trace-cmd.dat.v7(5)) from a readable script, so that a case knows the truth
 * by construction:
 *
 *   tracedat [-6|-7] [-z none|zlib|zstd] SCRIPT TRACE.DAT
 *
 * One directive a line; '#' begins a comment:
 *
 *   clock NAME                         mono, x86-tsc, local, ...
 *   page BYTES                         size of a ring buffer page (default 4096)
 *   comm TID NAME                      a line of saved_cmdlines
 *   format SYSTEM NAME TYPE:FIELD...   an event (script.h)
 *   traceid ID                         option TRACEID
 *   guest NAME ID CPU:TID...           option GUEST: the guest's trace id, and the host thread of each of its CPUs
 *   shift PEER FLAGS CPU:TIME:OFFSET.. option TIME_SHIFT, one sample for each CPU, no scaling
 *   tsc2nsec MULT SHIFT OFFSET         option TSC2NSEC
 *   stat CPU ENTRIES OVERRUN READ      option CPUSTAT
 *   instance NAME CPU                  CPUs from this on are those of a buffer with a name, from 0 on
 *   break CPU                          the next event of this CPU begins a new page
 *   lost CPU COUNT                     so does this, and the page says that COUNT events were lost before it (0: some)
 *   drop CPU                           ends the page; what follows of this CPU is not written, as if pages were lost,
 *   keep CPU                           ... until here
 *   pages CPU COUNT                    ends the page; so many empty ones follow
 *   chunk COUNT                        version 7: so many pages of a CPU are packed together
 *   words CPU WORD...                  32-bit words in the page, as they are: padding, an absolute time, damage
 *   TIME CPU TID EVENT VALUE...        an event, in time order of its CPU
 */
#include <ctype.h>
#include <errno.h>
#include <error.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <zlib.h>
#include <zstd.h>

#include "script.h"

enum { CPUS = 64, PAGE_HEAD = 16, CHUNK_PAGES = 10 };

/* Options and sections, as trace-cmd.dat.v7(5) numbers them. */
enum {
	DONE = 0,
	CPUSTAT = 2,
	BUFFER = 3,
	TRACECLOCK = 4,
	TRACEID = 11,
	TIME_SHIFT = 12,
	GUEST = 13,
	TSC2NSEC = 14,
	HEADERS = 16,
	FTRACE_FORMATS = 17,
	FORMATS = 18,
	CMDLINES = 21,
};

enum { PADDING = 29, TIME_EXTEND = 30 };

#define MISSED (1u << 31)
#define STORED (1u << 30)

struct cpu {
	struct bytes pages; /* whole pages */
	uint8_t *page;	    /* the one being filled */
	size_t used;
	uint64_t time, lost;
	bool open, missed, dropping;
};

struct trace {
	int version;
	const char *packer;
	char clock[32];
	uint32_t page_size;
	char instance[32];	  /* the name of the second buffer */
	unsigned int instance_at; /* its first CPU; 0: there is none */
	struct bytes comms, options;
	struct formats formats;
	struct cpu cpu[CPUS];
	unsigned int nr_cpus, chunk_pages;
};

/* ---- pages ---- */

static struct cpu *cpu_get(struct trace *t, uint64_t nr)
{
	if (nr >= CPUS)
		error(1, 0, "CPU %" PRIu64 ": at most %d CPUs", nr, CPUS);
	for (; t->nr_cpus <= nr; t->nr_cpus++) {
		bytes_begin(&t->cpu[t->nr_cpus].pages);
		t->cpu[t->nr_cpus].page = calloc(1, t->page_size);
	}
	return &t->cpu[nr];
}

static void page_end(struct trace *t, struct cpu *c)
{
	uint64_t commit = c->used - PAGE_HEAD;

	if (!c->open)
		return;
	if (c->missed) {
		commit |= MISSED;
		if (c->lost && c->used + 8 <= t->page_size) {
			commit |= STORED;
			memcpy(c->page + c->used, &c->lost, 8);
		}
	}
	memcpy(c->page + 8, &commit, 8);
	fwrite(c->page, 1, t->page_size, c->pages.f);
	c->open = c->missed = false;
}

static void pages_add(struct trace *t, struct cpu *c, uint64_t nr)
{
	page_end(t, c);
	memset(c->page, 0, t->page_size);
	for (uint64_t i = 0; i < nr; i++)
		fwrite(c->page, 1, t->page_size, c->pages.f);
}

static void page_begin(struct trace *t, struct cpu *c, uint64_t time)
{
	memset(c->page, 0, t->page_size);
	memcpy(c->page, &time, 8);
	c->used = PAGE_HEAD;
	c->time = time;
	c->open = true;
}

static void word_add(struct cpu *c, uint32_t word)
{
	memcpy(c->page + c->used, &word, 4);
	c->used += 4;
}

static void record_add(struct trace *t, struct cpu *c, uint64_t time, const void *data, size_t len)
{
	size_t padded = (len + 3) & ~3ul;
	uint64_t delta;

	if (c->dropping)
		return;
	if (c->open && c->used + padded + 24 > t->page_size)
		page_end(t, c);
	if (!c->open)
		page_begin(t, c, time);
	if (time < c->time)
		error(1, 0, "time %" PRIu64 " is before the CPU's previous event", time);
	delta = time - c->time;
	if (delta >> 27) {
		word_add(c, (uint32_t)(TIME_EXTEND | (delta & ((1u << 27) - 1)) << 5));
		word_add(c, (uint32_t)(delta >> 27));
		delta = 0;
	}
	if (padded > 4 * 28) {
		word_add(c, (uint32_t)(delta << 5));
		word_add(c, (uint32_t)padded + 4);
	} else {
		word_add(c, (uint32_t)(padded / 4 | delta << 5));
	}
	memcpy(c->page + c->used, data, len);
	c->used += padded;
	c->time = time;
}

static void page_lose(struct trace *t, struct cpu *c, uint64_t count)
{
	page_end(t, c);
	c->missed = true;
	c->lost = count;
}

/* ---- the script ---- */

static void event_add(struct trace *t, char **word, int nr)
{
	struct cpu *c = cpu_get(t, number(word[1]));
	uint8_t record[RECORD_MAX];
	const struct format *f = &t->formats.of[format_find(&t->formats, word[3])];
	size_t len = record_make(f, (uint32_t)number(word[2]), word + 4, nr - 4, record);

	record_add(t, c, number(word[0]), record, len);
}

static void option_add(struct trace *t, int id, const void *data, size_t len)
{
	put(t->options.f, (uint64_t)id, 2);
	put_sized(t->options.f, data, len, 4);
}

static void guest_add(struct trace *t, char **word, int nr)
{
	struct bytes b;

	bytes_begin(&b);
	put_text(b.f, word[1]);
	put(b.f, number(word[2]), 8);
	put(b.f, (uint64_t)nr - 3, 4);
	for (int i = 3; i < nr; i++) {
		char *colon = strchr(word[i], ':');

		if (!colon)
			error(1, 0, "guest: CPU:TID expected, not '%s'", word[i]);
		*colon = '\0';
		put(b.f, number(word[i]), 4);
		put(b.f, number(colon + 1), 4);
	}
	bytes_end(&b);
	option_add(t, GUEST, b.data, b.len);
}

static void shift_add(struct trace *t, char **word, int nr)
{
	struct bytes b;

	bytes_begin(&b);
	put(b.f, number(word[1]), 8);
	put(b.f, number(word[2]), 4);
	put(b.f, (uint64_t)nr - 3, 4);
	for (int i = 3; i < nr; i++) {
		char *time = strchr(word[i], ':'), *offset = time ? strchr(time + 1, ':') : NULL;

		if (!offset)
			error(1, 0, "shift: CPU:TIME:OFFSET expected, not '%s'", word[i]);
		*time = *offset = '\0';
		put(b.f, 1, 4);
		put(b.f, number(time + 1), 8);
		put(b.f, number(offset + 1), 8);
		put(b.f, 1, 8);
	}
	bytes_end(&b);
	option_add(t, TIME_SHIFT, b.data, b.len);
}

static void stat_add(struct trace *t, char **word)
{
	char text[256];
	int len = snprintf(text, sizeof(text),
			   "CPU: %s\nentries: %s\noverrun: %s\ncommit overrun: 0\nbytes: 0\n"
			   "dropped events: 0\nread events: %s\n",
			   word[1], word[2], word[3], word[4]);

	option_add(t, CPUSTAT, text, (size_t)len + 1);
}

static void line_read(struct trace *t, char *line)
{
	char *word[WORDS];
	int nr = print_read(&t->formats, line) ? 0 : words_split(line, word);

	if (!nr)
		return;
	if (isdigit((unsigned char)*word[0]) && nr > 3) {
		event_add(t, word, nr);
	} else if (!strcmp(word[0], "clock") && nr == 2) {
		snprintf(t->clock, sizeof(t->clock), "%s", word[1]);
	} else if (!strcmp(word[0], "page") && nr == 2 && !t->nr_cpus) {
		t->page_size = (uint32_t)number(word[1]);
	} else if (!strcmp(word[0], "comm") && nr == 3) {
		fprintf(t->comms.f, "%s %s\n", word[1], text_word(word[2]));
	} else if (!strcmp(word[0], "format")) {
		format_add(&t->formats, word, nr);
	} else if (!strcmp(word[0], "traceid") && nr == 2) {
		uint64_t id = number(word[1]);

		option_add(t, TRACEID, &id, sizeof(id));
	} else if (!strcmp(word[0], "guest") && nr > 3) {
		guest_add(t, word, nr);
	} else if (!strcmp(word[0], "shift") && nr > 3) {
		shift_add(t, word, nr);
	} else if (!strcmp(word[0], "tsc2nsec") && nr == 4) {
		uint64_t v[2] = {number(word[1]) | number(word[2]) << 32, number(word[3])};

		option_add(t, TSC2NSEC, v, sizeof(v));
	} else if (!strcmp(word[0], "stat") && nr == 5) {
		stat_add(t, word);
	} else if (!strcmp(word[0], "instance") && nr == 3) {
		snprintf(t->instance, sizeof(t->instance), "%s", word[1]);
		t->instance_at = (unsigned int)number(word[2]);
	} else if (!strcmp(word[0], "break") && nr == 2) {
		page_end(t, cpu_get(t, number(word[1])));
	} else if (!strcmp(word[0], "drop") && nr == 2) {
		page_end(t, cpu_get(t, number(word[1])));
		cpu_get(t, number(word[1]))->dropping = true;
	} else if (!strcmp(word[0], "keep") && nr == 2) {
		cpu_get(t, number(word[1]))->dropping = false;
	} else if (!strcmp(word[0], "words") && nr > 2 && cpu_get(t, number(word[1]))->open) {
		for (int i = 2; i < nr; i++)
			word_add(cpu_get(t, number(word[1])), (uint32_t)number(word[i]));
	} else if (!strcmp(word[0], "pages") && nr == 3) {
		pages_add(t, cpu_get(t, number(word[1])), number(word[2]));
	} else if (!strcmp(word[0], "chunk") && nr == 2) {
		t->chunk_pages = (unsigned int)number(word[1]);
	} else if (!strcmp(word[0], "lost") && nr == 3) {
		page_lose(t, cpu_get(t, number(word[1])), number(word[2]));
	} else {
		error(1, 0, "unknown directive '%s'", word[0]);
	}
}

/* ---- parts that both versions have ---- */

static void clock_text(const struct trace *t, char *text, size_t size)
{
	snprintf(text, size, "[%s]\n", t->clock);
}

/* ---- version 6 ---- */

static void pad_to(FILE *f, long at)
{
	while (ftell(f) < at)
		fputc(0, f);
}

/* The table of CPUs from `from` on, and their pages after it. */
static void v6_cpus_put(const struct trace *t, FILE *f, unsigned int from, unsigned int to)
{
	long table, at, first;

	fwrite("flyrecord", 1, 10, f);
	table = ftell(f);
	first = at = (table + 16 * (long)(to - from) + t->page_size) / t->page_size * t->page_size;
	for (unsigned int i = from; i < to; i++) {
		put(f, (uint64_t)at, 8);
		put(f, t->cpu[i].pages.len, 8);
		at += (long)t->cpu[i].pages.len;
	}
	pad_to(f, first);
	for (unsigned int i = from; i < to; i++)
		fwrite(t->cpu[i].pages.data, 1, t->cpu[i].pages.len, f);
}

static void v6_write(struct trace *t, FILE *f)
{
	unsigned int main_cpus = t->instance_at ? t->instance_at : t->nr_cpus;
	long offset = 0, end;

	headers_put(t->page_size, f);
	put(f, 0, 4); /* ftrace's own formats */
	formats_put(&t->formats, f);
	put(f, 0, 4); /* kallsyms */
	put(f, 0, 4); /* printk formats */
	put_sized(f, t->comms.data, t->comms.len, 8);
	put(f, main_cpus, 4);
	fwrite("options  ", 1, 10, f);
	fwrite(t->options.data, 1, t->options.len, f);
	if (t->instance_at) {
		put(f, BUFFER, 2);
		put(f, 8 + strlen(t->instance) + 1 + 4, 4);
		offset = ftell(f);
		put(f, 0, 8);
		put_text(f, t->instance);
		put(f, t->nr_cpus - main_cpus, 4);
	}
	put(f, 0, 2);
	v6_cpus_put(t, f, 0, main_cpus);
	if (!t->instance_at)
		return;
	end = ftell(f);
	v6_cpus_put(t, f, main_cpus, t->nr_cpus);
	fseek(f, offset, SEEK_SET);
	put(f, (uint64_t)end, 8);
}

/* ---- version 7 ---- */

static size_t pack(const struct trace *t, const void *from, size_t len, void **ret)
{
	uLongf zlib_len = compressBound(len);
	size_t room = ZSTD_compressBound(len) > zlib_len ? ZSTD_compressBound(len) : zlib_len;

	*ret = malloc(room);
	if (!strcmp(t->packer, "zstd"))
		return ZSTD_compress(*ret, room, from, len, 3);
	compress(*ret, &zlib_len, from, len);
	return zlib_len;
}

static uint64_t section_put(const struct trace *t, FILE *f, int id, const struct bytes *b)
{
	uint64_t at = (uint64_t)ftell(f);
	bool packed = strcmp(t->packer, "none") && id != DONE;
	void *data = NULL;
	size_t len = packed ? pack(t, b->data, b->len, &data) : 0;

	put(f, (uint64_t)id, 2);
	put(f, packed, 2);
	put(f, 0, 4);
	put(f, packed ? len + 8 : b->len, 8);
	if (packed) {
		put(f, len, 4);
		put(f, b->len, 4);
	}
	fwrite(packed ? data : b->data, 1, packed ? len : b->len, f);
	free(data);
	return at;
}

static void pages_pack(const struct trace *t, const struct bytes *pages, FILE *f)
{
	size_t step = (size_t)(t->chunk_pages ? t->chunk_pages : CHUNK_PAGES) * t->page_size;

	put(f, (pages->len + step - 1) / step, 4);
	for (size_t at = 0; at < pages->len; at += step) {
		size_t len = pages->len - at < step ? pages->len - at : step, packed;
		void *data;

		packed = pack(t, pages->data + at, len, &data);
		put(f, packed, 4);
		put(f, len, 4);
		fwrite(data, 1, packed, f);
		free(data);
	}
}

/* The section with the pages of these CPUs, and the option that says where they are. */
static void buffer_put(struct trace *t, FILE *f, FILE *options, unsigned int from, unsigned int to)
{
	uint64_t begin = (uint64_t)ftell(f), offset[CPUS], size[CPUS];
	bool packed = strcmp(t->packer, "none");
	struct bytes option;

	put(f, BUFFER, 2);
	put(f, packed, 2);
	put(f, 0, 4);
	put(f, 0, 8); /* patched below */
	for (unsigned int i = from; i < to; i++) {
		const struct bytes *pages = &t->cpu[i].pages;

		if (!packed)
			pad_to(f,
			       (ftell(f) + (long)t->page_size - 1) / t->page_size * t->page_size);
		offset[i] = (uint64_t)ftell(f);
		if (packed && pages->len)
			pages_pack(t, pages, f);
		else
			fwrite(pages->data, 1, pages->len, f);
		size[i] = (uint64_t)ftell(f) - offset[i];
		size[i] -= packed && size[i] ? 4 : 0; /* trace-cmd leaves the count of chunks out */
	}
	uint64_t end = (uint64_t)ftell(f);

	fseek(f, (long)begin + 8, SEEK_SET);
	put(f, end - begin - 16, 8);
	fseek(f, (long)end, SEEK_SET);
	bytes_begin(&option);
	put(option.f, begin, 8);
	put_text(option.f, from ? t->instance : "");
	put_text(option.f, t->clock);
	put(option.f, t->page_size, 4);
	put(option.f, to - from, 4);
	for (unsigned int i = from; i < to; i++) {
		put(option.f, i - from, 4);
		put(option.f, offset[i], 8);
		put(option.f, size[i], 8);
	}
	bytes_end(&option);
	put(options, BUFFER, 2);
	put_sized(options, option.data, option.len, 4);
}

static void v7_part(struct trace *t, FILE *f, FILE *options, int id)
{
	struct bytes b;
	uint64_t at;

	bytes_begin(&b);
	if (id == HEADERS)
		headers_put(t->page_size, b.f);
	else if (id == FTRACE_FORMATS)
		put(b.f, 0, 4);
	else if (id == FORMATS)
		formats_put(&t->formats, b.f);
	else
		put_sized(b.f, t->comms.data, t->comms.len, 8);
	bytes_end(&b);
	at = section_put(t, f, id, &b);
	put(options, (uint64_t)id, 2);
	put_sized(options, &at, sizeof(at), 4);
	free(b.data);
}

static void v7_write(struct trace *t, FILE *f)
{
	static const int parts[] = {HEADERS, FTRACE_FORMATS, FORMATS, CMDLINES};
	struct bytes options;
	uint64_t at, none = 0;
	long patch;

	put_text(f, t->packer);
	put_text(f, "1.0");
	patch = ftell(f);
	put(f, 0, 8);
	bytes_begin(&options);
	for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++)
		v7_part(t, f, options.f, parts[i]);
	fwrite(t->options.data, 1, t->options.len, options.f);
	buffer_put(t, f, options.f, 0, t->instance_at ? t->instance_at : t->nr_cpus);
	if (t->instance_at)
		buffer_put(t, f, options.f, t->instance_at, t->nr_cpus);
	put(options.f, DONE, 2);
	put_sized(options.f, &none, sizeof(none), 4);
	bytes_end(&options);
	at = section_put(t, f, DONE, &options);
	fseek(f, patch, SEEK_SET);
	put(f, at, 8);
}

int main(int argc, char **argv)
{
	struct trace t = {.version = 7, .packer = "none", .clock = "mono", .page_size = 4096};
	char line[4096], clock[64];
	FILE *in = NULL, *out = NULL;
	int opt;

	while ((opt = getopt(argc, argv, "67z:")) != -1) {
		if (opt == 'z')
			t.packer = optarg;
		else if (opt == '6' || opt == '7')
			t.version = opt - '0';
		else
			return 2;
	}
	if (argc - optind != 2 || !(in = fopen(argv[optind], "re")) ||
	    !(out = fopen(argv[optind + 1], "we")))
		error(2, errno, "usage: tracedat [-6|-7] [-z none|zlib|zstd] SCRIPT TRACE.DAT");
	bytes_begin(&t.comms);
	bytes_begin(&t.options);
	while (fgets(line, sizeof(line), in))
		line_read(&t, line);
	for (unsigned int i = 0; i < t.nr_cpus; i++) {
		page_end(&t, &t.cpu[i]);
		bytes_end(&t.cpu[i].pages);
	}
	clock_text(&t, clock, sizeof(clock));
	option_add(&t, TRACECLOCK, clock, strlen(clock) + 1);
	bytes_end(&t.comms);
	bytes_end(&t.options);
	fwrite("\x17\x08\x44tracing", 1, 10, out);
	put_text(out, t.version == 6 ? "6" : "7");
	put(out, 0, 1);
	put(out, 8, 1);
	put(out, t.page_size, 4);
	if (t.version == 6)
		v6_write(&t, out);
	else
		v7_write(&t, out);
	fclose(in);
	return fclose(out) ? 1 : 0;
}
