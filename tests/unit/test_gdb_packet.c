// SPDX-License-Identifier: GPL-2.0-or-later
/* Packets of the gdb protocol: as in the manual, and damaged. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "fetch/gdb.h"

static struct gdb_parser parser;

/* The tokens of a text, a letter each: + - P(acket) N(otification) D(amaged). */
static const char *tokens(const char *text)
{
	static char found[64];
	size_t n = 0;

	memset(found, 0, sizeof(found));
	parser.state = 0;
	for (; *text; text++) {
		enum gdb_token t = gdb_parse(&parser, (uint8_t)*text);

		if (t != GDB_NOTHING && n < sizeof(found) - 1)
			found[n++] = ".+-PND"[t];
	}
	return found;
}

static void reads(void **state)
{
	(void)state;
	assert_string_equal(tokens("+$OK#9a"), "+P");
	assert_string_equal(parser.data, "OK");
	assert_string_equal(tokens("-%Stop:T05#ff"), "-D");
	assert_string_equal(tokens("%Stop#a6"), "N");
	assert_string_equal(tokens("noise$#00"), "P");
	assert_int_equal(parser.len, 0);
	/* the manual's own: "0* " is "0000" */
	assert_string_equal(tokens("$0* #7a"), "P");
	assert_string_equal(parser.data, "0000");
	assert_string_equal(tokens("$a}\x03" "b#43"), "P");
	assert_string_equal(parser.data, "a#b");
}

static void refuses(void **state)
{
	(void)state;
	assert_string_equal(tokens("$OK#9b"), "D");
	assert_string_equal(tokens("$OK#zz"), "D");
	assert_string_equal(tokens("$*!#4b"), "D"); /* repeats nothing */
	assert_string_equal(tokens("$a*\x1f#aa"), "D"); /* a count below 3 */
	assert_string_equal(tokens("$a}#de"), "D"); /* escapes nothing */
	assert_string_equal(tokens("$cut$OK#9a"), "P"); /* starts again */
	assert_string_equal(parser.data, "OK");
}

static void bounded(void **state)
{
	unsigned int nr = 0;

	(void)state;
	parser.state = 0;
	gdb_parse(&parser, '$');
	gdb_parse(&parser, 'a');
	for (int i = 0; i < GDB_PACKET_MAX; i++) /* each pair repeats 97 times */
		nr += gdb_parse(&parser, i & 1 ? '~' : '*') != GDB_NOTHING;
	assert_int_equal(nr, 0);
	assert_true(parser.len <= GDB_PACKET_MAX);
	gdb_parse(&parser, '#');
	gdb_parse(&parser, '0');
	assert_int_equal(gdb_parse(&parser, '0'), GDB_DAMAGED);
}

static void makes(void **state)
{
	char out[64];
	uint8_t bytes[3];

	(void)state;
	assert_int_equal(gdb_packet_make("D", 1, out, sizeof(out)), 5);
	assert_string_equal(out, "$D#44");
	gdb_packet_make("a#b", 3, out, sizeof(out));
	assert_string_equal(tokens(out), "P");
	assert_string_equal(parser.data, "a#b");
	assert_int_equal(gdb_packet_make("too long", 8, out, 12), 0);
	assert_true(gdb_hex_bytes("00fFa5", 6, bytes, 3));
	assert_memory_equal(bytes, "\x00\xff\xa5", 3);
	assert_false(gdb_hex_bytes("00ff", 4, bytes, 3));
	assert_false(gdb_hex_bytes("00fg", 4, bytes, 2));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(reads),
		cmocka_unit_test(refuses),
		cmocka_unit_test(bounded),
		cmocka_unit_test(makes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
