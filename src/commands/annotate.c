// SPDX-License-Identifier: GPL-2.0-or-later
/* hostrace annotate: the samples of each instruction of a function. */
#include <errno.h>
#include <fcntl.h>

#include "base/error.h"
#include "commands/common/command.h"
#include "commands/common/confined.h"
#include "commands/common/input.h"
#include "commands/common/output.h"
#include "commands/common/reports.h"
#include "commands/common/symbol_options.h"
#include "reports/reports.h"
#include "symbols/decoder.h"

static const struct option_row *const options[] = {input_rows, where_rows, output_options,
						   profile_symbol_options, NULL};

/* Before this process confines itself. Without /proc/kcore, or in a build without the decoder, there are addresses. */
static int code_open(struct annotate_options *o)
{
	int fd = open("/proc/kcore", O_RDONLY | O_CLOEXEC), err = decoder_start(o->decoder);

	o->kcore = fd > 0 ? fd : 0;
	if (err == -ENOENT)
		command_note("%s", error_text());
	command_confine_sends();
	return err == -ENOENT ? 0 : err;
}

static int cmd_annotate(int argc, char **argv)
{
	struct helper decoder = {0};
	struct annotate_options a = {.decoder = &decoder, .symbols = symbols_given()};
	struct host_profile_query q = {.annotate = &a};
	int status;

	if (!argc || !**argv)
		return command_usage(
			"a function is required: hostrace annotate FUNCTION [FILE...]");
	a.symbol = argv[0];
	if (input_add_args(argc - 1, argv + 1, OPTION_LIST_MAX))
		return command_failed();
	a.symbols = symbols_given();
	status = code_open(&a) ? command_failed()
			       : query_run(&annotate_report, &(struct query){.of = &q},
					   "text json csv", false);
	helper_stop(&decoder);
	if (a.kcore)
		close(a.kcore);
	return status;
}

extern const struct command annotate_command;

const struct command annotate_command = {
	.name = "annotate",
	.args = "FUNCTION [FILE...]",
	.summary = "Show the samples of each instruction of a function.",
	.group = "Report",
	.details = "Of the guest, of the host's kernel, or of a program of the host, by the "
		   "samples of\n"
		   "'record --sample HZ' or of a perf.data with call chains. The guest's code is "
		   "that of\n"
		   "-e ELF (or --symbols ELF); a program's that of its file, if it is the recorded "
		   "one;\n"
		   "the kernel's that of /proc/kcore. 'hostrace profile --host' shows which "
		   "functions are\n"
		   "hot.",
	.examples = "  hostrace record --vm web --sample 997 -d 10s\n"
		    "  hostrace annotate vmx_vcpu_run\n"
		    "  hostrace annotate virtqueue_pop vm.hrt --sort samples --limit 20\n"
		    "  hostrace annotate schedule --symbols guest.kallsyms -e vmlinux",
	.options = options,
	.unused = "debug no-resolve no-inlined-by show-line-number show-address show-file-name "
		  "use-symbols-file",
	.run = cmd_annotate,
};
