/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The connections of hostrace-httpd, so that slow or idle ones keep nobody from being answered. A new connection always
 * gets a place: if its address has too many, or all together are too many, the oldest one whose request is not complete
 * is ended, once it has had a moment for it. Those on which a user gave the password have places of their own, which
 * the others cannot take. What is not complete when its time is over is ended, however many bytes of it come.
 */
#ifndef HOSTRACE_HTTPD_CONNECTIONS_H
#define HOSTRACE_HTTPD_CONNECTIONS_H

#include <microhttpd.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/socket.h>

enum {
	CONNECTIONS_MAX = 48,	      /* without password */
	CONNECTIONS_PER_PEER = 16,    /* of these, from one address; for IPv6, from one network of 64 bits */
	CONNECTIONS_OF_USERS_MAX = 16,
	CONNECTIONS_MORE_MAX = 64,    /* new ones, and those that libmicrohttpd still has to close */
	MOMENT_MS = 250,	      /* in which a new one is not ended */
	REQUEST_SECONDS = 10,	      /* for head and body */
	IDLE_SECONDS = 15,	      /* between two requests */
	ANSWER_SECONDS = 60,	      /* to receive an answer */
	CONNECTION_PEER = 8,	      /* bytes of an address that count */
};

struct connection {
	int fd; /* libmicrohttpd's; -1: this entry is free */
	bool ending, answered, of_user;
	uint64_t number, begin_ms, until_ms;
	uint8_t peer[CONNECTION_PEER];
};

/* Zeroed, then connections_init(). */
struct connections {
	struct connection list[CONNECTIONS_MAX + CONNECTIONS_OF_USERS_MAX + CONNECTIONS_MORE_MAX];
	uint64_t begun;
};

void connections_init(struct connections *c);

/* Is there space for a new one? */
bool connections_free(struct connections *c);

/* Accepts one that waits on the listening socket, and gives it to the daemon. False: there is none. */
bool connections_accept(struct connections *c, int listening, struct MHD_Daemon *daemon);

/* Ends those whose time is over, and what is too many. Returns the ms until it is to be called again; -1: none. */
int connections_expire(struct connections *c);

/* For MHD_OPTION_NOTIFY_CONNECTION and MHD_OPTION_NOTIFY_COMPLETED, with the connections. */
void connections_notify(void *arg, struct MHD_Connection *connection, void **context,
			enum MHD_ConnectionNotificationCode code);
void connections_completed(void *arg, struct MHD_Connection *connection, void **state,
			   enum MHD_RequestTerminationCode code);

/* CONNECTION_PEER bytes; NULL: unknown. */
const uint8_t *connections_peer(struct connections *c, struct MHD_Connection *connection);

/* The request of this connection is complete, and gets its answer; a user gave the password. */
void connections_answer(struct connections *c, struct MHD_Connection *connection, bool of_user);

#endif
