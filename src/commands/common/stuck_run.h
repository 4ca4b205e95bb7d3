/* SPDX-License-Identifier: GPL-2.0-or-later */
/* `hostrace stuck` as a child process, for commands that need its answer (output/stuck_kept.h). */
#ifndef HOSTRACE_COMMON_STUCK_RUN_H
#define HOSTRACE_COMMON_STUCK_RUN_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct stuck_run {
	pid_t pid;	  /* 0: none */
	int out, err_out; /* files without a name */
	uint64_t start_ns;
};

/* Looks at this VM. 0 or -errno with the error message set. */
int stuck_run_start(struct stuck_run *s, pid_t vm);

/*
 * stuck_kept() of its answer, with start_ns and end_ns, or the error; a new reference. NULL: it has not ended, and
 * shall not be waited for; after 20 s it is no longer.
 */
json_t *stuck_run_end(struct stuck_run *s, bool wait);

/* Without an answer. Does nothing if none runs. */
void stuck_run_stop(struct stuck_run *s);

#endif
