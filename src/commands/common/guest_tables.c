// SPDX-License-Identifier: GPL-2.0-or-later
/* The columns of an OSv guest's own data (guest_tables.h). Flags are printed by the letters of OSv's own commands. */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>

#include "commands/common/guest_tables.h"
#include "fetch/osv_state.h"

struct letter {
	uint32_t bit;
	char letter;
};

/* "none" if there is nothing. */
static const char *letters_print(const struct letter *l, uint32_t bits, char *buf, size_t size)
{
	size_t len = 0;

	for (; l->bit && len + 1 < size; l++)
		if (bits & l->bit)
			buf[len++] = l->letter;
	buf[len] = '\0';
	if (!len)
		snprintf(buf, size, "none");
	return buf;
}

const char *guest_perm_print(uint32_t perm, char *buf, size_t size)
{
	static const struct letter letters[] = {
		{OSV_PERM_READ, 'r'}, {OSV_PERM_WRITE, 'w'}, {OSV_PERM_EXEC, 'x'}, {0}};

	return letters_print(letters, perm, buf, size);
}

static struct cell name_cell(struct table *t, const char *name)
{
	return *name ? table_print(t, "%s", name) : (struct cell){0};
}

static struct cell real_cell(struct table *t, float v)
{
	return isfinite(v) ? table_print(t, "%g", (double)v) : (struct cell){0, "-"};
}

/* ---- runqueue ---- */

GET_CELL(get_vruntime, const struct osv_queued *q, real_cell(t, q->vruntime))

static const struct column_def queued_columns[] = {
	{"cpu", "cpu", COL_COUNT, MEMBER(struct osv_queued, acpi_id), .doc = "ACPI id of the vCPU"},
	{"cpu_id", NULL, COL_COUNT, MEMBER(struct osv_queued, cpu),
	 .doc = "number of the vCPU in the guest's trace"},
	{"id", "thread", COL_COUNT, MEMBER(struct osv_queued, id), .doc = "number of the thread"},
	{"address", "address", COL_HEX, MEMBER(struct osv_queued, address), .doc = "of its object"},
	{"vruntime", "vruntime", COL_REAL, .get = get_vruntime, .nullable = true,
	 .doc = "virtual runtime: the smallest one is next; null: infinite, an idle thread"},
	{"name", "name", COL_TEXT, MEMBER(struct osv_queued, name), .doc = "name of the thread"},
	{0},
};

const struct table_def guest_runqueue_table = {
	"guest", "runqueue", "a thread that waits for a vCPU", {queued_columns}};

/* ---- callouts ---- */

static struct cell callout_flags(struct table *t, uint32_t flags)
{
	static const struct letter letters[] = {{OSV_CALLOUT_ACTIVE, 'A'},
						{OSV_CALLOUT_PENDING, 'P'},
						{OSV_CALLOUT_COMPLETED, 'C'},
						{0}};
	char buf[8];

	return table_print(t, "%s", letters_print(letters, flags, buf, sizeof(buf)));
}

GET_CELL(get_callout_name, const struct osv_callout *c, name_cell(t, c->name))
GET_CELL(get_function_name, const struct osv_callout *c, name_cell(t, c->function_name))
GET_CELL(get_callout_flags, const struct osv_callout *c, callout_flags(t, c->flags))
GET_NUMBER(get_callout_time, const struct osv_callout *c, c->time_ns)

static const struct column_def callout_columns[] = {
	{"time_ns", "time", COL_SECONDS, .get = get_callout_time,
	 .doc = "when it is called, since the guest's boot"},
	{"flags", "flags", COL_TEXT, .get = get_callout_flags,
	 .doc = "A active, P pending, C completed"},
	{"address", "address", COL_HEX, MEMBER(struct osv_callout, address),
	 .doc = "of the callout"},
	{"name", "callout", COL_TEXT, .get = get_callout_name, .nullable = true,
	 .doc = "its symbol; null: it is no variable of the kernel"},
	{"function_address", "calls", COL_HEX, MEMBER(struct osv_callout, function),
	 .doc = "what is called"},
	{"function", "function", COL_TEXT, .get = get_function_name, .nullable = true,
	 .doc = "its symbol; null: not known"},
	{"argument", NULL, COL_HEX, MEMBER(struct osv_callout, argument), .doc = "its argument"},
	{0},
};

const struct table_def guest_callouts_table = {
	"guest", "callouts", "a function that is called at some time", {callout_columns}};

/* ---- heap ---- */

GET_CELL(get_list, const struct osv_free_range *r,
	 r->list < 0 ? (struct cell){0, "-"} : (struct cell){(uint64_t)r->list, NULL})

static const struct column_def free_columns[] = {
	{"list", "list", COL_COUNT, .get = get_list, .nullable = true,
	 .doc = "its list: at least 2^list pages; null: the tree of the largest ranges"},
	{"address", "address", COL_HEX, MEMBER(struct osv_free_range, address),
	 .doc = "of the range"},
	{"bytes", "bytes", COL_COUNT, MEMBER(struct osv_free_range, bytes), .doc = "its size"},
	{0},
};

const struct table_def guest_heap_table = {
	"guest", "heap", "a range of free pages", {free_columns}};

/* ---- mmap ---- */

static struct cell mapping_flags(struct table *t, uint32_t flags)
{
	static const struct letter letters[] = {{1, 'f'},    {2, 'p'},	  {4, 's'},
						{8, 'u'},    {0x10, 'j'}, {0x20, 'm'},
						{0x40, 'b'}, {0x80, 'F'}, {0}};
	char buf[16];

	return table_print(t, "%s", letters_print(letters, flags, buf, sizeof(buf)));
}

static struct cell perm_cell(struct table *t, uint32_t perm)
{
	char buf[16];

	return table_print(t, "%s", guest_perm_print(perm, buf, sizeof(buf)));
}

GET_CELL(get_mapping_flags, const struct osv_mapping *m, mapping_flags(t, m->flags))
GET_CELL(get_mapping_perm, const struct osv_mapping *m, perm_cell(t, m->perm))
GET_NUMBER(get_mapping_bytes, const struct osv_mapping *m, m->end - m->start)
GET_NUMBER_IF(get_mapping_offset, const struct osv_mapping *m, m->file, m->offset)
GET_TEXT(get_mapping_path, const struct osv_mapping *m, *m->path ? table_text(t, m->path) : NULL)

static const struct column_def mapping_columns[] = {
	{"start", "start", COL_HEX, MEMBER(struct osv_mapping, start), .doc = "first address"},
	{"end", "end", COL_HEX, MEMBER(struct osv_mapping, end), .doc = "address behind it"},
	{"bytes", "bytes", COL_COUNT, .get = get_mapping_bytes, .doc = "its size"},
	{"flags", "flags", COL_TEXT, .get = get_mapping_flags,
	 .doc = "f fixed, p populated, s shared, u uninitialized, j JVM heap, m small pages, "
		"b balloon, F of a file"},
	{"perm", "perm", COL_TEXT, .get = get_mapping_perm, .doc = "r read, w write, x execute"},
	{"offset", "offset", COL_HEX, .get = get_mapping_offset, .nullable = true,
	 .doc = "in the file; null: no file"},
	{"path", "path", COL_TEXT, .get = get_mapping_path, .nullable = true,
	 .doc = "of the file, in its file system; null: no file, or not readable"},
	{"address", NULL, COL_HEX, MEMBER(struct osv_mapping, address), .doc = "of its object"},
	{0},
};

const struct table_def guest_mmap_table = {"guest", "mmap", "a mapping", {mapping_columns}};

/* ---- zfs ---- */

static const struct column_def figure_columns[] = {
	{"group", "group", COL_TEXT, MEMBER(struct osv_figure, group),
	 .doc = "structure of kstats"},
	{"name", "name", COL_TEXT, MEMBER(struct osv_figure, name), .doc = "name of the figure"},
	{"value", "value", COL_COUNT, MEMBER(struct osv_figure, value), .doc = "what was counted"},
	{0},
};

const struct table_def guest_zfs_table = {"guest", "zfs", "a figure of ZFS", {figure_columns}};

/* ---- syms ---- */

GET_TEXT(get_sym_file, const struct guest_sym *s, s->file ? table_text(t, s->file) : NULL)

static const struct column_def sym_columns[] = {
	{"base", "base", COL_HEX, MEMBER(struct guest_sym, base),
	 .doc = "where it is loaded: what its addresses are relative to"},
	{"path", "path", COL_TEXT, MEMBER(struct guest_sym, path), .doc = "in the guest"},
	{"file", "file", COL_TEXT, .get = get_sym_file, .nullable = true,
	 .doc = "of the host; null: not found"},
	{0},
};

const struct table_def guest_syms_table = {"guest", "syms", "a module", {sym_columns}};
