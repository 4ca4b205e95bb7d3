// SPDX-License-Identifier: GPL-2.0-or-later
/* `hostrace faults`: a row for each cause, of each vCPU, memory slot or mapping if it is asked for. */
#include "output/faults_report.h"

#include "output/report.h"

GET_NUMBER(get_total, const struct faults_row *r, r->ns.sum)
GET_NUMBER(get_mean, const struct faults_row *r, r->ns.count ? r->ns.sum / r->ns.count : 0)
GET_NUMBER(get_min, const struct faults_row *r, r->ns.min)
GET_TEXT(get_cause, const struct faults_row *r, fault_cause_name(r->cause))
GET_NUMBER_IF(get_slot, const struct faults_row *r, r->slot != UINT32_MAX, r->slot &UINT16_MAX)
GET_NUMBER_IF(get_space, const struct faults_row *r, r->slot != UINT32_MAX, r->slot >> 16)
GET_NUMBER_IF(get_inode, const struct faults_row *r, r->inode, r->inode)

static const struct column_def pid_columns[] = {
	{"pid", NULL, COL_COUNT, MEMBER(struct faults_row, pid), .doc = "process"},
	COLUMN_VM(struct faults_row, pid),
	{0},
};

static const struct column_def vcpu_columns[] = {
	COLUMN_VCPU(struct faults_row, vcpu),
	{0},
};

static const struct column_def slot_columns[] = {
	{"slot", "slot", COL_COUNT, .get = get_slot, .nullable = true,
	 .doc = "id of KVM's memory slot; null: not recorded"},
	{"address_space", NULL, COL_COUNT, .get = get_space, .nullable = true,
	 .doc = "... its address space: 1 is that of SMM"},
	{0},
};

static const struct column_def vma_columns[] = {
	{"file", "mapping", COL_TEXT, MEMBER(struct faults_row, file), .nullable = true,
	 .doc = "last part of the mapped file's name, [anon]: memory of no file; null: not "
		"recorded"},
	{"inode", NULL, COL_COUNT, .get = get_inode, .nullable = true,
	 .doc = "... its inode; null: no file"},
	{0},
};

static const struct column_def cause_columns[] = {
	{"cause", "cause", COL_TEXT, .get = get_cause, .doc = "what backed the page: see CAUSES"},
	{"count", "count", COL_COUNT, QUANTILE(count, struct faults_row, ns), .doc = "faults"},
	{"writes", "writes", COL_COUNT, MEMBER(struct faults_row, writes), .spare = 2,
	 .doc = "of them, those of a write"},
	{"total_ns", "total", COL_NS, .get = get_total, .doc = "time in them"},
	{"mean_ns", "avg", COL_NS, .get = get_mean, .spare = 4, .doc = "mean"},
	{"min_ns", NULL, COL_NS, .get = get_min, .doc = "shortest"},
	{"p50_ns", "p50", COL_NS, QUANTILE(p50, struct faults_row, ns), .nullable = true,
	 .doc = "median"},
	{"p99_ns", "p99", COL_NS, QUANTILE(p99, struct faults_row, ns), .nullable = true,
	 .doc = "99th percentile"},
	{"max_ns", "max", COL_NS, QUANTILE(max, struct faults_row, ns), .nullable = true,
	 .doc = "longest"},
	{"waited_ns", "waited", COL_NS, MEMBER(struct faults_row, waited_ns), .spare = 3,
	 .doc = "of total_ns, time off the CPU: for a read, a userfaultfd's handler, or another "
		"task"},
	{0},
};

const struct table_def faults_table = {
	"faults", "", "faults of one cause", {pid_columns, cause_columns}};
const struct table_def faults_vcpu_table = {"faults",
					    "--by vcpu",
					    "faults of a vCPU and cause",
					    {pid_columns, vcpu_columns, cause_columns}};
const struct table_def faults_slot_table = {"faults",
					    "--by slot",
					    "faults of a memory slot and cause",
					    {pid_columns, slot_columns, cause_columns}};
const struct table_def faults_vma_table = {"faults",
					   "--by vma",
					   "faults of a mapping and cause",
					   {pid_columns, vma_columns, cause_columns}};

int faults_report_rows(const struct vm_names *vms, enum faults_by by, struct faults_row *const *row,
		       size_t nr, struct table *t)
{
	static const struct table_def *const tables[] = {
		[FAULTS_BY_CAUSE] = &faults_table,
		[FAULTS_BY_VCPU] = &faults_vcpu_table,
		[FAULTS_BY_SLOT] = &faults_slot_table,
		[FAULTS_BY_VMA] = &faults_vma_table,
	};
	int err = 0;

	table_open(t, tables[by], NULL, vms);
	for (size_t i = 0; i < nr && !err; i++)
		err = by == FAULTS_BY_CAUSE ? table_add(t, row[i], row[i])
					    : table_add(t, row[i], row[i], row[i]);
	return err;
}

json_t *faults_report_caveats(const struct faults_notes *n)
{
	json_t *list = json_array();

	caveat_count(list, "faults whose mapping is not known: not-recorded", n->unmapped);
	caveat_count(list, "faults not counted, as there are too many rows", n->refused);
	return list;
}
