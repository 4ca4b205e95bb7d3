/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the field `seen` of host_fault says: for the programs that record it and the report that finds the cause. */
#ifndef HOSTRACE_FAULT_H
#define HOSTRACE_FAULT_H

#define FAULT_UNKNOWN ~0ull /* gpa, slot: not recorded */

enum fault_seen {
	FAULT_WRITE = 1 << 0,
	FAULT_MAJOR = 1 << 1, /* as the kernel counts them: it read, or it waited and tried again */

	/* Of the mapping; without FAULT_VMA it is not known. */
	FAULT_VMA = 1 << 2,
	FAULT_VMA_ANON = 1 << 3, /* of no file and no device */
	FAULT_VMA_SHARED = 1 << 4,
	FAULT_VMA_UFFD = 1 << 5, /* registered with a userfaultfd */
	FAULT_VMA_HUGETLB = 1 << 6,
	FAULT_VMA_DEVICE = 1 << 7, /* memory without struct page, as of a device */

	/* A page for a process was allocated; a huge one; one of the file was added to the page cache, to be read. */
	FAULT_ALLOC = 1 << 8,
	FAULT_ALLOC_HUGE = 1 << 9,
	FAULT_CACHE = 1 << 10,

	/* Counts of the process's pages that changed: MM_FILEPAGES, ... of include/linux/mm_types_task.h. */
	FAULT_RSS_FILE = 1 << 12,
	FAULT_RSS_ANON = 1 << 13,
	FAULT_RSS_SWAP = 1 << 14,
	FAULT_RSS_SHMEM = 1 << 15,
};

enum { FAULT_FILE_BYTES = 40 };

#endif
