// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * What the inputs hold, whatever the options select: for the explanation of a report that is empty. One pass over all
 * inputs without filters and, if there are filters, one with all of them; if there is a time window beside them, one
 * with that alone, since only what is merged has one clock.
 */
#include <errno.h>
#include <string.h>
#include <sys/stat.h>

#include "base/array.h"
#include "base/error.h"
#include "base/memory.h"
#include "event/event_where.h"
#include "event/trim_reason.h"
#include "input/input_private.h"
#include "readers/readers.h"

struct surveying {
	struct survey *s;
	const struct input_options *options;
	struct trim_reason *reasons; /* NULL: no --reason */
	struct event_where *where;   /* NULL: no --where on events */
	int8_t *named; /* by registry index: matches --event (1) or not (-1); 0: not decided */
	bool is_guest; /* what is read has times of its own clock */
	bool hardware; /* reasons of kvm_exit are collected */
};

void survey_free(struct survey *s)
{
	if (!s)
		return;
	free(s->counts);
	free(s->selected);
	free(s->vcpu);
	json_decref(s->probes);
	free(s);
}

static struct survey *survey_new(void)
{
	struct survey *s = calloc(1, sizeof(*s));

	if (!s)
		return NULL;
	s->counts = calloc(EVENT_TYPES_MAX, sizeof(*s->counts));
	s->selected = calloc(EVENT_TYPES_MAX, sizeof(*s->selected));
	s->vcpu = calloc(SURVEY_VCPUS, sizeof(*s->vcpu));
	if (s->counts && s->selected && s->vcpu)
		return s;
	survey_free(s);
	return NULL;
}

/* ---- what the trace holds ---- */

/* Reasons of kvm_exit take the place of those of kvm_userspace_exit. */
static void reason_add(struct surveying *g, const struct event *ev)
{
	const struct field *f = event_field(ev->type, "reason");
	struct survey *s = g->s;
	char name[64];
	unsigned int i = 0;

	if (ev->type->id != EV_kvm_exit && (ev->type->id != EV_kvm_userspace_exit || g->hardware))
		return;
	if (ev->type->id == EV_kvm_exit && !g->hardware) {
		g->hardware = true;
		s->nr_reasons = 0;
	}
	if (f)
		field_print(ev, f, name, sizeof(name));
	else
		strcpy(name, "unrecorded reasons");
	while (i < s->nr_reasons && strcmp(s->reason[i].name, name))
		i++;
	if (i == SURVEY_REASONS_MAX)
		return;
	if (i == s->nr_reasons) {
		s->reason[i] = (struct survey_reason){0};
		strcpy(s->reason[i].name, name);
		s->nr_reasons++;
	}
	s->reason[i].count++;
}

static void tid_add(struct survey *s, uint32_t tid)
{
	for (unsigned int i = 0; i < s->nr_tids; i++)
		if (s->tid[i] == tid)
			return;
	if (s->nr_tids < SURVEY_TIDS_MAX)
		s->tid[s->nr_tids++] = tid;
}

/* ---- which filter matches nothing ---- */

static bool listed(const struct number_list *list, uint32_t v)
{
	return array_any(list->nr, i, list->item[i] == v);
}

static bool is_named(struct surveying *g, const struct event *ev)
{
	const struct text_list *globs = &g->options->globs;
	int8_t *named = &g->named[ev->type->index];

	for (unsigned int i = 0; i < globs->nr && *named <= 0; i++)
		*named = trim_name_matches(globs->item[i], ev->type->name) ? 1 : -1;
	return *named > 0;
}

static void filters_count(struct surveying *g, const struct event *ev)
{
	uint64_t *matches = g->s->matches;

	matches[SURVEY_VCPU] += listed(&g->options->vcpus, ev->vcpu);
	matches[SURVEY_TID] += listed(&g->options->tids, ev->tid);
	matches[SURVEY_EVENT] += is_named(g, ev);
	matches[SURVEY_REASON] += g->reasons && trim_reason_passes(g->reasons, ev);
	matches[SURVEY_WHERE] += g->where && event_where_matches(g->where, ev);
}

static int all_add(void *arg, const struct event *ev)
{
	struct surveying *g = arg;
	struct survey *s = g->s;

	if (trim_is_naming(ev->type)) {
		s->nr_naming++;
		return 0;
	}
	if (!g->is_guest) {
		s->start_ns = !s->nr_timed || ev->time_ns < s->start_ns ? ev->time_ns : s->start_ns;
		s->end_ns = ev->time_ns > s->end_ns ? ev->time_ns : s->end_ns;
		s->nr_timed++;
	}
	s->nr++;
	s->counts[ev->type->index]++;
	s->vcpu[ev->vcpu] = true;
	tid_add(s, ev->tid);
	reason_add(g, ev);
	filters_count(g, ev);
	return 0;
}

/* A guest's own trace has times of its own clock, unless there is no host: its events count, its times do not. */
static int input_read(struct surveying *g, const struct input *in, struct open_files *files)
{
	_cleanup_reader_ struct reader *r = NULL;
	struct read_hint hint = {.until_ns = UINT64_MAX, .files = files, .guest = in->is_guest};
	struct stat st;
	int err;

	if (stat(in->path, &st))
		return fail(-errno, "%s: %s", in->path, strerror(errno));
	if (!S_ISREG(st.st_mode) && !S_ISDIR(st.st_mode))
		return fail(-ESPIPE, "%s: cannot be read twice", in->path);
	err = reader_open(in->path, &hint, &r);
	if (err)
		r = NULL;
	if (r && !g->s->probes) {
		g->s->ring = trace_info_is_ring(&r->info);
		g->s->probes = json_incref(json_object_get(r->info.meta, "probes"));
	}
	return err ? err : reader_each(r, all_add, g);
}

/* ---- what all filters together leave ---- */

static int selected_add(void *arg, const struct event *ev)
{
	struct survey *s = arg;

	s->selected[ev->type->index] += !trim_is_naming(ev->type);
	return 0;
}

static int window_add(void *arg, const struct event *ev)
{
	struct survey *s = arg;

	s->matches[SURVEY_TIME] += !trim_is_naming(ev->type);
	return 0;
}

static int merged_read(const struct input_set *set, const struct input_options *options,
		       int (*add)(void *arg, const struct event *ev), struct survey *s)
{
	_cleanup_input_set_ struct input_set *copy = NULL;
	int err = input_set_copy_for(set, options, &copy);

	if (!err)
		err = input_set_open(copy, NULL, NULL);
	return err ? err : reader_each(copy->reader, add, s);
}

/* What is in the window, whatever the other filters. */
static int window_read(const struct input_set *set, struct survey *s)
{
	struct input_options window = *set->options;

	if (!input_options_have_window(&window))
		return 0;
	window.vms = window.globs = window.reasons = (struct text_list){.nr = 0};
	window.vcpus = window.tids = (struct number_list){.nr = 0};
	window.where = NULL;
	return merged_read(set, &window, window_add, s);
}

static char *globs_join(const struct text_list *list)
{
	char *text = NULL;
	size_t len = 0;
	FILE *f = open_memstream(&text, &len);

	for (unsigned int i = 0; f && i < list->nr; i++)
		fprintf(f, "%s%s", i ? "," : "", list->item[i]);
	memstream_close(f, &text);
	return text;
}

static int surveying_run(struct surveying *g, const struct input_set *set)
{
	_cleanup_free_ char *globs = globs_join(&g->options->reasons);
	bool some = input_options_have_window(g->options) || input_options_have_filter(g->options);
	int err = some ? merged_read(set, g->options, selected_add, g->s) : 0;

	if (globs && *globs)
		g->reasons = trim_reason_new(globs);
	if (!err)
		err = window_read(set, g->s);
	if (!err)
		err = input_where_make(set, &g->where);
	for (unsigned int i = 0; !err && i < input_set_nr(set); i++) {
		g->is_guest = set->nr_hosts && set->input[i].is_guest;
		err = input_read(g, &set->input[i], &set->clocks->files);
	}
	trim_reason_free(g->reasons);
	event_where_free(g->where);
	if (err)
		return err;
	if (!input_options_have_window(g->options))
		g->s->matches[SURVEY_TIME] = g->s->nr;
	if (!some)
		memcpy(g->s->selected, g->s->counts, EVENT_TYPES_MAX * sizeof(*g->s->counts));
	return 0;
}

int input_survey(const struct input_set *set, struct survey **ret)
{
	_cleanup_(survey_cleanup_) struct survey *s = survey_new();
	_cleanup_free_ int8_t *named = calloc(EVENT_TYPES_MAX, sizeof(*named));
	struct surveying g = {.s = s, .options = set->options, .named = named};
	int err = s && named ? 0 : fail(-ENOMEM, "out of memory");

	if (!err && !set->clocks->survey) {
		err = surveying_run(&g, set);
		if (!err)
			set->clocks->survey = take_ptr(s);
	}
	*ret = set->clocks->survey;
	return err;
}

#define GUEST_PREFIX "guest:"

uint64_t survey_count(const struct survey *s, const char *names, bool selected)
{
	uint64_t sum = 0;

	for (unsigned int i = 0; i < event_types_count(); i++) {
		const struct event_type *t = event_type_at(i);
		const char *last = strrchr(t->name, ':');
		bool guest = !strncmp(t->name, GUEST_PREFIX, strlen(GUEST_PREFIX));

		/* kvm:kvm_pio is not our kvm_pio, but sched:sched_waking is the only one of that name. */
		if (trim_name_matches(names, t->name) ||
		    (last && (guest || !event_type_named(last + 1)) &&
		     trim_name_matches(names, last + 1)))
			sum += (selected ? s->selected : s->counts)[i];
	}
	return sum;
}
