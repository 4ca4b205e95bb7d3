// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Text that went through a mailer, a terminal or another program before it came here. A line of a trace is long, and
 * people do not attach files:
 *
 *   > CPU-1234 [034] 5446.762610: kvm_exit: reason          a mailer breaks lines, by words at 72 columns
 *   > IO_INSTRUCTION rip 0xfffff802057f0001                 (RFC 3676), and quotes them
 *   [000] 5446.762610: kvm_exit: reason IO_INSTRUCT=        quoted-printable (RFC 2045)
 *   Nov 25 23:03:17 host kernel: qemu-12 [000] ...          ts, dmesg, syslog, journalctl, docker logs
 *   trace.txt:12:  qemu-12 [000] ...                        grep -n, cat -n
 *   ESC[01;31mESC[Kkvm_pioESC[m: ...                        grep --color=always
 *
 * Lines are cleaned of what no trace contains. A prefix is removed if the rest is an event. Lines are joined where the
 * format's grammar proves that the first is not whole (struct paste_grammar); a record that stays without its end is
 * dropped and counted: half a record would have zeros for what is missing. So is one that was cut at a screen's width,
 * or by the end of the text.
 *
 * This is slow, so readers only begin with it when a plain pass found lines that they do not understand.
 */
#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "readers/text/lines.h"
#include "readers/text/paste.h"
#include "readers/text/paste_clean.h"
#include "readers/text/paste_sources.h"

enum {
	AHEAD = 3,	   /* lines that are read before it is decided what the current one is */
	LAYERS_MAX = 8,	   /* prefixes in front of each other */
	JOINED_MAX = 12,   /* lines of one record */
	HARD_LINES_MIN = 2, /* of equal length, that a terminal broke */
	SOFT_MIN = 73, /* width of a quoted-printable line that goes on: 76, but an "=20" is not broken */
	SOFT_MAX = 76,
	SOFT_NONE = 1 << 30,
	TRIMMED_MAX = 1,    /* blanks that are missing at their ends */
	CUT_LINES_MIN = 2,  /* of equal length, that a screen cut */
	HALVES = 256,	    /* kinds of records that lack fields */
};

/* One line of the file, cleaned. */
struct physical {
	char *buffer; /* owned, TEXT_LINE_MAX + TEXT_LINE_SLACK */
	char *at, *end;
	uint64_t number;
	size_t width; /* as it was in the file */
	enum paste_class class;
	bool flowed; /* ended with a blank: the mailer says that the line goes on */
	bool apart;  /* no part of a record: of a signature, or a shell's prompt */
	bool marked; /* as cut: paste_has_cut_mark() */
	bool last;   /* of a text without a newline at its end */
	struct text_slice source; /* that the prefix names; of length 0: none */
};

struct paste {
	const struct paste_grammar *grammar;
	struct paste_counts counts;
	struct physical now, ahead[AHEAD];
	unsigned int nr_ahead;
	size_t width;	     /* of the longest line */
	bool hard;	     /* lines are broken at this width, within words */
	bool quoted_printable;
	bool has_parts; /* "host.dat: cpus=2": such names are no prefixes */
	unsigned int layers; /* prefixes of the last event */
	char layer[LAYERS_MAX]; /* what they begin with */
	uint64_t number;     /* of the newest line that was read */
	size_t cut_width;    /* lines are cut at this width; 0: they are not */
	struct {	     /* records that lack fields, and are not broken or cut: see PASTE_HALF */
		uint64_t key, nr;
	} half[HALVES];
	struct paste_sources sources;
};

/* ---- lines ---- */

/* Sets x->at behind those prefixes after which the line is best understood; if it is not, behind those of an event. */
static void prefixes_strip(struct paste *p, struct physical *x)
{
	const char *layer[LAYERS_MAX + 1] = {x->at};
	unsigned int nr = 0, best = 0, same = 0;

	while (nr < LAYERS_MAX) {
		const char *s = layer[nr], *next;

		s += strspn(s, " \t");
		next = s < x->end ? paste_prefix_skip(s, p->has_parts) : NULL;
		if (!next || next >= x->end)
			break;
		layer[++nr] = next;
	}
	while (same < nr && same < p->layers && paste_prefix_kind(layer[same]) == p->layer[same])
		same++;
	paste_tabs_replace(x->at, x->end);
	x->class = PASTE_UNKNOWN;
	for (unsigned int i = 0; i <= nr; i++) {
		enum paste_class class = p->grammar->classify(layer[i], x->end);

		if (class >= x->class && (class >= PASTE_TIMELESS || i <= same)) {
			x->class = class;
			best = i;
		}
	}
	if (x->class >= PASTE_TIMELESS)
		p->layers = best;
	for (unsigned int i = 0; i < best && x->class >= PASTE_TIMELESS; i++)
		p->layer[i] = paste_prefix_kind(layer[i]);
	x->source = x->class >= PASTE_TIMELESS
			    ? paste_prefix_source(layer, best, x->class == PASTE_EVENT)
			    : (struct text_slice){NULL, 0};
	x->at += layer[best] - x->at;
}

static bool is_blank(const struct physical *x)
{
	return x->at + strspn(x->at, " \t\n") >= x->end;
}

/* The lines of quoted-printable text that end with '=' go on in the next. */
static void physical_append(struct physical *x, const char *s, const char *end)
{
	size_t capacity = (size_t)(x->buffer + TEXT_LINE_MAX - 1 - x->end),
	       len = (size_t)(end - s) < capacity ? (size_t)(end - s) : capacity;

	memcpy(x->end, s, len);
	x->end += len;
	*x->end = '\n';
	memset(x->end + 1, 0, TEXT_LINE_SLACK);
}

static bool physical_read(struct text_lines *t, struct physical *x)
{
	struct paste *p = t->paste;
	char *end, *s = text_line_plain(t, &end);

	if (!s)
		return false;
	x->at = x->end = x->buffer;
	x->number = ++p->number;
	x->width = (size_t)(end - s);
	x->apart = t->signature;
	physical_append(x, s, end);
	while (p->quoted_printable && x->end > x->at && x->end[-1] == '=' &&
	       (s = text_line_plain(t, &end))) {
		x->end--;
		p->number++;
		physical_append(x, s, end);
	}
	x->last = t->unended && t->at == t->end;
	if (p->quoted_printable)
		x->end = paste_printable_decode(x->at, x->end);
	x->end = paste_clean(x->at, x->end);
	x->flowed = x->end - x->at >= 2 && x->end[-1] == ' ' && x->end[-2] != ' ';
	*x->end = '\n';
	memset(x->end + 1, 0, TEXT_LINE_SLACK);
	p->has_parts |= memmem(x->at, (size_t)(x->end - x->at), ": cpus=", 7) != NULL;
	prefixes_strip(p, x);
	x->apart |= paste_is_prompt(x->at, x->end);
	x->marked = x->class >= PASTE_TIMELESS && paste_has_cut_mark(x->at, x->end);
	if (is_blank(x) || x->apart)
		x->class = PASTE_OTHER;
	return true;
}

/* Line number i after the current one, 0: the next. NULL: there is none. */
static struct physical *ahead_get(struct text_lines *t, unsigned int i)
{
	struct paste *p = t->paste;

	while (p->nr_ahead <= i && physical_read(t, &p->ahead[p->nr_ahead]))
		p->nr_ahead++;
	return i < p->nr_ahead ? &p->ahead[i] : NULL;
}

/* Removes the next n lines; their buffers stay. */
static void ahead_drop(struct paste *p, unsigned int n)
{
	for (; n; n--) {
		struct physical first = p->ahead[0];

		for (unsigned int i = 1; i < p->nr_ahead; i++)
			p->ahead[i - 1] = p->ahead[i];
		p->ahead[--p->nr_ahead] = first;
	}
}

static void swap_lines(struct physical *a, struct physical *b)
{
	struct physical x = *a;

	*a = *b;
	*b = x;
}

static bool now_next(struct text_lines *t)
{
	struct paste *p = t->paste;

	if (!ahead_get(t, 0))
		return false;
	swap_lines(&p->now, &p->ahead[0]);
	ahead_drop(p, 1);
	return true;
}

/* ---- joining ---- */

/* Appends `more` to the current line, with a blank between them or without; the old end is returned. */
static char *now_append(struct paste *p, const struct physical *more, bool blank)
{
	struct physical *x = &p->now;
	char *old = x->end;
	const char *s = more->at + (blank ? strspn(more->at, " ") : 0);
	static const char space[] = " ";

	while (blank && x->end > x->at && x->end[-1] == ' ')
		x->end--;
	if (blank)
		physical_append(x, space, space + 1);
	physical_append(x, s, more->end);
	return old;
}

static void now_cut(struct physical *x, char *end)
{
	x->end = end;
	*end = '\n';
	memset(end + 1, 0, TEXT_LINE_SLACK);
}

/* "CPU-12 [001] 5.465404:", or without the time: is it an event together with 1 or 2 of the next lines? */
static bool head_join_so(struct text_lines *t, bool blank)
{
	struct paste *p = t->paste;
	char *end = p->now.end;

	for (unsigned int n = 0; n < 2; n++) {
		const struct physical *more = ahead_get(t, n);

		bool timed = !n && more && more->class == PASTE_EVENT && text_is_digit(*more->at);

		if (!more ||
		    (!timed && more->class != PASTE_UNKNOWN && more->class != PASTE_TIMELESS))
			break;
		now_append(p, more, blank);
		if (p->grammar->classify(p->now.at, p->now.end) != PASTE_EVENT)
			continue;
		p->now.class = PASTE_EVENT;
		p->now.width = more->width;
		p->now.flowed = more->flowed;
		p->now.last = more->last;
		ahead_drop(p, n + 1);
		return true;
	}
	now_cut(&p->now, end);
	return false;
}

/* A terminal breaks lines within words. */
static bool head_join(struct text_lines *t)
{
	return head_join_so(t, true) || (!t->paste->now.flowed && head_join_so(t, false));
}

/* Had the first word of `more` no space in the line before? */
static bool is_wide(const struct paste *p, const struct physical *more)
{
	const char *s = more->at + strspn(more->at, " ");

	return p->now.flowed || p->now.width + 1 + strcspn(s, " \n") > p->width;
}

/* Of the current line, `half`, and the next one: are they one record if a blank is between them, or not? */
static enum paste_join join_try(struct paste *p, const char *half, const struct physical *more,
				bool blank)
{
	size_t len = (size_t)(p->now.end - p->now.at);
	char *end = now_append(p, more, blank);
	enum paste_join joins =
		p->grammar->joins(half, half + len, p->now.at, p->now.end, is_wide(p, more));

	memcpy(p->now.at, half, len);
	now_cut(&p->now, end);
	return joins;
}

struct join {
	enum paste_join blank, no_blank;
};

/* Both ways; false: the line is too long. */
static bool join_both(struct paste *p, const struct physical *more, struct join *ret)
{
	char half[TEXT_LINE_SLACK + 1024];
	size_t len = (size_t)(p->now.end - p->now.at);

	if (len > sizeof(half) - TEXT_LINE_SLACK - 1)
		return false;
	memcpy(half, p->now.at, len);
	half[len] = '\n';
	memset(half + len + 1, 0, TEXT_LINE_SLACK);
	ret->blank = join_try(p, half, more, true);
	ret->no_blank = p->now.flowed ? JOIN_NONE : join_try(p, half, more, false);
	return true;
}

/* Joins the next line if it continues the current one. */
static bool tail_join(struct text_lines *t)
{
	struct paste *p = t->paste;
	const struct physical *more = ahead_get(t, 0);
	bool full = p->now.width >= p->width - TRIMMED_MAX, hard = p->hard && full,
	     blank = !hard || p->now.width < p->width;
	struct join join;
	enum paste_join best;

	if (!more || more->class == PASTE_HEAD || more->class >= PASTE_TIMELESS || is_blank(more) ||
	    more->apart || p->now.marked || !join_both(p, more, &join))
		return false;
	if (join.blank != join.no_blank && (full || join.blank))
		blank = join.blank > join.no_blank || !full;
	best = blank ? join.blank : join.no_blank;
	if (best < JOIN_HALF && more->class != PASTE_UNKNOWN)
		return false;
	if (!best && !(hard && p->grammar->continues && p->grammar->continues(more->at, more->end)))
		return false;
	now_append(p, more, blank);
	p->now.width = more->width;
	p->now.flowed = more->flowed;
	p->now.last = more->last;
	ahead_drop(p, 1);
	return true;
}

static unsigned int half_slot(const struct paste *p, uint64_t key)
{
	unsigned int i = (unsigned int)(key % HALVES);

	for (unsigned int n = 0; n < HALVES && p->half[i].nr && p->half[i].key != key; n++)
		i = (i + 1) % HALVES;
	return i;
}

/* Is the record that is in the current line to be dropped? Says otherwise whether its last value is sure. */
static bool now_is_cut(struct text_lines *t)
{
	struct paste *p = t->paste;
	const struct physical *x = &p->now, *more = ahead_get(t, 0);
	bool at_width = p->cut_width && x->width >= p->cut_width - TRIMMED_MAX,
	     open = x->last || (p->cut_width && x->width == p->cut_width),
	     goes_on = !at_width && more && more->class >= PASTE_TIMELESS;
	uint64_t key = 0;

	t->open_end = false;
	if (x->class < PASTE_TIMELESS || x->marked || !p->grammar->ends)
		return x->class >= PASTE_TIMELESS && x->marked;
	switch (p->grammar->ends(x->at, x->end, open, &key)) {
	case PASTE_CUT:
		return true;
	case PASTE_HALF:
		t->open_end = open && !x->last;
		return !t->open_end && !goes_on &&
		       (open || at_width || p->half[half_slot(p, key)].nr < 2);
	case PASTE_OPEN:
		t->open_end = open;
		return false;
	default:
		return false;
	}
}

char *paste_next(struct text_lines *t, char **ret_end)
{
	struct paste *p = t->paste;

	while (now_next(t)) {
		unsigned int nr = p->now.class <= PASTE_HEAD && head_join(t);

		while (p->now.class >= PASTE_TIMELESS && nr < JOINED_MAX && tail_join(t))
			nr++;
		bool is_cut = now_is_cut(t);

		p->counts.joined += nr > 0;
		t->number = p->now.number; /* others were read ahead */
		t->signature = p->now.apart;
		if (is_cut) {
			p->counts.first_cut = p->counts.cut++ ? p->counts.first_cut : t->number;
			continue;
		}
		if (t->open_end)
			p->counts.first_open = p->counts.open++ ? p->counts.first_open : t->number;
		*ret_end = p->now.end;
		return p->now.at;
	}
	return NULL;
}

/* ---- begin and end ---- */

/* What is counted in all lines. */
struct measure {
	uint64_t broken, longest, trimmed; /* lines that go on; those of the width, and of one blank less */
	uint64_t hard, soft;		   /* those that are one record only without a blank, with one */
	uint64_t printable;
	uint64_t cut, cut_longest; /* lines that lack their end; those of the width */
	uint64_t half, half_longest, other_longest; /* PASTE_HALF; those of the width, and others of it */
	uint64_t half_kinds;
	size_t widest;
	bool goes_on;
};

/* The current line is an event and the next one is none. */
static void measure_broken(struct paste *p, struct measure *m, const struct physical *next)
{
	struct join join = {JOIN_NONE, JOIN_NONE};

	m->broken++;
	m->longest += p->now.width == p->width;
	m->trimmed += p->now.width + TRIMMED_MAX == p->width;
	join_both(p, next, &join);
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
	m->cut += end == PASTE_CUT;
	m->half += end == PASTE_HALF;
	if (p->now.width == p->width)
		++*(end == PASTE_CUT	? &m->cut_longest
		    : end == PASTE_HALF ? &m->half_longest
					: &m->other_longest);
	if (end == PASTE_HALF) {
		unsigned int i = half_slot(p, key);

		m->half_kinds += !p->half[i].nr;
		p->half[i].nr += !p->half[i].nr || p->half[i].key == key;
		p->half[i].key = p->half[i].nr == 1 ? key : p->half[i].key;
	}
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
	if (is_event && m->goes_on)
		m->printable += SOFT_NONE;
	if ((is_event || next->class == PASTE_HEAD) && next->width > p->width) {
		m->trimmed = next->width == p->width + TRIMMED_MAX ? m->longest : 0;
		m->longest = m->cut_longest = m->half_longest = m->other_longest = 0;
		p->width = next->width;
	}
	m->goes_on = next->end > next->at && next->end[-1] == '=';
	if (m->goes_on)
		m->printable += next->width >= SOFT_MIN && next->width <= SOFT_MAX ? 1 : SOFT_NONE;
	m->printable += paste_is_printable(next->at, next->end) ? 0 : SOFT_NONE;
	m->widest = next->width > m->widest ? next->width : m->widest;
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
static void measure(struct text_lines *t)
{
	struct paste *p = t->paste;
	struct measure m = {.broken = 0};
	struct physical *next = &p->ahead[0];

	p->now.class = PASTE_OTHER;
	for (; physical_read(t, next); swap_lines(&p->now, next))
		measure_line(p, &m, next);
	if (p->now.class >= PASTE_TIMELESS)
		measure_unbroken(p, &m);
	p->quoted_printable = m.printable && m.printable < SOFT_NONE && m.widest <= SOFT_MAX;
	p->hard = m.hard || m.soft
			  ? m.hard > m.soft
			  : m.longest >= HARD_LINES_MIN && m.longest + m.trimmed == m.broken;
	if (is_cut_at_width(&m))
		p->cut_width = p->counts.width = p->width;
}

static struct paste *paste_new(const struct paste_grammar *grammar)
{
	struct paste *p = calloc(1, sizeof(*p));
	bool ok = p;

	for (int i = 0; ok && i <= AHEAD; i++) {
		struct physical *x = i < AHEAD ? &p->ahead[i] : &p->now;

		x->buffer = calloc(1, TEXT_LINE_MAX + TEXT_LINE_SLACK);
		ok = x->buffer;
	}
	if (!ok) {
		fail(-ENOMEM, "out of memory");
		paste_free(p);
		return NULL;
	}
	p->grammar = grammar;
	return p;
}

void paste_free(struct paste *p)
{
	if (!p)
		return;
	for (int i = 0; i < AHEAD; i++)
		free(p->ahead[i].buffer);
	free(p->now.buffer);
	free(p);
}

void paste_rewind(struct paste *p)
{
	p->counts = (struct paste_counts){.width = p->cut_width};
	p->nr_ahead = 0;
	p->layers = 0;
	p->number = 0;
}

const struct paste_counts *paste_counts_of(const struct text_lines *t)
{
	static const struct paste_counts none;

	return t->paste ? &t->paste->counts : &none;
}

int paste_check(struct text_lines *t, struct trace_info *info)
{
	return t->paste ? paste_sources_check(&t->paste->sources, info) : 0;
}

int paste_begin(struct text_lines *t, const struct paste_grammar *grammar)
{
	int err = text_lines_rewind(t);

	if (err)
		return err;
	t->paste = paste_new(grammar);
	if (!t->paste)
		return -ENOMEM;
	measure(t);
	return text_lines_rewind(t);
}

bool paste_has_event(const char *text, size_t len, const struct paste_grammar *grammar)
{
	struct text_lines t = {.fd = -1, .ended = true};
	bool found = false;
	char *end;

	t.buffer = calloc(1, len + 1 + TEXT_LINE_SLACK);
	t.paste = t.buffer ? paste_new(grammar) : NULL;
	if (t.paste) {
		memcpy(t.buffer, text, len);
		t.buffer[len] = '\n';
		t.at = t.buffer;
		t.end = t.buffer + len + 1;
		measure(&t);
		paste_rewind(t.paste);
		t.at = t.buffer;
		while (!found && paste_next(&t, &end))
			found = t.paste->now.class >= PASTE_TIMELESS;
		found |= t.paste->counts.cut > 0;
	}
	text_lines_close(&t);
	return found;
}
