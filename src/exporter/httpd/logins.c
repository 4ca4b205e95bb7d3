// SPDX-License-Identifier: GPL-2.0-or-later
/* Who may read the pages: lines USER:HASH, as `htpasswd -B` and `openssl passwd -6` make them. */
#include <crypt.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "base/clock.h"
#include "base/error.h"
#include "exporter/httpd/httpd.h"

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

/* -1: there is none of this name. */
static int users_find(const struct users *u, const char *name)
{
	int found = -1;

	for (unsigned int i = 0; i < u->nr; i++)
		if (!strcmp(u->user[i].name, name))
			found = (int)i;
	return found;
}

/* Is it the password of the user that users_find() has found? Takes as long for an unknown user as for a wrong one. */
static bool users_check(const struct users *u, int user, const char *password)
{
	char *hash = hash_of(password, u->user[user < 0 ? 0 : user].hash);
	bool same = hash && user >= 0 && is_same(hash, u->user[user].hash);

	free(hash);
	return same;
}

/*
 * Whose request is answered. A hash of a password takes as long as its user wants, up to seconds, in which nobody else
 * is answered. So it is computed once for each user: what was verified is remembered, as a keyed hash with a random key
 * of this process. An address that sends wrong passwords is not listened to for a while, and all together get half of
 * the time: wrong passwords, however many, keep none of the users who were verified before from being answered.
 */

enum { LOGIN_TEXT_MAX = 512 }; /* of user and password; longer ones are not remembered */

/* ---- SipHash-2-4: nobody who does not know the key can make a text of a given hash ---- */

static uint64_t turn(uint64_t value, unsigned int bits)
{
	return value << bits | value >> (64 - bits);
}

static void sip_rounds(uint64_t v[4], unsigned int nr)
{
	while (nr--) {
		v[0] += v[1];
		v[1] = turn(v[1], 13) ^ v[0];
		v[0] = turn(v[0], 32);
		v[2] += v[3];
		v[3] = turn(v[3], 16) ^ v[2];
		v[0] += v[3];
		v[3] = turn(v[3], 21) ^ v[0];
		v[2] += v[1];
		v[1] = turn(v[1], 17) ^ v[2];
		v[2] = turn(v[2], 32);
	}
}

static uint64_t sip_hash(const uint64_t key[2], const char *text, size_t len)
{
	uint64_t v[4] = {key[0] ^ 0x736f6d6570736575, key[1] ^ 0x646f72616e646f6d,
			 key[0] ^ 0x6c7967656e657261, key[1] ^ 0x7465646279746573};

	for (size_t at = 0; at <= len; at += 8) {
		uint64_t word = at + 8 > len ? (uint64_t)len << 56 : 0;

		for (size_t i = at; i < at + 8 && i < len; i++)
			word |= (uint64_t)(unsigned char)text[i] << 8 * (i - at);
		v[3] ^= word;
		sip_rounds(v, 2);
		v[0] ^= word;
	}
	v[2] ^= 0xff;
	sip_rounds(v, 4);
	return v[0] ^ v[1] ^ v[2] ^ v[3];
}

/* 0: too long. */
static uint64_t login_hash(const struct logins *l, const char *name, const char *password)
{
	size_t name_len = strlen(name) + 1, len = name_len + strlen(password);
	char text[LOGIN_TEXT_MAX];
	uint64_t hash;

	if (len > sizeof(text))
		return 0;
	memcpy(text, name, name_len);
	memcpy(text + name_len, password, len - name_len);
	hash = sip_hash(l->key, text, len);
	explicit_bzero(text, sizeof(text));
	return hash;
}

int logins_init(struct logins *l)
{
	if (getrandom(l->key, sizeof(l->key), 0) != sizeof(l->key))
		return fail(-errno, "getrandom: %s", strerror(errno));
	return 0;
}

/* ---- wrong ones ---- */

static bool is_over(const struct login_failing *f, uint64_t now_ms)
{
	return !f->last_ms || now_ms - f->last_ms >= LOGIN_FORGET_SECONDS * 1000;
}

/* That of this peer, or else the one to be replaced. */
static struct login_failing *failing_find(struct logins *l, const uint8_t *peer, uint64_t now_ms)
{
	struct login_failing *oldest = l->failing;

	for (unsigned int i = 0; i < LOGIN_FAILING_MAX; i++) {
		struct login_failing *f = &l->failing[i];

		if (!is_over(f, now_ms) && !memcmp(f->peer, peer, sizeof(f->peer)))
			return f;
		if (f->last_ms < oldest->last_ms)
			oldest = f;
	}
	*oldest = (struct login_failing){0};
	memcpy(oldest->peer, peer, sizeof(oldest->peer));
	return oldest;
}

/* At most half of the time, after the first ones. Addresses that have not sent a wrong password come first. */
static bool hashes_have_time(struct logins *l, bool failed, uint64_t now_ms)
{
	uint64_t passed = (now_ms - l->hashes_at_ms) / 2;

	l->hashes_ms -= passed < l->hashes_ms ? passed : l->hashes_ms;
	l->hashes_at_ms = now_ms;
	return l->hashes_ms < (failed ? LOGIN_HASHES_MS : LOGIN_HASHES_FIRST_MS);
}

enum login login_check(struct logins *l, const uint8_t *peer, const char *name,
		       const char *password)
{
	int user = users_find(&l->users, name);
	uint64_t hash = login_hash(l, name, password), now = monotonic_ms();
	struct login_failing *f;
	bool same;

	if (user >= 0 && hash && l->verified[user] == hash)
		return LOGIN_FINE;
	f = failing_find(l, peer, now);
	if (f->nr >= LOGIN_FAILURES_MAX && now - f->last_ms < LOGIN_LATER_SECONDS * 1000)
		return LOGIN_LATER;
	if (!hashes_have_time(l, f->nr, now))
		return LOGIN_LATER;
	same = users_check(&l->users, user, password);
	l->hashes_ms += monotonic_ms() - now;
	if (same) {
		l->verified[user] = hash;
		return LOGIN_FINE;
	}
	f->nr++;
	f->last_ms = monotonic_ms();
	return LOGIN_WRONG;
}
