/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What recording needs from the host: the kernel, the capabilities and KVM. `doctor` prints it. */
#ifndef HOSTRACE_HOST_CHECK_H
#define HOSTRACE_HOST_CHECK_H

#include <stdbool.h>

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

/* Looks at the kernel, the capabilities and KVM. state_error: why KVM's state cannot be read (kvm_look()), or NULL. */
void host_check(struct host_checks *ret, const char *state_error);

/* The first needed thing that is missing, or NULL. */
const struct check *host_obstacle(const struct host_checks *checks);

#endif
