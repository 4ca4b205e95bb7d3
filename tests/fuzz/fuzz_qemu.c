// SPDX-License-Identifier: GPL-2.0-or-later
/* QEMU's trace: simpletrace files and the text of its log. */
#include "readers/qemu/qemu_reader.h"
#include "walk.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	if (size && data[0] == 0xff)
		walk_file(&simpletrace_reader, data, size);
	else
		walk_file(&qemulog_reader, data, size);
	return 0;
}
