/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A file that a command writes for as long as it records, and that others may read meanwhile. Where a file of that name
 * exists, the new one is begun under a temporary name and renamed as soon as it holds something: a failure before that
 * keeps the old one. Both are locked (flock) until the new one is closed, so that two recorders never write to one
 * name. A report, which is complete at once, is a struct new_file.
 *
 * A power failure: a file that replaces another one has its first data on the disk before it takes that one's name, so
 * that one of the two is there. What is written later is safe from growing_file_sync() on.
 *
 * A stream is a descriptor that somebody else opened (standard output): bytes are only added to it. It has no name to
 * create, replace, check or delete.
 */
#ifndef HOSTRACE_GROWING_FILE_H
#define HOSTRACE_GROWING_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { GROWING_FILE_HEAD = 16 }; /* bytes that `ours` is shown, fewer if the file is shorter */

struct growing_file {
	int fd;		 /* -1: closed */
	int old;	 /* the file that will be replaced; -1: none */
	int dir;	 /* where it is; -1: may not be read */
	char *path;	 /* as given, for messages */
	char *at;	 /* resolved (base/safe_path.h); NULL: a stream */
	bool whole;	 /* it appears when it is complete: begun under a temporary name in any case */
	char *temporary; /* NULL: the file is at `path` */
	/* May a file that begins so be replaced? */
	bool (*ours)(const uint8_t *head, size_t len);
};

/*
 * Creates it, mode 0600. A file that is at `path` must be a regular file, no symbolic link, of this user, empty or
 * accepted by ours(), and not being written by another process. No directory of its path may be another user's
 * (base/safe_path.h). -EEXIST, -ELOOP, -EPERM, -EACCES, -EBUSY, ... with the error message set; then nothing is open
 * and nothing has changed.
 */
int growing_file_create(struct growing_file *f, const char *path, bool whole,
			bool (*ours)(const uint8_t *head, size_t len));

/* Takes the descriptor over, for as long as f is open. `name` is for messages. -ENOMEM with the error message set. */
int growing_file_stream(struct growing_file *f, int fd, const char *name);

/* It holds something now: it replaces the old file. Further calls do nothing. -errno with the error message set. */
int growing_file_publish(struct growing_file *f);

/*
 * Waits until everything that was written, and the file's name, are on the disk. -EIO, -ENOSPC, ... with the error
 * message set: part of it is lost, which is only known now.
 */
int growing_file_sync(const struct growing_file *f);

/* -ENOENT or -EIO with the error message set if the file was deleted, or is shorter than the bytes written. */
int growing_file_check(const struct growing_file *f, uint64_t written);

/* Closes it; !keep: deletes it, the old file stays. -errno with the error message set. A closed one is fine. */
int growing_file_close(struct growing_file *f, bool keep);

#endif
