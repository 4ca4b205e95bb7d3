// SPDX-License-Identifier: GPL-2.0-or-later
/* The conditions of `record --trigger`: "exit-latency>5ms", "request-age>1s", "vm-end"; see base/condition.h. */
#include <errno.h>

#include "base/condition.h"
#include "base/error.h"
#include "base/hash.h"
#include "base/suggest.h"
#include "base/units.h"
#include "event/exit_reason.h"
#include "event/record_round.h"
#include "event/records.h"
#include "event/virtio_ids.h"
#include "pairing/pair.h"
#include "trigger/watch.h"

static const char REQUEST_AGE[] = "request-age", VM_END[] = "vm-end";

/* Points and accesses have no duration. */
static bool has_duration(const struct analyzer *a)
{
	return (a->end || a->duration) && !a->access;
}

static int unknown(const char *option, const char *name)
{
	struct suggestion s = {0};

	suggest_try(&s, name, REQUEST_AGE);
	suggest_try(&s, name, VM_END);
	for (const struct analyzer *const *a = analyzers; *a; a++)
		if (has_duration(*a))
			suggest_try(&s, name, (*a)->name);
	fail_usage(-EINVAL, "%s: unknown condition '%s'", option, name);
	return suggest_hint(-EINVAL, &s);
}

/* NULL: there is none. */
static const struct analyzer *analyzer_named(const char *name)
{
	if (!strcmp(name, REQUEST_AGE))
		name = "virtqueue";
	for (const struct analyzer *const *a = analyzers; *a; a++)
		if (has_duration(*a) && !strcmp((*a)->name, name))
			return *a;
	return NULL;
}

bool trigger_is_name(const char *name)
{
	return !strcmp(name, VM_END) || analyzer_named(name);
}

static int name_copy(const char *option, const char *name, char ret[TRIGGER_NAME_MAX])
{
	if (strlen(name) >= TRIGGER_NAME_MAX)
		return fail_usage(-EINVAL, "%s: no condition has the name '%s'", option, name);
	strcpy(ret, name);
	return 0;
}

/* The name is that of an analyzer whose spans are compared, or vm-end. */
static int duration_parse(const char *option, const char *text, const struct condition_single *c,
			  struct trigger_expression *ret)
{
	int err = name_copy(option, c->name, ret->name);

	if (err)
		return err;
	if (!strcmp(ret->name, VM_END))
		return c->op ? fail_usage(-EINVAL, "%s: vm-end takes no duration", option) : 0;
	ret->analyzer = analyzer_named(ret->name);
	if (!ret->analyzer)
		return unknown(option, ret->name);
	if (!c->op || strcmp(c->op, ">") != 0 || !c->value ||
	    parse_duration(c->value, &ret->min_ns) || !ret->min_ns)
		return fail_usage(-EINVAL, "invalid %s '%s' (expected %s>DURATION, e.g. '%s>10ms')",
				  option, text, ret->name, ret->name);
	return 0;
}

int trigger_parse(const char *option, const char *text, struct trigger_expression *ret)
{
	_cleanup_condition_ struct condition *c = NULL;
	struct condition_single single;
	int err = condition_parse(option, text, &c);

	*ret = (struct trigger_expression){0};
	if (err)
		return err;
	if (!condition_is_single(c, &single))
		return fail_usage(-EINVAL, "invalid %s '%s' (expected NAME>DURATION)", option,
				  text);
	return duration_parse(option, text, &single, ret);
}

enum {
	FORMS_MAX = 1 + FALLBACKS_MAX, /* an analyzer and its fallbacks */
	PAIRINGS_MAX = TRIGGERS_MAX * FORMS_MAX,
	MACHINES_MAX = 1 << 16,
};

/* An analyzer, or a fallback that counts until the analyzer's own begin event is seen. */
struct form {
	struct trigger_watch *watch;
	unsigned int which;
	const struct analyzer *analyzer;
	struct pairing *pairing;
	bool fallback;
};

/* A VM that was stopped (paused, migrated, shut down): its vCPUs are out of guest mode for that. */
struct machine {
	uint64_t pid; /* the key */
	bool stopped;
	uint64_t resumed_ns;
};

struct trigger_watch {
	const struct trigger_expression *e;
	struct form form[PAIRINGS_MAX];
	unsigned int nr;
	bool seen[TRIGGERS_MAX];   /* the begin of the analyzer itself */
	uint64_t wanted[EV_LIMIT]; /* by which forms, a bit each */
	trigger_fn *fn;
	void *arg;

	uint64_t evaluated_ns; /* the last round's watermark */
	struct hash_table machines;
	bool open; /* the spans that are being passed have not ended */

	struct record_round round;
};

_Static_assert(PAIRINGS_MAX <= 64, "one bit of `wanted` each");

/* ---- spans ---- */

/* What a thread was when it lost its CPU: prev_state of sched_switch, as in include/linux/sched.h. */
static const char *state_word(uint64_t state)
{
	return !state	      ? "preempted"
	       : state & 0x01 ? "asleep"
	       : state & 0x02 ? "asleep, not interruptible"
	       : state & 0x0c ? "stopped"
	       : state & 0xb0 ? "ended"
			      : NULL;
}

/* "reason=io vcpu=0"; states of threads in words */
static void labels_print(const struct pairing *p, const struct span *s, char *buf, size_t size)
{
	unsigned int nr;
	const struct label *label = pairing_labels(p, &nr);
	size_t len = 0;

	*buf = 0;
	for (unsigned int i = 0; i < nr && len < size; i++) {
		const char *name = label[i].name, *word = NULL;
		char text[128];

		if (!strcmp(name, "prev_state"))
			word = state_word(s->label[i]);
		if (word)
			name = "state";
		else
			word = pairing_label_text(p, i, s->label[i], text, sizeof(text));
		len += (size_t)snprintf(buf + len, size - len, "%s%s=%s", i ? " " : "", name, word);
	}
}

/* A vCPU with nothing to do, or an element that the balloon keeps by design (virtio 1.2, 5.5.6.3).
 */
static bool is_normal(const struct form *f, const struct span *s)
{
	unsigned int nr;
	const struct label *label = pairing_labels(f->pairing, &nr);
	bool is_balloon = false;

	for (unsigned int i = 0; i < nr; i++) {
		char buf[128];
		const char *text = pairing_label_text(f->pairing, i, s->label[i], buf, sizeof(buf));

		if (!strcmp(label[i].name, "reason") && exit_reason_is_idle(text))
			return true;
		is_balloon |= !strcmp(label[i].name, "device") && strstr(text, "balloon");
		if (is_balloon && !strcmp(label[i].name, "queue") &&
		    s->label[i] == BALLOON_STATS_QUEUE)
			return true;
	}
	return false;
}

/* Was its VM stopped meanwhile? Only of exits: a request that a stopped VM waits for is late. */
static bool is_stopped(const struct form *f, const struct span *s)
{
	const struct machine *m = hash_find_u64(&f->watch->machines, s->pid);

	return m && name_in_list("kvm_exit,kvm_userspace_exit", f->analyzer->begin) &&
	       (m->stopped || s->start_ns < m->resumed_ns);
}

static int on_span(void *arg, const struct span *s)
{
	const struct form *f = arg;
	struct trigger_watch *w = f->watch;
	uint64_t too_long_ns = s->start_ns + w->e[f->which].min_ns;

	if (s->end_ns <= too_long_ns || too_long_ns < w->evaluated_ns || is_normal(f, s) ||
	    is_stopped(f, s))
		return 0;

	struct trigger_culprit c = {.which = f->which,
				    .start_ns = s->start_ns,
				    .end_ns = s->end_ns,
				    .open = w->open,
				    .pid = s->pid,
				    .tid = s->tid,
				    .vcpu = s->vcpu};

	labels_print(f->pairing, s, c.labels, sizeof(c.labels));
	w->fn(w->arg, &c);
	return 0;
}

/* ---- setting up ---- */

static void wanted_add(struct trigger_watch *w, unsigned int i)
{
	for (unsigned int id = 1; id < EV_LIMIT; id++) {
		const struct event_type *t = event_type_ours(id);

		if (t && pairing_wants(w->form[i].analyzer, NULL, t->name))
			w->wanted[id] |= UINT64_C(1) << i;
	}
}

static int form_add(struct trigger_watch *w, unsigned int which, const struct analyzer *a,
		    bool fallback)
{
	struct form *f = &w->form[w->nr];

	*f = (struct form){.watch = w, .which = which, .analyzer = a, .fallback = fallback};
	int err = pairing_open(a, NULL, on_span, f, &f->pairing);

	if (err)
		return err;
	wanted_add(w, w->nr++);
	return 0;
}

static int forms_add(struct trigger_watch *w, unsigned int which)
{
	const struct analyzer *a = w->e[which].analyzer, *other;
	int err = a ? form_add(w, which, a, false) : 0;

	for (unsigned int i = 0; a && !err && (other = analyzer_fallback(a, i)); i++)
		if (!other->access)
			err = form_add(w, which, other, true);
	return err;
}

void trigger_watch_free(struct trigger_watch *w)
{
	if (!w)
		return;
	for (unsigned int i = 0; i < w->nr; i++)
		pairing_close(w->form[i].pairing);
	hash_deinit(&w->machines);
	record_round_deinit(&w->round);
	free(w);
}

struct trigger_watch *trigger_watch_new(const struct trigger_expression *e, unsigned int nr,
					trigger_fn *fn, void *arg)
{
	_cleanup_(trigger_watch_cleanup_) struct trigger_watch *w = calloc(1, sizeof(*w));
	int err = 0;

	if (!w) {
		fail(-ENOMEM, "out of memory");
		return NULL;
	}
	w->e = e;
	w->machines = HASH_TABLE(struct machine, 1, MACHINES_MAX);
	w->fn = fn;
	w->arg = arg;
	for (unsigned int i = 0; i < nr && !err; i++)
		err = forms_add(w, i);
	return err ? NULL : take_ptr(w);
}

/* ---- records ---- */

int trigger_watch_record(struct trigger_watch *w, const struct record_hdr *rec)
{
	if (rec->type >= EV_LIMIT || (!w->wanted[rec->type] && rec->type != EV_vm_state))
		return 0;
	return record_round_add(&w->round, rec);
}

static bool counts(const struct trigger_watch *w, const struct form *f)
{
	return !f->fallback || !w->seen[f->which];
}

/* Out of memory: as if it had not been stopped. */
static void state_learn(struct trigger_watch *w, const struct event *ev)
{
	RECORD(vm_state, r, ev);
	bool is_new, running = r->running;
	struct machine *m = record_has(ev, vm_state, running)
				    ? hash_add_u64(&w->machines, ev->pid, &is_new)
				    : NULL;

	if (!m)
		return;
	if (m->stopped && running)
		m->resumed_ns = ev->time_ns;
	m->stopped = !running;
}

static int event_feed(void *arg, const struct event *ev)
{
	struct trigger_watch *w = arg;
	unsigned int id = ev->type->id;
	int err = 0;

	if (id == EV_vm_state)
		state_learn(w, ev);
	for (unsigned int i = 0; i < w->nr && !err; i++) {
		struct form *f = &w->form[i];

		if (!(w->wanted[id] & UINT64_C(1) << i))
			continue;
		if (!f->fallback && !w->seen[f->which])
			w->seen[f->which] = name_in_list(f->analyzer->begin, ev->type->name);
		if (counts(w, f))
			err = pairing_event(f->pairing, ev);
	}
	return err;
}

int trigger_watch_round(struct trigger_watch *w, uint64_t watermark_ns)
{
	int err = record_round_each(&w->round, watermark_ns, event_feed, w);

	w->open = true;
	for (unsigned int f = 0; f < w->nr && !err; f++)
		if (counts(w, &w->form[f]))
			err = pairing_open_spans(w->form[f].pairing, watermark_ns);
	w->open = false;
	w->evaluated_ns = watermark_ns;
	return err;
}
