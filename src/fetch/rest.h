/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The REST interface by which an OSv guest's tracepoints are switched and counted (its module httpserver-api). All
 * return 0, or -errno with the error message set: as http_request(), and -EBADMSG for a reply of another form.
 */
#ifndef HOSTRACE_REST_H
#define HOSTRACE_REST_H

#include "fetch/http.h"

enum {
	REST_EVENTS_MAX = 65536,     /* of one guest; OSv has about 500 */
	REST_SAMPLER_HZ_MAX = 100000 /* the server rejects more */
};

struct rest {
	struct http *http; /* borrowed */
	const char *url;   /* "http://host:8000" */
};

struct rest_event {
	char *name, *id; /* several tracepoints may share a name */
	bool enabled, backtrace;

	/* Before it was switched, as the server says it, which another client may have switched meanwhile. */
	bool was_known, was_enabled, was_backtrace;
};

/* GET /trace/status: all tracepoints. *ret is allocated, also for no event at all. */
int rest_events(const struct rest *r, struct rest_event **ret, unsigned int *ret_nr);
void rest_events_free(struct rest_event *ev, unsigned int nr);

/* GET /os/dmesg: the guest's log; to be freed. */
int rest_log(const struct rest *r, char **ret);

/* POST /trace/event/ID: sets its states, in the guest and here. */
int rest_event_set(const struct rest *r, struct rest_event *ev, bool enabled, bool backtrace);

/* POST /trace/status: the same for all that the guest has, at once. */
int rest_events_set(const struct rest *r, struct rest_event *ev, unsigned int nr, bool enabled,
		    bool backtrace);

/* POST /trace/sampler: samples a second on every CPU, 0 stops it. */
int rest_sampler(const struct rest *r, uint64_t hz);

struct rest_count {
	char *name;
	uint64_t count;
};

/* POST /trace/count/ID: begins to count, from 0. */
int rest_count_start(const struct rest *r, const char *id);

/* DELETE /trace/count: no counter is left. */
int rest_counts_stop(const struct rest *r);

/* GET /trace/count, and the guest's uptime then. */
int rest_counts(const struct rest *r, struct rest_count **ret, unsigned int *ret_nr,
		uint64_t *ret_time_ms);
void rest_counts_free(struct rest_count *c, unsigned int nr);

#endif
