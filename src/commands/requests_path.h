/* SPDX-License-Identifier: GPL-2.0-or-later */
/* `hostrace requests --stages` and `--waterfall`: the whole path of requests. */
#ifndef HOSTRACE_COMMANDS_REQUESTS_PATH_H
#define HOSTRACE_COMMANDS_REQUESTS_PATH_H

#include <stdbool.h>
#include <stdint.h>

/* Reads the inputs that the options give; min_ns: shorter requests are not counted. Returns the exit status. */
int requests_path_run(bool waterfall, uint64_t min_ns);

#endif
