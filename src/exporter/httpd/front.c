// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The page at "/", for a person: what the exporter says of its own state, and the metrics that it has, with their
 * explanations. It is made from the page for Prometheus, so that both say the same: a sample without the label `vm` is
 * of the exporter, and of the others only the number is shown.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "exporter/httpd/httpd.h"

struct family {
	const char *help; /* "NAME TEXT", as long as its line */
	size_t name;	  /* length */
	unsigned int nr;  /* of its samples */
};

enum { FAMILIES_MAX = 256 }; /* the exporter has 45 */

static void html_put(FILE *out, const char *text, size_t len)
{
	for (size_t i = 0; i < len; i++) {
		char c = text[i];

		if (strchr("<>&\"'", c) && c)
			fprintf(out, "&#%d;", c);
		else
			fputc(c, out);
	}
}

/* Is this a sample that should have another value? */
static bool is_problem(const char *line, size_t name, double value)
{
	static const char *const none[] = {"hostrace_lost_", "hostrace_attach_failures"};

	if (!strncmp(line, "hostrace_probe_attached{", name + 1))
		return value == 0;
	if (!strncmp(line, "hostrace_vms{", name + 1))
		return value > 0 && !memmem(line, strcspn(line, "\n"), "exported", 8);
	for (size_t i = 0; i < sizeof(none) / sizeof(none[0]); i++)
		if (!strncmp(line, none[i], strlen(none[i])))
			return value > 0;
	return false;
}

/* One row of the first table; true: a problem. */
static bool state_put(FILE *out, const char *line, size_t len)
{
	const char *value = memrchr(line, ' ', len);
	size_t name = strcspn(line, "{ ");
	bool problem;

	if (!value)
		return false;
	problem = is_problem(line, name, strtod(value, NULL));
	fputs(problem ? "<tr class=p><td>" : "<tr><td>", out);
	html_put(out, line, (size_t)(value - line));
	fputs("<td>", out);
	html_put(out, value + 1, len - (size_t)(value + 1 - line));
	fputc('\n', out);
	return problem;
}

/* Reads the page's lines: writes the exporter's samples, collects the families. Returns how many problems there are. */
static unsigned int lines_walk(const char *text, FILE *out, struct family *f, unsigned int *nr)
{
	unsigned int problems = 0;

	for (size_t len; *text; text += len + (text[len] == '\n')) {
		len = strcspn(text, "\n");
		if (!strncmp(text, "# HELP ", 7) && *nr < FAMILIES_MAX)
			f[(*nr)++] = (struct family){text + 7, strcspn(text + 7, " \n"), 0};
		if (*text == '#' || !*nr)
			continue;
		f[*nr - 1].nr++;
		if (!memmem(text, len, "{vm=", 4) && !memmem(text, len, ",vm=", 4))
			problems += state_put(out, text, len);
	}
	return problems;
}

static void families_put(FILE *out, const struct family *f, unsigned int nr)
{
	fputs("</table><h2>What is scraped</h2><table><tr><th>metric<th>is<th>samples\n", out);
	for (unsigned int i = 0; i < nr; i++) {
		size_t len = strcspn(f[i].help, "\n");

		fputs("<tr><td>", out);
		html_put(out, f[i].help, f[i].name);
		fputs("<td>", out);
		html_put(out, f[i].help + f[i].name, len - f[i].name);
		fprintf(out, "<td>%u\n", f[i].nr);
	}
	fputs("</table>\n", out);
}

char *front_page(const char *metrics, size_t *ret_len)
{
	static const char head[] =
		"<!DOCTYPE html><html lang=en><meta charset=utf-8>"
		"<meta name=viewport content=\"width=device-width\"><title>hostrace "
		"exporter</title>"
		"<style>body{font:15px sans-serif;max-width:60em;margin:1em auto;padding:0 1em}"
		":root{color-scheme:light dark}td,th{text-align:left;vertical-align:top;"
		"padding:.1em .8em .1em 0;overflow-wrap:anywhere}.p{font-weight:bold}</style>"
		"<h1>hostrace exporter</h1><p><a href=\"/metrics\">/metrics</a>: for Prometheus. "
		"Its metrics are explained below and in hostrace-exporter(1).\n";
	struct family *f = calloc(FAMILIES_MAX, sizeof(*f));
	char *state = NULL, *page = NULL;
	size_t state_len = 0;
	FILE *rows = open_memstream(&state, &state_len), *out = open_memstream(&page, ret_len);
	unsigned int nr = 0, problems;

	if (f && rows && out) {
		problems = lines_walk(metrics, rows, f, &nr);
		fflush(rows);
		fprintf(out, "%s<h2>State of the exporter</h2><p>", head);
		if (problems)
			fprintf(out, "Problems: %u (bold).\n", problems);
		else
			fputs("No problem: all probes are attached, nothing is left out.\n", out);
		fprintf(out, "<table>%s", state);
		families_put(out, f, nr);
	}
	if (rows)
		fclose(rows);
	if (out && (fclose(out) || !f || !rows)) {
		free(page);
		page = NULL;
	}
	free(state);
	free(f);
	return out ? page : NULL;
}
