// SPDX-License-Identifier: GPL-2.0-or-later
/* The protocols, and the choice among them: the first that can be used and passes verification. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/error.h"
#include "clock/protocols.h"

static int vcpu_one_segment(struct clock_vcpu *v, const struct clock_segment *s)
{
	v->segment = malloc(sizeof(*s));
	if (!v->segment)
		return fail(-ENOMEM, "clock: out of memory");
	v->segment[0] = *s;
	v->segment[0].from = 0;
	v->nr_segments = 1;
	return 0;
}

static int make_given(const struct clock_input *in, unsigned int nr,
		      const struct clock_options *opt, struct clock_relation *ret)
{
	int err = 0;

	(void)in;
	if (!opt->have_given)
		return fail(-ENODATA, "no offset was given");
	for (unsigned int v = 0; !err && v < nr; v++) {
		err = vcpu_one_segment(&ret->vcpu[v], &opt->given);
		ret->vcpu[v].error_ticks = 1 + opt->host_error_ticks;
	}
	return err;
}

static bool any_reports(const struct clock_input *in, unsigned int nr)
{
	return array_any(nr, v, in[v].nr_reports);
}

/*
 * A vCPU that was never in guest mode while an offset applied has no timestamps with it: such segments only confuse,
 * the 0 before the first write above all.
 */
static void segments_prune(struct clock_vcpu *v, const struct clock_input *in)
{
	size_t kept = 0, span = 0;

	if (!in->nr_spans)
		return;
	for (size_t i = 0; i < v->nr_segments; i++) {
		uint64_t end = i + 1 < v->nr_segments ? v->segment[i + 1].from : UINT64_MAX;

		while (span < in->nr_spans && in->span[span].leave < v->segment[i].from)
			span++;
		if (span < in->nr_spans && in->span[span].enter < end)
			v->segment[kept++] = v->segment[i];
	}
	if (kept) {
		v->nr_segments = kept;
		v->segment[0].from = 0;
	}
}

static int read_as(const struct clock_input *in, unsigned int nr, const struct clock_options *opt,
		   bool in_effect, struct clock_relation *ret)
{
	int err = 0;

	if (!any_reports(in, nr))
		return fail(-ENODATA, "the recording has no TSC offset of any vCPU");
	for (unsigned int v = 0; !err && v < nr; v++) {
		if (in[v].nr_stamps && !in[v].nr_reports && in_effect)
			return fail(-ENODATA, "the recording has no TSC offset of vCPU %u", v);
		err = clock_vcpu_read(&ret->vcpu[v], in[v].report, in[v].nr_reports, in_effect);
		segments_prune(&ret->vcpu[v], &in[v]);
		ret->vcpu[v].error_ticks = 1 + opt->host_error_ticks;
		if (!err)
			err = clock_changes_place(&ret->vcpu[v], &in[v], opt->work);
	}
	return err;
}

static int make_read(const struct clock_input *in, unsigned int nr, const struct clock_options *opt,
		     struct clock_relation *ret)
{
	return read_as(in, nr, opt, true, ret);
}

static int make_unapplied(const struct clock_input *in, unsigned int nr,
			  const struct clock_options *opt, struct clock_relation *ret)
{
	int err = read_as(in, nr, opt, false, ret);

	if (!err)
		snprintf(ret->note, sizeof(ret->note),
			 "the TSC offset that the kernel reports is not in effect: "
			 "the guest reads the host's TSC");
	return err;
}

/*
 * In the order in which they are tried. `read` is listed twice: some backends report an offset that they do not apply.
 * The events show which case it is.
 */
static const struct clock_protocol protocols[] = {
	{"given", "exact, if it is right", make_given},
	{"read", "1 tick; the rest is host TSC to clock", make_read},
	{"read", "1 tick; the rest is host TSC to clock", make_unapplied},
	{"fitted", "half the width of the feasible band", clock_fit},
	{NULL},
};

static void vcpus_clear(struct clock_relation *rel)
{
	for (unsigned int v = 0; v < rel->nr_vcpus; v++) {
		free(rel->vcpu[v].segment);
		rel->vcpu[v] = (struct clock_vcpu){0};
	}
	rel->note[0] = '\0';
}

void clock_relation_deinit(struct clock_relation *rel)
{
	vcpus_clear(rel);
	free(rel->vcpu);
	*rel = (struct clock_relation){0};
}

/* Does it place all of the guest's events outside of the host's recording, although there is something to check? */
static bool missed(const struct clock_proof *proof, const struct clock_input *in, unsigned int nr)
{
	if (proof->checked || !proof->unchecked)
		return false;
	return array_any(nr, v, in[v].nr_stamps && in[v].nr_spans > 1);
}

/* A relation that is not verified, and how well it would do; more is better. */
enum fallback { REFUTED, MISSED, FEW_OUTSIDE, UNCHECKED };

/* `fitted` leaves as few events outside as possible and has a limit of its own. */
static enum fallback fallback_of(const struct clock_protocol *p, const struct clock_proof *proof,
				 const struct clock_input *in, unsigned int nr)
{
	if (p->make != clock_fit && proof->violations * CLOCK_REFUTED > proof->checked)
		return REFUTED;
	if (proof->violations)
		return FEW_OUTSIDE;
	return missed(proof, in, nr) ? MISSED : UNCHECKED;
}

/* Why an offset that was given or read is not used. */
static void note_unused(char *why, size_t size, const char *name, enum fallback how,
			const struct clock_proof *proof)
{
	if (how == MISSED)
		snprintf(why, size,
			 "the %s offset was rejected: it places no guest event within the host's "
			 "recording",
			 name);
	else if (how == UNCHECKED)
		snprintf(why, size,
			 "the %s offset is not used: only %llu of %llu guest events can be checked "
			 "with it",
			 name, (unsigned long long)proof->checked,
			 (unsigned long long)(proof->checked + proof->unchecked));
	else
		snprintf(why, size,
			 "the %s offset was rejected: it places %llu of %llu guest events outside "
			 "guest mode",
			 name, (unsigned long long)proof->violations,
			 (unsigned long long)proof->checked);
}

static void note_join(struct clock_relation *rel, const char *why)
{
	size_t len = strlen(rel->note);

	if (why[0])
		snprintf(rel->note + len, sizeof(rel->note) - len, "%s%s", len ? "; " : "", why);
}

/* Makes it and proves it. -ENODATA: cannot be used here; else as clock_align(). */
static int protocol_try(const struct clock_protocol *p, const struct clock_input *in,
			unsigned int nr, const struct clock_options *opt,
			struct clock_relation *ret, struct clock_proof *proof)
{
	int err;

	vcpus_clear(ret);
	ret->protocol = p;
	ret->host_error_ticks = opt->host_error_ticks;
	ret->tries = 1;
	err = p->make(in, nr, opt, ret);
	if (err)
		return err;
	*proof = clock_check(ret, in, nr, opt->work);
	return *opt->work ? clock_chance(ret, in, nr, opt->work, &ret->log_chance)
			  : clock_work_over();
}

/* The best that is not verified. */
struct choice {
	const struct clock_protocol *protocol, *unused; /* unused: of which `why` speaks */
	enum fallback how;
	char why[128];
};

static void choice_take(struct choice *c, const struct clock_protocol *p, enum fallback how,
			const struct clock_proof *proof)
{
	if (!c->unused) {
		c->unused = p;
		note_unused(c->why, sizeof(c->why), p->name, how, proof);
	}
	if (!c->protocol || how > c->how) {
		c->protocol = p;
		c->how = how;
	}
}

/* The user insists on a protocol: it is used, and its violations are shown. */
static bool choice_usable(const struct choice *c, const struct clock_options *opt)
{
	return c->protocol && (c->how != REFUTED || opt->method);
}

static int choice_make(const struct choice *c, const struct clock_input *in, unsigned int nr,
		       const struct clock_options *opt, struct clock_relation *ret)
{
	struct clock_proof proof;
	int err = protocol_try(c->protocol, in, nr, opt, ret, &proof);

	if (!err && c->unused != c->protocol)
		note_join(ret, c->why);
	if (!err && c->how == MISSED)
		note_join(ret, "no guest event lies within the host's recording");
	return err;
}

int clock_align(const struct clock_input *in, unsigned int nr, const struct clock_options *given,
		struct clock_relation *ret)
{
	uint64_t own_work = CLOCK_WORK_MAX;
	struct clock_options options = *given, *opt = &options;
	struct choice choice = {0};
	struct clock_proof proof;
	int err;

	*ret = (struct clock_relation){.vcpu = calloc(nr ? nr : 1, sizeof(*ret->vcpu))};
	if (nr > CLOCK_VCPUS_MAX || !ret->vcpu) {
		clock_relation_deinit(ret);
		return fail(-ENOMEM, "clock: out of memory");
	}
	ret->nr_vcpus = nr;
	options.work = given->work ? given->work : &own_work;
	err = fail(-ENODATA, "unknown clock method \"%s\"", opt->method ? opt->method : "");
	for (const struct clock_protocol *p = protocols; p->name; p++) {
		if (opt->method && strcmp(opt->method, p->name))
			continue;
		err = protocol_try(p, in, nr, opt, ret, &proof);
		if (!err && clock_verdict(ret) == CLOCK_VERIFIED) {
			note_join(ret, choice.why);
			return 0;
		}
		if (err && err != -ENODATA)
			break;
		if (!err)
			choice_take(&choice, p, fallback_of(p, &proof, in, nr), &proof);
	}
	if (err != -ENOMEM && *opt->work && choice_usable(&choice, opt))
		err = choice_make(&choice, in, nr, opt, ret);
	else if (!err)
		err = *opt->work ? fail(-ENODATA, "%s", choice.why) : clock_work_over();
	if (err)
		clock_relation_deinit(ret);
	return err;
}
