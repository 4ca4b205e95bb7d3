// SPDX-License-Identifier: GPL-2.0-or-later
/* The lines of a pasted text, one by one: decoded, cleaned, and without the prefixes that are before an event. */
#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "base/array.h"
#include "readers/text/paste_clean.h"
#include "readers/text/paste_json.h"
#include "readers/text/paste_state.h"
#include "readers/text/text_line.h"

/* A copy, as the line may be cut before what names it. */
static void source_keep(struct physical *x, struct text_slice source)
{
	snprintf(x->source, sizeof(x->source), "%.*s", (int)source.len,
		 source.len ? source.at : "");
}

/* Sets x->at behind those prefixes after which the line is best understood; if it is not, behind those of an event. */
static void prefixes_strip(struct paste *p, struct physical *x)
{
	const char *layer[PASTE_LAYERS_MAX + 1];
	unsigned int nr = paste_layers_find(layer, x->at, &x->end, p->has_parts), best = 0,
		     same = 0;

	while (same < nr && same < p->layers && paste_prefix_kind(layer[same]) == p->layer[same])
		same++;
	paste_tabs_replace(x->at, x->end);
	x->class = PASTE_UNKNOWN;
	for (unsigned int i = 0; i <= nr; i++) {
		enum paste_class class = p->grammar->classify(layer[i], x->end);

		if (class >= x->class &&
		    (class >= PASTE_TIMELESS || class == PASTE_HEAD || i <= same)) {
			x->class = class;
			best = i;
		}
	}
	x->in_log = array_any(nr, i, paste_prefix_is_date(layer[i]));
	if (x->class >= PASTE_TIMELESS || (x->class == PASTE_HEAD && best > p->layers)) {
		p->layers = best;
		p->is_log = array_any(best, i, paste_prefix_is_date(layer[i]));
	}
	x->in_log &= p->is_log;
	x->log = (struct text_log){0};
	*x->source = '\0';
	for (unsigned int i = 0; i < best && x->class == PASTE_TIMELESS; i++)
		paste_prefix_log(layer[i], x->end, &x->log);
	x->log.is_coarse = x->in_log && !x->log.has_time;
	for (unsigned int i = 0; i < best && i < p->layers && x->class != PASTE_OTHER; i++)
		p->layer[i] = paste_prefix_kind(layer[i]);
	if (x->class >= PASTE_TIMELESS)
		source_keep(x, paste_prefix_source(layer, best, x->class == PASTE_EVENT));
	x->at = paste_layers_strip(layer, best, x->at, &x->end);
}

/* Removes what is before the event, and no prefix that is known. A string of JSON or Ruby ends where it is closed. */
static void head_strip(struct paste *p, struct physical *x)
{
	const char *begin = x->at;
	char *quote;

	if (x->class < PASTE_TIMELESS || !p->grammar->head_end)
		return;
	x->at += p->grammar->head_end(x->at, x->end, &p->head) - x->at;
	quote = x->at > begin && x->at[-1] == '"'
			? memrchr(x->at, '"', (size_t)(x->end - x->at))
			: NULL;
	if (quote)
		paste_line_cut(x, quote);
	if (!*x->source)
		memcpy(x->source, p->head.source, sizeof(x->source));
}

bool paste_line_is_blank(const struct physical *x)
{
	return x->at + strspn(x->at, " \t\n>") >= x->end; /* of a quote, too */
}

void paste_line_append(struct physical *x, const char *s, const char *end)
{
	size_t capacity = (size_t)(x->buffer + TEXT_LINE_MAX - 1 - x->end),
	       len = (size_t)(end - s) < capacity ? (size_t)(end - s) : capacity;

	memcpy(x->end, s, len);
	x->end += len;
	*x->end = '\n';
	memset(x->end + 1, 0, TEXT_LINE_SLACK);
}

/* Appends a line of quoted-printable text up to its first newline; false: it may go on in the next. */
static bool physical_append_encoded(struct text_lines *t, struct physical *x, char *s, char *end)
{
	char *next, *newline = printable_newline(s, end, &next);

	paste_line_append(x, s, newline ? newline : end);
	if (!newline || next == end)
		return newline;
	text_line_unread(t, next, end);
	t->paste->number--;
	return true;
}

/* A line of quoted-printable text, with those that it goes on in. */
static void physical_decode(struct text_lines *t, struct physical *x, char *s, char *end)
{
	bool ends = physical_append_encoded(t, x, s, end);
	char *soft;

	while (!ends && (soft = printable_soft(x->at, x->end))) {
		x->end = soft;
		s = text_line_plain(t, &end);
		x->last = !s;
		if (!s)
			break;
		t->paste->number++;
		s = printable_quote_skip(x->at, x->end, s, end);
		ends = physical_append_encoded(t, x, s, end);
	}
	x->end = printable_decode(x->at, x->end);
	x->width = (size_t)(x->end - x->at);
}

/* An object of JSON whose text is one line: other members are no records. */
static bool is_json_line(const char *s, const char *end)
{
	struct paste_json json;
	const char *text_end;

	if (!paste_json_parse(s, end, &json))
		return false;
	text_end = json.text.at + json.text.len;
	while (text_end - json.text.at >= 2 && text_end[-2] == '\\' && strchr("nr", text_end[-1]))
		text_end -= 2;
	return !memmem(json.text.at, (size_t)(text_end - json.text.at), "\\n", 2);
}

/* Appends the first record of a line, and leaves the others for the next. */
static void physical_split(struct text_lines *t, struct physical *x, char *s, char *end)
{
	struct paste *p = t->paste;
	const char *next = NULL, *first_end = end;

	if (p->grammar->split && (p->in_split || !is_json_line(s, end)))
		next = p->grammar->split(s, end, &first_end, &x->glued);
	if (next || p->in_split)
		x->width = (size_t)(first_end - s);
	if (x->glued)
		first_end = end;
	paste_line_append(x, s, next || p->in_split ? first_end : end);
	x->ended = !next && first_end < end;
	p->in_split = next;
	if (!next)
		return;
	text_line_unread(t, s + (next - s), end);
	p->number--;
}

static bool is_several(const struct paste *p, const struct physical *x)
{
	const char *first_end;
	bool unsure;

	return p->grammar->split(x->at, x->end, &first_end, &unsure) || unsure;
}

/* Cuts off the bar of a frame. Does it say that the line was cut? */
static void edge_cut(struct physical *x)
{
	size_t blanks = 2;

	paste_line_cut(x, paste_bar_cut(x->at, x->end, &blanks));
	x->tight = !blanks;
	x->barred = blanks < 2;
}

bool paste_line_read(struct text_lines *t, struct physical *x)
{
	struct paste *p = t->paste;
	char *end, *s;

	do {
		s = text_line_plain(t, &end);
		p->number += s != NULL;
	} while (s && !p->in_split && paste_is_frame(&p->frames, s, end));
	if (!s)
		return false;
	x->at = x->end = x->buffer;
	x->number = p->number;
	x->record = ++p->records;
	x->width = (size_t)(end - s);
	x->apart = t->signature;
	x->last = x->glued = x->ended = x->wrapped = false;
	if (printable_begin(&p->printable, s, end, x->number))
		physical_decode(t, x, s, end);
	else
		physical_split(t, x, s, end);
	x->last |= t->unended && t->at == t->end && !x->ended;
	x->last |= t->open_from && x->number >= t->open_from;
	if (p->ends_marked)
		x->end = paste_end_mark_cut(x->at, x->end);
	x->is_fence = paste_is_fence(x->at, x->end);
	x->end = paste_clean(x->at, x->end);
	x->flowed = x->end - x->at >= 2 && x->end[-1] == ' ' && x->end[-2] != ' ';
	*x->end = '\n';
	memset(x->end + 1, 0, TEXT_LINE_SLACK);
	p->has_parts |= memmem(x->at, (size_t)(x->end - x->at), ": cpus=", 7) != NULL;
	prefixes_strip(p, x);
	head_strip(p, x);
	if (!x->glued && !p->in_split && p->grammar->split && x->class >= PASTE_TIMELESS)
		x->glued = is_several(p, x); /* of a line whose beginning was only found now */
	x->apart |= paste_is_prompt(x->at, x->end) ||
		    (x->class <= PASTE_HEAD &&
		     text_seam_parse(x->at, x->end, &(struct text_seam){0}));
	x->barred = x->tight = false;
	if (x->class >= PASTE_TIMELESS && p->grammar->has_edges)
		edge_cut(x);
	x->marked = x->class >= PASTE_TIMELESS && (x->glued || paste_has_cut_mark(x->at, x->end));
	if (paste_line_is_blank(x) || x->apart)
		x->class = PASTE_OTHER;
	return true;
}

void paste_lines_swap(struct physical *a, struct physical *b)
{
	struct physical x = *a;

	*a = *b;
	*b = x;
}

void paste_line_cut(struct physical *x, char *end)
{
	x->end = end;
	*end = '\n';
	memset(end + 1, 0, TEXT_LINE_SLACK);
}
