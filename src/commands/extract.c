// SPDX-License-Identifier: GPL-2.0-or-later
/* hostrace extract, download: with the names and options of OSv's own tool; guest_*.c does the
 * work. */
#include "commands/common/command.h"
#include "commands/common/guest.h"
#include "commands/common/output.h"

/* clang-format off */
static const struct option_row extract_options[] = {
	{'r', "remote",  OPT_TEXT,     &guest_given.remote,          "ADDR", "the gdb stub: HOST:PORT or unix:PATH (default localhost:1234)"},
	{'e', "exe",     OPT_TEXT,     &guest_given.exe,             "ELF",  "the guest's ELF file (default build/release/loader.elf)"},
	{'d', "debug",   OPT_FLAG,     &guest_given.debug,           NULL,   "use build/debug/loader.elf as the default of --exe"},
	{0,   "timeout", OPT_DURATION, &guest_given.http.timeout_ns, "T",    "time out after T without data (default 30s)"},
	{0},
};

static const struct option_row download_options[] = {
	{'u', "url",       OPT_TEXT, &guest_given.url,            "URL",  "the guest's REST server (default http://localhost:8000/)"},
	{0,   "cert",      OPT_TEXT, &guest_given.http.cert,      "FILE", "client certificate (PEM)"},
	{0,   "key",       OPT_TEXT, &guest_given.http.key,       "FILE", "key of the client certificate (PEM)"},
	{0,   "cacert",    OPT_TEXT, &guest_given.http.cacert,    "FILE", "CA of the server's certificate (PEM)"},
	{0,   "no-verify", OPT_FLAG, &guest_given.http.no_verify, NULL,   "accept any server's certificate"},
	{0,   "convert",   OPT_FLAG, &guest_given.convert,        NULL,   "save a tracefile, converted from the dump, which stays in FILE.osvt"},
	{0},
};
/* clang-format on */

static int extract_run(int argc, char **argv)
{
	guest_given.symbols = guest_given.terse = true;
	return guest_extract(argc, argv);
}

extern const struct command extract_command, download_command;

const struct command extract_command = {
	.name = "extract",
	.args = "[TRACEFILE]",
	.summary = "Extract an OSv guest's trace through QEMU's gdb stub.",
	.group = "OSv guests",
	.details =
		"Writes TRACEFILE (default tracefile) and TRACEFILE.symbols; prints only notes if\n"
		"it succeeds. `hostrace guest extract` is the same and prints more.",
	.examples = "  hostrace extract -r localhost:1234 -e loader.elf",
	.options = (const struct option_row *const[]){extract_options, NULL},
	.rules = (const struct option_rule[]){{"debug", .unless = "exe"}, {0}},
	.run = extract_run,
};

static int download_run(int argc, char **argv)
{
	char *fallback[] = {"tracefile", NULL};

	if (argc > 1)
		return command_usage("unexpected argument '%s'", argv[1]);
	if (!guest_given.url)
		guest_given.url = "http://localhost:8000/";
	guest_given.terse = true;
	return guest_download(1, argc ? argv : fallback);
}

const struct command download_command = {
	.name = "download",
	.args = "[TRACEFILE]",
	.summary = "Download an OSv guest's trace from its REST server.",
	.group = "OSv guests",
	.details =
		"Writes the dump to TRACEFILE (default tracefile). `hostrace guest download` is\n"
		"the same, with more options.",
	.examples = "  hostrace download --url http://localhost:8000/",
	.options = (const struct option_row *const[]){download_options, NULL},
	.run = download_run,
};
