/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The least that tracing can cost: programs that do nothing, attached where hostrace's are; and that read the clock, as
 * whoever stamps an event must.
 */
#include <linux/bpf.h>

#include <bpf/bpf_helpers.h>

char license_text[] SEC("license") = "GPL";

unsigned long long newest;

#define EMPTY(event)                                                                               \
	SEC("tp_btf/" #event) int empty_##event(void *ctx)                                         \
	{                                                                                          \
		return 0;                                                                          \
	}                                                                                          \
	SEC("tp_btf/" #event) int clock_##event(void *ctx)                                         \
	{                                                                                          \
		newest = bpf_ktime_get_ns();                                                       \
		return 0;                                                                          \
	}

EMPTY(kvm_mmio)
EMPTY(kvm_pio)
EMPTY(kvm_userspace_exit)
EMPTY(kvm_exit)
EMPTY(kvm_entry)
EMPTY(kvm_fpu)
