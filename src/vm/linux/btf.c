// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A kernel's type information (Documentation/bpf/btf.rst), as far as offsets of members need it. Own code, although
 * libbpf has a parser: this one reads what a guest wrote, and libbpf does not check that ids and names are in range,
 * nor that modifiers end.
 */
#include <errno.h>
#include <limits.h>
#include <stdlib.h>

#include "base/array.h"
#include "base/buffer.h"
#include "base/error.h"
#include "vm/linux/btf.h"

enum {
	HEADER = 24, /* magic, version, flags, hdr_len, type_off, type_len, str_off, str_len */
	TYPE = 12,   /* name_off, info, size or type */
	MEMBER = 12, /* name_off, type, offset */
	MAGIC = 0xeb9f,
};

enum kind {
	KIND_INT = 1,
	KIND_ARRAY = 3,
	KIND_STRUCT = 4,
	KIND_UNION = 5,
	KIND_ENUM = 6,
	KIND_TYPEDEF = 8,
	KIND_VOLATILE = 9,
	KIND_CONST = 10,
	KIND_RESTRICT = 11,
	KIND_FUNC_PROTO = 13,
	KIND_VAR = 14,
	KIND_DATASEC = 15,
	KIND_DECL_TAG = 17,
	KIND_TYPE_TAG = 18,
	KIND_ENUM64 = 19,
	KIND_LAST = KIND_ENUM64,
};

struct type {
	uint32_t name, size; /* size: or the type that it refers to */
	uint32_t nr;	     /* members */
	enum kind kind;
	bool bitfields; /* offsets of members have the bitfield's size in the upper 8 bits */
};

static struct type type_parse(struct buffer *b)
{
	uint32_t name = buffer_u32(b), info = buffer_u32(b);

	return (struct type){.name = name,
			     .size = buffer_u32(b),
			     .nr = info & 0xffff,
			     .kind = info >> 24 & 31,
			     .bitfields = info >> 31};
}

/* What follows the head of a type. */
static size_t type_more(const struct type *t)
{
	switch (t->kind) {
	case KIND_INT:
	case KIND_VAR:
	case KIND_DECL_TAG:
		return 4;
	case KIND_ARRAY:
		return 12;
	case KIND_STRUCT:
	case KIND_UNION:
	case KIND_DATASEC:
	case KIND_ENUM64:
		return (size_t)MEMBER * t->nr;
	case KIND_ENUM:
	case KIND_FUNC_PROTO:
		return (size_t)8 * t->nr;
	default:
		return 0;
	}
}

static int types_index(struct btf_types *r, struct buffer *b)
{
	r->nr = 1; /* void */
	while (buffer_left(b)) {
		uint32_t at = (uint32_t)buffer_tell(b);
		struct type t = type_parse(b);

		buffer_bytes(b, type_more(&t));
		if (b->cut || !t.kind || t.kind > KIND_LAST || r->nr == BTF_TYPES_MAX)
			return -EBADMSG;
		if (array_add(r->type, r->nr, at))
			return -ENOMEM;
	}
	return 0;
}

int btf_types_parse(uint8_t *data, size_t size, struct btf_types *ret)
{
	struct buffer b = buffer_of(data, size, "BTF", 0);
	uint32_t head, type_off, type_len, str_off, str_len;
	bool magic = buffer_u16(&b) == MAGIC;
	uint64_t types, strings;

	*ret = (struct btf_types){.data = data, .size = size};
	buffer_u16(&b); /* version, flags */
	head = buffer_u32(&b);
	type_off = buffer_u32(&b);
	type_len = buffer_u32(&b);
	str_off = buffer_u32(&b);
	str_len = buffer_u32(&b);
	types = (uint64_t)head + type_off;
	strings = (uint64_t)head + str_off;
	if (b.cut || !magic || head < HEADER || types + type_len > size ||
	    strings + str_len > size || !str_len || data[strings + str_len - 1])
		return -EBADMSG;
	ret->strings = strings;
	ret->strings_end = strings + str_len;
	ret->type = calloc(1, sizeof(*ret->type));
	if (!ret->type)
		return fail(-ENOMEM, "out of memory");
	b = buffer_of(data + types, type_len, "BTF", types);
	return types_index(ret, &b);
}

void btf_types_deinit(struct btf_types *b)
{
	free(b->data);
	free(b->type);
	*b = (struct btf_types){0};
}

static const char *name_of(const struct btf_types *b, uint32_t name)
{
	size_t before = b->base ? b->base->strings_end - b->base->strings : 0;

	if (name < before)
		return name_of(b->base, name);
	name -= (uint32_t)before;
	return name < b->strings_end - b->strings ? (const char *)b->data + b->strings + name : "";
}

/* The type and its members, which follow its head. False: no such type. */
static bool type_get(const struct btf_types *b, uint32_t id, struct type *ret,
		     struct buffer *members)
{
	if (b->base && id && id < b->base->nr)
		return type_get(b->base, id, ret, members);
	if (b->base && id)
		id -= (uint32_t)b->base->nr - 1;
	if (!id || id >= b->nr)
		return false;
	*members = buffer_of(b->data + b->type[id], b->size - b->type[id], "BTF", 0);
	*ret = type_parse(members);
	return true;
}

static bool is_compound(const struct type *t)
{
	return t->kind == KIND_STRUCT || t->kind == KIND_UNION;
}

static bool is_modifier(enum kind kind)
{
	return kind == KIND_TYPEDEF || kind == KIND_VOLATILE || kind == KIND_CONST ||
	       kind == KIND_RESTRICT || kind == KIND_TYPE_TAG;
}

/* The struct or union of this name that has members; or else the typedef of one without a name. */
static uint32_t compound_find(const struct btf_types *b, const char *name)
{
	struct buffer members;
	uint32_t other = 0;
	struct type t;

	for (uint32_t id = 1; type_get(b, id, &t, &members); id++) {
		if (strcmp(name_of(b, t.name), name) != 0)
			continue;
		if (is_compound(&t) && t.nr)
			return id;
		if (t.kind == KIND_TYPEDEF)
			other = t.size;
	}
	return other;
}

/*
 * depth counts modifiers and nested structs together, steps all members: types of a guest may refer to themselves, many
 * times.
 */
static int offset_find(const struct btf_types *b, uint32_t id, const char *path, int depth,
		       uint32_t *steps)
{
	size_t len = strcspn(path, ".");
	struct buffer members;
	struct type t;

	if (depth > BTF_DEPTH_MAX || (*steps)++ > BTF_TYPES_MAX || !type_get(b, id, &t, &members))
		return -ENOENT;
	if (is_modifier(t.kind))
		return offset_find(b, t.size, path, depth + 1, steps);
	if (!is_compound(&t))
		return -ENOENT;
	for (uint32_t i = 0; i < t.nr && (*steps)++ < BTF_TYPES_MAX; i++) {
		const char *name = name_of(b, buffer_u32(&members));
		uint32_t type = buffer_u32(&members), at = buffer_u32(&members);
		int more = 0;

		at = (t.bitfields ? at & 0xffffff : at) / CHAR_BIT;
		if (!*name)
			more = offset_find(b, type, path, depth + 1, steps);
		else if (strncmp(name, path, len) != 0 || name[len])
			continue;
		else if (path[len])
			more = offset_find(b, type, path + len + 1, depth + 1, steps);
		if (more >= 0 && more <= INT_MAX - (int)at)
			return (int)at + more;
	}
	return -ENOENT;
}

int btf_offset(const struct btf_types *b, const char *type, const char *member)
{
	uint32_t steps = 0;

	return offset_find(b, compound_find(b, type), member, 0, &steps);
}

int btf_bitfield(const struct btf_types *b, const char *type, const char *member, int *ret_bits)
{
	struct buffer members;
	struct type t;

	*ret_bits = 0;
	if (!type_get(b, compound_find(b, type), &t, &members) || !is_compound(&t) || !t.bitfields)
		return -ENOENT;
	for (uint32_t i = 0; i < t.nr; i++) {
		const char *name = name_of(b, buffer_u32(&members));
		uint32_t at;

		buffer_u32(&members);
		at = buffer_u32(&members);
		if (strcmp(name, member) != 0)
			continue;
		*ret_bits = (int)(at >> 24);
		return (int)(at & 0xffffff);
	}
	return -ENOENT;
}

int btf_size(const struct btf_types *b, const char *type)
{
	struct buffer members;
	struct type t;

	if (!type_get(b, compound_find(b, type), &t, &members) || t.size > INT_MAX)
		return -ENOENT;
	return (int)t.size;
}

int btf_enum_value(const struct btf_types *b, const char *type, const char *name)
{
	struct buffer values;
	struct type t;

	for (uint32_t id = 1; type_get(b, id, &t, &values); id++) {
		if (t.kind != KIND_ENUM || strcmp(name_of(b, t.name), type) != 0)
			continue;
		for (uint32_t i = 0; i < t.nr; i++) {
			uint32_t value_name = buffer_u32(&values), value = buffer_u32(&values);

			if (!strcmp(name_of(b, value_name), name) && value <= INT_MAX)
				return (int)value;
		}
	}
	return -ENOENT;
}

int btf_variable_size(const struct btf_types *b, const char *name)
{
	struct buffer members;
	struct type t;
	uint32_t id = 1;

	while (type_get(b, id, &t, &members) &&
	       (t.kind != KIND_VAR || strcmp(name_of(b, t.name), name) != 0))
		id++;
	for (int i = 0; i < BTF_DEPTH_MAX && type_get(b, id, &t, &members); i++) {
		if (t.kind == KIND_INT && t.size <= sizeof(uint64_t))
			return (int)t.size;
		id = t.size;
	}
	return -ENOENT;
}
