// SPDX-License-Identifier: GPL-2.0-or-later
/* Replies of a gdb stub: through the parser, accepted ones as hex; and our own packets through the parser. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "fetch/gdb.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static struct gdb_parser parser;

static void hex_walk(void)
{
	uint8_t *bytes = malloc(parser.len / 2 + 1);

	if (bytes)
		gdb_hex_bytes(parser.data, parser.len, bytes, parser.len / 2);
	free(bytes);
}

/* What we make must come back as it was. */
static void round_trip(const uint8_t *data, size_t size)
{
	char *out = malloc(2 * size + 8);
	size_t len = out ? gdb_packet_make((const char *)data, size, out, 2 * size + 8) : 0;
	enum gdb_token last = GDB_NOTHING;

	parser.state = 0;
	for (size_t i = 0; i < len; i++)
		last = gdb_parse(&parser, (uint8_t)out[i]);
	if (len && size <= GDB_PACKET_MAX &&
	    (last != GDB_PACKET || parser.len != size || memcmp(parser.data, data, size)))
		abort();
	free(out);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	parser.state = 0;
	for (size_t i = 0; i < size; i++)
		if (gdb_parse(&parser, data[i]) == GDB_PACKET)
			hex_walk();
	round_trip(data, size);
	return 0;
}
