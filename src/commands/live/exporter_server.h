/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Starts hostrace-httpd for `exporter`. The files are read here, so that it has to open none. */
#ifndef HOSTRACE_COMMANDS_EXPORTER_SERVER_H
#define HOSTRACE_COMMANDS_EXPORTER_SERVER_H

#include <stdbool.h>

#include "base/helper.h"
#include "base/options.h"

struct exporter_server {
	const char *listen, *cert, *key, *passwords; /* files, or NULL */
	struct text_list hosts; /* --host */
	bool insecure; /* listens also without TLS and passwords on addresses that other hosts can reach */
};

/*
 * `message`: HELPER_MESSAGE_MAX bytes, which get the address with its port. 0 or -errno with the error message set.
 */
int exporter_server_start(const struct exporter_server *s, struct helper *httpd, void *message);

/* Reads a text file of less than `size` bytes, terminated. 0 or -errno with the error message set. */
int exporter_file_read(const char *path, char *text, size_t size);

#endif
