/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef HOSTRACE_DEMO_H
#define HOSTRACE_DEMO_H

#include <jansson.h>
#include <stdbool.h>
#include <stdio.h>
#include <sys/types.h>

#include "vm/qmp.h"

/*
 * The demo's machinery: child processes with a time limit, the guest's disk image, and a QEMU that
 * runs the demo guest, stopped until demo_vm_go(). What the guest does is in
 * guestside/demo/workload.h.
 */

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

/*
 * The demo's proof: what the reports count against what the guest is known to have done.
 */

/*
 * Runs `hostrace REPORT... -f json -i trace` and returns what it printed (a new reference), or NULL
 * with the error message set. `report` is one word per argument, separated by spaces.
 */
json_t *report_json(const char *report, const char *trace);

/*
 * The leak report of what the guest saw: "leaks", or "leaks --until T" where QEMU stopped the VM before it ended.
 * Returns buf.
 */
const char *leaks_words(const char *trace, char *buf, size_t size);

struct demo_checks {
	json_t *rows; /* [{"what","expected","counted","ok"}] */
	bool wrong;   /* one of them is not ok */
	FILE *out;    /* each check is a line here */
};

/* One check: prints and keeps it. */
void check_add(struct demo_checks *c, const char *what, json_int_t expected, json_int_t counted);

/*
 * Compares ports, MMIO and virtqueues. `kvm`: there are KVM's events. 0, or -errno if a report
 * failed.
 */
int check_reports(struct demo_checks *c, const char *trace, bool kvm, unsigned int leaks);

#endif
