/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * How `hostrace mark` reaches a running recorder: by a socket with an abstract name, which has the recorder's process
 * id, so that there is no file to remove. A message is one packet, and so is its answer.
 *
 *   "mark TEXT" | "pause" | "resume"  ->  "ok MESSAGE" | "no MESSAGE"
 *
 * Both sides ask the kernel who the other one is: root, or the same user.
 */
#ifndef HOSTRACE_RECORD_CONTROL_H
#define HOSTRACE_RECORD_CONTROL_H

#include <stdbool.h>
#include <sys/socket.h>
#include <sys/types.h>
#include <sys/un.h>

#define CONTROL_NAME "hostrace-record-"

enum {
	CONTROL_BYTES = 256, /* of a message, with its end */
	MARK_BYTES = 199,    /* of a note; bpf/events.def */
};

/* The address of this recorder's socket; its length. */
socklen_t control_address(pid_t recorder, struct sockaddr_un *ret);

/* Is the other side of a connected socket root, or this user? */
bool control_peer_is_trusted(int fd, uid_t user);

#endif
