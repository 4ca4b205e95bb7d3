// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * record --output -: the trace goes to what is standard output, and all else that would go there, as what the command
 * prints, to standard error.
 */
#include <errno.h>
#include <fcntl.h>

#include "base/error.h"
#include "commands/common/command.h"
#include "commands/live/record.h"

int record_stream_open(void)
{
	if (strcmp(record_opt.output, "-") != 0)
		return 0;
	if (options_unused_check("ring trigger wait sync guest guest-symbols",
				 "with -o -, which writes no file"))
		return -EINVAL;
	if (isatty(STDOUT_FILENO))
		return fail_usage(-EINVAL, "-o -: a trace is not written to a terminal; redirect "
					   "it, or pipe it to 'hostrace list --follow -i -'");
	record_opt.stream = fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
	if (record_opt.stream < 0 || dup2(STDERR_FILENO, STDOUT_FILENO) < 0)
		return fail(-errno, "standard output: %s", strerror(errno));
	record_opt.output = "standard output";
	return 0;
}
