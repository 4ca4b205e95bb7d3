// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Packets of the gdb remote serial protocol (gdb's manual, appendix E, "Overview"):
 *
 *   $DATA#CC     CC: sum of DATA's bytes modulo 256, two hex digits. In DATA '}' escapes the next
 *                byte (xor 0x20); in replies '*' and a count byte repeat the byte before.
 *   + -          the packet before was good, or is to be sent again
 *   %DATA#CC     an unrequested notification
 *
 * The stub is as little trusted as the guest: packets are bounded, what is not a packet is skipped.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>

#include "base/clock.h"
#include "base/digits.h"
#include "base/error.h"
#include "base/temporary.h"
#include "fetch/gdb.h"
#include "vm/proc.h"

enum { IDLE, DATA, SUM_HIGH, SUM_LOW };

enum { REPEAT_BIAS = 29, REPEAT_MIN = 32, REPEAT_MAX = 126 };

static void data_add(struct gdb_parser *p, char c)
{
	if (p->len == GDB_PACKET_MAX)
		p->damaged = true;
	else
		p->data[p->len++] = c;
}

/* "0*<space>" is four zeroes: the count byte is the number of repeats plus 29. */
static void data_repeat(struct gdb_parser *p, uint8_t count)
{
	if (!p->len || count < REPEAT_MIN || count > REPEAT_MAX)
		p->damaged = true;
	for (int n = count - REPEAT_BIAS; n > 0 && !p->damaged; n--)
		data_add(p, p->data[p->len - 1]);
}

static void data_byte(struct gdb_parser *p, uint8_t c)
{
	p->sum = (uint8_t)(p->sum + c);
	if (p->escaped) {
		p->escaped = false;
		data_add(p, (char)(c ^ 0x20));
	} else if (p->repeat) {
		p->repeat = false;
		data_repeat(p, c);
	} else if (c == '}') {
		p->escaped = true;
	} else if (c == '*') {
		p->repeat = true;
	} else {
		data_add(p, (char)c);
	}
}

static void packet_begins(struct gdb_parser *p, bool notification)
{
	p->state = DATA;
	p->notification = notification;
	p->damaged = p->escaped = p->repeat = false;
	p->sum = 0;
	p->len = 0;
}

static enum gdb_token idle_byte(struct gdb_parser *p, uint8_t c)
{
	switch (c) {
	case '+':
		return GDB_ACK;
	case '-':
		return GDB_NAK;
	case '$':
	case '%':
		packet_begins(p, c == '%');
		return GDB_NOTHING;
	default:
		return GDB_NOTHING;
	}
}

static enum gdb_token packet_ends(struct gdb_parser *p, int low)
{
	p->state = IDLE;
	p->data[p->len] = 0;
	if (low < 0 || p->damaged || p->escaped || p->repeat ||
	    p->sum != (uint8_t)(p->sum_sent << 4 | low))
		return GDB_DAMAGED;
	return p->notification ? GDB_NOTIFICATION : GDB_PACKET;
}

enum gdb_token gdb_parse(struct gdb_parser *p, uint8_t c)
{
	int digit;

	switch (p->state) {
	case DATA:
		if (c == '$') /* the rest of the packet before was lost */
			packet_begins(p, false);
		else if (c == '#')
			p->state = SUM_HIGH;
		else
			data_byte(p, c);
		return GDB_NOTHING;
	case SUM_HIGH:
		digit = hex_digit((char)c);
		p->damaged |= digit < 0;
		p->sum_sent = (uint8_t)(digit & 15);
		p->state = SUM_LOW;
		return GDB_NOTHING;
	case SUM_LOW:
		return packet_ends(p, hex_digit((char)c));
	default:
		return idle_byte(p, c);
	}
}

size_t gdb_packet_make(const char *data, size_t len, char *ret, size_t size)
{
	uint8_t sum = 0;
	size_t n = 0;

	if (size < 2 * len + 5)
		return 0;
	ret[n++] = '$';
	for (size_t i = 0; i < len; i++) {
		bool special = strchr("$#}*", data[i]) && data[i];

		if (special)
			ret[n++] = '}';
		ret[n++] = (char)(special ? data[i] ^ 0x20 : data[i]);
	}
	for (size_t i = 1; i < n; i++)
		sum = (uint8_t)(sum + (uint8_t)ret[i]);
	return n + (size_t)snprintf(ret + n, size - n, "#%02x", sum);
}

bool gdb_hex_bytes(const char *hex, size_t digits, uint8_t *ret, size_t len)
{
	if (digits != 2 * len)
		return false;
	for (size_t i = 0; i < len; i++) {
		int high = hex_digit(hex[2 * i]), low = hex_digit(hex[2 * i + 1]);

		if (high < 0 || low < 0)
			return false;
		ret[i] = (uint8_t)(high << 4 | low);
	}
	return true;
}

/*
 * A guest must not stay stopped because we were killed. The guard shares the socket and has one end of a line to this
 * process; when the other end is closed, this process is done or was killed, and the guard detaches. It is in a session
 * of its own, so that what ends our process group does not end it.
 *
 * It also acts if this process is stopped (SIGSTOP) for STOPPED_MAX_NS. Whenever this process continues, nothing it
 * does may come after the detach request; so it is first sent the signal GUARD_ACTS, whose handler runs before
 * anything else then, and ends it. If it continued just before the signal, the line's end follows. The handler is
 * there, and the signal not blocked, from before the guard begins until after it has ended.
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

/*
 * The guard sends GUARD_ACTS to a process that was stopped (SIGSTOP) for so long, and detaches; its handler ends the
 * process before that does anything else.
 */
#define STOPPED_MAX_NS (2ull * 1000000000)
enum { STOPPED_LOOK_MS = 100, GUARD_ACTS = SIGUSR1 };

struct gdb_guard_shared {
	_Atomic(uint64_t) asked_ns, confirmed_ns; /* see gdb_guard_times() */
	atomic_bool acts;			  /* GUARD_ACTS is from the guard */
};

/* The one that the handler of GUARD_ACTS is for: signals belong to the process. */
static struct gdb_guard **guard_of_process(void)
{
	static struct gdb_guard *process_wide;

	return &process_wide;
}

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
	uint64_t now = monotonic_ns();
	bool confirmed;

	atomic_store(&g->shared->asked_ns, now);
	confirmed = request(g, now + timeout_ns);
	if (confirmed)
		atomic_store(&g->shared->confirmed_ns, monotonic_ns());
	answers_drop(g->socket);
	return confirmed;
}

/* By a signal, under a tracer, too. */
static bool is_stopped(pid_t process)
{
	char state = proc_state(process);

	return getppid() == process && (state == 'T' || state == 't');
}

/* True: this process has been stopped for so long, and ends before it does anything else. */
static bool is_stopped_too_long(struct gdb_guard *g, pid_t process, uint64_t *since_ns)
{
	if (!is_stopped(process)) {
		*since_ns = 0;
		return false;
	}
	if (!*since_ns)
		*since_ns = monotonic_ns();
	if (monotonic_ns() - *since_ns < STOPPED_MAX_NS)
		return false;
	atomic_store(&g->shared->acts, true);
	return !kill(process, GUARD_ACTS) && is_stopped(process);
}

/* The next word of the process; false: there is none to come. */
static bool word_get(struct gdb_guard *g, int line, pid_t process, char *ret)
{
	struct pollfd in = {.fd = line, .events = POLLIN};
	uint64_t stopped_since_ns = 0;

	for (;;) {
		int ready = poll(&in, 1, STOPPED_LOOK_MS);
		ssize_t n = ready > 0 ? recv(line, ret, 1, 0) : -1;

		if (n >= 0 || (ready && errno != EINTR))
			return n == 1;
		if (!ready && is_stopped_too_long(g, process, &stopped_since_ns))
			return false;
	}
}

static void guard_run(struct gdb_guard *g, int line, pid_t process) __attribute__((noreturn));

static void guard_run(struct gdb_guard *g, int line, pid_t process)
{
	bool keep_paused = false, blind = false;
	char word;

	setsid();
	signal(SIGINT, SIG_IGN);
	signal(SIGTERM, SIG_IGN);
	signal(SIGHUP, SIG_IGN);
	signal(SIGQUIT, SIG_IGN);
	signal(SIGPIPE, SIG_IGN);
	signal(GUARD_ACTS, SIG_IGN);
	descriptors_keep(g->socket, line);
	say(line,
	    "R"); /* nothing that is sent to our process group reaches this process any more */
	while (word_get(g, line, process, &word)) {
		if (word == GUARD_HAS_NOTHING)
			_exit(0);
		keep_paused |= word == GUARD_KEEPS_PAUSED;
		blind |= word == GUARD_IS_BLIND;
	}
	if (keep_paused)
		_exit(0);
	say(line, "D"); /* before the request, of which there must be one */
	_exit(detach(g, blind ? 0 : g->timeout_ns) ? 0 : 1);
}

/* It announces the request before it sends it. */
static bool has_detached(const struct gdb_guard *g)
{
	char byte;

	return recv(g->line, &byte, 1, MSG_DONTWAIT) == 1;
}

/* Waits until it has ended: nobody else has reaped it. */
static void guard_await(const struct gdb_guard *g)
{
	siginfo_t info;

	for (;;) {
		int err = waitid(P_PID, (id_t)g->pid, &info, WEXITED | WSTOPPED | WNOWAIT);

		if (err ? errno != EINTR : info.si_code != CLD_STOPPED)
			return;
		if (!err)
			kill(g->pid, SIGCONT);
	}
}

/* Waits until the guard says that it detaches, or has ended. One that was just killed may still be there. */
static bool guard_answers(const struct gdb_guard *g)
{
	struct pollfd line = {.fd = g->line, .events = POLLIN};

	kill(g->pid, SIGCONT);
	shutdown(g->line, SHUT_WR);
	return poll(&line, 1, (int)(g->timeout_ns / 1000000)) == 0 || has_detached(g);
}

/* A signal ends this process, and there may be no guard, or a stopped one. */
static void guard_at_end(void)
{
	struct gdb_guard *g = *guard_of_process();

	if (g && g->pid >= 0 && g->process == getpid() && !guard_answers(g) && !g->keeps_paused)
		detach(g, g->timeout_ns);
}

/* From anybody else, it has the effect that it had before. */
static void guard_acted(int nr)
{
	static const char resumed[] = "hostrace: the VM was resumed, as hostrace was stopped "
				      "(SIGSTOP) for too long; try again\n",
			  paused[] = "hostrace: ended, as it was stopped (SIGSTOP) for too long; "
				     "the VM stays paused, as before\n";
	const struct gdb_guard *g = *guard_of_process();

	if (!atomic_load(&g->shared->acts)) {
		sigaction(nr, &g->on_acts, NULL);
		raise(nr); /* once the handler has returned */
		return;
	}
	if (g->keeps_paused)
		(void)!write(STDERR_FILENO, paused, sizeof(paused) - 1);
	else
		(void)!write(STDERR_FILENO, resumed, sizeof(resumed) - 1);
	_exit(1);
}

/* Until acted_restore(). */
static void acted_handle(struct gdb_guard *g)
{
	struct sigaction acted = {.sa_handler = guard_acted};
	sigset_t only;

	*guard_of_process() = g;
	temporary_before_end(guard_at_end);
	sigaction(GUARD_ACTS, &acted, &g->on_acts);
	sigemptyset(&only);
	sigaddset(&only, GUARD_ACTS);
	sigprocmask(SIG_UNBLOCK, &only, &g->mask);
}

static void acted_restore(struct gdb_guard *g)
{
	temporary_before_end(NULL);
	sigprocmask(SIG_SETMASK, &g->mask, NULL);
	sigaction(GUARD_ACTS, &g->on_acts, NULL);
	*guard_of_process() = NULL;
}

void gdb_guard_tell(struct gdb_guard *g, enum gdb_guard_word word)
{
	char byte = (char)word;

	if (g->pid >= 0 && send(g->line, &byte, 1, MSG_NOSIGNAL) == 1)
		g->keeps_paused |= word == GUARD_KEEPS_PAUSED;
}

bool gdb_guard_stop(struct gdb_guard *g)
{
	int status = 1;
	sigset_t all;

	if (g->pid < 0)
		return false;
	shutdown(g->line, SHUT_WR);
	guard_await(g);
	sigfillset(&all);
	sigprocmask(SIG_BLOCK, &all, NULL); /* of two requests, one would be too many */
	if (waitpid(g->pid, &status, 0) == g->pid && WIFSIGNALED(status) && !has_detached(g))
		status = g->keeps_paused || detach(g, g->timeout_ns) ? 0 : 1;
	close(g->line);
	g->pid = -1;
	acted_restore(g);
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
	ret->process = getpid();
	ret->socket = socket;
	ret->timeout_ns = timeout_ns;
	ret->keeps_paused = false;
	ret->parser.state = 0;
	gdb_guard_free(ret);
	ret->shared = mmap(NULL, sizeof(*ret->shared), PROT_READ | PROT_WRITE,
			   MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (ret->shared == MAP_FAILED) {
		ret->shared = NULL;
		return fail(-ENOMEM, "out of memory");
	}
	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, end))
		return fail(-errno, "socketpair: %s", strerror(errno));
	acted_handle(ret);
	ret->pid = fork();
	if (ret->pid < 0) {
		acted_restore(ret);
		close(end[0]);
		close(end[1]);
		return fail(-errno, "fork: %s", strerror(errno));
	}
	if (!ret->pid) {
		close(end[1]);
		guard_run(ret, end[0], ret->process);
	}
	close(end[0]);
	ret->line = end[1];
	if (is_ready(end[1]))
		return 0;
	gdb_guard_stop(ret);
	return fail(-ECHILD, "the process that continues the VM was killed");
}

void gdb_guard_times(const struct gdb_guard *g, uint64_t *ret_asked_ns, uint64_t *ret_confirmed_ns)
{
	*ret_asked_ns = g->shared ? atomic_load(&g->shared->asked_ns) : 0;
	*ret_confirmed_ns = g->shared ? atomic_load(&g->shared->confirmed_ns) : 0;
}

void gdb_guard_free(struct gdb_guard *g)
{
	if (g->shared)
		munmap(g->shared, sizeof(*g->shared));
	g->shared = NULL;
}

int gdb_fail_resumed(int err)
{
	_cleanup_free_ char *text = strdup(error_text());

	return text ? fail(err,
			   "%s; the VM runs now, also if it was paused before (--qmp of 'hostrace "
			   "guest' keeps it paused)",
			   text)
		    : err;
}
