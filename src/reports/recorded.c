// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * What `record --for REPORT` records: what the report wants, which follows from its tables of handlers
 * (event/handlers.h), without the events that it uses where they are. The manual's list is made from it.
 */
#include <string.h>

#include "pairing/analyzer.h"
#include "reports/reports.h"

static const struct report_ops *const recorded[] = {
	&blame_report, &downtime_report, &interrupts_report, &leaks_report, &path_report,
	&sched_report, &virtio_report,	 &heap_report,	     &syscalls_report, &boot_report,
	&faults_report,
	NULL,
};

const struct report_ops *report_recorded(const char *name)
{
	const struct report_ops *const *ops = recorded;

	while (*ops && strcmp((*ops)->needs->record_for, name))
		ops++;
	return *ops;
}

const char *report_recorded_name(unsigned int i)
{
	return recorded[i] ? recorded[i]->needs->record_for : NULL;
}

/* The collector's own, which are recorded in any case. Those that name devices have probes. */
static bool is_own(const struct event_type *t)
{
	return t->id == EV_probe_dropped ||
	       (trim_is_naming(t) && t->id != EV_virtio_device && t->id != EV_virtio_kind);
}

bool report_records(const struct report_ops *ops, unsigned int id)
{
	struct result first = {.ops = ops};
	const struct event_type *t = event_type_ours(id);

	return t && !is_own(t) && !name_in_list(ops->optional, t->name) &&
	       ops->wants(t->name, &first);
}

void reports_recorded_print(FILE *out)
{
	for (const struct report_ops *const *ops = recorded; *ops; ops++) {
		bool any = false;

		fprintf(out, "%s: ", (*ops)->needs->record_for);
		for (unsigned int id = 1; id < EV_LIMIT; id++) {
			if (!report_records(*ops, id))
				continue;
			fprintf(out, "%s%s", any ? ", " : "", event_type_ours(id)->name);
			any = true;
		}
		fputc('\n', out);
	}
	fprintf(out, "diagnose: the events of " REPORTS_OF_DIAGNOSE "\n");
}
