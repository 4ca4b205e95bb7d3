// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Linux reports all system calls by one pair of events, sys_enter and sys_exit, with the number in a field. In
 * profiles each number is a pair of its own, named as the kernel's own events for single calls: sys_enter_read
 * ... sys_exit_read, with the base sys_read. A 32-bit program's calls have other numbers than
 * the names are of, and no field distinguishes them.
 */
#include <errno.h>
#include <inttypes.h>

#include "analyzers/profile/samples_internal.h"
#include "base/error.h"
#include "event/syscall_table.h"

struct syscall_end {
	uint32_t tracepoint; /* index + 1; 0: not seen */
	struct sample_kind kind;
};

struct sample_syscalls {
	struct syscall_call {
		struct syscall_end end[2]; /* enter, exit */
		char base[40];
	} call[SYSCALLS_MAX];
};

static uint64_t number_of(const struct sample_rule *r, const struct event *ev)
{
	char text[64], *end;
	uint64_t number;

	if (r->field[0])
		return event_u64(ev, r->field[0]);
	if (!r->text)
		return UINT64_MAX;
	event_text(ev, r->text, text, sizeof(text)); /* NR 0 (3, ... */
	if (strncmp(text, "NR ", 3))
		return UINT64_MAX;
	number = strtoull(text + 3, &end, 10);
	return end == text + 3 ? UINT64_MAX : number;
}

static struct syscall_call *call_of(struct samples *x, const struct sample_rule *r,
				    const struct event *ev)
{
	uint64_t number = number_of(r, ev);
	struct syscall_call *c = x->syscalls && number < SYSCALLS_MAX ? &x->syscalls->call[number]
								      : NULL;

	if (c && !c->base[0] && syscall_of_number(number))
		snprintf(c->base, sizeof(c->base), "sys_%s", syscall_of_number(number));
	else if (c && !c->base[0])
		snprintf(c->base, sizeof(c->base), "sys_%" PRIu64, number);
	return c;
}

int sample_syscall_learn(struct samples *x, const struct sample_rule *r, const struct event *ev)
{
	if (!x->syscalls)
		x->syscalls = calloc(1, sizeof(*x->syscalls));
	if (!x->syscalls)
		return fail(-ENOMEM, "out of memory");
	struct syscall_call *c = call_of(x, r, ev);
	struct syscall_end *e = c ? &c->end[r->kind.ends] : NULL;
	char name[64];

	if (!e || e->tracepoint)
		return 0;
	e->kind = r->kind;
	e->kind.base = c->base;
	e->kind.event = r->kind.ends ? "sys_exit" : "sys_enter";
	e->kind.all = "syscall";
	snprintf(name, sizeof(name), "%s_%s", e->kind.event, c->base + strlen("sys_"));
	int err = samples_tracepoint_add(x, name, "", "", &e->kind, &e->tracepoint);

	e->tracepoint++;
	return err;
}

uint32_t sample_syscall_tracepoint(struct samples *x, const struct sample_rule *r,
				   const struct event *ev, uint32_t otherwise)
{
	struct syscall_call *c = call_of(x, r, ev);

	return c && c->end[r->kind.ends].tracepoint ? c->end[r->kind.ends].tracepoint : otherwise;
}
