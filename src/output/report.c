// SPDX-License-Identifier: GPL-2.0-or-later
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "output/report.h"

const char table_formats[] = "text json csv";
const char histogram_formats[] = "text json csv";
const char heatmap_formats[] = "text json csv svg html";

const struct format *format_find(const char *name)
{
	for (const struct format *const *f = formats; *f; f++)
		if (!strcmp((*f)->name, name))
			return *f;
	return NULL;
}

int report_table(const struct report *r, struct table *t, const char *sort)
{
	const char *key = r->out->sort ? r->out->sort : sort;
	int err = key ? table_sort(t, key) : 0;

	table_limit(t, r->out->limit);
	if (!err)
		err = format_find(r->out->format)->table(r, t);
	table_free(t);
	return err;
}

void caveat_add(json_t *list, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	json_array_append_new(list, json_vsprintf(fmt, ap));
	va_end(ap);
}

void caveat_print(const char *text, FILE *out)
{
	int column = fprintf(out, "#");

	while (*text) {
		int len = (int)strcspn(text, " ");

		if (column + 1 + len > 79 && column > 4)
			column = fprintf(out, "\n#  ") - 1;
		column += fprintf(out, " %.*s", len, text);
		text += len;
		text += strspn(text, " ");
	}
	fputc('\n', out);
}

void report_empty(const struct report *r)
{
	if (r->answers)
		return;
	if (r->empty)
		r->empty(r);
	else if (!strcmp(r->out->format, "text"))
		fprintf(r->out->file, "no data\n");
}
