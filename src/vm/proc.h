/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Data of a process from /proc/PID: words of its command line, its KVM descriptors, its vCPU threads. */
#ifndef HOSTRACE_VM_PROC_H
#define HOSTRACE_VM_PROC_H

#include <stddef.h>

#include "vm/vm.h"

/* Is there such a process? A thread that does not lead its process is none; *ret_leader is then its process. */
bool proc_exists(pid_t pid, pid_t *ret_leader);

/* 'R', 'S', 'D', 'T' (stopped by a signal), 'Z', ...: proc_pid_stat(5); 0: it has ended. */
char proc_state(pid_t pid);

/*
 * When it was started, in ticks of 10 ms since boot; 0: there is no such process. Together with the pid it identifies a
 * process: pids are reused.
 */
uint64_t proc_start(pid_t pid);

/*
 * Whose process it is: of its real, effective and saved user the first that is not root, so that a program which a user
 * started with another one's rights (setuid), or which dropped its own, is that user's. False: it has ended.
 */
bool proc_owner(pid_t pid, uid_t *ret);

/*
 * The words of the command line, at most CMDLINE_WORDS_MAX of them and CMDLINE_BYTES_MAX bytes.
 * *ret_words points into *ret_text; free both. A kernel thread and a zombie have none. 0 or -errno.
 */
int proc_cmdline(pid_t pid, char **ret_text, char ***ret_words, unsigned int *ret_nr);

/* Path of the executable, without "(deleted)"; 0 or -errno (-EACCES, -ENOENT: a kernel thread).
 */
int proc_exe(pid_t pid, char *buf, size_t size);

/* The short name, "" if the process has ended. */
void proc_comm(pid_t pid, char *buf, size_t size);

/* Counts descriptors of KVM. -EACCES: they are not ours to see. */
int proc_kvm(pid_t pid, bool *ret_vm, unsigned int *ret_vcpus);

/*
 * Threads that are vCPUs by their name ("CPU 0/KVM"), in ret[index].tid; at most max entries.
 * Returns the highest index + 1. All vCPUs of a single-threaded TCG run in one thread: all entries
 * get its tid.
 */
unsigned int proc_vcpu_threads(pid_t pid, struct vm_vcpu *ret, unsigned int max);

/* CPU time of the threads of a process except the first; 0 if it has ended, or without schedstats. */
uint64_t proc_threads_run_ns(pid_t pid);

/* The threads of a process, at most max of them. Their number; 0: it cannot be read. */
unsigned int proc_threads(pid_t pid, pid_t *ret, unsigned int max);

/* How long a thread ran, and was runnable without a CPU. False: it has ended, or there are no schedstats. */
bool proc_thread_sched(pid_t pid, pid_t tid, uint64_t *ret_run_ns, uint64_t *ret_ready_ns);

/* Its path in the cgroup hierarchy: of version 2, else in that of version 1's first controller. "" if it has ended. */
void proc_cgroup(pid_t pid, char *buf, size_t size);

/* Bytes of memory that it uses; 0 if it has ended. */
uint64_t proc_resident_bytes(pid_t pid);

/* Facts about an executable without running it: its build id and, if it is a QEMU, its version. */

struct vm_exe {
	char build_id[64 + 1]; /* hex of .note.gnu.build-id, "" if none */
	char version[32];      /* "7.2.22"; "" if it is not a QEMU or not asked for */
};

/*
 * Reads a bounded part of the file, whatever its size: 64 KiB of notes and, if the version is asked for, 64 MiB. 0 or
 * -errno with the error message set; an ELF file without these facts is not an error.
 */
int vm_exe_read(const char *path, bool version, struct vm_exe *ret);

#endif
