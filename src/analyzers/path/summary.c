// SPDX-License-Identifier: GPL-2.0-or-later
/* Requests summed up by device and by stage, both found by hash, then sorted for printing. */
#include <errno.h>

#include "analyzers/path/summary.h"
#include "base/array.h"
#include "base/error.h"

static uint64_t duration(const struct path_request *rq)
{
	return path_end_ns(rq) - path_start_ns(rq);
}

/* ---- stages ---- */

static int device_index(struct path_summary *s, const struct path_request *rq)
{
	for (size_t i = 0; i < s->nr_devices; i++)
		if (s->device[i].pid == rq->pid && !strcmp(s->device[i].device, rq->device))
			return (int)i;
	if (s->nr_devices == PATH_SUMMARY_DEVICES_MAX) {
		s->refused++;
		return -1;
	}
	if (array_room(s->device, s->nr_devices))
		return -ENOMEM;
	s->device[s->nr_devices] =
		(struct path_device_sum){.pid = rq->pid, .device = rq->device, .kind = rq->kind};
	return (int)s->nr_devices++;
}

static uint64_t stage_key(unsigned int device, const struct path_part *part)
{
	return (uint64_t)device << 32 | (uint64_t)part->from << 24 | (uint64_t)part->to << 16 |
	       (uint64_t)part->role << 8 | part->run;
}

static int stage_add(struct path_summary *s, unsigned int device, const struct path_part *part,
		     uint64_t ns)
{
	struct path_stage *stage = hash_add_u64(&s->stages, stage_key(device, part), NULL);

	if (!stage) {
		s->refused++;
		return 0;
	}
	stage->device = device;
	stage->from = part->from;
	stage->to = part->to;
	stage->role = part->role;
	stage->run = part->run;
	return quantiles_add(&stage->ns, ns) ? fail(-ENOMEM, "out of memory") : 0;
}

/* Parts of the same kind count once, with their sum. */
static int parts_add(struct path_summary *s, unsigned int device, const struct path_part *part,
		     unsigned int nr)
{
	bool counted[PATH_PARTS_MAX] = {false};
	int err = 0;

	for (unsigned int i = 0; i < nr && !err; i++) {
		uint64_t sum = 0;

		if (counted[i])
			continue;
		for (unsigned int k = i; k < nr; k++) {
			if (stage_key(device, &part[k]) != stage_key(device, &part[i]))
				continue;
			counted[k] = true;
			sum += part[k].end_ns - part[k].start_ns;
		}
		err = stage_add(s, device, &part[i], sum);
	}
	return err;
}

int path_summary_make(struct path_summary *s, const struct path *p, uint64_t min_ns)
{
	struct path_part part[PATH_PARTS_MAX];
	size_t nr;
	const struct path_request *rq = path_requests(p, &nr);
	int err = 0;

	*s = (struct path_summary){.stages =
					   HASH_TABLE(struct path_stage, 1, PATH_STAGES_MAX)};
	for (size_t i = 0; i < nr && !err; i++) {
		int device = duration(&rq[i]) >= min_ns ? device_index(s, &rq[i]) : -1;

		if (device == -ENOMEM)
			return -ENOMEM;
		if (device < 0)
			continue;
		s->requests++;
		s->time_ns += duration(&rq[i]);
		s->device[device].requests++;
		s->device[device].time_ns += duration(&rq[i]);
		err = parts_add(s, (unsigned int)device, part, path_parts(p, &rq[i], part));
	}
	return err;
}

void path_summary_free(struct path_summary *s)
{
	struct path_stage *stage;

	for (uint32_t at = 0; (stage = hash_next(&s->stages, &at));)
		quantiles_free(&stage->ns);
	hash_deinit(&s->stages);
	free(s->device);
}

static int by_stage(const void *a, const void *b, void *arg)
{
	const struct path_stage *x = *(struct path_stage *const *)a,
				*y = *(struct path_stage *const *)b;
	const struct path_summary *s = arg;
	uint64_t left = s->device[x->device].time_ns, right = s->device[y->device].time_ns;

	if (left != right)
		return left > right ? -1 : 1;
	return (x->key > y->key) - (x->key < y->key);
}

struct path_stage **path_summary_stages(const struct path_summary *s, size_t *ret_nr)
{
	struct path_stage **list = calloc(s->stages.nr + 1, sizeof(struct path_stage *)), *stage;
	size_t nr = 0;

	for (uint32_t at = 0; list && (stage = hash_next(&s->stages, &at));)
		list[nr++] = stage;
	if (nr)
		qsort_r(list, nr, sizeof(struct path_stage *), by_stage, (void *)s);
	*ret_nr = nr;
	return list;
}

/* ---- the slowest ---- */

static int by_duration(const void *a, const void *b)
{
	const struct path_request *x = *(const struct path_request *const *)a,
				  *y = *(const struct path_request *const *)b;

	if (duration(x) != duration(y))
		return duration(x) > duration(y) ? -1 : 1;
	return (x > y) - (x < y); /* of one array */
}

const struct path_request **path_slowest(const struct path *p, uint64_t min_ns, size_t max,
					 size_t *ret_nr)
{
	size_t nr, kept = 0;
	const struct path_request *rq = path_requests(p, &nr);
	const struct path_request **list = nr ? calloc(nr, sizeof(struct path_request *)) : NULL;

	for (size_t i = 0; list && i < nr; i++)
		if (duration(&rq[i]) >= min_ns)
			list[kept++] = &rq[i];
	if (kept)
		qsort(list, kept, sizeof(struct path_request *), by_duration);
	*ret_nr = kept < max ? kept : max;
	return list;
}
