// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Who did what when, host and guest on one clock. A timeline may be larger than memory: it is not kept, but written
 * while the events are read, to query.out. Which request of the guest is which element of the host is known only when
 * it has ended, and takes a pass before.
 */
#include <errno.h>

#include "base/error.h"
#include "reports/drawing.h"
#include "reports/reports.h"
#include "reports/requests_read.h"

static const struct report_needs timeline_needs = {
	.events = "kvm_exit,kvm_userspace_exit,virtqueue_pop", .record = "hostrace record"};

struct timeline_state {
	struct requests_pass requests;
	struct thread_names *names; /* NULL: in the pass before it */
	struct drawing d;
	struct report report;
};

/* ---- which request of the guest is which element of the host ---- */

static struct timeline_link link_at(const struct timeline_link *of, enum link_kind kind,
				    uint64_t ns, uint64_t number)
{
	struct timeline_link l = *of;

	l.kind = kind;
	l.ns = ns;
	l.number = number;
	return l;
}

static int links_set(struct timeline *t, const struct request *rq, size_t nr)
{
	struct timeline_link *list = malloc((3 * nr + 1) * sizeof(*list));
	size_t nr_links = 0;

	if (!list)
		return fail(-ENOMEM, "out of memory");
	for (size_t i = 0; i < nr; i++) {
		struct timeline_link l = {
			.flow = i + 1, .pid = rq[i].pid, .complete_ns = rq[i].complete_ns};

		if (!rq[i].matched)
			continue;
		list[nr_links++] = link_at(&l, LINK_ISSUE, rq[i].issue_ns, rq[i].block.sector);
		list[nr_links++] = link_at(&l, LINK_POP, rq[i].pop_ns, rq[i].head);
		if (rq[i].exit_ns)
			list[nr_links++] = link_at(&l, LINK_EXIT, rq[i].exit_ns, rq[i].vcpu);
	}
	timeline_links_set(t, list, nr_links);
	return 0;
}

/* ---- the passes ---- */

static bool needs_links(const struct result *r)
{
	return !r->pass && r->in->nr_guests && !r->query->out->tree; /* which has no arrows */
}

static bool timeline_report_wants(const char *event, void *result)
{
	const struct result *r = result;

	return timeline_wants(event, NULL) || (!r->pass && requests_wants(event, NULL));
}

static int drawing_begin(struct result *r, struct timeline_state *s)
{
	const struct output *out = r->query->out;
	const struct timeline_ops *ops = format_find(out->format)->timeline;
	int err = input_set_thread_names(r->in, s->names);

	s->d = (struct drawing){.in = r->in, .names = s->names, .until_ns = r->in->until_ns};
	s->report = result_report(r, out);
	s->report.caveats = json_array();
	if (!err)
		err = timeline_open(ops, &s->report, s->report.caveats,
				    r->in->reader->info.start_ns, &s->d.t);
	if (err)
		return err;
	timeline_window(s->d.t, input_set_start_ns(r->in), r->in->until_ns);
	err = links_set(s->d.t, s->requests.list, s->requests.nr);
	return err ? err : drawing_open(&s->d);
}

static int timeline_report_open(struct result *r)
{
	struct timeline_state *s = r->state;

	if (needs_links(r))
		return requests_pass_open(&s->requests, r->in);
	s->names = thread_names_new();
	return s->names ? drawing_begin(r, s) : fail(-ENOMEM, "out of memory");
}

static int timeline_report_event(void *state, const struct event *ev)
{
	struct timeline_state *s = state;

	if (!s->names) {
		requests_pass_event(&s->requests, ev);
		return 0;
	}
	thread_names_event(s->names, ev);
	return drawing_event(&s->d, ev);
}

static int timeline_report_end(struct result *r)
{
	struct timeline_state *s = r->state;
	int err;

	if (!s->names) {
		err = requests_pass_end(&s->requests);
		return err ? err : 1;
	}
	drawing_end(&s->d);
	return 0;
}

static int timeline_report_write(struct result *r, const struct output *out)
{
	struct timeline_state *s = r->state;
	struct timeline *t = s->d.t;

	s->report.out = out; /* that of the query */
	s->d.t = NULL;
	if (thread_names_refused(s->names))
		caveat_add(s->report.caveats, "more than %d threads: further threads have no name",
			   NAMED_THREADS_MAX);
	return timeline_close(t);
}

static void timeline_report_close(struct result *r)
{
	struct timeline_state *s = r->state;

	drawing_close(&s->d);
	if (s->d.t)
		timeline_cancel(s->d.t);
	thread_names_free(s->names);
	json_decref(s->report.caveats);
	requests_pass_close(&s->requests);
}

const struct report_ops timeline_report = {
	.reads = READ_GUESTS | READ_BEFORE | READ_THREAD_NAMES | READ_OTHER_THREADS,
	.state_bytes = sizeof(struct timeline_state),
	.wants = timeline_report_wants,
	.needs = &timeline_needs,
	.open = timeline_report_open,
	.event = timeline_report_event,
	.end = timeline_report_end,
	.write = timeline_report_write,
	.close = timeline_report_close,
};
