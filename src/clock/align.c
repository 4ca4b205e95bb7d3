// SPDX-License-Identifier: GPL-2.0-or-later
/* A guest's relation to the host, one row per vCPU and segment, each with its verification: the data of
 * `hostrace sync`. */
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "base/array.h"
#include "base/error.h"
#include "clock/align_internal.h"
#include "readers/readers.h"

struct rows {
	struct align_row *row;
	size_t nr;
};

static double scale_of(const struct clock_segment *s)
{
	return s->scale_bits && s->scale ? ldexp((double)s->scale, -(int)s->scale_bits) : 1;
}

/* The verification of one segment: of its timestamps, from `first` on. */
static struct clock_proof segment_proof(struct clock_vcpu *v, const struct clock_input *in,
					size_t segment, size_t *first, struct clock_cursor *cursor)
{
	struct clock_vcpu one = {
		.segment = &v->segment[segment], .nr_segments = 1, .error_ticks = v->error_ticks};
	struct clock_relation rel = {.vcpu = &one, .nr_vcpus = 1};
	struct clock_input part = *in;
	size_t end = *first;

	while (end < in->nr_stamps) {
		struct clock_cursor c = *cursor;

		clock_vcpu_host(v, &c, in->stamp[end]);
		if (c.segment > segment)
			break;
		*cursor = c;
		end++;
	}
	part.nr_stamps = end - *first;
	part.stamp = part.nr_stamps ? in->stamp + *first : NULL;
	*first = end;
	return clock_check(&rel, &part, 1, NULL);
}

static int64_t rounded(double v)
{
	return v > 9e18 ? INT64_MAX : v < -9e18 ? INT64_MIN : (int64_t)llround(v);
}

static int row_add(struct rows *rows, const struct align *a, const struct align_guest *g,
		   unsigned int vcpu, size_t segment, const struct clock_proof *p)
{
	const struct clock_vcpu *v = &g->relation.vcpu[vcpu];
	const struct clock_segment *seg = &v->segment[segment];
	double rate = align_guest_ticks_per_ns(a, g), scale = scale_of(seg);

	if (array_room(rows->row, rows->nr))
		return -ENOMEM;
	rows->row[rows->nr++] = (struct align_row){
		.vcpu = vcpu,
		.method = g->relation.protocol->name,
		.from_ns = segment ? align_guest_ns(a, g, vcpu, seg->from) : 0,
		.offset = (int64_t)seg->offset,
		.offset_ns = rounded((double)seg->offset / (rate * scale)),
		.scale = scale,
		.drift_ppb = v->drift_ppb,
		.error_ns = rounded(ceil(v->error_ticks / rate)),
		.proof = *p,
		.worst_ns = rounded((double)p->worst_ticks / rate),
		.repaired = segment ? 0 : g->input[vcpu].repaired,
	};
	return 0;
}

static int vcpu_rows(struct rows *rows, const struct align *a, const struct align_guest *g,
		     unsigned int vcpu)
{
	struct clock_vcpu *v = &g->relation.vcpu[vcpu];
	const struct clock_input *in = &align_input(g)[vcpu];
	struct clock_cursor cursor = {0};
	size_t first = 0;
	int err = 0;

	if (g->path && !in->nr_stamps)
		return 0;
	for (size_t i = 0; i < v->nr_segments && !err; i++) {
		struct clock_proof p = segment_proof(v, in, i, &first, &cursor);

		err = row_add(rows, a, g, vcpu, i, &p);
	}
	return err;
}

int align_rows(const struct align *a, const struct align_guest *g, struct align_row **ret,
	       size_t *ret_nr)
{
	struct rows rows = {0};
	int err = 0;

	for (unsigned int v = 0; v < g->relation.nr_vcpus && !err; v++)
		err = vcpu_rows(&rows, a, g, v);
	if (err) {
		free(rows.row);
		return err;
	}
	*ret = rows.row;
	*ret_nr = rows.nr;
	return 0;
}

/*
 * Limits an alignment to the VMs, vCPUs and threads that the user selected, after the host's inputs are read: only then
 * is it known which vCPUs and threads there are, and an error message can list them.
 */

enum { SELECT_TEXT = 400 };

static bool listed(const uint32_t *list, unsigned int nr, uint32_t value)
{
	for (unsigned int i = 0; i < nr; i++)
		if (list[i] == value)
			return true;
	return !nr;
}

/* ---- what there is ---- */

static const char *vm_name(const struct align *a, uint32_t pid)
{
	for (unsigned int i = 0; i < a->nr_vms; i++)
		if (a->vm[i].pid == pid)
			return a->vm[i].name;
	return "";
}

/* "VM 100 (red): vCPU 0 (thread 100), vCPU 1 (thread 101); VM 200 ..." */
static void vcpus_list(const struct align *a, char *text, size_t size)
{
	size_t len = 0;

	text[0] = 0;
	for (unsigned int i = 0; i < a->nr_vcpus && len + 160 < size; i++) {
		const struct align_vcpu *v = &a->vcpu[i], *last = i ? v - 1 : NULL;
		bool same = last && last->pid == v->pid;

		len += (size_t)snprintf(text + len, size - len, "%s", same ? ", " : i ? "; " : "");
		if (!same && v->pid)
			len += (size_t)snprintf(text + len, size - len, "VM %" PRIu32 "%s%.64s%s: ",
						v->pid, *vm_name(a, v->pid) ? " (" : "",
						vm_name(a, v->pid),
						*vm_name(a, v->pid) ? ")" : "");
		len += (size_t)snprintf(text + len, size - len, "vCPU %u", v->vcpu);
		if (v->tid)
			len += (size_t)snprintf(text + len, size - len, " (thread %" PRIu32 ")",
						v->tid);
	}
	if (len + 160 >= size)
		snprintf(text + len, size - len, ", ...");
	text_sanitize(text);
}

static int by_vm(const void *va, const void *vb)
{
	const struct align_vcpu *a = va, *b = vb;

	if (a->pid != b->pid)
		return a->pid < b->pid ? -1 : 1;
	return (a->vcpu > b->vcpu) - (a->vcpu < b->vcpu);
}

static int nothing_selected(const struct align *a, const char *what, uint32_t value)
{
	char text[SELECT_TEXT];

	vcpus_list(a, text, sizeof(text));
	return fail(-ESRCH, "the host's recording has no %s %" PRIu32 "; it has: %s", what, value,
		    text);
}

/* ---- threads without a process ---- */

/*
 * In a recording without process ids two threads that ran a vCPU of the same number are of two VMs. Which other threads
 * belong to them is unknown: each becomes a VM of its own, as in readers/ftrace/vm_threads.h.
 */
void align_threads_split(struct align *a)
{
	bool collide = false;

	for (unsigned int i = 0; i < a->nr_vcpus; i++)
		for (unsigned int k = 0; k < i; k++)
			collide |= !a->vcpu[i].pid && !a->vcpu[k].pid &&
				   a->vcpu[i].vcpu == a->vcpu[k].vcpu;
	for (unsigned int i = 0; collide && i < a->nr_vcpus; i++)
		if (!a->vcpu[i].pid)
			a->vcpu[i].pid = a->vcpu[i].tid;
}

/* ---- the selection ---- */

/* Does any vCPU pass these? */
static bool any_selected(const struct align *a, const struct align_selection *s)
{
	return array_any(a->nr_vcpus, i,
			 listed(s->pids, s->nr_pids, a->vcpu[i].pid) &&
				 listed(s->vcpus, s->nr_vcpus, a->vcpu[i].vcpu) &&
				 listed(s->tids, s->nr_tids, a->vcpu[i].tid));
}

int align_select(struct align *a, const struct align_selection *selection)
{
	struct align_selection s = *selection;
	unsigned int kept = 0;

	if (a->nr_vcpus)
		qsort(a->vcpu, a->nr_vcpus, sizeof(*a->vcpu), by_vm);
	a->pid = s.nr_pids == 1 ? s.pids[0] : 0;
	if (!a->nr_vcpus)
		return 0;
	if (!any_selected(a, &(struct align_selection){.pids = s.pids, .nr_pids = s.nr_pids}))
		return nothing_selected(a, "vCPU of VM", s.pids[0]);
	if (!any_selected(a, &(struct align_selection){.vcpus = s.vcpus, .nr_vcpus = s.nr_vcpus}))
		return nothing_selected(a, "vCPU", s.vcpus[0]);
	if (s.nr_tids && !any_selected(a, &s)) { /* they may be a guest's tasks, or QEMU's other threads */
		a->unmatched_tid = s.tids[0];
		s.nr_tids = 0;
	}
	if (!any_selected(a, &s))
		return nothing_selected(a, "such vCPU in the selected VMs: vCPU", s.vcpus[0]);
	a->only_selected = s.nr_vcpus || s.nr_tids;
	a->by_tids = s.nr_tids;
	a->selected = s.nr_pids || a->only_selected;
	for (unsigned int i = 0; i < a->nr_vcpus; i++) {
		struct align_vcpu *v = &a->vcpu[i];

		if (listed(s.pids, s.nr_pids, v->pid) && listed(s.vcpus, s.nr_vcpus, v->vcpu) &&
		    listed(s.tids, s.nr_tids, v->tid))
			a->vcpu[kept++] = *v;
		else
			align_vcpu_deinit(v);
	}
	a->nr_vcpus = kept;
	return 0;
}

bool align_by_tids(const struct align *a)
{
	return a->by_tids;
}

int align_check_tids(const struct align *a)
{
	return a->unmatched_tid ? nothing_selected(a, "vCPU thread", a->unmatched_tid) : 0;
}

bool align_uses_cpu(const struct align *a, unsigned int cpu)
{
	for (unsigned int i = 0; a->only_selected && i < a->nr_vcpus; i++)
		if (a->vcpu[i].vcpu == cpu)
			return true;
	return !a->only_selected;
}

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
			    ev->cpu == RECORD_CPU_UNKNOWN || !align_uses_cpu(a, ev->cpu))
				continue;
			if (nr++ >= ALIGN_TIMESTAMPS_MAX) {
				g->stamps_refused++;
				continue;
			}
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
	if (err != -ENODATA || !g->path)
		return err;
	return fail_hint(err, "give the offset with --clock OFFSET[,SCALE]");
}

static int guest_make(struct align *a, struct align_guest *g)
{
	struct clock_options opt = {.host_error_ticks = a->host_error_ticks, .work = &g->work};
	struct read_hint hint = {.until_ns = UINT64_MAX, .files = a->files, .guest = true};
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
	free(a->losses);
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
