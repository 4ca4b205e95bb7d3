/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Who may read the pages: lines USER:HASH, as `htpasswd -B` and `openssl passwd -6` make them. */
#ifndef HOSTRACE_HTTPD_USERS_H
#define HOSTRACE_HTTPD_USERS_H

#include <stdbool.h>

enum { USERS_MAX = 64 };

struct user {
	const char *name, *hash;
};

/* Zero-initialised: everyone may. */
struct users {
	struct user user[USERS_MAX];
	unsigned int nr;
};

/*
 * Divides the text, which must live as long as the users, into its lines; those that are empty or begin with '#' are
 * comments. -EINVAL with the error message set: a line is invalid, has a hash that crypt(3) does not know, or there is
 * no user.
 */
int users_parse(struct users *u, char *text);

/* -1: there is none of this name. */
int users_find(const struct users *u, const char *name);

/* Is it the password of the user that users_find() has found? Takes as long for an unknown user as for a wrong one. */
bool users_check(const struct users *u, int user, const char *password);

#endif
