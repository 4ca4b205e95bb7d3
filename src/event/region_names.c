// SPDX-License-Identifier: GPL-2.0-or-later
/* Per VM, regions sorted by address from both snapshots, in which an address is found by binary search. */

#include "base/array.h"
#include "base/cleanup.h"
#include "base/hash.h"
#include "base/order.h"
#include "event/event.h"
#include "event/region_names.h"

enum {
	VMS_MAX = 256,
	LISTED_MAX = 4096, /* of one list of a VM */
	TEXTS_MAX = 1 << 16,
	NAME_BYTES = 160,
	PAGE_BYTES = 4096,
};

struct region {
	uint64_t first, last;
	const char *name;
	bool port;
};

struct region_list {
	struct region *region; /* array.h; sorted, no two of one kind overlap */
	unsigned int nr;
};

struct vm_regions {
	uint32_t pid;
	struct region_list start, end;
};

struct text_entry {
	const char *text; /* its key, owned */
};

struct region_names {
	struct vm_regions vm[VMS_MAX];
	unsigned int nr;
	struct hash_table texts;
};

struct region_names *region_names_new(void)
{
	struct region_names *n = calloc(1, sizeof(*n));

	if (n)
		n->texts = HASH_TABLE_OF_TEXTS(struct text_entry, TEXTS_MAX);
	return n;
}

void region_names_free(struct region_names *names)
{
	const struct text_entry *e;

	if (!names)
		return;
	for (unsigned int i = 0; i < names->nr; i++) {
		free(names->vm[i].start.region);
		free(names->vm[i].end.region);
	}
	for (uint32_t at = 0; (e = hash_next(&names->texts, &at));)
		free((char *)e->text);
	hash_deinit(&names->texts);
	free(names);
}

/* NULL: too many, or out of memory. */
static const char *text_keep(struct region_names *names, const char *text)
{
	struct text_entry *e = hash_find_text(&names->texts, text);
	char *copy = e ? NULL : strdup(text);

	if (copy) {
		e = hash_add_text(&names->texts, copy, NULL);
		if (!e)
			free(copy);
	}
	return e ? e->text : NULL;
}

static int by_address(const void *va, const void *vb)
{
	const struct region *a = va, *b = vb;

	if (a->port != b->port)
		return a->port ? -1 : 1;
	return order_u64(a->first, b->first) ?: order_u64(a->last, b->last) ?:
	       strcmp(a->name, b->name);
}

static bool is_before(const struct region *r, bool port, uint64_t address)
{
	return r->port == port ? r->last < address : r->port;
}

static void region_read(struct region_names *names, const json_t *row, struct region_list *list)
{
	const char *space = json_string_value(json_array_get(row, 0));
	json_int_t first = json_integer_value(json_array_get(row, 1));
	json_int_t last = json_integer_value(json_array_get(row, 2));
	const char *text = json_string_value(json_array_get(row, 3));
	struct region r = {.first = (uint64_t)first, .last = (uint64_t)last};
	char name[NAME_BYTES];

	if (!space || !text || first < 0 || last < first || list->nr == LISTED_MAX)
		return;
	snprintf(name, sizeof(name), "%s", text);
	text_sanitize(name);
	r.port = !strcmp(space, "port");
	r.name = text_keep(names, name);
	if (r.name && *name && !array_room(list->region, list->nr))
		list->region[list->nr++] = r;
}

static void list_read(struct region_names *names, const json_t *rows, struct region_list *ret)
{
	unsigned int kept = 0;
	json_t *row;
	size_t i;

	json_array_foreach (rows, i, row)
		region_read(names, row, ret);
	if (ret->nr)
		qsort(ret->region, ret->nr, sizeof(*ret->region), by_address);
	for (unsigned int k = 0; k < ret->nr; k++) {
		const struct region *before = kept ? &ret->region[kept - 1] : NULL;

		if (before && before->port == ret->region[k].port &&
		    before->last >= ret->region[k].first)
			continue;
		ret->region[kept++] = ret->region[k];
	}
	ret->nr = kept;
}

static struct vm_regions *vm_find(struct region_names *names, uint32_t pid)
{
	if (!pid)
		return names && names->nr == 1 ? &names->vm[0] : NULL;
	for (unsigned int i = 0; names && i < names->nr; i++)
		if (names->vm[i].pid == pid)
			return &names->vm[i];
	return NULL;
}

void region_names_meta(struct region_names *names, const json_t *meta)
{
	json_t *one;
	size_t i;

	json_array_foreach (json_object_get(meta, "regions"), i, one) {
		json_int_t pid = json_integer_value(json_object_get(one, "pid"));
		struct vm_regions *vm = &names->vm[names->nr];

		if (pid <= 0 || pid > UINT32_MAX || names->nr == VMS_MAX ||
		    vm_find(names, (uint32_t)pid))
			continue;
		vm->pid = (uint32_t)pid;
		list_read(names, json_object_get(one, "start"), &vm->start);
		list_read(names, json_object_get(one, "end"), &vm->end);
		names->nr++;
	}
}

/* The name of the only region between the addresses, or of the first one and how many more there are. NULL: none. */
static const char *list_find(struct region_names *names, const struct region_list *l, bool port,
			     uint64_t first, uint64_t last)
{
	size_t at = array_prefix(l->nr, i, is_before(&l->region[i], port, first)), end = at;
	char several[NAME_BYTES + 32];

	while (end < l->nr && l->region[end].port == port && l->region[end].first <= last)
		end++;
	if (end - at < 2)
		return end == at ? NULL : l->region[at].name;
	snprintf(several, sizeof(several), "%s and %zu more", l->region[at].name, end - at - 1);
	return text_keep(names, several);
}

static const char *range_name(struct region_names *names, uint32_t pid, bool port, uint64_t from,
			      uint64_t to)
{
	const struct vm_regions *vm = vm_find(names, pid);
	const char *first = vm ? list_find(names, &vm->start, port, from, to) : NULL;
	const char *later = vm ? list_find(names, &vm->end, port, from, to) : NULL;
	char both[2 * NAME_BYTES + 80];

	if (!vm)
		return NULL;
	if (!first || !later || first == later)
		return first ? first : later ? later : "";
	snprintf(both, sizeof(both), "%s, later %s", first, later);
	return text_keep(names, both);
}

const char *region_name(struct region_names *names, uint32_t pid, bool port, uint64_t address)
{
	return range_name(names, pid, port, address, address);
}

const char *region_name_page(struct region_names *names, uint32_t pid, uint64_t page)
{
	return range_name(names, pid, false, page, page | (PAGE_BYTES - 1));
}
