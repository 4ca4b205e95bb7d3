// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The connections of hostrace-httpd, so that slow or idle ones keep nobody from being answered. A new connection always
 * gets a place: if its address has too many, or all together are too many, the oldest one whose request is not complete
 * is ended, once it has had a moment for it. Those on which a user gave the password have places of their own, which
 * the others cannot take. What is not complete when its time is over is ended, however many bytes of it come. Who sends
 * requests ahead of their answers gets few of them: then the connection is closed, and a new one waits for its turn.
 * With TLS, addresses take turns, as a handshake takes up to 30 ms: one that begins many delays the others by one.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <netdb.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/select.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/safe_path.h"
#include "base/units.h"
#include "exporter/httpd/httpd.h"

enum {
	NR = sizeof(((struct connections *)0)->list) / sizeof(struct connection),
};

void connections_init(struct connections *c, bool tls)
{
	struct rlimit files = {0};

	c->tls = tls;
	for (unsigned int i = 0; i < NR; i++)
		c->list[i].fd = -1;
	getrlimit(RLIMIT_NOFILE, &files);
	c->waiting_max = WAITING_MAX;
	if (files.rlim_cur < NR + FILES_OF_OTHERS + WAITING_MAX)
		c->waiting_max = files.rlim_cur <= NR + FILES_OF_OTHERS
					 ? 1
					 : (unsigned int)files.rlim_cur - NR - FILES_OF_OTHERS;
}

/* All of a Unix socket are one peer. */
static void peer_of(const struct sockaddr_storage *at, uint8_t *ret)
{
	memset(ret, 0, CONNECTION_PEER);
	if (at->ss_family == AF_INET)
		memcpy(ret, &((const struct sockaddr_in *)at)->sin_addr, 4);
	else if (at->ss_family == AF_INET6)
		memcpy(ret, &((const struct sockaddr_in6 *)at)->sin6_addr, CONNECTION_PEER);
}

static bool is_open(const struct connection *e)
{
	return e->fd >= 0 && !e->ending;
}

/* libmicrohttpd reads the end of the stream, and closes it. */
static void end(struct connection *e)
{
	if (!is_open(e))
		return;
	e->ending = true;
	shutdown(e->fd, SHUT_RDWR);
}

/* Is it open, with or without a user, and of this peer or of any (NULL)? */
static bool is_one_of(const struct connection *e, bool of_user, const uint8_t *peer)
{
	return is_open(e) && e->of_user == of_user &&
	       (!peer || !memcmp(peer, e->peer, sizeof(e->peer)));
}

static unsigned int count(const struct connections *c, bool of_user, const uint8_t *peer)
{
	unsigned int nr = 0;

	for (unsigned int i = 0; i < NR; i++)
		nr += is_one_of(&c->list[i], of_user, peer);
	return nr;
}

/* Where a connection is in the order in which they are ended. */
struct end_order {
	bool answered;
	unsigned int nr; /* of its address */
	uint64_t number;
};

/* What is not complete; then of the address that has the most; of these the oldest. */
static bool ends_before(const struct end_order *a, const struct end_order *b)
{
	if (a->answered != b->answered)
		return !a->answered;
	return a->nr != b->nr ? a->nr > b->nr : a->number < b->number;
}

/* The one to be ended first. NULL: there is none. */
static struct connection *end_first(struct connections *c, bool of_user, const uint8_t *peer)
{
	struct end_order best = {.answered = true, .number = UINT64_MAX};
	struct connection *first = NULL;

	for (unsigned int i = 0; i < NR; i++) {
		struct connection *e = &c->list[i];
		struct end_order order = {.answered = e->answered, .number = e->number};

		if (!is_one_of(e, of_user, peer))
			continue;
		order.nr = peer ? 0 : count(c, of_user, e->peer);
		if (first && !ends_before(&order, &best))
			continue;
		first = e;
		best = order;
	}
	return first;
}

/* Those of this peer, or all, are at most so many; new ones may be more. False: there are more. */
static bool trim(struct connections *c, const uint8_t *peer, unsigned int max)
{
	for (unsigned int nr = count(c, false, peer); nr > max; nr--) {
		struct connection *e = end_first(c, false, peer);

		if (e->begin_ms + MOMENT_MS > c->read_ms)
			return false;
		end(e);
	}
	return true;
}

static struct connection *free_find(struct connections *c)
{
	for (unsigned int i = 0; i < NR; i++)
		if (c->list[i].fd < 0)
			return &c->list[i];
	return NULL;
}

bool connections_free(struct connections *c)
{
	return c->tls ? c->nr_waiting < c->waiting_max : free_find(c) != NULL;
}

/* From `min` on; the same where none is free. */
static int number_change(int fd, int min)
{
	int other = fcntl(fd, F_DUPFD_CLOEXEC, min);

	if (other < 0)
		return fd;
	close(fd);
	return other;
}

/* The daemon's descriptors are below FD_SETSIZE; those that wait leave these numbers free. */
static void connection_begin(struct connections *c, struct connection *e,
			     struct connection_waiting *w, struct MHD_Daemon *daemon)
{
	uint64_t now = monotonic_ms();

	if (w->fd >= FD_SETSIZE)
		w->fd = number_change(w->fd, 0);
	*e = (struct connection){.fd = w->fd,
				 .number = ++c->begun,
				 .begin_ms = now,
				 .until_ms = now + REQUEST_SECONDS * 1000};
	memcpy(e->peer, w->peer, sizeof(e->peer));
	if (MHD_add_connection(daemon, w->fd, (const struct sockaddr *)&w->at, w->at_len) !=
	    MHD_YES)
		e->fd = -1; /* which has closed it */
}

bool connections_accept(struct connections *c, int listening, struct MHD_Daemon *daemon)
{
	struct connection_waiting w = {.at_len = sizeof(w.at)};

	if (!connections_free(c))
		return false;
	w.fd = accept4(listening, (struct sockaddr *)&w.at, &w.at_len,
		       SOCK_NONBLOCK | SOCK_CLOEXEC);
	if (w.fd < 0)
		return false;
	setsockopt(w.fd, SOL_SOCKET, SO_SNDBUF, &(int){SEND_BYTES}, sizeof(int));
	peer_of(&w.at, w.peer);
	if (c->tls) {
		w.fd = number_change(w.fd, FD_SETSIZE);
		c->waiting[c->nr_waiting++] = w;
	} else {
		connection_begin(c, free_find(c), &w, daemon);
	}
	return true;
}

/* ---- turns, with TLS ---- */

static bool peers_have(const struct connection_peers *p, const uint8_t *peer)
{
	for (unsigned int i = 0; i < p->nr && i < PEERS_MAX; i++)
		if (!memcmp(p->peer[i], peer, CONNECTION_PEER))
			return true;
	return false;
}

/* Beyond PEERS_MAX, in the place of the first of them. */
static void peers_add(struct connection_peers *p, const uint8_t *peer)
{
	memcpy(p->peer[p->nr++ % PEERS_MAX], peer, CONNECTION_PEER);
}

/* Gives the daemon the oldest of each address which has had no turn. True: one of them. */
static bool turns_give(struct connections *c, struct connection_peers *had, bool of_users,
		       struct MHD_Daemon *daemon)
{
	bool given = false;

	for (unsigned int i = 0; i < c->nr_waiting && had->nr < PEERS_MAX; i++) {
		struct connection_waiting *w = &c->waiting[i];
		struct connection *e = free_find(c);

		if (w->fd < 0 || peers_have(&c->users, w->peer) != of_users ||
		    peers_have(had, w->peer))
			continue;
		peers_add(had, w->peer);
		if (!e || !trim(c, w->peer, CONNECTIONS_PER_PEER - 1))
			continue;
		connection_begin(c, e, w, daemon);
		w->fd = -1;
		given = true;
	}
	return given;
}

int connections_begin(struct connections *c, struct MHD_Daemon *daemon)
{
	struct connection_peers had = {0};
	bool given = turns_give(c, &had, true, daemon);
	unsigned int kept = 0;

	given |= turns_give(c, &had, false, daemon);
	for (unsigned int i = 0; given && i < c->nr_waiting; i++)
		if (c->waiting[i].fd >= 0)
			c->waiting[kept++] = c->waiting[i];
	if (given)
		c->nr_waiting = kept;
	return !c->nr_waiting ? -1 : given ? 0 : WAITING_LOOK_MS;
}

int connections_expire(struct connections *c, uint64_t read_ms)
{
	uint64_t now = monotonic_ms(), next = UINT64_MAX;
	bool trimmed = true;

	c->read_ms = read_ms;
	for (unsigned int i = 0; i < NR; i++) {
		struct connection *e = &c->list[i];

		if (is_open(e) && e->until_ms <= read_ms)
			end(e);
		if (is_open(e))
			trimmed &= trim(c, e->peer, CONNECTIONS_PER_PEER);
		if (is_open(e) && e->until_ms < next)
			next = e->until_ms;
	}
	trimmed &= trim(c, NULL, CONNECTIONS_MAX);
	if (!trimmed && now + MOMENT_MS < next)
		next = now + MOMENT_MS;
	return next == UINT64_MAX ? -1 : next > now ? (int)(next - now) : 0;
}

static struct connection *entry_of(struct connections *c, struct MHD_Connection *connection)
{
	const union MHD_ConnectionInfo *info =
		MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CONNECTION_FD);

	for (unsigned int i = 0; info && i < NR; i++)
		if (c->list[i].fd == info->connect_fd)
			return &c->list[i];
	return NULL;
}

const uint8_t *connections_peer(struct connections *c, struct MHD_Connection *connection)
{
	const struct connection *e = entry_of(c, connection);

	return e ? e->peer : NULL;
}

void connections_notify(void *arg, struct MHD_Connection *connection, void **context,
			enum MHD_ConnectionNotificationCode code)
{
	struct connection *e =
		code == MHD_CONNECTION_NOTIFY_CLOSED ? entry_of(arg, connection) : NULL;

	(void)context;
	if (e)
		e->fd = -1;
}

void connections_completed(void *arg, struct MHD_Connection *connection, void **state,
			   enum MHD_RequestTerminationCode code)
{
	struct connection *e = entry_of(arg, connection);

	(void)state, (void)code;
	if (!e)
		return;
	e->answered = false;
	e->number = ++((struct connections *)arg)->begun;
	e->begin_ms = monotonic_ms();
	e->until_ms = e->begin_ms + (IDLE_SECONDS + REQUEST_SECONDS) * 1000;
}

bool connections_may_ask(struct connections *c, struct MHD_Connection *connection)
{
	struct connection *e = entry_of(c, connection);
	uint64_t second = monotonic_ms() / 1000;

	if (!e)
		return false;
	if (e->second != second)
		e->nr_answers = 0;
	e->second = second;
	return e->nr_answers++ < ANSWERS_PER_SECOND;
}

void connections_answer(struct connections *c, struct MHD_Connection *connection, bool of_user)
{
	struct connection *e = entry_of(c, connection);

	if (!e || e->ending)
		return;
	e->answered = true;
	e->until_ms = monotonic_ms() + ANSWER_SECONDS * 1000;
	if (e->of_user || !of_user)
		return;
	if (count(c, true, NULL) >= CONNECTIONS_OF_USERS_MAX)
		end(end_first(c, true, NULL));
	e->of_user = true;
	if (!peers_have(&c->users, e->peer))
		peers_add(&c->users, e->peer);
}

/* ---- TCP ---- */

/* Splits "[::1]:80" and "127.0.0.1:80". */
static int address_split(const char *text, char *host, size_t size, const char **ret_port)
{
	const char *colon = strrchr(text, ':'), *begin = text, *end = colon;

	if (colon && *text == '[' && colon > text + 1 && colon[-1] == ']') {
		begin++;
		end--;
	} else if (colon && memchr(text, ':', (size_t)(colon - text))) {
		colon = NULL; /* an IPv6 address without brackets */
	}
	if (!colon || begin == end || !colon[1] || (size_t)(end - begin) >= size)
		return fail(-EINVAL,
			    "invalid address '%s' (expected e.g. 127.0.0.1:9972, [::1]:9972, "
			    "unix:/run/hostrace.sock)",
			    text);
	snprintf(host, size, "%.*s", (int)(end - begin), begin);
	*ret_port = colon + 1;
	return 0;
}

static void address_print(int fd, char *buf, size_t size)
{
	struct sockaddr_storage at;
	socklen_t len = sizeof(at);
	char host[NI_MAXHOST] = "?", port[NI_MAXSERV] = "?";

	if (!getsockname(fd, (struct sockaddr *)&at, &len))
		getnameinfo((struct sockaddr *)&at, len, host, sizeof(host), port, sizeof(port),
			    NI_NUMERICHOST | NI_NUMERICSERV);
	snprintf(buf, size, strchr(host, ':') ? "[%s]:%s" : "%s:%s", host, port);
}

static bool is_loopback(const struct sockaddr *at)
{
	if (at->sa_family == AF_INET6)
		return IN6_IS_ADDR_LOOPBACK(&((const struct sockaddr_in6 *)at)->sin6_addr);
	return at->sa_family == AF_INET &&
	       ntohl(((const struct sockaddr_in *)at)->sin_addr.s_addr) >> 24 == IN_LOOPBACKNET;
}

static int tcp_open(const struct addrinfo *a)
{
	int one = 1, err, fd = socket(a->ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

	if (fd < 0)
		return -errno;
	setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one));
	if (!bind(fd, a->ai_addr, a->ai_addrlen) && !listen(fd, SOMAXCONN))
		return fd;
	err = -errno;
	close(fd);
	return err;
}

static int tcp_listen(const char *address, bool local, char *buf, size_t size)
{
	const struct addrinfo hints = {.ai_socktype = SOCK_STREAM,
				       .ai_flags = AI_NUMERICHOST | AI_NUMERICSERV | AI_PASSIVE};
	struct addrinfo *found;
	char host[NI_MAXHOST];
	const char *port = NULL;
	uint64_t number;
	int fd, err = address_split(address, host, sizeof(host), &port);

	if (err)
		return err;
	if (parse_u64(port, &number) || number > UINT16_MAX)
		return fail(-EINVAL, "invalid port '%s' (expected 0 to %d)", port, UINT16_MAX);
	err = getaddrinfo(host, port, &hints, &found);
	if (err)
		return fail(-EINVAL, "invalid address '%s': %s (a number, not a name, is expected)",
			    address, gai_strerror(err));
	if (local && !is_loopback(found->ai_addr)) {
		freeaddrinfo(found);
		return fail(-EACCES,
			    "other hosts can reach %s: give --tls-cert, --tls-key and "
			    "--password-file, or --insecure",
			    address);
	}
	fd = tcp_open(found);
	freeaddrinfo(found);
	if (fd < 0)
		return fail(fd, "cannot listen on %s: %s", address, strerror(-fd));
	address_print(fd, buf, size);
	return fd;
}

/* ---- Unix sockets ---- */

/* Where a socket is made: its directory is open, so that nobody puts another one in its place. */
struct place {
	int dir;
	const char *name;
	struct sockaddr_un at;
	bool is_socket; /* there is one already */
};

static int place_open(char *resolved, struct place *p)
{
	char dir[PATH_MAX];
	int n;

	p->name = strrchr(resolved, '/') + 1;
	safe_path_directory(resolved, dir);
	strncat(dir, ".", sizeof(dir) - strlen(dir) - 1); /* the last part is opened without links */
	p->dir = safe_path_open(dir, O_PATH | O_DIRECTORY, 0);
	if (p->dir < 0)
		return fail(-errno, "%s: %s", dir, strerror(errno));
	p->at = (struct sockaddr_un){.sun_family = AF_UNIX};
	n = snprintf(p->at.sun_path, sizeof(p->at.sun_path), "/proc/self/fd/%d/%s", p->dir,
		     p->name);
	return (size_t)n < sizeof(p->at.sun_path)
		       ? 0
		       : fail(-ENAMETOOLONG, "%s: %s", resolved, strerror(ENAMETOOLONG));
}

/* A socket that an earlier exporter left: nobody answers. */
static void stale_remove(const struct place *p)
{
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

	if (p->is_socket && connect(fd, (const struct sockaddr *)&p->at, sizeof(p->at)) &&
	    errno == ECONNREFUSED)
		unlinkat(p->dir, p->name, 0);
	close(fd);
}

static int unix_bind(int fd, const struct sockaddr_un *at)
{
	mode_t before = umask(0117);
	int err = bind(fd, (const struct sockaddr *)at, sizeof(*at)) ? -errno : 0;

	umask(before);
	return err ? err : listen(fd, SOMAXCONN) ? -errno : 0;
}

static int place_listen(const char *path, const struct place *p)
{
	int err, fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

	if (fd < 0)
		return fail(-errno, "socket: %s", strerror(errno));
	stale_remove(p);
	err = unix_bind(fd, &p->at);
	if (!err)
		return fd;
	close(fd);
	return fail(err, "cannot listen on unix:%s: %s", path, strerror(-err));
}

static int unix_listen(const char *path)
{
	struct place p = {.dir = -1};
	struct stat st;
	char *resolved;
	int fd, err;

	if (!*path)
		return fail(-EINVAL, "invalid path '%s' of a socket", path);
	err = safe_path_follow(path, &resolved, &st);
	p.is_socket = !err && S_ISSOCK(st.st_mode);
	if (!err && *resolved != '/')
		err = fail(-EACCES, "cannot listen on unix:%s: %s", path, strerror(EACCES));
	if (!err)
		err = place_open(resolved, &p);
	fd = err ? err : place_listen(path, &p);
	if (p.dir >= 0)
		close(p.dir);
	free(resolved);
	return fd;
}

int listen_open(const char *address, bool local, char *buf, size_t size)
{
	if (strncmp(address, "unix:", 5))
		return tcp_listen(address, local, buf, size);
	snprintf(buf, size, "%s", address);
	return unix_listen(address + 5);
}
