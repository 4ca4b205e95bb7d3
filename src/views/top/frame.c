// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * From the top: title, note (if there is one), path, heading, rows, keys. Figures have fixed widths; the name and the
 * sparkline share what is left. On narrow screens the sparkline and the less important columns are omitted.
 */
#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <wchar.h>

#include "base/array.h"
#include "base/error.h"
#include "base/units.h"
#include "views/top/frame.h"

enum { NAME_LEAST = 12, NAME_MOST = 40, SPARK_LEAST = 6, SPARK_MOST = 60, LINES_BESIDE = 4 };

static unsigned int width_of(const struct top_page *page)
{
	return page->width < TOP_WIDTH_MAX ? page->width : TOP_WIDTH_MAX;
}

unsigned int top_page_rows(const struct top_page *page)
{
	unsigned int beside = LINES_BESIDE + (page->note ? 1 : 0) + (page->cause ? 1 : 0);

	return page->height > beside ? page->height - beside : 1;
}

void top_frame_free(struct top_frame *f)
{
	free(f->line);
	*f = (struct top_frame){0};
}

/* ---- lines ---- */

static struct top_line *line_add(struct top_frame *f, enum top_tone tone)
{
	struct top_line *l;

	if (array_reserve(f->line, f->nr + 1, f->capacity))
		return NULL;
	l = &f->line[f->nr++];
	l->tone = tone;
	*l->text = '\0';
	return l;
}

/* Text of one column per character: others, and what this locale does not have, become '?'. Pads to `columns`. */
static size_t put_columns(char *to, size_t size, const char *text, unsigned int columns, bool pad)
{
	size_t len = 0, left = strlen(text);
	mbstate_t state = {0};

	while (*text && columns && len + MB_LEN_MAX < size) {
		wchar_t c;
		size_t n = mbrtowc(&c, text, left, &state);
		bool fits = n != (size_t)-1 && n != (size_t)-2 && wcwidth(c) == 1;

		if (n == (size_t)-1 || n == (size_t)-2) {
			n = 1;
			state = (mbstate_t){0};
		}
		if (fits)
			memcpy(to + len, text, n);
		else
			to[len] = '?';
		len += fits ? n : 1;
		text += n;
		left -= n;
		columns--;
	}
	while (pad && columns-- && len + 1 < size)
		to[len++] = ' ';
	to[len] = '\0';
	return len;
}

static void line_print(struct top_line *l, const struct top_page *page, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));
static void line_print(struct top_line *l, const struct top_page *page, const char *fmt, ...)
{
	char text[TOP_LINE_BYTES];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	put_columns(l->text, sizeof(l->text), text, width_of(page), false);
}

/* ---- the layout ---- */

struct layout {
	unsigned int name, spark; /* columns; spark 0: none */
	float max;		  /* of sparklines */
	bool has[TOP_COLUMNS];
};

/* With the space before it. */
static unsigned int width_of_column(enum top_column c)
{
	return c == TOP_BY_COUNT || c == TOP_BY_USER ? 9 : 8;
}

static unsigned int figures(const struct layout *l)
{
	unsigned int width = 0;

	for (int c = TOP_BY_COUNT; c < TOP_COLUMNS; c++)
		width += l->has[c] ? width_of_column(c) : 0;
	return width;
}

/* The largest that is shown in a row: rows share one scale, so that a busy one is not as high as an idle one. */
static float spark_max(const struct top_view *v, unsigned int columns)
{
	float max = 0;

	for (unsigned int i = 0; i < v->nr_rows; i++)
		for (unsigned int k = 0; k < v->row[i]->nr_history && k < columns; k++)
			max = v->row[i]->history[k] > max ? v->row[i]->history[k] : max;
	return max;
}

static void layout_make(const struct top_view *v, const struct top_page *page, struct layout *l)
{
	static const enum top_column spare[] = {TOP_BY_P50, TOP_BY_USER, TOP_BY_MAX, TOP_BY_P99,
						TOP_BY_COUNT};
	unsigned int width = width_of(page), left, i = 0;

	for (int c = 0; c < TOP_COLUMNS; c++)
		l->has[c] = top_list_has(v->list, c);
	while (figures(l) + NAME_LEAST > width && i < sizeof(spare) / sizeof(*spare))
		l->has[spare[i++]] = false;
	left = figures(l);
	left = width > left ? width - left : NAME_LEAST;
	l->spark = left > NAME_LEAST + SPARK_LEAST ? (left - 1) / 3 : 0;
	if (l->spark && l->spark < SPARK_LEAST)
		l->spark = SPARK_LEAST;
	if (l->spark > SPARK_MOST)
		l->spark = SPARK_MOST;
	l->max = spark_max(v, l->spark);
	l->name = l->spark ? left - l->spark - 1 : left;
	if (l->name > NAME_MOST)
		l->name = NAME_MOST;
}

/* ---- figures ---- */

static const char *rate_print(double v, char *buf, size_t size)
{
	if (v >= 9999999.5)
		snprintf(buf, size, "%.1fM", v / 1e6);
	else if (v > 0 && v < 9.95)
		snprintf(buf, size, "%.1f", v);
	else
		snprintf(buf, size, "%.0f", v);
	return buf;
}

static const char *count_print(const struct top_view *v, uint64_t count, uint64_t interval_ns,
			       char *buf, size_t size)
{
	if (!v->since_start)
		return rate_print(interval_ns ? (double)count * 1e9 / (double)interval_ns : 0, buf,
				  size);
	if (count < 100000000)
		snprintf(buf, size, "%" PRIu64, count);
	else
		snprintf(buf, size, "%.1fM", (double)count / 1e6);
	return buf;
}

static const char *time_print(const struct top_node *n, const struct top_model *m, char *buf,
			      size_t size)
{
	double part =
		n->available_ns ? (double)n->values.time_ns * 100 / (double)n->available_ns : 0;

	if (n->kind == TOP_PORT && !m->times_ports)
		return "-";
	snprintf(buf, size, "%.1f", part < 100 ? part : 100.0);
	return buf;
}

static const char *latency_print(uint64_t ns, char *buf, size_t size)
{
	return ns ? duration_print(ns, buf, size) : "0";
}

static const char *figure_print(const struct top_node *n, enum top_column column,
				const struct top_view *v, const struct top_model *m, char *buf,
				size_t size)
{
	const struct top_node *vm = n->kind == TOP_VM ? n : top_view_vm(v, m);
	uint64_t interval_ns = top_interval_ns(m, vm);

	switch (column) {
	case TOP_BY_COUNT:
		return count_print(v, n->values.count, interval_ns, buf, size);
	case TOP_BY_USER:
		if (n->kind == TOP_QUEUE)
			snprintf(buf, size, "%" PRIu64, n->values.user);
		else
			count_print(v, n->values.user, interval_ns, buf, size);
		return buf;
	case TOP_BY_P50:
		return latency_print(n->values.p50_ns, buf, size);
	case TOP_BY_P99:
		return latency_print(n->values.p99_ns, buf, size);
	case TOP_BY_MAX:
		return latency_print(n->values.max_ns, buf, size);
	default:
		return time_print(n, m, buf, size);
	}
}

/* The newest value is at the right end; the scale ends at max. */
static void put_spark(char *to, size_t size, const struct top_node *n, unsigned int columns,
		      float max, bool utf8)
{
	static const char *const blocks[] = {"▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};
	static const char *const ascii[] = {"_", ".", "-", ":", "=", "+", "*", "#"};
	unsigned int nr = n->nr_history < columns ? n->nr_history : columns;

	for (unsigned int i = columns; i--;) {
		int level = 0;
		size_t len;

		if (i < nr && max > 0)
			level = (int)(n->history[i] / max * 7 + (n->history[i] > 0 ? .999f : 0));
		level = level > 7 ? 7 : level;
		len = (size_t)snprintf(to, size, "%s",
				       i >= nr ? " "
				       : utf8  ? blocks[level]
					       : ascii[level]);
		to += len;
		size -= len;
	}
}

/* ---- title, path, heading ---- */

static const char *const list_names[TOP_LISTS] = {
	[TOP_VMS] = "VMs",
	[TOP_VCPUS] = "vCPUs",
	[TOP_REASONS] = "exit reasons",
	[TOP_PORTS] = "ports",
	[TOP_QUEUES] = "virtqueues",
	[TOP_TASKS] = "guest tasks",
	[TOP_CAUSES] = "what the time went into",
};

static void put_title(struct top_line *l, const struct top_view *v, const struct top_model *m,
		      const struct top_page *page)
{
	unsigned int vms = m->host.list[TOP_VMS].nr, vcpus = 0;
	double exits = 0;

	for (unsigned int i = 0; i < vms; i++) {
		const struct top_node *vm = m->host.list[TOP_VMS].node[i];

		vcpus += vm->nr_vcpus;
		exits += vm->nr_history ? (double)vm->history[0] : 0;
	}
	line_print(l, page, "hostrace top %s  %u VM%s, %u vCPU%s, %.0f exits/s, %s%.3f s%s",
		   page->time, vms, vms == 1 ? "" : "s", vcpus, vcpus == 1 ? "" : "s", exits,
		   v->since_start ? "since the start " : "interval ",
		   (double)top_interval_ns(m, v->since_start ? top_view_vm(v, m) : NULL) / 1e9,
		   v->paused ? "  [paused]" : "");
}

static void put_path(struct top_line *l, const struct top_view *v, const struct top_model *m,
		     const struct top_page *page)
{
	const struct top_node *vm = top_view_vm(v, m), *n = top_view_parent(v, m);
	const char *all = v->of_vcpu || v->list < TOP_REASONS || v->list == TOP_PORTS ||
					  v->list == TOP_QUEUES || v->list == TOP_TASKS
				  ? ""
				  : " > all vCPUs";
	char path[256] = "all", filter[64] = "", vcpu[32] = "";

	if (v->of_vcpu)
		snprintf(vcpu, sizeof(vcpu), " > vCPU %" PRIu64, v->vcpu);
	if (vm)
		snprintf(path, sizeof(path), "%s%s%s%s%s", vm->name, vcpu, all,
			 n && n->kind == TOP_REASON ? " > " : "",
			 n && n->kind == TOP_REASON ? n->name : "");
	if (v->filtering || *v->filter)
		snprintf(filter, sizeof(filter), "  filter: %s%s", v->filter,
			 v->filtering ? "_" : "");
	line_print(l, page, "%s: %s%s", path, list_names[v->list], filter);
}

static const char *column_name(enum top_column c, const struct top_view *v)
{
	switch (c) {
	case TOP_BY_COUNT:
		if (v->list == TOP_QUEUES)
			return v->since_start ? "requests" : "req/s";
		if (v->list == TOP_PORTS)
			return v->since_start ? "count" : "count/s";
		return v->since_start ? "exits" : "exits/s";
	case TOP_BY_USER:
		if (v->list == TOP_QUEUES)
			return "depth";
		return v->since_start ? "user" : "user/s";
	case TOP_BY_P50:
		return "p50";
	case TOP_BY_P99:
		return "p99";
	case TOP_BY_MAX:
		return "max";
	case TOP_BY_TIME:
		return v->list == TOP_QUEUES ? "busy%" : "time%";
	default:
		return "name";
	}
}

static void put_heading(struct top_line *l, const struct top_view *v, const struct layout *layout,
			const struct top_page *page)
{
	enum top_column sort = layout->has[v->sort] ? v->sort : TOP_BY_TIME;
	char text[TOP_LINE_BYTES], name[24];
	size_t len;

	snprintf(name, sizeof(name), "%s%s", sort == TOP_BY_NAME ? "*" : "", "name");
	len = put_columns(text, sizeof(text), name, layout->name, true);
	for (int c = TOP_BY_COUNT; c < TOP_COLUMNS; c++) {
		if (!layout->has[c])
			continue;
		snprintf(name, sizeof(name), "%s%s", sort == (enum top_column)c ? "*" : "",
			 column_name(c, v));
		len += (size_t)snprintf(text + len, sizeof(text) - len, "%*s",
					(int)width_of_column(c), name);
	}
	if (layout->spark)
		snprintf(text + len, sizeof(text) - len, " %s",
			 v->list == TOP_CAUSES
				 ? "time%"
				 : column_name(TOP_BY_COUNT, &(struct top_view){.list = v->list}));
	line_print(l, page, "%s", text);
}

/* ---- rows ---- */

static void put_row(struct top_line *l, const struct top_node *n, const struct top_view *v,
		    const struct top_model *m, const struct layout *layout,
		    const struct top_page *page)
{
	size_t len = put_columns(l->text, sizeof(l->text), n->name, layout->name, true);
	char buf[32];

	for (int c = TOP_BY_COUNT; c < TOP_COLUMNS; c++)
		if (layout->has[c])
			len += (size_t)snprintf(l->text + len, sizeof(l->text) - len, "%*s",
						(int)width_of_column(c),
						figure_print(n, c, v, m, buf, sizeof(buf)));
	if (!layout->spark)
		return;
	l->text[len++] = ' ';
	put_spark(l->text + len, sizeof(l->text) - len, n, layout->spark, layout->max, page->utf8);
}

/* The rows of the screen that has the cursor. */
static int put_rows(struct top_frame *f, const struct top_view *v, const struct top_model *m,
		    const struct layout *layout, const struct top_page *page)
{
	unsigned int rows = page->height  ? top_page_rows(page)
			    : page->limit ? (unsigned int)page->limit
					  : v->nr_rows;
	unsigned int first = page->height ? v->cursor / rows * rows : 0;

	for (unsigned int i = first; i < v->nr_rows && i < first + rows; i++) {
		const struct top_node *n = v->row[i];
		bool idle = !n->values.count && !n->values.time_ns;
		struct top_line *l = line_add(f, !page->plain && i == v->cursor ? TOP_SELECTED
						 : idle				? TOP_IDLE
										: TOP_PLAIN);

		if (!l)
			return -ENOMEM;
		put_row(l, n, v, m, layout, page);
	}
	return 0;
}

static const char *empty_text(const struct top_view *v, const struct top_model *m)
{
	if (*v->filter)
		return "no name contains the filter; Esc removes it";
	switch (v->list) {
	case TOP_VMS:
		return "no VM that uses KVM is running; one that starts appears here";
	case TOP_PORTS:
		return "no port was accessed yet";
	case TOP_QUEUES:
		return m->has_queues ? "no request was seen yet in a virtqueue that QEMU serves"
				     : "start with --queues to probe QEMU's virtqueues";
	case TOP_TASKS:
		return m->has_tasks ? "no exit of a guest task was counted yet"
				    : "start with --guest-tasks to see the tasks of a Linux guest";
	case TOP_CAUSES:
		return "this kernel does not offer the causes (scheduler events)";
	default:
		return "no exit was counted yet";
	}
}

static const char *const help_text[] = {
	"Up Down PgUp PgDn Home End   select a row (also j, k)",
	"Enter, Right                 what is below it: VM, vCPU, exit reason, causes",
	"Backspace, Left, Esc         back",
	"Tab                          of a VM: vCPUs, all reasons, ports, queues, tasks",
	"s S r                        sort by the next or previous column; reverse",
	"/ TEXT Enter                 only names that contain this text; / Esc: all",
	"p, Space                     pause, continue",
	"c                            counts since the start, or of each interval",
	"w                            write what is shown to a new file",
	"q                            quit",
	"",
	"time%: time between VM-exit and VM-entry, halted, too, of that of the vCPUs.",
	"user/s: exits that the VMM handled. Latencies are those of exits that ended.",
	"Queues: from pop to fill; depth: in flight now; busy%: time with one in flight.",
	"Any key closes this help.",
};

static int put_help(struct top_frame *f, const struct top_page *page)
{
	unsigned int rows = top_page_rows(page) + 1; /* there is no heading */

	for (unsigned int i = 0; i < sizeof(help_text) / sizeof(*help_text) && i < rows; i++) {
		struct top_line *l = line_add(f, TOP_PLAIN);

		if (!l)
			return -ENOMEM;
		line_print(l, page, "%s", help_text[i]);
	}
	return 0;
}

/* ---- the frame ---- */

static int put_list(struct top_frame *f, const struct top_view *v, const struct top_model *m,
		    const struct top_page *page)
{
	struct top_line *l = line_add(f, TOP_HEADING);
	struct layout layout;

	if (!l)
		return -ENOMEM;
	layout_make(v, page, &layout);
	put_heading(l, v, &layout, page);
	if (v->nr_rows)
		return put_rows(f, v, m, &layout, page);
	l = line_add(f, TOP_NOTE);
	if (!l)
		return -ENOMEM;
	line_print(l, page, "%s", empty_text(v, m));
	return 0;
}

static int put_keys(struct top_frame *f, const struct top_view *v, const struct top_page *page)
{
	static const char keys[] =
		"Enter open  Backspace back  Tab list  s sort  / filter  p pause  "
		"q quit  ? help";
	struct top_line *l;

	while (f->nr + 1 < page->height)
		if (!line_add(f, TOP_PLAIN))
			return -ENOMEM;
	l = line_add(f, *v->message ? TOP_NOTE : TOP_TITLE);
	if (!l)
		return -ENOMEM;
	line_print(l, page, "%s", *v->message ? v->message : v->help ? "" : keys);
	return 0;
}

int top_frame_make(struct top_frame *f, const struct top_view *v, const struct top_model *m,
		   const struct top_page *page)
{
	const char *const notes[] = {page->note, page->cause};
	struct top_line *l;
	int err;

	f->nr = 0;
	l = line_add(f, TOP_TITLE);
	if (!l)
		return -ENOMEM;
	put_title(l, v, m, page);
	for (unsigned int i = 0; i < sizeof(notes) / sizeof(*notes); i++) {
		if (!notes[i])
			continue;
		l = line_add(f, TOP_NOTE);
		if (!l)
			return -ENOMEM;
		line_print(l, page, "%s", notes[i]);
	}
	l = line_add(f, TOP_PLAIN);
	if (!l)
		return -ENOMEM;
	put_path(l, v, m, page);
	err = v->help ? put_help(f, page) : put_list(f, v, m, page);
	return err || !page->height ? err : put_keys(f, v, page);
}
