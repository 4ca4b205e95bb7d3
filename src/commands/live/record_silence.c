// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A VM without any event in the recording although its vCPUs ran: something is wrong with it (the
 * clock, a probe that never fires), and it must not look like an idle VM. Where only rare events
 * are recorded, as those of a device, this is said of the whole recording: if it has no event at
 * all. A VM of which there are events, but none of the exits that were asked for, is a warning.
 *
 * The CPU time of vCPU threads is read from files that are opened before privileges are given up;
 * of a vCPU that has not run yet no thread is known, so that its process's time counts. It is read
 * in each round, and not after the last one, as what happens later is not recorded. Of a VM that
 * the command starts, the TSC offset of each new vCPU says that there is one; it is always recorded
 * and shows nothing that the guest did. (KVM's own count of exits, in debugfs, is 0 on some hosts
 * whose tracepoints do not fire either.)
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <sys/stat.h>

#include "base/array.h"
#include "base/clock.h"
#include "base/error.h"
#include "commands/common/command.h"
#include "commands/live/record.h"
#include "vm/select.h"

enum {
	THREADS_MAX = 64, /* in all VMs together, but one of each if possible */
	RAN_MIN_MS = 5,	  /* more than a tick: so much may be of the time before; if there are other
			     events */
	RAN_MIN_PROCESS_MS = 20, /* of all threads of a process */
};

struct vcpu_run {
	int fd;		 /* of its schedstat; -1: the clock instead */
	clockid_t clock; /* of the process */
	uint64_t first_ns, last_ns;
	pid_t pid, tid; /* of the VM; of the vCPU, 0 for the process */
	bool any;	/* events of this VM, if only its exits end the look at it */
	bool ended;	/* the VM has: nothing is read any more */
};

struct vcpu_runs {
	bool exits, frequent; /* are recorded: exits or entries; these or switches of threads */
	bool more;	      /* than the events of is_setup() is recorded */
	unsigned int nr, per_vm;
	uint32_t last_pid; /* of an event */
	uint64_t nr_setup; /* events of is_setup() */
	struct vcpu_run vcpu[2 * THREADS_MAX];
};

/* Is this event, or another one, recorded? */
static bool has_event(const struct recording *r, const char *event, bool other)
{
	json_t *all = collector_probes(r->collector), *one;
	bool found = false;
	size_t i;

	json_array_foreach (all, i, one)
		found |=
			!strcmp(event, json_string_value(json_object_get(one, "event"))) != other &&
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
	v->fd = -1;
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

static bool thread_open(struct vcpu_runs *s, pid_t pid, pid_t tid)
{
	struct vcpu_run v = {.pid = pid, .tid = tid};
	char path[64];

	snprintf(path, sizeof(path), "/proc/%d/task/%d/schedstat", (int)pid, (int)tid);
	v.fd = tid ? open(path, O_RDONLY | O_CLOEXEC) : -1;
	if (v.fd >= 0)
		run_keep(s, v);
	return v.fd >= 0;
}

static void vm_open(struct vcpu_runs *s, const struct vm *vm)
{
	struct vcpu_run process = {.fd = -1, .pid = vm->pid};
	const unsigned int max = s->nr + s->per_vm;
	bool unknown = false, one = has_one_thread(vm->pid);

	if (s->nr + s->per_vm + 1 > sizeof(s->vcpu) / sizeof(s->vcpu[0]))
		return;
	for (unsigned int i = 0; i < vm->nr_vcpus && s->nr < max; i++) {
		pid_t tid = !i && one ? vm->pid : vm->vcpus[i].tid;

		unknown |= !thread_open(s, vm->pid, tid);
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
	r->runs->exits = has_event(r, "kvm_entry", false) || has_event(r, "kvm_exit", false);
	r->runs->frequent = r->runs->exits || has_event(r, "sched_switch", false);
	r->runs->more = has_event(r, "kvm_write_tsc_offset", true);
	r->runs->per_vm = r->nr_vms < THREADS_MAX ? THREADS_MAX / r->nr_vms : 1;
	for (unsigned int i = 0; i < r->nr_vms; i++)
		if (r->vms[i].has_kvm)
			vm_open(r->runs, &r->vms[i]);
	return 0;
}

/* A VM that has an event, an exit if these are recorded, is not looked at any more. */
static void events_seen(struct recording *r, uint32_t pid, bool enough)
{
	struct vcpu_runs *s = r->runs;
	unsigned int kept = 0, nr = s->nr;

	s->last_pid = pid;
	for (unsigned int i = 0; i < nr; i++) {
		bool its = (uint32_t)s->vcpu[i].pid == pid;

		s->vcpu[i].any |= its;
		if (its && enough)
			run_close(&s->vcpu[i]);
		else
			s->vcpu[kept++] = s->vcpu[i];
	}
	s->nr = kept;
	if (!kept && nr)
		runs_close(r);
}

/* Events that are recorded whatever was asked for. */
static bool is_setup(const struct record_hdr *rec)
{
	return rec->type == EV_thread || rec->type == EV_kvm_write_tsc_offset;
}

/* The thread is a vCPU's: that of a VM which the command started, or a new one. */
static void setup_seen(struct recording *r, const struct record_hdr *rec)
{
	struct vcpu_runs *s = r->runs;

	s->nr_setup++;
	if (rec->type == EV_kvm_write_tsc_offset && r->follow.active &&
	    s->nr < sizeof(s->vcpu) / sizeof(s->vcpu[0]) &&
	    !array_any(s->nr, i, s->vcpu[i].tid == (pid_t)rec->tid))
		thread_open(s, (pid_t)rec->pid, (pid_t)rec->tid);
	s->last_pid = 0;
}

void record_silence_record(struct recording *r, const struct record_hdr *rec)
{
	bool is_exit = rec->type == EV_kvm_exit || rec->type == EV_kvm_entry;

	if (r->runs && r->runs->more && is_setup(rec))
		setup_seen(r, rec);
	else if (r->runs && (rec->pid != r->runs->last_pid || (is_exit && r->runs->exits)))
		events_seen(r, rec->pid, is_exit || !r->runs->exits);
}

static const struct vm *vm_of(const struct recording *r, pid_t pid)
{
	return array_find(r->vms, r->nr_vms, i, r->vms[i].pid == pid);
}

static bool has_ended(const struct recording *r, pid_t pid)
{
	const struct vm *vm = vm_of(r, pid);

	return vm && record_vm_ended(r, (unsigned int)(vm - r->vms));
}

/* The files of a VM that ends cannot be read any more. */
static int runs_read(struct recording *r, uint64_t now_ns)
{
	(void)now_ns;
	if (collector_counts(r->collector)->lost) /* they may have been a VM's only ones */
		runs_close(r);
	for (unsigned int i = 0; r->runs && i < r->runs->nr; i++) {
		struct vcpu_run *v = &r->runs->vcpu[i];
		uint64_t ns = v->last_ns;

		if (v->ended)
			continue;
		ran_read(v, &ns);
		v->ended = has_ended(r, v->pid);
		if (v->ended)
			run_close(v);
		else /* and the pid was not reused when this was read */
			v->last_ns = ns;
	}
	return 0;
}

static uint64_t events_of_guests(const struct recording *r)
{
	return collector_counts(r->collector)->events - r->runs->nr_setup;
}

/* Without any event in the recording, any time of a vCPU is enough; without those of exits some
 * milliseconds. */
static bool is_judged(const struct recording *r)
{
	return r->runs && (!events_of_guests(r) || r->runs->frequent);
}

/* How long the VM's vCPUs ran without the events that are to be expected; 0: not long. *any: it had
 * others. */
static uint64_t silence_ns(const struct recording *r, pid_t pid, bool *any)
{
	uint64_t ran_ns = 0, min_ns = RAN_MIN_MS * NS_PER_MS;

	if (!events_of_guests(r))
		min_ns = 1;
	*any = false;
	for (unsigned int i = 0; i < r->runs->nr; i++) {
		const struct vcpu_run *v = &r->runs->vcpu[i];

		if (v->pid != pid)
			continue;
		ran_ns += v->last_ns - v->first_ns;
		*any |= v->any;
		if (!v->tid)
			min_ns = RAN_MIN_PROCESS_MS * NS_PER_MS;
	}
	return ran_ns < min_ns ? 0 : ran_ns;
}

/* The next silent VM from `*i` on, which has other events or not; NULL: there is none. */
static const struct vm *silent_next(const struct recording *r, unsigned int *i, bool with_others,
				    uint64_t *ran_ns)
{
	for (; is_judged(r) && *i < r->runs->nr; (*i)++) {
		pid_t pid = r->runs->vcpu[*i].pid;
		bool any;

		*ran_ns = silence_ns(r, pid, &any);
		if (*ran_ns && any == with_others && vm_of(r, pid) &&
		    !array_any(*i, k, r->runs->vcpu[k].pid == pid))
			return vm_of(r, r->runs->vcpu[(*i)++].pid);
	}
	return NULL;
}

static int runs_judge(struct recording *r)
{
	char label[VM_LABEL_TEXT];
	unsigned int i = 0;
	uint64_t ran_ns;
	const struct vm *vm = silent_next(r, &i, false, &ran_ns);

	if (!vm)
		return 0;
	return fail(
		-ENODATA,
		"no event of %s was recorded although its vCPUs ran for %.3f s: the recording does "
		"not show what they did; 'hostrace doctor --vm %d' lists what there is",
		vm_label(vm, label, sizeof(label)), (double)ran_ns / 1e9, (int)vm->pid);
}

static void runs_summary(struct recording *r)
{
	char label[VM_LABEL_TEXT];
	unsigned int i = 0;
	uint64_t ran_ns;

	for (const struct vm *vm; (vm = silent_next(r, &i, true, &ran_ns));)
		command_note("warning: no kvm_exit or kvm_entry of %s was recorded although its "
			     "vCPUs ran for %.3f s; 'hostrace doctor --vm %d' shows whether they "
			     "can be recorded here",
			     vm_label(vm, label, sizeof(label)), (double)ran_ns / 1e9,
			     (int)vm->pid);
}

const struct record_part record_silence_part = {
	.start = runs_open,
	.round = runs_read,
	.stop = runs_judge,
	.summary = runs_summary,
	.close = runs_close,
};
