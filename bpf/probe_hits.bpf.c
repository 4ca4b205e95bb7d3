// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * `hostrace probes`: how often each probe of a QEMU is hit. One program serves all of them; the cookie of a probe site
 * is the number of its counter. Nothing else is read, so that probes with any arguments can be counted.
 */
#include "compat.bpf.h"

/* A counter per probe; the real number is set before loading. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, hr_u32);
	__type(value, hr_u64);
	__uint(map_flags, BPF_F_MMAPABLE);
} probe_hits SEC(".maps");

SEC("uprobe")
int count_probe(struct pt_regs *ctx)
{
	hr_u32 number = (hr_u32)bpf_get_attach_cookie(ctx);
	hr_u64 *hits = bpf_map_lookup_elem(&probe_hits, &number);

	if (hits)
		__sync_fetch_and_add(hits, 1);
	return 0;
}
