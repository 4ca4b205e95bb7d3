// SPDX-License-Identifier: GPL-2.0-or-later
/* Counts by tracepoint, the time that each CPU's samples span, and the durations of pairs: all are kept and sorted. */
#include <errno.h>
#include <string.h>

#include "analyzers/profile/sample_summary.h"
#include "base/array.h"
#include "base/error.h"
#include "base/order.h"

enum { CPUS_MAX = 65536, DURATIONS_MAX = 16 << 20 };

/* State while reading: the index of each CPU and name. */
struct making {
	struct sample_summary *s;
	struct sample_pairs *pairs; /* NULL: durations are not wanted */
	uint32_t *seen_order; /* by type: position among those seen, from 1 */
	uint32_t *cpu_at;     /* cpu -> index + 1 in cpus */
	uint32_t *timed_at;   /* by type of a name -> index + 1 */
	size_t nr_durations;
};

static int summary_init(struct making *m, struct sample_trace *t,
			const struct sample_summary_options *opt, struct sample_summary *s)
{
	size_t nr = t->nr_types + 1u;

	*s = (struct sample_summary){.trace = t, .opt = *opt};
	*m = (struct making){.s = s};
	s->counts = calloc(nr, sizeof(*s->counts));
	s->by_name = calloc(nr, sizeof(*s->by_name));
	s->timed = calloc(nr, sizeof(*s->timed));
	s->cpus = calloc(CPUS_MAX, sizeof(*s->cpus));
	m->seen_order = calloc(nr, sizeof(*m->seen_order));
	m->timed_at = calloc(nr, sizeof(*m->timed_at));
	m->cpu_at = calloc(CPUS_MAX, sizeof(*m->cpu_at));
	if (s->counts && s->by_name && s->timed && s->cpus && m->seen_order && m->timed_at &&
	    m->cpu_at)
		return 0;
	return fail(-ENOMEM, "out of memory");
}

static void making_deinit(struct making *m)
{
	sample_pairs_close(m->pairs);
	free(m->seen_order);
	free(m->timed_at);
	free(m->cpu_at);
}

void sample_summary_deinit(struct sample_summary *s)
{
	for (uint32_t i = 0; i < s->nr_timed; i++)
		free(s->timed[i].ns);
	free(s->counts);
	free(s->by_name);
	free(s->timed);
	free(s->cpus);
}

static void count_sample(struct making *m, const struct sample *p)
{
	struct sample_summary *s = m->s;
	uint32_t cpu = p->cpu % CPUS_MAX;

	s->total++;
	if (!s->counts[p->tp->index]++)
		m->seen_order[p->tp->index] = ++s->nr_seen;
	if (!m->cpu_at[cpu]) {
		s->cpus[s->nr_cpus] = (struct cpu_span){p->cpu, p->time_ns, p->time_ns};
		m->cpu_at[cpu] = ++s->nr_cpus;
	}
	struct cpu_span *span = &s->cpus[m->cpu_at[cpu] - 1];

	if (p->time_ns < span->first_ns)
		span->first_ns = p->time_ns;
	if (p->time_ns > span->last_ns)
		span->last_ns = p->time_ns;
	if (!p->time_ns && !s->opt.compat)
		return; /* OSv's tool drops the minimum found so far */
	if (!s->first_ns || p->time_ns < s->first_ns)
		s->first_ns = p->time_ns;
	if (p->time_ns > s->last_ns)
		s->last_ns = p->time_ns;
}

/* The index that stands for all tracepoints of this name. */
static uint32_t name_index(const struct sample_trace *t, const struct sample_type *tp)
{
	for (uint32_t i = 0; i < tp->index; i++)
		if (!strcmp(t->types[i].name, tp->name))
			return i;
	return tp->index;
}

static int add_duration(void *making, const struct sample_pair *timed)
{
	struct making *m = making;
	struct sample_summary *s = m->s;
	uint32_t name = name_index(s->trace, timed->entry.tp);
	double ns;

	if (!time_range_trim(&s->opt.range, timed->entry.time_ns, timed->duration_ns, &ns))
		return 0;
	if (!m->timed_at[name]) {
		s->timed[s->nr_timed] = (struct pair_durations){.name = name};
		m->timed_at[name] = ++s->nr_timed;
	}
	struct pair_durations *d = &s->timed[m->timed_at[name] - 1];

	if (m->nr_durations++ == DURATIONS_MAX)
		return fail(-E2BIG, "more than %d pairs; narrow the time with --since and --until",
			    DURATIONS_MAX);
	return array_add(d->ns, d->nr, ns);
}

static int summary_sample(void *making, const struct sample *sample)
{
	struct making *m = making;

	if (time_range_has(&m->s->opt.range, sample->time_ns))
		count_sample(m, sample);
	return m->pairs ? sample_pairs_add(m->pairs, sample) : 0;
}

ORDER_BY(by_first, struct cpu_span, first_ns, cpu)

/* Equal names, which a guest may have, in the order in which they were first seen. */
static int by_name(const void *a, const void *b, void *arg)
{
	const struct making *m = arg;
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
	int c = strcmp(m->s->trace->types[x].name, m->s->trace->types[y].name);

	return c ? c : order_u64(m->seen_order[x], m->seen_order[y]);
}

static int by_value(const void *a, const void *b)
{
	return order_double(*(const double *)a, *(const double *)b);
}

static void summary_sort(struct making *m)
{
	struct sample_summary *s = m->s;
	uint32_t nr = 0;

	for (uint32_t i = 0; i < s->trace->nr_types; i++)
		if (s->counts[i])
			s->by_name[nr++] = i;
	qsort_r(s->by_name, nr, sizeof(*s->by_name), by_name, m);
	qsort(s->cpus, s->nr_cpus, sizeof(*s->cpus), by_first);
	for (uint32_t i = 0; i < s->nr_timed; i++) {
		struct pair_durations *d = &s->timed[i];

		for (size_t k = 0; k < d->nr; k++)
			d->total_ns += d->ns[k];
		qsort(d->ns, d->nr, sizeof(*d->ns), by_value);
	}
}

double pair_durations_quantile(const struct pair_durations *d, double q)
{
	return d->ns[(size_t)ceil((double)(d->nr - 1) * q)];
}

int sample_summary_make(struct sample_trace *t, const struct sample_summary_options *opt,
			struct sample_summary *ret)
{
	struct making m;
	int err = summary_init(&m, t, opt, ret);

	if (!err && opt->timed)
		err = sample_pairs_open(t, opt->compat, add_duration, &m, &m.pairs);
	if (!err)
		err = sample_each(t, summary_sample, &m);
	if (!err && m.pairs)
		err = sample_pairs_end(m.pairs);
	if (!err)
		summary_sort(&m);
	making_deinit(&m);
	return err;
}
