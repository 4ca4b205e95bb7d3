// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The paths (analyzers/path) of the requests that an item of the timeline has to do with: those of which a point lies
 * on its track in its time. What is read is the item's time with as much before and after it as may be.
 */
#include "browse/flows.h"

#include "base/error.h"
#include "base/clock.h"
#include "output/report.h"

enum { FLOWS_MAX = 16 };

/* Tracks of a vCPU, as numbers within their rank: analyzers/timeline/host.c, guest.c. */
enum { VCPU_TRACKS = 4, GUEST_CPU_TRACKS = 2 };

#define LEAD_MAX_NS (1000 * NS_PER_MS)
#define LEAD_MIN_NS NS_PER_MS

/* ---- tracks ---- */

static const struct timeline_track *track_of(const struct browse *b, uint32_t track)
{
	return &browse_timeline(b)->track[track];
}

static const struct timeline_group *group_of_track(const struct browse *b, uint32_t track)
{
	return &browse_timeline(b)->group[track_of(b, track)->group];
}

static enum track_rank rank_of(const struct browse *b, uint32_t track)
{
	return (enum track_rank)(track_of(b, track)->order >> 32);
}

/* Or two of one vCPU. */
static bool same_actor(const struct browse *b, uint32_t x, uint32_t y)
{
	uint32_t each = group_of_track(b, y)->guest ? GUEST_CPU_TRACKS : VCPU_TRACKS;

	if (x == y || x == UINT32_MAX)
		return x == y;
	return rank_of(b, x) == TRACK_VCPU && rank_of(b, y) == TRACK_VCPU &&
	       track_of(b, x)->group == track_of(b, y)->group &&
	       track_of(b, x)->order / each == track_of(b, y)->order / each;
}

/* Of a guest (pid 0) only if it is the only one. UINT32_MAX: there is none, or the index has nothing of it. */
static uint32_t track_find_of(const struct browse *b, uint32_t pid, enum track_rank rank,
			      uint32_t number)
{
	uint32_t found = UINT32_MAX;

	for (uint32_t i = 0; i < browse_timeline(b)->nr_tracks; i++) {
		const struct timeline_group *g = group_of_track(b, i);

		if (!b->bands->index[i] || g->guest != !pid || (pid && g->pid != pid) ||
		    track_of(b, i)->order != ((uint64_t)rank << 32 | number))
			continue;
		if (found != UINT32_MAX)
			return UINT32_MAX;
		found = i;
	}
	return found;
}

/* ---- points ---- */

static bool is_guests(enum path_point point)
{
	return point == POINT_ISSUE || point == POINT_IRQ || point == POINT_COMPLETE;
}

/* Whose step it is; 0: of no thread, or unknown. */
static uint32_t point_tid(const struct path_request *rq, enum path_point point)
{
	switch (point) {
	case POINT_ISSUE:
	case POINT_KICK:
		return rq->kick_tid;
	case POINT_SUBMIT:
		return rq->submit_tid ? rq->submit_tid : rq->pop_tid;
	case POINT_DISPATCH:
	case POINT_DONE:
		return 0;
	case POINT_PUSH:
	case POINT_NOTIFY:
	case POINT_RAISE:
		return rq->push_tid;
	case POINT_INJECT:
	case POINT_IRQ:
	case POINT_COMPLETE:
		return rq->irq_tid;
	default:
		return rq->pop_tid;
	}
}

/* Its tasks; its interrupts if they are drawn. */
static uint32_t guest_track(const struct browse *b, uint32_t vcpu, bool interrupts)
{
	uint32_t number = GUEST_CPU_TRACKS * vcpu,
		 track = interrupts ? track_find_of(b, 0, TRACK_VCPU, number + 1) : UINT32_MAX;

	return track == UINT32_MAX ? track_find_of(b, 0, TRACK_VCPU, number) : track;
}

static uint32_t point_track(const struct browse *b, const struct path *path,
			    const struct path_request *rq, enum path_point point)
{
	uint32_t tid = point_tid(rq, point);
	uint32_t vcpu = tid ? path_vcpu(path, rq->pid, tid) : UINT32_MAX;

	if (!tid || (is_guests(point) && vcpu == UINT32_MAX))
		return UINT32_MAX;
	if (is_guests(point))
		return guest_track(b, vcpu, point == POINT_IRQ);
	if (vcpu != UINT32_MAX)
		return track_find_of(b, rq->pid, TRACK_VCPU, VCPU_TRACKS * vcpu);
	return track_find_of(b, rq->pid, TRACK_THREAD, tid);
}

/* A request's own track has what begins there; its other steps are those of threads. */
static bool point_is_of(const struct browse *b, const struct browse_item *item,
			const struct path *path, const struct path_request *rq,
			enum path_point point)
{
	uint64_t ns = rq->at[point];

	if (rank_of(b, item->track) == TRACK_QUEUE)
		return group_of_track(b, item->track)->pid == rq->pid && ns == item->from_ns;
	if (rank_of(b, item->track) == TRACK_BLOCK)
		return point == POINT_ISSUE && ns == item->from_ns;
	return ns >= item->from_ns && ns < item->to_ns &&
	       same_actor(b, point_track(b, path, rq, point), item->track);
}

static bool request_is_of(const struct browse *b, const struct browse_item *item,
			  const struct path *path, const struct path_request *rq)
{
	for (unsigned int i = 0; i < PATH_POINTS; i++)
		if (rq->at[i] && point_is_of(b, item, path, rq, (enum path_point)i))
			return true;
	return false;
}

/* ---- the answer ---- */

static json_t *points_json(const struct browse *b, const struct path *path,
			   const struct path_request *rq)
{
	json_t *list = json_array();

	for (unsigned int i = 0; i < PATH_POINTS; i++) {
		enum path_point point = (enum path_point)i;
		uint32_t track = point_track(b, path, rq, point);
		uint32_t tid = is_guests(point) ? 0 : point_tid(rq, point);

		if (!rq->at[i] || rq->at[i] < b->start_ns)
			continue;
		json_array_append_new(
			list,
			json_pack("{s:s,s:I,s:o,s:o}", "point", path_points[i].name, "ns",
				  (json_int_t)(rq->at[i] - b->start_ns), "tid",
				  tid ? json_integer(tid) : json_null(), "track",
				  track == UINT32_MAX ? json_null() : json_integer(track)));
	}
	return list;
}

static json_t *flow_json(const struct browse *b, const struct path *path,
			 const struct path_request *rq)
{
	return json_pack("{s:I,s:o,s:I,s:I,s:o}", "pid", (json_int_t)rq->pid, "device",
			 *rq->device ? json_text(rq->device) : json_null(), "queue",
			 (json_int_t)rq->queue, "head", (json_int_t)rq->head, "points",
			 points_json(b, path, rq));
}

static json_t *flows_json(const struct browse *b, const struct browse_item *item,
			  const struct path *path)
{
	json_t *list = json_array();
	uint64_t more = 0;
	size_t nr;
	const struct path_request *rq = path_requests(path, &nr);

	for (size_t i = 0; i < nr; i++) {
		if (!request_is_of(b, item, path, &rq[i]))
			continue;
		if (json_array_size(list) < FLOWS_MAX)
			json_array_append_new(list, flow_json(b, path, &rq[i]));
		else
			more++;
	}
	return json_pack("{s:I,s:I,s:o,s:I}", "from_ns",
			 (json_int_t)(item->read_from_ns - b->start_ns), "to_ns",
			 (json_int_t)(item->read_to_ns - b->start_ns), "flows", list, "left_out",
			 (json_int_t)more);
}

/* A second before and after it, or as much as can be read at once. */
static void item_window(const struct browse *b, struct browse_item *item)
{
	uint64_t lead = LEAD_MAX_NS, start = input_set_start_ns(b->set);

	do {
		item->read_from_ns = item->from_ns > start + lead ? item->from_ns - lead : start;
		item->read_to_ns = b->end_ns - item->to_ns > lead ? item->to_ns + lead : b->end_ns;
		lead /= 2;
	} while (lead >= LEAD_MIN_NS && b->bands->resolution_ns &&
		 browse_count(b, item->read_from_ns, item->read_to_ns) > BROWSE_READ_ITEMS_MAX);
}

int browse_flows(struct browse *b, struct browse_item *item, json_t **ret)
{
	_cleanup_input_set_ struct input_set *set = NULL;
	struct input_options options;
	struct query query = {.command = "view",
			      .input = &options,
			      .of = &(const struct path_query){.waterfall = true}};
	struct report_ops ops = path_report;
	struct result r;
	int err;

	item_window(b, item);
	ops.reads = (ops.reads & ~(unsigned int)READ_BEFORE) | READ_WINDOW;
	err = browse_set(b, &options, item->read_from_ns, item->read_to_ns, &set);
	if (err)
		return err;
	err = result_init(&r, &ops, &query);
	if (!err)
		err = report_run(&r, set);
	if (!err)
		*ret = flows_json(b, item, path_of_result(&r));
	result_close(&r);
	return browse_files_check(b) ?: err;
}
