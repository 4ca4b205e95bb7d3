// SPDX-License-Identifier: GPL-2.0-or-later
#include <errno.h>
#include <netdb.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/error.h"
#include "base/units.h"
#include "exporter/httpd/listen.h"

enum { BACKLOG = 64 };

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
	if (!bind(fd, a->ai_addr, a->ai_addrlen) && !listen(fd, BACKLOG))
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

/* A socket that an earlier exporter left: nobody answers. */
static void stale_remove(const struct sockaddr_un *at)
{
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	struct stat st;

	if (!lstat(at->sun_path, &st) && S_ISSOCK(st.st_mode) &&
	    connect(fd, (const struct sockaddr *)at, sizeof(*at)) && errno == ECONNREFUSED)
		unlink(at->sun_path);
	close(fd);
}

static int unix_bind(int fd, const struct sockaddr_un *at)
{
	mode_t before = umask(0117);
	int err = bind(fd, (const struct sockaddr *)at, sizeof(*at)) ? -errno : 0;

	umask(before);
	return err ? err : listen(fd, BACKLOG) ? -errno : 0;
}

static int unix_listen(const char *path)
{
	struct sockaddr_un at = {.sun_family = AF_UNIX};
	int fd, err;

	if (!*path || strlen(path) >= sizeof(at.sun_path))
		return fail(-EINVAL, "invalid path '%s' of a socket (at most %zu bytes)", path,
			    sizeof(at.sun_path) - 1);
	snprintf(at.sun_path, sizeof(at.sun_path), "%s", path);
	fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (fd < 0)
		return fail(-errno, "socket: %s", strerror(errno));
	stale_remove(&at);
	err = unix_bind(fd, &at);
	if (!err)
		return fd;
	close(fd);
	return fail(err, "cannot listen on unix:%s: %s", path, strerror(-err));
}

int listen_open(const char *address, bool local, char *buf, size_t size)
{
	if (strncmp(address, "unix:", 5))
		return tcp_listen(address, local, buf, size);
	snprintf(buf, size, "%s", address);
	return unix_listen(address + 5);
}
