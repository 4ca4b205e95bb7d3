// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A kernel's events from its own descriptions (tracefs's events/SYSTEM/NAME/format, a copy of which is in every
 * trace.dat and stream), as types and records (ftrace_format.c). A host's KVM events are made into ours by name
 * (ftrace_kvm.h), so that analyzers know them.
 */
#include <ctype.h>
#include <errno.h>
#include <traceevent/event-parse.h>

#include "base/array.h"
#include "base/error.h"
#include "base/order.h"
#include "event/reader.h"
#include "readers/ftrace/ftrace_kvm.h"
#include "readers/ftrace/kernel_events.h"

enum { HEAD = sizeof(struct record_hdr) };

struct format {
	char *text, *system;
	bool tried, wanted, occurs;
	unsigned int print; /* FTRACE_PRINT_* */
	const struct event_type *type;
	struct ftrace_ours *ours; /* it is one of ours: how to move its fields */
	struct ftrace_format fields; /* it is not */
	char name[EVENT_NAME_MAX];
};

struct ftrace_events {
	enum ftrace_side side;
	bool (*wants)(const char *event, void *arg);
	void *arg;
	struct hash_table vcpus;
	unsigned int ids_end; /* the highest id with a format + 1 */
	struct format **format; /* by id < ids_end */
};

struct ftrace_events *ftrace_events_new(enum ftrace_side side,
					bool (*wants)(const char *event, void *arg), void *arg)
{
	struct ftrace_events *e = calloc(1, sizeof(*e));

	if (!e) {
		fail(-ENOMEM, "out of memory");
		return NULL;
	}
	e->side = side;
	e->wants = wants;
	e->arg = arg;
	e->vcpus = HASH_TABLE(struct ftrace_vcpu, 1, FTRACE_VCPUS_MAX);
	tep_set_loglevel(TEP_LOG_NONE);
	return e;
}

static struct format *format_at(const struct ftrace_events *e, unsigned int id)
{
	return id < e->ids_end ? e->format[id] : NULL;
}

static void format_free(struct format *f)
{
	if (!f)
		return;
	free(f->text);
	free(f->system);
	free(f->ours);
	free(f);
}

static int ids_reserve(struct ftrace_events *e, unsigned int end)
{
	struct format **more;

	if (end <= e->ids_end)
		return 0;
	more = reallocarray(e->format, end, sizeof(*more));
	if (!more)
		return fail(-ENOMEM, "out of memory");
	memset(more + e->ids_end, 0, (end - e->ids_end) * sizeof(*more));
	e->format = more;
	e->ids_end = end;
	return 0;
}

void ftrace_events_free(struct ftrace_events *e)
{
	if (!e)
		return;
	for (unsigned int i = 0; i < e->ids_end; i++)
		format_free(e->format[i]);
	free(e->format);
	hash_deinit(&e->vcpus);
	free(e);
}

static void unbound_report(const struct format *f, struct trace_info *info)
{
	const char *field;
	unsigned int at = 0;

	while ((field = ftrace_ours_unbound(f->ours, &at)))
		trace_info_caveat(info, "%s: field '%s' is not in this recording", f->name, field);
}

void ftrace_events_caveats(const struct ftrace_events *e, struct trace_info *info)
{
	for (unsigned int id = 0; id < e->ids_end; id++)
		if (e->format[id] && e->format[id]->ours && e->format[id]->wanted &&
		    e->format[id]->occurs)
			unbound_report(e->format[id], info);
	if (e->vcpus.refused)
		trace_info_caveat(info,
				  "%s: more than %d vCPU threads: events of some of them have no "
				  "vCPU number",
				  info->file, FTRACE_VCPUS_MAX);
}

/* The name line, in letters that are safe to print. */
static void format_name(struct format *f)
{
	const char *p = strstr(f->text, "name:");
	size_t n = 0;

	for (p = p ? p + 5 : ""; *p == ' '; p++)
		;
	for (; (isalnum((unsigned char)*p) || *p == '_') && n < sizeof(f->name) / 2; p++)
		f->name[n++] = *p;
	f->name[n] = '\0';
}

int ftrace_events_add(struct ftrace_events *e, const char *system, const char *text, size_t len)
{
	struct format *f;
	unsigned int id;
	int err;

	if (len > FTRACE_FORMAT_MAX)
		return 0;
	f = calloc(1, sizeof(*f));
	if (f) {
		f->text = ftrace_text_take(text, len, &f->print);
		f->system = strdup(system);
	}
	if (!f || !f->text || !f->system) {
		format_free(f);
		return fail(-ENOMEM, "out of memory");
	}
	id = ftrace_text_id(f->text);
	format_name(f);
	if (id >= FTRACE_IDS || format_at(e, id) || !f->name[0]) {
		format_free(f);
		return 0;
	}
	err = ids_reserve(e, id + 1);
	if (err)
		format_free(f);
	else
		e->format[id] = f;
	return err;
}

static bool wanted_by_full_name(const struct ftrace_events *e, const struct format *f)
{
	char name[2 * EVENT_NAME_MAX];

	snprintf(name, sizeof(name), "%.60s:%.60s", e->side == FTRACE_GUEST ? "guest" : f->system,
		 f->name);
	return e->wants(name, e->arg);
}

static bool wanted(const struct ftrace_events *e, const struct format *f)
{
	if (!e->wants || ftrace_ours_is_loss(f->system, f->name))
		return true;
	return f->ours ? e->wants(f->name, e->arg) || e->wants(f->type->name, e->arg)
		       : wanted_by_full_name(e, f);
}

/* "kvm_apicv_update_request" is kvm_apicv_inhibit_changed since Linux 5.18. */
static bool wanted_by_newer_name(const struct ftrace_events *e, const struct format *f)
{
	const struct kernel_event *known =
		kernel_event_find(f->system, strlen(f->system), f->name, strlen(f->name));

	return known && e->wants(known->name, e->arg);
}

/* The same before it is known whether it is one of ours. */
static bool format_may_be_wanted(const struct ftrace_events *e, const struct format *f)
{
	return !e->wants || e->wants(f->name, e->arg) || wanted_by_full_name(e, f) ||
	       wanted_by_newer_name(e, f) || ftrace_ours_is_loss(f->system, f->name);
}

/* Once per event: at its first record. A handle of its own, since the library frees events only with it. */
static void format_use(struct ftrace_events *e, struct format *f, int id)
{
	struct tep_event *event;
	struct tep_handle *tep = ftrace_text_parse(f->text, f->system, id, &event);

	f->tried = true;
	if (!tep)
		return;
	if (e->side == FTRACE_HOST || ftrace_ours_is_loss(f->system, f->name))
		f->ours = ftrace_ours_new(f->system, f->name, event, f->print);
	f->type = f->ours ? ftrace_ours_type(f->ours) : NULL;
	f->wanted = wanted(e, f);
	if (!f->ours && f->wanted &&
	    !ftrace_format_make(e->side == FTRACE_GUEST ? "guest" : f->system, event, &f->fields))
		f->type = f->fields.type;
	tep_free(tep);
	free(f->text);
	f->text = NULL;
}

static struct format *format_of(struct ftrace_events *e, const uint8_t *entry, size_t len)
{
	struct format *f;
	uint16_t id = 0;

	if (len < FTRACE_COMMON)
		return NULL;
	memcpy(&id, entry, sizeof(id));
	f = format_at(e, id);
	if (f && !f->tried)
		format_use(e, f, id);
	return f;
}

uint16_t *ftrace_events_own_vcpus(struct ftrace_events *e)
{
	uint16_t *offset = calloc(ftrace_events_slots(e), sizeof(*offset));

	if (!offset)
		fail(-ENOMEM, "out of memory");
	for (unsigned int id = 0; offset && id < e->ids_end; id++) {
		struct format *f = e->format[id];

		if (!f || strcmp(f->system, "kvm"))
			continue;
		if (!f->tried)
			format_use(e, f, (int)id);
		offset[id] = f->ours ? (uint16_t)ftrace_ours_vcpu_offset(f->ours) : 0;
		if (f->ours && !offset[id])
			offset[id] = FTRACE_VCPU_BY_NAME;
	}
	return offset;
}

void ftrace_events_thread_named(struct ftrace_events *e, uint32_t tid, uint16_t vcpu)
{
	bool is_new;
	struct ftrace_vcpu *v = hash_add_u64(&e->vcpus, tid, &is_new);

	if (!v || !is_new)
		return;
	v->vcpu = vcpu;
	v->is_name = true;
}

/* ---- after a first pass ---- */

unsigned int ftrace_events_slots(const struct ftrace_events *e)
{
	return e->ids_end + 1;
}

uint64_t ftrace_events_want(struct ftrace_events *e, const uint64_t *nr, unsigned int nr_slots,
			    bool (*wants)(const char *event, void *arg), void *arg)
{
	uint64_t unknown = 0;

	e->wants = wants;
	e->arg = arg;
	for (unsigned int id = e->ids_end; id < nr_slots; id++)
		unknown += nr[id];
	for (unsigned int id = 0; id < e->ids_end; id++) {
		struct format *f = e->format[id];

		unknown += f ? 0 : nr[id];
		if (!f || !nr[id])
			continue;
		f->occurs = true;
		if (!f->tried && !format_may_be_wanted(e, f))
			f->tried = true; /* and not wanted: not worth parsing */
		else if (!f->tried)
			format_use(e, f, (int)id);
		else
			f->wanted = f->wanted && wanted(e, f);
		unknown += f->wanted && !f->type ? nr[id] : 0;
	}
	e->wants = NULL;
	return unknown;
}

struct id_seen {
	uint64_t first_time;
	unsigned int id;
};

ORDER_BY(by_first_time, struct id_seen, first_time, id)

/* The type of events that are not wanted, too. */
static const struct event_type *type_anyway(struct ftrace_events *e, struct format *f, int id)
{
	if (!f->type && f->text) {
		bool was_wanted = f->wanted;

		format_use(e, f, id);
		f->wanted = was_wanted;
	}
	return f->type;
}

int ftrace_events_count(struct ftrace_events *e, const uint64_t *nr, const uint64_t *first_time,
			uint64_t *counts)
{
	_cleanup_free_ struct id_seen *seen = calloc(e->ids_end + 1u, sizeof(*seen));
	unsigned int nr_seen = 0;

	if (!seen)
		return fail(-ENOMEM, "out of memory");
	for (unsigned int id = 0; id < e->ids_end; id++)
		if (nr[id] && e->format[id])
			seen[nr_seen++] = (struct id_seen){first_time[id], id};
	qsort(seen, nr_seen, sizeof(*seen), by_first_time);
	for (unsigned int i = 0; i < nr_seen; i++) {
		unsigned int id = seen[i].id;
		const struct event_type *type = type_anyway(e, e->format[id], (int)id);

		if (type)
			counts[type->index] += nr[id];
	}
	return 0;
}

void ftrace_events_count_made(const struct ftrace_events *e, const uint64_t *nr, uint64_t *counts)
{
	for (unsigned int id = 0; id < e->ids_end; id++)
		if (nr[id] && e->format[id] && e->format[id]->wanted && e->format[id]->type)
			counts[e->format[id]->type->index] += nr[id];
}

bool ftrace_events_occurs(const struct ftrace_events *e, const uint64_t *nr, const char *name)
{
	return array_any(e->ids_end, id,
			 nr[id] && e->format[id] && !strcmp(e->format[id]->name, name));
}

bool ftrace_events_is(const struct ftrace_events *e, unsigned int id, const struct event_type *type)
{
	const struct format *f = e->format[id];

	return f && f->ours && f->wanted && f->type == type;
}

bool ftrace_events_load(const struct ftrace_events *e, unsigned int id, const struct field *field,
			struct ftrace_load *ret)
{
	return ftrace_ours_load(e->format[id]->ours, field, ret);
}

const char *ftrace_event_name(struct ftrace_events *e, const uint8_t *entry, size_t len)
{
	uint16_t id = 0;

	if (len < FTRACE_COMMON)
		return "";
	memcpy(&id, entry, sizeof(id));
	return format_at(e, id) ? format_at(e, id)->name : "";
}

/* ---- a record ---- */

/* include/linux/trace_events.h: enum trace_flag_type */
enum {
	OF_IRQS = 0x01,
	OF_RESCHED_LAZY = 0x02, /* Linux 6.13; before, irqs are unknown, on no architecture that has KVM */
	OF_RESCHED = 0x04,
	OF_HARDIRQ = 0x08,
	OF_SOFTIRQ = 0x10,
	OF_PREEMPT_RESCHED = 0x20,
	OF_NMI = 0x40,
	OF_BH = 0x80,
};

static unsigned int bit_to(unsigned int flags, unsigned int flag, unsigned int value)
{
	return flags & flag ? value : 0;
}

static char depth_letter(unsigned int depth)
{
	return depth ? "0123456789abcdef"[depth & 15] : '.';
}

/* As the text of tracefs has them (Documentation/trace/ftrace.rst), of common_flags and common_preempt_count. */
static void latency_flags(unsigned int flags, unsigned int depths, char to[EVENT_FLAGS_MAX])
{
	/* by RESCHED, PREEMPT_RESCHED, LAZY */
	static const char resched[] = ".npNlbLB";
	/* by HARDIRQ, SOFTIRQ, NMI */
	static const char irq[] = ".hsHzZzZ";
	static const char off[] = ".dbD"; /* by IRQS, BH */

	to[0] = off[bit_to(flags, OF_IRQS, 1) | bit_to(flags, OF_BH, 2)];
	to[1] = resched[bit_to(flags, OF_RESCHED, 1) | bit_to(flags, OF_PREEMPT_RESCHED, 2) |
			bit_to(flags, OF_RESCHED_LAZY, 4)];
	to[2] = irq[bit_to(flags, OF_HARDIRQ, 1) | bit_to(flags, OF_SOFTIRQ, 2) |
		    bit_to(flags, OF_NMI, 4)];
	to[3] = depth_letter(depths & 15);
	to[4] = depth_letter(depths >> 4);
	to[5] = 0;
}

int ftrace_event_make(struct ftrace_events *e, const uint8_t *entry, size_t len, unsigned int cpu,
		      uint8_t *to, struct event *ev)
{
	struct format *f = format_of(e, entry, len);
	struct record_hdr hdr = {.cpu = (uint16_t)cpu, .vcpu = RECORD_NO_VCPU};
	const struct event_type *type;
	size_t size = HEAD + len;
	int32_t pid;

	if (!f || (!f->type && f->wanted) || size > EVENT_RECORD_MAX)
		return -EBADMSG;
	memcpy(&pid, entry + 4, sizeof(pid));
	hdr.tid = pid > 0 ? (uint32_t)pid : 0;
	if (f->ours)
		hdr.vcpu = ftrace_ours_vcpu(f->ours, &e->vcpus, hdr.tid, entry, len);
	if (!f->wanted)
		return 0;
	f->occurs = true;
	type = f->type;
	if (e->side == FTRACE_GUEST)
		hdr.vcpu = hdr.cpu;
	if (f->ours) {
		size = f->type->size;
		memset(to, 0, size);
		type = ftrace_ours_fill(f->ours, entry, len, to);
		size = type->size;
	} else {
		memcpy(to + HEAD, entry, len);
		if (size < f->type->size) {
			memset(to + size, 0, f->type->size - size);
			size = f->type->size;
		}
		ftrace_format_move(&f->fields, to, size);
	}
	hdr.size = (uint16_t)size;
	memcpy(to, &hdr, sizeof(hdr));
	*ev = (struct event){.type = type, .data = to, .tid = hdr.tid, .size = hdr.size,
			     .cpu = hdr.cpu, .vcpu = hdr.vcpu};
	latency_flags(entry[2], entry[3], ev->flags);
	return 1;
}
