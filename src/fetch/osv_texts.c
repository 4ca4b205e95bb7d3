// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * What an OSv guest has as names and texts: its modules, the statistics of ZFS, its log.
 *
 * ZFS counts in structures of kstats: an array of elements of 40 bytes, each with its own name, so that no DWARF is
 * needed: char name[31], u8 type, u64 value. They are variables of libsolaris.so, in older builds of the kernel.
 *
 * The log is an array, debug_buffer. It is a text up to its first NUL until it wraps; then its end is at
 * debug_buffer_idx.
 */
#include <errno.h>
#include <inttypes.h>

#include "base/array.h"
#include "base/error.h"
#include "fetch/osv_state.h"

/* ---- modules ---- */

struct modules_walk {
	struct osv_guest g;
	struct osv_modules_layout at;
	struct osv_modules *ret;
};

static int modules_find(void *walk)
{
	struct modules_walk *w = walk;

	osv_modules_find(w->g.layout, &w->at);
	return w->at.list ? 0
			  : fail(-ENOENT, "%s has no list of modules (elf::program::s_objs)",
				 w->g.files.elf);
}

static int modules_walk(void *walk)
{
	struct modules_walk *w = walk;
	int err = osv_modules_read(&w->g, &w->at, w->ret);

	if (!err && *w->ret->error)
		err = fail(-EFAULT, "the module list cannot be read: %s", w->ret->error);
	for (unsigned int i = 0; i < w->ret->nr && !err; i++)
		if (w->ret->module[i].lost)
			err = osv_guest_lose(&w->g, "module", w->ret->module[i].object,
					     fail(-EFAULT, "elf::object"));
	return err;
}

int osv_modules(const struct osv_guest_options *opt, struct osv_modules *ret,
		struct osv_pause *ret_pause)
{
	struct modules_walk w = {.ret = ret};
	int err;

	*ret = (struct osv_modules){0};
	err = osv_guest_visit(opt, &w.g, modules_find, modules_walk, &w, ret_pause);
	osv_guest_close(&w.g);
	return err;
}

/* ---- ZFS ---- */

enum {
	KSTAT_BYTES = 40,
	KSTAT_NAME_BYTES = 31,
	KSTAT_VALUE_OFFSET = 32,
	KSTATS_BYTES_MAX = 64 << 10,
	FIGURES_MAX = 4096,
};

static const char *const kstats[] = {"arc_stats", "vdc_stats", "zfetch_stats"};

struct zfs_walk {
	struct osv_guest g;
	struct osv_modules_layout modules;
	struct osv_figure *row;
	size_t nr;
};

static int zfs_find(void *walk)
{
	struct zfs_walk *w = walk;

	osv_modules_find(w->g.layout, &w->modules);
	return 0;
}

static int figure_add(struct zfs_walk *w, const char *group, const uint8_t *kstat)
{
	struct osv_figure f = {0};
	const char *name = f.name;

	memcpy(f.name, kstat, KSTAT_NAME_BYTES);
	memcpy(&f.value, kstat + KSTAT_VALUE_OFFSET, sizeof(f.value));
	text_sanitize(f.name);
	if (!*name || w->nr == FIGURES_MAX)
		return 0;
	snprintf(f.group, sizeof(f.group), "%s", group);
	return array_add(w->row, w->nr, f);
}

/* All elements of a structure that is at this address. */
static int kstats_read(struct zfs_walk *w, const char *name, uint64_t address, uint64_t size)
{
	_cleanup_free_ uint8_t *kstat = NULL;
	int err;

	if (size > KSTATS_BYTES_MAX || size % KSTAT_BYTES)
		return osv_guest_lose(&w->g, "structure", address,
				      fail(-EBADMSG, "%s has %" PRIu64 " bytes", name, size));
	kstat = malloc(size + 1);
	if (!kstat)
		return fail(-ENOMEM, "out of memory");
	err = osv_guest_read(&w->g, address, kstat, size);
	if (err)
		return osv_guest_lose(&w->g, "structure", address, err);
	for (uint64_t at = 0; at < size && !err; at += KSTAT_BYTES)
		err = figure_add(w, name, kstat + at);
	return err;
}

/* Those that a file has. Returns how many structures it has, or -errno. */
static int file_figures(struct zfs_walk *w, const struct layout *l, uint64_t base)
{
	int found = 0, err = 0;

	for (size_t i = 0; i < sizeof(kstats) / sizeof(*kstats) && !err; i++) {
		uint64_t address, size;

		if (layout_symbol_sized(l, kstats[i], &address, &size))
			continue;
		found++;
		err = kstats_read(w, kstats[i], base + address, size);
	}
	return err ? err : found;
}

static int module_figures(struct zfs_walk *w, const struct osv_module *m)
{
	_cleanup_free_ char *file = osv_file_in_image(&w->g.files, m->path);
	_cleanup_(layout_cleanup_) struct layout *l = NULL;
	int err = file ? layout_open(file, &l)
		       : fail_hint(fail(-ENOENT, "the file of the guest's module %s is not known",
					m->path),
				   "name it with --module FILE");

	return err ? err : file_figures(w, l, m->base);
}

static int zfs_walk(void *walk)
{
	static const char name[] = "libsolaris.so";
	struct zfs_walk *w = walk;
	struct osv_modules modules = {0};
	int found = file_figures(w, w->g.layout, 0), err;

	if (found)
		return found < 0 ? found : 0;
	err = osv_modules_read(&w->g, &w->modules, &modules);
	for (unsigned int i = 0; i < modules.nr && !err && !found; i++) {
		const char *path = modules.module[i].path, *slash = strrchr(path, '/');

		if (!modules.module[i].lost && !strcmp(slash ? slash + 1 : path, name))
			found = module_figures(w, &modules.module[i]);
	}
	free(modules.module);
	if (err || found)
		return err ? err : found < 0 ? found : 0;
	return fail(-ENOENT,
		    "the guest has no ZFS: neither its kernel nor a module %s has arc_stats", name);
}

int osv_zfs(const struct osv_guest_options *opt, struct osv_rows *ret, struct osv_pause *ret_pause)
{
	struct zfs_walk w = {0};
	int err = osv_guest_visit(opt, &w.g, zfs_find, zfs_walk, &w, ret_pause);

	osv_guest_close(&w.g);
	*ret = (struct osv_rows){w.row, w.nr, sizeof(*w.row)};
	return err;
}

/* ---- log ---- */

enum { LOG_BYTES_MAX = 16 << 20 };

struct log_walk {
	struct osv_guest g;
	uint64_t buffer, size, index; /* index 0: the variable is not known */
	uint64_t index_size, end;
	char *text;
};

static int log_find(void *walk)
{
	struct log_walk *w = walk;
	const struct layout *l = w->g.layout;
	int err = layout_symbol_sized(l, "debug_buffer", &w->buffer, &w->size);

	if (layout_symbol_sized(l, "debug_buffer_idx", &w->index, &w->index_size) &&
	    layout_symbol_sized(l, "_ZL16debug_buffer_idx", &w->index, &w->index_size))
		w->index = 0;
	if (err || !w->size || w->size > LOG_BYTES_MAX)
		return fail(-ENOENT, "%s has no log in its memory (debug_buffer)", w->g.files.elf);
	return 0;
}

static int log_walk(void *walk)
{
	struct log_walk *w = walk;
	size_t bytes = w->index_size < 8 ? w->index_size : 8;

	w->text = calloc(1, w->size + 1);
	if (!w->text)
		return fail(-ENOMEM, "out of memory");
	if (w->index && osv_guest_read(&w->g, w->index, &w->end, bytes))
		w->index = 0;
	return osv_guest_read(&w->g, w->buffer, w->text, w->size);
}

/* What follows its end is the oldest. */
static enum osv_log_state log_rotate(struct log_walk *w)
{
	size_t end = w->end;
	char *head = w->index && end < w->size ? strndup(w->text, end) : NULL;

	if (!head)
		return OSV_LOG_UNORDERED;
	memmove(w->text, w->text + end, w->size - end);
	memcpy(w->text + w->size - end, head, end);
	free(head);
	return OSV_LOG_WRAPPED;
}

int osv_log(const struct osv_guest_options *opt, char **ret, enum osv_log_state *ret_state,
	    struct osv_pause *ret_pause)
{
	struct log_walk w = {0};
	int err = osv_guest_visit(opt, &w.g, log_find, log_walk, &w, ret_pause);

	*ret_state = !err && strlen(w.text) == w.size ? log_rotate(&w) : OSV_LOG_WHOLE;
	osv_guest_close(&w.g);
	*ret = w.text;
	return err;
}
