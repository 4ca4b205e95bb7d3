// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Quoted-printable mail (RFC 2045): "=3D" is an equals sign, and a line that ends with '=' goes on in the next:
 *
 *	Content-Transfer-Encoding: quoted-printable
 *
 *	 CPU 0/KVM-7 [001] 1.000001: kvm_pio: pio_write at 0x3f=
 *	8 size 1 count 1 val 0x1
 *
 * A text has parts: mails, and the parts of a MIME mail. A part is encoded if its header says so, or if lines of the
 * trace in it are: an encoded one has no '=' but "=3D" and at its end. What is not of the trace says nothing: people
 * write "x = y", and a header has charset=utf-8. A header alone is not enough: mail that was saved after it was decoded
 * may have kept it, and "vec=35" would become "vec5".
 */
#include "readers/text/paste_printable.h"

#include <ctype.h>
#include <string.h>
#include <strings.h>

#include "base/digits.h"

/* The character that "=3D" is at s; -1: it is no such code. */
static int code_at(const char *s, const char *end)
{
	int high = end - s >= 3 && *s == '=' ? hex_digit(s[1]) : -1, low;

	low = high >= 0 ? hex_digit(s[2]) : -1;
	return low >= 0 ? high << 4 | low : -1;
}

static const char *blanks_cut(const char *s, const char *end)
{
	while (end > s && (end[-1] == ' ' || end[-1] == '\t' || end[-1] == '\r'))
		end--;
	return end;
}

char *printable_soft(char *s, char *end)
{
	char *last = end - (end - blanks_cut(s, end));

	return last > s && last[-1] == '=' ? last - 1 : NULL;
}

char *printable_decode(char *s, char *end)
{
	char *to = s;

	for (int c; s < end; s += c >= 0 ? 3 : 1) {
		c = code_at(s, end);
		*to++ = c >= 0 && c < ' ' ? ' ' : c >= 0 ? (char)c : *s;
	}
	return to;
}

char *printable_newline(char *s, char *end, char **ret_next)
{
	char *p = s;

	while (p < end && (p = memchr(p, '=', (size_t)(end - p))) && code_at(p, end) != '\n')
		p++;
	if (!p || p >= end)
		return NULL;
	*ret_next = p + 3;
	return p - s >= 3 && code_at(p - 3, end) == '\r' ? p - 3 : p;
}

static const char *quote_end(const char *s, const char *end, unsigned int *depth)
{
	const char *after = s;

	for (; s < end && (*s == '>' || *s == ' ') && *depth; s++)
		if (*s == '>') {
			after = s + 1;
			--*depth;
		}
	return after < end && after > s - 1 && *after == ' ' ? after + 1 : after;
}

char *printable_quote_skip(const char *before, const char *before_end, char *s, char *end)
{
	unsigned int depth = 0, left;
	const char *after;

	for (; before < before_end && (*before == '>' || *before == ' '); before++)
		depth += *before == '>';
	left = depth;
	after = quote_end(s, end, &left);
	return depth && !left ? s + (after - s) : s;
}

/* ---- parts ---- */

static bool is_header(const char *s, const char *end, const char *name)
{
	return (size_t)(end - s) > strlen(name) && !strncasecmp(s, name, strlen(name));
}

static void part_begin(struct printable *p, uint64_t number)
{
	if (p->nr == PRINTABLE_PARTS_MAX)
		return;
	p->part[p->nr++] = (struct printable_part){.first_line = number};
}

/* "boundary=b1", "boundary=\"b1\"" */
static void boundary_learn(struct printable *p, const char *s, const char *end)
{
	const char *at = memmem(s, (size_t)(end - s), "boundary=", 9), *close;
	char *to;

	if (!at)
		return;
	at += 9;
	at += at < end && *at == '"';
	for (close = at;
	     close < end && isgraph((unsigned char)*close) && *close != '"' && *close != ';';)
		close++;
	if (close - at < 1 || close - at >= PRINTABLE_BOUNDARY_BYTES)
		return;
	to = p->boundary[p->nr_boundaries++ % PRINTABLE_BOUNDARIES_MAX];
	memcpy(to, at, (size_t)(close - at));
	to[close - at] = '\0';
}

static bool is_boundary(const struct printable *p, const char *s, const char *end)
{
	if (end - s < 3 || s[0] != '-' || s[1] != '-')
		return false;
	for (unsigned int i = 0; i < PRINTABLE_BOUNDARIES_MAX; i++) {
		size_t len = strlen(p->boundary[i]);

		if (len && (size_t)(end - s) >= len + 2 && !memcmp(s + 2, p->boundary[i], len))
			return true;
	}
	return false;
}

static void part_find(struct printable *p, const char *s, const char *end, uint64_t number)
{
	struct printable_part *x;
	bool content;

	while (s < end && (*s == '>' || *s == ' ' || *s == '\t'))
		s++;
	end = blanks_cut(s, end);
	content = is_header(s, end, "Content-Type:") ||
		  is_header(s, end, "Content-Transfer-Encoding:");
	x = p->nr ? &p->part[p->nr - 1] : NULL;
	if (!x || (content && x->has_body) || is_boundary(p, s, end) ||
	    (!strncmp(s, "From ", 5) && memchr(s, '@', (size_t)(end - s))))
		part_begin(p, number);
	x = &p->part[p->nr - 1];
	x->has_body |= s == end;
	if (is_header(s, end, "Content-Transfer-Encoding:"))
		x->declared = memmem(s, (size_t)(end - s), "rintable", 8);
	boundary_learn(p, s, end);
}

static bool is_encoded(const struct printable_part *x)
{
	return !x->bare && (x->strong || x->declared);
}

bool printable_begin(struct printable *p, const char *s, const char *end, uint64_t number)
{
	if (!p->settled) {
		part_find(p, s, end, number);
		return false;
	}
	if (!p->any)
		return false;
	if (p->now >= p->nr || p->part[p->now].first_line > number)
		p->now = 0;
	while (p->now + 1 < p->nr && p->part[p->now + 1].first_line <= number)
		p->now++;
	return is_encoded(&p->part[p->now]);
}

void printable_proved(struct printable *p)
{
	if (p->nr && !p->settled)
		p->part[p->nr - 1].strong++;
}

/*
 * Does the code c at s speak for the encoding (1), against it (-1)? No encoder encodes letters, but for "From" at the
 * beginning of a line, and digits. Codes of UTF-8 come in pairs; what has small letters may be a number, "=a0".
 */
static int code_vote(int c, const char *begin, const char *s, const char *end)
{
	bool is_small = c >= 0 && (islower((unsigned char)s[1]) || islower((unsigned char)s[2])),
	     in_pair = c >= 0x80 && (code_at(s + 3, end) >= 0x80 ||
				     (s - begin >= 3 && code_at(s - 3, end) >= 0x80));

	if (c < 0 || (isalnum(c) && s > begin) || (is_small && c != '=' && !in_pair))
		return -1;
	return in_pair || (c == '=' && !is_small) || (c == ' ' && s + 3 == end);
}

void printable_line(struct printable *p, const char *s, const char *end)
{
	const char *begin = s;

	if (!p->nr || p->settled)
		return;
	end = blanks_cut(s, end);
	end -= end > s && end[-1] == '=';
	for (; (s = memchr(s, '=', (size_t)(end - s))); s++) {
		int vote = code_vote(code_at(s, end), begin, s, end);

		p->part[p->nr - 1].bare += vote < 0;
		p->part[p->nr - 1].strong += vote > 0;
	}
}

void printable_any_line(struct printable *p, const char *s, const char *end)
{
	if (!p->nr || p->settled)
		return;
	for (const char *begin = s; (s = memchr(s, '=', (size_t)(end - s))); s++)
		if (code_at(s, end) >= 0x80 && code_vote(code_at(s, end), begin, s, end) > 0)
			p->part[p->nr - 1].strong++;
}

bool printable_settle(struct printable *p)
{
	for (unsigned int i = 0; i < p->nr; i++)
		p->any |= is_encoded(&p->part[i]);
	p->settled = true;
	return p->any;
}
