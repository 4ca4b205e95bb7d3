// SPDX-License-Identifier: GPL-2.0-or-later
/* What is to be known of a profile's figures: how samples were taken, what was lost. */
#include <inttypes.h>
#include <string.h>

#include "base/units.h"
#include "output/samples/samples_output.h"

/* ---- waits ---- */

json_t *wait_profile_notes(const struct wait_sums *sums)
{
	json_t *more = json_array();
	char text[512] = "", time[32];
	uint64_t all = 0;

	for (int i = 0; i < CAUSES; i++)
		all += sums->ns[i];
	for (int i = 0; i < CAUSES; i++) {
		size_t at = strlen(text);

		snprintf(text + at, sizeof(text) - at, "%s%s %.1f %%", i ? ", " : "",
			 wait_cause_names[i],
			 all ? 100.0 * (double)sums->ns[i] / (double)all : 0.0);
	}
	duration_print_wide((double)all, time, sizeof(time));
	json_array_append_new(
		more,
		json_sprintf("in the %s that threads waited, their vCPU was: %s", time, text));
	json_array_append_new(
		more,
		json_string(sums->sees_devices
				    ? "device: an element of any virtqueue of the VM was in "
				      "flight, not necessarily the one that the thread waited for"
				    : "the host's recording has no virtqueue elements: waits for "
				      "devices are counted as halted"));
	if (sums->refused)
		json_array_append_new(more,
				      json_sprintf("%llu events of the host were dropped: too many "
						   "vCPU threads or virtqueue elements in flight",
						   (unsigned long long)sums->refused));
	return more;
}

/* ---- from the host alone ---- */

static double percent(uint64_t of, uint64_t all)
{
	return all ? 100.0 * (double)of / (double)all : 0;
}

static void clock_caveats(const struct host_profile_totals *t, bool emulated, json_t *more)
{
	uint64_t all = t->clock[0] + t->clock[1] + t->clock[2];
	char rate[48] = "";

	if (t->sample_hz)
		snprintf(rate, sizeof(rate), " (%" PRIu64 " Hz)", t->sample_hz);
	json_array_append_new(
		more, json_sprintf("%" PRIu64 " samples of vCPU threads%s: %.1f %% in the guest, "
					      "%.1f %% in the host's kernel, %.1f %% in the VMM",
				   all, rate, percent(t->clock[0], all), percent(t->clock[1], all),
				   percent(t->clock[2], all)));
	json_array_append_new(
		more, json_string(emulated ? "this KVM backend emulates the guest: samples count "
					     "for the guest code that the kernel was emulating"
					   : "guest code that runs with interrupts disabled is "
					     "sampled, too; host code that runs with interrupts "
					     "disabled (at VM-entry and VM-exit) is not"));
	json_array_append_new(
		more,
		json_string(
			"time when a vCPU did not run on a CPU (stolen, halted) is not counted"));
}

static void stack_caveats(const struct host_profile_totals *t, json_t *more)
{
	uint64_t bad = t->stacks - t->cut[0];

	if (t->stacks)
		json_array_append_new(
			more, json_sprintf("call chains by frame pointers: %" PRIu64
					   ", %.1f %% of them cut: no frame pointer %" PRIu64
					   ", not mapped in the guest %" PRIu64
					   ", not present in the host %" PRIu64
					   ", too long %" PRIu64 ", guest memory not found %" PRIu64
					   ", not in 64-bit mode %" PRIu64,
					   t->stacks, percent(bad, t->stacks), t->cut[1], t->cut[2],
					   t->cut[3], t->cut[4], t->cut[5], t->cut[6]));
}

json_t *host_profile_notes(enum host_profile_of of, const struct host_profile_totals *t)
{
	json_t *more = json_array();

	switch (of) {
	case HOST_CLOCK:
	case HOST_EMULATED:
		clock_caveats(t, of == HOST_EMULATED, more);
		stack_caveats(t, more);
		break;
	case HOST_INTERRUPT:
		json_array_append_new(
			more,
			json_sprintf("%" PRIu64 " of %" PRIu64
				     " exits were caused by external interrupts; those of the "
				     "host's timer are unbiased samples, those of devices and "
				     "other CPUs are not; 'record --sample HZ' uses its own timer",
				     t->interrupts, t->exits));
		break;
	case HOST_CAUSES:
		json_array_append_new(more,
				      json_sprintf("this shows where the guest exits (%" PRIu64
						   " exits) and the latency of the exits, not "
						   "where the guest spends its time",
						   t->exits));
		if (t->unknown_ends)
			json_array_append_new(
				more, json_sprintf("exits without a latency, as events were lost: "
						   "%" PRIu64,
						   t->unknown_ends));
		break;
	default:
		json_array_append_new(
			more, json_string("this KVM backend has no kvm_exit: only page faults and "
					  "emulated instructions contain the instruction pointer; "
					  "'record --sample HZ' samples it at a fixed rate"));
	}
	return more;
}
