// SPDX-License-Identifier: GPL-2.0-or-later
/* export ctf: the directory of a trace in the Common Trace Format, which readers take as a whole. */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <string.h>

#include "base/error.h"
#include "base/safe_path.h"
#include "base/temporary.h"
#include "base/user_rights.h"
#include "commands/common/command.h"
#include "commands/export_events.h"
#include "output/event_formats.h"
#include "reports/rows.h"

static const char *const files[] = {"stream", "metadata"};

static bool is_ours(const char *name)
{
	return !strcmp(name, ".") || !strcmp(name, "..") || !strcmp(name, files[0]) ||
	       !strcmp(name, files[1]);
}

/* Readers take every file in the directory for a stream. */
static int directory_check(const char *given, const char *at)
{
	_cleanup_close_ int fd = safe_path_open(at, O_RDONLY | O_DIRECTORY, 0);
	_cleanup_closedir_ DIR *dir = fd < 0 ? NULL : fdopendir(fd);
	struct dirent *d;

	if (!dir)
		return fail(-errno, "%s: %s", given, strerror(errno));
	fd = -1; /* closedir() closes it */
	while ((d = readdir(dir)))
		if (!is_ours(d->d_name))
			return fail(
				-EEXIST,
				"%s holds other files (%s); give -o the name of a new directory",
				given, d->d_name);
	return 0;
}

/* *made: `*at`, which is then no longer the caller's. */
static int directory_make(const char *given, char **at, char **made)
{
	if (!safe_path_mkdir(*at)) {
		*made = *at;
		*at = NULL;
		return 0;
	}
	return errno == EEXIST ? directory_check(given, *at)
			       : fail(-errno, "%s: %s", given, strerror(errno));
}

/* "x.ctf/" -> the resolved path of x.ctf */
static int directory_resolve(const char *given, char **ret)
{
	_cleanup_free_ char *plain = strdup(given);
	size_t len = plain ? strlen(plain) : 0;

	while (len > 1 && plain[len - 1] == '/')
		plain[--len] = '\0';
	return plain ? safe_path_resolve(plain, ret) : fail(-ENOMEM, "out of memory");
}

static int directory_open(const char *given, char **made)
{
	uint64_t begun = user_rights_begin();
	_cleanup_free_ char *at = NULL;
	int err = directory_resolve(given, &at);

	if (!err)
		err = directory_make(given, &at, made);
	user_rights_end(begun);
	return err;
}

int export_ctf_open(const char *directory, struct export_ctf *to)
{
	struct new_file *const opened[] = {&to->stream, &to->metadata};
	char path[PATH_MAX];
	int err;

	*to = (struct export_ctf){0};
	err = directory_open(directory, &to->made);
	if (to->made)
		temporary_add(to->made);
	for (size_t i = 0; i < sizeof(files) / sizeof(files[0]) && !err; i++) {
		if (snprintf(path, sizeof(path), "%s/%s", directory, files[i]) >= PATH_MAX)
			err = fail(-ENAMETOOLONG, "%s: %s", directory, strerror(ENAMETOOLONG));
		else
			err = new_file_open(opened[i], path, false);
	}
	return err;
}

static int row_put(void *arg, const struct event_row *row, uint64_t lost)
{
	return event_ctf_row(arg, row, lost);
}

int export_ctf_write(const struct input_set *in, struct export_ctf *to)
{
	const struct trace_info *info = &in->reader->info;
	const struct event_ctf_clock clock = {.ticks = trace_info_in_ticks(info),
					      .offset_ns = trace_info_realtime_offset(info)};
	_cleanup_event_ctf_ struct event_ctf *ctf = event_ctf_new(to->stream.file, &clock);
	int err = ctf ? rows_each(in, row_put, ctf) : -ENOMEM, failed;

	if (!err)
		err = event_ctf_finish(ctf, in->reader->info.lost, to->metadata.file);
	if (!err && (failed = stream_flush(to->metadata.file))) /* before the stream gets its name */
		err = fail(-failed, "%s: %s", to->metadata.path, strerror(failed));
	if (!err && event_ctf_moved(ctf))
		command_note("%" PRIu64
			     " events out of time order got the time of the event before them",
			     event_ctf_moved(ctf));
	return err;
}

int export_ctf_close(struct export_ctf *to, int err)
{
	err = new_file_close(&to->stream, err);
	err = new_file_close(&to->metadata, err);
	if (err && to->made)
		safe_path_rmdir(to->made); /* the error is what is reported */
	temporary_remove(to->made);
	free(to->made);
	to->made = NULL;
	return err;
}
