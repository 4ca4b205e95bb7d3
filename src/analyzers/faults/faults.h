/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Faults of guest RAM that the host's memory management resolved, by what backed the page (`record --for faults`).
 *
 * The cause is found from what was seen from outside of the kernel's functions (bpf/fault.h): the mapping, pages that
 * were allocated, counts of the process's pages that changed, whether it was a major fault.
 */
#ifndef HOSTRACE_FAULTS_ANALYZER_H
#define HOSTRACE_FAULTS_ANALYZER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/quantiles.h"
#include "event/event.h"

enum {
	FAULTS_ROWS_MAX = 1 << 16,
	FAULTS_FILES_MAX = 1 << 14, /* names of files */
};

enum fault_cause {
	BACKING_NOT_RECORDED, /* the mapping is not known */
	BACKING_ZERO_PAGE,    /* the page of zeros that all share */
	BACKING_NEW_PAGE,     /* a new anonymous page */
	BACKING_HUGE_PAGE,    /* a new transparent huge page */
	BACKING_PAGE_CACHE,   /* a file's page that was in memory */
	BACKING_DISK_READ,    /* a file's page that was read */
	BACKING_PAGE_WAIT, /* a file's page in memory, with a wait: for another's I/O, a lock, the file system */
	BACKING_SHARED_PAGE, /* a new page of a tmpfs or memfd */
	BACKING_USERFAULTFD,
	BACKING_COPY_ON_WRITE,
	BACKING_SWAP_IN,
	BACKING_HUGETLB,
	BACKING_DEVICE,
	BACKING_WRITE_ENABLE, /* the page was there, but could not be written */
	BACKING_MAPPED,	      /* nothing was left to be done: another thread had resolved it */
	NR_BACKINGS
};

enum faults_by { FAULTS_BY_CAUSE, FAULTS_BY_VCPU, FAULTS_BY_SLOT, FAULTS_BY_VMA };

struct faults_row {
	uint32_t pid;
	uint32_t slot;	  /* by slot; UINT32_MAX: not recorded */
	uint16_t vcpu;	  /* by vCPU */
	const char *file; /* by mapping; "[anon]"; NULL: not recorded */
	uint64_t inode;	  /* of the file; 0: none */
	enum fault_cause cause;
	struct quantiles ns;
	uint64_t waited_ns, writes;
};

struct faults_notes {
	uint64_t unmapped; /* faults of which the mapping is not known */
	uint64_t refused;  /* beyond the limits */
};

struct faults;

/* "copy-on-write" */
const char *fault_cause_name(enum fault_cause cause);

/* seen: enum fault_seen. */
enum fault_cause fault_cause_of(uint32_t seen);

/* NULL: no memory. */
struct faults *faults_new(enum faults_by by);
void faults_free(struct faults *f);
bool faults_wants(const char *event, void *arg);

/* 0; -ENOMEM with the error message set. */
int faults_event(struct faults *f, const struct event *ev);

/*
 * After the last event: the rows, those with most time first. 0; -ENOMEM with the error message set. The array is to be
 * freed, what it points to belongs to the analyzer.
 */
int faults_rows(struct faults *f, struct faults_row ***ret, size_t *ret_nr);
void faults_notes(const struct faults *f, struct faults_notes *ret);

#endif
