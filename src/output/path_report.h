/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The stages of requests as a report: `hostrace requests --stages` and `--waterfall`. */
#ifndef HOSTRACE_PATH_REPORT_H
#define HOSTRACE_PATH_REPORT_H

#include "analyzers/path/summary.h"
#include "event/vm_names.h"
#include "output/table.h"

struct path_report {
	const struct path *path; /* after path_end() */
	const struct path_summary *summary;
	const struct vm_names *vms; /* borrowed; NULL: there is one VM */
	unsigned int guests;	    /* guests' traces that were read */
	uint64_t start_ns;	    /* of the report: times in text count from it */
	const struct path_request *const *slowest;
	size_t nr_slowest;
};

/* What limits these figures, and what is missing with how to record it: an array; new reference. */
json_t *path_report_caveats(const struct path_report *r);

/* "118 requests, 96 kicks, ...": one line. buf has at least 256 bytes. */
const char *path_report_totals(const struct path_report *r, char *buf, size_t size);

extern const struct table_def path_stages_table, path_requests_table;

/* A row per device, stage, and what was waited for in it. 0 or -ENOMEM with the error message set. */
int path_report_stages(const struct path_report *r, struct table *t);

/* The slowest requests, each with its parts. */
void path_report_waterfall(const struct path_report *r, FILE *f);

/* "CPU 3", "a CPU" if it is not recorded. Returns buf. */
const char *path_cpu_print(uint16_t cpu, char *buf, size_t size);

/* The same as a picture. */
void path_report_svg(const struct path_report *r, FILE *f);

/* "59.219848110 disk queue 0 head 0 took 68.9ms: R 8+8", "kick-handler I/O thread run queue". Each returns buf. */
const char *path_request_print(const struct path_report *r, const struct path_request *rq,
			       char *buf, size_t size);
const char *path_part_print(const struct path_part *p, char *buf, size_t size);

/*
 * Requests of a guest, as `hostrace requests` without these options: a row for each that is complete. vms: names; NULL:
 * there is one VM. 0 or -ENOMEM with the error message set.
 */
extern const struct table_def requests_table;
struct request;
int requests_report_rows(const struct request *rq, size_t nr, uint64_t start_ns,
			 const struct vm_names *vms, struct table *t);

/* {"totals":{},"stages":[],"rows":[]}, see doc/man/hostrace-requests.1.scd; new reference. NULL: no memory. */
json_t *path_report_json(const struct path_report *r);

#endif
