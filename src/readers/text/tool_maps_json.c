// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Maps as bpftrace -f json prints them, an object a line; keys are joined by commas.
 *
 *	{"type": "map", "data": {"@exits": {"12": 5012, "48": 1500}}}              count(), sum(), min(), max()
 *	{"type": "stats", "data": {"@us": {"12": {"count": 4, "average": 5, "total": 21}}}}        stats()
 *	{"type": "stats", "data": {"@us": {"12": 5}}}                                              avg()
 *	{"type": "hist", "data": {"@us": {"12": [{"min": 4, "max": 7, "count": 1}]}}}              hist(), lhist()
 *	{"type": "lost_events", "data": {"events": 12}}
 *
 * A map without a key has its value in the place of the object of keys.
 */
#include <inttypes.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/json_text.h"
#include "readers/text/tool_line.h"

enum { LINE_BYTES_MAX = 16 << 20 };

static const char begin[] = "{\"type\": \"";

/* Not negative ones, which no duration or count is. */
static uint64_t integer_of(const json_t *v)
{
	json_int_t n = json_is_integer(v) ? json_integer_value(v) : -1;

	return n < 0 ? TOOL_TABLE_UNKNOWN : (uint64_t)n;
}

static int buckets_put(struct tool_lines *l, const char *key, json_t *list)
{
	int done = tool_map_begin(l, key);
	json_t *bucket;
	size_t i;

	json_array_foreach(list, i, bucket) {
		const json_t *min = json_object_get(bucket, "min"),
			     *max = json_object_get(bucket, "max");
		uint64_t count = integer_of(json_object_get(bucket, "count"));

		if (count == TOOL_TABLE_UNKNOWN)
			tool_missing_row(l, key);
		else
			done = tool_map_bucket(l, (double)json_integer_value(min),
					       max ? (double)json_integer_value(max) + 1
						   : (double)TOOL_MAP_NO_END,
					       count);
	}
	return done;
}

static int value_put(struct tool_lines *l, const char *key, enum tool_map_of of, json_t *v)
{
	struct tool_row figures = tool_no_figures;

	if (json_is_array(v))
		return buckets_put(l, key, v);
	if (json_is_object(v) && of == MAP_OF_AVERAGES) {
		of = MAP_OF_STATS;
		figures.count = integer_of(json_object_get(v, "count"));
		figures.mean_ns = integer_of(json_object_get(v, "average"));
		figures.total_ns = integer_of(json_object_get(v, "total"));
	} else {
		figures.count = integer_of(v);
	}
	if (figures.count == TOOL_TABLE_UNKNOWN ||
	    (of == MAP_OF_STATS && (figures.mean_ns == TOOL_TABLE_UNKNOWN ||
				    figures.total_ns == TOOL_TABLE_UNKNOWN))) { /* below 0 */
		tool_missing_row(l, key);
		return 1;
	}
	return tool_map_put(l, key, of, &figures);
}

/* Is it an object of keys, and not a value of stats()? */
static bool has_keys(const json_t *map, enum tool_map_of of)
{
	return json_is_object(map) &&
	       !(of == MAP_OF_AVERAGES && json_is_integer(json_object_get(map, "average")));
}

static int map_put(struct tool_lines *l, const char *name, enum tool_map_of of, json_t *map)
{
	int done = 1;
	char text[128];
	const char *key;
	json_t *v;

	if (!has_keys(map, of))
		return value_put(l, name, of, map);
	json_object_foreach(map, key, v) {
		snprintf(text, sizeof(text), "%.48s[%.76s]", name, key);
		done = done < 0 ? done : value_put(l, text, of, v);
	}
	return done;
}

static int object_add(struct tool_lines *l, json_t *line)
{
	const char *type = json_string_value(json_object_get(line, "type")), *name;
	json_t *data = json_object_get(line, "data"), *map;
	uint64_t lost = integer_of(json_object_get(data, "events"));
	int done = 1;

	if (!type || !data)
		return 0;
	if (!strcmp(type, "lost_events") && lost != TOOL_TABLE_UNKNOWN && !l->table->losses++)
		snprintf(l->table->first_loss, sizeof(l->table->first_loss),
			 "lost_events: %" PRIu64, lost);
	if (strcmp(type, "map") != 0 && strcmp(type, "stats") != 0 && strcmp(type, "hist") != 0)
		return 1;
	json_object_foreach(data, name, map)
		done = done < 0 ? done
				: map_put(l, name,
					  *type == 's' ? MAP_OF_AVERAGES : MAP_OF_NUMBERS, map);
	return done;
}

int tool_maps_json_line(struct tool_lines *l, const char *s, const char *end)
{
	const char *at = memmem(s, (size_t)(end - s), begin, sizeof(begin) - 1);
	json_error_t why;
	int done;

	if (!at || end - at > LINE_BYTES_MAX)
		return 0;
	json_t *line = json_text_load(at, (size_t)(end - at), JSON_DISABLE_EOF_CHECK, &why);

	if (!line) {
		tool_missing_row(l, at);
		return l->keyed;
	}
	done = object_add(l, line);
	json_decref(line);
	return done;
}
