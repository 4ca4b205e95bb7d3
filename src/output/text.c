// SPDX-License-Identifier: GPL-2.0-or-later
/* Reports for people: aligned columns that fit the terminal, times with units, pictures of characters. */
#include <inttypes.h>
#include <string.h>

#include "base/units.h"
#include "output/report.h"

enum {
	CELL_MAX = 256,
	LABEL_WIDTH = 9,   /* of a heat map's row */
	PICTURE_ROWS = 28, /* of a heat map */
	BAR_WIDTH = 50,
	COLUMN_GAP = 2,
	NAME_MIN = 12, /* names are not cut shorter */
	WIDE = 120,	   /* a terminal of this width shows more columns */
	SPARES_NARROW = 2, /* priorities of spare columns: on a narrow terminal, */
	SPARES = 9,	   /* and on a wide one */
};

static const char *cell_print(const struct report *r, const struct column *c, const struct cell *v,
			      char *buf, size_t size)
{
	if (v->text)
		return c->kind == COL_PATH ? path_cell_print(v, buf, size) : v->text;
	switch (c->kind) {
	case COL_TEXT:
	case COL_PATH:
	case COL_REAL:
	case COL_BOOL:
	case COL_JSON:
	case COL_OBJECT:
	case COL_ROWS:
		return "-";
	case COL_COUNT:
		snprintf(buf, size, "%" PRIu64, v->number);
		break;
	case COL_NS:
		return report_duration(r, v->number, buf, size);
	case COL_HEX:
	case COL_PORT:
		snprintf(buf, size, "0x%" PRIx64, v->number);
		break;
	case COL_PERCENT:
		snprintf(buf, size, "%.1f%%", (double)v->number / 1000);
		break;
	case COL_SECONDS:
		if (r->ticks)
			snprintf(buf, size, "%" PRIu64 "t", v->number);
		else
			seconds_print(v->number, buf, size);
		break;
	}
	return buf;
}

static void text_head_write(const struct report *r)
{
	if (r->first_line)
		fprintf(r->out->file, "%s\n", r->first_line);
}

static void foot(const struct report *r)
{
	if (r->extra_text)
		fprintf(r->out->file, "%s\n", r->extra_text);
	r->foot(r);
}

/* Characters of UTF-8: all bytes but the later ones of each. */
static int columns_of(const char *text)
{
	int nr = 0;

	for (; *text; text++)
		nr += ((unsigned char)*text & 0xc0) != 0x80;
	return nr;
}

/* Bytes of the first characters, so many of them. */
static int columns_fit(const char *text, int columns)
{
	int len = 0;

	for (; text[len] && (columns || ((unsigned char)text[len] & 0xc0) == 0x80); len++)
		columns -= ((unsigned char)text[len] & 0xc0) != 0x80;
	return len;
}

static void table_widths(const struct report *r, const struct table *t, int *width)
{
	char buf[CELL_MAX];

	for (unsigned int i = 0; i < t->nr_columns; i++) {
		const struct column *c = &t->column[i];

		width[i] = c->head ? (int)strlen(c->head) : 0;
		for (size_t row = 0; row < t->nr_rows; row++) {
			int len = columns_of(cell_print(r, c, &t->cell[row * t->nr_columns + i],
							 buf, sizeof(buf)));

			width[i] = len > width[i] ? len : width[i];
		}
	}
}

/*
 * Selects the columns: all required ones, then the spare ones that fit;
 * those above SPARES_NARROW only on a wide terminal, so that on 80 columns a report has the same
 * columns every day.
 */
static void table_choose(const struct report *r, const struct table *t, const int *width,
			 bool *chosen)
{
	unsigned int spares = r->wide || r->out->width >= WIDE ? SPARES : SPARES_NARROW;
	int left = r->wide ? 1 << 20 : r->out->width + COLUMN_GAP;

	for (unsigned int i = 0; i < t->nr_columns; i++) {
		chosen[i] = t->column[i].head && !t->column[i].spare;
		left -= chosen[i] ? width[i] + COLUMN_GAP : 0;
	}
	for (unsigned int spare = 1; spare <= spares; spare++)
		for (unsigned int i = 0; i < t->nr_columns; i++) {
			int need = width[i] + COLUMN_GAP;

			if (!t->column[i].head || t->column[i].spare != spare || left < need)
				continue;
			chosen[i] = true;
			left -= need;
		}
}

/*
 * Required columns may be too wide together: long names are cut, the longest ones first. Returns whether any was.
 */
static bool table_narrow(const struct report *r, const struct table *t, int *width,
			 const bool *chosen)
{
	int over = r->wide ? 0 : -COLUMN_GAP - r->out->width;
	bool cut = false;

	for (unsigned int i = 0; i < t->nr_columns && !r->wide; i++)
		over += chosen[i] ? width[i] + COLUMN_GAP : 0;
	while (over > 0) {
		int widest = -1;

		for (unsigned int i = 0; i < t->nr_columns; i++)
			if (chosen[i] && column_is_text(&t->column[i]) && width[i] > NAME_MIN &&
			    (widest < 0 || width[i] > width[widest]))
				widest = (int)i;
		if (widest < 0)
			return cut;
		width[widest]--;
		over--;
		cut = true;
	}
	return cut;
}

/* "a long na..."; no byte of a character is left over. */
static const char *text_cut(const char *text, int width, char *buf, size_t size)
{
	int len = width - 3;

	if (columns_of(text) <= width)
		return text;
	snprintf(buf, size, "%.*s...", columns_fit(text, len), text);
	return buf;
}

/* An element that leaked is an error; of one that could not be followed nothing is known. */
static enum tone cell_tone(const struct report *r, const struct column *c, const char *text)
{
	if (!r->out->color || !c->key || strcmp(c->key, "verdict"))
		return TONE_NONE;
	if (!strcmp(text, "leaked"))
		return TONE_BAD;
	return !strcmp(text, "in-flight") || !strcmp(text, "held") ? TONE_NONE : TONE_WARNING;
}

/* Numbers to the right, text to the left; no blanks at a line's end. */
static void table_line(const struct report *r, const struct table *t, const int *width,
		       const bool *chosen, const struct cell *row)
{
	FILE *f = r->out->file;
	char buf[CELL_MAX], cut[CELL_MAX];
	int owed = 0; /* blanks before the next column; never written at a line's end */
	enum tone tone;

	for (unsigned int i = 0; i < t->nr_columns; i++) {
		const struct column *c = &t->column[i];
		const char *text = row ? cell_print(r, c, &row[i], buf, sizeof(buf)) : c->head;

		if (!chosen[i])
			continue;
		if (column_is_text(c))
			text = text_cut(text, width[i], cut, sizeof(cut));

		int pad = width[i] - columns_of(text);

		if (!column_is_text(c))
			owed += pad;
		tone = row ? cell_tone(r, c, text) : TONE_NONE;
		if (*text)
			fprintf(f, "%*s%s%s%s", owed, "", tone_begin(tone), text, tone_end(tone));
		owed = (*text ? 0 : owed) + COLUMN_GAP + (column_is_text(c) ? pad : 0);
	}
	fputc('\n', f);
}

static int text_table(const struct report *r, const struct table *t)
{
	int width[TABLE_COLUMNS_MAX];
	bool chosen[TABLE_COLUMNS_MAX], cut;

	text_head_write(r);
	table_widths(r, t, width);
	table_choose(r, t, width, chosen);
	cut = table_narrow(r, t, width, chosen);
	if (t->nr_rows)
		table_line(r, t, width, chosen, NULL);
	for (size_t i = 0; i < t->nr_rows; i++)
		table_line(r, t, width, chosen, &t->cell[i * t->nr_columns]);
	if (!t->nr_rows)
		report_empty(r);
	report_left_out(r, t->left_out);
	if (cut && r->out->notes != NOTES_NONE)
		fprintf(r->out->file, "# long names are cut (...): --wide\n");
	foot(r);
	return 0;
}

static int text_histogram(const struct report *r, const struct histogram *h)
{
	char lo[16], hi[16];
	uint64_t max = 1;

	text_head_write(r);
	for (unsigned int i = h->first; i <= h->last && i < HISTOGRAM_ROWS; i++)
		max = h->count[i] > max ? h->count[i] : max;
	for (unsigned int i = h->first; i <= h->last && i < HISTOGRAM_ROWS; i++) {
		int bar = (int)((double)h->count[i] / (double)max * BAR_WIDTH + 0.5);

		report_duration(r, i ? 1ull << (i - 1) : 0, lo, sizeof(lo));
		report_duration(r, i == 64 ? UINT64_MAX : 1ull << i, hi, sizeof(hi));
		fprintf(r->out->file, "%7s - %-7s %9" PRIu64 " |%.*s\n", lo, hi, h->count[i], bar,
			"##################################################");
	}
	if (h->first > h->last)
		report_empty(r);
	foot(r);
	return 0;
}

/* ---- heat map: darker for more, by the logarithm of the count ---- */

static const char shades[] = " .:-=+*#%@";
static const int colors[] = {-1, 17, 18, 19, 26, 37, 76, 148, 220, 196};

static unsigned int shade_of(uint64_t count, uint64_t max)
{
	unsigned int bits = 64u - (unsigned int)__builtin_clzll(count | 1),
		     top = 64u - (unsigned int)__builtin_clzll(max | 1);
	unsigned int levels = sizeof(shades) - 2;

	if (!count)
		return 0;
	return top <= 1 ? levels : 1 + (bits - 1) * (levels - 1) / (top - 1);
}

/* Several rows and columns of the shape may share a character. */
static uint64_t block_sum(const struct heatmap *h, unsigned int row, unsigned int rows,
			  unsigned int column, unsigned int columns)
{
	uint64_t sum = 0;

	for (unsigned int y = row; y < row + rows && y < h->nr_rows; y++)
		for (unsigned int x = column; x < column + columns && x < h->nr_columns; x++)
			sum += h->cell[y][x];
	return sum;
}

static void heat_line(const struct report *r, const struct heatmap *h, unsigned int row,
		      unsigned int rows, unsigned int columns, uint64_t max)
{
	char label[16];

	fprintf(r->out->file, "%*s |", LABEL_WIDTH,
		report_duration(r, h->row[row].lo_ns, label, sizeof(label)));
	for (unsigned int x = 0; x < h->nr_columns; x += columns) {
		unsigned int shade = shade_of(block_sum(h, row, rows, x, columns), max);

		if (r->out->color && shade)
			fprintf(r->out->file, "\033[48;5;%dm \033[0m", colors[shade]);
		else
			fputc(r->out->color ? ' ' : shades[shade], r->out->file);
	}
	fprintf(r->out->file, "|\n");
}

static uint64_t heat_max(const struct heatmap *h, unsigned int rows, unsigned int columns)
{
	uint64_t max = 0;

	for (unsigned int y = 0; y < h->nr_rows; y += rows)
		for (unsigned int x = 0; x < h->nr_columns; x += columns) {
			uint64_t sum = block_sum(h, y, rows, x, columns);

			max = sum > max ? sum : max;
		}
	return max;
}

static void heat_legend(const struct report *r, const struct heatmap *h, unsigned int shown_columns,
			unsigned int columns, uint64_t max)
{
	char from[16], to[16], each[16];

	fprintf(r->out->file, "%*s +%.*s+\n", LABEL_WIDTH, "", (int)shown_columns,
		"----------------------------------------------------------------------------------"
		"----------------------"
		"------------------------");
	report_duration(r, 0, from, sizeof(from));
	report_duration(r, h->column_ns * h->nr_columns, to, sizeof(to));
	report_duration(r, h->column_ns * columns, each, sizeof(each));
	fprintf(r->out->file, "%*s  %-*s%s\n", LABEL_WIDTH, "",
		(int)shown_columns - (int)strlen(to), from, to);
	fprintf(r->out->file,
		"%" PRIu64 " spans; one column is %s, a row starts at its label; darkest: %" PRIu64
		"\n",
		h->total, each, max);
}

static int text_heatmap(const struct report *r, const struct heatmap *h)
{
	unsigned int left =
		(unsigned int)(r->out->width > 140 ? 140 : r->out->width) - LABEL_WIDTH - 4;
	unsigned int columns = (h->nr_columns + left - 1) / left,
		     rows = (h->nr_rows + PICTURE_ROWS - 1) / PICTURE_ROWS;

	text_head_write(r);
	if (!h->total) {
		report_empty(r);
		foot(r);
		return 0;
	}
	fprintf(r->out->file, "%s\n", h->title);
	uint64_t max = heat_max(h, rows, columns);

	for (unsigned int y = (h->nr_rows + rows - 1) / rows; y-- > 0;)
		heat_line(r, h, y * rows, rows, columns, max);
	heat_legend(r, h, (h->nr_columns + columns - 1) / columns, columns, max);
	foot(r);
	return 0;
}

const struct format text_format = {
	.name = "text",
	.table = text_table,
	.histogram = text_histogram,
	.heatmap = text_heatmap,
	.timeline = &text_timeline,
};
