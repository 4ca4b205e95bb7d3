// SPDX-License-Identifier: GPL-2.0-or-later
#include "output/downtime_report.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>

#include "output/report.h"

static const char *const end_names[] = {
	[STOP_OPEN] = "stopped",      [STOP_SENT] = "sent",	  [STOP_RESUMED] = "resumed",
	[STOP_MIGRATED] = "migrated", [STOP_ARRIVED] = "arrived",
};

static void count_add(json_t *list, const char *what, uint64_t nr)
{
	if (nr)
		caveat_add(list, "%s: %" PRIu64, what, nr);
}

json_t *downtime_report_caveats(const struct downtime_report *r)
{
	const struct downtime_counts *n = downtime_counts(r->downtime);
	uint64_t ends[STOP_ARRIVED + 1] = {0}, lost = 0, no_exit = 0, no_entry = 0, no_step = 0;
	json_t *list = json_array();
	size_t nr;
	const struct vm_stop *s = downtime_stops(r->downtime, &nr);

	for (; nr--; s++) {
		enum stop_end end = stop_end(s);
		bool ended = end == STOP_RESUMED || end == STOP_MIGRATED;

		ends[end]++;
		lost += s->lost;
		no_exit += ended && !s->at[STOP_RAN];
		no_entry += ended && !s->at[STOP_RUNS];
		no_step += end == STOP_MIGRATED && !n->steps;
	}
	count_add(list,
		  "sent: migrations whose destination is not in this trace; add its recording with "
		  "-i",
		  ends[STOP_SENT]);
	count_add(
		list,
		"arrived: migrations whose source is not in this trace; add its recording with -i",
		ends[STOP_ARRIVED]);
	count_add(list,
		  "arrivals for which more than one VM was waiting: they are rows of their own",
		  n->ambiguous);
	count_add(list,
		  "begin when the vCPUs were paused, as no exit from the guest was seen before",
		  no_exit);
	count_add(list, "end when the vCPUs may run, as no entry to the guest was seen after",
		  no_entry);
	count_add(list,
		  "migrations without migrate_step: the phase \"stopped\" has the time of the "
		  "phases after it",
		  no_step);
	count_add(list, "stops in which events were lost: points of time may be missing or late",
		  lost);
	count_add(list, "events ignored, as there are too many VMs or stops", n->refused);
	return list;
}

static void columns(struct table *t)
{
	static const struct {
		const char *key;
		unsigned int spare;
	} phases[] = {{"stop_ns", 4}, {"stopped_ns", 6},  {"ram_ns", 1},   {"devices_ns", 2},
		      {"load_ns", 3}, {"activate_ns", 7}, {"resume_ns", 5}};

	table_column(t, "time_ns", NULL, COL_COUNT, 0);
	table_column(t, NULL, "seconds", COL_SECONDS, 0);
	table_column(t, "vm", "VM", COL_TEXT, 0);
	table_column(t, "to", "to", COL_TEXT, 0);
	table_column(t, "state", "state", COL_TEXT, 0);
	table_column(t, "end", "end", COL_TEXT, 0);
	table_column(t, "downtime_ns", "downtime", COL_NS, 0);
	for (unsigned int i = 0; i < sizeof(phases) / sizeof(phases[0]); i++)
		table_column(t, phases[i].key, stop_phase_name(i), COL_NS, phases[i].spare);
	table_column(t, "lost", NULL, COL_TEXT, 0);
}

static uint64_t begin_of(const struct vm_stop *s)
{
	unsigned int i = 0;

	while (i < STOP_STARTED && !s->at[i])
		i++;
	return s->at[i];
}

static struct cell ns_cell(bool known, uint64_t ns)
{
	return (struct cell){ns, known ? NULL : "-"};
}

static void row_of(const struct downtime_report *r, const struct vm_stop *s, struct table *t,
		   struct cell *row)
{
	char text[VM_NAME_BYTES];
	const char *state = run_state_name(s->state);
	uint64_t begin = begin_of(s), ns;
	bool known;

	(row++)->number = begin;
	(row++)->number = begin > r->start_ns ? begin - r->start_ns : 0;
	(row++)->text = table_text(t, vm_name(r->vms, s->pid, text, sizeof(text)));
	(row++)->text = s->to ? table_text(t, vm_name(r->vms, s->to, text, sizeof(text))) : NULL;
	snprintf(text, sizeof(text), "%" PRIu32, s->state);
	(row++)->text = state ? state : table_text(t, text);
	(row++)->text = end_names[stop_end(s)];
	known = stop_downtime_ns(s, &ns);
	*row++ = ns_cell(known, ns);
	for (unsigned int i = 0; i < STOP_RUNS; i++) {
		known = stop_phase_ns(s, i, &ns);
		*row++ = ns_cell(known, ns);
	}
	row->text = s->lost ? "yes" : "no";
}

int downtime_report_rows(const struct downtime_report *r, struct table *t)
{
	size_t nr;
	const struct vm_stop *s = downtime_stops(r->downtime, &nr);

	columns(t);
	for (; nr--; s++) {
		struct cell *row = table_row(t);

		if (!row)
			return -ENOMEM;
		row_of(r, s, t, row);
	}
	return 0;
}
