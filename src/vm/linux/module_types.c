// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The BTF of a module. struct module has no pointer to it once the module is loaded; the kernel keeps a copy, in a list
 * of struct btf_module (kernel/bpf/btf.c).
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "vm/linux/modules.h"

struct layout {
	int list, module, btf, name, data, data_size;
};

static bool layout_find(const struct btf_types *t, struct layout *ret)
{
	*ret = (struct layout){
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

static bool is_of(struct linux_guest *g, const struct layout *l, uint64_t entry, const char *name)
{
	uint64_t module;
	char text[MODULE_NAME_MAX];

	return !linux_read_u64(g, entry + (uint64_t)l->module, &module) &&
	       !linux_read_text(g, module + (uint64_t)l->name, text, sizeof(text)) &&
	       !strcmp(text, name);
}

static int types_read(struct linux_guest *g, const struct layout *l, uint64_t entry,
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
	struct layout l;
	size_t nr = 0, i = 0;
	int err = -ENOENT;

	*ret = (struct btf_types){0};
	if (head && layout_find(kernel, &l))
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
