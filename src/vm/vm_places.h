/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Where and how the threads of VMs may run, and how much of their memory is swapped out: /proc/PID/task/TID. */
#ifndef HOSTRACE_VM_PLACES_H
#define HOSTRACE_VM_PLACES_H

#include <jansson.h>

#include "vm/reread.h"
#include "vm/vm.h"

enum {
	VM_PLACES_MAX = 128 /* threads, each with two descriptors; of further ones nothing is known */
};

struct vm_place {
	pid_t pid, tid;
	struct reread status, stat;
};

struct vm_places {
	struct vm_place *place;
	unsigned int nr;
};

/* The main threads and vCPUs. stays_open: as for reread_open(). */
void vm_places_open(struct vm_places *p, const struct vm *vms, unsigned int nr, bool stays_open);
void vm_places_close(struct vm_places *p);

/*
 * [{"pid", "swapped": bytes of its memory that are swapped out, "threads": [{"tid", "cpus": "0-3,7" on which it may
 *   run, "nodes": "0" whose memory it may use, "policy": "other", "nice", "priority": of real time, or 0}]}]
 */
json_t *vm_places_json(const struct vm_places *p);

#endif
