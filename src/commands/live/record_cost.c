// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * record --cost: what each probe cost, printed at the end and written into the file. --budget: when
 * the probes cost more than this share of the VM's CPU time, the most expensive class of events is
 * dropped. Which was dropped when is in the file as an event (probe_dropped) and in its metadata,
 * so that reports know what they miss.
 */
#include <errno.h>
#include <inttypes.h>

#include "base/error.h"
#include "base/units.h"
#include "commands/common/command.h"
#include "commands/live/record.h"
#include "output/report.h"

enum { SUMMARY_ROWS = 12 };

static struct {
	bool cost;
	const char *budget;
	double limit; /* the budget as a share */
} opt;

/* clang-format off */
const struct option_row record_cost_options[] = {
	{0, "cost",   OPT_FLAG, &opt.cost,   NULL,      "measure the cost of each probe and print it at the end"},
	{0, "budget", OPT_TEXT, &opt.budget, "PERCENT", "limit on the share of the VM's CPU time that probes cost; above it the most expensive events are dropped"},
	{0},
};
/* clang-format on */

static bool counting(void)
{
	return opt.cost || opt.budget;
}

static int cost_choose(struct collector_options *c)
{
	char *end;

	(void)c;
	if (!opt.budget)
		return 0;
	opt.limit = strtod(opt.budget, &end) / 100;
	if (end == opt.budget || (strcmp(end, "%") && *end) || !(opt.limit > 0) || opt.limit > 1)
		return fail_usage(-EINVAL,
				  "invalid --budget '%s' (expected a share of the VM's CPU time in "
				  "percent, e.g. 1%% or 0.5)",
				  opt.budget);
	return 0;
}

static int cost_start(struct recording *r)
{
	r->cost.limit = opt.limit;
	return counting() ? cost_account_start(&r->cost, r->collector, r->vms, r->nr_vms) : 0;
}

static int cost_round(struct recording *r, uint64_t now_ns)
{
	struct cost_excess e;

	if (!counting() ||
	    !cost_account_check(&r->cost, r->collector, r->vms, r->nr_vms, now_ns, &e))
		return 0;
	command_note("the probes cost %.2f %% of the VM's CPU time, above the budget of %.2f %%: "
		     "dropped at %.1f s: %s (%.2f %%)",
		     e.all_shares * 100, opt.limit * 100, (double)(now_ns - r->start_ns) / 1e9,
		     e.class, e.share * 100);
	return cost_account_drop(&r->cost, r->collector, r->writer, r->vms[0].pid, now_ns, &e);
}

static int cost_stop(struct recording *r)
{
	if (counting() && r->collector)
		cost_account_read(&r->cost, r->collector, r->vms, r->nr_vms);
	return 0;
}

static void cost_meta(struct recording *r, json_t *meta, bool final)
{
	if (!counting() || !final)
		return;
	cost_account_read(&r->cost, r->collector, r->vms, r->nr_vms);
	cost_account_sort(&r->cost);
	json_object_set_new(meta, "cost", cost_account_json(&r->cost));
	if (opt.limit > 0)
		json_object_set_new(meta, "budget", cost_account_budget_json(&r->cost));
}

static void cost_line(const struct cost_account *a, const struct collector_cost *c)
{
	char total[16];

	command_note("  %-22s %10" PRIu64 " %8" PRIu64 " %8s %6.2f %%%s", c->event, c->calls,
		     cost_ns(c) / c->calls, duration_print(cost_ns(c), total, sizeof(total)),
		     cost_account_percent(a, cost_ns(c)), c->dropped ? " (dropped)" : "");
}

static void cost_summary(struct recording *r)
{
	uint64_t all_ns = cost_account_total_ns(&r->cost);
	char all[16], vm[16];
	bool traps = false;

	if (!opt.cost)
		return;
	command_note("cost: the probes took %.2f %% of the VM's CPU time (%s of %s)",
		     cost_account_percent(&r->cost, all_ns),
		     duration_print(all_ns, all, sizeof(all)),
		     duration_print(r->cost.vm_ns - r->cost.vm_start_ns, vm, sizeof(vm)));
	if (all_ns)
		command_note("  %-22s %10s %8s %8s %8s", "event", "calls", "ns each", "total",
			     "share");
	for (unsigned int i = 0; i < r->cost.nr_costs && i < SUMMARY_ROWS; i++)
		if (r->cost.cost[i].calls) {
			traps |= r->cost.cost[i].trap_ns > 0;
			cost_line(&r->cost, &r->cost.cost[i]);
		}
	if (traps)
		command_note("  user probes with their traps, estimated");
}

const struct record_part record_cost_part = {
	.choose = cost_choose,
	.start = cost_start,
	.round = cost_round,
	.stop = cost_stop,
	.meta = cost_meta,
	.summary = cost_summary,
};
