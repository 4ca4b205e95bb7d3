// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Words and numbers of tables of other tools. Thousands may be separated by what the locale has, and a decimal point
 * may be a comma: an integer is what has groups of three digits, or those of India ("12,34,567"); of other numbers the
 * last separator is the point. People round: "1.2K".
 */
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "base/saturate.h"
#include "event/exit_reason.h"
#include "readers/text/lines.h"
#include "readers/text/tool_line.h"

const char *tool_blanks_skip(const char *s)
{
	return s + strspn(s, " \t>|");
}

double tool_unit_parse(const char *s, size_t len)
{
	static const struct {
		const char *name;
		double ns;
	} units[] = {{"ns", 1},		 {"nsec", 1}, {"us", 1e3},   {"usec", 1e3}, {"usecs", 1e3},
		     {"\xc2\xb5s", 1e3}, {"ms", 1e6}, {"msec", 1e6}, {"s", 1e9},    {"sec", 1e9}};

	for (size_t i = 0; i < sizeof(units) / sizeof(*units); i++)
		if (strlen(units[i].name) == len && !strncmp(units[i].name, s, len))
			return units[i].ns;
	return 0;
}

static size_t digits_of(const char *s)
{
	return strspn(s, "0123456789");
}

/* Is it an integer: without separators, or with one kind of them, between groups? */
static bool is_grouped(const char *s, const char *end)
{
	size_t len = digits_of(s);
	const char sep = s[len];
	bool thousands = len <= 3, lakhs = len <= 2;

	if (s + len == end)
		return true;
	for (s += len; s < end; s += len) {
		if (*s++ != sep)
			return false;
		len = digits_of(s);
		thousands &= len == 3;
		lakhs &= len == (s + len == end ? 3 : 2);
	}
	return thousands || lakhs;
}

/* The number at s: ret_integer with all separators dropped, *ret with the last one as the decimal
 * point. */
const char *tool_number_parse(const char *s, double *ret, uint64_t *ret_integer)
{
	char digits[64];
	size_t nr = 0;
	const char *end = s, *point = NULL;
	unsigned int separators = 0;

	if (!isdigit((unsigned char)*s))
		return NULL;
	for (; isdigit((unsigned char)*end) ||
	       (strchr(".,'", *end) && *end && isdigit((unsigned char)end[1]));
	     end++) {
		if (!isdigit((unsigned char)*end)) {
			separators++;
			point = end;
		} else if (nr < sizeof(digits) - 1) {
			digits[nr++] = *end;
		}
	}
	digits[nr] = '\0';
	*ret_integer = is_grouped(s, end) ? strtoull(digits, NULL, 10) : TOOL_TABLE_UNKNOWN;
	*ret = strtod(digits, NULL);
	if (separators > 1 && *ret_integer != TOOL_TABLE_UNKNOWN)
		point = NULL;
	for (const char *d = point ? point + 1 : end; d < end; d++)
		*ret /= 10;
	return end;
}

/* A whole word that is a number: with "%", a unit, or nothing. */
bool tool_value_parse(const char *word, double unit_ns, double *ret)
{
	uint64_t integer;
	const char *end = tool_number_parse(word, ret, &integer);

	if (!end)
		return false;
	if (!*end || !strcmp(end, "%")) {
		*ret *= *end ? 1 : unit_ns;
		return true;
	}
	unit_ns = tool_unit_parse(end, strlen(end));
	*ret *= unit_ns;
	return unit_ns > 0;
}

/* "K" of "1.2K", 0: it is no such letter. */
static double scale_of(char c)
{
	return c == 'K' || c == 'k' ? 1e3 : c == 'M' ? 1e6 : c == 'G' ? 1e9 : c == 'T' ? 1e12 : 0;
}

const char *tool_count_read(const char *s, uint64_t *ret)
{
	double real;
	const char *end = tool_number_parse(s, &real, ret);
	double scale = end ? scale_of(*end) : 0;

	if (!scale || isalnum((unsigned char)end[1]))
		return end && *ret != TOOL_TABLE_UNKNOWN ? end : NULL;
	if (memchr(s, ',', (size_t)(end - s)) && *ret != TOOL_TABLE_UNKNOWN)
		real = (double)*ret; /* "1,234K"; "1.234K" has a point */
	*ret = uint64_of_double(real * scale + 0.5);
	return end + 1;
}

bool tool_is_rounded(const char *word)
{
	uint64_t count;
	const char *end = tool_count_read(word, &count);

	return end && scale_of(end[-1]);
}

bool tool_count_parse(const char *word, uint64_t *ret)
{
	const char *end = tool_count_read(word, ret);

	return end && !*end &&
	       (*word != '0' || !text_is_digit(word[1])); /* "089" is of a telephone number */
}

void tool_words_split(char *s, struct tool_words *ret)
{
	char *end = s;

	ret->nr = 0;
	while (ret->nr < TOOL_COLUMNS_MAX) {
		s = end + strspn(end, " \t>|");
		if (!*s)
			break;
		ret->joined[ret->nr] = s == end + 1 && *end == ' ';
		end = s + strcspn(s, " \t|");
		ret->word[ret->nr++] = s;
	}
	for (unsigned int i = 0; i < ret->nr; i++)
		ret->word[i][strcspn(ret->word[i], " \t|")] = '\0';
}

bool tool_is_name(const char *s)
{
	size_t len = strlen(s);

	return len && len < sizeof(((struct tool_lines *)0)->row.name) && s[len - 1] != ':' &&
	       strspn(s,
		      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_():./+-") ==
		       len;
}

/* Nearly all have a '_', which words of a signature below a table do not have: "phone 5550199", "80331 munich". */
bool tool_is_kvm_event(const char *s)
{
	static const char *const others[] = {"exits",	   "blocking", "hypercalls",
					     "largepages", "lpages",   "invlpg",
					     "interrupt",  "mmio",     "Total"};

	if (strchr(s, '_'))
		return true;
	for (size_t i = 0; i < sizeof(others) / sizeof(*others); i++)
		if (!strcmp(s, others[i]))
			return true;
	return false;
}

bool tool_is_lower(const char *s)
{
	return islower((unsigned char)*s) && tool_is_name(s);
}

bool tool_is_kvm_name(const char *s)
{
	size_t len = strlen(s);

	return !strncmp(s, "kvm_", 4) || !strcmp(s, "exits") ||
	       (len > 6 && !strcmp(s + len - 6, "_exits"));
}

bool tool_is_child(const char *s)
{
	return isupper((unsigned char)*s) && exit_reason_known(s);
}

/* "kvm:kvm_exit", "sched:sched_switch:u" */
bool tool_is_event(const char *s, size_t len)
{
	static const char modifiers[] = "ukhGHIpPSDWeb";
	const char *colon = len ? memchr(s, ':', len) : NULL;

	if (!colon || colon == s || colon[1] == ':' || colon + 2 >= s + len ||
	    !isalpha((unsigned char)*s) || !isalpha((unsigned char)colon[1]))
		return false;
	for (size_t i = 0; i < len; i++)
		if (!isalnum((unsigned char)s[i]) && !strchr("_:-", s[i]))
			return false;
	s += len;
	colon = memchr(colon + 1, ':', (size_t)(s - colon - 1));
	return !colon || (colon + 1 < s && strspn(colon + 1, modifiers) >= (size_t)(s - colon - 1));
}

/* Do modifiers, as "H", leave nothing out? One level, what is not idle, and guests alone are fewer. */
static bool modifiers_count_all(const char *s, size_t len)
{
	return strcspn(s, "ukhI") >= len && (!memchr(s, 'G', len) || memchr(s, 'H', len));
}

size_t tool_event_len(const char *s, size_t len)
{
	const char *system = memchr(s, ':', len), *colon = NULL;

	if (system && tool_is_event(s, len))
		colon = memchr(system + 1, ':', (size_t)(s + len - system - 1));
	return colon && modifiers_count_all(colon + 1, (size_t)(s + len - colon - 1))
		       ? (size_t)(colon - s) : len;
}
