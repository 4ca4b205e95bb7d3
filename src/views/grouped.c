// SPDX-License-Identifier: GPL-2.0-or-later
/* Labels as columns of tables. */
#include <errno.h>

#include "base/error.h"
#include "base/saturate.h"
#include "base/units.h"
#include "event/exit_reason.h"
#include "event/region_names.h"
#include "event/well_known.h"
#include "output/durations.h"
#include "pairing/groups.h"
#include "symbols/symbols.h"
#include "views/view.h"

enum column_kind label_kind(const struct label *l)
{
	static const char *const texts[] = {"reason",	 "userspace_reason", "isa",   "dir",
					    "mmio_type", "block_type",	     "event", "text",
					    "none",	 "vm",		     "guest-task", "level"};

	if (!strcmp(l->name, "device"))
		return COL_PATH;
	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++)
		if (!strcmp(l->fmt, texts[i]))
			return COL_TEXT;
	if (!strcmp(l->fmt, "signed"))
		return COL_REAL;
	if (!strcmp(l->name, "port"))
		return COL_PORT;
	if (!strcmp(l->fmt, "hex") || !strcmp(l->fmt, "addr") || !strcmp(l->fmt, "frame"))
		return COL_HEX;
	return COL_COUNT;
}

void label_columns(const struct folding *f, struct table *t)
{
	unsigned int nr;
	const struct label *l = pairing_labels(f->pairing, &nr);

	for (unsigned int i = 0; i < nr; i++)
		table_column(t, l[i].name, strcmp(l[i].name, "vm") ? l[i].name : "VM",
			     label_kind(&l[i]), 0);
}

/* of the group of all others */
static void label_cells_other(const struct folding *f, struct cell *row)
{
	unsigned int nr;

	pairing_labels(f->pairing, &nr);
	for (unsigned int i = 0; i < nr; i++)
		row[i].text = i ? "-" : "(other)";
}

static bool label_has_text(const struct label *l)
{
	enum column_kind kind = label_kind(l);

	return kind == COL_TEXT || kind == COL_PATH || kind == COL_REAL;
}

void label_cells(const struct folding *f, struct table *t, struct cell *row, const uint64_t *label)
{
	unsigned int nr;
	const struct label *l = pairing_labels(f->pairing, &nr);
	char buf[256];

	for (unsigned int i = 0; i < nr; i++) {
		row[i].number = label[i];
		if (!strcmp(l[i].fmt, "none"))
			continue;
		if (label_is_unknown(&l[i], label[i])) {
			row[i] = (struct cell){.text = label_kind(&l[i]) == COL_TEXT ? NULL : "-"};
			continue;
		}
		if (label_has_text(&l[i]))
			row[i].text = table_text(
				t, pairing_label_text(f->pairing, i, label[i], buf, sizeof(buf)));
		else if (!strcmp(l[i].name, "vcpu") && label[i] == RECORD_NO_VCPU)
			row[i].text = "-";
		else if (!strcmp(l[i].name, "cpu") && label[i] == RECORD_CPU_UNKNOWN)
			row[i].text = "-";
		else if (!strcmp(l[i].name, "rip") && !label[i])
			row[i].text = "-"; /* no exit contained it */
	}
}

int label_table(const struct folding *f, const struct report *r, struct table *t, const char *sort)
{
	if (f->drop_vm)
		table_drop_constant(t, "vm");
	return report_table(r, t, sort);
}

/* Other addresses are not of devices. */
static bool is_mmio(const struct folding *f)
{
	return !strcmp(f->analyzer->name, "mmio") || !strcmp(f->analyzer->name, "exit-mmio");
}

/* The place among the labels of one whose numbers have well-known names (port, msr) or symbols (rip),
 * or -1. Its column, the last one; its name, "" or (a symbol) NULL if none. */
static int label_with_names(const struct folding *f)
{
	unsigned int nr;
	const struct label *l = pairing_labels(f->pairing, &nr);

	for (unsigned int i = 0; f->symbols && i < nr; i++)
		if (!strcmp(l[i].name, "rip"))
			return (int)i;
	for (unsigned int i = 0; i < nr; i++)
		if (!strcmp(l[i].name, "port") || !strcmp(l[i].name, "msr") ||
		    (!strcmp(l[i].name, "addr") && is_mmio(f)))
			return (int)i;
	return -1;
}

static void label_name_column(const struct folding *f, int which, struct table *t)
{
	unsigned int nr;

	if (strcmp(pairing_labels(f->pairing, &nr)[which].name, "rip"))
		table_column(t, "what", "what", COL_TEXT, 1);
	else
		table_column(t, "symbol", "symbol", COL_TEXT, 0);
}

/* By QEMU's name of the region, if it was recorded, else by a well-known one. */
static const char *device_name(const struct folding *f, const struct label *l, uint64_t value)
{
	bool port = !strcmp(l->name, "port"), mmio = !strcmp(l->name, "addr");
	const char *name = l->page	  ? region_name_page(f->regions, 0, value)
			   : port || mmio ? region_name(f->regions, 0, port, value)
					  : NULL;

	if (!name || !*name)
		name = well_known_name(mmio ? "mmio" : l->name, value);
	return name ? name : "";
}

static const char *label_name(const struct folding *f, int which, struct table *t,
			      const uint64_t *label)
{
	unsigned int nr;
	const struct label *l = &pairing_labels(f->pairing, &nr)[which];
	const char *name;

	if (strcmp(l->name, "rip"))
		return label_is_unknown(l, label[which]) ? "" : device_name(f, l, label[which]);
	name = addresses_name(f->symbols, label[which]);
	return name ? table_text(t, name) : NULL;
}

/* A view as the receiver of spans that pairing/ knows: its states are struct folding. */

static void close_folding(void *state)
{
	struct folding *f = state;

	f->view->close(f);
	free(f);
}

static int open_folding(void *arg, void **ret_state)
{
	const struct folding *template = arg;
	struct folding *f = malloc(sizeof(*f));
	int err;

	if (!f)
		return fail(-ENOMEM, "out of memory");
	*f = *template;
	err = f->view->open(f);
	if (err)
		close_folding(f);
	else
		*ret_state = f;
	return err;
}

static int add_span(void *state, const struct span *s)
{
	struct folding *f = state;

	return f->view->span(f, s);
}

static int add_spans(void *state, const struct spans *s)
{
	struct folding *f = state;

	return f->view->spans(f->state, s);
}

static int merge_foldings(void *state, void *other)
{
	struct folding *f = state;

	return f->view->merge(f->state, ((struct folding *)other)->state);
}

struct span_fold folding_fold(const struct folding *f)
{
	return (struct span_fold){.arg = (void *)f,
				  .open = open_folding,
				  .close = close_folding,
				  .span = add_span,
				  .spans = f->view->spans ? add_spans : NULL,
				  .merge = f->view->merge ? merge_foldings : NULL,
				  .wants_ends = f->view->wants_ends};
}

/*
 * Two views of spans by group. count: counts; a span of several accesses counts as that many. summary: durations,
 * with total, mean, spread and percentiles.
 */

static int grouped_open(struct folding *f, bool durations)
{
	struct groups *g = calloc(1, sizeof(*g));
	unsigned int nr;

	f->state = g;
	pairing_labels(f->pairing, &nr);
	return g ? groups_init(g, nr, durations) : fail(-ENOMEM, "out of memory");
}

static int grouped_span(struct folding *f, const struct span *s)
{
	return groups_add(f->state, s);
}

static int grouped_spans(void *state, const struct spans *s)
{
	return groups_add_spans(state, s);
}

static int grouped_merge(void *state, void *from)
{
	return groups_merge(state, from);
}

static void grouped_close(struct folding *f)
{
	if (f->state)
		groups_deinit(f->state);
	free(f->state);
}

/* A row with the group's labels; `named`: the label whose name the last column holds, or -1. NULL: no memory. */
static struct cell *row_add(const struct folding *f, struct table *t, const struct group *g,
			    int named)
{
	struct cell *row = table_row(t);

	if (!row)
		return NULL;
	if (g->other) {
		label_cells_other(f, row);
		return row;
	}
	label_cells(f, t, row, g->label);
	if (named >= 0)
		row[t->nr_columns - 1].text = label_name(f, named, t, g->label);
	return row;
}

/* ---- count ---- */

static int count_open(struct folding *f)
{
	return grouped_open(f, false);
}

static bool has_bytes(const struct table *t)
{
	return ((const struct folding *)t->report)->analyzer->size;
}

GET_NUMBER_IF(get_bytes, const struct group *g, g->bytes != BYTES_UNKNOWN, g->bytes)

static const struct column_def count_columns[] = {
	{"count", "count", COL_COUNT, MEMBER(struct group, weight), .doc = "how many there were"},
	{"bytes", "bytes", COL_COUNT, .get = get_bytes, .nullable = true, .when = has_bytes,
	 .doc = "their sizes together; null: not recorded of all"},
	{0},
};

/* After the labels that make the groups. */
const struct table_def count_table = {
	"count", "", "a group of spans: its keys, and", {count_columns}};

static int count_draw(struct folding *f, struct report *r)
{
	struct groups *g = f->state;
	struct table t = {0};
	int err = groups_finish(g), named = label_with_names(f);

	if (err)
		return err;
	label_columns(f, &t);
	table_open(&t, &count_table, f, NULL);
	if (named >= 0)
		label_name_column(f, named, &t);
	for (unsigned int i = 0; i < g->nr; i++) {
		struct cell *row = row_add(f, &t, &g->group[i], named);

		if (!row)
			break;
		table_fill(&t, row, &g->group[i]);
	}
	return label_table(f, r, &t, "count");
}

const struct view count_view = {
	.name = "count",
	.summary = "how often, by group",
	.formats = table_formats,
	.open = count_open,
	.span = grouped_span,
	.spans = grouped_spans,
	.merge = grouped_merge,
	.draw = count_draw,
	.close = grouped_close,
};

/* ---- summary ---- */

static int summary_open(struct folding *f)
{
	return grouped_open(f, true);
}

/* After the labels that make the groups; those of exits have the columns of user space. */
const struct table_def summary_table = {
	"exits", "", "a group of exits: its keys, and", {durations_columns, durations_userspace}};

static void summary_row(const struct folding *f, struct table *t, struct group *g, uint64_t all_ns,
			int named)
{
	struct cell *row = row_add(f, t, g, named);
	struct quantiles *q = &g->ns;
	struct durations d = {.count = q->count,
			      .total_ns = (uint64_t)q->sum,
			      .min_ns = q->min,
			      .mean_ns = quantiles_mean(q),
			      .max_ns = q->max,
			      .deviation_ns = uint64_of_double(quantiles_stddev(q) + 0.5),
			      .p50_ns = quantiles_at(q, .5),
			      .p90_ns = quantiles_at(q, .9),
			      .p99_ns = quantiles_at(q, .99),
			      .p999_ns = quantiles_at(q, .999),
			      .userspace = g->marked,
			      .all_ns = all_ns};

	if (row)
		table_fill(t, row, &d);
}

/* Of a group of exits with one reason; NULL: its exits have several. */
static const char *reason_of(const struct folding *f, const struct group *g, char *buf, size_t size)
{
	unsigned int nr;
	const struct label *l = pairing_labels(f->pairing, &nr);

	for (unsigned int i = 0; i < nr && !g->other; i++)
		if (!strcmp(l[i].name, "reason") && !label_is_unknown(&l[i], g->label[i]))
			return pairing_label_text(f->pairing, i, g->label[i], buf, size);
	return NULL;
}

static bool halts_briefly(const struct folding *f, struct group *g)
{
	char buf[64];
	const char *reason = reason_of(f, g, buf, sizeof(buf));

	return reason && exit_reason_is_idle(reason) && g->ns.count &&
	       quantiles_at(&g->ns, .5) < EXIT_IDLE_MIN_NS;
}

/* Halts that are too short for a vCPU to sleep, and many. */
static void halts_note(const struct folding *f, struct report *r, struct groups *g)
{
	double span_ns = (double)(r->reader->info.end_ns - f->since_ns);
	unsigned long long brief = 0;
	char limit[16];

	for (unsigned int i = 0; i < g->nr && !r->ticks; i++)
		brief += halts_briefly(f, &g->group[i]) ? g->group[i].ns.count : 0;
	if (!brief || (double)brief * 1e9 < EXIT_HALT_STORM * span_ns)
		return;
	json_array_append_new(
		r->caveats,
		json_sprintf(
			"half of %llu halts took less than %s: a vCPU that halts so briefly is "
			"busy, "
			"not idle; something is pending at each halt, as a page of an async page "
			"fault, or halt polling finds it",
			brief, duration_print(EXIT_IDLE_MIN_NS, limit, sizeof(limit))));
}

static int summary_draw(struct folding *f, struct report *r)
{
	struct groups *g = f->state;
	struct table t = {0};
	uint64_t all_ns = 0;
	bool estimated = false;
	int err = groups_finish(g), named = f->symbols ? label_with_names(f) : -1;

	if (err)
		return err;
	for (unsigned int i = 0; i < g->nr; i++) {
		all_ns += (uint64_t)g->group[i].ns.sum;
		estimated |= g->group[i].ns.bucketed;
	}
	label_columns(f, &t);
	table_block(&t, durations_columns, 0);
	if (f->analyzer->mark)
		table_block(&t, durations_userspace, 0);
	if (named >= 0)
		label_name_column(f, named, &t);
	for (unsigned int i = 0; i < g->nr; i++)
		summary_row(f, &t, &g->group[i], all_ns, named);
	if (!strcmp(f->analyzer->name, "exit-latency"))
		halts_note(f, r, g);
	if (g->nr && output_explains(r->out))
		json_array_append_new(
			r->caveats,
			json_string(estimated ? "percentiles are nearest-rank, within 0.4 % "
						"in rows that count more than 128"
					      : "percentiles are nearest-rank and exact"));
	return label_table(f, r, &t, "total_ns");
}

const struct view summary_view = {
	.name = "summary",
	.summary = "durations by group: count, total, mean, deviation, percentiles",
	.formats = table_formats,
	.open = summary_open,
	.span = grouped_span,
	.spans = grouped_spans,
	.merge = grouped_merge,
	.draw = summary_draw,
	.close = grouped_close,
};
