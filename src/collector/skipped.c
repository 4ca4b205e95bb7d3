// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Events that no program recorded, although their probes are attached: the kernel does not run a program on a CPU on
 * which it is running already (an interrupt that comes meanwhile), and counts that. Of I/O requests of the host it is
 * known in another way, too: their bio is used again.
 */
#include "collector/internal.h"

#include "hostrace.skel.h" /* knows record.h's types */

/* Of all threads of the host, so that events of a VM may be fewer. */
static uint64_t programs_skipped(const struct collector *c, const struct probe_result *r)
{
	uint64_t sum = 0;

	for (unsigned int i = 0; i < r->plan->nr_places; i++)
		if (!collector_result_repeats(r, i))
			sum += collector_program_info(c, collector_result_program(r, i))
				       .recursion_misses;
	return sum;
}

static uint64_t event_skipped(const struct collector *c, const struct probe_result *r)
{
	uint64_t skipped = programs_skipped(c, r);

	if (r->id == EV_host_io && c->skel->bss->host_ios_unseen > skipped)
		return c->skel->bss->host_ios_unseen;
	return skipped;
}

int collector_skipped_report(struct collector *c, collector_sink *sink, void *arg)
{
	bool reported[EV_LIMIT] = {false};
	int ret = 0;

	for (unsigned int i = 0; i < c->nr_results && !ret; i++) {
		const struct probe_result *r = &c->results[i];
		uint64_t count;

		if (!r->attached || reported[r->id]) /* VMs share the programs */
			continue;
		reported[r->id] = true;
		count = event_skipped(c, r) - c->skipped_seen[r->id];
		if (!count)
			continue;
		c->skipped_seen[r->id] += count;
		c->counts.skipped += count;
		ret = collector_lose(c, RECORD_NO_CPU, r->id, count, sink, arg);
	}
	return ret;
}

uint64_t collector_host_ios_open(const struct collector *c)
{
	return c->skel->bss->host_ios_open;
}
