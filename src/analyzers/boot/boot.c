// SPDX-License-Identifier: GPL-2.0-or-later
/* The boots of a trace: which events they consist of, and whose they are. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "analyzers/boot/internal.h"
#include "base/error.h"
#include "base/order.h"
#include "event/handlers.h"

static void on_run(struct boot *b, struct machine *m, const struct event *ev)
{
	if (!m->has_calls)
		boot_vcpu_runs(b, m, ev, ev->vcpu);
}

static const HANDLERS_OF(struct boot, struct machine) handlers = {{
	[EV_kvm_exit] = boot_on_exit,
	[EV_kvm_run] = on_run,
	[EV_kvm_pio] = boot_on_kvm_pio,
	[EV_qemu_pio] = boot_on_qemu_pio,
	[EV_virtio_kind] = boot_on_kind,
	[EV_virtio_set_status] = boot_on_status,
	[EV_virtio_queue_notify] = boot_on_notify,
	[EV_virtqueue_pop] = boot_on_pop,
	[EV_syscall_enter] = boot_on_call,
	[EV_syscall_exit] = boot_on_call_end,
}};

bool boot_wants(const char *event, void *arg)
{
	(void)arg;
	return handlers_want(&handlers, event) || model_wants(event, false, false);
}

/* It is made by an event that boots consist of. NULL: too many, or no memory (b->err). */
static struct machine *machine_of(struct boot *b, const struct event *ev)
{
	uint64_t key = model_thread_key(ev->source, ev->pid);
	struct machine_entry *e;
	bool first = false;

	if (b->recent && b->recent->source == ev->source && b->recent->vm.pid == ev->pid)
		return b->recent;
	if (handlers_have(&handlers, ev))
		e = hash_add_u64(&b->machines, key, &first);
	else
		e = hash_find_u64(&b->machines, key);
	if (e && first) {
		e->m = calloc(1, sizeof(*e->m));
		if (!e->m) {
			hash_remove(&b->machines, e);
			b->err = fail(-ENOMEM, "out of memory");
			return NULL;
		}
		e->m->source = ev->source;
		e->m->vm.pid = ev->pid;
	}
	b->recent = e ? e->m : b->recent;
	return e ? e->m : NULL;
}

int boot_event(struct boot *b, const struct event *ev)
{
	struct machine *m = ev->pid && ev->type->id ? machine_of(b, ev) : NULL;

	if (!m) {
		model_event(&b->model, ev);
		return b->err;
	}
	m->last_ns = ev->time_ns;
	boot_thread_of(b, m, ev);
	if (ev->vcpu != RECORD_NO_VCPU)
		boot_time_account(b, m, ev->time_ns);
	model_event(&b->model, ev);
	if (handlers_have(&handlers, ev))
		handlers.on[ev->type->id](b, m, ev);
	return b->err;
}

static void period_account(void *arg, struct model_thread *t, uint64_t ns, enum run_state next,
			   const struct event *ev)
{
	const struct boot_thread *th = (const struct boot_thread *)t;

	(void)next;
	(void)ev;
	if (th->machine)
		boot_time_account(arg, th->machine, ns);
}

/* ---- begin and end ---- */

static bool has_ended(const struct boot *b, const struct machine *m)
{
	const struct model_thread *t = model_thread_find(&b->model, m->source, m->vm.pid);

	return t && t->state == THREAD_ENDED;
}

static int by_time(const void *a, const void *b)
{
	const struct boot_point *x = a, *y = b;

	return order_u64(x->ns, y->ns) ?: order_u64(x->kind, y->kind) ?:
	       order_u64(x->number, y->number) ?: order_u64(x->vcpu, y->vcpu) ?:
	       strcmp(x->text ?: "", y->text ?: "");
}

void boot_end(struct boot *b, uint64_t end_ns)
{
	const struct machine_entry *e;

	for (uint32_t at = 0; (e = hash_next(&b->machines, &at));) {
		struct machine *m = e->m;
		uint64_t ns = has_ended(b, m) || end_ns < m->last_ns ? m->last_ns : end_ns;

		boot_time_account(b, m, ns);
		if (!m->vm.has_end)
			m->vm.end_ns = m->cursor_ns;
		if (m->vm.nr_points)
			qsort(m->vm.point, m->vm.nr_points, sizeof(*m->vm.point), by_time);
	}
}

static int by_begin(const void *a, const void *b)
{
	const struct boot_vm *x = *(const struct boot_vm *const *)a,
			     *y = *(const struct boot_vm *const *)b;

	return order_u64(x->begin_ns, y->begin_ns) ?: order_u64(x->pid, y->pid);
}

const struct boot_vm **boot_vms(const struct boot *b, size_t *ret_nr)
{
	const struct boot_vm **list = calloc(b->machines.nr + 1u, sizeof(*list));
	const struct machine_entry *e;
	size_t nr = 0;

	for (uint32_t at = 0; list && (e = hash_next(&b->machines, &at));)
		if (e->m->has_begun)
			list[nr++] = &e->m->vm;
	if (list)
		qsort(list, nr, sizeof(*list), by_begin);
	*ret_nr = nr;
	return list;
}

void boot_notes(const struct boot *b, struct boot_notes *ret)
{
	*ret = (struct boot_notes){.losses = b->model.counts.losses,
				   .refused = b->refused + b->machines.refused +
					      b->model.counts.refused,
				   .exits = b->model.counts.exits,
				   .strings = b->strings};
}

struct boot *boot_new(const struct boot_marker *marker, unsigned int nr_markers, bool foreign)
{
	struct boot *b = calloc(1, sizeof(*b));

	if (!b)
		return NULL;
	b->marker = marker;
	b->nr_markers = nr_markers;
	b->machines = HASH_TABLE(struct machine_entry, 1, BOOT_VMS_MAX);
	model_init(&b->model,
		   &(struct model_reader){.period = period_account,
					  .arg = b,
					  .thread_size = sizeof(struct boot_thread)},
		   0);
	if (foreign)
		model_set_foreign(&b->model);
	return b;
}

void boot_free(struct boot *b)
{
	const struct machine_entry *e;

	if (!b)
		return;
	for (uint32_t at = 0; (e = hash_next(&b->machines, &at));) {
		for (size_t i = 0; i < e->m->vm.nr_points; i++)
			free(e->m->vm.point[i].text);
		free(e->m->vm.point);
		free(e->m);
	}
	hash_deinit(&b->machines);
	model_deinit(&b->model);
	free(b);
}
