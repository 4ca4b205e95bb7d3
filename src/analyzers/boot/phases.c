// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The phases of a boot, with the time of each by cause, and its points. The time up to an event is accounted before the
 * event changes what threads do.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "analyzers/boot/internal.h"
#include "base/array.h"
#include "base/error.h"

const char *const boot_phase_names[BOOT_MARKER] = {
	[BOOT_VMM] = "vmm",	      [BOOT_VM] = "vm",		[BOOT_VCPUS] = "vcpus",
	[BOOT_DEVICES] = "devices",   [BOOT_FIRMWARE] = "firmware", [BOOT_KERNEL] = "kernel",
	[BOOT_INIT] = "init",
};

/* ---- time ---- */

static enum boot_cause cause_of(const struct boot *b, const struct model_thread *t)
{
	const struct boot_thread *th = (const struct boot_thread *)t;

	return boot_thread_cause(&b->model, t, th->in_call ? (int64_t)th->call : -1, th->request);
}

static enum boot_cause machine_cause(const struct boot *b, const struct machine *m)
{
	const struct model_thread *t;
	enum boot_cause cause = BOOT_UNKNOWN;

	if (m->stage >= BOOT_FIRMWARE && m->nr_vcpus) {
		for (unsigned int i = 0; i < m->nr_vcpus; i++) {
			cause = cause_of(b, m->vcpu[i]);
			if (cause != BOOT_HALTED)
				break;
		}
		return cause;
	}
	t = model_thread_find(&b->model, m->source, m->vm.pid);
	return t ? cause_of(b, t) : BOOT_UNKNOWN;
}

void boot_time_account(const struct boot *b, struct machine *m, uint64_t ns)
{
	if (!m->has_begun || m->vm.has_end || ns <= m->cursor_ns)
		return;
	m->vm.causes[m->phase][machine_cause(b, m)] += ns - m->cursor_ns;
	m->cursor_ns = ns;
}

/* ---- phases ---- */

bool boot_phase_begin(const struct boot *b, struct machine *m, unsigned int phase, uint64_t ns)
{
	if (m->vm.has_end || m->vm.at[phase] || (phase < m->stage && m->has_begun))
		return false;
	boot_time_account(b, m, ns);
	if (!m->has_begun)
		m->vm.begin_ns = m->cursor_ns = ns;
	m->has_begun = true;
	m->phase = phase;
	if (phase < BOOT_MARKER)
		m->stage = phase;
	m->vm.at[phase] = ns;
	if (b->nr_markers && phase == BOOT_MARKER + b->nr_markers - 1) {
		m->vm.has_end = true;
		m->vm.end_ns = ns;
	}
	return true;
}

bool boot_phase_begin_line(const struct boot *b, struct machine *m, unsigned int phase,
			     uint64_t ns)
{
	uint64_t *of = m->vm.causes[m->phase], since[BOOT_CAUSES];
	bool ended = m->vm.has_end, moves = m->has_begun && m->phase == m->line.phase;

	if (!moves)
		return boot_phase_begin(b, m, phase, ns);
	boot_time_account(b, m, ns);
	for (unsigned int i = 0; i < BOOT_CAUSES; i++)
		since[i] = of[i] - m->line.causes[i];
	if (ended || !boot_phase_begin(b, m, phase, ns))
		return false;
	memcpy(of, m->line.causes, sizeof(m->line.causes));
	m->vm.at[phase] = m->console.since_ns;
	m->line.phase = BOOT_PHASES; /* a second one in this line begins now */
	if (m->vm.has_end)
		m->vm.end_ns = m->console.since_ns;
	else
		memcpy(m->vm.causes[phase], since, sizeof(since));
	return true;
}

void boot_vcpus_resume(const struct boot *b, struct machine *m, uint64_t ns)
{
	if (m->phase != BOOT_DEVICES)
		return;
	boot_time_account(b, m, ns);
	for (unsigned int i = 0; i < BOOT_CAUSES; i++)
		m->vm.causes[BOOT_VCPUS][i] += m->vm.causes[BOOT_DEVICES][i];
	memset(m->vm.causes[BOOT_DEVICES], 0, sizeof(m->vm.causes[BOOT_DEVICES]));
	m->vm.at[BOOT_DEVICES] = 0;
	m->phase = m->stage = BOOT_VCPUS;
}

/* ---- points ---- */

struct boot_point *boot_point_add(struct boot *b, struct machine *m, enum boot_point_kind kind,
				    uint64_t ns, uint64_t number)
{
	struct boot_vm *vm = &m->vm;
	struct boot_point p = {.kind = kind, .ns = ns, .number = number, .vcpu = RECORD_NO_VCPU};

	if (!m->has_begun || (vm->has_end && ns > vm->end_ns))
		return NULL;
	if (b->nr_points == BOOT_POINTS_MAX) {
		b->refused++;
		return NULL;
	}
	b->err = array_add(vm->point, vm->nr_points, p);
	if (b->err)
		return NULL;
	b->nr_points++;
	return &vm->point[vm->nr_points - 1];
}

void boot_point_text(struct boot *b, struct boot_point *p, const char *text)
{
	if (!p)
		return;
	p->text = strdup(text);
	if (!p->text)
		b->err = fail(-ENOMEM, "out of memory");
	else
		text_sanitize(p->text);
}

/* ---- threads ---- */

struct boot_thread *boot_thread_of(struct boot *b, struct machine *m, const struct event *ev)
{
	struct boot_thread *th = (struct boot_thread *)model_thread_get(&b->model, ev);

	if (th && !th->machine)
		th->machine = m;
	return th;
}

/* The thread runs a vCPU for the first time. */
void boot_vcpu_runs(struct boot *b, struct machine *m, const struct event *ev, uint16_t vcpu)
{
	struct boot_thread *th = boot_thread_of(b, m, ev);
	struct boot_point *p;

	if (!th || th->has_run || !m->has_begun)
		return;
	th->has_run = true;
	boot_phase_begin(b, m, BOOT_FIRMWARE, ev->time_ns);
	if (m->nr_vcpus < BOOT_VCPUS_MAX)
		m->vcpu[m->nr_vcpus++] = &th->model;
	p = boot_point_add(b, m, BOOT_AT_RUN, ev->time_ns, 0);
	if (p)
		p->vcpu = vcpu;
}
