// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The table of kernel_events.def, which the readers of formats (ftrace_kvm.c: trace.dat, perf.data,
 * raw pages) and of texts (readers/text/text_kvm.c) share, and what values mean that several of our
 * fields are packed in.
 */
#include <string.h>

#include "event/records.h"
#include "readers/ftrace/kernel_events.h"

/*
 * prev_state as the tracepoint reports it (include/trace/events/sched.h since 4.14) is not the
 * task's own state, which our event has: an idle kernel thread's 0x402 becomes 0x80, a dead one's
 * 0x80 the state in which it exited, and the bit above these means "preempted", which for us is 0.
 */
enum {
	REPORTED_DEAD = 0x10,
	REPORTED_EXITED = 0x30,
	REPORTED_IDLE = 0x80,
	REPORTED_STATES = 0xff,
	STATE_PARKED = 0x40,
	STATE_DEAD = 0x80,
	STATE_IDLE = 0x402,
};

/* The task's own state before 4.14; the bit above these means "preempted" there, too. */
enum {
	OLD_SLEEPS = 0xf, /* S, D, T, t */
	OLD_DEAD = 0x70,  /* EXIT_DEAD, EXIT_ZOMBIE, TASK_DEAD */
	OLD_PARKED = 0x200,
};

uint64_t ftrace_task_state(uint64_t reported)
{
	if (reported & REPORTED_IDLE)
		return STATE_IDLE;
	return reported & REPORTED_EXITED ? STATE_DEAD : reported & REPORTED_STATES;
}

uint64_t ftrace_task_state_own(uint64_t state)
{
	if ((state & STATE_IDLE) == STATE_IDLE)
		return STATE_IDLE;
	if (state & OLD_DEAD)
		return STATE_DEAD;
	return state & OLD_PARKED ? STATE_PARKED : state & OLD_SLEEPS;
}

uint64_t ftrace_reported_state(uint64_t state)
{
	if (state == STATE_IDLE)
		return REPORTED_IDLE;
	return state == STATE_DEAD ? REPORTED_DEAD : state;
}

/* KVM's APIC_DM_*: bits 8 to 10 of an interrupt command (Intel SDM volume 3, 11.6.1). */
static uint64_t delivery_mode(uint64_t dm)
{
	return dm >> 8 & 7;
}

static uint64_t is_set(uint64_t v)
{
	return v != 0;
}

static uint64_t is_clear(uint64_t v)
{
	return v == 0;
}

/* A redirection entry: Intel's 82093AA data sheet, 3.2.4. */
static uint64_t entry_vector(uint64_t e)
{
	return e & 0xff;
}

static uint64_t entry_level(uint64_t e)
{
	return e >> 15 & 1;
}

static uint64_t entry_masked(uint64_t e)
{
	return e >> 16 & 1;
}

static uint64_t entry_dest(uint64_t e)
{
	return e >> 56;
}

#define ARM64_PC "vcpu_pc"
#define OWN_VCPU true
#define ANY_VCPU false
#define OURS(event, ours)                                                                          \
	.offset = offsetof(struct rec_##event, ours),                                              \
	.size = sizeof(((struct rec_##event *)0)->ours),                                           \
	.index = offsetof(struct index_##event, ours)
#define EXTRA_OF(event, extra)                                                                     \
	.offset = EXTRA_OFFSET(event, extra),                                                      \
	.size = sizeof(((struct extra_##event *)0)->extra), .index = EXTRA_INDEX(event, extra)
#define KERNEL_EVENT(system, event, own)                                                           \
	{                                                                                          \
#system, #event, EV_##event, own,                                                  \
		{
#define FIELD(event, ours, name, how, versions)                                                    \
	{.theirs = name, .form = how, OURS(event, ours), .kernels = versions},
#define PACKED(event, ours, name, how, function, versions)                                         \
	{.theirs = name, .form = how, OURS(event, ours), .convert = function, .kernels = versions},
#define BYTES(event, ours, name, from, nr)                                                         \
	{.theirs = name, .form = FORM_NONE, OURS(event, ours), .at = from, .bytes = nr},
#define MORE(event, extra, name, how, versions)                                                    \
	{.theirs = name, .form = how, EXTRA_OF(event, extra), .kernels = versions},
#define MORE_WORD(event, extra, name, how)                                                         \
	{.theirs = name, .form = how, EXTRA_OF(event, extra), .word_only = true},
#define WORD(event, ours, name, how)                                                               \
	{.theirs = name, .form = how, OURS(event, ours), .word_only = true},
#define VCPU_WORD(name) {.theirs = name, .form = FORM_VCPU, .word_only = true},
#define ABSENT(event, ours, versions)                                                              \
	{.form = FORM_NONE, OURS(event, ours), .word_only = true, .kernels = versions},
#define KERNEL_END                                                                                 \
	}                                                                                          \
	}                                                                                          \
	,

static const struct kernel_event events[] = {
#include "readers/ftrace/kernel_events.def"
};
#undef KERNEL_EVENT

#define BLOCK_BEGUN	"{dev} {rwbs} {bytes} ({cmd}) {sector} + {nr_sector} [{comm}]"
#define BLOCK_BEGUN_NOW "{dev} {rwbs} {bytes} ({cmd}) {sector} + {nr_sector} {ioprio} [{comm}]"
#define BLOCK_ENDED	"{dev} {rwbs} ({cmd}) {sector} + {nr_sector} [{error}]"
#define BLOCK_ENDED_NOW "{dev} {rwbs} ({cmd}) {sector} + {nr_sector} {ioprio} [{error}]"
#define PRINTED(system, event, pattern)	  {#system, #event, pattern, false},
#define FIELDS_OF(system, event, pattern) {#system, #event, pattern, true},
static const struct kernel_text texts[] = {
#include "readers/ftrace/kernel_events.def"
#include "readers/ftrace/kernel_texts.def"
};
#undef PRINTED
#undef FIELDS_OF

static bool is(const char *name, const char *s, size_t len)
{
	return len && *name == *s && !strncmp(name, s, len) && !name[len];
}

static const char *newer_name(const char *name, size_t len)
{
#define FORMER(newer, theirs, versions)                                                            \
	if (is(theirs, name, len))                                                                 \
		return #newer;
#include "readers/ftrace/kernel_events.def"
#undef FORMER
	return NULL;
}

const struct kernel_event *kernel_event_find(const char *system, size_t system_len,
					     const char *name, size_t name_len)
{
	const char *newer = newer_name(name, name_len);

	if (newer) {
		name = newer;
		name_len = strlen(newer);
	}
	for (size_t i = 0; i < sizeof(events) / sizeof(events[0]); i++)
		if (is(events[i].name, name, name_len) &&
		    (!system_len || is(events[i].system, system, system_len)))
			return &events[i];
	return NULL;
}

bool kernel_event_may_lack(const struct kernel_event *e, unsigned int index)
{
	for (const struct kernel_field *f = e->field; f < e->field + KERNEL_FIELDS_MAX; f++)
		if (!f->theirs && f->size && f->index == index)
			return true;
	return false;
}

const char *kernel_field_name(const char *event, const char *ours)
{
	const struct kernel_event *e = kernel_event_find("", 0, event, strlen(event));
	const struct event_type *type = e ? event_type_ours(e->id) : NULL;

	for (const struct kernel_field *f = e ? e->field : NULL;
	     f && f < e->field + KERNEL_FIELDS_MAX; f++)
		if (f->theirs && !f->word_only && !f->convert && !f->bytes &&
		    strcmp(f->theirs, ARM64_PC) && f->index < type->nr_fields &&
		    !strcmp(type->fields[f->index].name, ours))
			return f->theirs;
	return ours;
}

const struct kernel_text *kernel_text_find(const char *name, size_t len)
{
	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++)
		if (is(texts[i].name, name, len))
			return &texts[i];
	return NULL;
}

const struct kernel_text *kernel_text_next(const struct kernel_text *text)
{
	bool more = text + 1 < texts + sizeof(texts) / sizeof(texts[0]);

	return more && !strcmp(text[1].name, text->name) ? text + 1 : NULL;
}

const char *kernel_field_renamed(const char *system, const char *field)
{
#define RENAMED(of, theirs, newer, versions)                                                       \
	if (!strcmp(system, #of) && !strcmp(field, theirs))                                        \
		return newer;
#include "readers/ftrace/kernel_events.def"
	return field;
}
