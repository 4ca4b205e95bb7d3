// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Counts by key: maps of bpftrace, also those of histograms, and histogram triggers of ftrace:
 *
 *	@exits[HLT]: 12       @[tracepoint:kvm:kvm_exit]: 12       @[12]: 345
 *	@us[HLT]:
 *	[2, 4)     1200 |@@@@@@@@@|
 *	{ exit_reason: 12 } hitcount: 7
 *
 * What keys and values are is not known before all maps were read: tool_maps.c. bpftrace -f json: tool_maps_json.c.
 */
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "readers/text/tool_line.h"

/*
 * A row is named by its whole text until the end, "@exits[12]", "{exit_reason: 12", as a map may be printed several
 * times: `running`. Its figures are in the unit of the map.
 */
static int key_put(struct tool_lines *l, const char *tool, const char *text,
		   const struct tool_row *figures, bool running)
{
	struct tool_row *row =
		running ? tool_row_find(l->table, ROW_OF_OTHER, text, strlen(text)) : NULL;
	int err;

	if (row) {
		tool_block_total(l, row);
		row->count = 0;
		row->counted = row->uncounted = false;
		row->total_ns = row->mean_ns = row->min_ns = row->max_ns = TOOL_TABLE_UNKNOWN;
		l->table->tables = 2;
		l->table->maybe_cleared = true;
		l->print += row->print == l->print;
	}
	l->keyed = true;
	err = tool_row_put(l, tool, ROW_OF_OTHER, text, figures);
	row = running ? tool_row_find(l->table, ROW_OF_OTHER, text, strlen(text)) : NULL;
	if (row)
		row->print = l->print;
	return err ? err : 1;
}

static int key_count_put(struct tool_lines *l, const char *tool, const char *text, uint64_t count)
{
	struct tool_row figures = tool_no_figures;

	figures.count = count;
	return key_put(l, tool, text, &figures, false);
}

int tool_map_put(struct tool_lines *l, const char *key, enum tool_map_of of,
		 const struct tool_row *figures)
{
	int done = key_put(l, "bpftrace", key, figures, true);
	struct tool_row *row = tool_row_find(l->table, ROW_OF_OTHER, key, strlen(key));

	if (row) {
		row->map_of = of;
		row->mean_ns = figures->mean_ns;
	}
	return done;
}

int tool_key_put(struct tool_lines *l, const char *tool, const char *name, uint64_t count)
{
	tool_block_once(l, name);
	return key_count_put(l, tool, name, count);
}

void tool_map_end(struct tool_lines *l)
{
	if (l->map_empty)
		tool_missing_row(l, l->map);
	l->map_empty = false;
}

/* A count at s, also in groups, behind which the line ends or has one of `then`. */
static bool key_count_read(const char *s, const char *then, uint64_t *ret)
{
	const char *end = tool_count_read(s, ret);

	end = end ? tool_count_rest(s, end, ret) : NULL;
	return end && (!*end || strchr(then, *end));
}

int tool_map_bucket(struct tool_lines *l, double low, double high, uint64_t count)
{
	struct tool_row figures = tool_no_figures, *row;
	int done;

	figures.count = count;
	if (count) {
		figures.min_ns = low > 0 ? (uint64_t)low : 0;
		figures.max_ns = high < (double)TOOL_MAP_NO_END ? (uint64_t)high : TOOL_MAP_NO_END;
	}
	done = key_put(l, "bpftrace", l->map, &figures, l->map_empty);
	row = tool_row_find(l->table, ROW_OF_OTHER, l->map, strlen(l->map));
	if (row)
		row->map_of = MAP_OF_BUCKETS;
	l->map_empty = false;
	return done;
}

/* A bound of a bucket: "512", "1K", "-8"; `open` for "...", which has no end. */
static bool bound_parse(const char *s, double open, double *ret)
{
	static const char powers[] = "KMGTPE";
	const char *power;
	char *end;

	*ret = open;
	if (!strncmp(s, "...", 3))
		return true;
	*ret = strtod(s, &end);
	power = *end ? strchr(powers, *end) : NULL;
	for (const char *p = powers; power && p <= power; p++)
		*ret *= 1024;
	end += power != NULL;
	return end > s && strchr(",)]", *end);
}

/* "[2, 4)     1200 |@@@@@@@@@|" of the map above; also "[1]", "(..., 0)", "[100, ...)" */
static int bucket_line(struct tool_lines *l, const char *text)
{
	const char *at = text + strcspn(text, "])"), *comma = strchr(text, ',');
	double low, high;
	uint64_t count;

	if (!*l->map || !strchr("[(", *text) || !*text || !*at)
		return 0;
	comma = comma && comma < at ? comma + 1 + strspn(comma + 1, " ") : NULL;
	if (!bound_parse(text + 1, 0, &low) ||
	    (comma && !bound_parse(comma, (double)TOOL_MAP_NO_END, &high)))
		return 0;
	if (!comma)
		high = low + 1;
	at += 1 + strspn(at + 1, " ");
	if (*at && !isdigit((unsigned char)*at))
		return 0;
	if (!strchr(at, '|') || !key_count_read(at, " |", &count)) {
		tool_missing_row(l, text);
		return 1;
	}
	return tool_map_bucket(l, low, high, count);
}

/* A histogram whose buckets follow. That of another one, without a bucket, was cut. */
int tool_map_begin(struct tool_lines *l, const char *key)
{
	tool_map_end(l);
	snprintf(l->map, sizeof(l->map), "%s", key);
	l->map_empty = l->keyed = true;
	if (!l->table->tool)
		l->table->tool = "bpftrace";
	return 1;
}

/* "count 12, average 3, total 36", of which a cut line lacks the end. */
static int stats_put(struct tool_lines *l, const char *key, const char *at)
{
	struct tool_row figures = tool_no_figures;
	const char *average = strstr(at, ", average "), *total = strstr(at, ", total ");

	if (!key_count_read(at, ",", &figures.count) ||
	    (average && !key_count_read(average + strlen(", average "), ",", &figures.mean_ns)) ||
	    (total && !key_count_read(total + strlen(", total "), ",", &figures.total_ns))) {
		tool_missing_row(l, key);
		return 1;
	}
	return tool_map_put(l, key, MAP_OF_STATS, &figures);
}

/* "@name[key]: 12", "@name: 12", "@[key]: count 12, average 3, total 36". A map printed again has
 * all of it. */
static int bpftrace_line(struct tool_lines *l, const char *text)
{
	struct tool_row figures = tool_no_figures;
	const char *close = NULL, *at;
	char key[128];

	if (*text != '@')
		return bucket_line(l, text);
	for (const char *p = strstr(text, "]:"); p; p = strstr(p + 1, "]:"))
		close = p[2] == ' ' || !p[2] ? p : close;
	at = close ? close + 1 : text + strcspn(text, ":");
	if (*at != ':')
		return 0;
	snprintf(key, sizeof(key), "%.*s", (int)(at - text), text);
	if (!at[1 + strspn(at + 1, " ")])
		return tool_map_begin(l, key);
	at += 1 + strspn(at + 1, " ");
	if (!strncmp(at, "count ", 6))
		return isdigit((unsigned char)at[6]) ? stats_put(l, key, at + 6) : 0;
	if (!isdigit((unsigned char)*at))
		return 0;
	if (!key_count_read(at, ",", &figures.count)) {
		tool_missing_row(l, text);
		return 1;
	}
	return tool_map_put(l, key, MAP_OF_NUMBERS, &figures);
}

/* "{ exit_reason: HLT [ 12] } hitcount: 7" */
static int histogram_line(struct tool_lines *l, const char *text)
{
	const char *open = strchr(text, '{'), *close = strstr(text, "} hitcount:");
	char key[128] = "{";
	uint64_t count;
	int len = 1;

	if (!open || !close || close < open)
		return 0;
	for (const char *s = open + 1; s < close && len < (int)sizeof(key) - 1; s++)
		if (*s != ' ' || (len > 1 && key[len - 1] != ' '))
			key[len++] = *s;
	while (len > 1 && key[len - 1] == ' ')
		len--;
	key[len] = '\0';
	close += strcspn(close, "0123456789");
	if (!*close)
		return 0;
	if (!key_count_read(close, " }", &count)) {
		tool_missing_row(l, text);
		return 1;
	}
	tool_block_once(l, key);
	return key_count_put(l, "a histogram trigger", key, count);
}

int tool_keys_line(struct tool_lines *l, const char *text)
{
	int done = bpftrace_line(l, text);

	return done ? done : histogram_line(l, text);
}
