// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * An answer in pages. Only values that are objects or arrays of an object are divided; what is written opens the
 * containers that a part is in when its first part comes, and closes them after it.
 */
#include <inttypes.h>
#include <string.h>

#include "mcp/mcp.h"

enum {
	DIVIDED_BYTES = 600, /* a shorter value is one part */
	PAGE_LEVELS = 6,
	OMITTED_BYTES = 48, /* the text in place of a part */
	PART_OVERHEAD = 8,  /* brackets, a comma, a colon */
};

struct page_level {
	struct json_slice key;
	bool is_array, open, any;
};

struct page {
	FILE *out;
	uint64_t at, from, next;
	size_t bytes, most;
	bool any, full;
	struct page_level level[PAGE_LEVELS];
	unsigned int depth;
};

static void page_gap(struct page *p, struct page_level *l, struct json_slice key)
{
	fprintf(p->out, "%s%.*s%s", l->any ? "," : "", (int)key.len, key.at ? key.at : "",
		key.at ? ":" : "");
	l->any = true;
}

/* The containers down to the part's own. */
static void levels_open(struct page *p)
{
	for (unsigned int i = 0; i < p->depth; i++) {
		struct page_level *l = &p->level[i];

		if (l->open)
			continue;
		if (i)
			page_gap(p, &p->level[i - 1], l->key);
		fputc(l->is_array ? '[' : '{', p->out);
		l->open = true;
	}
}

static size_t levels_bytes(const struct page *p)
{
	size_t bytes = 0;

	for (unsigned int i = 0; i < p->depth; i++)
		bytes += p->level[i].open ? 0 : p->level[i].key.len + PART_OVERHEAD;
	return bytes;
}

static void page_part(struct page *p, struct json_slice key, struct json_slice value)
{
	size_t bytes = levels_bytes(p) + key.len + PART_OVERHEAD, with = bytes + value.len;
	bool omitted = false;

	if (p->at++ < p->from || p->full)
		return;
	if (p->bytes + with > p->most) {
		p->full = p->any;
		omitted = !p->any;
	}
	if (p->full)
		return;
	levels_open(p);
	page_gap(p, &p->level[p->depth - 1], key);
	if (omitted)
		fprintf(p->out, "{\"omitted_bytes\": %zu}", value.len);
	else
		fwrite(value.at, 1, value.len, p->out);
	p->bytes += omitted ? bytes + OMITTED_BYTES : with;
	p->any = true;
	p->next = p->at;
}

static void page_walk(struct page *p, struct json_slice key, struct json_slice of)
{
	struct page_level *l = &p->level[p->depth++];
	struct json_slice name, value;
	size_t offset = 0;

	*l = (struct page_level){.key = key, .is_array = *of.at == '['};
	while (json_slice_next(of, &offset, &name, &value)) {
		bool divided = value.len > DIVIDED_BYTES && strchr("{[", *value.at) &&
			       !l->is_array && p->depth < PAGE_LEVELS;

		if (divided)
			page_walk(p, name, value);
		else
			page_part(p, name, value);
	}
	p->depth--;
	if (l->open)
		fputc(l->is_array ? ']' : '}', p->out);
}

void mcp_page(struct json_slice answer, uint64_t from, size_t bytes, FILE *out, uint64_t *ret_next,
	      uint64_t *ret_of)
{
	struct page p = {.out = out, .from = from, .next = from, .most = bytes};

	if (answer.len && *answer.at == '{')
		page_walk(&p, (struct json_slice){0}, answer);
	if (!p.any)
		fputs("{}", out);
	*ret_next = p.next;
	*ret_of = p.at;
}
