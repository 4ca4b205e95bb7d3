/* SPDX-License-Identifier: GPL-2.0-or-later */
/* hostrace diagnose --vm: looks at the VM and records it, by the commands `stuck` and `record`, each a process. */
#ifndef HOSTRACE_DIAGNOSE_LIVE_H
#define HOSTRACE_DIAGNOSE_LIVE_H

#include <jansson.h>
#include <stdint.h>

/*
 * Records what a diagnosis needs for so long into `path`, which has what `stuck` saw at the start. *ret_stuck: what it
 * saw at the end, or its error (output/stuck_kept.h), a new reference; NULL: it could not be started. 0 or -errno with
 * the error message set.
 */
int diagnose_record(const char *vm, uint64_t duration_ns, const char *path, json_t **ret_stuck);

#endif
