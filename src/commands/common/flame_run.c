// SPDX-License-Identifier: GPL-2.0-or-later
#include "commands/common/flame_run.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "base/memory.h"

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

int flame_run(char *folded, const char *title, bool times, const struct input_set *in,
	      const char *file, FILE *out, uint64_t *ret_nr)
{
	_cleanup_free_ char *about = NULL;
	size_t size;
	FILE *f = open_memstream(&about, &size);

	if (!f)
		return fail(-ENOMEM, "out of memory");
	about_put(in, file, f);
	if (!memstream_close(f, &about))
		return fail(-ENOMEM, "out of memory");
	return flame_svg_put(folded,
			     &(struct flame_svg){.title = title, .about = about, .times = times},
			     out, ret_nr);
}
