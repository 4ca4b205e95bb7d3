// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Tables with a heading, whose words say what the columns are; a row is a name and, up to the
 * line's end, numbers. What precedes the name (a quote's mark, a line number, a thread's name) does
 * not matter. A mailer may have wrapped heading and rows: a line that has only words of a heading,
 * or only numbers, continues what lacks them.
 */
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/saturate.h"
#include "event/exit_reason.h"
#include "readers/text/tool_line.h"

struct tool_heading {
	const char *name; /* of the column of names */
	const char *tool, *keys;
	enum tool_row_of of;
	bool running;	/* totals since the tool began: a later table has those of an earlier one */
	double unit_ns; /* of durations without a unit */
	bool again;	/* each thread has one */
	unsigned int least; /* values of a row */
	bool ours;	/* its columns have names that others use for something else */
};

static const struct tool_heading headings[] = {
	{"VM-EXIT", "perf kvm stat", NULL, ROW_OF_REASON, false, 1},
	{"Event name", "perf kvm stat", NULL, ROW_OF_REASON, false, 1},
	{"MMIO Access", "perf kvm stat", "mmio", ROW_OF_OTHER, false, 1},
	{"IO Port Access", "perf kvm stat", "port", ROW_OF_OTHER, false, 1},
	{"MSR Access", "perf kvm stat", "msr", ROW_OF_OTHER, false, 1},
	{"Event", "kvm_stat", NULL, ROW_OF_EVENT, true, 1},
	{"Guest Name", "kvm_stat", "guest", ROW_OF_OTHER, true, 1},
	{"KVM_EXIT_REASON", "kvmexit", NULL, ROW_OF_REASON, false, 1},
	{"syscall", "perf trace -s", "syscall", ROW_OF_OTHER, false, 1e6, true, 3},
	{"reason", "hostrace", NULL, ROW_OF_REASON, false, 1, false, 3, true}, /* exits, stap/exitlatency.stp */
	{"thread", "hostrace", "thread", ROW_OF_OTHER, false, 1, false, 3, true}, /* stap/kvmrun.stp and others */
	{"port", "hostrace", "port", ROW_OF_OTHER, false, 1, false, 3, true}, /* stap/portio.stp */
};

static const struct {
	const char *name;
	enum tool_column_of of;
	bool ours;
} columns[] = {
	{"Samples%", COLUMN_SKIP}, {"Sample%", COLUMN_SKIP},   {"Samples", COLUMN_COUNT},
	{"Time%", COLUMN_SKIP},	   {"Min Time", COLUMN_MIN},   {"Max Time", COLUMN_MAX},
	{"Avg time", COLUMN_MEAN}, {"Mean Time", COLUMN_MEAN}, {"Time", COLUMN_TOTAL},
	{"min ns", COLUMN_MIN},	   {"avg ns", COLUMN_MEAN},    {"max ns", COLUMN_MAX},
	{"sum ns", COLUMN_TOTAL},  {"stddev ns", COLUMN_SKIP}, {"time%", COLUMN_SKIP},
	{"p50", COLUMN_SKIP},	   {"p99", COLUMN_SKIP},       {"user%", COLUMN_SKIP},
	{"size", COLUMN_SKIP},	   {"bytes", COLUMN_SKIP},     {"count", COLUMN_COUNT, true},
	{"%Total", COLUMN_SKIP},   {"Total", COLUMN_COUNT},    {"CurAvg/s", COLUMN_RATE},
	{"Current", COLUMN_RATE},  {"COUNT", COLUMN_COUNT},    {"AVG_TIME", COLUMN_MEAN},
	{"calls", COLUMN_COUNT},   {"errors", COLUMN_SKIP},    {"total", COLUMN_TOTAL},
	{"min", COLUMN_MIN},	   {"avg", COLUMN_MEAN},       {"max", COLUMN_MAX},
	{"stddev", COLUMN_SKIP},
};

/* Does `s` begin with these words, whatever blanks are between them? Their end, or NULL. */
static const char *words_skip(const char *s, const char *words)
{
	for (; *words; words++) {
		if (*words == ' ') {
			if (!strchr(" \t\n", *s) || !*s)
				return NULL;
			s += strspn(s, " \t\n");
		} else if (*s++ != *words) {
			return NULL;
		}
	}
	return !*s || strchr(" \t\n|(", *s) ? s : NULL;
}

/* The columns after the names, of which one is the count. */
static bool columns_parse(struct tool_lines *l, const struct tool_heading *h, const char *s)
{
	const char *all = s;
	bool counts = false;

	l->nr_columns = 0;
	for (s += strspn(s, " \t|\n"); *s; s += strspn(s, " \t>|\n")) {
		struct tool_column *c = &l->column[l->nr_columns];
		const char *end = NULL, *close;

		for (size_t i = 0; i < sizeof(columns) / sizeof(*columns) && !end; i++)
			if ((h->ours || !columns[i].ours) && (end = words_skip(s, columns[i].name)))
				*c = (struct tool_column){columns[i].of, h->unit_ns,
							  strchr(columns[i].name, '%') ||
								  (h->unit_ns > 1 &&
								   columns[i].of == COLUMN_TOTAL)};
		if (!end || l->nr_columns + 1 >= sizeof(l->column) / sizeof(*l->column))
			return counts;
		if (counts && c->of == COLUMN_COUNT)
			tool_columns_note(l->table, all);
		counts |= c->of == COLUMN_COUNT;
		s = tool_blanks_skip(end);
		close = *s == '(' ? strchr(s, ')') : NULL;
		if (close && tool_unit_parse(s + 1, (size_t)(close - s - 1)) > 0)
			c->unit_ns = tool_unit_parse(s + 1, (size_t)(close - s - 1));
		s = close ? close + 1 : s;
		l->nr_columns++;
	}
	return counts;
}

/* False: they are no columns, and those of the table above remain. */
static bool columns_take(struct tool_lines *l, const struct tool_heading *h, const char *s)
{
	struct tool_column before[sizeof(l->column) / sizeof(*l->column)];
	unsigned int nr = l->nr_columns;

	memcpy(before, l->column, sizeof(before));
	if (columns_parse(l, h, s) && l->nr_columns >= h->least)
		return true;
	memcpy(l->column, before, sizeof(before));
	l->nr_columns = nr;
	return false;
}

/* Two tables side by side. */
static bool is_again(const char *s, const char *name)
{
	for (s = strstr(s, name); s; s = strstr(s + 1, name))
		if (strchr(" \t|", s[-1]) && words_skip(s, name))
			return true;
	return false;
}

static bool heading_parse(struct tool_lines *l, const char *text)
{
	for (size_t i = 0; i < sizeof(headings) / sizeof(*headings); i++) {
		const struct tool_heading *h = &headings[i];
		char first[2] = {*h->name};

		for (const char *s = strstr(text, first); s; s = strstr(s + 1, first)) {
			const char *end = s == text || strchr(" \t>|#", s[-1])
						  ? words_skip(s, h->name)
						  : NULL;

			if (end && columns_take(l, h, end)) {
				l->heading = h;
				if (is_again(end, h->name))
					tool_columns_note(l->table, text);
				return true;
			}
		}
	}
	return false;
}

/* The row that was read, if it has all that it needs. */
int tool_row_flush(struct tool_lines *l)
{
	struct tool_row r = tool_no_figures;
	bool counted = false;
	unsigned int nr = l->row.nr;

	l->row.nr = 0;
	for (unsigned int i = 0; i < nr && i < l->nr_columns; i++) {
		uint64_t v = uint64_of_double(l->row.value[i] + 0.5);

		switch (l->column[i].of) {
		case COLUMN_COUNT:
			r.count = v;
			counted = true;
			break;
		case COLUMN_RATE:
			r.per_s = v;
			break;
		case COLUMN_TOTAL:
			r.total_ns = v;
			break;
		case COLUMN_MIN:
			r.min_ns = v;
			break;
		case COLUMN_MEAN:
			r.mean_ns = v;
			r.total_ns =
				r.total_ns == TOOL_TABLE_UNKNOWN
					? uint64_of_double(l->row.value[i] * (double)r.count + 0.5)
					: r.total_ns;
			break;
		case COLUMN_MAX:
			r.max_ns = v;
			break;
		case COLUMN_SKIP:
			break;
		}
	}
	if (!counted || !l->heading || !strcmp(l->row.name, "Total") || nr < l->heading->least) {
		if (nr && l->heading && strcmp(l->row.name, "Total") != 0)
			tool_missing_row(l, l->row.name);
		return 0;
	}
	if (l->heading->keys)
		l->table->keys = l->heading->keys;
	return tool_row_put(l, l->heading->tool, l->heading->of, l->row.name, &r);
}

/* Numbers of the row from word `at` on. */
static void values_add(struct tool_lines *l, const struct tool_words *w, unsigned int at)
{
	for (; at < w->nr && l->row.nr < l->nr_columns; at++) {
		const struct tool_column *c = &l->column[l->row.nr];
		uint64_t count;
		double v, unit = at + 1 < w->nr
					 ? tool_unit_parse(w->word[at + 1], strlen(w->word[at + 1]))
					 : 0;

		if (c->has_point && !strpbrk(w->word[at], ".,%")) {
			l->row.nr = 0; /* "phone 89 1234" */
			return;
		}
		if (c->of == COLUMN_COUNT || c->of == COLUMN_RATE) {
			if (!tool_count_parse(w->word[at], &count))
				return;
			v = (double)count;
		} else if (!tool_value_parse(w->word[at], unit > 0 ? unit : c->unit_ns, &v)) {
			return;
		}
		at += unit > 0;
		l->row.value[l->row.nr++] = v;
	}
}

/* A thread's name has blanks, and its process and its number precede it: "5301 5304 CPU 0/KVM wait". */
static void thread_name(struct tool_lines *l, const struct tool_words *w, unsigned int first)
{
	unsigned int from = first > 2 ? 2 : 0;

	*l->row.name = '\0';
	for (unsigned int i = from; i < first; i++) {
		size_t len = strlen(l->row.name);

		snprintf(l->row.name + len, sizeof(l->row.name) - len, "%s%s",
			 i > from ? " " : "", w->word[i]);
	}
}

/* Is it a number, or the unit of the one before? */
static bool is_value(const struct tool_words *w, unsigned int i)
{
	double v;

	return tool_value_parse(w->word[i], 1, &v) || tool_is_rounded(w->word[i]) ||
	       (i && tool_unit_parse(w->word[i], strlen(w->word[i])) > 0 &&
		tool_value_parse(w->word[i - 1], 1, &v));
}

/* A guest's name may be of several words and numbers: before the count and the percentage, which
 * has a point. */
static int guest_row(struct tool_lines *l, const struct tool_words *w)
{
	unsigned int percent = 2;
	int err = tool_row_flush(l);

	while (percent < w->nr && (!strchr(w->word[percent], '.') || !is_value(w, percent)))
		percent++;
	if (err || percent >= w->nr)
		return err;
	*l->row.name = '\0';
	for (unsigned int i = 0; i + 1 < percent; i++) {
		size_t len = strlen(l->row.name);

		snprintf(l->row.name + len, sizeof(l->row.name) - len, "%s%s", i ? " " : "",
			 w->word[i]);
	}
	values_add(l, w, percent - 1);
	return 0;
}

/* Has this table rows of such names? What they are of may be anything but an event's, a reason's or a port's. */
static bool name_fits(const struct tool_lines *l, const char *name)
{
	if (l->heading->of == ROW_OF_EVENT)
		return tool_is_kvm_event(name) || tool_is_child(name);
	if (!strcmp(l->heading->tool, "kvmexit"))
		return exit_reason_known(name) || strstr(name, "EXIT_");
	return !l->heading->keys || strcmp(l->heading->keys, "port") || strchr(name, 'x') ||
	       isdigit((unsigned char)*name);
}

/* All rows of kvm_stat's screen have "46.8" after the total: "Fax 089 1234" is none. */
static bool lacks_percent(const struct tool_lines *l, const struct tool_words *w,
			  unsigned int first)
{
	return l->nr_columns == 3 && tool_heading_is(l, "kvm_stat") &&
	       (first + 1 >= w->nr || !strchr(w->word[first + 1], '.'));
}

/* kvm_stat's "Total 200 100" */
static int total_row(struct tool_lines *l, const struct tool_words *w)
{
	uint64_t total;
	int err = tool_row_flush(l);

	if (w->nr > 1 && tool_count_parse(w->word[1], &total))
		tool_missing_total(l, total);
	return err ? err : 1;
}

/* Does a word begin what people write beside a row: "<--- high", "# new", "(!!)"? "-" may be a missing value. */
static bool is_mark(const char *word)
{
	return strchr("<#!*(=/", *word) || !strncmp(word, "--", 2) ||
	       !strncmp(word, "\xe2\x86\x90", 3);
}

/* The number of words of "(!!)" at `at`, which have no letters and digits. */
static unsigned int marks_at(const struct tool_words *w, unsigned int at)
{
	unsigned int i = at;

	while (i < w->nr && is_mark(w->word[i]) &&
	       !strpbrk(w->word[i], "0123456789abcdefghijklmnopqrstuvwxyz"))
		i++;
	return i - at;
}

/* The word of the row's name: the first one before a value, or before such marks and a value. */
static unsigned int name_find(const struct tool_lines *l, const struct tool_words *w)
{
	unsigned int i = 0;

	for (; i + 1 < w->nr; i++) {
		unsigned int value = i + 1 + marks_at(w, i + 1);

		if (value < w->nr && is_value(w, value) &&
		    (tool_is_kvm_name(w->word[i]) || exit_reason_known(w->word[i]) ||
		     (l->heading && tool_is_kvm_event(w->word[i]))))
			return i;
	}
	return w->nr;
}

/* "*kvm_exit", "**kvm_exit**": a word that people mark. */
static void stars_cut(struct tool_words *w)
{
	for (unsigned int i = 0; i < w->nr; i++) {
		size_t stars = strspn(w->word[i], "*"), len = strlen(w->word[i] + stars);

		while (stars && len && w->word[i][stars + len - 1] == '*')
			w->word[i][stars + --len] = '\0';
		w->word[i] += len ? stars : 0;
	}
}

void tool_remarks_cut(const struct tool_lines *l, struct tool_words *w)
{
	stars_cut(w);

	unsigned int name = name_find(l, w), wanted = l->heading ? l->nr_columns : 2,
		     marks = name < w->nr ? marks_at(w, name + 1) : 0, end;

	if (name >= w->nr)
		return;
	w->nr -= marks;
	for (unsigned int i = name + 1; marks && i < w->nr; i++)
		w->word[i] = w->word[i + marks];
	for (end = name + 1; end < w->nr && is_value(w, end);)
		end++;
	if (end < w->nr && (is_mark(w->word[end]) || (l->heading && wanted > 2)) &&
	    end - name - 1 == wanted &&
	    !array_any(w->nr - end, i,
		       exit_reason_known(w->word[end + i]) || tool_is_kvm_name(w->word[end + i])))
		w->nr = end;
}

/* "1990 2001 EXIT_REASON_HLT 16 1990 2001 EXIT_REASON_CPUID 1": rows before the last one, which are not read. */
static void rows_before(struct tool_lines *l, const struct tool_words *w, unsigned int last)
{
	for (unsigned int i = 0; i + 1 < last; i++)
		if ((l->heading->of == ROW_OF_REASON ? exit_reason_known(w->word[i]) ||
							     strstr(w->word[i], "EXIT_")
						     : strncmp(w->word[i], "kvm_", 4) == 0) &&
		    is_value(w, i + 1))
			tool_missing_row(l, w->word[i]);
}

int tool_heading_row(struct tool_lines *l, const struct tool_words *w)
{
	unsigned int first = w->nr; /* of the numbers up to the line's end */
	int err;

	if (!strcmp(w->word[0], "Total") && l->heading->running)
		return total_row(l, w);
	if (l->heading->keys && !strcmp(l->heading->keys, "guest"))
		return guest_row(l, w);

	while (first && is_value(w, first - 1))
		first--;
	if (!first) {
		if (l->row.nr && l->row.nr < l->nr_columns)
			values_add(l, w, 0);
		return 0;
	}
	err = tool_row_flush(l);
	if (err || first == w->nr || !tool_is_name(w->word[first - 1]) ||
	    lacks_percent(l, w, first))
		return err;
	if (!name_fits(l, w->word[first - 1])) {
		tool_row_odd(l, w->word[first - 1]);
		return 0;
	}
	if (l->heading->keys && !strcmp(l->heading->keys, "thread"))
		thread_name(l, w, first);
	else if (first > 1 && !strcmp(w->word[first - 1], "excp")) /* "PF excp" of SVM */
		snprintf(l->row.name, sizeof(l->row.name), "%.60s excp", w->word[first - 2]);
	else
		snprintf(l->row.name, sizeof(l->row.name), "%s", w->word[first - 1]);
	values_add(l, w, first);
	/* a command's line ("sleep 10") is no row */
	if (l->row.nr < (l->nr_columns > 1 ? 2 : 1) || (l->nr_columns == 1 && first < 2))
		l->row.nr = 0;
	l->rows += l->row.nr > 0;
	if (l->row.nr)
		rows_before(l, w, first - 1);
	return 0;
}

bool tool_heading_is(const struct tool_lines *l, const char *tool)
{
	return !l->heading || !strcmp(l->heading->tool, tool);
}

/* "kvm statistics - pid 3141 (vm7)": whose figures follow. Those of another VM are another table. */
static void title_take(struct tool_lines *l, const char *text)
{
	static const char words[] = "kvm statistics - ";
	const char *title = strstr(text, words);
	int len;

	if (!title)
		return;
	title += sizeof(words) - 1;
	len = (int)strcspn(title, "\n");
	while (len && strchr(" \t\r|", title[len - 1]))
		len--;
	l->table->others |= *l->title && ((int)strlen(l->title) != len ||
					  strncmp(l->title, title, (size_t)len) != 0);
	snprintf(l->title, sizeof(l->title), "%.*s", len, title);
}

static void running_again(struct tool_lines *l)
{
	tool_block_again(l);
	tool_table_again(l->table);
}

/* A heading, or what follows of one. 1: it was. */
int tool_heading_line(struct tool_lines *l, const char *text)
{
	size_t len = strlen(l->header);
	bool digits = strpbrk(text, "0123456789");
	int err;

	title_take(l, text);
	if (l->header_open && *text && !digits && len + strlen(text) + 2 < sizeof(l->header)) {
		snprintf(l->header + len, sizeof(l->header) - len, "\n%s", text);
		heading_parse(l, l->header);
		return 1;
	}
	l->header_open = false;
	if (!heading_parse(l, text))
		return 0;
	err = tool_row_flush(l);
	l->table->others |= !l->heading->again && !l->heading->running && !l->live && l->seen;
	l->seen = true;
	l->headings += !l->heading->running;
	snprintf(l->header, sizeof(l->header), "%s", text);
	l->header_open = true;
	tool_names_clear(l);
	if (l->heading->running &&
	    (!l->table->tool || !strcmp(l->table->tool, l->heading->tool)))
		running_again(l);
	return err ? err : 1;
}
