// SPDX-License-Identifier: GPL-2.0-or-later
/* Sampling clocks: perf's cpu-clock on every CPU, and a BPF program at each tick. */
#include <errno.h>
#include <linux/perf_event.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/error.h"
#include "base/log.h"
#include "collector/internal.h"

#include "hostrace.skel.h" /* knows record.h's types */

/*
 * A high resolution timer that also ticks while nothing of ours runs: on a CPU, not on a thread, so that vCPUs which
 * begin later are sampled too.
 */
static int clock_open(unsigned int cpu, uint64_t hz)
{
	struct perf_event_attr attr = {
		.type = PERF_TYPE_SOFTWARE,
		.config = PERF_COUNT_SW_CPU_CLOCK,
		.size = sizeof(attr),
		.sample_period = 1000000000ull / hz,
	};

	return (int)syscall(SYS_perf_event_open, &attr, -1, (int)cpu, -1, PERF_FLAG_FD_CLOEXEC);
}

int collector_sample(struct collector *c, struct bpf_program *prog, uint64_t hz)
{
	unsigned int nr = 0;

	for (unsigned int cpu = 0; cpu < c->nr_cpus; cpu++) {
		int fd = clock_open(cpu, hz);
		struct bpf_link *link;
		int err;

		if (fd < 0 && errno == ENODEV) /* a CPU that is possible but not there */
			continue;
		if (fd < 0)
			return fail(-errno, "cannot open the sampling clock of CPU %u: %s", cpu,
				    strerror(errno));
		link = bpf_program__attach_perf_event(prog, fd);
		err = link ? 0 : -errno;
		if (err) {
			close(fd);
			return fail(err, "cannot attach the sampling program: %s",
				    strerror(-err));
		}
		if (c->nr_links == LINKS_MAX) {
			bpf_link__destroy(link);
			return fail(-E2BIG, "more than %d probes", LINKS_MAX);
		}
		c->links[c->nr_links++] = (struct probe_link){.link = link};
		nr++;
	}
	debug("attach", "sampling %u CPUs at %llu Hz", nr,
	      (unsigned long long)hz);
	return 0;
}
