// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * accept and EOI name a vCPU by its local APIC's id, injections by the thread that they are in: an EOI has both, since
 * the vCPU's own thread handles it. Until a vCPU's first EOI its id is assumed to be its number.
 */
#include "analyzers/interrupts/interrupts.h"

#include <errno.h>

#include "analyzers/interrupts/tsc.h"
#include "base/error.h"
#include "base/order.h"
#include "event/handlers.h"
#include "event/records.h"

enum {
	VECTORS_MAX = 1 << 18,
	TIMERS_MAX = 1 << 14,
	THREADS_MAX = 1 << 16,
	VECTOR_ANY = 256,
	MODE_LOWEST = 1, /* delivery modes: fixed and lowest priority are those with a vector */
};

struct vector_entry {
	uint64_t key[2];
	struct irq_vector *v;
};

struct timer_entry {
	uint64_t key[2];
	struct irq_timer *t;
};

/* What a thread raised and has not reached a local APIC yet. */
struct raised {
	uint64_t key; /* source, tid */
	enum irq_source source;
	uint32_t vector; /* VECTOR_ANY: that of the line's redirection entry, which comes later */
	uint32_t gsi;
	bool by_pin; /* kvm_ioapic_set_irq came first */
	struct loss_mark mark;
};

/* The newest accept in a thread that nothing showed the source of: kvm_ioapic_set_irq, which follows, may. */
struct unsourced {
	uint64_t key; /* source, tid */
	struct irq_vector *v;
	enum irq_source source; /* that it was counted for */
};

/* The APIC id of a vCPU. */
struct apic_id {
	uint64_t key[2]; /* source and pid; vCPU */
	uint32_t id;
};

/* What is unknown where events of some types are missing. */
enum { LOST_VECTORS, LOST_TIMERS, LOST_RAISED };

struct interrupts {
	struct irq_counts counts;
	struct tsc_clock tsc;
	struct hash_table vectors, timers, raised, unsourced, ids;
	struct loss_state lost[3]; /* LOST_... */
	int err;
};

const struct irq_counts *interrupts_counts(const struct interrupts *x)
{
	return &x->counts;
}

/* ---- tables ---- */

static uint64_t key_of(const struct event *ev, uint32_t id)
{
	return (uint64_t)ev->source << 32 | id;
}

static uint32_t apic_id_of(const struct interrupts *x, const struct event *ev)
{
	uint64_t key[2] = {key_of(ev, ev->pid), ev->vcpu};
	const struct apic_id *a = hash_find_words(&x->ids, key);

	return a ? a->id : ev->vcpu;
}

static void apic_id_learn(struct interrupts *x, const struct event *ev, uint32_t id)
{
	uint64_t key[2] = {key_of(ev, ev->pid), ev->vcpu};
	struct apic_id *a = ev->vcpu == RECORD_NO_VCPU ? NULL : hash_add_words(&x->ids, key, NULL);

	if (a)
		a->id = id;
}

static struct irq_vector *vector_get(struct interrupts *x, const struct event *ev, uint32_t apic_id,
				     uint32_t vector)
{
	uint64_t key[2] = {key_of(ev, ev->pid), (uint64_t)apic_id << 32 | vector};
	struct vector_entry *e = hash_add_words(&x->vectors, key, NULL);

	if (e && !e->v) {
		e->v = calloc(1, sizeof(*e->v));
		if (e->v)
			*e->v = (struct irq_vector){.key = {key[0], key[1]}, .pid = ev->pid,
						    .apic_id = apic_id, .vector = vector,
						    .vcpu = RECORD_NO_VCPU};
	}
	x->counts.refused += !e || !e->v;
	return e ? e->v : NULL;
}

static struct irq_timer *timer_get(struct interrupts *x, const struct event *ev, bool add)
{
	uint64_t key[2] = {key_of(ev, ev->pid), ev->vcpu};
	struct timer_entry *e = add ? hash_add_words(&x->timers, key, NULL)
				    : hash_find_words(&x->timers, key);

	if (e && !e->t) {
		e->t = calloc(1, sizeof(*e->t));
		if (e->t)
			*e->t = (struct irq_timer){.key = {key[0], key[1]}, .pid = ev->pid,
						   .vcpu = ev->vcpu};
	}
	x->counts.refused += add && (!e || !e->t);
	return e ? e->t : NULL;
}

static void value_add(struct interrupts *x, struct quantiles *q, uint64_t from, uint64_t to)
{
	if (quantiles_add(q, to > from ? to - from : 0) && !x->err)
		x->err = fail(-ENOMEM, "out of memory");
}

/* ---- raised: who sends it ---- */

static void on_raised(struct interrupts *x, const struct event *ev, enum irq_source source,
		      uint32_t vector, uint32_t gsi)
{
	struct raised *r = hash_add_u64(&x->raised, key_of(ev, ev->tid), NULL);

	x->counts.sources = true;
	if (!r)
		return;
	r->source = source;
	r->vector = vector;
	r->gsi = gsi;
	r->by_pin = false;
	r->mark = loss_mark_of(&x->lost[LOST_RAISED], ev);
}

static void on_line(struct interrupts *x, const struct event *ev)
{
	RECORD(kvm_set_irq, r, ev);

	x->counts.sources = x->counts.messages = true;
	x->counts.lines += r->level != 0;
	if (r->level)
		on_raised(x, ev, IRQ_LINE, VECTOR_ANY, r->gsi);
}

static void on_message(struct interrupts *x, const struct event *ev)
{
	RECORD(kvm_msi_set_irq, r, ev);

	x->counts.messages = true;
	on_raised(x, ev, IRQ_MSI,
		  record_has(ev, kvm_msi_set_irq, data) ? r->data & 0xff : VECTOR_ANY, 0);
}

/*
 * KVM reports the input after it has delivered the interrupt; in texts that were sorted, before. Without kvm_set_irq it
 * shows the source by its vector.
 */
static void on_ioapic(struct interrupts *x, const struct event *ev)
{
	RECORD(kvm_ioapic_set_irq, pin, ev);
	struct raised *r = hash_find_u64(&x->raised, key_of(ev, ev->tid));
	struct unsourced *u = hash_find_u64(&x->unsourced, key_of(ev, ev->tid));
	bool sent = !pin->coalesced && !pin->masked && record_has(ev, kvm_ioapic_set_irq, vector) &&
		    record_has(ev, kvm_ioapic_set_irq, pin);

	x->counts.sources = true;
	x->counts.pin_coalesced += pin->coalesced && !pin->masked;
	if (r && r->source == IRQ_LINE && !r->by_pin) {
		if (sent && r->vector == VECTOR_ANY) { /* not accepted yet */
			r->vector = pin->vector;
			r->by_pin = true;
		} else {
			hash_remove(&x->raised, r);
		}
	} else if (sent && u && u->v->vector == pin->vector) {
		u->v->from[u->source]--;
		u->v->from[IRQ_LINE]++;
		u->v->gsi = (uint32_t)pin->pin;
	} else if (sent) {
		on_raised(x, ev, IRQ_LINE, pin->vector, (uint32_t)pin->pin);
		r = hash_find_u64(&x->raised, key_of(ev, ev->tid));
		if (r)
			r->by_pin = true;
	}
	if (u)
		hash_remove(&x->unsourced, u);
}

/* Nothing shows who raised it: an IPI if a vCPU did; a line whose level is still high is sent again at the EOI. */
static enum irq_source source_guess(struct interrupts *x, const struct event *ev,
				    struct irq_vector *v)
{
	RECORD(kvm_apic_accept_irq, accept, ev);
	struct unsourced *u;

	if (accept->level && v->from[IRQ_LINE])
		return IRQ_LINE;
	u = hash_add_u64(&x->unsourced, key_of(ev, ev->tid), NULL);
	if (u) {
		u->v = v;
		u->source = ev->vcpu == RECORD_NO_VCPU ? IRQ_OTHER : IRQ_IPI;
	}
	return ev->vcpu == RECORD_NO_VCPU ? IRQ_OTHER : IRQ_IPI;
}

/* A message may go to several vCPUs: it is valid until the thread raises another one. */
static enum irq_source source_of(struct interrupts *x, const struct event *ev, struct irq_vector *v)
{
	struct raised *r = hash_find_u64(&x->raised, key_of(ev, ev->tid));

	if (!r || end_is_unknown(&x->lost[LOST_RAISED], &r->mark, ev) ||
	    (r->vector != v->vector && r->vector != VECTOR_ANY))
		return source_guess(x, ev, v);
	r->vector = v->vector; /* a line has one */
	if (r->source == IRQ_LINE)
		v->gsi = r->gsi;
	return r->source;
}

uint64_t irq_from(const struct irq_vector *v, enum irq_source source)
{
	uint64_t timer = v->from[IRQ_TIMER];

	if (source != IRQ_IPI)
		return v->from[source];
	return v->from[IRQ_IPI] > timer ? v->from[IRQ_IPI] - timer : 0;
}

/* ---- accept, injection, EOI ---- */

static struct loss_mark begin_of(struct interrupts *x, const struct event *ev)
{
	return loss_mark_of(&x->lost[LOST_VECTORS], ev);
}

/* Is it in the stage? Not if its end may be missing, so that the end which is seen may be another one's. */
static bool is_in(const struct interrupts *x, const struct loss_mark *stage, const struct event *ev)
{
	return stage->ns && !end_is_unknown(&x->lost[LOST_VECTORS], stage, ev);
}

static void stage_end(struct interrupts *x, struct irq_vector *v, enum irq_stage stage,
		      const struct loss_mark *from, const struct event *ev)
{
	if (is_in(x, from, ev))
		value_add(x, &v->stage[stage], from->ns, ev->time_ns);
}

static void on_accept(struct interrupts *x, const struct event *ev)
{
	RECORD(kvm_apic_accept_irq, r, ev);
	struct irq_vector *v;

	if (r->mode > MODE_LOWEST)
		return;
	if (!record_has(ev, kvm_apic_accept_irq, vector) ||
	    !record_has(ev, kvm_apic_accept_irq, apic_id)) {
		x->counts.unnamed++;
		return;
	}
	v = vector_get(x, ev, r->apic_id, r->vector);
	if (!v)
		return;
	x->counts.accepts++;
	v->accepted++;
	v->from[source_of(x, ev, v)]++;
	if (is_in(x, &v->pending, ev))
		v->coalesced++;
	else
		v->pending = begin_of(x, ev);
	if (!is_in(x, &v->since, ev))
		v->since = begin_of(x, ev);
}

static void on_inject(struct interrupts *x, const struct event *ev)
{
	struct irq_timer *t = timer_get(x, ev, false);
	RECORD(kvm_inj_virq, r, ev);
	struct irq_vector *v;

	if (!record_has(ev, kvm_inj_virq, vector)) {
		x->counts.unnamed++;
		return;
	}
	x->counts.injections = true;
	x->counts.repeats |= record_has(ev, kvm_inj_virq, reinjected);
	if (r->soft)
		return;
	v = vector_get(x, ev, apic_id_of(x, ev), r->vector);
	if (!v)
		return;
	v->vcpu = ev->vcpu;
	x->counts.reinjections += r->reinjected;
	v->reinjected += r->reinjected;
	if (r->reinjected)
		return;
	v->injected++;
	x->counts.unaccepted += !is_in(x, &v->pending, ev);
	stage_end(x, v, IRQ_INJECT, &v->pending, ev);
	v->since = v->pending;
	v->pending.ns = 0;
	v->handled = begin_of(x, ev);
	if (t && t->deadline_ns && t->vector == r->vector)
		t->injected = true;
}

static void on_eoi(struct interrupts *x, const struct event *ev)
{
	RECORD(kvm_eoi, r, ev);
	struct irq_vector *v;

	if (!record_has(ev, kvm_eoi, vector) || !record_has(ev, kvm_eoi, apic_id)) {
		x->counts.unnamed++;
		return;
	}
	x->counts.nameless += r->vector < 0;
	apic_id_learn(x, ev, r->apic_id);
	v = r->vector < 0 ? NULL : vector_get(x, ev, r->apic_id, (uint32_t)r->vector);
	if (!v)
		return;
	x->counts.eois = true;
	v->eois++;
	v->vcpu = ev->vcpu;
	stage_end(x, v, IRQ_HANDLE, &v->handled, ev);
	stage_end(x, v, IRQ_TOTAL, &v->since, ev);
	v->handled.ns = 0;
	if (!x->counts.injections)
		v->pending.ns = 0;
	v->since = v->pending; /* the next one is pending already */
}

static void on_pv_eoi(struct interrupts *x, const struct event *ev)
{
	RECORD(kvm_pv_eoi, r, ev);
	bool named = record_has(ev, kvm_pv_eoi, vector) && record_has(ev, kvm_pv_eoi, apic_id);
	struct irq_vector *v =
		named ? vector_get(x, ev, r->apic_id, (uint32_t)r->vector) : NULL;

	x->counts.late_eois = true;
	if (v)
		v->late++;
}

/* ---- interrupts without exits ---- */

static void on_inhibit(struct interrupts *x, const struct event *ev)
{
	RECORD(kvm_apicv_inhibit_changed, r, ev);

	x->counts.inhibits += r->set;
	x->counts.allowed += !r->set && record_has(ev, kvm_apicv_inhibit_changed, set);
}

static void on_incomplete_ipi(struct interrupts *x, const struct event *ev)
{
	(void)ev;
	x->counts.ipis++;
}

static void on_access(struct interrupts *x, const struct event *ev)
{
	(void)ev;
	x->counts.accesses++;
}

static void on_posted(struct interrupts *x, const struct event *ev)
{
	RECORD(kvm_pi_irte_update, r, ev);

	x->counts.posted += r->set;
}

/* ---- timers ---- */

static void on_timer(struct interrupts *x, const struct event *ev)
{
	RECORD(kvm_timer_irq, r, ev);
	struct irq_timer *t = timer_get(x, ev, true);
	struct irq_vector *v;

	if (!t)
		return;
	t->vector = r->vector;
	v = vector_get(x, ev, apic_id_of(x, ev), t->vector);
	if (v)
		v->from[IRQ_TIMER]++;
	x->counts.sources = x->counts.messages = x->counts.timers = true;
	t->fired++;
	t->lost += r->pending > 1 ? r->pending - 1 : 0;
	t->injected = false;
	t->deadline_ns = r->deadline_tsc ? tsc_clock_ns(&x->tsc, ev, r->deadline_tsc)
					 : (uint64_t)r->deadline_ns;
	if (!t->deadline_ns) {
		t->unknown++;
		return;
	}
	t->early += ev->time_ns < t->deadline_ns;
	value_add(x, &t->accept, t->deadline_ns, ev->time_ns);
	t->mark = loss_mark_of(&x->lost[LOST_TIMERS], ev);
}

/* The entry by which the guest gets it; without an injection in between the guest does not take interrupts. */
static void on_entry(struct interrupts *x, const struct event *ev)
{
	struct irq_timer *t = timer_get(x, ev, false);

	x->counts.entries = true;
	if (!t || !t->deadline_ns || !t->injected)
		return;
	if (!end_is_unknown(&x->lost[LOST_TIMERS], &t->mark, ev))
		value_add(x, &t->entry, t->deadline_ns, ev->time_ns);
	t->deadline_ns = 0;
}

/* ---- losses ---- */

static unsigned int losses_of(uint64_t id)
{
	switch (id) {
	case 0: /* any type */
		return 1 << LOST_VECTORS | 1 << LOST_TIMERS | 1 << LOST_RAISED;
	case EV_kvm_apic_accept_irq:
	case EV_kvm_eoi:
		return 1 << LOST_VECTORS;
	case EV_kvm_inj_virq:
		return 1 << LOST_VECTORS | 1 << LOST_TIMERS;
	case EV_kvm_timer_irq:
	case EV_kvm_entry:
		return 1 << LOST_TIMERS;
	case EV_kvm_msi_set_irq:
	case EV_kvm_set_irq:
	case EV_kvm_ioapic_set_irq:
		return 1 << LOST_RAISED;
	}
	return 0;
}

static void on_lost(struct interrupts *x, const struct event *ev)
{
	RECORD(lost, lost, ev); /* of a gap: any type */
	unsigned int what = losses_of(lost->lost_event);

	for (unsigned int i = 0; i < sizeof(x->lost) / sizeof(x->lost[0]); i++)
		loss_state_add(&x->lost[i], ev, what & 1 << i);
	x->counts.losses += what & 1 << LOST_VECTORS;
}

/* ---- all events ---- */

static void on_clock(struct interrupts *x, const struct event *ev)
{
	tsc_clock_event(&x->tsc, ev);
}

static const HANDLERS(struct interrupts) handlers = {{
	[EV_kvm_apic_accept_irq] = on_accept,
	[EV_kvm_ioapic_set_irq] = on_ioapic,
	[EV_kvm_set_irq] = on_line,
	[EV_kvm_msi_set_irq] = on_message,
	[EV_kvm_timer_irq] = on_timer,
	[EV_kvm_inj_virq] = on_inject,
	[EV_kvm_eoi] = on_eoi,
	[EV_kvm_pv_eoi] = on_pv_eoi,
	[EV_kvm_entry] = on_entry,
	[EV_kvm_apicv_inhibit_changed] = on_inhibit,
	[EV_kvm_avic_incomplete_ipi] = on_incomplete_ipi,
	[EV_kvm_avic_unaccelerated_access] = on_access,
	[EV_kvm_pi_irte_update] = on_posted,
	[EV_clock_pair] = on_clock,
	[EV_kvm_write_tsc_offset] = on_clock,
	[EV_vcpu_tsc] = on_clock,
	[EV_lost] = on_lost,
	[EV_gap] = on_lost,
}};

bool interrupts_wants(const char *event, void *arg)
{
	(void)arg;
	return handlers_want(&handlers, event);
}

int interrupts_event(struct interrupts *x, const struct event *ev)
{
	handlers_call(&handlers, x, ev);
	return x->err;
}

/* ---- results ---- */

static int by_key(const void *a, const void *b)
{
	const uint64_t *x = *(const uint64_t *const *)a, *y = *(const uint64_t *const *)b;

	return order_u64(x[0], y[0]) ?: order_u64(x[1], y[1]);
}

struct irq_vector **interrupts_vectors(const struct interrupts *x, size_t *ret_nr)
{
	struct irq_vector **all = malloc((x->vectors.nr + 1) * sizeof(*all));
	const struct vector_entry *e;
	size_t nr = 0;

	for (uint32_t at = 0; all && (e = hash_next(&x->vectors, &at));)
		if (e->v)
			all[nr++] = e->v;
	if (nr)
		qsort(all, nr, sizeof(*all), by_key);
	*ret_nr = nr;
	return all;
}

struct irq_timer **interrupts_timers(const struct interrupts *x, size_t *ret_nr)
{
	struct irq_timer **all = malloc((x->timers.nr + 1) * sizeof(*all));
	const struct timer_entry *e;
	size_t nr = 0;

	for (uint32_t at = 0; all && (e = hash_next(&x->timers, &at));)
		if (e->t)
			all[nr++] = e->t;
	if (nr)
		qsort(all, nr, sizeof(*all), by_key);
	*ret_nr = nr;
	return all;
}

struct interrupts *interrupts_new(void)
{
	struct interrupts *x = calloc(1, sizeof(*x));

	if (!x)
		return NULL;
	x->vectors = HASH_TABLE(struct vector_entry, 2, VECTORS_MAX);
	x->timers = HASH_TABLE(struct timer_entry, 2, TIMERS_MAX);
	x->raised = HASH_TABLE(struct raised, 1, THREADS_MAX);
	x->unsourced = HASH_TABLE(struct unsourced, 1, THREADS_MAX);
	x->ids = HASH_TABLE(struct apic_id, 2, TIMERS_MAX);
	tsc_clock_init(&x->tsc);
	return x;
}

void interrupts_free(struct interrupts *x)
{
	const struct vector_entry *e;
	const struct timer_entry *t;

	if (!x)
		return;
	for (uint32_t at = 0; (e = hash_next(&x->vectors, &at));) {
		for (unsigned int i = 0; e->v && i < IRQ_STAGES; i++)
			quantiles_free(&e->v->stage[i]);
		free(e->v);
	}
	for (uint32_t at = 0; (t = hash_next(&x->timers, &at));) {
		if (t->t)
			quantiles_free(&t->t->accept), quantiles_free(&t->t->entry);
		free(t->t);
	}
	hash_deinit(&x->vectors);
	hash_deinit(&x->timers);
	hash_deinit(&x->raised);
	hash_deinit(&x->unsourced);
	hash_deinit(&x->ids);
	for (unsigned int i = 0; i < sizeof(x->lost) / sizeof(x->lost[0]); i++)
		loss_state_deinit(&x->lost[i]);
	tsc_clock_deinit(&x->tsc);
	free(x);
}
