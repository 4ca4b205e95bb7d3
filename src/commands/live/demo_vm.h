/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The demo's machinery: child processes with a time limit, the guest's disk image, and a QEMU that
 * runs the demo guest, stopped until demo_vm_go(). What the guest does is in
 * guestside/demo/workload.h.
 */
#ifndef HOSTRACE_DEMO_VM_H
#define HOSTRACE_DEMO_VM_H

#include <stdbool.h>
#include <sys/types.h>

#include "vm/qmp.h"

/*
 * Waits for the child. Returns its exit status, 128 + signal, or -ETIMEDOUT (it still runs) with
 * the error message set.
 */
int process_wait(pid_t pid, unsigned int timeout_s);

struct demo_vm {
	const char *dir;    /* where disk.img, console.txt and qemu.log go */
	const char *qemu;   /* program */
	const char *accel;  /* "kvm" or "tcg" */
	unsigned int leaks; /* requests that the slow disk shall keep, 42 at most */
	pid_t pid;	    /* 0: not started */
	struct qmp *qmp;    /* QEMU's monitor; NULL: not connected */
};

/* Why KVM cannot be used here; NULL if it can. */
const char *kvm_missing(void);

/* Makes DIR/disk.img as the guest expects it. */
int demo_image_make(const char *dir);

/*
 * Sectors of DIR/disk.img that are not what the guest must have left there; -errno with the
 * error message set.
 */
int demo_image_check(const char *dir, unsigned int writes);

/* Starts QEMU with all vCPUs stopped. -ENOENT: no guest or no QEMU; the error message names the next step.
 */
int demo_vm_start(struct demo_vm *vm);

/* Lets the vCPUs run. */
int demo_vm_go(struct demo_vm *vm);

/* Waits for QEMU's end. 0 if the guest found all checks right, else -errno with the error message set.
 */
int demo_vm_wait(struct demo_vm *vm, unsigned int timeout_s);

/* Kills what still runs. */
void demo_vm_close(struct demo_vm *vm);

#endif
