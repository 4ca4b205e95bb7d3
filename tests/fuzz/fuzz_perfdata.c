// SPDX-License-Identifier: GPL-2.0-or-later
/* perf's files as anybody may have made them, as a host's and as a guest's. */
#include "lsan.h"
#include "readers/perf/perfdata.h"
#include "walk.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	walk_file_as(&perfdata_reader, false, data, size);
	walk_file_as(&perfdata_reader, true, data, size);
	return 0;
}
