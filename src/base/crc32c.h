/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * CRC32C (Castagnoli; RFC 3720, appendix B.4: polynomial 0x1EDC6F41, reflected, initial value and final XOR all
 * ones). crc32c(crc32c(0, a), b) is the CRC of a followed by b.
 */
#ifndef HOSTRACE_CRC32C_H
#define HOSTRACE_CRC32C_H

#include <stddef.h>
#include <stdint.h>

uint32_t crc32c(uint32_t crc, const void *data, size_t len);

#endif
