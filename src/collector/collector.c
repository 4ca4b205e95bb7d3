// SPDX-License-Identifier: GPL-2.0-or-later
/* Opening and closing a collector, and its properties. */
#include <errno.h>
#include <sys/stat.h>

#include "base/array.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/limits.h"
#include "collector/internal.h"

static int targets_make(struct collector *c, const struct vm *vms, unsigned int nr)
{
	if (!nr || nr > COLLECTOR_VMS_MAX)
		return fail(-E2BIG, "cannot trace %u VMs at once, only 1 to %d", nr,
			    COLLECTOR_VMS_MAX);
	c->max_targets = nr + (c->follow ? VMS_STARTED_MAX : 0);
	c->targets = calloc(c->max_targets, sizeof(*c->targets));
	if (!c->targets)
		return fail(-ENOMEM, "out of memory");
	for (unsigned int i = 0; i < nr; i++) {
		struct target *t = &c->targets[c->nr_targets++];
		int err;

		t->pid = vms[i].pid;
		t->has_kvm = vms[i].has_kvm;
		t->follow = c->follow ? FOLLOW_QEMU : FOLLOW_NONE;
		t->exe_open = strdup(vms[i].exe_open ? vms[i].exe_open : "");
		err = plan_make(t->exe_open && *t->exe_open ? t->exe_open : NULL, &t->plan);
		if (err == -ENOENT && (nr > 1 || c->whichever)) /* it has just ended */
			err = plan_make(NULL, &t->plan);
		if (err)
			return err;
		if (c->exit_reasons)
			plan_exit_reasons(&t->plan);
		if (c->follow && !t->plan.is_qemu)
			t->follow = FOLLOW_WRAPPER;
	}
	return 0;
}

/* BPF knows processes by the pids of the first namespace. */
#define PID_NAMESPACE_INIT 0xeffffffcu /* PROC_PID_INIT_INO, include/linux/proc_ns.h */

enum { FILES_MIN = 96 }; /* some 25 descriptors per VM, and those of the programs and maps */
enum { MEMORY_MIN_MIB = 24 }; /* for libbpf */

int collector_memory_check(void)
{
	return limits_memory_check(MEMORY_MIN_MIB);
}

/* What no capability can help with. */
int collector_kernel_check(void)
{
	struct stat st;

	if (access("/sys/kernel/btf/vmlinux", R_OK))
		return fail(-ENOTSUP,
			    "the kernel has no type information (/sys/kernel/btf/vmlinux): build "
			    "it with CONFIG_DEBUG_INFO_BTF=y");
	if (!stat("/proc/self/ns/pid", &st) && st.st_ino != PID_NAMESPACE_INIT)
		return fail(-ENOTSUP, "this process is in its own PID namespace; run hostrace on "
				      "the host, or in a container with --pid=host");
	if (clock_own()->err)
		return fail(-ENOTSUP,
			    "this process is in a time namespace whose offset is unknown%s",
			    clock_own()->err == -ESTALE
				    ? ": its children are in another one; try: unshare --fork"
				    : " (/proc/self/timens_offsets)");
	int err = limits_files_raise(FILES_MIN);

	return err ? err : collector_memory_check();
}

int collector_open(const struct vm *vms, unsigned int nr_vms, const struct collector_options *opt,
		   struct collector **ret)
{
	struct rec_clock_pair pair;
	struct collector *c;
	int err = privileges_check();

	if (!err)
		err = collector_kernel_check();
	if (err)
		return err;
	c = calloc(1, sizeof(*c));
	if (!c)
		return fail(-ENOMEM, "out of memory");
	c->cost_fd = -1;
	c->follow = opt->follow;
	c->whichever = opt->whichever;
	c->guest_tasks = opt->guest_tasks;
	c->exit_reasons = opt->exit_reasons;
	c->any = opt->any && opt->any->nr ? opt->any : NULL;
	memcpy(c->wants, opt->wants, sizeof(c->wants));
	collector_calibrate(c, &pair);
	c->open_ns = pair.hdr.time;
	err = c->follow ? decoder_start(&c->decoder) : 0;
	if (!err)
		err = targets_make(c, vms, nr_vms);
	if (!err)
		err = collector_attach(c, opt);
	if (err) {
		collector_close(c);
		return err;
	}
	collector_calibrate(c, &pair); /* by now some 0.1 s later */
	c->start_ns = monotonic_ns();
	*ret = c;
	return 0;
}

static const char *how_name(const struct probe_result *r)
{
	static const char *const names[] = {
		[PROBE_ABSENT] = "absent",
		[PROBE_TRACEPOINT] = "tracepoint",
		[PROBE_USDT] = "usdt",
		[PROBE_FUNCTION] = "function",
	};

	return r->attached ? names[r->plan->how] : "absent";
}

/* The command, once it has started another process that is a VM. */
static bool starts_vms_only(const struct collector *c, pid_t pid)
{
	return pid && pid == c->targets[0].pid && c->targets[0].follow == FOLLOW_WRAPPER &&
	       c->nr_targets > 1;
}

json_t *collector_probes(const struct collector *c)
{
	json_t *all = json_array();

	for (unsigned int i = 0; i < c->nr_results; i++) {
		const struct probe_result *r = &c->results[i];

		if (starts_vms_only(c, r->pid))
			continue;

		json_t *one = json_pack("{s:s,s:s,s:s,s:s}", "event", r->event, "how", how_name(r),
					"where", r->where, "reason", r->reason);

		if (r->pid)
			json_object_set_new(one, "pid", json_integer(r->pid));
		json_array_append_new(all, one);
	}
	return all;
}

bool collector_exit_reasons(const struct collector *c)
{
	return array_any(c->nr_results, i,
			 c->results[i].program &&
				 !strcmp(c->results[i].program, "tp_kvm_exit_vmx"));
}

struct guest_kernel *collector_guest_kernel(const struct collector *c, unsigned int i)
{
	return &c->kernels[i];
}

void collector_stop(struct collector *c)
{
	c->stop_ns = monotonic_ns();
}

uint64_t collector_stop_ns(const struct collector *c)
{
	return c->stop_ns;
}

void collector_close(struct collector *c)
{
	if (!c)
		return;
	helper_stop(&c->decoder);
	collector_follow_close(c);
	collector_detach(c);
	collector_heap_close(c);
	collector_unload(c);
	if (c->cost_fd >= 0)
		close(c->cost_fd);
	for (unsigned int i = 0; i < c->nr_targets; i++) {
		plan_free(&c->targets[i].plan);
		plan_free(&c->targets[i].plan_before);
		free(c->targets[i].exe_open);
		unwinder_close(c->targets[i].unwinder);
	}
	free(c->targets);
	free(c->results);
	collector_any_close(c);
	free(c->programs);
	free(c);
}
