// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The process that opens, renames and deletes files for the confined one. It was forked before, so that it has
 * the rights to files. For each call it reads the path in the other's memory, looks it up in its rules, and
 *
 *	allowed			does it itself on its own copy of the path, and hands over the result
 *	read, not allowed	lets the kernel do it with the rights that the confined process still has
 *	write, not allowed	EACCES
 *
 * That the other may change its memory meanwhile is harmless: what is done is what was looked up, and what the kernel
 * continues needs no trust. All that it takes from the confined process are the numbers of a struct seccomp_notif and
 * these paths.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/capability.h>
#include <linux/seccomp.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>

#include "base/error.h"
#include "base/read_full.h"
#include "base/safe_path.h"
#include "confine/internal.h"

#ifndef PR_SET_PTRACER
#define PR_SET_PTRACER 0x59616d61
#endif

#define BIT(cap) (UINT64_C(1) << (cap))

/* To open, rename and delete files; to read the other's memory. */
#define CAPS_OF_SUPERVISOR                                                                         \
	(BIT(CAP_DAC_OVERRIDE) | BIT(CAP_DAC_READ_SEARCH) | BIT(CAP_FOWNER) | BIT(CAP_SYS_PTRACE))

enum { PAGE = 4096 };

struct call {
	int listener;
	const struct confine_paths *paths;
	struct seccomp_notif req;
	struct seccomp_notif_resp resp;
	char temporary[PATH_MAX]; /* the last temporary file that has a name */
};

/* ---- the other's memory ---- */

/* If it has ended, its number may be that of another process by now (seccomp_unotify(2)). */
static bool still_waits(const struct call *c)
{
	return !ioctl(c->listener, SECCOMP_IOCTL_NOTIF_ID_VALID, &c->req.id);
}

/* A string of at most PATH_MAX bytes; not beyond a page at a time: the next one may not be there. */
static int string_read(const struct call *c, uint64_t address, char *buf)
{
	size_t have = 0;

	while (have < PATH_MAX) {
		size_t n = PAGE - (address + have) % PAGE;
		struct iovec to = {buf + have, n < PATH_MAX - have ? n : PATH_MAX - have};
		struct iovec from = {(void *)(uintptr_t)(address + have), to.iov_len};
		ssize_t got = process_vm_readv((pid_t)c->req.pid, &to, 1, &from, 1, 0);

		if (got <= 0)
			return got < 0 ? -errno : -EFAULT;
		if (memchr(buf + have, 0, (size_t)got))
			return still_waits(c) ? 0 : -ENOENT;
		have += (size_t)got;
	}
	return -ENAMETOOLONG;
}

static int memory_write(const struct call *c, uint64_t address, const void *data, size_t len)
{
	struct iovec from = {(void *)data, len}, to = {(void *)(uintptr_t)address, len};

	if (!still_waits(c))
		return -ENOENT;
	return process_vm_writev((pid_t)c->req.pid, &from, 1, &to, 1, 0) == (ssize_t)len ? 0
											 : -EFAULT;
}

/* Absolute, also if it is relative to a directory that the other has open. */
static int path_read(const struct call *c, int dir, uint64_t address, char *ret)
{
	char given[PATH_MAX], full[PATH_MAX], link[64];
	ssize_t n;
	int err = string_read(c, address, given);

	if (err || *given == '/' || dir == AT_FDCWD)
		return err ? err : *given ? path_absolute(given, (pid_t)c->req.pid, ret) : -ENOENT;
	snprintf(link, sizeof(link), "/proc/%d/fd/%d", (int)c->req.pid, dir);
	n = readlink(link, full, sizeof(full) - 1);
	if (n < 0)
		return -EBADF;
	if ((size_t)n + strlen(given) + 2 > sizeof(full))
		return -ENAMETOOLONG;
	full[n] = '/';
	strcpy(full + n + 1, given);
	return path_absolute(full, (pid_t)c->req.pid, ret);
}

/* ---- answers ---- */

static void supervisor_answer(struct call *c, int64_t value)
{
	c->resp.val = value < 0 ? -1 : value;
	c->resp.error = value < 0 ? (int)value : 0;
}

/* The kernel does it, with the other's own rights. */
static void go_on(struct call *c)
{
	c->resp.flags = SECCOMP_USER_NOTIF_FLAG_CONTINUE;
}

static void hand_over(struct call *c, int fd, int flags)
{
	struct seccomp_notif_addfd add = {.id = c->req.id,
					  .srcfd = (uint32_t)fd,
					  .newfd_flags = (uint32_t)(flags & O_CLOEXEC)};
	int there = ioctl(c->listener, SECCOMP_IOCTL_NOTIF_ADDFD, &add);

	supervisor_answer(c, there < 0 ? -errno : there);
	close(fd);
}

/* To be created, changed or only read? */
static enum path_use use_of(int flags)
{
	if (flags & (O_CREAT | O_TRUNC) || (flags & O_TMPFILE) == O_TMPFILE)
		return PATH_WRITE;
	if ((flags & O_ACCMODE) != O_RDONLY)
		return PATH_UPDATE;
	return flags & O_DIRECTORY ? PATH_DIRECTORY : PATH_READ;
}

/* May a file be opened so? */
static bool open_allowed(const struct call *c, const char *path, int flags)
{
	enum path_use use = use_of(flags);

	if (use != PATH_WRITE)
		return paths_allow(c->paths, path, use);
	if ((flags & O_TMPFILE) == O_TMPFILE)
		return flags & O_EXCL && paths_allow_temporary(c->paths, path, false);
	return flags & O_CREAT && flags & O_EXCL && /* O_EXCL follows no link */
	       (paths_allow(c->paths, path, use) || paths_allow_temporary(c->paths, path, true));
}

/*
 * A file whose name nobody gave, because it is next to an input: who may write to that folder must not choose what of
 * our files is read. No FIFO or device, and a link of another user only to a file of that user.
 */
static int open_neighbour(const char *path, int flags)
{
	_cleanup_close_ int at = open(path, O_PATH | O_NOFOLLOW | O_CLOEXEC);
	struct stat found, file;
	char same[64];
	int fd = -1;

	if (at < 0 || fstat(at, &found))
		return -1;
	snprintf(same, sizeof(same), "/proc/self/fd/%d", at);
	if (S_ISREG(found.st_mode) || S_ISDIR(found.st_mode))
		return open(same, flags & ~O_NOFOLLOW);
	if (S_ISLNK(found.st_mode))
		fd = open(path, flags | O_NONBLOCK);
	if (fd >= 0 && (found.st_uid == geteuid() ||
			(!fstat(fd, &file) && file.st_uid == found.st_uid)))
		return fd;
	if (fd >= 0)
		close(fd);
	errno = EACCES;
	return -1;
}

static void call_open(struct call *c, int dir, uint64_t address, int flags, mode_t mode)
{
	char path[PATH_MAX];
	int err = path_read(c, dir, address, path), fd;

	if (!err && !open_allowed(c, path, flags))
		err = -EACCES;
	if (err && use_of(flags) <= PATH_DIRECTORY) {
		go_on(c);
		return;
	}
	if (err)
		fd = err;
	else if (use_of(flags) <= PATH_DIRECTORY && !paths_given(c->paths, path))
		fd = open_neighbour(path, flags | O_CLOEXEC | O_NOCTTY);
	else if (flags & O_CREAT)
		fd = safe_path_open(path, flags | O_NOCTTY, mode);
	else
		fd = open(path, flags | O_CLOEXEC | O_NOCTTY, mode);
	if (fd >= 0 && flags & O_CREAT && paths_allow_temporary(c->paths, path, true))
		strcpy(c->temporary, path);
	if (fd < 0)
		supervisor_answer(c, err ? err : -errno);
	else
		hand_over(c, fd, flags);
}

static void call_stat(struct call *c, int dir, uint64_t address, uint64_t to, int flags)
{
	char path[PATH_MAX];
	struct stat st;

	if (path_read(c, dir, address, path) || !paths_allow(c->paths, path, PATH_READ))
		go_on(c);
	else if (fstatat(AT_FDCWD, path, &st, flags & AT_SYMLINK_NOFOLLOW))
		supervisor_answer(c, -errno);
	else
		supervisor_answer(c, memory_write(c, to, &st, sizeof(st)));
}

/* The effective user's rights are asked for: those of the confined process would be meant with access(2) itself. */
static void call_access(struct call *c, int dir, uint64_t address, int mode)
{
	char path[PATH_MAX];

	if (path_read(c, dir, address, path) || !paths_allow(c->paths, path, PATH_READ))
		go_on(c);
	else
		supervisor_answer(c, faccessat(AT_FDCWD, path, mode, AT_EACCESS) ? -errno : 0);
}

static void call_readlink(struct call *c, int dir, uint64_t address, uint64_t to, uint64_t size)
{
	char path[PATH_MAX], link[PATH_MAX];
	ssize_t n;
	int err;

	if (path_read(c, dir, address, path) || !paths_allow(c->paths, path, PATH_READ)) {
		go_on(c);
		return;
	}
	n = readlink(path, link, size < sizeof(link) ? size : sizeof(link));
	err = n < 0 ? -errno : memory_write(c, to, link, (size_t)n);
	supervisor_answer(c, err ? err : n);
}

static void call_rename(struct call *c, int from_dir, uint64_t from, int to_dir, uint64_t to)
{
	char path[2][PATH_MAX];
	int err = path_read(c, from_dir, from, path[0]);

	if (!err)
		err = path_read(c, to_dir, to, path[1]);
	if (!err && !paths_allow_rename(c->paths, path[0], path[1]))
		err = -EACCES;
	if (!err && safe_path_rename(path[0], path[1]))
		err = -errno;
	supervisor_answer(c, err);
}

static void call_unlink(struct call *c, int dir, uint64_t address)
{
	char path[PATH_MAX];
	int err = path_read(c, dir, address, path);

	if (!err && !paths_allow(c->paths, path, PATH_WRITE) &&
	    strcmp(path, c->temporary))
		err = -EACCES;
	if (!err && safe_path_unlink(path))
		err = -errno;
	supervisor_answer(c, err);
}

static void call_rmdir(struct call *c, int dir, uint64_t address)
{
	char path[PATH_MAX];
	int err = path_read(c, dir, address, path);

	if (!err && !paths_allow_rmdir(c->paths, path))
		err = -EACCES;
	if (!err && safe_path_rmdir(path))
		err = -errno;
	supervisor_answer(c, err);
}

static void call_any(struct call *c)
{
	const uint64_t *a = (const uint64_t *)c->req.data.args;

	switch (c->req.data.nr) {
	case SYS_openat:
		return call_open(c, (int)a[0], a[1], (int)a[2], (mode_t)a[3]);
	case SYS_newfstatat:
		return call_stat(c, (int)a[0], a[1], a[2], (int)a[3]);
	case SYS_faccessat:
		return call_access(c, (int)a[0], a[1], (int)a[2]);
	case SYS_readlinkat:
		return call_readlink(c, (int)a[0], a[1], a[2], a[3]);
	case SYS_renameat:
		return call_rename(c, (int)a[0], a[1], (int)a[2], a[3]);
	case SYS_unlinkat:
		return (int)a[2] & AT_REMOVEDIR ? call_rmdir(c, (int)a[0], a[1])
						: call_unlink(c, (int)a[0], a[1]);
#ifdef SYS_open
	case SYS_open:
		return call_open(c, AT_FDCWD, a[0], (int)a[1], (mode_t)a[2]);
	case SYS_stat:
		return call_stat(c, AT_FDCWD, a[0], a[1], 0);
	case SYS_lstat:
		return call_stat(c, AT_FDCWD, a[0], a[1], AT_SYMLINK_NOFOLLOW);
	case SYS_access:
		return call_access(c, AT_FDCWD, a[0], (int)a[1]);
	case SYS_readlink:
		return call_readlink(c, AT_FDCWD, a[0], a[1], a[2]);
	case SYS_rename:
		return call_rename(c, AT_FDCWD, a[0], AT_FDCWD, a[1]);
	case SYS_unlink:
		return call_unlink(c, AT_FDCWD, a[0]);
	case SYS_rmdir:
		return call_rmdir(c, AT_FDCWD, a[0]);
#endif
	default:
		return supervisor_answer(c, -ENOSYS);
	}
}

/* ---- the process ---- */

static bool send_answer(const struct call *c)
{
	while (ioctl(c->listener, SECCOMP_IOCTL_NOTIF_SEND, &c->resp)) {
		if (errno != EINTR)
			return errno == ENOENT; /* a signal has ended the call */
	}
	return true;
}

/* Until no process has the filter any more, or on an error: the kernel then ends calls that wait and all later ones. */
static void serve(struct call *c)
{
	struct pollfd p = {.fd = c->listener, .events = POLLIN};

	for (;;) {
		if (poll(&p, 1, -1) < 0 && errno == EINTR)
			continue;
		if (p.revents & (POLLHUP | POLLERR))
			break;
		memset(&c->req, 0, sizeof(c->req));
		if (ioctl(c->listener, SECCOMP_IOCTL_NOTIF_RECV, &c->req)) {
			if (errno == ENOENT || errno == EINTR) /* it was interrupted by a signal */
				continue;
			break;
		}
		c->resp = (struct seccomp_notif_resp){.id = c->req.id};
		call_any(c);
		if (!send_answer(c))
			break;
	}
}

static int listener_receive(int channel)
{
	char byte, control[CMSG_SPACE(sizeof(int))] = {0};
	struct iovec iov = {&byte, 1};
	struct msghdr msg = {.msg_iov = &iov,
			     .msg_iovlen = 1,
			     .msg_control = control,
			     .msg_controllen = sizeof(control)};
	struct cmsghdr *head;
	int fd = -1;

	if (recvmsg(channel, &msg, MSG_CMSG_CLOEXEC) != 1)
		return -1;
	head = CMSG_FIRSTHDR(&msg);
	if (head && head->cmsg_type == SCM_RIGHTS)
		memcpy(&fd, CMSG_DATA(head), sizeof(fd));
	return fd;
}

static void supervise(const struct confine_paths *p, int channel, pid_t parent)
{
	static const int ignored[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGPIPE, SIGTSTP, SIGUSR1,
				      SIGUSR2};
	struct call c = {.paths = p};

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() != parent)
		_exit(0);
	for (size_t i = 0; i < sizeof(ignored) / sizeof(*ignored); i++)
		signal(ignored[i], SIG_IGN);
	dup2(channel, 0); /* pipes and files of the other close when it closes them */
	syscall(SYS_close_range, 1, ~0u, 0);
	if (identity_drop(NULL, CAPS_OF_SUPERVISOR) || send(0, "", 1, MSG_NOSIGNAL) != 1)
		_exit(1);
	c.listener = listener_receive(0);
	if (c.listener < 0)
		_exit(1);
	serve(&c);
	_exit(0);
}

int supervisor_start(const struct confine_paths *p, struct supervisor *ret)
{
	pid_t self = getpid();
	int pair[2];
	char byte;

	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair))
		return fail(-errno, "socketpair: %s", strerror(errno));
	ret->pid = fork();
	if (!ret->pid)
		supervise(p, pair[1], self);
	close(pair[1]);
	ret->channel = pair[0];
	if (ret->pid < 0) {
		close(pair[0]);
		return fail(-errno, "fork: %s", strerror(errno));
	}
	prctl(PR_SET_PTRACER, ret->pid); /* for Yama; EINVAL without it */
	/* Later it would be too late: files could not even be deleted. */
	if (read_full(ret->channel, &byte, 1) == 1)
		return 0;
	supervisor_cancel(ret);
	return fail(-EPIPE, "cannot start the supervisor of files");
}

int supervisor_go(struct supervisor *s, int listener)
{
	char byte = 0, control[CMSG_SPACE(sizeof(int))] = {0};
	struct iovec iov = {&byte, 1};
	struct msghdr msg = {.msg_iov = &iov,
			     .msg_iovlen = 1,
			     .msg_control = control,
			     .msg_controllen = sizeof(control)};
	struct cmsghdr *head = CMSG_FIRSTHDR(&msg);
	int err = 0;

	*head = (struct cmsghdr){.cmsg_level = SOL_SOCKET,
				 .cmsg_type = SCM_RIGHTS,
				 .cmsg_len = CMSG_LEN(sizeof(int))};
	memcpy(CMSG_DATA(head), &listener, sizeof(listener));
	if (sendmsg(s->channel, &msg, MSG_NOSIGNAL) != 1)
		err = fail(-errno, "cannot start the supervisor of files: %s", strerror(errno));
	close(listener);
	close(s->channel);
	return err;
}

void supervisor_cancel(struct supervisor *s)
{
	close(s->channel); /* it reads the end of file and ends */
	waitpid(s->pid, NULL, 0);
}
