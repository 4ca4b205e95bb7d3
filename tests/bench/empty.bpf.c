/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The least that tracing can cost: programs that do nothing, attached where hostrace's are. */
#include <linux/bpf.h>

#include <bpf/bpf_helpers.h>

char license_text[] SEC("license") = "GPL";

#define EMPTY(event)                                                                               \
	SEC("tp_btf/" #event) int empty_##event(void *ctx)                                         \
	{                                                                                          \
		return 0;                                                                          \
	}

EMPTY(kvm_mmio)
EMPTY(kvm_pio)
EMPTY(kvm_userspace_exit)
EMPTY(kvm_exit)
EMPTY(kvm_entry)

SEC("fentry/kvm_arch_vcpu_ioctl_run")
int empty_kvm_run(void *ctx)
{
	return 0;
}
