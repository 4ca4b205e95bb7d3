// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Paths of cgroups (version 2) by their number, which is the inode number of their directory. They are found by listing
 * the hierarchy; what was found once is known, also when the cgroup has been removed.
 */
#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <mntent.h>

#include "base/error.h"
#include "base/hash.h"
#include "vm/cgroup_names.h"

enum {
	NAMES_MAX = 1 << 13,
	TRIES_MAX = 3, /* it may have been removed before it was looked up */
	FOLDERS_MAX = 1 << 14,
};

struct name {
	uint64_t id;
	char *path; /* NULL: not known */
	unsigned int tries;
};

struct cgroup_names {
	char *root;
	struct hash_table names;
	bool wanted;
	unsigned int folders; /* that are still listed */
};

bool cgroup_root_find(char *ret, size_t size)
{
	FILE *f = setmntent("/proc/self/mounts", "re");
	struct mntent *m;
	bool found = false;

	while (f && !found && (m = getmntent(f))) {
		found = !strcmp(m->mnt_type, "cgroup2");
		if (found)
			snprintf(ret, size, "%s", m->mnt_dir);
	}
	if (f)
		endmntent(f);
	return found;
}

void cgroup_names_want(struct cgroup_names *n, uint64_t id)
{
	struct name *name;

	if (n->names.nr == NAMES_MAX)
		return;
	name = hash_add_u64(&n->names, id, NULL);
	n->wanted |= name && !name->path && name->tries < TRIES_MAX;
}

/* ---- listing ---- */

static void learn(struct cgroup_names *n, uint64_t id, const char *path)
{
	struct name *name = hash_find_u64(&n->names, id);

	if (name && !name->path)
		name->path = strdup(*path ? path : "/");
}

/* path: from the root. The entry "." has the directory's own number. */
static void folder_read(struct cgroup_names *n, const char *path)
{
	char full[PATH_MAX], below[PATH_MAX];
	struct dirent *e;
	DIR *dir;

	if (!n->folders || snprintf(full, sizeof(full), "%s%s", n->root, path) >= PATH_MAX)
		return;
	n->folders--;
	dir = opendir(full);
	while (dir && (e = readdir(dir))) {
		if (!strcmp(e->d_name, "."))
			learn(n, e->d_ino, path);
		else if (e->d_type == DT_DIR && strcmp(e->d_name, "..") != 0 &&
			 snprintf(below, sizeof(below), "%s/%s", path, e->d_name) < PATH_MAX)
			folder_read(n, below);
	}
	if (dir)
		closedir(dir);
}

void cgroup_names_read(struct cgroup_names *n)
{
	struct name *name;

	if (!n->wanted || !n->root)
		return;
	n->folders = FOLDERS_MAX;
	folder_read(n, "");
	for (uint32_t at = 0; (name = hash_next(&n->names, &at));)
		name->tries += !name->path;
	n->wanted = false;
}

const char *cgroup_name(const struct cgroup_names *n, uint64_t id, char *buf, size_t size)
{
	const struct name *name = hash_find_u64(&n->names, id);
	size_t len = name && name->path ? strlen(name->path) : 0, id_len;

	if (!id)
		return "idle";
	if (len && len < size) {
		snprintf(buf, size, "%s", name->path);
		return buf;
	}
	id_len = (size_t)snprintf(buf, size, "id:%" PRIu64, id);
	if (len)
		snprintf(buf + id_len, size - id_len, " ...%s",
			 name->path + len - (size - id_len - sizeof(" ...")));
	return buf;
}

/* ---- start and end ---- */

struct cgroup_names *cgroup_names_new(const char *root)
{
	struct cgroup_names *n = calloc(1, sizeof(*n));

	if (n && root)
		n->root = strdup(root);
	if (!n || (root && !n->root)) {
		free(n);
		fail(-ENOMEM, "out of memory");
		return NULL;
	}
	n->names = HASH_TABLE(struct name, 1, NAMES_MAX);
	return n;
}

void cgroup_names_free(struct cgroup_names *n)
{
	struct name *name;

	if (!n)
		return;
	for (uint32_t at = 0; (name = hash_next(&n->names, &at));)
		free(name->path);
	hash_deinit(&n->names);
	free(n->root);
	free(n);
}
