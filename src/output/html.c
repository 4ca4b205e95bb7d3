// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * One page with the picture in it and, under it, what must be known of its figures. No script, nothing from
 * elsewhere.
 */

#include "output/escape.h"
#include "output/svg.h"

static int html_heatmap(const struct report *r, const struct heatmap *h)
{
	FILE *f = r->out->file;

	if (!h->total)
		report_empty(r);
	fputs("<!DOCTYPE html>\n<html lang=\"en\"><head><meta "
	      "charset=\"utf-8\"><title>hostrace</title></head>\n"
	      "<body style=\"font-family: system-ui, sans-serif; margin: 2em\">\n",
	      f);
	svg_heatmap_draw(r, h, f);
	fputs("<ul style=\"color: #555\">\n", f);
	json_t *head = r->head(r), *caveat;
	size_t i;

	json_array_foreach (json_object_get(head, "caveats"), i, caveat) {
		fputs("<li>", f);
		put_markup(f, json_string_value(caveat));
		fputs("</li>\n", f);
	}
	json_decref(head);
	fputs("</ul></body></html>\n", f);
	return 0;
}

const struct format html_format = {
	.name = "html",
	.heatmap = html_heatmap,
	.timeline = &html_timeline,
};
