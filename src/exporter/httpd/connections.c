// SPDX-License-Identifier: GPL-2.0-or-later
#include <netinet/in.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "exporter/httpd/connections.h"

enum {
	NR = sizeof(((struct connections *)0)->list) / sizeof(struct connection),
};

void connections_init(struct connections *c)
{
	for (unsigned int i = 0; i < NR; i++)
		c->list[i].fd = -1;
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

/* How many there are with or without a user, of this peer or of all (NULL); *ret is the one to be ended first. */
static unsigned int count(struct connections *c, bool of_user, const uint8_t *peer,
			  struct connection **ret)
{
	unsigned int nr = 0;

	*ret = NULL;
	for (unsigned int i = 0; i < NR; i++) {
		struct connection *e = &c->list[i], *first = *ret;

		if (!is_open(e) || e->of_user != of_user ||
		    (peer && memcmp(peer, e->peer, sizeof(e->peer))))
			continue;
		nr++;
		if (!first || e->answered < first->answered ||
		    (e->answered == first->answered && e->number < first->number))
			*ret = e;
	}
	return nr;
}

/* Those of this peer, or all, are at most so many; new ones may be more. */
static void trim(struct connections *c, const uint8_t *peer, unsigned int max, uint64_t now)
{
	struct connection *oldest;

	while (count(c, false, peer, &oldest) > max && now - oldest->begin_ms >= MOMENT_MS)
		end(oldest);
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
	return free_find(c);
}

bool connections_accept(struct connections *c, int listening, struct MHD_Daemon *daemon)
{
	struct connection *e = free_find(c);
	struct sockaddr_storage at = {0};
	socklen_t len = sizeof(at);
	uint64_t now = monotonic_ms();
	int fd = e ? accept4(listening, (struct sockaddr *)&at, &len, SOCK_NONBLOCK | SOCK_CLOEXEC)
		   : -1;

	if (fd < 0)
		return false;
	*e = (struct connection){.fd = fd,
				 .number = ++c->begun,
				 .begin_ms = now,
				 .until_ms = now + REQUEST_SECONDS * 1000};
	peer_of(&at, e->peer);
	if (MHD_add_connection(daemon, fd, (struct sockaddr *)&at, len) != MHD_YES)
		e->fd = -1; /* which has closed it */
	else
		trim(c, e->peer, CONNECTIONS_PER_PEER, now);
	return true;
}

int connections_expire(struct connections *c)
{
	uint64_t now = monotonic_ms(), next = UINT64_MAX;
	struct connection *oldest;

	for (unsigned int i = 0; i < NR; i++) {
		struct connection *e = &c->list[i];

		if (is_open(e) && e->until_ms <= now)
			end(e);
		if (is_open(e))
			trim(c, e->peer, CONNECTIONS_PER_PEER, now);
		if (is_open(e) && count(c, false, e->peer, &oldest) > CONNECTIONS_PER_PEER)
			next = now + MOMENT_MS;
		if (is_open(e) && e->until_ms < next)
			next = e->until_ms;
	}
	trim(c, NULL, CONNECTIONS_MAX, now);
	if (count(c, false, NULL, &oldest) > CONNECTIONS_MAX && now + MOMENT_MS < next)
		next = now + MOMENT_MS;
	return next == UINT64_MAX ? -1 : (int)(next - now);
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

void connections_answer(struct connections *c, struct MHD_Connection *connection, bool of_user)
{
	struct connection *e = entry_of(c, connection), *oldest;

	if (!e || e->ending)
		return;
	e->answered = true;
	e->until_ms = monotonic_ms() + ANSWER_SECONDS * 1000;
	if (e->of_user || !of_user)
		return;
	if (count(c, true, NULL, &oldest) >= CONNECTIONS_OF_USERS_MAX)
		end(oldest);
	e->of_user = true;
}
