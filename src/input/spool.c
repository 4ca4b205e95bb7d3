// SPDX-License-Identifier: GPL-2.0-or-later
/* Traces that come through a pipe, until its end or ^C. */
#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <string.h>
#include <sys/stat.h>

#include "base/error.h"
#include "base/live_read.h"
#include "base/units.h"
#include "input/input_set.h"

enum { COPY_BYTES = 64 * 1024 };

/* -1: the path names no descriptor of this process. */
static int descriptor_of(const char *path)
{
	static const char *const folders[] = {"/dev/fd/", "/proc/self/fd/"};
	uint64_t fd;

	if (!strcmp(path, "/dev/stdin"))
		return STDIN_FILENO;
	for (size_t i = 0; i < sizeof(folders) / sizeof(*folders); i++) {
		size_t len = strlen(folders[i]);

		if (!strncmp(path, folders[i], len) && !parse_u64(path + len, &fd) && fd <= INT_MAX)
			return (int)fd;
	}
	return -1;
}

static int copy_bytes(const char *path, struct live_read *from, FILE *to, uint64_t max_bytes)
{
	char buf[COPY_BYTES];
	uint64_t sum = 0;
	ssize_t n;

	while ((n = live_read(from, buf, sizeof(buf))) != 0) {
		if (n < 0)
			return fail(-errno, "%s: %s", path, strerror(errno));
		sum += (uint64_t)n;
		if (sum > max_bytes)
			return fail_hint(fail(-EFBIG,
					      "%s: more than %" PRIu64
					      " bytes are not read from a pipe",
					      path, max_bytes),
					 "write the trace to a file and name the file");
		if (fwrite(buf, 1, (size_t)n, to) != (size_t)n)
			break;
	}
	if (!ferror(to) && !fflush(to))
		return 0;
	return fail_hint(fail(-errno, "%s: cannot copy the pipe to a temporary file in %s: %s",
			      path, P_tmpdir, strerror(errno)),
			 "write the trace to a file and name the file");
}

static int copy(const char *path, int fd, FILE *to, uint64_t max_bytes)
{
	struct live_read from;
	int err;

	live_read_begin(&from, fd);
	err = copy_bytes(path, &from, to, max_bytes);
	live_read_end(&from);
	return err;
}

int input_spool(const char **path, uint64_t max_bytes)
{
	_cleanup_fclose_ FILE *f = NULL;
	struct stat st;
	int fd, err;

	if (!strcmp(*path, "-"))
		*path = "/dev/stdin";
	if (stat(*path, &st) || !(S_ISFIFO(st.st_mode) || S_ISSOCK(st.st_mode)))
		return 0; /* what is wrong with it, its reader reports */
	fd = descriptor_of(*path);
	if (fd < 0)
		return fail_hint(fail(-EINVAL, "%s is a named pipe or a socket", *path),
				 "read it as standard input: -i - < %s", *path);
	f = tmpfile();
	if (!f)
		return fail(-errno, "%s: no temporary file in %s: %s", *path, P_tmpdir,
			    strerror(errno));
	err = copy(*path, fd, f, max_bytes);
	if (!err && dup2(fileno(f), fd) < 0)
		err = fail(-errno, "%s: %s", *path, strerror(errno));
	return err;
}
