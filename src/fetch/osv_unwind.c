// SPDX-License-Identifier: GPL-2.0-or-later
#include <elfutils/libdwfl.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "fetch/osv_unwind.h"

enum {
	BLOCK = 512,		   /* read at once; a part of one page */
	OBJECT_HEAD = 64,	   /* the outermost frame's saved rbp is the object's address */
	OTHER_STACK_MAX = 1 << 16, /* of a stack elsewhere, as that of system calls, from rsp on */
	ONLY_THREAD = 1,
};

/* Numbers of the x86-64 ABI's supplement, figure 3.36. */
enum { DWARF_RBP = 6, DWARF_RSP = 7, DWARF_RIP = 16 };

struct osv_unwind {
	Dwfl *dwfl;

	/* of the thread that is unwound */
	struct osv_guest *g;
	const struct osv_unwind_thread *thread;
	uint64_t rsp; /* where it began */
	uint64_t *frame;
	unsigned int nr, max;
	uint64_t block_at; /* 0: none */
	uint8_t block[BLOCK];
};

static const Dwfl_Callbacks callbacks = {
	.section_address = dwfl_offline_section_address,
	.find_elf = dwfl_build_id_find_elf,
	.find_debuginfo = dwfl_standard_find_debuginfo,
};

static bool is_in(uint64_t address, uint64_t begin, uint64_t size)
{
	return address - begin < size;
}

static bool is_stack(const struct osv_unwind *u, uint64_t address)
{
	const struct osv_unwind_thread *t = u->thread;

	return is_in(address, t->stack_begin, t->stack_size) ||
	       is_in(address, t->address + OBJECT_HEAD, t->object_size - OBJECT_HEAD) ||
	       (!is_in(u->rsp, t->stack_begin, t->stack_size) &&
		is_in(address, u->rsp, OTHER_STACK_MAX));
}

static bool word_read(Dwfl *dwfl, Dwarf_Addr address, Dwarf_Word *ret, void *arg)
{
	struct osv_unwind *u = arg;
	uint64_t block = address & ~(uint64_t)(BLOCK - 1);

	(void)dwfl;
	if (address % 8 || !is_stack(u, address))
		return false;
	if (block != u->block_at) {
		u->block_at = 0;
		if (osv_guest_read(u->g, block, u->block, BLOCK))
			return false;
		u->block_at = block;
	}
	memcpy(ret, u->block + (address - block), sizeof(*ret));
	return true;
}

static bool registers_set(Dwfl_Thread *thread, void *arg)
{
	/* rax rdx rcx rbx of DWARF's numbers in gdb's order */
	static const unsigned int of_gdb[] = {0, 3, 2, 1};
	const struct osv_unwind_thread *t = ((struct osv_unwind *)arg)->thread;
	Dwarf_Word reg[DWARF_RIP + 1];

	if (!t->vcpu)
		return dwfl_thread_state_registers(thread, DWARF_RBP, 1, &t->rbp) &&
		       dwfl_thread_state_registers(thread, DWARF_RSP, 1, &t->rsp) &&
		       dwfl_thread_state_registers(thread, DWARF_RIP, 1, &t->rip);
	for (unsigned int i = 0; i <= DWARF_RIP; i++)
		reg[i] = t->vcpu->reg[i < 4 ? of_gdb[i] : i];
	return dwfl_thread_state_registers(thread, 0, DWARF_RIP + 1, reg);
}

static pid_t thread_next(Dwfl *dwfl, void *arg, void **ret)
{
	(void)dwfl;
	if (*ret)
		return 0;
	*ret = arg;
	return ONLY_THREAD;
}

static bool thread_get(Dwfl *dwfl, pid_t tid, void *arg, void **ret)
{
	(void)dwfl;
	*ret = arg;
	return tid == ONLY_THREAD;
}

static const Dwfl_Thread_Callbacks thread_callbacks = {
	.next_thread = thread_next,
	.get_thread = thread_get,
	.memory_read = word_read,
	.set_initial_registers = registers_set,
};

static int frame_add(Dwfl_Frame *frame, void *arg)
{
	struct osv_unwind *u = arg;
	bool is_activation;
	Dwarf_Addr pc;

	if (!dwfl_frame_pc(frame, &pc, &is_activation) || !pc)
		return DWARF_CB_ABORT;
	u->frame[u->nr++] = is_activation ? pc : pc - 1;
	return u->nr < u->max ? DWARF_CB_OK : DWARF_CB_ABORT;
}

unsigned int osv_unwind(struct osv_unwind *u, struct osv_guest *g,
			const struct osv_unwind_thread *t, uint64_t *ret, unsigned int max)
{
	u->g = g;
	u->thread = t;
	u->rsp = t->vcpu ? t->vcpu->reg[GDB_RSP] : t->rsp;
	u->frame = ret;
	u->nr = 0;
	u->max = max;
	u->block_at = 0;
	if (max)
		dwfl_getthread_frames(u->dwfl, ONLY_THREAD, frame_add, u);
	return u->nr;
}

void osv_unwind_add(struct osv_unwind *u, const char *elf, const struct osv_modules *modules)
{
	dwfl_report_begin_add(u->dwfl);
	for (unsigned int i = 0; i < modules->nr; i++) {
		const struct osv_module *m = &modules->module[i];
		_cleanup_free_ char *file = m->lost ? NULL : osv_file_in_image(elf, m->path);

		if (file)
			dwfl_report_elf(u->dwfl, m->path, file, -1, m->base, true);
	}
	dwfl_report_end(u->dwfl, NULL, NULL);
}

int osv_unwind_open(const char *elf, struct osv_unwind **ret)
{
	struct osv_unwind *u = calloc(1, sizeof(*u));

	if (!u)
		return fail(-ENOMEM, "out of memory");
	u->dwfl = dwfl_begin(&callbacks);
	if (!u->dwfl || !dwfl_report_offline(u->dwfl, "guest", elf, -1) ||
	    dwfl_report_end(u->dwfl, NULL, NULL) ||
	    !dwfl_attach_state(u->dwfl, NULL, ONLY_THREAD, &thread_callbacks, u)) {
		osv_unwind_close(u);
		return fail(-EINVAL, "%s: %s", elf, dwfl_errmsg(-1));
	}
	*ret = u;
	return 0;
}

void osv_unwind_close(struct osv_unwind *u)
{
	if (u && u->dwfl)
		dwfl_end(u->dwfl);
	free(u);
}
