// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Numbers with units: a text is parsed to its last character or is an error; durations are printed with three digits.
 */
#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/digits.h"
#include "base/error.h"
#include "base/units.h"

struct unit {
	const char *name;
	double factor;
};

/* Largest first, as printing needs them. */
static const struct unit time_units[] = {
	{"h", 3600e9}, {"m", 60e9}, {"s", 1e9}, {"ms", 1e6}, {"us", 1e3}, {"ns", 1}, {NULL, 0},
};

static const struct unit size_units[] = {
	{"K", 1024}, {"M", 1 << 20}, {"G", 1 << 30}, {"T", 1099511627776.0}, {NULL, 0},
};

/* ---- parsing ---- */

/* A decimal number with one of these units, or with none. */
static bool scaled_parse(const char *text, const struct unit *units, double bare_factor,
			 double *ret)
{
	char *end;
	double v = strtod(text, &end);

	if (end == text || !isfinite(v) || strpbrk(text, "xX"))
		return false;
	if (!*end) {
		*ret = v * bare_factor;
		return true;
	}
	for (const struct unit *u = units; u->name; u++)
		if (!strcasecmp(end, u->name)) {
			*ret = v * u->factor;
			return true;
		}
	return false;
}

static bool unsigned_parse(const char *text, const struct unit *units, double bare_factor,
			   uint64_t *ret)
{
	double v;

	if (!scaled_parse(text, units, bare_factor, &v) || !(v >= 0) || v >= 1.8e19)
		return false;
	*ret = (uint64_t)llround(v);
	return true;
}

static int duration_invalid(const char *text)
{
	return fail(-EINVAL, "invalid duration '%s' (expected e.g. 10ms, 5s)", text);
}

int parse_duration(const char *text, uint64_t *ret_ns)
{
	return unsigned_parse(text, time_units, 1e9, ret_ns) ? 0 : duration_invalid(text);
}

int parse_signed_duration(const char *text, double bare_unit_ns, double *ret_ns)
{
	return scaled_parse(text, time_units, bare_unit_ns, ret_ns) ? 0 : duration_invalid(text);
}

int parse_size(const char *text, uint64_t *ret_bytes)
{
	if (unsigned_parse(text, size_units, 1, ret_bytes))
		return 0;
	return fail(-EINVAL, "invalid size '%s' (expected e.g. 64K, 16M, 1G)", text);
}

int parse_u64(const char *text, uint64_t *ret)
{
	char *end;

	errno = 0;
	unsigned long long v = strtoull(text, &end, 0);
	if (!isdigit((unsigned char)text[0]) || *end || errno)
		return fail(-EINVAL, "invalid number '%s'", text);
	*ret = v;
	return 0;
}

bool parse_seconds(const char *text, uint64_t *ret_ns)
{
	uint64_t seconds = 0, ns = 0, unit = NS_PER_S;
	const char *p = text;

	for (; isdigit((unsigned char)*p); p++)
		if (__builtin_mul_overflow(seconds, 10, &seconds) ||
		    __builtin_add_overflow(seconds, *p - '0', &seconds))
			return false;
	if (p == text)
		return false;
	if (*p == '.')
		for (p++; isdigit((unsigned char)*p) && unit > 1; p++) {
			unit /= 10;
			ns += unit * (uint64_t)(*p - '0');
		}
	return !*p && !__builtin_mul_overflow(seconds, NS_PER_S, &seconds) &&
	       !__builtin_add_overflow(seconds, ns, ret_ns);
}

/* ---- printing ---- */

char *put_duration(char *p, uint64_t ns)
{
	for (const struct unit *u = time_units + 2; u->factor > 1; u++) { /* from s on */
		double v = (double)ns / u->factor;
		char digits[32];

		if (v < 0.9995)
			continue;
		p = put_text(p, decimal_print(v, v < 9.995 ? 2 : v < 99.95 ? 1 : 0, digits,
					      sizeof(digits)));
		return put_text(p, u->name);
	}
	return put_text(put_dec(p, ns), "ns");
}

const char *duration_print(uint64_t ns, char *buf, size_t size)
{
	char text[PUT_DURATION_MAX];

	snprintf(buf, size, "%.*s", (int)(put_duration(text, ns) - text), text);
	return buf;
}

const char *ticks_print(uint64_t ticks, char *buf, size_t size)
{
	static const char prefix[] = "kMGTPE";
	double v = (double)ticks;
	unsigned int thousands = 0;

	for (; v >= 999.5; v /= 1000)
		thousands++;
	if (!thousands)
		snprintf(buf, size, "%" PRIu64 "t", ticks);
	else
		snprintf(buf, size,
			 v < 9.995   ? "%.2f%ct"
			 : v < 99.95 ? "%.1f%ct"
				     : "%.0f%ct",
			 v, prefix[thousands - 1]);
	return buf;
}

const char *duration_print_wide(double ns, char *buf, size_t size)
{
	for (const struct unit *u = time_units; u->name; u++)
		if (ns >= u->factor) {
			snprintf(buf, size, "%.2f %s", ns / u->factor, u->name);
			return buf;
		}
	for (int digits = 1; digits < 18; digits++) { /* as many as it takes to read it back */
		snprintf(buf, size, "%.*g", digits, ns);
		if (strtod(buf, NULL) == ns)
			break;
	}
	return buf;
}

const char *seconds_print(uint64_t ns, char *buf, size_t size)
{
	snprintf(buf, size, "%" PRIu64 ".%09" PRIu64, ns / NS_PER_S, ns % NS_PER_S);
	return buf;
}
