// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A time namespace (time_namespaces(7), Linux 5.6) adds an offset to CLOCK_MONOTONIC of the processes in it. Kernel and
 * BPF programs know no such offset: bpf_ktime_get_ns() is the host's clock. /proc/PID/timens_offsets has the offsets of
 * the namespace of the process's *children* (ns/time_for_children), which is its own unless it called unshare(2) last.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/clock.h"

/* PROC_TIME_INIT_INO, include/linux/proc_ns.h */
static const char host_namespace[] = "time:[4026531834]";

enum { NAMESPACE_TEXT = 64 };

static bool namespace_read(const char *process, const char *which, char *buf)
{
	char path[64];
	ssize_t len;

	snprintf(path, sizeof(path), "/proc/%s/ns/%s", process, which);
	len = readlink(path, buf, NAMESPACE_TEXT - 1);
	buf[len > 0 ? len : 0] = '\0';
	return len > 0;
}

static int offset_read(const char *process, int64_t *ret_ns)
{
	char path[64], line[128];
	int64_t s, ns;

	snprintf(path, sizeof(path), "/proc/%s/timens_offsets", process);
	_cleanup_fclose_ FILE *f = fopen(path, "re");
	while (f && fgets(line, sizeof(line), f))
		if (sscanf(line, "monotonic %" SCNd64 " %" SCNd64, &s, &ns) == 2) {
			*ret_ns = s * (int64_t)NS_PER_S + ns;
			return 0;
		}
	return -ENODATA;
}

int clock_offset(pid_t pid, int64_t *ret_ns)
{
	char process[16] = "self", own[NAMESPACE_TEXT], children[NAMESPACE_TEXT];

	*ret_ns = 0;
	if (pid)
		snprintf(process, sizeof(process), "%d", (int)pid);
	if (!namespace_read(process, "time", own)) /* not ours to see, or a kernel without them */
		return 0;
	if (pid && !strcmp(own, host_namespace))
		return 0;
	if (!namespace_read(process, "time_for_children", children) || strcmp(own, children))
		return -ESTALE;
	return strcmp(own, host_namespace) ? offset_read(process, ret_ns) : 0;
}

const struct clock_own *clock_own(void)
{
	static struct {
		bool known;
		struct clock_own own;
	} process_wide;

	if (!process_wide.known) {
		process_wide.own.err = clock_offset(0, &process_wide.own.offset_ns);
		process_wide.known = true;
	}
	return &process_wide.own;
}

uint64_t monotonic_ns(void)
{
	return clock_read_ns(CLOCK_MONOTONIC) - (uint64_t)clock_own()->offset_ns;
}
