// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * An OSv guest opened, stopped and read: through the gdb stub, or as osv_live.c has it; its modules, and the files of
 * the host that these were made from.
 */
#include <errno.h>
#include <fcntl.h>
#include <fts.h>
#include <inttypes.h>
#include <sys/stat.h>

#include "base/error.h"
#include "base/order.h"
#include "base/user_rights.h"
#include "fetch/osv_guest.h"
#include "fetch/osv_live.h"
#include "vm/qmp.h"

/*
 * The host's file of a path in an OSv guest, as `osv syms` finds it: by the manifests that its
 * image was made from, usr.manifest and bootfs.manifest in the folder of the kernel's ELF file,
 * else by its base name in and below that folder. Lines of a manifest (scripts/manifest_common.py
 * of OSv); the last one that matches is used:
 *
 *   /guest/path: file             relative to the folder
 *   /guest/path: ->/other/path    a symbolic link in the guest
 *   /&/some/path: folder/&        folder/some/path
 *   /guest/folder/...: folder/... each with two asterisks in place of the dots: all files below
 *
 * The path is the guest's, so one that leads out of such a folder is not followed.
 */

enum { FILES_MAX = 200000, LINKS_MAX = 8 };

static bool is_file(const char *path)
{
	struct stat st;

	return !stat(path, &st) && S_ISREG(st.st_mode);
}

static char *trimmed(char *text)
{
	size_t len;

	text += strspn(text, " \t");
	for (len = strlen(text); len && strchr(" \t\n\r", text[len - 1]);)
		len--;
	text[len] = '\0';
	return text;
}

static bool ends_with(const char *text, const char *end)
{
	size_t len = strlen(text), n = strlen(end);

	return len >= n && !strcmp(text + len - n, end);
}

static char *joined(const char *a, size_t len_a, const char *b)
{
	char *ret;

	return asprintf(&ret, "%.*s%s", (int)len_a, a, b) < 0 ? NULL : ret;
}

/* A file of the host, which may be relative to the folder. */
static char *in_folder(const char *folder, const char *file)
{
	return file[0] == '/' ? strdup(file) : joined(folder, strlen(folder), file);
}

/* ---- manifests ---- */

/* What the line has for this path, to be freed, or NULL. Changes the line. */
static char *line_match(char *line, const char *folder, const char *path)
{
	char *guest = trimmed(line), *sep = strstr(guest, ": ");
	_cleanup_free_ char *file = NULL, *all = NULL;

	if (*guest == '#' || !sep)
		return NULL;
	*sep = '\0';
	guest = trimmed(guest);

	char *host = trimmed(sep + 2), *ampersand = strstr(guest, "/&/");
	size_t len = strlen(guest), host_len = strlen(host);

	host += *host == '!';
	host_len = strlen(host);
	if (ends_with(guest, "/**") && ends_with(host, "/**")) {
		if (strncmp(path, guest, len - 2) || strstr(path, "/../"))
			return NULL;
		file = joined(host, host_len - 2, path + len - 2);
		all = file ? in_folder(folder, file) : NULL;
		return all && is_file(all) ? take_ptr(file) : NULL;
	}
	if (ampersand && ends_with(host, "/&")) {
		all = joined(guest, (size_t)(ampersand - guest) + 1, ampersand + 3);
		return all && !strcmp(all, path) ? joined(host, host_len - 1, ampersand + 3) : NULL;
	}
	return strcmp(guest, path) ? NULL : strdup(host);
}

/* *ret: the last match, which replaces an earlier one. */
static void manifest_search(const char *folder, const char *name, const char *path, char **ret)
{
	_cleanup_free_ char *file = in_folder(folder, name), *line = NULL;
	int fd = file && is_file(file) ? open_as_user(file, O_RDONLY | O_CLOEXEC) : -1;
	FILE *in = fd < 0 ? NULL : fdopen(fd, "r");
	size_t size = 0;

	while (in && getline(&line, &size, in) > 0) {
		char *match = line_match(line, folder, path);

		if (!match)
			continue;
		free(*ret);
		*ret = match;
	}
	if (in)
		fclose(in);
}

static char *manifests_find(const char *folder, const char *path, int links)
{
	_cleanup_free_ char *match = NULL;

	manifest_search(folder, "usr.manifest", path, &match);
	manifest_search(folder, "bootfs.manifest", path, &match);
	if (!match || strncmp(match, "->", 2))
		return match ? in_folder(folder, match) : NULL;
	return links < LINKS_MAX ? manifests_find(folder, trimmed(match + 2), links + 1) : NULL;
}

/* ---- by name ---- */

/* The path of the first regular file of this name in and below a folder; links are not followed. */
static char *tree_find(char *folder, const char *name)
{
	char *const folders[] = {folder, NULL};
	FTS *tree = fts_open(folders, FTS_PHYSICAL | FTS_NOCHDIR, NULL);
	char *found = NULL;
	const FTSENT *at;

	for (unsigned int nr = 0; tree && !found && nr < FILES_MAX && (at = fts_read(tree)); nr++)
		if (at->fts_info == FTS_F && !strcmp(at->fts_name, name))
			found = strdup(at->fts_path);
	if (tree)
		fts_close(tree);
	return found;
}

static char *folder_of(const char *elf)
{
	const char *slash = strrchr(elf, '/');

	return slash ? joined(elf, (size_t)(slash - elf) + 1, "") : strdup("./");
}

static const char *base_of(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

/* The one that --module names for this path, or NULL; the last one counts. */
static const char *module_given(const struct osv_files *f, const char *path)
{
	size_t len = strlen(path);

	for (unsigned int i = f->modules ? f->modules->nr : 0; i--;) {
		const char *text = f->modules->item[i];

		if (!strncmp(text, path, len) && text[len] == '=')
			return text + len + 1;
		if (!strchr(text, '=') && !strcmp(base_of(text), base_of(path)))
			return text;
	}
	return NULL;
}

struct osv_files osv_files_of(const struct osv_guest_options *opt)
{
	return (struct osv_files){.elf = opt->elf     ? opt->elf
					 : opt->debug ? "build/debug/loader.elf"
						      : "build/release/loader.elf",
				  .modules = opt->modules};
}

char *osv_file_in_image(const struct osv_files *f, const char *path)
{
	const char *given = module_given(f, path);
	_cleanup_free_ char *folder = folder_of(f->elf);
	_cleanup_free_ char *found = given    ? strdup(given)
				     : folder ? manifests_find(folder, path, 0)
					      : NULL;

	return found && is_file(found) ? take_ptr(found) : NULL;
}

char *osv_file_find(const struct osv_files *f, const char *path)
{
	const char *base = base_of(path);
	char *found = osv_file_in_image(f, path);
	_cleanup_free_ char *folder = found ? NULL : folder_of(f->elf);

	return !found && folder && *base ? tree_find(folder, base) : found;
}

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

ORDER_BY(by_base, struct osv_module, base, object)

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

enum { TEXT_PIECE = 64, MEMBERS_PIECE = 512 };

int osv_guest_open(const struct osv_guest_options *opt, struct osv_guest *ret)
{
	*ret = (struct osv_guest){0};
	ret->files = osv_files_of(opt);
	return layout_open(ret->files.elf, &ret->layout);
}

/* Constants of the ELF file must be where the guest has them: by a wrong file any report would be of random memory. */
static int kernel_check(struct osv_guest *g)
{
	uint8_t wanted[LAYOUT_SAMPLE_BYTES], there[LAYOUT_SAMPLE_BYTES];
	uint64_t address;
	int err = layout_constants(g->layout, &address, wanted, sizeof(wanted));

	if (err)
		return 0;
	err = gdb_read(g->gdb, address, there, sizeof(there));
	if (err ? err != -EFAULT : !memcmp(there, wanted, sizeof(there)))
		return err;
	fail(-ENOENT,
	     "%s is probably not the kernel that this guest runs, or the guest has not started "
	     "yet: its constants are not at 0x%" PRIx64,
	     g->files.elf, address);
	return fail_hint(-ENOENT, "give the ELF file of the guest's own build with --exe");
}

/* The stub does not answer, so it has told nothing of the VM's state: the monitor does. */
static int state_append(const struct osv_guest_options *opt, int err)
{
	_cleanup_free_ char *text = strdup(error_text());
	bool runs;

	if (!text || qmp_running(opt->qmp, opt->timeout_ns, &runs))
		return fail(err, "%s", text ? text : "out of memory");
	return fail(err, "%s; by QEMU's monitor the VM %s", text, runs ? "runs" : "is paused");
}

int osv_guest_stop(const struct osv_guest_options *opt, struct osv_guest *g)
{
	enum gdb_before before = GDB_BEFORE_UNKNOWN;
	struct qmp_before monitor;
	int err = 0;

	if (opt->vm.pid || opt->dump)
		return osv_live_open(opt, g->layout, &g->live);
	if (opt->qmp) {
		err = qmp_before_debugger(opt->qmp, opt->timeout_ns, &monitor);
		before = monitor.runs	  ? GDB_RAN_BEFORE
			 : monitor.no_debugger ? GDB_PAUSED_BY_USER
						  : GDB_PAUSED_BEFORE;
	}
	if (err)
		return err;
	err = gdb_open(opt->remote ? opt->remote : GDB_DEFAULT, opt->timeout_ns, before, &g->gdb);
	if (err == -ETIMEDOUT && opt->qmp)
		err = state_append(opt, err);
	return err ? err : kernel_check(g);
}

static void guest_close(struct osv_guest *g)
{
	gdb_close(g->gdb);
	g->gdb = NULL;
	osv_live_close(&g->live);
}

/* Of a VM that ran before. What the monitor reports counts, not what the stub has confirmed. */
static int running_check(const struct osv_guest_options *opt, int err)
{
	bool runs = false;

	if (!opt->qmp || qmp_running(opt->qmp, opt->timeout_ns, &runs))
		return err;
	if (runs || !qmp_continue(opt->qmp, opt->timeout_ns))
		return 0;
	return fail(-EIO, "the VM is still paused: its gdb stub did not continue it, and %s",
		    error_text());
}

/* ret: as if the stub was not used. */
static int guest_detach(const struct osv_guest_options *opt, struct gdb *g, struct osv_pause *ret)
{
	int err = gdb_detach(g);

	ret->before = gdb_before(g);
	if (ret->before == GDB_PAUSED_BEFORE)
		return err;
	ret->stopped = gdb_stopped(g);
	return running_check(opt, err);
}

int osv_pause_fail(const struct osv_pause *p, int err)
{
	return p->live || p->before != GDB_BEFORE_UNKNOWN ? err : gdb_fail_resumed(err);
}

int osv_guest_resume(const struct osv_guest_options *opt, struct osv_guest *g, int err,
		     struct osv_pause *ret)
{
	_cleanup_free_ char *text = err ? strdup(error_text()) : NULL;
	bool stopped = g->gdb;
	int detach_err;

	*ret = (struct osv_pause){
		.live = opt->vm.pid || opt->dump, .dump = opt->dump,
		.cut_bytes = g->live.dump.cut_bytes, .lost = g->lost};
	detach_err = g->gdb ? guest_detach(opt, g->gdb, ret) : 0;
	guest_close(g);
	if (!err)
		return detach_err;
	fail(err, "%s%s%s", text ? text : "out of memory", detach_err ? "; " : "",
	     detach_err ? error_text() : "");
	return stopped && !detach_err ? osv_pause_fail(ret, err) : err;
}

void osv_guest_close(struct osv_guest *g)
{
	guest_close(g);
	layout_close(g->layout);
	g->layout = NULL;
}

int osv_guest_visit(const struct osv_guest_options *opt, struct osv_guest *g,
		    int (*find)(void *walk), int (*read)(void *walk), void *walk,
		    struct osv_pause *ret_pause)
{
	int err = osv_guest_open(opt, g);

	if (!err)
		err = find(walk);
	if (!err)
		err = osv_guest_stop(opt, g);
	if (!err)
		err = read(walk);
	return osv_guest_resume(opt, g, err, ret_pause);
}

int osv_guest_lose(struct osv_guest *g, const char *what, uint64_t address, int err)
{
	struct osv_lost *l = &g->lost;
	unsigned int i = 0;

	if (err != -EFAULT && err != -EBADMSG)
		return err;
	while (i < l->nr && strcmp(l->kind[i].what, what) != 0)
		i++;
	if (i == OSV_LOST_KINDS_MAX)
		return err;
	if (i == l->nr) {
		l->kind[l->nr++].what = what;
		snprintf(l->kind[i].why, sizeof(l->kind[i].why), "%s", error_text());
	}
	if (l->kind[i].nr < OSV_LOST_NAMED)
		l->kind[i].address[l->kind[i].nr] = address;
	l->kind[i].nr++;
	return 0;
}

void osv_lost_text(const struct osv_lost *lost, unsigned int kind, char *ret, size_t size)
{
	uint64_t nr = lost->kind[kind].nr;
	size_t len = (size_t)snprintf(ret, size, "%" PRIu64 " %s%s cannot be read:", nr,
				      lost->kind[kind].what, nr == 1 ? "" : "s");

	for (unsigned int i = 0; i < nr && i < OSV_LOST_NAMED && len < size; i++)
		len += (size_t)snprintf(ret + len, size - len, "%s 0x%" PRIx64, i ? "," : "",
					lost->kind[kind].address[i]);
	if (len < size)
		snprintf(ret + len, size - len, "%s (%s)", nr > OSV_LOST_NAMED ? ", ..." : "",
			 lost->kind[kind].why);
}

int osv_guest_read(struct osv_guest *g, uint64_t address, void *ret, size_t len)
{
	return g->gdb ? gdb_read(g->gdb, address, ret, len)
		      : osv_live_read(&g->live, address, ret, len);
}

int osv_guest_physical(struct osv_guest *g, uint64_t address, void *ret, size_t len)
{
	return g->gdb ? gdb_read_physical(g->gdb, address, ret, len)
		      : osv_live_physical(&g->live, address, ret, len);
}

int osv_guest_vcpus(struct osv_guest *g, struct gdb_vcpu **ret, unsigned int *ret_nr)
{
	const struct guest_dump *d = &g->live.dump;

	if (g->gdb)
		return gdb_vcpus(g->gdb, ret, ret_nr);
	*ret = calloc(d->nr_vcpus + 1u, sizeof(**ret));
	if (!*ret)
		return fail(-ENOMEM, "out of memory");
	for (unsigned int i = 0; i < d->nr_vcpus; i++)
		(*ret)[i] = d->vcpu[i].registers;
	*ret_nr = d->nr_vcpus;
	return 0;
}

int osv_guest_u64(struct osv_guest *g, uint64_t address, uint64_t *ret)
{
	return osv_guest_read(g, address, ret, sizeof(*ret));
}

int osv_guest_u16(struct osv_guest *g, uint64_t address, uint16_t *ret)
{
	return osv_guest_read(g, address, ret, sizeof(*ret));
}

/* In pieces that end with their page: what follows may not be mapped. */
int osv_guest_text(struct osv_guest *g, uint64_t address, char *ret, size_t size)
{
	size_t len = 0;

	while (len + 1 < size) {
		size_t piece = TEXT_PIECE - (address + len) % TEXT_PIECE;
		int err;

		piece = piece < size - 1 - len ? piece : size - 1 - len;
		err = osv_guest_read(g, address + len, ret + len, piece);
		if (err)
			return err;
		size_t end = strnlen(ret + len, piece);

		len += end;
		if (end < piece)
			break;
	}
	ret[len] = 0;
	text_sanitize(ret);
	return 0;
}

ORDER_BY(by_offset, struct osv_member, offset)

int osv_guest_members(struct osv_guest *g, uint64_t object, struct osv_member *m, size_t nr)
{
	uint8_t piece[MEMBERS_PIECE];
	int err = 0;

	qsort(m, nr, sizeof(*m), by_offset);
	for (size_t i = 0, end; i < nr && !err; i = end) {
		uint64_t from = m[i].offset;

		for (end = i + 1;
		     end < nr && m[end].offset + (uint64_t)m[end].len - from <= MEMBERS_PIECE;)
			end++;
		err = osv_guest_read(g, object + from, piece,
				     m[end - 1].offset + m[end - 1].len - from);
		for (; i < end && !err; i++)
			memcpy(m[i].to, piece + (m[i].offset - from), m[i].len);
	}
	return err;
}

int osv_guest_vector(struct osv_guest *g, uint64_t address, unsigned int max, uint64_t **ret,
		     unsigned int *ret_nr)
{
	uint64_t ends[2], nr;
	int err = osv_guest_read(g, address, ends, sizeof(ends));

	if (err)
		return err;
	nr = (ends[1] - ends[0]) / 8;
	if (ends[1] < ends[0] || nr > max)
		return fail(-EBADMSG, "no valid std::vector in guest memory at 0x%" PRIx64
			    " (at most %u elements)", address, max);
	*ret = calloc(nr + 1, sizeof(**ret));
	if (!*ret)
		return fail(-ENOMEM, "out of memory");
	err = osv_guest_read(g, ends[0], *ret, nr * 8);
	if (err)
		free(take_ptr(*ret));
	*ret_nr = err ? 0 : (unsigned int)nr;
	return err;
}
