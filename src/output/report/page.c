// SPDX-License-Identifier: GPL-2.0-or-later
/* Writes the page: its parts in a template, each escaped for its place. See page.h for what may be where. */
#include "base/json_text.h"
#include "output/report/causes.h"
#include "output/report/page.h"

#include <errno.h>

#include "base/error.h"
#include "output/escape.h"
#include "report_page.h" /* made by report.mk: page_script, page_style, their hashes */

static int put_escaped(const char *buf, size_t len, void *arg)
{
	FILE *f = arg;

	for (size_t i = 0; i < len; i++)
		if (page_byte_is_escaped(buf[i]))
			fprintf(f, "\\u%04x", (unsigned int)buf[i]);
		else
			putc(buf[i], f);
	return 0;
}

static void put_list(FILE *f, const char *tag, const json_t *texts, const char *key)
{
	json_t *one;
	size_t i;

	fprintf(f, "<%s>\n", tag);
	json_array_foreach (texts, i, one) {
		const char *text = json_string_value(key ? json_object_get(one, key) : one);
		const char *section = json_string_value(json_object_get(one, "section")),
			   *cause = text_of(one, "cause");

		fputs("<li>", f);
		if (cause_find(cause) &&
		    *cause_find(cause)->what) /* the id is a name of this program, too */
			fprintf(f, "%s: ", cause);
		if (section) /* a name of this program, not of the recording */
			fprintf(f, "<a href=\"#%s\">", section);
		put_markup(f, text ? text : "");
		fputs(section ? "</a></li>\n" : "</li>\n", f);
	}
	fprintf(f, "</%s>\n", tag);
}

/* What can be read without the script. */
static void put_summary(const json_t *page, FILE *f)
{
	const json_t *findings = json_object_get(page, "findings"),
		     *notes = json_object_get(page, "notes");

	fputs("<section id=\"summary\"><h2>Summary</h2>\n", f);
	if (json_array_size(findings))
		put_list(f, "ol", findings, "text");
	if (json_array_size(notes))
		put_list(f, "ul", notes, NULL);
	fputs("</section>\n<noscript><p>The tables and charts need JavaScript. They are on this "
	      "page; no "
	      "network is used.</p></noscript>\n",
	      f);
}

static void put_head(const json_t *page, FILE *f)
{
	fputs("<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">\n", f);
	fprintf(f,
		"<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; "
		"script-src 'sha256-%s'; style-src 'sha256-%s'; base-uri 'none'; form-action "
		"'none'\">\n",
		PAGE_SCRIPT_SHA256, PAGE_STYLE_SHA256);
	fputs("<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
	      "<meta name=\"referrer\" content=\"no-referrer\">\n<title>",
	      f);
	put_markup(f, json_string_value(json_object_get(page, "title")));
	fputs("</title>\n<style>", f);
	fwrite(page_style, 1, sizeof(page_style), f);
	fputs("</style></head>\n<body>\n<header><h1>", f);
	put_markup(f, json_string_value(json_object_get(page, "title")));
	fputs("</h1></header>\n", f);
}

int page_write(const json_t *page, FILE *f)
{
	put_head(page, f);
	fputs("<main id=\"main\">\n", f);
	put_summary(page, f);
	fputs("</main>\n<script type=\"application/json\" id=\"data\">", f);
	if (json_dump_callback(page, put_escaped, f, JSON_ENSURE_ASCII | PAGE_JSON_FLAGS) &&
	    !ferror(f))
		return fail(-ENOMEM, "out of memory");
	fputs("</script>\n<script>", f);
	fwrite(page_script, 1, sizeof(page_script), f);
	fputs("</script>\n</body></html>\n", f);
	return 0;
}

int page_write_json(const json_t *page, FILE *f)
{
	if (json_text_put(page, f, PAGE_JSON_FLAGS) && !ferror(f))
		return fail(-ENOMEM, "out of memory");
	fputc('\n', f);
	return 0;
}
