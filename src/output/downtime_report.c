// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * `hostrace downtime`: a row for each stop of a VM, and what limits the figures. Points and phases of a stop are those
 * of analyzers/downtime/downtime.h.
 */
#include "output/downtime_report.h"

#include <inttypes.h>

#include "output/report.h"

static const char *const end_names[] = {
	[STOP_OPEN] = "stopped",      [STOP_SENT] = "sent",	  [STOP_RESUMED] = "resumed",
	[STOP_MIGRATED] = "migrated", [STOP_ARRIVED] = "arrived",
};

json_t *downtime_report_caveats(const struct downtime_report *r)
{
	const struct downtime_counts *n = downtime_counts(r->downtime);
	uint64_t ends[STOP_ARRIVED + 1] = {0}, lost = 0, no_exit = 0, no_entry = 0, no_step = 0,
				     no_begin = 0;
	json_t *list = json_array();
	size_t nr;
	const struct vm_stop *s = downtime_stops(r->downtime, &nr);

	for (; nr--; s++) {
		enum stop_end end = stop_end(s);
		bool ended = end == STOP_RESUMED || end == STOP_MIGRATED;

		ends[end]++;
		lost += s->lost;
		no_exit += ended && !s->at[STOP_RAN];
		no_begin += end == STOP_SENT && s->at[STOP_LOADED] && !s->at[STOP_RAN];
		no_entry += ended && !s->at[STOP_RUNS];
		no_step += end == STOP_MIGRATED && !n->steps;
	}
	caveat_count(list,
		  r->is_log ? "sent: migrations whose destination is not in this log; put its log "
			      "behind this one: cat source.log destination.log >both.log"
			    : "sent: migrations whose destination is not in this trace; add its "
			      "recording with -i",
		  ends[STOP_SENT]);
	caveat_count(list,
		  r->is_log ? "arrived: migrations whose source is not in this log; put its log "
			      "before this one: cat source.log destination.log >both.log"
			    : "arrived: migrations whose source is not in this trace; add its "
			      "recording with -i",
		  ends[STOP_ARRIVED]);
	caveat_count(list,
		  "arrivals for which more than one VM was waiting: they are rows of their own",
		  n->ambiguous);
	caveat_count(list,
		  "begin when the vCPUs were paused, as no exit from the guest was seen before",
		  no_exit);
	caveat_count(list,
		     "downtimes without the time that stopping the VM took, as its begin "
		     "(src-downtime-start) is not in this trace",
		     no_begin);
	caveat_count(list, "end when the vCPUs may run, as no entry to the guest was seen after",
		  no_entry);
	caveat_count(list,
		  "migrations without migrate_step: the phase \"stopped\" has the time of the "
		  "phases after it",
		  no_step);
	caveat_count(list, "stops in which events were lost: points of time may be missing or late",
		  lost);
	caveat_count(list,
		     "vm_state events that do not say whether the VM runs, which are not counted",
		     n->nameless);
	caveat_count(list, "events ignored, as there are too many VMs or stops", n->refused);
	return list;
}

static uint64_t begin_of(const struct vm_stop *s);

/* Its newest point; of a stop that is not over, the end of the recording. */
static uint64_t last_of(const struct downtime_report *r, const struct vm_stop *s)
{
	uint64_t last = 0;

	if (stop_end(s) == STOP_OPEN && !s->abandoned)
		return r->until_ns;
	for (unsigned int i = 0; i < STOP_POINTS; i++)
		last = s->at[i] > last ? s->at[i] : last;
	return last;
}

static bool is_in_window(const struct downtime_report *r, const struct vm_stop *s)
{
	return begin_of(s) <= r->until_ns && last_of(r, s) >= r->since_ns;
}

static uint64_t window_ns(const struct downtime_report *r, const struct vm_stop *s)
{
	uint64_t from = begin_of(s) > r->since_ns ? begin_of(s) : r->since_ns,
		 to = last_of(r, s) < r->until_ns ? last_of(r, s) : r->until_ns;

	return s->at[STOP_STOPPED] && to > from ? to - from : 0;
}

static uint64_t begin_of(const struct vm_stop *s)
{
	unsigned int i = 0;

	while (i < STOP_STARTED && !s->at[i])
		i++;
	return s->at[i];
}

GET_NUMBER(get_window_ns, const void *at, window_ns(t->report, at))
GET_NUMBER(get_time_ns, const void *at, begin_of(at))

static struct cell get_seconds(struct table *t, const void *at)
{
	const struct downtime_report *r = t->report;
	uint64_t begin = begin_of(at);

	return (struct cell){begin > r->start_ns ? begin - r->start_ns : 0, NULL};
}

static struct cell get_to(struct table *t, const void *at)
{
	return *(const uint32_t *)at ? column_vm(t, at) : (struct cell){0};
}

static struct cell get_state(struct table *t, const void *at)
{
	uint32_t state = *(const uint32_t *)at;
	const char *name = run_state_name(state);

	if (state == STATE_NOT_RECORDED)
		return (struct cell){0};

	return name ? (struct cell){0, name} : table_print(t, "%" PRIu32, state);
}

GET_TEXT(get_end, const void *at, end_names[stop_end(at)])
GET_TEXT(get_lost, const struct vm_stop *s, s->lost ? "yes" : "no")

static struct cell get_downtime(struct table *t, const void *at)
{
	struct cell c = {0};

	(void)t;
	c.text = stop_downtime_ns(at, &c.number) ? NULL : "-";
	return c;
}

static struct cell phase_cell(const struct vm_stop *s, enum stop_point from)
{
	struct cell c = {0};

	c.text = stop_phase_ns(s, from, &c.number) ? NULL : "-";
	return c;
}

GET_CELL(get_stop, const void *at, phase_cell(at, STOP_RAN))
GET_CELL(get_stopped, const void *at, phase_cell(at, STOP_STOPPED))
GET_CELL(get_ram, const void *at, phase_cell(at, STOP_SAVE_RAM))
GET_CELL(get_devices, const void *at, phase_cell(at, STOP_SAVE_DEVICES))
GET_CELL(get_load, const void *at, phase_cell(at, STOP_LOAD))
GET_CELL(get_activate, const void *at, phase_cell(at, STOP_LOADED))
GET_CELL(get_resume, const void *at, phase_cell(at, STOP_STARTED))

/* Phases sum to the downtime. */
static const struct column_def stop_columns[] = {
	{"time_ns", NULL, COL_COUNT, .get = get_time_ns, .doc = "when the stop began"},
	{NULL, "seconds", COL_SECONDS, .get = get_seconds, .doc = "since the start of the trace"},
	{"vm", "VM", COL_TEXT, offsetof(struct vm_stop, pid), column_vm, .doc = "name of the VM"},
	{"to", "to", COL_TEXT, offsetof(struct vm_stop, to), get_to, .nullable = true,
	 .doc = "of a migration: the VM that went on"},
	{"state", "state", COL_TEXT, offsetof(struct vm_stop, state), get_state, .nullable = true,
	 .doc = "why it was stopped, QEMU's run state: paused, finish-migrate, save-vm, "
		"restore-vm, "
		"io-error, shutdown, ..."},
	{"end", "end", COL_TEXT, .get = get_end,
	 .doc = "resumed: the same VM went on; migrated: another one did; stopped: none in this "
		"trace; sent, arrived: a migration whose other side is not in the trace"},
	{"downtime_ns", "downtime", COL_NS, .get = get_downtime, .nullable = true,
	 .doc = "from the last exit from the guest to the first entry to it; null: unknown"},
	{"window_ns", NULL, COL_NS, .get = get_window_ns,
	 .doc = "how much of the recording, or of the time window, is in the stop, until its end "
		"if the VM does not go on"},
	{"stop_ns", "stop", COL_NS, .get = get_stop, 4, true,
	 .doc = "until all vCPUs are paused; of this and all phases, null: it has none"},
	{"stopped_ns", "stopped", COL_NS, .get = get_stopped, 6, true,
	 .doc = "a pause; before a migration or a snapshot, disks are drained and flushed"},
	{"ram_ns", "ram", COL_NS, .get = get_ram, 1, true,
	 .doc = "the RAM that is left is written"},
	{"devices_ns", "devices", COL_NS, .get = get_devices, 2, true,
	 .doc = "the devices' state is written, sent, and loaded by the destination"},
	{"load_ns", "load", COL_NS, .get = get_load, 3, true,
	 .doc = "the state is loaded: the VM goes back to a snapshot; of a migration, the devices' "
		"(vmstate_downtime_load of the destination's log)"},
	{"activate_ns", "activate", COL_NS, .get = get_activate, 7, true,
	 .doc = "disks are activated, until the vCPUs may run"},
	{"resume_ns", "resume", COL_NS, .get = get_resume, 5, true,
	 .doc = "until the first vCPU runs"},
	{"lost", NULL, COL_TEXT, .get = get_lost,
	 .doc = "yes: events were lost meanwhile; points of time may be missing or late"},
	{0},
};

const struct table_def downtime_table = {"downtime", "", "a stop of a VM", {stop_columns}};

int downtime_report_rows(const struct downtime_report *r, struct table *t)
{
	size_t nr;
	const struct vm_stop *s = downtime_stops(r->downtime, &nr);
	int err = 0;

	table_open(t, &downtime_table, r, r->vms);
	for (; nr-- && !err; s++)
		if (is_in_window(r, s))
			err = table_add(t, s);
	return err;
}
