/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * --compat: print what OSv's trace.py prints, byte for byte. Exit statuses are hostrace's, except that a wrong time
 * range is reported on stdout and is not a failure, as there.
 */
#ifndef HOSTRACE_COMMANDS_COMPAT_OPTION_H
#define HOSTRACE_COMMANDS_COMPAT_OPTION_H

#include "base/options.h"

extern const struct option_row compat_options[];
extern bool compat_given;

#endif
