// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * hostrace mcp: reports for an assistant, by the Model Context Protocol on standard input and output (mcp/mcp.h). The
 * process is confined as a report is before it reads the first message: to the files of its command line.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/error.h"
#include "commands/common/command.h"
#include "commands/common/confined.h"
#include "commands/common/input.h"
#include "mcp/mcp.h"

static const struct option_row *const options[] = {NULL};

/* What was read and is not answered. */
struct mcp_input {
	char *text; /* MCP_LINE_MAX + 1 bytes */
	size_t len;
	bool skips; /* the rest of a line that is too long */
};

static int mcp_reply(char *text)
{
	int err = 0;

	if (!text)
		return 0;
	if (fputs(text, stdout) < 0 || putchar('\n') < 0 || fflush(stdout))
		err = -errno;
	free(text);
	return err;
}

static int mcp_line(struct mcp *m, const char *line, size_t len)
{
	len -= len && line[len - 1] == '\r';
	return len ? mcp_reply(mcp_answer(m, line, len)) : 0;
}

/* Answers the complete lines; what is left is moved to the front. */
static int mcp_lines(struct mcp *m, struct mcp_input *in)
{
	char *line = in->text, *end = in->text + in->len, *eol;
	int err = 0;

	while (!err && (eol = memchr(line, '\n', (size_t)(end - line)))) {
		if (!in->skips)
			err = mcp_line(m, line, (size_t)(eol - line));
		in->skips = false;
		line = eol + 1;
	}
	in->len = (size_t)(end - line);
	memmove(in->text, line, in->len);
	if (err || in->len <= MCP_LINE_MAX)
		return err;
	in->len = 0;
	if (in->skips)
		return 0;
	in->skips = true;
	return mcp_reply(mcp_too_long());
}

/* Until the end of standard input. 0 or -errno; -EPIPE: nobody reads the answers any more. */
static int mcp_serve(struct mcp *m, struct mcp_input *in)
{
	int err = 0;

	while (!err) {
		ssize_t n = read(STDIN_FILENO, in->text + in->len, MCP_LINE_MAX + 1 - in->len);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return fail(-errno, "standard input: %s", strerror(errno));
		if (!n)
			return in->skips ? 0 : mcp_line(m, in->text, in->len);
		in->len += (size_t)n;
		err = mcp_lines(m, in);
	}
	return err == -EPIPE ? 0 : fail(err, "standard output: %s", strerror(-err));
}

static int mcp_start(struct mcp *m, int argc, char **argv)
{
	int err = 0;

	if (argc > OPTION_LIST_MAX)
		return fail_usage(-E2BIG, "more than %d files and directories", OPTION_LIST_MAX);
	for (int i = 0; i < argc && !err; i++)
		err = mcp_add(m, argv[i]);
	if (!err && !argc)
		err = mcp_add(m, INPUT_DEFAULT);
	if (!err && !argc)
		input_add_file(INPUT_DEFAULT);
	if (!err)
		err = input_add_args(argc, argv, OPTION_LIST_MAX);
	command_confine_reads_code();
	return err ? err : command_confine(NULL);
}

static int cmd_mcp(int argc, char **argv)
{
	struct mcp m = {.run = command_run_captured};
	struct mcp_input in = {.text = malloc(MCP_LINE_MAX + 1)};
	int err = in.text ? mcp_start(&m, argc, argv) : fail(-ENOMEM, "out of memory");

	if (!err)
		err = mcp_serve(&m, &in);
	mcp_free(&m);
	free(in.text);
	return err ? command_failed() : EXIT_FINE;
}

const struct command mcp_command = {
	.name = "mcp",
	.args = "[FILE|DIR...]",
	.summary = "Answer an assistant's questions (Model Context Protocol).",
	.group = "Report",
	.details = "Messages of JSON-RPC are read from standard input and answered on standard\n"
		   "output, one a line, until its end. Tools: list_reports, describe, run_report,\n"
		   "sql, diagnose. They read the files of the command line, and no others. An\n"
		   "answer has at most 4000 tokens (bytes/4); the next page is asked for with its\n"
		   "cursor.",
	.examples = "  hostrace mcp vm.hrt\n  claude mcp add vm -- hostrace mcp /var/lib/hostrace",
	.options = options,
	.run = cmd_mcp,
};
