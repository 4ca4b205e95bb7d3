/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Files with a temporary name, which are deleted if SIGINT, SIGTERM, SIGHUP or SIGQUIT ends the process. A signal that
 * the process ignores, blocks or handles itself when the first file is added deletes nothing.
 */
#ifndef HOSTRACE_TEMPORARY_H
#define HOSTRACE_TEMPORARY_H

/* Before the file is created; `path` stays valid until it is removed. More than eight at once are not deleted. */
void temporary_add(const char *path);

/* After the file was renamed or deleted. A path that was not added, and NULL, are fine. */
void temporary_remove(const char *path);

/* Before the process ends in a signal handler. */
void temporary_delete_all(void);

#endif
