// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The list of readers. A file is opened by its content: each reader looks at the first bytes, the list's order decides
 * between texts that several accept, and a compressed file is recognized only to name the program that unpacks it.
 */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>

#include "base/error.h"
#include "base/read_full.h"
#include "event/reader.h"
#include "readers/ctf/ctf.h"
#include "readers/ftrace/tracedat.h"
#include "readers/osv/osv.h"
#include "readers/perf/perfdata.h"
#include "readers/perfetto/perfetto.h"
#include "readers/qemu/qemu_reader.h"
#include "readers/readers.h"
#include "readers/ring/ring_image.h"
#include "readers/ring/stream_reader.h"
#include "readers/text/lines.h"
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
	&ctf_reader,
	&perfetto_reader,
	&simpletrace_reader,
	&tracetext_reader,
	&qemulog_reader,
	&osv_reader,
	NULL,
};

enum { LATER_MAX = 16 << 20 }; /* bytes of text before the first event: perf script --header of a large machine */

static int read_head(const char *path, struct open_files *files, uint8_t *head, size_t *ret_len)
{
	_cleanup_close_ int fd = open_files_get(files, path);
	struct stat st = {0};

	if (fd < 0)
		return fail(-errno, "%s: %s", path, strerror(errno));
	if (!fstat(fd, &st) && S_ISDIR(st.st_mode))
		return fail(-EISDIR, "%s is a directory, not a trace", path);
	ssize_t n = S_ISREG(st.st_mode) ? pread_full(fd, head, READER_PROBE_BYTES, 0)
					: read_full(fd, head, READER_PROBE_BYTES);

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

#define ZIP_MAGIC "PK\x03\x04"

/* Its files may not be compressed, and are not those of one recording. */
static bool is_archive(const uint8_t *head, size_t len)
{
	return (len > 4 && !memcmp(head, ZIP_MAGIC, 4)) ||
	       (len > 262 && !memcmp(head + 257, "ustar", 5));
}

/* The program that unpacks what begins so; NULL: it is not packed. */
static const char *unpacker(const uint8_t *head, size_t len)
{
	static const struct {
		const char *magic;
		size_t len;
		const char *program;
	} known[] = {{"\x1f\x8b", 2, "gunzip"},
		     {"\x28\xb5\x2f\xfd", 4, "unzstd"},
		     {"\xfd"
		      "7zXZ",
		      5, "unxz"},
		     {"BZh", 3, "bunzip2"},
		     {"\x04\x22\x4d\x18", 4, "unlz4"},
		     {"\x02\x21\x4c\x18", 4, "unlz4"},
		     {ZIP_MAGIC, 4, "unzip -p"},
		     {"\x89LZO", 4, "lzop -d"},
		     {"LZIP", 4, "lzip -d"},
		     {"7z\xbc\xaf\x27\x1c", 6, "7z x"},
		     {"\x5d\x00\x00\x80\x00", 5, "unlzma"}};

	for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++)
		if (len > known[i].len && !memcmp(head, known[i].magic, known[i].len))
			return known[i].program;
	return is_archive(head, len) ? "tar -x" : NULL;
}

static const struct reader_ops *reader_find(const uint8_t *head, size_t len, bool text)
{
	for (const struct reader_ops *const *ops = readers; *ops; ops++)
		if ((*ops)->probe && (!text || (*ops)->text) && (*ops)->probe(head, len))
			return *ops;
	return NULL;
}

/*
 * Looks for an event in the text after its first bytes, which are `head`: in parts of READER_PROBE_BYTES, of which each
 * begins with a line. NULL: there is none, or it is no text.
 */
static const struct reader_ops *reader_find_later(const char *path, struct open_files *files,
						  const uint8_t *head, size_t len)
{
	_cleanup_close_ int fd = open_files_get(files, path);
	const struct reader_ops *found = NULL;
	uint8_t part[READER_PROBE_BYTES];
	ssize_t n = (ssize_t)len;

	if (fd < 0 || memchr(head, '\0', len))
		return NULL;
	memcpy(part, head, len);
	for (off_t at = 0; !found && n == READER_PROBE_BYTES && at < LATER_MAX;) {
		const uint8_t *line = memrchr(part, '\n', (size_t)n);

		at += line ? line + 1 - part : n;
		n = pread(fd, part, READER_PROBE_BYTES, at);
		found = n > 0 ? reader_find(part, (size_t)n, true) : NULL;
	}
	return found;
}

/* By what it holds; of no recording the last one reports that. */
static const struct reader_ops *directory_reader(const char *path)
{
	const struct reader_ops *last = NULL;

	for (const struct reader_ops *const *ops = readers; *ops; ops++) {
		if (((*ops)->directory && directory_holds(path, (*ops)->directory)) ||
		    ((*ops)->probe_directory && (*ops)->probe_directory(path)))
			return *ops;
		last = (*ops)->directory ? *ops : last;
	}
	return last;
}

static int unrecognized(const char *path, const char *program)
{
	fail(-EINVAL, "%s: unrecognized trace format", path);
	if (program)
		return fail_hint(-EINVAL, "the file is compressed; decompress it with %s", program);
	return fail_hint(-EINVAL,
			 "supported: .hrt files and their text form, trace.dat, perf.data, text "
			 "of tracefs, trace-cmd report and perf script, directories of CTF traces "
			 "(LTTng), traces of Perfetto, raw pages of tracefs, "
			 "QEMU logs, simpletrace files, guest rings, OSv traces");
}

static int file_recognize(const char *path, struct open_files *files, const struct reader_ops **ret)
{
	uint8_t head[READER_PROBE_BYTES];
	size_t len = 0;
	const char *program;
	bool archive;
	int err = read_head(path, files, head, &len);

	if (err)
		return err;
	program = unpacker(head, len);
	archive = is_archive(head, len);
	text_decode(text_encoding_of(head, len), head, &len);
	*ret = program && archive ? NULL : reader_find(head, len, false);
	if (!*ret && !program)
		*ret = reader_find_later(path, files, head, len);
	if (*ret)
		return 0;
	err = program ? 0 : other_format_refuse(path, files, head, len);
	return err ? err : unrecognized(path, program);
}

int reader_recognize(const char *path, struct open_files *files, const struct reader_ops **ret)
{
	const struct reader_ops **known = open_files_format(files, path);
	int err;

	*ret = known ? *known : NULL;
	if (*ret)
		return 0;
	if (is_directory(path)) {
		*ret = directory_reader(path);
		return *ret ? 0 : unrecognized(path, NULL);
	}
	err = file_recognize(path, files, ret);
	known = err ? NULL : open_files_format(files, path);
	if (known)
		*known = *ret;
	return err;
}

int reader_open(const char *path, const struct read_hint *hint, struct reader **ret)
{
	const struct reader_ops *ops = &tracefile_live_reader;
	bool follow = hint && hint->follow;
	int err = follow ? 0 : reader_recognize(path, hint ? hint->files : NULL, &ops);

	return err ? err : open_as(ops, path, hint, ret);
}
