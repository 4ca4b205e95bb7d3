// SPDX-License-Identifier: GPL-2.0-or-later
/* `wakeup-latency` and `cpu-load` of OSv's tool: the scheduler's own tracepoints. */
#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "analyzers/profile/sample_report.h"
#include "base/error.h"

enum { CPUS_MAX = 4096, WAITS_MAX = 1 << 20 };

/* ---- wakeup-latency ---- */

/* A thread that waits, and the newest wake-up meant for it. */
struct wait {
	uint64_t thread, since_ns, wake_ns;
	uint32_t cpu;
	bool used, open, woken; /* woken: stays if the wait's end was not seen, as in OSv's tool */
};

struct waits {
	struct wait *wait; /* open-addressed by thread; a thread keeps its slot */
	uint32_t nr, mask;
};

static struct wait *wait_of(struct waits *w, uint64_t thread)
{
	uint32_t h = (uint32_t)((thread * 0x9e3779b97f4a7c15ull) >> 40);

	while (w->wait[h & w->mask].used && w->wait[h & w->mask].thread != thread)
		h++;
	return &w->wait[h & w->mask];
}

static int waits_room(struct waits *w)
{
	struct waits more = {.mask = w->mask ? w->mask * 2 + 1 : 1023, .nr = w->nr};

	if (w->mask && w->nr * 2 < w->mask)
		return 0;
	if (w->nr >= WAITS_MAX)
		return fail(-E2BIG, "more than %d threads", WAITS_MAX);
	more.wait = calloc(more.mask + 1u, sizeof(*more.wait));
	if (!more.wait)
		return fail(-ENOMEM, "out of memory");
	for (uint32_t i = 0; w->mask && i <= w->mask; i++)
		if (w->wait[i].used)
			*wait_of(&more, w->wait[i].thread) = w->wait[i];
	free(w->wait);
	*w = more;
	return 0;
}

static int wait_begin(struct waits *w, const struct sample *s)
{
	int err = waits_room(w);

	if (err)
		return err;
	struct wait *x = wait_of(w, s->thread);

	w->nr += !x->used;
	*x = (struct wait){.thread = s->thread, .cpu = s->cpu, .used = true, .open = true,
			   .since_ns = s->time_ns, .wake_ns = x->wake_ns, .woken = x->woken};
	return 0;
}

struct wakeup {
	const struct wakeup_options *opt;
	struct row_sink *sink;
	struct sample_lines *lines;
	struct text_out text;
	struct waits waits;
};

static int wakeup_row(struct wakeup *w, const struct sample *s, const struct wait *x)
{
	double wakeup_ns = (double)s->time_ns - (double)x->wake_ns,
	       wait_ns = (double)s->time_ns - (double)x->since_ns;

	if (w->sink->json) {
		json_t *row = json_pack("{s:I, s:I, s:I}", "time_ns", (json_int_t)s->time_ns,
					"wakeup_ns", (json_int_t)wakeup_ns, "wait_ns",
					(json_int_t)wait_ns);

		json_object_update_new(row, sample_who_json(s));
		if (w->opt->line.backtrace)
			json_object_set_new(row, "backtrace", sample_backtrace_json(w->lines, s));
		row_sink_add(w->sink, row);
		return 0;
	}
	text_out_reserve(&w->text);
	char *p = sample_put_thread(w->lines, w->text.pos, s), ms[32], us[32];

	*p++ = ' ';
	p = put_dec_right(p, s->cpu, 3);
	*p++ = ' ';
	p = put_timestamp(p, s->time_ns, 20);
	snprintf(us, sizeof(us), "%4.6f", wakeup_ns / 1e6);
	*p++ = ' ';
	p = put_right(p, us, 13);
	*p++ = ' ';
	p = put_right(p, sample_ms(wait_ns, ms, sizeof(ms)), 9);
	*p++ = ' ';
	p = sample_put_backtrace(w->lines, p, s);
	if (!p)
		return -EBADMSG; /* the sentence is set */
	*p++ = '\n';
	w->text.pos = p;
	w->sink->nr++;
	return 0;
}

static int wakeup_sample(struct wakeup *w, const struct sample *s)
{
	const char *name = s->tp->name;
	struct sample_arg args[SAMPLE_ARGS_MAX];
	struct wait *x;
	size_t len;

	if (strncmp(name, "sched_wa", 8))
		return 0;
	if (!strcmp(name, "sched_wait"))
		return wait_begin(&w->waits, s);
	if (!w->waits.mask)
		return 0;
	if (!strcmp(name, "sched_wake")) {
		if (sample_args(s->tp, s->args, s->args_len, args, &len) < 1)
			return 0;
		x = wait_of(&w->waits, args[0].u);
		if (x->open) {
			x->woken = true;
			x->wake_ns = s->time_ns;
		}
	} else if (!strcmp(name, "sched_wait_ret")) {
		x = wait_of(&w->waits, s->thread);
		bool row = x->open && x->woken && x->cpu == s->cpu &&
			   (w->opt->line.compat || time_range_has(&w->opt->range, s->time_ns));

		x->open = x->woken = false;
		return row ? wakeup_row(w, s, x) : 0;
	}
	return 0;
}

int wakeup_latency(struct sample_trace *t, const struct wakeup_options *opt, struct row_sink *sink)
{
	struct wakeup w = {.opt = opt, .sink = sink};
	struct sample s;
	int r = 0, err = sample_lines_open(t, &opt->line, &w.lines);

	if (!err)
		err = text_out_open(&w.text, sink->out);
	if (!err && opt->header && !sink->json)
		fprintf(sink->out, "%-18s %-15s %3s %20s %13s %9s %s\n", "THREAD", "THREAD-NAME",
			"CPU", "TIMESTAMP[s]", "WAKEUP[ms]", "WAIT[ms]", "BACKTRACE");
	sample_rewind(t);
	while (!err && !row_sink_full(sink) && (r = sample_next(t, &s)) > 0)
		err = wakeup_sample(&w, &s);
	text_out_close(&w.text);
	sample_lines_close(w.lines);
	free(w.waits.wait);
	return err ? err : r < 0 ? r : 0;
}

/* ---- cpu-load ---- */

struct loads {
	int64_t load[CPUS_MAX];
	bool known[CPUS_MAX];
	uint32_t nr, nr_known; /* highest CPU + 1; how many were seen */
};

static void load_row(const struct loads *l, uint64_t time_ns, const struct cpu_load_options *o,
		     struct row_sink *sink)
{
	char stamp[32];

	if (sink->json) {
		json_t *list = json_array();

		for (uint32_t i = 0; i < l->nr; i++)
			json_array_append_new(list, l->known[i] ? json_integer(l->load[i])
								: json_null());
		row_sink_add(sink,
			     json_pack("{s:I, s:o}", "time_ns", (json_int_t)time_ns, "load", list));
		return;
	}
	sample_timestamp(time_ns, stamp, sizeof(stamp));
	fprintf(sink->out, o->csv ? "%s" : "%-20s", stamp);
	for (uint32_t i = 0; i < l->nr; i++) {
		if (o->csv)
			fputc(',', sink->out);
		if (l->known[i])
			fprintf(sink->out, o->csv ? "%" PRId64 : "%3" PRId64, l->load[i]);
		else if (!o->csv)
			fputs("   ", sink->out);
	}
	fputc('\n', sink->out);
	sink->nr++;
}

static int load_sample(struct loads *l, const struct sample *s, const struct cpu_load_options *o,
		       struct row_sink *sink)
{
	struct sample_arg args[SAMPLE_ARGS_MAX];
	size_t len;

	if (strcmp(s->tp->name, "sched_load") ||
	    sample_args(s->tp, s->args, s->args_len, args, &len) < 1)
		return 0;
	if (s->cpu >= CPUS_MAX)
		return fail(-E2BIG, "CPU %u: more than %d CPUs", s->cpu, CPUS_MAX);
	l->nr_known += !l->known[s->cpu];
	l->known[s->cpu] = true;
	l->load[s->cpu] = args[0].i;
	if (l->nr <= s->cpu)
		l->nr = s->cpu + 1;
	if (o->cpus && l->nr_known < o->cpus)
		return 0;
	if (o->cpus && l->nr > o->cpus)
		return fail(-EINVAL,
			    "Encountered CPU with id=%u but user claimed there are %" PRIu64
			    " CPUs",
			    l->nr - 1, o->cpus);
	if (o->compat || time_range_has(&o->range, s->time_ns))
		load_row(l, s->time_ns, o, sink);
	return 0;
}

int cpu_load(struct sample_trace *t, const struct cpu_load_options *opt, struct row_sink *sink)
{
	_cleanup_free_ struct loads *l = calloc(1, sizeof(*l));
	struct sample s;
	int r = 0, err = l ? 0 : fail(-ENOMEM, "out of memory");

	sample_rewind(t);
	while (!err && !row_sink_full(sink) && (r = sample_next(t, &s)) > 0)
		err = load_sample(l, &s, opt, sink);
	return err ? err : r < 0 ? r : 0;
}
