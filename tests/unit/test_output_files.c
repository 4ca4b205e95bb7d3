// SPDX-License-Identifier: GPL-2.0-or-later
/* Output files: what was there before, other users' files and links, two writers, and files that vanish. */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"
#include "base/growing_file.h"
#include "base/new_file.h"

#include "dir_util.h"

enum { OTHER_USER = 65534 };

static void assert_content(const char *file, const char *text)
{
	char buf[64] = "";
	FILE *f = fopen(in_dir(file), "r");

	assert_non_null(f);
	buf[fread(buf, 1, sizeof(buf) - 1, f)] = '\0';
	fclose(f);
	assert_string_equal(buf, text);
}

static bool is_ours(const uint8_t *head, size_t len)
{
	return len >= 4 && !memcmp(head, "OURS", 4);
}

static int create(struct growing_file *f, const char *file)
{
	return growing_file_create(f, in_dir(file), false, is_ours);
}

static void old_one_stays_until_new_one_holds_something(void **state)
{
	struct growing_file f;

	(void)state;
	dir_put("a", "OURS old");
	assert_int_equal(create(&f, "a"), 0);
	assert_int_equal(write(f.fd, "OURS new", 8), 8);
	assert_content("a", "OURS old");
	assert_int_equal(growing_file_close(&f, false), 0);
	assert_content("a", "OURS old");
	assert_int_equal(create(&f, "a"), 0);
	assert_int_equal(write(f.fd, "OURS new", 8), 8);
	assert_int_equal(growing_file_publish(&f), 0);
	assert_content("a", "OURS new");
	assert_int_equal(growing_file_close(&f, true), 0);
	assert_content("a", "OURS new");
}

static void new_one_without_data_leaves_nothing(void **state)
{
	struct growing_file f;

	(void)state;
	assert_int_equal(create(&f, "b"), 0);
	assert_int_equal(access(in_dir("b"), F_OK), 0);
	assert_int_equal(growing_file_close(&f, false), 0);
	assert_int_equal(access(in_dir("b"), F_OK), -1);
}

static void foreign_files_stay(void **state)
{
	struct growing_file f;

	(void)state;
	dir_put("text", "a letter");
	assert_int_equal(create(&f, "text"), -EEXIST);
	assert_content("text", "a letter");
	assert_int_equal(symlink("text", in_dir("link")), 0);
	assert_int_equal(create(&f, "link"), -ELOOP);
	assert_int_equal(mkfifo(in_dir("fifo"), 0600), 0);
	assert_int_equal(create(&f, "fifo"), -EEXIST); /* and does not wait for a reader */
}

static void two_writers_of_one_name(void **state)
{
	struct growing_file f, g;

	(void)state;
	assert_int_equal(create(&f, "two"), 0);
	assert_int_equal(create(&g, "two"), -EBUSY);
	assert_int_equal(write(f.fd, "OURS", 4), 4);
	assert_int_equal(growing_file_close(&f, true), 0);
	assert_int_equal(create(&f, "two"), 0); /* there is an old one now */
	assert_int_equal(create(&g, "two"), -EBUSY);
	assert_int_equal(growing_file_publish(&f), 0);
	assert_int_equal(create(&g, "two"), -EBUSY);
	assert_int_equal(growing_file_close(&f, true), 0);
}

static void deleted_and_truncated_files_are_noticed(void **state)
{
	struct growing_file f;

	(void)state;
	assert_int_equal(create(&f, "gone"), 0);
	assert_int_equal(write(f.fd, "OURS", 4), 4);
	assert_int_equal(growing_file_check(&f, 4), 0);
	assert_int_equal(truncate(in_dir("gone"), 1), 0);
	assert_int_equal(growing_file_check(&f, 4), -EIO);
	assert_non_null(strstr(error_text(), "1 of 4 bytes"));
	assert_int_equal(unlink(in_dir("gone")), 0);
	assert_int_equal(growing_file_check(&f, 4), -ENOENT);
	assert_int_equal(growing_file_close(&f, true), 0);
}

/* Another user may put files and links into a shared directory; root must not write through them. */
static void other_users_files_in_a_shared_directory(void **state)
{
	struct new_file f;
	struct growing_file g;

	(void)state;
	if (geteuid())
		skip(); /* only root can make another user's files */
	assert_int_equal(chmod(test_dir, 01777), 0);
	dir_put("victim", "precious");
	assert_int_equal(symlink("victim", in_dir("planted")), 0);
	assert_int_equal(lchown(in_dir("planted"), OTHER_USER, OTHER_USER), 0);
	assert_int_equal(new_file_open(&f, in_dir("planted"), true), -EACCES);
	assert_int_equal(symlink("planted", in_dir("to-planted")), 0);
	assert_int_equal(new_file_open(&f, in_dir("to-planted"), true), -EACCES);
	assert_content("victim", "precious");

	dir_put("theirs", "OURS theirs");
	assert_int_equal(chown(in_dir("theirs"), OTHER_USER, OTHER_USER), 0);
	assert_int_equal(new_file_open(&f, in_dir("theirs"), true), -EACCES);
	assert_int_equal(create(&g, "theirs"), -EPERM);
	assert_int_equal(mkfifo(in_dir("their-fifo"), 0666), 0);
	assert_int_equal(chown(in_dir("their-fifo"), OTHER_USER, OTHER_USER), 0);
	assert_int_equal(new_file_open(&f, in_dir("their-fifo"), true), -EACCES);
	assert_content("theirs", "OURS theirs");

	assert_int_equal(symlink("victim", in_dir("mine")), 0); /* one's own link is followed */
	assert_int_equal(new_file_open(&f, in_dir("mine"), true), 0);
	fputs("report", f.file);
	assert_int_equal(new_file_close(&f, 0), 0);
	assert_content("victim", "report");
}

/* In the current directory another user has a file, a FIFO, and links to root's file, to a new one, and a device. */
static void assert_their_files_stay(void)
{
	static const char *const names[] = {
		"file", "link", "dangling", "device", "to-link", "fifo",
	};
	struct new_file f;

	dir_put("victim", "precious");
	assert_int_equal(close(creat("file", 0666)), 0);
	assert_int_equal(symlink("../victim", "link"), 0);
	assert_int_equal(symlink("../new", "dangling"), 0);
	assert_int_equal(symlink("/dev/null", "device"), 0);
	assert_int_equal(symlink("link", "to-link"), 0);
	assert_int_equal(mkfifo("fifo", 0666), 0);
	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
		if (strcmp(names[i], "to-link"))
			assert_int_equal(lchown(names[i], OTHER_USER, OTHER_USER), 0);
		assert_int_equal(new_file_open(&f, names[i], true), -EACCES);
		assert_true(strstr(error_text(), "belongs to user 65534") ||
			    strstr(error_text(), "group 65534 may write to the directory"));
	}
	assert_content("victim", "precious");
	assert_int_equal(access("../new", F_OK), -1);
}

/* Whoever may write to a directory, or owns it, may put such things there. */
static void other_users_files_in_any_directory(void **state)
{
	(void)state;
	if (geteuid())
		skip(); /* only root can make another user's files */
	assert_int_equal(mkdir(in_dir("team"), 0700), 0);
	assert_int_equal(chown(in_dir("team"), 0, OTHER_USER), 0);
	assert_int_equal(chmod(in_dir("team"), 02775), 0); /* neither sticky nor for all */
	assert_int_equal(chdir(in_dir("team")), 0);
	assert_their_files_stay();
	assert_int_equal(mkdir(in_dir("their-home"), 0755), 0);
	assert_int_equal(chown(in_dir("their-home"), OTHER_USER, OTHER_USER), 0);
	assert_int_equal(chdir(in_dir("their-home")), 0);
	assert_their_files_stay();
	assert_int_equal(chdir("/"), 0);
}

static void own_link_to_nothing_makes_a_private_file(void **state)
{
	struct new_file f;
	struct stat st;

	(void)state;
	umask(0);
	assert_int_equal(symlink("made", in_dir("to-made")), 0);
	assert_int_equal(new_file_open(&f, in_dir("to-made"), true), 0);
	assert_int_equal(access(in_dir("made"), F_OK), -1); /* before it is complete */
	fputs("report", f.file);
	assert_int_equal(new_file_close(&f, 0), 0);
	assert_content("made", "report");
	assert_int_equal(stat(in_dir("made"), &st), 0);
	assert_int_equal(st.st_mode & 07777, 0600);
	assert_int_equal(lstat(in_dir("to-made"), &st), 0);
	assert_true(S_ISLNK(st.st_mode));
	assert_int_equal(symlink("round", in_dir("round")), 0);
	assert_int_equal(new_file_open(&f, in_dir("round"), true), -ELOOP);
}

/* /dev/fd/N: written as it is if it has no name, else as the file that it is. */
static void open_descriptors_are_written(void **state)
{
	int pipe_ends[2], unnamed = memfd_create("unnamed", MFD_CLOEXEC);
	char name[32], buf[8] = "";
	struct new_file f;

	(void)state;
	assert_int_equal(pipe2(pipe_ends, O_CLOEXEC), 0);
	snprintf(name, sizeof(name), "/dev/fd/%d", pipe_ends[1]);
	assert_int_equal(new_file_open(&f, name, false), -EEXIST);
	assert_int_equal(new_file_open(&f, name, true), 0);
	fputs("pipe", f.file);
	assert_int_equal(new_file_close(&f, 0), 0);
	assert_int_equal(read(pipe_ends[0], buf, sizeof(buf)), 4);
	assert_string_equal(buf, "pipe");
	snprintf(name, sizeof(name), "/proc/self/fd/%d", unnamed);
	assert_int_equal(new_file_open(&f, name, true), 0);
	fputs("memory", f.file);
	assert_int_equal(new_file_close(&f, 0), 0);
	assert_int_equal(read(unnamed, buf, sizeof(buf)), 6);
	assert_int_equal(close(unnamed), 0);
	dir_put("named", "old");
	unnamed = open(in_dir("named"), O_WRONLY | O_CLOEXEC);
	snprintf(name, sizeof(name), "/dev/fd/%d", unnamed);
	assert_int_equal(new_file_open(&f, name, true), 0);
	assert_content("named", "old");
	fputs("new", f.file);
	assert_int_equal(new_file_close(&f, 0), 0);
	assert_content("named", "new");
	assert_int_equal(close(unnamed), 0);
	assert_int_equal(close(pipe_ends[0]), 0);
	assert_int_equal(close(pipe_ends[1]), 0);
}

static bool is_there(const char *file)
{
	struct stat st;

	return !lstat(in_dir(file), &st);
}

/* Of a process that was killed; the pid is above the kernel's limit (2^22), so that no process has it. */
static void temporary_files_of_killed_writers_are_removed(void **state)
{
	static const char *const stay[] = {
		"x.4194999.tmp",      "x.sym.4194999.tmpx", "x.sym.tmp",
		"x.sym..tmp",	      "x.sym.-7.tmp",	    "x.sym.0.tmp",
		"x.sym2.4194999.tmp", "x.sym.1.tmp",	    "x.sym.4294967297.tmp",
		"x.sym",
	};

	(void)state;
	for (size_t i = 0; i < sizeof(stay) / sizeof(*stay); i++)
		dir_put(stay[i], "");
	dir_put("x.sym.4194999.tmp", "part");
	dir_put("x.sym.4194998.tmp", "part");
	assert_int_equal(mkfifo(in_dir("x.sym.4194997.tmp"), 0600), 0);
	assert_int_equal(symlink("x.sym", in_dir("x.sym.4194996.tmp")), 0);
	new_file_remove_left(in_dir("x.sym"));
	assert_false(is_there("x.sym.4194999.tmp"));
	assert_false(is_there("x.sym.4194998.tmp"));
	assert_true(is_there("x.sym.4194997.tmp"));
	assert_true(is_there("x.sym.4194996.tmp"));
	for (size_t i = 0; i < sizeof(stay) / sizeof(*stay); i++)
		assert_true(is_there(stay[i]));
	if (geteuid())
		return;
	dir_put("x.sym.4194995.tmp", "another user's");
	assert_int_equal(chown(in_dir("x.sym.4194995.tmp"), OTHER_USER, OTHER_USER), 0);
	new_file_remove_left(in_dir("x.sym"));
	assert_true(is_there("x.sym.4194995.tmp"));
	new_file_remove_left(in_dir("no-such-directory/x"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(old_one_stays_until_new_one_holds_something),
		cmocka_unit_test(new_one_without_data_leaves_nothing),
		cmocka_unit_test(foreign_files_stay),
		cmocka_unit_test(two_writers_of_one_name),
		cmocka_unit_test(deleted_and_truncated_files_are_noticed),
		cmocka_unit_test(other_users_files_in_a_shared_directory),
		cmocka_unit_test(own_link_to_nothing_makes_a_private_file),
		cmocka_unit_test(open_descriptors_are_written),
		cmocka_unit_test(other_users_files_in_any_directory),
		cmocka_unit_test(temporary_files_of_killed_writers_are_removed),
	};

	return cmocka_run_group_tests_name("output files", tests, dir_make, dir_remove);
}
