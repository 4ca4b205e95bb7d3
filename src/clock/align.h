/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A guest's own trace on the host's clock: the reading layer's use of src/clock. From the host's inputs it collects, in
 * a pass of its own, when each vCPU was in guest mode, the calibration pairs and the TSC offsets from the kernel;
 * from a guest's input the timestamps of each vCPU. The clock finds and proves the relation; the guest's input is then
 * read again with its times converted as they pass.
 */
#ifndef HOSTRACE_ALIGN_H
#define HOSTRACE_ALIGN_H

#include "clock/clock.h"
#include "event/guest_fields.h"
#include "event/reader.h"

enum {
	ALIGN_MARKS_MAX = 1 << 26,  /* entries and exits kept of the host: 1 GiB */
	ALIGN_STAMPS_MAX = 1 << 27, /* timestamps of a guest: 1 GiB */
	ALIGN_KICKS_MAX = 1 << 20,  /* kicks of a guest */
	ALIGN_BLOCKS_MAX = 4096,    /* block requests, and virtqueue elements, that bound a clock */
	ALIGN_VCPUS_MAX = 1024,
	ALIGN_GUESTS_MAX = 64,
};

struct align;

/* How one vCPU's kvm-clock comes from the host's TSC. */
struct align_pvmap {
	const struct clock_pvclock *rec; /* not owned */
	size_t nr;
	struct clock_vcpu tsc; /* of the guest; without segments: it is the host's */
};

/* A block request that the guest traced, in its timestamps; complete 0: not seen. */
struct align_block {
	struct guest_block rq;
	uint64_t issue, complete;
};

/* A kick that the guest traced. */
struct align_kick {
	uint64_t queue, stamp;
};

/* One guest's relation to the host. vcpu[i] of the relation and of the input is guest CPU i. */
struct align_guest {
	const char *path; /* owned; NULL: no guest's trace, only what the host says of its vCPUs */
	struct clock_relation relation;
	struct clock_input *input;
	bool by_disk;	   /* nothing is known of guest mode: bounded by the disk's requests alone */
	struct align_block *block;
	size_t nr_blocks;
	struct clock_limit *limit; /* from them, owned */
	struct align_kick *kick; /* in order, owned */
	size_t nr_kicks;
	bool by_kicks; /* they narrowed the bound */
	struct clock_report *shift; /* trace-cmd's, if it is used; owned */
	unsigned int nr_vcpus;
	double error_ns; /* of every converted time, the largest of its vCPUs */
	bool by_userspace; /* the host has no kvm_exit: bounded by KVM_RUN and its returns */

	/* The relation is with the guest's kvm-clock (ns) in place of host TSC: this is its input, these the maps. */
	struct clock_input *kvmclock;
	struct align_pvmap *map;
	unsigned int nr_maps;

	int err;   /* it could not be related; the result is cached */
	char *why; /* the error message, owned */
};

/*
 * Reads the host's inputs (paths). `clock`: "read", "fit" or "OFFSET[,SCALE]" (ticks; guest ticks per host tick), NULL:
 * the first that passes verification. `pid`: which VM the guests are, 0: the only one. -EINVAL, -ENODATA, ... with
 * the error message set.
 */
int align_new(const char *const *hosts, unsigned int nr, const char *clock, uint32_t pid,
	      struct align **ret);
void align_free(struct align *a);

/* Checks --clock alone: 0 or -EINVAL with the error message set. */
int align_clock_check(const char *clock);

/*
 * Finds the relation of this guest's trace (NULL: see struct align_guest), once; owned by a. A failure is remembered:
 * the same -errno and error message at each further call.
 */
int align_guest(struct align *a, const char *path, const struct align_guest **ret);

/* Opens the guest's trace with its times on the host's clock. */
int align_open(struct align *a, const char *path, const struct read_hint *hint,
	       struct reader **ret);

/* What the relation was proven with; the ticks that its bounds are in, per ns; ns of one of its host times. */
const struct clock_input *align_input(const struct align_guest *g);
double align_guest_ticks_per_ns(const struct align *a, const struct align_guest *g);
uint64_t align_guest_ns(const struct align *a, const struct align_guest *g, unsigned int vcpu,
			uint64_t host);

/* Host TSC: its rate, and the ns of a tick. */
double align_ticks_per_ns(const struct align *a);
uint64_t align_ns(const struct align *a, uint64_t tsc);

#endif
