/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A helper is a program of ours that does one job in a process of its own, as git-remote-http does for git: its library
 * is slow to load, or parses what a guest sends. `make install` puts it into libexec/hostrace. Its standard input and
 * output are one socket, on which messages go both ways: a head, then `len` bytes. What the kinds mean is between the
 * two programs (fetch/http_messages.h).
 *
 *	hostrace                                   helper
 *	helper_start()                    ->       helper_serve()
 *	helper_send(request)              ->         answer()
 *	helper_receive(), as often as  <-            helper_reply(), ...
 *	the request has replies
 *	helper_stop()                              (is killed; also when hostrace dies)
 */
#ifndef HOSTRACE_HELPER_H
#define HOSTRACE_HELPER_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

enum { HELPER_MESSAGE_MAX = 128 << 10 }; /* bytes after the head; checked on both sides */

struct helper_head {
	uint32_t kind, len;
};

struct helper {
	const char *name; /* borrowed */
	pid_t pid;	  /* 0: it is not running */
	int fd;
};

/*
 * Starts the installed program `name`. It must belong to root, to this program's owner or to the user: in a directory
 * that others may write to, a file's name proves nothing. 0 or -errno with the error message set.
 */
int helper_start(struct helper *h, const char *name);

/* Ends the process; nothing to do if it is not running. */
void helper_stop(struct helper *h);

/*
 * 0, or -errno with the error message set: -EPIPE: the helper ended; -E2BIG: the message is too long. The helper is not
 * running any more then. `data` of helper_receive() has HELPER_MESSAGE_MAX bytes.
 */
int helper_send(struct helper *h, uint32_t kind, const void *data, size_t len);
int helper_receive(struct helper *h, struct helper_head *ret, void *data);

/* ---- in the helper ---- */

/*
 * Calls `answer` for each request until it returns another value than 0 or the socket is closed. Returns the exit
 * status. Signals from the terminal are ignored: hostrace decides when the helper ends.
 */
int helper_serve(int (*answer)(uint32_t kind, const uint8_t *data, size_t len));

/* What helper_serve() does of it, for a helper that has a loop of its own. */
void helper_ignore_signals(void);

/* The next request, at most HELPER_MESSAGE_MAX bytes. 0; -EPIPE: hostrace has ended; -E2BIG, -errno. */
int helper_request(struct helper_head *ret, void *data);

/* 0 or -errno. */
int helper_reply(uint32_t kind, const void *data, size_t len);

#endif
