// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * What threads do with their time (analyzers/sched): a row for each thread, for each task that ran instead of one,
 * for each event loop or for what these call. --vcpu and --tid select rows: the events of other threads show who ran
 * instead.
 */
#include <errno.h>

#include "analyzers/sched/sched.h"
#include "base/error.h"
#include "output/sched_report.h"
#include "reports/reports.h"
#include "reports/select.h"

static const struct report_needs sched_needs = {.events = "sched_switch",
						.record_for = "sched"};

static const struct report_needs handler_needs = {.events = "sched_stack",
						  .record_for = "sched"};

static int sched_open(struct result *r)
{
	struct sched *s = sched_new(input_set_host_start_ns(r->in), r->in->until_ns);

	r->state = s;
	if (!s)
		return fail(-ENOMEM, "out of memory");
	if (input_set_foreign(r->in))
		sched_set_foreign(s);
	return 0;
}

static int sched_feed(void *state, const struct event *ev)
{
	return sched_event(state, ev);
}

/* The metadata of a recording has them; a vCPU that stays in the VMM has no event of KVM's. */
static void vcpus_learn(struct sched *s, const struct input_set *in, uint16_t source)
{
	json_t *vm, *vcpu;
	size_t i, k;

	json_array_foreach (json_object_get(in->input[source].reader->info.meta, "vms"), i, vm)
		json_array_foreach (json_object_get(vm, "vcpus"), k, vcpu) {
			json_int_t tid = json_integer_value(json_object_get(vcpu, "tid")),
				   index = json_integer_value(json_object_get(vcpu, "index"));

			if (tid > 0 && tid <= UINT32_MAX && index >= 0 && index < RECORD_NO_VCPU)
				sched_vcpu_learn(s, source, (uint32_t)tid, (uint16_t)index);
		}
}

static int sched_finish(struct result *r)
{
	for (unsigned int i = 0; i < r->in->nr_hosts; i++)
		vcpus_learn(r->state, r->in, (uint16_t)i);
	return sched_end(r->state, input_set_host_end_ns(r->in));
}

static bool thread_selected(void *arg, const struct sched_thread *t)
{
	const struct input_options *given = arg;

	return number_selected(&given->vcpus, t->vcpu) && number_selected(&given->tids, t->tid);
}

static int sched_write(struct result *result, const struct output *out)
{
	static const struct sched_query defaults;
	const struct sched_query *q = result->query->of ?: &defaults;
	const struct input_set *in = result->in;
	struct sched_report r = {.sched = result->state,
				 .vms = input_set_nr_vms(in) > 1 || sched_nr_vms(result->state) > 1
						? in->vms
						: NULL,
				 .names = in->vms,
				 .foreign = input_set_foreign(in),
				 .ran_recorded = input_set_recorded(in, "sched_ran"),
				 .vms_only = !result->query->input->tids.nr,
				 .selects = thread_selected,
				 .arg = (void *)result->query->input,
				 .by_tid = q->by_tid};
	struct report report = result_report(result, out);
	struct table t = {0};
	char first[96];
	int err = q->loops	  ? sched_report_loops(&r, &t)
		  : q->by_handler ? sched_report_handlers(&r, &t)
		  : q->by_task	  ? sched_report_preemptors(&r, &t)
				  : sched_report_threads(&r, &t);

	if (q->by_handler)
		report.needs = &handler_needs;
	report.caveats = sched_report_caveats(&r);
	report.first_line = q->loops || q->by_handler
				    ? NULL
				    : sched_report_first_line(&r, first, sizeof(first));
	err = report_table_made(&report, err, &t);
	json_decref(report.caveats);
	return err;
}

static void sched_close(struct result *r)
{
	sched_free(r->state);
}

const struct report_ops sched_report = {
	.where_rows = true,
	.reads = READ_ALL_VCPUS | READ_ALL_THREADS | READ_BEFORE,
	.wants = sched_wants,
	.needs = &sched_needs,
	.optional = "kvm_exit,kvm_entry,kvm_userspace_exit,kvm_run",
	.open = sched_open,
	.event = sched_feed,
	.end = sched_finish,
	.write = sched_write,
	.close = sched_close,
};
