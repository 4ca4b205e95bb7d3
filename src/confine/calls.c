// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * System calls, by libseccomp. Two filters: one lets calls with a path wait for the supervisor and allows the rest; the
 * other is the phase's list. Of several filters the kernel takes the strictest answer. A call that is on no list fails
 * with EPERM and does not kill: C libraries try new calls and use others if they fail, and a recording is not lost by
 * one that was forgotten. The exception are calls that none of our code and no library calls once it is confined.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/bpf.h>
#include <linux/perf_event.h>
#include <sched.h>
#include <seccomp.h>
#include <signal.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/error.h"
#include "confine/internal.h"

#define CALLS(...) ((const int[]){__VA_ARGS__, CALLS_END})
enum { CALLS_END = -100000 }; /* SCMP_SYS() of a call that an architecture lacks is a small negative number */

/* What every phase may: files that are open, memory, time, threads, its own signals. */
#define BASE_CALLS                                                                                 \
	SCMP_SYS(read), SCMP_SYS(readv), SCMP_SYS(pread64), SCMP_SYS(preadv), SCMP_SYS(write),     \
		SCMP_SYS(writev), SCMP_SYS(pwrite64), SCMP_SYS(lseek), SCMP_SYS(close),            \
		SCMP_SYS(fstat), SCMP_SYS(fstatfs), SCMP_SYS(ftruncate), SCMP_SYS(fallocate),      \
		SCMP_SYS(fsync), SCMP_SYS(fdatasync), SCMP_SYS(flock), SCMP_SYS(fadvise64),        \
		SCMP_SYS(fcntl), SCMP_SYS(dup), SCMP_SYS(munmap), SCMP_SYS(mremap), SCMP_SYS(brk), \
		SCMP_SYS(madvise), SCMP_SYS(futex), SCMP_SYS(set_robust_list), SCMP_SYS(rseq),     \
		SCMP_SYS(exit), SCMP_SYS(exit_group), SCMP_SYS(sched_yield),                       \
		SCMP_SYS(sched_getaffinity), SCMP_SYS(getpid), SCMP_SYS(gettid),                   \
		SCMP_SYS(getppid), SCMP_SYS(getuid), SCMP_SYS(geteuid), SCMP_SYS(getgid),          \
		SCMP_SYS(getegid), SCMP_SYS(clock_gettime), SCMP_SYS(clock_getres),                \
		SCMP_SYS(gettimeofday), SCMP_SYS(time), SCMP_SYS(nanosleep),                       \
		SCMP_SYS(clock_nanosleep), SCMP_SYS(rt_sigaction), SCMP_SYS(rt_sigprocmask),       \
		SCMP_SYS(rt_sigreturn), SCMP_SYS(sigaltstack), SCMP_SYS(restart_syscall),          \
		SCMP_SYS(poll), SCMP_SYS(ppoll), SCMP_SYS(select), SCMP_SYS(pselect6),             \
		SCMP_SYS(getrandom), SCMP_SYS(getrlimit), SCMP_SYS(sysinfo), SCMP_SYS(uname),      \
		SCMP_SYS(getcwd), SCMP_SYS(wait4), SCMP_SYS(waitid), SCMP_SYS(getdents64),         \
		SCMP_SYS(signalfd4), SCMP_SYS(epoll_wait), SCMP_SYS(membarrier), SCMP_SYS(times),  \
		SCMP_SYS(rt_sigtimedwait), SCMP_SYS(getrusage)

/* Calls with a path, which the supervisor answers, or which Landlock and the user's rights restrict. */
#define PATH_CALLS                                                                                 \
	SCMP_SYS(newfstatat), SCMP_SYS(stat), SCMP_SYS(lstat), SCMP_SYS(access),                   \
		SCMP_SYS(faccessat), SCMP_SYS(readlink), SCMP_SYS(readlinkat), SCMP_SYS(statx)

static const int *const allowed[] = {
	[CONFINE_FOLLOW] =
		CALLS(BASE_CALLS, PATH_CALLS, SCMP_SYS(bpf), SCMP_SYS(perf_event_open),
		      SCMP_SYS(ioctl), SCMP_SYS(pidfd_open), SCMP_SYS(epoll_create1),
		      SCMP_SYS(epoll_ctl), SCMP_SYS(prctl), SCMP_SYS(capget), SCMP_SYS(capset),
		      SCMP_SYS(seccomp), SCMP_SYS(landlock_create_ruleset),
		      SCMP_SYS(landlock_add_rule), SCMP_SYS(landlock_restrict_self),
		      SCMP_SYS(pipe2), SCMP_SYS(sendto), SCMP_SYS(recvfrom), SCMP_SYS(shutdown)),
	[CONFINE_WATCH] = CALLS(BASE_CALLS, PATH_CALLS, SCMP_SYS(pidfd_open), SCMP_SYS(recvfrom),
				SCMP_SYS(shutdown)),
	[CONFINE_DRAIN] = CALLS(BASE_CALLS, PATH_CALLS, SCMP_SYS(recvfrom), SCMP_SYS(shutdown)),
	[CONFINE_READ] = CALLS(BASE_CALLS, PATH_CALLS),
	[CONFINE_SERVE] = CALLS(BASE_CALLS, SCMP_SYS(accept4), SCMP_SYS(recvfrom),
				SCMP_SYS(sendmsg), SCMP_SYS(shutdown), SCMP_SYS(setsockopt),
				SCMP_SYS(getsockopt), SCMP_SYS(getsockname), SCMP_SYS(epoll_ctl)),
};

static const int *const writing =
	CALLS(SCMP_SYS(openat), SCMP_SYS(open), SCMP_SYS(rename), SCMP_SYS(unlink));

static const int *const connecting =
	CALLS(SCMP_SYS(socket), SCMP_SYS(connect), SCMP_SYS(setsockopt), SCMP_SYS(getsockopt),
	      SCMP_SYS(sendmsg), SCMP_SYS(recvmsg));

/* The end of the process. */
static const int *const fatal =
	CALLS(SCMP_SYS(execve), SCMP_SYS(execveat), SCMP_SYS(ptrace), SCMP_SYS(process_vm_readv),
	      SCMP_SYS(process_vm_writev), SCMP_SYS(mount), SCMP_SYS(umount2), SCMP_SYS(pivot_root),
	      SCMP_SYS(chroot), SCMP_SYS(setns), SCMP_SYS(unshare), SCMP_SYS(init_module),
	      SCMP_SYS(finit_module), SCMP_SYS(delete_module), SCMP_SYS(kexec_load),
	      SCMP_SYS(kexec_file_load), SCMP_SYS(open_by_handle_at), SCMP_SYS(userfaultfd),
	      SCMP_SYS(io_uring_setup), SCMP_SYS(keyctl), SCMP_SYS(add_key), SCMP_SYS(request_key),
	      SCMP_SYS(iopl), SCMP_SYS(ioperm), SCMP_SYS(reboot), SCMP_SYS(swapon));

/* -EDOM: the call does not exist on this machine. */
static int rules_add(scmp_filter_ctx f, uint32_t action, const int *calls)
{
	for (; *calls != CALLS_END; calls++) {
		int err = seccomp_rule_add_exact(f, action, *calls, 0);

		if (err && err != -EDOM)
			return err;
	}
	return 0;
}

#define RULE(f, action, call, ...)                                                                 \
	do {                                                                                       \
		int err_ = seccomp_rule_add_array(f, action, SCMP_SYS(call),                       \
						  sizeof((struct scmp_arg_cmp[]){__VA_ARGS__}) /   \
							  sizeof(struct scmp_arg_cmp),             \
						  (struct scmp_arg_cmp[]){__VA_ARGS__});           \
		if (err_)                                                                          \
			return err_;                                                               \
	} while (0)

/* Not to an address: a socket that is not connected sends nothing. */
static int rules_to_send(scmp_filter_ctx f)
{
	RULE(f, SCMP_ACT_ALLOW, sendto, SCMP_A4(SCMP_CMP_EQ, 0));
	return 0;
}

/* Calls that depend on their arguments. */
static int rules_by_argument(scmp_filter_ctx f, enum confine_phase phase)
{
	const uint32_t allow = SCMP_ACT_ALLOW;

	/* no new code: writable memory is never executed, and files are not mapped to be executed */
	RULE(f, allow, mmap, SCMP_A2(SCMP_CMP_MASKED_EQ, PROT_EXEC, 0));
	RULE(f, allow, mprotect, SCMP_A2(SCMP_CMP_MASKED_EQ, PROT_EXEC, 0));
	/* threads, no processes; of clone3() the filter sees no flags: libraries then use clone() */
	RULE(f, allow, clone, SCMP_A0(SCMP_CMP_MASKED_EQ, CLONE_THREAD, CLONE_THREAD));
	if (seccomp_rule_add(f, SCMP_ACT_ERRNO(ENOSYS), SCMP_SYS(clone3), 0))
		return -ENOMEM;
	/* signals to itself: abort() */
	RULE(f, allow, tgkill, SCMP_A0(SCMP_CMP_EQ, (uint32_t)getpid()));
	RULE(f, allow, prlimit64, SCMP_A0(SCMP_CMP_EQ, 0), SCMP_A2(SCMP_CMP_EQ, 0));
	if (phase == CONFINE_FOLLOW)
		return 0;
	RULE(f, allow, prctl, SCMP_A0(SCMP_CMP_EQ, PR_GET_SECCOMP));
	RULE(f, allow, ioctl, SCMP_A1(SCMP_CMP_EQ, TCGETS));
	RULE(f, allow, ioctl, SCMP_A1(SCMP_CMP_EQ, TIOCGWINSZ));
	RULE(f, allow, ioctl, SCMP_A1(SCMP_CMP_EQ, PERF_EVENT_IOC_DISABLE));
	if (seccomp_rule_add(f, SCMP_ACT_KILL_PROCESS, SCMP_SYS(perf_event_open), 0))
		return -ENOMEM;
	if (phase == CONFINE_WATCH) {
		RULE(f, allow, bpf, SCMP_A0(SCMP_CMP_EQ, BPF_MAP_UPDATE_ELEM));
		RULE(f, allow, bpf, SCMP_A0(SCMP_CMP_EQ, BPF_MAP_DELETE_ELEM));
		return 0;
	}
	if (phase == CONFINE_READ || phase == CONFINE_SERVE) {
		if (seccomp_rule_add(f, SCMP_ACT_KILL_PROCESS, SCMP_SYS(bpf), 0))
			return -ENOMEM;
		return phase == CONFINE_SERVE ? rules_to_send(f) : 0;
	}
	RULE(f, SCMP_ACT_KILL_PROCESS, bpf, SCMP_A0(SCMP_CMP_NE, BPF_OBJ_GET_INFO_BY_FD));
	RULE(f, allow, bpf, SCMP_A0(SCMP_CMP_EQ, BPF_OBJ_GET_INFO_BY_FD)); /* record --cost */
	return rules_to_send(f);
}

/* As the C library forks; a limit of one's own can only be lowered. */
static int rules_to_fork(scmp_filter_ctx f)
{
	const uint32_t flags = CLONE_CHILD_CLEARTID | CLONE_CHILD_SETTID | SIGCHLD;

	RULE(f, SCMP_ACT_ALLOW, clone, SCMP_A0(SCMP_CMP_EQ, flags));
	RULE(f, SCMP_ACT_ALLOW, prlimit64, SCMP_A0(SCMP_CMP_EQ, 0),
	     SCMP_A1(SCMP_CMP_EQ, RLIMIT_FSIZE));
	return 0;
}

/* The mitigation of speculative store bypass would only make us slower: nothing here executes foreign code. */
static scmp_filter_ctx filter_new(uint32_t action)
{
	scmp_filter_ctx f = seccomp_init(action);

	if (f) {
		seccomp_attr_set(f, SCMP_FLTATR_CTL_SSB, 1);
		seccomp_attr_set(f, SCMP_FLTATR_ACT_BADARCH, SCMP_ACT_KILL_PROCESS);
		seccomp_attr_set(f, SCMP_FLTATR_CTL_OPTIMIZE, 2);
	}
	return f;
}

static int open_to_read(scmp_filter_ctx f, enum confine_phase phase)
{
	const scmp_datum_t writes = O_ACCMODE | O_CREAT | O_TRUNC | (O_TMPFILE & ~O_DIRECTORY);

	if (phase == CONFINE_SERVE)
		return 0;
	RULE(f, SCMP_ACT_ALLOW, openat, SCMP_A2(SCMP_CMP_MASKED_EQ, writes, O_RDONLY));
	RULE(f, SCMP_ACT_ALLOW, open, SCMP_A1(SCMP_CMP_MASKED_EQ, writes, O_RDONLY));
	return 0;
}

/* Its modes, and what tcsetattr(3) and tcflush(3) are; never TIOCSTI, which types commands. */
static int terminal_rules(scmp_filter_ctx f)
{
	static const unsigned int requests[] = {TCSETS, TCSETSW, TCSETSF, TCFLSH};

	for (size_t i = 0; i < sizeof(requests) / sizeof(*requests); i++)
		RULE(f, SCMP_ACT_ALLOW, ioctl, SCMP_A1(SCMP_CMP_EQ, requests[i]));
	return 0;
}

int calls_restrict(const struct confinement *c, enum confine_phase phase, bool writes)
{
	scmp_filter_ctx f = filter_new(SCMP_ACT_ERRNO(EPERM));
	int err = f ? rules_by_argument(f, phase) : -ENOMEM;

	if (!err)
		err = writes ? rules_add(f, SCMP_ACT_ALLOW, writing) : open_to_read(f, phase);

	if (!err)
		err = rules_add(f, SCMP_ACT_ALLOW, allowed[phase]);
	if (!err && c->sends && (phase == CONFINE_WATCH || phase == CONFINE_READ))
		err = rules_to_send(f);
	if (!err && c->forks)
		err = rules_to_fork(f);
	if (!err && c->connects && phase == CONFINE_FOLLOW)
		err = rules_add(f, SCMP_ACT_ALLOW, connecting);
	if (!err && c->terminal && phase != CONFINE_FOLLOW) /* which has all of ioctl() */
		err = terminal_rules(f);
	if (!err)
		err = rules_add(f, SCMP_ACT_KILL_PROCESS, fatal);
	if (!err)
		err = seccomp_load(f);
	seccomp_release(f);
	return err ? fail(err, "cannot restrict system calls: %s", strerror(-err)) : 0;
}

int calls_supervise(void)
{
	scmp_filter_ctx f = filter_new(SCMP_ACT_ALLOW);
	int err = f ? rules_add(f, SCMP_ACT_NOTIFY, CALLS(SCMP_SYS(openat), SCMP_SYS(open),
							  SCMP_SYS(stat), SCMP_SYS(lstat),
							  SCMP_SYS(access), SCMP_SYS(faccessat),
							  SCMP_SYS(readlink), SCMP_SYS(rename),
							  SCMP_SYS(unlink)))
		    : -ENOMEM;

	/* which the supervisor does not do: programs then use openat() */
	if (!err)
		err = seccomp_rule_add(f, SCMP_ACT_ERRNO(ENOSYS), SCMP_SYS(openat2), 0);
	/* fstat() is newfstatat() with AT_EMPTY_PATH in some C libraries */
	if (!err)
		err = seccomp_rule_add(f, SCMP_ACT_NOTIFY, SCMP_SYS(newfstatat), 1,
				       SCMP_A3(SCMP_CMP_MASKED_EQ, AT_EMPTY_PATH, 0));
	if (!err)
		err = seccomp_load(f);
	if (!err)
		err = seccomp_notify_fd(f);
	seccomp_release(f);
	return err;
}
