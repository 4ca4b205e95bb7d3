// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Is the text of an event all of it? A form of an event (text_grammar.def) is a pattern:
 *
 *	%d %x	a number; %8x: of at least 8 digits
 *	%w	a word: no blank, none of ( ) , : =
 *	%r	an exit reason: words of letters, digits, '_', '|', '-', also in parentheses
 *	%b	bytes, "0f 20 c1"
 *	%t	any text, such as a task's name
 *	blank	one or more
 *
 * and of an event that is not ours (PRINTED of readers/ftrace/kernel_events.def) one with "{field}", a text if it is a
 * name, or else what has no blank.
 * A text that ends before its pattern does is half of one; a text that fits no pattern proves nothing.
 */
#include "readers/text/text_grammar.h"

#include <ctype.h>
#include <string.h>

#include "readers/ftrace/kernel_events.h"
#include "readers/text/lines.h"

enum {
	TEXT_MAX = 768, /* no form of an event is as long */
	WORK_MAX = 1 << 14, /* places at which patterns are tried; more proves nothing */
	DECIMAL_MAX = 20, /* characters of values */
	HEX_MAX = 16,
	WORD_MAX = 48,
	ANY_MAX = 64,
};

static const struct form {
	const char *event, *pattern;
} forms[] = {
#define GRAMMAR(event, pattern) {#event, pattern},
#include "readers/text/text_grammar.def"
};

/* A value of a pattern. */
struct value {
	char kind;
	unsigned int min, max; /* characters */
};

/* The value at p, which is set to its end. */
static struct value value_parse(const char **p)
{
	struct value v = {.kind = 't', .max = ANY_MAX};
	const char *s = *p + 1;

	if (**p == '{') {
		v.kind = strncmp(s, "comm}", 5) && strncmp(s, "name}", 5)
				 ? strncmp(s, "cmd}", 4) ? 'v' : 'c'
				 : 't';
		s += strcspn(s, "}") + 1;
	} else {
		for (; text_is_digit(*s); s++) /* the pattern has no slack for text_decimal() */
			v.min = v.min * 10 + (unsigned int)(*s - '0');
		v.kind = *s++;
	}
	*p = s;
	if (v.kind == 't' || v.kind == 'c')
		return v; /* a name may be empty */
	v.min = v.min ? v.min : 1;
	v.max = v.kind == 'd' ? DECIMAL_MAX : v.kind == 'x' ? HEX_MAX : WORD_MAX;
	return v;
}

/* May the value at s have its character at this place? */
static bool value_has(const struct value *v, const char *s, unsigned int at)
{
	char c = s[at];

	switch (v->kind) {
	case 'd':
		return text_is_digit(c) || (!at && c == '-');
	case 'x':
		return text_is_digit(c) || (c >= 'a' && c <= 'f');
	case 'b': /* every third one is a blank */
		return at % 3 == 2 ? c == ' ' : isxdigit((unsigned char)c);
	case 'v':
		return c != ' ';
	case 'c':
		return c != ')';
	case 'w':
		return (unsigned char)c > ' ' && !strchr("(),:=", c);
	case 'r':
		if (at && s[at - 1] == ' ') /* "FAILED_VMENTRY", "excp", "(12)" */
			return isupper((unsigned char)c) || c == 'e' || c == '(';
		return isalnum((unsigned char)c) || strchr("_| ()-", c);
	default:
		return true;
	}
}

/* One text, and how many more places of it are tried. */
struct attempt {
	const char *end;
	unsigned int work;
};

static enum text_end match(struct attempt *a, const char *p, const char *s, bool after_value);

/* The value at p and what follows: numbers are as long as they can be, other values as short. */
static enum text_end value_match(struct attempt *a, const char *p, const char *s)
{
	bool is_comm = *p == '%' && p[1] == 't';
	struct value v = value_parse(&p);
	bool is_number = v.kind == 'd' || v.kind == 'x';
	enum text_end best = END_UNKNOWN, found;
	unsigned int most = 0;
	int open = 0;

	while (most < v.max && s + most < a->end && value_has(&v, s, most))
		most++;
	if (most < v.min)
		return s + most == a->end ? END_WITHIN : END_UNKNOWN;
	if (v.kind == 'b' && s + most == a->end && most % 3 == 1)
		best = END_WITHIN; /* half a byte */
	for (unsigned int n = is_number ? most : v.min; n <= most && best < END_OPEN && a->work;
	     n++) {
		if (n) /* "[x]" is one task's name */
			open += s[n - 1] == '[' ? 1 : s[n - 1] == ']' ? -1 : 0;
		if ((v.kind == 'b' && n % 3 != 2) || (v.kind == 't' && open && s + n < a->end))
			continue;
		if (is_comm && n > TEXT_COMM_MAX && s + n == a->end)
			break; /* no task's name, of which more follows, but another form */
		a->work--;
		found = match(a, p, s + n, v.min <= 1 && (n < v.max || v.kind == 't'));
		best = found > best ? found : best;
	}
	return best;
}

/* How a text ends that is over before p is. */
static enum text_end end_before(const char *p, bool after_value)
{
	if (!*p)
		return after_value ? END_OPEN : END_WHOLE;
	return after_value || *p == ' ' ? END_HALF : END_WITHIN;
}

static enum text_end match(struct attempt *a, const char *p, const char *s, bool after_value)
{
	const char *end = a->end;

	if (s < end && !strcmp(p, "[")) /* "vec={vec} [": followed by any text */
		return *s != '[' ? END_UNKNOWN : end[-1] == ']' ? END_WHOLE : END_WITHIN;
	for (; s < end; after_value = false) {
		if (*p == '%' || (*p == '{' && isalpha((unsigned char)p[1])))
			return value_match(a, p, s);
		if (!*p || *p != *s)
			return END_UNKNOWN;
		s = *s == ' ' ? text_skip_blanks(s) : s + 1;
		if (*++p == '[' && !p[1])
			return match(a, p, s, false);
	}
	return end_before(p, after_value);
}

/* Of one form and of another: a text that is whole in one, and half in the other, may go on. */
static enum text_end end_of_both(enum text_end a, enum text_end b)
{
	enum text_end more = a > b ? a : b, less = a > b ? b : a;

	return more == END_WHOLE && less != END_UNKNOWN && less != END_WHOLE ? END_OPEN : more;
}

static enum text_end pattern_end(const char *pattern, struct text_slice text)
{
	struct attempt a = {.end = text.at + text.len, .work = WORK_MAX};
	enum text_end found = match(&a, pattern, text.at, false);

	return a.work ? found : END_UNKNOWN;
}

enum text_end text_end_of(struct text_slice name, struct text_slice text)
{
	enum text_end found = END_UNKNOWN;

	if (text.len > TEXT_MAX)
		return found;
	for (size_t i = 0; i < sizeof(forms) / sizeof(*forms); i++)
		if (strlen(forms[i].event) == name.len &&
		    !memcmp(forms[i].event, name.at, name.len))
			found = end_of_both(found, pattern_end(forms[i].pattern, text));
	for (const struct kernel_text *t = kernel_text_find(name.at, name.len); t;
	     t = kernel_text_next(t))
		if (!t->of_kvm)
			found = end_of_both(found, pattern_end(t->pattern, text));
	return found && !text.len ? END_HALF : found; /* perf script -F event prints names alone */
}
