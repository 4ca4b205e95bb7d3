// SPDX-License-Identifier: GPL-2.0-or-later
/* A table of symbols that a guest may have made. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "symbols/symbol_map.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct symbol_map *m;
	uint64_t address = 0;

	if (symbol_map_parse((const char *)data, size, "fuzz", &m))
		return 0;
	for (size_t at = 0; at + 8 <= size; at++) {
		memcpy(&address, data + at, 8);
		const char *name = symbol_map_find(m, address);

		if (name && !strlen(name))
			abort();
	}
	symbol_map_find(m, 0);
	symbol_map_find(m, UINT64_MAX);
	symbol_map_close(m);
	return 0;
}
