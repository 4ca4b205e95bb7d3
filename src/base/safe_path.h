/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Where files and directories are written: never through what another user could have put or can put there. Two steps.
 *
 * safe_path_resolve() follows the directories of a path from the root, or from the current directory, and looks at the
 * owner of each: the caller, root or, for root, the user of sudo ($SUDO_UID). A link of these is followed. For an
 * ordinary user this is demanded in directories only that a group or all may write to, such as /tmp; for root
 * everywhere, and no directory on the way may be one that all may write to without the sticky bit. A group's is used:
 * it may be root's own, or that of administrators. Its current directory may be another user's, since root chose it;
 * ".." of such a one is refused, because
 * that user can move it. The result has no links, so that the second step, safe_path_open() and the others, refuses
 * every link (openat2(2), RESOLVE_NO_SYMLINKS): one that appears later is one of somebody else.
 *
 * A confined process (confine/) does both before it is confined, and its supervisor the second step for it.
 */
#ifndef HOSTRACE_SAFE_PATH_H
#define HOSTRACE_SAFE_PATH_H

#include <stdbool.h>
#include <sys/stat.h>
#include <sys/types.h>

/*
 * *ret (the caller frees it): the absolute path, without links but for its last part, which need not exist. A directory
 * that may not be searched ends the check: *ret is then the path as given, and to open it fails as well.
 * -EACCES: a directory or a link of another user; -ENOENT, ...; the error message is set.
 */
int safe_path_resolve(const char *path, char **ret);

/*
 * The same, with the last part followed if it is a link. *st: what is there; st_mode 0: nothing, or it cannot be told.
 * st_nlink 0: it has no name in a directory, as what is behind /dev/stdout may have none, and *ret is a link to it.
 * -EACCES also for a file, link, device, ... of another user where another user can have put it: in a directory of
 * another user, and in one that a group or all may write to.
 */
int safe_path_follow(const char *path, char **ret, struct stat *st);

/* open(2) of a resolved path; O_NOFOLLOW and O_CLOEXEC are implied. -1 and errno, ELOOP for a link. */
int safe_path_open(const char *path, int flags, mode_t mode);

/* rename(2) within a directory, unlink(2), rmdir(2), and mkdir(2) with mode 0700, of resolved paths. -1 and errno. */
int safe_path_rename(const char *from, const char *to);
int safe_path_unlink(const char *path);
int safe_path_rmdir(const char *path);
int safe_path_mkdir(const char *path);

/* The directory that holds `path`; dir has PATH_MAX bytes. */
void safe_path_directory(const char *path, char *dir);

/* Is it the caller's, root's or, for root, that of sudo's user? */
bool is_trusted_owner(uid_t uid);

#endif
