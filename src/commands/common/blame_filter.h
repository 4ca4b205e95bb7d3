/* SPDX-License-Identifier: GPL-2.0-or-later */
/* --vcpu, --tid and --reason select exits, not events: what other threads do is needed to explain them. */
#ifndef HOSTRACE_COMMANDS_BLAME_FILTER_H
#define HOSTRACE_COMMANDS_BLAME_FILTER_H

#include "analyzers/blame/blame.h"
#include "input/input_options.h"

/* Removes what selects exits and events; times and VMs stay. */
void blame_unfilter(struct input_options *options);

/* Do these options (struct input_options) select the exit? As struct blame_summary wants it. */
bool blame_exit_selected(void *options, const struct blame_exit *x);

#endif
