// SPDX-License-Identifier: GPL-2.0-or-later
#include "analyzers/profile/profile.h"
#include "base/saturate.h"

struct wait_profile {
	struct wait_causes *causes;
	struct wait_sums *sums;
};

static unsigned int split(void *arg, const struct sample *s, double start_ns, double ns,
			  struct profile_part ret[PROFILE_PARTS_MAX])
{
	static const char *const frames[CAUSES] = {"[preempted]", "[vmm]",   "[device]", "[halted]",
						   "[kernel]",	  "[guest]", "[unknown]"};
	struct wait_profile *p = arg;
	uint64_t part[CAUSES], start = uint64_of_double(start_ns);
	unsigned int nr = 0;

	wait_causes_of(p->causes, s->cpu, start, start + uint64_of_double(ns), part);
	for (int i = 0; i < CAUSES; i++) {
		p->sums->ns[i] += part[i];
		if (part[i])
			ret[nr++] = (struct profile_part){frames[i], (double)part[i]};
	}
	if (!nr) /* a wait of length 0 */
		ret[nr++] = (struct profile_part){frames[CAUSE_UNKNOWN], 0};
	return nr;
}

int wait_profile(struct sample_trace *t, const struct profile_options *opt,
		 const struct wait_causes_input *host, struct calltree **ret,
		 struct wait_sums *ret_sums)
{
	_cleanup_(wait_causes_cleanup_) struct wait_causes *causes = NULL;
	struct wait_profile p = {.sums = ret_sums};
	struct profile_options with_causes = *opt;
	int err = wait_causes_open(host, &causes);

	*ret_sums = (struct wait_sums){0};
	p.causes = causes;
	with_causes.split = split;
	with_causes.split_arg = &p;
	if (!err)
		err = sample_profile(t, &with_causes, ret);
	if (err)
		return err;
	ret_sums->sees_devices = wait_causes_sees_devices(causes);
	ret_sums->refused = wait_causes_refused(causes);
	return 0;
}
