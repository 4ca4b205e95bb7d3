// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The times that logs put before their lines, as times, and what follows them:
 *
 *	2026-03-01T10:20:33.100001Z ...			QEMU -msg timestamp=on; ts(1), containers
 *	2026-03-01 10:20:33.100+0000: ...		libvirt
 *	Mar 01 10:20:33.100001 host qemu-kvm[4217]: ...	syslog, journalctl
 *	Sun 2026-03-01 10:20:33 UTC host qemu-kvm[4217]: ...	journalctl -o short-full
 *	[  123.100001] host qemu-kvm[4217]: ...		journalctl -o short-monotonic
 *	10:20:33.100001 ..., 123.100001 ...		ts %H:%M:%.S, ts -s %.s; also in brackets
 *	<13>1 2026-03-01T10:20:33.100001Z host qemu-kvm 4217 - - ...	RFC 5424
 *	... [guest] qemu-system-x86_64: (4217:CPU 0/KVM): ...	QEMU 11
 */
#include "readers/text/log_head.h"

#include <ctype.h>
#include <string.h>

#include "readers/text/date_words.h"
#include "readers/text/lines.h"

enum { NS_DIGITS = 9, YEAR_MIN = 1970, YEAR_MAX = 2200, GUEST_MAX = 64, WEEKDAY_MAX = 12 };

/* `nr` digits at *p, which is set behind them and the character `then` (0: none); false: it is not so. */
static bool number_take(const char **p, int nr, char then, uint64_t *ret)
{
	const char *begin = *p;

	*ret = text_decimal(p);
	if (*p - begin != nr || (then && **p != then))
		return false;
	*p += then != 0;
	return true;
}

/* Days from 1970-01-01 to a date of the Gregorian calendar, from 1970 on. */
static uint64_t days_of(uint64_t year, uint64_t month, uint64_t day)
{
	uint64_t y = month <= 2 ? year - 1 : year, m = (month + 9) % 12;

	return 365 * y + y / 4 - y / 100 + y / 400 + (153 * m + 2) / 5 + day - 1 - 719468;
}

/* ".100001" or ",100", which may be missing, in ns. */
static const char *fraction_take(const char *p, struct log_time *t)
{
	const char *begin = p + 1;
	uint64_t value;

	t->decimals = 0;
	if ((*p != '.' && *p != ',') || !text_is_digit(p[1]))
		return p;
	p++;
	value = text_decimal(&p);
	if (p - begin > NS_DIGITS)
		return NULL;
	t->decimals = (uint8_t)(p - begin);
	for (unsigned int i = t->decimals; i < NS_DIGITS; i++)
		value *= 10;
	t->ns += value;
	return p;
}

/* "Z", "+02:00", "+0000", " UTC"; nothing. */
static const char *zone_take(const char *p, struct log_time *t)
{
	uint64_t hours, minutes, ns;
	const char *s = p + 1;

	if (*p == 'Z')
		return p + 1;
	if (!strncmp(p, " UTC", 4))
		return p + 4;
	if (*p != '+' && *p != '-')
		return p;
	hours = text_decimal(&s);
	if (s - p == 3 && *s == ':') {
		s++;
		if (!number_take(&s, 2, 0, &minutes))
			return p;
	} else if (s - p == 5) {
		minutes = hours % 100;
		hours /= 100;
	} else {
		return p;
	}
	ns = (hours * 60 + minutes) * 60 * 1000000000;
	if (hours > 14 || minutes > 59 || ns > t->ns)
		return p;
	t->ns = *p == '+' ? t->ns - ns : t->ns + ns;
	return s;
}

/* "10:20:33.100001" of a day */
static const char *clock_take(const char *p, uint64_t days, struct log_time *t)
{
	uint64_t hour, minute, second;

	if (!number_take(&p, 2, ':', &hour) || !number_take(&p, 2, ':', &minute) ||
	    !number_take(&p, 2, 0, &second) || hour > 23 || minute > 59 || second > 60)
		return NULL;
	t->ns = (((days * 24 + hour) * 60 + minute) * 60 + second) * 1000000000;
	return fraction_take(p, t);
}

const char *log_date_parse(const char *s, struct log_time *ret)
{
	struct log_time t = {0};
	uint64_t year, month, day;
	const char *p = s;

	if (!number_take(&p, 4, '-', &year) || !number_take(&p, 2, '-', &month) ||
	    !number_take(&p, 2, 0, &day) || (*p != 'T' && *p != ' ') || year < YEAR_MIN ||
	    year > YEAR_MAX || month < 1 || month > 12 || day < 1 || day > 31)
		return NULL;
	p = clock_take(p + 1, days_of(year, month, day), &t);
	if (!p)
		return NULL;
	p = zone_take(p, &t);
	*ret = t;
	return p;
}

/* "12:00:01 PM" as one of 24 hours; false: it is none of 12. */
static bool half_take(const struct date_words *d, struct log_time *t)
{
	const uint64_t hour_ns = UINT64_C(3600) * 1000000000;
	uint64_t hour = t->ns / hour_ns % 24;

	if (!d->has_half)
		return true;
	if (hour < 1 || hour > 12)
		return false;
	t->ns += d->pm && hour < 12 ? 12 * hour_ns : 0;
	t->ns -= !d->pm && hour == 12 ? 12 * hour_ns : 0;
	return true;
}

/* "Mar 01 10:20:33.100001", "[Do Mär 12 10:20:33 2026]" */
static const char *words_parse(const char *s, struct log_time *ret)
{
	bool bracket = *s == '[';
	struct date_words d;
	struct log_time t = {0};
	const char *end = date_words_parse(s + bracket, &d), *zone;
	uint64_t days;

	if (!end || !d.has_seconds || !d.month || !d.day || d.day > 31)
		return NULL;
	t.no_year = !d.year;
	t.month = (uint8_t)d.month;
	t.day = (uint8_t)d.day;
	days = days_of(d.year ? d.year : 1970, d.month, d.day);
	if (clock_take(d.clock, days, &t) != d.clock_end || !half_take(&d, &t))
		return NULL;
	zone = bracket ? date_zone_skip(end) : NULL;
	end = zone ? zone : end;
	*ret = t;
	return !bracket ? end : *end == ']' ? end + 1 : NULL;
}

uint64_t log_time_in_year(const struct log_time *t, uint64_t year)
{
	return t->ns + (days_of(year, t->month, t->day) - days_of(1970, t->month, t->day)) *
			       86400 * 1000000000;
}

/* "1772360433.100001" of ts and journalctl -o short-unix; "[  123.100001]", "123.100001" */
static const char *seconds_parse(const char *s, struct log_time *ret)
{
	bool bracket = *s == '[';
	const char *begin = bracket ? text_skip_blanks(s + 1) : s, *p = begin;
	uint64_t seconds = text_decimal(&p);
	struct log_time t = {.monotonic = bracket || p - begin != 10};

	if (p == begin || *p != '.' || seconds > INT64_MAX / 1000000000)
		return NULL;
	t.ns = seconds * 1000000000;
	p = fraction_take(p, &t);
	if (!p || t.decimals < (t.monotonic && !bracket ? 6 : 3) || (bracket && *p != ']'))
		return NULL;
	*ret = t;
	p += bracket;
	if (bracket && *p == '[') { /* "[    T1]" of the kernel: CONFIG_PRINTK_CALLER */
		p = text_skip_blanks(p + 1);
		p += strcspn(p, " ]\n");
		p = *p == ']' ? p + 1 : NULL;
	}
	return p;
}

/* "10:20:33.100001"; without a fraction it may be a thread's name, or a time that several events have. */
static const char *day_parse(const char *s, struct log_time *ret)
{
	struct log_time t = {.of_day = true};
	const char *p = clock_take(s, 0, &t);

	if (!p || !t.decimals)
		return NULL;
	*ret = t;
	return p;
}

/* "[2026-03-01 10:20:33.100001]", "[10:20:33.100001]" */
static const char *bracket_parse(const char *s, struct log_time *ret)
{
	const char *p = *s == '[' ? log_date_parse(s + 1, ret) : NULL;

	p = p || *s != '[' ? p : day_parse(s + 1, ret);
	return p && *p == ']' ? p + 1 : NULL;
}

/* "qemu-system-x86_64:", "qemu-kvm[4217]:" and the blank after it: the end; NULL: it is not so. */
static const char *program_skip(const char *s)
{
	const char *p = s;

	while (isalnum((unsigned char)*p) || strchr("-_./", *p ? *p : ' '))
		p++;
	if (p == s)
		return NULL;
	if (*p == '[' && text_is_digit(p[1])) {
		p++;
		text_decimal(&p);
		if (*p++ != ']')
			return NULL;
	}
	return p[0] == ':' && p[1] == ' ' ? p + 2 : NULL;
}

/* "host " before a program */
static const char *host_skip(const char *s)
{
	const char *p = s;

	while (isgraph((unsigned char)*p) && *p != ':' && *p != '@')
		p++;
	return p > s && *p == ' ' ? p + 1 : NULL;
}

/* "Sun ", "jeu. ", "木 " before a date */
static const char *weekday_skip(const char *s)
{
	const char *p = s;

	while (isalpha((unsigned char)*p) || (unsigned char)*p >= 0x80)
		p++;
	if (p == s || p - s > WEEKDAY_MAX)
		return NULL;
	p += *p == '.';
	return *p == ' ' && text_is_digit(p[1]) ? p + 1 : NULL;
}

/* " CET" behind a date; one that is not known may be a word of the line, if no host and program follow. */
static const char *zone_skip(const char *s)
{
	const char *zone = date_zone_skip(s), *host;

	if (*s != ' ' || !zone || *zone != ' ')
		return s;
	host = host_skip(text_skip_blanks(zone));
	return date_zone_is_known(s, zone) || (host && program_skip(host)) ? zone : s;
}

static const char *time_parse(const char *s, struct log_time *ret)
{
	const char *p = log_date_parse(s, ret), *date = p ? NULL : weekday_skip(s);

	p = date ? log_date_parse(date, ret) : p;
	p = p ? p : words_parse(s, ret);
	p = p ? p : seconds_parse(s, ret);
	p = p ? p : day_parse(s, ret);
	p = p ? p : bracket_parse(s, ret);
	if (!p)
		return NULL;
	p = zone_skip(p);
	p += *p == ':';
	return *p == ' ' ? text_skip_blanks(p) : NULL;
}

/* "host qemu-kvm 4217 - - " of RFC 5424, whose structured data may be "[a b="c"]" */
static const char *rfc5424_skip(const char *s, struct text_slice *source)
{
	const char *p = s;

	for (int word = 0; word < 4; word++) {
		const char *begin = p;

		while (isgraph((unsigned char)*p))
			p++;
		if (p == begin || *p != ' ')
			return NULL;
		if (word == 2)
			*source = (struct text_slice){s, (uint32_t)(p - s)};
		p++;
	}
	if (*p == '-')
		return p[1] == ' ' ? p + 2 : NULL;
	while (*p == '[') {
		p += strcspn(p, "]\n");
		if (*p++ != ']')
			return NULL;
	}
	return *p == ' ' ? p + 1 : NULL;
}

/* "<13>", and "1 " before the date of RFC 5424 */
static const char *version_skip(const char *s)
{
	const char *p = s;

	if (*p == '<' && text_is_digit(p[1])) {
		p++;
		text_decimal(&p);
		if (*p++ != '>')
			return s;
	}
	return p[0] == '1' && p[1] == ' ' && text_is_digit(p[2]) ? p + 2 : p;
}

/* "[guest] ", "qemu-system-x86_64: ", "(4217:CPU 0/KVM): ": of QEMU itself. */
static const char *qemu_skip(const char *s, const char *end, struct log_head *h)
{
	const char *p = s, *close, *number;

	if (*p == '[') {
		close = memchr(p, ']', (size_t)(end - p));
		if (close && close - p <= GUEST_MAX && close[1] == ' ')
			p = close + 2;
	}
	close = program_skip(p);
	if (close && (!strncmp(p, "kvm:", 4) || memmem(p, (size_t)(close - p), "qemu", 4)))
		p = close;
	number = p + 1;
	if (*p == '(' && text_is_digit(*number)) {
		uint64_t tid = text_decimal(&number);

		close = *number == ':' ? memchr(number, ')', (size_t)(end - number)) : NULL;
		if (close && close[1] == ':' && close[2] == ' ' && tid <= UINT32_MAX) {
			h->tid = (uint32_t)tid;
			p = close + 3;
		}
	}
	/* a guest's name alone proves nothing */
	return p > s && p[-2] == ':' ? p : s;
}

const char *log_head_parse(const char *s, const char *end, struct log_head *ret)
{
	struct log_head h = {0};
	const char *version = version_skip(s), *p = time_parse(version, &h.time), *after = NULL;

	h.has_time = p;
	if (!p) {
		p = version = s;
	} else if (version > s && version[-1] == ' ') {
		after = rfc5424_skip(p, &h.source);
	} else if (!program_skip(p)) {
		after = host_skip(p);
		after = after ? program_skip(after) : NULL;
		if (after)
			h.source = (struct text_slice){p, (uint32_t)(after - 2 - p)};
	}
	p = qemu_skip(after ? after : p, end, &h);
	*ret = h;
	return p > end ? s : p;
}
