// SPDX-License-Identifier: GPL-2.0-or-later
/* The table of `hostrace probes`. */
#include "output/probes_report.h"

GET_NUMBER_IF(get_count, const struct probe_row *p, p->counted, p->count)

static const struct column_def columns[] = {
	{"probe", "probe", COL_TEXT, MEMBER(struct probe_row, probe), .nullable = true,
	 .doc = "name of the USDT probe or the function; null: this QEMU has neither for the "
		"event"},
	{"how", "how", COL_TEXT, MEMBER(struct probe_row, how),
	 .doc = "usdt: a USDT probe; function: the entry of a function that stands in for one; "
		"absent"},
	{"count", "count", COL_COUNT, .get = get_count, .nullable = true,
	 .doc = "how often it was hit; null: it is not counted, see reason"},
	{"event", "event", COL_TEXT, MEMBER(struct probe_row, event), .nullable = true,
	 .doc = "the event that hostrace records from it; null: none"},
	{"file", "file", COL_TEXT, MEMBER(struct probe_row, file), .nullable = true, .spare = 1,
	 .doc = "the executable or the module that has it"},
	{"sites", NULL, COL_COUNT, MEMBER(struct probe_row, sites), .doc = "its sites in the file"},
	{"sites_counted", NULL, COL_COUNT, MEMBER(struct probe_row, counted),
	 .doc = "how many of them are counted"},
	{"reason", "reason", COL_TEXT, MEMBER(struct probe_row, reason), .nullable = true,
	 .spare = 2, .doc = "why it, or one of its sites, is not counted; null: it is"},
	{0},
};

const struct table_def probes_table = {"probes", "", "a probe", {columns}};
