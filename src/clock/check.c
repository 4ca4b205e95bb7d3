// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Verification: every guest event must be between an entry and the following exit of its vCPU. A violation refutes the
 * relation; their absence, with thousands of events and gaps, is hard to get by chance.
 */
#include <errno.h>
#include <math.h>

#include "base/array.h"
#include "base/error.h"
#include "clock/clock.h"
#include "clock/protocols.h"

int clock_work_over(void)
{
	return fail(-E2BIG, "cannot determine the guest's clock: nothing decisive was found within "
			    "the work limit; give its offset with --clock OFFSET[,SCALE], or a "
			    "shorter recording");
}

size_t clock_span_before(const struct clock_input *in, uint64_t host)
{
	size_t lo = array_prefix(in->nr_spans, i, in->span[i].enter <= host);

	return lo ? lo - 1 : in->nr_spans;
}

int64_t clock_distance(const struct clock_input *in, uint64_t host)
{
	size_t i = clock_span_before(in, host);
	uint64_t left, right;

	if (i == in->nr_spans)
		return -1;
	if (host <= in->span[i].leave)
		return 0;
	if (i + 1 == in->nr_spans)
		return -1;
	left = host - in->span[i].leave;
	right = in->span[i + 1].enter - host;
	return (int64_t)(left < right ? left : right);
}

/* A vCPU that was never seen outside of guest mode can refute nothing. */
static void vcpu_check(struct clock_vcpu *v, const struct clock_input *in, uint64_t *work)
{
	struct clock_cursor c = {0};

	v->proof = (struct clock_proof){0};
	for (size_t i = 0; i < in->nr_stamps; i++) {
		uint64_t host = clock_vcpu_host(v, &c, in->stamp[i]);
		int64_t d = in->nr_spans > 1 ? clock_distance(in, host) : -1;

		if (work && !clock_work(work, 1 + c.steps))
			return;
		c.steps = 0;
		if (d < 0) {
			v->proof.unchecked++;
			continue;
		}
		v->proof.checked++;
		if ((double)d > v->error_ticks)
			v->proof.violations++;
		if ((uint64_t)d > v->proof.worst_ticks)
			v->proof.worst_ticks = (uint64_t)d;
	}
}

struct clock_proof clock_proof_sum(const struct clock_relation *rel)
{
	struct clock_proof sum = {0};

	for (unsigned int i = 0; i < rel->nr_vcpus; i++) {
		const struct clock_proof *p = &rel->vcpu[i].proof;

		sum.checked += p->checked;
		sum.unchecked += p->unchecked;
		sum.violations += p->violations;
		sum.worst_ticks =
			p->worst_ticks > sum.worst_ticks ? p->worst_ticks : sum.worst_ticks;
	}
	return sum;
}

struct clock_proof clock_check(struct clock_relation *rel, const struct clock_input *in,
			       unsigned int nr, uint64_t *work)
{
	for (unsigned int i = 0; i < nr && i < rel->nr_vcpus; i++)
		vcpu_check(&rel->vcpu[i], &in[i], work);
	return clock_proof_sum(rel);
}

enum clock_verdict clock_verdict(const struct clock_relation *rel)
{
	struct clock_proof sum = clock_proof_sum(rel);

	if (sum.violations)
		return CLOCK_UNRELIABLE;
	return sum.checked && rel->log_chance < -log(CLOCK_CHANCE) ? CLOCK_VERIFIED
								  : CLOCK_NOT_CHECKED;
}

const char *clock_verdict_name(enum clock_verdict verdict)
{
	static const char *const names[] = {[CLOCK_NOT_CHECKED] = "not checked",
					    [CLOCK_UNRELIABLE] = "unreliable",
					    [CLOCK_VERIFIED] = "verified"};

	return names[verdict];
}
