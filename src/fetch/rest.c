// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The REST interface of an OSv guest: requests with JSON replies, which are bounded and checked. Names are set by the
 * guest and are sanitized here, so that they may be printed; ids are kept as they are, to be sent back.
 */
#include <errno.h>
#include <inttypes.h>
#include <jansson.h>
#include <string.h>

#include "base/array.h"
#include "base/error.h"
#include "base/json_text.h"
#include "base/memory.h"
#include "event/event.h"
#include "fetch/rest.h"

/* One request; *ret (may be NULL) gets the reply's JSON. The path is of r->url. */
static int request(const struct rest *r, const char *method, const char *path, json_t **ret)
{
	_cleanup_free_ char *url = http_join(r->url, path);
	struct http_reply reply;
	json_error_t wrong;
	int err = url ? http_request(r->http, method, url, &reply)
		      : fail(-ENOMEM, "out of memory");

	if (err)
		return err;
	if (reply.status != 200) {
		err = http_refused(reply.status, url, reply.body);
	} else if (ret) {
		*ret = json_text_load(reply.body ? reply.body : "", reply.len, JSON_DECODE_ANY,
				      &wrong);
		if (!*ret)
			err = fail(-EBADMSG, "%s: the reply is not valid JSON (%s)", url,
				   wrong.text);
	}
	http_reply_deinit(&reply);
	return err;
}

static int odd_reply(const struct rest *r, const char *path)
{
	return fail(-EBADMSG, "%s: unexpected reply to %s; is this OSv's REST server?", r->url,
		    path);
}

/* ---- states ---- */

static int event_read(const json_t *j, struct rest_event *ret)
{
	const char *name = json_string_value(json_object_get(j, "name"));
	const char *id = json_string_value(json_object_get(j, "id"));

	if (!name)
		return -EBADMSG;
	ret->name = strdup(name);
	ret->id = strdup(id ? id : name);
	ret->enabled = json_is_true(json_object_get(j, "enabled"));
	ret->backtrace = json_is_true(json_object_get(j, "backtrace"));
	if (!ret->name || !ret->id)
		return fail(-ENOMEM, "out of memory");
	text_sanitize(ret->name);
	return 0;
}

void rest_events_free(struct rest_event *ev, unsigned int nr)
{
	for (unsigned int i = 0; ev && i < nr; i++) {
		free(ev[i].name);
		free(ev[i].id);
	}
	free(ev);
}

int rest_events(const struct rest *r, struct rest_event **ret, unsigned int *ret_nr)
{
	json_t *list = NULL;
	int err = request(r, "GET", "trace/status", &list);
	size_t nr = json_array_size(list);
	struct rest_event *ev = NULL;

	if (!err && (!json_is_array(list) || nr > REST_EVENTS_MAX))
		err = odd_reply(r, "GET /trace/status");
	if (!err && !(ev = calloc(nr + 1, sizeof(*ev))))
		err = fail(-ENOMEM, "out of memory");
	for (size_t i = 0; !err && i < nr; i++)
		if (event_read(json_array_get(list, i), &ev[i]))
			err = odd_reply(r, "GET /trace/status");
	json_decref(list);
	if (err) {
		rest_events_free(ev, ev ? (unsigned int)nr : 0);
		return err;
	}
	*ret = ev;
	*ret_nr = (unsigned int)nr;
	return 0;
}

int rest_log(const struct rest *r, char **ret)
{
	json_t *text = NULL;
	int err = request(r, "GET", "os/dmesg", &text);

	if (!err && !json_is_string(text))
		err = odd_reply(r, "GET /os/dmesg");
	if (!err && !(*ret = strdup(json_string_value(text))))
		err = fail(-ENOMEM, "out of memory");
	json_decref(text);
	return err;
}

/* Escapes characters that separate the parts of a path: '/', '?', '%'. Allocated. */
static char *path_make(const char *before, const char *id, const char *after)
{
	_cleanup_free_ char *escaped = http_escape(id);
	char *path = NULL;

	if (escaped && asprintf(&path, "%s%s%s", before, escaped, after) < 0)
		path = NULL;
	return path;
}

static const char *truth(bool b)
{
	return b ? "true" : "false";
}

/* Both are always sent: the server disables backtraces if the parameter is missing. */
static void state_print(bool enabled, bool backtrace, char *ret, size_t size)
{
	snprintf(ret, size, "?enabled=%s&backtrace=%s", truth(enabled), truth(backtrace));
}

/* A reply that is no JSON does not say what the state was; it is switched. */
static int switch_request(const struct rest *r, const char *path, json_t **ret)
{
	int err = request(r, "POST", path, ret);

	return err == -EBADMSG ? 0 : err;
}

/* was: what the server returned, the state before. */
static void event_switched(struct rest_event *ev, const json_t *was, bool enabled, bool backtrace)
{
	const json_t *on = json_object_get(was, "enabled"),
		     *stack = json_object_get(was, "backtrace");

	ev->was_known = json_is_boolean(on) && json_is_boolean(stack);
	ev->was_enabled = json_is_true(on);
	ev->was_backtrace = json_is_true(stack);
	ev->enabled = enabled;
	ev->backtrace = backtrace;
}

int rest_event_set(const struct rest *r, struct rest_event *ev, bool enabled, bool backtrace)
{
	_cleanup_free_ char *path = NULL;
	json_t *was = NULL;
	char state[64];
	int err;

	state_print(enabled, backtrace, state, sizeof(state));
	path = path_make("trace/event/", ev->id, state);
	err = path ? switch_request(r, path, &was) : fail(-ENOMEM, "out of memory");
	if (!err)
		event_switched(ev, was, enabled, backtrace);
	json_decref(was);
	return err;
}

/* Of the list that the server returned, the one with this id: its place is that of the list before. */
static const json_t *event_of(const json_t *list, unsigned int place, const char *id)
{
	const json_t *at = json_array_get(list, place);
	const char *own = json_string_value(json_object_get(at, "id"));

	own = own ? own : json_string_value(json_object_get(at, "name"));
	return own && !strcmp(own, id) ? at : NULL;
}

int rest_events_set(const struct rest *r, struct rest_event *ev, unsigned int nr, bool enabled,
		    bool backtrace)
{
	_cleanup_free_ char *path = NULL;
	json_t *was = NULL;
	char state[64];
	int err;

	state_print(enabled, backtrace, state, sizeof(state));
	path = path_make("trace/", "status", state);
	err = path ? switch_request(r, path, &was) : fail(-ENOMEM, "out of memory");
	for (unsigned int i = 0; i < nr && !err; i++)
		event_switched(&ev[i], event_of(was, i, ev[i].id), enabled, backtrace);
	json_decref(was);
	return err;
}

int rest_sampler(const struct rest *r, uint64_t hz)
{
	const char *wanted = hz ? "Sampler started successfully" : "Sampler stopped successfully";
	const char *text;
	json_t *reply = NULL;
	char path[64];
	int err;

	snprintf(path, sizeof(path), "trace/sampler?freq=%" PRIu64, hz);
	err = request(r, "POST", path, &reply);
	if (err)
		return err;
	text = json_string_value(reply);
	if (!text || strcmp(text, wanted))
		err = fail(-EBADMSG,
			   "%s: unexpected reply to POST /trace/sampler (expected \"%s\"); the "
			   "sampler may not have been switched",
			   r->url, wanted);
	json_decref(reply);
	return err;
}

/* ---- counters ---- */

int rest_count_start(const struct rest *r, const char *id)
{
	_cleanup_free_ char *path = path_make("trace/count/", id, "?enabled=true");

	return path ? request(r, "POST", path, NULL) : fail(-ENOMEM, "out of memory");
}

int rest_counts_stop(const struct rest *r)
{
	return request(r, "DELETE", "trace/count", NULL);
}

void rest_counts_free(struct rest_count *c, unsigned int nr)
{
	for (unsigned int i = 0; c && i < nr; i++)
		free(c[i].name);
	free(c);
}

static int counts_read(const json_t *list, size_t nr, struct rest_count *ret)
{
	for (size_t i = 0; i < nr; i++) {
		const json_t *j = json_array_get(list, i);
		const char *name = json_string_value(json_object_get(j, "name"));
		json_int_t count = json_integer_value(json_object_get(j, "count"));

		if (!name || count < 0 || !(ret[i].name = strdup(name)))
			return -EBADMSG;
		text_sanitize(ret[i].name);
		ret[i].count = (uint64_t)count;
	}
	return 0;
}

int rest_counts(const struct rest *r, struct rest_count **ret, unsigned int *ret_nr,
		uint64_t *ret_time_ms)
{
	json_t *reply = NULL, *list, *time;
	int err = request(r, "GET", "trace/count", &reply);
	struct rest_count *c = NULL;
	size_t nr;

	if (err)
		return err;
	list = json_object_get(reply, "list");
	time = json_object_get(reply, "time_ms");
	nr = json_array_size(list);
	if (json_is_array(list) && json_is_integer(time) && nr <= REST_EVENTS_MAX)
		c = calloc(nr + 1, sizeof(*c));
	if (!c || counts_read(list, nr, c)) {
		rest_counts_free(c, (unsigned int)nr);
		json_decref(reply);
		return odd_reply(r, "GET /trace/count");
	}
	*ret = c;
	*ret_nr = (unsigned int)nr;
	*ret_time_ms = (uint64_t)json_integer_value(time);
	json_decref(reply);
	return 0;
}
