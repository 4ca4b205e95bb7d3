// SPDX-License-Identifier: GPL-2.0-or-later
/* Finding analyzers by name, making one from "pair:BEGIN,END,KEY", and suggesting what was meant.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "pairing/analyzer.h"

bool name_in_list(const char *list, const char *name)
{
	size_t len = strlen(name);

	for (const char *p = list ? list : ""; *p; p += strcspn(p, ","), p += *p == ',')
		if (strcspn(p, ",") == len && !strncmp(p, name, len))
			return true;
	return false;
}

bool analyzer_wants(const struct analyzer *a, const char *event)
{
	return name_in_list(a->begin, event) || name_in_list(a->end, event) ||
	       name_in_list(a->mark, event) || name_in_list(a->reset, event) ||
	       name_in_list(a->needs, event);
}

bool analyzer_wants_guests(const struct analyzer *a)
{
	const char *const lists[] = {a->begin, a->end, a->mark, a->reset, a->needs};

	for (size_t i = 0; i < sizeof(lists) / sizeof(lists[0]); i++)
		if (lists[i] && strstr(lists[i], "guest:"))
			return true;
	return false;
}

/* Edits needed to make one word of the other (Levenshtein); words are short. */
static unsigned int distance(const char *a, const char *b)
{
	unsigned int row[64], n = (unsigned int)strlen(b);

	if (n >= 64)
		return 99;
	for (unsigned int j = 0; j <= n; j++)
		row[j] = j;
	for (unsigned int i = 0; a[i]; i++) {
		unsigned int diagonal = row[0]++;

		for (unsigned int j = 0; j < n; j++) {
			unsigned int swap = diagonal + (a[i] != b[j]), up = row[j + 1] + 1,
				     left = row[j] + 1;

			diagonal = row[j + 1];
			row[j + 1] =
				swap < up ? (swap < left ? swap : left) : (up < left ? up : left);
		}
	}
	return row[n];
}

struct guess {
	const char *name;
	unsigned int distance;
};

static void guess_try(struct guess *g, const char *word, const char *name)
{
	unsigned int d = distance(word, name);

	if (d < g->distance)
		*g = (struct guess){name, d};
}

static int unknown(const char *what, const char *word, const struct guess *g)
{
	fail_usage(-EINVAL, "no %s '%s'", what, word);
	if (g->name)
		fail_hint(-EINVAL, "did you mean '%s'?", g->name);
	return -EINVAL;
}

static int check_event(const char *name)
{
	struct guess g = {NULL, (unsigned int)strlen(name) / 2 + 1};

	if (event_type_named(name))
		return 0;
	for (unsigned int i = 0; i < event_types_count(); i++)
		guess_try(&g, name, event_type_at(i)->name);
	return unknown("event", name, &g);
}

static int check_key(const char *event, const char *key)
{
	static const char *const header[] = {"pid", "tid", "vcpu", "cpu"};
	const struct event_type *t = event_type_named(event);
	struct guess g = {NULL, (unsigned int)strlen(key) / 2 + 1};

	for (size_t i = 0; i < sizeof(header) / sizeof(header[0]); i++) {
		if (!strcmp(header[i], key))
			return 0;
		guess_try(&g, key, header[i]);
	}
	if (event_field(t, key))
		return 0;
	for (unsigned int i = 0; i < t->nr_fields; i++)
		guess_try(&g, key, t->fields[i].name);
	return unknown("field of that event", key, &g);
}

static const struct analyzer *make_pair(const char *name, struct pair_analyzer *own)
{
	char *begin = own->words, *end, *key;

	if (strlen(name) >= sizeof(own->name)) {
		fail_usage(-EINVAL, "'%s' is too long", name);
		return NULL;
	}
	strcpy(own->name, name);
	strcpy(own->words, name + strlen("pair:"));
	end = strchr(begin, ',');
	key = end ? strchr(end + 1, ',') : NULL;
	if (!key) {
		fail_usage(-EINVAL, "'%s' is not pair:BEGIN,END,KEY", name);
		return NULL;
	}
	*end++ = 0;
	*key++ = 0;
	own->a = (struct analyzer){.name = own->name,
				   .summary = "a pair of your own",
				   .begin = begin,
				   .end = end,
				   .key = key,
				   .by = "pid"};
	return &own->a;
}

int analyzer_resolve(const struct analyzer *a)
{
	int err;

	if (strncmp(a->name, "pair:", 5))
		return 0;
	err = check_event(a->begin);
	if (!err)
		err = check_event(a->end);
	for (char *k = strdupa(a->key), *next; k && !err; k = next) {
		next = strchr(k, ',');
		if (next)
			*next++ = 0;
		err = check_key(a->begin, k);
		if (!err)
			err = check_key(a->end, k);
	}
	return err;
}

const struct analyzer *analyzer_find(const char *name, struct pair_analyzer *own)
{
	struct guess g = {NULL, (unsigned int)strlen(name) / 2 + 1};

	if (!strncmp(name, "pair:", 5))
		return make_pair(name, own);
	for (const struct analyzer *const *a = analyzers; *a; a++) {
		if (!strcmp((*a)->name, name))
			return *a;
		guess_try(&g, name, (*a)->name);
	}
	unknown("analyzer", name, &g);
	return NULL;
}

const struct analyzer *analyzer_fallback(const struct analyzer *a)
{
	return a->fallback ? analyzer_find(a->fallback, NULL) : NULL;
}
