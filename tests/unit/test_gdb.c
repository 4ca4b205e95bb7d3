// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The gdb client against unusual stubs: without acknowledgements, with transmission errors, with repeated packets,
 * silent, with wrong replies, closed, with other detach requests. The stub is a child on a unix socket; its exit status
 * says whether it received a detach request, and nothing after it.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/error.h" /* before cmocka.h, which has a macro fail() */

#include <cmocka.h>

#include "fetch/gdb.h"

enum stub {
	PLAIN,
	NO_ACK,
	NOISY,
	REPEATS,
	SILENT,
	NOTIFIES,
	SHORT,
	GONE,
	RUNNING,
	NO_PROCESSES,
	STAYS,
	LATE
};

enum { DETACHED = 42, TALKED_TO = 43, MAPPED_END = 0x10000, LATE_US = 100000 };

static char dir[] = "/tmp/test-gdb.XXXXXX", path[64], target[80];

/* ---- the stub ---- */

struct line {
	int fd;
	enum stub kind;
	bool ack, damaged_once, refused_once;
	struct gdb_parser parser;
};

static void say(struct line *l, const char *text)
{
	char packet[8192];
	size_t len = gdb_packet_make(text, strlen(text), packet, sizeof(packet));

	if (l->kind == NOISY && !l->damaged_once) {
		l->damaged_once = true;
		packet[len - 1] ^= 1;
	}
	send(l->fd, packet, len, MSG_NOSIGNAL); /* nobody may listen any more */
}

/* Byte n of the memory is n % 251; "0*~" and its like where bytes repeat. */
static void say_memory(struct line *l, const char *command)
{
	unsigned long address, len;
	char text[8192];

	if (sscanf(command, "m%lx,%lx", &address, &len) != 2 || address + len > MAPPED_END) {
		say(l, "E14");
		return;
	}
	if (l->kind == REPEATS) { /* all zeroes: one, and the others as repeats of at most 97 */
		uint8_t sum = '0';
		int n = snprintf(text, sizeof(text), "$0");

		for (unsigned long left = 2 * len - 1; left;) {
			unsigned long part = left > 97 ? 97 : left;

			if (part < 3) {
				text[n++] = '0';
				sum = (uint8_t)(sum + '0');
				left--;
				continue;
			}
			if (strchr("#$+-", (int)part + 29))
				part = 5; /* counts that would look like something else */
			text[n++] = '*';
			text[n++] = (char)(part + 29);
			sum = (uint8_t)(sum + '*' + part + 29);
			left -= part;
		}
		n += snprintf(text + n, sizeof(text) - (size_t)n, "#%02x", sum);
		send(l->fd, text, (size_t)n, MSG_NOSIGNAL);
		return;
	}
	for (unsigned long i = 0; i < len; i++)
		snprintf(text + 2 * i, 3, "%02lx", (address + i) % 251);
	if (l->kind == SHORT)
		text[2 * len - 2] = 0;
	say(l, text);
}

/* QEMU crashes on a second request, and any byte stops the VM again. */
static void detached(struct line *l)
{
	char byte;

	send(l->fd, "+$OK#9a", 7, MSG_NOSIGNAL); /* the client may have closed */
	_exit(recv(l->fd, &byte, 1, 0) == 1 ? TALKED_TO : DETACHED);
}

static void command_answer(struct line *l, const char *c)
{
	if (!strncmp(c, "qSupported", 10)) {
		if (l->kind == NOISY)
			send(l->fd, "noise%Stop:T05#99$T05thread:01;#07", 34, MSG_NOSIGNAL);
		say(l, l->kind == NO_ACK ? "PacketSize=200;QStartNoAckMode+" : "PacketSize=400");
	} else if (!strcmp(c, "QStartNoAckMode")) {
		say(l, "OK");
		l->ack = false;
	} else if (!strcmp(c, "?")) {
		say(l, l->kind == RUNNING ? "OK" : "S05");
	} else if (*c == 'm') {
		say_memory(l, c);
	} else if (!strcmp(c, "M100,1:01")) {
		say(l, "OK");
	} else if (*c == 'D' && l->kind == STAYS) {
		say(l, "E22");
	} else if (!strcmp(c, l->kind == NO_PROCESSES ? "D" : "D;1")) {
		detached(l);
	} else {
		say(l, "");
	}
}

static void packet_arrived(struct line *l)
{
	if (l->kind == NOISY && !l->refused_once) {
		l->refused_once = true;
		send(l->fd, "-", 1, MSG_NOSIGNAL);
		return;
	}
	if (l->kind == SILENT) {
		if (!strcmp(l->parser.data, "D;1"))
			_exit(DETACHED);
		return;
	}
	if (l->ack)
		send(l->fd, "+", 1, MSG_NOSIGNAL);
	if (l->kind == NOTIFIES)
		for (int i = 0; i < 1000; i++)
			send(l->fd, "%Stop#a6", 8, MSG_NOSIGNAL);
	command_answer(l, l->parser.data);
}

static void stub_run(int listener, enum stub kind)
{
	static struct line l;
	uint8_t byte;

	alarm(60);
	l.kind = kind;
	l.ack = true;
	l.fd = accept(listener, NULL, NULL);
	if (kind == GONE)
		_exit(0);
	if (kind == LATE)
		usleep(LATE_US);
	while (recv(l.fd, &byte, 1, 0) == 1) {
		enum gdb_token t = gdb_parse(&l.parser, byte);

		if (t == GDB_PACKET)
			packet_arrived(&l);
		else if (t == GDB_NAK && kind == NOISY)
			say(&l, "PacketSize=400"); /* again, after the damaged packet */
	}
	_exit(0);
}

static pid_t stub_start(enum stub kind)
{
	struct sockaddr_un at = {.sun_family = AF_UNIX};
	int listener = socket(AF_UNIX, SOCK_STREAM, 0);
	pid_t pid;

	unlink(path);
	strcpy(at.sun_path, path);
	assert_int_equal(bind(listener, (struct sockaddr *)&at, sizeof(at)), 0);
	assert_int_equal(listen(listener, 1), 0);
	fflush(NULL);
	pid = fork();
	if (!pid)
		stub_run(listener, kind);
	close(listener);
	return pid;
}

static int stub_end(pid_t pid)
{
	int status = 0;

	assert_int_equal(waitpid(pid, &status, 0), pid);
	return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

/* ---- tests ---- */

static void memory_check(enum stub kind)
{
	static uint8_t bytes[5000];
	pid_t pid = stub_start(kind);
	struct gdb *g = NULL;

	assert_int_equal(gdb_open(target, 0, GDB_BEFORE_UNKNOWN, &g), 0);
	assert_int_equal(gdb_read(g, 0x123, bytes, sizeof(bytes)), 0);
	for (size_t i = 0; i < sizeof(bytes); i++)
		assert_int_equal(bytes[i], kind == REPEATS ? 0 : (0x123 + i) % 251);
	assert_int_equal(gdb_read(g, MAPPED_END - 4, bytes, 8), -EFAULT);
	assert_int_equal(gdb_read(g, 7, bytes, 1), 0); /* still in step */
	assert_int_equal(bytes[0], kind == REPEATS ? 0 : 7);
	assert_int_equal(gdb_write(g, 0x100, "\x01", 1), 0);
	assert_int_equal(gdb_write(g, 0x101, "\x01", 1), -EFAULT);
	gdb_close(g);
	assert_int_equal(stub_end(pid), DETACHED);
}

static void plain(void **state)
{
	(void)state;
	memory_check(PLAIN);
}

static void without_acknowledgements(void **state)
{
	(void)state;
	memory_check(NO_ACK);
}

static void noisy_line(void **state)
{
	(void)state;
	memory_check(NOISY);
}

static void repeats(void **state)
{
	(void)state;
	memory_check(REPEATS);
}

static void open_fails(enum stub kind, int wanted, int wanted_end)
{
	pid_t pid = stub_start(kind);
	struct gdb *g = NULL;

	assert_int_equal(gdb_open(target, 300000000, GDB_BEFORE_UNKNOWN, &g), wanted);
	assert_null(g);
	assert_int_equal(stub_end(pid), wanted_end);
}

static void without_processes(void **state)
{
	(void)state;
	memory_check(NO_PROCESSES);
}

/* end: how the stub ended */
static void detach_check(enum stub kind, enum gdb_before before, int wanted, int end)
{
	pid_t pid = stub_start(kind);
	struct gdb *g = NULL;

	assert_int_equal(gdb_open(target, 0, before, &g), 0);
	assert_int_equal(gdb_detach(g), wanted);
	gdb_close(g);
	assert_int_equal(stub_end(pid), end);
}

static void detaches_once(void **state)
{
	(void)state;
	detach_check(PLAIN, GDB_RAN_BEFORE, 0, DETACHED);
	detach_check(NO_PROCESSES, GDB_RAN_BEFORE, 0, DETACHED);
}

/* The time before the first answer may not be one, and that after the detachment is none. */
static void stopped_time(void **state)
{
	enum { HELD_US = 50000, LATER_US = 100000 };
	pid_t pid = stub_start(LATE);
	struct gdb_stopped stopped;
	struct gdb *g = NULL;

	(void)state;
	assert_int_equal(gdb_open(target, 0, GDB_RAN_BEFORE, &g), 0);
	usleep(HELD_US);
	assert_int_equal(gdb_detach(g), 0);
	stopped = gdb_stopped(g);
	assert_true(stopped.min_ns >= HELD_US * 1000ull);
	assert_true(stopped.max_ns >= stopped.min_ns + LATE_US * 1000ull / 2);
	usleep(LATER_US);
	assert_true(gdb_stopped(g).max_ns == stopped.max_ns);
	gdb_close(g);
	assert_int_equal(stub_end(pid), DETACHED);
	pid = stub_start(STAYS);
	assert_int_equal(gdb_open(target, 0, GDB_RAN_BEFORE, &g), 0);
	assert_int_equal(gdb_detach(g), -EIO);
	assert_true(gdb_stopped(g).max_ns == UINT64_MAX);
	gdb_close(g);
	stub_end(pid);
}

/* SIGUSR1 of somebody else does not pass for the guard's; the guard detaches. */
static void foreign_signal(void **state)
{
	pid_t pid = stub_start(PLAIN), child = fork();
	struct gdb *g = NULL;
	int status;

	(void)state;
	if (!child) {
		if (gdb_open(target, 0, GDB_RAN_BEFORE, &g))
			_exit(1);
		raise(SIGUSR1);
		_exit(2);
	}
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGUSR1);
	assert_int_equal(stub_end(pid), DETACHED);
}

static void detach_rejected(void **state)
{
	(void)state;
	detach_check(STAYS, GDB_RAN_BEFORE, -EIO, 0);
	assert_non_null(strstr(error_text(), "may still be paused"));
}

static void paused_before(void **state)
{
	(void)state;
	detach_check(PLAIN, GDB_PAUSED_BEFORE, 0, 0);
}

/* A stub that does not answer: if it resumes, it finds a detach request. */
static void silent(void **state)
{
	(void)state;
	open_fails(SILENT, -ETIMEDOUT, DETACHED);
	assert_non_null(strstr(error_text(), "no reply; is another debugger attached to the VM? It "
					     "may be paused: 'cont' in QEMU's monitor"));
}

static void notifies_for_ever(void **state)
{
	(void)state;
	open_fails(NOTIFIES, -EPROTO, DETACHED);
}

static void gone(void **state)
{
	(void)state;
	open_fails(GONE, -EPIPE, 0);
}

static void short_answer(void **state)
{
	pid_t pid = stub_start(SHORT);
	struct gdb *g = NULL;
	uint8_t bytes[16];

	(void)state;
	assert_int_equal(gdb_open(target, 0, GDB_BEFORE_UNKNOWN, &g), 0);
	assert_int_equal(gdb_read(g, 0, bytes, sizeof(bytes)), -EPROTO);
	gdb_close(g);
	assert_int_equal(stub_end(pid), DETACHED);
}

static void no_stub(void **state)
{
	struct gdb *g;

	(void)state;
	assert_int_equal(gdb_open("unix:/nowhere/at/all", 0, GDB_BEFORE_UNKNOWN, &g), -ENOENT);
	assert_int_equal(gdb_open("no-port", 0, GDB_BEFORE_UNKNOWN, &g), -EINVAL);
	assert_int_equal(gdb_open("127.0.0.1:1", 0, GDB_BEFORE_UNKNOWN, &g), -ECONNREFUSED);
}

static int directory_make(void **state)
{
	(void)state;
	if (!mkdtemp(dir))
		return -1;
	snprintf(path, sizeof(path), "%s/s", dir);
	snprintf(target, sizeof(target), "unix:%s", path);
	return 0;
}

static int directory_remove(void **state)
{
	(void)state;
	unlink(path);
	return rmdir(dir);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(plain),
		cmocka_unit_test(without_acknowledgements),
		cmocka_unit_test(noisy_line),
		cmocka_unit_test(repeats),
		cmocka_unit_test(without_processes),
		cmocka_unit_test(detaches_once),
		cmocka_unit_test(stopped_time),
		cmocka_unit_test(foreign_signal),
		cmocka_unit_test(detach_rejected),
		cmocka_unit_test(paused_before),
		cmocka_unit_test(silent),
		cmocka_unit_test(notifies_for_ever),
		cmocka_unit_test(gone),
		cmocka_unit_test(short_answer),
		cmocka_unit_test(no_stub),
	};

	return cmocka_run_group_tests(tests, directory_make, directory_remove);
}
