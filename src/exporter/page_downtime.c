// SPDX-License-Identifier: GPL-2.0-or-later
/* The families of stops: of a VM, and of the host. */
#include "exporter/page_private.h"

static void watched_write(struct page *p, const struct exported_vm *e)
{
	metric_number(&p->text, &e->labels, e->downtime_watched);
}

typedef void stops_fn(struct metric_text *t, const struct metric_labels *l,
		      struct exported_stops stops);

static void each_state(struct page *p, const struct exported_vm *e, stops_fn *fn)
{
	for (unsigned int i = 0; i < EXPORT_STATES && e->downtime_watched; i++) {
		struct exported_stops stops = exported_downtime_of(p->state->downtime, e->pid, i);
		struct metric_labels l = e->labels;

		if (!stops.nr && !exported_state_is_common(i))
			continue;
		metric_label(&l, "state", exported_state_name(i));
		fn(&p->text, &l, stops);
	}
}

static void nr(struct metric_text *t, const struct metric_labels *l, struct exported_stops stops)
{
	metric_number(t, l, stops.nr);
}

static void nr_write(struct page *p, const struct exported_vm *e)
{
	each_state(p, e, nr);
}

static void stopped(struct metric_text *t, const struct metric_labels *l,
		    struct exported_stops stops)
{
	metric_seconds(t, l, stops.ns);
}

static void stopped_write(struct page *p, const struct exported_vm *e)
{
	each_state(p, e, stopped);
}

const struct family downtime_families[] = {
	{"hostrace_vm_downtime_watched", "gauge",
	 "1: stops of the VM are counted; 0: probes are missing.", watched_write},
	{"hostrace_vm_stops_total", "counter",
	 "Times that QEMU stopped the VM, by the run state that it then had.", nr_write},
	{"hostrace_vm_stopped_seconds_total", "counter",
	 "Time for which the VM's vCPUs were paused, with the stop that it is in.", stopped_write},
	{0},
};

/* ---- of the host ---- */

static bool state_is_shown(const struct page *p, unsigned int state)
{
	return exported_state_is_common(state) ||
	       exported_downtime_phases(p->state->downtime, state)->nr;
}

static void ended_write(struct page *p, unsigned int state)
{
	struct metric_labels l = {0};

	metric_label(&l, "state", exported_state_name(state));
	metric_number(&p->text, &l, exported_downtime_phases(p->state->downtime, state)->nr);
}

/* The first and the last phase are between exits, which are not known here. */
static void phases_write(struct page *p, unsigned int state)
{
	for (unsigned int i = STOP_STOPPED; i < STOP_STARTED; i++) {
		struct metric_labels l = {0};

		metric_label(&l, "state", exported_state_name(state));
		metric_label(&l, "phase", stop_phase_name(i));
		metric_seconds(&p->text, &l,
			       exported_downtime_phases(p->state->downtime, state)->ns[i]);
	}
}

void page_downtime_write(struct page *p)
{
	metric_family(&p->text, "hostrace_ended_stops_total", "counter",
		      "Stops of all VMs of this host that have ended, by QEMU's run state.");
	for (unsigned int i = 0; i < EXPORT_STATES; i++)
		if (state_is_shown(p, i))
			ended_write(p, i);
	metric_family(&p->text, "hostrace_ended_stop_phase_seconds_total", "counter",
		      "What the time of these stops went into.");
	for (unsigned int i = 0; i < EXPORT_STATES; i++)
		if (state_is_shown(p, i))
			phases_write(p, i);
}
