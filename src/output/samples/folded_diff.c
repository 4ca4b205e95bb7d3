// SPDX-License-Identifier: GPL-2.0-or-later
/* Folded stacks of two profiles, for a flame graph of what changed: by their frames, with both counts. */
#include "output/samples/samples_output.h"

#include <errno.h>
#include <inttypes.h>

#include "base/error.h"

enum { STACKS_MAX = 1 << 22 };

struct stack {
	const char *frames;
	uint64_t count[2];
};

static int lines_add(struct hash_table *stacks, char *lines, unsigned int which)
{
	char *save = NULL;

	for (char *line = strtok_r(lines, "\n", &save); line; line = strtok_r(NULL, "\n", &save)) {
		char *blank = strrchr(line, ' ');

		if (!blank)
			continue;
		*blank = '\0';
		struct stack *s = hash_add_text(stacks, line, NULL);

		if (!s)
			return fail(-ENOMEM, "too many stacks");
		s->count[which] += strtoull(blank + 1, NULL, 10);
	}
	return 0;
}

static int by_frames(const void *a, const void *b)
{
	const struct stack *const *x = a, *const *y = b;

	return strcmp((*x)->frames, (*y)->frames);
}

int folded_diff(char *a, char *b, FILE *out, uint64_t *ret_nr)
{
	struct hash_table stacks = HASH_TABLE_OF_TEXTS(struct stack, STACKS_MAX);
	_cleanup_free_ struct stack **sorted = NULL;
	size_t nr = 0;
	int err = lines_add(&stacks, a, 0);

	if (!err)
		err = lines_add(&stacks, b, 1);
	if (!err && !(sorted = hash_sorted(&stacks, by_frames, &nr)))
		err = fail(-ENOMEM, "out of memory");
	for (size_t i = 0; i < nr; i++)
		fprintf(out, "%s %" PRIu64 " %" PRIu64 "\n", sorted[i]->frames, sorted[i]->count[0],
			sorted[i]->count[1]);
	*ret_nr = nr;
	hash_deinit(&stacks);
	return err;
}
