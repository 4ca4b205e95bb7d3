/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Formats of `export` that other tools read: the events that `hostrace list` shows, each with all its fields. */
#ifndef HOSTRACE_COMMANDS_EXPORT_EVENTS_H
#define HOSTRACE_COMMANDS_EXPORT_EVENTS_H

#include "base/new_file.h"
#include "input/input_set.h"

struct export_ctf {
	struct new_file stream, metadata;
};

/*
 * Makes the directory, or takes one that is empty or has nothing but an earlier CTF trace of ours, which is replaced.
 * -errno with the error message set.
 */
int export_ctf_open(const char *directory, struct export_ctf *to);
int export_ctf_write(const struct input_set *in, struct export_ctf *to);

/* As new_file_close(). A directory that was made stays. */
int export_ctf_close(struct export_ctf *to, int err);

/* -EINVAL if the events are of several machines. */
int export_tracedat_write(const struct input_set *in, FILE *out);

#endif
