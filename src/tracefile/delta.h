/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Records, packed by what changes. Most of a record equals the last one of the same type and thread: ids,
 * size, CPU, reason. So a record is written as its difference from that one, word by word; its time as the distance
 * from the previous record. An exit cycle of 88 bytes needs about 16. doc/format.md, 1.4, specifies the form.
 */
#ifndef HOSTRACE_TRACEFILE_DELTA_H
#define HOSTRACE_TRACEFILE_DELTA_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Packs len bytes of whole records into out, which has space for len bytes. 0: it would not become smaller. */
size_t delta_pack(const uint8_t *records, size_t len, uint8_t *out);

/* Unpacks to exactly raw bytes, a multiple of 8. False: `in` is broken; nothing outside of out was touched. */
bool delta_unpack(const uint8_t *in, size_t len, uint8_t *out, size_t raw);

#endif
