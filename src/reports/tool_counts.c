// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * `exits` and `count` of a table that another tool printed: its rows with the keys that these
 * reports have for a recording, and notes on what the table does not have.
 */
#include "reports/tool_counts.h"

#include <inttypes.h>

#include "base/array.h"
#include "base/error.h"
#include "base/units.h"
#include "base/version.h"
#include "event/exit_reason.h"
#include "reports/head.h"

#define FIGURE(name, heading, kind, member, what)                                                  \
	{                                                                                          \
		name, heading, kind, .get = get_##member, .when = has_##member, .nullable = true,  \
				     .doc = what                                                   \
	}

#define FIGURE_OF(member)                                                                          \
	static bool has_##member(const struct table *table)                                        \
	{                                                                                          \
		const struct tool_table *t = table->report;                                        \
		return array_any(t->nr, i, t->row[i].member != TOOL_TABLE_UNKNOWN);                \
	}                                                                                          \
	GET_NUMBER_IF(get_##member, const struct tool_row *r, r->member != TOOL_TABLE_UNKNOWN,     \
		      r->member)

FIGURE_OF(total_ns)
FIGURE_OF(min_ns)
FIGURE_OF(mean_ns)
FIGURE_OF(max_ns)
FIGURE_OF(per_s)
FIGURE_OF(value)
GET_NUMBER_IF(get_count, const struct tool_row *r, r->count != TOOL_TABLE_UNKNOWN, r->count)

static const struct column_def columns[] = {
	{"count", "count", COL_COUNT, .get = get_count, .nullable = true,
	 .doc = "how many there were; null: the tool could not count them"},
	FIGURE("per_second", "per s", COL_COUNT, per_s, "the rate that the tool printed"),
	FIGURE("value", "value", COL_COUNT, value,
	       "what the tool printed without saying what it is, as a map of bpftrace"),
	FIGURE("total_ns", "total", COL_NS, total_ns, "all together"),
	FIGURE("min_ns", "min", COL_NS, min_ns, "the shortest"),
	FIGURE("avg_ns", "avg", COL_NS, mean_ns, "average"),
	FIGURE("max_ns", "max", COL_NS, max_ns, "the longest"),
	{0},
};

const struct table_def tool_counts_table = {
	"exits",
	"TABLE",
	"a row of another tool's table: its exit reason, event or key, and",
	{columns}};

static uint64_t reasons_counted(const struct tool_table *t)
{
	uint64_t sum = 0;

	for (size_t i = 0; i < t->nr; i++)
		sum += t->row[i].of == ROW_OF_REASON && t->row[i].count != TOOL_TABLE_UNKNOWN
			       ? t->row[i].count
			       : 0;
	return sum;
}

/*
 * A vCPU that is woken more often than a thread can sleep is not idle, whatever the halts add up to. Without the time
 * of the table it is not known how often that is: brief halts may be few.
 */
static void halts_of_row(const struct tool_table *t, const struct tool_row *r, json_t *list)
{
	bool timed = t->span_ns && !t->span_guessed;
	double rate = timed ? (double)r->count * 1e9 / (double)t->span_ns : 0;
	char mean[16];

	if (timed && rate >= EXIT_HALT_STORM)
		caveat_add(list,
			   "halts (%s) end after %s on average, %.0f times a second: vCPUs that "
			   "halt so are busy, not idle; something is pending at each halt, as a "
			   "page of an async page fault, or halt polling finds it",
			   r->name, duration_print(r->mean_ns, mean, sizeof(mean)), rate);
	else if (!timed && r->count > reasons_counted(t) / 2)
		caveat_add(list,
			   "halts (%s) end after %s on average: if there are more than %d a "
			   "second, which the table does not say, vCPUs are busy, not idle",
			   r->name, duration_print(r->mean_ns, mean, sizeof(mean)),
			   EXIT_HALT_STORM);
}

static void halts_note(const struct tool_table *t, json_t *list)
{
	for (size_t i = 0; i < t->nr; i++) {
		const struct tool_row *r = &t->row[i];

		if (r->of == ROW_OF_REASON && exit_reason_is_idle(r->name) &&
		    r->count != TOOL_TABLE_UNKNOWN && r->mean_ns < 1000000000 / EXIT_HALT_STORM)
			halts_of_row(t, r, list);
	}
}

/* What the table lacks, by its own words or by its form. */
static void missing_note(const struct tool_table *t, json_t *list)
{
	if (t->parts)
		caveat_add(list,
			   "lines skipped that look like parts of rows: %" PRIu64
			   ", the first is '%s'",
			   t->parts, t->first_part);
	if (t->gauges)
		caveat_add(list,
			   "statistics that are no counts of events, and are not shown as such: "
			   "%" PRIu64 ", the first is %s",
			   t->gauges, t->first_gauge);
	if (t->apart)
		caveat_add(list, "no average where several keys have the same reason, as it is not "
				 "known how many each of theirs is of: stats() has that");
	if (t->partial)
		caveat_add(list,
			   "counts are too small, as some CPUs, threads or intervals were not "
			   "counted: %" PRIu64 ", the first is that of %s; diff does not compare "
			   "them",
			   t->partial, t->first_partial);
	if (t->cut)
		caveat_add(list,
			   "the last line has no newline, and may be cut: '%s' at its end is not "
			   "read",
			   t->cut_value);
	if (t->losses)
		caveat_add(list, "the table says that events are missing: '%s'", t->first_loss);
	if (t->total_differs)
		caveat_add(list,
			   "the rows add up to %" PRIu64 ", the table's total is %" PRIu64
			   ": rows are missing, or cut",
			   t->sum, t->total);
	if (t->rounded)
		caveat_add(list, "counts are rounded in this table, such as 1.2K");
}

/* What maps of bpftrace do not say. */
static void maps_note(const struct tool_table *t, json_t *list)
{
	if (*t->no_counts)
		caveat_add(list,
			   "bpftrace does not print what the values of %s are: a sum, an average, "
			   "the last or the largest one",
			   t->no_counts);
	if (*t->no_unit)
		caveat_add(list,
			   "only the counts of %s are shown: its name does not say in which unit "
			   "its values are; call it %s_ns, _us or _ms",
			   t->no_unit, t->no_unit);
	if (t->buckets)
		caveat_add(list, "the shortest and the longest are the bounds of bpftrace's "
				 "buckets: min is at least, max less than that");
	if (t->one_count)
		caveat_add(list, "counts are those of the map that counts; histograms and stats() "
				 "may have others, as of exits that had not ended");
	if (t->unshown && !t->others)
		caveat_add(list,
			   "rows of maps whose keys are no exit reasons or events: %" PRIu64
			   ", the first is %s",
			   t->unshown, t->first_unshown);
}

void tool_counts_caveats(const struct tool_table *t, json_t *list)
{
	bool durations = array_any(t->nr, i, t->row[i].mean_ns != TOOL_TABLE_UNKNOWN);
	char span[16];

	caveat_add(
		list,
		"a table of %s, not a trace: no %s; for those record the events: hostrace record "
		"--vm PID, trace-cmd record -e kvm, or perf record -a -e 'kvm:*'",
		t->tool,
		durations ? "times, threads and percentiles" : "latencies, times and threads");
	if (t->numbers_of)
		caveat_add(list, "exit reasons are numbers in this table: read as those of %s",
			   t->numbers_of);
	if (t->span_ns)
		caveat_add(list, "counted for %s%s", duration_print(t->span_ns, span, sizeof(span)),
			   t->span_guessed ? ", if each line is a second" : "");
	maps_note(t, list);
	if (t->maybe_cleared)
		caveat_add(list,
			   "the map was printed several times: the last counts are shown; it is "
			   "not known if they are of all the time, or of the last interval, as "
			   "they are if the map is cleared after each print");
	else if (t->tables > 1)
		caveat_add(list, "the tool printed its running totals several times: the last ones "
				 "are shown");
	caveat_count(list, "rows that the last print lacks, shown as they were printed before",
		     t->old);
	if (t->odd)
		caveat_add(list,
			   "lines skipped that look like rows, but have no name of an event or "
			   "exit reason: %" PRIu64 ", the first is '%s'",
			   t->odd, t->first_odd);
	missing_note(t, list);
	halts_note(t, list);
	caveat_count(list, "rows dropped, the table has too many", t->dropped);
}

/* The rows that are shown: of reasons or events, whichever there are. */
static enum tool_row_of rows_shown(const struct tool_table *t, bool events)
{
	enum tool_row_of first = events ? ROW_OF_EVENT : ROW_OF_REASON,
			 second = events ? ROW_OF_REASON : ROW_OF_EVENT;

	return tool_table_rows_of(t, first)    ? first
	       : tool_table_rows_of(t, second) ? second
					       : ROW_OF_OTHER;
}

static json_t *tool_counts_head(const struct report *r)
{
	json_t *h = json_pack("{s:{s:s, s:s}, s:O, s:O}", "hostrace", "version", HOSTRACE_VERSION,
			      "command", r->command, "inputs", json_object_get(r->extra, "inputs"),
			      "caveats", r->caveats);

	return h;
}

static int tool_counts_draw(const struct tool_table *t, enum tool_row_of of, struct report *r)
{
	const char *key = of == ROW_OF_REASON ? "reason" : of == ROW_OF_EVENT ? "event" : t->keys;
	struct table table = {0};
	bool total;

	table_column(&table, key ? key : "key", key ? key : "key", COL_TEXT, 0);
	table_open(&table, &tool_counts_table, t, NULL);
	total = of != ROW_OF_EVENT && has_total_ns(&table);
	for (size_t i = 0; i < t->nr; i++) {
		struct cell *row = t->row[i].of == of ? table_row(&table) : NULL;

		if (!row)
			continue;
		row[0].text = table_text(&table, t->row[i].name);
		table_fill(&table, row, &t->row[i]);
	}
	return report_table(r, &table, total ? "total_ns" : "count");
}

int tool_counts_write(const struct tool_table *t, const char *path, const char *command,
		      bool events, const struct output *out)
{
	enum tool_row_of of = rows_shown(t, events);
	json_t *inputs =
		json_pack("{s:[{s:o, s:s}]}", "inputs", "file", json_text(path), "kind", t->tool);
	struct report r = {.out = out,
			   .command = command,
			   .wide = out->wide,
			   .head = tool_counts_head,
			   .foot = caveats_print,
			   .note = out->note,
			   .caveats = json_array()};
	int err;

	r.extra = inputs;
	if (!events && of != ROW_OF_REASON)
		caveat_add(r.caveats, "the table has no exit reasons");
	tool_counts_caveats(t, r.caveats);
	err = tool_counts_draw(t, of, &r);
	json_decref(r.caveats);
	json_decref(inputs);
	return err;
}
