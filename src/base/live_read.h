/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Reading what another program is still writing: a pipe until its end, a file until its writer has closed it. SIGINT
 * ends the reading, not the process, so that what was read is reported: programs that write for ever, as cat
 * trace_pipe, are ended by ^C, which all of a pipeline get.
 */
#ifndef HOSTRACE_LIVE_READ_H
#define HOSTRACE_LIVE_READ_H

#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct live_read {
	int fd, interrupt; /* the second is a signalfd */
	sigset_t before;
	bool is_file, gone; /* gone: nobody writes it any more */
	bool watched;	    /* temporary_pause() */
	uint64_t left; /* bytes that are read after SIGINT: what a pipe holds */
};

/* The descriptor is borrowed. */
void live_read_begin(struct live_read *r, int fd);

/* As read(2). 0: the end, or SIGINT has come and nothing more is there. */
ssize_t live_read(struct live_read *r, void *buf, size_t size);

/* SIGINT ends the process again; one that came since the last read does so now. */
void live_read_end(struct live_read *r);

#endif
