// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A guest's memory through the gdb stub of its VMM (QEMU's -gdb, -s). QEMU stops the VM when a debugger connects and
 * resumes it when it detaches, but not when the connection is closed; so a child process monitors this one and detaches
 * for it, however it ends.
 *
 * A VM that was paused before stays paused, where that is known: the caller knows it from QEMU's monitor; up to version
 * 8.0 the stub reports that it has stopped a VM that ran; one that was never started is in a state of its own.
 *
 * Addresses are virtual, as the first vCPU maps them.
 */
#include <errno.h>
#include <inttypes.h>
#include <netdb.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>

#include "base/clock.h"
#include "base/error.h"
#include "fetch/gdb.h"
#include "fetch/gdb_internal.h"

enum {
	RESENDS_MAX = 4,
	SKIPPED_MAX = 64, /* notifications and late answers before the one that is waited for */
	CHUNK_DEFAULT = 512,
	CHUNK_MAX = GDB_PACKET_MAX / 4,
	CHUNK_MIN = 16,
	NR_STOPS = 3,
	WINDOW = 16, /* reads under way at once: their answers fit a socket's buffer */
};

/* They stop this process, and the VM would stand still as long: ^Z, and the use of the terminal in the background. */
static const int stops[NR_STOPS] = {SIGTSTP, SIGTTIN, SIGTTOU};

struct gdb {
	int fd;
	const char *target; /* owned */
	uint64_t timeout_ns;
	uint64_t connected_ns, answered_ns; /* before the connection; the first answer */
	bool no_ack, attached;
	bool stop_reported; /* unrequested, before the first answer */
	enum gdb_before before;
	bool paused_by_user; /* known before the stub answers */
	struct sigaction on_stop[NR_STOPS];
	bool was_physical; /* see memory_make_virtual() */
	bool several;	   /* commands may follow each other before they are answered */
	size_t chunk;	   /* bytes of memory in one packet */
	struct gdb_guard guard;
	uint8_t in[4096];
	size_t in_at, in_len;
	struct gdb_parser parser;
	char out[GDB_PACKET_MAX * 2 + 8];
	size_t out_len;
};

/* ---- connecting ---- */

/* A socket with its guard, connected; -errno (no error message): g->fd and the guard are as before. */
static int connect_guarded(struct gdb *g, int family, int type, int protocol,
			   const struct sockaddr *at, socklen_t len)
{
	int err;

	g->fd = socket(family, type | SOCK_CLOEXEC, protocol);
	if (g->fd < 0)
		return -errno;
	err = gdb_guard_start(g->fd, g->timeout_ns, &g->guard);
	if (!err && g->paused_by_user)
		gdb_guard_tell(&g->guard, GUARD_KEEPS_PAUSED);
	g->connected_ns = monotonic_ns();
	if (!err && !connect(g->fd, at, len))
		return 0;
	err = err ? err : -errno;
	gdb_guard_tell(&g->guard, GUARD_HAS_NOTHING);
	gdb_guard_stop(&g->guard);
	close(g->fd);
	g->fd = -1;
	return err;
}

static int connect_unix(struct gdb *g, const char *path)
{
	struct sockaddr_un at = {.sun_family = AF_UNIX};
	int err;

	if (strlen(path) >= sizeof(at.sun_path))
		return fail(-ENAMETOOLONG, "%s: socket path too long", path);
	strcpy(at.sun_path, path);
	err = connect_guarded(g, AF_UNIX, SOCK_STREAM, 0, (struct sockaddr *)&at, sizeof(at));
	return err ? fail(err, "%s: %s", path, strerror(-err)) : 0;
}

static int connect_any(struct gdb *g, const struct addrinfo *list)
{
	int err = -EADDRNOTAVAIL, one = 1;

	for (const struct addrinfo *a = list; a; a = a->ai_next) {
		err = connect_guarded(g, a->ai_family, a->ai_socktype, a->ai_protocol, a->ai_addr,
				      a->ai_addrlen);
		if (!err) {
			setsockopt(g->fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
			return 0;
		}
	}
	return err;
}

/* "HOST:PORT", "[v6]:PORT", ":PORT" */
static int connect_tcp(struct gdb *g, const char *text)
{
	struct addrinfo hints = {.ai_socktype = SOCK_STREAM}, *list;
	const char *colon = strrchr(text, ':');
	char host[256];
	int err;

	if (!colon || !colon[1] || colon - text >= (int)sizeof(host))
		return fail(-EINVAL, "gdb stub address '%s' is not HOST:PORT or unix:PATH", text);
	snprintf(host, sizeof(host), "%.*s", (int)(colon - text), text);
	if (*host == '[' && host[strlen(host) - 1] == ']') {
		host[strlen(host) - 1] = 0;
		memmove(host, host + 1, strlen(host));
	}
	int wrong = getaddrinfo(*host ? host : "localhost", colon + 1, &hints, &list);

	if (wrong)
		return fail(-EINVAL, "%s: %s", text, gai_strerror(wrong));
	err = connect_any(g, list);
	freeaddrinfo(list);
	if (!err)
		return 0;
	fail(err, "%s: %s", text, strerror(-err));
	return fail_hint(err, "does the VM have a gdb stub (QEMU options -s, -gdb)?");
}

static int connect_to(struct gdb *g, const char *target)
{
	if (!strncmp(target, "unix:", 5))
		return connect_unix(g, target + 5);
	if (strchr(target, '/'))
		return connect_unix(g, target);
	return connect_tcp(g, strncmp(target, "tcp:", 4) ? target : target + 4);
}

/* ---- bytes ---- */

static int send_all(struct gdb *g, const char *data, size_t len)
{
	while (len) {
		ssize_t n = send(g->fd, data, len, MSG_NOSIGNAL);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return fail(-EPIPE, "%s: %s", g->target, strerror(errno));
		data += n;
		len -= (size_t)n;
	}
	return 0;
}

static int byte_get(struct gdb *g, uint64_t until_ns, uint8_t *ret)
{
	while (g->in_at == g->in_len) {
		struct pollfd p[] = {{.fd = g->fd, .events = POLLIN},
				     {.fd = g->guard.line, .events = POLLIN}};
		uint64_t now = monotonic_ns();
		int ready = now < until_ns ? poll(p, 2, (int)((until_ns - now) / 1000000) + 1) : 0;

		if (ready < 0 && errno == EINTR)
			continue;
		if (!ready)
			return fail(-ETIMEDOUT, "%s: no reply%s", g->target,
				    g->attached ? " any more"
						: "; is another debugger attached to the VM? It "
						  "may be paused: 'cont' in QEMU's monitor "
						  "continues it");
		if (p[1].revents)
			return fail(-ECHILD,
				    "%s: the process that continues the VM was killed; try again",
				    g->target);
		ssize_t n = recv(g->fd, g->in, sizeof(g->in), 0);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return fail(-EPIPE, "%s: the VM closed the connection", g->target);
		g->in_at = 0;
		g->in_len = (size_t)n;
	}
	*ret = g->in[g->in_at++];
	return 0;
}

/* ---- packets ---- */

/*
 * A VM that does not answer yet may be paused by another debugger, and runs again when that one is gone: only from now
 * on it is known to stay paused.
 */
static void attached_note(struct gdb *g)
{
	if (!g->attached && g->before == GDB_PAUSED_BEFORE)
		gdb_guard_tell(&g->guard, GUARD_KEEPS_PAUSED);
	if (!g->attached)
		g->answered_ns = monotonic_ns();
	g->attached = true;
}

/* The next packet, not yet confirmed; replies to damaged ones with '-', resends ours when requested. */
static int packet_get(struct gdb *g)
{
	uint64_t until_ns = monotonic_ns() + g->timeout_ns;
	unsigned int resends = 0, skipped = 0;
	uint8_t byte = 0;
	int err;

	while (!(err = byte_get(g, until_ns, &byte))) {
		switch (gdb_parse(&g->parser, byte)) {
		case GDB_PACKET:
			attached_note(g);
			return 0;
		case GDB_NOTIFICATION:
			if (++skipped > SKIPPED_MAX)
				return fail(-EPROTO, "%s: too many notifications", g->target);
			break;
		case GDB_DAMAGED:
			if (g->no_ack || ++resends > RESENDS_MAX)
				return fail(-EPROTO, "%s: received a corrupt packet", g->target);
			err = send_all(g, "-", 1);
			break;
		case GDB_NAK:
			if (g->no_ack || ++resends > RESENDS_MAX)
				return fail(-EPROTO,
					    "%s: the gdb stub keeps rejecting packets as corrupt",
					    g->target);
			err = send_all(g, g->out, g->out_len);
			break;
		default:
			break;
		}
		if (err)
			return err;
	}
	return err;
}

static const char *gdb_answer_text(const struct gdb *g)
{
	return g->parser.data;
}

const char *gdb_target(const struct gdb *g)
{
	return g->target;
}

const struct gdb_parser *gdb_answer(const struct gdb *g)
{
	return &g->parser;
}

/* "T05thread:01;", "S05": why it is stopped. QEMU sends it unrequested when a debugger connects. */
static bool is_stop(const char *text)
{
	return (*text == 'T' || *text == 'S') && strspn(text + 1, "0123456789abcdefABCDEF") >= 2;
}

/* One command and its answer, which is then in g->parser.data. */
static int gdb_ask_for(struct gdb *g, const char *data, size_t len)
{
	int err, skipped = 0;

	g->out_len = gdb_packet_make(data, len, g->out, sizeof(g->out));
	if (!g->out_len)
		return fail(-E2BIG, "%s: received a packet that is too long", g->target);
	err = send_all(g, g->out, g->out_len);
	if (!err)
		err = packet_get(g);
	while (!err && is_stop(gdb_answer_text(g)) && *data != '?' && skipped++ < SKIPPED_MAX) {
		g->stop_reported = true;
		err = packet_get(g);
	}
	return err || g->no_ack ? err : send_all(g, "+", 1);
}

int gdb_ask(struct gdb *g, const char *text)
{
	return gdb_ask_for(g, text, strlen(text));
}

/* ---- attaching ---- */

static void packet_size_take(struct gdb *g, const char *features)
{
	const char *size = strstr(features, "PacketSize=");
	size_t bytes = size ? strtoul(size + 11, NULL, 16) : 0;

	if (bytes / 2 >= CHUNK_MIN)
		g->chunk = bytes / 2 < CHUNK_MAX ? bytes / 2 : CHUNK_MAX;
}

/* The first line that QEMU's monitor answers, cut to size - 1 bytes; "": none. command: a query of hex digits. */
static void monitor_ask(struct gdb *g, const char *command, char *ret, size_t size)
{
	int err = gdb_ask(g, command);
	size_t len = g->parser.len / 2 < size ? g->parser.len / 2 : size - 1;

	memset(ret, 0, size);
	if (!err && *gdb_answer_text(g) == 'O' &&
	    !gdb_hex_bytes(gdb_answer_text(g) + 1, 2 * len, (uint8_t *)ret, len))
		*ret = '\0';
	for (int i = 0; i < SKIPPED_MAX && !err && *gdb_answer_text(g) == 'O' &&
			strcmp(gdb_answer_text(g), "OK");
	     i++)
		err = packet_get(g);
}

/*
 * QEMU's "info version" begins with "7.2.22". Up to 8.0 it reports unrequested that it has stopped a VM that ran; later
 * versions do not.
 */
static bool reports_stops(struct gdb *g)
{
	char text[8];

	monitor_ask(g, "qRcmd,696e666f2076657273696f6e", text, sizeof(text));
	return *text && (strtoul(text, NULL, 10) < 8 || !strncmp(text, "8.0", 3));
}

/*
 * "info status": "VM status: paused" is also what a debugger has stopped, and "(debug)" what has met a breakpoint. Any
 * other state, as "paused (prelaunch)" of -S, is older than the debugger.
 */
static bool is_stopped_otherwise(struct gdb *g)
{
	static const char head[] = "VM status: paused (";
	char text[sizeof(head) + 5];

	monitor_ask(g, "qRcmd,696e666f20737461747573", text, sizeof(text));
	return !strncmp(text, head, sizeof(head) - 1) &&
	       strcmp(text + sizeof(head) - 1, "debug") != 0;
}

static void before_find(struct gdb *g)
{
	if (g->before == GDB_BEFORE_UNKNOWN && g->stop_reported)
		g->before = GDB_RAN_BEFORE;
	else if (g->before == GDB_BEFORE_UNKNOWN && g->several &&
		 (reports_stops(g) || is_stopped_otherwise(g)))
		g->before = GDB_PAUSED_BEFORE;
	if (g->before == GDB_PAUSED_BEFORE)
		gdb_guard_tell(&g->guard, GUARD_KEEPS_PAUSED);
}

/* QEMU keeps what an earlier debugger chose: "m" may read physical addresses (docs/system/gdb.rst). */
static int memory_make_virtual(struct gdb *g)
{
	int err = gdb_ask(g, "qqemu.PhyMemMode");

	if (err || strcmp(gdb_answer_text(g), "1") != 0)
		return err;
	g->was_physical = true;
	return gdb_ask(g, "Qqemu.PhyMemMode:0");
}

static int attach(struct gdb *g)
{
	int err = gdb_ask(g, "qSupported:xmlRegisters=i386");

	if (err)
		return err;
	packet_size_take(g, gdb_answer_text(g));
	if (strstr(gdb_answer_text(g), "QStartNoAckMode+")) {
		err = gdb_ask(g, "QStartNoAckMode");
		if (err)
			return err;
		g->no_ack = !strcmp(gdb_answer_text(g), "OK");
	}
	/*
	 * A roundtrip to QEMU costs a quarter of a millisecond, and its packets are small; but it takes a new command
	 * for the confirmation of its last answer (gdb_read_byte()). Only it knows this query.
	 */
	err = gdb_ask(g, "qqemu.sstepbits");
	g->several = !err && !strncmp(gdb_answer_text(g), "ENABLE=", 7);
	if (!err && g->several)
		err = memory_make_virtual(g);
	if (!err)
		err = gdb_ask(g, "?"); /* why it is stopped */
	if (!err && !is_stop(gdb_answer_text(g)))
		err = fail(-EPROTO, "%s: the VM did not stop (reply '%.16s')", g->target,
			   gdb_answer_text(g));
	if (!err)
		before_find(g);
	return err;
}

/* Sets no error message. */
static bool release(struct gdb *g)
{
	if (!g->attached)
		gdb_guard_tell(&g->guard, GUARD_IS_BLIND);
	return gdb_guard_stop(&g->guard);
}

int gdb_open(const char *target, uint64_t timeout_ns, enum gdb_before before, struct gdb **ret)
{
	struct sigaction ignored = {.sa_handler = SIG_IGN};
	_cleanup_(gdb_cleanup_) struct gdb *g = calloc(1, sizeof(*g));
	int err;

	if (!g || !(g->target = strdup(target)))
		return fail(-ENOMEM, "out of memory");
	g->guard.pid = -1;
	g->fd = -1;
	g->chunk = CHUNK_DEFAULT;
	g->timeout_ns = timeout_ns ? timeout_ns : GDB_TIMEOUT_NS;
	g->paused_by_user = before == GDB_PAUSED_BY_USER;
	g->before = g->paused_by_user ? GDB_PAUSED_BEFORE : before;
	for (int i = 0; i < NR_STOPS; i++)
		sigaction(stops[i], &ignored, &g->on_stop[i]);
	err = connect_to(g, target);
	if (err)
		return err;
	err = attach(g);
	if (!err)
		*ret = take_ptr(g);
	else if (release(g) && g->attached && g->before == GDB_BEFORE_UNKNOWN)
		gdb_fail_resumed(err);
	return err;
}

struct gdb_stopped gdb_stopped(const struct gdb *g)
{
	uint64_t asked_ns, confirmed_ns;

	gdb_guard_times(&g->guard, &asked_ns, &confirmed_ns);
	return (struct gdb_stopped){
		.min_ns = asked_ns > g->answered_ns ? asked_ns - g->answered_ns : 0,
		.max_ns = confirmed_ns ? confirmed_ns - g->connected_ns : UINT64_MAX};
}

enum gdb_before gdb_before(const struct gdb *g)
{
	return g->before;
}

int gdb_detach(struct gdb *g)
{
	if (g->was_physical)
		gdb_ask(g, "Qqemu.PhyMemMode:1"); /* as it was */
	if (release(g))
		return 0;
	fail(-EIO,
	     "%s: the VM may still be paused: its gdb stub did not confirm the detach request",
	     g->target);
	return fail_hint(-EIO, "'cont' in QEMU's monitor, which --qmp SOCKET does");
}

void gdb_close(struct gdb *g)
{
	if (!g)
		return;
	release(g);
	gdb_guard_free(&g->guard);
	if (g->fd >= 0)
		close(g->fd);
	for (int i = 0; i < NR_STOPS; i++)
		sigaction(stops[i], &g->on_stop[i], NULL);
	free((void *)g->target);
	free(g);
}

/* ---- memory ---- */

static bool is_error(const char *text)
{
	return text[0] == 'E' && strlen(text) == 3;
}

static int memory_take(struct gdb *g, uint64_t address, uint8_t *ret, size_t len)
{
	if (is_error(gdb_answer_text(g)))
		return fail(-EFAULT, "%s: cannot read guest memory at 0x%" PRIx64, g->target,
			    address);
	if (!gdb_hex_bytes(gdb_answer_text(g), g->parser.len, ret, len))
		return fail(-EPROTO, "%s: invalid reply to a read of %zu bytes", g->target, len);
	return 0;
}

static int read_chunk(struct gdb *g, uint64_t address, uint8_t *ret, size_t len)
{
	char text[64];
	int err;

	snprintf(text, sizeof(text), "m%" PRIx64 ",%zx", address, len);
	err = gdb_ask(g, text);
	return err ? err : memory_take(g, address, ret, len);
}

/* WINDOW chunks, requested at once. An address that is not mapped ends it when all are answered. */
static int read_window(struct gdb *g, uint64_t address, uint8_t *ret)
{
	int wrong = 0, err;
	char text[64];

	g->out_len = 0;
	for (size_t i = 0; i < WINDOW; i++) {
		int len = snprintf(text, sizeof(text), "m%" PRIx64 ",%zx", address + i * g->chunk,
				   g->chunk);

		g->out_len += gdb_packet_make(text, (size_t)len, g->out + g->out_len,
					      sizeof(g->out) - g->out_len);
	}
	err = send_all(g, g->out, g->out_len);
	for (size_t i = 0; i < WINDOW && !err; i++) {
		err = packet_get(g);
		if (!err && !wrong)
			wrong = memory_take(g, address + i * g->chunk, ret + i * g->chunk,
					    g->chunk);
	}
	if (!err && !g->no_ack)
		err = send_all(g, "+", 1);
	return err ? err : wrong;
}

/* Some stubs accept less than they report: halve until it works, or fails for another reason. */
int gdb_read(struct gdb *g, uint64_t address, void *ret, size_t len)
{
	uint8_t *to = ret;

	while (len) {
		size_t part = len < g->chunk ? len : g->chunk;
		bool window = g->several && len / WINDOW >= g->chunk;
		int err;

		if (window)
			part = g->chunk * WINDOW;
		err = window ? read_window(g, address, to) : read_chunk(g, address, to, part);
		if (err == -EFAULT && !g->several && part > CHUNK_DEFAULT) {
			g->chunk /= 2;
			continue;
		}
		if (err)
			return err;
		to += part;
		address += part;
		len -= part;
	}
	return 0;
}

int gdb_read_physical(struct gdb *g, uint64_t address, void *ret, size_t len)
{
	int err = gdb_ask(g, "Qqemu.PhyMemMode:1"), back;

	if (!err && strcmp(gdb_answer_text(g), "OK") != 0)
		return fail(-EOPNOTSUPP, "%s: the gdb stub does not read physical memory",
			    g->target);
	if (!err)
		err = gdb_read(g, address, ret, len);
	back = err && err != -EFAULT ? 0 : gdb_ask(g, "Qqemu.PhyMemMode:0");
	return err ? err : back;
}

int gdb_write(struct gdb *g, uint64_t address, const void *data, size_t len)
{
	char text[64 + 2 * CHUNK_DEFAULT];
	const uint8_t *p = data;
	int n, err;

	if (len > CHUNK_DEFAULT / 2)
		return fail(-E2BIG, "%s: write too large for one packet", g->target);
	n = snprintf(text, sizeof(text), "M%" PRIx64 ",%zx:", address, len);
	for (size_t i = 0; i < len; i++)
		n += snprintf(text + n, sizeof(text) - (size_t)n, "%02x", p[i]);
	err = gdb_ask_for(g, text, (size_t)n);
	if (!err && strcmp(gdb_answer_text(g), "OK"))
		err = fail(-EFAULT, "%s: cannot write guest memory at 0x%" PRIx64, g->target,
			   address);
	return err;
}
