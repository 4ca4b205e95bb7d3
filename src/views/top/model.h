/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What `hostrace top` shows: a tree of VMs, vCPUs, exit reasons and causes, and the ports and virtqueues of each VM,
 * with the figures of the last interval (or since the start). It is made from readings of the kernel's histograms
 * (statmap.h), and of virtqueues:
 *
 *	top_model_begin()	at this time
 *	top_model_vm()		for each VM that runs: what is counted so far
 *	top_model_end()		VMs that were not read have ended, and are removed
 *
 * Pointers to nodes are valid until the next top_model_end() or top_model_forget(). The model knows neither a screen
 * nor the collector.
 */
#ifndef HOSTRACE_TOP_MODEL_H
#define HOSTRACE_TOP_MODEL_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/quantiles.h"
#include "statmap.h"

enum { TOP_HISTORY = 128, TOP_NAME = 64 };

enum top_kind {
	TOP_HOST,
	TOP_VM,
	TOP_VCPU,
	TOP_REASON,
	TOP_CAUSE,
	TOP_PORT,
	TOP_QUEUE,
	TOP_TASK,
};

/* A node's lists of nodes below it. */
enum top_list {
	TOP_VMS,     /* of the host */
	TOP_VCPUS,   /* of a VM */
	TOP_REASONS, /* of a VM (all vCPUs together) or a vCPU */
	TOP_PORTS,   /* of a VM */
	TOP_QUEUES,  /* of a VM */
	TOP_TASKS,   /* of a VM */
	TOP_CAUSES,  /* of a reason */
	TOP_LISTS,
};

struct top_values {
	uint64_t count;	     /* exits that ended; of ports: accesses; of queues: requests that ended */
	uint64_t user;	     /* of these, handled by the VMM; of queues: requests in flight now */
	uint64_t time_ns;    /* in exits, with that in one that has not ended yet; queues: with a request in flight */
	uint64_t p50_ns, p99_ns, max_ns;
};

struct top_node {
	enum top_kind kind;
	/* pid, vCPU, reason (or TOP_OTHER), enum stat_cause, key of struct stat_port or stat_task, number */
	uint64_t key;
	char name[TOP_NAME];
	struct top_values values;
	uint64_t available_ns; /* what time_ns is a part of: the time of all vCPUs concerned */
	float history[TOP_HISTORY]; /* newest first: exits (accesses) per second; of causes: percent of the time */
	unsigned int nr_history;

	struct {
		struct top_node **node;
		unsigned int nr, capacity;
	} list[TOP_LISTS];

	/* private */
	struct stat_cell *cell; /* a reason of a vCPU: as it was read before; of a VM: the sum of this reading */
	struct top_queue_reading *queue; /* as it was read before */
	struct stat_port *port; /* STAT_PORTS of them, a vCPU: as they were read before */
	struct top_tasks_read *tasks; /* a vCPU: as they were read before */
	struct top_values total; /* a task: since the start */
	uint64_t history_count; /* of this reading */
	uint64_t since_ns;	/* a VM: counted from then on */
	json_t *causes; /* a VM: causes.h; NULL: none are known */
	unsigned int nr_vcpus;	/* a VM */
	bool seen;
};

/* The keys of reasons and tasks that found no cell of their own, and of exits of no known task. */
enum { TOP_OTHER = -1, TOP_UNKNOWN = -2 };

struct top_model {
	struct top_node host;
	uint64_t now_ns, before_ns; /* of this reading and the one before; equal in the first */
	bool since_start; /* the next reading's figures are those since each VM was first seen */
	bool times_ports; /* the time of ports is known */
	bool has_causes, has_queues, has_tasks;
	const char *(*reason_name)(uint32_t reason);
	unsigned int nr_buckets; /* of a cell: STAT_BUCKETS, or 0 without latencies */
	struct top_scratch *scratch;
};

struct top_vm_reading {
	int pid;
	const char *name;
	uint64_t since_ns; /* counted from then on */
	unsigned int nr_vcpus, nr_cells;
	const struct stat_vcpu *(*vcpu)(void *arg, unsigned int index);
	void *arg;
};

/* A virtqueue, since it was seen first. */
struct top_queue_reading {
	int pid;
	uint64_t number; /* of this queue, among all */
	const char *name;
	uint64_t in_flight; /* now */
	uint64_t count, busy_ns; /* requests that ended; time with one in flight */
	struct quantiles *ns; /* their durations: since the last reading, or since the start */
};

/*
 * latencies: also percentiles and the largest, which take 35 KB for each reason of a vCPU; else they are 0. 0 or
 * -ENOMEM with the error message set.
 */
int top_model_open(struct top_model *m, const char *(*reason_name)(uint32_t reason),
		   bool latencies);
void top_model_close(struct top_model *m);

void top_model_begin(struct top_model *m, uint64_t now_ns);
int top_model_vm(struct top_model *m, const struct top_vm_reading *vm);
void top_model_end(struct top_model *m);

/* After top_model_end(); ignored if its VM was not read. */
int top_model_queue(struct top_model *m, const struct top_queue_reading *queue);

/* The VM's counters begin anew, or it ended and another one got its pid. */
void top_model_forget(struct top_model *m, int pid);

struct top_node *top_node_find(const struct top_node *parent, enum top_list list, uint64_t key);

/* Of the figures that are shown. */
uint64_t top_interval_ns(const struct top_model *m, const struct top_node *vm);

/* {"time_ns", "interval_ns", "vms": [...]}: a new reference. */
json_t *top_model_json(const struct top_model *m);

/* The node of this key, made if there is none; NULL: out of memory, error message set. */
struct top_node *top_node_get(struct top_node *parent, enum top_list list, enum top_kind kind,
			      uint64_t key);

/* Frees node i of the list and all below it. */
void top_node_remove(struct top_node *parent, enum top_list list, unsigned int i);
/* Adds history_count as a rate, of the last interval also if the figures are those since the start. */
void top_history_rate(const struct top_model *m, struct top_node *n);

/* The guest tasks of a VM, from the slots of its vCPUs (struct stat_task). */

/* Before the first vCPU is read. */
void top_tasks_clear(struct top_node *vm);

/* Adds those of a vCPU to the VM's. 0 or -ENOMEM with the error message set. */
int top_tasks_add(const struct top_model *m, struct top_node *vm, struct top_node *vcpu,
		  const struct stat_vcpu *v);

/* After the last one: tasks without a slot go into the row of all other tasks. */
int top_tasks_sum(const struct top_model *m, struct top_node *vm, uint64_t available_ns);

#endif
