/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Whose request is answered. A hash of a password takes as long as its user wants, up to seconds, in which nobody else
 * is answered. So it is computed once for each user: what was verified is remembered, as a keyed hash with a random key
 * of this process. An address that sends wrong passwords is not listened to for a while, and all together get half of
 * the time: wrong passwords, however many, keep none of the users who were verified before from being answered.
 */
#ifndef HOSTRACE_HTTPD_LOGINS_H
#define HOSTRACE_HTTPD_LOGINS_H

#include <stdint.h>

#include "exporter/httpd/connections.h"
#include "exporter/httpd/users.h"

enum {
	LOGIN_FAILURES_MAX = 5,	   /* wrong passwords of an address; then one each LOGIN_LATER_SECONDS */
	LOGIN_LATER_SECONDS = 5,
	LOGIN_FORGET_SECONDS = 60, /* without another wrong one */
	LOGIN_FAILING_MAX = 256,   /* addresses; of more, the one that failed the longest ago is forgotten */
	/* Of hashes that are computed one after the other: for addresses with a wrong password, and for the others. */
	LOGIN_HASHES_MS = 1000,
	LOGIN_HASHES_FIRST_MS = 3000,
};

#define LOGIN_LATER_TEXT "5" /* LOGIN_LATER_SECONDS */

enum login { LOGIN_FINE, LOGIN_WRONG, LOGIN_LATER };

struct login_failing {
	uint8_t peer[CONNECTION_PEER];
	unsigned int nr;
	uint64_t last_ms; /* 0: this entry is free */
};

/* Zeroed, with users; then logins_init(). */
struct logins {
	struct users users;
	uint64_t key[2], verified[USERS_MAX]; /* 0: not yet */
	struct login_failing failing[LOGIN_FAILING_MAX];
	uint64_t hashes_ms, hashes_at_ms; /* time that hashes took, less half of the time that has passed since */
};

/* -errno with the error message set. */
int logins_init(struct logins *l);

/* The peer is connections_peer(). LOGIN_LATER: neither right nor wrong, as the password was not looked at. */
enum login login_check(struct logins *l, const uint8_t *peer, const char *name,
		       const char *password);

#endif
