// SPDX-License-Identifier: GPL-2.0-or-later
/* How the lines of a pasted text were broken: by words, at the width of a terminal, by a screen, by a mailer. */
#include <string.h>

#include "readers/text/paste_clean.h"
#include "readers/text/paste_state.h"

enum {
	HARD_LINES_MIN = 2, /* of equal length, that a terminal broke */
	CUT_LINES_MIN = 2,  /* of equal length, that a screen cut */
	MARKED_LINES = 1000, /* that show whether all end with '$' */
};

/* Lines of one sort. Of those that end at the width, a copy from a screen may have dropped a blank. */
struct measured {
	uint64_t all, full, trimmed; /* at the width, and without one blank at their end */
};

/* What is counted in all lines. */
struct measure {
	struct measured broken;	 /* they go on */
	uint64_t hard, soft;	 /* those that are one record only without a blank, with one */
	struct measured cut;	 /* they lack their end */
	struct measured half;	 /* PASTE_HALF */
	struct measured other;
	uint64_t half_kinds;
	bool goes_on; /* as quoted-printable text does */
};

static void measured_add(const struct paste *p, struct measured *m)
{
	m->all++;
	m->full += p->now.width == p->width;
	m->trimmed += p->now.width + PASTE_TRIMMED_MAX == p->width;
}

/* A longer line comes. */
static void measured_grow(struct measured *m, size_t by)
{
	m->trimmed = by == PASTE_TRIMMED_MAX ? m->full : 0;
	m->full = 0;
}

static uint64_t at_width(const struct measured *m)
{
	return m->full + m->trimmed;
}

/* The current line is an event and the next one is none. */
static void measure_broken(struct paste *p, struct measure *m, const struct physical *next)
{
	struct paste_joins join = {JOIN_NONE, JOIN_NONE};

	measured_add(p, &m->broken);
	paste_join_both(p, next, &join);
	m->hard += join.no_blank > join.blank;
	m->soft += join.blank > join.no_blank && (!p->now.flowed || p->now.width < p->width);
}

/* The current line is an event, as is the next one: lines are not broken here. */
static void measure_unbroken(struct paste *p, struct measure *m)
{
	uint64_t key = 0;
	enum paste_end end = PASTE_WHOLE;

	if (p->grammar->ends)
		end = p->grammar->ends(p->now.at, p->now.end, false, &key);
	p->has_whole |= end >= PASTE_OPEN;
	measured_add(p, end == PASTE_CUT    ? &m->cut
			: end == PASTE_HALF ? &m->half
					    : &m->other);
	if (end == PASTE_HALF) {
		unsigned int i = paste_half_slot(p, key);

		m->half_kinds += !p->half[i].nr;
		p->half[i].nr += !p->half[i].nr || p->half[i].key == key;
		p->half[i].key = p->half[i].nr == 1 ? key : p->half[i].key;
	}
}

/* Is there a soft line break of quoted-printable text between the current line and the next? */
static void measure_soft(struct paste *p, const struct physical *next)
{
	struct physical *x = &p->now;
	char *soft = printable_soft(x->at, x->end);
	struct paste_joins join = {JOIN_NONE, JOIN_NONE};

	if (!soft || next->class > PASTE_HEAD)
		return;
	paste_line_cut(x, soft);
	x->flowed = false;
	if (x->class >= PASTE_TIMELESS && paste_join_both(p, next, &join) &&
	    join.no_blank >= JOIN_HALF)
		printable_proved(&p->printable);
	*soft = '=';
	paste_line_cut(x, soft + 1);
}

static void measure_printable(struct paste *p, struct measure *m, const struct physical *next)
{
	if (p->now.class >= PASTE_HEAD && p->now.class != PASTE_OTHER)
		measure_soft(p, next);
	if (next->class == PASTE_HEAD || next->class >= PASTE_TIMELESS || m->goes_on)
		printable_line(&p->printable, next->at, next->end);
	else
		printable_any_line(&p->printable, next->at, next->end);
	m->goes_on =
		(next->class >= PASTE_HEAD || m->goes_on) && printable_soft(next->at, next->end);
}

static void measure_line(struct paste *p, struct measure *m, const struct physical *next)
{
	bool is_event = next->class >= PASTE_TIMELESS;

	if (p->now.class >= PASTE_TIMELESS && next->class == PASTE_UNKNOWN)
		measure_broken(p, m, next);
	else if (p->now.class >= PASTE_TIMELESS)
		measure_unbroken(p, m);
	if (is_event)
		paste_sources_line(&p->sources,
				   text_slice_of(next->source, next->source + strlen(next->source)),
				   next->number);
	if ((is_event || next->class == PASTE_HEAD) && next->width > p->width) {
		measured_grow(&m->broken, next->width - p->width);
		measured_grow(&m->cut, next->width - p->width);
		measured_grow(&m->half, next->width - p->width);
		measured_grow(&m->other, next->width - p->width);
		p->width = next->width;
	}
	measure_printable(p, m, next);
}

/*
 * Records that lack fields may be of a trace that was trimmed so; but not if records of several kinds end at one
 * column, all that lack fields among them, and no line is longer.
 */
static bool is_cut_at_width(const struct measure *m)
{
	uint64_t cut = m->cut.all, longest = at_width(&m->cut);

	if (at_width(&m->half) == m->half.all &&
	    (longest || m->half_kinds > 1 || at_width(&m->other) >= CUT_LINES_MIN)) {
		cut += m->half.all;
		longest += m->half.all;
	}
	return longest >= CUT_LINES_MIN && longest + 1 >= cut && cut > m->hard + m->soft;
}

/*
 * The widths of the lines, and whether a terminal broke them: then all broken lines are equally long, but those of
 * which a blank at the end was removed. Or did a screen cut them?
 */
static void measure_once(struct text_lines *t)
{
	struct paste *p = t->paste;
	struct measure m = {.hard = 0};
	struct physical *next = &p->ahead[0];

	p->now.class = PASTE_OTHER;
	for (; paste_line_read(t, next); paste_lines_swap(&p->now, next))
		measure_line(p, &m, next);
	if (p->now.class >= PASTE_TIMELESS)
		measure_unbroken(p, &m);
	p->hard = m.hard || m.soft
			  ? m.hard > m.soft
			  : m.broken.full >= HARD_LINES_MIN && at_width(&m.broken) == m.broken.all;
	if (is_cut_at_width(&m))
		p->cut_width = p->counts.width = p->width;
}

/* Forgets what was measured. */
static void measure_reset(struct paste *p)
{
	p->sources = (struct paste_sources){.nr = 0};
	memset(p->half, 0, sizeof(p->half));
	p->width = p->cut_width = 0;
	p->has_whole = false;
	paste_rewind(p);
}

/* Twice if the text is quoted-printable: which parts are is known at the end. `rewind`: goes back to the beginning. */
/* Does '$' end lines of several widths (cat -A, cat -E)? An editor's ends those that it cuts, at one. */
static bool ends_are_marked(struct text_lines *t)
{
	size_t first = 0;
	bool differ = false;
	char *s, *end;

	for (unsigned int nr = 0; nr < MARKED_LINES && (s = text_line_plain(t, &end)); nr++) {
		size_t width = (size_t)(end - s);

		if (width < 2 || end[-1] != '$' || paste_is_prompt(text_skip_quote(s), end))
			continue;
		differ |= first && width != first;
		first = width;
	}
	return differ;
}

int paste_measure(struct text_lines *t, int (*rewind)(struct text_lines *t))
{
	int err;

	t->paste->ends_marked = ends_are_marked(t);
	err = rewind(t);
	if (err)
		return err;
	measure_once(t);
	err = rewind(t);
	if (err || !printable_settle(&t->paste->printable))
		return err;
	measure_reset(t->paste);
	measure_once(t);
	return rewind(t);
}
