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
#include "readers/text/paste_state.h"

enum { JOINED_MAX = 12 }; /* lines of one record */

/* ---- lines ---- */

/* Line number i after the current one, 0: the next. NULL: there is none. */
static struct physical *ahead_get(struct text_lines *t, unsigned int i)
{
	struct paste *p = t->paste;

	while (p->nr_ahead <= i && paste_line_read(t, &p->ahead[p->nr_ahead]))
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

static bool now_next(struct text_lines *t)
{
	struct paste *p = t->paste;

	if (!ahead_get(t, 0))
		return false;
	paste_lines_swap(&p->now, &p->ahead[0]);
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
		paste_line_append(x, space, space + 1);
	paste_line_append(x, s, more->end);
	return old;
}

/* "4217@1764230400.103017:" is the beginning of a record of QEMU, after whatever number a line above ends in. */
static bool begins_with_thread(const struct physical *x)
{
	return x->at[strspn(x->at, "0123456789")] == '@';
}

/* "CPU-12 [001] 5.465404:", or without the time: is it an event together with 1 or 2 of the next lines? */
static bool head_join_so(struct text_lines *t, bool blank)
{
	struct paste *p = t->paste;
	char *end = p->now.end, last = end[-1];

	if (!blank && last == '\\') /* Emacs marks where it broke a word */
		paste_line_cut(&p->now, end - 1);

	for (unsigned int n = 0; n < 2; n++) {
		const struct physical *more = ahead_get(t, n);

		bool timed = !n && more && more->class == PASTE_EVENT && text_is_digit(*more->at) &&
			     !begins_with_thread(more);

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
	paste_line_cut(&p->now, end);
	end[-1] = last;
	return false;
}

/* A terminal breaks lines within words. */
static bool head_join(struct text_lines *t)
{
	const struct physical *x = &t->paste->now;

	if (x->end == x->at)
		return false;
	return (x->end[-1] != '\\' && head_join_so(t, true)) ||
	       (!x->flowed && head_join_so(t, false));
}

/* Had the first word of `more` no space in the line before? */
static bool is_wide(const struct paste *p, const struct physical *more)
{
	const char *s = more->at + strspn(more->at, " ");

	return p->now.flowed || p->now.wrapped || p->now.width + 1 + strcspn(s, " \n") > p->width;
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
	paste_line_cut(&p->now, end);
	return joins;
}

/* Both ways; false: the line is too long. */
bool paste_join_both(struct paste *p, const struct physical *more, struct paste_joins *ret)
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

/* The current line and the next n - 1, which are blank, and then `more` become one. */
static void tail_append(struct paste *p, const struct physical *more, unsigned int n, bool blank)
{
	now_append(p, more, blank);
	p->now.width = more->width;
	p->now.flowed = more->flowed;
	p->now.last = more->last;
	p->now.wrapped = false;
	ahead_drop(p, n);
}

/* Between the lines of a record are empty ones. */
static bool blanks_join(struct text_lines *t)
{
	struct paste *p = t->paste;
	struct paste_joins join;
	unsigned int n = 0;
	const struct physical *more;
	uint64_t key;

	while ((more = ahead_get(t, n)) && paste_line_is_blank(more) && n + 1 < PASTE_AHEAD)
		n++;
	if (!n || !more || more->apart || more->class == PASTE_HEAD ||
	    more->class >= PASTE_TIMELESS || paste_line_is_blank(more) || p->now.marked ||
	    !p->grammar->ends ||
	    p->grammar->ends(p->now.at, p->now.end, false, &key) >= PASTE_OPEN ||
	    !paste_join_both(p, more, &join) ||
	    (join.blank < JOIN_HALF && join.no_blank < JOIN_HALF))
		return false;
	tail_append(p, more, n + 1, join.blank >= join.no_blank);
	return true;
}

/*
 * An editor or a person marked where a line goes on: "\\" at the end of Emacs, "+ " at the beginning of vim's
 * showbreak, arrows. Without the marks, lines are joined as the grammar proves; if it does not, the record is cut.
 */
static bool marks_join(struct text_lines *t, bool *ret)
{
	struct paste *p = t->paste;
	struct physical *more = ahead_get(t, 0);
	char *end, *old_end = p->now.end, *old_at, *more_end, last = old_end[-1];
	struct paste_joins join = {JOIN_NONE, JOIN_NONE};
	bool goes_on, full, continues, blank;

	if (!more || more->class == PASTE_HEAD || more->class >= PASTE_TIMELESS ||
	    paste_line_is_blank(more) || more->apart || p->now.marked)
		return false;
	end = paste_mark_before(p->now.at, old_end);
	old_at = more->at;
	more->at = paste_mark_skip(old_at, more->end);
	if (end == old_end && more->at == old_at && !p->now.wrapped)
		return false;
	full = p->now.width + (size_t)(more->at - old_at) + PASTE_TRIMMED_MAX >= p->width;
	more_end = paste_mark_before(more->at, more->end);
	goes_on = more_end < more->end && !strchr("$+", *more_end);
	paste_line_cut(more, more_end);
	p->now.flowed = end > p->now.at && end[-1] == ' ';
	p->now.marked = (p->now.wrapped || end < old_end) && !strchr("$+", last);
	p->now.wrapped = true;
	paste_line_cut(&p->now, end);
	paste_join_both(p, more, &join);
	continues = p->grammar->continues && p->grammar->continues(more->at, more->end);
	*ret = join.blank || join.no_blank || (full && continues);
	if (*ret) {
		p->now.marked = false;
		blank = *more->at == ' ' ||
			(last == '\\' ? p->now.flowed : join.blank && (!full || !p->hard));
		if (join.blank != join.no_blank)
			blank = join.blank > join.no_blank;
		tail_append(p, more, 1, blank);
		p->now.wrapped = goes_on;
		return true;
	}
	last = *more->at;
	more->at = old_at;
	p->now.wrapped = false;
	p->now.marked |= continues;
	return p->now.marked || !isalnum((unsigned char)last);
}

/* Joins the next line if it continues the current one. */
static bool tail_join(struct text_lines *t)
{
	struct paste *p = t->paste;
	const struct physical *more = ahead_get(t, 0);
	bool full = p->now.width >= p->width - PASTE_TRIMMED_MAX, hard = p->hard && full,
	     blank = !hard || p->now.width < p->width;
	struct paste_joins join;
	enum paste_join best;
	bool joined = false;

	if (blanks_join(t))
		return true;
	if (marks_join(t, &joined))
		return joined;
	if (!more || more->class == PASTE_HEAD || more->class >= PASTE_TIMELESS ||
	    paste_line_is_blank(more) || more->apart || p->now.marked ||
	    !paste_join_both(p, more, &join))
		return false;
	if (join.blank != join.no_blank && (full || join.blank))
		blank = join.blank > join.no_blank || (!full && join.no_blank < JOIN_WHOLE);
	best = blank ? join.blank : join.no_blank;
	if (best < JOIN_HALF &&
	    (more->class != PASTE_UNKNOWN || printable_soft(p->now.at, p->now.end)))
		return false;
	if (!best && !(hard && p->grammar->continues && p->grammar->continues(more->at, more->end)))
		return false;
	tail_append(p, more, 1, blank);
	return true;
}

unsigned int paste_half_slot(const struct paste *p, uint64_t key)
{
	unsigned int i = (unsigned int)(key % PASTE_HALVES);

	for (unsigned int n = 0; n < PASTE_HALVES && p->half[i].nr && p->half[i].key != key; n++)
		i = (i + 1) % PASTE_HALVES;
	return i;
}

/* Is the record that is in the current line to be dropped? Says otherwise whether its last value is sure. */
static bool now_is_cut(struct text_lines *t)
{
	struct paste *p = t->paste;
	const struct physical *x = &p->now, *more = ahead_get(t, 0);
	bool at_width = p->cut_width && x->width >= p->cut_width - PASTE_TRIMMED_MAX,
	     open = x->last || (p->cut_width && x->width == p->cut_width),
	     goes_on = !at_width && more && more->class >= PASTE_TIMELESS;
	uint64_t key = 0;

	t->open_end = false;
	if (x->class >= PASTE_TIMELESS && more && more->class <= PASTE_HEAD &&
	    printable_soft(x->at, x->end))
		return true; /* quoted-printable, in a text of which the rest is not */
	if (x->class >= PASTE_TIMELESS && x->end[-1] == '\\' && (!more || x->end[-2] != ' '))
		return true; /* the line goes on, and the next one is another event */
	if (x->class >= PASTE_TIMELESS &&
	    (x->wrapped || x->tight ||
	     (p->grammar->has_edges && paste_ends_at_mark(x->at, x->end))))
		return true;
	if (x->class < PASTE_TIMELESS || x->marked || !p->grammar->ends)
		return x->class >= PASTE_TIMELESS && x->marked;
	switch (p->grammar->ends(x->at, x->end, open, &key)) {
	case PASTE_CUT:
		return true;
	case PASTE_HALF:
		t->open_end = open && !x->last;
		if (x->barred && x->width == p->width)
			return true;
		return !t->open_end && !goes_on &&
		       (open || at_width || p->half[paste_half_slot(p, key)].nr < 2);
	case PASTE_BARE:
		return p->has_whole;
	case PASTE_OPEN:
		t->open_end = open;
		return p->hard && x->width >= p->width && more && !more->apart &&
		       more->class == PASTE_UNKNOWN; /* the rest, of which nothing proves that */
	default:
		return false;
	}
}

char *paste_next(struct text_lines *t, char **ret_end)
{
	struct paste *p = t->paste;

	t->after_drop = false;
	/* lines cut at a width lack those kinds of records that are longer, whatever is between them */
	for (; now_next(t); t->after_drop = !p->cut_width) {
		unsigned int nr = p->now.class <= PASTE_HEAD && head_join(t);

		while (p->now.class >= PASTE_TIMELESS && nr < JOINED_MAX && tail_join(t))
			nr++;
		bool is_cut = now_is_cut(t);

		p->counts.joined += nr > 0;
		t->number = p->now.number; /* others were read ahead */
		t->record = p->now.record;
		t->signature = p->now.apart;
		t->in_log = p->now.in_log;
		t->is_fence = p->now.is_fence;
		t->log = p->now.log;
		if (is_cut && p->now.glued) {
			p->counts.first_glued =
				p->counts.glued++ ? p->counts.first_glued : t->number;
			continue;
		}
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

static struct paste *paste_new(const struct paste_grammar *grammar)
{
	struct paste *p = calloc(1, sizeof(*p));
	bool ok = p;

	for (int i = 0; ok && i <= PASTE_AHEAD; i++) {
		struct physical *x = i < PASTE_AHEAD ? &p->ahead[i] : &p->now;

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
	for (int i = 0; i < PASTE_AHEAD; i++)
		free(p->ahead[i].buffer);
	free(p->now.buffer);
	free(p);
}

void paste_rewind(struct paste *p)
{
	p->counts = (struct paste_counts){.width = p->cut_width};
	p->nr_ahead = 0;
	p->layers = 0;
	p->head = (struct text_front){.words = 0};
	p->is_log = false;
	p->number = p->records = 0;
	p->in_split = false;
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
	return paste_measure(t, text_lines_rewind);
}

static int memory_rewind(struct text_lines *t)
{
	t->at = t->buffer;
	paste_rewind(t->paste);
	return 0;
}

bool paste_has_event(const char *text, size_t len, const struct paste_grammar *grammar)
{
	struct text_lines t = {.fd = -1, .ended = true};
	bool found = false;
	char *end;

	t.buffer = text_copy(text, len);
	t.paste = t.buffer ? paste_new(grammar) : NULL;
	if (t.paste) {
		t.at = t.buffer;
		t.end = t.buffer + len + 1;
		paste_measure(&t, memory_rewind);
		while (!found && paste_next(&t, &end))
			found = t.paste->now.class >= PASTE_TIMELESS;
		found |= t.paste->counts.cut + t.paste->counts.glued > 0;
	}
	text_lines_close(&t);
	return found;
}
