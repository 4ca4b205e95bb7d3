// SPDX-License-Identifier: GPL-2.0-or-later
/* Which known name was meant by a misspelt word: by edit distance, in which two exchanged letters count once. */
#include <string.h>

#include "base/error.h"
#include "base/suggest.h"

enum { WORD_MAX = 64, FAR = 99 };

static unsigned int min(unsigned int a, unsigned int b)
{
	return a < b ? a : b;
}

unsigned int suggest_distance(const char *a, const char *b)
{
	unsigned char d[WORD_MAX + 1]
		       [WORD_MAX + 1]; /* of the first i letters of a and the first j of b */
	size_t m = strlen(a), n = strlen(b);

	if (m >= WORD_MAX || n >= WORD_MAX)
		return FAR;
	for (size_t i = 0; i <= m; i++)
		d[i][0] = (unsigned char)i;
	for (size_t j = 0; j <= n; j++)
		d[0][j] = (unsigned char)j;
	for (size_t i = 1; i <= m; i++)
		for (size_t j = 1; j <= n; j++) {
			unsigned int best = min(d[i - 1][j], d[i][j - 1]) + 1;

			best = min(best, d[i - 1][j - 1] + (a[i - 1] != b[j - 1]));
			if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
				best = min(best, d[i - 2][j - 2] + 1u);
			d[i][j] = (unsigned char)best;
		}
	return d[m][n];
}

void suggest_try(struct suggestion *s, const char *word, const char *name)
{
	unsigned int distance = suggest_distance(word, name);

	if (distance <= (strlen(word) + 1) / 3 && (!s->name || distance < s->distance))
		*s = (struct suggestion){name, distance};
}

int suggest_hint(int err, const struct suggestion *s)
{
	return s->name ? fail_hint(err, "did you mean '%s'?", s->name) : err;
}
