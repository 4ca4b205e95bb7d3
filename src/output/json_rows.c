// SPDX-License-Identifier: GPL-2.0-or-later
#include <stdlib.h>

#include "base/json_text.h"
#include "output/json_rows.h"

void json_rows_begin(FILE *f)
{
	fputs("{\"rows\":[", f);
}

void json_rows_next(FILE *f, uint64_t nr)
{
	fputs(nr ? ",\n" : "\n", f);
}

void json_rows_end(FILE *f, json_t *head)
{
	char *text = head ? json_text_make(head, JSON_COMPACT | JSON_ENSURE_ASCII) : NULL;

	fprintf(f, "\n]%s%s\n", text ? "," : "", text ? text + 1 : "}");
	free(text);
	json_decref(head);
}

void json_rows_last(FILE *f, json_t *head)
{
	json_text_put(head, f, JSON_COMPACT | JSON_ENSURE_ASCII);
	fputc('\n', f);
	json_decref(head);
}
