// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Passes each event to the tracks of the host or of its guest, and leaves out what the window or the filters exclude.
 */
#include "reports/drawing.h"

#include "event/vm_names.h"
#include "reports/select.h"

static bool thread_selected(const void *options, uint16_t vcpu, uint32_t tid)
{
	const struct input_options *given = options;

	return number_selected(&given->vcpus, vcpu) && number_selected(&given->tids, tid);
}

int drawing_open(struct drawing *d)
{
	const struct input_options *given = d->in->options;

	if (given->vcpus.nr || given->tids.nr) {
		d->t->selects = thread_selected;
		d->t->selects_arg = given;
	}
	return timeline_host_new(d->t, d->names, d->in->vms, input_set_foreign(d->in), &d->host);
}

static int guest_event(struct drawing *d, const struct event *ev)
{
	bool named = input_set_nr_vms(d->in) > 1 && vm_is_known(d->in->vms, ev->pid);
	struct timeline_guest **g = &d->guest[ev->source];
	char vm[VM_NAME_BYTES];
	int err = 0;

	if (ev->source >= DRAWING_GUESTS_MAX)
		return 0;
	if (!*g)
		err = timeline_guest_new(
			d->t, input_set_name(d->in, ev->source),
			named ? vm_name(d->in->vms, ev->pid, vm, sizeof(vm)) : NULL, g);
	if (!err)
		timeline_guest_event(*g, ev);
	return err;
}

int drawing_event(struct drawing *d, const struct event *ev)
{
	bool selected;

	if (ev->time_ns >= d->until_ns)
		return 0; /* it names others */
	selected = input_set_selects(d->in, ev);
	if (!selected && !trim_is_naming(ev->type) && !input_set_selects_any_thread(d->in, ev))
		return 0; /* it names threads */
	if (input_set_is_guest(d->in, ev->source))
		return selected ? guest_event(d, ev) : 0;
	timeline_host_event(d->host, ev, selected || trim_is_naming(ev->type));
	return 0;
}

void drawing_end(struct drawing *d)
{
	uint64_t end_ns = d->in->reader->info.end_ns;

	end_ns = end_ns < d->until_ns ? end_ns : d->until_ns;
	timeline_host_end(d->host, end_ns);
	for (unsigned int i = 0; i < DRAWING_GUESTS_MAX; i++)
		if (d->guest[i])
			timeline_guest_end(d->guest[i], end_ns);
}

void drawing_close(struct drawing *d)
{
	timeline_host_free(d->host);
	for (unsigned int i = 0; i < DRAWING_GUESTS_MAX; i++)
		timeline_guest_free(d->guest[i]);
}
