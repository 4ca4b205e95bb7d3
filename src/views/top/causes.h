/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What cost a VM time in the last interval, as `hostrace diagnose` says it of a recording: the figures of the model
 * become rows like those of the reports, and the findings (output/report/page.h) are made of these.
 *
 * Counters know less than events: what the VMM slept in during an exit, the requests of disks, and for how long at
 * most a vCPU waited, are not in them.
 */
#ifndef HOSTRACE_TOP_CAUSES_H
#define HOSTRACE_TOP_CAUSES_H

#include "output/report/diagnosis.h"
#include "views/top/frame.h"

/* A cause that costs less of a vCPU's time is not shown as one: the default of diagnose --threshold. */
#define TOP_CAUSE_SHARE DIAGNOSIS_THRESHOLD

/*
 * [{"id": a cause of doc/causes.md, "share": of the time of the vCPU that lost most, "lost_ns": the same, "text"}], the
 * largest first, without what is no fault. `outside`: of this interval, what vm_waits_next() (vm/waits.h) has, and
 *
 *	"vms": [{"exe", "pid"}], "recorder": {"pid": ours}
 *	"tasks": rows as those of `sched --by task`, of what had the CPU meanwhile: {"tid": the vCPU's, "time_ns",
 *		  "task", "task_tid", "task_pid": its process, "ran": "own", "other-vm"; absent: see the name}
 *
 * null if the figures are not those of an interval, or of one shorter than 50 ms. A new reference.
 */
json_t *top_causes_make(const struct top_model *m, const struct top_node *vm,
			const json_t *outside);

/*
 * "4711 web1: cpu-quota 62.0 %: vCPU 0 was ready to run ...": the largest cause of the VM whose list is shown, or of
 * those in the list of VMs. False: there is none, or nothing is known.
 */
bool top_cause_print(const struct top_view *v, const struct top_model *m, char *buf, size_t size);

#endif
