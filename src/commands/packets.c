// SPDX-License-Identifier: GPL-2.0-or-later
/* tcpdump, pcap-dump: the packets in a guest's trace. */
#include <inttypes.h>

#include "commands/common/confined.h"
#include "commands/common/sample_run.h"
#include "output/samples/packets.h"

static const struct report_needs needs = {
	.events = "net_packet_in,net_packet_out",
	.record = "start the OSv guest with --trace=net_packet*"};

static int packets_end(struct sample_run *run, const struct packet_counts *n, int err)
{
	run->sink.shown |= n->written || n->skipped;
	if (n->skipped)
		command_note("%" PRIu64 " packets were skipped: their protocol has no Ethernet "
			     "type",
			     n->skipped);
	return err;
}

/* JSON: the packets of `list --tcpdump`. */
static int tcpdump_write(struct sample_run *run, void *arg)
{
	const struct sample_list_options list = {.line = {.compat = compat_given},
						 .prefix = "net_packet_",
						 .tcpdump = true,
						 .range = run->source.range};
	const struct sample_source *s = &run->source;
	struct packet_counts n = {0};

	(void)arg;
	if (run->sink.json)
		return samples_print(s->trace, &list, &run->sink);
	return packets_end(
		run, &n,
		packets_tcpdump(s->trace, &s->range, compat_given, run->out.file, &n));
}

static int run_tcpdump(int argc, char **argv)
{
	command_confine_starts_programs();
	return sample_report_run(argc, argv,
				 &(const struct sample_report){.formats = "text json",
							       .needs = &needs,
							       .write = tcpdump_write});
}

static struct packets_clock clock_of(const struct input_set *in)
{
	const struct trace_info *info = in ? &in->reader->info : NULL;
	int64_t offset = in && in->nr_guests ? trace_info_realtime_offset(info) : 0;

	if (!in || !in->nr_guests)
		return (struct packets_clock){"the guest's clock", 0};
	return (struct packets_clock){offset ? "the host's CLOCK_REALTIME"
					     : "the host's CLOCK_MONOTONIC",
				      offset};
}

static int pcap_write(struct sample_run *run, void *arg)
{
	const struct sample_source *s = &run->source;
	const struct packets_clock clock = clock_of(s->in);
	struct packet_counts n = {0};
	int err;

	(void)arg;
	if (!strcmp(run->out.format, "pcapng"))
		err = packets_pcapng(s->trace, &s->range, &clock, run->out.file, &n);
	else
		err = packets_pcap_dump(s->trace, &s->range, compat_given, run->out.file, &n);
	return packets_end(run, &n, err);
}

static int run_pcap_dump(int argc, char **argv)
{
	if (!output_file() && isatty(STDOUT_FILENO))
		return command_usage("a pcap file is binary and is not written to a terminal; "
				     "redirect it or use -o FILE");
	return sample_report_run(argc, argv,
				 &(const struct sample_report){.formats = "text pcap pcapng",
							       .needs = &needs,
							       .write = pcap_write});
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
	.unused = "wide",
	.rules = (const struct option_rule[]){{"limit", .formats = "json"}, {0}},
	.run = run_tcpdump,
};

const struct command pcap_dump_command = {
	.name = "pcap-dump",
	.args = "[FILE...]",
	.summary = "Write the guest's packets to stdout as a pcap file.",
	.group = "OSv guests",
	.details = "-f pcapng has nanoseconds, directions, and the times of host and guest as "
		   "comments.",
	.examples = "  hostrace pcap-dump tracefile > guest.pcap\n"
		    "  hostrace pcap-dump -f pcapng -i vm.hrt --guest tracefile -o vm.pcapng",
	.options = options,
	.unused = "limit wide",
	.run = run_pcap_dump,
};
