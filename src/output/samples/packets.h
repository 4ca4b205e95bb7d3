/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Packets in an OSv trace: net_packet_in and net_packet_out carry a protocol number and the first
 * bytes of the packet. They become a pcap file, text by tcpdump, or one line each in `list`.
 */
#ifndef HOSTRACE_PACKETS_H
#define HOSTRACE_PACKETS_H

#include "event/sample.h"

#include <stdio.h>

enum { PACKET_TEXT_MAX = 4096 };

/* Is the name net_packet_*? */
bool sample_is_packet(const struct sample *s);

struct packet_counts {
	uint64_t written, skipped;
};

/*
 * Writes the packets of a time range as pcap (Ethernet, microseconds since boot). 0, or -errno with the error message
 * set; a packet of a protocol without a known Ethernet type is -EPROTO with `compat`, else it is
 * skipped.
 */
int packets_pcap_dump(struct sample_trace *t, const struct time_range *range, bool compat,
		      FILE *out, struct packet_counts *ret);

/* Of the samples' times: a name for people; from them to what the file has, ns. */
struct packets_clock {
	const char *name;
	int64_t realtime_offset;
};

/* The same as pcapng, with ns, directions, and comments with the times of host and guest. */
int packets_pcapng(struct sample_trace *t, const struct time_range *range,
		   const struct packets_clock *clock, FILE *out, struct packet_counts *ret);

/* The same through `tcpdump -nn -r -`; its messages are part of the text. */
int packets_tcpdump(struct sample_trace *t, const struct time_range *range, bool compat, FILE *out,
		    struct packet_counts *ret);

/* ---- one line per packet, for list --tcpdump ---- */

struct packet_texts;
int packet_texts_open(bool compat, struct packet_texts **ret);
void packet_texts_close(struct packet_texts *p);

/* All packets in order, then tcpdump is run once, then the texts come in the same order. */
int packet_texts_add(struct packet_texts *p, const struct sample *s);
int packet_texts_run(struct packet_texts *p);
/* tcpdump's first line of the next packet (--compat: as Python prints bytes: b'..'). */
int packet_text(struct packet_texts *p, char *buf, size_t size);

/*
 * The states of "..., A -> B" at the end of a text by name; returns the new end. `compat`: a number
 * of two digits comes out wrong, as it does there.
 */
char *tcp_state_text(char *text, char *end, bool compat);

#endif
