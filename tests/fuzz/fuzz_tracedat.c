// SPDX-License-Identifier: GPL-2.0-or-later
/* trace-cmd's files as anybody may have made them, as a host's and as a guest's; and a page of the kernel's alone. */
#include <string.h>

#include "lsan.h"
#include "readers/ftrace/ftrace.h"
#include "readers/ftrace/tracedat.h"
#include "walk.h"

static void page_walk(const uint8_t *data, size_t size)
{
	uint8_t *page = malloc(size ? size : 1); /* its end is the allocation's, so that a step too far is seen */
	struct ftrace_page p;
	const uint8_t *entry;
	size_t len, nr = 0;
	uint64_t time;

	if (!page)
		abort();
	memcpy(page, data, size);
	if (!ftrace_page_open(&p, page, size, 8))
		while (ftrace_page_next(&p, &entry, &len, &time))
			if (entry < page || entry + len > page + size || ++nr > size)
				abort();
	free(page);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	page_walk(data, size);
	walk_file_as(&tracedat_reader, false, data, size);
	walk_file_as(&tracedat_reader, true, data, size);
	return 0;
}
