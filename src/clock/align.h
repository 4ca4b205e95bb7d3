/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Converts a guest's own trace to the host's clock. In a separate pass over the host's inputs it collects when each
 * vCPU was in guest mode, the calibration pairs and the TSC offsets from the kernel; from a guest's input it collects
 * the timestamps of each vCPU. clock.h finds and verifies the relation; the guest's input is then read again, and its
 * times are converted on the fly.
 */
#ifndef HOSTRACE_ALIGN_H
#define HOSTRACE_ALIGN_H

#include "clock/clock.h"
#include "event/guest_fields.h"
#include "event/reader.h"

enum {
	ALIGN_MARKS_MAX = 1 << 26,  /* entries and exits stored for the host: 1 GiB; further ones are counted */
	ALIGN_TIMESTAMPS_MAX = 1 << 27, /* timestamps of a guest: 1 GiB; likewise */
	ALIGN_KICKS_MAX = 1 << 20,  /* kicks of a guest */
	ALIGN_BLOCKS_MAX = 4096,    /* block requests, and virtqueue elements, that bound a clock */
	ALIGN_VCPUS_MAX = 1024,
	ALIGN_GUESTS_MAX = 64,
};

struct align;

/* How one vCPU's kvm-clock is computed from the host's TSC. */
struct align_pvmap {
	const struct clock_pvclock *rec; /* not owned */
	size_t nr;
	uint64_t *least_ns; /* of each record: the least value with which it or a later one begins; owned */
	struct clock_vcpu tsc; /* of the guest; without segments: equal to the host's */
};

/* A block request that the guest traced, in its timestamps; complete 0: not recorded. */
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
	const char *path; /* owned; NULL: no guest trace, only the host's data about its vCPUs */
	uint32_t pid;	  /* of its VM in the host's recording, as its events have it from then on; 0: unknown */
	struct clock_relation relation;
	struct clock_input *input;
	bool by_disk;	   /* guest mode is unknown: bounded by the disk's requests alone */
	struct align_block *block;
	size_t nr_blocks;
	struct clock_limit *limit; /* from them, owned */
	struct align_kick *kick; /* in order, owned */
	size_t nr_kicks;
	bool by_kicks; /* they narrowed the bound */
	struct clock_report *shift; /* trace-cmd's, if it is used; owned */
	unsigned int nr_vcpus;
	uint64_t work; /* steps left, see CLOCK_WORK_MAX */
	uint64_t stamps_refused; /* timestamps beyond ALIGN_TIMESTAMPS_MAX: they are not checked */
	double error_ns; /* of every converted time, the maximum of its vCPUs */
	bool by_userspace; /* the host has no kvm_exit: bounded by KVM_RUN and its returns */

	/* If the relation is to the guest's kvm-clock (ns) instead of the host TSC: its input and the maps. */
	struct clock_input *kvmclock;
	struct align_pvmap *map;
	unsigned int nr_maps;

	int err;   /* it could not be related; the result is cached */
	char *why; /* the error message, owned */
};

/*
 * The vCPUs that an alignment may use: of these VMs, of these numbers, run by these threads; a list without entries
 * allows all. A guest's CPU is used if a vCPU of its number is. Threads that run no vCPU do not limit anything, as
 * they can be of a guest or of QEMU. Borrowed.
 */
struct align_selection {
	const uint32_t *pids, *vcpus, *tids;
	unsigned int nr_pids, nr_vcpus, nr_tids;
	uint64_t tsc_khz; /* as in struct read_hint */
	struct open_files *files; /* likewise */
	bool no_guest; /* align_guest() will only be called with NULL: guest mode is only remembered as one span */
};

/*
 * Reads the host's inputs (paths). `clock`: "read", "fit" or "OFFSET[,SCALE]" (ticks; guest ticks per host tick), NULL:
 * the first that passes verification. `selection`: NULL: all. -EINVAL, -ENODATA, -ESRCH (nothing is selected), ...
 * with the error message set.
 */
int align_new(const char *const *hosts, unsigned int nr, const char *clock,
	      const struct align_selection *selection, struct align **ret);

/*
 * The same of one host's input that the caller reads by itself: align_begin(), align_host_event() for each event that
 * align_wants(), and align_end(). The caller frees it.
 */
int align_begin(const char *host, const char *clock, const struct align_selection *selection,
		struct align **ret);
bool align_wants(const char *event, void *unused);
int align_host_event(struct align *a, const struct event *ev);
int align_end(struct align *a, const struct align_selection *selection,
	      const struct trace_info *info);

/* Is the alignment limited to the vCPUs of selected threads? Then these threads stand for the guest's CPUs, too. */
bool align_by_tids(const struct align *a);

/* -ESRCH with the error message set, which lists the vCPU threads, if threads were selected but none runs a vCPU. */
int align_check_tids(const struct align *a);

void align_free(struct align *a);

/* Checks --clock alone: 0 or -EINVAL with the error message set. */
int align_clock_check(const char *clock);

/*
 * Finds the relation of this guest's trace (NULL: see struct align_guest), once; owned by a. A failure is cached:
 * each further call returns the same -errno and error message.
 */
int align_guest(struct align *a, const char *path, const struct align_guest **ret);

/* Opens the guest's trace with its times on the host's clock. */
int align_open(struct align *a, const char *path, const struct read_hint *hint,
	       struct reader **ret);

/* The verdict on the guest's times, by the rule in clock.h, and the sum of its proofs (may be NULL). */
enum clock_verdict align_verdict(const struct align_guest *g, struct clock_proof *ret_sum);

/* The input with which the relation was verified; the ticks of its bounds per ns; ns of one of its host times. */
const struct clock_input *align_input(const struct align_guest *g);
double align_guest_ticks_per_ns(const struct align *a, const struct align_guest *g);
uint64_t align_guest_ns(const struct align *a, const struct align_guest *g, unsigned int vcpu,
			uint64_t host);

struct align_row {
	unsigned int vcpu;
	const char *method;
	uint64_t from_ns; /* start of the segment; 0: the first one */
	int64_t offset;	  /* guest ticks */
	int64_t offset_ns;
	double scale; /* guest ticks per host tick */
	double drift_ppb;
	int64_t error_ns;	  /* bound of every converted time */
	struct clock_proof proof; /* of the guest events in this segment */
	int64_t worst_ns;	  /* of the event furthest outside guest mode */
	uint64_t repaired;	  /* of the vCPU, in its first row: entries and exits that the host's recording lacks */
};

/*
 * Rows of all vCPUs; for a guest's trace only of vCPUs that have events. *ret is allocated. 0 or
 * -ENOMEM with the error message set.
 */
int align_rows(const struct align *a, const struct align_guest *g, struct align_row **ret,
	       size_t *ret_nr);

#endif
