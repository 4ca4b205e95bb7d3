/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The demo's proof: what the reports count against what the guest is known to have done.
 */
#ifndef HOSTRACE_DEMO_CHECK_H
#define HOSTRACE_DEMO_CHECK_H

#include <stdbool.h>
#include <stdio.h>

#include <jansson.h>

/*
 * Runs `hostrace REPORT... -f json -i trace` and returns what it printed (a new reference), or NULL
 * with the error message set. `report` is one word per argument, separated by spaces.
 */
json_t *report_json(const char *report, const char *trace);

/*
 * The leak report of what the guest saw: "leaks", or "leaks --until T" where QEMU stopped the VM before it ended.
 * Returns buf.
 */
const char *leaks_words(const char *trace, char *buf, size_t size);

struct demo_checks {
	json_t *rows; /* [{"what","expected","counted","ok"}] */
	bool wrong;   /* one of them is not ok */
	FILE *out;    /* each check is a line here */
};

/* One check: prints and keeps it. */
void check_add(struct demo_checks *c, const char *what, json_int_t expected, json_int_t counted);

/*
 * Compares ports, MMIO and virtqueues. `kvm`: there are KVM's events. 0, or -errno if a report
 * failed.
 */
int check_reports(struct demo_checks *c, const char *trace, bool kvm, unsigned int leaks);

#endif
