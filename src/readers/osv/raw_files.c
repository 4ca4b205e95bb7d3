// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Images of rings in files (memory dumps, `guest extract --raw`), with a description in JSON:
 *
 *   {"page_size": 4096, "backtrace_len": 10,
 *    "cpus": [{"file": "x.ring0.bin", "size": BYTES, "last": OFFSET}, ...],
 *    "tracepoints": [{"key": ADDRESS, "name": "...", "sig": "...", "format": "..."}, ...]}
 *
 * Files must be in the directory of the description.
 */
#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <string.h>
#include <sys/stat.h>

#include "base/error.h"
#include "base/file_map.h"
#include "readers/osv/raw.h"

enum { DESCRIPTION_MAX = 64 << 20, BACKTRACE_SLOTS = 10 };

bool osv_is_rings(const uint8_t *head, size_t len)
{
	static const char first[] = "\"page_size\"";
	size_t i = 1;

	if (!len || head[0] != '{')
		return false;
	while (i < len && strchr(" \t\r\n", head[i]) && head[i])
		i++;
	return len - i >= sizeof(first) - 1 && !memcmp(head + i, first, sizeof(first) - 1);
}

struct image {
	void *map;
	size_t len;
};

static void images_free(struct image *img, size_t nr)
{
	for (size_t i = 0; img && i < nr; i++)
		file_unmap(img[i].map, img[i].len);
	free(img);
}

/* Maps a file of the directory of `path`; at least `size` bytes long. */
static int image_map(const char *path, const char *name, uint64_t size, struct image *ret)
{
	const char *slash = strrchr(path, '/');
	_cleanup_free_ char *file = NULL;
	struct stat st;

	if (strchr(name, '/'))
		return fail(-EBADMSG, "%s: '%s' is in another directory", path, name);
	if (asprintf(&file, "%.*s%s", slash ? (int)(slash + 1 - path) : 0, path, name) < 0)
		return fail(-ENOMEM, "out of memory");
	_cleanup_close_ int fd = open(file, O_RDONLY | O_CLOEXEC);

	if (fd < 0 || fstat(fd, &st))
		return fail(-errno, "%s: %s", file, strerror(errno));
	if (!S_ISREG(st.st_mode) || (uint64_t)st.st_size < size)
		return fail(-EBADMSG, "%s: shorter than the %llu bytes given in %s", file,
			    (unsigned long long)size, path);
	ret->map = file_map(fd, size, file);
	ret->len = size;
	return ret->map ? 0 : -EIO;
}

static int ring_read(const char *path, const json_t *cpu, struct image *img, struct osv_ring *ret)
{
	const char *name = json_string_value(json_object_get(cpu, "file"));
	json_int_t size = json_integer_value(json_object_get(cpu, "size"));
	json_int_t last = json_integer_value(json_object_get(cpu, "last"));
	int err;

	if (!name || size <= 0 || size > OSV_RING_BYTES_MAX || last < 0)
		return fail(-EBADMSG, "%s: a ring without a file, or with an invalid size", path);
	err = image_map(path, name, (uint64_t)size, img);
	if (err)
		return err;
	*ret = (struct osv_ring){img->map, (uint64_t)size, (uint64_t)last};
	return 0;
}

static char *text_of(const json_t *tp, const char *key)
{
	const char *text = json_string_value(json_object_get(tp, key));

	return text && strlen(text) < OSV_RING_TEXT_MAX ? strdup(text) : NULL;
}

static int lookup_in_file(void *ctx, uint64_t key, struct osv_raw_tracepoint *ret)
{
	json_t *list = ctx, *tp;
	size_t i;

	json_array_foreach(list, i, tp)
		if ((uint64_t)json_integer_value(json_object_get(tp, "key")) == key) {
			*ret = (struct osv_raw_tracepoint){text_of(tp, "name"), text_of(tp, "sig"),
							   text_of(tp, "format")};
			return 0;
		}
	return -ENOENT;
}

static int described_open(const char *path, const json_t *all, struct image *img,
			  struct osv_ring *rings, struct sample_trace **ret)
{
	json_t *cpus = json_object_get(all, "cpus"), *cpu;
	struct osv_raw_counts counts;
	int err = 0;
	size_t i;

	json_array_foreach(cpus, i, cpu)
		if (!err)
			err = ring_read(path, cpu, &img[i], &rings[i]);
	if (err)
		return err;
	return osv_raw_open(path, rings, (unsigned int)json_array_size(cpus), lookup_in_file,
			    json_object_get(all, "tracepoints"), ret, &counts);
}

static int description_check(const char *path, const json_t *all)
{
	if (json_integer_value(json_object_get(all, "page_size")) != OSV_RING_PAGE ||
	    json_integer_value(json_object_get(all, "backtrace_len")) != BACKTRACE_SLOTS)
		return fail(-EBADMSG, "%s: only rings with pages of %d bytes and backtraces of %d "
				      "are known",
			    path, OSV_RING_PAGE, BACKTRACE_SLOTS);
	if (json_array_size(json_object_get(all, "cpus")) > OSV_STREAMS_MAX ||
	    json_array_size(json_object_get(all, "tracepoints")) > OSV_RING_TRACEPOINTS_MAX)
		return fail(-E2BIG, "%s: too many rings or tracepoints", path);
	return 0;
}

int osv_raw_files_open(const char *path, struct sample_trace **ret)
{
	struct stat st;
	json_error_t wrong;
	json_t *all;
	size_t nr;
	int err;

	if (stat(path, &st) || st.st_size > DESCRIPTION_MAX)
		return fail(-E2BIG, "%s: too large for a description of rings", path);
	all = json_load_file(path, 0, &wrong);
	if (!all)
		return fail(-EBADMSG, "%s: line %d: %s", path, wrong.line, wrong.text);
	err = description_check(path, all);
	nr = json_array_size(json_object_get(all, "cpus"));
	struct image *img = calloc(nr + 1, sizeof(*img));
	struct osv_ring *rings = calloc(nr + 1, sizeof(*rings));

	if (!err && (!img || !rings))
		err = fail(-ENOMEM, "out of memory");
	if (!err)
		err = described_open(path, all, img, rings, ret);
	images_free(img, nr);
	free(rings);
	json_decref(all);
	return err;
}
