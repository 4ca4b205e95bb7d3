// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The tracepoints of events_kvm.def: their programs copy the formatted record's fields, which have the same names.
 * Several times as expensive as the tracepoint's arguments (kvm.bpf.c), but they are rare or recorded on request.
 */
#include "emit.bpf.h"

/* Tracepoints of a class have its struct; CO-RE ignores what follows "___". */
#define trace_event_raw_kvm_try_async_get_page trace_event_raw_kvm_async_get_page_class___try
#define trace_event_raw_kvm_async_pf_repeated_fault \
	trace_event_raw_kvm_async_get_page_class___repeated
#define trace_event_raw_kvm_async_pf_not_present \
	trace_event_raw_kvm_async_pf_nopresent_ready___absent
#define trace_event_raw_kvm_async_pf_ready trace_event_raw_kvm_async_pf_nopresent_ready___ready

#define EVENT(id, name, doc)	    struct trace_event_raw_##name {
#define FIELD(type, name, fmt, doc) hr_##type name;
#define PAD(bytes)
#define END(name)		    };
#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)
#include "events_kvm.def"
#pragma clang attribute pop
#undef EVENT
#undef FIELD
#undef END

#define EVENT(id, name, doc)                                                                       \
	SEC("tp/kvm/" #name)                                                                       \
	int tp_##name(struct trace_event_raw_##name *ctx)                                          \
	{                                                                                          \
		struct emit e;                                                                     \
		struct rec_##name *rec = record_begin(&e, name);                                   \
		if (!rec)                                                                          \
			return PERF_SEES_IT_TOO;
#define FIELD(type, field, fmt, doc)                                                               \
		rec->field = bpf_core_field_exists(ctx->field) ? ctx->field : 0;
#define END(name)                                                                                  \
		emit_publish(&e);                                                                  \
		return PERF_SEES_IT_TOO;                                                           \
	}

#include "events_kvm.def"
