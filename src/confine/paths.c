// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Which paths are allowed. Both sides are compared as absolute paths whose directory part is resolved; the last part of
 * a path stays as it is named, so that an input may be a symbolic link.
 */
#include <ctype.h>
#include <errno.h>
#include <limits.h>
#include <string.h>

#include "base/array.h"
#include "base/error.h"
#include "base/safe_path.h"
#include "base/user_rights.h"
#include "confine/internal.h"

struct rule {
	char *path; /* absolute */
	size_t stem; /* length without the last ".EXTENSION" */
	bool write, numbered, dumps, update, directory, made;
	pid_t owner; /* whose temporary files */
};

struct confine_paths {
	struct rule *rule;
	unsigned int nr;
	char *temporary; /* folder of temporary files; NULL: none are allowed */
};

struct confine_paths *confine_paths_new(void)
{
	struct confine_paths *p = calloc(1, sizeof(*p));

	if (!p)
		fail(-ENOMEM, "out of memory");
	return p;
}

void confine_paths_free(struct confine_paths *p)
{
	if (!p)
		return;
	for (unsigned int i = 0; i < p->nr; i++)
		free(p->rule[i].path);
	free(p->rule);
	free(p->temporary);
	free(p);
}

/* "/dev/fd/3" -> "/proc/PID/fd/3" */
static bool descriptor_path(const char *path, pid_t self, char *buf)
{
	static const char *const prefixes[] = {"/dev/fd/", "/proc/self/fd/"};

	if (!strcmp(path, "/dev/stdin")) {
		snprintf(buf, PATH_MAX, "/proc/%d/fd/0", (int)self);
		return true;
	}
	for (size_t i = 0; i < sizeof(prefixes) / sizeof(*prefixes); i++) {
		size_t len = strlen(prefixes[i]);

		if (strncmp(path, prefixes[i], len) || strchr(path + len, '/'))
			continue;
		snprintf(buf, PATH_MAX, "/proc/%d/fd/%s", (int)self, path + len);
		return true;
	}
	return false;
}

int path_absolute(const char *path, pid_t self, char *buf)
{
	const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
	char dir[PATH_MAX];
	size_t len;

	if (descriptor_path(path, self, buf))
		return 0;
	if (!*name || !strcmp(name, ".") || !strcmp(name, ".."))
		return realpath(path, buf) ? 0 : -errno;
	snprintf(dir, sizeof(dir), "%.*s", slash ? (int)(slash - path + 1) : 1, slash ? path : ".");
	if (!realpath(dir, buf))
		return -errno;
	len = strlen(buf);
	len -= buf[len - 1] == '/';
	return snprintf(buf + len, PATH_MAX - len, "/%s", name) < (int)(PATH_MAX - len)
		       ? 0
		       : -ENAMETOOLONG;
}

static size_t stem_of(const char *path)
{
	const char *name = strrchr(path, '/') + 1, *dot = strrchr(name, '.');

	return dot && dot > name ? (size_t)(dot - path) : strlen(path);
}

/* While this process may still look at the directories of what will be written. */
static int place_check(const char *path)
{
	uint64_t begun = user_rights_begin();
	char *at;
	int err = safe_path_resolve(path, &at);

	free(at);
	user_rights_end(begun);
	return err == -EACCES || err == -ENOMEM ? err : 0; /* of others, to open it says more */
}

static int rule_add(struct confine_paths *p, const char *path, struct rule rule)
{
	char buf[PATH_MAX];
	struct stat st;
	int err = path_absolute(path, getpid(), buf);

	if (err) /* no such directory: to open it fails, too */
		return err == -ENOMEM ? fail(err, "out of memory") : 0;
	err = array_room(p->rule, p->nr);
	if (err)
		return err;
	rule.path = strdup(buf);
	if (!rule.path)
		return fail(-ENOMEM, "out of memory");
	rule.stem = stem_of(buf);
	rule.directory = !stat(buf, &st) && S_ISDIR(st.st_mode);
	p->rule[p->nr++] = rule;
	return 0;
}

int confine_paths_read(struct confine_paths *p, const char *path)
{
	return rule_add(p, path, (struct rule){0});
}

int confine_paths_write(struct confine_paths *p, const char *path, bool numbered)
{
	const struct rule rule = {.write = true, .numbered = numbered, .owner = getpid()};
	uint64_t begun = user_rights_begin();
	_cleanup_free_ char *target = NULL;
	struct stat st;
	int err = safe_path_follow(path, &target, &st);

	user_rights_end(begun);
	if (!err && strcmp(path, target))
		err = rule_add(p, target, rule);
	if (!err || (err != -EACCES && err != -ENOMEM)) /* of others, to open it says more */
		err = rule_add(p, path, rule);
	return err;
}

int confine_paths_made(struct confine_paths *p, const char *directory)
{
	return rule_add(p, directory, (struct rule){.made = true});
}

int confine_paths_dumps(struct confine_paths *p, const char *prefix)
{
	int err = place_check(prefix);

	return err ? err : rule_add(p, prefix, (struct rule){.write = true, .dumps = true});
}

int confine_paths_temporary(struct confine_paths *p)
{
	p->temporary = realpath(P_tmpdir, NULL); /* NULL: tmpfile() fails, too */
	return 0;
}

int confine_paths_update(struct confine_paths *p, const char *path)
{
	return rule_add(p, path, (struct rule){.update = true});
}

bool paths_any_write(const struct confine_paths *p)
{
	for (unsigned int i = 0; p && i < p->nr; i++)
		if (p->rule[i].write || p->rule[i].update)
			return true;
	return p && p->temporary;
}

/* ---- matching ---- */

/* Is `path` beneath the directory `dir`, also behind all links? */
static bool is_beneath(const char *dir, const char *path)
{
	size_t len = strlen(dir);
	char real[PATH_MAX];

	len -= len && dir[len - 1] == '/'; /* the root directory */
	return realpath(path, real) && !strncmp(real, dir, len) && (!real[len] || real[len] == '/');
}

/* In the same folder, a guest's trace or an image of a ring? A recording or a description names them. */
static bool is_companion(const struct rule *r, const char *path)
{
	size_t dir = (size_t)(strrchr(r->path, '/') - r->path + 1);
	const char *dot = strrchr(path, '.');

	return !strncmp(path, r->path, dir) && !strchr(path + dir, '/') && dot &&
	       (!strncmp(dot, ".guest", 6) || !strcmp(dot, ".bin"));
}

static bool reads(const struct rule *r, const char *path)
{
	const char *rest = path + r->stem;

	if (!strcmp(path, r->path))
		return true;
	if (r->directory)
		return is_beneath(r->path, path);
	if (is_companion(r, path))
		return true;
	return !strncmp(path, r->path, r->stem) && (*rest == '.' || *rest == '-') &&
	       !strchr(rest, '/');
}

/* ".PID.tmp" */
static bool is_temporary_end(const char *end)
{
	size_t digits = *end == '.' ? strspn(end + 1, "0123456789") : 0;

	return digits && !strcmp(end + 1 + digits, ".tmp");
}

/* PREFIX-NAME.hrt or .txt: what follows PREFIX. */
static const char *dump_rest(const struct rule *r, const char *path)
{
	size_t len = strlen(r->path);
	const char *name = path + len + 1, *rest = NULL;

	if (strncmp(path, r->path, len) || path[len] != '-' || !isalnum(*name))
		return NULL;
	for (const char *at = name; isalnum(*at) || *at == '-' || *at == '.'; at++)
		if (!strncmp(at, ".hrt", 4) || !strncmp(at, ".txt", 4))
			rest = at + 4;
	return rest;
}

static bool is_dump(const struct rule *r, const char *path, bool *ret_temporary)
{
	const char *rest = r->dumps ? dump_rest(r, path) : NULL;

	*ret_temporary = rest && is_temporary_end(rest);
	return rest && (!*rest || *ret_temporary);
}

/* Behind the rule's own name: "" (*ret_temporary false) or ".PID.tmp". */
static bool is_own(const struct rule *r, const char *rest, bool *ret_temporary)
{
	char end[32];

	snprintf(end, sizeof(end), ".%d.tmp", (int)r->owner);
	*ret_temporary = !strcmp(rest, end);
	return !*rest || *ret_temporary;
}

/* NAME-123.EXTENSION: what follows NAME. */
static const char *numbered_rest(const struct rule *r, const char *path)
{
	const char *extension = r->path + r->stem, *at = path + r->stem + 1;

	if (!r->numbered || strncmp(path, r->path, r->stem) || path[r->stem] != '-' ||
	    !isdigit(*at))
		return NULL;
	while (isdigit(*at))
		at++;
	return strncmp(at, extension, strlen(extension)) ? NULL : at + strlen(extension);
}

static bool writes(const struct rule *r, const char *path, bool *ret_temporary)
{
	size_t len = strlen(r->path);
	const char *rest = numbered_rest(r, path);

	if (!r->write || r->dumps)
		return is_dump(r, path, ret_temporary);
	if (!strncmp(path, r->path, len) && is_own(r, path + len, ret_temporary))
		return true;
	return rest && is_own(r, rest, ret_temporary);
}

static bool is_directory_of(const struct rule *r, const char *path)
{
	size_t len = strlen(path);

	return !strncmp(r->path, path, len) && r->path[len] == '/' &&
	       !strchr(r->path + len + 1, '/');
}

bool paths_allow(const struct confine_paths *p, const char *path, enum path_use use)
{
	bool temporary;

	for (unsigned int i = 0; i < p->nr; i++) {
		const struct rule *r = &p->rule[i];

		if (r->write ? use != PATH_UPDATE && writes(r, path, &temporary)
			     : use <= PATH_DIRECTORY && reads(r, path))
			return true;
		if (r->write && use == PATH_DIRECTORY && is_directory_of(r, path))
			return true;
		if (r->update && use == PATH_UPDATE && !strcmp(path, r->path))
			return true;
	}
	return false;
}

bool paths_given(const struct confine_paths *p, const char *path)
{
	return array_any(p->nr, i, !strcmp(path, p->rule[i].path));
}

bool paths_allow_temporary(const struct confine_paths *p, const char *path, bool named)
{
	static const char prefix[] = "/tmpf"; /* and six characters */
	size_t len = p->temporary ? strlen(p->temporary) : 0;

	if (!len || strncmp(path, p->temporary, len))
		return false;
	return named ? !strncmp(path + len, prefix, strlen(prefix)) &&
			       strlen(path + len) == strlen(prefix) + 6 &&
			       !strchr(path + len + 1, '/')
		     : !path[len];
}

bool paths_allow_rmdir(const struct confine_paths *p, const char *path)
{
	return array_any(p->nr, i, p->rule[i].made && !strcmp(path, p->rule[i].path));
}

bool paths_allow_rename(const struct confine_paths *p, const char *from, const char *to)
{
	size_t len = strlen(to);
	bool temporary;

	for (unsigned int i = 0; i < p->nr; i++) {
		const struct rule *r = &p->rule[i];

		if (writes(r, from, &temporary) && temporary && !strncmp(from, to, len) &&
		    (r->dumps ? is_temporary_end(from + len)
			      : is_own(r, from + len, &temporary) && temporary))
			return true;
	}
	return false;
}
