// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * QEMU counts the requests of each disk, their bytes, and the time that they took (BlockAcctStats): from when the
 * device's model has begun one until it has ended, including the time for which throttling holds it. Limits are those
 * of the disk itself (query-block), or of an object throttle-group, if a filter "throttle" is anywhere in the graph of
 * its block nodes, which query-block has as the "file" of the uppermost node (qapi/block-core.json).
 */
#include "vm/disks.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/array.h"
#include "base/error.h"
#include "base/json_text.h"
#include "event/event.h"
#include "vm/proc.h"
#include "vm/qmp.h"

enum { NAME_BYTES = 128, GROUPS_MAX = 64 };

/* ---- what QMP has of a disk ---- */

static const char *const counts[] = {"reads",	    "writes",	   "flushes",
				     "read_bytes", "write_bytes", "time_ns"};

/* Of query-block's "inserted", and of the limits of an object. */
static const char *const limits[][2] = {
	{"iops", "iops-total"},	    {"iops_rd", "iops-read"}, {"iops_wr", "iops-write"},
	{"bps", "bps-total"},	    {"bps_rd", "bps-read"},   {"bps_wr", "bps-write"},
	{"iops_size", "iops-size"},
};

static json_int_t positive(const json_t *o, const char *key)
{
	json_int_t v = number_of(o, key);

	return v > 0 ? v : 0;
}

static json_t *name_make(const char *text)
{
	char name[NAME_BYTES];

	snprintf(name, sizeof(name), "%s", text);
	text_sanitize(name);
	return json_string(name) ?: json_string("?"); /* cut within a character */
}

/* Of the two names of each limit, that with this index. */
static json_t *limits_make(const json_t *from, unsigned int name)
{
	json_t *to = json_object();

	for (size_t i = 0; i < sizeof(limits) / sizeof(*limits); i++)
		if (positive(from, limits[i][name]))
			json_object_set_new(to, limits[i][0],
					    json_integer(positive(from, limits[i][name])));
	return to;
}

/* 'json:{"throttle-group": "slow", "driver": "throttle", ...}': the name in it; "": there is none. */
static const char *filter_group(const char *file, char *buf, size_t size)
{
	static const char key[] = "\"throttle-group\": \"";
	const char *at = strstr(file, key);

	*buf = '\0';
	if (at)
		snprintf(buf, size, "%.*s", (int)strcspn(at + strlen(key), "\""), at + strlen(key));
	return buf;
}

static void limits_add(json_t *disk, const json_t *inserted, const json_t *groups)
{
	char filter[NAME_BYTES];
	const json_t *group = json_object_get(
		groups, filter_group(text_of(inserted, "file"), filter, sizeof(filter)));
	json_t *own = limits_make(inserted, 0);
	const char *name = text_of(inserted, "group");

	if (!json_object_size(own) && group) {
		json_decref(own);
		own = limits_make(group, 1);
		name = filter;
	}
	if (*name)
		json_object_set_new(disk, "group", name_make(name));
	json_object_set_new(disk, "limits", own);
}

static void stats_add(json_t *disk, const json_t *stats)
{
	static const char *const times[] = {"rd_total_time_ns", "wr_total_time_ns",
					    "flush_total_time_ns"};
	json_int_t time_ns = 0;

	for (size_t i = 0; i < sizeof(times) / sizeof(*times); i++)
		time_ns +=
			positive(stats, times[i]) < INT64_MAX / 4 ? positive(stats, times[i]) : 0;
	json_object_set_new(disk, "reads", json_integer(positive(stats, "rd_operations")));
	json_object_set_new(disk, "writes", json_integer(positive(stats, "wr_operations")));
	json_object_set_new(disk, "flushes", json_integer(positive(stats, "flush_operations")));
	json_object_set_new(disk, "read_bytes", json_integer(positive(stats, "rd_bytes")));
	json_object_set_new(disk, "write_bytes", json_integer(positive(stats, "wr_bytes")));
	json_object_set_new(disk, "time_ns", json_integer(time_ns));
}

static bool is_same(const json_t *a, const json_t *b)
{
	return !strcmp(text_of(a, "device"), text_of(b, "device")) &&
	       !strcmp(text_of(a, "qdev"), text_of(b, "qdev"));
}

/* The one of the list that has the same names; NULL: there is none. */
static const json_t *same_of(const json_t *list, const json_t *one)
{
	const json_t *other;
	size_t i;

	json_array_foreach (list, i, other)
		if (is_same(other, one))
			return other;
	return NULL;
}

static json_t *disk_make(const json_t *block, const json_t *stats, const json_t *groups)
{
	const char *id = text_of(block, "device"), *qdev = text_of(block, "qdev");
	json_t *disk = json_pack("{s:o}", "device", name_make(*id ? id : qdev));

	json_object_set_new(disk, "qdev", name_make(qdev));
	limits_add(disk, json_object_get(block, "inserted"), groups);
	stats_add(disk, json_object_get(stats, "stats"));
	return disk;
}

json_t *disks_parse(const json_t *blocks, const json_t *stats, const json_t *groups)
{
	json_t *list = json_array();
	json_int_t left_out = 0;
	const json_t *block;
	size_t i;

	json_array_foreach (blocks, i, block) {
		const json_t *of = same_of(stats, block);

		if (!json_object_get(block, "inserted") || !of)
			continue;
		if (json_array_size(list) < DISKS_MAX)
			json_array_append_new(list, disk_make(block, of, groups));
		else
			left_out++;
	}
	return json_pack("{s:o,s:I}", "list", list, "left_out", left_out);
}

json_t *disks_between(const json_t *first, const json_t *later)
{
	json_t *all = json_deep_copy(later), *disk;
	size_t i;

	json_array_foreach (json_object_get(all, "list"), i, disk) {
		const json_t *before = same_of(json_object_get(first, "list"), disk);

		for (size_t k = 0; k < sizeof(counts) / sizeof(*counts); k++) {
			json_int_t was = positive(before, counts[k]),
				   now = positive(disk, counts[k]);

			if (now >= was) /* else it is another one, which has the same name */
				json_object_set_new(disk, counts[k], json_integer(now - was));
		}
	}
	return all;
}

/* ---- asking ---- */

static json_t *property_get(struct qmp *q, const char *path, const char *name)
{
	json_t *value = NULL;

	return qmp_execute(q, "qom-get", json_pack("{s:s,s:s}", "path", path, "property", name),
			   &value)
		       ? NULL
		       : value;
}

/* Limits of each object throttle-group, by its name. */
static json_t *groups_query(struct qmp *q)
{
	json_t *list = NULL, *groups = json_object(), *limit;
	const json_t *one;
	char path[2 * NAME_BYTES];
	size_t i;

	if (qmp_execute(q, "qom-list", json_pack("{s:s}", "path", "/objects"), &list))
		return groups;
	json_array_foreach (list, i, one) {
		const char *name = text_of(one, "name");

		if (strcmp(text_of(one, "type"), "child<throttle-group>") ||
		    json_object_size(groups) >= GROUPS_MAX || strlen(name) >= NAME_BYTES)
			continue;
		snprintf(path, sizeof(path), "/objects/%s", name);
		limit = property_get(q, path, "limits");
		if (limit)
			json_object_set_new(groups, name, limit);
	}
	json_decref(list);
	return groups;
}

/* An id is that of a child of /machine/peripheral. */
static void model_add(struct qmp *q, json_t *disk)
{
	const char *qdev = text_of(disk, "qdev");
	char path[2 * NAME_BYTES];
	json_t *model, *bus;
	bool virtio;

	snprintf(path, sizeof(path), "%s%s", *qdev == '/' ? "" : "/machine/peripheral/", qdev);
	model = *qdev ? property_get(q, path, "type") : NULL;
	bus = *qdev ? property_get(q, path, "parent_bus") : NULL;
	virtio = (json_is_string(model) && !strncmp(json_string_value(model), "virtio", 6)) ||
		 (json_is_string(bus) && strstr(json_string_value(bus), "/virtio-backend"));
	if (json_is_string(model))
		json_object_set_new(disk, "model", name_make(json_string_value(model)));
	json_object_set_new(disk, "virtio", json_boolean(virtio));
	json_decref(model);
	json_decref(bus);
}

static int disks_ask(struct qmp *q, json_t **ret)
{
	json_auto_t *blocks = NULL, *stats = NULL, *groups = NULL;
	int err = qmp_execute(q, "query-block", NULL, &blocks);
	json_t *disk;
	size_t i;

	if (!err)
		err = qmp_execute(q, "query-blockstats", NULL, &stats);
	if (err)
		return err;
	groups = groups_query(q);
	*ret = disks_parse(blocks, stats, groups);
	json_array_foreach (json_object_get(*ret, "list"), i, disk)
		model_add(q, disk);
	return 0;
}

int disks_query(const char *socket, int patience_ms, json_t **ret, pid_t *ret_pid)
{
	_cleanup_(qmp_cleanup_) struct qmp *q = NULL;
	int err = qmp_open(socket, patience_ms, &q);

	*ret = NULL;
	if (err)
		return err;
	*ret_pid = qmp_pid(q);
	return disks_ask(q, ret);
}

/* ---- the command line ---- */

/* "ide-hd,drive=d0", "drive,file=web.img,if=ide"; libvirt writes the first. */
static bool is_other_disk(const char *device)
{
	static const char *const models[] = {"ide-hd", "nvme", "usb-storage", "usb-uas", "sd-card"};
	size_t len = strcspn(device, ",");

	if (!strncmp(device, "drive,", 6))
		return !strstr(device, ",if=pflash") && !strstr(device, ",media=cdrom") &&
		       !strstr(device, ",if=floppy");
	return array_any(sizeof(models) / sizeof(*models), i,
			 len == strlen(models[i]) && !strncmp(device, models[i], len));
}

/* A bus of virtio-scsi is its disks', too, if the VM has one. */
static bool is_scsi_disk(const char *device)
{
	return !strncmp(device, "scsi-hd", 7) || !strncmp(device, "scsi-block", 10);
}

/* The first whose name begins with one of these; NULL: there is none. */
static const char *device_find(const json_t *devices, const char *const *prefixes, size_t nr)
{
	const json_t *one;
	size_t i;

	json_array_foreach (devices, i, one) {
		const char *device = json_is_string(one) ? json_string_value(one) : "";

		if (array_any(nr, k, !strncmp(device, prefixes[k], strlen(prefixes[k]))))
			return device;
	}
	return NULL;
}

const char *disks_other_of(const json_t *vm)
{
	const json_t *devices = json_object_get(vm, "devices"), *one;
	static const char *const scsi[] = {"virtio-scsi"};
	bool virtio_scsi = device_find(devices, scsi, 1);
	size_t i;

	json_array_foreach (devices, i, one) {
		const char *device = json_is_string(one) ? json_string_value(one) : "";

		/* without if= the machine chooses: "virt" virtio */
		if (!strncmp(device, "drive,", 6) && !strstr(device, ",if=") &&
		    strstr(text_of(vm, "machine"), "virt"))
			continue;
		if (is_other_disk(device) || (!virtio_scsi && is_scsi_disk(device)))
			return device;
	}
	return strstr(text_of(vm, "cmdline"), " -hda ") ? "-hda" : NULL;
}

const char *disks_outside_of(const json_t *vm)
{
	static const char *const models[] = {"vhost-user-blk", "vhost-user-scsi", "vhost-scsi"};

	return device_find(json_object_get(vm, "devices"), models,
			   sizeof(models) / sizeof(*models));
}

bool disks_throttled_by_option(const json_t *vm)
{
	static const char *const words[] = {"throttling.", ",iops", ",bps", "throttle-group"};

	return array_any(sizeof(words) / sizeof(*words), i,
			 strstr(text_of(vm, "cmdline"), words[i]));
}

/* The value of a key in "KEY=VALUE,KEY=VALUE", with its doubled commas; false: it has none. */
static bool key_find(const char *text, const char *key, char *buf, size_t size)
{
	size_t len = strlen(key), n = 0;

	while (strncmp(text, key, len) || text[len] != '=') {
		text = strchr(text, ',');
		if (!text)
			return false;
		text++;
	}
	for (const char *p = text + len + 1; *p && (*p != ',' || p[1] == ','); p++) {
		p += *p == ',';
		if (n + 1 < size)
			buf[n++] = *p;
	}
	buf[n] = '\0';
	return n;
}

/* "unix:PATH,server=on,wait=off": one that connects to a client itself has no path for us. */
static bool unix_find(const char *text, char *ret, size_t size)
{
	char item[PATH_MAX];

	if (strncmp(text, "unix:", 5) || !strstr(text, ",server") || strstr(text, ",server=off"))
		return false;
	snprintf(item, sizeof(item), "path=%s", text + 5);
	return key_find(item, "path", ret, size);
}

/* -chardev socket,id=ID,path=PATH,server=on: of the chardev with this id. */
static bool chardev_find(char *const *words, unsigned int nr, const char *id, char *ret,
			 size_t size)
{
	char of[NAME_BYTES];

	for (unsigned int i = 1; i + 1 < nr; i++)
		if (!strcmp(words[i] + (words[i][0] == '-' && words[i][1] == '-'), "-chardev") &&
		    !strncmp(words[i + 1], "socket,", 7) &&
		    key_find(words[i + 1], "id", of, sizeof(of)) && !strcmp(of, id) &&
		    strstr(words[i + 1], ",server") && !strstr(words[i + 1], ",server=off"))
			return key_find(words[i + 1], "path", ret, size);
	return false;
}

/* "chardev=ID,mode=control", "ID,mode=control" */
static bool mon_chardev(const char *value, char *ret, size_t size)
{
	size_t len = strcspn(value, ",");

	if (key_find(value, "chardev", ret, size))
		return true;
	if (memchr(value, '=', len) || len >= size)
		return false;
	snprintf(ret, size, "%.*s", (int)len, value);
	return true;
}

void disks_monitor_find(char *const *words, unsigned int nr, char *ret, size_t size)
{
	char id[NAME_BYTES], mode[NAME_BYTES];

	for (unsigned int i = 1; i + 1 < nr; i++) {
		const char *name = words[i], *value = words[i + 1];

		if (*name++ != '-')
			continue;
		name += *name == '-';
		if ((!strcmp(name, "qmp") || !strcmp(name, "qmp-pretty")) &&
		    unix_find(value, ret, size))
			return;
		if (!strcmp(name, "mon") && key_find(value, "mode", mode, sizeof(mode)) &&
		    !strcmp(mode, "control") && mon_chardev(value, id, sizeof(id)) &&
		    chardev_find(words, nr, id, ret, size))
			return;
	}
	*ret = '\0';
}

int disks_monitor_open(pid_t pid)
{
	_cleanup_free_ char *text = NULL;
	_cleanup_free_ char **words = NULL;
	char path[PATH_MAX] = "", whole[PATH_MAX + 64];
	unsigned int nr = 0;
	int fd;

	if (!proc_cmdline(pid, &text, &words, &nr))
		disks_monitor_find(words, nr, path, sizeof(path));
	if (!*path)
		return fail(-ENOENT, "its command line has no QMP monitor at a UNIX socket");
	snprintf(whole, sizeof(whole), "/proc/%d/%s/%s", (int)pid, *path == '/' ? "root" : "cwd",
		 path);
	fd = open(whole, O_PATH | O_CLOEXEC);
	return fd < 0 ? fail(-errno, "%s: %s", path, strerror(errno)) : fd;
}
