// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Attempts to leave the confinement, from inside. Each runs in a process of its own that confines itself and then tries
 * one thing, in every phase: it must fail with an error or be killed by SIGSYS. test_unconfined shows that the same
 * attempts succeed without confinement; some of them only as root.
 */
#include <linux/bpf.h>
#include <linux/perf_event.h>
#include <netinet/in.h>
#include <sched.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/uio.h>
#include <termios.h>

#include "confine_util.h"

static int terminal = -1, pair[2];

static int terminal_open(void)
{
	int control = posix_openpt(O_RDWR | O_NOCTTY);

	if (control >= 0 && !grantpt(control) && !unlockpt(control))
		terminal = open(ptsname(control), O_RDWR | O_NOCTTY);
	return terminal < 0;
}

static int setup(void **state)
{
	if (confine_files_make(state))
		return -1;
	if (!geteuid() && (symlink("secret", in_dir("in.planted")) ||
			   lchown(in_dir("in.planted"), 65533, 65533)))
		return -1;
	return terminal_open() || mkfifo(in_dir("in.fifo"), 0600);
}

/* ---- attempts: true if they succeed; more are in confine_util.h ---- */

static bool execute(void)
{
	execl("/bin/true", "true", NULL); /* exit status 0 */
	return false;
}

static bool execute_fd(void)
{
	char *argv[] = {"true", NULL}, *env[] = {NULL};

	syscall(SYS_execveat, AT_FDCWD, "/bin/true", argv, env, 0);
	return false;
}

/* The input is in.hrt; names that only begin like it are no companions. */
static bool read_similar(void)
{
	return open(in_dir("input.hrt"), O_RDONLY) >= 0;
}

/* It would wait for a writer, and the supervisor with it. */
static bool read_fifo(void)
{
	return open(in_dir("in.fifo"), O_RDONLY) >= 0;
}

/* A name that may be read, but another user made it a link to what only we can read. */
static bool read_planted(void)
{
	return open(in_dir("in.planted"), O_RDONLY) >= 0;
}

static bool read_up(void)
{
	return open(in_dir("in.hrt/../secret"), O_RDONLY) >= 0 ||
	       open(in_dir("in.-/../secret"), O_RDONLY) >= 0;
}

static bool read_by_directory(void)
{
	int fd = open("/etc", O_RDONLY | O_DIRECTORY);

	return fd >= 0 && openat(fd, "shadow", O_RDONLY) >= 0;
}

static bool write_input(void)
{
	return open(in_dir("in.hrt"), O_WRONLY) >= 0;
}

static bool truncate_input(void)
{
	return open(in_dir("in.hrt"), O_RDONLY | O_TRUNC) >= 0;
}

static bool create_tmpfile(void)
{
	return open(test_dir, O_WRONLY | O_TMPFILE, 0600) >= 0;
}

static bool rename_other(void)
{
	return !rename(in_dir("secret"), in_dir("secret2"));
}

static bool rename_over(void)
{
	char temporary[64];

	snprintf(temporary, sizeof(temporary), "out.hrt.%d.tmp", (int)getpid());
	return open(in_dir(temporary), O_WRONLY | O_CREAT | O_EXCL, 0600) >= 0 &&
	       !rename(in_dir(temporary), in_dir("secret"));
}

static bool trace_parent(void)
{
	return !ptrace(PTRACE_SEIZE, getppid(), NULL, NULL);
}

static bool read_memory(void)
{
	char byte;
	struct iovec to = {&byte, 1}, from = {&byte, 1};

	return process_vm_readv(getppid(), &to, 1, &from, 1, 0) == 1;
}

static bool open_unix_socket(void)
{
	return socket(AF_UNIX, SOCK_STREAM, 0) >= 0;
}

static bool make_map(void)
{
	union bpf_attr a = {.map_type = BPF_MAP_TYPE_ARRAY,
			    .key_size = 4,
			    .value_size = 4,
			    .max_entries = 1};

	return syscall(SYS_bpf, BPF_MAP_CREATE, &a, sizeof(a)) >= 0;
}

static bool open_perf(void)
{
	struct perf_event_attr a = {.type = PERF_TYPE_SOFTWARE,
				    .config = PERF_COUNT_SW_CPU_CLOCK,
				    .size = sizeof(a)};

	return syscall(SYS_perf_event_open, &a, -1, 0, -1, 0) >= 0;
}

static bool mount_file_system(void)
{
	return !mount("none", test_dir, "tmpfs", 0, NULL);
}

static bool new_namespace(void)
{
	return !unshare(CLONE_NEWUSER) || !unshare(CLONE_NEWNS);
}

static bool signal_init(void)
{
	return !kill(1, 0);
}

static bool execute_memory(void)
{
	return mmap(NULL, 4096, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1,
		    0) != MAP_FAILED;
}

static bool open_by_handle(void)
{
	struct {
		struct file_handle h;
		char bytes[128];
	} handle = {.h.handle_bytes = sizeof(handle.bytes)};
	int mount_id, fd = open("/", O_RDONLY | O_DIRECTORY);

	return !name_to_handle_at(AT_FDCWD, "/etc", &handle.h, &mount_id, 0) &&
	       open_by_handle_at(fd, &handle.h, O_RDONLY) >= 0;
}

static bool undo_filter(void)
{
	return prctl(PR_GET_SECCOMP) == 0;
}

static bool type_command(void)
{
	return !ioctl(terminal, TIOCSTI, "x");
}

static const struct attempt {
	const char *name;
	bool (*run)(void);
	bool follow; /* is needed while VMs are looked for */
	bool attaches; /* is needed while VMs are attached to */
	bool needs_root; /* to succeed unconfined */
	bool may_be_absent; /* unconfined, this machine may not have it */
} attempts[] = {
	{"setuid(0)", become_root, .needs_root = true},
	{"raise a capability", raise_caps, .needs_root = true},
	{"execve", execute},
	{"execveat", execute_fd},
	{"fork", start_process},
	{"read /etc/shadow", read_shadow, .follow = true, .needs_root = true},
	{"read another file of the directory", read_other, .follow = true},
	{"read a file whose name begins as the input's", read_similar, .follow = true},
	{"read through another user's link", read_planted, .follow = true, .needs_root = true},
	{"read a FIFO next to the input", read_fifo, .may_be_absent = true},
	{"read by ..", read_up, .follow = true, .may_be_absent = true},
	{"read through a directory's descriptor", read_by_directory, .follow = true,
	 .needs_root = true},
	{"write another file", write_other},
	{"write the input", write_input},
	{"truncate the input", truncate_input},
	{"create another file", create_other},
	{"create a file without a name", create_tmpfile, .may_be_absent = true},
	{"rename another file", rename_other},
	{"rename the output over another file", rename_over},
	{"delete another file", delete_other},
	{"ptrace", trace_parent, .may_be_absent = true},
	{"process_vm_readv", read_memory, .may_be_absent = true},
	{"an internet socket", open_socket},
	{"a Unix socket", open_unix_socket},
	{"bpf", make_map, .attaches = true, .needs_root = true},
	{"perf_event_open", open_perf, .attaches = true, .needs_root = true, .may_be_absent = true},
	{"mount", mount_file_system, .needs_root = true},
	{"unshare", new_namespace, .may_be_absent = true},
	{"kill(1, 0)", signal_init, .needs_root = true},
	{"a signal to the parent", signal_parent},
	{"memory to execute", execute_memory},
	{"open_by_handle_at", open_by_handle, .needs_root = true, .may_be_absent = true},
	{"no filter", undo_filter},
	{"type on the terminal", type_command, .attaches = true, .needs_root = true,
	 .may_be_absent = true},
};

static bool use_terminal(void)
{
	struct termios modes;

	return !tcgetattr(terminal, &modes) && !tcsetattr(terminal, TCSADRAIN, &modes) &&
	       !tcsetattr(terminal, TCSAFLUSH, &modes) && !tcsetattr(terminal, TCSANOW, &modes);
}

static void attempts_run(int phase)
{
	int failed = 0;

	for (size_t i = 0; i < sizeof(attempts) / sizeof(*attempts); i++) {
		const struct attempt *a = &attempts[i];
		int status;

		if (phase == CONFINE_FOLLOW && (a->follow || a->attaches))
			continue;
		if (phase == CONFINE_WATCH && a->follow)
			continue;
		if (phase < 0 && (a->may_be_absent || (a->needs_root && geteuid())))
			continue;
		status = run(a->run, phase);
		put("secret", "root's own\n");
		put("secret2", "root's own\n");
		put("in.hrt", "input\n");
		if (phase < 0 ? status == SUCCEEDED : status == FAILED || status == 128 + SIGSYS)
			continue;
		fprintf(stderr, "phase %d: %s: status %d\n", phase, a->name, status);
		failed++;
	}
	unlink("/var/tmp/test_confine.created");
	umount(test_dir);
	assert_int_equal(failed, 0);
}

static void test_unconfined(void **state)
{
	(void)state;
	attempts_run(-1);
}

static void test_read(void **state)
{
	(void)state;
	attempts_run(CONFINE_READ);
}

static void test_drain(void **state)
{
	(void)state;
	attempts_run(CONFINE_DRAIN);
}

static void test_follow(void **state)
{
	(void)state;
	attempts_run(CONFINE_FOLLOW);
}

static void test_watch(void **state)
{
	(void)state;
	attempts_run(CONFINE_WATCH);
	assert_int_equal(run(use_terminal, CONFINE_WATCH), SUCCEEDED);
	assert_int_equal(run(use_terminal, CONFINE_DRAIN), FAILED);
}

/* On a socket that another process connected to; without a file, or a connection of its own. */
static bool use_connection(void)
{
	struct sockaddr_in to = {.sin_family = AF_INET,
				 .sin_port = htons(9),
				 .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	char byte;

	return send(pair[0], "x", 1, MSG_NOSIGNAL) == 1 && recv(pair[1], &byte, 1, 0) == 1 &&
	       sendto(pair[0], "x", 1, MSG_NOSIGNAL, (struct sockaddr *)&to, sizeof(to)) < 0 &&
	       !use_input();
}

static void test_serve(void **state)
{
	(void)state;
	attempts_run(CONFINE_SERVE);
	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, pair), 0);
	assert_int_equal(run(use_connection, CONFINE_SERVE), SUCCEEDED);
	close(pair[0]);
	close(pair[1]);
}

/* Not touched, so that the host need not have them. */
static bool map_bytes(size_t bytes)
{
	return mmap(NULL, bytes, PROT_READ | PROT_WRITE,
		    MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0) != MAP_FAILED;
}

static bool allocate_much(void)
{
	return map_bytes((size_t)16 << 40);
}

static bool allocate_little(void)
{
	return map_bytes((size_t)768 << 20);
}

static void test_memory(void **state)
{
	static const int phases[] = {CONFINE_READ, CONFINE_SERVE};

	(void)state;
	if (run(allocate_much, -1) != SUCCEEDED)
		skip(); /* vm.overcommit_memory */
	assert_int_equal(run(allocate_much, CONFINE_DRAIN), SUCCEEDED);
	for (int i = 0; i < 2; i++) {
		assert_int_equal(run(allocate_much, phases[i]), FAILED);
		assert_int_equal(run(allocate_little, phases[i]), SUCCEEDED);
	}
}

int main(void)
{
	static const struct CMUnitTest without[] = {cmocka_unit_test(test_unconfined)};
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_unconfined),
		cmocka_unit_test(test_read),
		cmocka_unit_test(test_drain),
		cmocka_unit_test(test_follow),
		cmocka_unit_test(test_memory),
		cmocka_unit_test(test_watch),
		cmocka_unit_test(test_serve),
	};

	if (!confine_built()) /* with sanitizers */
		return cmocka_run_group_tests(without, setup, dir_remove);
	return cmocka_run_group_tests(tests, setup, dir_remove);
}
