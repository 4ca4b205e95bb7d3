// SPDX-License-Identifier: GPL-2.0-or-later
#include <stdio.h>
#include <string.h>

#include "fetch/gdb_packet.h"

enum { IDLE, DATA, SUM_HIGH, SUM_LOW };

enum { REPEAT_BIAS = 29, REPEAT_MIN = 32, REPEAT_MAX = 126 };

static int hex_digit(uint8_t c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	if (c >= 'a' && c <= 'f')
		return c - 'a' + 10;
	return c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

static void data_add(struct gdb_parser *p, char c)
{
	if (p->len == GDB_PACKET_MAX)
		p->damaged = true;
	else
		p->data[p->len++] = c;
}

/* "0*<space>" is four zeroes: the count byte is the number of repeats plus 29. */
static void data_repeat(struct gdb_parser *p, uint8_t count)
{
	if (!p->len || count < REPEAT_MIN || count > REPEAT_MAX)
		p->damaged = true;
	for (int n = count - REPEAT_BIAS; n > 0 && !p->damaged; n--)
		data_add(p, p->data[p->len - 1]);
}

static void data_byte(struct gdb_parser *p, uint8_t c)
{
	p->sum = (uint8_t)(p->sum + c);
	if (p->escaped) {
		p->escaped = false;
		data_add(p, (char)(c ^ 0x20));
	} else if (p->repeat) {
		p->repeat = false;
		data_repeat(p, c);
	} else if (c == '}') {
		p->escaped = true;
	} else if (c == '*') {
		p->repeat = true;
	} else {
		data_add(p, (char)c);
	}
}

static void packet_begins(struct gdb_parser *p, bool notification)
{
	p->state = DATA;
	p->notification = notification;
	p->damaged = p->escaped = p->repeat = false;
	p->sum = 0;
	p->len = 0;
}

static enum gdb_token idle_byte(struct gdb_parser *p, uint8_t c)
{
	switch (c) {
	case '+':
		return GDB_ACK;
	case '-':
		return GDB_NAK;
	case '$':
	case '%':
		packet_begins(p, c == '%');
		return GDB_NOTHING;
	default:
		return GDB_NOTHING;
	}
}

static enum gdb_token packet_ends(struct gdb_parser *p, int low)
{
	p->state = IDLE;
	p->data[p->len] = 0;
	if (low < 0 || p->damaged || p->escaped || p->repeat ||
	    p->sum != (uint8_t)(p->sum_sent << 4 | low))
		return GDB_DAMAGED;
	return p->notification ? GDB_NOTIFICATION : GDB_PACKET;
}

enum gdb_token gdb_parse(struct gdb_parser *p, uint8_t c)
{
	int digit;

	switch (p->state) {
	case DATA:
		if (c == '$') /* the rest of the packet before was lost */
			packet_begins(p, false);
		else if (c == '#')
			p->state = SUM_HIGH;
		else
			data_byte(p, c);
		return GDB_NOTHING;
	case SUM_HIGH:
		digit = hex_digit(c);
		p->damaged |= digit < 0;
		p->sum_sent = (uint8_t)(digit & 15);
		p->state = SUM_LOW;
		return GDB_NOTHING;
	case SUM_LOW:
		return packet_ends(p, hex_digit(c));
	default:
		return idle_byte(p, c);
	}
}

size_t gdb_packet_make(const char *data, size_t len, char *ret, size_t size)
{
	uint8_t sum = 0;
	size_t n = 0;

	if (size < 2 * len + 5)
		return 0;
	ret[n++] = '$';
	for (size_t i = 0; i < len; i++) {
		bool special = strchr("$#}*", data[i]) && data[i];

		if (special)
			ret[n++] = '}';
		ret[n++] = (char)(special ? data[i] ^ 0x20 : data[i]);
	}
	for (size_t i = 1; i < n; i++)
		sum = (uint8_t)(sum + (uint8_t)ret[i]);
	return n + (size_t)snprintf(ret + n, size - n, "#%02x", sum);
}

bool gdb_hex_bytes(const char *hex, size_t digits, uint8_t *ret, size_t len)
{
	if (digits != 2 * len)
		return false;
	for (size_t i = 0; i < len; i++) {
		int high = hex_digit((uint8_t)hex[2 * i]), low = hex_digit((uint8_t)hex[2 * i + 1]);

		if (high < 0 || low < 0)
			return false;
		ret[i] = (uint8_t)(high << 4 | low);
	}
	return true;
}
