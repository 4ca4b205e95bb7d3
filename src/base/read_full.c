// SPDX-License-Identifier: GPL-2.0-or-later
/* One loop for read(2) and pread(2) that continues after EINTR and short reads. */
#include <errno.h>
#include <stdbool.h>
#include <unistd.h>

#include "base/progress.h"
#include "base/read_full.h"

static ssize_t read_loop(int fd, char *to, size_t len, bool positioned, uint64_t offset)
{
	size_t done = 0;

	while (done < len) {
		ssize_t n = positioned ? pread(fd, to + done, len - done, (off_t)(offset + done))
				       : read(fd, to + done, len - done);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -errno;
		if (!n)
			break;
		progress_read((size_t)n);
		done += (size_t)n;
	}
	return (ssize_t)done;
}

ssize_t read_full(int fd, void *to, size_t len)
{
	return read_loop(fd, to, len, false, 0);
}

ssize_t pread_full(int fd, void *to, size_t len, uint64_t offset)
{
	return read_loop(fd, to, len, true, offset);
}
