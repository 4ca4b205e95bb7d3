// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A CTF trace: its metadata, a NUL, and one stream. The mutator changes a line of the metadata, or
 * a few bytes of the stream in place.
 */
#include "lsan.h"
#include "mutate.h"
#include "mutate_text.h"
#include "readers/ctf/ctf_print.h"
#include "walk.h"

enum { STREAM_WINDOW = 32 };

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max, unsigned int seed)
{
	const uint8_t *nul = memchr(data, 0, size);
	size_t text = nul ? (size_t)(nul - data) : size, stream = size - text;
	struct piece p;

	if (!size || mutate_chance(&seed, 16))
		return LLVMFuzzerMutate(data, size, max);
	if (stream < 2 || mutate_chance(&seed, 2)) {
		p = text ? line_at(data, text, mutate_random(&seed) % text) : (struct piece){0, 0};
		return mutate_chance(&seed, 4)
			       ? piece_double(data, size, max, p, mutate_random(&seed) % (text + 1))
			       : piece_mutate(data, size, max, &p, false);
	}
	p.at = text + 1 + mutate_random(&seed) % (stream - 1);
	p.len = size - p.at < STREAM_WINDOW ? size - p.at : STREAM_WINDOW;
	return piece_mutate(data, size, max, &p, true);
}

static void stream_walk(const struct ctf_meta *meta, const uint8_t *data, size_t size)
{
	static struct source_line line;
	struct ctf_stream *s = calloc(1, sizeof(*s));
	uint8_t *copy = malloc(size ? size : 1); /* its end is the allocation's */
	struct trace_info info;
	char path[] = "stream";
	uint64_t nr = 0;

	if (!s || !copy || trace_info_init(&info, path, "CTF"))
		abort();
	memcpy(copy, data, size);
	*s = (struct ctf_stream){.meta = meta,
				 .info = &info,
				 .path = path,
				 .data = copy,
				 .bytes = size,
				 .big = meta->order == CTF_BIG};
	for (int pass = 0; pass < 2; pass++) {
		ctf_stream_rewind(s);
		for (nr = 0; ctf_stream_next(s); nr++) {
			line.len = 0;
			ctf_lost_print(&line, s, s->time_ns);
			ctf_event_print(&line, s);
			ctf_lost_print(&line, s, UINT64_MAX);
			if (line.len >= sizeof(line.text) || nr > 8 * size)
				abort();
		}
	}
	trace_info_deinit(&info);
	free(copy);
	free(s);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const uint8_t *nul = memchr(data, 0, size);
	size_t text = nul ? (size_t)(nul - data) : size;
	struct ctf_meta meta;

	if (!ctf_meta_parse(&meta, "metadata", data, text) && nul)
		stream_walk(&meta, nul + 1, size - text - 1);
	ctf_meta_deinit(&meta);
	return 0;
}
