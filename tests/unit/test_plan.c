// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Plans: for the kernel, for a program other than QEMU, and for this program itself, which stands in
 * for QEMU 6.2 with some of its USDT probes and functions. Also the tables: every name in them must
 * exist elsewhere.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/sdt.h>

#include "base/error.h"
#include "collector/plan.h"
#include "event/event.h"

#include "hostrace.skel.h" /* knows record.h's types */

#include <cmocka.h>

const char *volatile version = "QEMU emulator version 6.2.0 (pretended)\n";

/* The mark of flush has two sites; that of notify has an argument that libbpf cannot read. */
void marks(void *vq, void *elem, long *table, long i);

__attribute__((noinline)) void marks(void *vq, void *elem, long *table, long i)
{
	STAP_PROBE4(qemu, virtqueue_pop, vq, elem, 1, 2);
	STAP_PROBE2(qemu, virtqueue_flush, vq, 1);
	STAP_PROBE2(qemu, virtqueue_flush, vq, 2);
	asm volatile("" ::"r"(table[i]));
}

asm(".pushsection .note.stapsdt, \"\", @note\n"
    "	.long 8, 9f - 8f, 3\n"
    "	.asciz \"stapsdt\"\n"
    "8:	.quad marks, 0, 0\n"
    "	.asciz \"qemu\"\n"
    "	.asciz \"virtio_notify\"\n"
    "	.asciz \"8@(%r8,%rdx,8) 8@%rsi\"\n"
    "9:	.balign 4\n"
    ".popsection\n"
    ".pushsection .text\n"
    "	.globl virtqueue_detach_element, virtio_notify, virtqueue_fill, virtqueue_rewind\n"
    "	.type virtqueue_detach_element, @function\n"
    "virtqueue_detach_element:\n"
    "	mov	8(%rsi), %eax\n"
    "	sub	%eax, 0x4c(%rdi)\n"
    "	mov	0x68(%rdi), %rdi\n"
    "	jmp	1f\n"
    "1:	ret\n"
    "	.size virtqueue_detach_element, . - virtqueue_detach_element\n"
    "	.type virtqueue_rewind, @function\n"
    "virtqueue_rewind:\n"
    "	cmp	%esi, 0x4c(%rdi)\n"
    "	jb	1f\n"
    "1:	ret\n"
    "	.size virtqueue_rewind, . - virtqueue_rewind\n"
    "	.type virtio_notify, @function\n"
    "virtio_notify:\n"
    "	push	%rbx\n"
    "	pop	%rbx\n"
    "	ret\n"
    "	.size virtio_notify, . - virtio_notify\n"
    "	.globl laio_co_submit, qemu_mutex_lock_iothread_impl\n"
    "	.type laio_co_submit, @function\n"
    "	.type qemu_mutex_lock_iothread_impl, @function\n"
    "laio_co_submit:\n"
    "qemu_mutex_lock_iothread_impl:\n"
    "	push	%rbx\n"
    "	pop	%rbx\n"
    "	ret\n"
    "	.size laio_co_submit, . - laio_co_submit\n"
    "	.globl virtqueue_unpop\n"
    "	.type virtqueue_unpop, @object\n" /* a pointer somewhere, not code */
    "	.set virtqueue_unpop, 0x7fffffff0000\n"
    ".popsection\n");

static const struct probe_plan *planned(const struct plan *plan, const char *event,
					enum probe_how how)
{
	const struct probe_plan *p = plan_of(plan, event);

	assert_non_null(p);
	assert_int_equal(how, p->how);
	assert_true(p->how == PROBE_ABSENT ? p->nr_places == 0 && *p->reason : p->nr_places > 0);
	return p;
}

static void kernel(void **state)
{
	struct plan plan;

	(void)state;
	assert_int_equal(0, plan_make(NULL, &plan));
	assert_null(plan_of(&plan, "virtqueue_pop"));
	assert_null(plan_of(&plan, "no_such_event"));
	if (plan_of(&plan, "sched_switch")->how == PROBE_ABSENT)
		skip(); /* kernel: no BTF */
	assert_string_equal("sched:sched_switch",
			    planned(&plan, "sched_switch", PROBE_TRACEPOINT)->place[0].function);
	plan_free(&plan);
}

static void own_program(void **state)
{
	const struct probe_plan *p;
	struct plan plan;

	(void)state;
	marks(NULL, NULL, (long[]){0}, 0);
	assert_true(*version);
	assert_int_equal(0, plan_make("/proc/self/exe", &plan));
	assert_string_equal("6.2.0", plan.version);
	assert_string_equal("", plan.note);
	assert_int_equal(104, plan.layout.vq_vdev);
	assert_int_equal(124, plan.layout.vq_host_notifier);
	assert_string_equal("offsets of QEMU's structures: 3 of 6 confirmed by its machine code",
			    plan.layout_note);

	p = planned(&plan, "virtqueue_pop", PROBE_USDT);
	assert_int_equal(1, p->nr_places);
	assert_string_equal("usdt_virtqueue_pop", p->place[0].program);
	assert_string_equal("virtqueue_pop", p->place[0].mark);
	assert_int_equal(1, p->place[0].sites);
	assert_true(p->place[0].emulated);
	assert_int_equal(2, planned(&plan, "virtqueue_flush", PROBE_USDT)->place[0].sites);

	p = planned(&plan, "virtqueue_detach", PROBE_FUNCTION);
	assert_int_equal(0, p->place[0].offset);
	assert_false(p->place[0].emulated);
	p = planned(&plan, "virtqueue_rewind", PROBE_FUNCTION);
	assert_int_equal(3, p->place[0].offset);
	assert_true(p->place[0].emulated);
	assert_string_equal("jb", p->place[0].insn);

	p = planned(&plan, "virtio_notify", PROBE_FUNCTION); /* its mark cannot be read */
	assert_string_equal("fn_virtio_notify", p->place[0].program);
	assert_non_null(strstr(p->reason, "1 of 2 functions"));
	p = planned(&plan, "virtio_queue_reset", PROBE_ABSENT);
	assert_non_null(strstr(p->reason, "older than 7.2"));
	planned(&plan, "virtqueue_unpop", PROBE_ABSENT);
	p = planned(&plan, "mutex_locked", PROBE_ABSENT); /* no function may be used instead */
	assert_non_null(strstr(p->reason, "SIGILL"));
	assert_string_equal("locks", p->group);
	p = planned(&plan, "bql_lock", PROBE_FUNCTION); /* by its older name */
	assert_string_equal("qemu_mutex_lock_iothread_impl", p->place[0].function);
	p = planned(&plan, "aio_submit", PROBE_FUNCTION); /* 8.1 and newer have other arguments */
	assert_int_equal(1, p->nr_places);
	assert_string_equal("fn_aio_submit_function", p->place[0].program);
	p = planned(&plan, "virtqueue_fill", PROBE_ABSENT); /* declared, not defined */
	assert_non_null(strstr(p->reason, "virtqueue_fill"));
	plan_free(&plan);
}

static void other_programs(void **state)
{
	struct plan plan;

	(void)state;
	assert_int_equal(
		0, plan_make("/proc/self/cmdline", &plan)); /* a script could have started QEMU */
	assert_non_null(strstr(planned(&plan, "virtqueue_pop", PROBE_ABSENT)->reason,
			       "not a QEMU executable"));
	plan_free(&plan);
	assert_int_equal(-ENOENT, plan_make("/no/such/file", &plan));
}

/* The sites are unknown, not absent; a VM without QEMU needs no helper. */
static void no_helper(void **state)
{
	char *before = strdup(getenv("HOSTRACE_LIBEXEC"));
	struct helper ended = {0};
	struct plan plan;

	(void)state;
	assert_int_equal(-EPIPE, plan_make_qemu("/proc/self/exe", &ended, &plan));
	assert_string_equal("hostrace-decode has ended", error_text());
	setenv("HOSTRACE_LIBEXEC", "/no/such/directory", 1);
	assert_int_equal(-ENOENT, plan_make("/proc/self/exe", &plan));
	assert_non_null(strstr(error_text(), "/no/such/directory/hostrace-decode"));
	assert_int_equal(0, plan_make("/proc/self/cmdline", &plan));
	plan_free(&plan);
	setenv("HOSTRACE_LIBEXEC", before, 1);
	free(before);
}

static void json(void **state)
{
	struct plan plan;
	json_t *all, *one;
	size_t i;

	(void)state;
	assert_int_equal(0, plan_make("/proc/self/exe", &plan));
	all = plan_json(&plan);
	assert_int_equal(plan.nr, json_array_size(all));
	json_array_foreach (all, i, one) {
		const char *how = json_string_value(json_object_get(one, "how"));

		assert_string_equal(plan.probe[i].event,
				    json_string_value(json_object_get(one, "event")));
		assert_string_equal(plan_how(&plan.probe[i]), how);
		assert_true(!strcmp(how, "absent") ==
			    !*json_string_value(json_object_get(one, "where")));
	}
	json_decref(all);
	plan_free(&plan);
}

static const char *const tables[][2] = {
#define TRACEPOINT(event, system, name, flags, note) {#event, "tp_" #event},
#include "../../probes/kvm.def"
#define LAYOUT(...)
#define LAYOUT_CHECKED(...)
#define LAYOUT_SEEN(...)
#define GROUP(...)
#define PROBE(event, since, loss)		 {#event, NULL},
#define MARK(name, program, args, lack)		 {NULL, #program},
#define ENTRY(function, program, nr, prototype)	 {NULL, #program},
#define ENTRY_BEFORE(function, program, ...)	 {NULL, #program},
#define RETURN(function, program, nr, prototype) {NULL, #program},
#define END(event)				 {#event, NULL},
#include "../../probes/qemu.def"
#define INSIDE(event, since, loss)		      {#event, NULL},
#define BY_MARK(event, mark, which, ...)	      {NULL, "usdt_" #event "_" #which},
#define BY_ENTRY(event, function, which, ...)	      {NULL, "fn_" #event "_" #which},
#define BY_RETURN(event, function, which, ...)	      {NULL, "ret_" #event "_" #which},
#define NO_FUNCTION(event, why)			      {#event, NULL},
#define INSIDE_END(event)			      {#event, NULL},
#include "../../probes/inside.def"
};

static void names_exist(void **state)
{
	struct hostrace *skel = hostrace__open();

	(void)state;
	assert_non_null(skel);
	for (size_t i = 0; i < sizeof(tables) / sizeof(tables[0]); i++) {
		const struct event_type *type =
			tables[i][0] ? event_type_named(tables[i][0]) : NULL;

		if (tables[i][0] && (!type || !type->id))
			fail_msg("events.def has no %s", tables[i][0]);
		if (tables[i][1] && !bpf_object__find_program_by_name(skel->obj, tables[i][1]))
			fail_msg("there is no BPF program %s", tables[i][1]);
	}
	hostrace__destroy(skel);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(kernel),	  cmocka_unit_test(own_program),
		cmocka_unit_test(other_programs), cmocka_unit_test(no_helper),
		cmocka_unit_test(json),		  cmocka_unit_test(names_exist),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
