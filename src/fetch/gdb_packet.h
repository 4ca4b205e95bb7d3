/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Packets of the gdb remote serial protocol (gdb's manual, appendix E, "Overview"):
 *
 *   $DATA#CC     CC: sum of DATA's bytes modulo 256, two hex digits. In DATA '}' escapes the next
 *                byte (xor 0x20); in replies '*' and a count byte repeat the byte before.
 *   + -          the packet before was good, or is to be sent again
 *   %DATA#CC     an unrequested notification
 *
 * The stub is as little trusted as the guest: packets are bounded, what is not a packet is skipped.
 */
#ifndef HOSTRACE_GDB_PACKET_H
#define HOSTRACE_GDB_PACKET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { GDB_PACKET_MAX = 64 << 10 };

enum gdb_token {
	GDB_NOTHING, /* more bytes are needed */
	GDB_ACK,
	GDB_NAK,
	GDB_PACKET, /* in parser.data, terminated */
	GDB_NOTIFICATION,
	GDB_DAMAGED, /* wrong checksum, too long, or repeats nothing */
};

struct gdb_parser {
	int state;
	bool notification, damaged, escaped, repeat;
	uint8_t sum, sum_sent;
	size_t len;
	char data[GDB_PACKET_MAX + 1];
};

/* Takes one byte. After anything but GDB_NOTHING the next byte begins a new token. */
enum gdb_token gdb_parse(struct gdb_parser *p, uint8_t byte);

/* "$DATA#CC" with escapes, terminated; returns its length, 0 if it does not fit. */
size_t gdb_packet_make(const char *data, size_t len, char *ret, size_t size);

/* Hex digits to bytes. False: not exactly 2 * len digits. */
bool gdb_hex_bytes(const char *hex, size_t digits, uint8_t *ret, size_t len);

#endif
