// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Dates in words: the day of the week, the month and the day in any order and language, a year, and the time of day.
 * What proves a date is its clock with seconds, and a number before it that is a day.
 */
#include "readers/text/date_words.h"

#include <ctype.h>
#include <stddef.h>
#include <string.h>
#include <strings.h>

#include "readers/text/lines.h"

enum {
	WORDS_MAX = 5,	   /* before the clock */
	LETTERS_MAX = 12,  /* of a word in ASCII; of others, bytes: */
	BYTES_MAX = 24,
	NUMBERS_MAX = 3,
	YEAR_FIRST = 1970,
	YEAR_LAST = 2200,
};

static bool is_letter(char c)
{
	return isalpha((unsigned char)c) || (unsigned char)c >= 0x80;
}

/* How names of months begin in English, German, French, Spanish, Italian, Portuguese, Dutch, Swedish and Russian. */
static uint32_t month_of(const char *s)
{
	static const char *const names[12] = {
		"jan|ene|gen|янв",	"feb|fév|fev|фев",  "mar|mär|mrz|mrt|maa|мар",
		"apr|avr|abr|апр",	"mai|may|maj|mei|mag|май|мая", "jun|juin|giu|июн",
		"jul|juil|lug|июл",	"aug|aoû|ago|авг",  "sep|set|сен",
		"oct|okt|ott|out|окт",	"nov|ноя",	    "dec|dez|déc|dic|des|дек",
	};

	for (uint32_t month = 0; month < 12; month++)
		for (const char *name = names[month]; *name; name += strspn(name, "|")) {
			size_t len = strcspn(name, "|");

			if (!strncasecmp(s, name, len))
				return month + 1;
			name += len;
		}
	return 0;
}

/* What the words before the clock are. */
struct date_look {
	unsigned int letters, numbers; /* words */
	const char *letter[2];	       /* ... those of letters */
	bool whole;		       /* "12.03.2026", "2026-03-12" */
};

static bool number_add(struct date_words *d, struct date_look *look, uint64_t value, bool is_month)
{
	look->numbers++;
	if (is_month)
		d->month = value <= 12 ? (uint32_t)value : 0;
	else if (value >= YEAR_FIRST && value <= YEAR_LAST && !d->year)
		d->year = (uint32_t)value;
	else if (value >= 1 && value <= 31 && !d->day)
		d->day = (uint32_t)value;
	else
		return false;
	return look->numbers <= NUMBERS_MAX;
}

/* "03.2026" behind "12.": which of them is the month is not known, but of those that begin with the year. */
static const char *whole_skip(const char *p, uint64_t first, struct date_words *d,
			      struct date_look *look)
{
	const char separator = *p++;
	uint64_t second = text_decimal(&p), third;

	if (*p != separator || !text_is_digit(p[1]))
		return NULL;
	p++;
	third = text_decimal(&p);
	look->whole = true;
	look->numbers++;
	if (first >= YEAR_FIRST && first <= YEAR_LAST) {
		d->year = (uint32_t)first;
		d->month = second <= 12 ? (uint32_t)second : 0;
		d->day = (uint32_t)third;
	} else if (separator == '.') {
		d->day = (uint32_t)first;
		d->month = second <= 12 ? (uint32_t)second : 0;
		d->year = (uint32_t)(third < 100 ? 2000 + third : third);
	} else if (first > 31 || second > 31) {
		return NULL;
	}
	return p;
}

/* A number, "12.", "3月", "2026年" or a whole date. */
static const char *number_word(const char *s, struct date_words *d, struct date_look *look)
{
	static const char *const months[] = {"月", "월"};
	const char *p = s;
	uint64_t value = text_decimal(&p);
	bool is_month = false;

	if (p - s > 4)
		return NULL;
	if (*p && strchr("./-", *p) && text_is_digit(p[1]))
		return look->numbers ? NULL : whole_skip(p, value, d, look);
	for (size_t i = 0; i < sizeof(months) / sizeof(*months); i++)
		is_month |= !strncmp(p, months[i], strlen(months[i]));
	while ((unsigned char)*p >= 0x80)
		p++;
	return !look->whole && number_add(d, look, value, is_month) ? p + (*p == '.') : NULL;
}

static const char *letter_word(const char *s, struct date_look *look)
{
	const char *p = s;
	bool ascii = true;

	for (; is_letter(*p); p++)
		ascii &= isalpha((unsigned char)*p) != 0;
	if (p == s || p - s > (ascii ? LETTERS_MAX : BYTES_MAX) || look->letters == 2)
		return NULL;
	look->letter[look->letters++] = s;
	return p + (*p == '.');
}

/* Of the words of letters, once a clock is behind them: most texts have none. */
static void month_find(const struct date_look *look, struct date_words *d)
{
	for (unsigned int i = 0; i < look->letters; i++) {
		uint32_t month = month_of(look->letter[i]);

		d->month = month ? month : d->month;
	}
}

static const char *digits_skip(const char *s, unsigned int most)
{
	const char *p = s;

	while (text_is_digit(*p))
		p++;
	return p > s && (size_t)(p - s) <= most ? p : NULL;
}

/* "10:11", "9:11:12.123": its end, NULL: it is no clock. */
static const char *clock_skip(const char *s, struct date_words *d)
{
	const char *p = digits_skip(s, 2), *seconds;

	d->clock = s;
	p = p && *p == ':' ? digits_skip(p + 1, 2) : NULL;
	if (!p || p[-3] != ':')
		return NULL;
	seconds = *p == ':' ? digits_skip(p + 1, 2) : NULL;
	d->has_seconds = seconds && seconds[-3] == ':';
	if (d->has_seconds)
		p = seconds;
	if (d->has_seconds && (*p == '.' || *p == ',') && text_is_digit(p[1]))
		p = digits_skip(p + 1, 9);
	d->clock_end = p;
	return p;
}

/* " AM", " p.m." */
static const char *half_skip(const char *s, struct date_words *d)
{
	static const char *const halves[] = {"AM", "PM", "am", "pm", "a.m.", "p.m."};
	const char *p = text_skip_blanks(s);

	for (size_t i = 0; i < sizeof(halves) / sizeof(*halves); i++) {
		size_t len = strlen(halves[i]);

		if (strncmp(p, halves[i], len) || isalnum((unsigned char)p[len]))
			continue;
		d->has_half = true;
		d->pm = (*p | 0x20) == 'p';
		return p + len;
	}
	return s;
}

/* " 2026", which no thread's number or time follows. */
static const char *year_skip(const char *s, struct date_words *d)
{
	const char *p = *s == ' ' ? digits_skip(s + 1, 4) : NULL;
	uint64_t year = p ? text_decimal(&(const char *){s + 1}) : 0;

	if (!p || d->year || year < YEAR_FIRST || year > YEAR_LAST ||
	    isalnum((unsigned char)*p) || (*p && strchr("-@./", *p)))
		return s;
	d->year = (uint32_t)year;
	return p;
}

const char *date_words_parse(const char *s, struct date_words *ret)
{
	struct date_words d = {.clock = NULL};
	struct date_look look = {.letters = 0};
	const char *p = s, *end = NULL;

	for (unsigned int nr = 0; nr <= WORDS_MAX && !(end = clock_skip(p, &d)); nr++) {
		p = text_is_digit(*p) ? number_word(p, &d, &look) : letter_word(p, &look);
		if (!p)
			return NULL;
		p += *p == ',';
		if (*p != ' ')
			return NULL;
		p = text_skip_blanks(p);
	}
	if (!end)
		return NULL;
	month_find(&look, &d);
	end = half_skip(end, &d);
	/* "timeout 22 10:11:12:" has a thread's name and number, and "10:11" a word after it */
	if ((!look.whole && (!d.day || !look.letters) && !d.month && !(p == s && d.has_half)) ||
	    !(d.has_seconds || look.whole || d.has_half))
		return NULL;
	end = year_skip(end, &d);
	if (*end && !strchr(" ]\n+-", *end))
		return NULL;
	*ret = d;
	return end;
}

const char *date_zone_skip(const char *s)
{
	const char *p = text_skip_blanks(s), *begin = p;
	size_t len = 0;

	if (*p == '+' || *p == '-') {
		len = strspn(p + 1, "0123456789:");
		p += 1 + len;
		return (len == 2 || len == 4 || len == 5) && strchr(" ]\n", *p) ? p : NULL;
	}
	if (p == s)
		return NULL;
	while (isupper((unsigned char)*p))
		p++;
	return p - begin >= 3 && p - begin <= 5 && (*p == ' ' || *p == ']') ? p : NULL;
}

bool date_zone_is_known(const char *s, const char *end)
{
	static const char *const zones[] = {"UTC", "GMT", "CET", "CEST", "EET", "EEST", "WET",
					    "WEST", "BST", "MSK", "IST", "JST", "KST",	"HKT",
					    "EST", "EDT", "CST", "CDT",	 "MST", "MDT",	"PST",
					    "PDT", "AEST", "AEDT", "NZST", "NZDT"};

	size_t len;

	s = text_skip_blanks(s);
	len = (size_t)(end - s);
	for (size_t i = 0; i < sizeof(zones) / sizeof(*zones); i++)
		if (strlen(zones[i]) == len && !memcmp(s, zones[i], len))
			return true;
	return *s == '+' || *s == '-';
}
