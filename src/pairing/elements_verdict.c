// SPDX-License-Identifier: GPL-2.0-or-later
/* The verdict on elements still in flight at the end: leaked, or is there a reason? elements.h has the rules. */
#include <errno.h>

#include "base/error.h"
#include "base/order.h"
#include "pairing/elements_private.h"

/* ---- the verdict ---- */

static enum element_verdict judge(struct elements *e, const struct open_element *o,
				  const struct device *d, uint64_t age_ns, uint64_t min_age_ns)
{
	if (elements_vm(e, o->pid)->migrated)
		return ELEMENT_MIGRATED;
	if (d->broken)
		return ELEMENT_BROKEN_DEVICE;
	if (d->vhost)
		return ELEMENT_NOT_VISIBLE;
	if (end_may_be_missing(&e->losses, &o->mark))
		return ELEMENT_UNKNOWN;
	return age_ns >= min_age_ns ? ELEMENT_LEAKED : ELEMENT_IN_FLIGHT;
}

ORDER_BY(by_pop, struct element, popped_ns, order)

static uint64_t *total_of(struct element_totals *t, enum element_verdict v)
{
	switch (v) {
	case ELEMENT_LEAKED:
		return &t->leaked;
	case ELEMENT_HELD:
		return &t->held;
	case ELEMENT_IN_FLIGHT:
		return &t->in_flight;
	default:
		return &t->other;
	}
}

/* Older recordings do not hold a device's kind: then its name decides. */
static bool is_balloon(const struct device *d)
{
	return *d->kind ? !strcmp(d->kind, "virtio-balloon") : strstr(d->path, "balloon") != NULL;
}

/* The balloon keeps the oldest element of its statistics queue, and only that one. */
static bool held(struct elements *e, const struct element *el)
{
	struct device *d = elements_device(e, el->pid, el->vdev);

	if (d->holds || el->queue != BALLOON_STATS_QUEUE || !is_balloon(d))
		return false;
	d->holds = true;
	return true;
}

static void holds_clear(struct elements *e)
{
	for (unsigned int i = 0; i < e->devices.nr; i++)
		e->device[i].holds = false;
}

int elements_end(struct elements *e, uint64_t end_ns, uint64_t min_age_ns, struct element **ret,
		 size_t *ret_nr, struct element_totals *totals)
{
	struct element *list = calloc(e->open.nr + 1, sizeof(*list));
	size_t nr = 0;

	if (!list)
		return fail(-ENOMEM, "out of memory");
	if (e->since_ns && e->since_ns <= end_ns) /* no event came since */
		elements_window_begin(e);
	*totals = e->totals;
	holds_clear(e);
	for (const struct open_element *o = open_oldest(&e->open); o; o = open_newer(&e->open, o)) {
		struct device *d = elements_device(e, o->pid, o->vdev);

		if (d->resetting && !e->sees_resets) { /* only statuses are seen: the reset is under way */
			totals->reset++;
			continue;
		}
		uint64_t stopped =
			elements_stopped_ns(elements_vm(e, o->pid), end_ns) - o->stopped_ns;
		uint64_t age =
			end_ns > o->popped_ns + stopped ? end_ns - o->popped_ns - stopped : 0;
		list[nr] = (struct element){.pid = o->pid,
					    .order = nr,
					    .queue = o->queue,
					    .head = o->head,
					    .id = o->id,
					    .vq = o->vq,
					    .vdev = o->vdev,
					    .address = o->address,
					    .popped_ns = o->popped_ns,
					    .age_ns = age,
					    .device = d->path,
					    .kind = d->kind,
					    .data = o->data,
					    .verdict = judge(e, o, d, age, min_age_ns)};
		nr++;
	}
	qsort(list, nr, sizeof(*list), by_pop);
	for (size_t i = 0; i < nr; i++) {
		if (held(e, &list[i]))
			list[i].verdict = ELEMENT_HELD;
		++*total_of(totals, list[i].verdict);
	}
	*ret = list;
	*ret_nr = nr;
	return 0;
}

const char *elements_type(const struct elements *e, uint32_t pid, uint64_t vdev)
{
	return virtio_kind_name(virtio_kind_number(elements_kind(e, pid, vdev)));
}

unsigned int elements_vhost(const struct elements *e, const char **ret_device, unsigned int max)
{
	unsigned int nr = 0;

	for (unsigned int i = 0; i < e->devices.nr && nr < max; i++)
		if (e->device[i].was_vhost)
			ret_device[nr++] = e->device[i].path;
	return nr;
}

const char *element_verdict_name(enum element_verdict v)
{
	static const char *const name[] = {
		[ELEMENT_LEAKED] = "leaked",
		[ELEMENT_IN_FLIGHT] = "in-flight",
		[ELEMENT_HELD] = "held",
		[ELEMENT_MIGRATED] = "migrated",
		[ELEMENT_BROKEN_DEVICE] = "broken device",
		[ELEMENT_NOT_VISIBLE] = "not visible",
		[ELEMENT_UNKNOWN] = "unknown (events lost)",
	};

	return name[v];
}
