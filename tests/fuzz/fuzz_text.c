// SPDX-License-Identifier: GPL-2.0-or-later
/* The text twin. */
#include "walk.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	walk_file(&textfile_reader, data, size);
	return 0;
}
