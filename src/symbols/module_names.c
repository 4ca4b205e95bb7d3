// SPDX-License-Identifier: GPL-2.0-or-later
/* The files that --module names, each opened where the guest has loaded it (module_names.h). */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "symbols/module_names.h"

struct module_names {
	struct {
		uint64_t base, end; /* end: where the next one that is known begins */
		struct elf_names *names;
	} module[OPTION_LIST_MAX];
	unsigned int nr;
};

static const char *base_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

/* "@0x100000000000" at the end, or NULL. */
static const char *base_find(const char *given)
{
	const char *at = strrchr(given, '@');
	char *end;

	if (!at || strncmp(at, "@0x", 3))
		return NULL;
	strtoull(at + 1, &end, 16);
	return *end || !at[3] ? NULL : at;
}

const char *module_file(const char *given, char *buf, size_t size)
{
	const char *file = strrchr(given, '='), *at = base_find(given);

	file = file ? file + 1 : given;
	snprintf(buf, size, "%.*s", at ? (int)(at - file) : (int)strlen(file), file);
	return buf;
}

/* Where the guest has it. */
static int base_of_module(const struct sample_trace *t, const char *given, const char *file,
			  uint64_t *ret)
{
	const char *equals = strrchr(given, '='), *at = base_find(given);
	size_t len = equals ? (size_t)(equals - given) : 0;

	if (at) {
		*ret = strtoull(at + 1, NULL, 16);
		return 0;
	}
	for (unsigned int i = 0; i < t->nr_modules; i++) {
		const char *path = t->module[i].path;
		bool is = equals ? strlen(path) == len && !memcmp(path, given, len)
				 : !strcmp(base_name(path), base_name(file));

		if (!is)
			continue;
		*ret = t->module[i].base;
		return 0;
	}
	fail(-ENOENT, "--module %s: %s", given,
	     t->nr_modules ? "the trace has no such module"
			   : "the trace does not say where its modules are");
	return fail_hint(-ENOENT, "give the address at which it was loaded: FILE@0xADDRESS");
}

static void end_cut(uint64_t *end, uint64_t base, uint64_t next)
{
	*end = next > base && next < *end ? next : *end;
}

static void ends_find(struct module_names *m, const struct sample_trace *t)
{
	for (unsigned int i = 0; i < m->nr; i++) {
		m->module[i].end = UINT64_MAX;
		for (unsigned int k = 0; k < t->nr_modules; k++)
			end_cut(&m->module[i].end, m->module[i].base, t->module[k].base);
		for (unsigned int k = 0; k < m->nr; k++)
			end_cut(&m->module[i].end, m->module[i].base, m->module[k].base);
	}
}

int module_names_open(const struct sample_trace *t, const struct text_list *given,
		      struct module_names **ret)
{
	struct module_names *m = calloc(1, sizeof(*m));
	int err = m ? 0 : fail(-ENOMEM, "out of memory");
	char file[4096];

	for (unsigned int i = 0; i < given->nr && !err; i++) {
		module_file(given->item[i], file, sizeof(file));
		err = base_of_module(t, given->item[i], file, &m->module[i].base);
		if (!err)
			err = elf_names_open_at(file, m->module[i].base, &m->module[i].names);
		m->nr += !err;
	}
	if (err) {
		module_names_close(m);
		return err;
	}
	ends_find(m, t);
	*ret = m;
	return 0;
}

void module_names_close(struct module_names *m)
{
	for (unsigned int i = 0; m && i < m->nr; i++)
		elf_names_close(m->module[i].names);
	free(m);
}

unsigned int module_names_resolve(struct module_names *m, uint64_t address, bool inlines,
				  struct frame ret[FRAME_INLINES_MAX])
{
	unsigned int nr = 0;

	for (unsigned int i = 0; i < m->nr && !nr; i++)
		if (address >= m->module[i].base && address < m->module[i].end)
			nr = elf_names_resolve(m->module[i].names, address, inlines, ret);
	return nr;
}

struct elf_names *module_names_elf(struct module_names *m, uint64_t address)
{
	for (unsigned int i = 0; i < m->nr; i++)
		if (address >= m->module[i].base && address < m->module[i].end)
			return m->module[i].names;
	return NULL;
}
