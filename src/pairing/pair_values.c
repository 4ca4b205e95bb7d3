// SPDX-License-Identifier: GPL-2.0-or-later
/* Where keys and labels come from: fields of the event, its header, names in earlier events. */

#include "base/array.h"
#include "event/records.h"
#include "event/vm_names.h"
#include "pairing/pair_private.h"

/* A key that kvm_exit has no field for. */
static struct from from_access(const struct event_type *t, const char *name)
{
	static const char *const parts[] = {
		[ACCESS_PORT] = "port", [ACCESS_MSR] = "msr",	[ACCESS_ADDR] = "addr",
		[ACCESS_PAGE] = "page", [ACCESS_SIZE] = "size", [ACCESS_DIR] = "dir",
	};

	for (unsigned int i = 0; t->id == EV_kvm_exit && i < sizeof(parts) / sizeof(parts[0]); i++)
		if (!strcmp(parts[i], name))
			return (struct from){.source = FROM_ACCESS, .part = i};
	return (struct from){.source = FROM_NOTHING};
}

static struct from from_name(const struct event_type *t, const char *name)
{
	static const struct {
		const char *name;
		enum source source;
	} header[] = {{"vm", FROM_VM},     {"pid", FROM_PID},	    {"tid", FROM_TID},
		      {"vcpu", FROM_VCPU},
		      {"cpu", FROM_CPU},   {"device", FROM_DEVICE}, {"dir", FROM_DIR},
		      {"page", FROM_PAGE}, {"addr", FROM_FIELD},    {"rip", FROM_EXIT_RIP},
		      {"guest-task", FROM_GUEST_TASK}};
	struct from f = {.field = event_field(t, name)};

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
			if (f.source == FROM_GUEST_TASK)
				return guest_tasks_know(t) ? f : from_access(t, name);
			if (f.source == FROM_DEVICE)
				f.field = event_field(t, "vdev");
			if (f.source == FROM_DIR && !(f.field = event_field(t, "write")))
				f.field = event_field(t, "type");
			if (f.source == FROM_PAGE || f.source == FROM_FIELD)
				f.field = event_field(t, "gpa");
			if (!f.field && (f.source > FROM_CPU || f.source == FROM_FIELD))
				return from_access(t, name);
			return f;
		}
	return from_access(t, name);
}

/* Of an exit whose nested guests the analyzer tells apart. */
static struct from label_from(const struct analyzer *a, const struct event_type *t,
			      const char *name)
{
	bool level = !strcmp(name, "level"), handler = !strcmp(name, "handler");

	if ((level || handler) && t->id == EV_kvm_exit &&
	    name_in_list(a->needs, "kvm_nested_vmexit"))
		return (struct from){.source = level ? FROM_LEVEL : FROM_HANDLER};
	return from_name(t, name);
}

static uint16_t roles_of(const struct analyzer *a, const struct event_type *t)
{
	uint16_t roles = 0;

	if (t->id == EV_lost)
		roles |= ROLE_LOST;
	if (t->id == EV_gap)
		roles |= ROLE_GAP;
	if (t->id == EV_virtio_device)
		roles |= ROLE_DEVICE;
	if (a->elements && elements_wants(t->name, NULL) && t->id != EV_lost && t->id != EV_gap)
		roles |= ROLE_ELEMENTS;
	if (a->feed && analyzer_wants(a, t->name))
		return roles | ROLE_FED;
	if (a->elements)
		return roles;
	roles |= name_in_list(a->begin, t->name) ? ROLE_BEGIN : 0;
	roles |= name_in_list(a->end, t->name) ? ROLE_END : 0;
	roles |= name_in_list(a->mark, t->name) ? ROLE_MARK : 0;
	if (t->id == EV_kvm_nested_vmexit && name_in_list(a->needs, t->name))
		roles |= ROLE_NESTED;
	if (t->id == EV_kvm_nested_vmexit_inject && name_in_list(a->needs, t->name))
		roles |= ROLE_REFLECTED;
	return roles;
}

bool pair_groups_by(const struct pairing *p, const char *key)
{
	return array_any(p->nr_all, i, !strcmp(p->names[i], key));
}

static void label_set_access(struct label *l, enum access_part part)
{
	l->may_lack = true;
	if (part == ACCESS_PORT || part == ACCESS_MSR)
		l->fmt = "hex";
}

/* As field_print() prints it. */
static const char *label_fmt(const struct field *f)
{
	return f->kind == FIELD_SINT && field_class(f) != FIELD_HEX ? "signed" : f->fmt;
}

struct binding *pair_bind(struct pairing *p, const struct event_type *t)
{
	struct binding *b = calloc(1, sizeof(*b));

	if (!b)
		return NULL;
	b->roles = roles_of(p->a, t);
	b->begins = name_in_list(p->a->begin, t->name);
	if (t->id == EV_kvm_exit && pair_groups_by(p, "rip"))
		b->roles |= ROLE_EXIT;
	if (t->id == EV_guest_task && pair_groups_by(p, "guest-task"))
		b->roles |= ROLE_GUEST_TASK;
	for (unsigned int i = 0; i < p->nr_keys; i++)
		b->key[i] = from_name(t, p->keys[i]);
	for (unsigned int i = 0; i < p->nr_all; i++) {
		b->label[i] = label_from(p->a, t, p->names[i]);
		if (!(b->roles & (ROLE_BEGIN | ROLE_FED)) && !(p->elements && b->begins))
			continue;
		p->label[i].may_lack |= b->label[i].source == FROM_NOTHING;
		if (b->label[i].source == FROM_NOTHING)
			continue;
		p->label_found[i] = true;
		if (b->label[i].source == FROM_FIELD && strcmp(p->label[i].fmt, "hex"))
			p->label[i].fmt = label_fmt(b->label[i].field);
		if (b->label[i].source == FROM_TEXT)
			p->label[i].fmt = "text";
		if (b->label[i].source == FROM_ACCESS)
			label_set_access(&p->label[i], b->label[i].part);
	}
	b->weight = p->a->weight ? event_field(t, p->a->weight) : NULL;
	b->size = p->a->size ? event_field(t, p->a->size) : NULL;
	b->duration = p->a->duration ? event_field(t, p->a->duration) : NULL;
	b->skip_zero = p->a->skip_zero ? event_field(t, p->a->skip_zero) : NULL;
	p->binding[t->index] = b;
	return b;
}

/* ---- values ---- */

/* Interned texts are numbered from 1; that of (pid, vdev) is its newest place. `text`: what it must be; NULL: any. */
static uint64_t text_find(const struct pairing *p, uint32_t pid, uint64_t id, const char *text)
{
	const struct text_key *k = hash_find_words(&p->text_keys, (uint64_t[]){pid, id});

	for (uint32_t number = k ? k->newest : 0; number; number = p->text[number - 1].older)
		if (!text || !strcmp(p->text[number - 1].text, text))
			return number;
	return 0;
}

static uint64_t device_number(const struct pairing *p, uint32_t pid, uint64_t vdev)
{
	return text_find(p, pid, vdev, NULL);
}

/* Its number; 0: too many texts, or out of memory. */
static uint64_t text_keep(struct pairing *p, uint32_t pid, uint64_t id, const char *text)
{
	struct text_key *k;
	char *copy;

	if (p->nr_text == INTERNED_MAX || array_room(p->text, p->nr_text))
		return 0;
	copy = strdup(text);
	k = copy ? hash_add_words(&p->text_keys, (uint64_t[]){pid, id}, NULL) : NULL;
	if (!k) {
		free(copy);
		return 0;
	}
	p->text[p->nr_text++] = (struct text){copy, k->newest};
	return k->newest = p->nr_text;
}

void pair_device_learn(struct pairing *p, const struct event *ev)
{
	RECORD(virtio_device, r, ev);
	uint64_t known = device_number(p, ev->pid, r->vdev);
	char path[EVENT_NAME_MAX];
	struct text_key *k;

	if (!record_has(ev, virtio_device, path))
		return;
	RECORD_TEXT(r, path, path);
	if ((known && !strcmp(p->text[known - 1].text, path)) ||
	    text_keep(p, ev->pid, r->vdev, path))
		return;
	k = hash_find_words(&p->text_keys, (uint64_t[]){ev->pid, r->vdev});
	if (k)
		k->newest = 0; /* the device that was there before has another name */
}

/* A text of an event itself: found by its hash, then compared as a whole. */
static uint64_t text_number(struct pairing *p, const struct event *ev, const struct field *f)
{
	char text[EVENT_NAME_MAX];
	uint64_t hash, number;

	field_print(ev, f, text, sizeof(text));
	hash = hash_keyed_text(text);
	number = text_find(p, TEXT_OF_EVENTS, hash, text);
	return number ? number : text_keep(p, TEXT_OF_EVENTS, hash, text);
}

/* Of threads that share a slot only the newest one's is kept: the value of others is 0, never a wrong one. */
void pair_rip_learn(struct pairing *p, const struct event *ev)
{
	RECORD(kvm_exit, r, ev);

	p->exit_rip[ev->tid % EXIT_RIPS].tid = ev->tid;
	p->exit_rip[ev->tid % EXIT_RIPS].rip = r->rip;
}

static uint64_t exit_rip(const struct pairing *p, uint32_t tid)
{
	return p->exit_rip[tid % EXIT_RIPS].tid == tid ? p->exit_rip[tid % EXIT_RIPS].rip : 0;
}

/* ---- what an exit has of the access that made it ---- */

static struct exit_access access_of(struct pairing *p, const struct event *ev)
{
	RECORD(kvm_exit, r, ev);
	struct exit_info exit = {
		.reason = r->reason, .isa = r->isa, .info1 = r->info1, .info2 = r->info2};

	p->has_info |= exit.info1 != 0;
	return exit_access(&exit);
}

/* Some recorders do not store info1; see pairing_end(). */
static void direction_note(struct pairing *p, const struct exit_access *a)
{
	p->asks_info |= a->from_info && !a->write;
}

static uint64_t access_value(struct pairing *p, const struct event *ev, enum access_part part)
{
	static const enum exit_access_kind kinds[] = {[ACCESS_PORT] = EXIT_ACCESS_PORT,
						      [ACCESS_MSR] = EXIT_ACCESS_MSR,
						      [ACCESS_ADDR] = EXIT_ACCESS_MMIO,
						      [ACCESS_PAGE] = EXIT_ACCESS_MMIO};
	struct exit_access a = access_of(p, ev);

	switch (part) {
	case ACCESS_SIZE:
		return a.size;
	case ACCESS_DIR:
		direction_note(p, &a);
		return a.write;
	case ACCESS_PORT:
	case ACCESS_MSR:
	case ACCESS_ADDR:
	case ACCESS_PAGE:
		break;
	}
	if (a.kind != kinds[part] || a.place == EXIT_ACCESS_UNKNOWN)
		return LABEL_UNKNOWN;
	return part == ACCESS_PAGE ? a.place & ~0xfffull : a.place;
}

bool pair_is_access(struct pairing *p, const struct event *ev)
{
	struct exit_access a = access_of(p, ev);

	if (a.kind != p->a->access)
		return false;
	p->counts.repeated += pair_in_window(p, ev->time_ns) && a.repeated;
	p->counts.unqualified += pair_in_window(p, ev->time_ns) && a.place == EXIT_ACCESS_UNKNOWN;
	return true;
}

uint64_t pair_value(struct pairing *p, const struct event *ev, const struct from *f)
{
	switch (f->source) {
	case FROM_FIELD:
		return pair_field(ev, f);
	case FROM_PID:
	case FROM_VM:
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
	case FROM_GUEST_TASK:
		return guest_tasks_label(&p->guest_tasks, ev);
	case FROM_ACCESS:
		return access_value(p, ev, f->part);
	case FROM_LEVEL:
		return LEVEL_GUEST;
	case FROM_HANDLER:
		return LEVEL_HOST;
	case FROM_NOTHING:
		break;
	}
	return 0;
}

void pairing_set_vms(struct pairing *p, const struct vm_names *vms)
{
	p->vms = vms;
}

const char *pairing_label_text(const struct pairing *p, unsigned int i, uint64_t value, char *buf,
			       size_t size)
{
	const struct label *l = &p->label[i];

	if (label_is_unknown(l, value) || !strcmp(l->fmt, "none"))
		return "not recorded";
	if (!strcmp(l->fmt, "text"))
		return value && value <= p->nr_text ? p->text[value - 1].text : "unknown";
	if (!strcmp(l->fmt, "guest-task"))
		return guest_tasks_name(&p->guest_tasks, value, buf, size);
	if (!strcmp(l->fmt, "vm"))
		return vm_name(p->vms, (uint32_t)value, buf, size);
	if (!strcmp(l->fmt, "reason"))
		return value_print(l->fmt, (uint32_t)value, value >> 32, buf, size);
	return value_print(l->fmt, value, 0, buf, size);
}
