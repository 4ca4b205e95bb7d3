// SPDX-License-Identifier: GPL-2.0-or-later
/* What hostrace diff compares of requests' whole path: stages that the virtqueue's own events do not show. */
#include <errno.h>

#include "analyzers/path/path.h"
#include "base/error.h"
#include "commands/diff.h"

/* The others begin and end with events of the virtqueue: they are the kind "stage". */
static bool is_own(enum path_point from, enum path_point to)
{
	static const unsigned int of_queue =
		1u << POINT_KICK | 1u << POINT_POP | 1u << POINT_PUSH | 1u << POINT_NOTIFY;

	return !(of_queue >> from & of_queue >> to & 1);
}

static int request_add(struct series_set *set, const struct path_request *rq)
{
	enum path_point from = PATH_POINTS;
	int err = 0;

	for (enum path_point to = 0; to < PATH_POINTS && !err; to++) {
		if (!rq->at[to])
			continue;
		if (from != PATH_POINTS && is_own(from, to))
			err = series_add(set,
					 (const uint64_t[]){(uintptr_t)rq->device,
							    (uint64_t)from << 8 | to},
					 rq->at[to], rq->at[to] - rq->at[from], 1);
		from = to;
	}
	return err;
}

static bool request_name(void *arg, const uint64_t *label, char *buf, size_t size)
{
	const char *device = (const char *)(uintptr_t)label[0];

	(void)arg;
	snprintf(buf, size, "%s to %s of %s", path_points[label[1] >> 8].name,
		 path_points[label[1] & 0xff].name, *device ? device : "unknown");
	return true;
}

static int handle(void *arg, const struct event *ev)
{
	return path_event(arg, ev);
}

int diff_read_requests(const struct input_options *options, struct series_set **ret)
{
	_cleanup_(path_cleanup_) struct path *path = path_new();
	_cleanup_input_set_ struct input_set *in = NULL;
	_cleanup_(series_cleanup_) struct series_set *set = NULL;
	const struct path_request *rq = NULL;
	size_t nr = 0;
	int err = path ? input_set_new(options, &in) : fail(-ENOMEM, "out of memory");

	if (!err)
		err = input_set_open_window(in, true, path_wants, NULL);
	if (err)
		return err;
	path_window(path, in->since_ns, in->until_ns);
	set = series_new(input_set_start_ns(in), 2);
	err = set ? reader_each(in->reader, handle, path) : -ENOMEM;
	if (!err)
		err = path_end(path);
	if (!err)
		rq = path_requests(path, &nr);
	for (size_t i = 0; i < nr && !err; i++)
		err = request_add(set, &rq[i]);
	if (!err)
		err = diff_series_end(set, in, request_name, NULL);
	if (!err && set->nr)
		*ret = take_ptr(set);
	return err;
}
