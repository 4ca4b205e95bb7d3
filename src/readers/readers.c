// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The list of readers. A file is opened by its content: each reader looks at the first bytes, the list's order decides
 * between texts that several accept, and a compressed file is recognized only to name the program that unpacks it.
 */
#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>

#include "base/error.h"
#include "base/read_full.h"
#include "event/reader.h"
#include "readers/ftrace/tracedat.h"
#include "readers/osv/osv.h"
#include "readers/perf/perfdata.h"
#include "readers/qemu/qemu_reader.h"
#include "readers/readers.h"
#include "readers/ring/ring_image.h"
#include "readers/ring/stream_reader.h"
#include "readers/text/tracetext.h"
#include "tracefile/tracefile.h"

const struct reader_ops *const readers[] = {
	&tracefile_reader,
	&textfile_reader,
	&ring_reader,
	&stream_reader,
	&tracedat_reader,
	&perfdata_reader,
	&tracefs_reader,
	&simpletrace_reader,
	&tracetext_reader,
	&qemulog_reader,
	&osv_reader,
	NULL,
};

static int read_head(const char *path, uint8_t *head, size_t *ret_len)
{
	_cleanup_close_ int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY);
	struct stat st;

	if (fd < 0)
		return fail(-errno, "%s: %s", path, strerror(errno));
	if (!fstat(fd, &st) && S_ISDIR(st.st_mode))
		return fail(-EISDIR, "%s is a directory, not a trace", path);
	ssize_t n = read_full(fd, head, READER_PROBE_BYTES);

	if (n < 0)
		return fail((int)n, "%s: %s", path, strerror((int)-n));
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

static uint64_t bytes_of(const char *path)
{
	struct stat st;

	return !stat(path, &st) && S_ISREG(st.st_mode) ? (uint64_t)st.st_size : 0;
}

static int open_as(const struct reader_ops *ops, const char *path, const struct read_hint *hint,
		   struct reader **ret)
{
	struct progress_input progress;
	int err;

	progress_input_open(&progress, bytes_of(path));
	err = ops->open(path, hint, ret);
	if (err)
		progress_input_close(&progress);
	if (err)
		return err;
	(*ret)->progress = progress;
	trace_info_cut(&(*ret)->info);
	return 0;
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
			return open_as(*ops, path, hint, ret);
	fail(-EINVAL, "%s: unrecognized trace format", path);
	if (!directory && unpacker(head, len))
		return fail_hint(-EINVAL, "the file is compressed; decompress it with %s",
				 unpacker(head, len));
	return fail_hint(-EINVAL,
			 "supported: .hrt files and their text form, trace.dat, perf.data, text "
			 "of tracefs, trace-cmd report and perf script, raw pages of tracefs, "
			 "QEMU logs, simpletrace files, guest rings, OSv traces");
}
