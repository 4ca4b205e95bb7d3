// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Variables of a guest as its DWARF describes them, and their contents as JSON: structures are objects, with the
 * members of their bases and of nameless members among their own; enumerations have their names, addresses are
 * "0x..", arrays of characters are text. What is not known is null: bit fields without a place, numbers of more than
 * 8 bytes, and what is nested deeper than DEPTH_MAX.
 *
 * A variable is found by its symbol, and its type by the address: in C++ a definition only refers to its declaration.
 */
#include <dwarf.h>
#include <errno.h>
#include <inttypes.h>
#include <libiberty/demangle.h>
#include <string.h>

#include "base/error.h"
#include "fetch/layout_internal.h"
#include "output/report.h"

enum { DEPTH_MAX = 12, ELEMENTS_MAX = 64, SCOPES_MAX = 8, TEXT_MAX = 4096 };

/* ---- which variable ---- */

static bool is_at(Dwarf_Die *die, uint64_t address)
{
	Dwarf_Attribute attr, of_op;
	Dwarf_Addr at;
	Dwarf_Op *op;
	size_t nr;

	if (!dwarf_attr(die, DW_AT_location, &attr) || dwarf_getlocation(&attr, &op, &nr) ||
	    nr != 1)
		return false;
	if (op[0].atom == DW_OP_addr)
		return op[0].number == address;
	return (op[0].atom == DW_OP_addrx || op[0].atom == DW_OP_GNU_addr_index) &&
	       !dwarf_getlocation_attr(&attr, op, &of_op) && !dwarf_formaddr(&of_op, &at) &&
	       at == address;
}

static bool scope_find(Dwarf_Die *parent, uint64_t address, int depth, Dwarf_Die *ret)
{
	Dwarf_Die die;

	if (depth > SCOPES_MAX || dwarf_child(parent, &die))
		return false;
	do {
		int tag = dwarf_tag(&die);

		if (tag == DW_TAG_variable && is_at(&die, address)) {
			*ret = die;
			return true;
		}
		if (tag == DW_TAG_namespace && scope_find(&die, address, depth + 1, ret))
			return true;
	} while (!dwarf_siblingof(&die, &die));
	return false;
}

static bool variable_find(Dwarf *dwarf, uint64_t address, Dwarf_Die *ret)
{
	Dwarf_Off offset = 0, next;
	size_t header;
	Dwarf_Die cu;

	for (; !dwarf_nextcu(dwarf, offset, &next, &header, NULL, NULL, NULL); offset = next)
		if (dwarf_offdie(dwarf, offset + header, &cu) && scope_find(&cu, address, 0, ret))
			return true;
	return false;
}

static bool template_type(Dwarf_Die *type, Dwarf_Die *ret)
{
	Dwarf_Die die;

	if (dwarf_child(type, &die))
		return false;
	do {
		if (dwarf_tag(&die) == DW_TAG_template_type_parameter)
			return layout_type_of(&die, ret);
	} while (!dwarf_siblingof(&die, &die));
	return false;
}

struct layout_type {
	Dwarf_Die die;
};

/* To a member, whose place is added. */
static int member_step(struct layout_type *type, const char *path, struct layout_variable *v)
{
	Dwarf_Die member;
	uint64_t place;

	if (!layout_path(&type->die, path, &place, &member) || !layout_type_of(&member, &type->die))
		return fail(-ENOENT, "%s has no member %s", v->name, path);
	v->offset += place;
	return 0;
}

/* What a wrapper is around: percpu<T> has T in it, dynamic_percpu<T> where each vCPU has it. */
static int wrapper_enter(struct layout_type *type, struct layout_variable *v)
{
	uint64_t place;
	Dwarf_Die member;

	if (layout_path(&type->die, "_var", &place, &member))
		return member_step(type, "_var", v);
	if (!layout_path(&type->die, "_offset", &place, &member) ||
	    !template_type(&type->die, &type->die))
		return fail(-EINVAL,
			    "%s is no variable of each vCPU (percpu<T>, dynamic_percpu<T>)",
			    v->name);
	v->is_dynamic = true;
	v->offset_at = v->address + place;
	return 0;
}

static int type_enter(struct layout *l, const char *field, struct layout_variable *v)
{
	struct layout_type *type = v->type;
	Dwarf_Die die;
	Dwarf_Word size;
	int err;

	if (!layout_dwarf(l) || !variable_find(layout_dwarf(l), v->address, &die) ||
	    !layout_type_of(&die, &type->die))
		return fail(-ENOENT, "no DWARF information for the variable %s", v->name);
	err = wrapper_enter(type, v);
	if (!err && field)
		err = member_step(type, field, v);
	if (err)
		return err;
	if (dwarf_aggregate_size(&type->die, &size) || !size || size > LAYOUT_VALUE_MAX)
		return fail(-E2BIG, "the value of %s is larger than %d bytes", v->name,
			    LAYOUT_VALUE_MAX);
	v->bytes = (size_t)size;
	return 0;
}

int layout_percpu(struct layout *l, const char *name, const char *field,
		  struct layout_variable *ret)
{
	int err;

	*ret = (struct layout_variable){.name = name};
	err = layout_symbol_named(l, name, &ret->address);
	if (err)
		return err;
	ret->type = calloc(1, sizeof(*ret->type));
	return ret->type ? type_enter(l, field, ret) : fail(-ENOMEM, "out of memory");
}

void layout_variable_deinit(struct layout_variable *v)
{
	free(v->type);
	v->type = NULL;
}

/* ---- its value ---- */

static json_t *value_json(Dwarf_Die *type, const uint8_t *bytes, uint64_t len, int depth);

static uint64_t number_read(const uint8_t *bytes, uint64_t size)
{
	uint64_t v = 0;

	memcpy(&v, bytes, size);
	return v;
}

static int64_t sign_extend(uint64_t v, uint64_t bits)
{
	unsigned int shift = 64 - (unsigned int)bits;

	return (int64_t)(v << shift) >> shift;
}

/* Beyond what JSON's integers of this library have, a text. */
static json_t *unsigned_json(uint64_t v)
{
	return v > INT64_MAX ? json_sprintf("%" PRIu64, v) : json_integer((json_int_t)v);
}

static json_t *address_value(uint64_t v)
{
	return json_sprintf("0x%" PRIx64, v);
}

static Dwarf_Word encoding_of(Dwarf_Die *type)
{
	Dwarf_Attribute attr;
	Dwarf_Word encoding = 0;

	if (dwarf_attr(type, DW_AT_encoding, &attr))
		dwarf_formudata(&attr, &encoding);
	return encoding;
}

static json_t *number_json(Dwarf_Die *type, uint64_t v, uint64_t bits)
{
	double real = 0;
	float single;

	switch (encoding_of(type)) {
	case DW_ATE_boolean:
		return json_boolean(v);
	case DW_ATE_signed:
	case DW_ATE_signed_char:
		return json_integer(sign_extend(v, bits));
	case DW_ATE_float:
		memcpy(&single, &v, sizeof(single));
		memcpy(&real, &v, sizeof(real));
		real = bits == 32 ? (double)single : real;
		return bits == 32 || bits == 64 ? json_real(real) ?: json_sprintf("%g", real)
						: json_null();
	default:
		return unsigned_json(v);
	}
}

static json_t *enumerator_json(Dwarf_Die *type, int64_t v)
{
	Dwarf_Attribute attr;
	Dwarf_Sword value;
	Dwarf_Die die;

	if (dwarf_child(type, &die))
		return json_integer(v);
	do {
		if (dwarf_tag(&die) == DW_TAG_enumerator &&
		    dwarf_attr(&die, DW_AT_const_value, &attr) && !dwarf_formsdata(&attr, &value) &&
		    value == v)
			return json_sanitized(json_text(dwarf_diename(&die)));
	} while (!dwarf_siblingof(&die, &die));
	return json_integer(v);
}

static bool attribute_read(Dwarf_Die *die, unsigned int name, Dwarf_Word *ret)
{
	Dwarf_Attribute attr;

	return dwarf_attr(die, name, &attr) && !dwarf_formudata(&attr, ret);
}

/* The first bit of a member, from the structure's start. Up to DWARF 3 it is counted from the end of a storage unit. */
static bool first_bit(Dwarf_Die *member, Dwarf_Die *type, uint64_t nr, uint64_t *ret)
{
	Dwarf_Word from_end, unit;
	uint64_t at;

	if (attribute_read(member, DW_AT_data_bit_offset, ret))
		return true;
	if (!attribute_read(member, DW_AT_bit_offset, &from_end) || !layout_place(member, &at) ||
	    (!attribute_read(member, DW_AT_byte_size, &unit) &&
	     dwarf_aggregate_size(type, &unit)) ||
	    unit > 8 || from_end + nr > unit * 8 || at > LAYOUT_VALUE_MAX)
		return false;
	*ret = at * 8 + unit * 8 - from_end - nr;
	return true;
}

static json_t *bits_json(Dwarf_Die *member, Dwarf_Die *type, const uint8_t *bytes, uint64_t len)
{
	Dwarf_Word nr = 0;
	uint64_t first;

	if (!attribute_read(member, DW_AT_bit_size, &nr) || !nr || nr > 57 ||
	    !first_bit(member, type, nr, &first) || first / 8 >= len)
		return json_null();
	uint64_t left = len - first / 8, v = number_read(bytes + first / 8, left < 8 ? left : 8);

	if (first % 8 + nr > left * 8)
		return json_null();
	v = v >> first % 8 & ((UINT64_C(1) << nr) - 1);
	return dwarf_tag(type) == DW_TAG_base_type ? number_json(type, v, nr) : unsigned_json(v);
}

static void members_add(json_t *to, Dwarf_Die *type, const uint8_t *bytes, uint64_t len, int depth)
{
	Dwarf_Die die, of;

	if (depth > DEPTH_MAX || dwarf_child(type, &die))
		return;
	do {
		int tag = dwarf_tag(&die);
		const char *name = dwarf_diename(&die);
		uint64_t at;
		json_t *value;

		if ((tag != DW_TAG_member && tag != DW_TAG_inheritance) ||
		    dwarf_hasattr(&die, DW_AT_external) || !layout_type_of(&die, &of))
			continue;
		if (dwarf_hasattr(&die, DW_AT_bit_size)) {
			if (name)
				json_object_set_new(to, name, bits_json(&die, &of, bytes, len));
			continue;
		}
		if (!layout_place(&die, &at) || at > len)
			continue;
		if (tag == DW_TAG_inheritance || !name) {
			members_add(to, &of, bytes + at, len - at, depth + 1);
			continue;
		}
		value = value_json(&of, bytes + at, len - at, depth + 1);
		json_object_set_new(to, name, value);
	} while (!dwarf_siblingof(&die, &die));
}

static uint64_t array_length(Dwarf_Die *type)
{
	Dwarf_Attribute attr;
	Dwarf_Word nr = 0;
	Dwarf_Die die;

	if (dwarf_child(type, &die) || dwarf_tag(&die) != DW_TAG_subrange_type)
		return 0;
	if (dwarf_attr(&die, DW_AT_count, &attr) && !dwarf_formudata(&attr, &nr))
		return nr;
	return dwarf_attr(&die, DW_AT_upper_bound, &attr) && !dwarf_formudata(&attr, &nr) ? nr + 1
											  : 0;
}

static json_t *characters_json(const uint8_t *bytes, uint64_t nr)
{
	char text[TEXT_MAX];

	snprintf(text, sizeof(text), "%.*s", (int)(nr < TEXT_MAX ? nr : TEXT_MAX), bytes);
	return json_sanitized(json_text(text));
}

/* Of several dimensions, the elements are in one list. */
static json_t *array_json(Dwarf_Die *type, const uint8_t *bytes, uint64_t len, int depth)
{
	uint64_t nr = array_length(type);
	Dwarf_Die element;
	Dwarf_Word size;
	json_t *list;

	if (!layout_type_of(type, &element) || dwarf_aggregate_size(&element, &size) || !size)
		return json_null();
	nr = nr < len / size ? nr : len / size;
	if (size == 1 && dwarf_tag(&element) == DW_TAG_base_type &&
	    (encoding_of(&element) == DW_ATE_signed_char))
		return characters_json(bytes, nr);
	list = json_array();
	for (uint64_t i = 0; i < nr && i < ELEMENTS_MAX; i++)
		json_array_append_new(list,
				      value_json(&element, bytes + i * size, size, depth + 1));
	if (nr > ELEMENTS_MAX)
		json_array_append_new(list,
				      json_sprintf("... %" PRIu64 " more", nr - ELEMENTS_MAX));
	return list;
}

static json_t *value_json(Dwarf_Die *type, const uint8_t *bytes, uint64_t len, int depth)
{
	Dwarf_Word size;
	json_t *object;
	uint64_t v;

	if (depth > DEPTH_MAX || dwarf_aggregate_size(type, &size) || !size || size > len)
		return json_null();
	switch (dwarf_tag(type)) {
	case DW_TAG_structure_type:
	case DW_TAG_class_type:
	case DW_TAG_union_type:
		object = json_object();
		members_add(object, type, bytes, size, depth);
		return object;
	case DW_TAG_array_type:
		return array_json(type, bytes, size, depth);
	default:
		break;
	}
	if (size > 8)
		return json_null();
	v = number_read(bytes, size);
	switch (dwarf_tag(type)) {
	case DW_TAG_base_type:
		return number_json(type, v, size * 8);
	case DW_TAG_enumeration_type:
		return enumerator_json(type, sign_extend(v, size * 8));
	default:
		return address_value(v);
	}
}

json_t *layout_value(const struct layout_variable *v, const void *bytes)
{
	return value_json(&v->type->die, bytes, v->bytes, 0);
}
