// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The ORC tables of a Linux guest's kernel and modules (Documentation/arch/x86/orc-unwinder.rst): how to find the
 * caller's frame, for each address of code.
 */
#include <errno.h>
#include <inttypes.h>

#include "base/array.h"
#include "base/error.h"
#include "base/order.h"
#include "event/event.h"
#include "vm/linux/lists.h"
#include "vm/linux/modules.h"

/*
 * The kernel stack of a task that sleeps, unwound as the kernel does it for /proc/PID/stack
 * (arch/x86/kernel/unwind_orc.c): by the ORC tables of the image and the modules, by frame pointers where there are
 * none. The layout of their entries differs between releases; the guest's BTF has it. The stack is copied, and the copy
 * is only used if the task was not switched to meanwhile.
 */

enum {
	ORC_ENTRIES_MAX = 4 << 20, /* of one table; 400,000 are usual */
	ORC_ENTRY_BYTES_MAX = 16,
};

struct orc_entry {
	int16_t sp_offset, bp_offset;
	uint8_t sp_reg, bp_reg;
	bool is_signal; /* the frame's address is not a return address */
	enum orc_type type;
};

enum { OLD_TYPE_BITS = 2 }; /* to 6.3: call, registers, partial registers; the end has a bit of its own */

static const struct orc_entry frame_pointers = {.sp_offset = 16,
						.bp_offset = -16,
						.sp_reg = ORC_BP,
						.bp_reg = ORC_PREV_SP,
						.type = ORC_CALL};

static struct orc_field field_find(const struct btf_types *t, const char *name)
{
	struct orc_field f = {.bits = 0};

	f.bit = btf_bitfield(t, "orc_entry", name, &f.bits);
	return f;
}

static bool field_fits(const struct orc *o, const struct orc_field *f)
{
	return f->bits > 0 && f->bits <= 8 && f->bit >= 0 &&
	       f->bit + f->bits <= o->entry_bytes * 8;
}

static int orc_layout_find(const struct btf_types *t, struct orc *o)
{
	o->entry_bytes = btf_size(t, "orc_entry");
	o->sp_offset = btf_offset(t, "orc_entry", "sp_offset");
	o->bp_offset = btf_offset(t, "orc_entry", "bp_offset");
	o->sp_reg = field_find(t, "sp_reg");
	o->bp_reg = field_find(t, "bp_reg");
	o->type = field_find(t, "type");
	o->signal = field_find(t, "signal"); /* since 6.3 */
	o->end = field_find(t, "end");	     /* to 6.3 */
	if (o->entry_bytes <= 0 || o->entry_bytes > ORC_ENTRY_BYTES_MAX || o->sp_offset < 0 ||
	    o->bp_offset < 0 || o->sp_offset > o->entry_bytes - 2 ||
	    o->bp_offset > o->entry_bytes - 2 || !field_fits(o, &o->sp_reg) ||
	    !field_fits(o, &o->bp_reg) || !field_fits(o, &o->type))
		return fail(-ENOENT, "the guest kernel's BTF has no usable struct orc_entry");
	return 0;
}

/* ---- tables ---- */

static bool ip_read(const struct orc *o, const struct orc_table *t, uint32_t i, uint64_t *ret)
{
	uint64_t at = t->ip + 4 * (uint64_t)i;
	uint32_t offset;

	if (linux_read_u32(o->g, at, &offset))
		return false;
	*ret = at + (uint64_t)(int64_t)(int32_t)offset;
	return true;
}

static int table_add(struct orc *o, uint64_t ip, uint64_t entry, uint64_t nr)
{
	struct orc_table t = {.ip = ip, .entry = entry, .nr = (uint32_t)nr};

	if (!nr || nr > ORC_ENTRIES_MAX || !ip_read(o, &t, 0, &t.first))
		return 0;
	return array_add(o->table, o->nr, t);
}

/* Modules that cannot be read are left out. */
static int modules_add(struct orc *o, const struct btf_types *types)
{
	int nr_at = btf_offset(types, "module", "arch.num_orcs");
	int ip_at = btf_offset(types, "module", "arch.orc_unwind_ip");
	int entry_at = btf_offset(types, "module", "arch.orc_unwind");
	int list = btf_offset(types, "module", "list"), err;
	uint64_t head = linux_symbol(o->g, "modules"), ip, entry;
	_cleanup_free_ uint64_t *at = NULL;
	size_t nr_modules = 0;
	uint32_t nr;

	if (!head || nr_at < 0 || ip_at < 0 || entry_at < 0 || list < 0)
		return 0;
	err = linux_list_read(o->g, head, LINUX_MODULES_MAX, &at, &nr_modules);
	err = err == -EAGAIN ? 0 : err;
	for (size_t i = 0; i < nr_modules && !err; i++) {
		uint64_t module = at[i] - (uint64_t)list;

		if (!linux_read_u32(o->g, module + (uint64_t)nr_at, &nr) &&
		    !linux_read_u64(o->g, module + (uint64_t)ip_at, &ip) &&
		    !linux_read_u64(o->g, module + (uint64_t)entry_at, &entry))
			err = table_add(o, ip, entry, nr);
	}
	return err;
}

/* 0: also without tables; -ENOENT: with tables whose layout the BTF lacks; -ENOMEM; with the error message set. */
static int orc_open(struct linux_guest *g, const struct btf_types *types, struct orc *ret)
{
	uint64_t start = linux_symbol(g, "__start_orc_unwind_ip");
	uint64_t stop = linux_symbol(g, "__stop_orc_unwind_ip");
	uint64_t entry = linux_symbol(g, "__start_orc_unwind");
	int err;

	*ret = (struct orc){.g = g};
	if (!start || !entry) /* CONFIG_UNWINDER_FRAME_POINTER */
		return 0;
	err = orc_layout_find(types, ret);
	stop = stop ? stop : entry; /* which follows, and has the name of both */
	if (!err && stop > start)
		err = table_add(ret, start, entry, (stop - start) / 4);
	return err ? err : modules_add(ret, types);
}

static void orc_close(struct orc *o)
{
	free(o->table);
	*o = (struct orc){0};
}

/* ---- entries ---- */

static unsigned int field_of(const uint8_t *raw, const struct orc_field *f)
{
	unsigned int v = 0;

	for (int i = 0; i < f->bits; i++)
		v |= (raw[(f->bit + i) / 8] >> (f->bit + i) % 8 & 1u) << i;
	return v;
}

static enum orc_type type_of(const struct orc *o, const uint8_t *raw, uint8_t sp_reg)
{
	unsigned int type = field_of(raw, &o->type);

	if (o->type.bits > OLD_TYPE_BITS)
		return type <= ORC_REGS_PARTIAL ? (enum orc_type)type : ORC_UNDEFINED;
	if (sp_reg == ORC_REG_UNDEFINED)
		return !field_fits(o, &o->end) || field_of(raw, &o->end) ? ORC_END : ORC_UNDEFINED;
	return type <= 2 ? (enum orc_type)(ORC_CALL + type) : ORC_UNDEFINED;
}

static void entry_parse(const struct orc *o, const uint8_t *raw, struct orc_entry *ret)
{
	*ret = (struct orc_entry){
		.sp_offset = (int16_t)memory_le(raw + o->sp_offset, 2),
		.bp_offset = (int16_t)memory_le(raw + o->bp_offset, 2),
		.sp_reg = (uint8_t)field_of(raw, &o->sp_reg),
		.bp_reg = (uint8_t)field_of(raw, &o->bp_reg),
		.is_signal = field_fits(o, &o->signal) && field_of(raw, &o->signal),
	};
	ret->type = type_of(o, raw, ret->sp_reg);
}

/* The last entry that is not above the address; module tables are disjoint. */
static bool table_find(const struct orc *o, const struct orc_table *t, uint64_t address,
		       uint32_t *ret)
{
	uint32_t from = 0, to = t->nr;
	uint64_t ip;

	while (from < to) {
		uint32_t middle = from + (to - from) / 2;

		if (!ip_read(o, t, middle, &ip))
			return false;
		if (ip <= address)
			from = middle + 1;
		else
			to = middle;
	}
	*ret = from - 1;
	return from;
}

/* Where no table has the address, the entry for code with frame pointers. */
static void orc_find(const struct orc *o, uint64_t address, struct orc_entry *ret)
{
	const struct orc_table *t = NULL;
	uint8_t raw[ORC_ENTRY_BYTES_MAX];
	uint32_t i;

	*ret = frame_pointers;
	for (size_t n = 0; n < o->nr; n++)
		if (o->table[n].first <= address && (!t || o->table[n].first > t->first))
			t = &o->table[n];
	if (t && table_find(o, t, address, &i) &&
	    !linux_read(o->g, t->entry + (uint64_t)i * (uint64_t)o->entry_bytes, raw,
			(size_t)o->entry_bytes))
		entry_parse(o, raw, ret);
}

enum {
	/* struct pt_regs of x86-64, which is part of the entry code */
	REGS_BP = 32,
	REGS_IP = 128,
	REGS_CS = 136,
	REGS_SP = 152,
	STACK_BYTES = 16 << 10, /* without KASAN */
};

struct range {
	uint64_t from, to;
};

/* Offsets within struct task_struct, and in struct inactive_task_frame. */
struct layout {
	int stack, sp, on_cpu, switches, switches_forced;
	int frame_bp, frame_ip, frame_bytes;
	int stack_bytes;
};

struct linux_unwinder {
	struct linux_guest *g;
	struct layout l;
	struct orc orc;
	struct range unseen[2]; /* code of the scheduler and of locks */
	uint64_t fork; /* ret_from_fork, where tasks begin: not a return address */
	uint32_t *by_address; /* symbols */
};

/* A copy of a stack, and where the unwinder is. */
struct walk {
	const struct linux_unwinder *u;
	const uint8_t *copy;
	uint64_t at; /* address of the copy */
	uint64_t ip, sp, bp;
	bool is_exact; /* ip is not a return address */
	bool user;
};

/* THREAD_SIZE: that of the first task's stack, between two symbols of the linker. */
static int stack_bytes(const struct linux_guest *g)
{
	uint64_t from = linux_symbol(g, "__start_init_stack"); /* since 6.11 */
	uint64_t to = linux_symbol(g, "__end_init_stack");

	from = from ? from : linux_symbol(g, "__start_init_task");
	to = to ? to : linux_symbol(g, "__end_init_task");
	return from && to > from && to - from <= LINUX_STACK_BYTES_MAX ? (int)(to - from)
								       : STACK_BYTES;
}

static int layout_find(const struct linux_guest *g, const struct btf_types *t, struct layout *ret)
{
	*ret = (struct layout){
		.stack = btf_offset(t, "task_struct", "stack"),
		.sp = btf_offset(t, "task_struct", "thread.sp"),
		.on_cpu = btf_offset(t, "task_struct", "on_cpu"),
		.switches = btf_offset(t, "task_struct", "nvcsw"),
		.switches_forced = btf_offset(t, "task_struct", "nivcsw"),
		.frame_bp = btf_offset(t, "inactive_task_frame", "bp"),
		.frame_ip = btf_offset(t, "inactive_task_frame", "ret_addr"),
		.frame_bytes = btf_size(t, "inactive_task_frame"),
		.stack_bytes = stack_bytes(g),
	};
	if (ret->stack < 0 || ret->sp < 0 || ret->on_cpu < 0 || ret->switches < 0 ||
	    ret->switches_forced < 0 || ret->frame_bp < 0 || ret->frame_ip < 0 ||
	    ret->frame_bytes < 0)
		return fail(-ENOENT,
			    "the guest kernel's BTF has no usable struct inactive_task_frame");
	return 0;
}

/* ---- symbols ---- */

static int by_address(const void *va, const void *vb, void *arg)
{
	const struct kallsym *s = arg;
	uint32_t a = *(const uint32_t *)va, b = *(const uint32_t *)vb;

	return order_u64(s[a].address, s[b].address) ?: order_u64(a, b);
}

static int symbols_sort(struct linux_unwinder *u)
{
	const struct kallsyms *k = &u->g->symbols;

	u->by_address = calloc(k->nr + 1, sizeof(*u->by_address));
	if (!u->by_address)
		return fail(-ENOMEM, "out of memory");
	for (size_t i = 0; i < k->nr; i++)
		u->by_address[i] = (uint32_t)i;
	qsort_r(u->by_address, k->nr, sizeof(*u->by_address), by_address, k->symbol);
	return 0;
}

const char *linux_frame_print(const struct linux_unwinder *u, uint64_t address, char *buf,
			      size_t size)
{
	const struct kallsyms *k = &u->g->symbols;
	/* the call is before the return address, and may be the last of its function */
	size_t n = array_prefix(k->nr, i, k->symbol[u->by_address[i]].address < address);
	const struct kallsym *s = n ? &k->symbol[u->by_address[n - 1]] : NULL;
	const char *name, *tab;

	if (s) { /* the first one of its address, as the kernel prints */
		n = array_prefix(n, i, k->symbol[u->by_address[i]].address < s->address);
		s = &k->symbol[u->by_address[n]];
	}
	if (!s || s->address < LINUX_IMAGE_MAP) {
		snprintf(buf, size, "0x%" PRIx64, address);
		return buf;
	}
	name = kallsym_name(k, s);
	tab = strchr(name, '\t');
	snprintf(buf, size, "%.*s+0x%" PRIx64 "%s%s", tab ? (int)(tab - name) : (int)strlen(name),
		 name, address - s->address, tab ? " " : "", tab ? tab + 1 : "");
	text_sanitize(buf);
	return buf;
}

/* ---- unwinding ---- */

static bool copy_u64(const struct walk *w, uint64_t address, uint64_t *ret)
{
	uint64_t within = address - w->at, bytes = (uint64_t)w->u->l.stack_bytes;

	if (within > bytes || bytes - within < 8)
		return false;
	*ret = memory_le(w->copy + within, 8);
	return true;
}

/* An exception's or system call's registers, at sp; `from`: which the entry code has not saved. */
static bool regs_pop(struct walk *w, uint64_t sp, uint64_t from)
{
	uint64_t regs = sp - from, cs;

	if (!copy_u64(w, regs + REGS_CS, &cs) || !copy_u64(w, regs + REGS_IP, &w->ip))
		return false;
	w->user = cs & 3;
	if (w->user)
		return true;
	w->is_exact = true;
	return copy_u64(w, regs + REGS_SP, &w->sp) &&
	       (from || copy_u64(w, regs + REGS_BP, &w->bp));
}

static bool caller_sp(const struct walk *w, const struct orc_entry *e, uint64_t *ret)
{
	uint64_t offset = (uint64_t)(int64_t)e->sp_offset;

	switch (e->sp_reg) {
	case ORC_SP:
		*ret = w->sp + offset;
		return true;
	case ORC_BP:
		*ret = w->bp + offset;
		return true;
	case ORC_BP_INDIRECT:
		return copy_u64(w, w->bp + offset, ret);
	case ORC_SP_INDIRECT:
		if (!copy_u64(w, w->sp, ret))
			return false;
		*ret += offset;
		return true;
	default: /* registers that calls do not preserve */
		return false;
	}
}

static bool frame_pop(struct walk *w, const struct orc_entry *e)
{
	uint64_t before = w->sp, sp, bp_at = (uint64_t)(int64_t)e->bp_offset;

	if (!caller_sp(w, e, &sp))
		return false;
	w->is_exact = e->is_signal;
	if (e->type == ORC_REGS || e->type == ORC_REGS_PARTIAL)
		return regs_pop(w, sp, e->type == ORC_REGS ? 0 : REGS_IP) &&
		       (w->user || w->sp > before);
	if (!copy_u64(w, sp - 8, &w->ip))
		return false;
	if (e->bp_reg == ORC_PREV_SP && !copy_u64(w, sp + bp_at, &w->bp))
		return false;
	if (e->bp_reg == ORC_BP && !copy_u64(w, w->bp + bp_at, &w->bp))
		return false;
	w->sp = sp;
	return sp > before;
}

static bool is_unseen(const struct linux_unwinder *u, uint64_t ip)
{
	return array_any(sizeof(u->unseen) / sizeof(*u->unseen), i,
			 ip >= u->unseen[i].from && ip < u->unseen[i].to);
}

static enum linux_stack_state unwind(struct walk *w, struct linux_stack *ret)
{
	struct orc_entry e;

	/* those of the scheduler do not count, but are few */
	for (int i = 0; i < 2 * LINUX_FRAMES_MAX && ret->nr < LINUX_FRAMES_MAX; i++) {
		if (w->ip < w->u->g->text) /* no code of the kernel */
			return LINUX_STACK_INCOMPLETE;
		if (!is_unseen(w->u, w->ip))
			ret->frame[ret->nr++] = w->ip;
		orc_find(&w->u->orc, w->is_exact ? w->ip : w->ip - 1, &e);
		if (e.type == ORC_END)
			return LINUX_STACK_COMPLETE;
		if (e.type == ORC_UNDEFINED || !frame_pop(w, &e))
			return LINUX_STACK_INCOMPLETE;
		if (w->user)
			return LINUX_STACK_COMPLETE;
	}
	return LINUX_STACK_INCOMPLETE;
}

/* ---- a task ---- */

struct moment {
	uint64_t stack, sp, switches, switches_forced;
	uint32_t on_cpu;
};

static bool moment_read(const struct linux_unwinder *u, uint64_t task, struct moment *ret)
{
	const struct layout *l = &u->l;

	memset(ret, 0, sizeof(*ret));
	return !linux_read_u64(u->g, task + (uint64_t)l->stack, &ret->stack) &&
	       !linux_read_u64(u->g, task + (uint64_t)l->sp, &ret->sp) &&
	       !linux_read_u64(u->g, task + (uint64_t)l->switches, &ret->switches) &&
	       !linux_read_u64(u->g, task + (uint64_t)l->switches_forced, &ret->switches_forced) &&
	       !linux_read_u32(u->g, task + (uint64_t)l->on_cpu, &ret->on_cpu) && ret->stack;
}

static bool walk_begin(struct walk *w, const struct moment *m)
{
	const struct layout *l = &w->u->l;

	w->at = m->stack;
	w->sp = m->sp + (uint64_t)l->frame_bytes;
	if (!copy_u64(w, m->sp + (uint64_t)l->frame_bp, &w->bp) ||
	    !copy_u64(w, m->sp + (uint64_t)l->frame_ip, &w->ip))
		return false;
	w->is_exact = w->ip == w->u->fork;
	return true;
}

void linux_stack_read(struct linux_unwinder *u, uint64_t task, struct linux_stack *ret)
{
	uint8_t copy[LINUX_STACK_BYTES_MAX];
	struct walk w = {.u = u, .copy = copy};
	struct moment before, after;

	ret->nr = 0;
	ret->state = LINUX_STACK_NONE;
	for (int i = 0; i < LINUX_RETRIES; i++) {
		if (!moment_read(u, task, &before) ||
		    linux_read(u->g, before.stack, copy, (size_t)u->l.stack_bytes) ||
		    !moment_read(u, task, &after))
			return;
		ret->state = before.on_cpu ? LINUX_STACK_RUNNING : LINUX_STACK_CHANGING;
		if (!before.on_cpu && !memcmp(&before, &after, sizeof(before))) {
			ret->state = walk_begin(&w, &before) ? unwind(&w, ret)
							     : LINUX_STACK_INCOMPLETE;
			return;
		}
	}
}

const char *linux_stack_state_name(enum linux_stack_state state)
{
	static const char *const names[] = {"complete", "incomplete", "running", "changing",
					    "none"};

	return names[state];
}

/* ---- opening ---- */

static struct range range_of(const struct linux_guest *g, const char *from, const char *to)
{
	return (struct range){linux_symbol(g, from), linux_symbol(g, to)};
}

int linux_unwinder_open(struct linux_guest *g, const struct btf_types *types,
			struct linux_unwinder **ret)
{
	struct linux_unwinder *u = calloc(1, sizeof(*u));
	int err;

	*ret = u;
	if (!u)
		return fail(-ENOMEM, "out of memory");
	u->g = g;
	linux_reads_begin(g);
	u->unseen[0] = range_of(g, "__sched_text_start", "__sched_text_end");
	u->unseen[1] = range_of(g, "__lock_text_start", "__lock_text_end");
	u->fork = linux_symbol(g, "ret_from_fork_asm"); /* since 6.6 */
	u->fork = u->fork ? u->fork : linux_symbol(g, "ret_from_fork");
	err = layout_find(g, types, &u->l);
	if (!err)
		err = orc_open(g, types, &u->orc);
	return err ? err : symbols_sort(u);
}

void linux_unwinder_close(struct linux_unwinder *u)
{
	if (!u)
		return;
	orc_close(&u->orc);
	free(u->by_address);
	free(u);
}
