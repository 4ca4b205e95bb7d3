// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Finds the compilation unit of an ELF file's DWARF that contains an address, for files without
 * .debug_aranges (clang writes none): a table of all units' ranges, built when it is first needed.
 */
#include <dwarf.h>
#include <elfutils/libdw.h>
#include <errno.h>
#include <libiberty/demangle.h>

#include "base/array.h"
#include "base/error.h"
#include "base/order.h"
#include "symbols/code_function.h"
#include "symbols/elf_size.h"
#include "symbols/symbol_map.h"
#include "symbols/symbols.h"

enum { ELF_UNIT_RANGES_MAX = 4 << 20 };

struct elf_units;

struct unit_range {
	Dwarf_Addr start, end;
	Dwarf_Die *unit;
};

struct elf_units {
	struct unit_range *range; /* sorted by start */
	size_t nr;
	Dwarf_Addr bias;
};

static bool range_add(struct elf_units *u, const struct unit_range *range)
{
	if (range->start >= range->end || u->nr == ELF_UNIT_RANGES_MAX)
		return u->nr < ELF_UNIT_RANGES_MAX;
	return !array_add(u->range, u->nr, *range);
}

static int by_start(const void *a, const void *b)
{
	const struct unit_range *x = a, *y = b;

	return order_u64(x->start, y->start) ?: order_u64(x->end, y->end) ?:
	       order_u64(dwarf_dieoffset(x->unit), dwarf_dieoffset(y->unit));
}

/* Never fails; if memory is short, no unit is found. */
static struct elf_units *elf_units_open(Dwfl_Module *module)
{
	struct elf_units *u = calloc(1, sizeof(*u));
	Dwarf_Addr base;

	for (Dwarf_Die *unit = NULL; u && (unit = dwfl_module_nextcu(module, unit, &u->bias));) {
		struct unit_range range = {.unit = unit};

		for (ptrdiff_t at = 0;
		     (at = dwarf_ranges(unit, at, &base, &range.start, &range.end)) > 0;)
			if (!range_add(u, &range))
				break;
	}
	if (u && u->nr)
		qsort(u->range, u->nr, sizeof(*u->range), by_start);
	return u;
}

static void elf_units_close(struct elf_units *u)
{
	if (!u)
		return;
	free(u->range);
	free(u);
}

/*
 * The unit's DIE, owned by the module, or NULL. The address minus *ret_bias is the address in the
 * DWARF.
 */
static Dwarf_Die *elf_units_find(const struct elf_units *u, uint64_t address, Dwarf_Addr *ret_bias)
{
	size_t lo = array_prefix(u ? u->nr : 0, i, u->range[i].start <= address - u->bias);

	if (!lo || u->range[lo - 1].end <= address - u->bias)
		return NULL;
	*ret_bias = u->bias;
	return u->range[lo - 1].unit;
}

/*
 * Address to function, file and line by an ELF file's DWARF (libdw), with the chain of inlined
 * functions that addr2line -i prints: the innermost DIE that contains the address and every
 * inlined_subroutine around it up to the subprogram; an outer frame's line is where the inner one
 * was called (DW_AT_call_file, DW_AT_call_line).
 */

enum { NAMES_MAX = 1 << 20 }; /* demangled names cached; functions recorded as resolved */

/* A text derived from one in the mapped file. */
struct name {
	uint64_t from; /* address of the original */
	char *text;    /* NULL: unchanged */
};

struct function {
	uint64_t die; /* offset of its DIE */
};

struct elf_names {
	Dwfl *dwfl;
	Dwfl_Module *module; /* the file */
	struct elf_units *units; /* NULL: .debug_aranges had all addresses so far */
	struct hash_table names;
	struct hash_table resolved; /* functions without a linkage name that were resolved */
	const char *folder;	    /* that the first unit was compiled in, or NULL */
};

static const Dwfl_Callbacks callbacks = {
	.section_address = dwfl_offline_section_address,
	.find_elf = dwfl_build_id_find_elf,
	.find_debuginfo = elf_find_debuginfo,
};

/* At the addresses in the file, or at the base address chosen by the guest's loader. */
static bool elf_names_report(struct elf_names *e, const char *path, const uint64_t *base)
{
	e->module = base ? dwfl_report_elf(e->dwfl, "module", path, -1, *base, true)
			 : dwfl_report_offline(e->dwfl, "guest", path, -1);
	return e->module;
}

static const char *first_folder(Dwfl *dwfl)
{
	Dwarf_Addr bias;
	Dwarf_Die *unit = dwfl_nextcu(dwfl, NULL, &bias);
	Dwarf_Attribute attr;

	return unit ? dwarf_formstring(dwarf_attr(unit, DW_AT_comp_dir, &attr)) : NULL;
}

static int names_open(const char *path, const uint64_t *base, struct elf_names **ret)
{
	struct elf_names *e = calloc(1, sizeof(*e));

	if (!e)
		return fail(-ENOMEM, "out of memory");
	e->names = HASH_TABLE(struct name, 1, NAMES_MAX);
	e->resolved = HASH_TABLE(struct function, 1, NAMES_MAX);
	if (access(path, R_OK)) {
		free(e);
		return fail(
			-errno,
			"%s: %s (the guest's ELF file; -e FILE: another, -x: addresses)",
			path, strerror(errno));
	}
	int unfit = elf_path_check(path);

	if (unfit) {
		free(e);
		return unfit;
	}
	e->dwfl = dwfl_begin(&callbacks);
	if (!e->dwfl || !elf_names_report(e, path, base) || dwfl_report_end(e->dwfl, NULL, NULL)) {
		int err = fail(-EINVAL, "%s: %s", path, dwfl_errmsg(-1));

		elf_names_close(e);
		return err;
	}
	e->folder = first_folder(e->dwfl);
	*ret = e;
	return 0;
}

int elf_names_open(const char *path, struct elf_names **ret)
{
	return names_open(path, NULL, ret);
}

int elf_names_open_at(const char *path, uint64_t base, struct elf_names **ret)
{
	return names_open(path, &base, ret);
}

void elf_names_close(struct elf_names *e)
{
	const struct name *n;

	if (!e)
		return;
	for (uint32_t at = 0; (n = hash_next(&e->names, &at));)
		free(n->text);
	hash_deinit(&e->names);
	hash_deinit(&e->resolved);
	elf_units_close(e->units);
	if (e->dwfl)
		dwfl_end(e->dwfl);
	free(e);
}

static const char *name_kept(const struct elf_names *e, const char *from)
{
	const struct name *n = hash_find_u64(&e->names, (uintptr_t)from);

	if (!n)
		return NULL;
	return n->text ? n->text : from;
}

/* Takes ownership of text; returns it, or `from` if text is NULL or cannot be kept. */
static const char *name_keep(struct elf_names *e, const char *from, char *text)
{
	struct name *n = hash_add_u64(&e->names, (uintptr_t)from, NULL);

	if (!n) {
		free(text);
		return from;
	}
	n->text = text;
	return text ? text : from;
}

static const char *demangled(struct elf_names *e, const char *mangled)
{
	const char *kept = name_kept(e, mangled);

	return kept ? kept
		    : name_keep(e, mangled, cplus_demangle(mangled, DMGL_PARAMS | DMGL_ANSI));
}

/* A relative file name is relative to the directory that the compiler ran in (DW_AT_comp_dir). */
static const char *full_path(struct elf_names *e, Dwarf_Die *cu, const char *file)
{
	Dwarf_Attribute attr;
	const char *dir = dwarf_formstring(dwarf_attr(cu, DW_AT_comp_dir, &attr));
	const char *kept = file ? name_kept(e, file) : NULL;
	char *path = NULL;

	if (!file || kept)
		return kept;
	if (file[0] != '/' && dir && asprintf(&path, "%s/%s", dir, file) < 0)
		path = NULL;
	return name_keep(e, file, path);
}

static const char *linkage_name(Dwarf_Die *die)
{
	Dwarf_Attribute attr;

	if (dwarf_attr_integrate(die, DW_AT_linkage_name, &attr) ||
	    dwarf_attr_integrate(die, DW_AT_MIPS_linkage_name, &attr))
		return dwarf_formstring(&attr);
	return NULL;
}

static const char *function_name(struct elf_names *e, Dwarf_Die *die)
{
	const char *linkage = linkage_name(die);

	return linkage ? demangled(e, linkage) : dwarf_diename(die);
}

/* The name in the symbol table, or NULL; *ret_start: the symbol's address. */
static const char *symbol_name(struct elf_names *e, Dwfl_Module *mod, uint64_t address,
			       uint64_t *ret_start)
{
	GElf_Off offset;
	GElf_Sym sym;
	const char *name = dwfl_module_addrinfo(mod, address, &offset, &sym, NULL, NULL, NULL);

	*ret_start = name ? address - offset : 0;
	return name ? demangled(e, name) : NULL;
}

/* Returns whether this function was resolved before, and marks it as resolved. */
static bool resolved_before(struct elf_names *e, Dwarf_Off die)
{
	bool first;

	return hash_add_u64(&e->resolved, die, &first) && !first;
}

/* The start of a function's first range in the DWARF. */
static Dwarf_Addr function_start(Dwarf_Die *die)
{
	Dwarf_Addr base, start = 0, end;

	return dwarf_ranges(die, 0, &base, &start, &end) > 0 ? start : 0;
}

/*
 * The innermost frame is named as by addr2line, which OSv's tool uses. C++ functions without a linkage name
 * (lambdas, templates over them, functions with internal linkage) get the name of the symbol that contains the address,
 * which for an inlined function is the one that it was inlined into. For a second address of the same function,
 * addr2line prints the name in its DIE, unless the symbol starts where the function does.
 */
static const char *innermost_name(struct elf_names *e, Dwfl_Module *mod, uint64_t address,
				  Dwarf_Addr bias, Dwarf_Die *unit, Dwarf_Die *die)
{
	int language = dwarf_srclang(unit);
	bool is_c = language == DW_LANG_C89 || language == DW_LANG_C || language == DW_LANG_C99 ||
		    language == DW_LANG_C11 || language == DW_LANG_Mips_Assembler;
	uint64_t start;
	const char *name = is_c || linkage_name(die) ? NULL
						     : symbol_name(e, mod, address, &start);

	if (!name ||
	    (resolved_before(e, dwarf_dieoffset(die)) && start != function_start(die) + bias))
		return function_name(e, die);
	return name;
}

static void call_site(struct elf_names *e, Dwarf_Die *cu, Dwarf_Die *inlined, struct frame *ret)
{
	Dwarf_Attribute attr;
	Dwarf_Word value;
	Dwarf_Files *files;
	size_t nr;

	if (dwarf_attr_integrate(inlined, DW_AT_call_line, &attr) &&
	    !dwarf_formudata(&attr, &value))
		ret->line = (int)value;
	if (dwarf_attr_integrate(inlined, DW_AT_call_file, &attr) &&
	    !dwarf_formudata(&attr, &value) && !dwarf_getsrcfiles(cu, &files, &nr) && value < nr)
		ret->file = full_path(e, cu, dwarf_filesrc(files, value, NULL, NULL));
}

static Dwarf_Die *unit_of(struct elf_names *e, Dwfl_Module *mod, uint64_t address,
			  Dwarf_Addr *ret_bias)
{
	Dwarf_Die *unit = dwfl_module_addrdie(mod, address, ret_bias);

	if (unit)
		return unit;
	if (!e->units)
		e->units = elf_units_open(mod);
	return elf_units_find(e->units, address, ret_bias);
}

static void code_line(struct elf_names *e, Dwarf_Die *unit, Dwarf_Addr address, struct frame *ret)
{
	Dwarf_Line *line = dwarf_getsrc_die(unit, address);

	if (!line)
		return;
	dwarf_lineno(line, &ret->line);
	ret->file = full_path(e, unit, dwarf_linesrc(line, NULL, NULL));
}

/* A function that another was inlined into: named by its symbol if addr2line would have cached it, see above. */
static const char *outer_name(struct elf_names *e, Dwfl_Module *mod, uint64_t address,
			      Dwarf_Addr bias, Dwarf_Die *die)
{
	uint64_t start;
	const char *name = hash_find_u64(&e->resolved, dwarf_dieoffset(die))
				   ? symbol_name(e, mod, address, &start)
				   : NULL;

	return name && start == function_start(die) + bias ? name : function_name(e, die);
}

/* Frames by DWARF: the DIEs around the innermost one, in the order of the code (not of the
 * definitions). */
static unsigned int by_dwarf(struct elf_names *e, Dwfl_Module *mod, uint64_t address, bool inlines,
			     struct frame ret[FRAME_INLINES_MAX])
{
	Dwarf_Addr bias;
	Dwarf_Die *cu = unit_of(e, mod, address, &bias), *at = NULL, *around = NULL;
	int nr_at = cu ? dwarf_getscopes(cu, address - bias, &at) : 0;
	int nr_around = nr_at > 0 ? dwarf_getscopes_die(&at[0], &around) : 0;
	unsigned int nr = 0;
	struct frame next = {.address = address};
	uint64_t start;

	if (cu)
		code_line(e, cu, address - bias, &next);
	for (int i = 0; i < nr_around && nr < FRAME_INLINES_MAX; i++) {
		int tag = dwarf_tag(&around[i]);

		if (tag != DW_TAG_inlined_subroutine && tag != DW_TAG_subprogram)
			continue;
		ret[nr] = next;
		ret[nr].name = nr ? outer_name(e, mod, address, bias, &around[i])
				  : innermost_name(e, mod, address, bias, cu,
						   &around[i]);
		nr++;
		if (tag == DW_TAG_subprogram || !inlines)
			break;
		next = (struct frame){.address = address};
		call_site(e, cu, &around[i], &next);
	}
	free(at);
	free(around);
	if (nr || !next.file || dwarf_haspc(cu, address - bias) <= 0)
		return nr;
	ret[0] = next; /* a function whose DIE is a child of one that does not contain the address */
	ret[0].name = symbol_name(e, mod, address, &start);
	return ret[0].name ? 1 : 0;
}

unsigned int elf_names_resolve(struct elf_names *e, uint64_t address, bool inlines,
			       struct frame ret[FRAME_INLINES_MAX])
{
	Dwfl_Module *mod = dwfl_addrmodule(e->dwfl, address);
	unsigned int nr = mod ? by_dwarf(e, mod, address, inlines, ret) : 0;
	uint64_t start;
	const char *name = nr || !mod ? NULL : symbol_name(e, mod, address, &start);

	if (!name)
		return nr;
	ret[0] = (struct frame){.address = address, .name = name};
	return 1;
}

const char *elf_names_symbol(struct elf_names *e, uint64_t address)
{
	Dwfl_Module *mod = dwfl_addrmodule(e->dwfl, address);
	uint64_t start;

	return mod ? symbol_name(e, mod, address, &start) : NULL;
}

bool elf_names_of_offset(const struct elf_names *e, uint64_t offset, uint64_t *ret)
{
	Dwarf_Addr bias;
	Elf *elf = dwfl_module_getelf(e->module, &bias);
	GElf_Phdr segment;
	size_t nr = 0;

	if (!elf || elf_getphdrnum(elf, &nr))
		return false;
	for (int i = 0; i < (int)nr && gelf_getphdr(elf, i, &segment); i++)
		if (segment.p_type == PT_LOAD && segment.p_flags & PF_X &&
		    offset - segment.p_offset < segment.p_filesz) {
			*ret = offset - segment.p_offset + segment.p_vaddr + bias;
			return true;
		}
	return false;
}

/* ---- code ---- */

/* The begin of the next symbol of code, or the end of the page. */
static uint64_t symbol_end(Dwfl_Module *mod, uint64_t start)
{
	uint64_t end = (start | 4095) + 1;
	int nr = dwfl_module_getsymtab(mod);
	GElf_Addr address;
	GElf_Sym sym;

	for (int i = 1; i < nr; i++)
		if (dwfl_module_getsym_info(mod, i, &sym, &address, NULL, NULL, NULL) &&
		    GELF_ST_TYPE(sym.st_info) <= STT_FUNC && sym.st_shndx != SHN_UNDEF &&
		    address > start && address < end)
			end = address;
	return end;
}

static void function_set(struct elf_names *e, Dwfl_Module *mod, const char *name, uint64_t start,
			 const GElf_Sym *sym, struct code_function *ret)
{
	*ret = (struct code_function){
		.name = demangled(e, name),
		.start = start,
		.size = sym->st_size ? sym->st_size : symbol_end(mod, start) - start,
		.elf = e,
		.elf_start = start,
	};
}

bool elf_names_function(struct elf_names *e, uint64_t address, struct code_function *ret)
{
	Dwfl_Module *mod = dwfl_addrmodule(e->dwfl, address);
	GElf_Off offset;
	GElf_Sym sym;
	const char *name =
		mod ? dwfl_module_addrinfo(mod, address, &offset, &sym, NULL, NULL, NULL) : NULL;

	if (name)
		function_set(e, mod, name, address - offset, &sym, ret);
	return name && address - ret->start < ret->size;
}

size_t elf_names_addresses(struct elf_names *e, const char *name, uint64_t *ret, size_t max)
{
	int symbols = dwfl_module_getsymtab(e->module);
	GElf_Addr address;
	size_t nr = 0;
	GElf_Sym sym;

	for (int i = 1; i < symbols && nr < max; i++) {
		const char *found =
			dwfl_module_getsym_info(e->module, i, &sym, &address, NULL, NULL, NULL);

		if (found && !strcmp(found, name) && sym.st_shndx != SHN_UNDEF)
			ret[nr++] = address;
	}
	return nr;
}

bool elf_names_function_named(struct elf_names *e, const char *name, struct code_function *ret)
{
	int nr = dwfl_module_getsymtab(e->module);
	GElf_Addr address;
	GElf_Sym sym;

	for (int i = 1; i < nr; i++) {
		const char *found =
			dwfl_module_getsym_info(e->module, i, &sym, &address, NULL, NULL, NULL);

		if (!found || strcmp(found, name) || sym.st_shndx == SHN_UNDEF)
			continue;
		function_set(e, e->module, found, address, &sym, ret);
		return true;
	}
	return false;
}

bool elf_names_is_x86(const struct elf_names *e)
{
	Dwarf_Addr bias;
	Elf *elf = dwfl_module_getelf(e->module, &bias);
	GElf_Ehdr head;

	return elf && gelf_getehdr(elf, &head) && head.e_machine == EM_X86_64;
}

size_t elf_names_code(struct elf_names *e, uint64_t address, uint8_t *ret, size_t size)
{
	Dwarf_Addr bias;
	Elf *elf = dwfl_module_getelf(e->module, &bias);
	GElf_Phdr segment;
	size_t nr = 0;

	if (!elf || elf_getphdrnum(elf, &nr))
		return 0;
	for (int i = 0; i < (int)nr && gelf_getphdr(elf, i, &segment); i++) {
		uint64_t at = address - bias - segment.p_vaddr;
		const Elf_Data *data;

		if (segment.p_type != PT_LOAD || at >= segment.p_filesz)
			continue;
		size = size < segment.p_filesz - at ? size : segment.p_filesz - at;
		data = elf_getdata_rawchunk(elf, (int64_t)(segment.p_offset + at), size,
					    ELF_T_BYTE);
		if (data && data->d_size == size)
			memcpy(ret, data->d_buf, size);
		return data && data->d_size == size ? size : 0;
	}
	return 0;
}

size_t elf_names_build_id(const struct elf_names *e, uint8_t *ret, size_t size)
{
	const unsigned char *id;
	GElf_Addr at;
	int len = dwfl_module_build_id(e->module, &id, &at);

	if (len <= 0)
		return 0;
	size = (size_t)len < size ? (size_t)len : size;
	memcpy(ret, id, size);
	return size;
}

const char *elf_names_short_path(const struct elf_names *e, const char *file)
{
	size_t len = e->folder ? strlen(e->folder) : 0;

	for (const char *up; (up = strstr(file, "../"));)
		file = up + 3;
	return len && !strncmp(file, e->folder, len) && file[len] == '/' ? file + len + 1 : file;
}
