// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A VM without any event in the recording although its vCPUs ran: something is wrong with it (the clock, a probe that
 * never fires), and it must not look like an idle VM. Where only rare events are recorded, as those of a device, this
 * is said of the whole recording: if it has no event at all. A VM of which there are events, but none of the exits that
 * were asked for, is a warning.
 *
 * The CPU time of vCPU threads is read from files that are opened before privileges are given up; of a vCPU that has
 * not run yet no thread is known, so that its process's time counts.
 * It is read in each round, and not after the last one, as what happens later is not recorded. Of a VM that the command
 * starts, the first event says that there is one. (KVM's own count of exits, in debugfs, is 0 on some hosts whose
 * tracepoints do not fire either.)
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <sys/stat.h>

#include "base/clock.h"
#include "base/error.h"
#include "commands/common/command.h"
#include "commands/live/record.h"
#include "vm/select.h"

enum {
	THREADS_MAX = 64, /* in all VMs together, but one of each if possible */
	RAN_MIN_MS = 5,	  /* more than a tick: so much may be of the time before; if there are other events */
	RAN_MIN_PROCESS_MS = 20, /* of all threads of a process */
};

struct vcpu_run {
	int fd;		 /* of its schedstat; -1: the clock instead */
	clockid_t clock; /* of the process */
	uint64_t first_ns, last_ns;
	unsigned int vm; /* in the recording */
	bool any;	 /* events of this VM, if only its exits end the look at it */
};

struct vcpu_runs {
	bool exits, frequent; /* are recorded: exits or entries; these or switches of threads */
	unsigned int nr, per_vm;
	uint32_t last_pid; /* of an event */
	struct vcpu_run vcpu[2 * THREADS_MAX];
};

/* Is this event recorded? */
static bool has_event(const struct recording *r, const char *event)
{
	json_t *all = collector_probes(r->collector), *one;
	bool found = false;
	size_t i;

	json_array_foreach(all, i, one)
		found |= !strcmp(event, json_string_value(json_object_get(one, "event"))) &&
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

static void run_close(struct vcpu_run *v)
{
	if (v->fd >= 0)
		close(v->fd);
}

static void run_keep(struct vcpu_runs *s, struct vcpu_run v)
{
	if (ran_read(&v, &v.first_ns)) {
		v.last_ns = v.first_ns;
		s->vcpu[s->nr++] = v;
	} else {
		run_close(&v);
	}
}

/* The links of this directory are two more than the threads. */
static bool has_one_thread(pid_t pid)
{
	char path[64];
	struct stat st;

	snprintf(path, sizeof(path), "/proc/%d/task", (int)pid);
	return !stat(path, &st) && st.st_nlink == 3;
}

static void vm_open(struct vcpu_runs *s, const struct vm *vm, unsigned int index)
{
	struct vcpu_run process = {.fd = -1, .vm = index};
	const unsigned int max = s->nr + s->per_vm;
	bool unknown = false, one = has_one_thread(vm->pid);
	char path[64];

	if (s->nr + s->per_vm + 1 > sizeof(s->vcpu) / sizeof(s->vcpu[0]))
		return;
	for (unsigned int i = 0; i < vm->nr_vcpus && s->nr < max; i++) {
		struct vcpu_run v = {.fd = -1, .vm = index};
		pid_t tid = !i && one ? vm->pid : vm->vcpus[i].tid;

		snprintf(path, sizeof(path), "/proc/%d/task/%d/schedstat", (int)vm->pid, (int)tid);
		if (tid)
			v.fd = open(path, O_RDONLY | O_CLOEXEC);
		if (v.fd >= 0)
			run_keep(s, v);
		else
			unknown = true;
	}
	if (unknown && s->nr < max && !clock_getcpuclockid(vm->pid, &process.clock))
		run_keep(s, process);
}

static void runs_close(struct recording *r)
{
	for (unsigned int i = 0; r->runs && i < r->runs->nr; i++)
		run_close(&r->runs->vcpu[i]);
	free(r->runs);
	r->runs = NULL;
}

static int runs_open(struct recording *r)
{
	r->runs = calloc(1, sizeof(*r->runs));
	if (!r->runs)
		return fail(-ENOMEM, "out of memory");
	r->runs->exits = has_event(r, "kvm_entry") || has_event(r, "kvm_exit");
	r->runs->frequent = r->runs->exits || has_event(r, "sched_switch");
	r->runs->per_vm = r->nr_vms < THREADS_MAX ? THREADS_MAX / r->nr_vms : 1;
	for (unsigned int i = 0; i < r->nr_vms; i++)
		if (r->vms[i].has_kvm)
			vm_open(r->runs, &r->vms[i], i);
	return 0;
}

/* A VM that has an event, an exit if these are recorded, is not looked at any more. */
static void events_seen(struct recording *r, uint32_t pid, bool enough)
{
	struct vcpu_runs *s = r->runs;
	unsigned int kept = 0;

	s->last_pid = pid;
	for (unsigned int i = 0; i < s->nr; i++) {
		bool its = (uint32_t)r->vms[s->vcpu[i].vm].pid == pid;

		s->vcpu[i].any |= its;
		if (its && enough)
			run_close(&s->vcpu[i]);
		else
			s->vcpu[kept++] = s->vcpu[i];
	}
	s->nr = kept;
	if (!kept)
		runs_close(r);
}

void record_silence_record(struct recording *r, const struct record_hdr *rec)
{
	bool is_exit = rec->type == EV_kvm_exit || rec->type == EV_kvm_entry;

	if (r->runs && (rec->pid != r->runs->last_pid || (is_exit && r->runs->exits)))
		events_seen(r, rec->pid, is_exit || !r->runs->exits);
}

/* The files of a VM that ends cannot be read any more. */
static int runs_read(struct recording *r, uint64_t now_ns)
{
	(void)now_ns;
	if (collector_counts(r->collector)->lost) /* they may have been a VM's only ones */
		runs_close(r);
	for (unsigned int i = 0; r->runs && i < r->runs->nr; i++) {
		struct vcpu_run *v = &r->runs->vcpu[i];
		uint64_t ns;

		if (ran_read(v, &ns) && !record_vm_ended(r, v->vm)) /* else the pid may be reused */
			v->last_ns = ns;
	}
	return 0;
}

/* Each VM at its first vCPU in r->runs, which is sorted by VM. */
static bool is_first_of_vm(const struct recording *r, unsigned int i)
{
	return !i || r->runs->vcpu[i].vm != r->runs->vcpu[i - 1].vm;
}

/* Without any event in the recording, any time of a vCPU is enough; without those of exits some milliseconds. */
static bool is_judged(const struct recording *r)
{
	return r->runs && (!collector_counts(r->collector)->events || r->runs->frequent);
}

/* How long the VM's vCPUs ran without the events that are to be expected; 0: not long. *any: it had others. */
static uint64_t silence_ns(const struct recording *r, unsigned int vm, bool *any)
{
	uint64_t ran_ns = 0, min_ns = RAN_MIN_MS * NS_PER_MS;

	if (!collector_counts(r->collector)->events)
		min_ns = 1;
	*any = false;
	for (unsigned int i = 0; i < r->runs->nr; i++) {
		const struct vcpu_run *v = &r->runs->vcpu[i];

		if (v->vm != vm)
			continue;
		ran_ns += v->last_ns - v->first_ns;
		*any |= v->any;
		if (v->fd < 0)
			min_ns = RAN_MIN_PROCESS_MS * NS_PER_MS;
	}
	return ran_ns < min_ns ? 0 : ran_ns;
}

static int runs_judge(struct recording *r)
{
	char label[VM_LABEL_TEXT];
	bool any;

	for (unsigned int i = 0; is_judged(r) && i < r->runs->nr; i++) {
		unsigned int vm = r->runs->vcpu[i].vm;
		uint64_t ran_ns = is_first_of_vm(r, i) ? silence_ns(r, vm, &any) : 0;

		if (ran_ns && !any)
			return fail(-ENODATA,
				    "no event of %s was recorded although its vCPUs ran for %.3f "
				    "s: the recording does not show what they did; 'hostrace "
				    "doctor --vm %d' lists what there is",
				    vm_label(&r->vms[vm], label, sizeof(label)),
				    (double)ran_ns / 1e9, (int)r->vms[vm].pid);
	}
	return 0;
}

static void runs_summary(struct recording *r)
{
	char label[VM_LABEL_TEXT];
	bool any;

	for (unsigned int i = 0; is_judged(r) && i < r->runs->nr; i++) {
		unsigned int vm = r->runs->vcpu[i].vm;
		uint64_t ran_ns = is_first_of_vm(r, i) ? silence_ns(r, vm, &any) : 0;

		if (ran_ns && any)
			command_note("warning: no kvm_exit or kvm_entry of %s was recorded "
				     "although its vCPUs ran for %.3f s; 'hostrace doctor --vm %d' "
				     "shows whether they can be recorded here",
				     vm_label(&r->vms[vm], label, sizeof(label)),
				     (double)ran_ns / 1e9, (int)r->vms[vm].pid);
	}
}

const struct record_part record_silence_part = {
	.start = runs_open,
	.round = runs_read,
	.stop = runs_judge,
	.summary = runs_summary,
	.close = runs_close,
};
