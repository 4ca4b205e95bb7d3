/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What the threads of a process do now, as /proc shows it. Nothing waits for the process, or for a file system that it
 * waits for: links of descriptors are read, the files behind them are never touched.
 */
#ifndef HOSTRACE_THREAD_STATE_H
#define HOSTRACE_THREAD_STATE_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

enum { THREADS_MAX = 65536, THREAD_STACK_TEXT = 2048, THREAD_ARGS = 6 };

/* What a descriptor of the process is: the path or the kind, and its file system's type. */
struct thread_file {
	char name[256]; /* "/var/disk.img", "anon_inode:[eventfd]"; "" if unknown */
	char type[32];	/* "ext4", "fuse.sshfs"; "" if unknown */
};

struct thread_state {
	pid_t tid;
	pid_t ns_tid; /* in the process's own PID namespace; 0: unknown */
	char comm[16];
	char state;   /* of /proc/TID/stat: R S D T t Z ... */
	pid_t tracer; /* the process that traces it; 0: none */
	char tracer_comm[16];
	char wchan[64]; /* kernel function that it sleeps in; "" if unknown */
	char stack[THREAD_STACK_TEXT]; /* kernel functions, innermost first, "a;b;c"; "" if unknown */

	/* Functions of the program, innermost first, "a;b;c": not set by threads_read(); "": unknown. */
	char user_stack[THREAD_STACK_TEXT];

	bool in_syscall; /* the following are known */
	long syscall;
	uint64_t arg[THREAD_ARGS];
	struct thread_file file; /* that the call works on */
	pid_t mutex_owner; /* it waits for a mutex that this thread (ns_tid) holds; 0: none, or not asked yet */
	uint64_t sp, pc; /* in user mode; 0: it runs */

	uint64_t cpu_ns;   /* that it has used */
	uint64_t user_ns, kernel_ns, guest_ns; /* the same by mode, in steps of 10 ms */
	uint64_t since_ns; /* CLOCK_MONOTONIC, when it last ran, to some ms; 0: unknown */
};

/*
 * All threads; now_ns is CLOCK_MONOTONIC. *ret is allocated. stacks_err is why kernel stacks are unknown (0: they are
 * known). 0 or -errno with the error message set.
 */
int threads_read(pid_t pid, uint64_t now_ns, struct thread_state **ret, unsigned int *ret_nr,
		 int *stacks_err);

/* The state as a text: "sleeping", "stopped". */
const char *thread_state_name(char state);

/* "pwrite64"; NULL: unknown. */
const char *syscall_name(long nr);

/* The descriptor that a system call works on; -1: none. */
int syscall_fd(const struct thread_state *t);

/* What an eventfd of the process counts; -1: unknown. */
int64_t eventfd_count(pid_t pid, int fd);

struct socket_peer {
	int fd; /* of the process */
	pid_t pid; /* the peer's; 0: unknown, or on another host */
	char comm[16];
	char state;	      /* of the peer: R S D T t ..., 0: unknown */
	uint32_t unread;      /* bytes that the peer has received and not read; 0 also if unknown */
	uint32_t unsent;      /* TCP: bytes not acknowledged */
	uint32_t retransmits; /* TCP: of the oldest of them */
};

/*
 * *ret is allocated; connected sockets only. Other network namespaces than ours are seen for TCP, not for Unix sockets.
 * 0 or -ENOMEM with the error message set.
 */
int socket_peers_read(pid_t pid, struct socket_peer **ret, unsigned int *ret_nr);

#endif
