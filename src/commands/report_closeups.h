/* SPDX-License-Identifier: GPL-2.0-or-later */
/* hostrace report: the timeline around the slowest exits. */
#ifndef HOSTRACE_REPORT_CLOSEUPS_H
#define HOSTRACE_REPORT_CLOSEUPS_H

#include <jansson.h>

/*
 * blame: the answer of `blame`, whose first rows are the slowest exits. *ret: {"rows": [
 * {"since_ns", "until_ns", "exit_ns", "latency_ns", "reason", "vcpu", "tracks": [{"group", "name"}],
 * "slices": [[track, start_ns, duration_ns, kind, name]...], "slices_not_shown"}...]}; NULL if there is no exit. 0 or
 * -errno with the error message set.
 */
int report_closeups(const json_t *blame, json_t **ret);

#endif
