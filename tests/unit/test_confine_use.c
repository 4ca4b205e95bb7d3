// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * What a command needs still works once it is confined: in every phase, in two steps, with children that write dumps,
 * without a supervisor, as an ordinary user, and if a signal comes meanwhile. test_confine.c has what must fail.
 */
#include <glob.h>
#include <grp.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/resource.h>

#include "base/new_file.h"
#include "base/temporary.h"
#include "confine_util.h"

static void test_use(void **state)
{
	(void)state;
	for (int phase = CONFINE_FOLLOW; phase <= CONFINE_READ; phase++) {
		assert_int_equal(run(use_input, phase), SUCCEEDED);
		assert_int_equal(run(use_output, phase), SUCCEEDED);
		assert_int_equal(run(use_thread, phase), SUCCEEDED);
	}
}

/* Confines itself in two steps, as a recorder does. */
static bool two_steps(void)
{
	struct confine_paths *p = confine_paths_new();
	struct confinement c = {.phase = CONFINE_FOLLOW,
				.keep = UINT64_C(1) << CAP_SYS_PTRACE,
				.connects = true,
				.paths = p};

	if (confine_paths_read(p, in_dir("in.hrt")) || confine(&c) || !open_socket() ||
	    confine_more(&c))
		_exit(BROKEN);
	return !open_socket() && !raise_caps() && !read_shadow() && reads("in.hrt", "input\n");
}

static void test_two_steps(void **state)
{
	(void)state;
	assert_int_equal(run(two_steps, -1), SUCCEEDED);
}

/* What is below a folder is read; the root directory has all. */
static bool reads_below_root(void)
{
	struct confine_paths *p = confine_paths_new();
	struct confinement c = {.phase = CONFINE_READ, .paths = p};

	if (!p || confine_paths_read(p, "/") || confine(&c))
		_exit(BROKEN);
	return reads("in.hrt", "input\n");
}

static void test_root_directory(void **state)
{
	(void)state;
	assert_int_equal(run(reads_below_root, -1), SUCCEEDED);
}

static bool creates(const char *name)
{
	return open(in_dir(name), O_WRONLY | O_CREAT | O_EXCL, 0600) >= 0;
}

/* A dump is written by a child under its own temporary name, and nothing else is possible there. */
static bool dump_by_child(void)
{
	static const char name[] = "ring-exit-latency-2026.123Z.hrt";
	struct rlimit small = {4096, 4096};
	char temporary[64];

	snprintf(temporary, sizeof(temporary), "%s.%d.tmp", name, (int)getpid());
	return creates(temporary) && !rename(in_dir(temporary), in_dir(name)) &&
	       open(in_dir(name), O_RDONLY) >= 0 && creates("ring-a.txt") &&
	       !setrlimit(RLIMIT_FSIZE, &small) && !creates("ring.hrt") &&
	       !creates("rings-a.hrt") && !creates("ring-a.sh") && !creates("ring-../a.hrt") &&
	       !creates("ring--a.hrt") && !creates("ring-a.hrt.x.tmp") &&
	       rename(in_dir(name), in_dir("ring-b.hrt")) && !unlink(in_dir(name)) &&
	       !unlink(in_dir("ring-a.txt")) && !open_socket() && !become_root();
}

static bool fork_to_dump(void)
{
	struct confine_paths *p = confine_paths_new();
	struct confinement c = {.phase = CONFINE_DRAIN, .forks = true, .paths = p};
	struct rlimit none = {4096, 4096};
	int status;
	pid_t pid;

	if (confine_paths_dumps(p, in_dir("ring")) || confine(&c))
		_exit(BROKEN);
	pid = fork();
	if (!pid)
		_exit(dump_by_child() ? SUCCEEDED : FAILED);
	return pid > 0 && waitpid(pid, &status, 0) == pid && status == SUCCEEDED << 8 &&
	       setrlimit(RLIMIT_NOFILE, &none);
}

static void test_forks(void **state)
{
	(void)state;
	assert_int_equal(run(fork_to_dump, -1), SUCCEEDED);
}

/* A user other than root keeps its user id, but has the same limits. */
static void become_ordinary(void)
{
	char own[] = "/tmp/test_confine.own.XXXXXX";

	if (!geteuid() && (setgroups(0, NULL) || setresgid(65533, 65533, 65533) ||
			   setresuid(65533, 65533, 65533) || prctl(PR_SET_DUMPABLE, 1)))
		_exit(BROKEN);
	if (!mkdtemp(own))
		_exit(BROKEN);
	snprintf(test_dir, sizeof(test_dir), "%s", own);
	put("in.hrt", "input\n");
	put("in.guest", "companion\n");
	put("secret", "the user's own\n");
	if (symlink("in.hrt", in_dir("in.link")))
		_exit(BROKEN);
}

static int run_ordinary(bool (*attempt)(void))
{
	int status = run(attempt, -1);

	assert_int_equal(system("rm -rf /tmp/test_confine.own.*"), 0);
	return status;
}

/* A filter with a listener, as the managers of some containers install: there can be no second one. */
static bool without_supervisor(void)
{
	struct sock_filter code[] = {BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)};
	struct sock_fprog f = {1, code};

	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) ||
	    syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_NEW_LISTENER, &f) < 0)
		_exit(BROKEN);
	enter(CONFINE_READ);
	return use_input() && use_output() && !become_root() &&
	       !raise_caps() && !open_socket() && !start_process();
}

static bool ordinary_without_supervisor(void)
{
	become_ordinary();
	return without_supervisor();
}

static void test_without_supervisor(void **state)
{
	(void)state;
	if (!geteuid())
		assert_int_equal(run(without_supervisor, -1), SUCCEEDED);
	assert_int_equal(run_ordinary(ordinary_without_supervisor), SUCCEEDED);
}

static bool as_ordinary_user(void)
{
	become_ordinary();
	enter(CONFINE_READ);
	return use_input() && use_output() && use_thread() && !read_other() && !write_other() &&
	       !create_other() && !delete_other() && !open_socket() && !start_process() &&
	       !signal_parent();
}

static void test_ordinary_user(void **state)
{
	(void)state;
	assert_int_equal(run_ordinary(as_ordinary_user), SUCCEEDED);
}

/* ---- a signal while the supervisor is being started ---- */

static bool signal_comes;

/* By which the supervisor gets the descriptor of what it is to answer. */
ssize_t sendmsg(int fd, const struct msghdr *msg, int flags)
{
	if (signal_comes)
		kill(getpid(), SIGHUP);
	return syscall(SYS_sendmsg, fd, msg, flags);
}

/* The signal's handler deletes the temporary file, for which it needs the supervisor. */
static bool end_at_start(void)
{
	char temporary[64];

	snprintf(temporary, sizeof(temporary), "%s.%d.tmp", in_dir("out.hrt"), (int)getpid());
	close(open(temporary, O_WRONLY | O_CREAT | O_EXCL, 0600));
	temporary_add(temporary);
	alarm(20); /* it would wait for ever */
	signal_comes = true;
	enter(CONFINE_READ);
	return true;
}

static unsigned int nr_temporaries(void)
{
	glob_t found;
	unsigned int nr;

	glob(in_dir("out.hrt.*.tmp"), 0, NULL, &found);
	nr = (unsigned int)found.gl_pathc;
	globfree(&found);
	return nr;
}

static void test_signal(void **state)
{
	(void)state;
	assert_int_equal(run(end_at_start, -1), 128 + SIGHUP);
	assert_int_equal(nr_temporaries(), 0);
}

int main(void)
{
	static const struct CMUnitTest without[] = {cmocka_unit_test(test_use)};
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_use),
		cmocka_unit_test(test_root_directory),
		cmocka_unit_test(test_two_steps),
		cmocka_unit_test(test_forks),
		cmocka_unit_test(test_without_supervisor),
		cmocka_unit_test(test_ordinary_user),
		cmocka_unit_test(test_signal),
	};

	if (!confine_built()) /* with sanitizers */
		return cmocka_run_group_tests(without, confine_files_make, dir_remove);
	return cmocka_run_group_tests(tests, confine_files_make, dir_remove);
}
