// SPDX-License-Identifier: GPL-2.0-or-later
/* Directories on the way to what is written: other users' directories and links, and those that are exchanged. */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/error.h"
#include "base/growing_file.h"
#include "base/new_file.h"
#include "base/safe_path.h"
#include "confine/confine.h"

#include "dir_util.h"

enum { OTHER_USER = 65534, THIRD_USER = 65533 };

static bool any(const uint8_t *head, size_t len)
{
	(void)head;
	(void)len;
	return true;
}

/* All that writes does the same. */
static void assert_opens(const char *path, int result)
{
	struct confine_paths *p = confine_paths_new();
	struct growing_file g;
	struct new_file f;
	char *at;

	assert_int_equal(safe_path_resolve(path, &at), result);
	free(at);
	assert_int_equal(new_file_open(&f, path, true), result);
	assert_int_equal(new_file_close(&f, -ECANCELED), -ECANCELED);
	assert_int_equal(growing_file_create(&g, path, true, any), result);
	assert_int_equal(growing_file_close(&g, false), 0);
	assert_int_equal(confine_paths_write(p, path, false), result == -EACCES ? result : 0);
	confine_paths_free(p);
}

static void assert_resolved(const char *path, const char *file)
{
	char *at, real[PATH_MAX];

	assert_int_equal(safe_path_resolve(path, &at), 0);
	assert_non_null(realpath(test_dir, real));
	strcat(real, file);
	assert_string_equal(at, real);
	free(at);
}

/* What an ordinary user meets in a directory of a group: status of the process. */
static int resolve_in_group(void)
{
	char *at;

	if (setresgid(THIRD_USER, THIRD_USER, THIRD_USER) ||
	    setresuid(THIRD_USER, THIRD_USER, THIRD_USER))
		return 1;
	if (safe_path_resolve(in_dir("project/link/x"), &at) != -EACCES)
		return 2;
	if (safe_path_resolve(in_dir("project/theirs/x"), &at) != -EACCES)
		return 3;
	if (safe_path_resolve(in_dir("project/x"), &at))
		return 4;
	free(at);
	if (safe_path_resolve(in_dir("own/deep/x"), &at))
		return 5;
	free(at);
	return 0;
}

/* The first test: the user that files are made for is asked for once in a process. */
static void directories_of_a_group_are_shared(void **state)
{
	pid_t child;
	int status;

	(void)state;
	if (geteuid())
		skip(); /* only root can make another user's files */
	assert_int_equal(chmod(test_dir, 0755), 0);
	assert_int_equal(mkdir(in_dir("project"), 0700), 0);
	assert_int_equal(mkdir(in_dir("project/theirs"), 0755), 0);
	assert_int_equal(symlink("theirs", in_dir("project/link")), 0);
	assert_int_equal(mkdir(in_dir("own"), 0700), 0);
	assert_int_equal(mkdir(in_dir("own/deep"), 0700), 0);
	assert_int_equal(chown(in_dir("project"), 0, THIRD_USER), 0);
	assert_int_equal(chmod(in_dir("project"), 02775), 0);
	assert_int_equal(lchown(in_dir("project/theirs"), OTHER_USER, THIRD_USER), 0);
	assert_int_equal(lchown(in_dir("project/link"), OTHER_USER, THIRD_USER), 0);
	assert_int_equal(chown(in_dir("own"), THIRD_USER, THIRD_USER), 0);
	assert_int_equal(chmod(in_dir("own"), 0775), 0); /* umask 002: a group of this user alone */
	assert_int_equal(chown(in_dir("own/deep"), THIRD_USER, THIRD_USER), 0);
	assert_int_equal(chmod(in_dir("own/deep"), 0775), 0);
	child = fork();
	if (!child)
		_exit(resolve_in_group());
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_int_equal(status, 0);
}

static void own_links_are_followed(void **state)
{
	(void)state;
	assert_int_equal(mkdir(in_dir("mine"), 0755), 0);
	assert_int_equal(mkdir(in_dir("mine/deep"), 0755), 0);
	assert_int_equal(symlink("mine", in_dir("relative")), 0);
	assert_int_equal(symlink(in_dir("mine/deep"), in_dir("mine/absolute")), 0);
	assert_int_equal(symlink("loop", in_dir("loop")), 0);
	assert_resolved(in_dir("relative/absolute/x"), "/mine/deep/x");
	assert_resolved(in_dir("mine/./deep//../x"), "/mine/x");
	assert_resolved(in_dir("mine/absolute/../x"), "/mine/x"); /* as the kernel does it */
	assert_opens(in_dir("relative/absolute/x"), 0);
	assert_opens(in_dir("loop/x"), -ELOOP);
	assert_opens(in_dir("missing/x"), -ENOENT);
	assert_int_equal(chdir(in_dir("mine")), 0);
	assert_resolved("x", "/mine/x");
	assert_resolved("deep/x", "/mine/deep/x");
	assert_int_equal(chdir("/"), 0);
}

static void modes_are_private(void **state)
{
	struct growing_file g;
	struct new_file f;
	struct stat st;

	(void)state;
	umask(0);
	assert_int_equal(growing_file_create(&g, in_dir("growing"), false, any), 0);
	assert_int_equal(fstat(g.fd, &st), 0);
	assert_int_equal(st.st_mode & 07777, 0600);
	assert_int_equal(growing_file_close(&g, true), 0);
	assert_int_equal(stat(in_dir("growing"), &st), 0);
	assert_int_equal(st.st_mode & 07777, 0600);
	assert_int_equal(new_file_open(&f, in_dir("private"), true), 0);
	assert_int_equal(new_file_close(&f, 0), 0);
	assert_int_equal(stat(in_dir("private"), &st), 0);
	assert_int_equal(st.st_mode & 07777, 0600);
	assert_int_equal(safe_path_mkdir(in_dir("private.d")), 0);
	assert_int_equal(stat(in_dir("private.d"), &st), 0);
	assert_int_equal(st.st_mode & 07777, 0700);
}

static void other_users_directories_and_links(void **state)
{
	(void)state;
	if (geteuid())
		skip(); /* only root can make another user's files */
	assert_int_equal(mkdir(in_dir("victim"), 0700), 0);
	assert_int_equal(mkdir(in_dir("theirs"), 0755), 0);
	assert_int_equal(chown(in_dir("theirs"), OTHER_USER, OTHER_USER), 0);
	assert_int_equal(symlink("victim", in_dir("planted")), 0);
	assert_int_equal(lchown(in_dir("planted"), OTHER_USER, OTHER_USER), 0);
	assert_int_equal(symlink("planted", in_dir("to-planted")), 0);
	for (int shared = 0; shared < 2; shared++) {
		assert_int_equal(chmod(test_dir, shared ? 01777 : 0755), 0);
		assert_opens(in_dir("theirs/x"), -EACCES);
		assert_non_null(strstr(error_text(), "/theirs belongs to user 65534"));
		assert_opens(in_dir("planted/x"), -EACCES);
		assert_non_null(strstr(error_text(), "the link"));
		assert_opens(in_dir("to-planted/x"), -EACCES);
		assert_opens(in_dir("victim/x"), 0);
	}
	setenv("SUDO_UID", "65534", 1); /* who may become root anyway */
	assert_opens(in_dir("theirs/x"), 0);
	unsetenv("SUDO_UID");
	assert_int_equal(chdir(in_dir("theirs")), 0); /* it was chosen, and cannot be exchanged */
	assert_opens("x", 0);
	assert_opens("./x", 0);
	assert_opens("../x", -EACCES); /* of where that user moves it to */
	assert_non_null(strstr(error_text(), "the current directory"));
	assert_int_equal(mkdir("sub", 0700), 0);
	assert_int_equal(chdir("sub"), 0);
	assert_opens("x", 0);
	assert_opens("../x", -EACCES);
	assert_int_equal(chdir("/"), 0);
}

static void directories_that_all_may_write_to(void **state)
{
	(void)state;
	if (geteuid())
		skip(); /* an ordinary user may use what others could change */
	assert_int_equal(mkdir(in_dir("open"), 0700), 0);
	assert_int_equal(mkdir(in_dir("open/deep"), 0700), 0);
	assert_int_equal(chmod(in_dir("open"), 0777), 0);
	assert_opens(in_dir("open/x"), -EACCES);
	assert_non_null(strstr(error_text(), "all users may write to the directory"));
	assert_opens(in_dir("open/deep/x"), -EACCES);
	assert_int_equal(chmod(in_dir("open"), 01777), 0);
	assert_opens(in_dir("open/x"), 0);
	assert_int_equal(chmod(in_dir("open"), 0775), 0); /* umask 002 */
	assert_opens(in_dir("open/deep/x"), 0);
}

/* The caller's group is trusted, as root's and that of the user of sudo are. */
static void directories_that_a_group_may_write_to(void **state)
{
	(void)state;
	if (geteuid())
		skip(); /* as before */
	assert_int_equal(mkdir(in_dir("team"), 0700), 0);
	assert_int_equal(mkdir(in_dir("team/deep"), 0700), 0);
	assert_int_equal(chown(in_dir("team"), 0, OTHER_USER), 0);
	assert_int_equal(chmod(in_dir("team"), 02775), 0);
	assert_opens(in_dir("team/x"), -EACCES);
	assert_non_null(strstr(error_text(), "group 65534 may write to the directory"));
	assert_opens(in_dir("team/deep/x"), -EACCES);
	setenv("SUDO_GID", "65534", 1);
	assert_opens(in_dir("team/x"), 0);
	unsetenv("SUDO_GID");
	assert_int_equal(setegid(OTHER_USER), 0);
	assert_opens(in_dir("team/x"), 0);
	assert_int_equal(setegid(0), 0);
	assert_int_equal(chmod(in_dir("team"), 03775), 0); /* sticky */
	assert_opens(in_dir("team/x"), 0);
}

/* Between the steps another user puts a link in a directory's place. */
static void exchanged_directories_are_not_entered(void **state)
{
	char *at, *tmp;
	int fd;

	(void)state;
	assert_int_equal(mkdir(in_dir("a"), 0755), 0);
	assert_int_equal(mkdir(in_dir("secret"), 0755), 0);
	assert_int_equal(safe_path_resolve(in_dir("a/x"), &at), 0);
	assert_int_equal(safe_path_resolve(in_dir("a/x.tmp"), &tmp), 0);
	fd = safe_path_open(tmp, O_WRONLY | O_CREAT | O_EXCL, 0600);
	assert_true(fd >= 0);
	assert_int_equal(close(fd), 0);
	assert_int_equal(safe_path_rename(tmp, at), 0);
	assert_int_equal(rename(in_dir("a"), in_dir("b")), 0);
	assert_int_equal(symlink("secret", in_dir("a")), 0);
	dir_put("secret/x", "");
	assert_int_equal(safe_path_open(at, O_WRONLY | O_CREAT, 0600), -1);
	assert_int_equal(errno, ELOOP);
	assert_int_equal(safe_path_unlink(at), -1);
	assert_int_equal(errno, ELOOP);
	assert_int_equal(safe_path_mkdir(tmp), -1);
	assert_int_equal(errno, ELOOP);
	assert_int_equal(safe_path_rename(at, tmp), -1);
	assert_int_equal(errno, ELOOP);
	free(at);
	free(tmp);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(directories_of_a_group_are_shared),
		cmocka_unit_test(own_links_are_followed),
		cmocka_unit_test(modes_are_private),
		cmocka_unit_test(other_users_directories_and_links),
		cmocka_unit_test(directories_that_all_may_write_to),
		cmocka_unit_test(directories_that_a_group_may_write_to),
		cmocka_unit_test(exchanged_directories_are_not_entered),
	};

	return cmocka_run_group_tests_name("safe paths", tests, dir_make, dir_remove);
}
