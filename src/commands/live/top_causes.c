// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * What the rows of VMs do not have, for the causes of `top` and `exporter` (views/top/causes.h): the time for which
 * vCPUs were ready without a CPU and what had it meanwhile, that for which they stood still, and what limits the VM.
 */
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "base/array.h"
#include "base/clock.h"
#include "base/error.h"
#include "commands/live/top.h"
#include "event/event.h"
#include "output/table.h"
#include "views/top/causes.h"
#include "vm/waits.h"

struct followed {
	uint64_t number; /* struct top_watched */
	pid_t pid;
	struct vm_waits *waits;
	unsigned int nr; /* vCPUs */
	struct stat_preemptor (*before)[STAT_PREEMPTOR_SLOTS];
	struct still {
		uint64_t ns[STAT_STILLS];
	} * still; /* of each vCPU, at the last reading */
};

struct top_causes {
	struct followed *vm;
	unsigned int nr;
};

/* ---- VMs ---- */

static void followed_free(struct followed *f)
{
	vm_waits_close(f->waits);
	free(f->before);
	free(f->still);
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
			       .before = calloc(w->at.nr + 1, sizeof(*f->before)),
			       .still = calloc(w->at.nr + 1, sizeof(*f->still))};
	if (!f->waits || !f->before || !f->still) {
		followed_free(f);
		return fail(-ENOMEM, "out of memory");
	}
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

/* The VM, another one than f, whose process that is. */
static const struct top_watched *other_vm(const struct top_vms *vms, const struct followed *f,
					  uint32_t pid)
{
	return array_find(vms->vm, vms->nr, i,
			  vms->vm[i].vm.pid == (pid_t)pid && pid != (uint32_t)f->pid);
}

/* "gcc (4711)"; of another VM: "CPU 0/KVM (4712) of db". */
static json_t *task_name(const struct stat_preemptor *p, const struct top_watched *vm)
{
	char text[sizeof(p->name.comm) + 300];

	if (!p->tid)
		return json_string("idle");
	snprintf(text, sizeof(text), "%.*s (%u)%s%.256s", (int)sizeof(p->name.comm),
		 (const char *)p->name.comm, p->tid, vm && vm->vm.name ? " of " : "",
		 vm && vm->vm.name ? vm->vm.name : "");
	text_sanitize(text);
	return json_string(text);
}

/* "ran": whose thread it is, if that is known without its name; none: the findings look at the name. */
static json_t *task_make(const struct top_vms *vms, const struct followed *f, int tid,
			 const struct stat_preemptor *p, uint64_t ns)
{
	const struct top_watched *vm = other_vm(vms, f, p->name.pid);
	const char *ran = p->name.pid == (uint32_t)f->pid ? "own" : vm ? "other-vm" : NULL;

	return json_pack("{s:i,s:o,s:I,s:I,s:s*,s:I}", "tid", tid, "task", task_name(p, vm),
			 "task_tid", (json_int_t)p->tid, "task_pid", (json_int_t)p->name.pid, "ran",
			 ran, "time_ns", (json_int_t)ns);
}

/* False: it is not in use, or being given to another task. */
static bool slot_read(const struct stat_preemptor *slot, struct stat_preemptor *ret)
{
	uint32_t begun = __atomic_load_n(&slot->begun, __ATOMIC_ACQUIRE);

	memcpy(ret, slot, sizeof(*ret));
	__atomic_thread_fence(__ATOMIC_ACQUIRE);
	return ret->last_ns && !(begun & 1) &&
	       __atomic_load_n(&slot->begun, __ATOMIC_RELAXED) == begun;
}

/* Of one vCPU, since the last reading. */
static void tasks_add(const struct top_vms *vms, struct followed *f, const struct stat_vcpu *v,
		      unsigned int vcpu, int tid, json_t *tasks)
{
	for (unsigned int i = 0; i < STAT_PREEMPTOR_SLOTS; i++) {
		struct stat_preemptor *was = &f->before[vcpu][i], now;
		uint64_t ns;

		if (!slot_read(&v->preemptor[i], &now))
			continue;
		ns = now.ns - (now.begun == was->begun ? was->ns : 0);
		*was = now;
		if (ns)
			json_array_append_new(tasks, task_make(vms, f, tid, &now, ns));
	}
}

/* ---- what stood still ---- */

/* Up to now; *ret_now: what it stands still in. */
static void still_read(const struct stat_vcpu *v, struct still *ret, enum stat_still *ret_now)
{
	uint64_t now_ns = monotonic_ns(), since_ns;

	*ret_now = __atomic_load_n(&v->still, __ATOMIC_ACQUIRE);
	memcpy(ret->ns, v->still_ns, sizeof(ret->ns));
	since_ns = v->still_since_ns;
	if (*ret_now > STAT_MOVES && *ret_now < STAT_STILLS && now_ns > since_ns)
		ret->ns[*ret_now] += now_ns - since_ns;
}

/* Since the last reading. One that ended during the last one is not counted twice. */
static uint64_t still_next(struct still *before, const struct still *now, enum stat_still which)
{
	uint64_t ns = now->ns[which] > before->ns[which] ? now->ns[which] - before->ns[which] : 0;

	before->ns[which] += ns;
	return ns;
}

static void still_set(json_t *thread, const char *key, uint64_t ns)
{
	if (ns)
		json_object_set_new(thread, key, json_integer((json_int_t)ns));
}

/* What the kernel has seen of it; else what was so from the beginning (vm/waits.h). */
static void still_add(struct followed *f, const struct stat_vcpu *v, unsigned int vcpu,
		      json_t *thread)
{
	enum stat_still is;
	struct still now;

	still_read(v, &now, &is);
	if (is != STAT_MOVES) {
		json_object_del(thread, "stopped_ns");
		json_object_del(thread, "paused_ns");
	}
	still_set(thread, "stopped_ns", still_next(&f->still[vcpu], &now, STAT_STOPPED));
	still_set(thread, "paused_ns", still_next(&f->still[vcpu], &now, STAT_PAUSED));
}

/* ---- readings ---- */

/* Adds to each vCPU's row what its counters have; returns what had the CPU. */
static json_t *vcpus_read(struct followed *f, const struct top_vms *vms,
			  const struct top_watched *w, const json_t *threads)
{
	json_t *tasks = json_array(), *thread;
	size_t i;

	json_array_foreach (threads, i, thread) {
		json_int_t vcpu = json_integer_value(json_object_get(thread, "vcpu")),
			   tid = json_integer_value(json_object_get(thread, "tid"));
		const struct stat_vcpu *v;

		if (vcpu >= (json_int_t)f->nr)
			continue;
		v = stat_vcpu(vms->stat, w->at.first + (unsigned int)vcpu);
		tasks_add(vms, f, v, (unsigned int)vcpu, (int)tid, tasks);
		still_add(f, v, (unsigned int)vcpu, thread);
	}
	return tasks;
}

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
			    vcpus_read(f, vms, w, json_object_get(outside, "threads")));
	json_object_set_new(outside, "vms",
			    json_pack("[{s:s*,s:i}]", "exe", w->vm.exe, "pid", (int)w->vm.pid));
	json_object_set_new(outside, "recorder", json_pack("{s:i}", "pid", (int)getpid()));
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

	if (!c)
		return fail(-ENOMEM, "out of memory");
	*ret = c;
	return top_causes_follow(c, vms);
}

void top_causes_close(struct top_causes *c)
{
	if (!c)
		return;
	for (unsigned int i = 0; i < c->nr; i++)
		followed_free(&c->vm[i]);
	free(c->vm);
	free(c);
}
