// SPDX-License-Identifier: GPL-2.0-or-later
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <netdb.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/error.h"
#include "base/safe_path.h"
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
	return err ? err : listen(fd, BACKLOG) ? -errno : 0;
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
