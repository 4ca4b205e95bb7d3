// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * record --sample HZ: the sampling clock whose ticks `profile --host` counts, and which code each VM's process has
 * mapped, by which it names the host's call chains. It is listed when the recording starts: what a VM maps later has no
 * names. A VM that is started meanwhile is listed twice, as it first runs and a second later, when its libraries are
 * there.
 */
#include <errno.h>

#include "base/clock.h"
#include "base/error.h"
#include "collector/code_list.h"
#include "commands/common/command.h"
#include "commands/live/record.h"

enum { SAMPLE_HZ_MAX = 20000 };

static uint64_t sample_hz;
static bool frames;

static struct {
	json_t *list;
	unsigned int nr_vms; /* the first of the recording that are listed */
	unsigned int beyond;
	uint64_t seen_ns; /* the next one was listed first; 0: not yet */
} code;

/* clang-format off */
const struct option_row record_sample_options[] = {
	{0, "sample", OPT_U64,  &sample_hz, "HZ", "sample the guest's instruction pointer, and the host's call chains, at HZ (profile --host); odd rates such as 997 avoid lockstep with the guest's timer"},
	{0, "frames", OPT_FLAG, &frames,    NULL, "with --sample: also record the guest's call chains (by frame pointers)"},
	{0},
};
/* clang-format on */

static int sample_choose(struct collector_options *c)
{
	if (sample_hz > SAMPLE_HZ_MAX)
		return fail_usage(-EINVAL, "--sample: the rate must not exceed %d Hz",
				  SAMPLE_HZ_MAX);
	if (!sample_hz && option_is_given(command_given, record_sample_options))
		return fail_usage(-EINVAL, "--sample: the rate must be at least 1 Hz");
	if (frames && !sample_hz)
		return fail_usage(-EINVAL, "--frames requires --sample HZ");
	c->sample_hz = sample_hz;
	c->sample_frames = frames;
	if (sample_hz)
		c->wants[EV_guest_sample] = c->wants[EV_guest_stack] = c->wants[EV_host_stack] =
			true;
	return 0;
}

static void code_add(struct recording *r, unsigned int i, bool again)
{
	code.beyond += code_list_add(code.list, r->vms[i].pid, again);
}

static int sample_begin(struct recording *r)
{
	if (!sample_hz)
		return 0;
	code.list = json_array();
	code_list_add_kernel(code.list);
	for (unsigned int i = 0; i < r->nr_vms && !r->argv; i++)
		code_add(r, i, false);
	code.nr_vms = r->argv ? 0 : r->nr_vms;
	return 0;
}

/* VMs that were started meanwhile, in the order in which they were found. */
static int sample_round(struct recording *r, uint64_t now_ns)
{
	if (!sample_hz || code.nr_vms == r->nr_vms || !r->watch[code.nr_vms].is_vm)
		return 0;
	if (!code.seen_ns) {
		code_add(r, code.nr_vms, false);
		code.seen_ns = now_ns;
	} else if (now_ns - code.seen_ns > NS_PER_S) {
		code_add(r, code.nr_vms++, true);
		code.seen_ns = 0;
	}
	return 0;
}

static void sample_meta(struct recording *r, json_t *meta, bool final)
{
	(void)r;
	if (!sample_hz)
		return;
	if (!final)
		json_object_set_new(meta, "sample_hz", json_integer((json_int_t)sample_hz));
	json_object_set(meta, "code_maps", code.list);
}

static void sample_summary(struct recording *r)
{
	(void)r;
	if (code.beyond)
		command_note("warning: mapped files beyond the first %d are not listed: their code "
			     "has no names (%u)",
			     CODE_LIST_MAX, code.beyond);
}

static void sample_close(struct recording *r)
{
	(void)r;
	json_decref(code.list);
}

const struct record_part record_sample_part = {
	.choose = sample_choose,
	.begin = sample_begin,
	.round = sample_round,
	.meta = sample_meta,
	.summary = sample_summary,
	.close = sample_close,
};
