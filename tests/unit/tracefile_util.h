/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the tests of trace files share: a scratch folder, files as bytes, traces made and read. */
#ifndef TRACEFILE_UTIL_H
#define TRACEFILE_UTIL_H

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Before cmocka.h, which has a macro of the name fail. */
#include "base/error.h"

#include <cmocka.h>

#include "tracefile/format.h"
#include "tracefile/tracefile.h"
#include "readers/readers.h"

#define UNUSED __attribute__((unused))

static char scratch[64];

static UNUSED int scratch_make(void **state)
{
	(void)state;
	strcpy(scratch, "/tmp/hostrace-test-XXXXXX");
	return mkdtemp(scratch) ? 0 : -1;
}

static UNUSED int scratch_remove(void **state)
{
	char cmd[128];

	(void)state;
	snprintf(cmd, sizeof(cmd), "rm -rf %s", scratch);
	return system(cmd);
}

/* A path in the scratch folder; four may be in use at a time. */
static UNUSED const char *in_scratch(const char *name)
{
	static char path[4][128];
	static unsigned int next;
	char *p = path[next++ % 4];

	snprintf(p, sizeof(path[0]), "%s/%s", scratch, name);
	return p;
}

struct bytes {
	uint8_t *data;
	size_t len;
};

static UNUSED struct bytes file_read(const char *path)
{
	FILE *f = fopen(path, "r");
	struct bytes b;

	assert_non_null(f);
	assert_int_equal(fseek(f, 0, SEEK_END), 0);
	b.len = (size_t)ftell(f);
	b.data = malloc(b.len + 1);
	rewind(f);
	assert_int_equal(fread(b.data, 1, b.len, f), b.len);
	fclose(f);
	return b;
}

static UNUSED void file_write(const char *path, const void *data, size_t len)
{
	FILE *f = fopen(path, "w");

	assert_non_null(f);
	assert_int_equal(fwrite(data, 1, len, f), len);
	fclose(f);
}

static UNUSED uint32_t u32_at(const uint8_t *p)
{
	uint32_t v;

	memcpy(&v, p, 4);
	return v;
}

/* A linear congruential generator: the same numbers on every machine. */
static UNUSED uint32_t dice(uint32_t *seed)
{
	*seed = *seed * 1664525 + 1013904223;
	return *seed >> 8;
}

static UNUSED struct trace_writer *writer_open(const char *path, struct trace_writer_options opt)
{
	json_t *meta = json_pack("{s:s, s:s}", "host", "test", "end", "?");
	struct trace_writer *w;

	assert_int_equal(trace_writer_open(path, &opt, meta, &w), 0);
	json_decref(meta);
	return w;
}

/* One kvm_pio whose port is its number: port n at time n shows that records were not mixed up. */
static UNUSED int pio_write(struct trace_writer *w, uint64_t time, unsigned int cpu)
{
	struct rec_kvm_pio rec = {
		.hdr = {.time = time,
			.pid = 10,
			.tid = 20 + cpu,
			.type = EV_kvm_pio,
			.size = sizeof(rec),
			.cpu = (uint16_t)cpu,
			.vcpu = (uint16_t)cpu},
		.port = (uint32_t)time,
		.size = 1,
	};

	return trace_writer_record(w, &rec.hdr);
}

struct seen {
	uint64_t events, backwards, wrong, first, last;
	uint64_t by_type[EV_LIMIT];
	struct trace_info info; /* without its pointers */
	unsigned int nr_caveats;
	char caveat[512]; /* the last one */
};

static UNUSED void seen_event(struct seen *s, const struct event *ev)
{
	const struct field *port = event_field(ev->type, "port");

	if (s->events && ev->time_ns < s->last)
		s->backwards++;
	if (!s->events++)
		s->first = ev->time_ns;
	s->last = ev->time_ns;
	s->by_type[ev->type->id]++;
	if (ev->type->id == EV_kvm_pio && event_u64(ev, port) != (uint32_t)ev->time_ns)
		s->wrong++;
}

/* Reads a trace through: 0, or the error of open or next. */
static UNUSED int trace_read_hint(const char *path, const struct read_hint *hint, struct seen *s)
{
	static struct batch batch;
	struct reader *r;
	size_t i;
	json_t *text;
	int err;

	memset(s, 0, sizeof(*s));
	err = reader_open(path, hint, &r);
	if (err)
		return err;
	while ((err = reader_next(r, &batch)) > 0)
		for (unsigned int k = 0; k < batch.nr; k++)
			seen_event(s, &batch.ev[k]);
	s->info = r->info;
	json_array_foreach (r->info.caveats, i, text)
		snprintf(s->caveat, sizeof(s->caveat), "%s", json_string_value(text));
	s->nr_caveats = (unsigned int)i;
	reader_close(r);
	return err;
}

static UNUSED int trace_read(const char *path, struct seen *s)
{
	return trace_read_hint(path, NULL, s);
}

#endif
