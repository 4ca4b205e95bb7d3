// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Opens one directory of the path after the other (O_PATH) and checks its owner, then opens the file in the last one.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/openat2.h>
#include <stdint.h>
#include <string.h>
#include <sys/syscall.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "base/process.h"
#include "base/safe_path.h"

enum { LINKS_MAX = 40 }; /* as the kernel's MAXSYMLINKS */

/* Could others than its owner put files there? A group of the owner alone is not told from any other. */
static bool is_shared_directory(const struct stat *dir)
{
	return dir->st_mode & (S_IWGRP | S_IWOTH);
}

void safe_path_directory(const char *path, char *dir)
{
	const char *slash = strrchr(path, '/');

	snprintf(dir, PATH_MAX, "%.*s", slash ? (int)(slash - path + 1) : 1, slash ? path : ".");
}

/* Is it the number of who called sudo(8), in this variable of the environment? */
static bool is_sudo_id(const char *variable, unsigned int id)
{
	const char *sudo = file_owner() ? NULL : secure_getenv(variable);
	char *end;
	unsigned long caller = sudo ? strtoul(sudo, &end, 10) : 0;

	return caller && !*end && id == caller;
}

bool is_trusted_owner(uid_t uid)
{
	return !uid || uid == file_owner() || is_sudo_id("SUDO_UID", uid);
}

static bool is_trusted_group(gid_t gid)
{
	return !gid || gid == getegid() || is_sudo_id("SUDO_GID", gid);
}

/* In another user namespace root is somebody's child, and files of unknown owners are what it has. */
static bool users_are_known(void)
{
	_cleanup_fclose_ FILE *f = fopen("/proc/self/uid_map", "re");
	unsigned int from, to, nr;

	return f && fscanf(f, "%u %u %u", &from, &to, &nr) == 3 && nr == UINT32_MAX;
}

/* ---- first step ---- */

struct walk {
	const char *given;
	int dir;	     /* O_PATH: as far as it has come */
	char real[PATH_MAX]; /* its name, "" for the root */
	char left[PATH_MAX]; /* the rest of the way */
	int links;
	uid_t owner;	     /* of `dir` */
	bool strict, shared; /* owners count everywhere; `dir` is shared */
};

static int walk_fail(const struct walk *w, int err)
{
	return fail(err, "%s: %s", w->given, strerror(-err));
}

static void walk_enter(struct walk *w, int dir)
{
	struct stat st;

	if (w->dir >= 0)
		close(w->dir);
	w->dir = dir;
	w->owner = fstat(dir, &st) ? (uid_t)-1 : st.st_uid;
	w->shared = w->owner != (uid_t)-1 && is_shared_directory(&st);
}

/* The next name of the way, removed from it; "" at its end. */
static void part_take(struct walk *w, char part[PATH_MAX])
{
	const char *begin = w->left + strspn(w->left, "/"), *end = begin + strcspn(begin, "/");

	snprintf(part, PATH_MAX, "%.*s", (int)(end - begin), begin);
	memmove(w->left, end, strlen(end) + 1);
}

/* What the link names comes before the rest of the way. */
static int link_enter(struct walk *w, int link)
{
	char to[PATH_MAX], left[PATH_MAX];
	ssize_t n = readlinkat(link, "", to, sizeof(to) - 1);

	if (n < 0 || ++w->links > LINKS_MAX)
		return walk_fail(w, n < 0 ? -errno : -ELOOP);
	to[n] = '\0';
	n = snprintf(left, sizeof(left), "%s/%s", to, w->left);
	if ((size_t)n >= sizeof(left))
		return walk_fail(w, -ENAMETOOLONG);
	memcpy(w->left, left, (size_t)n + 1);
	if (*to != '/')
		return 0;
	*w->real = '\0';
	n = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (n < 0)
		return walk_fail(w, -errno);
	walk_enter(w, (int)n);
	return 0;
}

static int name_append(struct walk *w, const char *part)
{
	size_t len = strlen(w->real);

	if (!strcmp(part, "..")) {
		char *slash = strrchr(w->real, '/');

		if (slash)
			*slash = '\0';
		return 0;
	}
	return len + strlen(part) + 2 > sizeof(w->real)
		       ? walk_fail(w, -ENAMETOOLONG)
		       : (sprintf(w->real + len, "/%s", part), 0);
}

static int owner_check(const struct walk *w, const char *part, const struct stat *st)
{
	if (is_trusted_owner(st->st_uid) || !(w->strict || w->shared))
		return 0;
	return fail(-EACCES,
		    "%s: %s %s/%s belongs to user %u, who could redirect what is written; give a "
		    "path in a directory of this user or of root",
		    w->given, S_ISLNK(st->st_mode) ? "the link" : "the directory", w->real, part,
		    st->st_uid);
}

/* For root: where others may replace any file, whoever owns the directory. It has no sticky bit, as /tmp has. */
static int writers_check(const struct walk *w, const char *part, const struct stat *st)
{
	if (!w->strict || !S_ISDIR(st->st_mode) || st->st_mode & S_ISVTX)
		return 0;
	if (st->st_mode & S_IWOTH)
		return fail(-EACCES,
			    "%s: all users may write to the directory %s/%s, and replace what is "
			    "in it; chmod o-w or +t",
			    w->given, w->real, part);
	if (st->st_mode & S_IWGRP && !is_trusted_group(st->st_gid))
		return fail(-EACCES,
			    "%s: group %u may write to the directory %s/%s, and replace what is "
			    "in it; chmod g-w or +t",
			    w->given, st->st_gid, w->real, part);
	return 0;
}

/* Who owns the directory that is left chooses where it is, and with that its parent. */
static int parent_check(const struct walk *w, const struct stat *st)
{
	if (!w->strict)
		return 0;
	if (is_trusted_owner(w->owner))
		return owner_check(w, "..", st);
	return fail(-EACCES,
		    "%s: the current directory %s belongs to user %u, who could move it; give a "
		    "path from the root",
		    w->given, w->real, w->owner);
}

/* 1: the directory may not be searched. */
static int part_enter(struct walk *w, const char *part)
{
	int at = openat(w->dir, part, O_PATH | O_NOFOLLOW | O_CLOEXEC), err;
	struct stat st;

	if (at < 0 || fstat(at, &st)) {
		err = errno == EACCES ? 1 : walk_fail(w, -errno);
		if (at >= 0)
			close(at);
		return err;
	}
	err = strcmp(part, "..") ? owner_check(w, part, &st) : parent_check(w, &st);
	if (!err && strcmp(part, ".."))
		err = writers_check(w, part, &st);
	if (!err && S_ISLNK(st.st_mode))
		err = link_enter(w, at);
	else if (!err)
		err = S_ISDIR(st.st_mode) ? name_append(w, part) : walk_fail(w, -ENOTDIR);
	if (err || S_ISLNK(st.st_mode))
		close(at);
	else
		walk_enter(w, at);
	return err;
}

static int walk_directories(struct walk *w)
{
	bool absolute = *w->left == '/';
	char part[PATH_MAX];
	int err = 0, dir = open(absolute ? "/" : ".", O_PATH | O_DIRECTORY | O_CLOEXEC);

	if (dir < 0 || (!absolute && !getcwd(w->real, sizeof(w->real))))
		err = 1;
	if (dir >= 0)
		walk_enter(w, dir);
	if (!strcmp(w->real, "/"))
		*w->real = '\0';
	while (!err && (part_take(w, part), *part))
		if (strcmp(part, "."))
			err = part_enter(w, part);
	return err;
}

int safe_path_resolve(const char *path, char **ret)
{
	struct walk w = {.given = path, .dir = -1, .strict = !file_owner() && users_are_known()};
	const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
	int err = strlen(path) < PATH_MAX ? 0 : walk_fail(&w, -ENAMETOOLONG);

	*ret = NULL;
	if (!err) {
		safe_path_directory(path, w.left);
		err = walk_directories(&w);
	}
	if (w.dir >= 0)
		close(w.dir);
	if (err < 0)
		return err;
	if ((err ? asprintf(ret, "%s", path) : asprintf(ret, "%s/%s", w.real, name)) < 0) {
		*ret = NULL;
		return fail(-ENOMEM, "out of memory");
	}
	return 0;
}

/* ---- the last part ---- */

/* Could anybody but the caller and root have put there what is at `at`? Also if it cannot be told. */
static bool others_may_write(const char *at)
{
	char dir[PATH_MAX];
	struct stat st;

	safe_path_directory(at, dir);
	return stat(dir, &st) || is_shared_directory(&st) ||
	       (!is_trusted_owner(st.st_uid) && users_are_known());
}

/* As the kernel's fs.protected_symlinks, protected_regular and protected_fifos in some of these directories. */
static int last_check(const char *at, const struct stat *st)
{
	if (is_trusted_owner(st->st_uid) || !others_may_write(at))
		return 0;
	return fail(-EACCES,
		    "%s belongs to user %u and is in a directory that other users may write to; "
		    "not writing to it",
		    at, st->st_uid);
}

/* `path` becomes what the link `at` names. */
static int link_read(const char *at, char path[PATH_MAX])
{
	char to[PATH_MAX], dir[PATH_MAX];
	ssize_t n = readlink(at, to, sizeof(to) - 1);

	if (n < 0)
		return -errno;
	to[n] = '\0';
	safe_path_directory(at, dir);
	n = snprintf(path, PATH_MAX, "%s%s%s", *to == '/' ? "" : dir, *to == '/' ? "" : "/", to);
	return n < PATH_MAX ? 0 : -ENAMETOOLONG;
}

/* A link such as /proc/self/fd/1, to what is open and has no name in a directory. */
static bool is_descriptor(const char *at, struct stat *st)
{
	_cleanup_free_ char *named = NULL;

	if (strncmp(at, "/proc/", 6) || stat(at, st))
		return false;
	if (S_ISREG(st->st_mode))
		named = realpath(at, NULL);
	if (!named)
		st->st_nlink = 0;
	return !named;
}

int safe_path_follow(const char *given, char **ret, struct stat *st)
{
	char path[PATH_MAX];
	int err = snprintf(path, sizeof(path), "%s", given) < PATH_MAX ? 0 : -ENAMETOOLONG;

	*ret = NULL;
	for (int links = 0; !err; links++) {
		free(*ret);
		err = safe_path_resolve(path, ret);
		if (err)
			return err;
		*st = (struct stat){0};
		if (lstat(*ret, st))
			return 0;
		err = last_check(*ret, st);
		if (err || !S_ISLNK(st->st_mode) || is_descriptor(*ret, st))
			return err;
		err = links < LINKS_MAX ? link_read(*ret, path) : -ELOOP;
	}
	return fail(err, "%s: %s", given, strerror(-err));
}

/* ---- second step ---- */

/*
 * The directory of a resolved path, and the name in it. AT_FDCWD and the whole path: a kernel before Linux 5.6, or a
 * confined process, which has no openat2(2) and whose supervisor does it.
 */
static int parent_open(const char *path, const char **ret_name)
{
	struct open_how how = {.flags = O_PATH | O_DIRECTORY | O_CLOEXEC,
			       .resolve = RESOLVE_NO_SYMLINKS};
	const char *slash = strrchr(path, '/');
	char dir[PATH_MAX];
	int fd;

	safe_path_directory(path, dir);
	fd = (int)syscall(SYS_openat2, AT_FDCWD, dir, &how, sizeof(how));
	*ret_name = slash && fd >= 0 ? slash + 1 : path;
	return fd < 0 && (errno == ENOSYS || errno == EPERM) ? AT_FDCWD : fd;
}

static int parent_close(int dir, int result)
{
	int saved = errno;

	if (dir >= 0)
		close(dir);
	errno = saved;
	return result;
}

int safe_path_open(const char *path, int flags, mode_t mode)
{
	const char *name;
	int dir = parent_open(path, &name);

	flags |= O_NOFOLLOW | O_CLOEXEC;
	return dir == -1 ? -1 : parent_close(dir, openat(dir, name, flags, mode));
}

int safe_path_rename(const char *from, const char *to)
{
	const char *name, *slash = strrchr(from, '/');
	int dir = parent_open(to, &name);

	if (dir == AT_FDCWD)
		return rename(from, to);
	return dir < 0 ? -1
		       : parent_close(dir, renameat(dir, slash ? slash + 1 : from, dir, name));
}

int safe_path_unlink(const char *path)
{
	const char *name;
	int dir = parent_open(path, &name);

	if (dir == AT_FDCWD)
		return unlink(path);
	return dir < 0 ? -1 : parent_close(dir, unlinkat(dir, name, 0));
}

int safe_path_rmdir(const char *path)
{
	const char *name;
	int dir = parent_open(path, &name);

	if (dir == AT_FDCWD)
		return rmdir(path);
	return dir < 0 ? -1 : parent_close(dir, unlinkat(dir, name, AT_REMOVEDIR));
}

int safe_path_mkdir(const char *path)
{
	const char *name;
	int dir = parent_open(path, &name);

	return dir == -1 ? -1 : parent_close(dir, mkdirat(dir, name, 0700));
}
