// SPDX-License-Identifier: GPL-2.0-or-later
#include <crypt.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "exporter/httpd/users.h"

/* The hash of the password by the method and the salt of another hash. NULL: unknown method, or out of memory. */
static char *hash_of(const char *password, const char *like)
{
	struct crypt_data *data = calloc(1, sizeof(*data));
	char *hash = data ? crypt_r(password, like, data) : NULL;

	hash = hash && *hash != '*' ? strdup(hash) : NULL;
	if (data)
		explicit_bzero(data, sizeof(*data));
	free(data);
	return hash;
}

/* Not the methods that have no '$': DES, for which almost any text is a salt. */
static bool hash_is_known(const char *hash)
{
	char *own = *hash == '$' ? hash_of("", hash) : NULL;
	bool known = own && strlen(own) == strlen(hash);

	free(own);
	return known;
}

static int line_parse(struct users *u, char *line, unsigned int number)
{
	char *colon = strchr(line, ':');

	if (!*line || *line == '#')
		return 0;
	if (!colon || colon == line)
		return fail(-EINVAL, "password file, line %u: invalid (expected USER:HASH)",
			    number);
	*colon = '\0';
	if (!hash_is_known(colon + 1))
		return fail(-EINVAL,
			    "password file, line %u: unsupported hash (use 'htpasswd -B' or "
			    "'openssl passwd -6')",
			    number);
	if (u->nr == USERS_MAX)
		return fail(-EINVAL, "password file, line %u: more than %d users", number,
			    USERS_MAX);
	u->user[u->nr++] = (struct user){line, colon + 1};
	return 0;
}

int users_parse(struct users *u, char *text)
{
	unsigned int number = 0;
	int err = 0;

	while (text && !err) {
		char *line = strsep(&text, "\n");

		line[strcspn(line, "\r")] = '\0';
		err = line_parse(u, line, ++number);
	}
	return err || u->nr ? err : fail(-EINVAL, "password file: no user in it");
}

static bool is_same(const char *a, const char *b)
{
	size_t len = strlen(a);
	unsigned char differ = len != strlen(b);

	for (size_t i = 0; !differ && i < len; i++)
		differ |= (unsigned char)(a[i] ^ b[i]);
	return !differ;
}

int users_find(const struct users *u, const char *name)
{
	int found = -1;

	for (unsigned int i = 0; i < u->nr; i++)
		if (!strcmp(u->user[i].name, name))
			found = (int)i;
	return found;
}

bool users_check(const struct users *u, int user, const char *password)
{
	char *hash = hash_of(password, u->user[user < 0 ? 0 : user].hash);
	bool same = hash && user >= 0 && is_same(hash, u->user[user].hash);

	free(hash);
	return same;
}
