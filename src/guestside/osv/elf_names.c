// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Address to function, file and line by an ELF file's DWARF (libdw), with the chain of inlined
 * functions that addr2line -i prints: the innermost DIE that holds the address and every
 * inlined_subroutine around it up to the subprogram; each outer frame stands where the inner one
 * was called (DW_AT_call_file, DW_AT_call_line).
 */
#include <dwarf.h>
#include <elfutils/libdw.h>
#include <elfutils/libdwfl.h>
#include <errno.h>
#include <fcntl.h>
#include <libiberty/demangle.h>
#include <string.h>

#include "base/error.h"
#include "guestside/osv/osv_symbols.h"

enum { NAMES_MAX = 1 << 20 }; /* demangled names kept */

/* A text made here from one in the mapped file, kept by that one's address. */
struct name {
	const char *from;
	char *text; /* NULL: as it is */
};

struct elf_names {
	Dwfl *dwfl;
	struct name *name;
	unsigned int nr_names;
};

static const Dwfl_Callbacks callbacks = {
	.section_address = dwfl_offline_section_address,
	.find_elf = dwfl_build_id_find_elf,
	.find_debuginfo = dwfl_standard_find_debuginfo,
};

/* What the linker says about where it lies, or where the guest's loader put it. */
static bool report(struct elf_names *e, const char *path, const uint64_t *base)
{
	return base ? dwfl_report_elf(e->dwfl, "module", path, -1, *base, true) != NULL
		    : dwfl_report_offline(e->dwfl, "guest", path, -1) != NULL;
}

static int names_open(const char *path, const uint64_t *base, struct elf_names **ret)
{
	struct elf_names *e = calloc(1, sizeof(*e));

	if (!e)
		return fail(-ENOMEM, "out of memory");
	if (access(path, R_OK)) {
		free(e);
		return fail(
			-errno,
			"%s: %s (the guest's ELF file; -e FILE names another, -x leaves addresses)",
			path, strerror(errno));
	}
	e->dwfl = dwfl_begin(&callbacks);
	if (!e->dwfl || !report(e, path, base) || dwfl_report_end(e->dwfl, NULL, NULL)) {
		int err = fail(-EINVAL, "%s: %s", path, dwfl_errmsg(-1));

		elf_names_close(e);
		return err;
	}
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
	if (!e)
		return;
	for (unsigned int i = 0; i < e->nr_names; i++)
		free(e->name[i].text);
	free(e->name);
	if (e->dwfl)
		dwfl_end(e->dwfl);
	free(e);
}

static const char *name_kept(const struct elf_names *e, const char *from)
{
	for (unsigned int i = 0; i < e->nr_names; i++)
		if (e->name[i].from == from)
			return e->name[i].text ? e->name[i].text : from;
	return NULL;
}

/* Takes text over; returns it, or `from` where text is NULL. */
static const char *name_keep(struct elf_names *e, const char *from, char *text)
{
	if (!(e->nr_names & (e->nr_names - 1))) {
		void *more = e->nr_names < NAMES_MAX
				     ? realloc(e->name, (e->nr_names ? 2 * e->nr_names : 1) *
								sizeof(*e->name))
				     : NULL;

		if (!more) {
			free(text);
			return from;
		}
		e->name = more;
	}
	e->name[e->nr_names++] = (struct name){from, text};
	return text ? text : from;
}

static const char *demangled(struct elf_names *e, const char *mangled)
{
	const char *kept = name_kept(e, mangled);

	return kept ? kept
		    : name_keep(e, mangled, cplus_demangle(mangled, DMGL_PARAMS | DMGL_ANSI));
}

/* A relative file name stands below the directory that the compiler ran in (DW_AT_comp_dir). */
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

static const char *function_name(struct elf_names *e, Dwarf_Die *die)
{
	Dwarf_Attribute attr;
	const char *linkage = NULL;

	if (dwarf_attr_integrate(die, DW_AT_linkage_name, &attr) ||
	    dwarf_attr_integrate(die, DW_AT_MIPS_linkage_name, &attr))
		linkage = dwarf_formstring(&attr);
	return linkage ? demangled(e, linkage) : dwarf_diename(die);
}

static void call_site(struct elf_names *e, Dwarf_Die *cu, Dwarf_Die *inlined, struct osv_frame *ret)
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

/* Frames by DWARF: the DIEs around the innermost one, in the order of the code (not of the
 * definitions). */
static unsigned int by_dwarf(struct elf_names *e, Dwfl_Module *mod, uint64_t address, bool inlines,
			     struct osv_frame ret[OSV_INLINES_MAX])
{
	Dwarf_Addr bias;
	Dwarf_Die *cu = dwfl_module_addrdie(mod, address, &bias), *at = NULL, *around = NULL;
	Dwfl_Line *line = dwfl_module_getsrc(mod, address);
	int nr_at = cu ? dwarf_getscopes(cu, address - bias, &at) : 0;
	int nr_around = nr_at > 0 ? dwarf_getscopes_die(&at[0], &around) : 0;
	unsigned int nr = 0;
	struct osv_frame next = {.address = address};

	if (line && cu)
		next.file =
			full_path(e, cu, dwfl_lineinfo(line, NULL, &next.line, NULL, NULL, NULL));
	for (int i = 0; i < nr_around && nr < OSV_INLINES_MAX; i++) {
		int tag = dwarf_tag(&around[i]);

		if (tag != DW_TAG_inlined_subroutine && tag != DW_TAG_subprogram)
			continue;
		ret[nr] = next;
		ret[nr++].name = function_name(e, &around[i]);
		if (tag == DW_TAG_subprogram || !inlines)
			break;
		next = (struct osv_frame){.address = address};
		call_site(e, cu, &around[i], &next);
	}
	free(at);
	free(around);
	return nr;
}

unsigned int elf_names_resolve(struct elf_names *e, uint64_t address, bool inlines,
			       struct osv_frame ret[OSV_INLINES_MAX])
{
	Dwfl_Module *mod = dwfl_addrmodule(e->dwfl, address);
	unsigned int nr = mod ? by_dwarf(e, mod, address, inlines, ret) : 0;
	GElf_Off offset;
	GElf_Sym sym;

	if (nr || !mod)
		return nr;
	const char *name = dwfl_module_addrinfo(mod, address, &offset, &sym, NULL, NULL, NULL);

	if (!name)
		return 0;
	ret[0] = (struct osv_frame){.address = address, .name = demangled(e, name)};
	return 1;
}
