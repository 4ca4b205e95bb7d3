// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Dumps of flight recorders in a directory, for exemplars: what triggered each of them is in its metadata
 * (doc/format.md, "trigger"), with the VM. Only regular files are read that belong to root or to the directory's
 * owner; what they contain is untrusted.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <string.h>
#include <sys/stat.h>

#include "base/array.h"
#include "base/clock.h"
#include "base/error.h"
#include "exporter/page.h"
#include "output/table.h"
#include "tracefile/format.h"

enum {
	FILES_MAX = 1024,
	READ_MAX = 8, /* files per scan */
};

#define FILE_BYTES_MAX (UINT64_C(4) << 30)

struct file {
	char name[NAME_MAX + 1];
	ino_t inode;
	bool seen, is_dump;
	struct exported_dump dump;
};

struct exported_dumps {
	DIR *dir;
	uid_t owner;
	struct file *list;
	unsigned int nr, beyond; /* files; those beyond the limit */
};

/* ---- one file ---- */

static void text_copy(const json_t *from, char ret[DUMP_TEXT_MAX])
{
	const char *text = json_string_value(from);

	snprintf(ret, DUMP_TEXT_MAX, "%s", text ? text : "");
}

/* "reason=io", "reason=io vcpu=0", "device=/machine/peripheral/disk/virtio-backend queue=0" */
static void what_find(const char *labels, char ret[DUMP_TEXT_MAX])
{
	bool is_known =
		labels && (!strncmp(labels, "reason=", 7) || !strncmp(labels, "device=", 7));
	const char *at = is_known ? labels + 7 : "";
	char text[DUMP_TEXT_MAX], buf[DUMP_TEXT_MAX];

	snprintf(text, sizeof(text), "%.*s", (int)strcspn(at, " "), at);
	snprintf(ret, DUMP_TEXT_MAX, "%s", path_print(text, buf, sizeof(buf)));
}

static const json_t *vm_find(const json_t *meta, json_int_t pid)
{
	const json_t *vms = json_object_get(meta, "vms");
	const json_t *vm;
	size_t i;

	json_array_foreach(vms, i, vm)
		if (json_integer_value(json_object_get(vm, "pid")) == pid)
			return vm;
	return NULL;
}

bool exported_dump_parse(const json_t *meta, struct exported_dump *ret)
{
	const json_t *trigger = json_object_get(meta, "trigger");
	json_int_t pid = json_integer_value(json_object_get(trigger, "pid")),
		   value = json_integer_value(json_object_get(trigger, "value_ns")),
		   when = json_integer_value(json_object_get(trigger, "realtime_ns")),
		   vcpu = json_integer_value(json_object_get(trigger, "vcpu"));
	const json_t *vm = vm_find(meta, pid);

	*ret = (struct exported_dump){.pid = (pid_t)pid};
	if (pid <= 0 || pid > INT_MAX || value <= 0 || when <= 0 || vcpu < -1 || vcpu > UINT_MAX)
		return false;
	ret->value_ns = (uint64_t)value;
	ret->unix_ms = (uint64_t)when / NS_PER_MS;
	ret->vcpu = (unsigned int)vcpu;
	text_copy(json_object_get(vm, "name"), ret->vm);
	text_copy(json_object_get(vm, "uuid"), ret->uuid);
	text_copy(json_object_get(trigger, "name"), ret->trigger);
	what_find(json_string_value(json_object_get(trigger, "labels")), ret->what);
	return *ret->vm && *ret->trigger;
}

/* Only such names can be in an exemplar without a change. */
static bool name_is_plain(const char *name)
{
	static const char chars[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
				    "-_.:,+=@~";

	return strlen(name) < DUMP_FILE_MAX && !name[strspn(name, chars)];
}

static bool file_is_trusted(const struct exported_dumps *d, int fd)
{
	struct stat st;

	return !fstat(fd, &st) && S_ISREG(st.st_mode) && (!st.st_uid || st.st_uid == d->owner) &&
	       (uint64_t)st.st_size <= FILE_BYTES_MAX;
}

static void file_read(const struct exported_dumps *d, struct file *f)
{
	_cleanup_close_ int fd = openat(dirfd(d->dir), f->name,
					O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC | O_NOCTTY);
	json_t *meta = NULL;

	if (fd < 0 || !name_is_plain(f->name) || !file_is_trusted(d, fd) ||
	    trace_meta_read(fd, f->name, &meta))
		return;
	f->is_dump = exported_dump_parse(meta, &f->dump);
	memcpy(f->dump.file, f->name, strlen(f->name) + 1);
	json_decref(meta);
}

/* ---- the directory ---- */

static struct file *file_find(struct exported_dumps *d, const struct dirent *e)
{
	return array_find(d->list, d->nr, i,
			  d->list[i].inode == e->d_ino && !strcmp(d->list[i].name, e->d_name));
}

static int file_add(struct exported_dumps *d, const struct dirent *e)
{
	int err = array_room(d->list, d->nr);

	if (err)
		return err;
	d->list[d->nr] = (struct file){.inode = e->d_ino, .seen = true};
	snprintf(d->list[d->nr].name, sizeof(d->list->name), "%s", e->d_name);
	file_read(d, &d->list[d->nr++]);
	return 0;
}

static void gone_remove(struct exported_dumps *d)
{
	unsigned int left = 0;

	for (unsigned int i = 0; i < d->nr; i++)
		if (d->list[i].seen)
			d->list[left++] = d->list[i];
	d->nr = left;
}

static bool is_hrt(const char *name)
{
	size_t len = strlen(name);

	return len > 4 && !strcmp(name + len - 4, ".hrt");
}

int exported_dumps_scan(struct exported_dumps *d)
{
	unsigned int nr_read = 0;
	struct dirent *e;
	int err = 0;

	for (unsigned int i = 0; i < d->nr; i++)
		d->list[i].seen = false;
	d->beyond = 0;
	rewinddir(d->dir);
	while (!err && (e = readdir(d->dir))) {
		struct file *known = is_hrt(e->d_name) ? file_find(d, e) : NULL;

		if (known)
			known->seen = true;
		else if (is_hrt(e->d_name) && d->nr == FILES_MAX)
			d->beyond++;
		else if (is_hrt(e->d_name) && nr_read++ < READ_MAX)
			err = file_add(d, e);
	}
	if (!err)
		gone_remove(d);
	return err;
}

unsigned int exported_dumps_nr(const struct exported_dumps *d)
{
	unsigned int nr = 0;

	for (unsigned int i = 0; i < d->nr; i++)
		nr += d->list[i].is_dump;
	return nr;
}

unsigned int exported_dumps_ignored(const struct exported_dumps *d)
{
	return d->nr - exported_dumps_nr(d) + d->beyond;
}

static bool is_like(const struct exported_dump *a, const struct exported_dump *b)
{
	return a->pid == b->pid && !strcmp(a->vm, b->vm) && !strcmp(a->uuid, b->uuid) &&
	       !strcmp(a->trigger, b->trigger) && !strcmp(a->what, b->what);
}

const struct exported_dump *exported_dumps_find(const struct exported_dumps *d,
						const struct exported_dump *like,
						unsigned int first, unsigned int last)
{
	const struct exported_dump *newest = NULL;

	for (unsigned int i = 0; i < d->nr; i++) {
		const struct exported_dump *dump = &d->list[i].dump;

		if (d->list[i].is_dump && is_like(dump, like) && dump->vcpu >= first &&
		    dump->vcpu <= last && (!newest || dump->unix_ms > newest->unix_ms))
			newest = dump;
	}
	return newest;
}

/* ---- start and end ---- */

struct exported_dumps *exported_dumps_new(const char *dir)
{
	_cleanup_(exported_dumps_cleanup_) struct exported_dumps *d = calloc(1, sizeof(*d));
	struct stat st;

	if (!d) {
		fail(-ENOMEM, "out of memory");
		return NULL;
	}
	d->dir = opendir(dir);
	if (!d->dir || fstat(dirfd(d->dir), &st)) {
		fail(-errno, "%s: %s", dir, strerror(errno));
		return NULL;
	}
	d->owner = st.st_uid;
	return take_ptr(d);
}

void exported_dumps_free(struct exported_dumps *d)
{
	if (!d)
		return;
	if (d->dir)
		closedir(d->dir);
	free(d->list);
	free(d);
}
