// SPDX-License-Identifier: GPL-2.0-or-later
/* libpcap's functions, for osv_packets.c; the library is loaded when the first file is written. */
#include <pcap/pcap.h>

#include "base/lazy.h"

#define PCAP_FUNCTIONS(X) \
	X(pcap_open_dead) \
	X(pcap_close) \
	X(pcap_geterr) \
	X(pcap_dump_fopen) \
	X(pcap_dump) \
	X(pcap_dump_flush)

static struct {
	PCAP_FUNCTIONS(LAZY_MEMBER)
} real;

static const struct lazy_symbol symbols[] = {PCAP_FUNCTIONS(LAZY_SYMBOL)};
struct lazy_library lazy_pcap = {LAZY_SONAME, symbols, sizeof(symbols) / sizeof(*symbols)};
LAZY_NOTE(LAZY_SONAME);

pcap_t *pcap_open_dead(int link_type, int snap_bytes)
{
	return lazy_load(&lazy_pcap) ? NULL : real.pcap_open_dead(link_type, snap_bytes);
}

void pcap_close(pcap_t *p)
{
	real.pcap_close(p);
}

char *pcap_geterr(pcap_t *p)
{
	return real.pcap_geterr(p);
}

pcap_dumper_t *pcap_dump_fopen(pcap_t *p, FILE *out)
{
	return real.pcap_dump_fopen(p, out);
}

void pcap_dump(u_char *dumper, const struct pcap_pkthdr *head, const u_char *bytes)
{
	real.pcap_dump(dumper, head, bytes);
}

int pcap_dump_flush(pcap_dumper_t *dumper)
{
	return real.pcap_dump_flush(dumper);
}
