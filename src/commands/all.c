// SPDX-License-Identifier: GPL-2.0-or-later
/* Every command, in the order of `hostrace --help`. To add one, add its file to this folder and a line here. */
#include <stddef.h>

#include "commands/common/report_commands.h"

/* clang-format off */
#ifdef HOSTRACE_LIVE
#define LIVE_COMMANDS(COMMAND) \
	COMMAND(doctor) \
	COMMAND(stuck) \
	COMMAND(record) \
	COMMAND(mark) \
	COMMAND(stat) \
	COMMAND(probes) \
	COMMAND(top) \
	COMMAND(exporter) \
	COMMAND(demo)
#else
#define LIVE_COMMANDS(COMMAND)
#endif

#define COMMANDS(COMMAND) \
	COMMAND(ps) \
	LIVE_COMMANDS(COMMAND) \
	COMMAND(guest) \
	REPORT_COMMANDS(COMMAND) \
	COMMAND(annotate) \
	COMMAND(view) \
	COMMAND(baseline) \
	COMMAND(mcp) \
	COMMAND(prof) \
	COMMAND(prof_timed) \
	COMMAND(prof_wait) \
	COMMAND(prof_lock) \
	COMMAND(prof_idle) \
	COMMAND(prof_flame) \
	COMMAND(list_timed) \
	COMMAND(memory_analyzer) \
	COMMAND(wakeup_latency) \
	COMMAND(cpu_load) \
	COMMAND(tcpdump) \
	COMMAND(pcap_dump) \
	COMMAND(convert_dump) \
	COMMAND(extract) \
	COMMAND(download) \
	COMMAND(import) \
	COMMAND(export)
/* clang-format on */

#define DECLARE(name) extern const struct command name##_command;
COMMANDS(DECLARE)

#define LIST(name) &name##_command,
const struct command *const commands[] = {COMMANDS(LIST) NULL};
