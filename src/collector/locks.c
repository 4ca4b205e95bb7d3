// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The address of QEMU's global mutex in a running process: where the executable has it
 * (plan_locks.c) plus the load bias. It is only used if what is there looks like a pthread_mutex_t
 * of glibc: otherwise every owner would be wrong.
 */
#include <elf.h>
#include <fcntl.h>
#include <inttypes.h>
#include <sys/stat.h>

#include "collector/internal.h"

enum {
	AUXV_WORDS = 128,
	KIND_MASK = ~0x303, /* normal, recursive, error-checking or adaptive; with or without lock
			       elision */
};

/* nptl/sysdeps: struct __pthread_mutex_s, x86-64. */
struct mutex_image {
	uint32_t word, count, owner, nusers, kind;
};

static int proc_open(pid_t pid, const char *name)
{
	char path[64];

	snprintf(path, sizeof(path), "/proc/%d/%s", (int)pid, name);
	return open(path, O_RDONLY | O_CLOEXEC);
}

/* A command that is about to become QEMU is another program until then. */
static bool runs(pid_t pid, const char *exe)
{
	char path[64];
	struct stat a, b;

	snprintf(path, sizeof(path), "/proc/%d/exe", (int)pid);
	return !stat(path, &a) && !stat(exe, &b) && a.st_dev == b.st_dev && a.st_ino == b.st_ino;
}

/* The address at which the program was entered; 0: unknown. */
static uint64_t entry_now(pid_t pid)
{
	uint64_t word[AUXV_WORDS];
	_cleanup_close_ int fd = proc_open(pid, "auxv");
	ssize_t n = fd < 0 ? -1 : read(fd, word, sizeof(word));

	for (ssize_t i = 0; i + 1 < n / (ssize_t)sizeof(word[0]); i += 2)
		if (word[i] == AT_ENTRY)
			return word[i + 1];
	return 0;
}

static bool looks_like_a_mutex(pid_t pid, uint64_t address)
{
	struct mutex_image m;
	_cleanup_close_ int fd = proc_open(pid, "mem");

	return fd >= 0 && pread(fd, &m, sizeof(m), (off_t)address) == sizeof(m) && m.word <= 2 &&
	       !(m.kind & (uint32_t)KIND_MASK) && (m.word || !m.owner);
}

void collector_mutex_find(struct target *t)
{
	uint64_t entry = 0;

	t->global_mutex = 0;
	snprintf(t->lock_note, sizeof(t->lock_note), "%s", t->plan.lock_note);
	if (!t->plan.global_mutex || !runs(t->pid, t->exe_open))
		return;
	entry = entry_now(t->pid);
	t->global_mutex = entry - t->plan.entry + t->plan.global_mutex;
	if (entry && looks_like_a_mutex(t->pid, t->global_mutex))
		return;
	t->global_mutex = 0;
	snprintf(t->lock_note, sizeof(t->lock_note), "%s",
		 entry ? "global mutex: what is at its address is not a mutex of glibc"
		       : "global mutex: no permission to read where the process is loaded");
}

json_t *collector_locks(const struct collector *c)
{
	json_t *all = json_array(), *one;
	char hex[32];

	for (unsigned int i = 0; c->wants[EV_sched_block] && i < c->nr_targets; i++) {
		const struct target *t = &c->targets[i];

		if (!t->plan.is_qemu)
			continue;
		one = json_pack("{s:i,s:s}", "pid", (int)t->pid, "note", t->lock_note);
		snprintf(hex, sizeof(hex), "0x%" PRIx64, t->global_mutex);
		if (t->global_mutex)
			json_object_set_new(one, "address", json_string(hex));
		json_array_append_new(all, one);
	}
	return all;
}
