// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The text of a serial console, from what the guest writes to the ports of its UART: byte by byte, as drivers do. What
 * markers look for, and the times that lines contain.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analyzers/boot/internal.h"
#include "base/error.h"

enum { UART_DATA = 0, UART_LCR = 3, LCR_DLAB = 0x80 };

enum console_change boot_console_write(struct boot_console *c, uint32_t reg, uint32_t value,
				       uint64_t ns)
{
	char byte = (char)value;

	if (reg == UART_LCR)
		c->divisor = value & LCR_DLAB;
	if (reg != UART_DATA || c->divisor || byte == '\r' || !byte)
		return CONSOLE_NOTHING;
	if (byte == '\n') {
		c->line[c->len] = 0;
		c->len = 0;
		return *c->line ? CONSOLE_ENDS : CONSOLE_NOTHING;
	}
	if (!c->len)
		c->since_ns = ns;
	if (c->len == sizeof(c->line) - 1)
		return CONSOLE_NOTHING;
	c->line[c->len++] = byte;
	c->line[c->len] = 0;
	return c->len == 1 ? CONSOLE_BEGINS : CONSOLE_GROWS;
}

bool boot_console_has(const struct boot_console *c, const char *text)
{
	size_t len = strlen(text);

	return c->len >= len && !memcmp(c->line + c->len - len, text, len);
}

bool boot_line_time(const char *line, uint64_t *ret_ns)
{
	uint32_t seconds, micros;
	int end = 0;

	if (sscanf(line, "[%9" SCNu32 ".%6" SCNu32 "]%n", &seconds, &micros, &end) != 2 || !end)
		return false;
	*ret_ns = seconds * UINT64_C(1000000000) + micros * UINT64_C(1000);
	return true;
}

/* ---- markers ---- */

static bool number_read(const char **text, uint32_t max, uint32_t *ret)
{
	char *end;
	unsigned long n;

	if (**text < '0' || **text > '9')
		return false;
	errno = 0;
	n = strtoul(*text, &end, 0);
	if (errno || n > max)
		return false;
	*text = end;
	*ret = (uint32_t)n;
	return true;
}

static bool port_read(const char *text, struct boot_marker *m)
{
	if (!number_read(&text, UINT16_MAX, &m->port))
		return false;
	m->has_value = *text == '=';
	if (m->has_value && (text++, !number_read(&text, UINT32_MAX, &m->value)))
		return false;
	return !*text;
}

int boot_marker_parse(const char *text, struct boot_marker *ret)
{
	*ret = (struct boot_marker){.text = text};
	if (!strncmp(text, "console:", 8) && text[8] && strlen(text + 8) < BOOT_LINE_BYTES)
		ret->line = text + 8;
	else if (strncmp(text, "port:", 5) != 0 || !port_read(text + 5, ret))
		return fail(-EINVAL,
			    "invalid marker '%s' (expected port:NUMBER, port:NUMBER=VALUE or "
			    "console:TEXT)",
			    text);
	return 0;
}
