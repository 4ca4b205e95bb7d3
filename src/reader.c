// SPDX-License-Identifier: GPL-2.0-or-later
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"
#include "reader.h"
#include "readers.h"

static int read_head(const char *path, uint8_t *head, size_t *ret_len)
{
	_cleanup_close_ int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY);
	struct stat st;

	if (fd < 0)
		return fail(-errno, "%s: %s", path, strerror(errno));
	if (!fstat(fd, &st) && S_ISDIR(st.st_mode))
		return fail(-EISDIR, "%s is a directory, not a trace", path);
	ssize_t n = read(fd, head, READER_PROBE_BYTES);

	if (n < 0)
		return fail(-errno, "%s: %s", path, strerror(errno));
	if (!n)
		return fail(-ENODATA, "%s is empty", path);
	*ret_len = (size_t)n;
	return 0;
}

static bool is_directory(const char *path)
{
	struct stat st;

	return !stat(path, &st) && S_ISDIR(st.st_mode);
}

/* The program that unpacks what begins so; NULL: it is not packed. */
static const char *unpacker(const uint8_t *head, size_t len)
{
	static const struct {
		const char *magic, *program;
	} known[] = {{"\x1f\x8b", "gunzip"}, {"\x28\xb5\x2f\xfd", "unzstd"},
		     {"\xfd" "7zXZ", "unxz"}, {"BZh", "bunzip2"}};

	for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++)
		if (len > strlen(known[i].magic) &&
		    !memcmp(head, known[i].magic, strlen(known[i].magic)))
			return known[i].program;
	return NULL;
}

int reader_open(const char *path, const struct read_hint *hint, struct reader **ret)
{
	uint8_t head[READER_PROBE_BYTES];
	size_t len = 0;
	bool directory = is_directory(path);
	int err = directory ? 0 : read_head(path, head, &len);

	if (err)
		return err;
	for (const struct reader_ops *const *ops = readers; *ops; ops++)
		if (directory ? (*ops)->directory : (*ops)->probe && (*ops)->probe(head, len))
			return (*ops)->open(path, hint, ret);
	fail(-EINVAL, "%s is no trace that hostrace knows", path);
	if (!directory && unpacker(head, len))
		return fail_hint(-EINVAL, "it is compressed: unpack it with %s",
				 unpacker(head, len));
	return fail_hint(-EINVAL, "it reads .hrt files and their text form, trace.dat, perf.data, "
				  "tracefs's text and raw pages, guest rings and OSv's traces");
}

int reader_each(struct reader *r, int (*take)(void *arg, const struct event *ev), void *arg)
{
	_cleanup_free_ struct batch *batch = malloc(sizeof(*batch));
	int more = 0, ret = batch ? 0 : fail(-ENOMEM, "out of memory");

	while (!ret && (more = reader_next(r, batch)) > 0)
		for (unsigned int i = 0; !ret && i < batch->nr; i++)
			ret = take(arg, &batch->ev[i]);
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
