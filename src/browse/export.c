// SPDX-License-Identifier: GPL-2.0-or-later
/* A window as a recording of its own, in a temporary file without a name: the page gets it in parts. */
#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#include "base/error.h"
#include "browse/answers.h"
#include "input/convert.h"

static int export_write(const struct input_set *set, FILE *file, struct converted *written)
{
	struct trace_writer_options opt = {.stream = fcntl(fileno(file), F_DUPFD_CLOEXEC,
							   STDERR_FILENO + 1)};

	if (opt.stream < 0)
		return fail(-errno, "fcntl: %s", strerror(errno));
	return input_set_convert(set, "the recording of the window", &opt, BROWSE_EXPORT_MAX,
				 written);
}

int browse_export(struct input_set *set, struct browse_answer *ret)
{
	struct converted written = {0};
	FILE *file;
	int err = input_set_open(set, NULL, NULL);

	if (err)
		return err;
	file = tmpfile();
	err = file ? export_write(set, file, &written)
		   : fail(-errno, "no temporary file: %s", strerror(errno));
	if (!err) {
		ret->status = 200;
		ret->type = "application/octet-stream";
		ret->file = file;
		return 0;
	}
	if (file)
		fclose(file);
	return err;
}
