/* SPDX-License-Identifier: GPL-2.0-or-later */
/* For src/confine/ only. */
#ifndef HOSTRACE_CONFINE_INTERNAL_H
#define HOSTRACE_CONFINE_INTERNAL_H

#include <stddef.h>
#include <sys/types.h>

#include "confine/confine.h"

/* ---- identity.c: user and capabilities ---- */

struct identity {
	uid_t uid;
	gid_t gid;
	const char *user;
};

/* The user that root becomes. */
struct identity identity_ordinary(void);

/* The effective capabilities, a bit per CAP_*. */
uint64_t identity_caps(void);

/* Is this process root, and able to become that user? */
bool identity_droppable(const struct identity *to);

/* Becomes that user (NULL: stays), keeps these capabilities of those that it has, and no_new_privs. */
int identity_drop(const struct identity *to, uint64_t keep);

/* The capabilities that identity_drop() kept become these. */
int identity_caps_set(uint64_t keep);

/* -EPERM with the error message set if more than that is there, or comes back when asked for. */
int identity_verify(const struct identity *to, uint64_t keep);

/* ---- calls.c: system calls ---- */

/* ---- landlock.c: files ---- */

/* ---- paths.c ---- */

enum path_use { PATH_READ, PATH_DIRECTORY, PATH_UPDATE, PATH_WRITE };

/* Is this use of an absolute path without links in its directory part allowed? */
bool paths_allow(const struct confine_paths *p, const char *path, enum path_use use);

/* Is it the path of a rule, not only one that a rule allows, too? */
bool paths_given(const struct confine_paths *p, const char *path);

/* From a temporary name to its own? */
bool paths_allow_rename(const struct confine_paths *p, const char *from, const char *to);

bool paths_allow_rmdir(const struct confine_paths *p, const char *path);

bool paths_any_write(const struct confine_paths *p);

/*
 * The directory part of `path` without links, and its last part; buf has PATH_MAX bytes. What names a descriptor of
 * this process (/dev/stdin, /dev/fd/N, /proc/self/fd/N) is one of process `self`. 0 or -errno.
 */
int path_absolute(const char *path, pid_t self, char *buf);

/* A name that tmpfile(3) makes? `named` false: the folder of a file without a name. */
bool paths_allow_temporary(const struct confine_paths *p, const char *path, bool named);

/* ---- supervisor.c ---- */

struct supervisor {
	pid_t pid;
	int channel;
};

/* Forks it: it has our rights to files, and waits. */
int supervisor_start(const struct confine_paths *p, struct supervisor *ret);

/* Hands it the descriptor of calls_supervise(), which is closed here. */
int supervisor_go(struct supervisor *s, int listener);

/* It is not needed. */
void supervisor_cancel(struct supervisor *s);

#endif
