// SPDX-License-Identifier: GPL-2.0-or-later
/* What is to be known of a profile's figures: how samples were taken, what was lost. */
#include <inttypes.h>

#include "base/units.h"
#include "output/samples/samples_output.h"

__attribute__((format(printf, 2, 3))) static void note_add(json_t *notes, const char *fmt, ...)
{
	va_list args;

	va_start(args, fmt);
	json_array_append_new(notes, json_vsprintf(fmt, args));
	va_end(args);
}

/* ---- waits ---- */

json_t *wait_profile_notes(const struct wait_sums *sums)
{
	json_t *notes = json_array();
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
	note_add(notes, "in the %s that threads waited, their vCPU was: %s",
	     duration_print_wide((double)all, time, sizeof(time)), text);
	note_add(notes, "%s",
	     sums->sees_devices
		     ? "device: an element of any virtqueue of the VM was in flight, not "
		       "necessarily the one that the thread waited for"
		     : "the host's recording has no virtqueue elements: waits for "
		       "devices are counted as halted");
	if (sums->refused)
		note_add(notes,
			 "%" PRIu64 " events of the host were dropped: too many vCPU threads or "
			 "virtqueue elements in flight",
			 sums->refused);
	return notes;
}

/* ---- from the host alone ---- */

static double percent_of(uint64_t of, uint64_t all)
{
	return all ? 100.0 * (double)of / (double)all : 0;
}

static void clock_notes(const struct host_profile_totals *t, bool emulated, json_t *notes)
{
	uint64_t all = t->clock[0] + t->clock[1] + t->clock[2];
	char rate[48] = "";

	if (t->sample_hz)
		snprintf(rate, sizeof(rate), " (%" PRIu64 " Hz)", t->sample_hz);
	note_add(notes,
		 "%" PRIu64 " samples of vCPU threads%s: %.1f %% in the guest, %.1f %% in the "
		 "host's kernel, %.1f %% in the VMM",
		 all, rate, percent_of(t->clock[0], all), percent_of(t->clock[1], all),
		 percent_of(t->clock[2], all));
	note_add(notes, "%s",
	     emulated ? "this KVM backend emulates the guest: samples count for the guest code "
			"that the kernel was emulating"
		      : "guest code that runs with interrupts disabled is sampled, too; host code "
			"that runs with interrupts disabled (at VM-entry and VM-exit) is not");
	note_add(notes, "time when a vCPU did not run on a CPU (stolen, halted) is not counted");
}

static void host_notes(const struct host_profile_totals *t, bool emulated, json_t *notes)
{
	if (!t->host.all)
		return;
	note_add(notes,
		 "%" PRIu64 " samples of the VM's threads in the host, with call chains by frame "
		 "pointers%s: as many frames as fit (28) in the kernel %" PRIu64
		 ", in user space %" PRIu64 "; no frame of user space %" PRIu64 ", one %" PRIu64
		 " (code without frame pointers shows no callers)",
		 t->host.all, emulated ? " (of vCPU threads, only those of the VMM are shown)" : "",
		 t->host.kernel_cut, t->host.user_cut, t->host.user_none, t->host.user_one);
}

static void stack_notes(const struct host_profile_totals *t, json_t *notes)
{
	if (t->stacks)
		note_add(notes,
			 "call chains by frame pointers: %" PRIu64 ", %.1f %% of them cut: no "
			 "frame pointer %" PRIu64 ", not mapped in the guest %" PRIu64
			 ", not present in the host %" PRIu64 ", too long %" PRIu64
			 ", guest memory not found %" PRIu64 ", not in 64-bit mode %" PRIu64,
			 t->stacks, percent_of(t->stacks - t->cut[0], t->stacks), t->cut[1],
			 t->cut[2], t->cut[3], t->cut[4], t->cut[5], t->cut[6]);
}

json_t *host_profile_notes(enum host_profile_of of, const struct host_profile_totals *t)
{
	json_t *notes = json_array();

	switch (of) {
	case HOST_CLOCK:
	case HOST_EMULATED:
		clock_notes(t, of == HOST_EMULATED, notes);
		stack_notes(t, notes);
		host_notes(t, of == HOST_EMULATED, notes);
		break;
	case HOST_INTERRUPT:
		note_add(notes,
			 "%" PRIu64 " of %" PRIu64 " exits were caused by external interrupts; "
			 "those of the host's timer are unbiased samples, those of devices and "
			 "other "
			 "CPUs are not; 'record --sample HZ' uses its own timer",
			 t->interrupts, t->exits);
		break;
	case HOST_CAUSES:
		note_add(notes,
			 "this shows where the guest exits (%" PRIu64 " exits) and the latency "
			 "of the exits, not where the guest spends its time",
			 t->exits);
		if (t->unknown_ends)
			note_add(notes, "exits without a latency, as events were lost: %" PRIu64,
			     t->unknown_ends);
		break;
	case HOST_CODE:
		note_add(
			notes,
			"no event has the guest's instruction pointer: this is the host's code, by "
			"%" PRIu64 " samples of perf's counters, %" PRIu64 " of them with call "
			"chains",
			t->counters, t->chains);
		break;
	default:
		note_add(notes, "this KVM backend has no kvm_exit: only page faults and emulated "
		     "instructions contain the instruction pointer; 'record --sample HZ' samples "
		     "it at a fixed rate");
	}
	return notes;
}
