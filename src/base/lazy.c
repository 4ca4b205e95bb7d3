// SPDX-License-Identifier: GPL-2.0-or-later
#include <dlfcn.h>
#include <errno.h>

#include "base/error.h"
#include "base/lazy.h"

static int symbols_find(void *handle, const struct lazy_library *lib)
{
	for (size_t i = 0; i < lib->nr_symbols; i++) {
		void *found = dlsym(handle, lib->symbols[i].name);

		if (!found)
			return fail(-ENOENT, "%s has no %s()", lib->soname, lib->symbols[i].name);
		*(void **)lib->symbols[i].real = found;
	}
	return 0;
}

int lazy_load(struct lazy_library *lib)
{
	void *handle;
	int err;

	if (lib->loaded)
		return 0;
	handle = dlopen(lib->soname, RTLD_NOW | RTLD_LOCAL);
	if (!handle)
		return fail(-ENOENT, "cannot load a library: %s", dlerror());
	err = symbols_find(handle, lib);
	if (err) {
		dlclose(handle);
		return err;
	}
	lib->loaded = true;
	return 0;
}
