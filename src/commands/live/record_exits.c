// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * record --exit-reasons: kvm_exit without the instruction pointer and the qualification, which KVM must request from an
 * Intel CPU by VMREAD.
 */
#include <errno.h>

#include "base/error.h"
#include "commands/common/command.h"
#include "commands/live/record.h"

static bool wanted;

/* clang-format off */
const struct option_row record_exits_options[] = {
	{0, "exit-reasons", OPT_FLAG, &wanted, NULL, "of exits, record only the reason, which costs less on Intel CPUs"},
	{0},
};
/* clang-format on */

static int exits_choose(struct collector_options *c)
{
	c->exit_reasons = wanted;
	if (wanted && !c->wants[EV_kvm_exit])
		return fail_usage(-EINVAL,
				  "--exit-reasons has no effect: kvm_exit is not among the "
				  "recorded events; add it to --events, or leave out "
				  "--exit-reasons");
	return 0;
}

static int exits_start(struct recording *r)
{
	if (wanted && !collector_exit_reasons(r->collector))
		command_note("--exit-reasons has no effect: it requires kvm_intel and its "
			     "tracepoint kvm_exit");
	return 0;
}

static void meta(struct recording *r, json_t *meta, bool final)
{
	if (!final && collector_exit_reasons(r->collector))
		json_object_set_new(meta, "notes",
				    json_pack("[s]", "exits were recorded with their reason only "
						     "(--exit-reasons): instruction pointers and "
						     "qualifications are unknown"));
}

const struct record_part record_exits_part = {
	.choose = exits_choose,
	.start = exits_start,
	.meta = meta,
};
