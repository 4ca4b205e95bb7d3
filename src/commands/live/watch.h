/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What commands share that count in the kernel until they are told to end: stat, probes. */
#ifndef HOSTRACE_LIVE_WATCH_H
#define HOSTRACE_LIVE_WATCH_H

#include "confine/confine.h"
#include "output/output.h"

/* SIGINT, SIGTERM and SIGHUP are blocked, and come from this signalfd. */
int watch_signals_open(void);

/*
 * Around everything that is written, as nobody may read the pipe: the first signal is kept for the signalfd, and the
 * third one ends the process. What is to be written is written once, if it is read.
 */
void watch_writing_begin(void);
void watch_writing_end(void);

/*
 * Only counters in mapped memory are read from now on, and the report is completed; looks: VMs that start are looked
 * for, too. paths may be NULL: out of memory.
 * 0 or -errno with the error message set.
 */
int watch_confine(const struct output *out, struct confine_paths *paths, bool looks);

#endif
