// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Events that the user names: one program for each kind, which finds what to copy by the number that it was attached
 * with (Linux 5.15).
 *
 * Of a tracepoint, the record is the kernel's formatted entry behind our header, so that the fields are where tracefs'
 * description of the event says. The first 8 bytes of the entry, which all events have in common, hold a pointer here
 * (perf_trace_run_bpf_submit()) and are left out. Of a probe, it is a word for each value: the collector knows what
 * they are.
 */
#include "emit.bpf.h"

#include <bpf/bpf_tracing.h>
#include <bpf/usdt.bpf.h>

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

/* `load` reads the word that is compared. Comparisons go on to later ones only, so that one pass is enough. */
#define FILTER_HOLDS(s, load)                                                                      \
	({                                                                                         \
		hr_u32 next = (s)->nr_tests ? 0 : ANY_TEST_TRUE;                                   \
		for (hr_u32 i = 0; i < ANY_TESTS_MAX; i++) {                                       \
			const struct any_test *t = &(s)->test[i];                                  \
			hr_u64 word = 0;                                                           \
			if (i >= (s)->nr_tests)                                                    \
				break;                                                             \
			if (i != next)                                                             \
				continue;                                                          \
			load;                                                                      \
			next = any_test_next(t, word);                                             \
		}                                                                                  \
		next == ANY_TEST_TRUE;                                                             \
	})

static __always_inline bool entry_wanted(const struct any_settings *s, void *entry)
{
	return FILTER_HOLDS(s, bpf_probe_read_kernel(&word, t->size & 8 ? 8 : t->size & 7,
						     entry + t->at));
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

	if (!s || nr >= ANY_MAX || !any_begin(&e) || !entry_wanted(s, ctx))
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
	barrier_var(bytes); /* its bound, where the verifier of v6.1 sees it */
	if (bytes <= ANY_BYTES_MAX)
		bpf_probe_read_kernel(rec + ENTRY_COMMON, bytes, ctx + ENTRY_COMMON);
	emit_publish(&e);
	return PERF_SEES_IT_TOO;
}

/* ---- probes ---- */

/* The values of one, which are read before it is known whether it is recorded. */
struct probe {
	struct emit e;
	hr_u32 nr;
	struct any_settings *s;
	hr_u64 value[ANY_ARGS_MAX];
};

static __always_inline bool probe_begin(struct probe *p, hr_u32 nr)
{
	p->nr = nr;
	p->s = bpf_map_lookup_elem(&any_events, &nr);
	return p->s && nr < ANY_MAX && any_begin(&p->e);
}

static __always_inline void probe_emit(struct probe *p)
{
	const struct any_settings *s = p->s;
	hr_u32 bytes = s->bytes;
	hr_u64 *to;
	hr_u8 *rec;

	if (bytes > sizeof(struct record_hdr) + sizeof(p->value) ||
	    !FILTER_HOLDS(s, word = p->value[t->at & (ANY_ARGS_MAX - 1)]))
		return;
	rec = emit_reserve(&p->e, ANY_FIRST + p->nr, bytes);
	if (!rec)
		return;
	to = (hr_u64 *)(rec + sizeof(struct record_hdr));
#pragma unroll
	for (int i = 0; i < ANY_ARGS_MAX; i++) {
		if (i >= s->nr)
			break;
		to[i] = p->value[i];
	}
	emit_publish(&p->e);
}

/* The verifier wants it initialized in full. */
#define REGISTERS(ctx)                                                                             \
	{                                                                                          \
		PT_REGS_PARM1(ctx), PT_REGS_PARM2(ctx), PT_REGS_PARM3(ctx), PT_REGS_PARM4(ctx),    \
			PT_REGS_PARM5(ctx), REGS_ARG6(ctx), PT_REGS_RC(ctx), PT_REGS_SP(ctx)       \
	}

static __always_inline void values_read(struct pt_regs *ctx, struct probe *p, bool user)
{
	hr_u64 reg[ANY_REGS] = REGISTERS(ctx);

#pragma unroll
	for (int i = 0; i < ANY_ARGS_MAX; i++) {
		hr_u32 source = p->s->source[i];
		hr_u64 value = 0, at = PT_REGS_SP(ctx) + (source - ANY_STACK) * sizeof(hr_u64);

		if (i >= p->s->nr)
			break;
		if (source < ANY_STACK)
			value = reg[source & (ANY_REGS - 1)];
		else if (user)
			bpf_probe_read_user(&value, sizeof(value), (void *)at);
		else
			bpf_probe_read_kernel(&value, sizeof(value), (void *)at);
		p->value[i] = value;
	}
}

/* Functions of the kernel, entry and return. */
SEC("kprobe")
int kp_any(struct pt_regs *ctx)
{
	struct probe p = {};

	if (!probe_begin(&p, (hr_u32)bpf_get_attach_cookie(ctx)))
		return 0;
	values_read(ctx, &p, false);
	probe_emit(&p);
	return 0;
}

/* The same by the kernel's trampolines (Linux 5.19): the collector loads one more of it for each function. */
static __always_inline int trampoline(hr_u64 *ctx, bool returns)
{
	struct probe p = {};

	if (!probe_begin(&p, (hr_u32)bpf_get_attach_cookie(ctx)))
		return 0;
#pragma unroll
	for (int i = 0; i < ANY_ARGS_MAX; i++) {
		hr_u64 value = 0;

		if (i >= p.s->nr)
			break;
		if (returns && p.s->source[i] == ANY_TRAMPOLINE_RET)
			bpf_get_func_ret(ctx, &value);
		else
			bpf_get_func_arg(ctx, p.s->source[i], &value);
		p.value[i] = value;
	}
	probe_emit(&p);
	return 0;
}

SEC("fentry")
int fentry_any(hr_u64 *ctx)
{
	return trampoline(ctx, false);
}

SEC("fexit")
int fexit_any(hr_u64 *ctx)
{
	return trampoline(ctx, true);
}

/* Functions of programs, entry and return. */
SEC("uprobe")
int up_any(struct pt_regs *ctx)
{
	struct probe p = {};

	if (!probe_begin(&p, (hr_u32)bpf_get_attach_cookie(ctx)))
		return 0;
	values_read(ctx, &p, true);
	probe_emit(&p);
	return 0;
}

SEC("usdt")
int usdt_any(struct pt_regs *ctx)
{
	struct probe p = {};

	if (!probe_begin(&p, (hr_u32)bpf_usdt_cookie(ctx)))
		return 0;
#pragma unroll
	for (int i = 0; i < ANY_ARGS_MAX; i++) {
		long value = 0;

		if (i >= p.s->nr)
			break;
		bpf_usdt_arg(ctx, p.s->source[i], &value);
		p.value[i] = (hr_u64)value;
	}
	probe_emit(&p);
	return 0;
}
