// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * What the host itself takes of the CPUs that vCPUs run on: steal, interrupts, a frequency below what they can. None is
 * known of each thread. Of the time for which a vCPU was on a CPU, it is taken to be the part that it is of all time
 * for which the CPUs that it may use were busy: one that slept lost nothing.
 */
#include "output/report/findings.h"

#include <stdlib.h>
#include <string.h>

#include "base/units.h"

static const json_t *host_of(const struct found *f)
{
	return json_object_get(limits_of(f), "host");
}

/* The vCPU whose thread had a CPU the longest; NULL: that is not known of any. */
static const json_t *ran_most(const struct found *f)
{
	const json_t *row, *most = NULL;
	size_t i;

	json_array_foreach (rows_of(f, "sched"), i, row)
		if (!strcmp(text_of(row, "kind"), "vcpu") &&
		    (!most || number(row, "run_ns") > number(most, "run_ns")))
			most = row;
	return most;
}

/* "0-3,7" */
static bool is_listed(const char *list, unsigned long cpu)
{
	while (*list) {
		char *end;
		unsigned long first = strtoul(list, &end, 10), last = first;

		if (end == list)
			return false;
		if (*end == '-')
			last = strtoul(end + 1, &end, 10);
		if (cpu >= first && cpu <= last)
			return true;
		list = end + (*end == ',');
		if (!*end || *end != ',')
			return false;
	}
	return false;
}

/* Of the CPUs on which the row's thread may run; if they are not known, of all. */
static double cpus_sum(const struct found *f, const json_t *row, const char *count)
{
	const char *cpus = text_of(place_of(f, number(row, "tid")), "cpus");
	size_t nr = json_array_size(json_object_get(host_of(f), count));
	double sum = 0;

	for (size_t i = 0; i < nr; i++)
		if (!*cpus || is_listed(cpus, i))
			sum += limit_cpu_count(f, count, i);
	return sum;
}

/* Of the row's time on a CPU. */
static uint64_t part_of_run(const json_t *row, double part, double busy)
{
	if (busy <= 0 || part <= 0)
		return 0;
	return (uint64_t)((double)number(row, "run_ns") * (part < busy ? part / busy : 1));
}

/*
 * Where busy time or the scheduler's events are not recorded, the average of all CPUs is the most that steal can be.
 */
static void steal_average(struct found *f)
{
	const json_t *list = json_object_get(host_of(f), "stolen_ns");
	double stolen = cpus_sum(f, NULL, "stolen_ns");
	uint64_t ns = (uint64_t)(stolen / (double)json_array_size(list));
	char share[SHARE_BYTES];

	finding_add(f, "host-steal", "cpu-host-steal", "info", share_of(f, ns),
		    json_sprintf("The host is a VM itself, and its CPUs did not run for %s on "
				 "average, as its hypervisor had other work (steal).",
				 share_print(f, ns, share, sizeof(share))));
}

static void from_steal(struct found *f)
{
	const json_t *row = ran_most(f);
	double stolen = cpus_sum(f, row, "stolen_ns"), busy = cpus_sum(f, row, "busy_ns");
	uint64_t ns = part_of_run(row, stolen, busy);
	char share[SHARE_BYTES], who[WHO_BYTES];

	if (!json_array_size(json_object_get(host_of(f), "stolen_ns")))
		return;
	if (!json_array_size(rows_of(f, "sched")) || busy <= 0) {
		steal_average(f);
		return;
	}
	finding_add(f, "host-steal", "cpu-host-steal", "info", share_of(f, ns),
		    json_sprintf("The host is a VM itself, and its hypervisor had other work "
				 "(steal) while %s was on a CPU, for about %s.",
				 vcpu_print(row, who, sizeof(who)),
				 share_print(f, ns, share, sizeof(share))));
}

/* " (CPUs 0-3)"; "": they are not known. */
static const char *cpus_print(const struct found *f, const json_t *row, char *buf, size_t size)
{
	const char *cpus = text_of(place_of(f, number(row, "tid")), "cpus");

	*buf = '\0';
	if (*cpus)
		snprintf(buf, size, " (CPU%s %.64s)", cpus[strspn(cpus, "0123456789")] ? "s" : "",
			 cpus);
	return buf;
}

static double percent(double part, double of)
{
	return of > 0 ? 100 * (part < of ? part / of : 1) : 0;
}

static void from_interrupts(struct found *f, const json_t *row)
{
	double hard = cpus_sum(f, row, "irq_ns"), soft = cpus_sum(f, row, "softirq_ns"),
	       busy = cpus_sum(f, row, "busy_ns");
	uint64_t ns = part_of_run(row, hard + soft, busy);
	char share[SHARE_BYTES], who[WHO_BYTES], cpus[96];

	finding_add(f, "host-irq", "cpu-host-irq", "info", share_of(f, ns),
		    json_sprintf("While %s was on a CPU%s, interrupts of the host took about %s: "
				 "%.1f %% of what the CPUs did, soft ones %.1f %%.",
				 vcpu_print(row, who, sizeof(who)),
				 cpus_print(f, row, cpus, sizeof(cpus)),
				 share_print(f, ns, share, sizeof(share)),
				 percent(hard + soft, busy), percent(soft, busy)));
}

/* Of the CPUs on which the row's thread may run. */
static double khz_sum(const struct found *f, const json_t *row, const char *key)
{
	const char *cpus = text_of(place_of(f, number(row, "tid")), "cpus");
	const json_t *list = json_object_get(json_object_get(limits_of(f), "frequency"), key), *one;
	double sum = 0;
	size_t i;

	json_array_foreach (list, i, one)
		if (!*cpus || is_listed(cpus, i))
			sum += json_number_value(one);
	return sum;
}

/* What a CPU does in a second is taken to be as its frequency. */
static void from_frequency(struct found *f, const json_t *row)
{
	double limit = khz_sum(f, row, "limit_khz"), max = khz_sum(f, row, "max_khz");
	uint64_t ns = limit > 0 ? part_of_run(row, max - limit, max) : 0;
	char share[SHARE_BYTES], who[WHO_BYTES], cpus[96];

	finding_add(f, "frequency", "cpu-frequency", "info", share_of(f, ns),
		    json_sprintf("%s lost about %s while it was on a CPU, as its CPUs%s may run "
				 "at %.0f %% of their frequency only (scaling_max_freq).",
				 vcpu_print(row, who, sizeof(who)),
				 share_print(f, ns, share, sizeof(share)),
				 cpus_print(f, row, cpus, sizeof(cpus)), percent(limit, max)));
}

void findings_host(struct found *f)
{
	const json_t *row;
	size_t i;

	from_steal(f);
	json_array_foreach (rows_of(f, "sched"), i, row)
		if (!strcmp(text_of(row, "kind"), "vcpu")) {
			from_interrupts(f, row);
			from_frequency(f, row);
		}
}
