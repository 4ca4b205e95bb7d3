// SPDX-License-Identifier: GPL-2.0-or-later
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
#include <fcntl.h>
#include <fts.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/user_rights.h"
#include "fetch/osv_guest.h"

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

char *osv_file_in_image(const char *elf, const char *path)
{
	_cleanup_free_ char *folder = folder_of(elf);
	_cleanup_free_ char *found = folder ? manifests_find(folder, path, 0) : NULL;

	return found && is_file(found) ? take_ptr(found) : NULL;
}

char *osv_file_find(const char *elf, const char *path)
{
	const char *slash = strrchr(path, '/'), *base = slash ? slash + 1 : path;
	char *found = osv_file_in_image(elf, path);
	_cleanup_free_ char *folder = found ? NULL : folder_of(elf);

	return !found && folder && *base ? tree_find(folder, base) : found;
}
