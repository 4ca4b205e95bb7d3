// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Landlock (Documentation/userspace-api/landlock.rst): no file can be opened, created, renamed or deleted by name but
 * those that libraries read while they work. Inputs and outputs are opened by the supervisor or before. What newer ABIs
 * restrict is numbered here: the system's header may be older than the kernel.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <linux/bpf.h>
#include <linux/capability.h>
#include <linux/landlock.h>
#include <linux/perf_event.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <seccomp.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/process.h"
#include "base/temporary.h"
#include "confine/internal.h"

#define FS_ABI1	   ((UINT64_C(1) << 13) - 1) /* EXECUTE to MAKE_SYM */
#define FS_REFER   (UINT64_C(1) << 13)	     /* ABI 2 */
#define FS_TRUNC   (UINT64_C(1) << 14)	     /* ABI 3 */
#define NET_ALL	   UINT64_C(3)		     /* ABI 4: TCP bind and connect */
#define FS_IOCTL   (UINT64_C(1) << 15)	     /* ABI 5 */
#define SCOPE_ALL  UINT64_C(3)		     /* ABI 6: abstract Unix sockets, signals */

struct ruleset {
	uint64_t fs, net, scoped;
};

/* With what is in them. */
static const char *const readable[] = {
	"/etc/localtime", "/usr/share/zoneinfo", "/usr/lib/debug", "/usr/lib/locale",
	"/proc/cpuinfo", "/proc/self", "/proc/sys/vm/overcommit_memory", "/sys/devices/system/cpu",
	"/dev/urandom", "/dev/null",
};

static int ruleset_create(const struct ruleset *r, size_t size, unsigned int flags)
{
	return (int)syscall(SYS_landlock_create_ruleset, r, size, flags);
}

/* The ABI's version; 0: not there. */
static int landlock_version(void)
{
	int version = ruleset_create(NULL, 0, LANDLOCK_CREATE_RULESET_VERSION);

	return version > 0 ? version : 0;
}

/* The rights that this version knows, and the size of the structure that it was introduced with. */
static size_t ruleset_fill(int version, struct ruleset *ret)
{
	*ret = (struct ruleset){.fs = FS_ABI1 | (version >= 2 ? FS_REFER : 0) |
				      (version >= 3 ? FS_TRUNC : 0) |
				      (version >= 5 ? FS_IOCTL : 0),
				.net = version >= 4 ? NET_ALL : 0,
				.scoped = version >= 6 ? SCOPE_ALL : 0};
	return version >= 6 ? 24 : version >= 4 ? 16 : 8;
}

/* One that cannot be added is one file less. */
static void rule_add(int ruleset, const char *path)
{
	_cleanup_close_ int fd = open(path, O_PATH | O_CLOEXEC);
	struct landlock_path_beneath_attr rule = {.parent_fd = fd};
	struct stat st;

	if (fd < 0 || fstat(fd, &st))
		return;
	rule.allowed_access = LANDLOCK_ACCESS_FS_READ_FILE |
			      (S_ISDIR(st.st_mode) ? LANDLOCK_ACCESS_FS_READ_DIR : 0);
	syscall(SYS_landlock_add_rule, ruleset, LANDLOCK_RULE_PATH_BENEATH, &rule, 0);
}

/* The descriptor of a ruleset; -1: there is none. */
static int landlock_prepare(void)
{
	int version = landlock_version(), fd;
	struct ruleset r;
	size_t size;

	if (!version)
		return -1;
	size = ruleset_fill(version, &r);
	fd = ruleset_create(&r, size, 0);
	for (size_t i = 0; i < sizeof(readable) / sizeof(*readable) && fd >= 0; i++)
		rule_add(fd, readable[i]);
	return fd;
}

/* From now on only a few system files can be opened by name. Closes the descriptor; nothing happens if it is -1. */
static int landlock_restrict(int ruleset)
{
	int err;

	if (ruleset < 0)
		return landlock_version()
			       ? fail(-EPERM, "Landlock: cannot create a ruleset")
			       : 0;
	err = syscall(SYS_landlock_restrict_self, ruleset, 0)
		      ? fail(-errno, "Landlock: cannot restrict this process: %s", strerror(errno))
		      : 0;
	close(ruleset);
	return err;
}

/*
 * System calls, by libseccomp. Two filters: one lets calls with a path wait for the supervisor and allows the rest; the
 * other is the phase's list. Of several filters the kernel takes the strictest answer. A call that is on no list fails
 * with EPERM and does not kill: C libraries try new calls and use others if they fail, and a recording is not lost by
 * one that was forgotten. The exception are calls that none of our code and no library calls once it is confined.
 */

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
		SCMP_SYS(signalfd4), SCMP_SYS(epoll_wait), SCMP_SYS(epoll_pwait),           \
		SCMP_SYS(membarrier), SCMP_SYS(times), SCMP_SYS(rt_sigtimedwait),                  \
		SCMP_SYS(getrusage)

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
				SCMP_SYS(getsockopt), SCMP_SYS(getsockname)),
};

static const int *const writing =
	CALLS(SCMP_SYS(openat), SCMP_SYS(open), SCMP_SYS(rename), SCMP_SYS(renameat),
	      SCMP_SYS(unlink), SCMP_SYS(unlinkat), SCMP_SYS(rmdir));

static const int *const connecting =
	CALLS(SCMP_SYS(socket), SCMP_SYS(connect), SCMP_SYS(setsockopt), SCMP_SYS(getsockopt),
	      SCMP_SYS(sendmsg), SCMP_SYS(recvmsg));

static const int *const answering = CALLS(SCMP_SYS(accept4), SCMP_SYS(getsockopt));

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
#ifdef SYS_open
	RULE(f, SCMP_ACT_ALLOW, open, SCMP_A1(SCMP_CMP_MASKED_EQ, writes, O_RDONLY));
#endif
	return 0;
}

/* Its modes, and what tcsetattr(3) and tcflush(3) are; never TIOCSTI, which types commands. */
static int terminal_rules(scmp_filter_ctx f)
{
	static const unsigned int requests[] = {TCSETS, TCSETSW, TCSETSF, TCFLSH};

	for (size_t i = 0; i < sizeof(requests) / sizeof(*requests); i++)
		RULE(f, SCMP_ACT_ALLOW, ioctl, SCMP_A1(SCMP_CMP_EQ, requests[i]));
	/* readline(3) ends the process so after ^C, once the modes are as before */
	RULE(f, SCMP_ACT_ALLOW, kill, SCMP_A0(SCMP_CMP_EQ, (uint32_t)getpid()));
	return 0;
}

/* From now on only the calls of the phase. `writes`: files may be created, renamed and deleted. */
static int calls_restrict(const struct confinement *c, enum confine_phase phase, bool writes)
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
	if (!err && c->answers && (phase == CONFINE_FOLLOW || phase == CONFINE_DRAIN))
		err = rules_add(f, SCMP_ACT_ALLOW, answering);
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

/* From now on calls with a path wait for a supervisor. Its descriptor, or -errno without an error message: none. */
static int calls_supervise(void)
{
	scmp_filter_ctx f = filter_new(SCMP_ACT_ALLOW);
	int err = f ? rules_add(f, SCMP_ACT_NOTIFY, CALLS(SCMP_SYS(openat), SCMP_SYS(open),
							  SCMP_SYS(stat), SCMP_SYS(lstat),
							  SCMP_SYS(access), SCMP_SYS(faccessat),
							  SCMP_SYS(readlink),
							  SCMP_SYS(readlinkat),
							  SCMP_SYS(rename), SCMP_SYS(renameat),
							  SCMP_SYS(unlink), SCMP_SYS(unlinkat),
							  SCMP_SYS(rmdir)))
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

#define BIT(cap) (UINT64_C(1) << (cap))

#if defined(HOSTRACE_UNCONFINED)
enum { BUILT = 0 };
#else
enum { BUILT = 1 };
#endif

bool confine_built(void)
{
	return BUILT;
}

/* What reads, or also writes, all files: if there is no supervisor to do it. */
static uint64_t caps_instead(const struct confine_paths *p)
{
	return paths_any_write(p) ? BIT(CAP_DAC_OVERRIDE) | BIT(CAP_FOWNER)
				  : BIT(CAP_DAC_READ_SEARCH);
}

static bool uses_landlock(enum confine_phase phase)
{
	return phase == CONFINE_DRAIN || phase == CONFINE_READ || phase == CONFINE_SERVE;
}

/*
 * From the filter on, system calls that name a file wait for the supervisor, which has to get the filter's descriptor
 * first. So no handler of a signal may delete a file in between. 0; 1: there can be no supervisor; -errno.
 */
static int supervisor_use(struct supervisor *s)
{
	sigset_t all, before;
	int listener, err;

	sigfillset(&all);
	sigprocmask(SIG_BLOCK, &all, &before);
	listener = calls_supervise();
	err = listener < 0 ? 1 : supervisor_go(s, listener);
	sigprocmask(SIG_SETMASK, &before, NULL);
	return err;
}

/* What the process asks for is in its memory: another user's is read with CAP_SYS_PTRACE, which containers lack. */
static bool may_change_user(const struct confinement *c, const struct identity *to)
{
	return identity_droppable(to) && (!c->paths || identity_caps() & BIT(CAP_SYS_PTRACE));
}

/*
 * The order: the supervisor is a copy of what we are now; no_new_privs comes before what needs it; the list of calls is
 * last. Whether there can be a supervisor is known when its filter is loaded.
 */
static int confine_in_order(struct confinement *c, struct supervisor *s)
{
	const struct identity ordinary = identity_ordinary(),
			      *to = may_change_user(c, &ordinary) ? &ordinary : NULL;
	int death = 0, err, ruleset = uses_landlock(c->phase) ? landlock_prepare() : -1;

	prctl(PR_GET_PDEATHSIG, &death);
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0))
		return fail(-errno, "cannot set no_new_privs: %s", strerror(errno));
	err = c->paths ? supervisor_use(s) : 0;
	if (err > 0) {
		supervisor_cancel(s);
		c->alone = true;
		c->instead = identity_caps() & caps_instead(c->paths);
		err = 0;
	}
	if (!err)
		err = identity_drop(to, c->keep | c->instead);
	prctl(PR_SET_PDEATHSIG, death); /* a change of user clears it */
	if (!err)
		err = identity_verify(to, c->keep | c->instead);
	if (!err && uses_landlock(c->phase) && !c->alone)
		err = landlock_restrict(ruleset);
	if (!err && c->phase != CONFINE_EXECUTE)
		err = calls_restrict(c, c->phase, paths_any_write(c->paths));
	return err;
}

static int filter_verify(void)
{
	return prctl(PR_GET_SECCOMP, 0, 0, 0, 0) == SECCOMP_MODE_FILTER
		       ? 0
		       : fail(-EPERM, "cannot restrict system calls: no filter is active");
}

enum { MEMORY_MIN = 1 << 30 };

/* Bytes that the host can give without taking them from anyone; 0: unknown. */
static uint64_t memory_available(void)
{
	_cleanup_fclose_ FILE *f = fopen("/proc/meminfo", "re");
	uint64_t kib = 0;
	char line[256];

	while (f && !kib && fgets(line, sizeof(line), f))
		sscanf(line, "MemAvailable: %" SCNu64, &kib);
	return kib << 10;
}

/* What a parser or its library wants beyond it fails, and is not taken from the VMs. */
static void memory_limit(void)
{
	uint64_t half = memory_available() / 2;
	rlim_t bytes = half > MEMORY_MIN ? half : MEMORY_MIN;
	struct rlimit data;

	if (getrlimit(RLIMIT_DATA, &data) || data.rlim_cur <= bytes)
		return;
	data.rlim_cur = data.rlim_max = bytes;
	setrlimit(RLIMIT_DATA, &data);
}

static int confine_once(struct confinement *c)
{
	struct supervisor s = {0};

	file_owner();
	clock_own();
	int err = !BUILT || !c->paths ? 0 : supervisor_start(c->paths, &s);

	if (!BUILT || err)
		return err;
	if (c->phase == CONFINE_READ || c->phase == CONFINE_SERVE)
		memory_limit();
	err = confine_in_order(c, &s);
	return err || c->phase == CONFINE_EXECUTE ? err : filter_verify();
}

static int confine_again(const struct confinement *c)
{
	int err = BUILT ? identity_caps_set(c->instead) : 0;

	if (!BUILT || err)
		return err;
	err = identity_verify(NULL, c->instead);
	if (!err && !c->alone)
		err = landlock_restrict(landlock_prepare());
	if (!err)
		err = calls_restrict(c, CONFINE_DRAIN, paths_any_write(c->paths));
	return err ? err : filter_verify();
}

/* A thread that is there before is not confined. */
int confine(struct confinement *c)
{
	bool watched = temporary_pause();
	int err = confine_once(c);

	if (watched)
		temporary_resume();
	return err;
}

int confine_more(const struct confinement *c)
{
	bool watched = temporary_pause();
	int err = confine_again(c);

	if (watched)
		temporary_resume();
	return err;
}

static bool action_available(uint32_t action)
{
	return !syscall(SYS_seccomp, SECCOMP_GET_ACTION_AVAIL, 0, &action);
}

void confine_offers(struct confine_offers *ret)
{
	struct identity to = identity_ordinary();

	*ret = (struct confine_offers){.seccomp = action_available(SECCOMP_RET_KILL_PROCESS),
				       .supervisor = action_available(SECCOMP_RET_USER_NOTIF),
				       .landlock = landlock_version(),
				       .uid = to.uid,
				       .user = to.user};
}
