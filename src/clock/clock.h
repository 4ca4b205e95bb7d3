/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * One clock for host and guest. Canonical time is the host's CLOCK_MONOTONIC in ns; guests timestamp with the TSC as
 * they see it; the host's TSC is in between:
 *
 *   guest timestamp --(offset, scale: per vCPU, piecewise)--> host TSC --(pairs, piecewise linear)--> host ns
 *
 * The second step is measured throughout a recording. The first is found by one of the protocols in a table:
 * given by the user, read from the kernel, fitted from causality. In any case clock_check() verifies it:
 * an event that the guest recorded on a vCPU must be between an entry and the following exit of that vCPU.
 *
 * Pure computation: arrays in, relation out, no files, no globals. "Ticks" are host TSC ticks unless a name says
 * otherwise. Errors are -errno with the error message set (base/error.h).
 */
#ifndef HOSTRACE_CLOCK_H
#define HOSTRACE_CLOCK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
	CLOCK_PAIRS_MAX = 1 << 20,    /* calibration pairs of one recording: a week at 0.6 s */
	CLOCK_HOLES_MAX = 1 << 20,    /* times of losses, times vCPUs: with more, neighbours are joined */
	CLOCK_SPANS_MAX = 1 << 24,    /* guest-mode spans of one vCPU; later ones are not checked */
	CLOCK_SEGMENTS_MAX = 4096,    /* offset changes of one vCPU */
	CLOCK_VCPUS_MAX = 4096,
};

/* ---- the work limit ---- */

/*
 * Steps of about 10 ns that relating one guest's timestamps may take, together for everything that is tried, and
 * further steps for each timestamp and mark that was read. Without a limit a guest could choose its timestamps so that
 * the search does not end.
 */
#define CLOCK_WORK_MAX 200000000ull
enum { CLOCK_WORK_PER_EVENT = 256 };

/* Uses steps. False: none are left, and the work has to end with clock_work_over(). */
static inline bool clock_work(uint64_t *work, uint64_t steps)
{
	*work -= steps < *work ? steps : *work;
	return *work;
}

/* -E2BIG with the error message set. */
int clock_work_over(void);

/* ---- host TSC <-> CLOCK_MONOTONIC ---- */

struct clock_pair {
	uint64_t ns, tsc;
	uint32_t bracket; /* ticks between the two TSC reads around the clock's: the error is at most half of it */
};

struct clock_mono_piece {
	uint64_t ns, tsc;
	double ns_per_tick; /* up to the next piece */
	double error_ns;    /* in this piece: half a bracket, and how far the true line may bend between two pairs */
};

struct clock_mono {
	struct clock_mono_piece *piece;
	size_t nr;
	double end_error; /* ns of error per ns beyond the first or last pair */
};

/*
 * A line through every pair. Pairs may be in any order; pairs that contradict the order of the others or whose bracket
 * is far above the usual (the reader was preempted) are skipped. -ENODATA with fewer than two usable pairs.
 */
int clock_mono_init(struct clock_mono *m, const struct clock_pair *pairs, size_t nr);
void clock_mono_deinit(struct clock_mono *m);

/* ret_error_ns may be NULL. Before the first and after the last pair the line continues and the error grows. */
uint64_t clock_mono_ns(const struct clock_mono *m, uint64_t tsc, double *ret_error_ns);
uint64_t clock_mono_tsc(const struct clock_mono *m, uint64_t ns);

/* The largest error within the pairs; the mean frequency. */
double clock_mono_error_ns(const struct clock_mono *m);
double clock_mono_ticks_per_ns(const struct clock_mono *m);

/* ---- guest TSC <-> host TSC ---- */

/* guest = (host * scale >> scale_bits) + offset, modulo 2^64, as KVM does it. scale_bits 0: no scaling. */
struct clock_segment {
	uint64_t from;	/* start of validity, host TSC; 0 for the first */
	uint64_t until; /* all of its timestamps are earlier, host TSC; 0: they may last until the next segment */
	int64_t offset;
	uint64_t scale;
	uint32_t scale_bits; /* 48 on VMX, 32 on SVM; at most CLOCK_SCALE_BITS_MAX */
};

enum { CLOCK_SCALE_BITS_MAX = 63 };

uint64_t clock_segment_guest(const struct clock_segment *s, uint64_t host_tsc);
uint64_t clock_segment_host(const struct clock_segment *s, uint64_t guest_tsc);

/* A TSC offset of one vCPU reported by the kernel. */
struct clock_report {
	uint64_t host_tsc; /* when */
	bool change;	   /* the offset was written at that time; else it was only read */
	int64_t before;	   /* of a change: the previous offset */
	int64_t offset;
	uint64_t scale;
	uint32_t scale_bits;
};

/* ---- the data of one vCPU ---- */

/* The vCPU may have been in guest mode from enter to leave, and was not between two spans. */
struct clock_span {
	uint64_t enter, leave;
};

/* A pair of events that bounds from one side, e.g. a guest's port write and the host's kvm_pio. */
struct clock_limit {
	uint64_t guest_tsc, host_tsc;
	bool guest_first; /* the guest's timestamp is before the host's; else after it */
};

struct clock_input {
	const struct clock_span *span; /* sorted, disjoint */
	size_t nr_spans;
	const uint64_t *stamp; /* guest TSC, in the order in which the vCPU recorded them */
	size_t nr_stamps;
	const struct clock_report *report; /* in the order of host_tsc */
	size_t nr_reports;
	const struct clock_limit *limit;
	size_t nr_limits;
	uint64_t repaired; /* spans: entries and exits that are missing, see struct clock_spans */
};

/* Builds the spans of one vCPU from its entries and exits (or KVM_RUN calls and their returns) in time order. */
struct clock_spans {
	struct clock_span *span;
	size_t nr, room;
	int state;		/* 0: no event yet, 1: in guest mode, 2: outside */
	uint64_t since;		/* in guest mode: the entry */
	uint64_t repaired;	/* missing entries or exits: the time on both sides of the gap is allowed */
	bool full;		/* CLOCK_SPANS_MAX reached: further ones are skipped */
};

int clock_spans_enter(struct clock_spans *s, uint64_t host_tsc);
int clock_spans_leave(struct clock_spans *s, uint64_t host_tsc);
/* Events were lost in these intervals: the vCPU may have been in guest mode at any time. After all enter and leave. */
int clock_spans_allow(struct clock_spans *s, const struct clock_span *hole, size_t nr);
/* Makes at most `max` > 0 of such intervals, sorted: groups of neighbours become one each. Returns how many. */
size_t clock_holes_join(struct clock_span *hole, size_t nr, size_t max);
void clock_spans_deinit(struct clock_spans *s);

/*
 * Pairs the guest's own records of kicks (port or MMIO writes) with the host's, both in order; either side may
 * lack some at its beginning or end: the shift with the least spread of distances is used. Writes at most
 * min(nr_guest, nr_host) limits (guest first) to ret and returns their number; 0 if no shift fits, or without work
 * left.
 */
size_t clock_limits_match(const uint64_t *guest_tsc, size_t nr_guest, const uint64_t *host_tsc,
			  size_t nr_host, uint64_t *work, struct clock_limit *ret);

/* ---- the relation ---- */

struct clock_proof {
	uint64_t checked;     /* guest events within the time that the host recorded this vCPU */
	uint64_t unchecked;   /* guest events outside that time, or of a vCPU without any recorded exit */
	uint64_t violations;  /* outside every guest-mode span by more than the bound */
	uint64_t worst_ticks; /* the largest distance from a span; 0: all are inside */
};

/*
 * What is known about a relation. This is the only rule, and all commands use it (clock_verdict()):
 *
 *   not checked  no guest event was compared with guest mode, or so few that a wrong offset would pass with a
 *                probability of more than 1 in CLOCK_CHANCE. For a fit, which tries every offset, that is the
 *                probability that any of them passes.
 *   unreliable   at least one guest event lies outside guest mode by more than the bound
 *   verified     events were compared, none lies outside, and that is no accident
 *
 * Only for a verified relation the error is a bound. An error too small to move an event out of guest mode cannot be
 * seen by any check.
 */
enum clock_verdict { CLOCK_NOT_CHECKED, CLOCK_UNRELIABLE, CLOCK_VERIFIED };
enum { CLOCK_CHANCE = 1000 };

struct clock_vcpu {
	struct clock_segment *segment;
	size_t nr_segments;
	double error_ticks; /* of every converted timestamp */
	double drift_ppb;   /* fitted: how much faster the guest's clock runs than the nominal scale */
	uint64_t uncertain; /* timestamps near an offset change: may belong to either side */
	struct clock_proof proof;
};

struct clock_relation {
	const struct clock_protocol *protocol;
	struct clock_vcpu *vcpu;
	unsigned int nr_vcpus;
	double host_error_ticks; /* as in struct clock_options */
	double tries;	   /* different offsets among which this one was found; 1: it was not searched */
	double log_chance; /* ln of the probability that a wrong one of these passes the check; clock_align() sets it */
	char note[256]; /* a warning to be printed with every result, else "" */
};

struct clock_options {
	const char *method;   /* NULL: all protocols in order; else only this one */
	bool have_given;      /* the user gave `given` */
	struct clock_segment given;
	uint64_t nominal_scale; /* fit: guest ticks per host tick, fixed point; 0: 1 */
	uint32_t nominal_bits;
	double drift_max_ppb; /* fit: how far the true scale may be from nominal. 0: exact, as KVM's TSC on one host */
	double host_error_ticks; /* of the host's timestamps in spans and limits */
	uint64_t *work; /* steps left, see CLOCK_WORK_MAX; NULL: so many */
};

/*
 * One way to find the relation. Limits of `fitted`: it cannot find a jump of the offset smaller than its own band, or
 * one in a guest's recording that also extends far beyond the host's (-ENODATA, or unchecked events); nor distinguish
 * offsets if the vCPU hardly ever leaves guest mode for longer than a few us and the recording is long (-E2BIG). Events
 * outside the host's recording are `unchecked`: the bound does not apply to them.
 *
 * `make` fills vcpu[].segment, error_ticks, drift_ppb, uncertain and note. */
struct clock_protocol {
	const char *name, *accuracy;
	int (*make)(const struct clock_input *in, unsigned int nr, const struct clock_options *opt,
		    struct clock_relation *ret);
};

/*
 * Finds the relation for nr vCPUs (in[i] is vCPU i; one without timestamps is skipped): the first protocol whose
 * relation is verified. If there is none, the first that is not checked, then the first with few events outside (at
 * most 1 in CLOCK_REFUTED; a fit has its own limit). The note explains why an earlier one is not used: an offset that
 * the kernel reports need not be in effect. -ENODATA: none could; -E2BIG: no work is left.
 */
enum { CLOCK_REFUTED = 1000 };
int clock_align(const struct clock_input *in, unsigned int nr, const struct clock_options *opt,
		struct clock_relation *ret);
void clock_relation_deinit(struct clock_relation *rel);

/*
 * Verifies each vCPU and stores the result in rel->vcpu[].proof. Returns the sum. Stops when no work is left; NULL:
 * does not stop.
 */
struct clock_proof clock_check(struct clock_relation *rel, const struct clock_input *in,
			       unsigned int nr, uint64_t *work);

/* The same sum again. */
struct clock_proof clock_proof_sum(const struct clock_relation *rel);

/* By the rule above, after clock_align(). */
enum clock_verdict clock_verdict(const struct clock_relation *rel);

/* "not checked", "unreliable", "verified" */
const char *clock_verdict_name(enum clock_verdict verdict);

/*
 * Converts the timestamps of one vCPU in the order in which it recorded them (across an offset change the order
 * decides). Start with a zeroed cursor.
 */
struct clock_cursor {
	size_t segment;
	uint64_t last;
	uint64_t steps; /* segments that were looked at */
};
uint64_t clock_vcpu_host(const struct clock_vcpu *v, struct clock_cursor *c, uint64_t guest_tsc);

/* Segments from reports. `in_effect` false: as if every offset were 0 and every scale 1. */
int clock_vcpu_read(struct clock_vcpu *v, const struct clock_report *report, size_t nr,
		    bool in_effect);

/* ---- pvclock: guests that timestamp with the ns of their kvm-clock since boot (OSv's uptime) ---- */

/* One kvm_pvclock_update. Every VM stop makes a new one, and the map is piecewise by them. */
struct clock_pvclock {
	uint64_t host_tsc; /* when it was written */
	uint64_t tsc_timestamp, system_time;
	uint32_t mul;
	int8_t shift;
};

/* Is tsc_timestamp the guest's TSC as these reports have it, or the host's own? (Some backends do not apply it.) */
bool clock_pvclock_offset_in_effect(const struct clock_pvclock *rec, size_t nr,
				    const struct clock_vcpu *reported);

/* kvm-clock ns at a TSC in the record's own terms, and back. */
uint64_t clock_pvclock_ns(const struct clock_pvclock *rec, uint64_t tsc);
uint64_t clock_pvclock_tsc(const struct clock_pvclock *rec, uint64_t ns);

/*
 * Host TSC of `ns` of kvm-clock (uptime + boot constant). Records in time order; guest: the relation of their
 * tsc_timestamp with the host's TSC. The record in force is identified by the value that it had when it was written:
 * the last that began with at most ns. `least`: of each record the least value with which it or a later one begins,
 * from clock_pvclock_begins().
 */
uint64_t clock_pvclock_host(const struct clock_pvclock *rec, const uint64_t *least, size_t nr,
			    const struct clock_vcpu *guest, uint64_t ns);
void clock_pvclock_begins(const struct clock_pvclock *rec, size_t nr,
			  const struct clock_vcpu *guest, uint64_t *ret_least);

#endif
