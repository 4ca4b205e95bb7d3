// SPDX-License-Identifier: GPL-2.0-or-later
/* Any bytes as a text twin. What can be read is printed again, and that must be readable and the same. */
#include "walk.h"

/* The text form of a file with these bytes; NULL if they are not a trace. */
static char *twin_of(const void *data, size_t size)
{
	static struct batch batch;
	const char *path = walk_path(data, size);
	struct reader *r;
	char *text = NULL;
	int more = 0;
	size_t len;
	FILE *f;

	if (!textfile_reader.open(path, NULL, &r)) {
		const struct event_type *last = NULL;

		f = open_memstream(&text, &len);
		textfile_head(&r->info, f);
		while ((more = reader_next(r, &batch)) > 0)
			for (unsigned int i = 0; i < batch.nr; i++) {
				if (batch.ev[i].type != last)
					textfile_type(batch.ev[i].type, f);
				last = batch.ev[i].type;
				textfile_print(&batch.ev[i], f);
				fputc('\n', f);
			}
		fclose(f);
		reader_close(r);
	}
	if (more < 0) {
		free(text);
		return NULL;
	}
	return text;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *once = twin_of(data, size), *twice = once ? twin_of(once, strlen(once)) : NULL;

	if (once && (!twice || strcmp(once, twice)))
		abort();
	event_types_forget();
	free(once);
	free(twice);
	return 0;
}
