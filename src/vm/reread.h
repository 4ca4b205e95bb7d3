/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A file of /proc or of a cgroup that is read again and again: by a process that gives up its privileges through a
 * descriptor that stays open, by one that watches any number of VMs each time by its name.
 */
#ifndef HOSTRACE_REREAD_H
#define HOSTRACE_REREAD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct reread {
	int fd;	    /* -1: opened each time, or not there */
	char *path; /* NULL: it stays open, or it is not there */
};

/* A file that cannot be opened reads as "". */
void reread_open(struct reread *f, const char *path, bool stays_open);
void reread_close(struct reread *f);

/* The whole text, up to `size` - 1 bytes; "" and false if it cannot be read. */
bool reread_text(const struct reread *f, char *buf, size_t size);

/* The number after `key` and a blank at the begin of a line of such text; 0: there is none. */
uint64_t reread_number(const char *text, const char *key);

#endif
