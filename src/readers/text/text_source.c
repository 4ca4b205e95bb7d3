// SPDX-License-Identifier: GPL-2.0-or-later
/* A reader of texts (tracetext.h) that gets its lines from a source instead of a file. */
#include "readers/text/text_source.h"

#include "readers/text/tracetext.h"

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
