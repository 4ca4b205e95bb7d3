// SPDX-License-Identifier: GPL-2.0-or-later
/* Which cause of doc/causes.md a finding is evidence of, from the same rows that its sentence is made of. */
#include "output/report/findings.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/array.h"
#include "base/units.h"
#include "event/exit_reason.h"

enum {
	MSR_TSC_DEADLINE = 0x6e0, /* Intel SDM volume 4, table 2-2 */
	MSR_X2APIC_ICR = 0x830,
	MSR_X2APIC_INITIAL_COUNT = 0x838,
};

/* ---- exits ---- */

struct reason_class {
	const char *names; /* Intel's, then AMD's, each with a blank after it */
	const char *cause;
};

static const struct reason_class reason_classes[] = {
	{"PAUSE_INSTRUCTION pause ", "exits-pause"},
	{"EPT_MISCONFIG KVM_EXIT_MMIO ", "exits-mmio"},
	{"EPT_VIOLATION npf EXCEPTION_NMI ", "exits-memory"},
	{"IO_INSTRUCTION io KVM_EXIT_IO ", "exits-port"},
	{"CPUID cpuid ", "exits-cpuid"},
	{"EXTERNAL_INTERRUPT interrupt PREEMPTION_TIMER ", "exits-host-interrupt"},
	{"APIC_WRITE APIC_ACCESS EOI_INDUCED avic_incomplete_ipi avic_unaccelerated_access ",
	 "exits-apic"},
	{"VMLAUNCH VMRESUME VMREAD VMWRITE VMPTRLD VMCLEAR INVEPT vmrun vmload vmsave ",
	 "exits-nested"},
};

/* The MSR that was accessed most, UINT64_MAX: unknown. */
static uint64_t busiest_msr(const struct found *f)
{
	const json_t *row, *most = NULL;
	size_t i;

	json_array_foreach (rows_of(f, "msrs"), i, row)
		if (number(row, "count") > number(most, "count"))
			most = row;
	return most ? strtoull(text_of(most, "msr"), NULL, 0) : UINT64_MAX;
}

static const char *msr_cause(const struct found *f)
{
	switch (busiest_msr(f)) {
	case MSR_TSC_DEADLINE:
	case MSR_X2APIC_INITIAL_COUNT:
		return "exits-timer";
	case MSR_X2APIC_ICR:
		return "exits-ipi";
	default:
		return "exits-msr";
	}
}

static bool is_listed(const char *names, const char *name)
{
	size_t len = strlen(name), n;

	for (; *names; names += n + 1) {
		n = strcspn(names, " ");
		if (n == len && !strncasecmp(names, name, n))
			return true;
	}
	return false;
}

const char *reason_cause(const struct found *f, const char *reason)
{
	if (is_listed("MSR_READ MSR_WRITE msr ", reason))
		return msr_cause(f);
	for (size_t i = 0; i < sizeof(reason_classes) / sizeof(*reason_classes); i++)
		if (is_listed(reason_classes[i].names, reason))
			return reason_classes[i].cause;
	return "exits-other";
}

const char *device_cause(const char *what)
{
	if (!strncmp(what, "port", 4) || is_listed("KVM_EXIT_IO ", what))
		return "exits-port";
	return !strncmp(what, "MMIO", 4) || is_listed("KVM_EXIT_MMIO ", what) ? "exits-mmio"
									      : "exits-vmm";
}

bool is_of_vcpu(const json_t *row, const json_t *vcpu)
{
	return json_equal(json_object_get(row, "vcpu"), json_object_get(vcpu, "vcpu")) &&
	       !strcmp(text_of(row, "vm"), text_of(vcpu, "vm"));
}

/* Time of the exits that did not go on to the VMM: as if all took the same. */
static double kernel_ns(const json_t *row)
{
	uint64_t count = number(row, "count"), vmm = number(row, "userspace_count");

	return count > vmm ? (double)number(row, "total_ns") * (double)(count - vmm) / (double)count
			   : 0;
}

/* Of this vCPU, if its exits are known apart from others'; else of the VM. Halts are no work of KVM. */
static bool exit_counts(const json_t *row, const json_t *vcpu, bool apart)
{
	return !exit_reason_is_idle(text_of(row, "reason")) && (!apart || is_of_vcpu(row, vcpu));
}

bool exits_are_apart(const struct found *f, const json_t *vcpu)
{
	const json_t *row;
	size_t i;

	json_array_foreach (rows_of(f, "exits_of_vcpus"), i, row)
		if (is_of_vcpu(row, vcpu))
			return true;
	return false;
}

/* What KVM polls or sleeps in halts is not for the guest's other exits. */
uint64_t kernel_most_ns(const struct found *f, const json_t *vcpu)
{
	bool apart = exits_are_apart(f, vcpu);
	const json_t *row;
	double sum = 0;
	size_t i;

	json_array_foreach (rows_of(f, apart ? "exits_of_vcpus" : "exits"), i, row)
		sum += exit_counts(row, vcpu, apart) ? kernel_ns(row) : 0;
	return (uint64_t)sum;
}

const char *kernel_reason(const struct found *f, const json_t *vcpu)
{
	bool apart = exits_are_apart(f, vcpu);
	const json_t *row, *most = NULL;
	size_t i;

	json_array_foreach (rows_of(f, apart ? "exits_of_vcpus" : "exits"), i, row)
		if (exit_counts(row, vcpu, apart) && kernel_ns(row) > kernel_ns(most))
			most = row;
	return most && kernel_ns(most) * 2 > (double)kernel_most_ns(f, vcpu)
		       ? text_of(most, "reason")
		       : NULL;
}

const char *kernel_cause(const struct found *f, const json_t *vcpu)
{
	const char *reason = kernel_reason(f, vcpu), *cause = reason ? reason_cause(f, reason) : "";

	/* A port or a page that KVM emulates itself: its own interrupt controllers and timers, an ioeventfd. */
	return *cause && strcmp(cause, "exits-port") && strcmp(cause, "exits-mmio") ? cause
										    : "exits-other";
}

/* ---- queues ---- */

const char *slow_cause(const struct found *f, const json_t *row)
{
	const char *device = text_of(row, "device");
	uint64_t busy = number(json_object_get(row, "in_flight"), "busy_ns");

	return is_throttled(f, device) || disk_limits_explain(f, device, busy) ? "disk-throttled"
									       : "disk-slow";
}
