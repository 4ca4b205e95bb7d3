/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Packets as a pcapng file (draft-ietf-opsawg-pcapng): timestamps in ns, direction, a comment for each packet. libpcap
 * reads this format and does not write it.
 */
#ifndef HOSTRACE_PCAPNG_H
#define HOSTRACE_PCAPNG_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

struct pcapng_packet {
	uint64_t time_ns;
	const void *data; /* an Ethernet frame */
	uint32_t len;
	bool outbound; /* the guest sent it */
	const char *comment;
};

/* The beginning of the file: a section with one interface. `clock`: which one timestamps are of, for people. */
void pcapng_begin(const char *program, const char *interface, const char *clock, FILE *out);
void pcapng_packet(const struct pcapng_packet *p, FILE *out);

#endif
