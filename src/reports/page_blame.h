/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The sections of `hostrace report` that are made of the causes of exits: one analysis for all. */
#ifndef HOSTRACE_REPORTS_PAGE_BLAME_H
#define HOSTRACE_REPORTS_PAGE_BLAME_H

#include "reports/result.h"

enum { PAGE_SLOWEST = 40 };

struct page_blame_query {
	/*
	 * The answer of `heatmap exit-latency`, borrowed: *ret; NULL: there is none. 1: it is not done yet.
	 */
	int (*heatmap)(void *arg, const json_t **ret);
	void *arg;
};
extern const struct report_ops page_blame_report;

/* When it is done, new references. As `hostrace blame --limit 40` answers. 0 or -errno with the error message set. */
int page_blame_slowest(struct result *r, json_t **ret);

/* As `hostrace blame --by vcpu --limit 1`, of several VMs --by vm,vcpu. */
int page_blame_by_vcpu(struct result *r, bool several_vms, json_t **ret);

/* What is behind each cell of the heat map, in at most `max` bytes but for cells without spans. NULL: there is none. */
int page_blame_moments(struct result *r, size_t max, json_t **ret);

#endif
