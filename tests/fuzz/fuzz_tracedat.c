// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * trace-cmd's files as anybody may have made them, as a host's and as a guest's; and a page of the kernel's alone.
 * The mutator changes a page or a few bytes in place, since most of the file has offsets and sizes of what follows.
 */
#include "lsan.h"
#include "mutate.h"
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

enum { PAGE = 4096, PAGE_HEAD = 16, WINDOW = 256 };

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max, unsigned int seed)
{
	uint32_t how = mutate_random(&seed) % 16;
	size_t pages = size / PAGE;
	struct piece p = {0};

	if (!size || how == 0)
		return LLVMFuzzerMutate(data, size, max);
	if (how < 8 && pages > 1) {
		p = (struct piece){(1 + mutate_random(&seed) % (pages - 1)) * PAGE, PAGE};
		p.at += how == 1 ? 0 : PAGE_HEAD;
		p.len = how == 1 ? PAGE_HEAD : PAGE - PAGE_HEAD;
	} else {
		p = (struct piece){mutate_random(&seed) % size, WINDOW};
		p.len = size - p.at < p.len ? size - p.at : p.len;
	}
	return piece_mutate(data, size, max, &p, true);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	if (size <= PAGE)
		page_walk(data, size);
	walk_file_both(&tracedat_reader, data, size);
	return 0;
}
