// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Events that the user names: one program for all tracepoints, which finds what to copy by the number that it was
 * attached with (Linux 5.15). The record is the kernel's formatted entry behind our header, so that the fields are
 * where tracefs' description of the event says. The first 8 bytes of the entry, which all events have in common, hold a
 * pointer here (perf_trace_run_bpf_submit()) and are left out.
 */
#include "emit.bpf.h"

enum { ENTRY_COMMON = 8 };

const volatile hr_u32 any_host = 0; /* 1: of all threads of the host */

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, ANY_MAX);
	__type(key, hr_u32);
	__type(value, struct any_settings);
} any_events SEC(".maps");

/* A thread that belongs to no traced VM has pid 0, "unknown": readers take a pid for a VM. */
static __always_inline bool any_begin(struct emit *e)
{
	if (emit_begin(e))
		return true;
	if (!any_host)
		return false;
	e->pid = 0;
	e->vcpu = RECORD_NO_VCPU;
	ring_here(e);
	if (!e->ring)
		return false;
	thread_state(e, NULL);
	return true;
}

/* With its dynamic texts. */
static __always_inline hr_u32 record_bytes(const struct any_settings *s, void *entry)
{
	hr_u32 bytes = s->bytes;

	for (int i = 0; i < ANY_DYN_MAX; i++) {
		hr_u32 at = s->dyn[i], word = 0, end;

		if (!at)
			break;
		bpf_probe_read_kernel(&word, sizeof(word), entry + at);
		end = sizeof(struct record_hdr) + (word & 0xffff) + (word >> 16);
		if (s->relative[i])
			end += at + sizeof(word);
		if (end > bytes)
			bytes = (end + 7) & ~7u;
	}
	return bytes;
}

SEC("tp")
int tp_any(void *ctx)
{
	hr_u32 nr = (hr_u32)bpf_get_attach_cookie(ctx), bytes;
	struct any_settings *s = bpf_map_lookup_elem(&any_events, &nr);
	struct emit e;
	hr_u8 *rec;

	if (!s || nr >= ANY_MAX || !any_begin(&e))
		return PERF_SEES_IT_TOO;
	bytes = record_bytes(s, ctx);
	if (bytes > ANY_BYTES_MAX || bytes < sizeof(struct record_hdr) + ENTRY_COMMON) {
		emit_lost(&e, ANY_FIRST + nr);
		return PERF_SEES_IT_TOO;
	}
	rec = emit_reserve(&e, ANY_FIRST + nr, bytes);
	if (!rec)
		return PERF_SEES_IT_TOO;
	rec += sizeof(struct record_hdr);
	*(hr_u64 *)rec = 0;
	bytes -= sizeof(struct record_hdr) + ENTRY_COMMON;
	if (bytes && bytes <= ANY_BYTES_MAX)
		bpf_probe_read_kernel(rec + ENTRY_COMMON, bytes, ctx + ENTRY_COMMON);
	emit_publish(&e);
	return PERF_SEES_IT_TOO;
}
