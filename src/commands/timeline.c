// SPDX-License-Identifier: GPL-2.0-or-later
/* Who did what when, host and guest on one clock; or the spans of an analyzer, one after the other.
 */
#include <errno.h>
#include <string.h>

#include "analyzers/timeline/timeline.h"
#include "base/error.h"
#include "commands/common/command.h"
#include "commands/common/input.h"
#include "commands/common/output.h"
#include "commands/common/reports.h"
#include "commands/common/requests_read.h"
#include "commands/common/view_run.h"
#include "event/thread_names.h"
#include "event/vm_names.h"
#include "output/report.h"
#include "pairing/analyzer.h"

extern const struct view timeline_view;

enum { GUESTS_MAX = 256 };

static const char *by;

/* clang-format off */
static const struct option_row timeline_options[] = {
	{0, "by", OPT_TEXT, &by, "KEY[,KEY]", "with an analyzer: one track per value of these keys"},
	{0},
};
/* clang-format on */

static const struct option_row *const options[] = {input_rows, output_file_options,
						   timeline_options, NULL};

struct links {
	struct timeline_link *list;
	size_t nr;
};

struct drawing {
	struct input_set *in;
	struct timeline *t;
	struct thread_names *names;
	struct timeline_host *host;
	struct timeline_guest *guest[GUESTS_MAX];
};

static int guest_event(struct drawing *d, const struct event *ev)
{
	bool named = input_set_nr_vms(d->in) > 1 && vm_is_known(d->in->vms, ev->pid);
	struct timeline_guest **g = &d->guest[ev->source];
	char vm[VM_NAME_BYTES];
	int err = 0;

	if (ev->source >= GUESTS_MAX)
		return 0;
	if (!*g)
		err = timeline_guest_new(
			d->t, input_set_name(d->in, ev->source),
			named ? vm_name(d->in->vms, ev->pid, vm, sizeof(vm)) : NULL, g);
	if (!err)
		timeline_guest_event(*g, ev);
	return err;
}

static int handle(void *arg, const struct event *ev)
{
	struct drawing *d = arg;

	thread_names_event(d->names, ev);
	if (ev->time_ns >= d->in->until_ns)
		return 0; /* it names others */
	if (!input_set_selects(d->in, ev) && !trim_is_naming(ev->type))
		return 0; /* it names threads */
	if (input_set_is_guest(d->in, ev->source))
		return input_set_selects(d->in, ev) ? guest_event(d, ev) : 0;
	timeline_host_event(d->host, ev);
	return 0;
}

static int read_all(struct drawing *d)
{
	int err = input_set_thread_names(d->in, d->names);

	if (!err)
		err = reader_each(d->in->reader, handle, d);
	if (err)
		return err;
	timeline_host_end(d->host, input_set_end_ns(d->in));
	for (unsigned int i = 0; i < GUESTS_MAX; i++)
		if (d->guest[i])
			timeline_guest_end(d->guest[i], input_set_end_ns(d->in));
	return 0;
}

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

static int links_fill(const struct request *rq, size_t nr, struct links *ret)
{
	ret->list = malloc((3 * nr + 1) * sizeof(*ret->list));
	if (!ret->list)
		return fail(-ENOMEM, "out of memory");
	for (size_t i = 0; i < nr; i++) {
		struct timeline_link l = {
			.flow = i + 1, .pid = rq[i].pid, .complete_ns = rq[i].complete_ns};

		if (!rq[i].matched)
			continue;
		ret->list[ret->nr++] = link_at(&l, LINK_ISSUE, rq[i].issue_ns, rq[i].block.sector);
		ret->list[ret->nr++] = link_at(&l, LINK_POP, rq[i].pop_ns, rq[i].head);
		if (rq[i].exit_ns)
			ret->list[ret->nr++] = link_at(&l, LINK_EXIT, rq[i].exit_ns, rq[i].vcpu);
	}
	return 0;
}

/* A pass of its own, since a request is only known when it has ended. */
static int links_make(struct input_set *in, struct links *ret)
{
	_cleanup_(requests_cleanup_) struct requests *q = requests_new();
	struct request_totals totals;
	const struct request *rq;
	size_t nr;
	int err = q ? requests_read(q, in, &rq, &nr, &totals) : fail(-ENOMEM, "out of memory");

	return err ? err : links_fill(rq, nr, ret);
}

static int draw(struct input_set *in, struct output *out, struct links *links)
{
	_cleanup_thread_names_ struct thread_names *names = thread_names_new();
	static const struct report_needs needs = {
		.events = "kvm_exit,kvm_userspace_exit,virtqueue_pop",
		.record = "hostrace record"};
	struct report report = report_of(in, out);
	struct drawing d = {.in = in, .names = names};
	int err = names ? 0 : fail(-ENOMEM, "out of memory");

	report.needs = &needs;
	report.caveats = json_array();
	if (!err)
		err = timeline_open(format_find(out->format)->timeline, &report, report.caveats,
				    in->reader->info.start_ns, &d.t);
	if (!err) {
		timeline_window(d.t, input_set_start_ns(in), in->until_ns);
		timeline_links_set(d.t, links->list, links->nr);
		links->list = NULL;
	}
	if (!err)
		err = timeline_host_new(d.t, names, in->vms, input_set_foreign(in), &d.host);
	if (!err)
		err = read_all(&d);
	timeline_host_free(d.host);
	for (unsigned int i = 0; i < GUESTS_MAX; i++)
		timeline_guest_free(d.guest[i]);
	if (names && thread_names_refused(names))
		json_array_append_new(
			report.caveats,
			json_sprintf("more than %d threads: further threads have no name",
				     THREADS_MAX));
	if (err)
		timeline_cancel(d.t);
	else
		err = timeline_close(d.t);
	json_decref(report.caveats);
	return err;
}

static int run(int argc, char **argv, char **rest)
{
	_cleanup_input_set_ struct input_set *in = NULL;
	struct output out;

	(void)rest;
	if (argc && (!strncmp(argv[0], "pair:", 5) || analyzer_find(argv[0], NULL))) {
		if (input_add_args(argc - 1, argv + 1, OPTION_LIST_MAX))
			return command_usage("%s", error_text());
		return view_run(&timeline_view, argv[0], by);
	}
	if (by)
		return command_usage("--by requires an analyzer");
	if (input_add_args(argc, argv, OPTION_LIST_MAX) || output_open(timeline_formats, &out))
		return command_failed();
	struct links links = {0};
	int err = input_make(true, &in);

	if (!err && in->nr_guests)
		err = links_make(in, &links);
	if (!err)
		input_set_want_thread_names(in);
	if (!err)
		err = input_set_open_window(in, true, timeline_wants, NULL);
	if (!err)
		err = draw(in, &out, &links);
	free(links.list);
	return report_end(err, &out, in, false);
}

const struct command timeline_command = {
	.name = "timeline",
	.args = "[ANALYZER] [FILE...]",
	.summary = "Show threads, vCPUs, requests and guest tasks as tracks.",
	.group = "Report",
	.details =
		"-f perfetto writes a file for ui.perfetto.dev, -f chrome one for "
		"chrome://tracing;\n"
		"-f svg and -f html write a picture to zoom in with a browser. With an analyzer,\n"
		"its spans are the tracks.",
	.examples = "  hostrace timeline vm.hrt --guest guest.dat -f perfetto -o vm.pftrace\n"
		    "  hostrace timeline vm.hrt --since 1s --period 2ms -f svg -o moment.svg\n"
		    "  hostrace timeline exit-latency vm.hrt --by vcpu",
	.options = options,
	.rules = (const struct option_rule[]){{"limit", .formats = "text csv json"}, {0}},
	.run = run,
};
