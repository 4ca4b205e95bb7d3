// SPDX-License-Identifier: GPL-2.0-or-later
/* `hostrace annotate`: a row for each instruction of the functions of one name. */
#include "output/annotate_report.h"

#include <inttypes.h>

#include "output/report.h"

enum { LINE_FUNCTIONS = 3 };

static const char *side_of(const struct annotate_function *f)
{
	return f->guest ? "guest" : "host";
}

static const char *file_of(const struct annotate_function *f)
{
	return f->at.dso ? f->at.dso : side_of(f);
}

/* Rows of several functions are told apart. */
static bool are_several(const struct table *t)
{
	return t->report && annotate_found(t->report, 1);
}

static uint64_t share_of(const struct annotate_row *r)
{
	return r->function->samples ? 100000 * r->samples / r->function->samples : 0;
}

static struct cell source_cell(struct table *t, const struct annotate_row *r)
{
	return r->file ? table_print(t, "%s:%d", r->file, r->line) : (struct cell){0, "-"};
}

GET_NUMBER(get_share, const struct annotate_row *r, share_of(r))
GET_TEXT(get_side, const struct annotate_row *r, side_of(r->function))
GET_TEXT(get_dso, const struct annotate_row *r, r->function->at.dso)
GET_TEXT(get_code, const struct annotate_row *r, file_of(r->function))
GET_NUMBER(get_start, const struct annotate_row *r, r->address - r->offset)
GET_NUMBER_IF(get_line, const struct annotate_row *r, r->file, (unsigned int)r->line)
GET_CELL(get_source, const struct annotate_row *r, source_cell(t, r))

static const struct column_def columns[] = {
	{"share", "share", COL_PERCENT, .get = get_share, .doc = "of the function's samples"},
	{"samples", "samples", COL_COUNT, MEMBER(struct annotate_row, samples),
	 .doc = "samples of this instruction"},
	{"side", NULL, COL_TEXT, .get = get_side, .doc = "whose code it is: guest or host"},
	{"dso", NULL, COL_TEXT, .get = get_dso, .nullable = true,
	 .doc = "file of the code; [kernel] or [MODULE] of the host's kernel; null: the guest's"},
	{NULL, "code", COL_TEXT, .get = get_code, .when = are_several,
	 .doc = "with several functions: the guest's, or the file"},
	{"function_address", NULL, COL_HEX, .get = get_start, .doc = "where the function begins"},
	{"address", "address", COL_HEX, MEMBER(struct annotate_row, address), .spare = 2,
	 .doc = "as the file has it; of the host's kernel, and of a guest without -e ELF: as it "
		"runs"},
	{"offset", "offset", COL_HEX, MEMBER(struct annotate_row, offset),
	 .doc = "from the begin of the function"},
	{"instruction", "instruction", COL_TEXT, MEMBER(struct annotate_row, instruction),
	 .nullable = true, .doc = "in AT&T syntax; null: the code is not known"},
	{"file", NULL, COL_TEXT, MEMBER(struct annotate_row, file), .nullable = true,
	 .doc = "source file, where there is debug information"},
	{"line", NULL, COL_COUNT, .get = get_line, .nullable = true, .doc = "line in it"},
	{NULL, "source", COL_TEXT, .get = get_source, .spare = 1, .doc = "source file and line"},
	{0},
};

const struct table_def annotate_table = {"annotate", "", "an instruction", {columns}};

int annotate_report_rows(const struct annotate *a, struct table *t)
{
	const struct annotate_row *row;
	size_t nr = annotate_rows(a, &row);
	int err = 0;

	table_open(t, &annotate_table, a, NULL);
	for (size_t i = 0; i < nr && !err; i++)
		err = table_add(t, &row[i]);
	return err;
}

static uint64_t samples_of(const struct annotate *a)
{
	const struct annotate_function *f;
	uint64_t sum = 0;

	for (size_t i = 0; (f = annotate_found(a, i)); i++)
		sum += f->samples;
	return sum;
}

static json_t *function_json(const struct annotate_function *f)
{
	char address[32];

	snprintf(address, sizeof(address), "0x%" PRIx64, f->at.elf ? f->at.elf_start : f->at.start);
	return json_pack("{s:o,s:s,s:o?,s:s,s:I,s:I,s:o?}", "function", json_text(f->at.name),
			 "side", side_of(f), "dso", f->at.dso ? json_text(f->at.dso) : NULL,
			 "function_address", address, "bytes", (json_int_t)f->at.size, "samples",
			 (json_int_t)f->samples, "no_code",
			 f->no_code ? json_text(f->no_code) : NULL);
}

json_t *annotate_report_functions(const struct annotate *a)
{
	const struct annotate_function *f;
	json_t *list = json_array();

	for (size_t i = 0; (f = annotate_found(a, i)); i++)
		json_array_append_new(list, function_json(f));
	return json_pack("{s:o,s:I,s:I,s:I}", "functions", list, "samples",
			 (json_int_t)samples_of(a), "all_samples",
			 (json_int_t)annotate_samples(a), "unknown_samples",
			 (json_int_t)annotate_unknown(a));
}

void annotate_report_caveats(const struct annotate *a, json_t *list)
{
	const struct annotate_function *f;
	size_t nr = 0;

	for (; (f = annotate_found(a, nr)); nr++)
		if (f->no_code)
			caveat_add(list, "%s of the %s: no instructions: %s", f->at.name,
				   side_of(f), f->no_code);
	if (nr > 1)
		caveat_add(list, "%zu functions have this name: one follows the other", nr);
	caveat_count(list, "samples in code without symbols", annotate_unknown(a));
	caveat_count(list, "samples not counted, as there are too many addresses",
		     annotate_refused(a));
}

const char *annotate_report_line(const struct annotate *a, char *buf, size_t size)
{
	const struct annotate_function *f;
	uint64_t all = annotate_samples(a), samples = samples_of(a);

	snprintf(buf, size, "%s", "");
	for (size_t i = 0; i < LINE_FUNCTIONS && (f = annotate_found(a, i)); i++) {
		size_t len = strlen(buf);

		snprintf(buf + len, size - len, "%s%.90s (%.40s)", i ? ", " : "", f->at.name,
			 file_of(f));
	}
	size_t len = strlen(buf);

	snprintf(buf + len, size - len, ": %" PRIu64 " of %" PRIu64 " samples (%.1f%%)", samples,
		 all, all ? 100.0 * (double)samples / (double)all : 0);
	return buf;
}
