// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * hostrace mcp: reports for an assistant, by the Model Context Protocol on standard input and output (mcp/mcp.h). The
 * process is confined as a report is before it reads the first message: to the files of its command line.
 */
#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/memory.h"
#include "commands/common/captured_run.h"
#include "commands/common/columns.h"
#include "commands/common/command.h"
#include "commands/common/confined.h"
#include "commands/common/input.h"
#include "commands/common/report_commands.h"
#include "mcp/mcp.h"
#include "output/report.h"

static const struct option_row *const options[] = {NULL};

/* ---- reports ---- */

static bool is_report(const char *name)
{
	return report_command_find(name);
}

static json_t *reports_list(void)
{
	json_t *list = json_array();

	for (const struct command *const *c = report_commands; *c; c++)
		json_array_append_new(list, json_pack("{s:s,s:s}", "report", (*c)->name, "summary",
						      (*c)->summary));
	return list;
}

static json_t *options_list(const struct command *c)
{
	json_t *list = json_array();

	for (const struct option_row *const *t = c->options; *t; t++)
		for (const struct option_row *o = *t; o->name; o++) {
			const char *arg = o->arg ? o->arg : "";

			if (!captured_option_is_possible(c, o, true) || !strcmp(o->name, "format"))
				continue;
			json_array_append_new(list, json_sprintf("--%s%s%s: %s", o->name,
								 *arg ? " " : "", arg, o->help));
		}
	return list;
}

static json_t *columns_list(const struct command *c)
{
	char *text = NULL, *rest;
	size_t bytes;
	FILE *f = open_memstream(&text, &bytes);
	json_t *list = json_array();

	if (f) {
		columns_print(c->name, f);
		memstream_close(f, &text);
	}
	rest = text;
	for (const char *line; rest && (line = strsep(&rest, "\n"));)
		if (*line)
			json_array_append_new(list, json_text(line));
	free(text);
	return list;
}

static json_t *report_describe(const char *name)
{
	const struct command *c = report_command_find(name);

	return json_pack("{s:s,s:s,s:s,s:s,s:o,s:o}", "report", c->name, "arguments", c->args,
			 "summary", c->summary, "details", c->details ? c->details : "", "options",
			 options_list(c), "columns", columns_list(c));
}

static int report_run(const char *name, const char *path, const char *format,
		      const char *const *words, struct capture *to)
{
	return command_run_captured(report_command_find(name), path, format, words, to);
}

static const struct mcp_reports reports = {is_report, reports_list, report_describe, report_run};

/* ---- messages ---- */

/* What was read and is not answered. */
struct mcp_input {
	struct mcp *m;
	char *text; /* MCP_LINE_MAX + 1 bytes */
	size_t len;
	size_t at;     /* behind the line that is being answered */
	size_t looked; /* no message before this cancels it */
	bool skips;    /* the rest of a line that is too long */
	bool ended;
	uint64_t begin_ms; /* of the answer */
	char why[128];
};

/* Waits for more, or the end. 0 or -errno with the error message set. */
static int mcp_read(struct mcp_input *in)
{
	ssize_t n;

	do
		n = read(STDIN_FILENO, in->text + in->len, MCP_LINE_MAX + 1 - in->len);
	while (n < 0 && errno == EINTR);
	if (n < 0)
		return fail(-errno, "standard input: %s", strerror(errno));
	in->ended = !n;
	in->len += (size_t)n;
	return 0;
}

/* Reads ahead what there is, up to the buffer's size, for messages that cancel the request. */
static bool mcp_is_cancelled(struct mcp_input *in)
{
	struct pollfd p = {.fd = STDIN_FILENO, .events = POLLIN};
	char *line = in->text + in->looked, *eol;

	if (!in->ended && in->len <= MCP_LINE_MAX && poll(&p, 1, 0) > 0)
		(void)mcp_read(in); /* after an error, the next one has it too */
	while ((eol = memchr(line, '\n', (size_t)(in->text + in->len - line)))) {
		mcp_cancels(in->m, line, (size_t)(eol - line));
		line = eol + 1;
	}
	in->looked = (size_t)(line - in->text);
	return in->m->cancelled;
}

/* Why the query that is being answered is to end, or NULL. */
static const char *mcp_stop(void *arg)
{
	struct mcp_input *in = arg;
	uint64_t seconds;

	if (mcp_is_cancelled(in))
		return "cancelled";
	seconds = in->ended ? MCP_ENDED_SECONDS : MCP_QUERY_SECONDS;
	if (monotonic_ms() - in->begin_ms < seconds * 1000)
		return NULL;
	snprintf(in->why, sizeof(in->why),
		 in->ended ? "the query took more than %" PRIu64
			     " s after the end of standard input"
			   : "the query took more than %" PRIu64 " s: select less",
		 seconds);
	return in->why;
}

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

/* The line up to in->at. */
static int mcp_line(struct mcp_input *in, const char *line, size_t len)
{
	in->looked = in->at;
	in->begin_ms = monotonic_ms();
	len -= len && line[len - 1] == '\r';
	return len ? mcp_reply(mcp_answer(in->m, line, len)) : 0;
}

/* Answers the complete lines; what is left is moved to the front. */
static int mcp_lines(struct mcp_input *in)
{
	char *eol;
	int err = 0;

	while (!err && (eol = memchr(in->text + in->at, '\n', in->len - in->at))) {
		char *line = in->text + in->at;

		in->at = (size_t)(eol + 1 - in->text);
		if (!in->skips)
			err = mcp_line(in, line, (size_t)(eol - line));
		in->skips = false;
	}
	in->len -= in->at;
	memmove(in->text, in->text + in->at, in->len);
	in->at = 0;
	if (err || in->len <= MCP_LINE_MAX)
		return err;
	in->len = 0;
	if (in->skips)
		return 0;
	in->skips = true;
	return mcp_reply(mcp_too_long());
}

/* Until the end of standard input. 0 or -errno; if nobody reads the answers any more, 0. */
static int mcp_serve(struct mcp_input *in)
{
	int err = 0;

	while (!err && !in->ended) {
		if (mcp_read(in))
			return error_code();
		err = mcp_lines(in);
	}
	in->at = in->len;
	if (!err && !in->skips)
		err = mcp_line(in, in->text, in->len);
	return !err || err == -EPIPE ? 0 : fail(err, "standard output: %s", strerror(-err));
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
	struct mcp m = {.reports = &reports};
	struct mcp_input in = {.m = &m, .text = malloc(MCP_LINE_MAX + 1)};
	int err = in.text ? mcp_start(&m, argc, argv) : fail(-ENOMEM, "out of memory");

	m.stop = mcp_stop;
	m.stop_arg = &in;
	if (!err)
		err = mcp_serve(&in);
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
		   "cursor. An SQL query may take 30 s.",
	.examples = "  hostrace mcp vm.hrt\n  claude mcp add vm -- hostrace mcp /var/lib/hostrace",
	.options = options,
	.run = cmd_mcp,
};
