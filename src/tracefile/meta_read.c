// SPDX-License-Identifier: GPL-2.0-or-later
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "base/read_full.h"
#include "tracefile/map.h"
#include "tracefile/meta_read.h"

static int header_check(int fd, const char *file)
{
	uint8_t head[TRACE_HEADER_SIZE];
	struct trace_header h;
	ssize_t n = pread_full(fd, head, sizeof(head), 0);

	return n < 0 ? fail((int)n, "%s: %s", file, strerror((int)-n))
		     : trace_header_decode(head, (size_t)n, file, &h);
}

/* Later metadata override earlier ones key by key. */
static int chunk_add(struct chunk_loader *loader, const struct chunk_ref *ref, const char *file,
		     json_t *to)
{
	_cleanup_free_ uint8_t *text = malloc(ref->h.raw + 1);
	json_error_t why;
	json_t *json;
	int err = text ? chunk_load(loader, ref, text) : fail(-ENOMEM, "out of memory");

	if (err)
		return err;
	json = json_loadb((char *)text, ref->h.raw, 0, &why);
	if (!json_is_object(json))
		err = fail(-EINVAL, "%s: offset %" PRIu64 ": the metadata is not a JSON object",
			   file, ref->offset);
	else if (json_object_update(to, json))
		err = fail(-ENOMEM, "out of memory");
	json_decref(json);
	return err;
}

static int chunks_read(int fd, const char *file, struct trace_info *info)
{
	struct chunk_loader *loader = chunk_loader_new(fd, file);
	struct trace_map map = {0};
	int err = loader ? trace_map_load(fd, info, &map) : fail(-ENOMEM, "out of memory");

	for (size_t i = 0; i < map.nr && !err; i++)
		if (map.refs[i].h.kind == CHUNK_META)
			err = chunk_add(loader, &map.refs[i], file, info->meta);
	trace_map_deinit(&map);
	chunk_loader_free(loader);
	return err;
}

int trace_meta_read(int fd, const char *file, json_t **ret)
{
	struct trace_info info = {0};
	int err = header_check(fd, file);

	if (!err)
		err = trace_info_init(&info, file, "hrt");
	if (!err)
		err = chunks_read(fd, file, &info);
	if (!err)
		*ret = json_incref(info.meta);
	trace_info_deinit(&info);
	return err;
}
