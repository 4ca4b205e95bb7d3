/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What doctor finds out, and who draws it. */
#ifndef HOSTRACE_COMMANDS_DOCTOR_H
#define HOSTRACE_COMMANDS_DOCTOR_H

#include <stdbool.h>

#include "collector/plan.h"
#include "commands/common/output.h"
#include "pairing/analyzer.h"
#include "vm/vm.h"

enum check_state { CHECK_OK, CHECK_NOTE, CHECK_MISSING, CHECK_UNKNOWN };

struct check {
	const char *name;
	enum check_state state;
	bool needed;	/* without it nothing can be recorded */
	char text[768]; /* what it is for, or what is wrong and what to do */
};

enum { CHECKS_MAX = 16 };

struct host_checks {
	struct check check[CHECKS_MAX];
	unsigned int nr;
	char backend[64]; /* "kvm_intel", "kvm_pvm", "" if KVM is not loaded */
};

/* Looks at the kernel, the capabilities and KVM. */
void host_check(struct host_checks *ret);

/* The first needed thing that is missing, or NULL. */
const struct check *host_obstacle(const struct host_checks *checks);

/* One VM and its plan. */
struct vm_report {
	const struct vm *vm; /* NULL: only the kernel is looked at */
	struct plan plan;
	bool unreadable; /* the program is another user's */
};

/* Kernel events are the same for all VMs. */
bool event_is_kernels(const struct probe_plan *p);

/* Descriptors of another user's VM cannot be seen; its command line can. */
bool uses_kvm(const struct vm *vm);

enum verdict { WORKS, FALLS_BACK, LACKS };

/* Can this be measured of the VM? LACKS: *ret is the events of which one is needed; FALLS_BACK: to this analyzer. */
enum verdict analyzer_check(const struct vm_report *p, const struct analyzer *a, const char **ret);

/* Was --probes (or -v) given: a line for each event instead of each group? */
extern bool doctor_each_probe;

/* doctor_text.c, doctor_json.c */
void doctor_text(const struct host_checks *host, const struct vm_report *reports, unsigned int nr,
		 const struct output *out);
void doctor_json(const struct host_checks *host, const struct vm_report *reports, unsigned int nr,
		 const struct output *out);

#endif
