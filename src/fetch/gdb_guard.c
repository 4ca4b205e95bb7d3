// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A guest must not stay stopped because we were killed. The guard shares the socket and has one end of a line to this
 * process; when the other end is closed, this process is done or was killed, and the guard detaches. It is in a session
 * of its own, so that what ends our process group does not end it.
 *
 * One detach request is sent: QEMU crashes on a second one (7.2 to 11.1: it has no current vCPU then), and any byte
 * after the reply, even a confirmation, stops the VM again. It is "D;1": once a gdb was connected, QEMU answers a plain
 * "D" with an error, also to later clients. A stub that rejects "D;1" is not detached yet, and gets "D".
 *
 * The guard waits for the reply, however late: closing a socket with unread data also discards what was sent. To
 * distinguish the reply from those to earlier commands, it sends "?" first, whose answer is like no other.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/error.h"
#include "fetch/gdb.h"
#include "fetch/gdb_packet.h"

#define REPLY_NS (60ull * 1000000000)

/* "#00" ends a packet that was cut (the stub rejects it), "+" confirms an answer that was not. */
static const char ask_state[] = "#00+$?#3f", detach_process[] = "+$D;1#b0", detach_all[] = "+$D#44";

/* Nothing that others wait for the end of may stay open here: pipes of a shell, files. */
static void descriptors_keep(int a, int b)
{
	int low = a < b ? a : b, high = a < b ? b : a;

	if (low > 0)
		close_range(0, (unsigned int)low - 1, 0);
	if (high > low + 1)
		close_range((unsigned int)low + 1, (unsigned int)high - 1, 0);
	close_range((unsigned int)high + 1, ~0u, 0);
}

static bool say(int socket, const char *text)
{
	return send(socket, text, strlen(text), MSG_NOSIGNAL) == (ssize_t)strlen(text);
}

/* Reads until a packet fits; its text is in p->data. */
static bool await(int socket, struct gdb_parser *p, bool (*fits)(const char *text))
{
	uint64_t until_ns = monotonic_ns() + REPLY_NS, now;
	struct pollfd answer = {.fd = socket, .events = POLLIN};
	uint8_t byte;

	while ((now = monotonic_ns()) < until_ns) {
		int ready = poll(&answer, 1, (int)((until_ns - now) / 1000000) + 1);

		if (ready < 0 && errno == EINTR)
			continue;
		if (ready <= 0 || recv(socket, &byte, 1, 0) != 1)
			return false;
		if (gdb_parse(p, byte) == GDB_PACKET && fits(p->data))
			return true;
	}
	return false;
}

static bool is_state(const char *text)
{
	return *text && strchr("TSWX", *text);
}

/* Not the answer to "?", if what came before it was an unrequested one, nor any to what was asked before. */
static bool is_detach_reply(const char *text)
{
	return !*text || *text == 'E' || !strcmp(text, "OK");
}

/* `announce`: a socket on which a byte is sent before the request; -1: none. */
static bool detach(int socket, int announce)
{
	struct gdb_parser p = {0};

	if (!say(socket, ask_state) || !await(socket, &p, is_state))
		return false;
	if (announce >= 0)
		say(announce, "D");
	if (!say(socket, detach_process) || !await(socket, &p, is_detach_reply))
		return false;
	return !strcmp(p.data, "OK") ||
	       (say(socket, detach_all) && await(socket, &p, is_detach_reply) &&
		!strcmp(p.data, "OK"));
}

static void guard_run(int socket, int line) __attribute__((noreturn));

static void guard_run(int socket, int line)
{
	bool keep_paused = false, blind = false;
	char word;
	ssize_t n;

	setsid();
	signal(SIGINT, SIG_IGN);
	signal(SIGTERM, SIG_IGN);
	signal(SIGHUP, SIG_IGN);
	signal(SIGQUIT, SIG_IGN);
	signal(SIGPIPE, SIG_IGN);
	descriptors_keep(socket, line);
	say(line, "R"); /* nothing that is sent to our process group reaches this process any more */
	while ((n = recv(line, &word, 1, 0)) == 1 || (n < 0 && errno == EINTR)) {
		if (n == 1 && word == GUARD_HAS_NOTHING)
			_exit(0);
		keep_paused |= n == 1 && word == GUARD_KEEPS_PAUSED;
		blind |= n == 1 && word == GUARD_IS_BLIND;
	}
	if (blind)
		say(socket, detach_process);
	_exit(keep_paused || (!blind && detach(socket, line)) ? 0 : 1);
}

void gdb_guard_tell(struct gdb_guard *g, enum gdb_guard_word word)
{
	char byte = (char)word;

	if (g->pid >= 0 && send(g->line, &byte, 1, MSG_NOSIGNAL) == 1)
		g->keeps_paused |= word == GUARD_KEEPS_PAUSED;
}

/* It announces the request before it sends it. */
static bool has_detached(const struct gdb_guard *g)
{
	char byte;

	return recv(g->line, &byte, 1, MSG_DONTWAIT) == 1;
}

bool gdb_guard_stop(struct gdb_guard *g, int socket)
{
	int status = 1;

	if (g->pid < 0)
		return false;
	shutdown(g->line, SHUT_WR);
	while (waitpid(g->pid, &status, 0) < 0 && errno == EINTR)
		;
	if (WIFSIGNALED(status) && !has_detached(g))
		status = g->keeps_paused || detach(socket, -1) ? 0 : 1;
	close(g->line);
	g->pid = -1;
	return !status;
}

static bool is_ready(int line)
{
	char byte;
	ssize_t n;

	while ((n = recv(line, &byte, 1, 0)) < 0 && errno == EINTR)
		;
	return n == 1;
}

int gdb_guard_start(int socket, struct gdb_guard *ret)
{
	int end[2];

	*ret = (struct gdb_guard){-1, -1};
	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, end))
		return fail(-errno, "socketpair: %s", strerror(errno));
	ret->pid = fork();
	if (ret->pid < 0) {
		close(end[0]);
		close(end[1]);
		return fail(-errno, "fork: %s", strerror(errno));
	}
	if (!ret->pid) {
		close(end[1]);
		guard_run(socket, end[0]);
	}
	close(end[0]);
	ret->line = end[1];
	if (is_ready(end[1]))
		return 0;
	gdb_guard_stop(ret, socket);
	return fail(-ECHILD, "the process that continues the VM was killed");
}
