// SPDX-License-Identifier: GPL-2.0-or-later
/* The protocols, and the choice among them: the first that can be used and passes verification. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "clock/clock.h"
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
	for (unsigned int v = 0; v < nr; v++)
		if (in[v].nr_reports)
			return true;
	return false;
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

/* `fitted` is last and reports its own failures; the others must pass the check, if there is one. */
static bool refuted(const struct clock_protocol *p, const struct clock_proof *proof)
{
	return p->make != clock_fit && proof->violations * CLOCK_REFUTED > proof->checked;
}

static void note_refused(char *why, size_t size, const char *name, const struct clock_proof *proof)
{
	if (!why[0])
		snprintf(why, size,
			 "the %s offset was rejected: it places %llu of %llu guest events outside "
			 "guest mode",
			 name, (unsigned long long)proof->violations,
			 (unsigned long long)proof->checked);
}

/* It places no guest event in the time that the host recorded: nothing was verified, and another may be right. */
static bool missed(const struct clock_proof *proof, const struct clock_input *in, unsigned int nr)
{
	if (proof->checked || !proof->unchecked)
		return false;
	for (unsigned int v = 0; v < nr; v++)
		if (in[v].nr_stamps && in[v].nr_spans)
			return true;
	return false;
}

static void note_missed(char *why, size_t size, const char *name)
{
	if (!why[0])
		snprintf(why, size,
			 "the %s offset was rejected: it places no guest event within the host's "
			 "recording",
			 name);
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
	err = p->make(in, nr, opt, ret);
	if (!err)
		*proof = clock_check(ret, in, nr);
	return err;
}

int clock_align(const struct clock_input *in, unsigned int nr, const struct clock_options *opt,
		struct clock_relation *ret)
{
	const struct clock_protocol *asked = NULL, *late = NULL;
	struct clock_proof proof;
	char why[128] = "";
	int err;

	*ret = (struct clock_relation){.nr_vcpus = nr, .vcpu = calloc(nr ? nr : 1, sizeof(*ret->vcpu))};
	if (nr > CLOCK_VCPUS_MAX || !ret->vcpu) {
		clock_relation_deinit(ret);
		return fail(-ENOMEM, "clock: out of memory");
	}
	err = fail(-ENODATA, "unknown clock method \"%s\"", opt->method ? opt->method : "");
	for (const struct clock_protocol *p = protocols; p->name; p++) {
		if (opt->method && strcmp(opt->method, p->name))
			continue;
		err = protocol_try(p, in, nr, opt, ret, &proof);
		if (!err && proof.violations && !ret->note[0])
			snprintf(ret->note, sizeof(ret->note),
				 "%llu of %llu guest events lie outside guest mode",
				 (unsigned long long)proof.violations,
				 (unsigned long long)proof.checked);
		if (!err && !refuted(p, &proof) && missed(&proof, in, nr)) {
			late = late ? late : p;
			note_missed(why, sizeof(why), p->name);
			err = fail(-ENODATA, "%s", why);
			continue;
		}
		if (!err && !refuted(p, &proof)) {
			note_join(ret, why);
			return 0;
		}
		if (err && err != -ENODATA)
			break;
		if (err)
			continue;
		asked = asked || !opt->method ? asked : p;
		note_refused(why, sizeof(why), p->name, &proof);
		err = fail(-ENODATA, "%s", why);
	}
	/* The user insists on one: it is used, and its violations are shown. Nothing fits at all: the first one. */
	if (late || asked)
		err = protocol_try(late ? late : asked, in, nr, opt, ret, &proof);
	if (!err && late)
		note_join(ret, "no guest event lies within the host's recording: the offset is not "
			       "verified");
	if (err)
		clock_relation_deinit(ret);
	return err;
}
