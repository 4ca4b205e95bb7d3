/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef HOSTRACE_HTTPD_LISTEN_H
#define HOSTRACE_HTTPD_LISTEN_H

#include <stdbool.h>
#include <stddef.h>

/*
 * A listening socket for "ADDR:PORT" (numbers; an IPv6 address in brackets) or "unix:PATH". A socket file that nobody
 * listens on is replaced; the new one is for its user and group only. buf gets the address with the port that it has.
 * `local`: -EACCES if other hosts could reach it. The descriptor, or -errno with the error message set.
 */
int listen_open(const char *address, bool local, char *buf, size_t size);

#endif
