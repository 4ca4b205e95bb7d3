// SPDX-License-Identifier: GPL-2.0-or-later
/* A trace of Perfetto: its packets, the bundles of each CPU, and the lines that are made of their events. */
#include <stdlib.h>

#include "lsan.h"
#include "readers/perfetto/perfetto_internal.h"
#include "walk.h"

static uint64_t stream_walk(struct perfetto *p, struct perfetto_stream *s)
{
	static struct source_line line;
	uint64_t nr = 0;

	perfetto_stream_rewind(p, s);
	for (; perfetto_stream_next(p, s); nr++) {
		line.len = 0;
		source_line_lost(&line, s->cpu, 0, s->lost_from_ns, s->time_ns);
		perfetto_event_print(p, &line, s);
		source_line_lost(&line, s->cpu, 0, s->lost_from_ns, UINT64_MAX);
		if (line.len >= sizeof(line.text))
			abort();
	}
	perfetto_stream_rewind(p, s);
	return nr;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct perfetto *p = calloc(1, sizeof(*p));
	uint8_t *copy = malloc(size ? size : 1); /* its end is the allocation's */
	struct trace_info info;

	if (!p || !copy || trace_info_init(&info, "trace", "Perfetto"))
		abort();
	memcpy(copy, data, size);
	perfetto_probe(copy, size);
	p->info = &info;
	p->data = copy;
	p->bytes = size;
	if (!perfetto_scan(p))
		for (unsigned int i = 0; i < p->nr_streams; i++)
			if (stream_walk(p, p->stream[i]) != stream_walk(p, p->stream[i]) && !p->err)
				abort();
	perfetto_deinit(p);
	if (p->contents || p->held)
		abort();
	trace_info_deinit(&info);
	free(copy);
	free(p);
	return 0;
}
