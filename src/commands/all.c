// SPDX-License-Identifier: GPL-2.0-or-later
/* Every command, in the order of `hostrace --help`. A new one: its file here beside, and its two lines. */
#include <stddef.h>

#include "command.h"

extern const struct command info_command;
extern const struct command list_command;
extern const struct command import_command;
extern const struct command export_command;

extern const struct command exits_command, ports_command, mmio_command, msrs_command, leaks_command;
extern const struct command summary_command, count_command, histogram_command, heatmap_command;
extern const struct command list_spans_command;
extern const struct command ps_command;
extern const struct command prof_command, prof_timed_command, prof_wait_command, prof_lock_command;
extern const struct command prof_idle_command, prof_flame_command, list_timed_command;
extern const struct command memory_analyzer_command, wakeup_latency_command, cpu_load_command;
extern const struct command tcpdump_command, pcap_dump_command, convert_dump_command;
extern const struct command sync_command, timeline_command, requests_command;
extern const struct command virtio_command;
extern const struct command profile_command;
extern const struct command guest_command;
extern const struct command extract_command, download_command;

#ifdef HOSTRACE_LIVE
extern const struct command doctor_command;
extern const struct command record_command;
extern const struct command stat_command;
extern const struct command demo_command;
#endif

const struct command *const commands[] = {
	&ps_command,
#ifdef HOSTRACE_LIVE
	&doctor_command,
	&record_command,
	&stat_command,
	&demo_command,
#endif
	&guest_command,
	&info_command,
	&list_command,
	&exits_command,
	&ports_command,
	&mmio_command,
	&msrs_command,
	&leaks_command,
	&virtio_command,
	&profile_command,
	&sync_command,
	&timeline_command,
	&requests_command,
	&summary_command,
	&count_command,
	&histogram_command,
	&heatmap_command,
	&list_spans_command,
	&prof_command,
	&prof_timed_command,
	&prof_wait_command,
	&prof_lock_command,
	&prof_idle_command,
	&prof_flame_command,
	&list_timed_command,
	&memory_analyzer_command,
	&wakeup_latency_command,
	&cpu_load_command,
	&tcpdump_command,
	&pcap_dump_command,
	&convert_dump_command,
	&extract_command,
	&download_command,
	&import_command,
	&export_command,
	NULL,
};
