// SPDX-License-Identifier: GPL-2.0-or-later
#include "commands/common/flame_run.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "base/memory.h"
#include "output/pprof.h"

/* The picture shows which file it is of, and what that lost. */
static void about_put(const struct input_set *in, const char *file, FILE *f)
{
	for (unsigned int i = 0; in && i < input_set_nr(in); i++) {
		const struct reader *r = in->input[i].reader;

		fprintf(f, "%s%s, %" PRIu64 " events lost", i ? "; " : "", in->input[i].path,
			r ? r->info.lost : 0);
	}
	if (!in)
		fputs(file, f);
}

static int pprof_run(char *folded, const char *about, bool times, const struct input_set *in,
		     const struct output *out, uint64_t *ret_nr)
{
	struct pprof how = {.times = times, .about = about};
	const struct trace_info *info = in ? &in->reader->info : NULL;
	int64_t realtime = info ? trace_info_realtime_offset(info) : 0;

	if (info && !trace_info_in_ticks(info)) {
		how.duration_ns = input_set_end_ns(in) - input_set_start_ns(in);
		how.realtime_ns = realtime ? (uint64_t)realtime + input_set_start_ns(in) : 0;
	}
	return pprof_put(folded, &how, out->file, ret_nr);
}

int flame_run(char *folded, const char *title, bool times, const struct input_set *in,
	      const char *file, const struct output *out, uint64_t *ret_nr)
{
	_cleanup_free_ char *about = NULL;
	size_t size;
	FILE *f = open_memstream(&about, &size);

	if (!f)
		return fail(-ENOMEM, "out of memory");
	about_put(in, file, f);
	if (!memstream_close(f, &about))
		return fail(-ENOMEM, "out of memory");
	if (!strcmp(out->format, "pprof"))
		return pprof_run(folded, about, times, in, out, ret_nr);
	return flame_svg_put(folded,
			     &(struct flame_svg){.title = title, .about = about, .times = times},
			     out->file, ret_nr);
}
