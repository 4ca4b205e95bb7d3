// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Parses the options before the command, looks up the command, parses its options and runs it. To
 * read on, see doc/internals.md, which follows one event from the guest's kick to the report.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "base/file_map.h"
#include "base/limits.h"
#include "base/log.h"
#include "base/memory.h"
#include "base/process.h"
#include "base/progress.h"
#include "base/suggest.h"
#include "base/user_rights.h"
#include "commands/common/columns.h"
#include "commands/common/command.h"
#include "commands/common/input.h"
#include "reports/reports.h"

enum { FILES_MIN = 16 }; /* the standard ones, inputs, outputs, and those of helper processes */

static void print_overview(FILE *out)
{
	const char *group = "";

	fprintf(out,
		"usage: hostrace [-q] [-v] [--color WHEN] [--no-pager] COMMAND [OPTIONS] [ARGS]\n"
		"Trace a QEMU/KVM virtual machine from the host and from the guest.\n");
	for (const struct command *const *c = commands; *c; c++) {
		if (strcmp(group, (*c)->group))
			fprintf(out, "\n%s\n", (*c)->group);
		group = (*c)->group;
		fprintf(out, "  %-16s%s\n", (*c)->name, (*c)->summary);
	}
	fprintf(out,
		"\n'hostrace COMMAND --help' lists the options of a command;\n"
		"'hostrace help COMMAND' opens its manual page,\n"
		"'hostrace help columns COMMAND' explains the columns of its tables.\n");
}

/* Fills lines of at most 80 columns; empty and indented lines, which are lists, stay as they are. */
static void print_paragraphs(const char *text)
{
	int column = 0;

	for (const char *line = text; *line; line += strcspn(line, "\n"), line += *line == '\n') {
		if (strchr(" \n", *line)) {
			printf("%s%.*s\n", column ? "\n" : "", (int)strcspn(line, "\n"), line);
			column = 0;
			continue;
		}
		for (const char *word = line; *word && *word != '\n'; word += strspn(word, " ")) {
			int len = (int)strcspn(word, " \n");
			bool wrap = column + 1 + len > 80;

			column = wrap || !column ? len : column + 1 + len;
			printf("%s%.*s", wrap ? "\n" : column == len ? "" : " ", len, word);
			word += len;
		}
	}
	if (column)
		putchar('\n');
}

static void print_help(const struct command *c)
{
	printf("usage: hostrace %s [OPTIONS]%s%s\n%s\n", c->name, *c->args ? " " : "", c->args,
	       c->summary);
	if (c->details) {
		putchar('\n');
		print_paragraphs(c->details);
	}
	printf("\nOptions\n");
	options_help(c->options, c->unused, stdout);
	options_help((const struct option_row *const[]){common_options, NULL}, NULL, stdout);
	if (c->examples)
		printf("\nExamples\n%s\n", c->examples);
}

static const struct command *command_find(const char *name)
{
	for (const struct command *const *c = commands; *c; c++)
		if (!strcmp((*c)->name, name))
			return *c;
	return NULL;
}

static int unknown_command(const char *name)
{
	struct suggestion s = {0};

	for (const struct command *const *c = commands; *c; c++)
		suggest_try(&s, name, (*c)->name);
	fail(-EINVAL, "unknown command '%s'", name);
	suggest_hint(-EINVAL, &s);
	return command_usage("%s", error_text());
}

/* Opens the manual page: in the build tree next to the program, or where `make install` puts it. */
static void open_manual(const char *name)
{
	static const char *const folders[] = {"man", "../share/man/man1"};
	char dir[PATH_MAX], path[PATH_MAX + 128];
	ssize_t len = readlink("/proc/self/exe", dir, sizeof(dir) - 1);

	if (len <= 0)
		return;
	dir[len] = 0;
	for (size_t i = 0; i < sizeof(folders) / sizeof(*folders); i++) {
		snprintf(path, sizeof(path), "%.*s/%s/hostrace%s%s.1",
			 (int)(strrchr(dir, '/') - dir), dir, folders[i], *name ? "-" : "", name);
		if (!access(path, R_OK))
			execlp("man", "man", "-l", path, NULL);
	}
}

static int help_columns(const char *command)
{
	return columns_print(command, stdout)
		       ? EXIT_FINE
		       : command_usage("'%s' has no list of columns; try: hostrace help columns",
				       command);
}

/* Opens the manual page; prints --help if the page or man is missing. */
static int help_command(const char *name)
{
	if (!name) {
		print_overview(stdout);
		return EXIT_FINE;
	}
	if (!strcmp(name, "hostrace")) {
		open_manual("");
		print_overview(stdout);
		return EXIT_FINE;
	}
	command_now = command_find(name);
	if (!command_now)
		return unknown_command(name);
	open_manual(name);
	print_help(command_now);
	return EXIT_FINE;
}

/* `hostrace help columns [COMMAND]`; for the manual `help recorded`, for `make docs` `help schema`. */
static int help(int argc, char **argv)
{
	bool columns = argc && !strcmp(argv[0], "columns");

	if (argc > 1 + columns)
		return command_usage("unexpected argument '%s'", argv[1 + columns]);
	if (columns)
		return help_columns(argv[1]);
	if (argc && !strcmp(argv[0], "schema"))
		return columns_schema(stdout), EXIT_FINE;
	if (argc && !strcmp(argv[0], "recorded"))
		return reports_recorded_print(stdout), EXIT_FINE;
	return help_command(argv[0]);
}

enum { TABLES_MAX = 16 }; /* option tables of one command */

static bool has_table(const struct command *c, const struct option_row *table)
{
	const struct option_row *const *t = c->options;

	while (*t && *t != table)
		t++;
	return *t;
}

/* Whatever lacks an allocation is incomplete, even if nothing else noticed. */
static int memory_check(int status)
{
	if (!memory_failures() || status == EXIT_FAILED || status == EXIT_USAGE)
		return status;
	fail(-ENOMEM, "out of memory");
	return command_failed();
}

/* `given`: options before the command. */
static int run_command(const struct command *c, struct options_given *given, int argc, char **argv)
{
	const struct option_row *tables[TABLES_MAX + 2] = {common_options};
	int nr = 0, rest = 0;

	command_now = c;
	command_given = given;
	for (int i = 0; i < TABLES_MAX && c->options[i]; i++)
		tables[i + 1] = c->options[i];
	if (options_parse(argc, argv, tables, given, &nr, c->starts_command ? &rest : NULL))
		return command_usage("%s", error_text());
	if (common.help) {
		print_help(c);
		return EXIT_FINE;
	}
	if (option_rules_check(c))
		return command_usage("%s", error_text());
	if (limits_files_check(FILES_MIN))
		return command_failed();
	if (!c->starts_command) /* which gets them */
		inherited_close(argv);
	if (has_table(c, input_rows) && input_spool_all(nr, argv))
		return command_failed();

	command_rest = rest ? argv + rest : NULL;
	int status = c->run(nr, argv);

	progress_end();
	debug("memory", "%lu allocations", memory_allocations());
	return memory_check(status);
}

/* Runs the command line `words`, with further arguments. */
static int run_instead(const char *words, struct options_given *given, int argc, char **argv)
{
	enum { WORDS_MAX = 8 };
	_cleanup_free_ char *text = strdup(words);
	_cleanup_free_ char **all = calloc((size_t)argc + WORDS_MAX + 1, sizeof(*all));
	char *next = text;
	int nr = 0;

	if (!text || !all)
		return fail(-ENOMEM, "out of memory"), command_failed();
	while (nr < WORDS_MAX && (all[nr] = strsep(&next, " ")))
		nr++;
	memcpy(all + nr, argv, (size_t)argc * sizeof(*all));
	return run_command(command_find(all[0]), given, nr + argc, all);
}

/* Has the reader of stdout closed it, as in `hostrace list | head`? */
static bool reader_closed(void)
{
	struct pollfd p = {.fd = STDOUT_FILENO, .events = POLLOUT};

	return poll(&p, 1, 0) > 0 && p.revents & POLLERR;
}

/* Output that could not be written, as on a full disk, is a failure. */
static int stdout_finish(int status)
{
	int err = stream_flush(stdout);

	if (!err || reader_closed())
		return status;
	if (status == EXIT_FAILED || status == EXIT_USAGE)
		return status; /* the error is already printed */
	fprintf(stderr, "hostrace: cannot write to standard output: %s\n", strerror(err));
	return EXIT_FAILED;
}

static int command_start(int argc, char **argv)
{
	bool version = false;
	const struct option_row version_option[] = {
		{'V', "version", OPT_FLAG, &version, NULL, "print the version"},
		{0},
	};
	const struct option_row *const tables[] = {version_option, common_options, NULL};
	struct options_given given = {0};
	int at = 0;

	if (options_parse_leading(argc, argv, tables, &given, &at))
		return command_usage("%s", error_text());
	const char *name = argv[at];
	if (version || (name && !strcmp(name, "version"))) {
		printf("hostrace %s\n", HOSTRACE_VERSION);
		return EXIT_FINE;
	}
	if (common.help)
		return help_command(name);
	if (!name) {
		print_overview(stderr);
		return EXIT_USAGE;
	}
	if (!strcmp(name, "help"))
		return help(argc - at - 1, argv + at + 1);
	const struct command *c = command_find(name);
	const char *instead = c && c->instead && argv[at + 1] ? c->instead(argv[at + 1]) : NULL;

	if (instead)
		return run_instead(instead, &given, argc - at - 2, argv + at + 2);
	return c ? run_command(c, &given, argc - at, argv + at) : unknown_command(name);
}

/* A write beyond `ulimit -f` fails with EFBIG, and is reported. Unlike SIG_IGN, started programs do not inherit it. */
static void file_size_exceeded(int nr)
{
	(void)nr;
}

/* If it is closed, the next file that is opened would have its number, and be read as standard input. */
static bool stdin_ensure(void)
{
	if (fcntl(STDIN_FILENO, F_GETFD) >= 0 || errno != EBADF ||
	    open("/dev/null", O_RDONLY) == STDIN_FILENO)
		return true;
	fprintf(stderr, "hostrace: standard input is closed, and /dev/null: %s\n",
		strerror(errno));
	return false;
}

int main(int argc, char **argv)
{
	const struct sigaction size = {.sa_handler = file_size_exceeded, .sa_flags = SA_RESTART};

	if (!stdin_ensure())
		return EXIT_FAILED;
	sigaction(SIGXFSZ, &size, NULL);
	memory_init();
	file_map_init();
	if (user_is_another()) {
		fprintf(stderr,
			"hostrace: this program must not be setuid or setgid; to record as an "
			"ordinary user, see 'hostrace doctor'\n");
		return EXIT_FAILED;
	}
	return stdout_finish(limits_stack_run(command_start, argc, argv));
}
