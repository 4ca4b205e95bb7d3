// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The layout of a guest: symbols of its ELF file (libelf), and offsets of members in its
 * structures from its DWARF (libdw). Nothing is built into hostrace but names, so that
 * another build of the guest is read right or rejected by name.
 */
#include <dwarf.h>
#include <elfutils/libdw.h>
#include <errno.h>
#include <fcntl.h>
#include <gelf.h>
#include <inttypes.h>
#include <libiberty/demangle.h>
#include <string.h>

#include "base/array.h"
#include "base/error.h"
#include "base/order.h"
#include "base/user_rights.h"
#include "fetch/layout_internal.h"
#include "symbols/elf_size.h"

enum {
	TYPES_MAX = 64,
	NAME_BYTES = 256,
	DEPTH_MAX = 8,	     /* of namespaces and classes in each other */
	SYMBOLS_MAX = 4 << 20,
};

/* A structure or enumeration that is requested. */
struct type {
	const char *name; /* "sched::thread::status" */
	bool found;
	Dwarf_Die die;
};

struct symbol {
	uint64_t address, size;
	const char *name;
};

struct layout {
	char *file;
	int fd;
	Elf *elf;
	Dwarf *dwarf;
	struct symbol *symbol; /* by address */
	size_t nr_symbols;
	struct type type[TYPES_MAX];
	unsigned int nr_types;
};

/* ---- symbols ---- */

static int by_address(const void *a, const void *b)
{
	const struct symbol *x = a, *y = b;

	return order_u64(x->address, y->address) ?: strcmp(x->name, y->name);
}

static int symbols_take(struct layout *l, Elf_Scn *section, const GElf_Shdr *header)
{
	Elf_Data *data = elf_getdata(section, NULL);
	size_t nr = data && header->sh_entsize ? header->sh_size / header->sh_entsize : 0;

	if (nr > SYMBOLS_MAX)
		return fail(-E2BIG, "%s: more than %d symbols", l->file, SYMBOLS_MAX);
	l->symbol = calloc(nr + 1, sizeof(*l->symbol));
	if (!l->symbol)
		return fail(-ENOMEM, "out of memory");
	for (size_t i = 0; i < nr; i++) {
		GElf_Sym sym;

		if (!gelf_getsym(data, (int)i, &sym) || sym.st_shndx == SHN_UNDEF)
			continue;
		const char *name = elf_strptr(l->elf, header->sh_link, sym.st_name);

		if (name && *name)
			l->symbol[l->nr_symbols++] =
				(struct symbol){sym.st_value, sym.st_size, name};
	}
	qsort(l->symbol, l->nr_symbols, sizeof(*l->symbol), by_address);
	return 0;
}

static int symbols_read(struct layout *l)
{
	Elf_Scn *section = NULL;
	GElf_Shdr header;

	while ((section = elf_nextscn(l->elf, section)))
		if (gelf_getshdr(section, &header) && header.sh_type == SHT_SYMTAB)
			return symbols_take(l, section, &header);
	return fail(-ENODATA, "%s has no symbols; an unstripped guest ELF file is needed",
		    l->file);
}

int layout_symbol_sized(const struct layout *l, const char *name, uint64_t *ret, uint64_t *ret_size)
{
	const struct symbol *s =
		array_find(l->symbol, l->nr_symbols, i, !strcmp(l->symbol[i].name, name));

	if (!s)
		return fail(-ENOENT, "%s has no symbol %s; is it the kernel of this guest?",
			    l->file, name);
	*ret = s->address;
	*ret_size = s->size;
	return 0;
}

int layout_symbol(const struct layout *l, const char *name, uint64_t *ret)
{
	uint64_t size;

	return layout_symbol_sized(l, name, ret, &size);
}

int layout_symbol_named(const struct layout *l, const char *name, uint64_t *ret)
{
	if (!layout_symbol(l, name, ret))
		return 0;
	for (size_t i = 0; i < l->nr_symbols; i++) {
		_cleanup_free_ char *own = cplus_demangle(l->symbol[i].name, DMGL_ANSI);

		if (own && !strcmp(own, name)) {
			*ret = l->symbol[i].address;
			return 0;
		}
	}
	return fail(-ENOENT, "%s has no variable %s", l->file, name);
}

Dwarf *layout_dwarf(const struct layout *l)
{
	return l->dwarf;
}

int layout_physical(const struct layout *l, uint64_t address, uint64_t *ret)
{
	GElf_Phdr h;
	size_t nr = 0;

	elf_getphdrnum(l->elf, &nr);
	for (size_t i = 0; i < nr; i++)
		if (gelf_getphdr(l->elf, (int)i, &h) && h.p_type == PT_LOAD &&
		    address - h.p_vaddr < h.p_memsz) {
			*ret = address - h.p_vaddr + h.p_paddr;
			return 0;
		}
	return fail(-ENOENT, "%s has no segment for 0x%" PRIx64, l->file, address);
}

int layout_thread_local(const struct layout *l, const char *name, int64_t *ret)
{
	uint64_t at;
	GElf_Phdr header;
	size_t nr = 0;
	int err = layout_symbol(l, name, &at);

	if (err)
		return err;
	elf_getphdrnum(l->elf, &nr);
	for (size_t i = 0; i < nr; i++) {
		if (!gelf_getphdr(l->elf, (int)i, &header) || header.p_type != PT_TLS)
			continue;
		uint64_t align = header.p_align ? header.p_align : 1;

		*ret = (int64_t)(at - (header.p_memsz + align - 1) / align * align);
		return 0;
	}
	return fail(-ENOENT, "%s has no segment PT_TLS", l->file);
}

const char *layout_symbol_at(const struct layout *l, uint64_t address)
{
	size_t at = array_prefix(l->nr_symbols, i, l->symbol[i].address < address);

	return at < l->nr_symbols && l->symbol[at].address == address ? l->symbol[at].name : NULL;
}

int layout_constants(const struct layout *l, uint64_t *ret_address, void *ret, size_t len)
{
	Elf_Scn *section = NULL;
	GElf_Shdr header;
	size_t names;

	if (elf_getshdrstrndx(l->elf, &names))
		return fail(-ENODATA, "%s has no sections", l->file);
	while ((section = elf_nextscn(l->elf, section))) {
		Elf_Data *data = elf_rawdata(section, NULL);
		const char *name = gelf_getshdr(section, &header)
					   ? elf_strptr(l->elf, names, header.sh_name)
					   : NULL;

		if (!name || strcmp(name, ".rodata") || !data || !data->d_buf || data->d_size < len)
			continue;
		memcpy(ret, data->d_buf, len);
		*ret_address = header.sh_addr;
		return 0;
	}
	return fail(-ENODATA, "%s has no .rodata section to identify the guest by", l->file);
}

/* ---- types by name ---- */

static bool is_scope(int tag)
{
	return tag == DW_TAG_namespace || tag == DW_TAG_class_type || tag == DW_TAG_structure_type;
}

static bool is_type(int tag)
{
	return tag == DW_TAG_class_type || tag == DW_TAG_structure_type ||
	       tag == DW_TAG_enumeration_type || tag == DW_TAG_union_type;
}

static bool is_declaration(Dwarf_Die *die)
{
	Dwarf_Attribute attr;
	bool flag = false;

	return dwarf_attr(die, DW_AT_declaration, &attr) && !dwarf_formflag(&attr, &flag) && flag;
}

/* Does anything that is still looked for are in this scope ("sched::" or ""), or is it this name? */
static bool wanted_below(const struct layout *l, const char *scope)
{
	size_t len = strlen(scope);

	return array_any(l->nr_types, i,
			 !l->type[i].found && !strncmp(l->type[i].name, scope, len) &&
				 !strncmp(l->type[i].name + len, "::", 2));
}

static void type_met(struct layout *l, const char *name, Dwarf_Die *die)
{
	for (unsigned int i = 0; i < l->nr_types; i++)
		if (!l->type[i].found && !strcmp(l->type[i].name, name)) {
			l->type[i].die = *die;
			l->type[i].found = true;
		}
}

static void scope_search(struct layout *l, Dwarf_Die *parent, const char *scope, int depth)
{
	char name[NAME_BYTES];
	Dwarf_Die die;

	if (depth > DEPTH_MAX || dwarf_child(parent, &die))
		return;
	do {
		int tag = dwarf_tag(&die);
		const char *own = is_type(tag) || is_scope(tag) ? dwarf_diename(&die) : NULL;

		if (!own)
			continue;
		snprintf(name, sizeof(name), "%s%s%s", scope, *scope ? "::" : "", own);
		if (is_type(tag) && !is_declaration(&die))
			type_met(l, name, &die);
		if (is_scope(tag) && wanted_below(l, name))
			scope_search(l, &die, name, depth + 1);
	} while (!dwarf_siblingof(&die, &die));
}

static bool all_found(const struct layout *l)
{
	return !array_any(l->nr_types, i, !l->type[i].found);
}

static void types_search(struct layout *l)
{
	Dwarf_Off offset = 0, next;
	size_t header;
	Dwarf_Die cu;

	while (!all_found(l) && !dwarf_nextcu(l->dwarf, offset, &next, &header, NULL, NULL, NULL)) {
		if (dwarf_offdie(l->dwarf, offset + header, &cu))
			scope_search(l, &cu, "", 0);
		offset = next;
	}
}

static struct type *type_want(struct layout *l, const char *name)
{
	for (unsigned int i = 0; i < l->nr_types; i++)
		if (!strcmp(l->type[i].name, name))
			return &l->type[i];
	if (l->nr_types == TYPES_MAX)
		return NULL;
	l->type[l->nr_types] = (struct type){.name = name};
	return &l->type[l->nr_types++];
}

/* ---- members ---- */

bool layout_type_of(Dwarf_Die *die, Dwarf_Die *ret)
{
	Dwarf_Attribute attr;
	Dwarf_Die type;

	return dwarf_attr_integrate(die, DW_AT_type, &attr) && dwarf_formref_die(&attr, &type) &&
	       !dwarf_peel_type(&type, ret);
}

bool layout_place(Dwarf_Die *die, uint64_t *ret)
{
	Dwarf_Attribute attr;
	Dwarf_Word value = 0;

	if (dwarf_attr(die, DW_AT_data_member_location, &attr) && dwarf_formudata(&attr, &value))
		return false; /* an expression: a virtual base */
	*ret = value;
	return true;
}

/* A member of this name, in the structure itself, then in its bases and nameless members. */
static bool member_find(Dwarf_Die *in, const char *name, size_t len, int depth, uint64_t *place,
			Dwarf_Die *ret)
{
	Dwarf_Die die, type;
	uint64_t at;

	for (int inner = 0; inner < 2; inner++) {
		if (depth > DEPTH_MAX || dwarf_child(in, &die))
			return false;
		do {
			int tag = dwarf_tag(&die);
			const char *own = dwarf_diename(&die);

			if (tag != DW_TAG_member && tag != DW_TAG_inheritance)
				continue;
			if (!layout_place(&die, &at))
				continue;
			if (!inner && own && strlen(own) == len && !memcmp(own, name, len)) {
				*place += at;
				*ret = die;
				return true;
			}
			if (inner && (!own || tag == DW_TAG_inheritance) &&
			    layout_type_of(&die, &type) &&
			    member_find(&type, name, len, depth + 1, &at, ret)) {
				*place += at;
				return true;
			}
		} while (!dwarf_siblingof(&die, &die));
	}
	return false;
}

bool layout_path(Dwarf_Die *from, const char *path, uint64_t *place, Dwarf_Die *ret)
{
	Dwarf_Die in = *from;

	*place = 0;
	for (const char *p = path; *p;) {
		size_t len = strcspn(p, ".");

		if (!member_find(&in, p, len, 0, place, ret))
			return false;
		p += len;
		if (*p == '.') {
			p++;
			if (!layout_type_of(ret, &in))
				return false;
		}
	}
	return true;
}

static uint64_t die_size(Dwarf_Die *die)
{
	Dwarf_Die type;
	Dwarf_Word size;

	return layout_type_of(die, &type) && !dwarf_aggregate_size(&type, &size) ? size : 0;
}

static int member_take(struct layout *l, const struct layout_member *m)
{
	struct type *t = type_want(l, m->type);
	uint64_t place, size;
	Dwarf_Die die;

	if (!t || !t->found)
		return fail(-ENOENT, "%s: no DWARF information for %s", l->file, m->type);
	if (!layout_path(&t->die, m->path, &place, &die) || place > UINT32_MAX)
		return fail(-ENOENT, "%s: %s has no member %s", l->file, m->type, m->path);
	size = die_size(&die);
	*m->offset = (uint32_t)place;
	if (m->size)
		*m->size = (uint32_t)(size > UINT32_MAX ? UINT32_MAX : size);
	return 0;
}

int layout_members(struct layout *l, const struct layout_member *m, size_t nr)
{
	int err = 0;

	if (!l->dwarf)
		return fail(-ENODATA,
			    "%s has no DWARF information; a guest ELF file built with -g is needed",
			    l->file);
	for (size_t i = 0; i < nr; i++)
		if (!type_want(l, m[i].type))
			return fail(-E2BIG, "more than %d structures", TYPES_MAX);
	types_search(l);
	for (size_t i = 0; i < nr && !err; i++)
		err = member_take(l, &m[i]);
	return err;
}

uint64_t layout_size(const struct layout *l, const char *type)
{
	for (unsigned int i = 0; i < l->nr_types; i++) {
		Dwarf_Die die = l->type[i].die;
		int size = l->type[i].found && !strcmp(l->type[i].name, type)
				   ? dwarf_bytesize(&die)
				   : -1;

		if (size > 0)
			return (uint64_t)size;
	}
	return 0;
}

const char *layout_enum(struct layout *l, const char *type, int64_t value)
{
	struct type *t = l->dwarf ? type_want(l, type) : NULL;
	Dwarf_Attribute attr;
	Dwarf_Sword v;
	Dwarf_Die die;

	if (t && !t->found)
		types_search(l);
	if (!t || !t->found || dwarf_child(&t->die, &die))
		return NULL;
	do {
		if (dwarf_tag(&die) == DW_TAG_enumerator &&
		    dwarf_attr(&die, DW_AT_const_value, &attr) && !dwarf_formsdata(&attr, &v) &&
		    v == value)
			return dwarf_diename(&die);
	} while (!dwarf_siblingof(&die, &die));
	return NULL;
}

/* ---- opening ---- */

int layout_open(const char *file, struct layout **ret)
{
	_cleanup_(layout_cleanup_) struct layout *l = calloc(1, sizeof(*l));
	int err;

	if (l)
		l->fd = -1;
	if (!l || !(l->file = strdup(file)))
		return fail(-ENOMEM, "out of memory");
	l->fd = open_as_user(file, O_RDONLY | O_CLOEXEC);
	if (l->fd < 0)
		return fail(-errno,
			    "cannot open the guest's ELF file %s: %s; choose another with -e FILE",
			    file, strerror(errno));
	elf_version(EV_CURRENT);
	l->elf = elf_begin(l->fd, ELF_C_READ_MMAP, NULL);
	if (!l->elf || elf_kind(l->elf) != ELF_K_ELF || gelf_getclass(l->elf) != ELFCLASS64)
		return fail(-EINVAL, "%s is not a 64-bit ELF file", file);
	err = elf_size_check(l->fd, file);
	if (err)
		return err;
	err = symbols_read(l);
	if (err)
		return err;
	l->dwarf = dwarf_begin_elf(l->elf, DWARF_C_READ, NULL);
	*ret = take_ptr(l);
	return 0;
}

void layout_close(struct layout *l)
{
	if (!l)
		return;
	if (l->dwarf)
		dwarf_end(l->dwarf);
	if (l->elf)
		elf_end(l->elf);
	if (l->fd >= 0)
		close(l->fd);
	free(l->symbol);
	free(l->file);
	free(l);
}
