// SPDX-License-Identifier: GPL-2.0-or-later
/* The stream of a Linux guest's agent: its reader, and the symbols in it. */
#include "lsan.h"
#include "mutate_stream.h"
#include "readers/ring/stream_reader.h"
#include "walk.h"

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max, unsigned int seed)
{
	return stream_mutate(data, size, max, seed);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	size_t len;
	char *text;

	walk_file(&stream_reader, data, size);
	if (!stream_symbols(walk_path(data, size), NULL, &text, &len))
		free(text);
	return 0;
}
