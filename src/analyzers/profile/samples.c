// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A first pass finds the event types that occur: they are the dictionary of the trace, which the profiles need before
 * its first sample. Each further pass returns samples, with a delay if backtraces follow their events.
 */
#include <errno.h>
#include <inttypes.h>

#include "analyzers/profile/samples_internal.h"
#include "base/array.h"
#include "base/error.h"
#include "base/saturate.h"
#include "readers/ftrace/tracedat.h"
#include "readers/perf/perfdata.h"
#include "readers/ring/stream_reader.h"

enum { ROOM = SAMPLES_HELD + 64 /* maximum per event, and the sample returned last */ };

static void rule_free(struct sample_rule *r)
{
	if (r)
		free((void *)r->kind.base);
	free(r);
}

static void samples_close(struct sample_trace *base)
{
	struct samples *x = (struct samples *)base;

	for (unsigned int i = 0; x->rule && i < EVENT_TYPES_MAX; i++)
		rule_free(x->rule[i]);
	for (size_t i = 0; i < x->nr_held; i++)
		free(x->held[i].args);
	hash_deinit(&x->threads);
	hash_deinit(&x->own);
	backtraces_close(x->backtraces);
	symbol_map_close(x->symbols);
	code_maps_close(x->maps);
	free(x->syscalls);
	free(x->batch);
	free(x->rule);
	free(x->held);
	free(x->load);
	sample_trace_deinit(base);
	free(x);
}

/* ---- the dictionary ---- */

int samples_tracepoint_add(struct samples *x, const char *name, const char *signature,
			   const char *format, const struct sample_kind *kind, uint32_t *ret)
{
	struct sample_trace *t = &x->base;
	char *shown = strdup(name);
	int err;

	if (shown)
		text_sanitize(shown);
	*ret = t->nr_types;
	err = sample_type_add(t, t->nr_types + 1, shown, strdup(signature), strdup(format));
	if (!err)
		t->types[*ret].kind = kind;
	return err;
}

static int made_add(struct samples *x)
{
	int err = 0;

	for (int i = 0; i < MADE_NR && !err; i++) {
		const struct sample_made_row *row = &sample_made_rows[i];

		err = samples_tracepoint_add(x, row->name, row->signature, row->format, &row->kind,
					     &x->made[i]);
	}
	return err;
}

static int type_add(struct samples *x, const struct event_type *type)
{
	struct sample_rule *r;
	uint32_t tp;
	int err = 0;

	x->rule[type->index] = r = calloc(1, sizeof(*r));
	if (!r)
		return fail(-ENOMEM, "out of memory");
	sample_rule_make(type, r);
	x->has_stacks |= r->what == WHAT_STACK;
	x->has_wakeup |= r->what == WHAT_WAKE && !r->made;
	if (r->what == WHAT_EVENT || r->what == WHAT_EXIT || r->what == WHAT_USER_EXIT ||
	    r->what == WHAT_SYSCALL) {
		err = samples_tracepoint_add(x, sample_event_name(type), "", "", &r->kind, &tp);
		r->tracepoint = err ? 0 : tp + 1;
	}
	return err;
}

/* Only events of sources from the first one on become samples. */
static bool is_ours(const struct samples *x, const struct event *ev)
{
	return ev->source >= x->in.first_source;
}

static int types_find(struct samples *x)
{
	int more, err = made_add(x);

	while (!err && (more = reader_next(x->reader, x->batch)) != 0) {
		if (more < 0)
			return more;
		for (unsigned int i = 0; i < x->batch->nr && !err; i++) {
			const struct event *ev = &x->batch->ev[i];

			if (ev->type->id != EV_sched_wakeup && ev->tid && ev->pid) {
				struct sample_thread *t =
					sample_thread_of(&x->own, ev->source, ev->tid);

				if (t)
					t->pid = ev->pid;
			}
			if (!is_ours(x, ev))
				continue;
			if (!x->rule[ev->type->index])
				err = type_add(x, ev->type);
			if (!err && x->rule[ev->type->index]->what == WHAT_SYSCALL)
				err = sample_syscall_learn(x, x->rule[ev->type->index], ev);
		}
	}
	return err;
}

/* ---- a pass ---- */

/* Without alignment, ticks of a ring become ns by the rate in its metadata. */
static void clock_read(struct samples *x)
{
	const json_t *meta = x->reader->info.meta, *ring = json_object_get(meta, "guest_ring");
	const char *clock = json_string_value(json_object_get(meta, "clock"));
	double hz = (double)json_integer_value(json_object_get(ring, "clock_hz"));

	x->only_vm = !x->in.first_source && (!strcmp(x->reader->info.kind, "hrt") ||
						!strcmp(x->reader->info.kind, "text"));
	x->base.whole = x->only_vm;
	x->ns_per_tick = !x->in.first_source && clock && !strcmp(clock, "guest-tsc") && hz > 0
				 ? 1e9 / hz
				 : 0;
}

static void threads_named(struct samples *x)
{
	json_t *threads = json_object_get(x->reader->info.meta, "threads"), *comm;
	const char *tid;

	json_object_foreach (threads, tid, comm)
		if (json_is_string(comm))
			sample_thread_name(sample_thread_of(&x->threads, x->in.first_source,
							    (uint32_t)strtoul(tid, NULL, 10)),
					   json_string_value(comm));
}

static int pass_begin(struct samples *x)
{
	int err;

	hash_deinit(&x->threads);
	x->first = x->next = x->event = x->not_watched = x->stood_in = 0;
	x->at = x->batch->nr = 0;
	x->ended = false;
	for (unsigned int i = 0; i < SAMPLES_CPUS_MAX; i++)
		x->load[i] = -1;
	x->threads = HASH_TABLE(struct sample_thread, 1, SAMPLES_THREADS_MAX);
	err = x->in.open(x->in.arg, &x->reader);
	if (err)
		return err;
	x->begun = true;
	threads_named(x);
	clock_read(x);
	return 0;
}

int samples_hold(struct samples *x, const struct event *ev, uint32_t tracepoint, const void *args,
		 size_t len, struct sample_held **ret)
{
	size_t at = x->next % ROOM;
	struct sample_held *h = &x->held[at];
	const struct sample_thread *t = sample_thread_of(&x->threads, ev->source, ev->tid);

	if (at >= x->nr_held)
		x->nr_held = at + 1;
	if (array_reserve(h->args, len, h->room))
		return -ENOMEM;
	if (len)
		memcpy(h->args, args, len);
	h->s = (struct sample){
		.tp = &x->base.types[tracepoint],
		.thread = ev->tid,
		.time_ns = x->ns_per_tick > 0
				   ? uint64_of_double((double)ev->time_ns * x->ns_per_tick)
				   : ev->time_ns,
		.guest_ns = x->in.first_source ? ev->guest_ns : 0,
		.args = h->args,
		.args_len = (uint32_t)len,
		.cpu = ev->cpu,
	};
	if (t)
		memcpy(h->s.thread_name, t->comm, sizeof(h->s.thread_name));
	h->event = x->event;
	h->cpu = ev->cpu;
	h->source = ev->source;
	h->wants_stack = false;
	x->next++;
	*ret = h;
	return 0;
}

static void caveats_add(struct samples *x)
{
	struct trace_info *info = &x->reader->info;

	if (x->not_watched)
		trace_info_caveat(info,
				  "%" PRIu64 " switches of threads of other processes are ignored: "
				  "they are not recorded completely", x->not_watched);
	if (x->threads.refused)
		trace_info_caveat(info,
				  "more than %d threads: the waits of further threads are unknown "
				  "(%" PRIu64 " events)",
				  SAMPLES_THREADS_MAX, x->threads.refused);
	if (x->stood_in && !x->has_stacks)
		trace_info_caveat(info,
				  "%s has no backtraces: threads are shown instead of call paths "
				  "(to record them: trace-cmd record -T, or options/stacktrace)",
				  x->in.name);
}

/* Reads on until the oldest sample can be returned. */
static int held_fill(struct samples *x)
{
	uint64_t delay = x->has_stacks ? SAMPLES_HELD : 0;

	while (!x->ended && x->next - x->first <= delay) {
		int more = 1, err;

		if (x->at == x->batch->nr) {
			more = reader_next(x->reader, x->batch);
			x->at = 0;
		}
		if (more <= 0) {
			caveats_add(x);
			x->ended = true;
			x->batch->nr = 0;
			return more;
		}
		const struct event *ev = &x->batch->ev[x->at++];

		err = is_ours(x, ev) ? samples_make(x, ev) : 0;
		if (err)
			return err;
	}
	return 0;
}

/* Without backtraces the profile still shows which threads waited: the thread is the only frame. */
static int thread_as_frame(struct samples *x, struct sample *s)
{
	const struct sample_kind *kind = s->tp->kind;
	char name[48];
	uint64_t address;

	if (s->nr_backtrace || !kind || !kind->base || kind->ends)
		return 0;
	x->stood_in++;
	s->stands_in = true;
	if (*s->thread_name)
		snprintf(name, sizeof(name), "thread %s", s->thread_name);
	else
		snprintf(name, sizeof(name), "thread %llu", (unsigned long long)s->thread);
	address = backtrace_address(x->backtraces, name) + 1;
	return address > 1 ? backtrace_set(x->backtraces, s, &address, 1) : 0;
}

static int samples_next(struct sample_trace *base, struct sample *ret)
{
	struct samples *x = (struct samples *)base;
	int err = x->begun ? held_fill(x) : pass_begin(x);

	if (!err && !x->ended)
		err = held_fill(x);
	if (!err && x->first == x->next && x->maps)
		code_maps_caveats(x->maps, &x->reader->info);
	if (err || x->first == x->next)
		return err;
	if (x->held[x->first % ROOM].wants_stack)
		err = thread_as_frame(x, &x->held[x->first % ROOM].s);
	*ret = x->held[x->first++ % ROOM].s;
	return err ? err : 1;
}

static void samples_rewind(struct sample_trace *base)
{
	struct samples *x = (struct samples *)base;

	if (base->nr_read)
		x->begun = false; /* the next sample begins a pass */
}

static unsigned int samples_resolve(struct sample_trace *base, uint64_t address,
				    const struct sample_resolve *how, struct frame *ret)
{
	const struct samples *x = (struct samples *)base;
	const char *name = backtrace_name(x->backtraces, address);

	if (!name && x->symbols && !how->none)
		name = symbol_map_find(x->symbols, address);
	if (!name && x->maps)
		return code_maps_resolve(x->maps, address, how, ret);
	*ret = (struct frame){.address = address, .name = name,
			      .dso = backtrace_dso(x->backtraces, address)};
	return name != NULL;
}

static const struct sample_ops samples_ops = {
	.next = samples_next,
	.rewind = samples_rewind,
	.resolve = samples_resolve,
	.close = samples_close,
};

/* ---- open ---- */

static int samples_init(struct samples *x)
{
	x->batch = calloc(1, sizeof(*x->batch));
	x->held = calloc(ROOM, sizeof(*x->held));
	x->load = calloc(SAMPLES_CPUS_MAX, sizeof(*x->load));
	x->rule = calloc(EVENT_TYPES_MAX, sizeof(*x->rule)); /* most of its pages are never touched */
	if (!x->batch || !x->held || !x->load || !x->rule)
		return fail(-ENOMEM, "out of memory");
	x->own = HASH_TABLE(struct sample_thread, 1, SAMPLES_THREADS_MAX);
	return backtraces_open(&x->backtraces);
}

/* A trace.dat and a guest stream contain the symbols of their kernel, and a perf.data may. */
static int symbols_read(struct samples *x)
{
	_cleanup_free_ char *text = NULL;
	const char *kind = x->in.kind ? x->in.kind(x->in.arg) : x->reader->info.kind;
	size_t len = 0;
	int err = 0;

	if (!strcmp(kind, "trace.dat"))
		err = tracedat_symbols(x->in.name, x->in.files, &text, &len);
	else if (!strcmp(kind, "guest-stream"))
		err = stream_symbols(x->in.name, x->in.files, &text, &len);
	else if (!strcmp(kind, "perf.data"))
		err = perfdata_symbols(x->in.name, x->in.files, &text, &len);
	if (err || !len)
		return err;
	symbol_map_parse(text, len, x->in.name, &x->symbols); /* without symbols, addresses are shown */
	return 0;
}

int samples_open(const struct samples_input *in, struct sample_trace **ret)
{
	struct samples *x = calloc(1, sizeof(*x));
	int err = x ? sample_trace_init(&x->base, in->name, NULL, &samples_ops)
		    : fail(-ENOMEM, "out of memory");

	if (err) {
		free(x);
		return err;
	}
	_cleanup_(sample_trace_cleanup_) struct sample_trace *base = &x->base;

	x->in = *in;
	x->in.name = base->file;
	err = samples_init(x);
	if (!err)
		err = in->open(in->arg, &x->reader);
	if (!err)
		err = types_find(x);
	if (!err)
		err = symbols_read(x);
	if (!err && !in->first_source)
		err = code_maps_open(&x->reader->info, &in->code, &x->maps);
	if (!err)
		clock_read(x);
	if (err)
		return err;
	base->kind = x->reader->info.kind;
	*ret = take_ptr(base);
	return 0;
}

void samples_span(const struct sample_trace *t, uint64_t *ret_start, uint64_t *ret_end)
{
	const struct samples *x = (const struct samples *)t;
	double scale = x->ns_per_tick > 0 ? x->ns_per_tick : 1;

	*ret_start = uint64_of_double((double)x->reader->info.start_ns * scale);
	*ret_end = uint64_of_double((double)x->reader->info.end_ns * scale);
	if (scale == 1) { /* doubles end at 2^53 */
		*ret_start = x->reader->info.start_ns;
		*ret_end = x->reader->info.end_ns;
	}
}
