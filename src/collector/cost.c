// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * What the probes cost, as the kernel counts it: runs of each BPF program and the time in them. Not in it are the
 * tracepoint itself, the trampoline, and for user probes the trap; that one is the larger part and is estimated.
 *
 * Taking probes away waits for grace periods of the kernel, so that a thread does it while the recording continues.
 */
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/log.h"
#include "collector/internal.h"

#include "hostrace.skel.h" /* knows record.h's types */

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
	{"sched_stack", "sched"},
};

static const char *class_of(const struct probe_result *r)
{
	for (size_t i = 0; i < sizeof(classes) / sizeof(classes[0]); i++)
		if (!strcmp(classes[i].event, r->event))
			return classes[i].class;
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

struct bpf_prog_info collector_program_info(const struct collector *c, const char *name)
{
	const struct bpf_program *prog = bpf_object__find_program_by_name(c->skel->obj, name);
	struct bpf_prog_info info = {0};
	uint32_t len = sizeof(info);

	if (!prog || bpf_obj_get_info_by_fd(bpf_program__fd(prog), &info, &len))
		return (struct bpf_prog_info){0};
	return info;
}

const char *collector_result_program(const struct probe_result *r, unsigned int i)
{
	return !i && r->program ? r->program : r->plan->place[i].program;
}

bool collector_result_repeats(const struct probe_result *r, unsigned int i)
{
	for (unsigned int k = 0; k < i; k++)
		if (!strcmp(collector_result_program(r, k), collector_result_program(r, i)))
			return true;
	return false;
}

static void program_cost(const struct collector *c, const char *name, struct collector_cost *cost,
			 uint64_t trap_ns)
{
	struct bpf_prog_info info = collector_program_info(c, name);

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
		if (!collector_result_repeats(r, i))
			program_cost(c, collector_result_program(r, i), cost,
				     !r->pid			       ? 0
				     : r->plan->place[i].emulated ? TRAP_CHEAP_NS
								       : TRAP_DEAR_NS);
}

/* Programs are shared by all VMs: an event is reported once. */
unsigned int collector_costs(const struct collector *c, struct collector_cost *ret,
			     unsigned int max)
{
	bool told[EV_LIMIT] = {false};
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
