// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A recording without any event although vCPUs ran: something is wrong with it (the clock, a probe that never fires),
 * and it must not look like that of an idle VM. The CPU time of vCPU threads is read from files that are opened before
 * privileges are given up; of a vCPU that has not run yet no thread is known, so that its process's time counts. Of a
 * VM that the command starts, the first event says that there is one.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/error.h"
#include "commands/live/record.h"

enum {
	THREADS_MAX = 64, /* looked at; more would add nothing */
	RAN_MIN_MS = 20,  /* in which a vCPU enters the guest, leaves it, or is switched */
};

struct vcpu_run {
	int fd;		 /* of its schedstat; -1: the clock instead */
	clockid_t clock; /* of the process */
	uint64_t first_ns, last_ns;
	unsigned int vm; /* in the recording */
};

struct vcpu_runs {
	unsigned int nr;
	struct vcpu_run vcpu[THREADS_MAX];
};

/* Does the recording have an event that every vCPU which runs causes? */
static bool events_certain(const struct recording *r)
{
	static const char *const certain[] = {"kvm_entry", "kvm_exit", "sched_switch"};
	json_t *all = collector_probes(r->collector), *one;
	bool found = false;
	size_t i;

	json_array_foreach(all, i, one)
		for (size_t e = 0; e < sizeof(certain) / sizeof(certain[0]); e++)
			found |= !strcmp(certain[e],
					 json_string_value(json_object_get(one, "event"))) &&
				 strcmp("absent", json_string_value(json_object_get(one, "how")));
	json_decref(all);
	return found;
}

static bool ran_read(const struct vcpu_run *v, uint64_t *ret_ns)
{
	struct timespec ts;
	char text[64];
	ssize_t len;

	if (v->fd < 0 && clock_gettime(v->clock, &ts))
		return false;
	if (v->fd < 0) {
		*ret_ns = timespec_ns(&ts);
		return true;
	}
	len = pread(v->fd, text, sizeof(text) - 1, 0);
	text[len > 0 ? len : 0] = '\0';
	return sscanf(text, "%" SCNu64, ret_ns) == 1;
}

static void run_keep(struct vcpu_runs *s, struct vcpu_run v)
{
	if (ran_read(&v, &v.first_ns)) {
		v.last_ns = v.first_ns;
		s->vcpu[s->nr++] = v;
	} else if (v.fd >= 0) {
		close(v.fd);
	}
}

static void vm_open(struct vcpu_runs *s, const struct vm *vm, unsigned int index)
{
	struct vcpu_run process = {.fd = -1, .vm = index};
	bool unknown = false;
	char path[64];

	for (unsigned int i = 0; i < vm->nr_vcpus && s->nr < THREADS_MAX - 1; i++) {
		struct vcpu_run v = {.fd = -1, .vm = index};

		snprintf(path, sizeof(path), "/proc/%d/task/%d/schedstat", (int)vm->pid,
			 (int)vm->vcpus[i].tid);
		if (vm->vcpus[i].tid)
			v.fd = open(path, O_RDONLY | O_CLOEXEC);
		if (v.fd >= 0)
			run_keep(s, v);
		else
			unknown = true;
	}
	if (unknown && s->nr < THREADS_MAX && !clock_getcpuclockid(vm->pid, &process.clock))
		run_keep(s, process);
}

static void runs_close(struct recording *r)
{
	for (unsigned int i = 0; r->runs && i < r->runs->nr; i++)
		if (r->runs->vcpu[i].fd >= 0)
			close(r->runs->vcpu[i].fd);
	free(r->runs);
	r->runs = NULL;
}

static int runs_open(struct recording *r)
{
	if (!events_certain(r))
		return 0;
	r->runs = calloc(1, sizeof(*r->runs));
	if (!r->runs)
		return fail(-ENOMEM, "out of memory");
	for (unsigned int i = 0; i < r->nr_vms; i++)
		if (r->vms[i].has_kvm)
			vm_open(r->runs, &r->vms[i], i);
	return 0;
}

/* Until there is an event; the files of a VM that ends cannot be read any more. */
static int runs_read(struct recording *r, uint64_t now_ns)
{
	const struct collector_counts *n = collector_counts(r->collector);

	(void)now_ns;
	if (n->events || n->lost)
		runs_close(r);
	for (unsigned int i = 0; r->runs && i < r->runs->nr; i++) {
		struct vcpu_run *v = &r->runs->vcpu[i];
		uint64_t ns;

		if (ran_read(v, &ns) && !record_vm_ended(r, v->vm)) /* else the pid may be reused */
			v->last_ns = ns;
	}
	return 0;
}

static int runs_judge(struct recording *r)
{
	uint64_t ran_ns = 0;

	runs_read(r, 0);
	for (unsigned int i = 0; r->runs && i < r->runs->nr; i++)
		ran_ns += r->runs->vcpu[i].last_ns - r->runs->vcpu[i].first_ns;
	return ran_ns < RAN_MIN_MS * NS_PER_MS
		       ? 0
		       : fail(-ENODATA,
			      "no event was recorded although vCPUs ran for %.3f s: the recording "
			      "does not show what they did; 'hostrace doctor --vm %d' lists what "
			      "is available",
			      (double)ran_ns / 1e9, (int)r->vms[0].pid);
}

const struct record_part record_silence_part = {
	.start = runs_open,
	.round = runs_read,
	.stop = runs_judge,
	.close = runs_close,
};
