/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * When to try again to attach probes to a VM. What fails at first may succeed later: no descriptor was free, a
 * permission was missing, the process was not yet QEMU, or another VM, which has ended since, had the last place.
 */
#ifndef HOSTRACE_EXPORTER_ATTACH_H
#define HOSTRACE_EXPORTER_ATTACH_H

#include <stdbool.h>
#include <stdint.h>

enum { ATTACH_WHY_BYTES = 256 };

/* Zero-initialised: none has failed. */
struct attach_attempts {
	unsigned int failed; /* since the last success */
	uint64_t again_ns;   /* not before */
	char why[ATTACH_WHY_BYTES]; /* the last failed */
};

/* 1, 2, 4, ... seconds after the last attempt, at most about a minute, without end. */
bool attach_is_due(const struct attach_attempts *a, uint64_t now_ns);

/* An attempt failed. Is it to be reported, as none has failed before for this reason? */
bool attach_failed(struct attach_attempts *a, const char *why, uint64_t now_ns);

/* An attempt succeeded. Had one failed before? */
bool attach_succeeded(struct attach_attempts *a);

#endif
