// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The slowest requests as waterfalls: for each a row per stage and what was waited for in it, in order of time, which
 * goes to the right; the slowest request is as wide as the picture.
 */

#include "base/units.h"
#include "output/escape.h"
#include "output/palette.h"
#include "output/path_report.h"
#include "output/svg.h"

enum {
	REQUESTS_DRAWN = 50,
	BYTES_MAX = 900 << 10, /* no further request is drawn then */
	LEFT = 270,
	WIDTH = 1200,
	PLOT = WIDTH - LEFT - 110,
	TOP = 76,
	HEAD = 30, /* of a request */
	ROW = 18,
	BAR = 13,
	TEXT_BYTES = 192,
};

#define THIN 0.5

static const char disk[] = "host's disk";

static const char *fill_of(const struct path_part *p)
{
	return palette_fill(p->role == PATH_NOBODY ? disk : path_run_names[p->run]);
}

static void legend_draw(FILE *f)
{
	int x = 12;

	for (unsigned int i = 0; i <= PATH_RUNS; i++) {
		const char *text = i < PATH_RUNS ? path_run_names[i] : disk;

		fprintf(f,
			"<rect x=\"%d\" y=\"40\" width=\"11\" height=\"11\" fill=\"%s\"/>"
			"<text x=\"%d\" y=\"50\">%s</text>\n",
			x, palette_fill(text), x + 16, text);
		x += 100;
	}
}

static bool same_row(const struct path_part *a, const struct path_part *b)
{
	return a->from == b->from && a->to == b->to && a->role == b->role && a->run == b->run;
}

static void part_draw(const struct path_part *p, uint64_t start_ns, double scale,
		      unsigned int y, FILE *f)
{
	double width = (double)(p->end_ns - p->start_ns) * scale;
	char from[16], took[16], cpu[16];

	fprintf(f,
		"<rect x=\"%.2f\" y=\"%u\" width=\"%.2f\" height=\"%d\" fill=\"%s\"><title>%s at "
		"%s",
		LEFT + (double)(p->start_ns - start_ns) * scale, y, width > THIN ? width : THIN,
		BAR, fill_of(p), duration_print(p->end_ns - p->start_ns, took, sizeof(took)),
		duration_print(p->start_ns - start_ns, from, sizeof(from)));
	if (p->run == PATH_RUNQUEUE && p->other_tid) {
		fprintf(f, "\nthread %u waits for %s: ", p->tid,
			path_cpu_print(p->cpu, cpu, sizeof(cpu)));
		put_markup(f, p->other);
		fprintf(f, " (%u) runs", p->other_tid);
	}
	fputs("</title></rect>\n", f);
}

/* All parts like the first one. */
static void row_draw(const struct path_part *part, unsigned int nr, uint64_t start_ns,
		     double scale, unsigned int y, FILE *f)
{
	char text[TEXT_BYTES], took[16];
	uint64_t sum = 0;

	fprintf(f,
		"<path d=\"M%d %u h%d\" stroke=\"#eee\"/><text x=\"%d\" y=\"%u\" "
		"text-anchor=\"end\">%s</text>\n",
		LEFT, y + ROW - 3, PLOT, LEFT - 8, y + 11,
		path_part_print(part, text, sizeof(text)));
	for (unsigned int i = 0; i < nr; i++) {
		if (!same_row(part, &part[i]))
			continue;
		sum += part[i].end_ns - part[i].start_ns;
		part_draw(&part[i], start_ns, scale, y, f);
	}
	fprintf(f, "<text x=\"%d\" y=\"%u\" fill=\"#555\">%s</text>\n", LEFT + PLOT + 8, y + 11,
		duration_print(sum, took, sizeof(took)));
}

static unsigned int request_draw(const struct path_report *r, const struct path_request *rq,
				 double scale, unsigned int y, FILE *f)
{
	struct path_part part[PATH_PARTS_MAX];
	unsigned int nr = path_parts(r->path, rq, part);
	char text[TEXT_BYTES];

	y += HEAD;
	fprintf(f, "<text x=\"12\" y=\"%u\" font-weight=\"600\">", y - 8);
	put_markup(f, path_request_print(r, rq, text, sizeof(text)));
	fputs("</text>\n", f);
	for (unsigned int i = 0; i < nr; i++) {
		bool drawn = false;

		for (unsigned int k = 0; k < i && !drawn; k++)
			drawn = same_row(&part[k], &part[i]);
		if (drawn)
			continue;
		row_draw(&part[i], nr - i, path_start_ns(rq), scale, y, f);
		y += ROW;
	}
	return y;
}

void path_report_svg(const struct path_report *r, FILE *f)
{
	size_t nr = r->nr_slowest < REQUESTS_DRAWN ? r->nr_slowest : REQUESTS_DRAWN;
	uint64_t longest = nr ? path_end_ns(r->slowest[0]) - path_start_ns(r->slowest[0]) : 1;
	unsigned int y = TOP;
	char *body = NULL;
	size_t len = 0;
	FILE *mem = open_memstream(&body, &len); /* the height is known only at the end */

	if (!mem)
		return;
	for (size_t i = 0; i < nr; i++) {
		y = request_draw(r, r->slowest[i], (double)PLOT / (double)(longest ? longest : 1),
				 y, mem);
		if (ftell(mem) > BYTES_MAX)
			nr = i + 1;
	}
	fclose(mem);
	svg_waterfall_begin(f, WIDTH, y + 20);
	fprintf(f, "The %zu slowest of %llu requests</text>\n", nr,
		(unsigned long long)r->summary->requests);
	legend_draw(f);
	fprintf(f, "%s</svg>\n", body ? body : "");
	free(body);
}
