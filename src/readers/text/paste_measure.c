// SPDX-License-Identifier: GPL-2.0-or-later
/* How the lines of a pasted text were broken: by words, at the width of a terminal, by a screen, by a mailer. */
#include <string.h>

#include "readers/text/paste_state.h"

enum {
	HARD_LINES_MIN = 2, /* of equal length, that a terminal broke */
	CUT_LINES_MIN = 2,  /* of equal length, that a screen cut */
};

/* What is counted in all lines. */
struct measure {
	uint64_t broken, longest,
		trimmed;	   /* lines that go on; those of the width, and of one blank less */
	uint64_t hard, soft;	   /* those that are one record only without a blank, with one */
	uint64_t cut, cut_longest; /* lines that lack their end; those of the width */
	uint64_t half, half_longest,
		other_longest; /* PASTE_HALF; those of the width, and others of it */
	uint64_t half_kinds;
	bool goes_on; /* as quoted-printable text does */
};

/* The current line is an event and the next one is none. */
static void measure_broken(struct paste *p, struct measure *m, const struct physical *next)
{
	struct paste_joins join = {JOIN_NONE, JOIN_NONE};

	m->broken++;
	m->longest += p->now.width == p->width;
	m->trimmed += p->now.width + PASTE_TRIMMED_MAX == p->width;
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
	m->cut += end == PASTE_CUT;
	m->half += end == PASTE_HALF;
	if (p->now.width == p->width)
		++*(end == PASTE_CUT	? &m->cut_longest
		    : end == PASTE_HALF ? &m->half_longest
					: &m->other_longest);
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
		paste_sources_line(&p->sources, next->source, next->number);
	if ((is_event || next->class == PASTE_HEAD) && next->width > p->width) {
		m->trimmed = next->width == p->width + PASTE_TRIMMED_MAX ? m->longest : 0;
		m->longest = m->cut_longest = m->half_longest = m->other_longest = 0;
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
	uint64_t cut = m->cut, longest = m->cut_longest;

	if (m->half_longest == m->half &&
	    (m->cut_longest || m->half_kinds > 1 || m->other_longest >= CUT_LINES_MIN)) {
		cut += m->half;
		longest += m->half;
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
	struct measure m = {.broken = 0};
	struct physical *next = &p->ahead[0];

	p->now.class = PASTE_OTHER;
	for (; paste_line_read(t, next); paste_lines_swap(&p->now, next))
		measure_line(p, &m, next);
	if (p->now.class >= PASTE_TIMELESS)
		measure_unbroken(p, &m);
	p->hard = m.hard || m.soft
			  ? m.hard > m.soft
			  : m.longest >= HARD_LINES_MIN && m.longest + m.trimmed == m.broken;
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
int paste_measure(struct text_lines *t, int (*rewind)(struct text_lines *t))
{
	int err;

	measure_once(t);
	err = rewind(t);
	if (err || !printable_settle(&t->paste->printable))
		return err;
	measure_reset(t->paste);
	measure_once(t);
	return rewind(t);
}
