// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The kernel's events as ours. An event's fields have other names, sizes and, some, other meanings from one kernel and
 * architecture to the next; each format is compiled once to a list of moves from its offsets to those of our record.
 * Rows (event/rows.h) skip the record: their fields are loaded straight from the kernel's bytes.
 */
#include <traceevent/event-parse.h>

#include "event/exit_reason.h"
#include "event/records.h"
#include "readers/ftrace/ftrace_kvm.h"
#include "readers/ftrace/kernel_events.h"

static bool layout_make(const struct ftrace_events *e, unsigned int id,
			const struct rows_request *request, unsigned int kind,
			struct ftrace_layout *l)
{
	*l = (struct ftrace_layout){.kind = kind};
	for (unsigned int i = 0; i < request->nr_values; i++) {
		if (request->value[i].kind != kind)
			continue;
		struct ftrace_load *load = &l->field[l->nr].load;

		if (!ftrace_events_load(e, id, request->value[i].field, load))
			return false;
		l->field[l->nr].widens = !load->bytes || (!load->is_signed && !load->to_signed &&
							  load->bytes <= load->to_bytes);
		l->field[l->nr++].value = i;
	}
	return true;
}

struct rows_plan *ftrace_rows_plan(const struct ftrace_events *e, const uint64_t *nr,
				   const struct rows_request *request)
{
	struct rows_plan *p = calloc(1, sizeof(*p));

	for (unsigned int id = 0; p && id + 1 < ftrace_events_slots(e); id++)
		for (unsigned int k = 0; nr[id] && k < request->nr_kinds; k++) {
			if (!ftrace_events_is(e, id, request->kind[k]))
				continue;
			if (p->nr == FTRACE_LAYOUTS_MAX ||
			    !layout_make(e, id, request, k, &p->layout[p->nr++])) {
				free(p);
				return NULL;
			}
			p->by_id[id] = (uint8_t)p->nr;
		}
	return p;
}

enum { MOVES_MAX = 16 };

/* Fields of an arm64's kvm_exit that are made of several. */
#define ARM64_MADE (RECORD_BIT(kvm_exit, reason) | RECORD_BIT(kvm_exit, isa))

struct ftrace_ours {
	const struct event_type *type;
	struct move {
		uint16_t from, to;
		uint8_t from_size, to_size;
		bool is_signed, text;
		uint64_t (*convert)(uint64_t theirs);
	} move[MOVES_MAX];
	unsigned int nr;
	uint64_t present; /* fields of ours: RECORD_BIT() */
	struct event_shapes shapes;
	uint64_t unbound; /* those that every kernel should have, and this format lacks */
	int vcpu;	  /* offset of vcpu_id, -1 if it has no usable one */
	bool of_kvm;
	struct arm64_exit {
		uint16_t ret, esr_ec; /* offsets; ret 0: it is not arm64's kvm_exit */
		bool trap_is_1;
	} arm64;
};

const struct event_type *ftrace_ours_type(const struct ftrace_ours *o)
{
	return o->type;
}

static struct tep_format_field *theirs(struct tep_event *event, const char *name)
{
	for (struct tep_format_field *f = event->format.fields; f; f = f->next)
		if (!strcmp(f->name, name))
			return f;
	return NULL;
}

/* The field of the format that is this one of ours; *ret_row is how, NULL: it has the same name. */
static struct tep_format_field *their_field(struct tep_event *event, const struct kernel_event *e,
					    unsigned int index, const char *ours,
					    const struct kernel_field **ret_row)
{
	for (const struct kernel_field *row = e ? e->field : NULL;
	     row && row < e->field + KERNEL_FIELDS_MAX; row++) {
		struct tep_format_field *f = row->word_only || !row->theirs || row->index != index
						     ? NULL
						     : theirs(event, row->theirs);

		*ret_row = row;
		if (f)
			return f;
	}
	*ret_row = NULL;
	return theirs(event, ours);
}

static bool field_fits(const struct tep_format_field *f, const struct field *ours,
		       const struct kernel_field *row)
{
	if (!f || f->offset < 0 || f->offset > 4096 || f->size <= 0 ||
	    f->flags & TEP_FIELD_IS_DYNAMIC)
		return false;
	if (row && row->bytes)
		return f->elementsize == 1 && row->at + row->bytes <= f->size;
	return ours->kind == FIELD_TEXT ? f->size <= 64
					: f->size <= 8 && !(f->flags & TEP_FIELD_IS_ARRAY);
}

/* Kernels before 4.14 report the task's own state. */
static uint64_t (*convert_of(const struct kernel_field *row, unsigned int print))(uint64_t)
{
	if (!row)
		return NULL;
	return row->convert == ftrace_task_state && print & FTRACE_PRINT_OWN_STATE
		       ? ftrace_task_state_own
		       : row->convert;
}

static void move_add(struct ftrace_ours *o, const struct field *ours,
		     const struct tep_format_field *f, const struct kernel_field *row,
		     unsigned int print)
{
	bool part = row && row->bytes;

	o->move[o->nr++] = (struct move){.from = (uint16_t)(f->offset + (part ? row->at : 0)),
					 .to = ours->offset,
					 .from_size = part ? row->bytes : (uint8_t)f->size,
					 .to_size = (uint8_t)ours->size,
					 .is_signed = f->flags & TEP_FIELD_IS_SIGNED,
					 .text = ours->kind == FIELD_TEXT,
					 .convert = convert_of(row, print)};
}

bool ftrace_names_own_vcpu(const char *name)
{
	const struct kernel_event *e = kernel_event_find("kvm", 3, name, strlen(name));

	return e && e->own_vcpu;
}

static int vcpu_place(const char *name, struct tep_event *event)
{
	const struct tep_format_field *f = theirs(event, "vcpu_id");
	bool usable = f && f->size == 4 && f->offset >= FTRACE_COMMON && f->offset <= UINT16_MAX;

	return usable && ftrace_names_own_vcpu(name) ? f->offset : -1;
}

static uint16_t number_place(struct tep_event *event, const char *name)
{
	const struct tep_format_field *f = theirs(event, name);

	return f && f->size == 4 && f->offset >= FTRACE_COMMON && f->offset <= UINT16_MAX
		       ? (uint16_t)f->offset
		       : 0;
}

/*
 * It has two fields for the reason, and none for the ISA: ret and esr_ec, until 5.2 idx and
 * exit_reason. Until 4.8 idx 1 is a trap, afterwards an SError.
 */
static struct arm64_exit arm64_exit(const struct event_type *type, struct tep_event *event,
				    unsigned int print)
{
	struct arm64_exit a = {.ret = number_place(event, "ret"),
			       .esr_ec = number_place(event, "esr_ec")};

	if (!a.esr_ec && number_place(event, "idx")) {
		a.ret = number_place(event, "idx");
		a.esr_ec = number_place(event, "exit_reason");
		a.trap_is_1 = !(print & FTRACE_PRINT_SERROR);
	}
	return type->id == EV_kvm_exit && a.ret && a.esr_ec ? a : (struct arm64_exit){0};
}

static void extras_move(struct ftrace_ours *o, struct tep_event *event,
			const struct kernel_event *e, unsigned int print)
{
	unsigned int nr;
	const struct field *extra = event_extra_fields(o->type->id, &nr);

	for (unsigned int i = 0; i < nr && o->nr < MOVES_MAX; i++) {
		unsigned int index = o->type->nr_fields + i;
		const struct kernel_field *row;
		const struct tep_format_field *f =
			their_field(event, e, index, extra[i].name, &row);
		struct field to = extra[i];

		if (!row || !field_fits(f, &to, row))
			continue;
		to.offset = row->offset;
		o->present |= UINT64_C(1) << index;
		move_add(o, &to, f, row, print);
	}
}

static void moves_make(struct ftrace_ours *o, struct tep_event *event, unsigned int print)
{
	const char *name = o->type->name;
	const struct kernel_event *e = kernel_event_find("", 0, name, strlen(name));

	for (unsigned int i = 0; i < o->type->nr_fields && o->nr < MOVES_MAX; i++) {
		const struct field *ours = &o->type->fields[i];
		const struct kernel_field *row;
		const struct tep_format_field *f = their_field(event, e, i, ours->name, &row);
		uint64_t bit = UINT64_C(1) << i;

		if (o->arm64.ret && bit & ARM64_MADE) {
			o->present |= bit;
		} else if (field_fits(f, ours, row)) {
			o->present |= bit;
			move_add(o, ours, f, row, print);
		} else if (e && !kernel_event_may_lack(e, i)) {
			o->unbound |= bit;
		}
	}
	if (e)
		extras_move(o, event, e, print);
}

bool ftrace_ours_is_loss(const char *system, const char *name)
{
	return !strcmp(system, "hostrace") && !strcmp(name, "lost");
}

struct ftrace_ours *ftrace_ours_new(const char *system, const char *name, struct tep_event *event,
				    unsigned int print)
{
	const struct kernel_event *e = kernel_event_find("", 0, name, strlen(name));
	const struct event_type *type = event_type_named(e ? e->name : name);
	struct ftrace_ours *o;

	if (strcmp(system, "kvm") && strcmp(system, "sched") && !ftrace_ours_is_loss(system, name))
		return NULL;
	if (!type || !type->id)
		return NULL;
	o = calloc(1, sizeof(*o));
	if (!o)
		return NULL;
	o->type = type;
	o->vcpu = vcpu_place(name, event);
	o->of_kvm = !strcmp(system, "kvm");
	o->arm64 = arm64_exit(type, event, print);
	moves_make(o, event, print);
	o->type = event_type_with(type->id, o->present);
	if (o->type)
		return o;
	free(o);
	return NULL;
}

const char *ftrace_ours_unbound(const struct ftrace_ours *o, unsigned int *at)
{
	const struct event_type *ours = event_type_ours(o->type->id);

	for (; *at < ours->nr_fields; ++*at)
		if (o->unbound >> *at & 1)
			return ours->fields[(*at)++].name;
	return NULL;
}

static uint64_t number_at(const uint8_t *p, unsigned int size, bool is_signed)
{
	unsigned int shift = 64 - 8 * size;
	uint64_t v = 0;
	uint32_t v32;

	if (size == sizeof(v)) {
		memcpy(&v, p, sizeof(v));
	} else if (size == sizeof(v32)) {
		memcpy(&v32, p, sizeof(v32));
		v = v32;
	} else {
		memcpy(&v, p, size);
	}
	return is_signed ? (uint64_t)((int64_t)(v << shift) >> shift) : v;
}

/* Of a known size, so that neither this nor number_at() calls memcpy(): nearly all fields have 4 or 8 bytes. */
static void number_put(uint8_t *to, uint64_t v, unsigned int size)
{
	if (size == sizeof(uint64_t))
		memcpy(to, &v, sizeof(uint64_t));
	else if (size == sizeof(uint32_t))
		memcpy(to, &v, sizeof(uint32_t));
	else
		memcpy(to, &v, size);
}

unsigned int ftrace_ours_vcpu_offset(const struct ftrace_ours *o)
{
	return o->vcpu < 0 ? 0 : (unsigned int)o->vcpu;
}

bool ftrace_ours_load(const struct ftrace_ours *o, const struct field *field,
		      struct ftrace_load *ret)
{
	*ret = (struct ftrace_load){.to_bytes = (uint8_t)field->size,
				    .to_signed = field->kind == FIELD_SINT};
	if (o->type->id == EV_kvm_emulate_insn)
		return false; /* insn_trim() */
	for (unsigned int i = 0; i < o->nr; i++) {
		const struct move *m = &o->move[i];

		if (m->to != field->offset)
			continue;
		ret->offset = m->from;
		ret->bytes = m->from_size;
		ret->is_signed = m->is_signed;
		return !m->text && !m->convert;
	}
	if (o->arm64.ret && (field->offset == offsetof(struct rec_kvm_exit, reason) ||
			     field->offset == offsetof(struct rec_kvm_exit, isa)))
		return false; /* made by ftrace_ours_fill() */
	return field->kind == FIELD_UINT || field->kind == FIELD_SINT;
}

uint16_t ftrace_ours_vcpu(const struct ftrace_ours *o, struct hash_table *vcpus, uint32_t tid,
			  const uint8_t *entry, size_t len)
{
	bool named = o->vcpu >= 0 && (size_t)o->vcpu + 4 <= len;
	struct ftrace_vcpu *v = tid ? hash_find_u64(vcpus, tid) : NULL;

	if (v && o->of_kvm)
		v->is_name = false;
	if (!tid || !named)
		return v && !v->is_name ? v->vcpu : RECORD_NO_VCPU;
	uint16_t vcpu = (uint16_t)number_at(entry + o->vcpu, 4, false);

	if (!v)
		v = hash_add_u64(vcpus, tid, NULL);
	if (v)
		v->vcpu = vcpu;
	return vcpu;
}

static void arm64_fill(const struct arm64_exit *a, const uint8_t *entry, size_t len,
		       struct rec_kvm_exit *rec)
{
	uint32_t ret;

	if ((size_t)a->ret + 4 > len || (size_t)a->esr_ec + 4 > len)
		return;
	ret = (uint32_t)number_at(entry + a->ret, 4, false);
	rec->reason = exit_reason_arm64(ret == 1 && a->trap_is_1 ? 2 : ret,
					(uint32_t)number_at(entry + a->esr_ec, 4, false));
	rec->isa = EXIT_ISA_ARM64;
}

/* The kernel copies more bytes than the instruction has. */
static void insn_trim(struct rec_kvm_emulate_insn *rec)
{
	rec->insn0 &= kernel_insn_mask(rec->len, 0);
	rec->insn1 &= kernel_insn_mask(rec->len, 8);
}

const struct event_type *ftrace_ours_fill(struct ftrace_ours *o, const uint8_t *entry, size_t len,
					  uint8_t *record)
{
	for (unsigned int i = 0; i < o->nr; i++) {
		const struct move *m = &o->move[i];
		uint64_t v;

		if ((size_t)m->from + m->from_size > len)
			continue;
		if (m->text) {
			size_t n = m->from_size < m->to_size ? m->from_size : m->to_size;

			memcpy(record + m->to, entry + m->from, n);
			record[m->to + m->to_size - 1] = '\0';
			continue;
		}
		v = number_at(entry + m->from, m->from_size, m->is_signed);
		number_put(record + m->to, m->convert ? m->convert(v) : v, m->to_size);
	}
	if (o->type->id == EV_kvm_emulate_insn)
		insn_trim((struct rec_kvm_emulate_insn *)record);
	if (o->arm64.ret)
		arm64_fill(&o->arm64, entry, len, (struct rec_kvm_exit *)record);
	return event_shape_type(&o->shapes, o->type,
				kernel_fields_said(o->type->id, record, o->present));
}
