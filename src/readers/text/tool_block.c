// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Where another table begins. People paste the tables of two hosts, or those of before and after, one below the other:
 *
 *	host A:                      another table is seen from
 *	 kvm_exit  1234  56          - a row that a table has once, and that comes again;
 *	host B:                      - a text between two rows of the same name;
 *	 kvm_exit   234  17          - running totals that go back.
 *
 * Neither their sum nor the last one is what was asked for, so the file is refused.
 */
#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "readers/text/tool_line.h"

enum { IDENTITIES_MAX = 1 << 16 };

struct identity {
	uint64_t hash;
};

struct total {
	uint64_t hash, count;
};

void tool_block_init(struct tool_lines *l)
{
	l->identities = HASH_TABLE(struct identity, 1, IDENTITIES_MAX);
	l->totals = HASH_TABLE(struct total, 1, TOOL_TABLE_ROWS_MAX);
}

void tool_block_deinit(struct tool_lines *l)
{
	hash_deinit(&l->identities);
	hash_deinit(&l->totals);
}

/* Does a tool print this around its tables, or a program that printed them? */
static bool is_known(const char *text)
{
	static const char *const begin[] = {"^C", "grep: ", "Lost ", "Total "};
	static const char *const part[] = {
		"Analyze events for", "Total Samples",	      "Total events handled",
		"Summary of events",  " events, ",	      "(msec)",
		"Totals:",	      "Hits:",		      "Entries:",
		"Dropped:",	      "seconds time elapsed", "seconds user",
		"seconds sys",	      "counts unit",	      "kvm statistics", "/kvm/",
	};

	for (size_t i = 0; i < sizeof(begin) / sizeof(*begin); i++)
		if (!strncmp(text, begin[i], strlen(begin[i])))
			return true;
	for (size_t i = 0; i < sizeof(part) / sizeof(*part); i++)
		if (strstr(text, part[i]))
			return true;
	return false;
}

/* Letters, also those of other scripts: in UTF-8, where symbols begin with 0xe2. */
static bool has_letters(const char *text)
{
	for (const unsigned char *s = (const unsigned char *)text; *s; s++)
		if (isalpha(*s) || (*s >= 0xc3 && *s != 0xe2))
			return true;
	return false;
}

bool tool_block_is_address(const char *text)
{
	unsigned int part[4];
	int n = 0;

	return sscanf(text, "%3u.%3u.%3u.%3u%n", &part[0], &part[1], &part[2], &part[3], &n) == 4 &&
	       part[0] < 256 && part[1] < 256 && part[2] < 256 && part[3] < 256 &&
	       strspn(text + n, " :=-") == strlen(text + n);
}

bool tool_block_is_text(const char *text)
{
	return has_letters(text) && !is_known(text);
}

void tool_block_text(struct tool_lines *l)
{
	if (!l->table->nr || l->text_since)
		return;
	l->text_since = true;
	l->block++;
}

bool tool_block_repeats(const struct tool_lines *l, const char *identity)
{
	return hash_find_u64(&l->identities, hash_keyed_text(identity)) != NULL;
}

void tool_block_once(struct tool_lines *l, const char *identity)
{
	uint64_t hash = hash_keyed_text(identity);

	l->table->others |= hash_find_u64(&l->identities, hash) != NULL;
	hash_add_u64(&l->identities, hash, NULL);
}

void tool_block_row(struct tool_lines *l, struct tool_row *row, bool is_new)
{
	l->text_since = false;
	l->table->others |= !is_new && row->block != l->block;
	row->block = l->block;
}

static uint64_t hash_of(const struct tool_row *row)
{
	return hash_keyed_pair(hash_keyed_text(row->name), row->of);
}

/* Does the total go back? */
static bool is_less(struct tool_lines *l, const struct tool_row *row)
{
	const struct total *before = hash_find_u64(&l->totals, hash_of(row));

	return before && row->count < before->count;
}

static void total_keep(struct tool_lines *l, const struct tool_row *row)
{
	struct total *total = hash_add_u64(&l->totals, hash_of(row), NULL);

	if (total)
		total->count = row->count;
}

void tool_block_total(struct tool_lines *l, const struct tool_row *row)
{
	l->table->others |= is_less(l, row);
	total_keep(l, row);
}

static bool totals_go_back(struct tool_lines *l)
{
	for (size_t i = 0; i < l->table->nr; i++)
		if (is_less(l, &l->table->row[i]))
			return true;
	return false;
}

void tool_block_sum(struct tool_lines *l, const struct tool_row *row, uint64_t count)
{
	struct total *sum = row ? hash_add_u64(&l->totals, hash_of(row), NULL) : NULL;

	l->has_sums = true;
	l->table->others |= !row;
	if (sum && count != TOOL_TABLE_UNKNOWN)
		sum->count += count;
}

static bool sums_differ(struct tool_lines *l)
{
	for (size_t i = 0; i < l->table->nr; i++) {
		const struct tool_row *row = &l->table->row[i];
		const struct total *sum = hash_find_u64(&l->totals, hash_of(row));

		if (sum && !row->uncounted && sum->count != row->count)
			return true;
	}
	return false;
}

void tool_block_again(struct tool_lines *l)
{
	l->table->others |= totals_go_back(l) || (l->text_since && l->table->nr);
	for (size_t i = 0; i < l->table->nr; i++)
		total_keep(l, &l->table->row[i]);
	l->text_since = false;
}

void tool_blocks_end(struct tool_lines *l)
{
	l->table->others |= l->has_sums ? sums_differ(l) : totals_go_back(l);
}
