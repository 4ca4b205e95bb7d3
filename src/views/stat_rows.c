// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * `stat` counts in histograms of the kernel: their sums by reason and by vCPU or VM, the percentiles of a sum, and the
 * table of its rows.
 */
#include <errno.h>
#include <math.h>

#include "base/array.h"
#include "base/error.h"
#include "base/saturate.h"
#include "views/stat_rows.h"

static struct stat_row *row_of(struct stat_rows *rows, int part, bool other, uint32_t reason)
{
	for (unsigned int i = 0; i < rows->nr; i++) {
		struct stat_row *r = &rows->row[i];

		if (r->part == part && r->other == other && (other || r->sum.reason == reason))
			return r;
	}
	return NULL;
}

static struct stat_row *row_add(struct stat_rows *rows, int part, bool other, uint32_t reason)
{
	struct stat_row *r = row_of(rows, part, other, reason);

	if (r)
		return r;
	if (array_reserve(rows->row, rows->nr + 1, rows->capacity))
		return NULL;
	r = &rows->row[rows->nr++];
	memset(r, 0, sizeof(*r));
	r->part = part;
	r->other = other;
	r->sum.reason = reason;
	r->sum.min_ns = UINT64_MAX;
	return r;
}

void stat_cell_add(struct stat_cell *sum, const struct stat_cell *cell, unsigned int nr_buckets)
{
	sum->count += cell->count;
	sum->total_ns += cell->total_ns;
	sum->userspace += cell->userspace;
	for (unsigned int i = 0; i < STAT_CAUSES; i++)
		sum->cause_ns[i] += cell->cause_ns[i];
	if (cell->min_ns < sum->min_ns)
		sum->min_ns = cell->min_ns;
	if (cell->max_ns > sum->max_ns)
		sum->max_ns = cell->max_ns;
	for (unsigned int b = 0; b < nr_buckets; b++)
		sum->bucket[b] += cell->bucket[b];
}

int stat_rows_add(struct stat_rows *rows, int part, const struct stat_cell *cells, unsigned int nr)
{
	for (unsigned int i = 0; i < nr; i++) {
		struct stat_row *r;

		if (!cells[i].count)
			continue;
		r = row_add(rows, part, i == nr - 1, cells[i].reason);
		if (!r)
			return fail(-ENOMEM, "out of memory");
		stat_cell_add(&r->sum, &cells[i], STAT_BUCKETS);
	}
	return 0;
}

int stat_rows_copy(const struct stat_rows *rows, struct stat_rows *ret)
{
	*ret = (struct stat_rows){.nr = rows->nr, .capacity = rows->nr};
	if (!rows->nr)
		return 0;
	ret->row = malloc(rows->nr * sizeof(*ret->row));
	if (!ret->row)
		return fail(-ENOMEM, "out of memory");
	memcpy(ret->row, rows->row, rows->nr * sizeof(*ret->row));
	return 0;
}

void stat_rows_free(struct stat_rows *rows)
{
	free(rows->row);
	*rows = (struct stat_rows){0};
}

static uint64_t bucket_low(unsigned int b)
{
	unsigned int e = b / STAT_SUB + STAT_SUB_BITS - 1;

	return b < 2 * STAT_SUB ? b : (uint64_t)(STAT_SUB + b % STAT_SUB) << (e - STAT_SUB_BITS);
}

uint64_t stat_bucket_middle(unsigned int b)
{
	unsigned int e = b / STAT_SUB + STAT_SUB_BITS - 1;

	return b < 2 * STAT_SUB ? b
				: bucket_low(b) + ((UINT64_C(1) << (e - STAT_SUB_BITS)) - 1) / 2;
}

/* The least and the largest of an interval are known from its buckets alone. */
static void ends_from_buckets(struct stat_cell *cell)
{
	cell->min_ns = UINT64_MAX;
	cell->max_ns = 0;
	for (unsigned int b = 0; b < STAT_BUCKETS; b++) {
		if (!cell->bucket[b])
			continue;
		if (cell->min_ns == UINT64_MAX)
			cell->min_ns = stat_bucket_middle(b);
		cell->max_ns = stat_bucket_middle(b);
	}
}

static uint64_t less(uint64_t now, uint64_t before)
{
	return now > before ? now - before : 0;
}

void stat_cell_subtract(struct stat_cell *now, const struct stat_cell *before,
			unsigned int nr_buckets)
{
	now->count = less(now->count, before->count);
	now->total_ns = less(now->total_ns, before->total_ns);
	now->userspace = less(now->userspace, before->userspace);
	for (unsigned int i = 0; i < STAT_CAUSES; i++)
		now->cause_ns[i] = less(now->cause_ns[i], before->cause_ns[i]);
	for (unsigned int b = 0; b < nr_buckets; b++)
		now->bucket[b] = less(now->bucket[b], before->bucket[b]);
	if (nr_buckets)
		ends_from_buckets(now);
}

void stat_rows_subtract(struct stat_rows *now, const struct stat_rows *before)
{
	for (unsigned int i = 0; i < now->nr; i++) {
		struct stat_row *r = &now->row[i];
		const struct stat_row *old =
			row_of((struct stat_rows *)before, r->part, r->other, r->sum.reason);

		if (!old)
			continue;
		stat_cell_subtract(&r->sum, &old->sum, STAT_BUCKETS);
	}
}

/* ---- quantiles ---- */

/* No value lies outside of the least and the largest, though its bucket's middle may. */
static uint64_t bucket_value(const struct stat_cell *cell, unsigned int b)
{
	uint64_t v = stat_bucket_middle(b);

	if (v < cell->min_ns)
		return cell->min_ns;
	return v > cell->max_ns || b == STAT_BUCKETS - 1 ? cell->max_ns : v;
}

uint64_t stat_quantile(const struct stat_cell *cell, double fraction)
{
	uint64_t rank = (uint64_t)ceil(fraction * (double)cell->count), seen = 0;

	for (unsigned int b = 0; b < STAT_BUCKETS; b++) {
		seen += cell->bucket[b];
		if (seen && seen >= rank)
			return bucket_value(cell, b);
	}
	return cell->max_ns;
}

static uint64_t deviation(const struct stat_cell *cell)
{
	double mean = (double)cell->total_ns / (double)cell->count, sum = 0;

	for (unsigned int b = 0; b < STAT_BUCKETS; b++) {
		double off = cell->bucket[b] ? (double)bucket_value(cell, b) - mean : 0;

		sum += (double)cell->bucket[b] * off * off;
	}
	return uint64_of_double(sqrt(sum / (double)cell->count) + .5);
}

/* ---- the table ---- */

const char *stat_reason_print(const struct stat_row *r, const char *(*name_of)(uint32_t reason),
			      char *buf, size_t size)
{
	const char *name = name_of(r->sum.reason);

	if (r->other)
		return "(other)";
	snprintf(buf, size, "0x%x", r->sum.reason);
	return name ? name : r->sum.reason == STAT_NO_REASON ? "-" : buf;
}

void stat_durations(const struct stat_cell *sum, struct durations *ret)
{
	*ret = (struct durations){0};
	if (sum->count)
		*ret = (struct durations){.count = sum->count,
					  .total_ns = sum->total_ns,
					  .min_ns = sum->min_ns,
					  .mean_ns = sum->total_ns / sum->count,
					  .max_ns = sum->max_ns,
					  .deviation_ns = deviation(sum),
					  .p50_ns = stat_quantile(sum, .5),
					  .p90_ns = stat_quantile(sum, .9),
					  .p99_ns = stat_quantile(sum, .99),
					  .p999_ns = stat_quantile(sum, .999),
					  .userspace = sum->userspace};
}

void stat_rows_sum(const struct stat_rows *rows, int part, struct stat_cell *ret)
{
	memset(ret, 0, sizeof(*ret));
	ret->min_ns = UINT64_MAX;
	for (unsigned int i = 0; i < rows->nr; i++)
		if (part == STAT_ALL_PARTS || rows->row[i].part == part)
			stat_cell_add(ret, &rows->row[i].sum, STAT_BUCKETS);
}

static bool is_by_vcpu(const struct table *t)
{
	return ((const struct stat_naming *)t->report)->by == STAT_BY_VCPU;
}

static bool is_by_vm(const struct table *t)
{
	return ((const struct stat_naming *)t->report)->by == STAT_BY_VM;
}

static const struct stat_part_vm *vm_of(const struct table *t, const struct stat_row *r)
{
	return &((const struct stat_naming *)t->report)->vm[r->part];
}

static struct cell get_vm(struct table *t, const void *at)
{
	return (struct cell){0, table_text(t, vm_of(t, at)->name)};
}

static struct cell get_pid(struct table *t, const void *at)
{
	pid_t pid = vm_of(t, at)->pid;

	return pid ? (struct cell){(uint64_t)pid, NULL} : (struct cell){0, "-"};
}

static struct cell get_reason(struct table *t, const void *at)
{
	const struct stat_naming *naming = t->report;
	char buf[16];

	return (struct cell){
		0, table_text(t, stat_reason_print(at, naming->name_of, buf, sizeof(buf)))};
}

GET_NUMBER(get_vcpu, const struct stat_row *r, r->part)

static const struct column_def stat_keys[] = {
	{"vcpu", "vcpu", COL_COUNT, .get = get_vcpu, .when = is_by_vcpu,
	 .doc = "index of the vCPU (--by vcpu)"},
	{"vm", "vm", COL_TEXT, .get = get_vm, .when = is_by_vm, .doc = "the VM (--all)"},
	{"pid", "pid", COL_COUNT, .get = get_pid, .when = is_by_vm, .nullable = true,
	 .doc = "its process"},
	{"reason", "reason", COL_TEXT, .get = get_reason, .doc = "why the guest was left"},
	{0},
};

const struct table_def stat_table = {
	"stat", "", "an exit reason", {stat_keys, durations_columns, durations_userspace}};

int stat_rows_table(const struct stat_rows *rows, const struct stat_naming *naming,
		    struct table *t)
{
	uint64_t all_ns = 0;
	int err = 0;

	table_open(t, &stat_table, naming, NULL);
	for (unsigned int i = 0; i < rows->nr; i++)
		all_ns += rows->row[i].sum.total_ns;
	for (unsigned int i = 0; i < rows->nr && !err; i++) {
		struct durations d;

		stat_durations(&rows->row[i].sum, &d);
		d.all_ns = all_ns;
		if (d.count)
			err = table_add(t, &rows->row[i], &d, &d);
	}
	t->report = NULL;
	return err;
}
