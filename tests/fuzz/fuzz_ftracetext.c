// SPDX-License-Identifier: GPL-2.0-or-later
/* tracefs's text: names, numbers, backtraces, of a host and of a guest. */
#include "readers/ftrace/ftracetext.h"
#include "walk.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	walk_file_as(&ftracetext_reader, false, data, size);
	walk_file_as(&ftracetext_reader, true, data, size);
	return 0;
}
