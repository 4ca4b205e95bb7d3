/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A VM as the exporter shows it: a reading of the kernel's histograms (bpf/statmap.h) and of /proc, made compact. It
 * also keeps from reading to reading what rates need: which ports have series of their own.
 *
 *	exported_vm_init()	the VM appeared: its labels, from /proc
 *	exported_vm_read()	before each page
 *	exported_vm_deinit()
 */
#ifndef HOSTRACE_EXPORTER_VM_H
#define HOSTRACE_EXPORTER_VM_H

#include <jansson.h>

#include "exporter/text.h"
#include "statmap.h"
#include "vm/vm.h"

struct top_k_key {
	uint64_t key, count;
};

struct top_k {
	struct top_k_key *shown; /* as of the last reading */
	unsigned int nr, limit;
	uint64_t other;
	uint64_t total; /* of all keys, in the last reading */
};

/* 0 or -ENOMEM with the error message set. */
int top_k_init(struct top_k *t, unsigned int limit);
void top_k_free(struct top_k *t);

/*
 * A reading of the table: each key once, with its count since the beginning; `rest`: the count of all keys that are not
 * in the table. Reorders the keys.
 */
void top_k_update(struct top_k *t, struct top_k_key *keys, unsigned int nr, uint64_t rest);

/* Adds up equal keys. Reorders them, and returns how many are left. */
unsigned int top_k_merge(struct top_k_key *keys, unsigned int nr);

/* Upper bounds of buckets: 2^10 ns (1 us) to 2^30 ns (1.07 s); the last bucket has none. */
enum { EXPORT_BOUND_FIRST = 10, EXPORT_BOUND_LAST = 30 };
enum { EXPORT_BUCKETS = EXPORT_BOUND_LAST - EXPORT_BOUND_FIRST + 2 };

/* The bucket of values whose greatest one is below, or equal to, 2^order. */
static inline unsigned int export_bucket_of(unsigned int order)
{
	if (order <= EXPORT_BOUND_FIRST)
		return 0;
	return order > EXPORT_BOUND_LAST ? EXPORT_BUCKETS - 1 : order - EXPORT_BOUND_FIRST;
}

/* Number 0 is the bucket of zero; then those with the indices FIRST (1 ns) to LAST (18 minutes, and all above). */
enum { EXPORT_NATIVE_SCHEMA = 3, EXPORT_NATIVE_FIRST = -239, EXPORT_NATIVE_LAST = 81 };
enum { EXPORT_NATIVES = EXPORT_NATIVE_LAST - EXPORT_NATIVE_FIRST + 2 };

/* The number of the native bucket. */
unsigned int export_native_of(uint64_t ns);

/* What a VM's cgroup and libvirt's name of it say of Kubernetes; "": it is not there, or the host does not know. */
struct pod_labels {
	char uid[64];	    /* of the pod */
	char namespace[64]; /* of a VM of KubeVirt, whose domain is NAMESPACE_NAME */
};

void pod_labels_find(const char *cgroup, const char *domain, struct pod_labels *ret);

/* What bounds the number of series. */
struct export_limits {
	uint64_t ports, pages;	  /* of a VM, with series of their own */
	uint64_t devices;	  /* the same */
	uint64_t cgroups;	  /* the same */
	uint64_t vcpus_per_group; /* whose exits share a histogram */
	uint64_t series;	  /* of all VMs */
};

/* Exits of one reason, of one group of vCPUs. */
struct exported_exits {
	unsigned int group;
	bool other; /* reasons that found no cell of their own */
	uint32_t reason;
	uint64_t bucket[EXPORT_BUCKETS], native[EXPORT_NATIVES], total_ns;
};

struct exported_vcpu {
	uint64_t exits, userspace;
	uint64_t cause_ns[STAT_CAUSES];
	uint64_t open_since_ns; /* the exit that is open; 0: none */
	uint32_t open_reason;
	bool has_sched;
	uint64_t run_ns, ready_ns; /* of the thread; /proc/PID/task/TID/schedstat */
};

/* Where a VM's counters are. */
struct exported_counters {
	unsigned int nr_vcpus, nr_cells;
	const struct stat_vcpu *(*vcpu)(void *arg, unsigned int index);
	void *arg;
};

struct exported_vm {
	pid_t pid;
	char name[METRIC_VALUE_MAX], uuid[METRIC_VALUE_MAX]; /* longer ones are cut */
	uint64_t number; /* the caller's: what begins anew has another one */
	uint64_t since_unix_ns; /* exported_vm_init() */
	struct metric_labels labels; /* those of all series: the VM's name and pid */
	struct metric_labels info;   /* those of hostrace_vm_info */
	struct exported_exits *exits;
	unsigned int nr_exits, max_exits;
	struct exported_vcpu *vcpu;
	unsigned int nr_vcpus, max_vcpus, vcpus_per_group;
	struct top_k ports, pages; /* keys are those of struct stat_port, struct stat_page */
	struct top_k steals; /* ns by cgroup; keys are those of struct stat_steal */
	json_t *lost; /* {cause: ns}: exported_vm_lost_add() */
	bool devices_watched; /* its requests are among the devices of struct export_state */
	bool downtime_watched; /* the same of its stops */
	bool left_out;	    /* its series would be more than the limit */
};

/* -ENOMEM with the error message set; then nothing is left to free. */
int exported_vm_init(struct exported_vm *e, const struct vm *vm,
		     const struct export_limits *limits);
void exported_vm_deinit(struct exported_vm *e);

/* Adds those of an interval, of top_causes_make(); null: none are known. */
void exported_vm_lost_add(struct exported_vm *e, const json_t *causes);

/* 0 or -ENOMEM with the error message set. */
int exported_vm_read(struct exported_vm *e, const struct vm *vm,
		     const struct exported_counters *from);

#endif
