/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The kinds of causes (causes.h) of which a diagnosis has no cause: ruled out, as the recording has the events in which
 * one would have been seen; not known, as something may be hidden; not recorded.
 */
#ifndef HOSTRACE_REPORT_DIAGNOSIS_KINDS_H
#define HOSTRACE_REPORT_DIAGNOSIS_KINDS_H

#include "output/report/diagnosis.h"

/* The metadata of all inputs, as info has them. */
const json_t *diagnosis_info(const json_t *sections);

/* Events were lost, or a file ends early. */
bool diagnosis_has_lost(const json_t *sections);

bool diagnosis_cause_is_wrong(const json_t *cause);

/* Adds "ruled_out", "not_known" and "not_recorded" to the result, which has its causes. */
void diagnosis_kinds_add(json_t *result, const struct diagnosis_query *q);

/*
 * vCPUs of which the scheduler had no event: it was recorded, so that they were asleep, or ran, all the time.
 * "": there are none. "halted", "guest": they were so when the VM was looked at. "?": what they were in is not known.
 */
const char *diagnosis_still(const json_t *sections);

/* KVM reports no exits, but those to the VMM; what vCPUs slept in is known. */
bool diagnosis_unreported(const json_t *sections);

/* All kinds were recorded and are known, but for what no recording of this VM shows. */
bool diagnosis_kinds_known(const json_t *result);

#endif
