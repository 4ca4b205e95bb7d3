/* SPDX-License-Identifier: GPL-2.0-or-later */
/* profile --live: a page of hot symbols for each interval. For commands/profile.c only. */
#ifndef HOSTRACE_COMMANDS_PROFILE_LIVE_H
#define HOSTRACE_COMMANDS_PROFILE_LIVE_H

#include "commands/common/command.h"
#include "reports/host_live.h"

extern const struct option_row profile_live_options[];
extern const struct option_rule profile_live_rules[]; /* those of `profile`, too */

/* With the options of the profile. Returns the exit status. */
int profile_live_run(int argc, char **argv, const struct host_profile_options *o);

#endif
