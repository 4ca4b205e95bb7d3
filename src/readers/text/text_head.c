// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Where an event's line begins behind a head that no list has: of Android's logcat, CI services, log shippers.
 *
 *	04-12 10:11:12.123  712  713 I tracer  : CPU 2/KVM-881 [003] ...	the thread is "CPU 2/KVM"
 *	2026-04-12T10:11:12Z {host="a"} CPU 2/KVM-881 [003] ...
 *
 * The kernel's name of a thread has at most 15 characters, but may contain blanks. Names of a VMM's threads show where
 * the head ends; other threads' lines have heads of as many words, or up to the same character.
 */
#include <ctype.h>
#include <string.h>

#include "readers/text/lines.h"
#include "readers/text/text_line.h"
#include "readers/text/tracetext.h"

enum { HEAD_DIGITS = 3 };

/* The last name of a VMM's thread in a task's name that is short enough; NULL: there is none. */
static const char *vmm_name_find(struct text_slice comm)
{
	const char *end = comm.at + comm.len, *found = NULL;

	for (const char *p = comm.at; p < end; p++) {
		bool begins = p == comm.at || strchr(" :>)]}\"'|+;", p[-1]);

		if (begins && isalpha((unsigned char)*p) && end - p <= TEXT_COMM_MAX &&
		    text_is_vmm_thread(p, end) &&
		    (strncmp(p, "CPU ", 4) != 0 || text_is_digit(p[4])))
			found = p;
	}
	return found;
}

bool text_has_head(const struct text_line *l)
{
	const char *name = vmm_name_find(l->comm);

	return name && name > l->comm.at;
}

static unsigned int words_of(const char *s, const char *end)
{
	unsigned int nr = 0;

	for (s = text_skip_blanks(s); s < end; s = text_skip_blanks(s), nr++)
		while (s < end && *s != ' ')
			s++;
	return nr;
}

static const char *words_skip(const char *s, const char *end, unsigned int nr)
{
	for (s = text_skip_blanks(s); nr && s < end; s = text_skip_blanks(s), nr--)
		while (s < end && *s != ' ')
			s++;
	return s;
}

/* A number of three digits or more, or one with points and colons: a time, a process. Its end; s: there is none. */
static const char *number_skip_long(const char *s, const char *end)
{
	const char *p = s;

	while (p < end && text_is_digit(*p))
		p++;
	if (p == s || (p - s < HEAD_DIGITS && (p == end || !strchr(":.-", *p))))
		return s;
	while (p < end && (text_is_digit(*p) || strchr(":.-+TZ", *p)))
		p++;
	return p;
}

/* What names a machine or a program in a head: all of it but for what may be a time or a process. */
static void source_of_head(const char *s, const char *end, char source[static TEXT_HEAD_BYTES])
{
	size_t len = 0;

	for (const char *after; s < end && len<TEXT_HEAD_BYTES - 1; s = after> s ? after : s + 1) {
		after = number_skip_long(s, end);
		if (after == s && (*s != ' ' || (len && source[len - 1] != ' ')))
			source[len++] = *s;
	}
	while (len && strchr(" :|>[({\"", source[len - 1]))
		len--;
	source[len] = '\0';
}

/* Where the name of another thread begins behind a head like the one before; NULL: there is none. */
static const char *other_name_find(const struct text_front *h, const char *s, const char *end)
{
	const char *name;

	if (!h->words)
		return NULL;
	if (!h->glue)
		return words_of(s, end) > h->words ? words_skip(s, end, h->words) : NULL;
	s = words_skip(s, end, h->words - 1);
	if (s >= end)
		return NULL;
	name = h->glue == '"' ? memrchr(s, h->glue, (size_t)(end - s))
			      : memchr(s, h->glue, (size_t)(end - s)); /* "kworker/0:1+events" */
	return name && name + 1 < end ? name + 1 : NULL;
}

const char *text_head_end(const char *s, const char *end, struct text_front *h)
{
	struct text_line l = {.layout = TEXT_FTRACE};
	const char *name, *comm_end;

	*h->source = '\0';
	if (text_line_parse(&l, s, end) != TEXT_EVENT || !l.comm.len)
		return s;
	comm_end = l.comm.at + l.comm.len;
	name = vmm_name_find(l.comm);
	if (name) {
		h->words = words_of(l.comm.at, name);
		h->glue = 0;
		if (name > l.comm.at && name[-1] != ' ')
			h->glue = name[-1];
	} else {
		name = other_name_find(h, l.comm.at, comm_end);
	}
	if (!name || name == l.comm.at)
		return s;
	source_of_head(l.comm.at, name, h->source);
	return name;
}
