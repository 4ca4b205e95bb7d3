// SPDX-License-Identifier: GPL-2.0-or-later
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "pair.h"

enum {
	ROLE_BEGIN = 1,
	ROLE_END = 2,
	ROLE_MARK = 4,
	ROLE_RESET = 8,
	ROLE_FED = 16, /* the analyzer's own function gets it */
	ROLE_LOST = 32,
	ROLE_DEVICE = 64, /* virtio_device: names a vdev */
	ROLE_EXIT = 1024, /* kvm_exit: where the guest was */
	EXIT_RIPS = 4096, /* threads whose newest exit is remembered */
	KEYS_MAX = 2,	  /* beside the pid */
	MEMO_MAX = 16,	  /* fields that a feed asks for by name */
	SLOTS = 2 * OPEN_SPANS_MAX,
};

#define TEXT_OF_EVENTS UINT32_MAX /* in the place of a pid: no device's name */

/* Where a key or label comes from in one event type. */
enum source {
	FROM_FIELD,
	FROM_PID,
	FROM_TID,
	FROM_VCPU,
	FROM_CPU,
	FROM_DEVICE,
	FROM_DIR,
	FROM_PAGE,
	FROM_TEXT,
	FROM_EXIT_RIP, /* guest instruction pointer of the thread's newest kvm_exit */
	FROM_NOTHING
};

struct from {
	enum source source;
	const struct field *field, *isa;
};

/* What is known of one event type, found out when its first event comes. */
struct binding {
	bool made;
	uint16_t roles;
	struct from key[KEYS_MAX], label[LABELS_MAX];
	const struct field *weight, *size, *duration;
	const struct field *memo[MEMO_MAX];
	const char *memo_name[MEMO_MAX];
};

struct open_span {
	struct pair_key key;
	struct span span;
	uint64_t losses; /* reports of lost events before it began */
	bool used;
};

struct text {
	uint32_t pid;
	uint64_t id; /* vdev */
	char *text;
};

struct pairing {
	const struct analyzer *a;
	span_fn *fn;
	void *arg;
	int err; /* of fn, sticky */
	struct binding *binding[EVENT_TYPES_MAX];
	struct label label[LABELS_MAX];
	char names[LABELS_MAX][EVENT_NAME_MAX];
	bool label_found[LABELS_MAX];
	unsigned int nr_labels, nr_own /* of them the analyzer's */, nr_keys;
	char keys[KEYS_MAX][EVENT_NAME_MAX];
	struct open_span *open; /* open-addressed by key, SLOTS of them */
	struct pair_counts counts;
	struct text *text;
	unsigned int nr_text;
	uint64_t nr_begins, losses;
	struct {
		uint32_t tid;
		uint64_t rip;
	} exit_rip[EXIT_RIPS]; /* by tid modulo EXIT_RIPS */
};

/* ---- setting up ---- */

static int split(const char *list, char (*out)[EVENT_NAME_MAX], unsigned int max,
		 unsigned int *ret_nr)
{
	unsigned int nr = 0;

	for (const char *p = list ? list : ""; *p; p += strcspn(p, ","), p += *p == ',') {
		size_t len = strcspn(p, ",");

		if (nr == max || len >= EVENT_NAME_MAX)
			return fail(-EINVAL, "'%s' names more than %u keys", list, max);
		memcpy(out[nr], p, len);
		out[nr++][len] = 0;
	}
	*ret_nr = nr;
	return 0;
}

/* Keys that no field has by that name, and how they are shown. "page" is an address cut to 4 KiB.
 */
static struct label label_named(const char *name)
{
	if (!strcmp(name, "device"))
		return (struct label){name, "text"};
	if (!strcmp(name, "dir"))
		return (struct label){name, "dir"};
	if (!strcmp(name, "page") || !strcmp(name, "addr"))
		return (struct label){"addr", "hex"};
	if (!strcmp(name, "rip"))
		return (struct label){name, "addr"};
	return (struct label){name, "dec"};
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
			return fail(-EINVAL, "more than %d keys to group by", LABELS_MAX);
		memcpy(p->names[p->nr_labels++], given[i], sizeof(given[i]));
	}
	for (unsigned int i = 0; i < p->nr_labels; i++)
		p->label[i] = label_named(p->names[i]);
	return err;
}

int pairing_open(const struct analyzer *a, const char *by, span_fn *fn, void *arg,
		 struct pairing **ret)
{
	_cleanup_(pairing_cleanup_) struct pairing *p = calloc(1, sizeof(*p));
	int err;

	if (!p || !(p->open = calloc(SLOTS, sizeof(*p->open))))
		return fail(-ENOMEM, "out of memory");
	p->a = a;
	p->fn = fn;
	p->arg = arg;
	err = labels_init(p, by);
	if (!err)
		err = split(a->key, p->keys, KEYS_MAX, &p->nr_keys);
	if (err)
		return err;
	*ret = take_ptr(p);
	return 0;
}

void pairing_close(struct pairing *p)
{
	if (!p)
		return;
	for (unsigned int i = 0; i < EVENT_TYPES_MAX; i++)
		free(p->binding[i]);
	for (unsigned int i = 0; i < p->nr_text; i++)
		free(p->text[i].text);
	free(p->text);
	free(p->open);
	free(p);
}

static struct from from_name(const struct event_type *t, const char *name)
{
	static const struct {
		const char *name;
		enum source source;
	} header[] = {{"pid", FROM_PID},   {"tid", FROM_TID},	    {"vcpu", FROM_VCPU},
		      {"cpu", FROM_CPU},   {"device", FROM_DEVICE}, {"dir", FROM_DIR},
		      {"page", FROM_PAGE}, {"addr", FROM_FIELD},    {"rip", FROM_EXIT_RIP}};
	struct from f = {FROM_FIELD, event_field(t, name), NULL};

	if (f.field) {
		if (!strcmp(f.field->fmt, "reason"))
			f.isa = event_field(t, "isa");
		if (f.field->kind == FIELD_TEXT || f.field->kind == FIELD_DYNTEXT)
			f.source = FROM_TEXT;
		return f;
	}
	for (size_t i = 0; i < sizeof(header) / sizeof(header[0]); i++)
		if (!strcmp(header[i].name, name)) {
			f.source = header[i].source;
			if (f.source == FROM_EXIT_RIP)
				return f;
			if (f.source == FROM_DEVICE)
				f.field = event_field(t, "vdev");
			if (f.source == FROM_DIR && !(f.field = event_field(t, "write")))
				f.field = event_field(t, "type");
			if (f.source == FROM_PAGE || f.source == FROM_FIELD)
				f.field = event_field(t, "gpa");
			if (!f.field && (f.source > FROM_CPU || f.source == FROM_FIELD))
				f.source = FROM_NOTHING;
			return f;
		}
	f.source = FROM_NOTHING;
	return f;
}

static uint16_t roles_of(const struct analyzer *a, const struct event_type *t)
{
	uint16_t roles = 0;

	if (t->id == EV_lost)
		roles |= ROLE_LOST;
	if (t->id == EV_virtio_device)
		roles |= ROLE_DEVICE;
	if (a->feed && analyzer_wants(a, t->name))
		return roles | ROLE_FED;
	roles |= name_in_list(a->begin, t->name) ? ROLE_BEGIN : 0;
	roles |= name_in_list(a->end, t->name) ? ROLE_END : 0;
	roles |= name_in_list(a->mark, t->name) ? ROLE_MARK : 0;
	roles |= name_in_list(a->reset, t->name) ? ROLE_RESET : 0;
	return roles;
}

static struct binding *bind(struct pairing *p, const struct event_type *t)
{
	struct binding *b = calloc(1, sizeof(*b));

	if (!b)
		return NULL;
	b->roles = roles_of(p->a, t);
	if (t->id == EV_kvm_exit && pairing_groups_by(p, "rip"))
		b->roles |= ROLE_EXIT;
	for (unsigned int i = 0; i < p->nr_keys; i++)
		b->key[i] = from_name(t, p->keys[i]);
	for (unsigned int i = 0; i < p->nr_labels; i++) {
		b->label[i] = from_name(t, p->names[i]);
		if (!(b->roles & (ROLE_BEGIN | ROLE_FED)) || b->label[i].source == FROM_NOTHING)
			continue;
		p->label_found[i] = true;
		if (b->label[i].source == FROM_FIELD && strcmp(p->label[i].fmt, "hex"))
			p->label[i].fmt = b->label[i].field->fmt;
		if (b->label[i].source == FROM_TEXT)
			p->label[i].fmt = "text";
	}
	b->weight = p->a->weight ? event_field(t, p->a->weight) : NULL;
	b->size = p->a->size ? event_field(t, p->a->size) : NULL;
	b->duration = p->a->duration ? event_field(t, p->a->duration) : NULL;
	p->binding[t->index] = b;
	return b;
}

/* ---- values ---- */

/* Interned texts are numbered from 1; the number of (pid, vdev) is its place. */
static uint64_t device_number(struct pairing *p, uint32_t pid, uint64_t vdev)
{
	for (unsigned int i = p->nr_text; i-- > 0;)
		if (p->text[i].pid == pid && p->text[i].id == vdev)
			return i + 1;
	return 0;
}

/* Its number; 0 if there is no room. */
static uint64_t text_keep(struct pairing *p, uint32_t pid, uint64_t id, const char *text)
{
	if (p->nr_text == INTERNED_MAX)
		return 0;
	if (!(p->nr_text & (p->nr_text - 1))) {
		void *more = realloc(p->text, (p->nr_text ? 2 * p->nr_text : 1) * sizeof(*p->text));

		if (!more)
			return 0;
		p->text = more;
	}
	p->text[p->nr_text] = (struct text){pid, id, strdup(text)};
	return p->text[p->nr_text].text ? ++p->nr_text : 0;
}

static void device_learn(struct pairing *p, const struct event *ev)
{
	char path[EVENT_NAME_MAX];
	const struct field *f = event_field(ev->type, "path");
	uint64_t vdev = pairing_field(p, ev, "vdev"), known = device_number(p, ev->pid, vdev);

	if (!f)
		return;
	field_print(ev, f, path, sizeof(path));
	if (!known || strcmp(p->text[known - 1].text, path))
		text_keep(p, ev->pid, vdev, path);
}

/* A text of an event itself: kept under a hash that stands for it (FNV-1a), compared whole. */
static uint64_t text_number(struct pairing *p, const struct event *ev, const struct field *f)
{
	char text[EVENT_NAME_MAX];
	uint64_t hash = 0xcbf29ce484222325ull;

	field_print(ev, f, text, sizeof(text));
	for (const char *c = text; *c; c++)
		hash = (hash ^ (unsigned char)*c) * 0x100000001b3ull;
	for (unsigned int i = p->nr_text; i-- > 0;)
		if (p->text[i].pid == TEXT_OF_EVENTS && p->text[i].id == hash &&
		    !strcmp(p->text[i].text, text))
			return i + 1;
	return text_keep(p, TEXT_OF_EVENTS, hash, text);
}

/* Threads that share a place forget each other's: then the value is 0, never another's. */
static void exit_rip_learn(struct pairing *p, const struct event *ev)
{
	p->exit_rip[ev->tid % EXIT_RIPS].tid = ev->tid;
	p->exit_rip[ev->tid % EXIT_RIPS].rip = pairing_field(p, ev, "rip");
}

static uint64_t exit_rip(const struct pairing *p, uint32_t tid)
{
	return p->exit_rip[tid % EXIT_RIPS].tid == tid ? p->exit_rip[tid % EXIT_RIPS].rip : 0;
}

static uint64_t value_of(struct pairing *p, const struct event *ev, const struct from *f)
{
	switch (f->source) {
	case FROM_FIELD:
		return event_u64(ev, f->field) | (f->isa ? event_u64(ev, f->isa) << 32 : 0);
	case FROM_PID:
		return ev->pid;
	case FROM_TID:
		return ev->tid;
	case FROM_VCPU:
		return ev->vcpu;
	case FROM_CPU:
		return ev->cpu;
	case FROM_DEVICE:
		return f->field ? device_number(p, ev->pid, event_u64(ev, f->field)) : 0;
	case FROM_DIR: /* kvm_mmio has a type: 2 is a write */
		return strcmp(f->field->name, "type") ? event_u64(ev, f->field)
						      : event_u64(ev, f->field) == 2;
	case FROM_TEXT:
		return text_number(p, ev, f->field);
	case FROM_PAGE:
		return event_u64(ev, f->field) & ~0xfffull;
	case FROM_EXIT_RIP:
		return exit_rip(p, ev->tid);
	case FROM_NOTHING:
		break;
	}
	return 0;
}

uint64_t pairing_field(struct pairing *p, const struct event *ev, const char *field)
{
	struct binding *b = p->binding[ev->type->index];

	for (unsigned int i = 0; i < MEMO_MAX; i++) {
		if (b->memo_name[i] == field)
			return b->memo[i] ? event_u64(ev, b->memo[i]) : 0;
		if (!b->memo_name[i]) {
			b->memo_name[i] = field;
			b->memo[i] = event_field(ev->type, field);
			return b->memo[i] ? event_u64(ev, b->memo[i]) : 0;
		}
	}
	return 0;
}

const char *pairing_label_text(const struct pairing *p, unsigned int i, uint64_t value, char *buf,
			       size_t size)
{
	const struct label *l = &p->label[i];

	if (!strcmp(l->fmt, "text"))
		return value && value <= p->nr_text ? p->text[value - 1].text : "unknown";
	if (!strcmp(l->fmt, "reason"))
		return value_print(l->fmt, (uint32_t)value, value >> 32, buf, size);
	return value_print(l->fmt, value, 0, buf, size);
}

/* ---- the table of open spans ---- */

static size_t slot_of(struct pair_key k)
{
	uint64_t h = k.v[0] * 0x9e3779b97f4a7c15ull;

	h = (h ^ (h >> 32) ^ k.v[1]) * 0xff51afd7ed558ccdull;
	h = (h ^ (h >> 32) ^ k.v[2]) * 0xc4ceb9fe1a85ec53ull;
	return (size_t)(h ^ h >> 32) % SLOTS;
}

static bool key_equal(struct pair_key a, struct pair_key b)
{
	return a.v[0] == b.v[0] && a.v[1] == b.v[1] && a.v[2] == b.v[2];
}

static struct open_span *find(struct pairing *p, struct pair_key key)
{
	for (size_t i = slot_of(key);; i = (i + 1) % SLOTS) {
		if (!p->open[i].used)
			return NULL;
		if (key_equal(p->open[i].key, key))
			return &p->open[i];
	}
}

/* Linear probing without tombstones: what follows is moved up. */
static void remove_span(struct pairing *p, struct open_span *s)
{
	size_t hole = (size_t)(s - p->open), i = hole;

	p->counts.open--;
	for (;;) {
		i = (i + 1) % SLOTS;
		if (!p->open[i].used)
			break;
		size_t home = slot_of(p->open[i].key);

		if ((i - home + SLOTS) % SLOTS >= (i - hole + SLOTS) % SLOTS) {
			p->open[hole] = p->open[i];
			hole = i;
		}
	}
	p->open[hole].used = false;
}

static struct open_span *insert(struct pairing *p, struct pair_key key)
{
	size_t i = slot_of(key);

	if (p->counts.open == OPEN_SPANS_MAX) {
		p->counts.overflow++;
		return NULL;
	}
	while (p->open[i].used)
		i = (i + 1) % SLOTS;
	p->counts.open++;
	p->open[i].used = true;
	p->open[i].key = key;
	return &p->open[i];
}

/* ---- begin, end, reset, loss ---- */

static void span_fill(struct pairing *p, const struct event *ev, struct span *s)
{
	const struct binding *b = p->binding[ev->type->index];

	*s = (struct span){.start_ns = ev->time_ns,
			   .end_ns = ev->time_ns,
			   .pid = ev->pid,
			   .tid = ev->tid,
			   .vcpu = ev->vcpu,
			   .weight = b->weight ? event_u64(ev, b->weight) : 1};
	s->bytes = b->size ? s->weight * event_u64(ev, b->size) : 0;
	for (unsigned int i = 0; i < p->nr_labels; i++)
		s->label[i] = value_of(p, ev, &b->label[i]);
}

static void hand_over(struct pairing *p, const struct span *s)
{
	p->counts.spans++;
	if (!p->err)
		p->err = p->fn(p->arg, s);
}

void pairing_begin(struct pairing *p, const struct event *ev, struct pair_key key)
{
	struct open_span *o = find(p, key);

	p->nr_begins++;
	if (o && p->a->keep_first && o->losses == p->losses)
		return;
	if (o && o->losses != p->losses)
		p->counts.unknown++;
	else if (o)
		p->counts.unmatched_begin++;
	else
		o = insert(p, key);
	if (!o)
		return;
	o->losses = p->losses;
	span_fill(p, ev, &o->span);
}

bool pairing_finish(struct pairing *p, const struct event *ev, struct pair_key key)
{
	struct open_span *o = find(p, key);

	if (!o) {
		p->counts.unmatched_end++;
		return false;
	}
	struct span s = o->span;
	bool unknown = o->losses != p->losses;

	remove_span(p, o);
	if (unknown) {
		p->counts.unknown++;
		return true;
	}
	if (ev->time_ns < s.start_ns) {
		p->counts.unmatched_end++;
		return false;
	}
	s.end_ns = ev->time_ns;
	hand_over(p, &s);
	return true;
}

bool pairing_is_open(struct pairing *p, struct pair_key key)
{
	return find(p, key);
}

void pairing_drop(struct pairing *p, struct pair_key key)
{
	struct open_span *o = find(p, key);

	if (o)
		remove_span(p, o);
}

static void point(struct pairing *p, const struct event *ev)
{
	const struct binding *b = p->binding[ev->type->index];
	struct span s;

	p->nr_begins++;
	span_fill(p, ev, &s);
	if (b->duration) {
		uint64_t ns = event_u64(ev, b->duration);

		s.start_ns = ns < s.end_ns ? s.end_ns - ns : 0;
	}
	hand_over(p, &s);
}

/* Drops what a VM has open. A whole sweep, but resets are rare. */
static void reset(struct pairing *p, uint32_t pid)
{
	for (size_t i = 0; i < SLOTS;)
		if (p->open[i].used && p->open[i].span.pid == pid)
			remove_span(p, &p->open[i]); /* another one may have moved here */
		else
			i++;
}

/*
 * An end may have been among the lost events, whichever CPU its thread has moved to: all that is
 * open now is unknown. It is told by its age when it ends, as a trace may be full of losses.
 */
static void lost(struct pairing *p, const struct event *ev)
{
	const struct event_type *t =
		event_type_ours((unsigned int)pairing_field(p, ev, "lost_event"));

	if (p->a->end && (!t || analyzer_wants(p->a, t->name)))
		p->losses++;
}

static struct pair_key key_of(struct pairing *p, const struct event *ev)
{
	const struct binding *b = p->binding[ev->type->index];
	struct pair_key k = {{ev->pid, 0, 0}};

	for (unsigned int i = 0; i < p->nr_keys; i++)
		k.v[1 + i] = value_of(p, ev, &b->key[i]);
	return k;
}

static void mark(struct pairing *p, const struct event *ev)
{
	struct open_span *o = find(p, key_of(p, ev));

	if (o)
		o->span.marked = true;
}

int pairing_event(struct pairing *p, const struct event *ev)
{
	struct binding *b = p->binding[ev->type->index];

	if (!b && !(b = bind(p, ev->type)))
		return fail(-ENOMEM, "out of memory");
	if (!b->roles)
		return 0;
	if (b->roles & ROLE_LOST)
		lost(p, ev);
	if (b->roles & ROLE_DEVICE)
		device_learn(p, ev);
	if (b->roles & ROLE_EXIT)
		exit_rip_learn(p, ev);
	if (b->roles & ROLE_FED)
		p->a->feed(p, ev);
	if (b->roles & ROLE_RESET)
		reset(p, ev->pid);
	if (b->roles & ROLE_END)
		pairing_finish(p, ev, key_of(p, ev));
	if (b->roles & ROLE_BEGIN && !(p->a->skip && p->a->skip(ev))) {
		if (p->a->end)
			pairing_begin(p, ev, key_of(p, ev));
		else
			point(p, ev);
	}
	if (b->roles & ROLE_MARK)
		mark(p, ev);
	return p->err;
}

int pairing_end(struct pairing *p)
{
	for (unsigned int i = 0; i < p->nr_labels; i++) {
		if (!p->nr_begins || p->label_found[i])
			continue;
		if (i >= p->nr_own)
			return fail(-EINVAL,
				    "%s: nothing to group by called '%s'; there are pid, tid, "
				    "vcpu, cpu and the fields of %s",
				    p->a->name, p->names[i], p->a->begin);
		p->label[i].fmt = "none"; /* an older file, whose events lack the field */
	}
	for (size_t i = 0; p->losses && i < SLOTS; i++)
		if (p->open[i].used && p->open[i].losses != p->losses) {
			p->counts.open--;
			p->counts.unknown++;
		}
	return 0;
}

bool pairing_groups_by(const struct pairing *p, const char *key)
{
	for (unsigned int i = 0; i < p->nr_labels; i++)
		if (!strcmp(p->names[i], key))
			return true;
	return false;
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
