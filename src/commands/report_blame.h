/* SPDX-License-Identifier: GPL-2.0-or-later */
/* hostrace report: all sections that are made of the causes of exits, from one pass over the recording. */
#ifndef HOSTRACE_REPORT_BLAME_H
#define HOSTRACE_REPORT_BLAME_H

#include <jansson.h>
#include <stdbool.h>

enum { REPORT_BLAME_SLOWEST = 40 };

/* New references; NULL: there is none. */
struct report_blame {
	json_t *blame;	 /* as `hostrace blame --limit 40` answers */
	json_t *by_vcpu; /* as `hostrace blame --by vcpu --limit 1`, of several VMs --by vm,vcpu */
	json_t *moments; /* what is behind each cell of the heat map */
};

/*
 * heatmap: the answer of `heatmap exit-latency`; NULL or empty: there are no moments, which take at most `max` bytes in
 * the page but for cells without spans. The input's selection applies. 0 or -errno with the error message set.
 */
int report_blame_make(const json_t *heatmap, bool several_vms, size_t max,
		      struct report_blame *ret);

#endif
