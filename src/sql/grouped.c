// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Rows by group. A group's key is found in a hash table; its rows are in a chain of blocks, each value as a number with
 * a tag in its lowest bits:
 *
 *	NULL		nothing more
 *	INTEGER		the difference to this column's last integer in the group, sign in its lowest bit
 *	TEXT		the number of the text, of which there is one copy
 *	WIDE		the eight bytes of an integer follow, as the difference has no room for the tag
 */
#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "base/array.h"
#include "base/error.h"
#include "base/hash.h"
#include "sql/grouped.h"

enum tag { TAG_NULL, TAG_INTEGER, TAG_TEXT, TAG_WIDE, TAG_BITS = 2 };
enum {
	GROUPS_MAX = 1 << 22,
	TEXTS_MAX = 1 << 20,
	BLOCK_FIRST = 48, /* bytes; each block of a group is twice as large as the one before, up to: */
	BLOCK_MAX = 1 << 16,
	VALUE_BYTES_MAX = 10,
};

struct block {
	struct block *next;
	uint32_t size, used;
	uint8_t bytes[];
};

struct group {
	struct group *next; /* in the order in which they came */
	uint64_t rows;
	struct block *first, *last;
	uint64_t key[1 + GROUP_KEYS_MAX]; /* tags, then a value for each key */
	int64_t before[];		  /* of each column that is no key: its last integer */
};

struct group_entry {
	uint64_t key[1 + GROUP_KEYS_MAX];
	struct group *group;
};

struct text_entry {
	const char *text;
	uint64_t nr;
};

struct grouped {
	struct grouping of;
	unsigned int nr_others;
	uint8_t other[GROUP_COLUMNS_MAX]; /* columns that are no keys */
	uint64_t bytes, bytes_max;
	struct hash_table groups, texts;
	char **text; /* by number */
	uint64_t nr_texts;
	struct group *first, *last;
	size_t nr_groups;

	enum tag tag[GROUP_COLUMNS_MAX]; /* of the row that is added, by column */
	uint64_t code[GROUP_COLUMNS_MAX];

	/* Reading: */
	struct group *now;
	struct block *block;
	uint32_t at;
	uint64_t left; /* rows of `now` */
	struct sql_value value[GROUP_COLUMNS_MAX];
};

/* ---- the plan ---- */

#if SQLITE_VERSION_NUMBER >= 3038000
/* The query groups, and needs no order. */
static bool groups_only(sqlite3_index_info *info)
{
	int distinct = sqlite3_vtab_distinct(info);

	return info->nOrderBy && info->nOrderBy <= GROUP_KEYS_MAX &&
	       (distinct == 1 || distinct == 2);
}
#else
static bool groups_only(sqlite3_index_info *info)
{
	(void)info;
	return false;
}
#endif

static uint64_t column_bit(int column)
{
	return UINT64_C(1) << column;
}

static uint64_t keys_mask(const struct grouping *g)
{
	uint64_t mask = 0;

	for (unsigned int i = 0; i < g->nr_keys; i++)
		mask |= column_bit(g->key[i].column);
	return mask;
}

/* The columns of GROUP BY, each once. False: one that cannot be a key. */
static bool keys_plan(const sqlite3_index_info *info, struct grouping *ret)
{
	for (int i = 0; i < info->nOrderBy; i++) {
		int column = info->aOrderBy[i].iColumn;

		if (column < 0 || column >= GROUP_COLUMNS_MAX)
			return false;
		if (!(keys_mask(ret) & column_bit(column)))
			ret->key[ret->nr_keys++] =
				(struct group_key){(uint8_t)column, info->aOrderBy[i].desc};
	}
	return true;
}

bool grouping_plan(sqlite3_index_info *info, uint64_t not_keys, uint64_t never,
		   struct grouping *ret)
{
	*ret = (struct grouping){.used = info->colUsed};
	if (!groups_only(info) || !keys_plan(info, ret))
		return false;
	ret->used |= keys_mask(ret);
	if (ret->used >> GROUP_COLUMNS_MAX || keys_mask(ret) & not_keys || ret->used & never)
		return false;
	info->orderByConsumed = 1;
	return true;
}

void grouping_print(sqlite3_str *to, const struct grouping *g)
{
	sqlite3_str_appendf(to, "#%llx", (unsigned long long)g->used);
	for (unsigned int i = 0; i < g->nr_keys; i++)
		sqlite3_str_appendf(to, "%c%d", g->key[i].descending ? '-' : '+', g->key[i].column);
}

bool grouping_parse(const char *text, struct grouping *ret)
{
	const char *hash = text ? strchr(text, '#') : NULL;
	char *at;

	if (!hash)
		return false;
	*ret = (struct grouping){.used = strtoull(hash + 1, &at, 16)};
	while (*at) {
		bool descending = *at == '-';

		ret->key[ret->nr_keys++] =
			(struct group_key){(uint8_t)strtoul(at + 1, &at, 10), descending};
	}
	return true;
}

/* ---- memory ---- */

static void *grouped_alloc(struct grouped *g, size_t bytes)
{
	void *p = g->bytes + bytes <= g->bytes_max ? calloc(1, bytes) : NULL;

	g->bytes += bytes;
	if (!p)
		fail(-ENOMEM, "out of memory");
	return p;
}

static struct grouped *grouped_new(const struct grouping *of, uint64_t bytes_max)
{
	struct grouped *g = calloc(1, sizeof(*g));

	if (!g) {
		fail(-ENOMEM, "out of memory");
		return NULL;
	}
	*g = (struct grouped){
		.of = *of,
		.bytes_max = bytes_max,
		.groups = HASH_TABLE(struct group_entry, 1 + GROUP_KEYS_MAX, GROUPS_MAX),
		.texts = HASH_TABLE_OF_TEXTS(struct text_entry, TEXTS_MAX)};
	for (unsigned int i = 0; i < GROUP_COLUMNS_MAX; i++) {
		if ((of->used & ~keys_mask(of)) >> i & 1)
			g->other[g->nr_others++] = (uint8_t)i;
	}
	return g;
}

static void group_free(struct group *group)
{
	for (struct block *b = group->first, *next; b; b = next) {
		next = b->next;
		free(b);
	}
	free(group);
}

void grouped_free(struct grouped *g)
{
	if (!g)
		return;
	for (struct group *group = g->first, *next; group; group = next) {
		next = group->next;
		group_free(group);
	}
	for (uint64_t i = 0; i < g->nr_texts; i++)
		free(g->text[i]);
	free(g->text);
	hash_deinit(&g->groups);
	hash_deinit(&g->texts);
	free(g);
}

/* ---- adding ---- */

/* The number of a text. */
static int text_number(struct grouped *g, const char *text, uint64_t *ret)
{
	const struct text_entry *known = hash_find_text(&g->texts, text);
	struct text_entry *e;
	char *copy;

	if (known) {
		*ret = known->nr;
		return 0;
	}
	copy = grouped_alloc(g, strlen(text) + 1);
	if (!copy || array_room(g->text, g->nr_texts)) {
		free(copy);
		return -ENOMEM;
	}
	strcpy(copy, text);
	g->text[g->nr_texts] = copy;
	*ret = g->nr_texts++;
	e = hash_add_text(&g->texts, copy, NULL);
	g->bytes += sizeof(*e) + sizeof(char *);
	if (!e)
		return fail(-ENOMEM, "out of memory");
	e->nr = *ret;
	return 0;
}

static int value_code(struct grouped *g, const struct sql_value *v, enum tag *tag, uint64_t *ret)
{
	*ret = 0;
	*tag = v->kind == SQL_NULL ? TAG_NULL : v->kind == SQL_INTEGER ? TAG_INTEGER : TAG_TEXT;
	if (*tag == TAG_INTEGER)
		*ret = (uint64_t)v->integer;
	return *tag == TAG_TEXT ? text_number(g, v->text, ret) : 0;
}

static struct group *group_new(struct grouped *g, const uint64_t *key)
{
	struct group *group = grouped_alloc(g, sizeof(*group) + g->nr_others * sizeof(int64_t));

	if (!group)
		return NULL;
	memcpy(group->key, key, sizeof(group->key));
	if (g->last)
		g->last->next = group;
	else
		g->first = group;
	g->nr_groups++;
	return g->last = group;
}

static struct group *group_of(struct grouped *g)
{
	uint64_t key[1 + GROUP_KEYS_MAX] = {0};
	struct group_entry *e;
	bool is_new;

	for (unsigned int i = 0; i < g->of.nr_keys; i++) {
		unsigned int column = g->of.key[i].column;

		key[0] |= (uint64_t)g->tag[column] << (TAG_BITS * i);
		key[1 + i] = g->code[column];
	}
	e = hash_add_words(&g->groups, key, &is_new);
	if (!e) {
		fail(-ENOMEM, "out of memory");
		return NULL;
	}
	if (is_new) {
		g->bytes += 2 * sizeof(*e);
		e->group = group_new(g, key);
	}
	return e->group;
}

static uint8_t *put_varint(uint8_t *to, uint64_t v)
{
	for (; v >= 0x80; v >>= 7)
		*to++ = (uint8_t)(v | 0x80);
	*to++ = (uint8_t)v;
	return to;
}

static uint64_t zigzag(uint64_t difference)
{
	return difference << 1 ^ (uint64_t)((int64_t)difference >> 63);
}

static uint8_t *put_value(uint8_t *to, enum tag tag, uint64_t code, int64_t *before)
{
	uint64_t difference;

	if (tag == TAG_INTEGER) {
		difference = zigzag(code - (uint64_t)*before);
		*before = (int64_t)code;
		if (difference >> (64 - TAG_BITS)) {
			*to++ = TAG_WIDE;
			memcpy(to, &code, sizeof(code));
			return to + sizeof(code);
		}
		code = difference;
	}
	return put_varint(to, code << TAG_BITS | tag);
}

static uint8_t *row_room(struct grouped *g, struct group *group, uint32_t bytes)
{
	struct block *b = group->last;
	uint32_t size = b ? 2 * b->size : BLOCK_FIRST;

	if (b && b->size - b->used >= bytes)
		return b->bytes + b->used;
	size = size > BLOCK_MAX ? BLOCK_MAX : size;
	size = size < bytes ? bytes : size;
	b = grouped_alloc(g, sizeof(*b) + size);
	if (!b)
		return NULL;
	b->size = size;
	if (group->last)
		group->last->next = b;
	else
		group->first = b;
	group->last = b;
	return b->bytes;
}

static int grouped_add(struct grouped *g)
{
	struct group *group = group_of(g);
	uint8_t row[GROUP_COLUMNS_MAX * VALUE_BYTES_MAX], *end = row, *to;

	if (!group)
		return -ENOMEM;
	for (unsigned int i = 0; i < g->nr_others; i++)
		end = put_value(end, g->tag[g->other[i]], g->code[g->other[i]], &group->before[i]);
	if (end > row) {
		to = row_room(g, group, (uint32_t)(end - row));
		if (!to)
			return -ENOMEM;
		memcpy(to, row, (size_t)(end - row));
		group->last->used += (uint32_t)(end - row);
	}
	group->rows++;
	return 0;
}

/* ---- the order of groups ---- */

static struct sql_value value_make(const struct grouped *g, enum tag tag, uint64_t code)
{
	if (tag == TAG_NULL)
		return (struct sql_value){SQL_NULL};
	if (tag == TAG_TEXT)
		return (struct sql_value){.kind = SQL_TEXT, .text = g->text[code]};
	return (struct sql_value){.kind = SQL_INTEGER, .integer = (int64_t)code};
}

static struct sql_value key_value(const struct grouped *g, const struct group *group,
				  unsigned int i)
{
	return value_make(g, group->key[0] >> (TAG_BITS * i) & ((1 << TAG_BITS) - 1),
			  group->key[1 + i]);
}

/* As SQLite's: NULL, numbers, texts by their bytes. */
static int value_order(const struct sql_value *a, const struct sql_value *b)
{
	if (a->kind != b->kind)
		return a->kind < b->kind ? -1 : 1;
	if (a->kind == SQL_TEXT)
		return strcmp(a->text, b->text);
	return a->kind == SQL_NULL ? 0 : (a->integer > b->integer) - (a->integer < b->integer);
}

static int group_order(const void *a, const void *b, void *arg)
{
	const struct group *x = *(struct group *const *)a, *y = *(struct group *const *)b;
	const struct grouped *g = arg;
	int order = 0;

	for (unsigned int i = 0; i < g->of.nr_keys && !order; i++) {
		struct sql_value of_x = key_value(g, x, i), of_y = key_value(g, y, i);

		order = value_order(&of_x, &of_y);
		order = g->of.key[i].descending ? -order : order;
	}
	return order;
}

static int groups_sort(struct grouped *g)
{
	_cleanup_free_ struct group **sorted =
		grouped_alloc(g, (g->nr_groups + 1) * sizeof(*sorted));
	size_t nr = 0;

	if (!sorted)
		return -ENOMEM;
	for (struct group *group = g->first; group; group = group->next)
		sorted[nr++] = group;
	qsort_r(sorted, nr, sizeof(*sorted), group_order, g);
	for (size_t i = 0; i < nr; i++)
		sorted[i]->next = sorted[i + 1]; /* the last one is NULL */
	g->first = *sorted;
	return 0;
}

int rows_group(sqlite3_vtab_cursor *cursor, const struct grouping *of, uint64_t bytes_max,
	       int (*next)(sqlite3_vtab_cursor *cursor),
	       void (*value)(sqlite3_vtab_cursor *cursor, int column, struct table_value *v),
	       struct grouped **ret)
{
	struct grouped *g = grouped_new(of, bytes_max);
	struct table_value v;
	int more, err = 0;

	if (!g)
		return -ENOMEM;
	*ret = g;
	while (!err && (more = next(cursor)) > 0) {
		for (int i = 0; i < GROUP_COLUMNS_MAX && !err; i++) {
			if (!(of->used >> i & 1))
				continue;
			value(cursor, i, &v);
			err = value_code(g, &v.value, &g->tag[i], &g->code[i]);
		}
		if (!err)
			err = grouped_add(g);
	}
	if (!err)
		err = more ?: groups_sort(g);
	return err;
}

/* ---- reading ---- */

static uint64_t get_varint(const uint8_t **from)
{
	uint64_t v = 0;

	for (unsigned int shift = 0;; shift += 7) {
		uint8_t byte = *(*from)++;

		v |= (uint64_t)(byte & 0x7f) << shift;
		if (byte < 0x80)
			return v;
	}
}

static void value_read(struct grouped *g, const uint8_t **from, unsigned int i)
{
	uint64_t code = get_varint(from);
	enum tag tag = code & ((1 << TAG_BITS) - 1);

	code >>= TAG_BITS;
	if (tag == TAG_INTEGER)
		code = (uint64_t)g->now->before[i] + (code >> 1 ^ -(code & 1));
	if (tag == TAG_WIDE) {
		memcpy(&code, *from, sizeof(code));
		*from += sizeof(code);
	}
	if (tag == TAG_INTEGER || tag == TAG_WIDE)
		g->now->before[i] = (int64_t)code;
	g->value[g->other[i]] = value_make(g, tag, code);
}

static bool group_begin(struct grouped *g)
{
	g->now = g->now ? g->now->next : g->first;
	if (!g->now)
		return false;
	g->left = g->now->rows;
	g->block = g->now->first;
	g->at = 0;
	memset(g->now->before, 0, g->nr_others * sizeof(int64_t));
	for (unsigned int i = 0; i < g->of.nr_keys; i++)
		g->value[g->of.key[i].column] = key_value(g, g->now, i);
	return true;
}

bool grouped_next(struct grouped *g)
{
	const uint8_t *from;

	if (!g->left && !group_begin(g))
		return false;
	g->left--;
	if (!g->nr_others)
		return true;
	if (g->at == g->block->used) {
		g->block = g->block->next;
		g->at = 0;
	}
	from = g->block->bytes + g->at;
	for (unsigned int i = 0; i < g->nr_others; i++)
		value_read(g, &from, i);
	g->at = (uint32_t)(from - g->block->bytes);
	return true;
}

const struct sql_value *grouped_value(const struct grouped *g, int column)
{
	return &g->value[column];
}
