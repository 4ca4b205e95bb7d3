// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * hostrace guest: fetches what a guest itself recorded, and switches what it records. Two ways lead
 * into an OSv guest: its REST server, which needs the guest's help, and QEMU's gdb stub, which also
 * works when the guest hangs.
 */

#include "base/json_text.h"
#include "commands/common/command.h"
#include "commands/common/guest.h"
#include "commands/common/output.h"
#include "commands/common/vm_options.h"

struct guest_given guest_given = {.interval_ns = 2000000000, .retries = 3};

/* clang-format off */
static const struct option_row rest_options[] = {
	{'u', "url",          OPT_TEXT,     &guest_given.url,              "URL",  "the guest's REST server (default http://localhost:8000/)"},
	{0,   "cert",         OPT_TEXT,     &guest_given.http.cert,        "FILE", "client certificate (PEM)"},
	{0,   "key",          OPT_TEXT,     &guest_given.http.key,         "FILE", "key of the client certificate (PEM)"},
	{0,   "cacert",       OPT_TEXT,     &guest_given.http.cacert,      "FILE", "CA of the server's certificate (PEM)"},
	{0,   "no-verify",    OPT_FLAG,     &guest_given.http.no_verify,   NULL,   "accept any server's certificate"},
	{0,   "unix-socket",  OPT_TEXT,     &guest_given.http.unix_socket, "PATH", "connect to this socket instead of the URL's host"},
	{0,   "timeout",      OPT_DURATION, &guest_given.http.timeout_ns,  "T",    "time out after T without data (default 60s; gdb stub 30s, QMP 5s)"},
	{0,   "max-size",     OPT_SIZE,     &guest_given.max_bytes,        "SIZE", "download: maximum size (default 16G)"},
	{0,   "retries",      OPT_U64,      &guest_given.retries,          "N",    "download: resume a broken transfer at most N times (default 3)"},
	{0,   "convert",      OPT_FLAG,     &guest_given.convert,          NULL,   "download: save a tracefile, converted from the dump, which stays in FILE.osvt"},
	{'b', "backtrace",    OPT_FLAG,     &guest_given.backtrace,        NULL,   "control enable: record backtraces"},
	{0,   "no-backtrace", OPT_FLAG,     &guest_given.no_backtrace,     NULL,   "control enable: do not record backtraces (default: unchanged)"},
	{0,   "interval",     OPT_DURATION, &guest_given.interval_ns,      "T",    "control freq: print a line every T (default 2s)"},
	{0,   "count",        OPT_U64,      &guest_given.count,            "N",    "control freq: stop after N lines"},
	{0},
};
/* clang-format on */

/* clang-format off */
static const struct option_row memory_options[] = {
	{'r', "remote",       OPT_TEXT,     &guest_given.remote,           "ADDR", "the gdb stub: HOST:PORT or unix:PATH (default localhost:1234)"},
	{'e', "exe",          OPT_TEXT,     &guest_given.exe,              "ELF",  "the guest's ELF file (default build/release/loader.elf)"},
	{'d', "debug",        OPT_FLAG,     &guest_given.debug,            NULL,   "use build/debug/loader.elf as the default of --exe"},
	{0,   "vm",           OPT_TEXT,     &guest_given.vm,               "VM",   "PID or name: read the memory of the process, without stopping the guest"},
	{0,   "qmp",          OPT_TEXT,     &guest_given.qmp,              "SOCKET", "QEMU's monitor: to find the page tables where KVM does not know them (--vm), or to see that the VM runs afterwards"},
	{0,   "module",       OPT_LIST,     &guest_given.modules,          "FILE", "the file of a module of the guest, by its base name; GUESTPATH=FILE: by its path; repeatable"},
	{0,   "dump",         OPT_TEXT,     &guest_given.dump,             "FILE", "read an ELF dump of the guest's memory (dump-guest-memory), or a core dump of its process"},
	{0,   "raw",          OPT_FLAG,     &guest_given.raw,              NULL,   "extract: save the raw buffers to FILE.ringN.bin, described by FILE"},
	{0,   "no-location",  OPT_FLAG,     &guest_given.no_location,      NULL,   "threads: do not resolve code locations, which is slow"},
	{0,   "stacks",       OPT_FLAG,     &guest_given.stacks,           NULL,   "threads: also print the backtrace of each thread; ps: the kernel stack of each task that sleeps"},
	{0,   "timers",       OPT_FLAG,     &guest_given.timers,           NULL,   "threads: also print the timers of each thread"},
	{0,   "thread",       OPT_TEXT,     &guest_given.thread,           "N",    "threads: only the thread with this number or address"},
	{0,   "symbols",      OPT_FLAG,     &guest_given.symbols,          NULL,   "extract: also write FILE.symbols"},
	{0},
};
/* clang-format on */

/* The options of each way. -r and -e are refused by the Linux actions themselves. */
#define REST   REST_OPTIONS " timeout format "
#define MEMORY "remote exe vm qmp vm-user tcg timeout format "
#define OSV    MEMORY "debug dump module "

static const struct action {
	const char *name;
	int (*run)(int argc, char **argv);
	const char *options; /* that have an effect */
	bool writes_trace;   /* to --output */
} actions[] = {
	{"extract", guest_extract, OSV "raw symbols output", true},
	{"download", guest_download, REST "max-size retries convert output", true},
	{"control", guest_control, REST "backtrace no-backtrace interval count"},
	{"sampler", guest_sampler, REST},
	{"threads", guest_threads, OSV "no-location stacks timers thread"},
	{"virtio", guest_virtio, OSV "output"},
	{"leaks", guest_leaks, OSV},
	{"runqueue", guest_runqueue, OSV "output"},
	{"callouts", guest_callouts, OSV "output"},
	{"memory", guest_memory, OSV "output"},
	{"heap", guest_heap, OSV "output"},
	{"mmap", guest_mmap, OSV "output"},
	{"pagetable", guest_pagetable, OSV "output"},
	{"percpu", guest_percpu, OSV "output"},
	{"zfs", guest_zfs, OSV "output"},
	{"syms", guest_syms, OSV "output"},
	{"symbols", guest_symbols, MEMORY "output"},
	{"ps", guest_ps, MEMORY "stacks output"},
	{"modules", guest_modules, MEMORY "output"},
	{"dmesg", guest_dmesg, REST OSV "output"},
	{"interrupts", guest_interrupts, MEMORY "output"},
	{"clock", guest_clock, MEMORY "output"},
};

static int action_run(const struct action *a, int argc, char **argv)
{
	char where[64];

	snprintf(where, sizeof(where), "on 'guest %s'", a->name);
	if (a->writes_trace)
		output_file_is_trace();
	if (!output_is("text") && !output_is("json"))
		return command_usage("format '%s' is not supported (supported: text, json)",
				     output_format());
	return options_used_check(a->options, where) ? command_failed() : a->run(argc, argv);
}

int guest_json_print(const char *action, const char *key, json_t *value, json_t *caveats)
{
	return guest_json_write(stdout, action, key, value, caveats);
}

int guest_json_write(FILE *out, const char *action, const char *key, json_t *value,
		     json_t *caveats)
{
	char command[64];
	json_t *all;

	snprintf(command, sizeof(command), "guest %s", action);
	all = json_pack("{s:{s:s,s:s},s:[],s:{},s:o,s:o}", "hostrace", "version", HOSTRACE_VERSION,
			"command", command, "inputs", "clock", "caveats",
			caveats ? caveats : json_array(), key, value);
	if (!all || json_text_put(all, out, JSON_INDENT(1))) {
		json_decref(all);
		return EXIT_FAILED;
	}
	fputc('\n', out);
	json_decref(all);
	return EXIT_FINE;
}

static int cmd_guest(int argc, char **argv)
{
	if (!argc)
		return command_usage("missing action (see 'hostrace guest --help')");
	if (vm_options_given() && !guest_given.vm)
		return command_usage("--vm-user and --tcg require --vm");
	for (size_t i = 0; i < sizeof(actions) / sizeof(*actions); i++)
		if (!strcmp(argv[0], actions[i].name))
			return action_run(&actions[i], argc - 1, argv + 1);
	return command_usage("unknown action '%s'", argv[0]);
}

extern const struct command guest_command;

const struct command guest_command = {
	.name = "guest",
	.args = "ACTION [ARGS]",
	.summary = "Read a Linux guest's memory; fetch an OSv guest's trace.",
	.group = "Live (needs privileges)",
	.details =
		"Actions for Linux guests, read from the memory of --vm\n"
		"  symbols                  its kernel's symbols, as its /proc/kallsyms has them\n"
		"  ps                       its tasks: state, CPU, command\n"
		"  modules                  its kernel's modules\n"
		"  dmesg                    its kernel's log\n"
		"  interrupts               its interrupts by CPU (/proc/interrupts)\n"
		"  clock                    its time against the host's; the TSC of each vCPU\n"
		"  virtio                   its virtqueues, as its drivers and QEMU have them\n"
		"\n"
		"Actions for OSv guests\n"
		"  threads                  list its threads: status, CPU time, code location\n"
		"  virtio                   list its virtqueues; with --vm requires --exe\n"
		"  leaks [show|on|off]      live allocations by call chain; on, off: tracking\n"
		"  runqueue                 threads that wait for each vCPU\n"
		"  percpu NAME [FIELD]      a variable that each vCPU has of its own\n"
		"  callouts                 functions that are called at some time\n"
		"  memory                   total, mapped and free memory; who waits for some\n"
		"  heap                     ranges of free pages\n"
		"  mmap [ADDRESS..]         its mappings, or those that contain these addresses\n"
		"  pagetable ADDRESS        the page table entries that lead to an address\n"
		"  zfs                      statistics of ZFS\n"
		"  syms                     its modules: address, path, file of the host\n"
		"  dmesg                    its log: from memory (--exe), or by REST (--url)\n"
		"  extract                  read its trace from memory through the VM's gdb stub\n"
		"  download [URL]           fetch its trace from its REST server, into -o FILE\n   "
		"                        (default tracefile); broken transfers are resumed\n"
		"  control [URL] list [REGEX..]     list its tracepoints\n"
		"  control [URL] enable REGEX..     enable tracepoints\n"
		"  control [URL] disable REGEX..    disable tracepoints\n"
		"  control [URL] freq NAME..        print events per second\n"
		"  sampler HZ [URL]         start the sampler at HZ on every vCPU; 0 stops it\n",
	.examples = "  hostrace guest ps --vm web1\n"
		    "  hostrace guest symbols --vm 1234 -o guest.kallsyms\n"
		    "  hostrace guest control enable 'sched_wait|vfs_' --backtrace\n"
		    "  hostrace guest extract -r localhost:1234 -e loader.elf -o guest.trace\n"
		    "  hostrace guest download https://10.0.0.7:8000/ --cacert ca.pem \\\n"
		    "      --cert client.pem --key client.key -o guest.trace",
	.options = (const struct option_row *const[]){rest_options, memory_options, vm_user_options,
						      vm_tcg_options, output_file_options, NULL},
	.unused = "limit wide",
	.rules = (const struct option_rule[]){{"debug", .unless = "exe"}, {0}},
	.run = cmd_guest,
};
