/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * `hostrace diagnose`: the findings (page.h) as causes, with what is wrong, what was ruled out and what could not be
 * seen.
 */
#ifndef HOSTRACE_REPORT_DIAGNOSIS_H
#define HOSTRACE_REPORT_DIAGNOSIS_H

#include <jansson.h>
#include <stdbool.h>
#include <stdio.h>

/* What costs less of a vCPU's time is no cause, unless another threshold is asked for. */
#define DIAGNOSIS_THRESHOLD 0.05

struct diagnosis_query {
	const json_t *sections; /* of the page, those that findings are made of, and "stuck" */
	const json_t *notes;	/* of the inputs: texts */
	const char *vm;		/* a running VM, as it was given; NULL: a recording is diagnosed */
	const char *files, *filters; /* as they would be typed: "-i web.hrt", "--vcpu 0"; "" if none */
	double threshold;	/* a cause that costs at least this part (0 to 1) of a vCPU's time is wrong */
};

/*
 *	{"hostrace", "inputs", "clock", "caveats", "result": {"title", "verdict", "threshold", "known_ns", "guest":
 *	 {"in_guest", "halted"}, "causes": [{"id", "wrong", "share", "lost_ns", "text", "command", "cure", "more",
 *	 "more_share"}], "ruled_out": [{"kind", "text", "share"}],
 *	 "not_known": [{"kind", "text", "why", "recordable", "present"}],
 *	 "not_recorded": [{"kind", "text", "record"}]}}
 *
 * verdict: "wrong"; "healthy": all kinds of causes were recorded; "nothing-found": some were not, or are not known;
 * "unknown": the recording answers nothing. recordable: false: no recording of this VM shows it; present: true: the VM
 * has what cannot be seen, and is not called healthy. share, lost_ns: null
 * if the cause has none. New reference.
 */
json_t *diagnosis_make(const struct diagnosis_query *q);

bool diagnosis_is_wrong(const json_t *diagnosis);
bool diagnosis_is_unknown(const json_t *diagnosis);
bool diagnosis_is_healthy(const json_t *diagnosis);

/* As paragraphs; notes: and what limits it. */
void diagnosis_print(const json_t *diagnosis, bool notes, FILE *f);

#endif
