/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Child processes, and the files that are installed with this program: next to it in the build directory, in
 * ../libexec/hostrace where `make install` puts them.
 */
#ifndef HOSTRACE_PROCESS_H
#define HOSTRACE_PROCESS_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

/* The path of this program, for running its other commands; "" if unknown. Returns buf, which has PATH_MAX bytes. */
char *self_path(char *buf);

/*
 * The path of an installed file. $HOSTRACE_LIBEXEC is searched first, except with raised privileges (secure_getenv(3)).
 * Returns 0 or -ENOENT with the error message set.
 */
int installed_file_find(const char *name, char *path, size_t size);

/*
 * Starts argv[0] (found by PATH) with these as its standard streams; -1 leaves ours. It has no other descriptors, and
 * gets `death` when we die. Returns the pid or -errno with the error message set.
 */
pid_t process_start(char *const *argv, int in, int out, int err_out, int death);

/* Has SIGINT, SIGTERM or SIGHUP arrived, which this program blocks? Long waits end then. */
bool stop_pending(void);

/*
 * Closes the descriptors that were inherited: of those after standard error the ones without FD_CLOEXEC, which all that
 * are opened here have. Those that one of `words` (NULL-terminated; NULL: none) ends with stay, as "/dev/fd/63".
 */
void inherited_close(char *const *words);

/* The user that files are made for: the effective one when this was first called. confine() calls it first. */
uid_t file_owner(void);

#endif
