// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * One event at a time: which roles it has for the analyzer (begin, end, mark, loss) was bound when its type was first
 * seen, so that an event costs a table look-up. The same rules for whole columns are in fast_pair.c; test_fast_path
 * compares both.
 */
#include <errno.h>
#include <stddef.h>

#include "base/error.h"
#include "event/records.h"
#include "pairing/pair_private.h"

/* ---- setting up ---- */

static int split(const char *list, char (*out)[EVENT_NAME_MAX], unsigned int max,
		 unsigned int *ret_nr)
{
	unsigned int nr = 0;

	for (const char *p = list ? list : ""; *p; p += strcspn(p, ","), p += *p == ',') {
		size_t len = strcspn(p, ",");

		if (nr == max || len >= EVENT_NAME_MAX)
			return fail_usage(-EINVAL, "more than %u keys in '%s'", max, list);
		memcpy(out[nr], p, len);
		out[nr++][len] = 0;
	}
	*ret_nr = nr;
	return 0;
}

/* Keys that no field has by that name, and how they are shown. */
static struct label label_named(const char *name)
{
	if (!strcmp(name, "device"))
		return (struct label){name, "text", false};
	if (!strcmp(name, "dir") || !strcmp(name, "vm") || !strcmp(name, "guest-task"))
		return (struct label){name, name, false};
	if (!strcmp(name, "level") || !strcmp(name, "handler"))
		return (struct label){name, "level", false};
	if (!strcmp(name, "page") || !strcmp(name, "addr"))
		return (struct label){"addr", "hex", false, .page = *name == 'p'};
	if (!strcmp(name, "rip"))
		return (struct label){name, "addr", false};
	return (struct label){name, "dec", false};
}

/* The analyzer's own keys and those of --by; "=KEYS" takes the place of the analyzer's. */
static int labels_init(struct pairing *p, const char *by)
{
	unsigned int nr = 0;
	char given[LABELS_MAX][EVENT_NAME_MAX];
	int err = split(by && *by == '=' ? "" : p->a->by, p->names, LABELS_MAX, &p->nr_labels);

	if (!err && by)
		err = split(by + (*by == '='), given, LABELS_MAX, &nr);
	p->nr_own = p->nr_labels;
	for (unsigned int i = 0; !err && by && i < nr; i++) {
		unsigned int j = 0;

		while (j < p->nr_labels && strcmp(p->names[j], given[i]))
			j++;
		if (j < p->nr_labels)
			continue;
		if (p->nr_labels == LABELS_MAX)
			return fail_usage(-EINVAL, "more than %d keys to group by", LABELS_MAX);
		memcpy(p->names[p->nr_labels++], given[i], sizeof(given[i]));
	}
	return err;
}

static void bindings_free(struct pairing *p)
{
	for (unsigned int i = 0; i < event_types_count(); i++) {
		free(p->binding[i]);
		p->binding[i] = NULL;
	}
}

void pairing_restart(struct pairing *p)
{
	bindings_free(p);
	for (unsigned int i = 0; i < p->nr_all; i++) {
		p->label[i] = label_named(p->names[i]);
		p->label_found[i] = false;
	}
	p->has_info = p->asks_info = false;
}

/* Watches the elements for the analyzer. */
static void element_popped(void *arg, const struct event *ev)
{
	struct pairing *p = arg;

	p->a->elements->popped(p, ev);
}

static void element_left(void *arg, const struct element *el, enum element_end how,
			 const struct event *ev)
{
	struct pairing *p = arg;

	if (p->a->elements->left)
		p->a->elements->left(p, el, how, ev);
}

static void queues_cleared(void *arg, const struct event *ev, uint64_t vdev, uint64_t queue)
{
	struct pairing *p = arg;

	if (p->a->elements->cleared)
		p->a->elements->cleared(p, ev, vdev, queue);
}

static int elements_init(struct pairing *p)
{
	p->elements = elements_new();
	if (!p->elements)
		return fail(-ENOMEM, "out of memory");
	p->watch = (struct element_watch){.popped = element_popped,
					  .left = element_left,
					  .cleared = queues_cleared,
					  .arg = p};
	elements_watch(p->elements, &p->watch);
	return 0;
}

static size_t span_bytes(const struct pairing *p)
{
	return offsetof(struct span, label) + p->nr_all * sizeof(uint64_t);
}

/* So many labels are known now, and none is open. */
static void open_fit(struct pairing *p)
{
	p->open.size = (uint32_t)(offsetof(struct open_span, span) + span_bytes(p));
}

int pairing_open(const struct analyzer *a, const char *by, span_fn *fn, void *arg,
		 struct pairing **ret)
{
	_cleanup_(pairing_cleanup_) struct pairing *p = calloc(1, sizeof(*p));
	int err;

	if (!p)
		return fail(-ENOMEM, "out of memory");
	p->a = a;
	p->fn = fn;
	p->arg = arg;
	p->until_ns = UINT64_MAX;
	p->text_keys = HASH_TABLE(struct text_key, 2, INTERNED_MAX);
	guest_tasks_init(&p->guest_tasks);
	err = labels_init(p, by);
	if (!err)
		err = split(a->key, p->keys, KEYS_MAX, &p->nr_keys);
	if (!err && a->elements)
		err = elements_init(p);
	p->open =
		OPEN_TABLE(struct open_span, a->feed || a->elements ? 1 + KEYS_MAX : 1 + p->nr_keys,
			   OPEN_SPANS_MAX);
	if (err)
		return err;
	p->nr_all = p->nr_labels;
	open_fit(p);
	pairing_restart(p);
	*ret = take_ptr(p);
	return 0;
}

int pairing_where(struct pairing *p, const struct condition *c)
{
	int err = pair_where_bind(p, c);

	open_fit(p);
	if (!err)
		pairing_restart(p);
	return err;
}

void pairing_window(struct pairing *p, uint64_t since_ns, uint64_t until_ns)
{
	p->since_ns = since_ns;
	p->until_ns = until_ns;
	if (p->elements)
		elements_window(p->elements, since_ns);
}

void pairing_close(struct pairing *p)
{
	if (!p)
		return;
	bindings_free(p);
	for (unsigned int i = 0; i < p->nr_text; i++)
		free(p->text[i].text);
	free(p->text);
	hash_deinit(&p->text_keys);
	open_table_deinit(&p->open);
	loss_state_deinit(&p->losses);
	guest_tasks_deinit(&p->guest_tasks);
	elements_free(p->elements);
	free(p);
}

/* ---- begin, end, reset, loss ---- */

/* Labels that it has not are 0. */
static void span_open(const struct pairing *p, const struct open_span *o, struct span *ret)
{
	memset(ret, 0, sizeof(*ret));
	memcpy(ret, &o->span, span_bytes(p));
}

static void span_fill(struct pairing *p, const struct event *ev, struct span *s)
{
	const struct binding *b = p->binding[ev->type->index];

	*s = (struct span){.start_ns = ev->time_ns,
			   .end_ns = ev->time_ns,
			   .pid = ev->pid,
			   .tid = ev->tid,
			   .vcpu = ev->vcpu,
			   .weight = b->weight ? event_u64(ev, b->weight) : 1};
	s->bytes = b->size	? s->weight * event_u64(ev, b->size)
		   : p->a->size ? BYTES_UNKNOWN
				: 0;
	for (unsigned int i = 0; i < p->nr_all; i++) {
		const struct from *f = &b->label[i];

		if (f->source == FROM_FIELD)
			s->label[i] = pair_field(ev, f);
		else
			s->label[i] = f->source == FROM_NOTHING ? LABEL_UNKNOWN
								: pair_value(p, ev, f);
	}
}

static void hand_over(struct pairing *p, const struct span *s)
{
	if (!pair_in_window(p, s->end_ns))
		return;
	if (p->where && !pair_where_holds(p, s)) {
		p->counts.not_selected++;
		return;
	}
	p->counts.spans++;
	p->counts.before += !pair_in_window(p, s->start_ns);
	p->counts.nested += s->nested;
	p->counts.reflected += s->reflected;
	if (!p->err)
		p->err = p->fn(p->arg, s);
}

void pairing_begin(struct pairing *p, const struct event *ev, struct pair_key key)
{
	struct open_span *o = open_find(&p->open, key);
	struct span s;

	p->nr_begins++;
	if (o && lost_since(&p->losses, &o->mark))
		p->counts.unknown += pair_in_window(p, ev->time_ns);
	else if (o)
		p->counts.unmatched_begin += pair_in_window(p, ev->time_ns);
	if (o)
		open_renew(&p->open, o);
	else
		o = open_add(&p->open, key);
	if (!o) {
		p->counts.overflow++;
		return;
	}
	o->mark = loss_mark_of(&p->losses, ev);
	span_fill(p, ev, &s);
	memcpy(&o->span, &s, span_bytes(p));
}

bool pairing_finish(struct pairing *p, const struct event *ev, struct pair_key key)
{
	struct open_span *o = open_find(&p->open, key);

	if (!o) {
		p->counts.unmatched_end += pair_in_window(p, ev->time_ns);
		return false;
	}
	struct span s;
	bool unknown = lost_since(&p->losses, &o->mark),
	     gap = gap_since(&p->losses, &o->mark, ev->cpu, ev->time_ns);

	span_open(p, o, &s);
	open_remove(&p->open, o);
	if (unknown) {
		p->counts.unknown += pair_in_window(p, ev->time_ns);
		return true;
	}
	if (gap) {
		p->counts.gaps += pair_in_window(p, ev->time_ns);
		return true;
	}
	if (ev->time_ns < s.start_ns) {
		p->counts.unmatched_end += pair_in_window(p, ev->time_ns);
		return false;
	}
	s.end_ns = ev->time_ns;
	hand_over(p, &s);
	return true;
}

void pairing_drop(struct pairing *p, const struct event *ev, struct pair_key key)
{
	struct open_span *o = open_find(&p->open, key);

	if (!o)
		return;
	p->counts.dropped += pair_in_window(p, ev->time_ns);
	open_remove(&p->open, o);
}

void pairing_drop_all(struct pairing *p, const struct event *ev, struct pair_key key)
{
	for (struct open_span *o = open_oldest(&p->open), *next; o; o = next) {
		const uint64_t *v = o->begin.key.v;

		next = open_newer(&p->open, o);
		if (v[0] == key.v[0] && v[1] == key.v[1] &&
		    (v[2] == key.v[2] || key.v[2] == UINT64_MAX))
			pairing_drop(p, ev, o->begin.key);
	}
}

bool pairing_is_open(struct pairing *p, struct pair_key key)
{
	return open_find(&p->open, key);
}

static void point(struct pairing *p, const struct event *ev)
{
	const struct binding *b = p->binding[ev->type->index];
	struct span s;

	p->nr_begins++;
	if (p->a->duration && !b->duration) {
		p->counts.no_duration += pair_in_window(p, ev->time_ns);
		return;
	}
	p->counts.no_weight += p->a->weight && !b->weight && pair_in_window(p, ev->time_ns);
	span_fill(p, ev, &s);
	if (b->duration) {
		uint64_t ns = event_u64(ev, b->duration);

		s.start_ns = ns < s.end_ns ? s.end_ns - ns : 0;
	}
	hand_over(p, &s);
}

static void lost(struct pairing *p, const struct event *ev)
{
	RECORD(lost, r, ev);

	loss_state_add(&p->losses, ev, p->a->end && analyzer_loses(p->a, r->lost_event));
}

static inline struct pair_key key_of(struct pairing *p, const struct event *ev)
{
	const struct binding *b = p->binding[ev->type->index];
	struct pair_key k = {{ev->pid, 0, 0}};

	if (p->nr_keys == 1 && b->key[0].source == FROM_TID) /* nearly always */
		k.v[1] = ev->tid;
	else
		for (unsigned int i = 0; i < p->nr_keys; i++)
			k.v[1 + i] = pair_value(p, ev, &b->key[i]);
	return k;
}

static void mark(struct pairing *p, const struct event *ev)
{
	struct open_span *o = open_find(&p->open, key_of(p, ev));

	if (o)
		o->span.marked = true;
}

static void level_set(struct pairing *p, struct span *s, const char *key, uint64_t level)
{
	for (unsigned int i = 0; i < p->nr_all; i++)
		if (!strcmp(p->names[i], key))
			s->label[i] = level;
}

/*
 * KVM fires kvm_nested_vmexit after the kvm_exit of a nested guest (L2), and kvm_nested_vmexit_inject if the guest (L1)
 * is to run next with that exit, or with an interrupt that came meanwhile.
 */
static void nested(struct pairing *p, const struct event *ev, const struct binding *b)
{
	struct open_span *o = open_find(&p->open, key_of(p, ev));

	++*(b->roles & ROLE_NESTED ? &p->counts.nested_events : &p->counts.injects);
	if (!o)
		return;
	if (b->roles & ROLE_NESTED) {
		o->span.nested = true;
		level_set(p, &o->span, "level", LEVEL_NESTED);
	} else if (o->span.nested) {
		o->span.reflected = true;
		level_set(p, &o->span, "handler", LEVEL_GUEST);
	}
}

/* Does this event, which may begin a span by its type, do so? */
static bool is_begin(struct pairing *p, const struct binding *b, const struct event *ev)
{
	if (b->skip_zero && !event_u64(ev, b->skip_zero))
		return false;
	return !p->a->access || pair_is_access(p, ev);
}

/* Roles that few events have: those before a span's begin or end, and those after it. */
enum {
	ROLES_BEFORE = ROLE_LOST | ROLE_GAP | ROLE_DEVICE | ROLE_EXIT | ROLE_GUEST_TASK |
		       ROLE_FED | ROLE_ELEMENTS,
	ROLES_AFTER = ROLE_MARK | ROLE_NESTED | ROLE_REFLECTED,
};

static void roles_before(struct pairing *p, const struct event *ev, unsigned int roles)
{
	if (roles & (ROLE_LOST | ROLE_GAP))
		lost(p, ev);
	if (roles & ROLE_DEVICE)
		pair_device_learn(p, ev);
	if (roles & ROLE_EXIT)
		pair_rip_learn(p, ev);
	if (roles & ROLE_GUEST_TASK)
		guest_tasks_learn(&p->guest_tasks, ev);
	if (roles & ROLE_FED)
		p->a->feed(p, ev);
	if (roles & ROLE_ELEMENTS)
		elements_event(p->elements, ev);
}

static void roles_after(struct pairing *p, const struct event *ev, const struct binding *b)
{
	if (b->roles & ROLE_MARK)
		mark(p, ev);
	if (b->roles & (ROLE_NESTED | ROLE_REFLECTED))
		nested(p, ev, b);
}

int pairing_event(struct pairing *p, const struct event *ev)
{
	struct binding *b = p->binding[ev->type->index];

	if (!b && !(b = pair_bind(p, ev->type)))
		return fail(-ENOMEM, "out of memory");
	if (!b->roles || ev->time_ns >= p->until_ns)
		return 0;
	if (b->roles & ROLES_BEFORE)
		roles_before(p, ev, b->roles);
	if (b->roles & ROLE_END)
		pairing_finish(p, ev, key_of(p, ev));
	if (b->roles & ROLE_BEGIN && is_begin(p, b, ev)) {
		if (p->a->end)
			pairing_begin(p, ev, key_of(p, ev));
		else
			point(p, ev);
	}
	if (b->roles & ROLES_AFTER)
		roles_after(p, ev, b);
	return p->err;
}

/* Spans that are still open, and those that nothing is known of, as an end may have been lost. */
static void open_count(struct pairing *p)
{
	for (struct open_span *o = open_oldest(&p->open); o; o = open_newer(&p->open, o))
		++*(lost_since(&p->losses, &o->mark) ? &p->counts.unknown : &p->counts.open);
}

/* No exit has an info1 other than 0, so it was not recorded: directions that are read from it are not known. */
static void directions_forget(struct pairing *p)
{
	for (unsigned int i = 0; i < p->nr_all; i++)
		if (p->label[i].may_lack && !strcmp(p->label[i].name, "dir"))
			p->label[i].fmt = "none";
}

int pairing_open_spans(struct pairing *p, uint64_t end_ns)
{
	for (struct open_span *o = open_oldest(&p->open); o && !p->err;
	     o = open_newer(&p->open, o)) {
		struct span s;

		span_open(p, o, &s);
		s.end_ns = end_ns > s.start_ns ? end_ns : s.start_ns;
		if (!end_may_be_missing(&p->losses, &o->mark))
			p->err = p->fn(p->arg, &s);
	}
	return p->err;
}

/* What the elements' rules left out, or could not check. */
static void elements_count(struct pairing *p)
{
	const struct element_totals *t = elements_totals(p->elements);

	if (p->a->elements->left)
		p->counts.unmatched_end = t->before;
	p->counts.overflow +=
		t->overflow + t->unchecked_devices + t->unchecked_vms + t->unchecked_threads;
}

/* A key that only these events tell. */
static int nested_missing(const struct pairing *p)
{
	const char *event =
		pair_groups_by(p, "level") && !p->counts.nested_events ? "kvm_nested_vmexit"
		: pair_groups_by(p, "handler") && !p->counts.injects   ? "kvm_nested_vmexit_inject"
								       : NULL;

	if (!event)
		return 0;
	return fail(-ENODATA,
		    "no %s in this trace: no exit is of a nested guest (L2), or the event was not "
		    "recorded ('hostrace info' lists what was)",
		    event);
}

int pairing_end(struct pairing *p)
{
	if (p->where && p->nr_begins && pair_where_check(p))
		return -EINVAL;
	for (unsigned int i = 0; i < p->nr_labels; i++) {
		if (!p->nr_begins || p->label_found[i])
			continue;
		if (i >= p->nr_own)
			return fail_usage(-EINVAL,
					  "%s: invalid --by key '%s' (supported: pid, tid, vcpu, "
					  "cpu and the fields of %s)",
					  p->a->name, p->names[i], p->a->begin);
		p->label[i].fmt = "none"; /* an older file, whose events lack the field */
	}
	if (p->asks_info && !p->has_info)
		directions_forget(p);
	if (p->nr_begins && pair_groups_by(p, "guest-task") && !p->guest_tasks.now.nr)
		return guest_tasks_missing();
	if (p->nr_begins && nested_missing(p))
		return -ENODATA;
	open_count(p);
	if (p->elements)
		elements_count(p);
	return 0;
}

/* "rip" of an event that has none is that of the thread's newest kvm_exit. */
static bool by_key(const char *by, const char *key)
{
	return by && name_in_list(by + (*by == '='), key);
}

bool pairing_needs_before(const struct analyzer *a, const char *by)
{
	return a->end || by_key(by, "rip");
}

bool pairing_wants(const struct analyzer *a, const char *by, const char *event)
{
	if (!strcmp(event, "kvm_exit") && by_key(by, "rip"))
		return true;
	if (!strcmp(event, "guest_task") && by_key(by, "guest-task"))
		return true;
	return analyzer_wants(a, event) || !strcmp(event, "lost") || !strcmp(event, "gap") ||
	       !strcmp(event, "virtio_device");
}

const struct pair_counts *pairing_counts(const struct pairing *p)
{
	return &p->counts;
}

const struct label *pairing_labels(const struct pairing *p, unsigned int *ret_nr)
{
	*ret_nr = p->nr_labels;
	return p->label;
}
