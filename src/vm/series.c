// SPDX-License-Identifier: GPL-2.0-or-later
/* Rows of counters, thinned out when there are too many. */
#include "vm/series.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"

enum { ROWS_MIN = 4 };

int series_init(struct series *s, unsigned int columns, uint64_t interval_ns)
{
	unsigned int max = columns ? SERIES_VALUES_MAX / columns : 0;

	*s = (struct series){.columns = columns, .interval_ns = interval_ns};
	if (max < ROWS_MIN)
		return 0;
	s->max = max < SERIES_ROWS_MAX ? max : SERIES_ROWS_MAX;
	s->value = calloc((size_t)s->max * columns, sizeof(*s->value));
	return s->value ? 0 : fail(-ENOMEM, "out of memory");
}

void series_deinit(struct series *s)
{
	free(s->value);
	s->value = NULL;
}

static void series_thin(struct series *s)
{
	unsigned int kept = 0;

	for (unsigned int i = 0; i < s->nr; i += 2, kept++) {
		s->at_ns[kept] = s->at_ns[i];
		memmove(s->value + (size_t)kept * s->columns, s->value + (size_t)i * s->columns,
			s->columns * sizeof(*s->value));
	}
	s->nr = kept;
	s->interval_ns *= 2;
}

uint64_t *series_next(struct series *s, uint64_t now_ns)
{
	if (!s->value || now_ns < s->next_ns)
		return NULL;
	if (s->nr == s->max)
		series_thin(s);
	s->next_ns = now_ns + s->interval_ns;
	s->at_ns[s->nr] = now_ns;
	return s->value + (size_t)s->nr++ * s->columns;
}

json_t *series_times(const struct series *s)
{
	json_t *list = json_array();

	for (unsigned int i = 0; i < s->nr; i++)
		json_array_append_new(list, json_integer((json_int_t)s->at_ns[i]));
	return list;
}

json_t *series_column(const struct series *s, unsigned int column, uint64_t from)
{
	json_t *list = json_array();
	bool changed = false;

	for (unsigned int i = 0; i < s->nr; i++) {
		uint64_t v = s->value[(size_t)i * s->columns + column];

		changed |= v > from;
		json_array_append_new(list, json_integer(v > from ? (json_int_t)(v - from) : 0));
	}
	if (changed)
		return list;
	json_decref(list);
	return NULL;
}
