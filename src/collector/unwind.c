// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Call stacks of a process's threads from copies of their stacks (struct stack_copy), by the .eh_frame of its
 * executable and libraries (libdwfl), of the files that are mapped (mapped.h); separate symbols are found by build id.
 *
 * All files are opened, and their symbols read, when the process is: unwinder_print() opens nothing.
 */
#include "collector/unwind.h"

#include <elfutils/libdwfl.h>
#include <errno.h>
#include <inttypes.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "base/error.h"
#include "base/hash.h"
#include "collector/mapped.h"
#include "event/event.h"

enum { NAME_BYTES = 120 };

/* DWARF's numbers (System V ABI, AMD64 supplement). */
enum { DWARF_RBX = 3, DWARF_RBP = 6, DWARF_RSP = 7, DWARF_R12 = 12, DWARF_RIP = 16, DWARF_REGS };

enum {
	NAMES_MAX = 1 << 16, /* further ones are looked up each time */
	FILES_MAX = 4096,    /* mapped; further ones have no names */
};

/* libdwfl looks through all symbols of a file for each address. */
struct name {
	uint64_t pc;
	char text[NAME_BYTES];
};

struct unwinder {
	Dwfl *dwfl;
	struct hash_table names;
	struct mapping *file; /* array.h: the first mapping of each file, while the process's modules are loaded */
	unsigned int nr_files, max_files;
	pid_t pid;
	const struct stack_copy *copy; /* during unwinder_print() */
};

/* One stack while it is printed. */
struct printing {
	struct unwinder *unwinder;
	char *buf;
	size_t size, len;
	unsigned int nr;
};

/* ---- files ---- */

static bool is_same_file(const struct mapping *a, const struct mapping *b)
{
	return a->inode == b->inode && a->major == b->major && a->minor == b->minor;
}

/*
 * Once for all modules: while the list is read, threads of the process wait that map or protect memory, and QEMU has
 * hundreds of libraries.
 */
static int files_read(struct unwinder *u)
{
	_cleanup_fclose_ FILE *f = mappings_open(u->pid);
	struct mapping m;

	while (f && u->nr_files < FILES_MAX && mapping_next(f, &m)) {
		if (u->nr_files && is_same_file(&u->file[u->nr_files - 1], &m))
			continue;
		if (array_reserve(u->file, u->nr_files + 1, u->max_files))
			return error_code();
		u->file[u->nr_files++] = m;
	}
	return 0;
}

static void files_forget(struct unwinder *u)
{
	free(u->file);
	u->file = NULL;
	u->nr_files = u->max_files = 0;
}

/* What is mapped at this address, from its begin. */
static int mapped_open(const struct unwinder *u, uint64_t start)
{
	const struct mapping *m =
		array_find(u->file, u->nr_files, i, u->file[i].from == start);

	return m ? mapping_open(u->pid, m) : -1;
}

static int module_open(Dwfl_Module *module, void **data, const char *name, Dwarf_Addr base,
		       char **file, Elf **elf)
{
	void **arg;
	const struct unwinder *s;

	(void)file;
	(void)elf;
	(void)data;
	if (*name != '/')
		return -1; /* the vdso */
	dwfl_module_info(module, &arg, NULL, NULL, NULL, NULL, NULL, NULL);
	s = *arg;
	return s ? mapped_open(s, base) : -1;
}

static const Dwfl_Callbacks files = {
	.find_elf = module_open,
	.find_debuginfo = dwfl_build_id_find_debuginfo,
};

static int module_own(Dwfl_Module *module, void **data, const char *name, Dwarf_Addr start, void *s)
{
	(void)module;
	(void)name;
	(void)start;
	*data = s;
	return DWARF_CB_OK;
}

/* Later there may be no right to open files. */
static int module_load(Dwfl_Module *module, void **data, const char *name, Dwarf_Addr start,
		       void *arg)
{
	Dwarf_Addr bias;

	(void)data;
	(void)name;
	(void)start;
	(void)arg;
	if (dwfl_module_getelf(module, &bias)) {
		dwfl_module_getsymtab(module);
		dwfl_module_eh_cfi(module, &bias);
	}
	return DWARF_CB_OK;
}

/* ---- one thread, whose registers and stack are those of the copy ---- */

static pid_t thread_only(Dwfl *dwfl, void *arg, void **thread)
{
	const struct unwinder *s = arg;

	(void)dwfl;
	if (*thread)
		return 0;
	*thread = arg;
	return s->pid;
}

static bool thread_get(Dwfl *dwfl, pid_t tid, void *arg, void **thread)
{
	(void)dwfl;
	(void)tid;
	*thread = arg;
	return true;
}

static bool stack_read(Dwfl *dwfl, Dwarf_Addr address, Dwarf_Word *ret, void *arg)
{
	const struct stack_copy *copy = ((const struct unwinder *)arg)->copy;
	uint64_t at = address - copy->rsp;

	(void)dwfl;
	if (address < copy->rsp || copy->bytes > sizeof(copy->stack) || copy->bytes < 8 ||
	    at > copy->bytes - 8)
		return false;
	memcpy(ret, copy->stack + at, sizeof(*ret));
	return true;
}

/* On arm64 the copy lacks registers that functions preserve: no frame is better than a wrong one. */
static bool registers_set(Dwfl_Thread *thread, void *arg)
{
#ifdef __x86_64__
	const struct stack_copy *copy = ((const struct unwinder *)arg)->copy;
	Dwarf_Word reg[DWARF_REGS] = {0};

	reg[DWARF_RBX] = copy->rbx;
	reg[DWARF_RBP] = copy->rbp;
	reg[DWARF_RSP] = copy->rsp;
	memcpy(&reg[DWARF_R12], copy->r12_r15, sizeof(copy->r12_r15));
	reg[DWARF_RIP] = copy->rip;
	return dwfl_thread_state_registers(thread, 0, DWARF_REGS, reg);
#else
	(void)thread;
	(void)arg;
	return false;
#endif
}

static const Dwfl_Thread_Callbacks threads = {
	.next_thread = thread_only,
	.get_thread = thread_get,
	.memory_read = stack_read,
	.set_initial_registers = registers_set,
};

/* ---- names ---- */

/* Whole names only. */
static void frame_add(struct printing *p, const char *name)
{
	size_t len = strlen(name), sep = p->len ? 1 : 0;

	if (p->len + sep + len >= p->size) {
		p->size = p->len + 1; /* no later one either */
		return;
	}
	if (sep)
		p->buf[p->len++] = ';';
	memcpy(p->buf + p->len, name, len + 1);
	p->len += len;
}

static void frame_name(Dwfl *dwfl, Dwarf_Addr pc, char *buf, size_t size)
{
	Dwfl_Module *module = dwfl_addrmodule(dwfl, pc);
	const char *name = module ? dwfl_module_addrname(module, pc) : NULL;
	const char *file = NULL;
	Dwarf_Addr bias = 0;

	if (name) {
		snprintf(buf, size, "%.*s", (int)strcspn(name, "@"), name); /* no symbol version */
	} else if (module && dwfl_module_getelf(module, &bias)) {
		file = dwfl_module_info(module, NULL, NULL, NULL, NULL, NULL, NULL, NULL);
		file = file && strrchr(file, '/') ? strrchr(file, '/') + 1 : "?";
		/* "qemu-system-x86_64 (deleted)" */
		snprintf(buf, size, "%.*s+0x%" PRIx64, (int)strcspn(file, " "), file, pc - bias);
	} else {
		snprintf(buf, size, "0x%" PRIx64, pc);
	}
	text_sanitize(buf);
	for (; *buf; buf++)
		if (*buf == ';')
			*buf = ':';
}

static const char *frame_name_cached(struct unwinder *u, Dwarf_Addr pc, char buf[NAME_BYTES])
{
	bool first;
	struct name *n = hash_add_u64(&u->names, pc, &first);

	if (!n || first)
		frame_name(u->dwfl, pc, n ? n->text : buf, NAME_BYTES);
	return n ? n->text : buf;
}

static int frame_print(Dwfl_Frame *frame, void *arg)
{
	struct printing *p = arg;
	bool exact;
	char buf[NAME_BYTES];
	Dwarf_Addr pc;

	if (!dwfl_frame_pc(frame, &pc, &exact) || p->nr == STACK_FRAMES_MAX)
		return DWARF_CB_ABORT;
	p->nr++;
	/* The return address follows the call. */
	frame_add(p, frame_name_cached(p->unwinder, exact ? pc : pc - 1, buf));
	return DWARF_CB_OK;
}

unsigned int unwinder_print(struct unwinder *s, const struct stack_copy *copy, char *buf,
			    size_t size)
{
	struct printing p = {.unwinder = s, .buf = buf, .size = size};

	*buf = '\0';
	s->copy = copy;
	/* Its error is the end of the stack. */
	dwfl_getthread_frames(s->dwfl, s->pid, frame_print, &p);
	s->copy = NULL;
	return p.nr;
}

static int modules_load(struct unwinder *s)
{
	int err = files_read(s);

	if (err)
		return err;
	dwfl_getmodules(s->dwfl, module_own, s, 0);
	dwfl_getmodules(s->dwfl, module_load, NULL, 0);
	files_forget(s);
	return dwfl_attach_state(s->dwfl, NULL, s->pid, &threads, s) ? 0 : -EINVAL;
}

struct unwinder *unwinder_open(pid_t pid)
{
	struct unwinder *s = calloc(1, sizeof(*s));

	if (!s) {
		fail(-ENOMEM, "out of memory");
		return NULL;
	}
	s->pid = pid;
	s->names = HASH_TABLE(struct name, 1, NAMES_MAX);
	s->dwfl = dwfl_begin(&files);
	if (s->dwfl && !dwfl_linux_proc_report(s->dwfl, pid) &&
	    !dwfl_report_end(s->dwfl, NULL, NULL) && !modules_load(s))
		return s;
	fail(-EINVAL, "process %d: %s", (int)pid, dwfl_errmsg(-1));
	unwinder_close(s);
	return NULL;
}

bool unwinder_knows(const struct unwinder *s, uint64_t address)
{
	return dwfl_addrmodule(s->dwfl, address);
}

void unwinder_close(struct unwinder *s)
{
	if (!s)
		return;
	dwfl_end(s->dwfl);
	hash_deinit(&s->names);
	files_forget(s);
	free(s);
}
