// SPDX-License-Identifier: GPL-2.0-or-later
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/error.h"
#include "clock/align_internal.h"
#include "readers/readers.h"

enum { SCALE_BITS = 48 };

/* ---- the user's request ---- */

/* --clock. 0 or -EINVAL with the error message set. */
static int clock_parse(const char *text, struct clock_options *opt)
{
	char *end;
	double scale = 1;

	if (!text)
		return 0;
	if (!strcmp(text, "read") || !strcmp(text, "fit")) {
		opt->method = !strcmp(text, "fit") ? "fitted" : "read";
		return 0;
	}
	errno = 0;
	opt->given.offset = strtoll(text, &end, 0);
	if (end != text && *end == ',') {
		const char *from = end + 1;

		scale = strtod(from, &end);
		if (end == from)
			end = (char *)text;
	}
	if (end == text || *end || errno || !(scale > 1e-3) || scale > 1e3)
		return fail_usage(-EINVAL,
				  "invalid --clock '%s' (expected read, fit or OFFSET[,SCALE])",
				  text);
	opt->method = "given";
	opt->have_given = true;
	if (scale != 1) {
		opt->given.scale = (uint64_t)(scale * (double)(1ull << SCALE_BITS) + 0.5);
		opt->given.scale_bits = SCALE_BITS;
	}
	return 0;
}

int align_clock_check(const char *clock)
{
	struct clock_options opt = {0};

	return clock_parse(clock, &opt);
}

/* ---- one guest ---- */

static int stamp_add(struct clock_input *in, uint64_t stamp)
{
	if (array_room(in->stamp, in->nr_stamps))
		return -ENOMEM;
	((uint64_t *)in->stamp)[in->nr_stamps++] = stamp;
	return 0;
}

int align_vcpus_reserve(struct align_guest *g, unsigned int nr)
{
	void *grown;

	if (nr <= g->nr_vcpus)
		return 0;
	if (nr > ALIGN_VCPUS_MAX)
		return fail(-E2BIG, "%s: the guest has more than %d vCPUs", g->path,
			    ALIGN_VCPUS_MAX);
	grown = realloc(g->input, nr * sizeof(*g->input));
	if (!grown)
		return fail(-ENOMEM, "out of memory");
	g->input = grown;
	memset(&g->input[g->nr_vcpus], 0, (nr - g->nr_vcpus) * sizeof(*g->input));
	g->nr_vcpus = nr;
	return 0;
}

bool align_guest_is_tsc(const struct trace_info *info)
{
	const char *clock = json_string_value(json_object_get(info->meta, "clock"));

	return !clock || !strcmp(clock, "guest-tsc");
}

/* Block requests are kept for align_limits(): timestamps of both ends, in the order of issue. */
static int block_take(struct align_guest *g, const struct event *ev)
{
	enum guest_event kind = guest_event_kind(ev->type);
	struct guest_block rq;

	if ((kind != GUEST_BLOCK_ISSUE && kind != GUEST_BLOCK_COMPLETE) || !guest_block(ev, &rq))
		return 0;
	if (!g->block)
		g->block = calloc(ALIGN_BLOCKS_MAX, sizeof(*g->block));
	if (!g->block)
		return fail(-ENOMEM, "out of memory");
	if (kind == GUEST_BLOCK_ISSUE) {
		if (g->nr_blocks < ALIGN_BLOCKS_MAX)
			g->block[g->nr_blocks++] =
				(struct align_block){.rq = rq, .issue = ev->time_ns};
		return 0;
	}
	for (size_t i = g->nr_blocks; i-- > 0 && g->work;) {
		struct align_block *b = &g->block[i];

		clock_work(&g->work, 1);
		if (b->complete || b->rq.major != rq.major || b->rq.minor != rq.minor ||
		    b->rq.sector != rq.sector || b->rq.op != rq.op)
			continue;
		b->complete = ev->time_ns;
		break;
	}
	return 0;
}

/* OSv's record of a kick, before it writes to the device; with kicking 0 there is none. */
static int kick_take(struct align_guest *g, const struct event *ev)
{
	uint64_t vring, kicking;

	if (guest_event_kind(ev->type) != GUEST_KICK || g->nr_kicks == ALIGN_KICKS_MAX ||
	    !guest_number(ev, a0, &vring) || !guest_number(ev, a1, &kicking) || !kicking)
		return 0;
	if (array_room(g->kick, g->nr_kicks))
		return -ENOMEM;
	g->kick[g->nr_kicks++] = (struct align_kick){vring, ev->time_ns};
	return 0;
}

/* Each CPU has a ring of its own, which may have lost its beginning: before that, kicks may be missing. */
static void kicks_trim(struct align_guest *g)
{
	uint64_t from = 0;
	size_t skip = 0;

	for (unsigned int v = 0; v < g->nr_vcpus; v++)
		if (g->input[v].nr_stamps && g->input[v].stamp[0] > from)
			from = g->input[v].stamp[0];
	while (skip < g->nr_kicks && g->kick[skip].stamp < from)
		skip++;
	g->nr_kicks -= skip;
	if (skip)
		memmove(g->kick, g->kick + skip, g->nr_kicks * sizeof(*g->kick));
}

static int stamps_read(const struct align *a, struct align_guest *g, struct reader *r)
{
	_cleanup_free_ struct batch *batch = malloc(sizeof(*batch));
	int more = 0, err = batch ? 0 : fail(-ENOMEM, "out of memory");
	uint64_t nr = 0;

	while (!err && (more = reader_next(r, batch)) > 0)
		for (unsigned int i = 0; !err && i < batch->nr; i++) {
			const struct event *ev = &batch->ev[i];

			/* A timestamp of 0 was made before the guest's clock ran. */
			if (ev->type->id == EV_lost || !ev->time_ns ||
			    !align_uses_cpu(a, ev->cpu) || nr++ >= ALIGN_TIMESTAMPS_MAX)
				continue;
			err = align_vcpus_reserve(g, ev->cpu + 1u);
			if (!err)
				err = block_take(g, ev);
			if (!err)
				err = kick_take(g, ev);
			if (!err)
				err = stamp_add(&g->input[ev->cpu], ev->time_ns);
			g->work += CLOCK_WORK_PER_EVENT;
		}
	return more < 0 ? more : err;
}

/* The hint for traces that cannot be related. */
static int unrelated(const struct align_guest *g, int err)
{
	if (err != -ENODATA)
		return err;
	if (!g->path)
		return fail(
			err,
			"no guest trace is merged (--guest), and the recording has no TSC offsets");
	return fail_hint(err, "give the offset with --clock OFFSET[,SCALE]");
}

static int guest_make(struct align *a, struct align_guest *g)
{
	struct clock_options opt = {.host_error_ticks = a->host_error_ticks, .work = &g->work};
	struct read_hint hint = {.until_ns = UINT64_MAX, .guest = true};
	_cleanup_reader_ struct reader *r = NULL;
	int err = clock_parse(a->clock, &opt);

	if (!err && g->path) {
		err = reader_open(g->path, &hint, &r);
		if (!err)
			err = stamps_read(a, g, r);
		if (!err) /* a relation is at most as accurate as the timestamps that it relates */
			opt.host_error_ticks += (double)trace_info_resolution(&r->info) *
						clock_mono_ticks_per_ns(&a->mono);
		if (!err)
			kicks_trim(g);
	}
	return err ? err : unrelated(g, align_relate(a, g, r ? &r->info : NULL, &opt));
}

int align_guest(struct align *a, const char *path, const struct align_guest **ret)
{
	struct align_guest *g;
	int err;

	for (unsigned int i = 0; i < a->nr_guests; i++) {
		const char *known = a->guest[i].path;

		*ret = &a->guest[i];
		if (known == path || (known && path && !strcmp(known, path)))
			return a->guest[i].err ? fail(a->guest[i].err, "%s", a->guest[i].why)
					       : 0;
	}
	if (a->nr_guests == ALIGN_GUESTS_MAX)
		return fail(-E2BIG, "more than %d guest traces", ALIGN_GUESTS_MAX);
	g = &a->guest[a->nr_guests++];
	*g = (struct align_guest){.path = path ? strdup(path) : NULL,
				  .work = a->work_max + CLOCK_WORK_PER_EVENT * a->marks};
	err = guest_make(a, g);
	if (err) {
		g->err = err;
		g->why = strdup(error_text());
		if (!g->why)
			return fail(-ENOMEM, "out of memory");
	}
	*ret = g;
	return err;
}

/* ---- all ---- */

int align_new(const char *const *hosts, unsigned int nr, const char *clock,
	      const struct align_selection *selection, struct align **ret)
{
	struct align *a = calloc(1, sizeof(*a));
	int err = a ? 0 : fail(-ENOMEM, "out of memory");

	if (err)
		return err;
	a->clock = clock;
	a->work_max = CLOCK_WORK_MAX;
	a->tsc_khz = selection ? selection->tsc_khz : 0;
	a->no_guest = selection && selection->no_guest;
	a->nr_hosts = nr;
	a->host = malloc((nr + 1) * sizeof(*a->host));
	for (unsigned int i = 0; a->host && i < nr; i++)
		a->host[i] = hosts[i];
	err = a->host ? align_clock_check(clock) : fail(-ENOMEM, "out of memory");
	for (unsigned int i = 0; !err && i < nr; i++)
		err = align_host_read(a, hosts[i]);
	if (!err) {
		align_threads_split(a);
		err = selection ? align_select(a, selection) : 0;
	}
	if (!err)
		err = align_host_end(a);
	if (err) {
		align_free(a);
		return err;
	}
	*ret = a;
	return 0;
}

static void guest_deinit(struct align_guest *g)
{
	for (unsigned int i = 0; i < g->nr_vcpus; i++)
		free((void *)g->input[i].stamp);
	align_pvclock_free(g);
	free(g->input);
	free(g->shift);
	free(g->block);
	free(g->limit);
	free(g->kick);
	free((void *)g->path);
	free(g->why);
	clock_relation_deinit(&g->relation);
}

void align_free(struct align *a)
{
	if (!a)
		return;
	for (unsigned int i = 0; i < a->nr_guests; i++)
		guest_deinit(&a->guest[i]);
	for (unsigned int i = 0; i < a->nr_vcpus; i++)
		align_vcpu_deinit(&a->vcpu[i]);
	free(a->host);
	free(a->pair);
	free(a->hole);
	free(a->element);
	elements_free(a->elements);
	clock_mono_deinit(&a->mono);
	free(a);
}

static uint64_t align_ns(const struct align *a, uint64_t tsc)
{
	return clock_mono_ns(&a->mono, tsc, NULL);
}

enum clock_verdict align_verdict(const struct align_guest *g, struct clock_proof *ret_sum)
{
	if (ret_sum)
		*ret_sum = clock_proof_sum(&g->relation);
	return clock_verdict(&g->relation);
}

const struct clock_input *align_input(const struct align_guest *g)
{
	return g->kvmclock ? g->kvmclock : g->input;
}

double align_guest_ticks_per_ns(const struct align *a, const struct align_guest *g)
{
	return align_on_kvmclock(g) ? 1 : clock_mono_ticks_per_ns(&a->mono);
}

uint64_t align_guest_ns(const struct align *a, const struct align_guest *g, unsigned int vcpu,
			uint64_t host)
{
	return align_ns(a, align_on_kvmclock(g) ? align_pvclock_tsc(g, vcpu, host) : host);
}
