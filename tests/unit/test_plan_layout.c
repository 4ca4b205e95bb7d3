// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A QEMU whose VirtQueue differs from its version's: this program itself, which stands in for QEMU 7.2
 * with a patched structure. Its queues must not be read; other structures may.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "symbols/decode/decode.h"
#include "collector/plan.h"

#include <cmocka.h>

const char *volatile version = "QEMU emulator version 7.2.22 (pretended)\n";

asm(".pushsection .text\n"
    "	.globl virtio_get_queue_index, virtqueue_fill, virtio_set_status\n"
    "	.type virtio_get_queue_index, @function\n"
    "	.type virtqueue_fill, @function\n"
    "	.type virtio_set_status, @function\n"
    "virtio_get_queue_index:\n"
    "	movzwl	0x50(%rdi), %eax\n"
    "	ret\n"
    "	.size virtio_get_queue_index, . - virtio_get_queue_index\n"
    "virtqueue_fill:\n"
    "	push	%rbx\n"
    "	pop	%rbx\n"
    "	ret\n"
    "	.size virtqueue_fill, . - virtqueue_fill\n"
    "virtio_set_status:\n"
    "	push	%rbx\n"
    "	pop	%rbx\n"
    "	ret\n"
    "	.size virtio_set_status, . - virtio_set_status\n"
    ".popsection\n");

static void patched_structure(void **state)
{
	const struct probe_plan *p;
	struct plan plan;

	(void)state;
	assert_true(*version);
	assert_int_equal(0, plan_make("/proc/self/exe", &plan));
	assert_int_equal(72, plan.layout.vq_queue);
	p = plan_of(&plan, "virtqueue_fill");
	assert_int_equal(PROBE_ABSENT, p->how);
	assert_string_equal("unexpected structure layout: vq_queue is at offset 80 (found in "
			    "virtio_get_queue_index()), not at 72 as in QEMU 7.2.22",
			    p->reason);
	assert_non_null(strstr(plan.layout_note, "virtqueues are not read"));
	assert_int_equal(PROBE_FUNCTION, plan_of(&plan, "virtio_set_status")->how);
	plan_free(&plan);
}

static int member(const char *code, size_t len, unsigned int arg, unsigned int bytes)
{
	int64_t at = -1;

	return decode_member((const uint8_t *)code, len, arg, bytes, &at) ? -1 : (int)at;
}

#define MEMBER(code, arg, bytes) member(code, sizeof(code) - 1, arg, bytes)

static void members(void **state)
{
	(void)state;
	/* movzwl 0x48(%rdi),%eax; ret */
	assert_int_equal(0x48, MEMBER("\x0f\xb7\x47\x48\xc3", 1, 2));
	assert_int_equal(-1, MEMBER("\x0f\xb7\x47\x48\xc3", 1, 8));
	assert_int_equal(-1, MEMBER("\x0f\xb7\x47\x48\xc3", 2, 2));
	/* lea 0x74(%rdi),%rax; ret */
	assert_int_equal(0x74, MEMBER("\x48\x8d\x47\x74\xc3", 1, 0));
	assert_int_equal(-1, MEMBER("\x48\x8d\x47\x74\xc3", 1, 8));
	/* endbr64; mov 0x8(%rsi),%eax; sub %eax,0x4c(%rdi); mov 0x60(%rdi),%rdi */
	assert_int_equal(0x60, MEMBER("\xf3\x0f\x1e\xfa\x8b\x46\x08\x29\x47\x4c"
				      "\x48\x8b\x7f\x60",
				      1, 8));
	/* mov 0x10(%rdi),%rdi; mov 0x48(%rdi),%ax: no longer the argument */
	assert_int_equal(-1, MEMBER("\x48\x8b\x7f\x10\x66\x8b\x47\x48", 1, 2));
	/* jne over; movzwl 0x48(%rdi),%eax */
	assert_int_equal(-1, MEMBER("\x75\x00\x0f\xb7\x47\x48", 1, 2));
	assert_int_equal(-1, MEMBER("", 1, 2));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(patched_structure),
		cmocka_unit_test(members),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
