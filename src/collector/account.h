/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The cost of a recording's probes as a share of its VMs' CPU time, and the budget that limits it:
 * when the probes of one interval cost more than the budget, the most expensive class of events is
 * dropped.
 */
#ifndef HOSTRACE_COLLECTOR_ACCOUNT_H
#define HOSTRACE_COLLECTOR_ACCOUNT_H

#include "collector/collector.h"
#include "tracefile/tracefile.h"

enum {
	COST_DROPS_MAX = 64
}; /* drops listed in the metadata; later ones are only events of the file */

/* An event that was dropped, with its class's cost in the interval before. */
struct cost_drop {
	const char *event;
	uint64_t time_ns, cost_ns;
	double share;
};

/* Zeroed before cost_account_start(), but for `limit`; needs no freeing. */
struct cost_account {
	double limit;			  /* the budget: a share of the VMs' CPU time; 0: none */
	uint64_t vm_start_ns, vm_ns;	  /* the VMs' CPU time: at the start, newest */
	uint64_t check_ns, check_vm_ns;	  /* the last check: its time, the VMs' CPU time then */
	uint64_t check_cost_ns[RING_TYPES]; /* ... and each event's cost until then */
	struct collector_cost cost[RING_TYPES];
	unsigned int nr_costs;
	struct cost_drop drop[COST_DROPS_MAX];
	unsigned int nr_drops;
};

/* The probes cost more than the budget in the interval since the last check. */
struct cost_excess {
	const char *class; /* the most expensive one */
	uint64_t class_ns; /* its cost in the interval */
	double share,
		all_shares; /* of the VMs' CPU time in the interval: this class, all classes */
};

/* Begins to count. 0, or as collector_cost_start(). */
int cost_account_start(struct cost_account *a, struct collector *c, const struct vm *vms,
		       unsigned int nr_vms);

/* Reads the costs and the VMs' CPU time; the time of a VM that has ended stays as it was last read.
 */
void cost_account_read(struct cost_account *a, const struct collector *c, const struct vm *vms,
		       unsigned int nr_vms);

/* To be called often: reads the VMs' CPU time, and checks the budget a few times a second. True: it
 * was exceeded. */
bool cost_account_check(struct cost_account *a, const struct collector *c, const struct vm *vms,
			unsigned int nr_vms, uint64_t now_ns, struct cost_excess *ret);

/*
 * Drops the class: a probe_dropped event for each of its events goes into the file, and a loss of
 * zero events, from which readers know that spans that are open then may have ended unseen. 0 or
 * -errno with the error message set.
 */
int cost_account_drop(struct cost_account *a, struct collector *c, struct trace_writer *w,
		      pid_t pid, uint64_t now_ns, const struct cost_excess *e);

/* Most expensive event first. */
void cost_account_sort(struct cost_account *a);

/* A cost with its estimated traps, of one event; of all; in percent of the VMs' CPU time since the
 * start. */
uint64_t cost_ns(const struct collector_cost *c);
uint64_t cost_account_total_ns(const struct cost_account *a);
double cost_account_percent(const struct cost_account *a, uint64_t ns);

/* The file's metadata "cost" and "budget"; new references. */
json_t *cost_account_json(const struct cost_account *a);
json_t *cost_account_budget_json(const struct cost_account *a);

#endif
