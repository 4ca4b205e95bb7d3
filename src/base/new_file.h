/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A file that a command writes: under a temporary name in its folder, renamed when it is complete, so that a failure
 * never replaces a good file and readers never see a partial one. What replaces a file is on the disk before, so that a
 * power failure leaves one of the two; a new file may be missing or empty after it.
 */
#ifndef HOSTRACE_NEW_FILE_H
#define HOSTRACE_NEW_FILE_H

#include <stdbool.h>
#include <stdio.h>

struct new_file {
	FILE *file;
	char *path;	 /* owned; of a symbolic link, its target */
	char *at;	 /* owned; the same, resolved (base/safe_path.h) */
	char *temporary; /* owned; NULL: a device or a pipe, written directly */
};

/*
 * A regular file, or what a symbolic link names, is replaced or created on close; the link stays. A device or a pipe is
 * written if `devices` is set, else it is -EEXIST, as a directory always is -EISDIR. A file, link, pipe or device of
 * another user is -EACCES where that or another user can have put it: in a directory that is another user's or that
 * others may write to; so is a path through a directory or link of another user (base/safe_path.h). New files have the
 * mode 0600. -errno with the error message set; then nothing is open.
 */
int new_file_open(struct new_file *f, const char *path, bool devices);

/*
 * err 0: completes the file; -errno with the error message set if writing or renaming failed. Otherwise discards what
 * was written and returns err. The file is closed in both cases. A zeroed struct is fine.
 */
int new_file_close(struct new_file *f, int err);

/*
 * Writes what is buffered: 0, or the errno of this or of an earlier write that failed (EIO: an earlier one to what is
 * no regular file, or for a reason that cannot be seen any more).
 */
int stream_flush(FILE *file);

/*
 * Deletes temporary files of `path` that writers left which were killed: the caller's user's, of processes that do not
 * exist in this PID namespace. For a process that is not confined.
 */
void new_file_remove_left(const char *path);

/* Do both names refer to the same file, also through links? False if one of them does not exist. */
bool is_same_file(const char *a, const char *b);

#endif
