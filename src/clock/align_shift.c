// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A guest's trace.dat that trace-cmd recorded together with its host's contains trace-cmd's measurements. With the
 * protocol "kvm" these are KVM's offset and ratio of each vCPU, and a sample is valid until the next. With "PTP" it is
 * how far the clocks were from each other at a few moments, and between them time runs evenly, as in
 * trace-cmd-report(1).
 */
#include <errno.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "clock/align_internal.h"

enum { SCALE_BITS = 48 };

/* Clocks of one kind run alike: a slope beyond this is a broken sample. */
#define SLOPE_MAX 0.01

struct sample {
	unsigned int cpu;
	uint64_t guest, host;
};

static struct sample sample_of(json_t *item, struct clock_report *r)
{
	uint64_t guest = (uint64_t)json_integer_value(json_object_get(item, "time"));
	uint64_t offset = (uint64_t)json_integer_value(json_object_get(item, "offset"));
	struct clock_segment s = {
		.offset = (int64_t)-offset,
		.scale = (uint64_t)json_integer_value(json_object_get(item, "scale")),
		.scale_bits = (uint32_t)json_integer_value(json_object_get(item, "scale_bits"))};
	if (s.scale_bits > CLOCK_SCALE_BITS_MAX)
		s.scale_bits = 0;
	uint64_t host = clock_segment_host(&s, guest);

	*r = (struct clock_report){.host_tsc = host,
				   .offset = s.offset,
				   .scale = s.scale,
				   .scale_bits = s.scale_bits};
	return (struct sample){
		.cpu = (unsigned int)json_integer_value(json_object_get(item, "cpu")),
		.guest = guest, .host = host};
}

/* From a on time runs towards b. False: there is no line through both. */
static bool run_evenly(const struct sample *a, const struct sample *b, struct clock_report *r)
{
	double guest = (double)(int64_t)(b->guest - a->guest),
	       host = (double)(int64_t)(b->host - a->host);
	struct clock_segment s = {.scale_bits = SCALE_BITS};

	if (a->cpu != b->cpu || host <= 0 || !(guest / host > 1 - SLOPE_MAX) ||
	    guest / host > 1 + SLOPE_MAX)
		return false;
	s.scale = (uint64_t)(guest / host * (double)(1ull << SCALE_BITS) + 0.5);
	r->scale = s.scale;
	r->scale_bits = SCALE_BITS;
	r->offset = (int64_t)(a->guest - clock_segment_guest(&s, a->host));
	return true;
}

/* The last of a CPU has the slope of its predecessor; a single one has no slope. */
static void lines_draw(const struct sample *s, size_t nr, struct clock_report *r)
{
	for (size_t i = 0; i < nr; i++) {
		struct clock_report last = r[i];

		if (r[i].scale_bits || (i + 1 < nr && run_evenly(&s[i], &s[i + 1], &r[i])))
			continue;
		if (i && run_evenly(&s[i - 1], &s[i], &last)) {
			struct clock_segment line = {.scale = last.scale, .scale_bits = SCALE_BITS};

			r[i].scale = line.scale;
			r[i].scale_bits = SCALE_BITS;
			r[i].offset = (int64_t)(s[i].guest - clock_segment_guest(&line, s[i].host));
		}
	}
}

/* Samples are grouped by CPU. */
static void reports_give(struct align_guest *g, const struct sample *s, size_t nr)
{
	for (size_t i = 0; i < nr; i++) {
		struct clock_input *in;

		if (s[i].cpu >= g->nr_vcpus)
			continue;
		in = &g->input[s[i].cpu];
		if (!in->nr_reports)
			in->report = &g->shift[i];
		in->nr_reports++;
	}
}

int align_shifts(const struct align *a, struct align_guest *g, const struct trace_info *info,
		 struct clock_options *opt)
{
	json_t *list = json_object_get(info->meta, "time_shift"), *item;
	_cleanup_free_ struct sample *s = NULL;
	size_t i, nr = json_array_size(list);

	for (unsigned int v = 0; v < g->nr_vcpus; v++)
		if (g->input[v].nr_reports)
			return 0;
	if (!nr || align_guest_is_tsc(info) != a->ticks_known) /* the offsets are between clocks of one kind */
		return 0;
	g->shift = calloc(nr, sizeof(*g->shift));
	s = calloc(nr, sizeof(*s));
	if (!g->shift || !s)
		return fail(-ENOMEM, "out of memory");
	json_array_foreach (list, i, item)
		s[i] = sample_of(item, &g->shift[i]);
	if (json_is_true(json_object_get(info->meta, "time_shift_linear")))
		lines_draw(s, nr, g->shift);
	reports_give(g, s, nr);
	if (!opt->nominal_scale && json_object_get(json_array_get(list, 0), "scale")) {
		opt->nominal_scale = g->shift[0].scale; /* should the offset be rejected */
		opt->nominal_bits = g->shift[0].scale_bits;
	}
	opt->method = a->clock ? opt->method : NULL;
	return 0;
}
