// SPDX-License-Identifier: GPL-2.0-or-later
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/error.h"
#include "commands/live/queue_events.h"
#include "commands/live/record.h"

/* A VM that ends meanwhile makes it fail: then again with those that are left. */
int queue_events_open(const struct top_vms *vms, struct queue_events *ret)
{
	_cleanup_free_ struct vm *list = calloc(vms->nr + 1, sizeof(*list));
	struct collector_options options = {0};
	unsigned int nr, before = UINT32_MAX;
	int err = list ? events_choose_for("leaks", options.wants)
		       : fail(-ENOMEM, "out of memory");

	*ret = (struct queue_events){0};
	while (!err && !ret->collector) {
		nr = 0;
		for (unsigned int i = 0; i < vms->nr; i++)
			if (!top_vm_has_ended(&vms->vm[i]))
				list[nr++] = vms->vm[i].vm; /* borrowed */
		if (nr == before)
			return error_code();
		before = nr;
		(void)collector_open(list, nr, &options, &ret->collector);
	}
	return err;
}

int queue_events_follow(const bool wants[EV_LIMIT], struct queue_events *ret)
{
	/* In place of a command that starts VMs: this process, which starts none. */
	const struct vm self = {.pid = getpid()};
	struct collector_options options = {.follow = true};

	memcpy(options.wants, wants, sizeof(options.wants));
	*ret = (struct queue_events){0};
	return collector_open(&self, 1, &options, &ret->collector);
}

void queue_events_close(struct queue_events *q)
{
	collector_close(q->collector);
	record_round_deinit(&q->round);
	*q = (struct queue_events){0};
}

static int on_record(void *arg, const struct record_hdr *rec)
{
	return rec->type < EV_LIMIT ? record_round_add(arg, rec) : 0;
}

int queue_events_read(struct queue_events *q, record_round_fn *fn, void *arg)
{
	int err = collector_round(q->collector, on_record, &q->round, &q->watermark_ns);

	return err ? err : record_round_each(&q->round, q->watermark_ns, fn, arg);
}
