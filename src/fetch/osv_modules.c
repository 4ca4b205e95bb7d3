// SPDX-License-Identifier: GPL-2.0-or-later
#include <errno.h>
#include <stdlib.h>

#include "base/error.h"
#include "fetch/osv_guest.h"

void osv_modules_find(struct layout *l, struct osv_modules_layout *ret)
{
	const struct layout_member members[] = {
		{"elf::object", "_base", &ret->base, NULL},
		{"elf::object", "_pathname", &ret->path, NULL},
	};

	if (layout_symbol(l, "_ZN3elf7program6s_objsE", &ret->list) ||
	    layout_members(l, members, sizeof(members) / sizeof(*members)))
		ret->list = 0;
}

/* A std::string begins with the pointer to its text. */
static int module_read(struct osv_guest *g, const struct osv_modules_layout *at, uint64_t object,
		       struct osv_module *m)
{
	uint64_t path;
	int err = osv_guest_u64(g, object + at->base, &m->base);

	m->object = object;
	if (!err)
		err = osv_guest_u64(g, object + at->path, &path);
	if (!err)
		err = osv_guest_text(g, path, m->path, sizeof(m->path));
	return err;
}

static int by_base(const void *a, const void *b)
{
	const struct osv_module *x = a, *y = b;

	if (x->base != y->base)
		return x->base < y->base ? -1 : 1;
	return x->object < y->object ? -1 : x->object > y->object;
}

int osv_modules_read(struct osv_guest *g, const struct osv_modules_layout *at,
		     struct osv_modules *ret)
{
	uint64_t *object = NULL;
	unsigned int nr = 0;

	*ret = (struct osv_modules){0};
	if (!at->list)
		return 0;
	if (osv_guest_vector(g, at->list, OSV_MODULES_MAX, &object, &nr))
		snprintf(ret->error, sizeof(ret->error), "%s", error_text());
	ret->module = calloc(nr + 1u, sizeof(*ret->module));
	if (!ret->module) {
		free(object);
		return fail(-ENOMEM, "out of memory");
	}
	for (unsigned int i = 0; i < nr; i++) {
		ret->module[i].lost = module_read(g, at, object[i], &ret->module[i]) != 0;
		ret->nr_lost += ret->module[i].lost;
	}
	ret->nr = nr;
	free(object);
	if (nr)
		qsort(ret->module, nr, sizeof(*ret->module), by_base);
	return 0;
}
