/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Tables of counts that other tools print and people paste: perf kvm stat, kvm_stat, perf stat, perf trace -s, perf
 * report, maps of bpftrace, kvmexit of bcc, histogram triggers of ftrace, KVM's debugfs, sort | uniq -c, and tables of
 * hostrace and its stap scripts. A table has no times and no threads, so it is no trace; what it has are counts, and
 * some have sums of durations.
 */
#ifndef HOSTRACE_TOOL_TABLE_H
#define HOSTRACE_TOOL_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/cleanup.h"
#include "base/hash.h"

enum { TOOL_TABLE_ROWS_MAX = 4096 };

#define TOOL_TABLE_UNKNOWN UINT64_MAX

enum tool_row_of { ROW_OF_EVENT, ROW_OF_REASON, ROW_OF_OTHER };

/* What a map of bpftrace has: count(), sum(), max() and others, which print alike; stats(); hist() or lhist(); avg(),
 * which only its JSON tells. */
enum tool_map_of { MAP_OF_NUMBERS, MAP_OF_STATS, MAP_OF_BUCKETS, MAP_OF_AVERAGES };

/* Any figure but the count of a row may be TOOL_TABLE_UNKNOWN, and the count if perf could not
 * count. */
struct tool_row {
	enum tool_row_of of;
	char *name; /* of an exit reason the kernel's, if it is one that is known; of an event
		       without its system */
	uint64_t count, total_ns, min_ns, mean_ns, max_ns;
	uint64_t per_s; /* a rate that the tool printed */
	uint64_t value; /* that is no count, and of which the tool does not say what it is */
	bool counted, uncounted; /* there are parts that perf counted, and that it could not: CPUs, intervals */
	bool maybe;	/* while it is read: it may be another text */
	enum tool_map_of map_of; /* while it is read */
	uint64_t weight; /* while it is read: how many the mean is of */
	unsigned int figures; /* while it is read: which a map of bpftrace had, as bits */
	unsigned int print; /* while it is read: in which print of bpftrace's map it was last */
	unsigned int block; /* while it is read: how many texts between rows preceded it */
};

struct open_files;

struct tool_table {
	const char *tool; /* which printed it */
	const char *numbers_of; /* exit reasons are numbers, and read as those of this; NULL: names */
	const char *keys; /* what rows of ROW_OF_OTHER are of: "syscall", "key" */
	struct tool_row *row;
	size_t nr;
	uint64_t span_ns;  /* of the counting; 0: the table does not say */
	bool span_guessed; /* it is the number of lines, one a second as kvm_stat prints them by
			      default */
	bool cgroups; /* perf stat counted several cgroups (--for-each-cgroup), whose rows have one name */
	bool others;	   /* other tables of the same kind follow: of before and after, of another host */
	const char *also;  /* another tool, whose table follows: its rows are not read; NULL: none */
	bool broken;	   /* lines were broken so that figures are not certain */
	uint64_t tables;   /* of running totals, of which the last one is kept */
	bool maybe_cleared; /* ... or of intervals: bpftrace's map may be cleared at each print */
	bool buckets;	   /* bpftrace's histograms: the least and the largest are bounds of buckets */
	bool apart;	   /* averages of several keys of a reason, without how many each is of */
	bool one_count;	   /* ... and stats(): the counts of another map are shown */
	char no_unit[64];  /* a map of durations or sizes whose name does not say their unit; "": none */
	uint64_t unshown;  /* rows of maps whose keys are others */
	char first_unshown[64];
	uint64_t old;	   /* rows that the last of them lacks */
	uint64_t dropped;  /* rows beyond TOOL_TABLE_ROWS_MAX */
	uint64_t odd;	   /* lines like rows, whose names are no events or exit reasons */
	char first_odd[32];
	uint64_t parts;	   /* lines that are parts of rows */
	char first_part[48];
	uint64_t gauges;   /* rows that are states, such as numbers of pages: made ROW_OF_OTHER */
	char first_gauge[32];
	uint64_t partial;  /* rows whose counts are of some of their parts only */
	char first_partial[48];
	uint64_t losses;   /* lines that say that events are missing */
	char first_loss[80];
	bool cut;	   /* the last line has no newline, and its last value may be half: */
	char cut_value[32];
	uint64_t total;	   /* of all rows, as the table states it */
	uint64_t sum;	   /* of the rows, if that is another */
	bool has_total, total_differs;
	bool rounded;	   /* counts such as "1.2K" */
	char columns[48];  /* the heading of counts of several recordings, side by side; "": none */
	char twice[48];	   /* an event with several rows in one table, as of several filters; "": none */
	char maps[2][64];  /* of bpftrace, whose values would be added up; "": none */
	char no_counts[64]; /* a map whose values are no counts, by its name; "": none */
	struct hash_table names;
};

/* Are the first bytes of a file, which no reader reads, those of such a table? The tool's name, or
 * NULL. */
const char *tool_table_probe(const char *text, size_t len);

/* The same of a file whose table begins after them: of its first lines, if it is text. */
const char *tool_table_find(const char *path, struct open_files *files);

/*
 * Reads it; `files` (base/open_files.h) keeps the file, or is NULL. 0, -EINVAL (it has no row), or another -errno, with
 * the error message set. tool_table_free() in any case.
 */
int tool_table_read(const char *path, struct open_files *files, struct tool_table *ret);
void tool_table_free(struct tool_table *t);

/* How many rows are of this. */
size_t tool_table_rows_of(const struct tool_table *t, enum tool_row_of of);

#endif
