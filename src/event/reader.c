// SPDX-License-Identifier: GPL-2.0-or-later
#include <errno.h>
#include <stdarg.h>
#include <string.h>

#include "base/error.h"
#include "event/reader.h"

int reader_each(struct reader *r, int (*put)(void *arg, const struct event *ev), void *arg)
{
	_cleanup_free_ struct batch *batch = malloc(sizeof(*batch));
	int more = 0, ret = batch ? 0 : fail(-ENOMEM, "out of memory");

	while (!ret && (more = reader_next(r, batch)) > 0)
		for (unsigned int i = 0; !ret && i < batch->nr; i++)
			ret = put(arg, &batch->ev[i]);
	return ret ? ret : more;
}

int trace_info_init(struct trace_info *info, const char *file, const char *kind)
{
	*info = (struct trace_info){.file = strdup(file), .kind = kind, .meta = json_object(),
				    .caveats = json_array()};
	if (info->file && info->meta && info->caveats)
		return 0;
	trace_info_deinit(info);
	return fail(-ENOMEM, "%s: out of memory", file);
}

void trace_info_deinit(struct trace_info *info)
{
	free((void *)info->file);
	json_decref(info->meta);
	json_decref(info->caveats);
	*info = (struct trace_info){0};
}

void trace_info_caveat(struct trace_info *info, const char *fmt, ...)
{
	char text[512];
	va_list ap;
	size_t i;
	json_t *old;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	json_array_foreach(info->caveats, i, old)
		if (!strcmp(json_string_value(old), text))
			return;
	json_array_append_new(info->caveats, json_string(text));
}
