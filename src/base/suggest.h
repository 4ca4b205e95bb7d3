/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Which known name was meant by a misspelt word: the closest one, if it is close. */
#ifndef HOSTRACE_SUGGEST_H
#define HOSTRACE_SUGGEST_H

struct suggestion {
	const char *name; /* NULL: no name is close enough; borrowed from suggest_try() */
	unsigned int distance;
};

/*
 * Edits that turn one word into the other: letters inserted, removed, replaced, or swapped with their neighbour.
 * Words of 64 bytes or more are far from all others.
 */
unsigned int suggest_distance(const char *a, const char *b);

/* Keeps `name` if it is closer to `word` than the names tried before and at most a third of the word differs. */
void suggest_try(struct suggestion *s, const char *word, const char *name);

/* Appends "did you mean '...'?" to the error message if a name was close enough. Returns err. */
int suggest_hint(int err, const struct suggestion *s);

#endif
