// SPDX-License-Identifier: GPL-2.0-or-later
/* The JSON of a window (browse/answers.h), written directly: it may have some 30,000 items. */
#include <errno.h>
#include <inttypes.h>

#include "base/error.h"
#include "browse/answers.h"
#include "event/losses.h"
#include "output/escape.h"

struct window_name {
	const char *text;
	uint32_t number; /* + 1 */
};

struct window_writer {
	FILE *f, *names;
	struct hash_table table;
	uint32_t nr;
	uint64_t start_ns;
};

/* UINT32_MAX: out of memory. */
static uint32_t name_number(struct window_writer *w, const char *text)
{
	bool first;
	struct window_name *name = hash_add_text(&w->table, text, &first);

	if (!name)
		return UINT32_MAX;
	if (first) {
		name->number = w->nr++;
		fputs(name->number ? "," : "", w->names);
		put_json(w->names, text);
	}
	return name->number;
}

/* A column may begin before the trace. */
static int64_t since_start(const struct window_writer *w, uint64_t ns)
{
	return (int64_t)(ns - w->start_ns);
}

static void items_write(struct window_writer *w, const struct band_track *t, bool bands)
{
	const char *comma = "";

	for (uint32_t i = 0; i < t->nr; i++) {
		const struct band_item *item = &t->item[i];

		if (item->is_band != bands)
			continue;
		fprintf(w->f, "%s%" PRId64 ",%" PRIu64 ",%d", comma, since_start(w, item->start_ns),
			item->ns, item->kind);
		if (bands)
			fprintf(w->f, ",%" PRIu64 ",%" PRIu64, item->count, item->longest_ns);
		fprintf(w->f, ",%u", name_number(w, item->name));
		comma = ",";
	}
}

static void sums_write(struct window_writer *w, const struct browse_sum *sums)
{
	const char *comma = "";

	for (unsigned int k = 0; k < SLICE_KINDS; k++) {
		if (!sums[k].ns && !sums[k].count)
			continue;
		fprintf(w->f, "%s%u,%" PRIu64 ",%" PRIu64, comma, k, sums[k].ns, sums[k].count);
		comma = ",";
	}
}

static void tracks_write(struct window_writer *w, const struct browse_window *window)
{
	for (uint32_t i = 0; i < window->bands->nr_tracks; i++) {
		const struct band_track *t = &window->bands->track[i];

		fprintf(w->f, "%s{\"id\":%u,\"slices\":[", i ? ",\n" : "", t->track);
		items_write(w, t, false);
		fputs("],\"bands\":[", w->f);
		items_write(w, t, true);
		fputs("],\"sums\":[", w->f);
		sums_write(w, window->sums[i]);
		fputs("]}", w->f);
	}
}

static void loss_write(struct window_writer *w, const struct browse_loss *l)
{
	fprintf(w->f, "%" PRId64 ",%" PRId64, since_start(w, l->from_ns), since_start(w, l->to_ns));
	if (l->count)
		fprintf(w->f, ",%" PRIu64, l->count);
	else
		fputs(",null", w->f);
	if (l->cpu < RECORD_CPU_UNKNOWN)
		fprintf(w->f, ",%u,", l->cpu);
	else
		fputs(",null,", w->f);
	if (l->type)
		put_json(w->f, l->type->name);
	else
		fputs("null", w->f);
}

static void losses_write(struct window_writer *w, const struct browse *b,
			 const struct browse_window *window)
{
	const struct browse_drawing *d = browse_index(b);
	const char *comma = "[";

	for (unsigned int i = 0; i < d->nr_losses; i++) {
		const struct browse_loss *l = &d->loss[i];

		if (l->from_ns >= b->start_ns + window->to_ns ||
		    l->to_ns < b->start_ns + window->from_ns)
			continue;
		fputs(comma, w->f);
		loss_write(w, l);
		fputc(']', w->f);
		comma = ",[";
	}
}

static void window_write(struct window_writer *w, const struct browse *b,
			 const struct browse_window *window)
{
	fprintf(w->f,
		"{\"from_ns\":%" PRIu64 ",\"to_ns\":%" PRIu64 ",\"resolution_ns\":%" PRIu64
		",\"exact\":%s,\"not_drawn\":%" PRIu64 ",\n\"lost\":[",
		window->from_ns, window->to_ns, window->bands->resolution_ns,
		window->exact ? "true" : "false", window->not_drawn);
	losses_write(w, b, window);
	fputs("],\n\"tracks\":[", w->f);
	tracks_write(w, window);
	fputs("],\n\"names\":[", w->f);
}

int browse_window_json(const struct browse *b, const struct browse_window *window,
		       struct browse_answer *ret)
{
	char *names = NULL;
	size_t names_len = 0;
	struct window_writer w = {
		.f = open_memstream(&ret->text, &ret->len),
		.names = open_memstream(&names, &names_len),
		.table = HASH_TABLE_OF_TEXTS(struct window_name, BROWSE_WINDOW_ITEMS_MAX),
		.start_ns = b->start_ns};
	bool failed = !w.f || !w.names;

	ret->status = 200;
	ret->type = "application/json";
	if (!failed)
		window_write(&w, b, window);
	failed |= !w.names || fclose(w.names);
	if (!failed) {
		fwrite(names, 1, names_len, w.f);
		fputs("]}\n", w.f);
	}
	failed |= !w.f || fclose(w.f);
	free(names);
	hash_deinit(&w.table);
	if (!failed)
		return 0;
	free(ret->text);
	ret->text = NULL;
	return fail(-ENOMEM, "out of memory");
}
