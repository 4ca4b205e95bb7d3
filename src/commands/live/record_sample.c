// SPDX-License-Identifier: GPL-2.0-or-later
/* record --sample HZ: the sampling clock whose ticks `profile --host` counts. */
#include <errno.h>

#include "base/error.h"
#include "commands/common/command.h"
#include "commands/live/record.h"

enum { SAMPLE_HZ_MAX = 20000 };

static uint64_t sample_hz;
static bool frames;

/* clang-format off */
const struct option_row record_sample_options[] = {
	{0, "sample", OPT_U64,  &sample_hz, "HZ", "sample the guest's instruction pointer at HZ (profile --host); odd rates such as 997 avoid lockstep with the guest's timer"},
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
		c->wants[EV_guest_sample] = c->wants[EV_guest_stack] = true;
	return 0;
}

static void sample_meta(struct recording *r, json_t *meta, bool final)
{
	(void)r;
	if (sample_hz && !final)
		json_object_set_new(meta, "sample_hz", json_integer((json_int_t)sample_hz));
}

const struct record_part record_sample_part = {
	.choose = sample_choose,
	.meta = sample_meta,
};
