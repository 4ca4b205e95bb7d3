// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * What the counters of VMs do not have, for the causes of `top` and `exporter` (views/top/causes.h): the time for which
 * vCPUs were ready without a CPU and what had it meanwhile, and what limits the VM.
 *
 * What had the CPU is known by its cgroup: it is another VM's if it is the one of that VM, or below it. If two VMs are
 * in one, or a VM is in that of everything, it is not known whose it is.
 */
#include <errno.h>
#include <limits.h>
#include <string.h>

#include "base/array.h"
#include "base/error.h"
#include "commands/live/top.h"
#include "output/table.h"
#include "views/top/causes.h"
#include "vm/cgroup_names.h"
#include "vm/proc.h"
#include "vm/waits.h"

struct followed {
	uint64_t number; /* struct top_watched */
	pid_t pid;
	char cgroup[PATH_MAX];
	struct vm_waits *waits;
	unsigned int nr; /* vCPUs */
	struct stat_steal (*before)[STAT_STEALS];
};

struct top_causes {
	struct cgroup_names *cgroups; /* NULL: what had the CPU is not counted */
	struct followed *vm;
	unsigned int nr;
};

/* ---- VMs ---- */

static void followed_free(struct followed *f)
{
	vm_waits_close(f->waits);
	free(f->before);
}

/* libvirt has cgroups for the threads of a VM, below one for the VM. */
static void cgroup_read(pid_t pid, char *buf, size_t size)
{
	static const char of_threads[] = "/emulator";
	size_t len;

	proc_cgroup(pid, buf, size);
	len = strlen(buf);
	if (len > strlen(of_threads) && !strcmp(buf + len - strlen(of_threads), of_threads))
		buf[len - strlen(of_threads)] = '\0';
}

/* One VM is read without the right to open files; of many, there are not enough descriptors for all of theirs. */
static int followed_add(struct top_causes *c, const struct top_watched *w, bool only)
{
	struct followed *f;

	if (array_room(c->vm, c->nr))
		return fail(-ENOMEM, "out of memory");
	f = &c->vm[c->nr];
	*f = (struct followed){.number = w->number,
			       .pid = w->vm.pid,
			       .nr = w->at.nr,
			       .waits = vm_waits_open(&w->vm, only),
			       .before = calloc(w->at.nr + 1, sizeof(*f->before))};
	if (!f->waits || !f->before) {
		followed_free(f);
		return fail(-ENOMEM, "out of memory");
	}
	cgroup_read(f->pid, f->cgroup, sizeof(f->cgroup));
	c->nr++;
	return 0;
}

static struct followed *followed_find(const struct top_causes *c, uint64_t number)
{
	return array_find(c->vm, c->nr, i, c->vm[i].number == number);
}

static bool is_watched(const struct top_vms *vms, uint64_t number)
{
	return array_any(vms->nr, i, vms->vm[i].number == number);
}

int top_causes_follow(struct top_causes *c, const struct top_vms *vms)
{
	int err = 0;

	for (unsigned int i = c->nr; i--;)
		if (!is_watched(vms, c->vm[i].number)) {
			followed_free(&c->vm[i]);
			c->vm[i] = c->vm[--c->nr];
		}
	for (unsigned int i = 0; i < vms->nr && !err; i++)
		if (!followed_find(c, vms->vm[i].number))
			err = followed_add(c, &vms->vm[i], vms->only);
	return err;
}

/* ---- what had the CPU ---- */

static bool is_within(const char *path, const char *cgroup)
{
	size_t len = strlen(cgroup);

	return !strcmp(cgroup, "/") ||
	       (len && !strncmp(path, cgroup, len) && (!path[len] || path[len] == '/'));
}

/* NULL: it is not known. */
static const char *ran_name(const struct top_causes *c, const struct followed *f, uint64_t id,
			    const char *path)
{
	unsigned int others = 0;
	bool own = is_within(path, f->cgroup);

	if (!id)
		return "idle";
	if (*path != '/')
		return NULL;
	for (unsigned int i = 0; i < c->nr; i++)
		others += &c->vm[i] != f && is_within(path, c->vm[i].cgroup);
	if (others + own > 1 || (own && !strcmp(f->cgroup, "/")))
		return NULL;
	return own ? "own" : others ? "other-vm" : "host";
}

static void task_add(const struct top_causes *c, const struct followed *f, json_t *tasks, int tid,
		     uint64_t id, uint64_t ns)
{
	char buf[256];
	const char *path = cgroup_name(c->cgroups, id, buf, sizeof(buf)),
		   *ran = ran_name(c, f, id, path);

	if (ran)
		json_array_append_new(tasks,
				      json_pack("{s:i,s:s,s:s,s:I}", "tid", tid, "task", path,
						"ran", ran, "time_ns", (json_int_t)ns));
}

/* Of one vCPU, since the last reading. The last slot is of all other cgroups. */
static void tasks_add(struct top_causes *c, struct followed *f, const struct stat_vcpu *v,
		      unsigned int vcpu, int tid, json_t *tasks)
{
	for (unsigned int i = 0; i < STAT_STEAL_SLOTS; i++) {
		const struct stat_steal now = v->steal[i];
		uint64_t ns = now.ns - f->before[vcpu][i].ns;

		f->before[vcpu][i] = now;
		if (!now.key || !ns)
			continue;
		cgroup_names_want(c->cgroups, now.key - 1);
		cgroup_names_read(c->cgroups);
		task_add(c, f, tasks, tid, now.key - 1, ns);
	}
}

static json_t *tasks_make(struct top_causes *c, struct followed *f, const struct top_vms *vms,
			  const struct top_watched *w, const json_t *threads)
{
	json_t *tasks = json_array(), *thread;
	size_t i;

	json_array_foreach (threads, i, thread) {
		json_int_t vcpu = json_integer_value(json_object_get(thread, "vcpu")),
			   tid = json_integer_value(json_object_get(thread, "tid"));

		if (c->cgroups && vcpu < (json_int_t)f->nr)
			tasks_add(c, f, stat_vcpu(vms->stat, w->at.first + (unsigned int)vcpu),
				  (unsigned int)vcpu, (int)tid, tasks);
	}
	return tasks;
}

/* ---- readings ---- */

static void vm_read(struct top_causes *c, const struct top_vms *vms, const struct top_watched *w,
		    const struct top_model *m, struct top_node *node)
{
	struct followed *f = followed_find(c, w->number);
	json_t *outside = f ? vm_waits_next(f->waits) : NULL;

	json_decref(node->causes);
	node->causes = NULL;
	if (!outside)
		return;
	json_object_set_new(outside, "tasks",
			    tasks_make(c, f, vms, w, json_object_get(outside, "threads")));
	json_object_set_new(outside, "vms", json_pack("[{s:s*}]", "exe", w->vm.exe));
	node->causes = top_causes_make(m, node, outside);
	json_decref(outside);
}

void top_causes_read(struct top_causes *c, const struct top_vms *vms, struct top_model *m)
{
	for (unsigned int i = 0; i < vms->nr; i++) {
		struct top_node *node =
			top_node_find(&m->host, TOP_VMS, (uint64_t)vms->vm[i].vm.pid);

		if (node)
			vm_read(c, vms, &vms->vm[i], m, node);
	}
}

int top_causes_open(const struct top_vms *vms, struct top_causes **ret)
{
	struct top_causes *c = calloc(1, sizeof(*c));
	char root[PATH_MAX];
	int err = 0;

	if (!c)
		return fail(-ENOMEM, "out of memory");
	*ret = c;
	if (stat_has_steals(vms->stat)) {
		c->cgroups = cgroup_names_new(cgroup_root_find(root, sizeof(root)) ? root : NULL);
		err = c->cgroups ? 0 : error_code();
	}
	return err ? err : top_causes_follow(c, vms);
}

void top_causes_close(struct top_causes *c)
{
	if (!c)
		return;
	for (unsigned int i = 0; i < c->nr; i++)
		followed_free(&c->vm[i]);
	free(c->vm);
	cgroup_names_free(c->cgroups);
	free(c);
}
