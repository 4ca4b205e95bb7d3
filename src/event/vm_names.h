/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What reports call the VM of an event: its name by the metadata of the inputs ("vms", doc/format.md). VMs that ran on
 * the host and are not recorded ("neighbours") are known by their threads alone.
 */
#ifndef HOSTRACE_VM_NAMES_H
#define HOSTRACE_VM_NAMES_H

#include <jansson.h>

#include "base/cleanup.h"
#include "event/event.h"

enum {
	VM_NAMES_MAX = 4096, /* further VMs are shown by their pid */
	VM_NAME_BYTES = 256, /* of a name, with its NUL */
	VM_THREADS_MAX = 1 << 16, /* further threads are of no known VM */
};

struct vm_names;

/* NULL: out of memory. */
struct vm_names *vm_names_new(void);
void vm_names_free(struct vm_names *names);
DEFINE_CLEANUP(vm_names, struct vm_names *, vm_names_free);

/* Learns vms[] and neighbours[] of an input's metadata. A pid that is known keeps its name, a thread its VM. */
void vm_names_meta(struct vm_names *names, const json_t *meta);

/* How many VMs the metadata lists; 0: it does not say. */
unsigned int vm_names_nr(const struct vm_names *names);

/* Is this the pid of a VM that the metadata lists? */
bool vm_is_known(const struct vm_names *names, uint32_t pid);

/* How many columns the longest name takes. */
int vm_names_width(const struct vm_names *names);

/*
 * The VM's name; "NAME (PID)" if another VM has the same name, "pid PID" if it has none, "-" for pid 0 (unknown).
 * `names` may be NULL. The text is sanitized. Returns buf.
 */
const char *vm_name(const struct vm_names *names, uint32_t pid, char *buf, size_t size);

/*
 * The name of the VM, another one than that of the process `pid` (0: of any that is recorded), of which this thread is;
 * NULL: of none, as far as is known (of recorded VMs, vCPUs' threads are), or it has no name. The text is vm_name()'s;
 * it is the same pointer for the same VM, until vm_names_meta() or vm_names_free().
 */
const char *vm_of_other(const struct vm_names *names, uint32_t tid, uint32_t pid);

#endif
