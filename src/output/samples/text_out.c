// SPDX-License-Identifier: GPL-2.0-or-later
/* The buffer of text_out.h. */
#include <errno.h>
#include <stdlib.h>

#include "output/samples/text_out.h"
#include "base/error.h"

int text_out_open(struct text_out *t, FILE *out)
{
	*t = (struct text_out){.out = out, .buf = malloc(TEXT_OUT_SIZE)};
	t->pos = t->buf;
	return t->buf ? 0 : fail(-ENOMEM, "out of memory");
}

void text_out_flush(struct text_out *t)
{
	fwrite(t->buf, 1, (size_t)(t->pos - t->buf), t->out);
	t->pos = t->buf;
}

int text_out_close(struct text_out *t)
{
	if (!t->buf)
		return 0;
	text_out_flush(t);
	free(t->buf);
	t->buf = NULL;
	return ferror(t->out) ? -EIO : 0;
}
