// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Attempts to leave the confinement, from inside. Each runs in a process of its own that confines itself and then tries
 * one thing, in every phase: it must fail with an error or be killed by SIGSYS. test_unconfined shows that the same
 * attempts succeed without confinement; some of them only as root.
 */
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <linux/bpf.h>
#include <linux/capability.h>
#include <linux/filter.h>
#include <linux/perf_event.h>
#include <linux/seccomp.h>
#include <netinet/in.h>
#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <termios.h>
#include <unistd.h>

#include <cmocka.h>
#undef fail

#include "base/error.h"
#include "confine/confine.h"

enum { SUCCEEDED = 0, FAILED = 10, BROKEN = 20 };

static char dir[64] = "/tmp/test_confine.XXXXXX"; /* a directory that only root may enter */

static const char *in_dir(const char *name)
{
	static char path[4][128];
	static unsigned int nr;

	snprintf(path[++nr % 4], sizeof(path[0]), "%s/%s", dir, name);
	return path[nr % 4];
}

static void put(const char *name, const char *text)
{
	FILE *f = fopen(in_dir(name), "w");

	assert_non_null(f);
	fputs(text, f);
	assert_int_equal(fclose(f), 0);
	assert_int_equal(chmod(in_dir(name), 0600), 0);
}

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
	(void)state;
	if (!mkdtemp(dir))
		return -1;
	put("in.hrt", "input\n");
	put("in.guest", "companion\n");
	put("input.hrt", "another file\n");
	put("secret", "root's own\n");
	if (!geteuid() && (symlink("secret", in_dir("in.planted")) ||
			   lchown(in_dir("in.planted"), 65533, 65533)))
		return -1;
	return terminal_open() || mkfifo(in_dir("in.fifo"), 0600) ||
	       symlink("in.hrt", in_dir("in.link"));
}

static int teardown(void **state)
{
	char command[128];

	(void)state;
	snprintf(command, sizeof(command), "rm -rf %s", dir);
	return system(command);
}

/* ---- in a child ---- */

/* What the phases' users give. */
static void enter(enum confine_phase phase)
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
static int run(bool (*attempt)(void), int phase)
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

/* ---- attempts: true if they succeed ---- */

static bool become_root(void)
{
	return !setuid(0) || !setresuid(0, 0, 0) || !geteuid();
}

static bool raise_caps(void)
{
	struct __user_cap_header_struct head = {.version = _LINUX_CAPABILITY_VERSION_3};
	struct __user_cap_data_struct d[2] = {{.effective = 1u << CAP_SYS_ADMIN,
					       .permitted = 1u << CAP_SYS_ADMIN}};

	return !syscall(SYS_capset, &head, d);
}

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

static bool start_process(void)
{
	pid_t pid = fork();

	if (!pid)
		_exit(0);
	return pid > 0;
}

static bool read_shadow(void)
{
	return open("/etc/shadow", O_RDONLY) >= 0;
}

static bool read_other(void)
{
	return open(in_dir("secret"), O_RDONLY) >= 0;
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

static bool write_other(void)
{
	return open(in_dir("secret"), O_WRONLY) >= 0;
}

static bool write_input(void)
{
	return open(in_dir("in.hrt"), O_WRONLY) >= 0;
}

static bool truncate_input(void)
{
	return open(in_dir("in.hrt"), O_RDONLY | O_TRUNC) >= 0;
}

static bool create_other(void)
{
	return open("/var/tmp/test_confine.created", O_WRONLY | O_CREAT, 0600) >= 0 ||
	       open(in_dir("out-x.hrt"), O_WRONLY | O_CREAT | O_EXCL, 0600) >= 0 ||
	       open(in_dir("created"), O_WRONLY | O_CREAT | O_EXCL, 0600) >= 0;
}

static bool create_tmpfile(void)
{
	return open(dir, O_WRONLY | O_TMPFILE, 0600) >= 0;
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

static bool delete_other(void)
{
	return !unlink(in_dir("secret2")) || !unlink(in_dir("in.hrt"));
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

static bool open_socket(void)
{
	return socket(AF_INET, SOCK_STREAM, 0) >= 0;
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
	return !mount("none", dir, "tmpfs", 0, NULL);
}

static bool new_namespace(void)
{
	return !unshare(CLONE_NEWUSER) || !unshare(CLONE_NEWNS);
}

static bool signal_init(void)
{
	return !kill(1, 0);
}

static bool signal_parent(void)
{
	return !kill(getppid(), 0) || !syscall(SYS_tgkill, getppid(), getppid(), 0);
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

/* ---- what must still work ---- */

static bool reads(const char *name, const char *text)
{
	FILE *f = fopen(in_dir(name), "re");
	char line[64] = "";

	if (!f || !fgets(line, sizeof(line), f))
		return false;
	fclose(f);
	return !strcmp(line, text);
}

static bool use_input(void)
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

static bool use_output(void)
{
	char temporary[64];
	int fd, directory;

	snprintf(temporary, sizeof(temporary), "out.hrt.%d.tmp", (int)getpid());
	fd = open(in_dir(temporary), O_WRONLY | O_CREAT | O_EXCL, 0600);
	return fd >= 0 && write(fd, "output\n", 7) == 7 && !close(fd) &&
	       !rename(in_dir(temporary), in_dir("out.hrt")) && reads("out.hrt", "output\n") &&
	       open(in_dir("out-1.hrt"), O_WRONLY | O_CREAT | O_EXCL, 0600) >= 0 &&
	       (directory = open(dir, O_RDONLY | O_DIRECTORY)) >= 0 && !fsync(directory) &&
	       !unlink(in_dir("out-1.hrt")) && !unlink(in_dir("out.hrt"));
}

static bool use_terminal(void)
{
	struct termios modes;

	return !tcgetattr(terminal, &modes) && !tcsetattr(terminal, TCSADRAIN, &modes) &&
	       !tcsetattr(terminal, TCSAFLUSH, &modes) && !tcsetattr(terminal, TCSANOW, &modes);
}

static void *thread_reads(void *arg)
{
	*(bool *)arg = use_input();
	return NULL;
}

static bool use_thread(void)
{
	pthread_t thread;
	bool good = false;

	return !pthread_create(&thread, NULL, thread_reads, &good) && !pthread_join(thread, NULL) &&
	       good;
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
	umount(dir);
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

/* Who is not root has no user to become, but the same limits. */
static void become_ordinary(void)
{
	char own[] = "/tmp/test_confine.own.XXXXXX";

	if (!geteuid() && (setgroups(0, NULL) || setresgid(65533, 65533, 65533) ||
			   setresuid(65533, 65533, 65533) || prctl(PR_SET_DUMPABLE, 1)))
		_exit(BROKEN);
	if (!mkdtemp(own))
		_exit(BROKEN);
	snprintf(dir, sizeof(dir), "%s", own);
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

int main(void)
{
	static const struct CMUnitTest without[] = {cmocka_unit_test(test_unconfined)};
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_unconfined),
		cmocka_unit_test(test_read),
		cmocka_unit_test(test_drain),
		cmocka_unit_test(test_follow),
		cmocka_unit_test(test_watch),
		cmocka_unit_test(test_serve),
		cmocka_unit_test(test_use),
		cmocka_unit_test(test_two_steps),
		cmocka_unit_test(test_forks),
		cmocka_unit_test(test_without_supervisor),
		cmocka_unit_test(test_ordinary_user),
	};

	if (!confine_built()) /* with sanitizers */
		return cmocka_run_group_tests(without, setup, teardown);
	return cmocka_run_group_tests(tests, setup, teardown);
}
