// SPDX-License-Identifier: GPL-2.0-or-later
#include "output/path_report.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "base/error.h"
#include "base/units.h"
#include "output/report.h"
#include "pairing/elements.h"

enum { STAGE_BYTES = 32, DEVICE_BYTES = 128, REQUEST_BYTES = 512, BAR_COLUMNS = 22, VHOST_MAX = 8 };

static uint64_t share_of(unsigned __int128 part, uint64_t whole)
{
	return whole ? (uint64_t)(part * 100000 / whole) : 0;
}

static const char *stage_print(enum path_point from, enum path_point to, char *buf, size_t size)
{
	snprintf(buf, size, "%s-%s", path_points[from].name, path_points[to].name);
	return buf;
}

static const char *state_of(enum path_role role, enum thread_run run)
{
	return role == PATH_NOBODY || run == THREAD_UNKNOWN ? "" : thread_run_names[run];
}

/* "/machine/peripheral/disk/virtio-backend": disk */
static const char *device_print(const char *path, char *buf, size_t size)
{
	static const char tail[] = "/virtio-backend";
	size_t len = strlen(path);
	const char *name;

	snprintf(buf, size, "%s", *path ? path : "unknown");
	if (len < size && len > sizeof(tail) - 1 && !strcmp(path + len - sizeof(tail) + 1, tail))
		buf[len - sizeof(tail) + 1] = '\0';
	name = strrchr(buf, '/');
	return name ? name + 1 : buf;
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

static int stage_row(const struct path_report *r, struct path_stage *s, struct table *t)
{
	const struct path_device_sum *d = &r->summary->device[s->device];
	struct cell *row = table_row(t);
	char text[VM_NAME_BYTES];

	if (!row)
		return -ENOMEM;
	if (r->vms)
		(row++)->text = table_text(t, vm_name(r->vms, d->pid, text, sizeof(text)));
	(row++)->text = *d->device ? table_text(t, d->device) : "unknown";
	(row++)->text = table_text(t, stage_print(s->from, s->to, text, sizeof(text)));
	(row++)->text = path_role_names[s->role];
	(row++)->text = state_of(s->role, s->run);
	(row++)->number = s->ns.count;
	(row++)->number = share_of(s->ns.sum, d->time_ns);
	(row++)->number = (uint64_t)s->ns.sum;
	(row++)->number = quantiles_at(&s->ns, .5);
	(row++)->number = quantiles_at(&s->ns, .99);
	(row++)->number = s->ns.max;
	return 0;
}

int path_report_stages(const struct path_report *r, struct table *t)
{
	size_t nr;
	_cleanup_free_ struct path_stage **list = path_summary_stages(r->summary, &nr);
	int err = list ? 0 : fail(-ENOMEM, "out of memory");

	if (r->vms)
		table_column(t, "vm", "VM", COL_TEXT, 0);
	table_column(t, "device", "device", COL_PATH, 0);
	table_column(t, "stage", "stage", COL_TEXT, 0);
	table_column(t, "thread", "thread", COL_TEXT, 0);
	table_column(t, "state", "state", COL_TEXT, 0);
	table_column(t, "requests", "count", COL_COUNT, 0);
	table_column(t, "share", "share", COL_PERCENT, 0);
	table_column(t, "time_ns", NULL, COL_NS, 0);
	table_column(t, "p50_ns", "p50", COL_NS, 0);
	table_column(t, "p99_ns", "p99", COL_NS, 0);
	table_column(t, "max_ns", "max", COL_NS, 1);
	for (size_t i = 0; i < nr && !err; i++)
		err = stage_row(r, list[i], t);
	return err;
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
	char device[DEVICE_BYTES], at[32], vm[VM_NAME_BYTES] = "", took[16];
	int len;

	seconds_print(start_ns > r->start_ns ? start_ns - r->start_ns : 0, at, sizeof(at));
	if (r->vms)
		vm_name(r->vms, rq->pid, vm, sizeof(vm));
	len = snprintf(buf, size, "%s%s%s %s queue %u head %u took %s", at, *vm ? " " : "", vm,
		       device_print(rq->device, device, sizeof(device)), rq->queue, rq->head,
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

static void part_print(const struct path_request *rq, const struct path_part *p, FILE *f)
{
	char stage[STAGE_BYTES], from[16], took[16];

	fprintf(f, "%8s %8s  %-15s %-10s %-9s ",
		duration_print(p->start_ns - path_start_ns(rq), from, sizeof(from)),
		duration_print(p->end_ns - p->start_ns, took, sizeof(took)),
		stage_print(p->from, p->to, stage, sizeof(stage)), path_role_names[p->role],
		state_of(p->role, p->run));
	bar_print(p, path_start_ns(rq), path_end_ns(rq), f);
	fputc('\n', f);
	if (p->run == THREAD_RUNQUEUE && *p->other && p->other_tid)
		fprintf(f, "%19s  thread %u waits for CPU %u: %s (%u) runs\n", "", p->tid, p->cpu,
			p->other, p->other_tid);
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
