// SPDX-License-Identifier: GPL-2.0-or-later
/* Which instruction of a function is probed. The code is assembled here, similar to compiled code of
 * QEMU. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "symbols/decoder.h"

#include <cmocka.h>

/* A function of this assembler text, from NAME to NAME_end. */
#define CODE(name, text)                                                                           \
	extern const uint8_t name[], name##_end[];                                                 \
	asm(".pushsection .rodata\n" #name ":\n" text "\n" #name "_end: .fill 16, 1, 0xcc\n"       \
	    ".popsection")

CODE(begins_with_push, "push %rbp; mov %rsp, %rbp; ret");
CODE(begins_with_push_r12, "push %r12; ret");
CODE(rex_push, ".byte 0x48, 0x55; ret"); /* push with a needless REX.W: single-stepped */
CODE(begins_with_nop, "nop; ret");
CODE(pop_like, "movabs $0xff00ff000000, %rax; mov 0x60(%rdi), %rdx; and 0x1b0(%rdx), %rax\n"
	       "jne 1f; jmp 2f\n1: xor %eax, %eax\n2: ret");
CODE(detach_like, "mov 8(%rsi), %eax; sub %eax, 0x4c(%rdi); mov 0x60(%rdi), %rdi; jmp 1f\n1: ret");
CODE(rewind_like,
     "mov 0x4c(%rdi), %eax; xor %edx, %edx; cmp %esi, %eax; jb 1f; sub %esi, %eax\n1: ret");
CODE(long_branch, "test %esi, %esi; jne 1f; .fill 200, 1, 0x90\n1: ret");
CODE(cet, "endbr64; push %rbp; ret");
CODE(cet_dear, "endbr64; mov (%rdi), %rax; ret");
CODE(stack_first, "sub $8, %rsp; call 1f\n1: add $8, %rsp; ret");
CODE(argument_part, "mov $1, %dh; push %rbx; pop %rbx; ret");
CODE(argument_shifted, "xchg %rdi, %rsi; push %rbx; pop %rbx; ret");
CODE(indirect, "mov (%rdi), %rax; jmp *%rax");
CODE(looped, "mov (%rdi), %rax\n1: add $8, %rdi; dec %esi; jne 1b; ret");
CODE(looped_before_place, "mov 8(%rdx), %rax\n1: inc %rax; cmp %rax, 8(%rdx); jne 1b; ret");
CODE(nop5_at_entry, ".byte 0x0f, 0x1f, 0x44, 0, 0; mov (%rdi), %rax; ret");
CODE(nop5_later, "mov (%rdi), %rax; .byte 0x0f, 0x1f, 0x44, 0, 0; ret");
CODE(nop5_between, "mov (%rdi), %rax; .byte 0x0f, 0x1f, 0x44, 0, 0; push %rbx; pop %rbx; ret");
CODE(pause, "mov (%rdi), %rax; pause; ret");
CODE(prefixed_branch, "mov (%rdi), %rax; .byte 0x66, 0xe9, 0, 0, 0, 0; ret");
CODE(no_code, ".byte 0x06, 0x06, 0x06, 0x06");
CODE(data_behind, "mov (%rdi), %rax; push %rbx; pop %rbx; ret; .byte 0x06, 0x06");

#define PLACE(name, args, ret) decode_place(name, (size_t)(name##_end - name), args, ret)
#define IS(name, args, at, mnemonic, cheap)                                                        \
	do {                                                                                       \
		struct decoded got = {0};                                                          \
		assert_int_equal(0, PLACE(name, args, &got));                                      \
		assert_int_equal(at, got.offset);                                                  \
		assert_string_equal(mnemonic, got.insn);                                           \
		assert_int_equal(cheap, got.emulated);                                             \
	} while (0)

static void cheap_at_entry(void **state)
{
	(void)state;
	IS(begins_with_push, 2, 0, "push", true);
	IS(begins_with_push_r12, 2, 0, "push", true);
	IS(begins_with_nop, 2, 0, "nop", true);
}

static void cheap_behind_entry(void **state)
{
	(void)state;
	IS(pop_like, 1, 21, "jne", true);
	IS(pop_like, 0, 21, "jne", true);
	IS(rewind_like, 2, 7, "jb", true);
	IS(long_branch, 2, 2, "jne", true);
	IS(cet, 2, 4, "push", true);
}

static void arguments_must_last(void **state)
{
	(void)state;
	IS(pop_like, 3, 0, "movabs", false); /* rdx is overwritten at +10 */
	IS(detach_like, 2, 0, "mov", false); /* rdi holds the device at +10 */
	IS(detach_like, 0, 10, "jmp", true);
	IS(argument_part, 2, 2, "push", true);
	IS(argument_part, 3, 0, "mov", false);
	IS(argument_shifted, 1, 0, "xchg", false);
}

static void stack_must_last(void **state)
{
	(void)state;
	IS(stack_first, 0, 0, "sub", false);
	IS(rex_push, 0, 0, "push", false);
}

static void straight_line_only(void **state)
{
	(void)state;
	IS(indirect, 1, 0, "mov", false);
	IS(looped, 0, 0, "mov", false);
	IS(looped_before_place, 2, 0, "mov", false);
	IS(data_behind, 1, 0, "mov", false);
	IS(cet_dear, 1, 0, "endbr64", false);
}

static void never_a_nop5_inside(void **state)
{
	struct decoded d;

	(void)state;
	IS(nop5_later, 1, 0, "mov", false);
	IS(nop5_between, 1, 8, "push", true);
	assert_int_equal(0, PLACE(nop5_at_entry, 1, &d));
	assert_int_equal(0, d.offset);
	assert_true(decode_is_nop5(nop5_at_entry, 5));
	assert_false(decode_is_nop5(nop5_at_entry, 4));
	assert_false(decode_is_nop5(begins_with_nop, 5));
}

static void others_are_dear(void **state)
{
	(void)state;
	IS(pause, 1, 0, "mov", false);
	IS(prefixed_branch, 1, 0, "mov", false);
}

static void not_code(void **state)
{
	struct decoded d;

	(void)state;
	assert_int_equal(-EINVAL, PLACE(no_code, 1, &d));
	assert_int_equal(-EINVAL, decode_place(begins_with_push, 0, 1, &d));
	assert_int_equal(-EINVAL, decode_at(no_code, 4, &d));
	assert_int_equal(0, decode_at(begins_with_nop, 1, &d));
	assert_true(d.emulated);
}

/* Where an instruction of a function begins, and nowhere else. */
static void within_a_function(void **state)
{
	static const uint8_t code[] = {0x53, 0x0f, 0x1f, 0x44, 0x00, 0x00, 0x5b, 0xc3};
	struct decoded d;

	(void)state;
	assert_int_equal(0, decode_within(code, sizeof(code), 0, &d));
	assert_string_equal("push", d.insn);
	assert_int_equal(0, decode_within(code, sizeof(code), 6, &d));
	assert_string_equal("pop", d.insn);
	assert_int_equal(6, d.offset);
	for (uint64_t at = 2; at < 6; at++)
		assert_int_equal(-EINVAL, decode_within(code, sizeof(code), at, &d));
	assert_int_equal(-EINVAL, decode_within(code, sizeof(code), sizeof(code), &d));
	assert_int_equal(-EINVAL, decode_within(code, sizeof(code), UINT64_MAX, &d));
}

/* Random bytes: a probe site within them, or none; never outside. */
static void hostile(void **state)
{
	uint8_t bytes[64];
	struct decoded d;

	(void)state;
	srand(1);
	for (int i = 0; i < 20000; i++) {
		size_t len = (size_t)rand() % (sizeof(bytes) + 1);

		for (size_t k = 0; k < len; k++)
			bytes[k] = (uint8_t)rand();
		if (!decode_place(bytes, len, (unsigned int)i % 7, &d))
			assert_true(d.offset < len);
	}
}

/* As `annotate` shows code: also what is none, and jumps by their targets' addresses. */
static void annotated_lines(void **state)
{
	static struct decode_line line[DECODE_LINES_BYTES + 8];
	static const uint8_t nops[600] = {[0 ... 599] = 0x90};
	uint32_t used;

	(void)state;
	assert_int_equal(4, decode_lines(long_branch, 3, 0x1000, line, &used) +
				    decode_lines(data_behind, 4, 0x1000, line + 8, &used));
	assert_string_equal("testl %esi, %esi", line[0].text);
	assert_int_equal(2, line[1].offset);
	assert_string_equal(".byte 0x0f", line[1].text);
	assert_string_equal("movq (%rdi), %rax", line[8].text);
	assert_int_equal(4, decode_lines(looped, (size_t)(looped_end - looped), 0x1000, line,
					 &used) - 1);
	assert_string_equal("jne 0x1003", line[3].text);
	assert_int_equal(DECODE_LINES_BYTES, decode_lines(nops, sizeof(nops), 0, line, &used));
	assert_int_equal(DECODE_LINES_BYTES, used);
	assert_int_equal(0, decode_lines(nops, 0, 0, line, &used));
	assert_int_equal(0, used);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(cheap_at_entry),
		cmocka_unit_test(cheap_behind_entry),
		cmocka_unit_test(arguments_must_last),
		cmocka_unit_test(stack_must_last),
		cmocka_unit_test(straight_line_only),
		cmocka_unit_test(never_a_nop5_inside),
		cmocka_unit_test(others_are_dear),
		cmocka_unit_test(not_code),
		cmocka_unit_test(within_a_function),
		cmocka_unit_test(hostile),
		cmocka_unit_test(annotated_lines),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
