// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The loaded modules of a Linux guest: the list `modules`, each struct module's symbol, string and export tables
 * (kernel/module/kallsyms.c), by offsets of the guest's BTF; and the BTF of modules (struct btf_module), which has
 * types that the kernel's own lacks. Modules come and go while they are read: one whose tables contradict each other
 * is left out and counted.
 */
#include <ctype.h>
#include <errno.h>

#include "base/array.h"
#include "base/error.h"
#include "base/order.h"
#include "event/event.h"
#include "vm/linux/modules.h"

enum {
	SYM = 24, /* Elf64_Sym: name 4, info 1, other 1, section 2, value 8, size 8 */
	SYM_INFO = 4,
	SYM_VALUE = 8,
	MODULE_MEMORIES = 7, /* MOD_MEM_NUM_TYPES */
};

/* Offsets within struct module and what it points to; -ENOENT: there is no such member. */
struct layout {
	int list, name, kallsyms, symtab, num_symtab, strtab, typetab;
	int syms, num_syms; /* exports; /proc/kallsyms ignores those for GPL modules only */
	int value_offset, name_offset, export_bytes;
	int state, used;
	int core, core_size, init_size; /* core_layout and init_layout, */
	int mem, mem_bytes, base, size; /* from 6.4 on one struct module_memory for each kind */
};

struct export {
	uint64_t value, name; /* name: where it is */
};

/* The tables of one module. */
struct tables {
	uint8_t *sym, *type; /* type: NULL before 5.2, where st_info has it */
	char *string;
	size_t nr, string_bytes;
	struct export *export; /* by value */
	size_t nr_exports;
};

int linux_types_read(struct linux_guest *g, struct btf_types *ret)
{
	uint64_t start = linux_symbol(g, "__start_BTF"), stop = linux_symbol(g, "__stop_BTF");
	_cleanup_free_ uint8_t *data = NULL;
	int err;

	*ret = (struct btf_types){0};
	if (!start || stop <= start || stop - start > BTF_BYTES_MAX)
		return fail(-ENOENT, "the guest's kernel has no BTF (CONFIG_DEBUG_INFO_BTF)");
	data = malloc(stop - start);
	if (!data)
		return fail(-ENOMEM, "out of memory");
	linux_reads_begin(g);
	err = linux_read(g, start, data, stop - start);
	if (!err)
		err = btf_types_parse(take_ptr(data), stop - start, ret);
	return err && err != -ENOMEM ? fail(-EBADMSG, "the guest kernel's BTF is damaged") : err;
}

static int layout_find(const struct btf_types *t, struct layout *ret)
{
	*ret = (struct layout){
		.list = btf_offset(t, "module", "list"),
		.name = btf_offset(t, "module", "name"),
		.kallsyms = btf_offset(t, "module", "kallsyms"),
		.symtab = btf_offset(t, "mod_kallsyms", "symtab"),
		.num_symtab = btf_offset(t, "mod_kallsyms", "num_symtab"),
		.strtab = btf_offset(t, "mod_kallsyms", "strtab"),
		.typetab = btf_offset(t, "mod_kallsyms", "typetab"),
		.syms = btf_offset(t, "module", "syms"),
		.num_syms = btf_offset(t, "module", "num_syms"),
		.value_offset = btf_offset(t, "kernel_symbol", "value_offset"),
		.name_offset = btf_offset(t, "kernel_symbol", "name_offset"),
		.export_bytes = btf_size(t, "kernel_symbol"),
		.state = btf_offset(t, "module", "state"),
		.used = btf_offset(t, "module", "refcnt"),
		.core = btf_offset(t, "module", "core_layout.base"),
		.core_size = btf_offset(t, "module", "core_layout.size"),
		.init_size = btf_offset(t, "module", "init_layout.size"),
		.mem = btf_offset(t, "module", "mem"),
		.mem_bytes = btf_size(t, "module_memory"),
		.base = btf_offset(t, "module_memory", "base"),
		.size = btf_offset(t, "module_memory", "size"),
	};
	if (ret->list < 0 || ret->name < 0 || ret->kallsyms < 0 || ret->symtab < 0 ||
	    ret->num_symtab < 0 || ret->strtab < 0)
		return fail(-ENOENT, "the guest kernel's BTF has no usable struct module");
	return 0;
}

/* ---- the tables of a module ---- */

/* *ret is allocated, with nr elements. */
static int block_read(struct linux_guest *g, uint64_t address, size_t bytes, uint8_t **ret)
{
	*ret = malloc(bytes + 1);
	if (!*ret)
		return fail(-ENOMEM, "out of memory");
	return linux_read(g, address, *ret, bytes);
}

/* Up to where the symbols refer to, or the last page that is mapped. */
static int strings_read(struct linux_guest *g, uint64_t address, struct tables *t)
{
	size_t bytes = 0;

	for (size_t i = 0; i < t->nr; i++) {
		size_t end = memory_le(t->sym + i * SYM, 4) + KALLSYM_NAME_MAX;

		bytes = end > bytes ? end : bytes;
	}
	bytes = bytes < MODULE_STRINGS_MAX ? bytes : MODULE_STRINGS_MAX;
	t->string = calloc(1, bytes + 1);
	if (!t->string)
		return fail(-ENOMEM, "out of memory");
	while (t->string_bytes < bytes) {
		size_t part = GUEST_PAGE - (address + t->string_bytes) % GUEST_PAGE;

		part = part < bytes - t->string_bytes ? part : bytes - t->string_bytes;
		if (linux_read(g, address + t->string_bytes, t->string + t->string_bytes, part))
			break;
		t->string_bytes += part;
	}
	return t->string_bytes ? 0 : -EFAULT;
}

ORDER_BY(by_value, struct export, value, name)

/* struct kernel_symbol has offsets from their own places: of the value and of the name. */
static void exports_parse(const struct layout *l, uint64_t address, const uint8_t *data,
			  struct tables *t)
{
	for (size_t i = 0; i < t->nr_exports; i++) {
		size_t at = i * (size_t)l->export_bytes;
		size_t value = at + (size_t)l->value_offset, name = at + (size_t)l->name_offset;
		int32_t to_value, to_name;

		memcpy(&to_value, data + value, 4);
		memcpy(&to_name, data + name, 4);
		t->export[i] =
			(struct export){.value = address + value + (uint64_t)(int64_t)to_value,
					.name = address + name + (uint64_t)(int64_t)to_name};
	}
	qsort(t->export, t->nr_exports, sizeof(*t->export), by_value);
}

/* A module whose exports cannot be read has none. */
static int exports_read(struct linux_guest *g, const struct layout *l, uint64_t module,
			struct tables *t)
{
	_cleanup_free_ uint8_t *data = NULL;
	uint64_t address;
	uint32_t nr;
	int err;

	if (l->syms < 0 || l->num_syms < 0 || l->value_offset < 0 || l->name_offset < 0 ||
	    l->export_bytes < 8 || l->export_bytes > MODULE_EXPORT_BYTES_MAX ||
	    l->value_offset > l->export_bytes - 4 || l->name_offset > l->export_bytes - 4 ||
	    linux_read_u64(g, module + (uint64_t)l->syms, &address) ||
	    linux_read_u32(g, module + (uint64_t)l->num_syms, &nr) || nr > MODULE_EXPORTS_MAX)
		return 0;
	err = block_read(g, address, (size_t)nr * (size_t)l->export_bytes, &data);
	if (err)
		return err == -ENOMEM ? err : 0;
	t->export = calloc((size_t)nr + 1, sizeof(*t->export));
	if (!t->export)
		return fail(-ENOMEM, "out of memory");
	t->nr_exports = nr;
	exports_parse(l, address, data, t);
	return 0;
}

static int tables_read(struct linux_guest *g, const struct layout *l, uint64_t module,
		       struct tables *t)
{
	uint64_t kallsyms, symtab, strtab, typetab;
	uint32_t nr;
	int err;

	*t = (struct tables){0};
	if (linux_read_u64(g, module + (uint64_t)l->kallsyms, &kallsyms) ||
	    linux_read_u64(g, kallsyms + (uint64_t)l->symtab, &symtab) ||
	    linux_read_u64(g, kallsyms + (uint64_t)l->strtab, &strtab) ||
	    linux_read_u32(g, kallsyms + (uint64_t)l->num_symtab, &nr) || nr > MODULE_SYMBOLS_MAX)
		return -EFAULT;
	t->nr = nr;
	err = block_read(g, symtab, t->nr * SYM, &t->sym);
	if (!err && l->typetab >= 0) {
		err = linux_read_u64(g, kallsyms + (uint64_t)l->typetab, &typetab);
		err = err ? err : block_read(g, typetab, t->nr, &t->type);
	}
	if (!err)
		err = strings_read(g, strtab, t);
	return err ? err : exports_read(g, l, module, t);
}

static void tables_deinit(struct tables *t)
{
	free(t->sym);
	free(t->type);
	free(t->string);
	free(t->export);
}

/* ---- symbols ---- */

/* Aliases have one value and several names. */
static bool is_exported(struct linux_guest *g, const struct tables *t, uint64_t value,
			const char *name)
{
	size_t first = array_prefix(t->nr_exports, i, t->export[i].value < value);
	char text[KALLSYM_NAME_MAX];

	for (size_t i = first; i < t->nr_exports && i - first < MODULE_ALIASES_MAX; i++) {
		if (t->export[i].value != value)
			return false;
		if (!linux_read_text(g, t->export[i].name, text, sizeof(text)) &&
		    !strcmp(text, name))
			return true;
	}
	return false;
}

static int symbols_add(struct linux_guest *g, const struct tables *t, const char *module)
{
	int err = 0;

	for (size_t i = 0; i < t->nr && !err; i++) {
		const uint8_t *sym = t->sym + i * SYM;
		uint64_t value = memory_le(sym + SYM_VALUE, 8);
		size_t name = memory_le(sym, 4);
		int type = t->type ? t->type[i] : sym[SYM_INFO];
		const char *text;

		if (name >= t->string_bytes || !t->string[name])
			continue;
		text = t->string + name;
		type = isalpha(type) ? type : '?';
		type = is_exported(g, t, value, text) ? toupper(type) : tolower(type);
		err = kallsyms_add(&g->symbols, value, (char)type, text,
				   strnlen(text, t->string_bytes - name), module);
	}
	return err;
}

/* A module that cannot be read was just unloaded, or is not complete: it is left out and counted. */
static int module_add(struct linux_guest *g, const struct layout *l, uint64_t module)
{
	char name[MODULE_NAME_MAX];
	struct tables t;
	int err = tables_read(g, l, module, &t);

	if (!err)
		err = linux_read_text(g, module + (uint64_t)l->name, name, sizeof(name));
	if (err == -EFAULT) {
		g->torn++;
		err = 0;
	} else if (!err) {
		text_sanitize(name);
		err = symbols_add(g, &t, name);
	}
	tables_deinit(&t);
	return err;
}

/* ---- the list ---- */

/* The addresses of all modules. */
static int modules_list(struct linux_guest *g, int list, uint64_t **ret, size_t *ret_nr)
{
	uint64_t head = linux_symbol(g, "modules");
	int err = head ? linux_list_read(g, head, LINUX_MODULES_MAX, ret, ret_nr) : 0;

	for (size_t i = 0; i < *ret_nr; i++)
		(*ret)[i] -= (uint64_t)list;
	return err;
}

static int list_incomplete(void)
{
	return fail(-EAGAIN, "the guest's list of modules kept changing, or is damaged");
}

int linux_modules_symbols(struct linux_guest *g, const struct btf_types *types)
{
	_cleanup_free_ uint64_t *module = NULL;
	size_t nr = 0;
	struct layout l;
	int err = layout_find(types, &l), listed;

	if (err)
		return err;
	linux_reads_begin(g);
	listed = modules_list(g, l.list, &module, &nr);
	err = listed == -EAGAIN ? 0 : listed;
	for (size_t i = 0; i < nr && !err; i++)
		err = module_add(g, &l, module[i]);
	return linux_reads_end(g, !err && listed ? list_incomplete() : err);
}

/* Code and data. */
static void memory_read_of(struct linux_guest *g, const struct layout *l, uint64_t module,
			   struct linux_module *ret)
{
	uint64_t mem = module + (uint64_t)l->mem;
	uint32_t bytes;

	if (l->mem >= 0 && l->mem_bytes > 0 && l->base >= 0 && l->size >= 0) {
		linux_read_u64(g, mem + (uint64_t)l->base, &ret->address);
		for (uint64_t i = 0; i < MODULE_MEMORIES; i++)
			if (!linux_read_u32(g, mem + i * (uint64_t)l->mem_bytes + (uint64_t)l->size,
					    &bytes))
				ret->bytes += bytes;
	} else if (l->core >= 0 && l->core_size >= 0) {
		linux_read_u64(g, module + (uint64_t)l->core, &ret->address);
		if (!linux_read_u32(g, module + (uint64_t)l->core_size, &bytes))
			ret->bytes = bytes;
		if (l->init_size >= 0 &&
		    !linux_read_u32(g, module + (uint64_t)l->init_size, &bytes))
			ret->bytes += bytes;
	}
}

/* False: it is not there yet, or cannot be read. */
static bool module_read(struct linux_guest *g, const struct layout *l, uint64_t module,
			struct linux_module *ret)
{
	static const char *const states[] = {"Live", "Loading", "Unloading"};
	uint32_t number = 0;

	*ret = (struct linux_module){.state = "-"};
	if (linux_read_text(g, module + (uint64_t)l->name, ret->name, sizeof(ret->name)))
		return false;
	text_sanitize(ret->name);
	if (l->state >= 0 && !linux_read_u32(g, module + (uint64_t)l->state, &number)) {
		if (number >= sizeof(states) / sizeof(*states)) /* MODULE_STATE_UNFORMED */
			return false;
		ret->state = states[number];
	}
	if (l->used >= 0 && !linux_read_u32(g, module + (uint64_t)l->used, &number) && number)
		ret->used = (int)(number - 1); /* one is its own: MODULE_REF_BASE */
	memory_read_of(g, l, module, ret);
	return true;
}

int linux_modules_read(struct linux_guest *g, const struct btf_types *types,
		       struct linux_module **ret, size_t *ret_nr)
{
	_cleanup_free_ uint64_t *module = NULL;
	size_t nr = 0;
	struct layout l;
	int err = layout_find(types, &l), listed;

	if (err)
		return err;
	linux_reads_begin(g);
	listed = modules_list(g, l.list, &module, &nr);
	if (listed == -ENOMEM)
		return listed;
	*ret = calloc(nr + 1, sizeof(**ret));
	if (!*ret)
		return fail(-ENOMEM, "out of memory");
	for (size_t i = 0; i < nr; i++)
		*ret_nr += module_read(g, &l, module[i], &(*ret)[*ret_nr]);
	return linux_reads_end(g, listed ? list_incomplete() : 0);
}

int linux_modules_add(struct linux_guest *g)
{
	struct btf_types types;
	int err = linux_types_read(g, &types);

	if (!err)
		err = linux_modules_symbols(g, &types);
	btf_types_deinit(&types);
	return err;
}

/*
 * The BTF of a module. struct module has no pointer to it once the module is loaded; the kernel keeps a copy, in a list
 * of struct btf_module (kernel/bpf/btf.c).
 */

struct types_layout {
	int list, module, btf, name, data, data_size;
};

static bool types_layout_find(const struct btf_types *t, struct types_layout *ret)
{
	*ret = (struct types_layout){
		.list = btf_offset(t, "btf_module", "list"),
		.module = btf_offset(t, "btf_module", "module"),
		.btf = btf_offset(t, "btf_module", "btf"),
		.name = btf_offset(t, "module", "name"),
		.data = btf_offset(t, "btf", "data"),
		.data_size = btf_offset(t, "btf", "data_size"),
	};
	return ret->list >= 0 && ret->module >= 0 && ret->btf >= 0 && ret->name >= 0 &&
	       ret->data >= 0 && ret->data_size >= 0;
}

static bool is_of(struct linux_guest *g, const struct types_layout *l, uint64_t entry,
		  const char *name)
{
	uint64_t module;
	char text[MODULE_NAME_MAX];

	return !linux_read_u64(g, entry + (uint64_t)l->module, &module) &&
	       !linux_read_text(g, module + (uint64_t)l->name, text, sizeof(text)) &&
	       !strcmp(text, name);
}

static int types_read(struct linux_guest *g, const struct types_layout *l, uint64_t entry,
		      struct btf_types *ret)
{
	uint64_t btf, data;
	_cleanup_free_ uint8_t *copy = NULL;
	uint32_t size;

	if (linux_read_u64(g, entry + (uint64_t)l->btf, &btf) ||
	    linux_read_u64(g, btf + (uint64_t)l->data, &data) ||
	    linux_read_u32(g, btf + (uint64_t)l->data_size, &size) || size > BTF_BYTES_MAX)
		return -EFAULT;
	copy = malloc((size_t)size + 1);
	if (!copy)
		return fail(-ENOMEM, "out of memory");
	if (linux_read(g, data, copy, size))
		return -EFAULT;
	return btf_types_parse(take_ptr(copy), size, ret);
}

int linux_module_types_read(struct linux_guest *g, const struct btf_types *kernel,
			    const char *module, struct btf_types *ret)
{
	uint64_t head = linux_symbol(g, "btf_modules");
	_cleanup_free_ uint64_t *entry = NULL;
	struct types_layout l;
	size_t nr = 0, i = 0;
	int err = -ENOENT;

	*ret = (struct btf_types){0};
	if (head && types_layout_find(kernel, &l))
		err = linux_list_read(g, head, LINUX_MODULES_MAX, &entry, &nr);
	if (err == -ENOMEM)
		return err;
	while (i < nr && !is_of(g, &l, entry[i] - (uint64_t)l.list, module))
		i++;
	if (i == nr)
		return fail(-ENOENT,
			    "the guest's kernel has no BTF of the module %s (not loaded, or no "
			    "CONFIG_DEBUG_INFO_BTF_MODULES)",
			    module);
	err = types_read(g, &l, entry[i] - (uint64_t)l.list, ret);
	ret->base = kernel;
	if (err && err != -ENOMEM)
		return fail(-EBADMSG, "the BTF of the guest's module %s is damaged", module);
	return err;
}
