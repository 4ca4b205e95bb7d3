// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * `hostrace requests`: a row for each block request of a guest, with what the host saw of it. How an element is found
 * for a request is in analyzers/virtqueue/requests.h.
 */
#include "event/virtio_ids.h"
#include "output/path_report.h"

#define RQ const struct request *rq

static struct cell get_seconds(struct table *t, const void *at)
{
	uint64_t issue_ns = *(const uint64_t *)at, start_ns = *(const uint64_t *)t->report;

	return (struct cell){issue_ns > start_ns ? issue_ns - start_ns : 0, NULL};
}

/* Differences of two clocks: within the error they may come out below 0. */
static uint64_t between(uint64_t from, uint64_t to)
{
	return to > from ? to - from : 0;
}

static struct cell time_or_none(struct table *t, const void *at)
{
	uint64_t ns = *(const uint64_t *)at;

	(void)t;
	return (struct cell){ns, ns ? NULL : "-"};
}

GET_CELL(get_disk, RQ, table_print(t, "%u,%u", rq->block.major, rq->block.minor))
GET_CELL(get_op, RQ, table_print(t, "%c", rq->block.op ? rq->block.op : '-'))
GET_NUMBER(get_total, RQ, rq->complete_ns - rq->issue_ns)
GET_NUMBER_IF(get_submit, RQ, rq->matched, between(rq->issue_ns, rq->pop_ns))
GET_NUMBER_IF(get_device_ns, RQ, rq->matched, between(rq->pop_ns, rq->fill_ns))
GET_NUMBER_IF(get_finish, RQ, rq->matched, between(rq->fill_ns, rq->complete_ns))
GET_CELL(get_device, RQ, rq->matched ? device_cell(t, rq->device, rq->kind) : (struct cell){0})
GET_QUEUE(RQ, rq->kind, rq->matched ? rq->queue : VIRTIO_NO_QUEUE, VIRTIO_DATA_UNKNOWN)
GET_NUMBER_IF(get_head, RQ, rq->matched && rq->head != VIRTIO_NO_HEAD, rq->head)

#define TIME(member) offsetof(struct request, member), time_or_none, .nullable = true

static const struct column_def request_columns[] = {
	{"issue_ns", NULL, COL_COUNT, MEMBER(struct request, issue_ns),
	 .doc = "when the guest's driver issued it"},
	{NULL, "seconds", COL_SECONDS, offsetof(struct request, issue_ns), get_seconds,
	 .doc = "the same, since the start of the trace"},
	COLUMN_VM(struct request, pid),
	{"disk", "disk", COL_TEXT, .get = get_disk, .doc = "\"MAJOR,MINOR\" in the guest"},
	{"op", "op", COL_TEXT, .get = get_op, .doc = "R, W, D, F or -"},
	{"sector", "sector", COL_COUNT, MEMBER(struct request, block.sector), .doc = "the first"},
	{"sectors", "+", COL_COUNT, MEMBER(struct request, block.sectors), .doc = "how many"},
	{"total_ns", "total", COL_NS, .get = get_total, .doc = "from issue to completion"},
	{"submit_ns", "submit", COL_NS, .get = get_submit, .nullable = true,
	 .doc = "from issue to the device's pop; null: no element is known to be its"},
	{"device_ns", "device", COL_NS, .get = get_device_ns, .nullable = true,
	 .doc = "from the pop until the device returned the element"},
	{"finish_ns", "finish", COL_NS, .get = get_finish, .nullable = true,
	 .doc = "from there to the guest's completion"},
	{"vcpu", "vcpu", COL_COUNT, MEMBER(struct request, vcpu), .spare = 2,
	 .doc = "index of the vCPU that issued it"},
	{"exits", NULL, COL_COUNT, MEMBER(struct request, exits),
	 .doc = "exits of that vCPU between issue and pop"},
	{"exit_reason", "exit", COL_TEXT, MEMBER(struct request, exit_reason), 1, true,
	 .doc = "of the first of these that writes to a port or to memory-mapped registers"},
	{"exit_ns", NULL, COL_COUNT, TIME(exit_ns), .doc = "when that was"},
	{"exit_latency_ns", "exit took", COL_NS, TIME(exit_latency_ns), .spare = 3,
	 .doc = "how long it took"},
	{"pop_ns", NULL, COL_COUNT, TIME(pop_ns), .doc = "when the device popped the element"},
	{"fill_ns", NULL, COL_COUNT, TIME(fill_ns), .doc = "... and returned it"},
	{"interrupt_ns", NULL, COL_COUNT, TIME(interrupt_ns),
	 .doc = "... and raised the interrupt"},
	{"irq_ns", NULL, COL_COUNT, TIME(irq_ns), .doc = "when the guest's handler began"},
	{"complete_ns", NULL, COL_COUNT, TIME(complete_ns), .doc = "when the guest completed it"},
	{"device", "device", COL_PATH, .get = get_device, 4, true,
	 .doc = "the host's device: its QOM path, in text its name"},
	COLUMNS_QUEUE(5),
	{"head", "head", COL_COUNT, .get = get_head, 6, true, .doc = "first descriptor"},
	COLUMNS_QUEUE_NAMES,
	{0},
};

const struct table_def requests_table = {
	"requests", "", "a block request of a guest", {request_columns}};

int requests_report_rows(const struct request *rq, size_t nr, uint64_t start_ns,
			 const struct vm_names *vms, struct table *t)
{
	int err = 0;

	table_open(t, &requests_table, &start_ns, vms);
	for (size_t i = 0; !err && i < nr; i++)
		if (rq[i].complete_ns)
			err = table_add(t, &rq[i]);
	t->report = NULL;
	return err;
}
