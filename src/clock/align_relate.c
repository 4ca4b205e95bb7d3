// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A guest's trace.dat that trace-cmd recorded together with its host's contains trace-cmd's measurements. With the
 * protocol "kvm" these are KVM's offset and ratio of each vCPU, and a sample is valid until the next. With "PTP" it is
 * how far the clocks were from each other at a few moments, and between them time runs evenly, as in
 * trace-cmd-report(1).
 */
#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "base/error.h"
#include "clock/align_internal.h"

enum { SCALE_BITS = 48 };

/* Clocks of one kind run alike: a slope beyond this is a broken sample. */
#define SLOPE_MAX 0.01

struct sample {
	unsigned int cpu;
	uint64_t guest, host;
};

static struct sample shift_sample(json_t *item, struct clock_report *r)
{
	uint64_t guest = (uint64_t)json_integer_value(json_object_get(item, "time"));
	uint64_t offset = (uint64_t)json_integer_value(json_object_get(item, "offset"));
	struct clock_segment s = {
		.offset = (int64_t)-offset,
		.scale = (uint64_t)json_integer_value(json_object_get(item, "scale")),
		.scale_bits = (uint32_t)json_integer_value(json_object_get(item, "scale_bits"))};
	if (s.scale_bits > CLOCK_SCALE_BITS_MAX)
		s.scale_bits = 0;
	uint64_t host = clock_segment_host(&s, guest);

	*r = (struct clock_report){.host_tsc = host,
				   .offset = s.offset,
				   .scale = s.scale,
				   .scale_bits = s.scale_bits};
	return (struct sample){
		.cpu = (unsigned int)json_integer_value(json_object_get(item, "cpu")),
		.guest = guest, .host = host};
}

/* From a on time runs towards b. False: there is no line through both. */
static bool run_evenly(const struct sample *a, const struct sample *b, struct clock_report *r)
{
	double guest = (double)(int64_t)(b->guest - a->guest),
	       host = (double)(int64_t)(b->host - a->host);
	struct clock_segment s = {.scale_bits = SCALE_BITS};

	if (a->cpu != b->cpu || host <= 0 || !(guest / host > 1 - SLOPE_MAX) ||
	    guest / host > 1 + SLOPE_MAX)
		return false;
	s.scale = (uint64_t)(guest / host * (double)(1ull << SCALE_BITS) + 0.5);
	r->scale = s.scale;
	r->scale_bits = SCALE_BITS;
	r->offset = (int64_t)(a->guest - clock_segment_guest(&s, a->host));
	return true;
}

/* The last of a CPU has the slope of its predecessor; a single one has no slope. */
static void lines_draw(const struct sample *s, size_t nr, struct clock_report *r)
{
	for (size_t i = 0; i < nr; i++) {
		struct clock_report last = r[i];

		if (r[i].scale_bits || (i + 1 < nr && run_evenly(&s[i], &s[i + 1], &r[i])))
			continue;
		if (i && run_evenly(&s[i - 1], &s[i], &last)) {
			struct clock_segment line = {.scale = last.scale, .scale_bits = SCALE_BITS};

			r[i].scale = line.scale;
			r[i].scale_bits = SCALE_BITS;
			r[i].offset = (int64_t)(s[i].guest - clock_segment_guest(&line, s[i].host));
		}
	}
}

/* Samples are grouped by CPU. */
static void reports_give(struct align_guest *g, const struct sample *s, size_t nr)
{
	for (size_t i = 0; i < nr; i++) {
		struct clock_input *in;

		if (s[i].cpu >= g->nr_vcpus)
			continue;
		in = &g->input[s[i].cpu];
		if (!in->nr_reports)
			in->report = &g->shift[i];
		in->nr_reports++;
	}
}

/* Uses trace-cmd's measurements instead of the kernel's reports if the host's recording has none. */
static int align_shifts(const struct align *a, struct align_guest *g, const struct trace_info *info,
			struct clock_options *opt)
{
	json_t *list = json_object_get(info->meta, "time_shift"), *item;
	_cleanup_free_ struct sample *s = NULL;
	size_t i, nr = json_array_size(list);

	for (unsigned int v = 0; v < g->nr_vcpus; v++)
		if (g->input[v].nr_reports)
			return 0;
	if (!nr || align_guest_is_tsc(info) != a->ticks_known) /* the offsets are between clocks of one kind */
		return 0;
	g->shift = calloc(nr, sizeof(*g->shift));
	s = calloc(nr, sizeof(*s));
	if (!g->shift || !s)
		return fail(-ENOMEM, "out of memory");
	json_array_foreach (list, i, item)
		s[i] = shift_sample(item, &g->shift[i]);
	if (json_is_true(json_object_get(info->meta, "time_shift_linear")))
		lines_draw(s, nr, g->shift);
	reports_give(g, s, nr);
	if (!opt->nominal_scale && json_object_get(json_array_get(list, 0), "scale")) {
		opt->nominal_scale = g->shift[0].scale; /* should the offset be rejected */
		opt->nominal_bits = g->shift[0].scale_bits;
	}
	opt->method = a->clock ? opt->method : NULL;
	return 0;
}

/*
 * Relates one guest's timestamps to the host, once they are read: with the vCPUs of the VM that the guest is.
 *
 * A vCPU is never identified by its number alone, as two VMs both have vCPU 0. Which VM it is, in this order:
 *
 *   1. --vm
 *   2. the guest's trace id, where the host's trace.dat lists the guests that were recorded with it (option GUEST)
 *   3. the only VM of the recording
 *   4. the only VM that passes verification. If it is unknown which vCPU threads belong together, each thread
 *      is tried by itself for each vCPU of the guest.
 */

/* How far a clock that is not the TSC may be from its nominal rate: NTP slews by up to 500 ppm. */
#define DRIFT_MAX_PPB 500000.0

/* Of two clocks of one machine, in ticks: ns, or cycles of a counter. */
#define RATE_MAX 1e6

/* Ticks of the guest's clock per ns; 0: it is the TSC, and the trace does not give its rate. */
static double guest_ticks_per_ns(const struct trace_info *info)
{
	const char *clock = json_string_value(json_object_get(info->meta, "clock"));
	json_t *ring = json_object_get(info->meta, "guest_ring");

	double ns_per_tick = json_real_value(json_object_get(info->meta, "tsc_ns_per_tick"));

	if (ns_per_tick > 0)
		return 1 / ns_per_tick; /* a trace.dat's TSC2NSEC */
	if (clock && !strcmp(clock, "guest-tsc"))
		return (double)json_integer_value(json_object_get(ring, "clock_hz")) / 1e9;
	return clock ? 1 : 0; /* local, mono, ...: ns */
}

static bool is_uptime(const struct trace_info *info)
{
	const char *clock = json_string_value(json_object_get(info->meta, "clock"));

	return clock && !strcmp(clock, "guest-uptime");
}

/* The vCPUs of a VM; `only`: no other vCPU than this one, -1: all. */
static int vcpus_join(struct align *a, struct align_guest *g, uint32_t pid, int only)
{
	int err = 0;

	for (unsigned int i = 0; !err && i < a->nr_vcpus; i++) {
		const struct align_vcpu *v = &a->vcpu[i];

		if (v->pid != pid || (only >= 0 && v->vcpu != only))
			continue;
		err = align_vcpus_reserve(g, v->vcpu + 1u);
		if (err)
			break;
		g->by_userspace |= !v->exits && v->spans.nr;
		g->input[v->vcpu].span = v->spans.span;
		g->input[v->vcpu].nr_spans = v->spans.nr;
		g->input[v->vcpu].repaired = v->spans.repaired;
		g->input[v->vcpu].report = v->report;
		g->input[v->vcpu].nr_reports = v->nr_reports;
	}
	return err;
}

static int nominal_take(const struct align *a, const struct trace_info *info,
			struct clock_options *opt)
{
	double rate = guest_ticks_per_ns(info);

	if (a->ticks_known && (align_guest_is_tsc(info) || rate == 0))
		return 0;
	if (rate == 0 && align_guest_is_tsc(info) && !opt->have_given)
		return fail(-ENODATA,
			    "the guest's timestamps are TSC ticks of unknown rate, and the "
			    "host's are not TSC ticks");
	if (!opt->have_given)
		opt->method = "fitted"; /* the kernel's offsets are between TSCs */
	rate = rate > 0 ? rate / clock_mono_ticks_per_ns(&a->mono) : 1;
	if (!(rate >= 1 / RATE_MAX && rate <= RATE_MAX))
		return fail(-ENODATA,
			    "the guest's clock makes %g ticks for each of the host's: its rate is "
			    "wrong",
			    rate);
	opt->nominal_scale = (uint64_t)(rate * (double)(1ull << 32) + 0.5);
	opt->nominal_bits = 32;
	opt->drift_max_ppb = DRIFT_MAX_PPB;
	return 0;
}

static void error_take(const struct align *a, struct align_guest *g)
{
	for (unsigned int v = 0; v < g->relation.nr_vcpus; v++) {
		double ns = g->relation.vcpu[v].error_ticks / align_guest_ticks_per_ns(a, g);

		if (g->input[v].nr_stamps && ns > g->error_ns)
			g->error_ns = ns;
	}
}

/* A guest that timestamps in ns: through its kvm-clock, if the host recorded how that runs; else as any
 * clock. */
static int relation_find(struct align *a, struct align_guest *g, const struct trace_info *info,
			 const struct clock_options *opt, uint32_t pid)
{
	bool ns = info && !align_guest_is_tsc(info) && !opt->have_given;
	bool asked = a->clock && !strcmp(a->clock, "fit");
	int err = ns && !asked ? align_pvclock(a, g, pid, is_uptime(info)) : -ENODATA;

	if (err != -ENODATA)
		return err;
	return clock_align(g->input, g->nr_vcpus, opt, &g->relation);
}

static void limits_drop(struct align_guest *g)
{
	for (unsigned int v = 0; v < g->nr_vcpus; v++) {
		g->input[v].limit = NULL;
		g->input[v].nr_limits = 0;
	}
}

/* Requests that were paired wrongly may contradict each other: then without them. */
static int relation_limited(struct align *a, struct align_guest *g, const struct trace_info *info,
			    const struct clock_options *opt, uint32_t pid)
{
	int err = relation_find(a, g, info, opt, pid);

	if (!g->limit || g->by_disk ||
	    (!err && !*g->relation.note && !clock_proof_sum(&g->relation).violations))
		return err;
	if (!err) {
		align_pvclock_free(g);
		clock_relation_deinit(&g->relation);
	}
	limits_drop(g);
	return relation_find(a, g, info, opt, pid);
}

/* info NULL: there is no guest trace. */
static int relate(struct align *a, struct align_guest *g, const struct trace_info *info,
		  const struct clock_options *given, uint32_t pid, int only)
{
	struct clock_options opt = *given;
	int err = vcpus_join(a, g, pid, only);

	if (!err && info)
		err = nominal_take(a, info, &opt);
	if (!err && info)
		err = align_shifts(a, g, info, &opt);
	if (!err && info)
		err = align_limits(a, g, pid, align_guest_is_tsc(info));
	if (!err)
		err = relation_limited(a, g, info, &opt, pid);
	if (err)
		return err;
	if (g->shift && !strcmp(g->relation.protocol->name, "read") && !*g->relation.note)
		snprintf(g->relation.note, sizeof(g->relation.note),
			 "the guest's offset was measured by trace-cmd while recording; its error "
			 "is not part of the bound");
	clock_check(&g->relation, align_input(g), g->nr_vcpus, &g->work);
	error_take(a, g);
	return 0;
}

/* Everything that relate() made; the timestamps stay. */
static void relate_undo(struct align_guest *g)
{
	align_pvclock_free(g);
	clock_relation_deinit(&g->relation);
	free(g->shift);
	free(g->limit);
	g->shift = NULL;
	g->limit = NULL;
	g->by_disk = g->by_kicks = g->by_userspace = false;
	g->error_ns = 0;
	for (unsigned int v = 0; v < g->nr_vcpus; v++)
		g->input[v] = (struct clock_input){.stamp = g->input[v].stamp,
						   .nr_stamps = g->input[v].nr_stamps};
}

/* ---- which VM ---- */

enum { TRIALS_MAX = 256 }; /* VMs, or threads of one vCPU number, that are tried */

/* How well a VM fits; more is better. */
enum rank {
	RANK_NONE,
	RANK_FEW_OUTSIDE, /* at most 1 event in CLOCK_REFUTED */
	RANK_UNCHECKED,	  /* too few events to tell */
	RANK_PLAUSIBLE,	  /* likewise, but an offset that was read places most events in the host's recording */
	RANK_FITTED,	  /* verified, by an offset fitted to these same events */
	RANK_EXACT,	  /* verified, by an offset that was given or read */
};

struct trial {
	uint32_t pid;
	int err;
	enum rank rank;
	struct clock_proof proof;
};

static enum rank trial_rank(const struct align_guest *g, const struct clock_proof *proof)
{
	bool exact = strcmp(g->relation.protocol->name, "fitted");

	switch (clock_verdict(&g->relation)) {
	case CLOCK_VERIFIED:
		return exact ? RANK_EXACT : RANK_FITTED;
	case CLOCK_NOT_CHECKED:
		return exact && proof->checked > proof->unchecked ? RANK_PLAUSIBLE : RANK_UNCHECKED;
	case CLOCK_UNRELIABLE:
		break;
	}
	return proof->violations <= proof->checked / CLOCK_REFUTED ? RANK_FEW_OUTSIDE : RANK_NONE;
}

static void trial_run(struct align *a, struct align_guest *g, const struct trace_info *info,
		      const struct clock_options *opt, int only, struct trial *t)
{
	t->err = relate(a, g, info, opt, t->pid, only);
	if (!t->err) {
		t->proof = clock_proof_sum(&g->relation);
		t->rank = trial_rank(g, &t->proof);
	}
	relate_undo(g);
}

/* The only VM of the best rank, unless the events are too few to tell. */
static const struct trial *trial_choose(const struct trial *t, unsigned int nr)
{
	const struct trial *best = NULL;
	unsigned int nr_best = 0;

	for (unsigned int i = 0; i < nr; i++) {
		if (!t[i].rank || (best && t[i].rank < best->rank))
			continue;
		nr_best = best && best->rank == t[i].rank ? nr_best + 1 : 1;
		best = &t[i];
	}
	return nr_best == 1 && best->rank != RANK_UNCHECKED ? best : NULL;
}

/* What was tried and how it came out, for the message. */
static int trials_failed(const struct align_guest *g, const struct trial *t, unsigned int nr,
			 int vcpu)
{
	enum rank best = RANK_NONE;
	char list[512] = "", of[32] = "";

	for (unsigned int i = 0; i < nr; i++) {
		size_t len = strlen(list);

		best = t[i].rank > best ? t[i].rank : best;
		snprintf(list + len, sizeof(list) - len,
			 "%s %u (%" PRIu64 " of %" PRIu64 " outside)", i ? "," : "", t[i].pid,
			 t[i].proof.violations, t[i].proof.checked);
	}
	if (vcpu >= 0)
		snprintf(of, sizeof(of), " for its vCPU %d", vcpu);
	return fail(-EINVAL,
		    "%s: the host's recording has several VMs, and the guest's events %s%s; "
		    "select one with --vm:%s",
		    g->path,
		    best == RANK_NONE	     ? "fit none of them"
		    : best == RANK_UNCHECKED ? "do not show which of them it is"
					     : "fit more than one of them",
		    of, list);
}

/* The VMs, or the threads of this vCPU number: each pid once. */
static unsigned int trials_list(const struct align *a, int vcpu, struct trial *ret)
{
	unsigned int nr = 0;

	for (unsigned int i = 0; i < a->nr_vcpus && nr < TRIALS_MAX; i++) {
		unsigned int k = 0;

		if (vcpu >= 0 && a->vcpu[i].vcpu != vcpu)
			continue;
		while (k < nr && ret[k].pid != a->vcpu[i].pid)
			k++;
		if (k == nr)
			ret[nr++] = (struct trial){.pid = a->vcpu[i].pid};
	}
	return nr;
}

static int vm_prove(struct align *a, struct align_guest *g, const struct trace_info *info,
		    const struct clock_options *opt, int vcpu, uint32_t *ret)
{
	struct trial trial[TRIALS_MAX];
	unsigned int nr = trials_list(a, vcpu, trial), nr_over = 0;
	const struct trial *best;

	for (unsigned int i = 0; i < nr; i++) {
		uint64_t share = g->work / (nr - i + 1), others = g->work - share; /* + 1: the VM that is chosen */

		g->work = share;
		trial_run(a, g, info, opt, vcpu, &trial[i]);
		g->work += others;
		nr_over += trial[i].err == -E2BIG;
	}
	best = trial_choose(trial, nr);
	if (!best)
		return nr_over ? clock_work_over() : trials_failed(g, trial, nr, vcpu);
	*ret = best->pid;
	return 0;
}

/* Is every VM a single thread, so that it is unknown which belong together? */
static bool threads_alone(const struct align *a)
{
	for (unsigned int i = 0; i < a->nr_vcpus; i++)
		for (unsigned int k = 0; k < i; k++)
			if (a->vcpu[i].pid == a->vcpu[k].pid)
				return false;
	return true;
}

/* Finds the thread of each vCPU separately; those found become one VM with the pid of the first. */
static int threads_prove(struct align *a, struct align_guest *g, const struct trace_info *info,
			 const struct clock_options *opt, uint32_t *ret)
{
	uint32_t pid[ALIGN_VCPUS_MAX] = {0};
	bool any = false;

	for (unsigned int v = 0; v < g->nr_vcpus; v++) {
		int err = g->input[v].nr_stamps ? vm_prove(a, g, info, opt, (int)v, &pid[v]) : 0;

		if (err)
			return err;
	}
	for (unsigned int v = 0; v < g->nr_vcpus; v++) {
		if (!pid[v])
			continue;
		if (!any)
			*ret = pid[v];
		any = true;
		for (unsigned int i = 0; i < a->nr_vcpus; i++)
			if (a->vcpu[i].pid == pid[v])
				a->vcpu[i].pid = *ret;
	}
	return any ? 0 : fail(-ENODATA, "%s: no events to relate", g->path);
}

static unsigned int vcpus_used(const struct align_guest *g)
{
	unsigned int nr = 0;

	for (unsigned int v = 0; v < g->nr_vcpus; v++)
		nr += g->input[v].nr_stamps > 0;
	return nr;
}

/* By the trace id; *ret_unlisted: the host lists its guests, but not this one. */
static bool vm_by_trace_id(const struct align *a, const struct trace_info *info, uint32_t *ret,
			   bool *ret_unlisted)
{
	json_t *id = info ? json_object_get(info->meta, "trace_id") : NULL;

	*ret_unlisted = false;
	for (unsigned int i = 0; id && i < a->nr_vms; i++) {
		if (!a->vm[i].has_trace_id)
			continue;
		*ret_unlisted = a->vm[i].trace_id != (uint64_t)json_integer_value(id);
		*ret = a->vm[i].pid;
		if (!*ret_unlisted)
			return true;
	}
	return false;
}

static int vm_choose(struct align *a, struct align_guest *g, const struct trace_info *info,
		     const struct clock_options *opt, uint32_t *ret, bool *ret_unlisted)
{
	struct trial vm[TRIALS_MAX];
	unsigned int nr = trials_list(a, -1, vm);
	bool known = vm_by_trace_id(a, info, ret, ret_unlisted);

	for (unsigned int i = 0; known && i < nr; i++)
		if (vm[i].pid == *ret)
			return 0;
	if (known && !a->selected)
		return 0;
	*ret_unlisted |= known; /* another one is selected */
	*ret = nr ? vm[0].pid : a->pid;
	if (nr <= 1)
		return 0;
	if (!info)
		return fail(-ENODATA,
			    "the host's recording has several VMs; select the guest's with --vm");
	return threads_alone(a) && vcpus_used(g) > 1 ? threads_prove(a, g, info, opt, ret)
						     : vm_prove(a, g, info, opt, -1, ret);
}

int align_relate(struct align *a, struct align_guest *g, const struct trace_info *info,
		 const struct clock_options *opt)
{
	static const char strange[] =
		"this guest's trace was not recorded together with this host's: "
		"the trace ids differ";
	bool unlisted = false;
	uint32_t pid = 0;
	size_t len;
	int err = vm_choose(a, g, info, opt, &pid, &unlisted);

	g->pid = pid;
	if (!err) {
		err = relate(a, g, info, opt, pid, -1);
		if (err == -ENODATA && !info)
			fail(err, "no guest trace is merged (--guest), and the recording has no "
				  "TSC offsets");
	}
	if (err)
		return unlisted ? fail_hint(err, "%s", strange) : err;
	len = strlen(g->relation.note);
	if (unlisted)
		snprintf(g->relation.note + len, sizeof(g->relation.note) - len, "%s%s",
			 len ? "; " : "", strange);
	return 0;
}
