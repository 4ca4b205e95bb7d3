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
 * It is sent at once, as what waits in the socket is read even if it was closed meanwhile: by a QEMU that accepts the
 * connection late (another debugger was attached), or that stood still itself. Unread answers are taken first: closing
 * a socket that has some discards what was sent. Before it, "?" is asked, whose answer is like no other: it separates
 * the reply from those to earlier commands.
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

/* "#00" ends a packet that was cut (the stub rejects it), "+" confirms an answer that was not. */
static const char detach_process[] = "#00+$?#3f+$D;1#b0", detach_all[] = "+$D#44";

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

/* Reads until a packet fits; its text is in g->parser.data. */
static bool await(struct gdb_guard *g, uint64_t until_ns, bool (*fits)(const char *text))
{
	struct pollfd answer = {.fd = g->socket, .events = POLLIN};
	uint64_t now;
	uint8_t byte;

	while ((now = monotonic_ns()) < until_ns) {
		int ready = poll(&answer, 1, (int)((until_ns - now) / 1000000) + 1);

		if (ready < 0 && errno == EINTR)
			continue;
		if (ready <= 0 || recv(g->socket, &byte, 1, 0) != 1)
			return false;
		if (gdb_parse(&g->parser, byte) == GDB_PACKET && fits(g->parser.data))
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

/* After this nothing unread is in the socket, and nothing arrives. */
static void answers_drop(int socket)
{
	char bytes[256];

	shutdown(socket, SHUT_RD);
	while (recv(socket, bytes, sizeof(bytes), MSG_DONTWAIT) > 0)
		;
}

/* Sends the request, and waits for its reply until then. */
static bool request(struct gdb_guard *g, uint64_t until_ns)
{
	if (!say(g->socket, detach_process) || !await(g, until_ns, is_state) ||
	    !await(g, until_ns, is_detach_reply))
		return false;
	return !strcmp(g->parser.data, "OK") ||
	       (say(g->socket, detach_all) && await(g, until_ns, is_detach_reply) &&
		!strcmp(g->parser.data, "OK"));
}

static bool detach(struct gdb_guard *g, uint64_t timeout_ns)
{
	bool confirmed = request(g, monotonic_ns() + timeout_ns);

	answers_drop(g->socket);
	return confirmed;
}

static void guard_run(struct gdb_guard *g, int line) __attribute__((noreturn));

static void guard_run(struct gdb_guard *g, int line)
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
	descriptors_keep(g->socket, line);
	say(line, "R"); /* nothing that is sent to our process group reaches this process any more */
	while ((n = recv(line, &word, 1, 0)) == 1 || (n < 0 && errno == EINTR)) {
		if (n == 1 && word == GUARD_HAS_NOTHING)
			_exit(0);
		keep_paused |= n == 1 && word == GUARD_KEEPS_PAUSED;
		blind |= n == 1 && word == GUARD_IS_BLIND;
	}
	if (keep_paused)
		_exit(0);
	say(line, "D"); /* before the request, of which there must be one */
	_exit(detach(g, blind ? 0 : g->timeout_ns) ? 0 : 1);
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

bool gdb_guard_stop(struct gdb_guard *g)
{
	int status = 1;

	if (g->pid < 0)
		return false;
	shutdown(g->line, SHUT_WR);
	while (waitpid(g->pid, &status, 0) < 0 && errno == EINTR)
		;
	if (WIFSIGNALED(status) && !has_detached(g))
		status = g->keeps_paused || detach(g, g->timeout_ns) ? 0 : 1;
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

int gdb_guard_start(int socket, uint64_t timeout_ns, struct gdb_guard *ret)
{
	int end[2];

	ret->pid = ret->line = -1;
	ret->socket = socket;
	ret->timeout_ns = timeout_ns;
	ret->keeps_paused = false;
	ret->parser.state = 0;
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
		guard_run(ret, end[0]);
	}
	close(end[0]);
	ret->line = end[1];
	if (is_ready(end[1]))
		return 0;
	gdb_guard_stop(ret);
	return fail(-ECHILD, "the process that continues the VM was killed");
}
