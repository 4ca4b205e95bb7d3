// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The first of two passes over a text (tracetext.h): which thread belongs to which VM, names of threads, losses, the
 * unit of times, and which lines the second pass needs. A line's layout can only be recognized by those before it, so
 * both passes parse in the same order.
 */
#include <ctype.h>
#include <errno.h>
#include <inttypes.h>

#include "base/array.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/order.h"
#include "readers/ftrace/tracedat_file.h"
#include "readers/text/text_source.h"
#include "readers/text/tracetext.h"

enum {
	CPUS = 4096,	   /* further CPUs' losses last from the beginning */
	COMM_BYTES = 24,
	ISA_TRIES = 1024,  /* exits in which a reason's name is looked for */
	COMMS = 1024,	   /* threads whose names are compared without a look into the metadata */
	CUT_TRIES = 1000,  /* events that are examined for their ends, but for the last one */
	LAST_BYTES = 1024, /* of the last event's line */
	PIECE_EVENTS_MIN = 2, /* above a blank line that separates pieces */
};

struct scan {
	struct tracetext *t;
	bool begun;
	enum text_layout layout; /* of the last line */
	uint64_t newest;
	uint64_t last_ns[CPUS];	  /* of each CPU's newest event; 0: none */
	uint32_t open_hole[CPUS]; /* index + 1 of the hole that the next event ends; 0: none */
	json_t *threads;
	unsigned int isa_tries;
	bool too_many_names; /* more than META_THREADS_MAX threads */
	struct text_tail tail;
	struct tick_rate rate; /* of a host's times in ticks */
	char last[LAST_BYTES + TEXT_LINE_SLACK]; /* the newest event's name and text */
	struct text_line last_line;		 /* ... in it */
	struct {
		uint32_t tid, len;
		char comm[COMM_BYTES];
	} known[COMMS];
};

/* The name of a thread in the newest of its lines. */
static void comm_learn(struct scan *s, const struct text_line *l)
{
	uint32_t len = l->comm.len < COMM_BYTES ? l->comm.len : COMM_BYTES - 1,
		 slot = l->tid % COMMS;
	char tid[16], comm[COMM_BYTES];

	if (!l->tid || !len ||
	    (s->known[slot].tid == l->tid && s->known[slot].len == len &&
	     !memcmp(s->known[slot].comm, l->comm.at, len)))
		return;
	s->known[slot].tid = l->tid;
	s->known[slot].len = len;
	memcpy(s->known[slot].comm, l->comm.at, len);
	if (json_object_size(s->threads) == META_THREADS_MAX) {
		s->too_many_names = true;
		return;
	}
	snprintf(tid, sizeof(tid), "%u", l->tid);
	memcpy(comm, l->comm.at, len);
	comm[len] = '\0';
	text_sanitize(comm);
	json_object_set_new(s->threads, tid, json_string(comm));
}

/* It ends with the next event of its CPU if until_ns is UINT64_MAX; `is_span`: it does not, and its begin is known. */
static int hole_add(struct scan *s, struct text_hole hole, bool is_span)
{
	struct tracetext *t = s->t;
	int err;

	if (hole.cpu < CPUS && !is_span)
		hole.from_ns = hole.is_gap ? 0 : s->last_ns[hole.cpu];
	if (t->nr_holes == TRACETEXT_HOLES_MAX) { /* the last stands for all others */
		t->hole[t->nr_holes - 1].cpu = RECORD_CPU_UNKNOWN;
		t->hole[t->nr_holes - 1].until_ns = UINT64_MAX;
		return 0;
	}
	err = array_room(t->hole, t->nr_holes);
	if (err)
		return err;
	t->hole[t->nr_holes++] = hole;
	if (hole.cpu < CPUS && hole.until_ns == UINT64_MAX && !is_span)
		s->open_hole[hole.cpu] = (uint32_t)t->nr_holes;
	return 0;
}

/* "CPU:3 [LOST 12 EVENTS]" is printed before the next event of that CPU. */
static int lost_learn(struct scan *s, const struct text_line *l, bool is_gap)
{
	if (l->cpu == RECORD_CPU_UNKNOWN && !l->is_span) {
		s->t->seam.any = s->t->seam.stated = true;
		s->t->seam.count += l->count;
		return 0;
	}
	s->t->uncounted += !is_gap && !l->count;
	return hole_add(s,
			(struct text_hole){.cpu = l->cpu,
					   .from_ns = l->from,
					   .until_ns = l->is_span ? l->until : UINT64_MAX,
					   .count = is_gap ? 0 : l->count ? l->count : 1,
					   .is_gap = is_gap},
			l->is_span);
}

/* Events may be missing anywhere on the CPUs that have some. */
static int sampled_learn(struct scan *s)
{
	struct text_hole all = {.until_ns = UINT64_MAX, .is_gap = true};
	size_t before = s->t->nr_holes;
	int err = 0;

	for (all.cpu = 0; !err && all.cpu < CPUS; all.cpu++)
		err = s->last_ns[all.cpu] ? hole_add(s, all, true) : 0;
	all.cpu = RECORD_CPU_UNKNOWN;
	return err || s->t->nr_holes > before ? err : hole_add(s, all, true);
}

/* A blank line, which is all that separates two pieces of a text; not one below each event, or below a call chain. */
static bool is_between_pieces(struct tracetext *t, bool blank, bool after_chain)
{
	uint64_t events = t->since_blank;

	t->since_blank = blank ? 0 : events + (t->kind == TEXT_EVENT);
	return blank && !after_chain && events >= PIECE_EVENTS_MIN;
}

/*
 * A line between events that is none: "--" of grep, a heading, half a record. Any may stand for events, so that no span
 * over it is measured; but not other lines of the log, and perf's: call chains, dumps of records (-D).
 */
void tracetext_seam(struct tracetext *t, const char *line, const char *end)
{
	const char *s = text_skip_quote(line);
	bool after_chain = t->in_chain;

	t->in_chain = t->kind == TEXT_STACK || text_is_perf_dump(s, end, t->in_chain) ||
		      (t->in_chain && s < end && s > line);
	if (t->kind == TEXT_EMPTY && text_is_graph(s, end))
		return;
	t->seam.doubtful |= t->lines.after_drop |
			    is_between_pieces(t, t->kind == TEXT_EMPTY && s >= end, after_chain);
	if ((t->kind != TEXT_UNKNOWN && t->kind != TEXT_EMPTY) ||
	    text_seam_parse(line, end, &t->seam) || t->in_chain || t->lines.in_log)
		return;
	t->seam.doubtful |= t->lines.is_fence ||
			    (s < end && (t->kind == TEXT_UNKNOWN || *s == '#'));
}

/* What lines between the newest event and the one of this time say that is missing, on whatever CPU. */
static int seam_learn(struct scan *s, uint64_t time)
{
	struct text_seam seam = s->t->seam;

	s->t->seam = (struct text_seam){0};
	if ((!seam.any && (!seam.doubtful || s->t->guest)) || (!s->begun && !seam.stated))
		return 0;
	if (seam.any)
		s->t->uncounted += !seam.count;
	else if (!s->t->left_out.nr++)
		s->t->left_out.first_line = s->t->lines.number;
	return hole_add(s,
			(struct text_hole){.cpu = RECORD_CPU_UNKNOWN,
					   .from_ns = s->newest,
					   .until_ns = time > s->newest ? time : s->newest,
					   .count = !seam.any ? 0 : seam.count ? seam.count : 1,
					   .is_gap = !seam.any},
			true);
}

/* "PERF_RECORD_LOST lost 12" */
static int perf_lost_learn(struct scan *s, const struct text_line *l)
{
	const char *p = memmem(l->text.at, l->text.len, "lost ", 5);
	uint64_t count = 1;

	if (p) {
		p += 5;
		count = text_decimal(&p);
	}
	return hole_add(s,
			(struct text_hole){
				.cpu = l->cpu, .until_ns = l->time, .count = count ? count : 1},
			false);
}

/* Notes that the second pass needs the current line. */
static void keep(struct tracetext *t)
{
	uint64_t at = t->lines.record / 8;
	size_t from = t->kept_bytes;

	if (at >= TRACETEXT_KEPT_MAX || array_reserve(t->kept, at + 1, t->kept_bytes))
		return; /* lines beyond are all parsed */
	if (t->kept_bytes > from)
		memset(t->kept + from, 0, t->kept_bytes - from);
	t->kept[at] |= (uint8_t)(1 << t->lines.record % 8);
}

static void time_learn(struct scan *s, uint64_t time)
{
	struct trace_info *info = &s->t->reader.info;

	info->nr_events++;
	if (time < s->newest)
		info->late++;
	else
		s->newest = info->end_ns = time;
}

static void start_learn(struct scan *s, const struct text_line *l)
{
	struct tracetext *t = s->t;

	s->begun = true;
	t->decimals = l->decimals;
	t->reader.info.start_ns = t->reader.info.end_ns = l->time;
}

static void rate_learn(struct scan *s, const struct text_name *name)
{
	uint64_t record[(sizeof(struct rec_kvm_pvclock_update) + sizeof(struct rec_kvm_exit)) / 8] =
		{0};
	struct tracetext *t = s->t;
	struct event ev = {.time_ns = t->line.time, .tid = t->line.tid, .data = (void *)record};
	uint16_t vcpu;
	const char *now =
		name->is_timer ? memmem(t->line.text.at, t->line.text.len, "now=", 4) : NULL;

	if (now) {
		now += 4;
		tick_rate_now(&s->rate, t->line.time, text_decimal(&now));
		return;
	}
	ev.type = name->kind ? name->type : NULL;
	if (!ev.type || (ev.type->id != EV_kvm_exit && ev.type->id != EV_kvm_vcpu_wakeup &&
			 ev.type->id != EV_kvm_pvclock_update))
		return;
	ev.size = ev.type->size;
	if (ev.type->id != EV_kvm_exit)
		text_kind_fill(name->kind, &t->reasons, t->line.text, (uint8_t *)record, &vcpu);
	tick_rate_event(&s->rate, &ev);
}

/* Reasons that are printed as numbers are those of the ISA whose names the file has. */
static void isa_learn(struct scan *s, const struct text_name *name)
{
	_Alignas(8) uint8_t record[256];
	uint16_t vcpu;

	if (s->t->reasons.isa || !name->kind || s->isa_tries == ISA_TRIES ||
	    (name->kind->id != EV_kvm_exit && name->kind->id != EV_kvm_nested_vmexit))
		return;
	s->isa_tries++;
	memset(record, 0, sizeof(record));
	text_kind_fill(name->kind, &s->t->reasons, s->t->line.text, record, &vcpu);
}

static void vcpu_learn(struct scan *s, const struct text_name *name)
{
	const struct text_line *l = &s->t->line;
	uint16_t vcpu;

	if (!s->t->vms || !name->kind)
		return;
	if (s->t->lines.open_end)
		return; /* "vcpu 1" may be the beginning of "vcpu 12" */
	if (text_kind_own_vcpu(name->kind, l->text, &vcpu) && vcpu != RECORD_NO_VCPU)
		vm_threads_seen(s->t->vms, vcpu, l->tid, l->tgid);
	else if (l->name.len > 4 && !memcmp(l->name.at, "kvm_", 4))
		vm_threads_named(s->t->vms, vm_threads_vcpu_of_name(l->comm.at, l->comm.len),
				 l->tid, l->tgid);
}

/* Does a text of ours end with a word that is no value? */
static bool ends_oddly(const struct text_line *l)
{
	const char *p = l->text.at + l->text.len;

	if (p == l->text.at || p[-1] == '=')
		return true;
	if (!isalpha((unsigned char)p[-1]))
		return false;
	while (p > l->text.at && p[-1] != ' ')
		p--;
	return !text_is_digit(*p);
}

/* Is the line one that paste.c may read otherwise? A task's name is short, and has no prefix. */
static bool is_pasted(const struct text_line *l, const struct text_name *name)
{
	char first = l->comm.len ? *l->comm.at : 'a';

	return l->comm.len > TEXT_COMM_MAX || text_has_head(l) ||
	       text_is_digit(first) || strchr("-*+|[", first) ||
	       memchr(l->comm.at, '\t', l->comm.len) ||
	       memmem(l->comm.at, l->comm.len, "  ", 2) ||
	       memmem(l->comm.at, l->comm.len, "> ", 2) ||
	       memmem(l->comm.at, l->comm.len, "| ", 2) ||
	       (l->text.len && l->text.at[l->text.len - 1] == '\\') || text_has_more(l) ||
	       (name->kind && ends_oddly(l) && text_is_cut(l));
}

/* The last event is the one that a paste or a copy was cut in. */
static void last_learn(struct scan *s, const struct text_line *l)
{
	size_t len = (size_t)(l->text.at + l->text.len - l->name.at);

	s->last_line.text.at = NULL;
	if (len >= LAST_BYTES || l->text.at < l->name.at)
		return;
	memcpy(s->last, l->name.at, len);
	s->last[len] = '\n';
	s->last_line.name = (struct text_slice){s->last, l->name.len};
	s->last_line.text =
		(struct text_slice){s->last + (l->text.at - l->name.at), l->text.len};
}

static bool last_is_cut(const struct scan *s)
{
	const struct text_line *l = &s->last_line;

	return l->text.at && (text_is_cut(l) || (s->t->lines.unended && text_is_open(l)));
}

/* See has_differences(). */
static void step_learn(struct text_steps *s, uint64_t time, bool begun)
{
	if (!begun)
		*s = (struct text_steps){.first = time, .min = time};
	else
		s->nr++;
	s->back += begun && time < s->newest;
	s->newest = time;
	s->min = time < s->min ? time : s->min;
	s->max = time > s->max ? time : s->max;
}

/*
 * A recording's events of one CPU are in their order, but for a clock that is set back a little. A text that goes back
 * to its beginning, or far, is another recording's, or the same again.
 */
static void back_learn(struct scan *s, const struct text_line *l)
{
	struct tracetext *t = s->t;
	uint64_t last = l->cpu < CPUS ? s->last_ns[l->cpu] : 0;

	if (last > l->time && !t->back_line &&
	    (l->time <= t->reader.info.start_ns || last - l->time >= NS_PER_S))
		t->back_line = t->lines.number;
}

/* The line stands for several events, of which the others have no times. */
static void repeats_learn(struct tracetext *t)
{
	uint64_t nr = text_repeats(t->line.text);

	if (nr < 2)
		return;
	t->seam.any = t->seam.stated = true;
	t->seam.count += nr - 1;
}

static int event_learn(struct scan *s, const struct read_hint *hint)
{
	struct tracetext *t = s->t;
	const struct text_line *l = &t->line;
	struct text_name *name = tracetext_name(t, hint);
	int err;

	if (!name)
		return 0;
	if (name->is_lost)
		return perf_lost_learn(s, l);
	if (!s->begun) {
		t->ticks = t->unit.known ? t->unit.ticks : l->ticks;
		t->timeless = t->unit.known ? t->unit.timeless : l->timeless;
	}
	t->is_pasted |= t->is_odd;
	if (!t->lines.paste && !t->guest) {
		t->is_pasted |= is_pasted(l, name) ||
				(t->reader.info.nr_events < CUT_TRIES && text_is_cut(l));
		last_learn(s, l);
	}
	if (tracetext_other_unit(t)) {
		t->seam.doubtful = true;
		return 0;
	}
	err = seam_learn(s, l->time);
	if (err)
		return err;
	t->sampled |= name->kind && text_is_sampled(l);
	t->has_dates |= l->is_date;
	t->has_cpu_tids |= l->tid >= TRACETEXT_CPU_TID;
	t->has_vcpu_tids |= l->tid >= TRACETEXT_VCPU_TID && l->tid < TRACETEXT_CPU_TID;
	step_learn(&t->steps, l->time, s->begun);
	if (!s->begun)
		start_learn(s, l);
	name->nr++;
	tracetext_tail_learn(t, &s->tail, name);
	time_learn(s, l->time);
	text_chain_expect(t, name);
	if (name->wanted)
		keep(t);
	if (l->decimals < t->decimals)
		t->decimals = l->decimals;
	back_learn(s, l);
	if (l->cpu < CPUS) {
		if (s->open_hole[l->cpu])
			t->hole[s->open_hole[l->cpu] - 1].until_ns = l->time;
		s->open_hole[l->cpu] = 0;
		s->last_ns[l->cpu] = l->time;
	}
	comm_learn(s, l);
	if (t->ticks && !t->guest && s->rate.pvclock <= 0)
		rate_learn(s, name);
	isa_learn(s, name);
	vcpu_learn(s, name);
	repeats_learn(t);
	return 0;
}

/* How a line is parsed depends on the layout of those before it: so must it in the second pass. */
static void layout_learn(struct scan *s)
{
	if (s->t->line.layout != s->layout)
		keep(s->t);
	s->layout = s->t->line.layout;
}

static int line_learn(struct scan *s, const struct read_hint *hint, enum text_line_kind kind)
{
	struct tracetext *t = s->t;

	switch (kind) {
	case TEXT_EVENT:
		return event_learn(s, hint);
	case TEXT_LOST:
	case TEXT_STARTED:
		return lost_learn(s, &t->line, kind == TEXT_STARTED);
	case TEXT_OVERRUN:
		t->overrun += t->line.count;
		return 0;
	case TEXT_SAMPLED:
		t->sampled = true;
		return 0;
	case TEXT_STACK:
		if (text_chain_learn(t))
			keep(t);
		return 0;
	default:
		return 0;
	}
}

static int by_begin(const void *a, const void *b)
{
	const struct text_hole *x = a, *y = b;

	if (x->from_ns != y->from_ns)
		return x->from_ns < y->from_ns ? -1 : 1;
	if (x->until_ns != y->until_ns)
		return x->until_ns < y->until_ns ? -1 : 1;
	if (x->cpu != y->cpu)
		return x->cpu < y->cpu ? -1 : 1;
	return x->is_gap != y->is_gap ? (int)x->is_gap - (int)y->is_gap
				      : order_u64(x->count, y->count);
}

/* Times without a unit: their rate is given, or the events show it, or they remain ticks. */
static void ticks_settle(struct scan *s, uint64_t tsc_khz)
{
	struct tracetext *t = s->t;
	struct trace_info *info = &t->reader.info;
	const char *event = NULL;
	double ns_per_tick = tsc_khz ? 1e6 / (double)tsc_khz : tick_rate_find(&s->rate, &event);

	ns_per_tick = tick_rate_describe(info, ns_per_tick, event);
	if (trace_info_in_ticks(info))
		return;
	t->ns_per_tick = ns_per_tick;
	info->start_ns = tracetext_ns(t, info->start_ns);
	info->end_ns = tracetext_ns(t, info->end_ns);
	for (size_t i = 0; i < t->nr_holes; i++) {
		t->hole[i].from_ns = tracetext_ns(t, t->hole[i].from_ns);
		if (t->hole[i].until_ns != UINT64_MAX)
			t->hole[i].until_ns = tracetext_ns(t, t->hole[i].until_ns);
	}
}

static void resolution_settle(struct tracetext *t)
{
	uint64_t ns = 1;

	for (unsigned int i = t->decimals; i < 9; i++)
		ns *= 10;
	trace_info_set_resolution(&t->reader.info, ns);
}

static void timeless_describe(struct tracetext *t)
{
	static const char *const why[] = {
		"there are no timestamps",
		"the times go back and forth, as those from one line to the next do (perf script "
		"--deltatime; print it without), and are not used",
		"the events have no timestamps, and the log's lines none with fractions of a "
		"second",
	};
	struct trace_info *info = &t->reader.info;

	json_object_set_new(info->meta, "time_unit", json_string("ticks"));
	trace_info_caveat(info, "%s: %s: times are the numbers of the lines", info->file,
			  why[t->unit.differences ? 1 : t->log_coarse ? 2 : 0]);
}

static void meta_set(struct scan *s, uint64_t tsc_khz)
{
	struct tracetext *t = s->t;
	struct trace_info *info = &t->reader.info;

	json_object_set(info->meta, "threads", s->threads);
	if (s->too_many_names)
		trace_info_caveat(info, "%s: names of threads beyond the first %d are ignored",
				  info->file, META_THREADS_MAX);
	json_object_set_new(info->meta, "clock",
			    json_string(t->guest       ? t->ticks ? "guest-tsc" : "guest-ns"
					: t->ticks     ? "tsc"
					: t->has_dates ? "realtime"
						       : "ns"));
	if (t->has_dates)
		trace_info_caveat(info,
				  "%s: timestamps are times of day, not of CLOCK_MONOTONIC, and "
				  "their time zone is taken for UTC",
				  info->file);
	if (t->log_times)
		trace_info_caveat(
			info,
			"%s: the events have no times: those of the log's lines are used, as "
			"of tp_printk",
			info->file);
	info->kind = t->lines.source		 ? t->lines.source->kind
		     : t->line.layout == TEXT_PERF ? "perf script text"
		     : t->line.from_trace_cmd	 ? "trace-cmd report text"
						 : "ftrace text";
	if (t->vms)
		vm_threads_settle(t->vms, info);
	if (t->nr_holes)
		qsort(t->hole, t->nr_holes, sizeof(*t->hole), by_begin);
	if (t->timeless)
		timeless_describe(t);
	if (t->ticks && !t->guest)
		ticks_settle(s, tsc_khz);
	if (!t->ticks && !t->timeless && s->begun)
		resolution_settle(t);
	if (t->overrun)
		trace_info_caveat(info,
				  "%s: %" PRIu64 " older events were overwritten before the first",
				  info->file, t->overrun);
}

int tracetext_scan(struct tracetext *t, const struct read_hint *hint)
{
	_cleanup_free_ struct scan *s = calloc(1, sizeof(*s));
	enum text_line_kind kind;
	int err = 0;

	if (!s)
		return fail(-ENOMEM, "out of memory");
	s->t = t;
	s->threads = json_object();
	s->rate = TICK_RATE;
	while (!err && (kind = tracetext_line(t)) != TEXT_EMPTY) {
		layout_learn(s);
		err = line_learn(s, hint, kind);
	}
	if (!err && t->seam.stated)
		err = seam_learn(s, UINT64_MAX);
	if (!err && t->sampled && !t->guest)
		err = sampled_learn(s);
	t->is_pasted |= last_is_cut(s);
	tracetext_tail_end(t, &s->tail);
	err = err ? err : tracetext_error(t);
	if (!err)
		meta_set(s, hint ? hint->tsc_khz : 0);
	tick_rate_deinit(&s->rate);
	json_decref(s->threads);
	t->scanned = true;
	t->ahead = t->chain_may_follow = false;
	t->line = (struct text_line){.layout = TEXT_FTRACE};
	t->reader.info.nr_events += t->guest ? 0 : t->nr_holes;
	return err ? err : text_lines_rewind(&t->lines);
}
