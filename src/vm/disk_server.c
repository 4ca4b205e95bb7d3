// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A -device names its drive: a -drive, or a -blockdev by its node name. A node has its data in "file", which is another
 * node, members "file.*" of the same option, or a URL; each is followed until one names a server.
 *
 * All texts are what the process says of itself: bounded, sanitized, and only to be shown.
 */
#include "vm/disk_server.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "base/json_text.h"
#include "event/event.h"
#include "vm/block_server.h"
#include "vm/cmdline.h"
#include "vm/proc.h"
#include "vm/reread.h"

enum { NODE_DEPTH = 8, KEY_BYTES = 96, MOUNTS_BYTES = 1 << 20 };

struct disk_server {
	char driver[32], address[DISK_SERVER_TEXT];
};

struct disk_options {
	json_t *nodes; /* [{"KEY": "VALUE"}] of -drive and -blockdev */
	const char *mounts, *sys;
};

/* ---- files ---- */

static bool has_prefix(const char *text, const char *prefix)
{
	return !strncmp(text, prefix, strlen(prefix));
}

static bool is_below(const char *path, const char *directory)
{
	size_t len = strlen(directory);

	return !strncmp(path, directory, len) &&
	       (!path[len] || path[len] == '/' || (len && directory[len - 1] == '/'));
}

/* FUSE: of a server if its source is HOST:DIRECTORY. */
static bool is_remote(const char *type, const char *source)
{
	static const char *const types[] = {"nfs",  "nfs4", "cifs",   "smb3", "smbfs",
					    "ceph", "9p",   "lustre", "afs",  "glusterfs"};

	return array_any(sizeof(types) / sizeof(*types), i, !strcmp(type, types[i])) ||
	       (has_prefix(type, "fuse.") && strchr(source, ':'));
}

static bool block_find(const struct disk_options *o, const char *name, struct disk_server *ret)
{
	return o->sys && block_server_find(o->sys, name, ret->driver, sizeof(ret->driver),
					   ret->address, sizeof(ret->address));
}

/* Btrfs has a number of its own instead of its device's. */
static void mounted_find(const struct disk_options *o, const char *number, const char *source,
			 struct disk_server *ret)
{
	if (has_prefix(number, "0:") && has_prefix(source, "/dev/"))
		block_find(o, source + strlen("/dev/"), ret);
	else if (!has_prefix(number, "0:"))
		block_find(o, number, ret);
}

/* proc_pid_mountinfo(5). The last one of those with the longest path is on top. */
static void mount_find(const struct disk_options *o, const char *path, struct disk_server *ret)
{
	char number[32] = "", device[DISK_SERVER_TEXT] = "";
	size_t longest = 0;

	for (const char *line = o->mounts; *line;
	     line += strcspn(line, "\n"), line += *line == '\n') {
		char text[2048], on[32], at[512], type[sizeof(ret->driver)];
		char source[DISK_SERVER_TEXT];
		const char *after;

		snprintf(text, sizeof(text), "%.*s", (int)strcspn(line, "\n"), line);
		after = strstr(text, " - ");
		if (!after || sscanf(text, "%*s %*s %31s %*s %511s", on, at) != 2 ||
		    sscanf(after, " - %31s %255s", type, source) != 2 || !is_below(path, at) ||
		    strlen(at) < longest)
			continue;
		longest = strlen(at);
		*ret = (struct disk_server){0};
		if (is_remote(type, source)) {
			snprintf(ret->driver, sizeof(ret->driver), "%s", type);
			snprintf(ret->address, sizeof(ret->address), "%s", source);
		}
		snprintf(number, sizeof(number), "%s", on);
		snprintf(device, sizeof(device), "%s", source);
	}
	if (!*ret->driver)
		mounted_find(o, number, device, ret);
}

/* udev's name of an iSCSI volume: /dev/disk/by-path/ip-10.0.0.5:3260-iscsi-iqn.2003-01.org.x:web-lun-0 */
static bool volume_find(const char *path, struct disk_server *ret)
{
	static const char by_path[] = "/dev/disk/by-path/ip-";
	const char *end = strstr(path, "-iscsi-");

	if (!has_prefix(path, by_path) || !end)
		return false;
	path += strlen(by_path);
	snprintf(ret->driver, sizeof(ret->driver), "iscsi");
	snprintf(ret->address, sizeof(ret->address), "%.*s", (int)(end - path), path);
	return true;
}

static bool path_find(const struct disk_options *o, const char *path, struct disk_server *ret)
{
	path += has_prefix(path, "file:") ? strlen("file:") : 0;
	if (*path != '/')
		return false;
	if (!volume_find(path, ret) &&
	    !(has_prefix(path, "/dev/") && block_find(o, path + strlen("/dev/"), ret)))
		mount_find(o, path, ret);
	return *ret->driver;
}

/* ---- URLs ---- */

static bool is_server_driver(const char *name)
{
	static const char *const drivers[] = {"nbd",  "rbd",   "iscsi", "ssh",	"nfs",
					      "http", "https", "ftp",	"ftps", "gluster"};

	return array_any(sizeof(drivers) / sizeof(*drivers), i, !strcmp(name, drivers[i]));
}

/* "nbd://user@10.0.0.1:10809/web", "nbd+unix:///web?socket=/run/nbd.sock": what may be a password is left out. */
static void authority_find(const char *rest, struct disk_server *ret)
{
	size_t len = strcspn(rest, "/?#");
	const char *at = memchr(rest, '@', len), *socket = strstr(rest, "socket=");

	if (at) {
		len -= (size_t)(at + 1 - rest);
		rest = at + 1;
	}
	if (len)
		snprintf(ret->address, sizeof(ret->address), "%.*s", (int)len, rest);
	else if (socket)
		snprintf(ret->address, sizeof(ret->address), "%.*s", (int)strcspn(socket + 7, "&"),
			 socket + 7);
}

/* QEMU's older form: "nbd:unix:/run/nbd.sock:exportname=web", "nbd:10.0.0.1:10809", "rbd:pool/image:id=web". */
static void colons_find(const char *rest, struct disk_server *ret)
{
	size_t len;

	if (has_prefix(rest, "unix:"))
		rest += strlen("unix:");
	len = strcspn(rest, ":");
	if (*rest != '/' && !strcmp(ret->driver, "nbd") && rest[len])
		len += 1 + strcspn(rest + len + 1, ":");
	snprintf(ret->address, sizeof(ret->address), "%.*s", (int)len, rest);
}

static bool url_find(const char *url, struct disk_server *ret)
{
	size_t len = strcspn(url, ":");

	snprintf(ret->driver, sizeof(ret->driver), "%.*s", (int)strcspn(url, "+:"), url);
	if (!url[len] || !is_server_driver(ret->driver)) {
		*ret->driver = '\0';
		return false;
	}
	if (has_prefix(url + len, "://"))
		authority_find(url + len + 3, ret);
	else
		colons_find(url + len + 1, ret);
	return true;
}

/* ---- options ---- */

/* The value of the first of these keys; "": none is there. */
static const char *member(const json_t *node, const char *prefix, const char *const *keys)
{
	for (; *keys; keys++) {
		char key[KEY_BYTES];

		snprintf(key, sizeof(key), "%s%s", prefix, *keys);
		if (*text_of(node, key))
			return text_of(node, key);
	}
	return "";
}

#define MEMBER(node, prefix, ...) member(node, prefix, (const char *const[]){__VA_ARGS__, NULL})

static void members_find(const json_t *node, const char *prefix, struct disk_server *ret)
{
	const char *host = MEMBER(node, prefix, "server.host", "server.0.host", "host", "portal"),
		   *port = MEMBER(node, prefix, "server.port", "server.0.port", "port"),
		   *path = MEMBER(node, prefix, "server.path", "server.0.path", "path"),
		   *pool = MEMBER(node, prefix, "pool");

	snprintf(ret->driver, sizeof(ret->driver), "%s", MEMBER(node, prefix, "driver"));
	if (*host)
		snprintf(ret->address, sizeof(ret->address), "%s%s%s", host, *port ? ":" : "",
			 port);
	else if (*pool)
		snprintf(ret->address, sizeof(ret->address), "%s/%s", pool,
			 MEMBER(node, prefix, "image"));
	else
		snprintf(ret->address, sizeof(ret->address), "%s", path);
}

static bool node_find(const struct disk_options *o, const json_t *node, unsigned int depth,
		      struct disk_server *ret);

/* "json:{...}" is a node of its own; a text without a driver's name a path, or the name of a node. */
static bool name_find(const struct disk_options *o, const char *name, unsigned int depth,
		      struct disk_server *ret)
{
	const json_t *node;
	json_t *own;
	size_t i;
	bool found;

	if (has_prefix(name, "json:")) {
		own = vm_option_values(name + strlen("json:"), NULL);
		found = node_find(o, own, depth, ret);
		json_decref(own);
		return found;
	}
	if (url_find(name, ret) || path_find(o, name, ret))
		return true;
	json_array_foreach (o->nodes, i, node)
		if (!strcmp(text_of(node, "node-name"), name) || !strcmp(text_of(node, "id"), name))
			return node_find(o, node, depth, ret);
	return false;
}

static bool node_find(const struct disk_options *o, const json_t *node, unsigned int depth,
		      struct disk_server *ret)
{
	static const char *const prefixes[] = {"", "file.", "file.file.", "file.file.file.",
					       "file.image."};

	if (!depth)
		return false;
	for (size_t i = 0; i < sizeof(prefixes) / sizeof(*prefixes); i++) {
		const char *name = MEMBER(node, prefixes[i], "filename", "url", "file");

		if (*name && name_find(o, name, depth - 1, ret))
			return true;
		if (is_server_driver(MEMBER(node, prefixes[i], "driver"))) {
			members_find(node, prefixes[i], ret);
			return true;
		}
	}
	return *text_of(node, "backing") && name_find(o, text_of(node, "backing"), depth - 1, ret);
}

/* ---- devices ---- */

static void server_add(json_t *list, const struct disk_options *o, const json_t *node,
		       const char *device, const char *drive)
{
	struct disk_server s = {0};

	if (!node || json_array_size(list) >= DISK_SERVERS_MAX ||
	    !node_find(o, node, NODE_DEPTH, &s))
		return;
	text_sanitize(s.driver);
	text_sanitize(s.address);
	json_array_append_new(list, json_pack("{s:s,s:s,s:s,s:s}", "device", device, "drive", drive,
					      "driver", s.driver, "address", s.address));
}

static const json_t *drive_find(const struct disk_options *o, const char *name)
{
	const json_t *node;
	size_t i;

	json_array_foreach (o->nodes, i, node)
		if (!strcmp(text_of(node, "node-name"), name) || !strcmp(text_of(node, "id"), name))
			return node;
	return NULL;
}

static bool is_option(const char *word, const char *name)
{
	return *word == '-' && !strcmp(word + 1 + (word[1] == '-'), name);
}

/* Its value may look like an option. */
static bool is_for_guest(const char *word)
{
	return is_option(word, "append") || is_option(word, "fw_cfg");
}

/* A -drive without if=none is a device itself. */
static void drives_add(json_t *list, const struct disk_options *o)
{
	const json_t *node;
	size_t i;

	json_array_foreach (o->nodes, i, node)
		if (json_is_true(json_object_get(node, "-drive")) &&
		    strcmp(text_of(node, "if"), "none") != 0)
			server_add(list, o, node, "", text_of(node, "id"));
}

static void device_add(json_t *list, const struct disk_options *o, const char *value)
{
	json_t *device = vm_option_values(value, "driver");
	const char *drive = text_of(device, "drive");

	if (*drive)
		server_add(list, o, drive_find(o, drive), text_of(device, "id"), drive);
	json_decref(device);
}

static json_t *nodes_make(char *const *words, unsigned int nr)
{
	json_t *nodes = json_array(), *node;

	for (unsigned int i = 1; i + 1 < nr; i++) {
		bool is_drive = is_option(words[i], "drive");

		i += is_for_guest(words[i]);
		if (!is_drive && !is_option(words[i], "blockdev"))
			continue;
		node = vm_option_values(words[++i], is_drive ? "file" : "driver");
		json_object_set_new(node, "-drive", json_boolean(is_drive));
		json_array_append_new(nodes, node);
	}
	return nodes;
}

json_t *disk_servers_parse(char *const *words, unsigned int nr, const char *mounts,
			   const char *sys)
{
	struct disk_options o = {.nodes = nodes_make(words, nr), .mounts = mounts, .sys = sys};
	json_t *list = json_array();

	for (unsigned int i = 1; i + 1 < nr; i++)
		if (is_option(words[i], "device"))
			device_add(list, &o, words[++i]);
		else
			i += is_for_guest(words[i]);
	drives_add(list, &o);
	json_decref(o.nodes);
	return list;
}

json_t *disk_servers_read(pid_t pid)
{
	_cleanup_free_ char *mounts = calloc(1, MOUNTS_BYTES), *text = NULL;
	_cleanup_free_ char **words = NULL;
	unsigned int nr = 0;
	struct reread f;
	char path[64];

	if (proc_cmdline(pid, &text, &words, &nr))
		return NULL;

	snprintf(path, sizeof(path), "/proc/%d/mountinfo", (int)pid);
	reread_open(&f, path, false);
	if (mounts)
		reread_text(&f, mounts, MOUNTS_BYTES);
	reread_close(&f);
	return disk_servers_parse(words, nr, mounts ? mounts : "", "/sys");
}
