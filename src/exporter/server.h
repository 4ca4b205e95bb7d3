/* SPDX-License-Identifier: GPL-2.0-or-later */
/* hostrace-httpd as `hostrace exporter` and `hostrace view` use it. */
#ifndef HOSTRACE_EXPORTER_SERVER_H
#define HOSTRACE_EXPORTER_SERVER_H

#include <stdbool.h>
#include <sys/types.h>

#include "base/helper.h"
#include "base/options.h"

/* Reads a text file of less than `size` bytes, terminated. 0 or -errno with the error message set. */
int exporter_file_read(const char *path, char *text, size_t size);

struct exporter_server {
	const char *listen, *cert, *key, *passwords; /* files, or NULL */
	struct text_list hosts; /* --host */
	const char *token; /* hostrace view: what the path of each request begins with; NULL: the exporter's pages */
	bool insecure; /* listens also without TLS and passwords on addresses that other hosts can reach */
};

/*
 * `message`: HELPER_MESSAGE_MAX bytes, which get the address with its port. 0 or -errno with the error message set.
 */
int exporter_server_start(const struct exporter_server *s, struct helper *httpd, void *message);

/* The file of a Unix socket. */
struct exporter_socket {
	char *path; /* NULL: there is none */
	dev_t dev;
	ino_t ino;
};

/* Once hostrace-httpd listens. 0 or -errno with the error message set. */
int exporter_socket_note(const struct exporter_server *s, struct exporter_socket *ret);

/*
 * Deletes it if it is still that file: before hostrace-httpd is stopped, so that no other exporter finds a file that
 * nobody listens on, and puts its own there.
 */
void exporter_socket_remove(struct exporter_socket *s);

/* The page that it wants. 0 or -errno with the error message set. */
int exporter_page_send(struct helper *httpd, const char *page, size_t len);

/* Blocks the signals that end a server. A descriptor that can be read when one has come, or -errno as above. */
int exporter_signals_open(void);

#endif
