// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A guest must not stay stopped because we were killed. The guard shares the socket and has one end
 * of a pipe; when the pipe is closed, this process is done or was killed, and the guard detaches.
 *
 * Only the guard detaches, and once: QEMU 7.2 crashes on a second "D" (it has no current vCPU then).
 * And it waits for the reply, however late: closing a socket with unread data also discards what
 * was sent. To distinguish the reply from those to earlier commands, it sends "?" first, whose
 * answer is like no other.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/error.h"
#include "fetch/gdb.h"
#include "fetch/gdb_packet.h"

enum { ANSWER_MS = 60000 };

/* "#00" ends a packet that was cut (the stub rejects it), "+" confirms an answer that was not. */
static const char ask_state[] = "#00+$?#3f", detach[] = "+$D#44";

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

/* Reads until it receives a packet that begins with one of these letters. */
static bool await(int socket, const char *letters)
{
	struct gdb_parser parser = {0};
	struct pollfd answer = {.fd = socket, .events = POLLIN};
	uint8_t byte;

	while (poll(&answer, 1, ANSWER_MS) > 0 && recv(socket, &byte, 1, 0) == 1)
		if (gdb_parse(&parser, byte) == GDB_PACKET && parser.len &&
		    strchr(letters, parser.data[0]))
			return true;
	return false;
}

static void guard_run(int socket, int pipe) __attribute__((noreturn));

static void guard_run(int socket, int pipe)
{
	char word;
	ssize_t n;

	signal(SIGINT, SIG_IGN);
	signal(SIGTERM, SIG_IGN);
	signal(SIGHUP, SIG_IGN);
	signal(SIGQUIT, SIG_IGN);
	signal(SIGPIPE, SIG_IGN);
	descriptors_keep(socket, pipe);
	while ((n = read(pipe, &word, 1)) < 0 && errno == EINTR)
		;
	if (n == 1 && word == GUARD_HAS_NOTHING)
		_exit(0);
	if (n == 1)
		say(socket, detach);
	else if (say(socket, ask_state) && await(socket, "TSWX") && say(socket, detach))
		await(socket, "OE");
	_exit(0);
}

int gdb_guard_start(int socket, struct gdb_guard *ret)
{
	int end[2];

	*ret = (struct gdb_guard){-1, -1};
	if (pipe2(end, O_CLOEXEC))
		return fail(-errno, "pipe: %s", strerror(errno));
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
	ret->pipe = end[1];
	return 0;
}

void gdb_guard_stop(struct gdb_guard *g, enum gdb_guard_end how)
{
	char word = (char)how;

	if (g->pid < 0)
		return;
	if (how != GUARD_DETACHES && write(g->pipe, &word, 1) != 1)
		kill(g->pid, SIGKILL);
	close(g->pipe);
	while (waitpid(g->pid, NULL, 0) < 0 && errno == EINTR)
		;
	g->pid = -1;
}
