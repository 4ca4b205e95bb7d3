// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * What a thread does, from /proc/PID/task/TID: status, stack, syscall, stat, sched and wchan (proc(5)). Each file may
 * be missing or unreadable without the right to trace the process; then its facts are unknown, never 0. A thread that
 * ends meanwhile is skipped.
 */
#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "base/array.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/options.h"
#include "event/event.h"
#include "event/syscall_table.h"
#include "vm/proc.h"
#include "vm/thread_state.h"

enum { LINE = 512 };

static FILE *thread_open(pid_t pid, pid_t tid, const char *what)
{
	char path[96];

	snprintf(path, sizeof(path), "/proc/%d/task/%d/%s", (int)pid, (int)tid, what);
	return fopen(path, "re");
}

static bool line_read(pid_t pid, pid_t tid, const char *what, char *line, size_t size)
{
	_cleanup_fclose_ FILE *f = thread_open(pid, tid, what);

	*line = '\0';
	if (!f || !fgets(line, (int)size, f))
		return false;
	line[strcspn(line, "\n")] = '\0';
	return true;
}

static void status_read(pid_t pid, struct thread_state *t)
{
	_cleanup_fclose_ FILE *f = thread_open(pid, t->tid, "status");
	char line[LINE];
	int tracer;

	while (f && fgets(line, sizeof(line), f)) {
		sscanf(line, "State: %c", &t->state);
		if (sscanf(line, "TracerPid: %d", &tracer) == 1)
			t->tracer = tracer;
		if (!strncmp(line, "NSpid:", 6)) /* the last one is of its own namespace */
			t->ns_tid = (pid_t)strtol(strrchr(line, '\t'), NULL, 10);
	}
	if (t->tracer)
		proc_comm(t->tracer, t->tracer_comm, sizeof(t->tracer_comm));
	text_sanitize(t->tracer_comm);
}

/* Each line is "[<0>] function+0x10/0x20 [module]". */
static int stack_read(pid_t pid, struct thread_state *t)
{
	_cleanup_fclose_ FILE *f = thread_open(pid, t->tid, "stack");
	char line[LINE], name[128];
	size_t len = 0;

	if (!f)
		return -errno;
	errno = 0;
	while (fgets(line, sizeof(line), f)) {
		if (sscanf(line, "[<%*[^>]>] %127[^+ \n]", name) != 1)
			continue;
		if (len + strlen(name) + 2 > sizeof(t->stack))
			break;
		len += (size_t)snprintf(t->stack + len, sizeof(t->stack) - len, "%s%s",
					len ? ";" : "", name);
	}
	return ferror(f) ? -errno : 0;
}

/* "NR ARG... SP PC", "-1 SP PC" outside a system call, or "running". */
static void syscall_read(pid_t pid, struct thread_state *t)
{
	char line[LINE];

	if (!line_read(pid, t->tid, "syscall", line, sizeof(line)))
		return;
	if (sscanf(line, "-1 %" SCNx64 " %" SCNx64, &t->sp, &t->pc) == 2)
		return;
	t->in_syscall = sscanf(line,
			       "%ld %" SCNx64 " %" SCNx64 " %" SCNx64 " %" SCNx64 " %" SCNx64
			       " %" SCNx64 " %" SCNx64 " %" SCNx64,
			       &t->syscall, &t->arg[0], &t->arg[1], &t->arg[2], &t->arg[3],
			       &t->arg[4], &t->arg[5], &t->sp, &t->pc) == 9;
}

/* When the scheduler last charged it, in ms of its clock; 0: unknown (a kernel without /proc/PID/sched). */
static double charged_ms(pid_t pid, pid_t tid)
{
	_cleanup_fclose_ FILE *f = thread_open(pid, tid, "sched");
	char line[LINE];
	double ms = 0;

	while (f && fgets(line, sizeof(line), f))
		if (sscanf(line, "se.exec_start : %lf", &ms) == 1)
			break;
	return ms;
}

/* Fields 14, 15 and 43 of /proc/TID/stat: user (guest included), system, guest, in ticks. */
static void modes_read(pid_t pid, struct thread_state *t)
{
	const uint64_t tick_ns = NS_PER_S / (uint64_t)sysconf(_SC_CLK_TCK);
	char line[2 * LINE];
	uint64_t value[44] = {0};
	const char *at =
		line_read(pid, t->tid, "stat", line, sizeof(line)) ? strrchr(line, ')') : NULL;

	for (unsigned int field = 2; at && field < 43; field++) {
		at = strchr(at, ' ');
		if (at)
			sscanf(++at, "%" SCNu64, &value[field + 1]);
	}
	t->guest_ns = value[43] * tick_ns;
	t->user_ns =
		value[14] * tick_ns - (value[14] > value[43] ? t->guest_ns : value[14] * tick_ns);
	t->kernel_ns = value[15] * tick_ns;
}

static void usage_read(pid_t pid, struct thread_state *t, double now_ms, uint64_t now_ns)
{
	double ms = now_ms > 0 ? charged_ms(pid, t->tid) : 0;
	char line[LINE];

	if (line_read(pid, t->tid, "schedstat", line, sizeof(line)))
		sscanf(line, "%" SCNu64, &t->cpu_ns);
	if (ms > 0 && t->state != 'R') {
		double ago_ns = (now_ms - ms) * 1e6;

		t->since_ns = ago_ns > 0 && ago_ns < (double)now_ns ? now_ns - (uint64_t)ago_ns
								    : now_ns;
	}
}

static void wchan_read(pid_t pid, struct thread_state *t)
{
	if (!line_read(pid, t->tid, "wchan", t->wchan, sizeof(t->wchan)) || !strcmp(t->wchan, "0"))
		t->wchan[0] = '\0';
	t->wchan[strcspn(t->wchan, ".")] = '\0'; /* ".constprop.0" */
	text_sanitize(t->wchan);
}

const char *thread_state_name(char state)
{
	switch (state) {
	case 'R':
		return "running";
	case 'S':
		return "sleeping";
	case 'D':
		return "blocked"; /* uninterruptible */
	case 'T':
		return "stopped";
	case 't':
		return "traced";
	case 'Z':
	case 'X':
		return "exited";
	default:
		return "unknown";
	}
}

/* ---- system calls ---- */

/* Those that QEMU's threads wait in; of the first, the first argument is the descriptor that is waited for. */
static const char calls_of_files[] =
	"read pread64 readv preadv preadv2 write pwrite64 writev pwritev pwritev2 fsync "
	"fdatasync fallocate ftruncate lseek fstat fcntl ioctl sendto sendmsg recvfrom recvmsg "
	"connect accept accept4 close copy_file_range";
static const char calls_of_others[] =
	"io_uring_enter io_submit io_getevents poll ppoll select pselect6 epoll_wait "
	"epoll_pwait futex nanosleep clock_nanosleep rt_sigtimedwait open openat stat newfstatat "
	"unlink unlinkat rename renameat restart_syscall sync madvise mmap munmap wait4";

const char *syscall_name(long nr)
{
	const char *name = syscall_of_here(nr);

	return name && (word_is_listed(calls_of_files, name) ||
			word_is_listed(calls_of_others, name))
		       ? name
		       : NULL;
}

int syscall_fd(const struct thread_state *t)
{
	const char *name = t->in_syscall ? syscall_name(t->syscall) : NULL;

	return name && word_is_listed(calls_of_files, name) && t->arg[0] < INT32_MAX
		       ? (int)t->arg[0]
		       : -1;
}

/* ---- descriptors ---- */

/* A line of /proc/PID/mountinfo: "ID PARENT DEV ROOT POINT OPTIONS [TAGS...] - TYPE SOURCE ..." */
static void type_read(pid_t pid, int mount, char *type, size_t size)
{
	char path[64];
	_cleanup_free_ char *line = NULL;
	size_t capacity = 0;
	int id;

	snprintf(path, sizeof(path), "/proc/%d/mountinfo", (int)pid);
	_cleanup_fclose_ FILE *f = fopen(path, "re");
	while (f && getline(&line, &capacity, f) > 0) {
		const char *tail = strstr(line, " - ");

		if (!tail || sscanf(line, "%d ", &id) != 1 || id != mount)
			continue;
		snprintf(type, size, "%.*s", (int)strcspn(tail + 3, " \n"), tail + 3);
		break;
	}
	text_sanitize(type);
}

/* A number after a name in /proc/PID/fdinfo/FD. */
static bool fdinfo_read(pid_t pid, int fd, const char *format, void *ret)
{
	char path[64], line[LINE];

	snprintf(path, sizeof(path), "/proc/%d/fdinfo/%d", (int)pid, fd);
	_cleanup_fclose_ FILE *f = fopen(path, "re");
	while (f && fgets(line, sizeof(line), f))
		if (sscanf(line, format, ret) == 1)
			return true;
	return false;
}

static void thread_file_read(pid_t pid, int fd, struct thread_file *ret)
{
	char path[64];
	int mount;

	*ret = (struct thread_file){0};
	snprintf(path, sizeof(path), "/proc/%d/fd/%d", (int)pid, fd);
	ssize_t n = readlink(path, ret->name, sizeof(ret->name) - 1);

	ret->name[n > 0 ? n : 0] = '\0';
	text_sanitize(ret->name);
	if (fdinfo_read(pid, fd, "mnt_id: %d", &mount) && ret->name[0] == '/')
		type_read(pid, mount, ret->type, sizeof(ret->type));
}

int64_t eventfd_count(pid_t pid, int fd)
{
	uint64_t count;

	return fd >= 0 && fdinfo_read(pid, fd, "eventfd-count: %" SCNx64, &count) ? (int64_t)count
										  : -1;
}

/* ---- threads ---- */

static int by_tid(const void *a, const void *b)
{
	const struct thread_state *x = a, *y = b;

	return (x->tid > y->tid) - (x->tid < y->tid);
}

/* Sleeps shortly, so that the scheduler charges this thread; its clock is then known to some ms. */
static double scheduler_now_ms(void)
{
	usleep(1000);
	return charged_ms(getpid(), (pid_t)gettid());
}

int threads_read(pid_t pid, uint64_t now_ns, struct thread_state **ret, unsigned int *ret_nr,
		 int *stacks_err)
{
	char path[64];
	struct thread_state *list = NULL;
	unsigned int nr = 0;
	double now_ms = scheduler_now_ms();
	struct dirent *d;

	snprintf(path, sizeof(path), "/proc/%d/task", (int)pid);
	_cleanup_closedir_ DIR *dir = opendir(path);
	if (!dir)
		return fail(-errno, "cannot read %s: %s", path, strerror(errno));
	*stacks_err = 0;
	while ((d = readdir(dir)) && nr < THREADS_MAX) {
		if (!isdigit((unsigned char)*d->d_name))
			continue;
		if (array_room(list, nr)) {
			free(list);
			return -ENOMEM;
		}
		struct thread_state *t = &list[nr];

		*t = (struct thread_state){.tid = atoi(d->d_name)};
		if (!line_read(pid, t->tid, "comm", t->comm, sizeof(t->comm)))
			continue; /* it has ended */
		text_sanitize(t->comm);
		status_read(pid, t);
		wchan_read(pid, t);
		syscall_read(pid, t);
		if (syscall_fd(t) >= 0)
			thread_file_read(pid, syscall_fd(t), &t->file);
		int err = stack_read(pid, t);

		if (err && !*stacks_err)
			*stacks_err = err;
		usage_read(pid, t, now_ms, now_ns);
		modes_read(pid, t);
		nr++;
	}
	if (nr)
		qsort(list, nr, sizeof(*list), by_tid);
	*ret = list;
	*ret_nr = nr;
	return 0;
}
