/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Commands whose answer about recordings is JSON: those that libhostrace and `hostrace mcp` run. */
#ifndef HOSTRACE_REPORT_COMMANDS_H
#define HOSTRACE_REPORT_COMMANDS_H

#include "commands/common/command.h"

/* clang-format off */
#define REPORT_COMMANDS(COMMAND) \
	COMMAND(info) \
	COMMAND(list) \
	COMMAND(exits) \
	COMMAND(blame) \
	COMMAND(sched) \
	COMMAND(interrupts) \
	COMMAND(downtime) \
	COMMAND(boot) \
	COMMAND(ports) \
	COMMAND(mmio) \
	COMMAND(msrs) \
	COMMAND(leaks) \
	COMMAND(heap) \
	COMMAND(syscalls) \
	COMMAND(faults) \
	COMMAND(virtio) \
	COMMAND(profile) \
	COMMAND(sync) \
	COMMAND(timeline) \
	COMMAND(requests) \
	COMMAND(diff) \
	COMMAND(diagnose) \
	COMMAND(report) \
	COMMAND(sql) \
	COMMAND(summary) \
	COMMAND(count) \
	COMMAND(histogram) \
	COMMAND(heatmap) \
	COMMAND(list_spans)
/* clang-format on */

extern const struct command *const report_commands[]; /* ends with NULL */

/* NULL: it is none of these. */
const struct command *report_command_find(const char *name);

#endif
