/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Files with a temporary name, which are deleted if a signal ends the process. */
#ifndef HOSTRACE_TEMPORARY_H
#define HOSTRACE_TEMPORARY_H

#include <stdbool.h>

/*
 * Before the file is created, or after a directory was; `path` stays valid until it is removed. A directory is deleted
 * if it is empty. More than eight at once are not deleted.
 */
void temporary_add(const char *path);

/* After the file was renamed or deleted. A path that was not added, and NULL, are fine. */
void temporary_remove(const char *path);

/*
 * What else is done before one of these signals ends the process: in its handler, or in another thread while the main
 * thread stands still. NULL: nothing any more.
 */
void temporary_before_end(void (*act)(void));

/* Before the process ends in a signal handler. */
void temporary_delete_all(void);

/*
 * A thread ends the process within seconds of the signal also if the main thread waits for a file system that does not
 * answer, as far as the kernel can. It is not there between the two, as for who takes signals itself. True: it was.
 */
bool temporary_pause(void);
void temporary_resume(void);

#endif
