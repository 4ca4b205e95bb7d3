// SPDX-License-Identifier: GPL-2.0-or-later
/* A reader of texts (tracetext.h) that gets its lines from a source instead of a file. */
#include "readers/text/text_source.h"

#include <errno.h>
#include <string.h>

#include "base/error.h"
#include "readers/text/tracetext.h"

int tracetext_error(const struct tracetext *t)
{
	int err = t->lines.err;

	return err && !t->lines.source ? fail(err, "%s: %s", t->reader.info.file, strerror(-err))
				       : err;
}

int tracetext_new(const char *path, struct tracetext **ret)
{
	struct tracetext *t = calloc(1, sizeof(*t));
	int err = t ? trace_info_init(&t->reader.info, path, "ftrace text")
		    : fail(-ENOMEM, "%s: out of memory", path);

	if (err) {
		free(t);
		return err;
	}
	t->reader.ops = &tracetext_reader;
	t->lines.fd = -1;
	*ret = t;
	return 0;
}

int text_source_read(const char *path, const struct read_hint *hint, struct text_source *source,
		     struct reader **ret)
{
	struct tracetext *t = NULL;
	int err = tracetext_new(path, &t);

	if (err) {
		source->close(source);
		return err;
	}
	err = text_lines_from(&t->lines, source);
	if (!err)
		err = source->open(source, &t->reader.info);
	if (!err)
		err = tracetext_begin(t, path, hint, false);
	if (err)
		reader_close(&t->reader);
	else
		*ret = &t->reader;
	return err;
}
