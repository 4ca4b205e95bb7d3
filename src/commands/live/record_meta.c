// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Metadata of a recording: host, kernel, VMs, the probes and how they were attached, the
 * command, the options; at its end the losses, which thread ran which vCPU, and why it ended.
 */
#include <sys/utsname.h>

#include "base/array.h"
#include "commands/common/command.h"
#include "commands/common/vm_options.h"
#include "commands/live/record.h"
#include "vm/proc.h"

enum { NEIGHBOURS_MAX = 64, NEIGHBOUR_THREADS_MAX = 64 };

const char *const record_stop_words[] = {
	[GO_ON] = NULL,		[STOP_SIGNAL] = "signal",	  [STOP_DURATION] = "duration",
	[STOP_VM] = "VM ended", [STOP_COMMAND] = "command ended", [STOP_ERROR] = "error",
	[STOP_CONDITION] = "--stop-on",
	[STOP_READER] = "reader of standard output ended",
};

json_t *record_vms_describe(struct recording *r)
{
	json_t *all = json_array();
	struct vm_rows fit = {0};

	for (unsigned int i = 0; i < r->nr_vms; i++) {
		json_t *row = record_vm_counts(r, i) ? vm_json(&r->vms[i]) : NULL;

		if (!row)
			continue;
		vm_rows_fit(&fit, &r->vms[i], row);
		json_array_append_new(all, row);
	}
	r->vms_shortened = fit.shortened + fit.cut;
	return all;
}

static json_t *neighbour_describe(const struct vm *vm)
{
	pid_t tid[NEIGHBOUR_THREADS_MAX];
	unsigned int nr = proc_threads(vm->pid, tid, NEIGHBOUR_THREADS_MAX);
	json_t *tids = json_array();

	for (unsigned int i = 0; i < nr; i++)
		json_array_append_new(tids, json_integer(tid[i]));
	return json_pack("{s:i,s:s*,s:o}", "pid", (int)vm->pid, "name", vm->name, "tids", tids);
}

/* VMs that run beside those that are recorded, so that reports can name whose thread had a CPU. NULL: none. */
static json_t *neighbours_describe(const struct recording *r)
{
	struct vm_scope scope;
	struct vm *vms = NULL;
	unsigned int nr = 0;
	json_t *all;

	if (record_opt.all || vm_scope_given(&scope) || vm_list(&scope, &vms, &nr, NULL))
		return NULL;
	all = json_array();
	for (unsigned int i = 0; i < nr && json_array_size(all) < NEIGHBOURS_MAX; i++)
		if (!array_any(r->nr_vms, k, r->vms[k].pid == vms[i].pid))
			json_array_append_new(all, neighbour_describe(&vms[i]));
	vm_list_free(vms, nr);
	if (json_array_size(all))
		return all;
	json_decref(all);
	return NULL;
}

static json_t *options_describe(void)
{
	return json_pack("{s:s,s:s*,s:I,s:I,s:b}", "events",
			 record_opt.events ? record_opt.events : "default", "filter",
			 record_opt.filter, "duration_ns",
			 (json_int_t)record_opt.duration_ns, "ring_bytes",
			 (json_int_t)record_opt.ring_bytes, "zstd", record_opt.zstd);
}

static json_t *command_describe(char **argv)
{
	json_t *words = json_array();

	for (char **a = argv; a && *a; a++)
		json_array_append_new(words, json_string(*a));
	return words;
}

static json_t *caveats_make(void)
{
	return json_pack("[s]", "interrupts injected by kernel threads (vhost before Linux 6.4, "
				"irqfd workers) are not recorded");
}

/* What a process chose to be long must not keep the others from being recorded. */
static void set_shortened(const struct recording *r, json_t *meta)
{
	if (r->vms_shortened)
		json_object_set_new(meta, "vms_shortened", json_integer(r->vms_shortened));
}

json_t *record_meta_begin(struct recording *r)
{
	struct utsname un;
	json_t *neighbours;

	uname(&un);

	json_t *meta = json_pack(
		"{s:s,s:s,s:s,s:i,s:I,s:O,s:o,s:o,s:{s:i},s:o,s:I,s:o}", "hostrace",
		HOSTRACE_VERSION, "host", un.nodename, "kernel", un.release, "cpus",
		(int)sysconf(_SC_NPROCESSORS_ONLN), "tsc_khz",
		(json_int_t)collector_tsc_khz(r->collector), "vms", r->vms_json, "probes",
		collector_probes(r->collector), "command", command_describe(r->argv), "recorder",
		"pid", (int)getpid(), "options", options_describe(), "buffer_bytes",
		(json_int_t)collector_ring_bytes(r->collector), "caveats", caveats_make());

	neighbours = neighbours_describe(r);
	if (neighbours)
		json_object_set_new(meta, "neighbours", neighbours);
	set_shortened(r, meta);
	parts_meta(r, meta, false);
	return meta;
}

static struct vm *vm_of(const struct recording *r, pid_t pid)
{
	return array_find(r->vms, r->nr_vms, i, r->vms[i].pid == pid);
}

/* The VM's entry of this vCPU, which may have been plugged in since; NULL: out of memory. */
static struct vm_vcpu *vcpu_entry(struct vm *vm, unsigned int index)
{
	for (unsigned int v = 0; v < vm->nr_vcpus; v++)
		if (vm->vcpus[v].index == index)
			return &vm->vcpus[v];
	if (array_reserve(vm->vcpus, vm->nr_vcpus + 1, vm->max_vcpus))
		return NULL;
	vm->vcpus[vm->nr_vcpus] = (struct vm_vcpu){.index = index};
	return &vm->vcpus[vm->nr_vcpus++];
}

/*
 * Events show which thread runs which vCPU. /proc does not always, and has QEMU's numbers: by socket, where KVM's are
 * in the order in which the vCPUs were plugged in.
 */
static void vcpu_fill(struct vm *vm, unsigned int index, pid_t tid)
{
	unsigned int kept = 0;
	struct vm_vcpu *entry;

	for (unsigned int v = 0; v < vm->nr_vcpus; v++)
		if (vm->vcpus[v].tid != tid)
			vm->vcpus[kept++] = vm->vcpus[v];
	vm->nr_vcpus = kept;
	entry = vcpu_entry(vm, index);
	if (entry)
		entry->tid = tid;
}

static void vcpus_fill(struct recording *r)
{
	const struct collector_vcpu *v;

	for (unsigned int i = 0; (v = collector_vcpu(r->collector, i)); i++) {
		struct vm *vm = vm_of(r, v->pid);

		if (vm && v->index != RECORD_NO_VCPU)
			vcpu_fill(vm, v->index, v->tid);
	}
	json_decref(r->vms_json);
	r->vms_json = record_vms_describe(r);
}

json_t *record_meta_end(struct recording *r)
{
	vcpus_fill(r);

	json_t *locks = collector_locks(r->collector);
	json_t *meta = json_pack("{s:o,s:o,s:s*,s:I,s:O}", "lost", collector_lost(r->collector),
				 "vcpus", collector_vcpus(r->collector), "end",
				 record_stop_words[r->stop], "tsc_khz",
				 (json_int_t)collector_tsc_khz(r->collector), "vms", r->vms_json);

	if (r->follow.started) /* attached since the file was opened */
		json_object_set_new(meta, "probes", collector_probes(r->collector));
	if (json_array_size(locks))
		json_object_set(meta, "locks", locks);
	json_decref(locks);
	if (collector_host_ios_open(r->collector))
		json_object_set_new(meta, "in_flight",
				    json_pack("{s:I}", "host_io",
					      (json_int_t)collector_host_ios_open(r->collector)));
	if (r->launch.ended)
		json_object_set_new(meta, "command_status", json_integer(r->launch.status));
	set_shortened(r, meta);
	parts_meta(r, meta, true);
	return meta;
}
