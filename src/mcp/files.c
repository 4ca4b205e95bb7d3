// SPDX-License-Identifier: GPL-2.0-or-later
/* The files that the assistant may ask about: those of the command line, and those in its directories. */
#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/array.h"
#include "base/error.h"
#include "base/hash.h"
#include "mcp/mcp.h"
#include "output/report.h"

static int file_append(struct mcp *m, const char *path)
{
	char *own;

	if (array_any(m->nr_files, i, !strcmp(m->file[i], path)))
		return 0;
	own = m->nr_files < MCP_FILES_MAX ? strdup(path) : NULL;
	if (!own)
		return fail(-E2BIG, "more than %d files, or out of memory", MCP_FILES_MAX);
	m->file[m->nr_files++] = own;
	return 0;
}

static int entry_is_hidden(const struct dirent *e)
{
	return e->d_name[0] != '.';
}

static int directory_append(struct mcp *m, const char *path)
{
	struct dirent **entry;
	int nr = scandir(path, &entry, entry_is_hidden, alphasort), err = 0;
	char name[PATH_MAX];
	struct stat st;

	if (nr < 0)
		return fail(-errno, "%s: %s", path, strerror(errno));
	for (int i = 0; i < nr; i++) {
		snprintf(name, sizeof(name), "%s/%s", path, entry[i]->d_name);
		if (!err && !stat(name, &st) && S_ISREG(st.st_mode))
			err = file_append(m, name);
		free(entry[i]);
	}
	free(entry);
	return err;
}

int mcp_add(struct mcp *m, const char *path)
{
	struct stat st;

	if (stat(path, &st))
		return fail(-errno, "%s: %s", path, strerror(errno));
	return S_ISDIR(st.st_mode) ? directory_append(m, path) : file_append(m, path);
}

uint64_t mcp_file_stamp(uint64_t before, const char *path)
{
	struct stat st;

	if (stat(path, &st))
		st = (struct stat){.st_size = 0};

	const uint64_t words[] = {before,
				  st.st_dev,
				  st.st_ino,
				  (uint64_t)st.st_size,
				  (uint64_t)st.st_mtim.tv_sec,
				  (uint64_t)st.st_mtim.tv_nsec};

	return hash_words(words, sizeof(words) / sizeof(*words)) | 1;
}

void mcp_free(struct mcp *m)
{
	for (unsigned int i = 0; i < m->nr_files; i++)
		free(m->file[i]);
	json_decref(m->last.line);
	capture_free(&m->last.capture);
}

enum file_match { MATCH_NONE, MATCH_LAST_PART, MATCH_PATH };

/* Of a path as it is listed, where it is UTF-8. */
static enum file_match file_match(const char *path, const char *name)
{
	json_t *listed = json_text(path);
	const char *text = listed ? json_string_value(listed) : path, *slash = strrchr(text, '/');
	enum file_match match = MATCH_NONE;

	if (!strcmp(text, name))
		match = MATCH_PATH;
	else if (slash && !strcmp(slash + 1, name))
		match = MATCH_LAST_PART;
	json_decref(listed);
	return match;
}

/* NULL with the error message set: none or several have this name. */
static const char *file_named(const struct mcp *m, const char *name)
{
	enum file_match best = MATCH_NONE;
	const char *found = NULL;
	unsigned int nr = 0;

	for (unsigned int i = 0; i < m->nr_files; i++) {
		enum file_match match = file_match(m->file[i], name);

		nr = match > best ? 1 : nr + (match && match == best);
		if (match > best)
			found = m->file[i];
		best = match > best ? match : best;
	}
	if (nr == 1)
		return found;
	if (nr)
		fail(-EINVAL, "%u files are named '%s': use the path that describe lists%s", nr,
		     name, best == MATCH_PATH ? ", after renaming one" : "");
	else
		fail(-EINVAL, "unknown file '%s': describe without arguments lists the files",
		     name);
	return NULL;
}

const char *mcp_file(const struct mcp *m, const json_t *arguments, const char *key)
{
	const char *name = json_string_value(json_object_get(arguments, key));

	if (name)
		return file_named(m, name);
	if (m->nr_files == 1 && !strcmp(key, "file"))
		return m->file[0];
	fail(-EINVAL, "missing argument '%s': describe without arguments lists the files", key);
	return NULL;
}
