// SPDX-License-Identifier: GPL-2.0-or-later
/* `hostrace syscalls`: a row for each system call, or for each thread and system call. */
#include "output/syscalls_report.h"

#include <inttypes.h>
#include <stdio.h>

#include "event/syscall_table.h"
#include "output/report.h"

enum { ERRORS_BYTES = 320 };

/* "EAGAIN 3, EINTR 1" */
static struct cell errors_cell(struct table *t, const struct syscalls_row *r)
{
	char text[ERRORS_BYTES] = "", number[16];
	size_t len = 0;

	for (unsigned int i = 0; i < SYSCALLS_ERRORS && r->error[i].count && len < sizeof(text);
	     i++) {
		const char *name = syscall_error_name(r->error[i].number);

		snprintf(number, sizeof(number), "%u", r->error[i].number);
		len += (size_t)snprintf(text + len, sizeof(text) - len, "%s%s %" PRIu64,
					len ? ", " : "", name ? name : number, r->error[i].count);
	}
	if (r->other_errors && len < sizeof(text))
		snprintf(text + len, sizeof(text) - len, ", others %" PRIu64, r->other_errors);
	return *text ? table_print(t, "%s", text) : (struct cell){0, NULL};
}

GET_NUMBER_IF(get_pid, const struct syscalls_row *r, r->pid, r->pid)
GET_NUMBER(get_total, const struct syscalls_row *r, r->ns.sum)
GET_NUMBER_IF(get_mean, const struct syscalls_row *r, r->ns.count,
	      r->ns.count ? r->ns.sum / r->ns.count : 0)
GET_NUMBER_IF(get_min, const struct syscalls_row *r, r->ns.count, r->ns.min)
GET_CELL(get_errnos, const struct syscalls_row *r, errors_cell(t, r))
GET_TEXT(get_slowest, const struct syscalls_row *r, *r->slowest ? r->slowest : NULL)
GET_TEXT(get_comm, const struct syscalls_row *r, *r->comm ? r->comm : NULL)

static const struct column_def pid_columns[] = {
	{"pid", NULL, COL_COUNT, .get = get_pid, .nullable = true,
	 .doc = "process; null: the trace has threads alone, whose calls are one row then"},
	COLUMN_VM(struct syscalls_row, pid),
	{0},
};

static const struct column_def thread_columns[] = {
	{"tid", "tid", COL_COUNT, MEMBER(struct syscalls_row, tid), .doc = "thread id"},
	{"comm", "thread", COL_TEXT, .get = get_comm, .nullable = true,
	 .doc = "its name; null: not recorded"},
	{0},
};

static const struct column_def call_columns[] = {
	{"syscall", "syscall", COL_TEXT, MEMBER(struct syscalls_row, name),
	 .doc = "the system call; ioctl(KVM_RUN) is apart, as its time is mostly the guest's"},
	{"count", "count", COL_COUNT, QUANTILE(count, struct syscalls_row, ns),
	 .doc = "calls that returned"},
	{"errors", "errors", COL_COUNT, MEMBER(struct syscalls_row, errors),
	 .doc = "of them, those that returned an error"},
	{"total_ns", "total", COL_NS, .get = get_total, .doc = "time in them"},
	{"mean_ns", "avg", COL_NS, .get = get_mean, .nullable = true, .spare = 4, .doc = "mean"},
	{"min_ns", NULL, COL_NS, .get = get_min, .nullable = true, .doc = "shortest"},
	{"p50_ns", "p50", COL_NS, QUANTILE(p50, struct syscalls_row, ns), .nullable = true,
	 .spare = 3, .doc = "median"},
	{"p99_ns", "p99", COL_NS, QUANTILE(p99, struct syscalls_row, ns), .nullable = true,
	 .spare = 3, .doc = "99th percentile"},
	{"max_ns", "max", COL_NS, QUANTILE(max, struct syscalls_row, ns), .nullable = true,
	 .doc = "longest"},
	{"in_progress", "open", COL_COUNT, MEMBER(struct syscalls_row, in_progress), .spare = 2,
	 .doc = "calls that had not returned at the end of the recording: in no other figure"},
	{"errnos", "errnos", COL_TEXT, .get = get_errnos, .nullable = true, .spare = 5,
	 .doc = "errors by name, each with its count; null: none"},
	{"slowest", "slowest", COL_TEXT, .get = get_slowest, .nullable = true, .spare = 1,
	 .doc = "the longest call, with its arguments as far as they are recorded, and what it "
		"returned"},
	{0},
};

const struct table_def syscalls_table = {"syscalls",
					 "",
					 "a system call of a process",
					 {pid_columns, call_columns}};
const struct table_def syscalls_threads_table = {
	"syscalls", "--by tid", "a system call of a thread",
	{pid_columns, thread_columns, call_columns}};

int syscalls_report_rows(const struct vm_names *vms, bool by_tid, struct syscalls_row *const *row,
			 size_t nr, struct table *t)
{
	int err = 0;

	table_open(t, by_tid ? &syscalls_threads_table : &syscalls_table, NULL, vms);
	for (size_t i = 0; i < nr && !err; i++)
		err = by_tid ? table_add(t, row[i], row[i], row[i]) : table_add(t, row[i], row[i]);
	return err;
}

json_t *syscalls_report_caveats(const struct syscalls_notes *n)
{
	json_t *list = json_array();

	caveat_count(list,
		     "calls that began before the recording, or whose begin is missing: in no row",
		     n->no_begin);
	caveat_count(list, "calls whose end is missing: in no row", n->no_end);
	caveat_count(list, "calls in which events were lost: in no row", n->unknown);
	caveat_count(list, "events of system calls without a number or name", n->unreadable);
	caveat_count(list, "calls not counted, as there are too many threads or calls",
		     n->refused);
	return list;
}
