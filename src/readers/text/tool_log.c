// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Logs of kvm_stat: lines of names, and lines of as many numbers, which are added up:
 *
 *	 kvm_entry  kvm_exit                        kvm_stat -l; the names come again every 20 lines
 *	      1000       900
 *	or both broken at blanks into several lines, as a mailer does: tool_log_part()
 *
 *	timestamp,kvm_entry,kvm_exit                kvm_stat --csv
 *	2026-03-12 10:14:55,1000,900
 *	2026-03-12 10:14:56,,850                    a cell that is empty is not known
 */
#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "readers/text/tool_line.h"

void tool_names_clear(struct tool_lines *l)
{
	for (unsigned int i = 0; i < l->nr_names; i++)
		free(l->names[i]);
	l->nr_names = 0;
	l->name_lines = 0;
	l->row_lines = 0;
}

/* Is the line of names the rest of the one before? A word that was broken does not go on with "kvm_". */
static bool names_go_on(const struct tool_lines *l, const struct tool_words *w, bool names_before)
{
	return names_before && !l->csv && l->nr_names > 1 && !strncmp(w->word[0], "kvm_", 4) &&
	       l->nr_names + w->nr <= TOOL_COLUMNS_MAX;
}

/* Names of kvm_stat -l. They come again every 20 lines. 1: it is such a line. */
int tool_log_names(struct tool_lines *l, const struct tool_words *w, unsigned int from,
		   bool names_before)
{
	bool kvm = false, go_on = !from && names_go_on(l, w, names_before);

	for (unsigned int i = from; i < w->nr; i++) {
		if (!tool_is_lower(w->word[i]))
			return 0;
		kvm |= tool_is_kvm_name(w->word[i]);
	}
	if (!kvm)
		return 0;
	l->names_twice = names_before && !go_on;
	l->names_now = true;
	l->table->broken |= l->nr_names == 1 && w->nr == 1 && strcmp(l->names[0], w->word[0]);
	if (!go_on)
		tool_names_clear(l);
	l->name_lines++;
	l->csv = from > 0;
	l->heading = NULL;
	for (unsigned int i = from; i < w->nr; i++) {
		l->names[l->nr_names] = strdup(w->word[i]);
		if (!l->names[l->nr_names++])
			return fail(-ENOMEM, "out of memory");
	}
	return 1;
}

/* The time of day in "2026-11-26 13:02:11" or "13:02:11", in seconds. */
static bool time_of_day(const char *s, uint64_t *ret)
{
	unsigned int h, m, sec;
	const char *colon = strchr(s, ':');

	if (!colon || colon - s < 2 || sscanf(colon - 2, "%2u:%2u:%2u", &h, &m, &sec) != 3)
		return false;
	*ret = 3600 * h + 60 * m + sec;
	return true;
}

/* Are there further numbers, and no time, before those of the names? Then they are of other names. */
static bool numbers_precede(const struct tool_words *w, unsigned int first)
{
	bool numbers = false;
	uint64_t value;

	for (unsigned int i = 0; i < first; i++) {
		if (time_of_day(w->word[i], &value))
			return false;
		numbers |= tool_count_parse(w->word[i], &value);
	}
	return numbers;
}

/* "office 12 34": words, and no time, before as many numbers as there are names. */
static bool words_precede(const struct tool_words *w, unsigned int first)
{
	bool words = false;
	uint64_t value;

	for (unsigned int i = 0; i < first; i++) {
		if (time_of_day(w->word[i], &value))
			return false;
		words |= !tool_count_parse(w->word[i], &value);
	}
	return words;
}

/* A log goes on by about as much time at each row: one that goes back, or on by far more, is another. */
static void time_take(struct tool_lines *l, uint64_t at_s)
{
	const uint64_t day_s = 24 * 3600;
	uint64_t since = (at_s + day_s - l->last_s) % day_s;

	if (!l->lines)
		l->first_s = at_s;
	else if (!l->step_s)
		l->step_s = since;
	else
		l->table->others |= l->csv && since > 60 * l->step_s;
	l->last_s = at_s;
}

/* As many numbers at its end as there are names. */
int tool_log_numbers(struct tool_lines *l, const struct tool_words *w)
{
	unsigned int first = w->nr - l->nr_names;
	uint64_t count, at;
	int err = 0;

	for (unsigned int i = first; i < w->nr; i++)
		if (!tool_count_parse(w->word[i], &count))
			return 0;
	l->table->broken |= l->names_twice;
	if (!l->csv && words_precede(w, first))
		return 0;
	l->table->broken |= numbers_precede(w, first);
	for (unsigned int i = first; i < w->nr && !err; i++) {
		tool_count_parse(w->word[i], &count);
		err = tool_count_put(l, "kvm_stat", ROW_OF_EVENT, l->names[i - first], count);
	}
	for (unsigned int i = 0; i < first; i++)
		if (time_of_day(w->word[i], &at))
			time_take(l, at);
	l->lines++;
	return err ? err : 1;
}

/*
 * A line of a row, whose names are in several lines. Where the rows end is certain if each has as many numbers as there
 * are names, in as many lines as the first: a number that was broken, or a line that is missing, makes it other ones.
 */
int tool_log_part(struct tool_lines *l, const struct tool_words *w)
{
	uint64_t count;
	int err = 0;

	for (unsigned int i = 0; i < w->nr; i++)
		if (!tool_count_parse(w->word[i], &count))
			return 0;
	if (l->nr_pending + w->nr > l->nr_names) {
		l->table->broken = true;
		return 1;
	}
	for (unsigned int i = 0; i < w->nr; i++)
		tool_count_parse(w->word[i], &l->pending[l->nr_pending++]);
	l->pending_lines++;
	if (l->nr_pending < l->nr_names)
		return 1;
	l->table->broken |= l->row_lines && l->row_lines != l->pending_lines;
	l->row_lines = l->pending_lines;
	l->nr_pending = l->pending_lines = 0;
	l->lines++;
	for (unsigned int i = 0; i < l->nr_names && !err; i++)
		err = tool_count_put(l, "kvm_stat", ROW_OF_EVENT, l->names[i], l->pending[i]);
	return err ? err : 1;
}

/* A value of a cell, which is not known if it is empty, or no number. */
static int cell_put(struct tool_lines *l, const char *name, const char *cell, size_t len)
{
	char word[32];
	uint64_t count = TOOL_TABLE_UNKNOWN;

	snprintf(word, sizeof(word), "%.*s", (int)(len < sizeof(word) ? len : 0), cell);
	if (!tool_count_parse(word, &count))
		count = TOOL_TABLE_UNKNOWN;
	return tool_count_put(l, "kvm_stat", ROW_OF_EVENT, name, count);
}

/* Has a row of CSV, with a time, a cell without a number? */
static bool lacks_cell(const char *text)
{
	uint64_t at;
	const char *cell = strchr(text, ',');

	if (!cell || !isdigit((unsigned char)*text) || !time_of_day(text, &at))
		return false;
	for (; cell; cell = strchr(cell + 1, ','))
		if (!isdigit((unsigned char)cell[1 + strspn(cell + 1, " ")]))
			return true;
	return false;
}

int tool_log_cells(struct tool_lines *l, const char *text)
{
	const char *cell = text;
	unsigned int nr = 0;
	uint64_t at;
	int err = 0;

	for (const char *p = strchr(text, ','); p; p = strchr(p + 1, ','))
		nr++;
	if (!l->csv || !l->nr_names || l->is_cut || !nr || !isdigit((unsigned char)*text) ||
	    !time_of_day(text, &at) || (nr == l->nr_names && !lacks_cell(text)))
		return 0;
	if (nr != l->nr_names) {
		tool_missing_row(l, text);
		return 1;
	}
	for (unsigned int i = 0; i < nr && !err; i++) {
		cell = strchr(cell, ',') + 1;
		err = cell_put(l, l->names[i], cell, strcspn(cell, ","));
	}
	time_take(l, at);
	l->lines++;
	return err ? err : 1;
}

/* How long kvm_stat printed lines. */
void tool_log_span(struct tool_lines *l)
{
	uint64_t day = 86400, s = (l->last_s + day - l->first_s) % day;

	l->table->broken |= l->nr_pending > 0;
	if (!l->lines)
		return;
	l->table->span_guessed = l->lines < 2 || !s;
	l->table->span_ns =
		1000000000 * (l->table->span_guessed ? l->lines : s * l->lines / (l->lines - 1));
}
