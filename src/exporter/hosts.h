/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Which Host headers are answered. A browser of the host may be made to ask for the page by a web site whose name leads
 * to 127.0.0.1 (DNS rebinding): it sends that name.
 */
#ifndef HOSTRACE_EXPORTER_HOSTS_H
#define HOSTRACE_EXPORTER_HOSTS_H

#include <stdbool.h>

#include <sys/socket.h>

enum { HOSTS_MAX = 64 };

/* Zero-initialised: those that every server has. */
struct hosts {
	char *name[HOSTS_MAX]; /* malloc()ed */
	unsigned int nr;
};

/* -E2BIG, -EINVAL, -ENOMEM with the error message set. */
int hosts_add(struct hosts *h, const char *name);

/*
 * Is it "localhost", a loopback address, the address that the connection reached us at, or one of the names, with or
 * without a port? `local`: that address, or AF_UNSPEC; of a Unix socket all are.
 */
bool hosts_has(const struct hosts *h, const char *header, const struct sockaddr *local);

#endif
