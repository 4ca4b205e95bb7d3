// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The buckets of all histograms of the exporter: the classic ones, which every scraper gets, and the ones of native
 * histograms, which one gets that reads protobuf.
 *
 * Native buckets end at powers of 2^(1/8) seconds: https://prometheus.io/docs/specs/native_histograms/, schema 3. No
 * such bound is a whole number of nanoseconds below 2 ms, so the kernel's buckets, which are at most 0.8 % wide, lie in
 * two of them now and then; they are counted where their middle is. So a value is counted in a bucket whose bounds it
 * exceeds by at most 0.4 %, and in the right one if it was measured to the nanosecond, as those of devices are.
 */
#include <errno.h>
#include <math.h>
#include <string.h>

#include "base/array.h"
#include "base/clock.h"
#include "base/error.h"
#include "exporter/vm.h"
#include "views/stat_rows.h"
#include "vm/proc.h"

enum { PER_OCTAVE = 1 << EXPORT_NATIVE_SCHEMA };

unsigned int export_native_of(uint64_t ns)
{
	static const double roots[PER_OCTAVE] = {
		/* 2^(i / 8) */
		1.0,
		1.0905077326652577,
		1.189207115002721,
		1.2968395546510096,
		1.4142135623730951,
		1.5422108254079407,
		1.681792830507429,
		1.8340080864093424,
	};
	int order, index, i = 0;
	double part = 2 * frexp((double)ns / NS_PER_S, &order); /* 1 to 2 */

	if (!ns)
		return 0;
	while (i < PER_OCTAVE && part > roots[i])
		i++;
	index = (order - 1) * PER_OCTAVE + i;
	index = index < EXPORT_NATIVE_LAST ? index : EXPORT_NATIVE_LAST;
	return (unsigned int)(index - EXPORT_NATIVE_FIRST) + 1;
}

/*
 * The K busiest keys of a table of counters, as series that Prometheus can take rates of. Which keys are shown changes
 * only when one that is not shown has twice the count of one that is. The count of a shown key is the table's own; what
 * keys counted while they were not shown is in `other`, which therefore never decreases.
 */

int top_k_init(struct top_k *t, unsigned int limit)
{
	*t = (struct top_k){.limit = limit, .shown = calloc(limit ? limit : 1, sizeof(*t->shown))};
	return t->shown ? 0 : fail(-ENOMEM, "out of memory");
}

void top_k_free(struct top_k *t)
{
	free(t->shown);
}

static int compare_keys(const void *a, const void *b)
{
	const struct top_k_key *x = a, *y = b;

	return (x->key > y->key) - (x->key < y->key);
}

/* The largest count first. */
static int compare_counts(const void *a, const void *b)
{
	const struct top_k_key *x = a, *y = b;

	return x->count != y->count ? (x->count < y->count) - (x->count > y->count)
				    : compare_keys(a, b);
}

unsigned int top_k_merge(struct top_k_key *keys, unsigned int nr)
{
	unsigned int left = 0;

	qsort(keys, nr, sizeof(*keys), compare_keys);
	for (unsigned int i = 0; i < nr; i++)
		if (left && keys[left - 1].key == keys[i].key)
			keys[left - 1].count += keys[i].count;
		else
			keys[left++] = keys[i];
	return left;
}

static struct top_k_key *shown_find(const struct top_k *t, uint64_t key)
{
	return array_find(t->shown, t->nr, i, t->shown[i].key == key);
}

/* The new counts of what is shown. Returns by how much they grew. */
static uint64_t shown_update(struct top_k *t, const struct top_k_key *keys, unsigned int nr)
{
	uint64_t grown = 0;

	for (unsigned int i = 0; i < nr; i++) {
		struct top_k_key *shown = shown_find(t, keys[i].key);

		if (shown && keys[i].count > shown->count) {
			grown += keys[i].count - shown->count;
			shown->count = keys[i].count;
		}
	}
	return grown;
}

/* While there is capacity, all are shown: from their first count, so that nothing of them is in `other`. */
static void capacity_fill(struct top_k *t, const struct top_k_key *keys, unsigned int nr)
{
	for (unsigned int i = 0; i < nr && t->nr < t->limit; i++)
		if (!shown_find(t, keys[i].key))
			t->shown[t->nr++] = (struct top_k_key){.key = keys[i].key};
}

/* Shows this key instead of one with less than half its count. False: there is none, nor for a key with fewer. */
static bool replace(struct top_k *t, const struct top_k_key *key)
{
	struct top_k_key *least = NULL;

	for (unsigned int i = 0; i < t->nr; i++)
		if (!least || t->shown[i].count < least->count)
			least = &t->shown[i];
	if (!least || key->count / 2 < least->count)
		return false;
	*least = *key;
	return true;
}

void top_k_update(struct top_k *t, struct top_k_key *keys, unsigned int nr, uint64_t rest)
{
	uint64_t total = rest, grown;

	qsort(keys, nr, sizeof(*keys), compare_counts);
	capacity_fill(t, keys, nr);
	grown = shown_update(t, keys, nr);
	for (unsigned int i = 0; i < nr; i++)
		total += keys[i].count;
	if (total > t->total + grown)
		t->other += total - t->total - grown;
	t->total = total;
	for (unsigned int i = 0; i < nr; i++)
		if (!shown_find(t, keys[i].key) && !replace(t, &keys[i]))
			break;
}

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
				  .vcpus_per_group = (unsigned int)limits->vcpus_per_group,
				  .lost = json_object()};
	snprintf(e->name, sizeof(e->name), "%s", vm->name);
	snprintf(e->uuid, sizeof(e->uuid), "%s", vm->uuid);
	labels_make(e, vm);
	if (!top_k_init(&e->ports, (unsigned int)limits->ports) &&
	    !top_k_init(&e->pages, (unsigned int)limits->pages) &&
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
	json_decref(e->lost);
	free(e->exits);
	free(e->vcpu);
}

void exported_vm_lost_add(struct exported_vm *e, const json_t *causes)
{
	const json_t *one;
	size_t i;

	json_array_foreach (causes, i, one) {
		const char *id = json_string_value(json_object_get(one, "id"));
		json_int_t ns = json_integer_value(json_object_get(one, "lost_ns"));

		ns += json_integer_value(json_object_get(e->lost, id));
		json_object_set_new(e->lost, id, json_integer(ns));
	}
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

	if (array_room_kept(e->exits, e->nr_exits, e->max_exits))
		return -ENOMEM;
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

		err = stat_rows_add(&rows, STAT_ALL_PARTS, (const struct stat_cell *)(v + 1),
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
	if (array_reserve(e->vcpu, from->nr_vcpus, e->max_vcpus))
		return -ENOMEM;
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

/* Defines a function that gathers the slots of one vCPU. Returns how many there are. */
#define GATHER(name, slot, slots, value)                                                           \
	static unsigned int name(const struct stat_vcpu *v, struct top_k_key *keys,                \
				 uint64_t *rest)                                                   \
	{                                                                                          \
		unsigned int nr = 0;                                                               \
		for (unsigned int i = 0; i < (slots); i++)                                         \
			if (v->slot[i].value)                                                      \
				keys[nr++] = (struct top_k_key){v->slot[i].key, v->slot[i].value}; \
		*rest += v->slot[slots].value;                                                     \
		return nr;                                                                         \
	}

GATHER(ports_gather, port, STAT_PORT_SLOTS, count)
GATHER(pages_gather, page, STAT_PAGE_SLOTS, count)
GATHER(steals_gather, steal, STAT_STEAL_SLOTS, ns)

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
