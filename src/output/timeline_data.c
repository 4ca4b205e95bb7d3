// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The data of a timeline's script. Times are ns after the first slice; lists are flat, and their times are differences
 * to the time before:
 *
 *	{"start_ns": of the first slice, after the trace's start, "span_ns", "resolution_ns",
 *	 "layout": [left, top, row, bar], "kinds": [[name, color, title]...], "names": [text...],
 *	 "tracks": [{"name", "group", "y", "slices": [start, ns, kind, name...],
 *		     "bands": [start / resolution, ns, kind, count, longest ns, name...]}...],
 *	 "arrows": [[track, start, end, track, start, end...]...]}
 *
 * Kinds and names are indices; names beyond NAMES_BYTES are 0, "(name omitted)".
 */
#include <inttypes.h>

#include "output/escape.h"
#include "output/timeline_picture.h"

enum { NAMES_BYTES = 128 << 10 };

struct name {
	const char *text;
	uint32_t number;
};

struct names {
	struct hash_table table;
	size_t nr;
	size_t bytes;
	FILE *json;
};

static uint32_t name_number(struct names *n, const char *text)
{
	struct name *name = hash_find_text(&n->table, text);
	bool fresh;

	if (!name && n->bytes + strlen(text) > NAMES_BYTES)
		return 0;
	if (!name)
		name = hash_add_text(&n->table, text, &fresh);
	if (!name)
		return 0;
	if (!name->number) {
		name->number = ++n->nr;
		n->bytes += strlen(text);
		fputc(',', n->json);
		put_json(n->json, text);
	}
	return name->number;
}

static void slices_put(struct names *names, const struct timeline_picture *p,
		       const struct band_track *t, FILE *f)
{
	uint64_t before = p->since_ns;
	const char *comma = "";

	fputs("\"slices\":[", f);
	for (uint32_t i = 0; i < t->nr; i++) {
		const struct band_item *item = &t->item[i];

		if (item->is_band)
			continue;
		fprintf(f, "%s%" PRIu64 ",%" PRIu64 ",%d,%u", comma, item->start_ns - before,
			item->ns, item->kind, name_number(names, item->name));
		before = item->start_ns;
		comma = ",";
	}
	fputs("],", f);
}

static void bands_put(struct names *names, const struct timeline_picture *p,
		      const struct band_track *t, FILE *f)
{
	uint64_t resolution = p->bands->resolution_ns ? p->bands->resolution_ns : 1, before = 0;
	const char *comma = "";

	fputs("\"bands\":[", f);
	for (uint32_t i = 0; i < t->nr; i++) {
		const struct band_item *item = &t->item[i];
		uint64_t column = item->start_ns / resolution;

		if (!item->is_band)
			continue;
		fprintf(f, "%s%" PRIu64 ",%" PRIu64 ",%d,%" PRIu64 ",%" PRIu64 ",%u", comma,
			column - before, item->ns, item->kind, item->count, item->longest_ns,
			name_number(names, item->name));
		before = column;
		comma = ",";
	}
	fputs("]", f);
}

static void tracks_put(struct names *names, const struct timeline *t,
		       const struct timeline_picture *p, FILE *f)
{
	for (uint32_t i = 0; i < p->nr_rows; i++) {
		const struct band_track *b = &p->bands->track[p->row[i]];
		const struct timeline_track *track = &t->track[b->track];

		fprintf(f, "%s{\"name\":", i ? ",\n" : "");
		put_json(f, track->name);
		fputs(",\"group\":", f);
		put_json(f, t->group[track->group].name);
		fprintf(f, ",\"y\":%u,", p->y[p->row[i]]);
		slices_put(names, p, b, f);
		bands_put(names, p, b, f);
		fputc('}', f);
	}
}

static void arrows_put(const struct timeline_picture *p, FILE *f)
{
	uint32_t row[BANDS_TRACKS_MAX];
	size_t nr;
	_cleanup_free_ const struct band_flow **sorted = hash_sorted(&p->bands->flows, NULL, &nr);
	const char *comma = "";

	for (uint32_t i = 0; i < p->nr_rows; i++)
		row[p->row[i]] = i;
	for (size_t k = 0; k < nr; k++) {
		const struct band_flow *flow = sorted[k];
		uint64_t before = p->since_ns;

		if (flow->nr < 2)
			continue;
		for (unsigned int i = 0; i < flow->nr; i++) {
			fprintf(f, "%s%u,%" PRId64 ",%" PRIu64, i ? "," : comma,
				row[flow->at[i].track], (int64_t)(flow->at[i].start_ns - before),
				flow->at[i].end_ns - flow->at[i].start_ns);
			before = flow->at[i].start_ns;
		}
		fputc(']', f);
		comma = ",\n[";
	}
}

static void kinds_put(FILE *f)
{
	for (unsigned int k = 0; k < SLICE_KINDS; k++)
		fprintf(f, "%s[\"%s\",\"%s\",\"%s\"]", k ? "," : "", slice_kind_name(k),
			timeline_fill(k), timeline_titles[k]);
}

static void json_put(struct names *names, const struct timeline *t,
		     const struct timeline_picture *p, FILE *f)
{
	bool arrows = false;
	const struct band_flow *flow;

	for (uint32_t at = 0; (flow = hash_next(&p->bands->flows, &at));)
		arrows |= flow->nr > 1;
	fprintf(f,
		"{\"start_ns\":%" PRIu64 ",\"origin_ns\":%" PRIu64 ",\"span_ns\":%" PRIu64
		",\"resolution_ns\":%" PRIu64 ",\"layout\":[%d,%d,%d,%d],\n\"kinds\":[",
		p->since_ns > t->start_ns ? p->since_ns - t->start_ns : 0, p->since_ns,
		p->until_ns - p->since_ns, p->bands->resolution_ns, PICTURE_LEFT, PICTURE_TOP,
		PICTURE_ROW, PICTURE_BAR);
	kinds_put(f);
	fputs("],\n\"tracks\":[", f);
	tracks_put(names, t, p, f);
	fputs(arrows ? "],\n\"arrows\":[[" : "],\n\"arrows\":[", f);
	arrows_put(p, f);
	fputs("],\n\"names\":[\"(name omitted)\"", f);
}

void timeline_picture_data(const struct timeline *t, const struct timeline_picture *p, FILE *f)
{
	char *text = NULL, *list = NULL;
	size_t len = 0, list_len = 0;
	struct names names = {.table = HASH_TABLE_OF_TEXTS(struct name, BANDS_ITEMS_MAX),
			      .json = open_memstream(&list, &list_len)};
	FILE *json = open_memstream(&text, &len);

	if (json && names.json)
		json_put(&names, t, p, json);
	if (names.json)
		fclose(names.json);
	if (json)
		fclose(json);
	fputs("<metadata class=\"data\">", f);
	if (text && list) {
		put_markup(f, text);
		put_markup(f, list);
		fputs("]}", f);
	}
	fputs("</metadata>\n", f);
	free(text);
	free(list);
	hash_deinit(&names.table);
}
