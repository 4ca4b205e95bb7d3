// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Requests of the page and their answers, all JSON but a picture and the page's own files. Times are ns
 * after the trace's start.
 *
 *	GET /tracks			what the recording has, and how its timeline is drawn
 *	GET /window?from=&to=&width=	its slices and bands in a window
 *	GET /find?text=&after=&track=	where the next item begins whose name or state has this text
 *	GET /flows?track=&from=&to=	the paths of the requests that an item has to do with
 *	GET /timeline.svg?from=&to=	what `hostrace timeline -f svg --since FROM --until TO` writes
 *	GET /window.hrt?from=&to=	what `hostrace import --since FROM --until TO` writes
 *	GET /report/NAME?from=&to=	what `hostrace NAME -f json --since FROM --until TO` prints
 *	GET /notes			marks and notes
 *	POST /notes/add?from=&to=&text=	... with this one
 *	POST /notes/delete?from=&to=&text=	... without it
 */
#include <errno.h>
#include <inttypes.h>

#include "base/error.h"
#include "base/json_text.h"
#include "base/units.h"
#include "browse/answers.h"
#include "browse/find.h"
#include "browse/flows.h"
#include "browse/notes.h"
#include "browse_page.h"
#include "event/losses.h"
#include "output/palette.h"
#include "reports/head.h"

#define TYPE_JSON "application/json"

struct parameters {
	uint64_t from_ns, to_ns, after_ns, width, track;
	const char *text, *report;
	char since[32], until[32]; /* from_ns, to_ns as options */
	bool is_after;	       /* after_ns was given */
	const char *wrong; /* the name of one that is not right */
};

/* ---- parameters ---- */

static const char *text_next(const char **at, const char *end)
{
	const char *text = *at, *nul = memchr(text, '\0', (size_t)(end - text));

	*at = nul ? nul + 1 : end;
	return nul ? text : NULL;
}

static void parameter_read(struct parameters *p, const char *name, const char *value)
{
	const struct {
		const char *name;
		uint64_t *to;
	} numbers[] = {{"from", &p->from_ns}, {"to", &p->to_ns}, {"after", &p->after_ns},
		       {"width", &p->width},  {"track", &p->track}};

	if (!strcmp(name, "text"))
		p->text = value;
	if (!strcmp(name, "after"))
		p->is_after = true;
	for (size_t i = 0; i < sizeof(numbers) / sizeof(*numbers); i++)
		if (!strcmp(name, numbers[i].name) && parse_u64(value, numbers[i].to))
			p->wrong = numbers[i].name;
}

static struct parameters parameters_of(const struct browse *b, const char *at, const char *end)
{
	struct parameters p = {
		.from_ns = input_set_start_ns(b->set) - b->start_ns,
		.to_ns = b->end_ns - b->start_ns,
		.width = 1024,
		.track = UINT64_MAX};
	const char *name, *value;

	while ((name = text_next(&at, end)) && (value = text_next(&at, end)))
		parameter_read(&p, name, value);
	if (p.to_ns <= p.from_ns || p.to_ns > INT64_MAX - b->start_ns)
		p.wrong = p.wrong ?: "to";
	if (p.after_ns > INT64_MAX - b->start_ns)
		p.wrong = p.wrong ?: "after";
	snprintf(p.since, sizeof(p.since), "%" PRIu64 "ns", p.from_ns);
	snprintf(p.until, sizeof(p.until), "%" PRIu64 "ns", p.to_ns);
	if (!p.width || p.width > BROWSE_WIDTH_MAX)
		p.wrong = p.wrong ?: "width";
	return p;
}

/* ---- answers ---- */

static int answer_json(struct browse_answer *a, unsigned int status, json_t *json)
{
	a->status = status;
	a->type = TYPE_JSON;
	a->text = json ? json_text_make(json, JSON_PRESERVE_ORDER | JSON_COMPACT) : NULL;
	a->len = a->text ? strlen(a->text) : 0;
	json_decref(json);
	return a->text ? 0 : fail(-ENOMEM, "out of memory");
}

static int answer_error(struct browse_answer *a, unsigned int status, const char *text)
{
	return answer_json(a, status, json_pack("{s:o}", "error", json_text(text)));
}

static int answer_file(struct browse_answer *a, const char *type, const unsigned char *data,
		       size_t len)
{
	a->status = 200;
	a->type = type;
	a->text = malloc(len);
	a->len = len;
	if (!a->text)
		return fail(-ENOMEM, "out of memory");
	memcpy(a->text, data, len);
	return 0;
}

/* ---- /tracks ---- */

static json_t *kinds_json(void)
{
	json_t *list = json_array();

	for (unsigned int k = 0; k < SLICE_KINDS; k++)
		json_array_append_new(list, json_pack("[s,s]", slice_kind_name(k),
						      palette_fill(slice_kind_name(k))));
	return list;
}

static json_t *tracks_json(const struct browse *b)
{
	const struct timeline *t = browse_timeline(b);
	json_t *list = json_array();

	for (uint32_t i = 0; i < b->bands->nr_tracks; i++) {
		uint32_t id = b->bands->track[i].track;
		const struct timeline_track *tr = &t->track[id];
		const struct timeline_group *g = &t->group[tr->group];

		json_array_append_new(
			list, json_pack("{s:I,s:I,s:o,s:b,s:o,s:I,s:I}", "id", (json_int_t)id,
					"group_id", (json_int_t)tr->group, "group",
					json_text(g->name), "guest", g->guest, "name",
					json_text(tr->name), "tid", (json_int_t)tr->tid, "order",
					(json_int_t)tr->order));
	}
	return list;
}

static int tracks_answer(const struct browse *b, struct browse_answer *a)
{
	json_t *answer = inputs_head(b->set, "view", NULL);

	json_object_update_new(
		answer,
		json_pack("{s:o,s:b,s:I,s:I,s:I,s:I,s:I,s:I,s:o,s:o}", "options",
			  json_text(b->options), "until_given", b->set->until_ns != UINT64_MAX,
			  "from_ns",
			  (json_int_t)(input_set_start_ns(b->set) - b->start_ns), "to_ns",
			  (json_int_t)(b->end_ns - b->start_ns), "resolution_ns",
			  (json_int_t)b->bands->resolution_ns, "slices",
			  (json_int_t)b->bands->nr_slices, "slices_left_out",
			  (json_int_t)(b->bands->not_kept + browse_timeline(b)->not_drawn),
			  "losses_left_out", (json_int_t)browse_index(b)->losses_left_out, "kinds",
			  kinds_json(), "tracks", tracks_json(b)));
	return answer_json(a, 200, answer);
}

/* ---- /find ---- */

static json_t *found_json(const struct browse *b, const struct browse_found *found)
{
	const struct band_item *item = &found->item;
	bool band = item->is_band;
	uint64_t at = item->start_ns > b->start_ns ? item->start_ns - b->start_ns : 0;

	return json_pack("{s:I,s:I,s:I,s:s,s:I,s:b,s:I,s:I,s:o}", "track",
			 (json_int_t)found->track, "from_ns", (json_int_t)at, "to_ns",
			 (json_int_t)(at + (band ? b->bands->resolution_ns : item->ns)), "kind",
			 slice_kind_name(item->kind), "count", (json_int_t)item->count, "band",
			 band, "ns", (json_int_t)item->ns, "longest_ns",
			 (json_int_t)item->longest_ns, "name", json_text(item->name));
}

static int find_answer(struct browse *b, const struct parameters *p, struct browse_answer *a)
{
	uint64_t begin_ns = p->is_after ? b->start_ns + p->after_ns + 1 : 0;
	uint64_t start_ns = input_set_start_ns(b->set);
	struct browse_search search = {.text = p->text,
				       .track = p->track,
				       .from_ns = begin_ns > start_ns ? begin_ns : start_ns};
	struct browse_found found;

	if (!p->text || !*p->text)
		return answer_error(a, 400, "missing text");
	if (browse_find(b, &search, &found))
		return answer_error(a, 500, error_text());
	return answer_json(a, 200,
			   json_pack("{s:o}", "found",
				     found.is_found ? found_json(b, &found) : json_null()));
}

/* ---- /flows ---- */

static int flows_answer(struct browse *b, const struct parameters *p, struct browse_answer *a)
{
	struct browse_item item = {.track = (uint32_t)p->track,
				   .from_ns = b->start_ns + p->from_ns,
				   .to_ns = b->start_ns + p->to_ns};
	json_t *answer = NULL;

	if (p->track >= browse_timeline(b)->nr_tracks || item.to_ns > b->end_ns)
		return answer_error(a, 400, "no such item");
	if (browse_flows(b, &item, &answer))
		return answer_error(a, 500, error_text());
	return answer_json(a, 200, answer);
}

/* ---- /report, /timeline.svg ---- */

static void no_note(const char *fmt, ...)
{
	(void)fmt;
}

/* As its command opens them: with the guests' traces that were saved next to the recording if it reads them. */
static int inputs_open(const struct input_options *options, bool guests, struct input_set **ret)
{
	int err = input_set_new(options, ret);

	if (err)
		return fail(err, "out of memory");
	if (guests)
		input_set_add_companions(*ret, no_note);
	return 0;
}

/* The whole recording is what the command reads without --since and --until. */
static void window_set(const struct browse *b, const struct parameters *p, struct input_options *o)
{
	bool end = p->to_ns >= b->end_ns - b->start_ns && b->set->until_ns == UINT64_MAX;

	o->since = o->until = o->period = (struct time_arg){0};
	o->is_absolute = true;
	if (p->from_ns)
		o->since = (struct time_arg){p->since, b->start_ns + p->from_ns};
	if (!end)
		o->until = (struct time_arg){p->until, b->start_ns + p->to_ns};
}

static int report_make(const struct browse *b, const struct browse_report_def *def,
		       const struct parameters *p, const struct output *out)
{
	_cleanup_input_set_ struct input_set *set = NULL;
	struct input_options options = *b->set->options;
	struct query query = {
		.command = def->name, .input = &options, .of = def->of, .out = out};
	struct result r;
	int err;

	window_set(b, p, &options);
	err = result_init(&r, def->ops, &query);
	if (!err)
		err = inputs_open(&options, r.reads & READ_GUESTS, &set);
	if (!err)
		err = report_run(&r, set);
	if (!err)
		err = result_write(&r, out);
	result_close(&r);
	return browse_files_check(b) ?: err;
}

/* What the command writes, byte by byte. */
static int answer_written(const struct browse *b, const struct browse_report_def *def,
			      const struct parameters *p, const char *format,
			      struct browse_answer *a)
{
	struct output out = {.format = format,
			     .file = open_memstream(&a->text, &a->len),
			     .note = no_note};
	int err = out.file ? report_make(b, def, p, &out) : fail(-ENOMEM, "out of memory");

	a->status = 200;
	if (out.file && fclose(out.file) && !err)
		err = -ENOMEM;
	if (!err)
		return 0;
	free(a->text);
	return answer_error(a, 500, error_text());
}

static int report_asked(const struct browse *b, const struct parameters *p,
			 struct browse_answer *a)
{
	const struct browse_report_def *def = browse_report_find(p->report);

	if (!def)
		return answer_error(a, 404, "no such report");
	a->type = TYPE_JSON;
	return answer_written(b, def, p, "json", a);
}

static int svg_answer(const struct browse *b, const struct parameters *p, struct browse_answer *a)
{
	static const struct browse_report_def timeline = {"timeline", &timeline_report, NULL};

	a->type = "image/svg+xml";
	return answer_written(b, &timeline, p, "svg", a);
}

/* ---- /window.hrt ---- */

static int export_answer(const struct browse *b, const struct parameters *p,
			 struct browse_answer *a)
{
	_cleanup_input_set_ struct input_set *set = NULL;
	struct input_options options = *b->set->options;
	int err;

	window_set(b, p, &options);
	err = inputs_open(&options, false, &set);
	if (!err)
		err = browse_export(set, a);
	if (!err && !(err = browse_files_check(b)))
		return 0;
	if (a->file)
		fclose(a->file);
	*a = (struct browse_answer){0};
	return answer_error(a, err == -EFBIG ? 413 : 500, error_text());
}

/* ---- /window ---- */

static int window_answer(struct browse *b, const struct parameters *p, struct browse_answer *a)
{
	struct browse_window w;
	int err = browse_window(b, p->from_ns, p->to_ns, (unsigned int)p->width, &w);

	if (err)
		err = answer_error(a, 500, error_text());
	else
		err = browse_window_json(b, &w, a);
	browse_window_close(&w);
	return err;
}

/* ---- /notes ---- */

/* Those within the trace, whose times are after its start; *ret_outside: how many are not, as another's. */
static json_t *notes_within(const struct browse *b, const json_t *all, size_t *ret_outside)
{
	json_t *list = json_array(), *n;
	size_t i;

	json_array_foreach(all, i, n) {
		uint64_t from_ns = (uint64_t)number_of(n, "from_ns"),
			 to_ns = (uint64_t)number_of(n, "to_ns");

		if (from_ns >= b->start_ns && from_ns < b->end_ns)
			json_array_append_new(
				list, json_pack("{s:I,s:I,s:s}", "from_ns",
						(json_int_t)(from_ns - b->start_ns), "to_ns",
						(json_int_t)(to_ns - b->start_ns), "text",
						text_of(n, "text")));
	}
	*ret_outside = json_array_size(all) - json_array_size(list);
	return list;
}

static int notes_answer(const struct browse *b, struct browse_answer *a)
{
	json_t *all = NULL, *list;
	size_t outside;
	int err = b->notes ? notes_read(b->notes, &all)
			   : fail(-ENOTSUP, "there is no file next to which notes can be saved");

	list = notes_within(b, all, &outside);
	json_decref(all);
	return answer_json(a, 200,
			   json_pack("{s:o,s:o,s:I,s:o}", "file",
				     b->notes ? json_text(b->notes) : json_null(), "notes", list,
				     "outside", (json_int_t)outside, "error",
				     err ? json_text(error_text()) : json_null()));
}

static int notes_change(const struct browse *b, const struct parameters *p, bool adds,
			struct browse_answer *a)
{
	struct note note = {.from_ns = b->start_ns + p->from_ns,
			    .to_ns = b->start_ns + p->to_ns,
			    .text = p->text};
	json_t *list = NULL;
	int err;

	if (!b->notes)
		return answer_error(a, 409, "there is no file next to which notes can be saved");
	if (!note.text)
		return answer_error(a, 400, "missing text");
	err = adds ? notes_add(b->notes, &note, &list) : notes_delete(b->notes, &note, &list);
	json_decref(list);
	if (err == -EINVAL)
		return answer_error(a, 400, error_text());
	if (err)
		return answer_error(a, 409, error_text());
	return notes_answer(b, a);
}

/* ---- public ---- */

static int wrong_answer(const struct parameters *p, struct browse_answer *a)
{
	return answer_json(a, 400,
			   json_pack("{s:o}", "error", json_sprintf("invalid %s", p->wrong)));
}

int browse_change(struct browse *b, const char *request, size_t len, struct browse_answer *ret)
{
	const char *end = request + len, *path = text_next(&request, end);
	struct parameters p = parameters_of(b, request, end);
	bool adds = path && !strcmp(path, "notes/add");

	*ret = (struct browse_answer){0};
	if (!adds && (!path || strcmp(path, "notes/delete")))
		return answer_error(ret, 405, "only GET and HEAD");
	return p.wrong ? wrong_answer(&p, ret) : notes_change(b, &p, adds, ret);
}

int browse_answer(struct browse *b, const char *request, size_t len, struct browse_answer *ret)
{
	const char *end = request + len, *path = text_next(&request, end);
	struct parameters p;

	*ret = (struct browse_answer){0};
	if (!path)
		return answer_error(ret, 400, "malformed request");
	if (!strcmp(path, ""))
		return answer_file(ret, "text/html; charset=utf-8", browse_html,
				   sizeof(browse_html));
	if (!strcmp(path, "view.js"))
		return answer_file(ret, "text/javascript; charset=utf-8", browse_script,
				   sizeof(browse_script));
	if (!strcmp(path, "view.css"))
		return answer_file(ret, "text/css; charset=utf-8", browse_style,
				   sizeof(browse_style));
	if (!strcmp(path, "tracks"))
		return tracks_answer(b, ret);
	if (!strcmp(path, "notes"))
		return notes_answer(b, ret);
	p = parameters_of(b, request, end);
	if (p.wrong)
		return wrong_answer(&p, ret);
	if (!strcmp(path, "window"))
		return window_answer(b, &p, ret);
	if (!strcmp(path, "timeline.svg"))
		return svg_answer(b, &p, ret);
	if (!strcmp(path, "flows"))
		return flows_answer(b, &p, ret);
	if (!strcmp(path, "window.hrt"))
		return export_answer(b, &p, ret);
	if (!strcmp(path, "find"))
		return find_answer(b, &p, ret);
	p.report = strncmp(path, "report/", 7) ? "" : path + 7;
	if (*p.report)
		return report_asked(b, &p, ret);
	return answer_error(ret, 404, "no such page");
}
