// SPDX-License-Identifier: GPL-2.0-or-later
/* tcpdump, pcap-dump: the packets in a guest's trace. */
#include <inttypes.h>
#include <unistd.h>

#include "commands/common/confined.h"
#include "commands/common/sample_run.h"
#include "output/samples/packets.h"

static void packets_end(struct sample_run *run, const struct packet_counts *n)
{
	static const struct report_needs needs = {
		.events = "net_packet_in,net_packet_out",
		.record = "start the OSv guest with --trace=net_packet*"};

	run->needs = &needs;
	run->sink.shown |= n->written || n->skipped;
	if (n->skipped)
		command_note("%" PRIu64 " packets were skipped: their protocol has no Ethernet "
			     "type",
			     n->skipped);
}

/* JSON: the packets of `list --tcpdump`. */
static int run_tcpdump(int argc, char **argv, char **rest)
{
	struct sample_list_options list = {
		.line = {.compat = compat_given}, .prefix = "net_packet_", .tcpdump = true};
	struct sample_run run;
	struct packet_counts n = {0};
	int status, err;

	command_confine_starts_programs();
	status = sample_run_open(argc, argv, "text json", &list.range, &run);

	(void)rest;
	if (status != SAMPLE_RUN_BEGUN)
		return status;
	err = run.sink.json ? samples_print(run.trace, &list, &run.sink)
			    : packets_tcpdump(run.trace, compat_given, run.out.file, &n);
	packets_end(&run, &n);
	return sample_run_close(&run, err);
}

static int run_pcap_dump(int argc, char **argv, char **rest)
{
	struct time_range range;
	struct sample_run run;
	struct packet_counts n = {0};
	int status = sample_run_open(argc, argv, "text", &range, &run), err;

	(void)rest;
	if (status != SAMPLE_RUN_BEGUN)
		return status;
	if (isatty(fileno(run.out.file))) {
		sample_trace_close(run.trace);
		input_set_close(run.in);
		output_cancel(&run.out);
		return command_usage("a pcap file is binary and is not written to a terminal; "
				     "redirect it or use -o FILE");
	}
	err = packets_pcap_dump(run.trace, compat_given, run.out.file, &n);
	packets_end(&run, &n);
	return sample_run_close(&run, err);
}

static const struct option_row *const options[] = {input_rows, output_file_options, compat_options,
						   NULL};

const struct command tcpdump_command = {
	.name = "tcpdump",
	.args = "[FILE...]",
	.summary = "Print the guest's packets in the format of tcpdump.",
	.group = "OSv guests",
	.details = "Needs the tracepoints net_packet_in and net_packet_out, and tcpdump.",
	.examples = "  hostrace tcpdump tracefile",
	.options = options,
	.run = run_tcpdump,
};

const struct command pcap_dump_command = {
	.name = "pcap-dump",
	.args = "[FILE...]",
	.summary = "Write the guest's packets to stdout as a pcap file.",
	.group = "OSv guests",
	.examples = "  hostrace pcap-dump tracefile > guest.pcap",
	.options = options,
	.run = run_pcap_dump,
};
