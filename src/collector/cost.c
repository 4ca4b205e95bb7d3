// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * What the probes cost: their run time, related to the CPU time of the VMs' threads in the same interval. With a
 * budget, the most expensive class of probes is dropped when the interval exceeds it, one class at a time, since the
 * rest may well be within it; what is dropped is a record in the trace.
 */
#include <errno.h>
#include <pthread.h>

#include "base/array.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/log.h"
#include "base/order.h"
#include "collector/account.h"
#include "collector/internal.h"
#include "hostrace.skel.h" /* knows record.h's types */

#define CHECK_NS (250 * NS_PER_MS)
#define CHECK_CPU_NS                                                                               \
	(10 * NS_PER_MS) /* VMs that ran less since the last check are not judged yet */

/* CPU time of all threads of the VMs; one that has ended no longer counts. */
static uint64_t vms_cpu_ns(const struct vm *vms, unsigned int nr)
{
	uint64_t sum = 0;

	for (unsigned int i = 0; i < nr; i++) {
		struct timespec ts;
		clockid_t id;

		if (!clock_getcpuclockid(vms[i].pid, &id) && !clock_gettime(id, &ts))
			sum += timespec_ns(&ts);
	}
	return sum;
}

static void vms_read(struct cost_account *a, const struct vm *vms, unsigned int nr)
{
	uint64_t vm_ns = vms_cpu_ns(vms, nr);

	if (vm_ns > a->vm_ns)
		a->vm_ns = vm_ns;
}

uint64_t cost_ns(const struct collector_cost *c)
{
	return c->ns + c->trap_ns;
}

void cost_account_read(struct cost_account *a, const struct collector *c, const struct vm *vms,
		       unsigned int nr_vms)
{
	vms_read(a, vms, nr_vms);
	a->nr_costs = collector_costs(c, a->cost, RING_TYPES);
}

static void interval_begin(struct cost_account *a, uint64_t now_ns)
{
	a->check_ns = now_ns;
	a->check_vm_ns = a->vm_ns;
	for (unsigned int i = 0; i < a->nr_costs; i++)
		a->check_cost_ns[a->cost[i].id] = cost_ns(&a->cost[i]);
}

int cost_account_start(struct cost_account *a, struct collector *c, const struct vm *vms,
		       unsigned int nr_vms)
{
	int err = collector_cost_start(c);

	if (err)
		return err;
	cost_account_read(a, c, vms, nr_vms);
	a->vm_start_ns = a->vm_ns;
	interval_begin(a, 0);
	return 0;
}

/* ---- the budget ---- */

static uint64_t event_interval_ns(const struct cost_account *a, const struct collector_cost *c)
{
	return c->dropped ? 0 : cost_ns(c) - a->check_cost_ns[c->id];
}

static uint64_t class_interval_ns(const struct cost_account *a, const char *class)
{
	uint64_t sum = 0;

	for (unsigned int i = 0; i < a->nr_costs; i++)
		if (!strcmp(a->cost[i].class, class))
			sum += event_interval_ns(a, &a->cost[i]);
	return sum;
}

/* One class at a time: the rest may well be within the budget. */
static bool budget_exceeded(const struct cost_account *a, struct cost_excess *ret)
{
	double vm_ns = (double)(a->vm_ns - a->check_vm_ns);
	uint64_t sum = 0;

	*ret = (struct cost_excess){0};
	for (unsigned int i = 0; i < a->nr_costs; i++) {
		uint64_t ns = class_interval_ns(a, a->cost[i].class);

		sum += event_interval_ns(a, &a->cost[i]);
		if (ns > ret->class_ns) {
			ret->class_ns = ns;
			ret->class = a->cost[i].class;
		}
	}
	ret->share = (double)ret->class_ns / vm_ns;
	ret->all_shares = (double)sum / vm_ns;
	return ret->class && (double)sum > a->limit * vm_ns;
}

bool cost_account_check(struct cost_account *a, const struct collector *c, const struct vm *vms,
			unsigned int nr_vms, uint64_t now_ns, struct cost_excess *ret)
{
	bool exceeded;

	vms_read(a, vms, nr_vms); /* the newest before a VM ends */
	if (a->limit <= 0 || now_ns - a->check_ns < CHECK_NS)
		return false;
	cost_account_read(a, c, vms, nr_vms);
	if (a->vm_ns - a->check_vm_ns < CHECK_CPU_NS)
		return false;
	exceeded = budget_exceeded(a, ret);
	interval_begin(a, now_ns);
	return exceeded;
}

static int drop_record(const struct cost_account *a, struct trace_writer *w, pid_t pid,
		       unsigned int id, const struct cost_drop *d)
{
	struct record_hdr hdr = {.time = d->time_ns, .pid = (uint32_t)pid, .vcpu = RECORD_NO_VCPU};
	struct rec_probe_dropped dropped = {.hdr = hdr,
					    .cost = d->cost_ns,
					    .share = (uint32_t)(d->share * 1e6),
					    .limit = (uint32_t)(a->limit * 1e6),
					    .dropped_event = id};
	struct rec_lost lost = {.hdr = hdr, .lost_event = id};
	int err;

	dropped.hdr.type = EV_probe_dropped;
	dropped.hdr.size = sizeof(dropped);
	lost.hdr.type = EV_lost;
	lost.hdr.size = sizeof(lost);
	err = trace_writer_record(w, &dropped.hdr);
	return err ? err : trace_writer_record(w, &lost.hdr);
}

int cost_account_drop(struct cost_account *a, struct collector *c, struct trace_writer *w,
		      pid_t pid, uint64_t now_ns, const struct cost_excess *e)
{
	int err = 0;

	for (unsigned int i = 0; i < a->nr_costs && !err; i++) {
		struct cost_drop d = {a->cost[i].event, now_ns, e->class_ns, e->share};

		if (strcmp(a->cost[i].class, e->class) || a->cost[i].dropped)
			continue;
		if (a->nr_drops < COST_DROPS_MAX)
			a->drop[a->nr_drops++] = d;
		err = drop_record(a, w, pid, a->cost[i].id, &d);
	}
	return err ? err : collector_drop(c, e->class);
}

/* ---- figures ---- */

static int by_cost(const void *a, const void *b)
{
	const struct collector_cost *x = a, *y = b;
	int order = order_u64(cost_ns(y), cost_ns(x));

	return order ? order : order_u64(x->id, y->id);
}

void cost_account_sort(struct cost_account *a)
{
	qsort(a->cost, a->nr_costs, sizeof(a->cost[0]), by_cost);
}

double cost_account_percent(const struct cost_account *a, uint64_t ns)
{
	uint64_t vm_ns = a->vm_ns - a->vm_start_ns;

	return vm_ns ? (double)ns / (double)vm_ns * 100 : 0;
}

uint64_t cost_account_total_ns(const struct cost_account *a)
{
	uint64_t sum = 0;

	for (unsigned int i = 0; i < a->nr_costs; i++)
		sum += cost_ns(&a->cost[i]);
	return sum;
}

json_t *cost_account_json(const struct cost_account *a)
{
	uint64_t total = cost_account_total_ns(a);
	json_t *probes = json_array();

	for (unsigned int i = 0; i < a->nr_costs; i++) {
		const struct collector_cost *c = &a->cost[i];

		if (!c->calls)
			continue;
		json_array_append_new(
			probes, json_pack("{s:s,s:s,s:I,s:I,s:I,s:f}", "event", c->event, "how",
					  c->how, "calls", (json_int_t)c->calls, "ns",
					  (json_int_t)c->ns, "trap_ns", (json_int_t)c->trap_ns,
					  "share_percent", cost_account_percent(a, cost_ns(c))));
	}
	return json_pack("{s:I,s:I,s:f,s:o}", "vm_cpu_ns", (json_int_t)(a->vm_ns - a->vm_start_ns),
			 "ns", (json_int_t)total, "share_percent", cost_account_percent(a, total),
			 "probes", probes);
}

json_t *cost_account_budget_json(const struct cost_account *a)
{
	json_t *list = json_array();

	for (unsigned int i = 0; i < a->nr_drops; i++)
		json_array_append_new(list,
				      json_pack("{s:s,s:I,s:I,s:f}", "event", a->drop[i].event,
						"time_ns", (json_int_t)a->drop[i].time_ns,
						"cost_ns", (json_int_t)a->drop[i].cost_ns,
						"share_percent", a->drop[i].share * 100));
	return json_pack("{s:f,s:o}", "limit_percent", a->limit * 100, "dropped", list);
}

/*
 * What the probes cost, as the kernel counts it: runs of each BPF program and the time in them. Not in it are the
 * tracepoint itself, the trampoline, and for user probes the trap; that one is the larger part and is estimated.
 *
 * Taking probes away waits for grace periods of the kernel, so that a thread does it while the recording continues.
 */

enum {
	/* A trap and what the kernel does for an instruction that it can emulate; one that it must step. */
	TRAP_CHEAP_NS = 500,
	TRAP_DEAR_NS = 10000,
};

/* One without the other is useless or misleading (a request that seems never to return). */
static const struct {
	const char *event, *class;
} classes[] = {
	{"kvm_exit", "exits"},	      {"kvm_entry", "exits"},
	{"kvm_run", "KVM_RUN calls"}, {"kvm_userspace_exit", "KVM_RUN calls"},
	{"sched_switch", "sched"},    {"sched_wakeup", "sched"},
	{"sched_block", "sched"},     {"sched_woken", "sched"},
	{"sched_ran", "sched"},	      {"sched_holder", "sched"},
	{"sched_stack", "sched"},     {"syscall_enter", "system calls"},
	{"syscall_exit", "system calls"},
};

static const char *class_of(const struct probe_result *r)
{
	for (size_t i = 0; i < sizeof(classes) / sizeof(classes[0]); i++)
		if (!strcmp(classes[i].event, r->event))
			return classes[i].class;
	if (r->id >= ANY_FIRST)
		return "events by name";
	if (!r->pid || !r->plan || !r->plan->group)
		return r->event;
	return !strcmp(r->plan->group, "virtio") ? "virtqueues" : r->plan->group;
}

int collector_cost_start(struct collector *c)
{
	c->cost_fd = bpf_enable_stats(BPF_STATS_RUN_TIME);
	if (c->cost_fd >= 0)
		return 0;
	c->cost_fd = -1;
	return fail(-errno,
		    "cannot enable run-time statistics of BPF programs: %s (needs CAP_SYS_ADMIN "
		    "and Linux 5.8)",
		    strerror(errno));
}

static const char *program_of(const struct probe_result *r, unsigned int i)
{
	return !i && r->program ? r->program : r->plan->place[i].program;
}

struct bpf_prog_info collector_program_info(const struct collector *c, const struct probe_result *r,
					    unsigned int i)
{
	const struct bpf_program *prog =
		bpf_object__find_program_by_name(c->skel->obj, program_of(r, i));
	int fd = collector_any_program(c, r);
	struct bpf_prog_info info = {0};
	uint32_t len = sizeof(info);

	if (fd < 0)
		fd = prog ? bpf_program__fd(prog) : -1;
	return fd < 0 || bpf_obj_get_info_by_fd(fd, &info, &len) ? (struct bpf_prog_info){0} : info;
}

/* Events that the user names share programs: the first of them has its cost and its losses. */
static bool shares_program(const struct collector *c, const struct probe_result *r)
{
	return r->id > ANY_FIRST && collector_any_program(c, r) < 0 &&
	       array_any(r - c->results, k,
			 c->results[k].id >= ANY_FIRST && c->results[k].attached &&
				 collector_any_program(c, &c->results[k]) < 0 &&
				 !strcmp(program_of(&c->results[k], 0), program_of(r, 0)));
}

bool collector_program_repeats(const struct collector *c, const struct probe_result *r,
			       unsigned int i)
{
	return array_any(i, k, !strcmp(program_of(r, k), program_of(r, i))) || shares_program(c, r);
}

static void program_cost(const struct collector *c, const struct probe_result *r, unsigned int i,
			 struct collector_cost *cost, uint64_t trap_ns)
{
	struct bpf_prog_info info = collector_program_info(c, r, i);

	cost->calls += info.run_cnt;
	cost->ns += info.run_time_ns;
	cost->trap_ns += info.run_cnt * trap_ns;
}

static void result_cost(const struct collector *c, const struct probe_result *r,
			struct collector_cost *cost)
{
	*cost = (struct collector_cost){.event = r->event,
					.how = plan_how(r->plan),
					.class = class_of(r),
					.id = r->id,
					.dropped = r->dropped};
	for (unsigned int i = 0; i < r->plan->nr_places; i++)
		if (!collector_program_repeats(c, r, i))
			program_cost(c, r, i, cost,
				     !r->pid && !collector_any_is_user(c, r) ? 0
				     : r->plan->place[i].emulated ? TRAP_CHEAP_NS
								       : TRAP_DEAR_NS);
}

/* Programs are shared by all VMs: an event is reported once. */
unsigned int collector_costs(const struct collector *c, struct collector_cost *ret,
			     unsigned int max)
{
	bool told[RING_TYPES] = {false};
	unsigned int nr = 0;

	for (unsigned int i = 0; i < c->nr_results && nr < max; i++) {
		const struct probe_result *r = &c->results[i];

		if (!r->attached || told[r->id])
			continue;
		told[r->id] = true;
		result_cost(c, r, &ret[nr++]);
	}
	return nr;
}

/* ---- dropping ---- */

struct drop_job {
	struct drop_job *next;
	pthread_t thread;
	bool done;
	unsigned int nr;
	struct probe_link link[];
};

static void *links_drop(void *arg)
{
	struct drop_job *job = arg;

	for (unsigned int i = 0; i < job->nr; i++)
		collector_link_drop(&job->link[i]);
	__atomic_store_n(&job->done, true, __ATOMIC_RELEASE);
	return NULL;
}

/* Moves the links of dropped events and ended VMs out of the collector's own list. */
static struct drop_job *links_take(struct collector *c)
{
	struct drop_job *job = malloc(sizeof(*job) + c->nr_links * sizeof(job->link[0]));
	unsigned int kept = 0;

	if (!job)
		return NULL;
	*job = (struct drop_job){0};
	for (unsigned int i = 0; i < c->nr_links; i++)
		if (c->links[i].result &&
		    (c->links[i].result->dropped || c->links[i].result->ended))
			job->link[job->nr++] = c->links[i];
		else
			c->links[kept++] = c->links[i];
	c->nr_links = kept;
	return job;
}

static void job_free(struct drop_job *job)
{
	pthread_join(job->thread, NULL);
	free(job);
}

static void jobs_reap(struct collector *c)
{
	struct drop_job **at = &c->drops;

	while (*at) {
		struct drop_job *job = *at;

		if (!__atomic_load_n(&job->done, __ATOMIC_ACQUIRE)) {
			at = &job->next;
			continue;
		}
		*at = job->next;
		job_free(job);
	}
}

int collector_links_drop(struct collector *c)
{
	struct drop_job *job = links_take(c);

	if (!job)
		return fail(-ENOMEM, "out of memory");
	jobs_reap(c);
	debug("attach", "dropping %u probes", job->nr);
	if (pthread_create(&job->thread, NULL, links_drop, job)) {
		links_drop(job);
		free(job);
		return 0;
	}
	job->next = c->drops;
	c->drops = job;
	return 0;
}

int collector_drop(struct collector *c, const char *class)
{
	uint64_t now = monotonic_ns();

	for (unsigned int i = 0; i < c->nr_results; i++) {
		struct probe_result *r = &c->results[i];

		if (!r->attached || strcmp(class_of(r), class))
			continue;
		r->dropped = true;
		c->dropped_ns[r->id] = now;
	}
	return collector_links_drop(c);
}

void collector_drops_wait(struct collector *c)
{
	while (c->drops) {
		struct drop_job *job = c->drops;

		c->drops = job->next;
		job_free(job);
	}
}
