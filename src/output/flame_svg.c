// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Stacks are sorted, so that those that begin with the same frames are neighbours. A frame lasts from the first to the
 * last stack that has it. Rectangles have their places in pixels, as browsers end lengths at 2^25, and the exact
 * counts, which the script (flame.js) reads, as data-x and data-n.
 */
#include <errno.h>
#include <inttypes.h>

#include "base/array.h"
#include "base/error.h"
#include "base/hash.h"
#include "base/order.h"
#include "base/saturate.h"
#include "base/units.h"
#include "flame_js.h"
#include "output/escape.h"
#include "output/folded.h"
#include "output/svg.h"

enum {
	DEPTH_MAX = 256,       /* deeper frames are not drawn */
	NARROWEST = 16384,     /* parts of the whole: what is narrower is not drawn */
	BYTES_MAX = 700 << 10, /* of all frames */
	FRAME_BYTES = 180,     /* without its name */
	NAME_BYTES = 200,
	WIDTH = 1200,
	EDGE = 12,
	PLOT = WIDTH - 2 * EDGE,
	TOP = 60,
	ROW = 17,
	BAR = 16,
	LETTER = 7, /* pixels, roughly */
	TEXT_MIN = 24,
};

struct stack {
	char *frames; /* separated by SEPARATOR, which sorts before every other character */
	uint64_t count[2];
};

static const char SEPARATOR = '\1';

struct frame {
	const char *name; /* not NUL-terminated */
	size_t len;
	unsigned int depth;
	uint64_t start, count[2]; /* start: of the count that is drawn */
};

struct flames {
	const struct flame_svg *how;
	struct stack *stack;
	size_t nr_stacks;
	struct frame *frame;
	size_t nr_frames, nr_narrow;
	struct frame open[DEPTH_MAX];
	struct frame narrow
		[DEPTH_MAX]; /* neighbours of this depth that are too narrow, as one; no name: none */
	unsigned int depth, deepest;
	uint64_t total[2];
	int err;
};

/* Which of the counts is drawn. */
static unsigned int drawn(const struct flames *f)
{
	return f->how->diff;
}

/* ---- reading ---- */

/* Takes the number at the end of the line off it. */
static uint64_t count_take(char *line)
{
	char *blank = strrchr(line, ' ');

	if (!blank)
		return 0;
	*blank = '\0';
	return strtoull(blank + 1, NULL, 10);
}

static int lines_read(struct flames *f, char *folded)
{
	char *save = NULL;

	for (char *line = strtok_r(folded, "\n", &save); line; line = strtok_r(NULL, "\n", &save)) {
		struct stack s = {.frames = line};

		s.count[drawn(f)] = count_take(line);
		if (f->how->diff)
			s.count[0] = count_take(line);
		for (char *p = line; (p = strchr(p, ';'));)
			*p = SEPARATOR;
		if (array_add(f->stack, f->nr_stacks, s))
			return -ENOMEM;
		f->total[0] += s.count[0];
		f->total[1] += s.count[1];
	}
	return 0;
}

static int stack_compare(const void *a, const void *b)
{
	const struct stack *x = a, *y = b;

	return strcmp(x->frames, y->frames);
}

/* ---- frames ---- */

static bool is_narrow(const struct flames *f, const struct frame *x)
{
	return x->count[drawn(f)] <= f->total[drawn(f)] / NARROWEST;
}

static void frame_add(struct flames *f, const struct frame *x)
{
	if (f->err || array_room(f->frame, f->nr_frames))
		f->err = -ENOMEM;
	else
		f->frame[f->nr_frames++] = *x;
}

/* Ends the narrow neighbours of this depth. */
static void narrow_close(struct flames *f, unsigned int depth)
{
	struct frame *n = &f->narrow[depth];

	if (n->name && !is_narrow(f, n))
		frame_add(f, n);
	n->name = NULL;
}

static void narrow_add(struct flames *f, const struct frame *x)
{
	static const char name[] = "(narrow frames)";
	struct frame *n = &f->narrow[x->depth];

	f->nr_narrow++;
	if (!n->name)
		*n = (struct frame){.name = name,
				    .len = sizeof(name) - 1,
				    .depth = x->depth,
				    .start = x->start};
	n->count[0] += x->count[0];
	n->count[1] += x->count[1];
}

static void frames_close(struct flames *f, unsigned int depth)
{
	while (f->depth > depth) {
		const struct frame *x = &f->open[--f->depth];

		if (f->depth + 1 < DEPTH_MAX)
			narrow_close(f, f->depth + 1);
		if (is_narrow(f, x)) {
			narrow_add(f, x);
			continue;
		}
		narrow_close(f, f->depth);
		frame_add(f, x);
	}
}

static void stack_add(struct flames *f, const struct stack *s, uint64_t at)
{
	const char *name = s->frames;
	unsigned int depth = 0;

	for (; depth < DEPTH_MAX; depth++) {
		size_t len = strcspn(name, "\1");

		if (depth >= f->depth || f->open[depth].len != len ||
		    memcmp(f->open[depth].name, name, len) != 0) {
			frames_close(f, depth);
			f->open[depth] = (struct frame){
				.name = name, .len = len, .depth = depth, .start = at};
			f->depth = depth + 1;
		}
		f->open[depth].count[0] += s->count[0];
		f->open[depth].count[1] += s->count[1];
		name += len;
		if (!*name++) {
			depth++;
			break;
		}
	}
	frames_close(f, depth);
}

static int by_width(const void *a, const void *b, void *flames)
{
	const struct frame *x = a, *y = b;
	unsigned int which = drawn(flames);

	return order_u64(y->count[which], x->count[which]) ?: order_u64(x->depth, y->depth) ?:
	       order_u64(x->start, y->start);
}

/* The widest ones, as many as fit. A frame's parent is at least as wide, and comes first. */
static void frames_fit(struct flames *f)
{
	size_t bytes = 0, i;

	if (f->nr_frames)
		qsort_r(f->frame, f->nr_frames, sizeof(*f->frame), by_width, f);
	for (i = 0; i < f->nr_frames && bytes < BYTES_MAX; i++) {
		bytes +=
			FRAME_BYTES + (f->frame[i].len < NAME_BYTES ? f->frame[i].len : NAME_BYTES);
		f->deepest = f->frame[i].depth > f->deepest ? f->frame[i].depth : f->deepest;
	}
	f->nr_narrow += f->nr_frames - i;
	f->nr_frames = i;
}

static int frames_make(struct flames *f)
{
	uint64_t at = 0;

	if (f->nr_stacks)
		qsort(f->stack, f->nr_stacks, sizeof(*f->stack), stack_compare);
	for (size_t i = 0; i < f->nr_stacks; i++) {
		stack_add(f, &f->stack[i], at);
		at += f->stack[i].count[drawn(f)];
	}
	frames_close(f, 0);
	narrow_close(f, 0);
	frames_fit(f);
	return f->err ? fail(f->err, "out of memory") : 0;
}

/* ---- drawing ---- */

static void name_put(const struct frame *x, size_t most, FILE *out)
{
	char text[NAME_BYTES + 8];
	size_t len = x->len < most ? x->len : most;

	while (len < x->len && len && ((unsigned char)x->name[len] & 0xc0) == 0x80)
		len--; /* not within a character */
	snprintf(text, sizeof(text), "%.*s%s", (int)len, x->name, len < x->len ? "..." : "");
	put_markup(out, text);
}

static void count_put(const struct flames *f, uint64_t count, FILE *out)
{
	char text[16];

	if (f->how->times)
		fputs(duration_print(count, text, sizeof(text)), out);
	else
		fprintf(out, "%" PRIu64, count);
}

static double share(const struct flames *f, const struct frame *x, unsigned int which)
{
	return f->total[which] ? (double)x->count[which] / (double)f->total[which] : 0;
}

/* Warm colours by name; of a difference red: grown, blue: shrunk. */
static void color_put(const struct flames *f, const struct frame *x, FILE *out)
{
	uint64_t h = hash_bytes(x->name, x->len);
	double change = share(f, x, 1) - share(f, x, 0);
	int pale = (int)(255 - fmin(1, 4 * sqrt(fabs(change))) * 170);

	if (!f->how->diff)
		fprintf(out, "#%02x%02x%02x", 205 + (int)(h % 50), 90 + (int)(h / 50 % 140),
			40 + (int)(h / 7000 % 40));
	else if (change >= 0)
		fprintf(out, "#ff%02x%02x", pale, pale);
	else
		fprintf(out, "#%02x%02xff", pale, pale);
}

static void frame_draw(const struct flames *f, const struct frame *x, FILE *out)
{
	double scale = (double)PLOT / (double)f->total[drawn(f)];

	fprintf(out,
		"<rect x=\"%.2f\" y=\"%u\" width=\"%.2f\" height=\"%d\" data-x=\"%" PRIu64
		"\" data-n=\"%" PRIu64 "\" fill=\"",
		(double)x->start * scale, (f->deepest + 1 - x->depth) * ROW - ROW,
		(double)x->count[drawn(f)] * scale, BAR, x->start, x->count[drawn(f)]);
	color_put(f, x, out);
	fputs("\"><title>", out);
	name_put(x, NAME_BYTES, out);
	fputs(": ", out);
	count_put(f, x->count[drawn(f)], out);
	fprintf(out, ", %.2f %%", 100 * share(f, x, drawn(f)));
	if (f->how->diff)
		fprintf(out, ", %+.2f %%", 100 * (share(f, x, 1) - share(f, x, 0)));
	fputs("</title></rect>\n", out);
}

static void names_draw(const struct flames *f, FILE *out)
{
	double scale = (double)PLOT / (double)f->total[drawn(f)];

	fputs("<g class=\"names\" pointer-events=\"none\">\n", out);
	for (size_t i = 0; i < f->nr_frames; i++) {
		const struct frame *x = &f->frame[i];
		double width = (double)x->count[drawn(f)] * scale;

		if (width < TEXT_MIN)
			continue;
		fprintf(out, "<text x=\"%.1f\" y=\"%u\">", EDGE + (double)x->start * scale + 3,
			TOP + (f->deepest + 1 - x->depth) * ROW - 5);
		name_put(x, uint64_of_double(width - 6) / LETTER, out);
		fputs("</text>\n", out);
	}
	fputs("</g>\n", out);
}

static void head_draw(const struct flames *f, unsigned int height, FILE *out)
{
	fprintf(out,
		"<svg xmlns=\"http://www.w3.org/2000/svg\" class=\"flame\" width=\"%d\" "
		"height=\"%u\" viewBox=\"0 0 %d %u\" font-family=\"system-ui, sans-serif\" "
		"font-size=\"11\" fill=\"#222\">\n"
		"<rect width=\"100%%\" height=\"100%%\" fill=\"white\"/>\n"
		"<text x=\"%d\" y=\"26\" font-size=\"17\" font-weight=\"600\">",
		WIDTH, height, WIDTH, height, EDGE);
	put_markup(out, f->how->title);
	fprintf(out, "</text>\n<text class=\"about\" x=\"%d\" y=\"44\" fill=\"#666\">", EDGE);
	if (f->how->about)
		put_markup(out, f->how->about);
	fputs(f->how->about ? " \xc2\xb7 " : "", out);
	count_put(f, f->total[drawn(f)], out);
	fprintf(out, "%s in %zu stacks",
		f->how->times	? ""
		: f->how->bytes ? " bytes"
				: " samples",
		f->nr_stacks);
	if (f->nr_narrow)
		fprintf(out, " \xc2\xb7 %zu frames are too narrow to be drawn one by one",
			f->nr_narrow);
	if (f->how->diff)
		fputs(" \xc2\xb7 red: a larger share than before, blue: a smaller one", out);
	fputs("</text>\n", out);
}

static void flame_draw(const struct flames *f, FILE *out)
{
	unsigned int high = (f->deepest + 1) * ROW;

	head_draw(f, TOP + (f->nr_frames ? high : ROW) + 24, out);
	if (!f->nr_frames) {
		fprintf(out, "<text x=\"%d\" y=\"%d\">no stacks</text>\n</svg>\n", EDGE, TOP + 12);
		return;
	}
	fprintf(out,
		"<svg class=\"plot\" x=\"%d\" y=\"%d\" width=\"%d\" height=\"%u\" "
		"viewBox=\"0 0 %d %u\" preserveAspectRatio=\"none\" data-n=\"%" PRIu64 "\">\n",
		EDGE, TOP, PLOT, high, PLOT, high, f->total[drawn(f)]);
	for (size_t i = 0; i < f->nr_frames; i++)
		frame_draw(f, &f->frame[i], out);
	fputs("</svg>\n", out);
	names_draw(f, out);
	svg_script_put(flame_js, out);
	fputs("</svg>\n", out);
}

int flame_svg_put(char *folded, const struct flame_svg *how, FILE *out, uint64_t *ret_nr)
{
	struct flames *f = calloc(1, sizeof(*f));
	int err = f ? 0 : fail(-ENOMEM, "out of memory");

	if (f)
		f->how = how;
	if (!err)
		err = lines_read(f, folded);
	if (!err)
		err = frames_make(f);
	if (!err) {
		flame_draw(f, out);
		*ret_nr = f->nr_stacks;
	}
	if (f) {
		free(f->stack);
		free(f->frame);
	}
	free(f);
	return err;
}
