// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * --cost: what each probe took, told at the end and in the file. --budget: looks a few times a
 * second, and when the probes took more of the VM's CPU time than that, the dearest class of events
 * is not taken any more. When which went stands in the file as an event (probe_dropped) and in its
 * metadata, so that reports can say what they do not show.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/error.h"
#include "commands/common/command.h"
#include "commands/live/record.h"
#include "event/event.h"
#include "output/report.h"
#include "tracefile/tracefile.h"

#define LOOK_NS UINT64_C(250000000)
#define LOOK_CPU_NS                                                                                \
	UINT64_C(10000000) /* a VM that did less since the last look is not judged yet */

enum { SUMMARY_ROWS = 12, DROPPED_MAX = 64 };

static struct {
	bool cost;
	const char *budget;
} opt;

/* clang-format off */
const struct option_row record_cost_options[] = {
	{0, "cost",   OPT_FLAG, &opt.cost,   NULL,      "count what each probe costs and tell it at the end"},
	{0, "budget", OPT_TEXT, &opt.budget, "PERCENT", "of the VM's CPU time: when the probes take more, the dearest events are dropped"},
	{0},
};
/* clang-format on */

struct dropped {
	const char *event;
	uint64_t time_ns, cost_ns;
	double share;
};

static struct {
	bool on;
	double limit;			 /* share; 0: none */
	uint64_t vm_start_ns, vm_ns;	 /* the VMs' CPU time: at the start, newest */
	uint64_t look_ns, look_vm_ns;	 /* when was looked last, the VMs' CPU time then */
	uint64_t look_cost_ns[EV_LIMIT]; /* ... and what each event had cost */
	struct collector_cost cost[EV_LIMIT];
	unsigned int nr_costs;
	struct dropped dropped[DROPPED_MAX];
	unsigned int nr_dropped;
} now;

static int cost_choose(struct collector_options *c)
{
	char *end;

	(void)c;
	now.on = opt.cost || opt.budget;
	if (!opt.budget)
		return 0;
	now.limit = strtod(opt.budget, &end) / 100;
	if (end == opt.budget || (strcmp(end, "%") && *end) || !(now.limit > 0) || now.limit > 1)
		return fail_usage(
			-EINVAL,
			"--budget wants a share of the VM's CPU time, as 1%% or 0.5, not '%s'",
			opt.budget);
	return 0;
}

/* CPU time of all threads of the VMs; what has ended counts no further. */
static uint64_t vms_cpu_ns(const struct recording *r)
{
	uint64_t sum = 0;

	for (unsigned int i = 0; i < r->nr_vms; i++) {
		struct timespec ts;
		clockid_t id;

		if (!clock_getcpuclockid(r->vms[i].pid, &id) && !clock_gettime(id, &ts))
			sum += timespec_ns(&ts);
	}
	return sum;
}

static uint64_t cost_of(const struct collector_cost *c)
{
	return c->ns + c->trap_ns;
}

static void costs_read(struct recording *r)
{
	uint64_t vm_ns = vms_cpu_ns(r);

	now.nr_costs = collector_costs(r->collector, now.cost, EV_LIMIT);
	if (vm_ns > now.vm_ns)
		now.vm_ns = vm_ns;
}

static void look_begin(uint64_t at_ns)
{
	now.look_ns = at_ns;
	now.look_vm_ns = now.vm_ns;
	for (unsigned int i = 0; i < now.nr_costs; i++)
		now.look_cost_ns[now.cost[i].id] = cost_of(&now.cost[i]);
}

static int cost_start(struct recording *r)
{
	int err = now.on ? collector_cost_start(r->collector) : 0;

	if (!now.on || err)
		return err;
	now.vm_start_ns = now.vm_ns = vms_cpu_ns(r);
	costs_read(r);
	look_begin(0);
	return 0;
}

/* ---- the budget ---- */

static uint64_t cost_since_look(const struct collector_cost *c)
{
	return c->dropped ? 0 : cost_of(c) - now.look_cost_ns[c->id];
}

static uint64_t class_since_look(const char *class)
{
	uint64_t sum = 0;

	for (unsigned int i = 0; i < now.nr_costs; i++)
		if (!strcmp(now.cost[i].class, class))
			sum += cost_since_look(&now.cost[i]);
	return sum;
}

static const char *dearest_class(uint64_t *ret_ns)
{
	const char *class = NULL;

	*ret_ns = 0;
	for (unsigned int i = 0; i < now.nr_costs; i++) {
		uint64_t ns = class_since_look(now.cost[i].class);

		if (ns > *ret_ns) {
			*ret_ns = ns;
			class = now.cost[i].class;
		}
	}
	return class;
}

/*
 * Into the file: that it was dropped, and a loss of none, which tells every reader that what is
 * open then may have ended unseen.
 */
static int drop_tell(struct recording *r, const struct collector_cost *c, const struct dropped *d)
{
	struct record_hdr hdr = {
		.time = d->time_ns, .pid = (uint32_t)r->vms[0].pid, .vcpu = RECORD_NO_VCPU};
	struct rec_probe_dropped dropped = {.hdr = hdr,
					    .cost = d->cost_ns,
					    .share = (uint32_t)(d->share * 1e6),
					    .limit = (uint32_t)(now.limit * 1e6),
					    .dropped_event = c->id};
	struct rec_lost lost = {.hdr = hdr, .lost_event = c->id};
	int err;

	dropped.hdr.type = EV_probe_dropped;
	dropped.hdr.size = sizeof(dropped);
	lost.hdr.type = EV_lost;
	lost.hdr.size = sizeof(lost);
	err = trace_writer_record(r->writer, &dropped.hdr);
	return err ? err : trace_writer_record(r->writer, &lost.hdr);
}

static int class_drop(struct recording *r, const char *class, uint64_t ns, uint64_t all_ns,
		      uint64_t at_ns)
{
	double vm_ns = (double)(now.vm_ns - now.look_vm_ns), share = (double)ns / vm_ns;
	int err = 0;

	command_note("the probes take %.2f %% of the VM's CPU time, the budget is %.2f %%: from "
		     "%.1f s on without %s (%.2f %%)",
		     (double)all_ns / vm_ns * 100, now.limit * 100,
		     (double)(at_ns - r->start_ns) / 1e9, class, share * 100);
	for (unsigned int i = 0; i < now.nr_costs && !err; i++) {
		struct dropped d = {now.cost[i].event, at_ns, ns, share};

		if (strcmp(now.cost[i].class, class) || now.cost[i].dropped)
			continue;
		if (now.nr_dropped < DROPPED_MAX)
			now.dropped[now.nr_dropped++] = d;
		err = drop_tell(r, &now.cost[i], &d);
	}
	return err ? err : collector_drop(r->collector, class);
}

/* One class at a time: what is left may well be within the budget. */
static int look(struct recording *r, uint64_t at_ns)
{
	uint64_t sum = 0, ns;
	const char *class;
	int err = 0;

	costs_read(r);
	if (now.vm_ns - now.look_vm_ns < LOOK_CPU_NS)
		return 0;
	for (unsigned int i = 0; i < now.nr_costs; i++)
		sum += cost_since_look(&now.cost[i]);
	class = dearest_class(&ns);
	if (class && (double)sum > now.limit * (double)(now.vm_ns - now.look_vm_ns))
		err = class_drop(r, class, ns, sum, at_ns);
	look_begin(at_ns);
	return err;
}

static int cost_round(struct recording *r, uint64_t at_ns)
{
	uint64_t vm_ns;

	if (!now.on)
		return 0;
	vm_ns = vms_cpu_ns(r); /* the newest before a VM ends */
	if (vm_ns > now.vm_ns)
		now.vm_ns = vm_ns;
	return now.limit > 0 && at_ns - now.look_ns >= LOOK_NS ? look(r, at_ns) : 0;
}

static int cost_stop(struct recording *r)
{
	if (now.on && r->collector)
		costs_read(r);
	return 0;
}

/* ---- telling it ---- */

static int by_cost(const void *a, const void *b)
{
	uint64_t x = cost_of(a), y = cost_of(b);

	return (x < y) - (x > y);
}

static double share_of(uint64_t ns)
{
	uint64_t vm_ns = now.vm_ns - now.vm_start_ns;

	return vm_ns ? (double)ns / (double)vm_ns * 100 : 0;
}

static uint64_t cost_all(void)
{
	uint64_t sum = 0;

	for (unsigned int i = 0; i < now.nr_costs; i++)
		sum += cost_of(&now.cost[i]);
	return sum;
}

static json_t *costs_json(void)
{
	json_t *probes = json_array();

	for (unsigned int i = 0; i < now.nr_costs; i++) {
		const struct collector_cost *c = &now.cost[i];

		if (!c->calls)
			continue;
		json_array_append_new(
			probes,
			json_pack("{s:s,s:s,s:I,s:I,s:I,s:f}", "event", c->event, "how", c->how,
				  "calls", (json_int_t)c->calls, "ns", (json_int_t)c->ns, "trap_ns",
				  (json_int_t)c->trap_ns, "share_percent", share_of(cost_of(c))));
	}
	return json_pack("{s:I,s:I,s:f,s:o}", "vm_cpu_ns",
			 (json_int_t)(now.vm_ns - now.vm_start_ns), "ns", (json_int_t)cost_all(),
			 "share_percent", share_of(cost_all()), "probes", probes);
}

static void cost_meta(struct recording *r, json_t *meta, bool final)
{
	json_t *list;

	if (!now.on || !final)
		return;
	costs_read(r);
	qsort(now.cost, now.nr_costs, sizeof(now.cost[0]), by_cost);
	json_object_set_new(meta, "cost", costs_json());
	if (now.limit <= 0)
		return;
	list = json_array();
	for (unsigned int i = 0; i < now.nr_dropped; i++)
		json_array_append_new(list,
				      json_pack("{s:s,s:I,s:I,s:f}", "event", now.dropped[i].event,
						"time_ns", (json_int_t)now.dropped[i].time_ns,
						"cost_ns", (json_int_t)now.dropped[i].cost_ns,
						"share_percent", now.dropped[i].share * 100));
	json_object_set_new(
		meta, "budget",
		json_pack("{s:f,s:o}", "limit_percent", now.limit * 100, "dropped", list));
}

static void cost_summary(struct recording *r)
{
	char all[16], vm[16], total[16];
	bool traps = false;

	(void)r;
	if (!opt.cost)
		return;
	command_note("cost: the probes took %.2f %% of the VM's CPU time (%s of %s)",
		     share_of(cost_all()), duration_print(cost_all(), all, sizeof(all)),
		     duration_print(now.vm_ns - now.vm_start_ns, vm, sizeof(vm)));
	if (cost_all())
		command_note("  %-22s %10s %8s %8s %8s", "event", "calls", "ns each", "total",
			     "share");
	for (unsigned int i = 0; i < now.nr_costs && i < SUMMARY_ROWS; i++) {
		const struct collector_cost *c = &now.cost[i];

		if (!c->calls)
			continue;
		traps |= c->trap_ns > 0;
		command_note("  %-22s %10" PRIu64 " %8" PRIu64 " %8s %6.2f %%%s", c->event,
			     c->calls, cost_of(c) / c->calls,
			     duration_print(cost_of(c), total, sizeof(total)), share_of(cost_of(c)),
			     c->dropped ? " (dropped)" : "");
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
