// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Writes a perf.data (tools/perf/Documentation/perf.data-file-format.txt) from a readable script, so that a case knows
 * the truth by construction:
 *
 *   perfdata [-p] [-z] SCRIPT PERF.DATA      -p: as `perf record -o -` writes it; -z: records in COMPRESSED ones
 *   perfdata -t SCRIPT DIRECTORY             as `perf record --threads` writes it
 *
 * One directive a line; '#' begins a comment. Records wait in a buffer per CPU, which `round` and the end write out,
 * CPU by CPU, as perf does:
 *
 *   format SYSTEM NAME TYPE:FIELD...       a tracepoint (script.h), and an event that records it
 *   counter NAME CONFIG                    an event of type PERF_TYPE_HARDWARE
 *   sample NAME...                         what samples consist of, besides or (-NAME) without tid time cpu raw and id:
 *                                          ip addr streamid period read callchain identifier
 *   clock mono|ID                          clock of the times (-k), else the kernel's sched_clock
 *   period N | freq N                      of the events that follow, not every occurrence
 *   noidall                                other records than samples have no time (sample_id_all is 0)
 *   comm TIME CPU PID/TID NAME
 *   exec TIME CPU PID/TID NAME             a COMM record of execve()
 *   fork TIME CPU PARENT PID/TID           PARENT: PID/TID
 *   map TIME CPU PID START LEN OFFSET INODE FILE  a MMAP2 record of code; PID -1: of the kernel
 *   chain ADDRESS...                       call chains of the samples that follow, with their markers
 *   lost TIME CPU COUNT
 *   lostsamples TIME CPU MISC COUNT
 *   throttle TIME CPU EVENT | unthrottle TIME CPU EVENT
 *   timeconv SHIFT MULT ZERO
 *   round                                  FINISHED_ROUND
 *   TIME CPU PID/TID EVENT VALUE...        a sample; of a counter, VALUE is the instruction pointer
 */
#include <ctype.h>
#include <errno.h>
#include <error.h>
#include <inttypes.h>
#include <linux/perf_event.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <zstd.h>

#include "script.h"

enum { CPUS = 64, ATTR_BYTES = 128, HEAD_BYTES = 104, MMAP_BYTES = 1 << 19 };

/* Features (tools/perf/util/header.h). */
enum { TRACING_DATA = 1, FEATURE_NRCPUS = 7, FEATURE_DIR_FORMAT = 24, FEATURE_COMPRESSED = 27 };

/* tools/lib/perf/include/perf/event.h */
enum {
	HEADER_ATTR = 64,
	HEADER_TRACING_DATA = 66,
	FINISHED_ROUND = 68,
	TIME_CONV = 79,
	HEADER_FEATURE = 80,
	COMPRESSED = 81,
	FINISHED_INIT = 82,
};

struct counter {
	char *name;
	uint64_t config;
};

struct trace {
	bool threads, pipe, packed, no_id_all;
	uint64_t sample, clock, period, freq;
	uint64_t chain[WORDS];
	int nr_chain;
	bool have_clock;
	struct formats formats;
	uint64_t period_of[EVENTS], freq_of[EVENTS]; /* of the formats */
	struct counter counter[EVENTS];
	int nr_counters;
	struct bytes ring[CPUS], data;
	uint64_t nr_files; /* of `threads`: CPUs with records */
};

struct task {
	uint32_t pid, tid;
};

static struct task task_of(char *text)
{
	char *slash = strchr(text, '/');

	if (slash)
		*slash = '\0';
	uint32_t pid = (uint32_t)number(text);

	return (struct task){pid, slash ? (uint32_t)number(slash + 1) : pid};
}

static FILE *ring_of(struct trace *t, const char *cpu)
{
	uint64_t nr = number(cpu);

	if (nr >= CPUS)
		error(1, 0, "CPU %" PRIu64 ": at most %d CPUs", nr, CPUS);
	return t->ring[nr].f;
}

/* ---- records ---- */

static void record_put(FILE *f, uint32_t type, uint16_t misc, const struct bytes *b)
{
	put(f, type, 4);
	put(f, misc, 2);
	put(f, (b->len + 15) / 8 * 8, 2);
	fwrite(b->data, 1, b->len, f);
	for (size_t at = b->len; at % 8; at++)
		fputc(0, f);
}

/* What other records than samples end in; event 0 by default. */
static void trailer_put(const struct trace *t, FILE *f, struct task task, uint64_t time,
			uint64_t cpu, uint64_t id)
{
	uint64_t s = t->no_id_all ? 0 : t->sample;

	if (s & PERF_SAMPLE_TID)
		put(f, task.pid | (uint64_t)task.tid << 32, 8);
	if (s & PERF_SAMPLE_TIME)
		put(f, time, 8);
	if (s & PERF_SAMPLE_ID)
		put(f, id, 8);
	if (s & PERF_SAMPLE_STREAM_ID)
		put(f, id, 8);
	if (s & PERF_SAMPLE_CPU)
		put(f, cpu, 8);
	if (s & PERF_SAMPLE_IDENTIFIER)
		put(f, id, 8);
}

static uint64_t id_of(int event, uint64_t cpu)
{
	return 1000 * ((uint64_t)event + 1) + cpu;
}

static int event_find(const struct trace *t, const char *name)
{
	for (int i = 0; i < t->nr_counters; i++)
		if (!strcmp(t->counter[i].name, name))
			return t->formats.nr + i;
	return format_find(&t->formats, name);
}

static void raw_put(FILE *f, const uint8_t *raw, size_t len)
{
	size_t padded = (len + 4 + 7) / 8 * 8 - 4; /* the record's size is a multiple of 8 */

	put(f, padded, 4);
	fwrite(raw, 1, len, f);
	while (len++ < padded)
		fputc(0, f);
}

static void sample_add(struct trace *t, char **word, int nr)
{
	uint64_t s = t->sample, cpu = number(word[1]), time = number(word[0]), ip = 0;
	struct task task = task_of(word[2]);
	int event = event_find(t, word[3]);
	bool counter = event >= t->formats.nr;
	uint8_t raw[RECORD_MAX];
	size_t len = 0;
	struct bytes b;

	if (counter)
		ip = nr > 4 ? number(word[4]) : 0;
	else
		len = record_make(&t->formats.of[event], task.tid, word + 4, nr - 4, raw);
	bytes_begin(&b);
	if (s & PERF_SAMPLE_IDENTIFIER)
		put(b.f, id_of(event, cpu), 8);
	if (s & PERF_SAMPLE_IP)
		put(b.f, ip, 8);
	if (s & PERF_SAMPLE_TID)
		put(b.f, task.pid | (uint64_t)task.tid << 32, 8);
	if (s & PERF_SAMPLE_TIME)
		put(b.f, time, 8);
	if (s & PERF_SAMPLE_ADDR)
		put(b.f, 0, 8);
	if (s & PERF_SAMPLE_ID)
		put(b.f, id_of(event, cpu), 8);
	if (s & PERF_SAMPLE_STREAM_ID)
		put(b.f, id_of(event, cpu), 8);
	if (s & PERF_SAMPLE_CPU)
		put(b.f, cpu, 8);
	if (s & PERF_SAMPLE_PERIOD)
		put(b.f, 1, 8);
	if (s & PERF_SAMPLE_READ)
		put(b.f, 1, 8); /* read_format 0: the value */
	if (s & PERF_SAMPLE_CALLCHAIN) {
		put(b.f, (uint64_t)t->nr_chain, 8);
		for (int i = 0; i < t->nr_chain; i++)
			put(b.f, t->chain[i], 8);
	}
	if (s & PERF_SAMPLE_RAW && !counter)
		raw_put(b.f, raw, len);
	else if (s & PERF_SAMPLE_RAW)
		raw_put(b.f, raw, 0);
	bytes_end(&b);
	record_put(ring_of(t, word[1]), PERF_RECORD_SAMPLE, 1, &b); /* misc: kernel */
	free(b.data);
}

static void map_put(FILE *f, char **word)
{
	size_t len = strlen(word[8]) + 1;

	put(f, *word[3] == '-' ? UINT32_MAX : number(word[3]), 4);
	put(f, *word[3] == '-' ? 0 : number(word[3]), 4);
	for (int i = 4; i < 7; i++)
		put(f, number(word[i]), 8);
	put(f, 0, 8); /* device */
	put(f, number(word[7]), 8);
	put(f, 0, 8); /* generation */
	put(f, 5, 4); /* PROT_READ | PROT_EXEC */
	put(f, 2, 4); /* MAP_PRIVATE */
	fwrite(word[8], 1, len, f);
	for (; len % 8; len++)
		fputc(0, f);
}

static void record_add(struct trace *t, char **word, int nr)
{
	struct task none = {0}, task = none;
	uint64_t time = number(word[1]), cpu = number(word[2]);
	uint32_t type = 0, misc = 0;
	int event = 0;
	struct bytes b;

	bytes_begin(&b);
	if (!strcmp(word[0], "lost") && nr == 4) {
		type = PERF_RECORD_LOST;
		put(b.f, id_of(0, cpu), 8);
		put(b.f, number(word[3]), 8);
	} else if (!strcmp(word[0], "lostsamples") && nr == 5) {
		type = PERF_RECORD_LOST_SAMPLES;
		misc = (uint32_t)number(word[3]);
		put(b.f, number(word[4]), 8);
	} else if ((!strcmp(word[0], "comm") || !strcmp(word[0], "exec")) && nr == 5) {
		char name[16] = "";

		type = PERF_RECORD_COMM;
		misc = *word[0] == 'e' ? PERF_RECORD_MISC_COMM_EXEC : 0;
		task = task_of(word[3]);
		snprintf(name, sizeof(name), "%s", text_word(word[4]));
		put(b.f, task.pid | (uint64_t)task.tid << 32, 8);
		fwrite(name, 1, sizeof(name), b.f);
	} else if (!strcmp(word[0], "map") && nr == 9) {
		type = PERF_RECORD_MMAP2;
		map_put(b.f, word);
	} else if (!strcmp(word[0], "fork") && nr == 5) {
		struct task parent = task_of(word[3]), child = task_of(word[4]);

		type = PERF_RECORD_FORK;
		task = child;
		put(b.f, child.pid | (uint64_t)parent.pid << 32, 8);
		put(b.f, child.tid | (uint64_t)parent.tid << 32, 8);
		put(b.f, time, 8);
	} else if (nr == 4) {
		type = *word[0] == 't' ? PERF_RECORD_THROTTLE : PERF_RECORD_UNTHROTTLE;
		event = event_find(t, word[3]);
		put(b.f, time, 8);
		put(b.f, id_of(event, cpu), 8);
		put(b.f, id_of(event, cpu), 8);
	} else {
		error(1, 0, "directive '%s': not its number of words", word[0]);
	}
	trailer_put(t, b.f, task, time, cpu, id_of(event, cpu));
	bytes_end(&b);
	record_put(ring_of(t, word[2]), type, (uint16_t)misc, &b);
	free(b.data);
}

/* ---- the script ---- */

static void sample_set(struct trace *t, const char *name)
{
	static const struct {
		const char *name;
		uint64_t bit;
	} parts[] = {
		{"tid", PERF_SAMPLE_TID},	{"time", PERF_SAMPLE_TIME},
		{"cpu", PERF_SAMPLE_CPU},	{"raw", PERF_SAMPLE_RAW},
		{"id", PERF_SAMPLE_ID},		{"ip", PERF_SAMPLE_IP},
		{"addr", PERF_SAMPLE_ADDR},	{"streamid", PERF_SAMPLE_STREAM_ID},
		{"period", PERF_SAMPLE_PERIOD}, {"read", PERF_SAMPLE_READ},
		{"callchain", PERF_SAMPLE_CALLCHAIN}, {"identifier", PERF_SAMPLE_IDENTIFIER},
	};
	bool without = *name == '-';

	for (size_t i = 0; i < sizeof(parts) / sizeof(*parts); i++)
		if (!strcmp(parts[i].name, name + without)) {
			t->sample = without ? t->sample & ~parts[i].bit : t->sample | parts[i].bit;
			return;
		}
	error(1, 0, "unknown part '%s' of samples", name);
}

/* The buffer of each CPU in a file of its own. */
static void parts_write(struct trace *t, const char *directory)
{
	for (int i = 0; i < CPUS; i++) {
		char *path;
		FILE *f = NULL;

		bytes_end(&t->ring[i]);
		if (!t->ring[i].len)
			continue;
		if (asprintf(&path, "%s/data.%d", directory, (int)t->nr_files++) < 0 ||
		    !(f = fopen(path, "w")))
			error(1, errno, "%s", directory);
		fwrite(t->ring[i].data, 1, t->ring[i].len, f);
		fclose(f);
		free(path);
	}
}

static void round_end(struct trace *t)
{
	struct bytes none = {0};

	if (t->threads)
		return;
	for (int i = 0; i < CPUS; i++) {
		bytes_end(&t->ring[i]);
		fwrite(t->ring[i].data, 1, t->ring[i].len, t->data.f);
		free(t->ring[i].data);
		bytes_begin(&t->ring[i]);
	}
	record_put(t->data.f, FINISHED_ROUND, 0, &none);
}

static void conv_add(struct trace *t, char **word)
{
	struct bytes b;

	bytes_begin(&b);
	for (int i = 1; i < 4; i++)
		put(b.f, number(word[i]), 8);
	put(b.f, 0, 8); /* cycles, mask: none */
	put(b.f, 0, 8);
	put(b.f, 0, 8);
	bytes_end(&b);
	record_put(t->data.f, TIME_CONV, 0, &b);
	free(b.data);
}

static void line_read(struct trace *t, char *line)
{
	char *word[WORDS];
	int nr = print_read(&t->formats, line) ? 0 : words_split(line, word);

	if (!nr)
		return;
	if (isdigit((unsigned char)*word[0]) && nr > 3) {
		sample_add(t, word, nr);
	} else if (!strcmp(word[0], "format")) {
		t->period_of[t->formats.nr] = t->period;
		t->freq_of[t->formats.nr] = t->freq;
		format_add(&t->formats, word, nr);
	} else if (!strcmp(word[0], "counter") && nr == 3 && t->nr_counters < EVENTS) {
		t->counter[t->nr_counters++] =
			(struct counter){strdup(word[1]), number(word[2])};
	} else if (!strcmp(word[0], "sample")) {
		for (int i = 1; i < nr; i++)
			sample_set(t, word[i]);
	} else if (!strcmp(word[0], "chain")) {
		for (t->nr_chain = 0; t->nr_chain < nr - 1; t->nr_chain++)
			t->chain[t->nr_chain] = number(word[1 + t->nr_chain]);
	} else if (!strcmp(word[0], "clock") && nr == 2) {
		t->clock = strcmp(word[1], "mono") ? number(word[1]) : 1;
		t->have_clock = true;
	} else if (!strcmp(word[0], "period") && nr == 2) {
		t->period = number(word[1]);
	} else if (!strcmp(word[0], "freq") && nr == 2) {
		t->freq = number(word[1]);
	} else if (!strcmp(word[0], "noidall")) {
		t->no_id_all = true;
	} else if (!strcmp(word[0], "timeconv") && nr == 4) {
		conv_add(t, word);
	} else if (!strcmp(word[0], "round")) {
		round_end(t);
	} else if (nr > 3) {
		record_add(t, word, nr);
	} else {
		error(1, 0, "unknown directive '%s'", word[0]);
	}
}

/* ---- the file ---- */

static int nr_events(const struct trace *t)
{
	return t->formats.nr + t->nr_counters;
}

static void attr_put(const struct trace *t, FILE *f, int event)
{
	bool counter = event >= t->formats.nr;
	uint64_t freq = counter ? 0 : t->freq_of[event],
		 period = counter ? 100000 : t->period_of[event];
	struct perf_event_attr a = {
		.type = counter ? PERF_TYPE_HARDWARE : PERF_TYPE_TRACEPOINT,
		.size = ATTR_BYTES,
		.config = counter ? t->counter[event - t->formats.nr].config
				  : (uint64_t)t->formats.of[event].id,
		.sample_period = freq ? freq : period ? period : 1,
		.sample_type = t->sample,
		.freq = freq != 0,
		.sample_id_all = !t->no_id_all,
		.use_clockid = t->have_clock,
		.clockid = (int32_t)t->clock,
	};
	char bytes[ATTR_BYTES] = {0};

	memcpy(bytes, &a, sizeof(a) < ATTR_BYTES ? sizeof(a) : ATTR_BYTES);
	fwrite(bytes, 1, ATTR_BYTES, f);
}

static void tracing_put(const struct trace *t, FILE *f)
{
	fwrite("\x17\x08\x44tracing0.6", 1, 14, f);
	put(f, 0x0800, 2); /* little-endian; bytes of a long */
	put(f, 4096, 4);
	headers_put(4096, f);
	put(f, 0, 4); /* ftrace's own formats */
	formats_put(&t->formats, f);
	put(f, 0, 4); /* kallsyms */
	put(f, 0, 4); /* printk formats */
	put(f, 0, 8); /* names of threads */
}

/* Runs of records in COMPRESSED ones, in one zstd stream; some records begin in one and end in the next. */
static void packed_put(const struct bytes *data, FILE *f)
{
	enum { STEP = 30011 };
	ZSTD_CStream *z = ZSTD_createCStream();
	char *to = malloc(ZSTD_compressBound(STEP));

	for (size_t at = 0; at < data->len; at += STEP) {
		size_t len = data->len - at < STEP ? data->len - at : STEP;
		ZSTD_inBuffer in = {data->data + at, len, 0};
		ZSTD_outBuffer out = {to, ZSTD_compressBound(STEP), 0};

		ZSTD_compressStream2(z, &out, &in, ZSTD_e_flush);
		put(f, COMPRESSED, 4);
		put(f, 0, 2);
		put(f, out.pos + 8, 2);
		fwrite(to, 1, out.pos, f);
	}
	free(to);
	ZSTD_freeCStream(z);
}

static void compression_put(FILE *f)
{
	put(f, 1, 4); /* version */
	put(f, 1, 4); /* zstd, ... */
	put(f, 1, 4); /* ... its level */
	put(f, 4, 4); /* bytes before and after */
	put(f, MMAP_BYTES, 4);
}

static void data_put(const struct trace *t, FILE *f)
{
	if (t->packed)
		packed_put(&t->data, f);
	else
		fwrite(t->data.data, 1, t->data.len, f);
	if (t->threads) { /* the records of the threads are in other files */
		put(f, FINISHED_INIT, 4);
		put(f, 8ull << 16, 4);
	}
}

static void pipe_write(const struct trace *t, FILE *f)
{
	struct bytes b;

	fwrite("PERFILE2", 1, 8, f);
	put(f, 16, 8);
	for (int i = 0; i < nr_events(t); i++) {
		bytes_begin(&b);
		attr_put(t, b.f, i);
		for (uint64_t cpu = 0; cpu < CPUS; cpu++)
			put(b.f, id_of(i, cpu), 8);
		bytes_end(&b);
		record_put(f, HEADER_ATTR, 0, &b);
		free(b.data);
	}
	bytes_begin(&b);
	tracing_put(t, b.f);
	bytes_end(&b);
	put(f, HEADER_TRACING_DATA, 4);
	put(f, 12ull << 16, 4);
	put(f, (b.len + 7) / 8 * 8, 4);
	fwrite(b.data, 1, b.len, f);
	for (size_t at = b.len; at % 8; at++)
		fputc(0, f);
	if (t->packed) {
		bytes_begin(&b);
		put(b.f, FEATURE_COMPRESSED, 8);
		compression_put(b.f);
		bytes_end(&b);
		record_put(f, HEADER_FEATURE, 0, &b);
		free(b.data);
	}
	data_put(t, f);
}

static void feature_place(FILE *f, uint64_t *at, uint64_t len)
{
	put(f, *at, 8);
	put(f, len, 8);
	*at += len;
}

/* head | ids | attrs | data | table of features | features */
static void file_write(const struct trace *t, FILE *f)
{
	uint64_t ids = HEAD_BYTES, attrs = ids + 8ull * CPUS * (uint64_t)nr_events(t);
	uint64_t data = attrs + (ATTR_BYTES + 16) * (uint64_t)nr_events(t), end, at;
	struct bytes b;

	for (int i = 0; i < HEAD_BYTES; i++)
		fputc(0, f);
	for (int i = 0; i < nr_events(t); i++)
		for (uint64_t cpu = 0; cpu < CPUS; cpu++)
			put(f, id_of(i, cpu), 8);
	for (int i = 0; i < nr_events(t); i++) {
		attr_put(t, f, i);
		put(f, ids + 8ull * CPUS * (uint64_t)i, 8);
		put(f, 8ull * CPUS, 8);
	}
	data_put(t, f);
	end = (uint64_t)ftell(f);
	bytes_begin(&b);
	tracing_put(t, b.f);
	bytes_end(&b);
	at = end + 16 + 32 * t->threads + 16 * t->packed;
	feature_place(f, &at, b.len);
	if (t->threads)
		feature_place(f, &at, 8), feature_place(f, &at, 8);
	if (t->packed)
		feature_place(f, &at, 20);
	fwrite(b.data, 1, b.len, f);
	if (t->threads) {
		put(f, t->nr_files, 4); /* CPUs that the machine has, and that are online */
		put(f, t->nr_files, 4);
		put(f, 1, 8); /* PERF_DIR_VERSION */
	}
	if (t->packed)
		compression_put(f);
	free(b.data);
	rewind(f);
	fwrite("PERFILE2", 1, 8, f);
	put(f, HEAD_BYTES, 8);
	put(f, ATTR_BYTES + 16, 8);
	put(f, attrs, 8);
	put(f, data - attrs, 8);
	put(f, data, 8);
	put(f, end - data, 8);
	put(f, 0, 8);
	put(f, 0, 8);
	put(f, 1ull << TRACING_DATA | (uint64_t)t->threads << FEATURE_NRCPUS |
		       (uint64_t)t->threads << FEATURE_DIR_FORMAT |
		       (uint64_t)t->packed << FEATURE_COMPRESSED, 8);
}

int main(int argc, char **argv)
{
	struct trace *t = calloc(1, sizeof(*t));
	char line[4096];
	FILE *in, *out;
	int opt;

	while ((opt = getopt(argc, argv, "pzt")) != -1) {
		if (opt == 'p')
			t->pipe = true;
		else if (opt == 'z')
			t->packed = true;
		else if (opt == 't')
			t->threads = true;
		else
			return 2;
	}
	if (argc - optind != 2)
		error(2, 0, "usage: perfdata [-p] [-z] [-t] SCRIPT PERF.DATA");
	in = fopen(argv[optind], "r");
	if (!in)
		error(1, errno, "%s", argv[optind]);
	t->nr_chain = 2;
	t->chain[0] = PERF_CONTEXT_KERNEL;
	t->chain[1] = 0xffffffff81000000;
	t->sample = PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_CPU | PERF_SAMPLE_RAW |
		    PERF_SAMPLE_ID;
	bytes_begin(&t->data);
	for (int i = 0; i < CPUS; i++)
		bytes_begin(&t->ring[i]);
	while (fgets(line, sizeof(line), in))
		line_read(t, line);
	round_end(t);
	bytes_end(&t->data);
	if (t->threads)
		parts_write(t, argv[optind + 1]);
	if (t->threads && chdir(argv[optind + 1]))
		error(1, errno, "%s", argv[optind + 1]);
	out = fopen(t->threads ? "data" : argv[optind + 1], "w");
	if (!out)
		error(1, errno, "%s", argv[optind + 1]);
	if (t->pipe)
		pipe_write(t, out);
	else
		file_write(t, out);
	return fclose(out) || fclose(in);
}
