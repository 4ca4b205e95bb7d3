// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * record --for heap: follows what the VMs allocate and free (collector/heap.c), for the report `heap`. All counts are
 * since the recording began, so that nothing may be missing at its begin: a flight recorder, or a command that starts
 * the VM, cannot have it.
 */
#include <errno.h>

#include "base/error.h"
#include "commands/common/command.h"
#include "commands/live/record.h"

static bool wanted;

static int heap_choose(struct collector_options *c)
{
	for (unsigned int id = EV_alloc_site; id <= EV_alloc_munmap; id++)
		wanted |= c->wants[id];
	for (unsigned int id = EV_alloc_site; id <= EV_alloc_munmap && wanted; id++)
		c->wants[id] = true;
	if (wanted && c->follow)
		return fail_usage(-EINVAL,
				  "the heap of a command cannot be recorded: start the VM, "
				  "then record it with --vm");
	return 0;
}

static int heap_sink(void *arg, const struct record_hdr *rec)
{
	return trace_writer_record(((struct recording *)arg)->writer, rec);
}

static int heap_start(struct recording *r)
{
	return collector_heap_start(r->collector);
}

static int heap_round(struct recording *r, uint64_t now_ns)
{
	(void)now_ns;
	return collector_heap_round(r->collector, false, heap_sink, r);
}

static int heap_stop(struct recording *r)
{
	return collector_heap_round(r->collector, true, heap_sink, r);
}

static void heap_meta(struct recording *r, json_t *meta, bool final)
{
	json_t *heap = r->collector ? collector_heap(r->collector) : NULL;

	(void) final;
	if (heap)
		json_object_set_new(meta, "heap", heap);
}

const struct record_part record_heap_part = {
	.choose = heap_choose,
	.start = heap_start,
	.round = heap_round,
	.stop = heap_stop,
	.meta = heap_meta,
};
