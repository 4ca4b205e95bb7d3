/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What machine code shows: sites for user probes, members and variables that a function uses, its instructions. */
#ifndef HOSTRACE_DECODE_H
#define HOSTRACE_DECODE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
	DECODE_ARGS_MAX = 6,	     /* in registers: rdi rsi rdx rcx r8 r9 */
	DECODE_INSN_MAX = 15,	     /* bytes of an instruction */
	DECODE_PROLOGUE_MAX = 128,   /* bytes of a function that are searched for a probe site or a member */
	DECODE_FUNCTION_MAX = 64 << 10, /* bytes that are searched for jumps back; longer functions are
				       probed at the entry */
};

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

/* The same at an offset of a function, -EINVAL also where no instruction of it begins. */
int decode_within(const uint8_t *code, size_t len, uint64_t offset, struct decoded *ret);

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

enum {
	DECODE_LINES_BYTES = 512, /* of code, for one decode_lines() */
	DECODE_TEXT_MAX = 196, /* more than any that libcapstone prints */
};

struct decode_line {
	uint32_t offset; /* from the begin of the code */
	char text[DECODE_TEXT_MAX]; /* AT&T syntax, as objdump and perf print it */
};

/*
 * The instructions that begin in the first DECODE_LINES_BYTES of the code, which is linked at `address`. What is no
 * instruction is printed as ".byte". Returns their number, at most DECODE_LINES_BYTES; *ret_used: their bytes.
 */
unsigned int decode_lines(const uint8_t *code, size_t len, uint64_t address,
			  struct decode_line ret[DECODE_LINES_BYTES], uint32_t *ret_used);

/* ---- hostrace-decode ---- */

/*
 * Messages of base/helper.h: the helper first says that it is ready, or why not (text). Then a question,
 * followed by the code, is answered by one answer; DECODE_LINES by
 * DECODE_TEXT: the bytes that were decoded (u32), and the lines.
 */
enum { DECODE_READY = 1, DECODE_QUESTION, DECODE_ANSWER, DECODE_TEXT };
enum { DECODE_VARIABLES_MAX = 32 };

struct decode_question {
	enum {
		DECODE_PLACE,
		DECODE_AT,
		DECODE_WITHIN,
		DECODE_MEMBER,
		DECODE_VARIABLES,
		DECODE_LINES
	} what;
	unsigned int arg, bytes; /* arg: of DECODE_PLACE the number of arguments */
	uint64_t address; /* of the code; of DECODE_WITHIN the offset */
};

struct decode_answer {
	int err; /* what the function returned */
	unsigned int nr_variables;
	int64_t member;
	struct decoded at;
	uint64_t variable[DECODE_VARIABLES_MAX];
};

#endif
