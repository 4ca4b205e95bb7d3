// SPDX-License-Identifier: GPL-2.0-or-later
/* What backed the page of a fault, in the order in which one excludes the next (mm/memory.c). */
#include "analyzers/faults/faults.h"
#include "fault.h"

static const char *const cause_names[NR_BACKINGS] = {
	[BACKING_NOT_RECORDED] = "not-recorded",
	[BACKING_ZERO_PAGE] = "zero-page",
	[BACKING_NEW_PAGE] = "new-page",
	[BACKING_HUGE_PAGE] = "huge-page",
	[BACKING_PAGE_CACHE] = "page-cache",
	[BACKING_DISK_READ] = "disk-read",
	[BACKING_PAGE_WAIT] = "page-wait",
	[BACKING_SHARED_PAGE] = "shared-page",
	[BACKING_USERFAULTFD] = "userfaultfd",
	[BACKING_COPY_ON_WRITE] = "copy-on-write",
	[BACKING_SWAP_IN] = "swap-in",
	[BACKING_HUGETLB] = "hugetlb",
	[BACKING_DEVICE] = "device",
	[BACKING_WRITE_ENABLE] = "write-enable",
	[BACKING_MAPPED] = "mapped",
};

const char *fault_cause_name(enum fault_cause cause)
{
	return cause_names[cause];
}

/* The zero page is in no count, and neither is a page that replaces another of the same kind. */
static enum fault_cause anonymous_cause(uint32_t seen)
{
	if (seen & FAULT_ALLOC_HUGE)
		return BACKING_HUGE_PAGE;
	if (seen & FAULT_RSS_ANON)
		return BACKING_NEW_PAGE;
	if (!(seen & FAULT_WRITE))
		return BACKING_ZERO_PAGE;
	return seen & FAULT_ALLOC ? BACKING_COPY_ON_WRITE : BACKING_WRITE_ENABLE;
}

static enum fault_cause file_cause(uint32_t seen)
{
	bool copies = seen & FAULT_WRITE && !(seen & FAULT_VMA_SHARED);

	if (seen & FAULT_MAJOR)
		return seen & FAULT_CACHE ? BACKING_DISK_READ : BACKING_PAGE_WAIT;
	if (copies && seen & (FAULT_RSS_ANON | FAULT_ALLOC))
		return BACKING_COPY_ON_WRITE;
	if (seen & FAULT_RSS_SHMEM)
		return seen & FAULT_ALLOC ? BACKING_SHARED_PAGE : BACKING_PAGE_CACHE;
	if (seen & FAULT_RSS_FILE)
		return BACKING_PAGE_CACHE;
	return seen & FAULT_WRITE ? BACKING_WRITE_ENABLE : BACKING_MAPPED;
}

enum fault_cause fault_cause_of(uint32_t seen)
{
	if (seen & FAULT_RSS_SWAP)
		return BACKING_SWAP_IN;
	if (!(seen & FAULT_VMA))
		return BACKING_NOT_RECORDED;
	if (seen & FAULT_VMA_UFFD && seen & FAULT_MAJOR && !(seen & FAULT_CACHE))
		return BACKING_USERFAULTFD;
	if (seen & FAULT_VMA_HUGETLB)
		return BACKING_HUGETLB;
	if (seen & FAULT_VMA_DEVICE)
		return BACKING_DEVICE;
	return seen & FAULT_VMA_ANON ? anonymous_cause(seen) : file_cause(seen);
}
