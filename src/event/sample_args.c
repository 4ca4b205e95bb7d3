// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A sample's arguments: decoding by signature, and formatting as OSv's tool does it. That tool
 * replaces %p by 0x%016x and passes the rest to Python's % operator, whose rules differ from C's: a
 * negative %x prints a minus sign, %u is %d, a length modifier (h, l, L: one at most) is ignored,
 * %#o prints 0o, and a wrong number of arguments is an error.
 */
#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <math.h>

#include "base/buffer.h"
#include "base/error.h"
#include "base/json_text.h"
#include "event/event.h"
#include "event/sample.h"

enum { STRING_BYTES = 50 }; /* a p: length byte and up to 49 bytes */

static size_t type_size(char type)
{
	switch (type) {
	case 'c':
	case 'b':
	case 'B':
	case '?':
		return 1;
	case 'h':
	case 'H':
		return 2;
	case 'i':
	case 'I':
	case 'f':
		return 4;
	case 'q':
	case 'Q':
	case 'P':
	case 'd':
		return 8;
	default:
		return 0;
	}
}

static void align_to(struct buffer *b, size_t to)
{
	size_t off = (size_t)(b->pos - b->start) % to;

	if (off)
		buffer_bytes(b, to - off);
}

static void read_number(struct buffer *b, struct sample_arg *a, size_t size)
{
	align_to(b, size);
	a->u = buffer_le(b, size);
	if (a->type == 'f') {
		float f;

		memcpy(&f, &a->u, sizeof(f));
		a->d = (double)f;
	} else if (strchr("bhiq", a->type)) {
		unsigned int shift = 64 - 8 * (unsigned int)size;

		a->i = (int64_t)(a->u << shift) >> shift;
	} else if (a->type == '?') {
		a->u = !!a->u;
	}
}

static void read_string(struct buffer *b, struct sample_arg *a)
{
	const uint8_t *p = buffer_bytes(b, STRING_BYTES);

	if (!p)
		return;
	a->len = p[0] < STRING_BYTES ? p[0] : STRING_BYTES - 1;
	a->bytes = p + 1;
}

static void read_blob(struct buffer *b, struct sample_arg *a)
{
	align_to(b, 2);
	a->len = buffer_u16(b);
	a->bytes = buffer_bytes(b, a->len);
}

int sample_args(const struct sample_type *tp, const uint8_t *block, size_t len,
		struct sample_arg ret[SAMPLE_ARGS_MAX], size_t *ret_len)
{
	struct buffer b = buffer_of(block, len, "", 0);
	int nr = 0;

	for (const char *s = tp->signature; *s; nr++) {
		struct sample_arg *a = &ret[nr];

		if (nr == SAMPLE_ARGS_MAX)
			return fail(-EBADMSG, "more than %d arguments", SAMPLE_ARGS_MAX);
		while (isdigit((unsigned char)*s)) /* a tracefile writes 50p */
			s++;
		*a = (struct sample_arg){.type = *s};
		if (*s == 'p')
			read_string(&b, a);
		else if (*s == '*')
			read_blob(&b, a);
		else if (type_size(*s))
			read_number(&b, a, type_size(*s));
		else
			return fail(-EBADMSG, "unknown signature '%s'", tp->signature);
		if (*s)
			s++;
	}
	if (b.cut)
		return fail(-EBADMSG, "the sample is truncated");
	*ret_len = (size_t)(b.pos - b.start);
	return nr;
}

int sample_args_layout(const char *signature, struct sample_arg_place ret[SAMPLE_ARGS_MAX],
		       size_t *ret_size)
{
	size_t at = 0;
	int nr = 0;

	for (const char *s = signature; *s; s++, nr++) {
		while (isdigit((unsigned char)*s))
			s++;
		size_t size = *s == 'p' ? STRING_BYTES : type_size(*s);

		if (nr == SAMPLE_ARGS_MAX || !size)
			return -1;
		if (*s != 'p')
			at = (at + size - 1) / size * size;
		ret[nr] = (struct sample_arg_place){*s, (uint16_t)at, (uint16_t)size};
		at += size;
	}
	*ret_size = at;
	return nr;
}

/* ---- formatting ---- */

struct out {
	char *pos, *end;
};

static void out_put(struct out *o, const char *text, size_t len)
{
	size_t room = (size_t)(o->end - o->pos);

	if (len > room)
		len = room;
	memcpy(o->pos, text, len);
	o->pos += len;
}

/* One conversion: flags, width, precision as written; the conversion character. */
struct spec {
	char flags[8];
	int width, precision; /* -1: none */
	char conv;
};

static int parse_number(const char **p)
{
	int n = 0;

	while (isdigit((unsigned char)**p) && n < 100000)
		n = n * 10 + (*(*p)++ - '0');
	return n;
}

static const char *parse_spec(const char *p, struct spec *ret)
{
	size_t nr = 0;

	*ret = (struct spec){.width = -1, .precision = -1};
	while (*p && strchr("#0- +", *p)) {
		if (nr + 1 < sizeof(ret->flags))
			ret->flags[nr++] = *p;
		p++;
	}
	if (isdigit((unsigned char)*p))
		ret->width = parse_number(&p);
	if (*p == '.') {
		p++;
		ret->precision = parse_number(&p);
	}
	if (*p == 'h' || *p == 'l' || *p == 'L')
		p++;
	ret->conv = *p;
	return *p ? p + 1 : p;
}

/* Writes digits with sign, prefix, precision and width, as Python does for integers. */
static void put_integer(struct out *o, const struct spec *s, bool negative, uint64_t magnitude)
{
	char digits[32], prefix[8] = "";
	bool alt = strchr(s->flags, '#'), left = strchr(s->flags, '-');
	bool zero = strchr(s->flags, '0') && !left;
	char sign = negative ? '-' : strchr(s->flags, '+') ? '+' : strchr(s->flags, ' ') ? ' ' : 0;
	const char *fmt = s->conv == 'x'   ? "%" PRIx64
			  : s->conv == 'X' ? "%" PRIX64
			  : s->conv == 'o' ? "%" PRIo64
					   : "%" PRIu64;
	int len = snprintf(digits, sizeof(digits), fmt, magnitude),
	    zeros = s->precision > len ? s->precision - len : 0;

	if (alt && strchr("xXo", s->conv))
		snprintf(prefix, sizeof(prefix), "0%c", s->conv);
	int total = len + zeros + (sign != 0) + (int)strlen(prefix),
	    pad = s->width > total ? s->width - total : 0;

	if (zero) {
		zeros += pad;
		pad = 0;
	}
	for (int i = 0; !left && i < pad; i++)
		out_put(o, " ", 1);
	if (sign)
		out_put(o, &sign, 1);
	out_put(o, prefix, strlen(prefix));
	for (int i = 0; i < zeros; i++)
		out_put(o, "0", 1);
	out_put(o, digits, (size_t)len);
	for (int i = 0; left && i < pad; i++)
		out_put(o, " ", 1);
}

static bool is_signed(char type)
{
	return strchr("bhiq", type);
}

static int put_int_arg(struct out *o, const struct spec *s, const struct sample_arg *a)
{
	if (a->type == 'p' || a->type == '*' || a->type == 'c')
		return fail(-EINVAL, "%%%c: a number is required", s->conv);
	if (a->type == 'f' || a->type == 'd') {
		if (strchr("xXo", s->conv) || !(a->d > -9.2e18 && a->d < 9.2e18))
			return fail(-EINVAL, "%%%c: an integer is required", s->conv);
		int64_t v = (int64_t)a->d;

		put_integer(o, s, v < 0, v < 0 ? 0 - (uint64_t)v : (uint64_t)v);
		return 0;
	}
	bool negative = is_signed(a->type) && a->i < 0;

	put_integer(o, s, negative, negative ? 0 - a->u : a->u);
	return 0;
}

static int put_float_arg(struct out *o, const struct spec *s, const struct sample_arg *a)
{
	char fmt[40], text[512];
	double v = a->type == 'f' || a->type == 'd' ? a->d
		   : is_signed(a->type)		    ? (double)a->i
						    : (double)a->u;
	int n;

	if (a->type == 'p' || a->type == '*' || a->type == 'c')
		return fail(-EINVAL, "%%%c: a number is required", s->conv);
	snprintf(fmt, sizeof(fmt), "%%%s*.*%c", s->flags, s->conv);
	n = snprintf(text, sizeof(text), fmt,
		     s->width < 0     ? 0
		     : s->width > 400 ? 400
				      : s->width,
		     s->precision < 0	 ? 6
		     : s->precision > 60 ? 60
					 : s->precision,
		     v);
	out_put(o, text, n < (int)sizeof(text) ? (size_t)n : sizeof(text) - 1);
	return 0;
}

/* As Python prints a float: the fewest digits that identify it, 3.0 with its zero. Up to 40 bytes. */
static char *put_shortest(char *p, double v)
{
	char text[40];
	int digits = 1, exponent;

	if (!isfinite(v))
		return p + sprintf(p, "%s", isnan(v) ? "nan" : v < 0 ? "-inf" : "inf");
	for (; digits < 17; digits++) {
		snprintf(text, sizeof(text), "%.*e", digits - 1, v);
		if (strtod(text, NULL) == v)
			break;
	}
	snprintf(text, sizeof(text), "%.*e", digits - 1, v);
	exponent = (int)strtol(strchr(text, 'e') + 1, NULL, 10);
	if (exponent < -4 || exponent >= 16)
		return p + sprintf(p, "%s", text);
	return p + sprintf(p, "%.*f", digits - 1 > exponent + 1 ? digits - 1 - exponent : 1, v);
}

/* Bytes of the first `nr` characters of UTF-8. */
static size_t bytes_of(const char *text, size_t len, size_t nr)
{
	size_t i = 0;

	for (; i < len; i++)
		if (((uint8_t)text[i] & 0xc0) != 0x80 && !nr--)
			break;
	return i;
}

/* %s of any argument: text as it is, a blob as {aa bb}, a bool as True/False, numbers as Python's str(). */
static int put_text_arg(struct out *o, const struct spec *s, const struct sample_arg *a)
{
	char text[4 * 65536]; /* a blob of 65,535 bytes in hex */
	struct out t = {text, text + sizeof(text) - 1};

	switch (a->type) {
	case 'p':
		out_put(&t, (const char *)a->bytes, a->len);
		break;
	case '*':
		out_put(&t, "{", 1);
		for (unsigned int i = 0; i < a->len; i++) {
			char hex[4];

			out_put(&t, hex,
			    (size_t)snprintf(hex, sizeof(hex), "%s%02x", i ? " " : "",
					     a->bytes[i]));
		}
		out_put(&t, "}", 1);
		break;
	case '?':
		out_put(&t, a->u ? "True" : "False", a->u ? 4 : 5);
		break;
	case 'f':
	case 'd':
		t.pos = put_shortest(t.pos, a->d);
		break;
	default:
		put_integer(&t, &(struct spec){.width = -1, .precision = -1, .conv = 'd'},
			    is_signed(a->type) && a->i < 0,
			    is_signed(a->type) && a->i < 0 ? 0 - a->u : a->u);
	}
	size_t len = (size_t)(t.pos - text);

	if (s->precision >= 0)
		len = bytes_of(text, len, (size_t)s->precision);
	size_t columns = utf8_length(text, len);
	bool left = strchr(s->flags, '-');

	for (size_t i = columns; !left && s->width > 0 && i < (size_t)s->width; i++)
		out_put(o, " ", 1);
	out_put(o, text, len);
	for (size_t i = columns; left && s->width > 0 && i < (size_t)s->width; i++)
		out_put(o, " ", 1);
	return 0;
}

static int put_arg(struct out *o, const struct spec *s, const struct sample_arg *a)
{
	switch (s->conv) {
	case 'd':
	case 'i':
	case 'u':
	case 'x':
	case 'X':
	case 'o':
		return put_int_arg(o, s, a);
	case 'e':
	case 'E':
	case 'f':
	case 'F':
	case 'g':
	case 'G':
		return put_float_arg(o, s, a);
	case 's':
		return put_text_arg(o, s, a);
	case 'c':
		if (a->type == 'p' || a->type == '*' || a->type == 'c' || a->u >= 0x80)
			return fail(-EINVAL, "%%c needs a small number");
		out_put(o, (const char[]){(char)a->u}, 1);
		return 0;
	case 'p':
		return put_int_arg(
			o, &(struct spec){.flags = "0", .width = 16, .precision = -1, .conv = 'x'},
			a);
	default:
		return fail(-EINVAL, "unsupported format character '%c'", s->conv ? s->conv : '?');
	}
}

/* The sample is an event: its fields, without its backtrace. */
static const char *record_format(const struct sample *s, char *buf, size_t size)
{
	const struct event_type *type = s->tp->kind->type;
	const struct event ev = {.type = type, .data = s->args, .size = (uint16_t)s->args_len};
	struct out o = {buf, buf + size - 1};
	char text[512];

	for (unsigned int i = 0; i < type->nr_fields; i++) {
		const struct field *f = &type->fields[i];

		if (!strncmp(f->name, "frame", 5) && isdigit((unsigned char)f->name[5]))
			continue;
		field_print(&ev, f, text, sizeof(text));
		if (o.pos > buf)
			out_put(&o, " ", 1);
		if (strcmp(f->name, "text")) { /* that one is the event's own words */
			out_put(&o, f->name, strlen(f->name));
			out_put(&o, "=", 1);
		}
		out_put(&o, text, strlen(text));
	}
	*o.pos = 0;
	return buf;
}

const char *sample_format(const struct sample *s, char *buf, size_t size)
{
	if (s->tp->kind && s->tp->kind->type)
		return record_format(s, buf, size);

	struct sample_arg args[SAMPLE_ARGS_MAX];
	struct out o = {buf, buf + size - 1};
	size_t len;
	int nr = sample_args(s->tp, s->args, s->args_len, args, &len), used = 0;

	if (nr < 0)
		return NULL;
	for (const char *p = s->tp->format; *p;) {
		size_t plain = strcspn(p, "%");
		struct spec spec;

		out_put(&o, p, plain);
		p += plain;
		if (!*p)
			break;
		p = parse_spec(p + 1, &spec);
		if (spec.conv == '%') {
			out_put(&o, "%", 1);
			continue;
		}
		if (used == nr) {
			fail(-EINVAL, "%s: not enough arguments for format \"%s\"", s->tp->name,
			     s->tp->format);
			return NULL;
		}
		if (spec.conv == 'p')
			out_put(&o, "0x", 2);
		if (put_arg(&o, &spec, &args[used++]))
			return NULL;
	}
	if (used != nr) {
		fail(-EINVAL, "%s: too many arguments for format \"%s\"", s->tp->name,
		     s->tp->format);
		return NULL;
	}
	*o.pos = 0;
	return buf;
}
