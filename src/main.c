// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Looks up the command, parses its options, runs it. Nothing else; what a newcomer wants to read next is
 * doc/internals.md, which follows one event from the guest's kick to the picture.
 */
#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/error.h"
#include "commands/common/command.h"

static void print_overview(FILE *out)
{
	const char *group = "";

	fprintf(out, "usage: hostrace COMMAND [OPTIONS] [ARGS]\n"
		     "Sees a QEMU/KVM virtual machine from both sides at once.\n");
	for (const struct command *const *c = commands; *c; c++) {
		if (strcmp(group, (*c)->group))
			fprintf(out, "\n%s\n", (*c)->group);
		group = (*c)->group;
		fprintf(out, "  %-12s %s\n", (*c)->name, (*c)->summary);
	}
	fprintf(out, "\n'hostrace help COMMAND' opens its manual page, 'hostrace COMMAND --help' "
		     "its options.\n");
}

static void print_help(const struct command *c)
{
	printf("usage: hostrace %s [OPTIONS]%s%s\n%s\n", c->name, *c->args ? " " : "", c->args,
	       c->summary);
	if (c->details)
		printf("\n%s\n", c->details);
	printf("\nOptions\n");
	options_help(c->options, stdout);
	options_help((const struct option_row *const[]){common_options, NULL}, stdout);
	if (c->examples)
		printf("\nExamples\n%s\n", c->examples);
}

static const struct command *find(const char *name)
{
	for (const struct command *const *c = commands; *c; c++)
		if (!strcmp((*c)->name, name))
			return *c;
	return NULL;
}

/* The manual page where man finds it: beside the program in the build tree, or where `make install` puts it. */
static void open_manual(const char *name)
{
	static const char *const places[] = {"man", "../share/man/man1"};
	char dir[PATH_MAX], path[PATH_MAX + 128];
	ssize_t len = readlink("/proc/self/exe", dir, sizeof(dir) - 1);

	if (len <= 0)
		return;
	dir[len] = 0;
	for (size_t i = 0; i < sizeof(places) / sizeof(*places); i++) {
		snprintf(path, sizeof(path), "%.*s/%s/hostrace%s%s.1",
			 (int)(strrchr(dir, '/') - dir), dir, places[i], *name ? "-" : "", name);
		if (!access(path, R_OK))
			execlp("man", "man", "-l", path, NULL);
	}
}

/* Its manual page; where there is none, or no man, the short help. */
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
	command_now = find(name);
	if (!command_now) {
		fprintf(stderr, "hostrace: no command '%s'; 'hostrace --help' lists them\n", name);
		return EXIT_USAGE;
	}
	open_manual(name);
	print_help(command_now);
	return EXIT_FINE;
}

enum { TABLES_MAX = 8 }; /* option tables of one command */

static int run_command(const struct command *c, int argc, char **argv)
{
	const struct option_row *tables[TABLES_MAX + 2] = {common_options};
	int nr = 0, rest = 0;

	command_now = c;
	for (int i = 0; i < TABLES_MAX && c->options[i]; i++)
		tables[i + 1] = c->options[i];
	if (options_parse(argc, argv, tables, &nr, &rest))
		return command_usage("%s", error_text());
	if (common.help) {
		print_help(c);
		return EXIT_FINE;
	}
	return c->run(nr, argv, rest ? argv + rest : NULL);
}

/* Whoever read our stdout has seen enough: `hostrace list | head`. */
static bool reader_left(void)
{
	struct pollfd p = {.fd = STDOUT_FILENO, .events = POLLOUT};

	return poll(&p, 1, 0) > 0 && p.revents & POLLERR;
}

/* What was printed must have arrived, whoever printed it: a full disk is a failure. */
static int stdout_end(int status)
{
	errno = 0;
	if ((!fflush(stdout) && !ferror(stdout)) || reader_left())
		return status;
	if (status == EXIT_FAILED || status == EXIT_USAGE)
		return status; /* said why already */
	fprintf(stderr, "hostrace: stdout: %s\n", errno ? strerror(errno) : "could not be written");
	return EXIT_FAILED;
}

static int run(int argc, char **argv)
{
	const char *name = argc > 1 ? argv[1] : NULL;

	if (!name) {
		print_overview(stderr);
		return EXIT_USAGE;
	}
	if (!strcmp(name, "--version") || !strcmp(name, "version")) {
		printf("hostrace %s\n", HOSTRACE_VERSION);
		return EXIT_FINE;
	}
	if (!strcmp(name, "--help") || !strcmp(name, "-h") || !strcmp(name, "help"))
		return help_command(argc > 2 ? argv[2] : NULL);
	const struct command *c = find(name);
	if (!c) {
		fprintf(stderr, "hostrace: no command '%s'; 'hostrace --help' lists them\n", name);
		return EXIT_USAGE;
	}
	return run_command(c, argc - 1, argv + 1);
}

int main(int argc, char **argv)
{
	return stdout_end(run(argc, argv));
}
