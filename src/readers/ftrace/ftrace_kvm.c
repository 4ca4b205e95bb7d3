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

/*
 * prev_state as the tracepoint reports it (include/trace/events/sched.h since 4.14) is not the task's own state, which
 * our event has: an idle kernel thread's 0x402 becomes 0x80, a dead one's 0x80 the state in which it exited, and the
 * bit above these means "preempted", which for us is 0.
 */
enum {
	REPORTED_DEAD = 0x10,
	REPORTED_EXITED = 0x30,
	REPORTED_IDLE = 0x80,
	REPORTED_STATES = 0xff,
	STATE_DEAD = 0x80,
	STATE_IDLE = 0x402,
};

uint64_t ftrace_task_state(uint64_t reported)
{
	if (reported & REPORTED_IDLE)
		return STATE_IDLE;
	return reported & REPORTED_EXITED ? STATE_DEAD : reported & REPORTED_STATES;
}

uint64_t ftrace_reported_state(uint64_t state)
{
	if (state == STATE_IDLE)
		return REPORTED_IDLE;
	return state == STATE_DEAD ? REPORTED_DEAD : state;
}

/* KVM's APIC_DM_*: bits 8 to 10 of an interrupt command (Intel SDM volume 3, 11.6.1). */
static uint64_t delivery_mode(uint64_t dm)
{
	return dm >> 8 & 7;
}

static uint64_t is_set(uint64_t v)
{
	return v != 0;
}

/* A redirection entry: Intel's 82093AA data sheet, 3.2.4. */
static uint64_t entry_vector(uint64_t e)
{
	return e & 0xff;
}

static uint64_t entry_level(uint64_t e)
{
	return e >> 15 & 1;
}

static uint64_t entry_masked(uint64_t e)
{
	return e >> 16 & 1;
}

static uint64_t entry_dest(uint64_t e)
{
	return e >> 56;
}

/*
 * Where the kernel's field (arch/x86/kvm/trace.h, arch/arm64/kvm/trace_arm.h, include/trace/events/{kvm,sched}.h) is
 * called, or means, other than ours.
 */
#define ARM64_PC "vcpu_pc"
static const struct renamed {
	const char *event, *ours, *theirs;
	uint64_t (*convert)(uint64_t theirs); /* NULL: the value is the same */
} renamed[] = {
	{"kvm_exit", "reason", "exit_reason", NULL},
	{"kvm_exit", "rip", "guest_rip", NULL},
	{"kvm_exit", "rip", ARM64_PC},
	{"kvm_entry", "rip", ARM64_PC},
	{"kvm_nested_vmexit", "reason", "exit_reason", NULL},
	{"kvm_nested_vmexit", "reason", "exit_code", NULL}, /* before v5.10 */
	{"kvm_nested_vmexit", "rip", "guest_rip", NULL},
	{"kvm_nested_vmexit_inject", "reason", "exit_code", NULL},
	{"kvm_nested_vmexit_inject", "info1", "exit_info1", NULL},
	{"kvm_nested_vmexit_inject", "info2", "exit_info2", NULL},
	{"kvm_nested_vmexit_inject", "int_info", "exit_int_info", NULL},
	{"kvm_nested_vmexit_inject", "int_error", "exit_int_info_err", NULL},
	{"kvm_userspace_exit", "error", "errno", NULL},
	{"kvm_pio", "write", "rw", NULL},
	{"kvm_mmio", "size", "len", NULL},
	{"kvm_msr", "msr", "ecx", NULL},
	{"kvm_msr", "val", "data", NULL},
	{"kvm_msr", "fault", "exception", NULL},
	{"kvm_set_irq", "source", "irq_source_id", NULL},
	{"kvm_halt_poll_ns", "new_ns", "new", NULL},
	{"kvm_halt_poll_ns", "old_ns", "old", NULL},
	{"kvm_page_fault", "rip", "guest_rip", NULL},
	{"kvm_page_fault", "addr", "fault_address", NULL},
	{"kvm_page_fault", "error", "error_code", NULL},
	{"kvm_write_tsc_offset", "old", "previous_tsc_offset", NULL},
	{"kvm_write_tsc_offset", "new", "next_tsc_offset", NULL},
	{"kvm_write_tsc_offset", "target", "vcpu_id", NULL},
	{"kvm_pvclock_update", "mul", "tsc_to_system_mul", NULL},
	{"kvm_pvclock_update", "shift", "tsc_shift", NULL},
	{"kvm_pvclock_update", "target", "vcpu_id", NULL},
	{"kvm_apic_accept_irq", "apic_id", "apicid", NULL},
	{"kvm_apic_accept_irq", "vector", "vec", NULL},
	{"kvm_apic_accept_irq", "mode", "dm", delivery_mode},
	{"kvm_apic_accept_irq", "level", "tm", is_set},
	{"kvm_eoi", "apic_id", "apicid", NULL},
	{"kvm_pv_eoi", "apic_id", "apicid", NULL},
	{"kvm_inj_virq", "vector", "vector", NULL},
	{"kvm_inj_virq", "vector", "irq", NULL}, /* before v5.19 */
	{"kvm_ioapic_set_irq", "vector", "e", entry_vector},
	{"kvm_ioapic_set_irq", "dest", "e", entry_dest},
	{"kvm_ioapic_set_irq", "level", "e", entry_level},
	{"kvm_ioapic_set_irq", "masked", "e", entry_masked},
	{"sched_switch", "prev_state", "prev_state", ftrace_task_state},
	{"sched_switch", "prev_tid", "prev_pid", NULL},
	{"sched_switch", "next_tid", "next_pid", NULL},
	{"sched_wakeup", "wake_tid", "pid", NULL},
};

/* vcpu_id of these is the vCPU of the thread that is traced; elsewhere it may be another's. */
static const char *const own_vcpu[] = {"kvm_entry", "kvm_exit", "kvm_nested_vmexit",
				       "kvm_page_fault", "kvm_halt_poll_ns"};

enum { MOVES_MAX = 16 };

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
	int vcpu; /* offset of vcpu_id, -1 if it has no usable one */
	struct arm64_exit {
		uint16_t ret, esr_ec; /* offsets; ret 0: it is not arm64's kvm_exit */
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

/* *ret_row is how it is called, NULL: as ours. */
static struct tep_format_field *their_field(struct tep_event *event, const char *name,
					    const char *ours, const struct renamed **ret_row)
{
	for (size_t i = 0; i < sizeof(renamed) / sizeof(renamed[0]); i++) {
		struct tep_format_field *f = strcmp(renamed[i].event, name) ||
							     strcmp(renamed[i].ours, ours)
						     ? NULL
						     : theirs(event, renamed[i].theirs);

		*ret_row = &renamed[i];
		if (f)
			return f;
	}
	*ret_row = NULL;
	return theirs(event, ours);
}

/* The names that a writer uses, whose values are as ours. */
const char *ftrace_their_name(const char *event, const char *ours)
{
	for (size_t i = 0; i < sizeof(renamed) / sizeof(renamed[0]); i++)
		if (!strcmp(renamed[i].event, event) && !strcmp(renamed[i].ours, ours) &&
		    !renamed[i].convert && strcmp(renamed[i].theirs, ARM64_PC))
			return renamed[i].theirs;
	return ours;
}

static bool field_fits(const struct tep_format_field *f, const struct field *ours)
{
	bool text = ours->kind == FIELD_TEXT;

	if (!f || f->offset < 0 || f->offset > 4096 || f->size <= 0 ||
	    f->flags & TEP_FIELD_IS_DYNAMIC)
		return false;
	return text ? f->size <= 64 : f->size <= 8 && !(f->flags & TEP_FIELD_IS_ARRAY);
}

static void move_add(struct ftrace_ours *o, const struct field *ours,
		     const struct tep_format_field *f, const struct renamed *row)
{
	o->move[o->nr++] = (struct move){.from = (uint16_t)f->offset,
					 .to = ours->offset,
					 .from_size = (uint8_t)f->size,
					 .to_size = (uint8_t)ours->size,
					 .is_signed = f->flags & TEP_FIELD_IS_SIGNED,
					 .text = ours->kind == FIELD_TEXT,
					 .convert = row ? row->convert : NULL};
}

bool ftrace_names_own_vcpu(const char *name)
{
	for (size_t i = 0; i < sizeof(own_vcpu) / sizeof(own_vcpu[0]); i++)
		if (!strcmp(own_vcpu[i], name))
			return true;
	return false;
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

/* It has two fields for the reason, and none for the ISA. */
static struct arm64_exit arm64_exit(const struct event_type *type, struct tep_event *event)
{
	struct arm64_exit a = {.ret = number_place(event, "ret"),
			       .esr_ec = number_place(event, "esr_ec")};

	return type->id == EV_kvm_exit && a.esr_ec ? a : (struct arm64_exit){0};
}

struct ftrace_ours *ftrace_ours_new(const char *system, const char *name, struct tep_event *event)
{
	const struct event_type *type = event_type_named(name);
	struct ftrace_ours *o;

	if ((strcmp(system, "kvm") && strcmp(system, "sched")) || !type || !type->id)
		return NULL;
	o = calloc(1, sizeof(*o));
	if (!o)
		return NULL;
	o->vcpu = vcpu_place(name, event);
	o->arm64 = arm64_exit(type, event);
	for (unsigned int i = 0; i < type->nr_fields && o->nr < MOVES_MAX; i++) {
		const struct field *ours = &type->fields[i];
		const struct renamed *row;
		const struct tep_format_field *f = their_field(event, name, ours->name, &row);

		if (!field_fits(f, ours))
			continue;
		o->present |= UINT64_C(1) << i;
		move_add(o, ours, f, row);
	}
	if (o->arm64.ret)
		o->present |= RECORD_BIT(kvm_exit, reason) | RECORD_BIT(kvm_exit, isa);
	o->type = event_type_with(type->id, o->present);
	if (o->type)
		return o;
	free(o);
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

	if (!tid || !named)
		return v ? v->vcpu : RECORD_NO_VCPU;
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
	if ((size_t)a->ret + 4 > len || (size_t)a->esr_ec + 4 > len)
		return;
	rec->reason = exit_reason_arm64((uint32_t)number_at(entry + a->ret, 4, false),
					(uint32_t)number_at(entry + a->esr_ec, 4, false));
	rec->isa = EXIT_ISA_ARM64;
}

void ftrace_ours_fill(const struct ftrace_ours *o, const struct event_type *type,
		      const uint8_t *entry, size_t len, uint8_t *record)
{
	(void)type;
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
	if (o->arm64.ret)
		arm64_fill(&o->arm64, entry, len, (struct rec_kvm_exit *)record);
}
