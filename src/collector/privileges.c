// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Capabilities. Loading our programs requires CAP_BPF and CAP_PERFMON (Linux 5.8); reading tracefs and
 * another user's QEMU requires CAP_DAC_READ_SEARCH and CAP_SYS_PTRACE. Where KVM is a module its type
 * information can only be listed with CAP_SYS_ADMIN (bpf(BPF_BTF_GET_NEXT_ID)), which contains the
 * first two.
 */
#include <errno.h>
#include <linux/capability.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/error.h"
#include "collector/collector.h"

struct need {
	unsigned int cap, instead; /* instead: another one that contains it */
	const char *name;
	const char *what;
};

static const struct need needs[] = {
	{CAP_BPF, CAP_SYS_ADMIN, "cap_bpf", "loading BPF programs"},
	{CAP_PERFMON, CAP_SYS_ADMIN, "cap_perfmon", "attaching BPF programs"},
	{CAP_DAC_READ_SEARCH, CAP_DAC_OVERRIDE, "cap_dac_read_search", "reading tracefs"},
	{CAP_SYS_PTRACE, CAP_SYS_PTRACE, "cap_sys_ptrace", "reading another user's QEMU"},
};
enum { NR_NEEDS = sizeof(needs) / sizeof(needs[0]) };

static uint64_t caps_effective(void)
{
	struct __user_cap_header_struct head = {.version = _LINUX_CAPABILITY_VERSION_3};
	struct __user_cap_data_struct data[2] = {0};

	if (syscall(SYS_capget, &head, data))
		return 0;
	return data[0].effective | (uint64_t)data[1].effective << 32;
}

static void caps_effective_set(uint64_t caps)
{
	struct __user_cap_header_struct head = {.version = _LINUX_CAPABILITY_VERSION_3};
	struct __user_cap_data_struct data[2] = {0};

	if (syscall(SYS_capget, &head, data))
		return;
	data[0].effective = (uint32_t)caps;
	data[1].effective = (uint32_t)(caps >> 32);
	syscall(SYS_capset, &head, data);
}

static bool has(uint64_t caps, unsigned int cap)
{
	return caps >> cap & 1;
}

/* Is KVM's BTF in a module, so that only CAP_SYS_ADMIN can find it? */
static bool kvm_is_module(void)
{
	return access("/sys/kernel/btf/kvm", F_OK) == 0;
}

static const char *own_path(char *buf, size_t size)
{
	ssize_t n = readlink("/proc/self/exe", buf, size - 1);

	if (n < 0)
		return "hostrace";
	buf[n] = '\0';
	return buf;
}

int privileges_check(void)
{
	uint64_t caps = caps_effective();
	bool admin = kvm_is_module();
	char missing[256] = "", path[512];
	size_t len = 0;

	for (unsigned int i = 0; i < NR_NEEDS; i++)
		if (!has(caps, needs[i].cap) && !has(caps, needs[i].instead))
			len += snprintf(missing + len, sizeof(missing) - len, "%s%s (%s)",
					len ? ", " : "", needs[i].name, needs[i].what);
	if (admin && !has(caps, CAP_SYS_ADMIN))
		len += snprintf(missing + len, sizeof(missing) - len, "%scap_sys_admin (%s)",
				len ? ", " : "", "type information of the kvm module");
	if (!len)
		return 0;
	return fail(-EPERM,
		    "missing capability: %s; run it as root, or grant them once: sudo setcap "
		    "cap_bpf,cap_perfmon,cap_dac_read_search,cap_sys_ptrace%s=ep %s",
		    missing, admin ? ",cap_sys_admin" : "", own_path(path, sizeof(path)));
}

uint64_t collector_attach_caps(void)
{
	const uint64_t admin = UINT64_C(1) << CAP_SYS_ADMIN,
		       caps = UINT64_C(1) << CAP_BPF | UINT64_C(1) << CAP_PERFMON;
	uint64_t before = caps_effective();
	bool sufficient;

	caps_effective_set(before & ~admin);
	sufficient = feature_uprobes();
	caps_effective_set(before);
	return sufficient ? caps : caps | admin;
}
