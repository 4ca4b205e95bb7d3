// SPDX-License-Identifier: GPL-2.0-or-later
/* Names for addresses in an OSv guest: of the kernel's ELF file, and of the files of its modules.
 */
#include <errno.h>
#include <stdlib.h>

#include "base/error.h"
#include "fetch/osv_names.h"

struct osv_names {
	struct elf_names *kernel;
	const struct osv_modules *modules;
	struct elf_names **module; /* NULL: its file was not found */
};

static struct elf_names *module_open(const struct osv_module *m, const char *elf)
{
	_cleanup_free_ char *found = m->lost ? NULL : osv_file_find(elf, m->path);
	struct elf_names *names = NULL;

	if (found && elf_names_open_at(found, m->base, &names))
		names = NULL;
	return names;
}

int osv_names_open(const char *elf, const struct osv_modules *modules, struct osv_names **ret)
{
	struct osv_names *n = calloc(1, sizeof(*n));
	int err = n ? elf_names_open(elf, &n->kernel) : fail(-ENOMEM, "out of memory");

	if (!err && !(n->module = calloc(modules->nr + 1u, sizeof(*n->module))))
		err = fail(-ENOMEM, "out of memory");
	if (err) {
		osv_names_close(n);
		return err;
	}
	n->modules = modules;
	for (unsigned int i = 0; i < modules->nr; i++)
		n->module[i] = module_open(&modules->module[i], elf);
	*ret = n;
	return 0;
}

void osv_names_close(struct osv_names *n)
{
	if (!n)
		return;
	for (unsigned int i = 0; n->module && i < n->modules->nr; i++)
		elf_names_close(n->module[i]);
	free(n->module);
	elf_names_close(n->kernel);
	free(n);
}

static bool find(struct elf_names *e, uint64_t address, enum osv_name what, struct frame *ret)
{
	struct frame frame[FRAME_INLINES_MAX];
	unsigned int nr = elf_names_resolve(e, address, what == OSV_NAME_FRAME, frame);
	const char *symbol = what == OSV_NAME_INNERMOST ? NULL : elf_names_symbol(e, address);

	if (!nr)
		return false;
	*ret = frame[nr - 1];
	ret->name = symbol ? symbol : ret->name;
	if (ret->file)
		ret->file = elf_names_short_path(e, ret->file);
	return ret->name;
}

bool osv_names_find(struct osv_names *n, uint64_t address, enum osv_name what, struct frame *ret)
{
	if (find(n->kernel, address, what, ret))
		return true;
	for (unsigned int i = n->modules->nr; i--;)
		if (n->modules->module[i].base <= address)
			return n->module[i] && find(n->module[i], address, what, ret);
	return false;
}
