// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Attaches plans as links. An event that is unavailable is never fatal: its reason is in the
 * file's metadata.
 *
 * A user probe writes a breakpoint into the traced program, so the bytes at the probe site are checked
 * once more: on a 5-byte NOP the kernel (6.18) puts a call, which overwrites the red zone of a
 * function that is not at its very start, and so corrupts the program.
 */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>

#include "base/array.h"
#include "base/error.h"
#include "base/log.h"
#include "collector/internal.h"
#include "hostrace.skel.h" /* knows record.h's types */

enum {
	HOLDER_HZ =
		199, /* ticks that look for a holder of the global mutex; odd, unlike the timers of guests */
	PROGRAMS_MAX = 256,
	DETACH_THREADS = 32,
};

static const char REUSE_PROGRAM[] = "reuse_fork";

/* Ends of host_fault: only some kernels allow the first. */
static const char FAULT_EXIT[] = "fx_host_fault", FAULT_END[] = "pe_host_fault";

static void result_fill(struct probe_result *r, const struct target *t)
{
	r->plan = plan_of(&t->plan, r->event);
	if (!r->plan)
		snprintf(r->reason, sizeof(r->reason), "no probe site is known for this event");
	else
		snprintf(r->reason, sizeof(r->reason), "%s", r->plan->reason);
}

static struct probe_result *result_add(struct collector *c, const char *event,
				       const struct target *t)
{
	struct probe_result *r = &c->results[c->nr_results++];

	*r = (struct probe_result){.pid = event_is_kernels(event) ? 0 : t->pid, .event = event};
	result_fill(r, t);
	return r;
}

/* Of the heap: collector_heap_start() attaches them. */
static const char *const heap_programs[] = {
#define PRIMITIVE(name)			  "fn_heap_" #name, "ret_heap_" #name,
#define ENTRY(name)			  "fn_heap_" #name,
#define HEAP_FUNCTION(name, role, family) role(name)
	HEAP_FUNCTIONS(HEAP_FUNCTION) NULL
#undef PRIMITIVE
#undef ENTRY
#undef HEAP_FUNCTION
};

static bool event_wanted(const struct collector *c, unsigned int id)
{
	return c->wants[id] && event_type_ours(id) && !event_is_own(id);
}

static int results_make(struct collector *c)
{
	c->results = calloc((size_t)EV_LIMIT * c->max_targets + (c->any ? c->any->nr : 0),
			    sizeof(*c->results));
	if (!c->results)
		return fail(-ENOMEM, "out of memory");
	for (unsigned int id = 1; id < EV_LIMIT; id++) {
		const struct event_type *type = event_type_ours(id);

		for (unsigned int i = 0; event_wanted(c, id) && i < c->nr_targets; i++) {
			if (id == EV_qemu_pio && c->targets[i].has_kvm)
				continue; /* kvm_pio sees the same accesses */
			result_add(c, type->name, &c->targets[i])->id = id;
			if (event_is_kernels(type->name))
				break;
		}
	}
	return collector_any_plan(c);
}

static bool usable(const struct probe_result *r)
{
	return r->plan && r->plan->how != PROBE_ABSENT;
}

static struct program *program_find(struct program *programs, unsigned int nr, const char *name)
{
	return array_find(programs, nr, i, !strcmp(programs[i].name, name));
}

static void program_want(struct collector *c, const char *name, const char *instead)
{
	if (!program_find(c->programs, c->nr_programs, name) && c->nr_programs < PROGRAMS_MAX)
		c->programs[c->nr_programs++] = (struct program){.name = name, .instead = instead};
}

/* Nothing can be loaded later: the VM's executable is not known yet. */
static void programs_want_follow(struct collector *c)
{
	const char *name[PLACES_MAX * 4];

	for (unsigned int id = 1; id < EV_LIMIT; id++) {
		unsigned int nr = event_wanted(c, id) ? plan_programs(event_type_ours(id)->name,
								      name, PLACES_MAX * 4)
						      : 0;

		for (unsigned int i = 0; i < nr; i++)
			program_want(c, name[i], NULL);
	}
	program_want(c, "follow_fork", NULL);
	program_want(c, "follow_exec", NULL);
	program_want(c, "follow_exit", NULL);
}

static const char *program_error(const struct program *program)
{
	if (!program)
		return "too many programs";
	return *program->error ? program->error : NULL;
}

static int link_keep_bpf(struct collector *c, struct bpf_link *link)
{
	return collector_link_keep(c, link, link ? 0 : -errno);
}

/* -EFAULT: the instruction there must not be probed. */
static int place_check(const char *exe, const struct probe_place *place)
{
	static const uint8_t nop5[] = {0x0f, 0x1f, 0x44, 0x00, 0x00};
	uint8_t insn[sizeof(nop5)] = {0};
	_cleanup_close_ int fd = open(exe, O_RDONLY | O_CLOEXEC);

	if (fd < 0)
		return -errno;
	if (!place->file_offset)
		return *place->mark ? 0 : -EINVAL;
	if (pread(fd, insn, sizeof(insn), (off_t)place->file_offset) < (ssize_t)sizeof(insn))
		return -EIO;
	if (!memcmp(insn, nop5, sizeof(nop5)) && (*place->mark || place->offset))
		return -EFAULT;
	return 0;
}

static int uprobe_link(const struct bpf_program *prog, pid_t pid, const char *exe,
		       uint64_t file_offset, bool at_return)
{
	const struct uprobe_sites one = {.offset = &file_offset, .nr = 1, .at_return = at_return};

	return uprobe_link_sites(prog, pid, exe, &one);
}

int collector_uprobe(struct collector *c, struct bpf_program *prog, pid_t pid, const char *file,
		     uint64_t file_offset, bool at_return)
{
	LIBBPF_OPTS(bpf_uprobe_opts, opts, .retprobe = at_return);
	if (c->uprobe_links)
		return collector_link_keep(
			c, NULL, uprobe_link(prog, pid, file, file_offset, at_return));
	return link_keep_bpf(c,
			     bpf_program__attach_uprobe_opts(prog, pid, file, file_offset, &opts));
}

static int place_attach(struct collector *c, const struct target *t,
			const struct probe_place *place)
{
	struct bpf_program *prog = bpf_object__find_program_by_name(c->skel->obj, place->program);
	int err = place_check(t->exe_open, place);

	if (err)
		return err;
	if (*place->mark)
		return link_keep_bpf(c, bpf_program__attach_usdt(prog, t->pid, t->exe_open, "qemu",
								 place->mark, NULL));
	return collector_uprobe(c, prog, t->pid, t->exe_open, place->file_offset, place->at_return);
}

static void where_add(struct probe_result *r, const char *fmt, const char *a, uint64_t offset,
		      const char *tail)
{
	size_t len = strlen(r->where);
	char one[128];

	snprintf(one, sizeof(one), fmt, a, (unsigned long long)offset, tail);
	snprintf(r->where + len, sizeof(r->where) - len, "%s%s", len ? ", " : "", one);
}

static void result_failed(struct probe_result *r, const char *what, int err)
{
	const char *why =
		err == -EFAULT ? "a probe on a 5-byte NOP within a function would corrupt QEMU"
		: err == -EBUSY
			? "its return is not probed together with the heap's: a coroutine that "
			  "allocates would lose it, and QEMU would crash"
			: strerror(-err);

	snprintf(r->reason, sizeof(r->reason), "%s: %s", what, why);
	debug("attach", "%s: %s", r->event, r->reason);
}

static const struct target *target_of(const struct collector *c, pid_t pid)
{
	return array_find(c->targets, c->nr_targets, i, c->targets[i].pid == pid);
}

static void attach_places(struct collector *c, struct probe_result *r)
{
	const struct target *t = target_of(c, r->pid);

	for (unsigned int i = 0; i < r->plan->nr_places; i++) {
		const struct probe_place *place = &r->plan->place[i];
		bool conflicts = place->at_return && c->wants[EV_alloc_site];
		int err = conflicts ? -EBUSY : place_attach(c, t, place);

		if (err) {
			result_failed(r, *place->mark ? place->mark : place->function, err);
			continue;
		}
		r->attached++;
		if (*place->mark)
			where_add(r, "mark %s%.0llu%s", place->mark, 0, "");
		else
			where_add(r, "%s+%llu%s", place->function, place->offset,
				  place->at_return ? " return" : "");
	}
}

static void attach_kernel(struct collector *c, struct probe_result *r, const char *name)
{
	struct bpf_program *prog = bpf_object__find_program_by_name(c->skel->obj, name);
	int err = r->id >= ANY_FIRST ? collector_any_attach(c, r, prog)
				     : link_keep_bpf(c, bpf_program__attach(prog));

	if (err) {
		result_failed(r, r->id >= ANY_FIRST ? r->event : bpf_program__section_name(prog),
			      err);
		return;
	}
	r->attached++;
	if (r->program)
		return;
	r->program = bpf_program__name(prog);
	snprintf(r->where, sizeof(r->where), "%s",
		 r->id >= ANY_FIRST ? r->event : bpf_program__section_name(prog));
}

static void attach_one(struct collector *c, struct probe_result *r)
{
	const struct program *program[PLACES_MAX] = {NULL};
	const char *error = NULL;

	c->attaching = r;
	for (unsigned int i = 0; i < r->plan->nr_places && !error; i++) {
		program[i] = program_find(c->programs, c->nr_programs, r->plan->place[i].program);
		error = program_error(program[i]);
	}
	if (error)
		snprintf(r->reason, sizeof(r->reason), "%s", error);
	else if (r->pid)
		attach_places(c, r);
	for (unsigned int i = 0; !error && !r->pid && i < r->plan->nr_places; i++) {
		if (program[i]->loaded != program[i]->name)
			snprintf(r->reason, sizeof(r->reason), "the kernel rejected %s",
				 program[i]->name);
		attach_kernel(c, r, program[i]->loaded);
	}
}

int collector_register(struct collector *c, struct target *t)
{
	const struct qemu_layout *l = &t->plan.layout;
	struct vm_settings s = {
		.vq_vdev = l->vq_vdev,
		.vq_queue = l->vq_queue,
		.vdev_path = l->vdev_path,
		.vq_host_notifier = l->vq_host_notifier,
		.elem_head = l->elem_head,
		.elem_ndescs = l->elem_ndescs,
		.elem_out = l->elem_out,
		.elem_in = l->elem_in,
		.follow = t->follow,
		.guest_kernel = c->guest_tasks ? (uint32_t)(t - c->targets) + 1 : 0,
		.heap = c->wants[EV_alloc_site] ? (uint32_t)(t - c->targets) + 1 : 0,
	};
	uint32_t pid = (uint32_t)t->pid;

	if (c->wants[EV_sched_block] || c->wants[EV_sched_holder])
		collector_mutex_find(t);
	if (!t->unwinder && (c->wants[EV_sched_stack] || c->wants[EV_alloc_site] ||
			     (c->wants[EV_sched_holder] && t->global_mutex)))
		t->unwinder = unwinder_open(t->pid);
	s.global_mutex = t->global_mutex;
	if (bpf_map_update_elem(bpf_map__fd(c->skel->maps.vms), &pid, &s, BPF_ANY))
		return fail(-errno, "cannot register VM %u: %s", pid, strerror(errno));
	return 0;
}

static int targets_register(struct collector *c)
{
	int err = 0;

	for (unsigned int i = 0; i < c->nr_targets && !err; i++)
		err = collector_register(c, &c->targets[i]);
	return err;
}

static struct probe_result *result_of(struct collector *c, const struct target *t, unsigned int id)
{
	return array_find(c->results, c->nr_results, i,
			  c->results[i].pid == t->pid && c->results[i].id == id);
}

void collector_attach_vm(struct collector *c, const struct target *t)
{
	for (unsigned int id = 1; id < EV_LIMIT; id++) {
		const char *name = event_wanted(c, id) ? event_type_ours(id)->name : "kvm_";
		struct probe_result *r;

		if (event_is_kernels(name) || (id == EV_qemu_pio && t->has_kvm))
			continue;
		r = result_of(c, t, id);
		if (!r)
			r = result_add(c, name, t);
		else if (!r->attached)
			result_fill(r, t);
		r->id = id;
		if (!r->attached && usable(r))
			attach_one(c, r);
	}
}

static int programs_load(struct collector *c, const struct collector_options *opt)
{
	c->programs = calloc(PROGRAMS_MAX, sizeof(*c->programs));
	if (!c->programs)
		return fail(-ENOMEM, "out of memory");
	for (unsigned int i = 0; i < c->nr_results; i++) {
		const struct probe_result *r = &c->results[i];

		for (unsigned int k = 0; usable(r) && k < r->plan->nr_places; k++)
			program_want(c, r->plan->place[k].program, r->plan->place[k].instead);
	}
	if (opt->sample_hz) {
		c->sample_frames = opt->sample_frames;
		c->sample_svm = plan_svm();
		program_want(c, "pe_guest_sample", NULL);
	}
	if (c->wants[EV_sched_holder])
		program_want(c, "pe_sched_holder", NULL);
	if (c->wants[EV_sched_stack])
		program_want(c, "pe_sched_stack", NULL);
	if (c->wants[EV_host_fault]) {
		program_want(c, FAULT_EXIT, NULL);
		program_want(c, FAULT_END, NULL);
	}
	for (unsigned int i = 0; c->wants[EV_alloc_site] && heap_programs[i]; i++)
		program_want(c, heap_programs[i], NULL);
	if (!c->nr_programs && !c->follow) /* VMs that are followed may have some */
		return fail(-ENOTSUP, "none of the requested events is available on this host; run "
				      "'hostrace doctor' for the reasons");
	if (c->follow)
		programs_want_follow(c);
	else
		program_want(c, REUSE_PROGRAM, NULL);
	return collector_load(c, c->programs, c->nr_programs, opt->ring_bytes);
}

static int attach_samples(struct collector *c, const char *name, uint64_t hz)
{
	const char *error = program_error(program_find(c->programs, c->nr_programs, name));

	return error ? fail(-ENOTSUP, "cannot load the sampling program: %s", error)
		     : collector_sample(c, bpf_object__find_program_by_name(c->skel->obj, name),
					hz);
}

static int attach_faults(struct collector *c)
{
	const char *error = program_error(program_find(c->programs, c->nr_programs, FAULT_END));
	int err = error ? fail(-ENOTSUP, "cannot load the program at the end of faults: %s", error)
			: collector_faults(c, bpf_object__find_program_by_name(c->skel->obj,
									       FAULT_END));

	if (err || program_error(program_find(c->programs, c->nr_programs, FAULT_EXIT)))
		return err;
	err = collector_link(c, bpf_object__find_program_by_name(c->skel->obj, FAULT_EXIT));
	return err ? fail(err, "cannot attach to handle_mm_fault: %s", strerror(-err)) : 0;
}

/* Without it the recording still has what the holder does when it leaves the CPU, or the reason why not. */
static bool holder_possible(const struct collector *c)
{
	return c->wants[EV_sched_holder] &&
	       !program_error(program_find(c->programs, c->nr_programs, "pe_sched_holder"));
}

/* With a command, follow_fork does this, too. */
static int attach_reuse(struct collector *c)
{
	const char *error;
	int err;

	if (c->follow)
		return 0;
	error = program_error(program_find(c->programs, c->nr_programs, REUSE_PROGRAM));
	err = error ? -ENOTSUP : collector_link(c, c->skel->progs.reuse_fork);
	return err ? fail(err, "cannot notice that the pid of a VM is reused: %s",
			  error ? error : strerror(-err))
		   : 0;
}

int collector_attach(struct collector *c, const struct collector_options *opt)
{
	unsigned int attached = 0;
	int err = results_make(c);

	if (!err)
		err = programs_load(c, opt);
	if (!err)
		err = attach_reuse(c);
	if (!err)
		err = targets_register(c);
	if (!err)
		err = collector_any_register(c);
	if (err)
		return err;
	for (unsigned int i = 0; i < c->nr_results; i++) {
		if (usable(&c->results[i]))
			attach_one(c, &c->results[i]);
		attached += c->results[i].attached;
	}
	err = collector_any_judge(c);
	if (!err && opt->sample_hz) {
		err = attach_samples(c, "pe_guest_sample", opt->sample_hz);
		attached++;
	}
	if (!err && holder_possible(c))
		err = attach_samples(c, "pe_sched_holder", HOLDER_HZ);
	if (!err && c->wants[EV_sched_stack])
		err = attach_samples(c, "pe_sched_stack", HOLDER_HZ);
	if (!err && c->wants[EV_host_fault])
		err = attach_faults(c);
	if (err)
		return err;
	if (c->follow)
		collector_follow(c);
	return attached || collector_follow_fd(c) >= 0 || c->wants[EV_alloc_site]
		       ? 0
		       : fail(-ENOTSUP, "no probe could be attached: %s", c->results[0].reason);
}

/*
 * Taking a probe away waits for a grace period of the kernel, about 0.1 s. Waiting in several
 * threads they share it (perf's user probes do not: a lock makes them wait one after the other).
 */
struct detach_job {
	struct collector *c;
	unsigned int next;
};

static void *detach_some(void *arg)
{
	struct detach_job *job = arg;
	unsigned int i;

	while ((i = __atomic_fetch_add(&job->next, 1, __ATOMIC_RELAXED)) < job->c->nr_links)
		collector_link_drop(&job->c->links[i]);
	return NULL;
}

void collector_detach(struct collector *c)
{
	struct detach_job job = {.c = c};
	pthread_t threads[DETACH_THREADS];
	unsigned int nr = 0;

	collector_drops_wait(c);
	while (nr < DETACH_THREADS && nr < c->nr_links &&
	       !pthread_create(&threads[nr], NULL, detach_some, &job))
		nr++;
	detach_some(&job);
	while (nr)
		pthread_join(threads[--nr], NULL);
	c->nr_links = 0;
}
