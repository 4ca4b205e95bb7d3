// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A command that starts VMs: its processes are followed in the kernel (bpf/follow.bpf.c), and a process that turns out
 * to be a QEMU gets the user probes while the recording runs. Between its execve() and the probes it is not stopped:
 * what QEMU does in its first milliseconds is to read its options. Whether that was in time is known from the first
 * event of a vCPU.
 */
#include <errno.h>
#include <sys/stat.h>

#include "base/array.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/log.h"
#include "collector/internal.h"

#include "hostrace.skel.h" /* knows record.h's types */

static int change_read(void *arg, void *data, size_t size)
{
	struct collector *c = arg;
	const struct process_change *change = data;

	if (size >= sizeof(*change))
		c->on_change(c->on_change_arg, (pid_t)change->pid, (pid_t)change->parent,
			     change->time);
	return 0;
}

int collector_link(struct collector *c, struct bpf_program *prog)
{
	struct bpf_link *link = bpf_program__attach(prog);

	if (!link)
		return -errno;
	if (c->nr_links == LINKS_MAX) {
		bpf_link__destroy(link);
		return -E2BIG;
	}
	c->links[c->nr_links++] = (struct probe_link){.link = link};
	return 0;
}

static const char *follow_rejected(const struct collector *c)
{
	for (unsigned int i = 0; i < c->nr_programs; i++)
		if (!strncmp(c->programs[i].name, "follow_", 7) && *c->programs[i].error)
			return c->programs[i].error;
	return NULL;
}

void collector_follow(struct collector *c)
{
	struct bpf_program *progs[] = {c->skel->progs.follow_exec, c->skel->progs.follow_exit,
				       c->skel->progs.follow_fork};
	const char *rejected = follow_rejected(c);
	int err = 0;

	for (unsigned int i = 0; i < sizeof(progs) / sizeof(progs[0]) && !rejected && !err; i++)
		err = collector_link(c, progs[i]);
	if (!rejected && !err) {
		c->changes = ring_buffer__new(bpf_map__fd(c->skel->maps.process_changes),
					      change_read, c, NULL);
		err = c->changes ? 0 : -errno;
	}
	if (rejected || err)
		snprintf(c->follow_error, sizeof(c->follow_error), "%s",
			 rejected ? rejected : strerror(-err));
}

void collector_follow_close(struct collector *c)
{
	ring_buffer__free(c->changes);
	c->changes = NULL;
	while (c->nr_ahead)
		plan_free(&c->ahead[--c->nr_ahead].plan);
}

const char *collector_follow_error(const struct collector *c)
{
	return c->follow_error;
}

int collector_follow_fd(const struct collector *c)
{
	return c->changes ? ring_buffer__epoll_fd(c->changes) : -1;
}

void collector_follow_read(struct collector *c, collector_process *process, void *arg)
{
	c->on_change = process;
	c->on_change_arg = arg;
	if (c->changes)
		ring_buffer__consume(c->changes);
}

uint64_t collector_follow_missed(const struct collector *c)
{
	return c->changes ? c->skel->bss->follow_missed : 0;
}

static bool settings_read(const struct collector *c, pid_t pid, struct vm_settings *ret)
{
	uint32_t key = (uint32_t)pid;

	return !bpf_map_lookup_elem(bpf_map__fd(c->skel->maps.vms), &key, ret);
}

bool collector_follows(const struct collector *c, pid_t pid)
{
	struct vm_settings s;

	return settings_read(c, pid, &s);
}

unsigned int collector_followed(const struct collector *c)
{
	int fd = bpf_map__fd(c->skel->maps.vms);
	uint32_t key, *from = NULL;
	struct vm_settings s;
	unsigned int nr = 0;

	while (c->changes && !bpf_map_get_next_key(fd, from, &key)) {
		from = &key;
		nr += settings_read(c, (pid_t)key, &s) && s.follow == FOLLOW_WRAPPER;
	}
	return nr;
}

static struct target *target_find(struct collector *c, pid_t pid)
{
	return array_find(c->targets, c->nr_targets, i, c->targets[i].pid == pid);
}

unsigned int collector_vm_probes(const struct collector *c, pid_t pid)
{
	unsigned int nr = 0;

	for (unsigned int i = 0; i < c->nr_results; i++)
		if (c->results[i].pid == pid)
			nr += c->results[i].attached;
	return nr;
}

static struct file_id file_id(const char *path)
{
	struct stat st;

	if (stat(path, &st))
		return (struct file_id){0};
	return (struct file_id){
		.device = st.st_dev,
		.inode = st.st_ino,
		.size = (uint64_t)st.st_size,
		.mtime_ns = (uint64_t)st.st_mtim.tv_sec * NS_PER_S + (uint64_t)st.st_mtim.tv_nsec,
	};
}

static const struct plan *plan_ahead_of(const struct collector *c, const struct file_id *id)
{
	for (unsigned int i = 0; i < c->nr_ahead; i++)
		if (id->inode && !memcmp(&c->ahead[i].exe, id, sizeof(*id)))
			return &c->ahead[i].plan;
	return NULL;
}

void collector_plan_ahead(struct collector *c, const char *exe)
{
	struct file_id id = file_id(exe);
	struct plan plan;

	if (c->nr_ahead == PLANS_AHEAD_MAX || plan_ahead_of(c, &id) ||
	    plan_make_qemu(exe, &c->decoder, &plan))
		return;
	if (!id.inode || !plan.is_qemu) {
		plan_free(&plan);
		return;
	}
	c->ahead[c->nr_ahead++] = (struct plan_ahead){.exe = id, .plan = plan};
	debug("attach", "planned ahead: %s", exe);
}

bool collector_exe_is_qemu(const struct collector *c, const char *exe)
{
	struct file_id id = file_id(exe);

	return plan_ahead_of(c, &id) || plan_exe_is_qemu(exe);
}

/* A plan takes a tenth of a second and 0.5 MB: VMs of one binary share it. */
static int plan_get(struct collector *c, const char *exe, const struct file_id *id,
		    struct plan *ret)
{
	const struct plan *ahead = plan_ahead_of(c, id);

	if (ahead) {
		*ret = plan_share(ahead);
		return 0;
	}
	for (unsigned int i = 0; i < c->nr_targets; i++)
		if (id->inode && !memcmp(&c->targets[i].exe, id, sizeof(*id))) {
			*ret = plan_share(&c->targets[i].plan);
			return 0;
		}
	return plan_make_qemu(*exe ? exe : NULL, &c->decoder, ret);
}

static int target_plan(struct collector *c, struct target *t, const struct vm *vm)
{
	struct file_id id = {0};
	struct plan plan;
	char *exe = strdup(vm->exe_open ? vm->exe_open : "");
	int err = exe ? 0 : fail(-ENOMEM, "out of memory");

	if (!err) {
		id = file_id(exe);
		err = plan_get(c, exe, &id, &plan);
	}
	if (err) {
		free(exe);
		return err;
	}
	if (t->plan_before.probe)
		plan_free(&t->plan);
	else
		t->plan_before = t->plan;
	t->plan = plan;
	t->exe = id;
	free(t->exe_open);
	t->exe_open = exe;
	unwinder_close(t->unwinder); /* of another program */
	t->unwinder = NULL;
	t->has_kvm = vm->has_kvm;
	return 0;
}

/* The place of a VM that has ended, and its results, for another one. */
static void target_reuse(struct collector *c, struct target *t, pid_t pid)
{
	for (unsigned int i = 0; i < c->nr_results; i++) {
		struct probe_result *r = &c->results[i];

		if (r->pid == t->pid)
			*r = (struct probe_result){.pid = pid, .event = r->event, .id = r->id};
	}
	plan_free(&t->plan);
	plan_free(&t->plan_before);
	free(t->exe_open);
	unwinder_close(t->unwinder);
	*t = (struct target){.pid = pid};
}

/* Its place, new or found again. NULL: there is none. */
static struct target *target_get(struct collector *c, pid_t pid)
{
	struct target *t = target_find(c, pid);

	if (!t && c->nr_targets < c->max_targets) {
		t = &c->targets[c->nr_targets++];
		t->pid = pid;
	}
	/* Not the first: results of kernel events refer to its plan. */
	for (unsigned int i = 1; !t && i < c->nr_targets; i++)
		if (c->targets[i].ended)
			t = &c->targets[i];
	if (t && t->ended)
		target_reuse(c, t, pid);
	return t;
}

int collector_vm_add(struct collector *c, const struct vm *vm)
{
	struct target *t = target_get(c, vm->pid);
	int err = 0;

	if (!t)
		return fail(-E2BIG, "VM %d is recorded without user probes: more than %d VMs",
			    vm->pid, VMS_STARTED_MAX);
	if (!collector_vm_probes(c, vm->pid))
		err = target_plan(c, t, vm);
	t->follow = FOLLOW_QEMU;
	if (!err)
		err = collector_register(c, t);
	if (!err)
		collector_attach_vm(c, t);
	debug("attach", "process %d: %u user probes", vm->pid, collector_vm_probes(c, vm->pid));
	return err;
}

static void follow_set(struct collector *c, pid_t pid, enum follow follow)
{
	uint32_t key = (uint32_t)pid;
	struct vm_settings s;

	if (!settings_read(c, pid, &s))
		return;
	s.follow = follow;
	bpf_map_update_elem(bpf_map__fd(c->skel->maps.vms), &key, &s, BPF_EXIST);
}

void collector_vm_follow(struct collector *c, pid_t pid, bool children)
{
	follow_set(c, pid, children ? FOLLOW_QEMU : FOLLOW_NONE);
}

void collector_vm_remove(struct collector *c, pid_t pid)
{
	follow_set(c, pid, FOLLOW_WRAPPER);
}

void collector_vm_ignore(struct collector *c, pid_t pid)
{
	uint32_t key = (uint32_t)pid;

	bpf_map_delete_elem(bpf_map__fd(c->skel->maps.vms), &key);
}

void collector_vm_end(struct collector *c, pid_t pid)
{
	struct target *t = target_find(c, pid);

	collector_vm_ignore(c, pid);
	if (!t || t == c->targets)
		return;
	t->ended = true;
	for (unsigned int i = 0; i < c->nr_results; i++)
		c->results[i].ended |= c->results[i].pid == pid;
	collector_links_drop(c);
}

const struct collector_vcpu *collector_vcpu(const struct collector *c, unsigned int i)
{
	return i < c->nr_vcpus ? &c->vcpus[i] : NULL;
}
