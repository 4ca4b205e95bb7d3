/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The cheapest site for a user probe at the beginning of a function. */
#ifndef HOSTRACE_DECODE_H
#define HOSTRACE_DECODE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { DECODE_ARGS_MAX = 6 }; /* in registers: rdi rsi rdx rcx r8 r9 */

struct decoded {
	uint64_t offset; /* from the function's start */
	char insn[16];	 /* mnemonic */
	bool emulated;	 /* cheap */
};

/*
 * code: the function, `len` bytes of which belong to it. Chooses the earliest cheap address, else the
 * entry, which is always right. 0; -EINVAL: the bytes are not code.
 */
int decode_place(const uint8_t *code, size_t len, unsigned int nr_args, struct decoded *ret);

/* Checks the instruction at one address (of a mark), by the same rules. 0 or -EINVAL. */
int decode_at(const uint8_t *code, size_t len, struct decoded *ret);

/*
 * Which member of a structure does a function look at first? The displacement of its first access
 * of `bytes` (0: of the first `lea`) relative to argument `arg` (1 is rdi), as long as that register
 * holds the argument and there was no jump. -ENOENT: none found, which proves nothing.
 */
int decode_member(const uint8_t *code, size_t len, unsigned int arg, unsigned int bytes,
		  int64_t *ret);

/*
 * Variables whose addresses the code loads into argument register `arg` (1 is rdi) by `lea disp(%rip)`. `address` is
 * where the code is linked. Returns their number, at most `max`; 0 if it cannot be decoded.
 */
unsigned int decode_variables(const uint8_t *code, size_t len, uint64_t address, unsigned int arg,
			      uint64_t *ret, unsigned int max);

/*
 * A NOP of 5 bytes: newer kernels (seen on Linux 6.18) replace it by a call as soon as the probe was hit
 * once. The call pushes a return address and so overwrites the red zone (System V ABI for
 * x86-64, 3.2.2) of a function that keeps values below its stack pointer. Only at a function's very
 * entry is nothing there yet. Never probe one elsewhere.
 */
bool decode_is_nop5(const uint8_t *code, size_t len);

#endif
