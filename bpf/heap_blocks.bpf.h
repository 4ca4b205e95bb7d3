/* SPDX-License-Identifier: GPL-2.0-or-later */
/* record --for heap: blocks, their call stacks and sites. See heap.bpf.c. */
#ifndef HOSTRACE_HEAP_BLOCKS_BPF_H
#define HOSTRACE_HEAP_BLOCKS_BPF_H

#include "emit.bpf.h"
#include "heap.h"

enum {
	HEAP_WORDS = HEAP_STACK_BYTES / 8,
	HEAP_NEAR_BYTES = 1024,
	HEAP_SCOPE_BYTES = 16384,
	HEAP_PAGE = 4096,
};

struct heap_key {
	hr_u64 address;
	hr_u32 pid, pad;
};

struct heap_block {
	hr_u64 bytes;
	hr_u32 site; /* number + 1; 0: not known */
	hr_u32 function;
};

struct heap_thread {
	hr_u64 sp, bytes; /* of the primitive that has not returned */
	hr_u64 slot; /* where posix_memalign() puts the address; of mmap() its flags */
	hr_u64 outer_sp, scope_sp;
	hr_u64 scope_return; /* where it returns to: on the stack is the kernel's address instead */
	hr_u64 freed;	  /* what a wrapper has freed: its free() follows */
	hr_u64 last_free; /* of any block: free() unmaps large ones */
	hr_u64 old, old_bytes; /* realloc(): what it frees, unless it fails */
	hr_u32 function, outer; /* enum heap_function */
	hr_u32 nr;	  /* words */
	hr_u32 scope;	  /* g_vasprintf(), until it returns */
	struct heap_block old_block;
	hr_u64 words[HEAP_WORDS];
};

struct {
	__uint(type, BPF_MAP_TYPE_TASK_STORAGE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, int);
	__type(value, struct heap_thread);
} heap_threads SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, HEAP_BLOCKS);
	__type(key, struct heap_key);
	__type(value, struct heap_block);
} heap_live SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, VMS_MAX);
	__type(key, hr_u32);
	__type(value, struct heap_code);
	__uint(map_flags, BPF_F_NO_PREALLOC);
} heap_code SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, HEAP_SITES);
	__type(key, hr_u32);
	__type(value, struct heap_site);
	__uint(map_flags, BPF_F_MMAPABLE);
} heap_sites SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, HEAP_MISMATCHES);
	__type(key, hr_u32);
	__type(value, struct heap_mismatch);
	__uint(map_flags, BPF_F_MMAPABLE);
} heap_mismatches SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1); /* set before loading */
	__type(key, hr_u32);
	__type(value, struct heap_vm);
	__uint(map_flags, BPF_F_MMAPABLE);
} heap_vms SEC(".maps");

#define COUNT(member, n) __sync_fetch_and_add(&(member), (n))

/* NULL: not of a traced VM. */
static __always_inline struct heap_vm *heap_vm(void)
{
	hr_u32 pid = bpf_get_current_pid_tgid() >> 32, number;
	struct vm_settings *s;

	if (!vm_traced(pid))
		return NULL;
	s = bpf_map_lookup_elem(&vms, &pid);
	if (!s || !s->heap)
		return NULL;
	number = s->heap - 1;
	return bpf_map_lookup_elem(&heap_vms, &number);
}

static __always_inline struct heap_thread *heap_thread(hr_u64 flags)
{
	return bpf_task_storage_get(&heap_threads, bpf_get_current_task_btf(), NULL, flags);
}

static __always_inline bool is_near(hr_u64 sp, hr_u64 outer_sp)
{
	return sp <= outer_sp && outer_sp - sp < HEAP_NEAR_BYTES;
}

/* What the program called, if the thread is in this function now. */
static __always_inline hr_u32 called(const struct heap_thread *t, hr_u64 sp, hr_u32 function)
{
	if (t->outer)
		return t->outer;
	return t->scope && t->scope_sp - sp < HEAP_SCOPE_BYTES ? t->scope : function;
}

/* ---- stacks ---- */

/* Is it an address in a library's code? Not inlined, so that the verifier checks it once and not for each word. */
__attribute__((noinline)) int heap_is_library(hr_u64 word)
{
	hr_u32 pid = bpf_get_current_pid_tgid() >> 32;
	struct heap_code *code = bpf_map_lookup_elem(&heap_code, &pid);

	for (int i = 0; code && i < HEAP_LIBRARIES; i++) {
		if (i >= (int)code->nr)
			break;
		if (word - code->library[i].from < code->library[i].bytes)
			return 1;
	}
	return 0;
}

/* The innermost part of the stack, to t->words. In pieces: reading beyond the stack's end would fail as a whole. */
static __always_inline void stack_read(struct heap_thread *t, hr_u64 sp)
{
	t->nr = 0;
	for (int i = 0; i < HEAP_STACK_BYTES / STACK_STEP_BYTES; i++) {
		hr_u32 at = i * (STACK_STEP_BYTES / 8);

		if (t->nr != at || bpf_probe_read_user(&t->words[at], STACK_STEP_BYTES,
						       (void *)(sp + 8 * at)))
			break;
		t->nr = at + STACK_STEP_BYTES / 8;
	}
	if (t->scope && (t->scope_sp - sp) / 8 < t->nr)
		t->words[(t->scope_sp - sp) / 8 & (HEAP_WORDS - 1)] = t->scope_return;
}

#define HASH_STEP(hash, word) (((hash) ^ (word)) * 0x9e3779b97f4a7c15ull + ((hash) >> 29))

/* Of the words in t that point to code. */
static __noinline hr_u64 stack_hash(struct heap_thread *t, hr_u64 ip)
{
	hr_u32 pid = bpf_get_current_pid_tgid() >> 32;
	struct heap_code *code = bpf_map_lookup_elem(&heap_code, &pid);
	hr_u64 hash = HASH_STEP(0x51ull, ip);

	if (!code || !t)
		return hash;
	for (int i = 0; i < HEAP_WORDS; i++) {
		hr_u64 word = t->words[i];

		if (i >= (int)t->nr)
			break;
		if (word - code->exe < code->exe_bytes ||
		    (word - code->libraries < code->libraries_bytes && heap_is_library(word)))
			hash = HASH_STEP(hash, word);
	}
	return hash;
}

/* 0: no space, which is counted; tried again by the next one. */
static __noinline int stack_record(struct pt_regs *ctx, struct heap_thread *t, hr_u64 site)
{
	struct heap_stack_copy *rec;
	struct emit e;

	if (!t || !emit_begin(&e))
		return 0;
	rec = emit_reserve(&e, EV_alloc_stack, sizeof(*rec));
	if (!rec)
		return 0;
	rec->site = site;
	stack_registers(&rec->copy, ctx);
	rec->copy.sampled = 0;
	rec->copy.bytes = t->nr * 8;
	bpf_probe_read_kernel(rec->copy.stack, HEAP_STACK_BYTES, t->words);
	emit_publish(&e);
	return 1;
}

/* ---- sites ---- */

/* The site of this stack and function, by its number + 1; 0: the table is full there. */
static __noinline hr_u32 site_find(struct pt_regs *ctx, struct heap_thread *t, hr_u32 function)
{
	hr_u32 pid = bpf_get_current_pid_tgid() >> 32;
	hr_u64 key;

	if (!t)
		return 0;
	stack_read(t, PT_REGS_SP(ctx));
	key = stack_hash(t, PT_REGS_IP(ctx));
	key = HASH_STEP(key, (hr_u64)pid << 32 | function) | 1;
	for (int i = 0; i < HEAP_PROBE; i++) {
		hr_u32 number = ((hr_u32)(key >> 20) + i) & (HEAP_SITES - 1);
		struct heap_site *s = bpf_map_lookup_elem(&heap_sites, &number);
		hr_u64 was;

		if (!s)
			return 0;
		was = s->key;
		if (!was)
			was = __sync_val_compare_and_swap(&s->key, 0, key);
		if (was && was != key)
			continue;
		if (!was) {
			s->pid = pid;
			s->function = function;
			s->first_ns = bpf_ktime_get_ns();
		}
		if (!s->told && stack_record(ctx, t, key))
			s->told = 1;
		return number + 1;
	}
	return 0;
}

static __always_inline struct heap_site *site_of(hr_u32 number_1)
{
	hr_u32 number = number_1 - 1;

	return number_1 ? bpf_map_lookup_elem(&heap_sites, &number) : NULL;
}

static __always_inline hr_u32 family(hr_u32 function)
{
	if (function >= HEAP_qemu_memalign)
		return 3;
	if (function >= HEAP_g_malloc)
		return 2;
	return 1;
}

/* ---- blocks ---- */

static __always_inline void block_uncount(struct heap_vm *vm, const struct heap_block *b)
{
	struct heap_site *s = site_of(b->site);

	COUNT(vm->frees, 1);
	COUNT(vm->freed_bytes, b->bytes);
	if (!s)
		return;
	COUNT(s->frees, 1);
	COUNT(s->freed_bytes, b->bytes);
}

static __always_inline bool block_follow(struct heap_vm *vm, hr_u64 address,
					 const struct heap_block *b)
{
	struct heap_key key = {.address = address, .pid = bpf_get_current_pid_tgid() >> 32};
	struct heap_block *known = bpf_map_lookup_elem(&heap_live, &key);

	if (known) { /* freed by what is not probed */
		COUNT(vm->replaced, 1);
		block_uncount(vm, known);
	}
	if (bpf_map_update_elem(&heap_live, &key, b, BPF_ANY)) {
		COUNT(vm->not_followed, 1);
		return false;
	}
	return true;
}

static __noinline int block_born(struct pt_regs *ctx, struct heap_thread *t, hr_u64 address)
{
	struct heap_vm *vm = heap_vm();
	struct heap_block b = {};
	struct heap_site *s;

	if (!vm || !t)
		return 0;
	b.bytes = t->bytes;
	b.function = called(t, PT_REGS_SP(ctx), t->function);
	b.site = site_find(ctx, t, b.function);
	if (!block_follow(vm, address, &b))
		return 0;
	if (!b.site)
		COUNT(vm->not_sited, 1);
	COUNT(vm->allocs, 1);
	COUNT(vm->bytes, b.bytes);
	s = site_of(b.site);
	if (!s)
		return 0;
	COUNT(s->allocs, 1);
	COUNT(s->bytes, b.bytes);
	return 0;
}

static __noinline int mismatch_count(struct pt_regs *ctx, struct heap_thread *t, hr_u64 bytes,
				     hr_u64 site, hr_u32 functions)
{
	hr_u32 pid = bpf_get_current_pid_tgid() >> 32;
	struct heap_vm *vm = heap_vm();
	hr_u64 free_site, key;

	if (!t || !vm)
		return 0;
	stack_read(t, PT_REGS_SP(ctx));
	free_site = HASH_STEP(stack_hash(t, PT_REGS_IP(ctx)), pid) | 1;
	key = HASH_STEP(HASH_STEP(free_site, site), functions) | 1;
	for (int i = 0; i < HEAP_PROBE; i++) {
		hr_u32 number = ((hr_u32)(key >> 20) + i) & (HEAP_MISMATCHES - 1);
		struct heap_mismatch *m = bpf_map_lookup_elem(&heap_mismatches, &number);
		hr_u64 was;

		if (!m)
			return 0;
		was = m->key;
		if (!was)
			was = __sync_val_compare_and_swap(&m->key, 0, key);
		if (was && was != key)
			continue;
		m->pid = pid;
		m->allocated = functions >> 16;
		m->freed = functions & 0xffff;
		m->site = site;
		m->free_site = free_site;
		COUNT(m->bytes, bytes);
		COUNT(m->count, 1);
		if (!m->told && stack_record(ctx, t, free_site))
			m->told = 1;
		return 0;
	}
	COUNT(vm->mismatches, 1);
	return 0;
}

/* The block is freed by that function; *was: what it was, for realloc(). */
static __noinline int block_died(struct pt_regs *ctx, struct heap_thread *t, hr_u64 address,
				 hr_u32 function)
{
	struct heap_key key = {.address = address, .pid = bpf_get_current_pid_tgid() >> 32};
	struct heap_vm *vm = heap_vm();
	struct heap_block *b = bpf_map_lookup_elem(&heap_live, &key);
	struct heap_site *s;

	if (!vm || !t)
		return 0;
	t->last_free = address;
	t->old_block.function = 0;
	if (!b) {
		COUNT(vm->unknown, 1);
		return 0;
	}
	t->old_block = *b;
	s = site_of(b->site);
	bpf_map_delete_elem(&heap_live, &key);
	block_uncount(vm, &t->old_block);
	if (family(t->old_block.function) != family(function))
		mismatch_count(ctx, t, t->old_block.bytes, s ? s->key : 0,
			       t->old_block.function << 16 | function);
	return 1;
}

/* realloc() failed: the old block is still there. */
static __always_inline void block_back(struct heap_thread *t)
{
	struct heap_vm *vm = heap_vm();
	struct heap_site *s;

	if (!vm || !t->old_block.function || !block_follow(vm, t->old, &t->old_block))
		return;
	s = site_of(t->old_block.site);
	COUNT(vm->frees, -1ull);
	COUNT(vm->freed_bytes, -t->old_block.bytes);
	if (!s)
		return;
	COUNT(s->frees, -1ull);
	COUNT(s->freed_bytes, -t->old_block.bytes);
}

#endif
