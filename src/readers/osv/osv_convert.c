// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * `convert-dump` of OSv's tool: a dump as a tracefile of version 3 (layout: osv.c).
 * The dictionary holds the tracepoints that were used.
 */
#include <errno.h>

#include "base/error.h"
#include "base/saturate.h"
#include "readers/osv/osv.h"

static void put_le(FILE *out, uint64_t v, size_t len)
{
	fwrite(&v, 1, len, out); /* little-endian hosts only; the Makefile rejects others */
}

static void put_string(FILE *out, const char *text)
{
	size_t len = strlen(text);

	put_le(out, len, 2);
	fwrite(text, 1, len, out);
}

/* A text of a tracefile is "50p" in the signature, one of a dump plain "p". */
static void put_signature(FILE *out, const char *signature)
{
	char text[4 * SAMPLE_ARGS_MAX + 1] = "";
	size_t len = 0;

	for (const char *s = signature; *s && len + 4 < sizeof(text); s++) {
		if (*s == 'p' && (s == signature || s[-1] != '0')) {
			memcpy(text + len, "50", 2);
			len += 2;
		}
		text[len++] = *s;
	}
	put_string(out, text);
}

static int put_dictionary(struct sample_trace *t, FILE *out)
{
	_cleanup_free_ bool *used = calloc(t->nr_types + 1u, sizeof(*used));
	struct sample s;
	uint64_t nr = 0;
	int r;

	if (!used)
		return fail(-ENOMEM, "out of memory");
	sample_rewind(t);
	while ((r = sample_next(t, &s)) > 0) {
		nr += !used[s.tp->index];
		used[s.tp->index] = true;
	}
	put_le(out, 3, 4);
	put_le(out, nr, 8);
	for (uint32_t i = 0; i < t->nr_types; i++) {
		const struct sample_type *tp = &t->types[i];

		if (!used[i])
			continue;
		put_le(out, tp->key, 8);
		put_string(out, tp->name);
		put_signature(out, tp->signature);
		put_string(out, tp->format);
	}
	return r;
}

/* Argument bytes as they are; what follows a text is stale memory in a ring: written as zeroes. */
static void put_args(FILE *out, const struct sample *s)
{
	struct sample_arg_place place[SAMPLE_ARGS_MAX];
	uint8_t block[4096];
	size_t size;
	int nr = sample_args_layout(s->tp->signature, place, &size);

	if (nr < 0 || s->args_len > sizeof(block)) {
		fwrite(s->args, 1, s->args_len, out);
		return;
	}
	copy_array(block, s->args, s->args_len);
	for (int i = 0; i < nr; i++) {
		uint8_t *p = block + place[i].offset;

		if (place[i].type == 'p' && p[0] < place[i].size)
			memset(p + 1 + p[0], 0, place[i].size - 1u - p[0]);
	}
	fwrite(block, 1, s->args_len, out);
}

static int put_sample(void *file, const struct sample *s)
{
	FILE *out = file;
	char name[16] = {0};

	memcpy(name, s->thread_name, strnlen(s->thread_name, sizeof(name)));
	put_le(out, s->tp->key, 8);
	put_le(out, s->thread, 8);
	fwrite(name, 1, sizeof(name), out);
	put_le(out, s->time_ns, 8);
	put_le(out, s->cpu, 4);
	for (uint32_t i = 0; i < s->nr_backtrace; i++) {
		uint64_t address;

		memcpy(&address, s->backtrace + 8ull * i, 8);
		if (address)
			put_le(out, address, 8);
	}
	put_le(out, 0, 8);
	put_args(out, s);
	return 0;
}

int osv_convert(struct sample_trace *t, FILE *out)
{
	int err = put_dictionary(t, out);

	return err ? err : sample_each(t, put_sample, out);
}
