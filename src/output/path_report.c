// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * `hostrace requests --stages` and `--waterfall`: the stages of all requests as a table, the slowest requests with
 * their parts as text, both as JSON, and what limits the figures. Points, stages and roles are those of
 * analyzers/path/path.h.
 */
#include "output/path_report.h"

#include <errno.h>
#include <inttypes.h>

#include "base/error.h"
#include "base/json_text.h"
#include "base/units.h"
#include "event/virtio_ids.h"
#include "output/report.h"
#include "pairing/elements.h"

enum { STAGE_BYTES = 32, DEVICE_BYTES = 128, REQUEST_BYTES = 512, BAR_COLUMNS = 22, VHOST_MAX = 8 };

static const char *stage_print(enum path_point from, enum path_point to, char *buf, size_t size)
{
	snprintf(buf, size, "%s-%s", path_points[from].name, path_points[to].name);
	return buf;
}

static const char *state_of(enum path_role role, enum path_run run)
{
	return role == PATH_NOBODY || run == PATH_RUN_UNKNOWN ? "" : path_run_names[run];
}

/* ---- notes ---- */

static void count_add(json_t *list, uint64_t nr, const char *what)
{
	if (nr)
		caveat_add(list, "%" PRIu64 " %s", nr, what);
}

static bool of_packets(enum path_point point)
{
	return point == POINT_ARRIVE || point == POINT_RECEIVE || point == POINT_SEND;
}

static bool of_disks(enum path_point point)
{
	return point == POINT_SUBMIT || point == POINT_DISPATCH || point == POINT_DONE;
}

static void caveat_of_guest(const struct path_totals *n, unsigned int guests, json_t *list)
{
	if (n->saw[POINT_ISSUE])
		return;
	if (!n->disks)
		caveat_add(list, "issue, irq and complete are unknown: a guest's trace shows them "
				 "of block requests only");
	else if (!guests)
		caveat_add(list, "issue, irq and complete are missing: they are in the guest's own "
				 "trace; name it with --guest, or record it with hostrace record "
				 "--guest");
	else
		caveat_add(list, "issue, irq and complete are missing: the guest's trace has no "
				 "complete block request; try in the guest: trace-cmd record -e "
				 "block -e irq");
}

static void caveats_of_points(const struct path_totals *n, unsigned int guests, json_t *list)
{
	bool guest = n->saw[POINT_ISSUE];

	caveat_of_guest(n, guests, list);
	for (unsigned int i = POINT_KICK; i < PATH_POINTS; i++) {
		const struct path_point_info *p = &path_points[i];

		if (n->saw[i] || !strncmp(p->event, "guest:", 6) ||
		    (!n->packets && of_packets(i)) || (!n->disks && of_disks(i)))
			continue;
		if (i != POINT_SUBMIT && i != POINT_DONE) /* one note for all three */
			caveat_add(list,
				   "%s is missing: the trace has no %s that shows it; try: %s",
				   i == POINT_DISPATCH ? "submit, dispatch or done" : p->name,
				   p->event, p->record);
	}
	if (guest && !n->saw[POINT_IRQ])
		caveat_add(list, "irq is missing: the guest's trace has no irq_handler_entry");
}

static void caveats_of_threads(const struct path_totals *n, json_t *list)
{
	if (!n->switches)
		caveat_add(list, "what threads did is unknown: the trace has no sched_switch; try: "
				 "hostrace record --for requests");
	else if (!n->wakes)
		caveat_add(list,
			   "a thread that was woken and has no CPU counts as asleep: the trace has "
			   "no sched_woken; try: hostrace record --for requests");
}

json_t *path_report_caveats(const struct path_report *r)
{
	const struct path_totals *n = path_totals(r->path);
	const char *vhost[VHOST_MAX];
	unsigned int nr = elements_vhost(path_elements(r->path), vhost, VHOST_MAX);
	json_t *list = json_array();

	if (n->requests) {
		caveats_of_points(n, r->guests, list);
		caveats_of_threads(n, list);
	}
	for (unsigned int i = 0; i < nr; i++)
		caveat_add(list,
			   "%s: its rings are served outside QEMU (vhost), its requests are not "
			   "recorded",
			   vhost[i]);
	count_add(list, n->ios_ambiguous,
		  "I/O requests of the host may be of several requests, which were in QEMU's hands "
		  "at once; these have no submit, dispatch and done");
	count_add(list, n->ios_foreign,
		  "I/O requests of the host are of no request: none was in QEMU's hands all the "
		  "time (read-ahead, QEMU's own)");
	count_add(list, n->guest_only, "requests of the guest have no element in the recording");
	count_add(list, n->unknown, "requests were dropped: events in them may be missing");
	count_add(list, n->out_of_order,
		  "points are not used: they lie before an earlier one, as clocks have errors");
	count_add(list, n->refused + r->summary->refused,
		  "events or requests were dropped: too many at once");
	return list;
}

const char *path_report_totals(const struct path_report *r, char *buf, size_t size)
{
	const struct path_totals *n = path_totals(r->path);
	size_t len = (size_t)snprintf(buf, size, "%" PRIu64 " requests, %" PRIu64
				      " kicks (%" PRIu64 " popped by the handler of an earlier "
				      "one's kick)", n->requests, n->kicks, n->batched);

	if (n->saw[POINT_NOTIFY] && len < size)
		len += (size_t)snprintf(buf + len, size - len,
					"; %" PRIu64 " notifications, %" PRIu64
					" requests without one",
					n->notifies, n->unnotified);
	if (n->saw[POINT_RAISE] && len < size)
		snprintf(buf + len, size - len,
			 "; %" PRIu64 " interrupts, %" PRIu64 " notified requests without one",
			 n->raises, n->suppressed);
	return buf;
}

/* ---- stages ---- */

static const struct path_device_sum *device_of(const struct table *t, const struct path_stage *s)
{
	const struct path_report *r = t->report;

	return &r->summary->device[s->device];
}

static struct cell stage_cell(struct table *t, enum path_point from, enum path_point to)
{
	return table_print(t, "%s-%s", path_points[from].name, path_points[to].name);
}

static struct cell state_cell(const struct table *t, enum path_role role, enum path_run run)
{
	const char *state = state_of(role, run);

	return (struct cell){0, t->tree && !*state ? NULL : state};
}

GET_NUMBER(get_pid, const void *at, device_of(t, at)->pid)
GET_CELL(get_vm, const void *at, column_vm(t, &device_of(t, at)->pid))
GET_CELL(get_device, const void *at,
	 device_cell(t, device_of(t, at)->device, device_of(t, at)->kind))
GET_TEXT(get_stage_kind, const void *at,
	 *device_of(t, at)->kind ? device_of(t, at)->kind : NULL)
GET_CELL(get_stage, const struct path_stage *s, stage_cell(t, s->from, s->to))
GET_TEXT(get_thread, const struct path_stage *s, path_role_names[s->role])
GET_CELL(get_state, const struct path_stage *s, state_cell(t, s->role, s->run))
GET_NUMBER(get_share, const struct path_stage *s, percent_of(s->ns.sum, device_of(t, s)->time_ns))
GET_NUMBER(get_time, const struct path_stage *s, s->ns.sum)

static const struct column_def stage_columns[] = {
	{"pid", NULL, COL_COUNT, .get = get_pid, .when = table_is_tree,
	 .doc = "process id of the VM"},
	{"vm", "VM", COL_TEXT, .get = get_vm, .when = table_has_vms,
	 .doc = "name of the VM, in traces with several"},
	{"device", "device", COL_PATH, .get = get_device, .doc = "its QOM path, in text its name"},
	{"stage", "stage", COL_TEXT, .get = get_stage, .doc = "the points at its begin and end"},
	{"thread", "thread", COL_TEXT, .get = get_thread, .doc = "what the requests waited for"},
	{"state", "state", COL_TEXT, .get = get_state, .nullable = true,
	 .doc = "what that did: running, run queue or asleep; null: unknown"},
	{"requests", "count", COL_COUNT, QUANTILE(count, struct path_stage, ns),
	 .doc = "how many requests had such a part"},
	{"share", "share", COL_PERCENT, .get = get_share, .when = table_is_flat,
	 .doc = "percent of the time of the device's requests"},
	{"time_ns", NULL, COL_NS, .get = get_time, .doc = "of all requests together"},
	{"p50_ns", "p50", COL_NS, QUANTILE(p50, struct path_stage, ns),
	 .doc = "median of a request"},
	{"p99_ns", "p99", COL_NS, QUANTILE(p99, struct path_stage, ns), .doc = "99th percentile"},
	{"max_ns", "max", COL_NS, QUANTILE(max, struct path_stage, ns), .spare = 1,
	 .doc = "the longest"},
	{"kind", NULL, COL_TEXT, .get = get_stage_kind, .nullable = true,
	 .doc = "what QEMU calls the device's type, as virtio-blk"},
	{0},
};

const struct table_def path_stages_table = {
	"requests", "--stages", "a stage of a device's requests, and what they waited for in it",
	{stage_columns}};

int path_report_stages(const struct path_report *r, struct table *t)
{
	size_t nr;
	_cleanup_free_ struct path_stage **list = path_summary_stages(r->summary, &nr);
	int err = list ? 0 : fail(-ENOMEM, "out of memory");

	table_open(t, &path_stages_table, r, r->vms);
	for (size_t i = 0; !err && i < nr; i++)
		err = table_add(t, list[i]);
	return err;
}

/* ---- the slowest as a tree ---- */

static struct cell if_known(uint64_t number, bool known)
{
	return (struct cell){number, known ? NULL : cell_absent};
}

static bool has_other(const struct path_part *p)
{
	return p->run == PATH_RUNQUEUE && p->other_tid;
}

GET_NUMBER(get_part_ns, const struct path_part *p, p->end_ns - p->start_ns)
GET_CELL(get_part_stage, const struct path_part *p, stage_cell(t, p->from, p->to))
GET_TEXT(get_part_thread, const struct path_part *p, path_role_names[p->role])
GET_CELL(get_part_state, const struct path_part *p, state_cell(t, p->role, p->run))
GET_CELL(get_part_tid, const struct path_part *p, if_known(p->tid, p->tid))
GET_CELL(get_part_cpu, const struct path_part *p,
	 if_known(p->cpu, has_other(p) && p->cpu != RECORD_CPU_UNKNOWN))
GET_CELL(get_part_other_tid, const struct path_part *p, if_known(p->other_tid, has_other(p)))
GET_TEXT(get_part_other, const struct path_part *p, has_other(p) ? p->other : cell_absent)

static const struct column_def part_columns[] = {
	{"start_ns", NULL, COL_NS, MEMBER(struct path_part, start_ns), .doc = "when it began"},
	{"duration_ns", NULL, COL_NS, .get = get_part_ns, .doc = "how long it took"},
	{"stage", NULL, COL_TEXT, .get = get_part_stage, .doc = "whose part it is"},
	{"thread", NULL, COL_TEXT, .get = get_part_thread, .doc = "what the request waited for"},
	{"state", NULL, COL_TEXT, .get = get_part_state, .nullable = true,
	 .doc = "what that did; null: unknown"},
	{"tid", NULL, COL_COUNT, .get = get_part_tid, .optional = true, .doc = "its thread id"},
	{"cpu", NULL, COL_COUNT, .get = get_part_cpu, .optional = true,
	 .doc = "the CPU that it waited for"},
	{"other_tid", NULL, COL_COUNT, .get = get_part_other_tid, .optional = true,
	 .doc = "the task that ran there"},
	{"other", NULL, COL_TEXT, .get = get_part_other, .optional = true, .doc = "its name"},
	{0},
};

static struct cell get_parts(struct table *t, const void *at)
{
	const struct path_report *r = t->report;
	struct path_part part[PATH_PARTS_MAX];
	unsigned int nr = path_parts(r->path, at, part);
	struct table *parts;
	struct cell cell = table_nest(t, part_columns, &parts);

	for (unsigned int i = 0; parts && i < nr && !table_add(parts, &part[i]); i++)
		;
	return cell;
}

static struct cell get_points(struct table *t, const void *at)
{
	const struct path_request *rq = at;
	struct table *points;
	struct cell cell = table_nest(t, NULL, &points), *row;

	for (unsigned int i = 0; points && i < PATH_POINTS; i++)
		table_column(points, path_points[i].name, NULL, COL_NS, 0);
	row = points ? table_row(points) : NULL;
	for (unsigned int i = 0; row && i < PATH_POINTS; i++)
		row[i] = if_known(rq->at[i], rq->at[i]);
	return cell;
}

GET_CELL(get_request_device, const struct path_request *rq, device_cell(t, rq->device, rq->kind))
GET_QUEUE(const struct path_request *rq, rq->kind, rq->queue, rq->data)
GET_NUMBER(get_request_start, const void *at, path_start_ns(at))
GET_NUMBER(get_request_ns, const void *at, path_end_ns(at) - path_start_ns(at))
GET_NUMBER(get_batched, const struct path_request *rq, rq->batched)
GET_CELL(get_sector, const struct path_request *rq,
	 if_known(rq->guest ? rq->guest->block.sector : 0, rq->guest))
GET_CELL(get_sectors, const struct path_request *rq,
	 if_known(rq->guest ? rq->guest->block.sectors : 0, rq->guest))

static const struct column_def request_columns[] = {
	{"pid", NULL, COL_COUNT, MEMBER(struct path_request, pid), .doc = "process id of the VM"},
	COLUMN_VM(struct path_request, pid),
	{"device", NULL, COL_PATH, .get = get_request_device, .doc = "QOM path of the device"},
	COLUMNS_QUEUE(0),
	COLUMNS_QUEUE_NAMES,
	{"head", NULL, COL_COUNT, KNOWN_MEMBER(struct path_request, head),
	 .doc = "first descriptor"},
	{"start_ns", NULL, COL_NS, .get = get_request_start, .doc = "when it began"},
	{"total_ns", NULL, COL_NS, .get = get_request_ns, .doc = "how long it took"},
	{"batched", NULL, COL_BOOL, .get = get_batched,
	 .doc = "popped by the handler of an earlier request's kick"},
	{"host_ios", NULL, COL_COUNT, MEMBER(struct path_request, nr_ios),
	 .doc = "I/O requests of the host for it"},
	{"sector", NULL, COL_COUNT, .get = get_sector, .optional = true,
	 .doc = "on the guest's disk, if its trace has the request"},
	{"sectors", NULL, COL_COUNT, .get = get_sectors, .optional = true, .doc = "how many"},
	{"points_ns", NULL, COL_OBJECT, .get = get_points,
	 .doc = "times of its points that are known"},
	{"parts", NULL, COL_ROWS, .get = get_parts, .nested = part_columns,
	 .doc = "what it waited for; they add up to total_ns"},
	{0},
};

const struct table_def path_requests_table = {
	"requests", "--waterfall", "one of the slowest requests", {request_columns}};

static json_t *totals_json(const struct path_report *r)
{
	const struct path_totals *n = path_totals(r->path);

	return json_pack("{s:I, s:o, s:I, s:I, s:I, s:I, s:I, s:I, s:{s:I, s:I, s:I}}", "requests",
			 (json_int_t)n->requests, "time_ns", json_u64(r->summary->time_ns),
			 "kicks", (json_int_t)n->kicks, "batched", (json_int_t)n->batched,
			 "notifications", (json_int_t)n->notifies, "unnotified",
			 (json_int_t)n->unnotified, "interrupts", (json_int_t)n->raises,
			 "suppressed", (json_int_t)n->suppressed, "host_ios", "all",
			 (json_int_t)n->ios, "ambiguous", (json_int_t)n->ios_ambiguous, "foreign",
			 (json_int_t)n->ios_foreign);
}

json_t *path_report_json(const struct path_report *r)
{
	struct table stages = {.tree = true}, rows = {.tree = true};
	int err = path_report_stages(r, &stages);
	json_t *json = NULL;

	table_open(&rows, &path_requests_table, r, r->vms);
	for (size_t i = 0; i < r->nr_slowest && !err; i++)
		err = table_add(&rows, r->slowest[i]);
	if (!err)
		json = json_pack("{s:o, s:o, s:o}", "totals", totals_json(r), "stages",
				 table_json(&stages), "rows", table_json(&rows));
	table_free(&stages);
	table_free(&rows);
	return json;
}

/* ---- the slowest ---- */

static void bar_print(const struct path_part *p, uint64_t start_ns, uint64_t end_ns, FILE *f)
{
	unsigned __int128 whole = end_ns - start_ns;
	unsigned int from = (unsigned int)((p->start_ns - start_ns) * BAR_COLUMNS / whole);
	unsigned int to =
		(unsigned int)(((p->end_ns - start_ns) * BAR_COLUMNS + whole - 1) / whole);

	for (unsigned int i = 0; i < to; i++)
		fputc(i < from ? ' ' : '=', f);
}

const char *path_request_print(const struct path_report *r, const struct path_request *rq,
			       char *buf, size_t size)
{
	uint64_t start_ns = path_start_ns(rq);
	char device[DEVICE_BYTES], at[32], vm[VM_NAME_BYTES] = "", took[16], queue[32], head[16];
	int len;

	seconds_print(start_ns > r->start_ns ? start_ns - r->start_ns : 0, at, sizeof(at));
	if (r->vms)
		vm_name(r->vms, rq->pid, vm, sizeof(vm));
	len = snprintf(buf, size, "%s%s%s %s queue %s head %s took %s", at, *vm ? " " : "", vm,
		       virtio_device_name(*rq->device ? rq->device : "unknown", rq->kind, device,
					  sizeof(device)),
		       virtio_queue_label(rq->kind, rq->queue, rq->data, queue, sizeof(queue)),
		       virtio_queue_print(rq->head, head, sizeof(head)),
		       duration_print(path_end_ns(rq) - start_ns, took, sizeof(took)));
	if (rq->guest && (size_t)len < size)
		snprintf(buf + len, size - (size_t)len, ": %c %" PRIu64 "+%u",
			 rq->guest->block.op ? rq->guest->block.op : '-', rq->guest->block.sector,
			 rq->guest->block.sectors);
	return buf;
}

const char *path_part_print(const struct path_part *p, char *buf, size_t size)
{
	char stage[STAGE_BYTES];
	const char *state = state_of(p->role, p->run);

	snprintf(buf, size, "%s %s%s%s", stage_print(p->from, p->to, stage, sizeof(stage)),
		 path_role_names[p->role], *state ? " " : "", state);
	return buf;
}

const char *path_cpu_print(uint16_t cpu, char *buf, size_t size)
{
	snprintf(buf, size, cpu == RECORD_CPU_UNKNOWN ? "a CPU" : "CPU %u", cpu);
	return buf;
}

static void part_print(const struct path_request *rq, const struct path_part *p, FILE *f)
{
	char stage[STAGE_BYTES], from[16], took[16], cpu[16];

	fprintf(f, "%8s %8s  %-15s %-10s %-9s ",
		duration_print(p->start_ns - path_start_ns(rq), from, sizeof(from)),
		duration_print(p->end_ns - p->start_ns, took, sizeof(took)),
		stage_print(p->from, p->to, stage, sizeof(stage)), path_role_names[p->role],
		state_of(p->role, p->run));
	bar_print(p, path_start_ns(rq), path_end_ns(rq), f);
	fputc('\n', f);
	if (p->run == PATH_RUNQUEUE && *p->other && p->other_tid)
		fprintf(f, "%19s  thread %u waits for %s: %s (%u) runs\n", "", p->tid,
			path_cpu_print(p->cpu, cpu, sizeof(cpu)), p->other, p->other_tid);
}

void path_report_waterfall(const struct path_report *r, FILE *f)
{
	struct path_part part[PATH_PARTS_MAX];
	char text[REQUEST_BYTES];

	for (size_t i = 0; i < r->nr_slowest; i++) {
		unsigned int nr = path_parts(r->path, r->slowest[i], part);

		if (i)
			fputc('\n', f);
		fprintf(f, "%s\n", path_request_print(r, r->slowest[i], text, sizeof(text)));
		for (unsigned int k = 0; k < nr; k++)
			part_print(r->slowest[i], &part[k], f);
	}
}
