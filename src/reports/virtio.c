// SPDX-License-Identifier: GPL-2.0-or-later
/* Where the requests of each virtqueue spend their time, and how many were in flight (analyzers/virtqueue/queues.h). */
#include <errno.h>

#include "analyzers/virtqueue/queues.h"
#include "base/condition.h"
#include "base/error.h"
#include "base/memory.h"
#include "output/queue_report.h"
#include "reports/empty.h"
#include "reports/reports.h"

static const struct report_needs virtio_needs = {
	.events = "virtqueue_pop,virtqueue_fill", .record_for = "virtio", .others = "vhost_start"};

struct virtio {
	struct queues *queues;
	uint64_t until_ns;
};

static int virtio_open(struct result *r)
{
	struct virtio *v = r->state;

	v->queues = queues_new(input_set_host_start_ns(r->in));
	if (!v->queues)
		return fail(-ENOMEM, "out of memory");
	v->until_ns = r->in->until_ns;
	return 0;
}

static int virtio_feed(void *state, const struct event *ev)
{
	const struct virtio *v = state;

	return ev->time_ns < v->until_ns ? queues_event(v->queues, ev) : 0;
}

static int write_json(struct report *report, const struct queue_report *a)
{
	json_t *rows = queue_report_json(a);

	if (!json_array_size(rows))
		empty_add(report);
	report_answer(report, json_pack("{s:o}", "rows", rows),
		      JSON_INDENT(1) | JSON_REAL_PRECISION(6));
	return 0;
}

static int write_table(struct report *report, const struct queue_report *a)
{
	bool text = !strcmp(report->out->format, "text");
	_cleanup_free_ char *extra = NULL;
	size_t size;
	struct table t = {0};
	FILE *f = open_memstream(&extra, &size);

	if (!f)
		return fail(-ENOMEM, "out of memory");
	queue_report_flight(a, f);
	if (!memstream_close(f, &extra))
		return fail(-ENOMEM, "out of memory");
	if (size)
		extra[size - 1] = '\0';
	report->extra_text = text && size ? extra : NULL;
	queue_report_table(a, !text, &t);
	if (a->left_out && !text)
		report->note("%u more queues (--limit)", a->left_out);
	int err = format_find(report->out->format)->table(report, &t);

	table_free(&t);
	return err;
}

static int virtio_write(struct result *r, const struct output *out)
{
	const char *where = r->query->input->where;
	_cleanup_condition_ struct condition *condition = NULL;
	struct queue_report a = {.queues = ((struct virtio *)r->state)->queues,
				 .start_ns = input_set_host_start_ns(r->in),
				 .end_ns = input_set_host_end_ns(r->in),
				 .vms = result_vms(r),
				 .explains = output_explains(out)};
	struct report report = result_report(r, out);
	char none[320];
	int err = where ? condition_parse("--where", where, &condition) : 0;

	a.where = condition;
	if (!err)
		err = queue_report_make(&a, out->limit);
	if (err)
		return err;
	report.caveats = queue_report_caveats(&a, &r->in->reader->info);
	if (a.all && !a.nr)
		report_answer_none(&report, where_none_print(condition, a.all, "queue", none,
							     sizeof(none)));
	err = report_is_json(&report) ? write_json(&report, &a) : write_table(&report, &a);
	json_decref(report.caveats);
	return err;
}

static void virtio_close(struct result *r)
{
	queues_free(((struct virtio *)r->state)->queues);
}

static bool lost_wants(const char *event, void *arg)
{
	return queues_wants(event, arg) || queues_stops_show(event);
}

#define VIRTIO_OPS(which)                                                                          \
	{                                                                                          \
		.reads = READ_BEFORE, .state_bytes = sizeof(struct virtio), .wants = (which),      \
		.needs = &virtio_needs, .optional = "vblk_done", .open = virtio_open,              \
		.event = virtio_feed, .write = virtio_write, .close = virtio_close,                \
	}

const struct report_ops virtio_report = VIRTIO_OPS(queues_wants);
const struct report_ops virtio_lost_report = VIRTIO_OPS(lost_wants);
