// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Reports go to stdout, through a pager on a terminal, or to a file: written under a temporary name
 * in the same folder and renamed on success, so that a failed report never replaces a good one.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "base/error.h"
#include "output/capture.h"
#include "commands/common/command.h"
#include "commands/common/input.h"
#include "commands/common/output.h"

enum {
	WIDTH_DEFAULT = 80, /* of what is no terminal */
	STDOUT_BYTES = 1 << 16,
};

struct output_options output_given;

/* clang-format off */
const struct option_row output_options[] = {
	{'f', "format", OPT_TEXT, &output_given.format, "FORMAT", "text (default), json, ...; see the manual page"},
	{'o', "output", OPT_TEXT, &output_given.file,   "FILE",   "write the report to FILE, in the format of its suffix without -f (-: standard output)"},
	{0,   "limit",  OPT_U64,  &output_given.limit,  "N",      "print at most N rows; 0: all"},
	{0,   "sort",   OPT_TEXT, &output_given.sort,   "COLUMN", "sort by this column"},
	{0,   "wide",   OPT_FLAG, &output_given.wide,   NULL,     "text: all columns, one line per row, nothing cut"},
	{0},
};
/* clang-format on */

/* clang-format off */
const struct option_row output_file_options[] = {
	{'f', "format", OPT_TEXT, &output_given.format, "FORMAT", "text (default), json, ...; see the manual page"},
	{'o', "output", OPT_TEXT, &output_given.file,   "FILE",   "write the report to FILE, in the format of its suffix without -f (-: standard output)"},
	{0,   "limit",  OPT_U64,  &output_given.limit,  "N",      "print at most N rows; 0: all"},
	{0,   "wide",   OPT_FLAG, &output_given.wide,   NULL,     "text: all columns, one line per row, nothing cut"},
	{0},
};
/* clang-format on */

static bool format_known(const char *formats, const char *format)
{
	size_t len = strlen(format);

	for (const char *p = formats; *p; p += strcspn(p, " "), p += *p == ' ')
		if (strcspn(p, " ") == len && !strncmp(p, format, len))
			return true;
	return false;
}

/*
 * The child executes the pager when there is something to show: until then, which may be minutes, ^C ends it as it ends
 * this process, and leaves no empty pager running. This process may not start programs later (confine/confine.h).
 */
static FILE *pager_start(const char *command, pid_t *ret)
{
	int fd[2];

	if (pipe2(fd, O_CLOEXEC))
		return NULL;
	*ret = fork();
	if (!*ret) {
		struct pollfd p = {.fd = fd[0], .events = POLLIN};

		close(fd[1]);
		while (poll(&p, 1, -1) < 0 && errno == EINTR)
			;
		if (!(p.revents & POLLIN) || dup2(fd[0], STDIN_FILENO) < 0)
			_exit(0);
		syscall(SYS_close_range, STDERR_FILENO + 1, ~0u, 0);
		execl("/bin/sh", "sh", "-c", command, NULL);
		_exit(127);
	}
	close(fd[0]);

	FILE *f = *ret > 0 ? fdopen(fd[1], "w") : NULL;

	if (!f) {
		close(fd[1]); /* which ends the child */
		*ret = 0;
	}
	return f;
}

static void pager_end(struct output *out)
{
	fclose(out->file);
	while (waitpid(out->pager, NULL, 0) < 0 && errno == EINTR)
		;
}

static FILE *open_pager(pid_t *ret)
{
	const char *name = getenv("HOSTRACE_PAGER");

	if (!name)
		name = getenv("PAGER");
	if (!name)
		name = "less";
	if (common.no_pager || !*name || !strcmp(name, "cat"))
		return NULL;
	setenv("LESS", "FRX", 0);
	fflush(stdout);
	return pager_start(name, ret);
}

static int terminal_width(FILE *f)
{
	struct winsize size;
	const char *columns = getenv("COLUMNS");

	if (columns && atoi(columns) >= 40)
		return atoi(columns);
	if (isatty(fileno(f)) && !ioctl(fileno(f), TIOCGWINSZ, &size) && size.ws_col >= 40)
		return size.ws_col;
	return WIDTH_DEFAULT;
}

/* The format that the name of a file stands for; NULL: none. */
static const char *format_of_name(const char *name)
{
	static const char *const formats[][2] = {
		{".txt", "text"},	 {".json", "json"},   {".jsonl", "jsonl"},
		{".csv", "csv"},	 {".svg", "svg"},     {".html", "html"},
		{".htm", "html"},	 {".folded", "folded"}, {".pprof", "pprof"},
		{".pftrace", "perfetto"}, {".pcap", "pcap"},  {".pcapng", "pcapng"},
	};
	const char *suffix = strrchr(name, '.');

	for (size_t i = 0; suffix && i < sizeof(formats) / sizeof(formats[0]); i++)
		if (!strcmp(suffix, formats[i][0]))
			return formats[i][1];
	return NULL;
}

const char *output_format(void)
{
	const char *name = output_given.file && !output_given.is_trace ? output_given.file : "";
	const char *format = output_given.format ? output_given.format : format_of_name(name);

	return format ? format : output_given.fallback ? output_given.fallback : "text";
}

int output_recording_check(const char *file)
{
	const char *format = format_of_name(file), *suffix = strrchr(file, '.');

	if (!format && suffix && (!strcmp(suffix, ".dat") || !strcmp(suffix, ".data")))
		format = strcmp(suffix, ".dat") ? "perf.data" : "trace.dat";
	if (!format)
		return 0;
	return fail_usage(-EINVAL,
			  "%s: format '%s', by the name of the file, is not supported (supported: "
			  "hrt); name it .hrt, and make the other file from it with 'hostrace "
			  "export' or a report's -o",
			  file, format);
}

bool output_is(const char *format)
{
	return !strcmp(output_format(), format);
}

const char *output_sort(void)
{
	return output_given.sort;
}

uint64_t output_limit(void)
{
	return output_given.limit;
}

const char *output_file(void)
{
	return output_given.file;
}

void output_default(const char *format)
{
	output_given.fallback = format;
}

void output_file_is_trace(void)
{
	output_given.is_trace = true;
}

void output_limit_default(uint64_t rows)
{
	for (const struct option_row *o = output_file_options; o->name; o++)
		if (!strcmp(o->name, "limit") && option_is_given(command_given, o))
			return;
	if (output_is("text") && !output_given.wide)
		output_given.limit = rows;
}

static int file_open(struct output *out)
{
	int err = input_check_output(output_given.file);

	if (!err)
		err = new_file_open(&out->new_file, output_given.file, true);
	out->file = out->new_file.file;
	return err;
}

static void stdout_open(struct output *out)
{
	static char buffer[STDOUT_BYTES]; /* setvbuf() ignores a size without one */
	FILE *pager;

	if (!isatty(STDOUT_FILENO))
		setvbuf(stdout, buffer, _IOFBF, sizeof(buffer));
	out->color = color_wanted(stdout);
	out->width = terminal_width(stdout);
	pager = isatty(STDOUT_FILENO) && !strcmp(out->format, "text") ? open_pager(&out->pager)
								      : NULL;
	if (!pager)
		return;
	signal(SIGPIPE, SIG_IGN); /* the user may quit the pager early */
	out->file = pager;
}

/* Not if the line could get into the report: what is printed directly to a terminal, or by a pager behind a pipe. */
static void progress_start(struct output *out)
{
	struct stat st;
	bool terminal = !out->new_file.file && isatty(STDOUT_FILENO);

	if (terminal && out->wrap)
		out->wrap->ends_progress = true;
	if (terminal ? !!out->wrap
		     : out->new_file.file || (!fstat(STDOUT_FILENO, &st) && S_ISREG(st.st_mode)))
		command_progress();
}

int output_open(const char *formats, struct output *ret)
{
	const char *format = output_format();
	int err = 0;

	if (!format_known(formats, format) && !output_given.format)
		return fail_usage(-EINVAL,
				  "format '%s', by the name of the file, is not supported "
				  "(supported: %s); give another name, or the format with -f",
				  format, formats);
	if (!format_known(formats, format))
		return fail_usage(-EINVAL, "format '%s' is not supported (supported: %s)", format,
				  formats);
	if (!output_given.file && !common.capture && isatty(STDOUT_FILENO) &&
	    !strcmp(format, "pprof"))
		return fail_usage(-EINVAL,
				  "a profile for pprof is binary; name a file with -o FILE");
	*ret = (struct output){.file = stdout,
			       .format = format,
			       .limit = output_given.limit,
			       .sort = output_given.sort,
			       .width = WIDTH_DEFAULT,
			       .wide = output_given.wide || common.verbose,
			       .notes = common.notes   ? NOTES_ALL
					: common.quiet ? NOTES_NONE
						       : NOTES_LIMITS,
			       .note = command_note};
	if (common.capture)
		err = capture_open(common.capture, &ret->file);
	else if (output_given.file && strcmp(output_given.file, "-") &&
		 strcmp(output_given.file, "/dev/stdout"))
		err = file_open(ret);
	else
		stdout_open(ret);
	if (err)
		return err;
	if (!ret->wide && !strcmp(format, "text"))
		err = wrap_begin(ret);
	if (err)
		output_cancel(ret);
	else if (!common.capture)
		progress_start(ret);
	return err;
}

int output_close(struct output *out)
{
	wrap_end(out);
	if (common.capture)
		return capture_end(common.capture, out->file);
	if (out->pager) {
		pager_end(out);
		return 0;
	}
	if (out->new_file.file)
		return new_file_close(&out->new_file, 0);

	int err = stream_flush(stdout);

	if (!err || err == EPIPE) /* the reader of a pipe has seen enough: `hostrace list | head` */
		return 0;
	return fail(-err, "stdout: %s", strerror(err));
}

void output_cancel(struct output *out)
{
	wrap_end(out);
	if (common.capture)
		capture_cancel(common.capture, out->file);
	if (out->pager)
		pager_end(out);
	new_file_close(&out->new_file, -ECANCELED);
}

int output_end(int err, struct output *out, bool found)
{
	if (err)
		output_cancel(out);
	else
		err = output_close(out);
	return err ? command_failed() : found ? EXIT_FOUND : EXIT_FINE;
}
