// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * hostrace guest: fetches what a guest itself recorded, and switches what it records. Two ways lead
 * into an OSv guest: its REST server, which needs the guest's help, and QEMU's gdb stub, which also
 * works when the guest hangs.
 */
#include <string.h>

#include "commands/common/command.h"
#include "commands/common/guest.h"
#include "commands/common/output.h"

struct guest_given guest_given = {.interval_ns = 2000000000, .retries = 3};

/* clang-format off */
static const struct option_row rest_options[] = {
	{'u', "url",          OPT_TEXT,     &guest_given.url,              "URL",  "the guest's REST server (default http://localhost:8000/)"},
	{0,   "cert",         OPT_TEXT,     &guest_given.http.cert,        "FILE", "our certificate, PEM"},
	{0,   "key",          OPT_TEXT,     &guest_given.http.key,         "FILE", "its key, PEM"},
	{0,   "cacert",       OPT_TEXT,     &guest_given.http.cacert,      "FILE", "who signed the server's certificate, PEM"},
	{0,   "no-verify",    OPT_FLAG,     &guest_given.http.no_verify,   NULL,   "accept any server's certificate"},
	{0,   "unix-socket",  OPT_TEXT,     &guest_given.http.unix_socket, "PATH", "connect there, whatever the URL's host is"},
	{0,   "timeout",      OPT_DURATION, &guest_given.http.timeout_ns,  "T",    "give up after T without a byte (default 60s; gdb stub 30s, QMP 5s)"},
	{0,   "max-size",     OPT_SIZE,     &guest_given.max_bytes,        "SIZE", "download: refuse more (default 16G)"},
	{0,   "retries",      OPT_U64,      &guest_given.retries,          "N",    "download: how often a broken transfer is resumed (default 3)"},
	{'b', "backtrace",    OPT_FLAG,     &guest_given.backtrace,        NULL,   "control enable: with backtraces"},
	{0,   "no-backtrace", OPT_FLAG,     &guest_given.no_backtrace,     NULL,   "control enable: without (else: as it was)"},
	{0,   "interval",     OPT_DURATION, &guest_given.interval_ns,      "T",    "control freq: a line every T (default 2s)"},
	{0,   "count",        OPT_U64,      &guest_given.count,            "N",    "control freq: N lines, then stop"},
	{0},
};
/* clang-format on */

/* clang-format off */
static const struct option_row memory_options[] = {
	{'r', "remote",       OPT_TEXT,     &guest_given.remote,           "ADDR", "the gdb stub: HOST:PORT or unix:PATH (default localhost:1234)"},
	{'e', "exe",          OPT_TEXT,     &guest_given.exe,              "ELF",  "the guest's ELF file (default build/release/loader.elf)"},
	{'d', "debug",        OPT_FLAG,     &guest_given.debug,            NULL,   "the default is build/debug/loader.elf"},
	{0,   "vm",           OPT_TEXT,     &guest_given.vm,               "VM",   "pid or name: read its process, without stopping the guest"},
	{0,   "qmp",          OPT_TEXT,     &guest_given.qmp,              "SOCKET", "with --vm: QEMU's monitor, asked for the page tables"},
	{0,   "raw",          OPT_FLAG,     &guest_given.raw,              NULL,   "extract: keep the rings as they are, FILE tells of FILE.ringN.bin"},
	{0,   "no-location",  OPT_FLAG,     &guest_given.no_location,      NULL,   "threads: without their places, which takes most of the time"},
	{'S', "symbols",      OPT_FLAG,     &guest_given.symbols,          NULL,   "extract: also write FILE.symbols"},
	{0},
};
/* clang-format on */

static const struct action {
	const char *name;
	int (*run)(int argc, char **argv);
} actions[] = {
	{"extract", guest_extract},
	{"download", guest_download},
	{"control", guest_control},
	{"sampler", guest_sampler},
	{"threads", guest_threads},
	{"virtio", guest_virtio},
	{"leaks", guest_leaks},
};

int guest_json_print(const char *action, const char *key, json_t *value, json_t *caveats)
{
	char command[64];
	json_t *all;

	snprintf(command, sizeof(command), "guest %s", action);
	all = json_pack("{s:{s:s,s:s},s:[],s:{},s:o,s:o}", "hostrace", "version", HOSTRACE_VERSION,
			"command", command, "inputs", "clock", "caveats",
			caveats ? caveats : json_array(), key, value);
	if (!all || json_dumpf(all, stdout, JSON_INDENT(1))) {
		json_decref(all);
		return EXIT_FAILED;
	}
	putchar('\n');
	json_decref(all);
	return EXIT_FINE;
}

static int run(int argc, char **argv, char **rest)
{
	if (rest)
		return command_usage("unexpected argument '--'");
	if (!argc)
		return command_usage("which action? extract, download, control, "
				     "sampler, threads, virtio or leaks");
	if (!output_is("text") && !output_is("json"))
		return command_usage("the formats are text and json");
	for (size_t i = 0; i < sizeof(actions) / sizeof(*actions); i++)
		if (!strcmp(argv[0], actions[i].name))
			return actions[i].run(argc - 1, argv + 1);
	return command_usage("no action '%s'", argv[0]);
}

extern const struct command guest_command;

const struct command guest_command = {
	.name = "guest",
	.args = "ACTION [ARGS]",
	.summary = "Fetch a guest's own trace, switch what it records.",
	.group = "Live (needs privileges)",
	.details = "Actions\n"
		   "  threads                  its threads: status, CPU time, place\n"
		   "  virtio                   its virtqueues\n"
		   "  leaks [show|on|off]      allocations that are alive, by call chain\n"
		   "  extract                  its trace from its memory, by the VM's gdb stub\n"
		   "  download [URL]           its trace from its REST server, into -o FILE\n"
		   "                           (default tracefile); resumes what broke\n"
		   "  control [URL] list [REGEX..]     its tracepoints\n"
		   "  control [URL] enable REGEX..     record them\n"
		   "  control [URL] disable REGEX..    do not\n"
		   "  control [URL] freq NAME..        events a second\n"
		   "  sampler HZ [URL]         samples a second on every vCPU; 0 stops\n",
	.examples = "  hostrace guest control enable 'sched_wait|vfs_' --backtrace\n"
		    "  hostrace guest extract -r localhost:1234 -e loader.elf -o guest.trace\n"
		    "  hostrace guest download https://10.0.0.7:8000/ --cacert ca.pem \\\n"
		    "      --cert client.pem --key client.key -o guest.trace",
	.options = (const struct option_row *const[]){rest_options, memory_options,
						     output_file_options, NULL},
	.run = run,
};
