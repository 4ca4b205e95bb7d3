// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The longest exits as waterfalls: for each a row per cause and what it names, in order of their first part; time to
 * the right, with the length of the longest exit as the common scale. Parts closer to each other than a third of a
 * pixel are drawn as one.
 */

#include "base/units.h"
#include "output/blame_report.h"
#include "output/escape.h"
#include "output/palette.h"
#include "output/svg.h"

enum {
	EXITS_DRAWN = 50,
	BYTES_MAX = 900 << 10, /* no further exit is drawn then */
	ROWS_DRAWN = 16, /* of an exit; the rest is one row */
	LEFT = 430,
	WIDTH = 1400,
	PLOT = WIDTH - LEFT - 110,
	TOP = 56,
	HEAD = 30, /* of an exit */
	ROW = 18,
	BAR = 13,
	TEXT_BYTES = 192,
	LABEL_CHARS = 62,
};

#define THIN 0.33

struct row {
	const struct blame_part *first; /* NULL: all that have no row of their own */
	uint64_t time_ns;
};

static bool same_row(const struct blame_part *a, const struct blame_part *b)
{
	if (a->cause != b->cause || a->who.kind != b->who.kind)
		return false;
	if (a->cause == BLAME_PREEMPTED || a->cause == BLAME_RUNQUEUE)
		return true; /* the tasks that ran instead are in the tooltips */
	return a->who.tid == b->who.tid && a->who.number == b->who.number &&
	       a->who.access == b->who.access;
}

static unsigned int row_of(struct row *rows, unsigned int *nr, const struct blame_part *p)
{
	unsigned int i = 0;

	while (i < *nr && rows[i].first && !same_row(rows[i].first, p))
		i++;
	if (i == *nr && i < ROWS_DRAWN)
		rows[(*nr)++] = (struct row){i < ROWS_DRAWN - 1 ? p : NULL, 0};
	return i;
}

static const char *part_text(const struct blame_part *p, char *buf, size_t size)
{
	char what[TEXT_BYTES - 32];

	blame_who_print(p->cause, &p->who, what, sizeof(what));
	snprintf(buf, size, "%s%s%s", blame_cause_names[p->cause], *what ? ": " : "", what);
	return buf;
}

static const char *row_text(const struct row *row, char *buf, size_t size)
{
	if (!row->first)
		snprintf(buf, size, "others");
	else if (row->first->cause == BLAME_PREEMPTED || row->first->cause == BLAME_RUNQUEUE)
		snprintf(buf, size, "%s", blame_cause_names[row->first->cause]);
	else
		part_text(row->first, buf, size);
	if (strlen(buf) > LABEL_CHARS)
		memcpy(buf + LABEL_CHARS - 3, "...", 4);
	return buf;
}

static void part_draw(const struct blame_report *r, const struct blame_exit *x,
		      const struct blame_part *p, uint64_t end_ns, double scale, unsigned int y,
		      FILE *f)
{
	const char *stack = blame_stack(r->blame, p->who.stack);
	char text[TEXT_BYTES], from[16], took[16];
	double width = (double)(end_ns - p->start_ns) * scale;

	fprintf(f,
		"<rect x=\"%.2f\" y=\"%u\" width=\"%.2f\" height=\"%d\" fill=\"%s\"><title>",
		LEFT + (double)(p->start_ns - x->start_ns) * scale, y, width > THIN ? width : THIN,
		BAR, palette_fill(blame_cause_names[p->cause]));
	put_markup(f, part_text(p, text, sizeof(text)));
	fprintf(f, "\n%s at %s", duration_print(p->end_ns - p->start_ns, took, sizeof(took)),
		duration_print(p->start_ns - x->start_ns, from, sizeof(from)));
	if (stack) {
		fputs("\nin ", f);
		put_markup(f, stack);
	}
	fputs("</title></rect>\n", f);
}

/* All parts of one row. */
static void row_draw(const struct blame_report *r, const struct blame_exit *x, const uint8_t *row,
		     unsigned int which, double scale, unsigned int y, FILE *f)
{
	const struct blame_part *open = NULL;
	uint64_t end_ns = 0;

	for (unsigned int i = 0; i < x->nr_parts; i++) {
		const struct blame_part *p = &x->part[i];

		if (row[i] != which)
			continue;
		if (open && (double)(p->start_ns - end_ns) * scale < THIN &&
		    (double)(p->end_ns - p->start_ns) * scale < THIN) {
			end_ns = p->end_ns;
			continue;
		}
		if (open)
			part_draw(r, x, open, end_ns, scale, y, f);
		open = p;
		end_ns = p->end_ns;
	}
	if (open)
		part_draw(r, x, open, end_ns, scale, y, f);
}

static unsigned int exit_draw(const struct blame_report *r, const struct blame_exit *x,
			      double scale, unsigned int y, FILE *f)
{
	enum { MOST = BLAME_PARTS_MAX + BLAME_SUMS_MAX };
	uint8_t row[MOST];
	struct row rows[ROWS_DRAWN];
	char text[TEXT_BYTES], took[16];
	unsigned int nr = 0;

	for (unsigned int i = 0; i < x->nr_parts && i < MOST; i++) {
		row[i] = (uint8_t)row_of(rows, &nr, &x->part[i]);
		rows[row[i]].time_ns += x->part[i].end_ns - x->part[i].start_ns;
	}
	y += HEAD;
	fprintf(f, "<text x=\"12\" y=\"%u\" font-weight=\"600\">", y - 8);
	blame_exit_print(r, x, text, sizeof(text));
	put_markup(f, text);
	fputs("</text>\n", f);
	for (unsigned int i = 0; i < nr; i++, y += ROW) {
		fprintf(f, "<path d=\"M%d %u h%d\" stroke=\"#eee\"/>", LEFT, y + ROW - 3, PLOT);
		fprintf(f, "<text x=\"%d\" y=\"%u\" text-anchor=\"end\">", LEFT - 8, y + 11);
		put_markup(f, row_text(&rows[i], text, sizeof(text)));
		fprintf(f, "</text><text x=\"%d\" y=\"%u\" fill=\"#555\">%s</text>\n",
			LEFT + PLOT + 8, y + 11,
			duration_print(rows[i].time_ns, took, sizeof(took)));
		row_draw(r, x, row, i, scale, y, f);
	}
	return y;
}

void blame_report_svg(const struct blame_report *r, FILE *f)
{
	const struct blame_summary *s = r->summary;
	uint64_t longest = s->nr_kept ? s->kept[0].end_ns - s->kept[0].start_ns : 1;
	size_t nr = s->nr_kept < EXITS_DRAWN ? s->nr_kept : EXITS_DRAWN;
	unsigned int y = TOP;
	char first[128];
	char *body = NULL;
	size_t len = 0;
	FILE *mem = open_memstream(&body, &len); /* the height is known only at the end */

	if (!mem)
		return;
	for (size_t i = 0; i < nr; i++) {
		y = exit_draw(r, &s->kept[i], (double)PLOT / (double)(longest ? longest : 1), y,
			      mem);
		if (ftell(mem) > BYTES_MAX)
			nr = i + 1;
	}
	fclose(mem);
	svg_waterfall_begin(f, WIDTH, y + 20);
	put_markup(f, blame_report_first_line(r, first, sizeof(first)));
	fprintf(f, "; the %zu longest</text>\n%s</svg>\n", nr, body ? body : "");
	free(body);
}
