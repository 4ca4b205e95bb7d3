// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * What stands still when the recording starts, and has no event therefore: `hostrace stuck` looks at the VM while
 * probes are attached, and its answer goes into the file's metadata. The recording does not wait for it, but for its
 * end if the recording is shorter. Of one VM that already runs; of several, it would be known of one only.
 */
#include "base/error.h"
#include "base/json_text.h"
#include "commands/common/command.h"
#include "commands/live/record.h"
#include "output/stuck_kept.h"

static bool unwanted, faults_wanted;

/* clang-format off */
const struct option_row record_stuck_options[] = {
	{0, "no-stuck", OPT_FLAG, &unwanted, NULL, "do not look with 'hostrace stuck' for what stands still at the start of the recording"},
	{0},
};
/* clang-format on */

static void stuck_fail(struct recording *r, const char *why)
{
	r->stuck_kept = stuck_kept_error(why);
}

static int stuck_choose(struct collector_options *c)
{
	faults_wanted = c->wants[EV_host_fault];
	return 0;
}

/* It takes as long as to attach probes. That it cannot be done is no error of the recording. */
static int stuck_begin(struct recording *r)
{
	if (r->argv)
		return 0; /* it is not a VM yet */
	if (unwanted)
		stuck_fail(r, "--no-stuck");
	else if (faults_wanted)
		stuck_fail(r, "it reads guest memory, which makes faults (host_fault is recorded)");
	else if (r->nr_vms != 1)
		stuck_fail(r, "several VMs are recorded");
	else if (stuck_run_start(&r->stuck, r->vms[0].pid))
		stuck_fail(r, error_text());
	return 0;
}

static int stuck_round(struct recording *r, uint64_t now_ns)
{
	(void)now_ns;
	if (r->stuck.pid > 0)
		r->stuck_kept = stuck_run_end(&r->stuck, false);
	return 0;
}

static int stuck_stop(struct recording *r)
{
	if (r->stuck.pid > 0)
		r->stuck_kept = stuck_run_end(&r->stuck, true);
	return 0;
}

/* Attaching may take longer than looking: what was seen is taken to be so when the recording started. */
static void recording_reach(const struct recording *r)
{
	if ((uint64_t)number_of(r->stuck_kept, "end_ns") < r->start_ns &&
	    json_object_get(r->stuck_kept, "end_ns"))
		json_object_set_new(r->stuck_kept, "end_ns", json_integer((json_int_t)r->start_ns));
}

/* As the file is opened, and in a dump that is made meanwhile, the answer is not there. */
static void stuck_meta(struct recording *r, json_t *meta, bool final)
{
	(void) final;
	if (r->stuck_kept) {
		recording_reach(r);
		json_object_set(meta, "stuck", r->stuck_kept);
	} else if (r->stuck.pid > 0) {
		json_object_set_new(meta, "stuck",
				    stuck_kept_error("hostrace stuck had not ended"));
	}
}

static void stuck_summary(struct recording *r)
{
	size_t nr = json_array_size(json_object_get(r->stuck_kept, "findings"));
	const char *error = text_of(r->stuck_kept, "error");

	if (nr)
		command_note("%zu finding%s of what stood still when the recording started; "
			     "'hostrace info' prints %s",
			     nr, nr == 1 ? "" : "s", nr == 1 ? "it" : "them");
	else if (*error && !unwanted && !faults_wanted && r->nr_vms == 1)
		command_note("what stood still at the start is not recorded: %s", error);
}

static void stuck_close(struct recording *r)
{
	stuck_run_stop(&r->stuck);
	json_decref(r->stuck_kept);
	r->stuck_kept = NULL;
}

const struct record_part record_stuck_part = {
	.choose = stuck_choose,
	.begin = stuck_begin,
	.round = stuck_round,
	.stop = stuck_stop,
	.meta = stuck_meta,
	.summary = stuck_summary,
	.close = stuck_close,
};
