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
 * dropped and counted: half a record would have zeros for what is missing.
 *
 * This is slow, so readers only begin with it when a plain pass found lines that they do not understand.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "readers/text/lines.h"
#include "readers/text/paste.h"
#include "readers/text/paste_clean.h"

enum {
	AHEAD = 3,	   /* lines that are read before it is decided what the current one is */
	LAYERS_MAX = 8,	   /* prefixes in front of each other */
	JOINED_MAX = 12,   /* lines of one record */
	HARD_LINES_MIN = 2, /* of equal length, that a terminal broke */
	SOFT_MIN = 73, /* width of a quoted-printable line that goes on: 76, but an "=20" is not broken */
	SOFT_MAX = 76,
	SOFT_NONE = 1 << 30,
	TRIMMED_MAX = 1,    /* blanks that are missing at their ends */
};

/* One line of the file, cleaned. */
struct physical {
	char *buffer; /* owned, TEXT_LINE_MAX + TEXT_LINE_SLACK */
	char *at, *end;
	uint64_t number;
	size_t width; /* as it was in the file */
	enum paste_class class;
	bool flowed; /* ended with a blank: the mailer says that the line goes on */
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
	uint64_t number;     /* of the newest line that was read */
};

/* ---- lines ---- */

static void tabs_replace(char *s, const char *end)
{
	for (; s < end; s++)
		*s = *s == '\t' ? ' ' : *s;
}

/* Sets x->at behind those prefixes after which the line is best understood. */
static void prefixes_strip(struct paste *p, struct physical *x)
{
	const char *layer[LAYERS_MAX + 1] = {x->at};
	unsigned int nr = 0, best = 0;

	while (nr < LAYERS_MAX) {
		const char *s = layer[nr], *next;

		s += strspn(s, " \t");
		next = s < x->end ? paste_prefix_skip(s, p->has_parts) : NULL;
		if (!next || next >= x->end)
			break;
		layer[++nr] = next;
	}
	tabs_replace(x->at, x->end);
	x->class = PASTE_UNKNOWN;
	for (unsigned int i = 0; i <= nr; i++) {
		enum paste_class class = p->grammar->classify(layer[i], x->end);

		if (class >= x->class && (class >= PASTE_TIMELESS || i <= p->layers)) {
			x->class = class;
			best = i;
		}
	}
	if (x->class >= PASTE_TIMELESS)
		p->layers = best;
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
	physical_append(x, s, end);
	while (p->quoted_printable && x->end > x->at && x->end[-1] == '=' &&
	       (s = text_line_plain(t, &end))) {
		x->end--;
		p->number++;
		physical_append(x, s, end);
	}
	if (p->quoted_printable)
		x->end = paste_printable_decode(x->at, x->end);
	x->end = paste_clean(x->at, x->end);
	x->flowed = x->end - x->at >= 2 && x->end[-1] == ' ' && x->end[-2] != ' ';
	*x->end = '\n';
	memset(x->end + 1, 0, TEXT_LINE_SLACK);
	p->has_parts |= memmem(x->at, (size_t)(x->end - x->at), ": cpus=", 7) != NULL;
	prefixes_strip(p, x);
	if (is_blank(x))
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

/* "CPU-12 [001] 5.465404:" and the event in the next lines: is it one together with 1 or 2 of them? */
static bool head_join(struct text_lines *t)
{
	struct paste *p = t->paste;
	char *end = p->now.end;

	for (unsigned int n = 0; n < 2; n++) {
		const struct physical *more = ahead_get(t, n);

		if (!more || (more->class != PASTE_UNKNOWN && more->class != PASTE_TIMELESS))
			break;
		now_append(p, more, true);
		if (p->grammar->classify(p->now.at, p->now.end) != PASTE_EVENT)
			continue;
		p->now.class = PASTE_EVENT;
		p->now.width = more->width;
		p->now.flowed = more->flowed;
		ahead_drop(p, n + 1);
		return true;
	}
	now_cut(&p->now, end);
	return false;
}

/* Had the first word of `more` no space in the line before? */
static bool is_wide(const struct paste *p, const struct physical *more)
{
	const char *s = more->at + strspn(more->at, " ");

	return p->now.flowed || p->now.width + 1 + strcspn(s, " \n") > p->width;
}

/* Joins the next line if it continues the current one. */
static bool tail_join(struct text_lines *t)
{
	struct paste *p = t->paste;
	const struct physical *more = ahead_get(t, 0);
	bool hard = p->hard && p->now.width >= p->width - TRIMMED_MAX, joins;
	char half[TEXT_LINE_SLACK + 1024], *end;
	size_t len = (size_t)(p->now.end - p->now.at);

	if (!more || more->class != PASTE_UNKNOWN || len > sizeof(half) - TEXT_LINE_SLACK - 1)
		return false;
	memcpy(half, p->now.at, len);
	half[len] = '\n';
	memset(half + len + 1, 0, TEXT_LINE_SLACK);
	end = now_append(p, more, !hard || p->now.width < p->width);
	joins = hard || p->grammar->joins(half, half + len, p->now.at, p->now.end,
					  is_wide(p, more));
	if (!joins) {
		memcpy(p->now.at, half, len);
		now_cut(&p->now, end);
		return false;
	}
	p->now.width = more->width;
	p->now.flowed = more->flowed;
	ahead_drop(p, 1);
	return true;
}

char *paste_next(struct text_lines *t, char **ret_end)
{
	struct paste *p = t->paste;

	while (now_next(t)) {
		unsigned int nr = p->now.class <= PASTE_HEAD && head_join(t);

		while (p->now.class >= PASTE_TIMELESS && nr < JOINED_MAX && tail_join(t))
			nr++;
		p->counts.joined += nr > 0;
		t->number = p->now.number;
		if (p->now.class >= PASTE_TIMELESS && p->grammar->is_cut &&
		    p->grammar->is_cut(p->now.at, p->now.end)) {
			p->counts.first_cut = p->counts.cut++ ? p->counts.first_cut : t->number;
			continue;
		}
		*ret_end = p->now.end;
		return p->now.at;
	}
	return NULL;
}

/* ---- begin and end ---- */

/* Has a record more fields if this line is joined to the next with a blank than without: did a mailer break it? */
static bool breaks_at_blank(struct paste *p, const struct physical *more)
{
	char *end = p->now.end;
	unsigned int without, with;

	if (!p->grammar->fields)
		return false;
	now_append(p, more, false);
	without = p->grammar->fields(p->now.at, p->now.end);
	now_cut(&p->now, end);
	now_append(p, more, true);
	with = p->grammar->fields(p->now.at, p->now.end);
	now_cut(&p->now, end);
	return with > without;
}

/*
 * The widths of the lines, and whether a terminal broke them: then all broken lines are equally long, but those of
 * which a blank at the end was removed.
 */
static void measure(struct text_lines *t)
{
	struct paste *p = t->paste;
	uint64_t broken = 0, longest = 0, trimmed = 0, soft = 0;
	size_t width = 0, widest = 0;
	bool event = false, goes_on = false, mailed = false;
	struct physical *next = &p->ahead[0];

	for (; physical_read(t, next); swap_lines(&p->now, next)) {
		if (next->class == PASTE_UNKNOWN && event) {
			broken++;
			longest += width == p->width;
			trimmed += width + TRIMMED_MAX == p->width;
			mailed |= breaks_at_blank(p, next);
		}
		event = next->class >= PASTE_TIMELESS;
		soft += event && goes_on ? SOFT_NONE : 0;
		width = next->width;
		if (event && width > p->width) {
			trimmed = width == p->width + TRIMMED_MAX ? longest : 0;
			longest = 0;
			p->width = width;
		}
		goes_on = next->end > next->at && next->end[-1] == '=';
		if (goes_on)
			soft += width >= SOFT_MIN && width <= SOFT_MAX ? 1 : SOFT_NONE;
		soft += paste_is_printable(next->at, next->end) ? 0 : SOFT_NONE;
		widest = width > widest ? width : widest;
	}
	p->quoted_printable = soft && soft < SOFT_NONE && widest <= SOFT_MAX;
	p->hard = longest >= HARD_LINES_MIN && longest + trimmed == broken && !mailed;
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
	p->counts = (struct paste_counts){0};
	p->nr_ahead = 0;
	p->layers = 0;
	p->number = 0;
}

const struct paste_counts *paste_counts_of(const struct text_lines *t)
{
	static const struct paste_counts none;

	return t->paste ? &t->paste->counts : &none;
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
	}
	text_lines_close(&t);
	return found;
}
