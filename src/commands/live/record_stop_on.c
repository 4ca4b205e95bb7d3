// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * record --stop-on: the recording ends when a span becomes too long, or with the first event of a type, as ftrace's
 * traceoff does it; with --ring the file is what led there. Spans are those of --trigger (trigger/watch.h), events are
 * told by their records. Both are known when a round of the collector ends: what came until then is in the file, too.
 */
#include <errno.h>

#include "base/error.h"
#include "base/units.h"
#include "commands/common/command.h"
#include "commands/live/record.h"
#include "trigger/watch.h"

static struct text_list conditions;

/* clang-format off */
const struct option_row record_stop_on_options[] = {
	{0, "stop-on", OPT_LIST, &conditions, "NAME>T", "end the recording when an exit-latency, request-age, bql-wait or another analyzer's span exceeds T, or with the first event NAME"},
	{0},
};
/* clang-format on */

struct stop_on {
	struct trigger_expression e[TRIGGERS_MAX]; /* of spans */
	const char *text[TRIGGERS_MAX];
	unsigned int nr;
	const char *event[RING_TYPES]; /* the condition that is this type's first event */
	struct trigger_watch *watch;
	const char *met; /* the first condition; NULL: none yet */
	struct trigger_culprit culprit;
	bool is_event;
};

/* The number of an event in the records; 0: it is none that can be recorded. */
static unsigned int type_of(const char *text, const struct any_events *any)
{
	const struct event_type *t = strchr(text, '>') ? NULL : event_type_named(text);

	for (unsigned int i = 0; any && i < any->nr; i++)
		if (!strcmp(any->event[i].name, text))
			return ANY_FIRST + i;
	return t && t->id && t == event_type_ours(t->id) ? t->id : 0;
}

static int condition_add(struct stop_on *s, const char *text, const struct any_events *any)
{
	unsigned int type = type_of(text, any);
	int err;

	if (type) {
		s->event[type] = text;
		return 0;
	}
	if (strchr(text, ':'))
		return fail_usage(-EINVAL,
				  "--stop-on: '%s' is not recorded; add it with --events %s", text,
				  text);
	err = trigger_parse("--stop-on", text, &s->e[s->nr]);
	if (!err && !s->e[s->nr].analyzer)
		return fail_usage(-EINVAL, "--stop-on: a recording ends with its VM anyway");
	s->text[s->nr] = text;
	s->nr += !err;
	return err;
}

static int conditions_parse(struct stop_on *s, const struct any_events *any)
{
	int err = 0;

	*s = (struct stop_on){.nr = 0};
	if (conditions.nr > TRIGGERS_MAX)
		return fail_usage(-E2BIG, "--stop-on: more than %d conditions", TRIGGERS_MAX);
	for (unsigned int i = 0; i < conditions.nr && !err; i++)
		err = condition_add(s, conditions.item[i], any);
	return err;
}

static int record_stop_on_choose(struct collector_options *c)
{
	struct stop_on s;
	int err = conditions_parse(&s, c->any);

	if (!err && conditions.nr && record_has_triggers())
		err = fail_usage(-EINVAL, "--stop-on and --trigger are mutually exclusive: a "
					  "recording with --trigger goes on after each dump");
	for (unsigned int i = 0; i < s.nr && !err; i++)
		err = events_choose_for(s.e[i].analyzer->name, c->wants);
	for (unsigned int i = 0; i < EV_LIMIT && !err; i++)
		c->wants[i] |= !!s.event[i];
	c->wants[EV_vm_state] |= s.nr > 0; /* exits of a stopped VM do not count */
	return err;
}

static void condition_is_met(void *arg, const struct trigger_culprit *culprit)
{
	struct stop_on *s = arg;

	if (s->met)
		return;
	s->met = s->text[culprit->which];
	s->culprit = *culprit;
}

static int record_stop_on_start(struct recording *r)
{
	struct stop_on *s = conditions.nr ? calloc(1, sizeof(*s)) : NULL;
	int err;

	if (!conditions.nr)
		return 0;
	if (!s)
		return fail(-ENOMEM, "out of memory");
	r->stop_on = s;
	err = conditions_parse(s, &r->any);
	if (err || !s->nr)
		return err;
	s->watch = trigger_watch_new(s->e, s->nr, condition_is_met, s);
	return s->watch ? 0 : error_code();
}

int record_stop_on_record(struct recording *r, const struct record_hdr *rec)
{
	struct stop_on *s = r->stop_on;

	if (!s || s->met)
		return 0;
	if (rec->type < RING_TYPES && s->event[rec->type]) {
		s->met = s->event[rec->type];
		s->is_event = true;
		s->culprit = (struct trigger_culprit){.start_ns = rec->time,
						      .end_ns = rec->time,
						      .pid = rec->pid,
						      .tid = rec->tid,
						      .vcpu = rec->vcpu};
	}
	return s->watch ? trigger_watch_record(s->watch, rec) : 0;
}

int record_stop_on_round(struct recording *r, uint64_t watermark_ns)
{
	struct stop_on *s = r->stop_on;
	int err = s && s->watch && !s->met ? trigger_watch_round(s->watch, watermark_ns) : 0;

	if (!err && s && s->met && !r->stop)
		r->stop = STOP_CONDITION;
	return err;
}

static json_t *met_json(const struct stop_on *s)
{
	const struct trigger_culprit *c = &s->culprit;
	json_t *met = json_pack("{s:s,s:I,s:I,s:I,s:I,s:s}", "condition", s->met, "start_ns",
				(json_int_t)c->start_ns, "end_ns", (json_int_t)c->end_ns, "pid",
				(json_int_t)c->pid, "tid", (json_int_t)c->tid, "labels",
				c->labels);

	if (c->vcpu != RECORD_NO_VCPU)
		json_object_set_new(met, "vcpu", json_integer(c->vcpu));
	return met;
}

static void record_stop_on_meta(struct recording *r, json_t *meta, bool final)
{
	json_t *list = json_array();

	for (unsigned int i = 0; i < conditions.nr; i++)
		json_array_append_new(list, json_string(conditions.item[i]));
	if (conditions.nr && !final)
		json_object_set(meta, "stop_on", list);
	if (final && r->stop_on && r->stop_on->met)
		json_object_set_new(meta, "stopped_on", met_json(r->stop_on));
	if (final && r->stop == STOP_CONDITION)
		json_object_set_new(meta, "end", json_sprintf("--stop-on %s", r->stop_on->met));
	json_decref(list);
}

static void record_stop_on_summary(struct recording *r)
{
	const struct stop_on *s = r->stop_on;
	char took[16];

	if (!s)
		return;
	if (!s->met)
		command_note("no condition of --stop-on was met");
	else if (s->is_event)
		command_note("stopped on %s at %.6f s (pid %u, tid %u)", s->met,
			     (double)(s->culprit.end_ns - r->start_ns) / 1e9, s->culprit.pid,
			     s->culprit.tid);
	else
		command_note("stopped on %s: %s from %.6f s on (pid %u, tid %u%s%s)", s->met,
			     duration_print(s->culprit.end_ns - s->culprit.start_ns, took,
					    sizeof(took)),
			     ((double)s->culprit.start_ns - (double)r->start_ns) / 1e9,
			     s->culprit.pid, s->culprit.tid, *s->culprit.labels ? ", " : "",
			     s->culprit.labels);
}

static void record_stop_on_close(struct recording *r)
{
	if (r->stop_on)
		trigger_watch_free(r->stop_on->watch);
	free(r->stop_on);
}

const struct record_part record_stop_on_part = {
	.choose = record_stop_on_choose,
	.start = record_stop_on_start,
	.meta = record_stop_on_meta,
	.summary = record_stop_on_summary,
	.close = record_stop_on_close,
};
