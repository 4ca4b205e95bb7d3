// SPDX-License-Identifier: GPL-2.0-or-later
/* Finding analyzers by name, making one from "pair:BEGIN,END,KEY" or of any event, and suggesting what was meant. */
#include <errno.h>
#include <string.h>

#include "base/array.h"
#include "base/error.h"
#include "base/suggest.h"
#include "pairing/analyzer.h"
#include "pairing/elements.h"

bool name_in_list(const char *list, const char *name)
{
	size_t len = strlen(name);

	for (const char *p = list ? list : ""; *p; p += strcspn(p, ","), p += *p == ',')
		if (strcspn(p, ",") == len && !strncmp(p, name, len))
			return true;
	return false;
}

bool analyzer_wants(const struct analyzer *a, const char *event)
{
	return name_in_list(a->begin, event) || name_in_list(a->end, event) ||
	       name_in_list(a->mark, event) || name_in_list(a->needs, event) ||
	       (a->elements && elements_wants(event, NULL) && strcmp(event, "lost") &&
		strcmp(event, "gap"));
}

bool analyzer_wants_guests(const struct analyzer *a)
{
	const char *const lists[] = {a->begin, a->end, a->mark, a->needs};

	return array_any(sizeof(lists) / sizeof(lists[0]), i,
			 lists[i] && strstr(lists[i], "guest:"));
}

bool analyzer_loses(const struct analyzer *a, uint64_t lost_event)
{
	const struct event_type *t = lost_event < RECORD_DECLARED_FIRST
					     ? event_type_ours((unsigned int)lost_event)
					     : NULL;

	if (t)
		return analyzer_wants(a, t->name);
	/* A type that the file declares: built-in analyzers know none. */
	return lost_event < RECORD_DECLARED_FIRST || strchr(a->begin, ':') ||
	       (a->end && strchr(a->end, ':'));
}

static int unknown(const char *what, const char *word, const struct suggestion *s)
{
	fail_usage(-EINVAL, "unknown %s '%s'", what, word);
	return suggest_hint(-EINVAL, s);
}

/* The first of a list that is ours, or that an input has. */
static const struct event_type *type_of_list(const char *list)
{
	const struct event_type *t = NULL;
	char name[sizeof(((struct pair_analyzer *)0)->begin)];

	for (const char *p = list; *p && !t; p += strcspn(p, ","), p += *p == ',') {
		snprintf(name, sizeof(name), "%.*s", (int)strcspn(p, ","), p);
		t = event_type_named(name);
	}
	return t;
}

static int check_event(const char *list)
{
	const char *name = strndupa(list, strcspn(list, ","));
	struct suggestion s = {0};

	if (type_of_list(list))
		return 0;
	for (unsigned int i = 0; i < event_types_count(); i++)
		suggest_try(&s, name, event_type_at(i)->name);
	return unknown("event", name, &s);
}

static int check_key(const char *events, const char *key)
{
	static const char *const header[] = {"pid", "tid", "vcpu", "cpu"};
	const struct event_type *t = type_of_list(events);
	struct suggestion s = {0};

	for (size_t i = 0; i < sizeof(header) / sizeof(header[0]); i++) {
		if (!strcmp(header[i], key))
			return 0;
		suggest_try(&s, key, header[i]);
	}
	if (event_field(t, key))
		return 0;
	for (unsigned int i = 0; i < t->nr_fields; i++)
		suggest_try(&s, key, t->fields[i].name);
	fail_usage(-EINVAL, "unknown field '%s' of event %s", key, t->name);
	return suggest_hint(-EINVAL, &s);
}

/* An event that is not ours may be a guest's, which has a prefix: "NAME,guest:NAME". */
static const char *or_guests(const char *name, char *buf, size_t size)
{
	const struct event_type *t = event_type_named(name);

	if ((t && t->id) || strchr(name, ':'))
		return name;
	snprintf(buf, size, "%s,guest:%s", name, name);
	return buf;
}

static const struct analyzer *make_pair(const char *name, struct pair_analyzer *own)
{
	char *begin = own->words, *end, *key;

	if (strlen(name) >= sizeof(own->name)) {
		fail_usage(-EINVAL, "analyzer name '%s' is too long", name);
		return NULL;
	}
	strcpy(own->name, name);
	strcpy(own->words, name + strlen("pair:"));
	end = strchr(begin, ',');
	key = end ? strchr(end + 1, ',') : NULL;
	if (!key) {
		fail_usage(-EINVAL, "invalid analyzer '%s' (expected pair:BEGIN,END,KEY)", name);
		return NULL;
	}
	*end++ = 0;
	*key++ = 0;
	own->a = (struct analyzer){.name = own->name,
				   .summary = "from BEGIN to END, paired by KEY",
				   .begin = or_guests(begin, own->begin, sizeof(own->begin)),
				   .end = or_guests(end, own->end, sizeof(own->end)),
				   .key = key,
				   .by = "pid"};
	return &own->a;
}

/* Ours by their names; any other has its subsystem in front: "sched:sched_switch", "guest:..." */
static bool is_event(const char *name)
{
	const struct event_type *t = event_type_named(name);

	return (t && t->id) || strchr(name, ':');
}

/* Each of them is a point. */
static const struct analyzer *make_point(const char *name, struct pair_analyzer *own)
{
	if (strlen(name) >= sizeof(own->name)) {
		fail_usage(-EINVAL, "event name '%s' is too long", name);
		return NULL;
	}
	strcpy(own->name, name);
	own->a = (struct analyzer){
		.name = own->name, .summary = "events of this name", .begin = own->name};
	return &own->a;
}

int analyzer_resolve(const struct analyzer *a)
{
	int err;

	if (a->begin == a->name)
		return check_event(a->name);
	if (strncmp(a->name, "pair:", 5))
		return 0;
	err = check_event(a->begin);
	if (!err)
		err = check_event(a->end);
	for (char *k = strdupa(a->key), *next; k && !err; k = next) {
		next = strchr(k, ',');
		if (next)
			*next++ = 0;
		err = check_key(a->begin, k);
		if (!err)
			err = check_key(a->end, k);
	}
	return err;
}

const struct analyzer *analyzer_find(const char *name, struct pair_analyzer *own)
{
	struct suggestion s = {0};

	if (!strncmp(name, "pair:", 5))
		return make_pair(name, own);
	for (const struct analyzer *const *a = analyzers; *a; a++) {
		if (!strcmp((*a)->name, name))
			return *a;
		suggest_try(&s, name, (*a)->name);
	}
	if (own && is_event(name))
		return make_point(name, own);
	unknown("analyzer", name, &s);
	return NULL;
}

const struct analyzer *analyzer_fallback(const struct analyzer *a, unsigned int i)
{
	const char *name = i < FALLBACKS_MAX ? a->fallback[i].name : NULL;

	return name ? analyzer_find(name, NULL) : NULL;
}
