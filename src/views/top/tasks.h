/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The guest tasks of a VM, from the slots of its vCPUs (struct stat_task). */
#ifndef HOSTRACE_TOP_TASKS_H
#define HOSTRACE_TOP_TASKS_H

#include "views/top/model.h"

/* Before the first vCPU is read. */
void top_tasks_clear(struct top_node *vm);

/* Adds those of a vCPU to the VM's. 0 or -ENOMEM with the error message set. */
int top_tasks_add(const struct top_model *m, struct top_node *vm, struct top_node *vcpu,
		  const struct stat_vcpu *v);

/* After the last one: tasks without a slot go into the row of all other tasks. */
int top_tasks_sum(const struct top_model *m, struct top_node *vm, uint64_t available_ns);

#endif
