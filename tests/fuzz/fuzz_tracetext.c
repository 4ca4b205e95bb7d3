// SPDX-License-Identifier: GPL-2.0-or-later
/* tracefs's text: names, numbers, backtraces, of a host and of a guest; tables of counts. */
#include "readers/text/tool_table.h"
#include "readers/text/tracetext.h"
#include "walk.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	walk_file_both(&tracetext_reader, data, size);
	tool_table_probe((const char *)data, size);
	return 0;
}
