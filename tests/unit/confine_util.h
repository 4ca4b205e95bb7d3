/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What the tests of the confinement share: files that a command may use and others, children that confine themselves,
 * and what they try there: operations that must fail, and those of a command, which must succeed.
 */
#ifndef TESTS_CONFINE_UTIL_H
#define TESTS_CONFINE_UTIL_H

#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "dir_util.h"
#undef fail

#include "base/error.h"
#include "confine/confine.h"

enum { SUCCEEDED = 0, FAILED = 10, BROKEN = 20 };

/* A file of the directory that only its owner may read. */
static inline void put(const char *name, const char *text)
{
	dir_put(name, text);
	assert_int_equal(chmod(in_dir(name), 0600), 0);
}

static inline int confine_files_make(void **state)
{
	if (dir_make(state))
		return -1;
	put("in.hrt", "input\n");
	put("in.guest", "companion\n");
	put("input.hrt", "another file\n");
	put("secret", "root's own\n");
	return symlink("in.hrt", in_dir("in.link"));
}

/* ---- in a child ---- */

/* What the phases' users give. */
static inline void enter(enum confine_phase phase)
{
	struct confine_paths *p = confine_paths_new();
	struct confinement c = {.phase = phase, .paths = p};

	c.terminal = c.sends = phase == CONFINE_WATCH;
	if (phase == CONFINE_SERVE)
		c.paths = NULL;
	if (phase == CONFINE_WATCH)
		c.keep = UINT64_C(1) << CAP_SYS_PTRACE | UINT64_C(1) << CAP_DAC_READ_SEARCH;
	if (phase == CONFINE_FOLLOW)
		c.keep = UINT64_C(1) << CAP_SYS_PTRACE | UINT64_C(1) << CAP_DAC_READ_SEARCH |
			 UINT64_C(1) << CAP_BPF | UINT64_C(1) << CAP_PERFMON;
	if (!p || confine_paths_read(p, in_dir("in.hrt")) ||
	    confine_paths_write(p, in_dir("out.hrt"), true) || confine(&c)) {
		fprintf(stderr, "%s\n", error_text());
		_exit(BROKEN);
	}
}

/* The exit status of `attempt` in a child, or 128 + the signal that killed it. */
static inline int run(bool (*attempt)(void), int phase)
{
	int status;
	pid_t pid = fork();

	if (!pid) {
		if (phase >= 0)
			enter((enum confine_phase)phase);
		_exit(attempt() ? SUCCEEDED : FAILED);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

/* ---- must fail: true if it succeeds ---- */

static inline bool become_root(void)
{
	return !setuid(0) || !setresuid(0, 0, 0) || !geteuid();
}

static inline bool raise_caps(void)
{
	struct __user_cap_header_struct head = {.version = _LINUX_CAPABILITY_VERSION_3};
	struct __user_cap_data_struct d[2] = {{.effective = 1u << CAP_SYS_ADMIN,
					       .permitted = 1u << CAP_SYS_ADMIN}};

	return !syscall(SYS_capset, &head, d);
}

static inline bool start_process(void)
{
	pid_t pid = fork();

	if (!pid)
		_exit(0);
	return pid > 0;
}

static inline bool read_shadow(void)
{
	return open("/etc/shadow", O_RDONLY) >= 0;
}

static inline bool read_other(void)
{
	return open(in_dir("secret"), O_RDONLY) >= 0;
}

static inline bool write_other(void)
{
	return open(in_dir("secret"), O_WRONLY) >= 0;
}

static inline bool create_other(void)
{
	return open("/var/tmp/test_confine.created", O_WRONLY | O_CREAT, 0600) >= 0 ||
	       open(in_dir("out-x.hrt"), O_WRONLY | O_CREAT | O_EXCL, 0600) >= 0 ||
	       open(in_dir("created"), O_WRONLY | O_CREAT | O_EXCL, 0600) >= 0;
}

static inline bool delete_other(void)
{
	return !unlink(in_dir("secret2")) || !unlink(in_dir("in.hrt"));
}

static inline bool open_socket(void)
{
	return socket(AF_INET, SOCK_STREAM, 0) >= 0;
}

static inline bool signal_parent(void)
{
	return !kill(getppid(), 0) || !syscall(SYS_tgkill, getppid(), getppid(), 0);
}

/* ---- must succeed ---- */

static inline bool reads(const char *name, const char *text)
{
	FILE *f = fopen(in_dir(name), "re");
	char line[64] = "";

	if (!f || !fgets(line, sizeof(line), f))
		return false;
	fclose(f);
	return !strcmp(line, text);
}

static inline bool use_input(void)
{
	struct stat st, opened;
	char link[64];
	int fd = open(in_dir("in.hrt"), O_RDONLY);

	return reads("in.hrt", "input\n") && reads("in.guest", "companion\n") &&
	       !stat(in_dir("in.hrt"), &st) && S_ISREG(st.st_mode) && st.st_size == 6 &&
	       !fstat(fd, &opened) && opened.st_ino == st.st_ino &&
	       !access(in_dir("in.hrt"), R_OK) && access(in_dir("in.nothing"), R_OK) &&
	       errno == ENOENT && readlink(in_dir("in.link"), link, sizeof(link)) == 6 &&
	       !memcmp(link, "in.hrt", 6) && reads("in.link", "input\n");
}

static inline bool use_output(void)
{
	char temporary[64];
	int fd, directory;

	snprintf(temporary, sizeof(temporary), "out.hrt.%d.tmp", (int)getpid());
	fd = open(in_dir(temporary), O_WRONLY | O_CREAT | O_EXCL, 0600);
	return fd >= 0 && write(fd, "output\n", 7) == 7 && !close(fd) &&
	       !rename(in_dir(temporary), in_dir("out.hrt")) && reads("out.hrt", "output\n") &&
	       open(in_dir("out-1.hrt"), O_WRONLY | O_CREAT | O_EXCL, 0600) >= 0 &&
	       (directory = open(test_dir, O_RDONLY | O_DIRECTORY)) >= 0 && !fsync(directory) &&
	       !unlink(in_dir("out-1.hrt")) && !unlink(in_dir("out.hrt"));
}

static inline void *thread_reads(void *arg)
{
	*(bool *)arg = use_input();
	return NULL;
}

static inline bool use_thread(void)
{
	pthread_t thread;
	bool good = false;

	return !pthread_create(&thread, NULL, thread_reads, &good) && !pthread_join(thread, NULL) &&
	       good;
}

#endif
