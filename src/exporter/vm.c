// SPDX-License-Identifier: GPL-2.0-or-later
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/error.h"
#include "exporter/vm.h"
#include "views/stat_rows.h"
#include "vm/proc.h"

/* ---- labels ---- */

/* ".../kubepods.../...pod0a1b2c3d_...", with either of the cgroup drivers; "": it is not a pod's. */
static void pod_uid_find(const char *cgroup, char *ret, size_t size)
{
	static const char digits[] = "0123456789abcdef_-";
	const char *at = strstr(cgroup, "kubepods");

	*ret = '\0';
	while (at && (at = strstr(at, "pod"))) {
		size_t len = strspn(at += 3, digits);

		if (len >= 32 && len < size)
			snprintf(ret, size, "%.*s", (int)len, at);
	}
	for (; *ret; ret++)
		if (*ret == '_')
			*ret = '-';
}

/* Neither a namespace nor a VM of Kubernetes has a '_' in its name. */
static void namespace_find(const char *domain, char *ret, size_t size)
{
	size_t len = strcspn(domain, "_");

	*ret = '\0';
	if (len && len < size && domain[len] && domain[len + 1] && !strchr(domain + len + 1, '_'))
		snprintf(ret, size, "%.*s", (int)len, domain);
}

void pod_labels_find(const char *cgroup, const char *domain, struct pod_labels *ret)
{
	pod_uid_find(cgroup, ret->uid, sizeof(ret->uid));
	namespace_find(*ret->uid ? domain : "", ret->namespace, sizeof(ret->namespace));
}

static bool is_libvirts(const struct vm *vm, const char *cgroup)
{
	return strstr(cgroup, "machine-qemu") || strstr(cgroup, "libvirt") ||
	       strstr(vm->cmdline, "/libvirt/");
}

static void labels_make(struct exported_vm *e, const struct vm *vm)
{
	struct pod_labels pod;
	const char *domain;
	char cgroup[1024];

	proc_cgroup(vm->pid, cgroup, sizeof(cgroup));
	domain = is_libvirts(vm, cgroup) ? vm->name : "";
	pod_labels_find(cgroup, domain, &pod);
	metric_label(&e->labels, "vm", vm->name);
	metric_label_number(&e->labels, "pid", (uint64_t)vm->pid);
	e->info = e->labels;
	metric_label(&e->info, "uuid", vm->uuid);
	metric_label(&e->info, "user", vm->user ? vm->user : "");
	metric_label(&e->info, "libvirt_domain", domain);
	metric_label(&e->info, "cgroup", cgroup);
	metric_label(&e->info, "kubernetes_pod_uid", pod.uid);
	metric_label(&e->info, "kubernetes_namespace", pod.namespace);
	metric_label(&e->info, "machine", vm->machine);
	metric_label(&e->info, "accelerator", vm->accel);
	metric_label(&e->info, "version", vm->version);
}

int exported_vm_init(struct exported_vm *e, const struct vm *vm, const struct export_limits *limits)
{
	*e = (struct exported_vm){.pid = vm->pid,
				  .since_unix_ns = clock_read_ns(CLOCK_REALTIME),
				  .vcpus_per_group = (unsigned int)limits->vcpus_per_group};
	snprintf(e->name, sizeof(e->name), "%s", vm->name);
	snprintf(e->uuid, sizeof(e->uuid), "%s", vm->uuid);
	labels_make(e, vm);
	if (top_k_init(&e->ports, (unsigned int)limits->ports))
		return -ENOMEM;
	if (!top_k_init(&e->pages, (unsigned int)limits->pages) &&
	    !top_k_init(&e->steals, (unsigned int)limits->cgroups))
		return 0;
	exported_vm_deinit(e);
	return -ENOMEM;
}

void exported_vm_deinit(struct exported_vm *e)
{
	top_k_free(&e->ports);
	top_k_free(&e->pages);
	top_k_free(&e->steals);
	free(e->exits);
	free(e->vcpu);
}

/* ---- exits ---- */

/* The bucket of the exporter that a bucket of the kernel's is a part of. */
static unsigned int bucket_coarse(unsigned int fine)
{
	unsigned int order = 0; /* 2^order is the first power of two above all its values */

	if (fine >= 2 * STAT_SUB)
		order = fine / STAT_SUB + STAT_SUB_BITS;
	return export_bucket_of(order);
}

static int exits_add(struct exported_vm *e, unsigned int group, const struct stat_row *row)
{
	struct exported_exits *to;
	void *more = reallocarray(e->exits, e->nr_exits + 1, sizeof(*e->exits));

	if (!more)
		return fail(-ENOMEM, "out of memory");
	e->exits = more;
	to = &e->exits[e->nr_exits++];
	*to = (struct exported_exits){.group = group,
				      .other = row->other,
				      .reason = row->sum.reason,
				      .total_ns = row->sum.total_ns};
	for (unsigned int i = 0; i < STAT_BUCKETS; i++) {
		uint64_t count = row->sum.bucket[i];

		if (!count)
			continue;
		to->bucket[bucket_coarse(i)] += count;
		to->native[export_native_of(stat_bucket_middle(i))] += count;
	}
	return 0;
}

static int group_read(struct exported_vm *e, unsigned int group,
		      const struct exported_counters *from)
{
	unsigned int first = group * e->vcpus_per_group, end = first + e->vcpus_per_group;
	struct stat_rows rows = {0};
	int err = 0;

	for (unsigned int i = first; i < end && i < from->nr_vcpus && !err; i++) {
		const struct stat_vcpu *v = from->vcpu(from->arg, i);

		err = stat_rows_add(&rows, STAT_ALL_VCPUS, (const struct stat_cell *)(v + 1),
				    from->nr_cells);
	}
	for (unsigned int i = 0; i < rows.nr && !err; i++)
		if (rows.row[i].sum.count)
			err = exits_add(e, group, &rows.row[i]);
	stat_rows_free(&rows);
	return err;
}

static int exits_read(struct exported_vm *e, const struct exported_counters *from)
{
	int err = 0;

	e->nr_exits = 0;
	for (unsigned int g = 0; g * e->vcpus_per_group < from->nr_vcpus && !err; g++)
		err = group_read(e, g, from);
	return err;
}

/* ---- vCPUs ---- */

static void sched_read(struct exported_vcpu *to, pid_t pid, pid_t tid)
{
	to->has_sched = tid && proc_thread_sched(pid, tid, &to->run_ns, &to->ready_ns);
}

static void vcpu_read(struct exported_vcpu *to, const struct stat_vcpu *v, unsigned int nr_cells)
{
	const struct stat_cell *cell = (const struct stat_cell *)(v + 1);

	for (unsigned int i = 0; i < nr_cells; i++) {
		to->exits += cell[i].count;
		to->userspace += cell[i].userspace;
		for (unsigned int c = 0; c < STAT_CAUSES; c++)
			to->cause_ns[c] += cell[i].cause_ns[c];
	}
	to->open_reason = v->reason;
	to->open_since_ns = v->open ? v->left_ns : 0;
}

static int vcpus_read(struct exported_vm *e, const struct vm *vm,
		      const struct exported_counters *from)
{
	void *more = reallocarray(e->vcpu, from->nr_vcpus ? from->nr_vcpus : 1, sizeof(*e->vcpu));

	if (!more)
		return fail(-ENOMEM, "out of memory");
	e->vcpu = more;
	e->nr_vcpus = from->nr_vcpus;
	for (unsigned int i = 0; i < from->nr_vcpus; i++) {
		const struct stat_vcpu *v = from->vcpu(from->arg, i);
		pid_t tid = (pid_t)v->tid;

		if (!tid && i < vm->nr_vcpus)
			tid = vm->vcpus[i].tid;
		e->vcpu[i] = (struct exported_vcpu){0};
		vcpu_read(&e->vcpu[i], v, from->nr_cells);
		sched_read(&e->vcpu[i], vm->pid, tid);
	}
	return 0;
}

/* ---- ports, pages and cgroups ---- */

/* Of one vCPU. Returns how many there are. */
static unsigned int ports_gather(const struct stat_vcpu *v, struct top_k_key *keys, uint64_t *rest)
{
	unsigned int nr = 0;

	for (unsigned int i = 0; i < STAT_PORT_SLOTS; i++)
		if (v->port[i].count)
			keys[nr++] = (struct top_k_key){v->port[i].key, v->port[i].count};
	*rest += v->port[STAT_PORT_SLOTS].count;
	return nr;
}

static unsigned int pages_gather(const struct stat_vcpu *v, struct top_k_key *keys, uint64_t *rest)
{
	unsigned int nr = 0;

	for (unsigned int i = 0; i < STAT_PAGE_SLOTS; i++)
		if (v->page[i].count)
			keys[nr++] = (struct top_k_key){v->page[i].key, v->page[i].count};
	*rest += v->page[STAT_PAGE_SLOTS].count;
	return nr;
}

static unsigned int steals_gather(const struct stat_vcpu *v, struct top_k_key *keys, uint64_t *rest)
{
	unsigned int nr = 0;

	for (unsigned int i = 0; i < STAT_STEAL_SLOTS; i++)
		if (v->steal[i].ns)
			keys[nr++] = (struct top_k_key){v->steal[i].key, v->steal[i].ns};
	*rest += v->steal[STAT_STEAL_SLOTS].ns;
	return nr;
}

/* `slots`: of a vCPU */
static int places_read(struct top_k *to, const struct exported_counters *from, size_t slots,
		       unsigned int (*gather)(const struct stat_vcpu *v, struct top_k_key *keys,
					      uint64_t *rest))
{
	struct top_k_key *keys = calloc(from->nr_vcpus * slots + 1, sizeof(*keys));
	uint64_t rest = 0;
	unsigned int nr = 0;

	if (!keys)
		return fail(-ENOMEM, "out of memory");
	for (unsigned int i = 0; i < from->nr_vcpus; i++)
		nr += gather(from->vcpu(from->arg, i), keys + nr, &rest);
	top_k_update(to, keys, top_k_merge(keys, nr), rest);
	free(keys);
	return 0;
}

int exported_vm_read(struct exported_vm *e, const struct vm *vm,
		     const struct exported_counters *from)
{
	int err = exits_read(e, from);

	if (!err) /* before the time that vCPUs waited, of which it is a part */
		err = places_read(&e->steals, from, STAT_STEAL_SLOTS, steals_gather);
	if (!err)
		err = vcpus_read(e, vm, from);
	if (!err)
		err = places_read(&e->ports, from, STAT_PORT_SLOTS, ports_gather);
	if (!err)
		err = places_read(&e->pages, from, STAT_PAGE_SLOTS, pages_gather);
	return err;
}
