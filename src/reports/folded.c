// SPDX-License-Identifier: GPL-2.0-or-later
/* Folded stacks are text in memory, of which pictures are made. */
#include "reports/folded.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "base/error.h"
#include "base/memory.h"
#include "output/folded.h"

int folded_text(const struct folded *f, char **ret)
{
	size_t size;
	FILE *to = open_memstream(ret, &size);
	int err = to ? f->fold(f->arg, to) : 0;

	return memstream_close(to, ret) ? err : fail(-ENOMEM, "out of memory");
}

struct about {
	const struct input_set *in;
	const char *file;
};

/* The picture shows which file it is of, and what that lost. */
static int about_put(void *arg, FILE *out)
{
	const struct about *a = arg;

	for (unsigned int i = 0; a->in && i < input_set_nr(a->in); i++) {
		const struct reader *r = a->in->input[i].reader;

		fprintf(out, "%s%s, %" PRIu64 " events lost", i ? "; " : "", a->in->input[i].path,
			r ? r->info.lost : 0);
	}
	if (!a->in)
		fputs(a->file, out);
	return 0;
}

static int pprof_write(const struct folded *f, char *folded, const char *about,
		       const struct input_set *in, const struct output *out, uint64_t *ret_nr)
{
	struct pprof how = {.times = f->times, .bytes = f->bytes, .about = about};
	const struct trace_info *info = in ? &in->reader->info : NULL;
	int64_t realtime = info ? trace_info_realtime_offset(info) : 0;

	if (info && !trace_info_in_ticks(info)) {
		how.duration_ns = input_set_end_ns(in) - input_set_start_ns(in);
		how.realtime_ns = realtime ? (uint64_t)realtime + input_set_start_ns(in) : 0;
	}
	return pprof_put(folded, &how, out->file, ret_nr);
}

int folded_write(const struct folded *f, const struct input_set *in, const char *file,
		 const struct output *out, uint64_t *ret_nr)
{
	_cleanup_free_ char *folded = NULL, *about = NULL;
	int err = folded_text(f, &folded);

	if (!err && !strcmp(out->format, "folded")) {
		fputs(folded, out->file);
		*ret_nr = strlen(folded);
		return 0;
	}
	if (!err)
		err = folded_text(&(const struct folded){about_put, &(struct about){in, file}},
				  &about);
	if (err)
		return err;
	if (!strcmp(out->format, "pprof"))
		return pprof_write(f, folded, about, in, out, ret_nr);
	return flame_svg_put(
		folded,
		&(struct flame_svg){
			.title = f->title, .about = about, .times = f->times, .bytes = f->bytes},
		out->file, ret_nr);
}
