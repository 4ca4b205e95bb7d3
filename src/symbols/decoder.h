/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Asks hostrace-decode about the machine code of a VM's executable. The functions are those of decode/decode.h; -EPIPE:
 * the helper is not running (any more), for which the plan as a whole fails: decoder_check().
 */
#ifndef HOSTRACE_DECODER_H
#define HOSTRACE_DECODER_H

#include "base/helper.h"
#include "symbols/decode/decode.h"

/* 0 or -errno with the error message set. Ended by helper_stop(). */
int decoder_start(struct helper *h);

/* 0; -EPIPE, with the error message set: it has ended. */
int decoder_check(const struct helper *h);

int decoder_place(struct helper *h, const uint8_t *code, size_t len, unsigned int nr_args,
		  struct decoded *ret);
int decoder_at(struct helper *h, const uint8_t *code, size_t len, struct decoded *ret);
int decoder_within(struct helper *h, const uint8_t *code, size_t len, uint64_t offset,
		   struct decoded *ret);
int decoder_member(struct helper *h, const uint8_t *code, size_t len, unsigned int arg,
		   unsigned int bytes, int64_t *ret);

/*
 * Calls `line` for each instruction of code that is linked at `address`: its offset and text. 0; what `line` returned;
 * -errno with the error message set.
 */
int decoder_lines(struct helper *h, const uint8_t *code, size_t len, uint64_t address,
		  int (*line)(void *arg, size_t offset, const char *text), void *arg);

/* `ret` has DECODE_VARIABLES_MAX addresses. */
unsigned int decoder_variables(struct helper *h, const uint8_t *code, size_t len, uint64_t address,
			       unsigned int arg, uint64_t *ret);

/*
 * A NOP of 5 bytes: newer kernels (seen on Linux 6.18) replace it by a call as soon as the probe was hit
 * once. The call pushes a return address and so overwrites the red zone (System V ABI for
 * x86-64, 3.2.2) of a function that keeps values below its stack pointer. Only at a function's very
 * entry is nothing there yet. Never probe one elsewhere.
 */
bool decode_is_nop5(const uint8_t *code, size_t len);

#endif
