// SPDX-License-Identifier: GPL-2.0-or-later
/* An arbitrary guest stream; CRCs are corrected so that it gets past the checks. */
#include <string.h>

#include "guestside/agent/stream.h"
#include "lsan.h"
#include "readers/ring/stream_reader.h"
#include "walk.h"

static void crcs_mend(uint8_t *data, size_t size)
{
	struct stream_head h;

	for (size_t at = 0; size - at >= STREAM_HEAD; at += STREAM_HEAD + h.bytes) {
		if (!stream_head_read(data + at, &h) || size - at - STREAM_HEAD < h.bytes)
			return;
		stream_head_write(data + at, h.kind, h.cpu, data + at + STREAM_HEAD, h.bytes);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	uint8_t *copy = malloc(size + 1);

	if (!copy)
		abort();
	walk_file(&stream_reader, data, size);
	memcpy(copy, data, size);
	crcs_mend(copy, size);
	walk_file(&stream_reader, copy, size);
	free(copy);
	return 0;
}
