// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The rows of a list of a Linux guest, written one by one. Few bytes of its memory can be many rows, as structures may
 * share their parts and pages may be mapped many times: what is written is limited.
 */
#include <errno.h>
#include <stdlib.h>

#include "base/error.h"
#include "base/json_text.h"
#include "commands/guest_linux.h"
#include "output/json_rows.h"

int linux_rows_begin(struct linux_list *l)
{
	l->out = open_memstream(&l->text, &l->len);
	if (!l->out)
		return fail(-ENOMEM, "out of memory");
	if (l->json)
		json_rows_begin(l->file);
	return 0;
}

int linux_row_end(struct linux_list *l, json_t *row)
{
	if (row) {
		json_rows_next(l->out, l->nr);
		json_text_put(row, l->out, JSON_COMPACT);
		json_decref(row);
	}
	if (fflush(l->out) || (l->json && !row))
		return fail(-ENOMEM, "out of memory");
	if (l->len > GUEST_LINUX_BYTES_MAX - l->bytes)
		return fail(-E2BIG,
			    "the list takes more than %d MiB: the guest's structures are damaged, "
			    "or made to cost memory; the rest was not printed",
			    GUEST_LINUX_BYTES_MAX >> 20);
	fwrite(l->text, 1, l->len, l->file);
	l->bytes += l->len;
	l->nr++;
	rewind(l->out);
	return 0;
}

void linux_rows_end(struct linux_list *l, json_t *head)
{
	if (l->json)
		json_rows_end(l->file, head);
	if (l->out)
		fclose(l->out);
	free(l->text);
}
