// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * proc(5), Documentation/accounting/psi.rst, Documentation/admin-guide/pm/cpufreq.rst. A kernel without
 * CONFIG_IRQ_TIME_ACCOUNTING looks at each tick what it interrupts: soft interrupts are counted as well as a sample of
 * that rate can be, hard ones are not, as the tick waits for their end.
 */
#include "vm/host_load.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "vm/reread.h"

enum {
	STAT_TEXT_MAX = 1 << 20, /* /proc/stat has a line a CPU, and long ones of interrupts */
	VMSTAT_TEXT_MAX = 16384,
};

const char *const host_cpu_counts[CPU_COUNTS] = {"stolen_ns", "busy_ns", "irq_ns", "softirq_ns"};
const char *const host_counts[HOST_COUNTS] = {"swapped_in",    "swapped_out",  "huge_split",
					      "cpu_waited_ns", "io_waited_ns", "memory_waited_ns"};

void host_load_open(struct host_load *h, bool stays_open)
{
	static const char *const pressures[] = {"/proc/pressure/cpu", "/proc/pressure/io",
						"/proc/pressure/memory"};

	reread_open(&h->stat, "/proc/stat", stays_open);
	reread_open(&h->vmstat, "/proc/vmstat", stays_open);
	for (int i = 0; i < 3; i++)
		reread_open(&h->pressure[i], pressures[i], stays_open);
}

void host_load_close(struct host_load *h)
{
	reread_close(&h->stat);
	reread_close(&h->vmstat);
	for (int i = 0; i < 3; i++)
		reread_close(&h->pressure[i]);
}

/* "cpu0 user nice system idle iowait irq softirq steal ...", in ticks; time of guests is part of user's. */
static bool cpu_parse(const char *line, uint64_t ret[CPU_COUNTS])
{
	uint64_t ns = NS_PER_S / (uint64_t)sysconf(_SC_CLK_TCK);
	uint64_t user, nice, system, irq, softirq, steal;

	if (!strncmp(line, "cpu ", 4) || /* the sum of all */
	    sscanf(line,
		   "cpu%*u %" SCNu64 "%" SCNu64 "%" SCNu64 " %*u %*u %" SCNu64 "%" SCNu64
		   "%" SCNu64,
		   &user, &nice, &system, &irq, &softirq, &steal) != 6)
		return false;
	ret[CPU_STOLEN] = steal * ns;
	ret[CPU_BUSY] = (user + nice + system + irq + softirq + steal) * ns;
	ret[CPU_IRQ] = irq * ns;
	ret[CPU_SOFTIRQ] = softirq * ns;
	return true;
}

unsigned int host_cpus_read(const struct host_load *h, uint64_t *ret)
{
	_cleanup_free_ char *text = malloc(STAT_TEXT_MAX);
	unsigned int nr = 0;

	if (!text || !reread_text(&h->stat, text, STAT_TEXT_MAX))
		return 0;
	for (const char *p = text; p && nr < HOST_CPUS_MAX; p = strchr(p, '\n')) {
		p += *p == '\n';
		nr += cpu_parse(p, ret + (size_t)nr * CPU_COUNTS);
	}
	return nr;
}

uint64_t pressure_ns(const char *text)
{
	const char *at = strncmp(text, "some ", 5) ? NULL : strstr(text, " total=");

	return at ? strtoull(at + 7, NULL, 10) * 1000 : 0;
}

void host_counts_read(const struct host_load *h, uint64_t ret[HOST_COUNTS])
{
	_cleanup_free_ char *text = malloc(VMSTAT_TEXT_MAX);
	char pressure[256];

	memset(ret, 0, HOST_COUNTS * sizeof(*ret));
	if (text && reread_text(&h->vmstat, text, VMSTAT_TEXT_MAX)) {
		ret[HOST_SWAPPED_IN] = reread_number(text, "pswpin");
		ret[HOST_SWAPPED_OUT] = reread_number(text, "pswpout");
		ret[HOST_HUGE_SPLIT] = reread_number(text, "thp_split_pmd");
	}
	for (int i = 0; i < 3; i++)
		if (reread_text(&h->pressure[i], pressure, sizeof(pressure)))
			ret[HOST_CPU_WAITED + i] = pressure_ns(pressure);
}

static bool khz_read(unsigned int cpu, const char *name, json_int_t *ret)
{
	char path[128], text[32];
	struct reread f;

	snprintf(path, sizeof(path), "/sys/devices/system/cpu/cpu%u/cpufreq/%s", cpu, name);
	reread_open(&f, path, true);
	reread_text(&f, text, sizeof(text));
	reread_close(&f);
	*ret = (json_int_t)strtoull(text, NULL, 10);
	return *ret > 0;
}

json_t *host_frequencies(unsigned int nr_cpus)
{
	json_t *now = json_array(), *limit = json_array(), *max = json_array();
	json_int_t a, b, c;

	for (unsigned int i = 0; i < nr_cpus; i++) {
		if (!khz_read(i, "scaling_cur_freq", &a) || !khz_read(i, "scaling_max_freq", &b) ||
		    !khz_read(i, "cpuinfo_max_freq", &c))
			break;
		json_array_append_new(now, json_integer(a));
		json_array_append_new(limit, json_integer(b));
		json_array_append_new(max, json_integer(c));
	}
	if (json_array_size(max) == nr_cpus && nr_cpus)
		return json_pack("{s:o,s:o,s:o}", "khz", now, "limit_khz", limit, "max_khz", max);
	json_decref(now);
	json_decref(limit);
	json_decref(max);
	return NULL;
}
