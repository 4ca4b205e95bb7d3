// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * What a trace holds, gathered into the object that `info` prints. Of a .hrt file only the index, the metadata and the
 * few chunks with losses and TSC offsets are read, so it is quick however large the file is.
 */
#include <errno.h>
#include <inttypes.h>

#include "base/error.h"
#include "base/hash.h"
#include "base/json_text.h"
#include "base/order.h"
#include "base/saturate.h"
#include "event/handlers.h"
#include "event/records.h"
#include "event/vm_names.h"
#include "output/info_report.h"
#include "output/stuck_kept.h"

/* ---- the VMs: as the metadata lists them, else as KVM's events show them ---- */

struct vcpu_thread {
	uint64_t id; /* pid << 32 | tid */
	uint16_t vcpu;
};

struct info_vms {
	struct hash_table threads;
};

static struct info_vms *info_vms_new(void)
{
	struct info_vms *v = calloc(1, sizeof(*v));

	if (v)
		v->threads = HASH_TABLE(struct vcpu_thread, 1, META_VCPUS_MAX);
	return v;
}

static void info_vms_free(struct info_vms *v)
{
	if (v)
		hash_deinit(&v->threads);
	free(v);
}

/* Which thread ran which vCPU of which process. */
static void info_vms_event(struct info_vms *v, const struct event *ev)
{
	struct vcpu_thread *t;
	bool is_new = false;

	if (ev->vcpu == RECORD_NO_VCPU || !ev->tid)
		return;
	t = hash_add_u64(&v->threads, (uint64_t)ev->pid << 32 | ev->tid, &is_new);
	if (t && is_new)
		t->vcpu = ev->vcpu;
}

/* ---- from the metadata ---- */

static void meta_add(json_t *list, const json_t *meta)
{
	json_t *vm;
	size_t i;

	json_array_foreach (json_object_get(meta, "vms"), i, vm) {
		json_t *copy = json_copy(vm), *vcpus = json_object_get(vm, "vcpus");

		if (!copy)
			continue;
		json_object_set_new(copy, "vcpus",
				    json_integer((json_int_t)json_array_size(vcpus)));
		if (vcpus)
			json_object_set(copy, "vcpu_threads", vcpus);
		json_array_append_new(list, copy);
	}
}

/* ---- from events ---- */

static int by_vcpu(const void *a, const void *b)
{
	const struct vcpu_thread *x = *(struct vcpu_thread *const *)a,
				 *y = *(struct vcpu_thread *const *)b;

	return order_u64(x->id >> 32, y->id >> 32) ?: order_u64(x->vcpu, y->vcpu) ?:
	       order_u64(x->id, y->id);
}

static json_t *vm_new(const struct input_set *in, uint32_t pid)
{
	char name[VM_NAME_BYTES];
	json_t *vm =
		json_pack("{s:I, s:i, s:[]}", "pid", (json_int_t)pid, "vcpus", 0, "vcpu_threads");

	if (pid)
		json_object_set_new(vm, "name",
				    json_string(vm_name(in->vms, pid, name, sizeof(name))));
	return vm;
}

static void events_add(const struct info_vms *v, const struct input_set *in, json_t *list)
{
	size_t nr;
	_cleanup_free_ struct vcpu_thread **sorted = hash_sorted(&v->threads, by_vcpu, &nr);
	json_t *vm = NULL;

	for (size_t i = 0; i < nr; i++) {
		json_t *threads;

		if (!i || sorted[i]->id >> 32 != sorted[i - 1]->id >> 32) {
			vm = vm_new(in, (uint32_t)(sorted[i]->id >> 32));
			json_array_append_new(list, vm);
		}
		threads = json_object_get(vm, "vcpu_threads");
		json_array_append_new(threads,
				      json_pack("{s:i, s:I}", "index", (int)sorted[i]->vcpu, "tid",
						(json_int_t)(uint32_t)sorted[i]->id));
		json_object_set_new(vm, "vcpus",
				    json_integer((json_int_t)json_array_size(threads)));
	}
}

/*
 * [{"pid","name","vcpus": number,"vcpu_threads":[{"index","tid"}], ...}] of all hosts' inputs, with the keys that their
 * metadata has; a VM that is only known from events has no name unless its events have a pid. New reference.
 */
static json_t *info_vms_json(const struct info_vms *v, const struct input_set *in)
{
	json_t *list = json_array();

	for (unsigned int i = 0; i < in->nr_hosts; i++)
		meta_add(list, in->input[i].reader->info.meta);
	if (!json_array_size(list))
		events_add(v, in, list);
	return list;
}

/* ---- the trace ---- */

struct info_summary {
	uint64_t counts[EVENT_TYPES_MAX]; /* by registry index */
	json_t *lost;			  /* {event: count} */
	struct info_vms *vms;
	json_t *vcpus;		  /* [{"vcpu","offset","scale","scale_bits"}], the newest of each */
	struct hash_table rows;	  /* of it, by vCPU */
	bool counted[INPUTS_MAX]; /* the input knows its counts */
	bool counts_events;	  /* one does not */
};

enum { VCPUS_MAX = 1 << 16 };

struct vcpu_row {
	uint64_t key; /* pid << 32 | vCPU */
	json_t *row;
};

static void add_lost(struct info_summary *s, const struct event *ev)
{
	RECORD(lost, lost, ev);
	const struct event_type *t = event_type_numbered(lost->lost_event);
	const char *name = t ? t->name : "other";
	uint64_t sum = json_u64_value(json_object_get(s->lost, name));

	if (!lost->count) /* the event was dropped by intent */
		return;
	json_object_set_new(s->lost, name, json_u64(add_saturated(sum, lost->count)));
}

/* Lost events that no event of the trace places: the reader only knows how many they are. */
static void add_unplaced(json_t *lost, uint64_t total)
{
	uint64_t placed = 0;
	const char *name;
	json_t *count;

	json_object_foreach (lost, name, count)
		placed = add_saturated(placed, json_u64_value(count));
	if (total > placed)
		json_object_set_new(lost, "unplaced", json_u64(total - placed));
}

/* The row of a vCPU, made if it is new; NULL: there are too many. */
static json_t *vcpu_row(struct info_summary *s, unsigned int pid, unsigned int vcpu)
{
	struct vcpu_row *e = hash_add_u64(&s->rows, (uint64_t)pid << 32 | vcpu, NULL);

	if (e && !e->row) {
		e->row = json_pack("{s:i, s:i, s:n, s:n, s:n}", "pid", pid, "vcpu", vcpu, "offset",
				   "scale", "scale_bits");
		json_array_append_new(s->vcpus, e->row);
	}
	return e ? e->row : NULL;
}

static void set_number(json_t *row, const char *key, uint64_t number, bool known)
{
	json_object_set_new(row, key, known ? json_integer((json_int_t)number) : json_null());
}

static void set_vcpu(struct info_summary *s, const struct event *ev)
{
	json_t *row = vcpu_row(s, ev->pid, ev->vcpu);
	RECORD(vcpu_tsc, r, ev);

	set_number(row, "offset", (uint64_t)r->offset, record_has(ev, vcpu_tsc, offset));
	set_number(row, "scale", r->scale, record_has(ev, vcpu_tsc, scale));
	set_number(row, "scale_bits", r->scale_bits, record_has(ev, vcpu_tsc, scale_bits));
}

/* A vCPU is first seen before its offset is written: the write counts. */
static void set_offset(struct info_summary *s, const struct event *ev)
{
	RECORD(kvm_write_tsc_offset, r, ev);

	if (record_has(ev, kvm_write_tsc_offset, target))
		set_number(vcpu_row(s, ev->pid, r->target), "offset", (uint64_t)r->new,
			   record_has(ev, kvm_write_tsc_offset, new));
}

static void on_run(struct info_summary *s, const struct event *ev)
{
	info_vms_event(s->vms, ev);
}

static const HANDLERS(struct info_summary) of_vms = {{
	[EV_kvm_entry] = on_run,
	[EV_kvm_exit] = on_run,
}};

static const HANDLERS(struct info_summary) handlers = {{
	[EV_lost] = add_lost,
	[EV_vcpu_tsc] = set_vcpu,
	[EV_kvm_write_tsc_offset] = set_offset,
}};

void info_summary_event(struct info_summary *s, const struct event *ev)
{
	s->counts[ev->type->index] += !s->counted[ev->source];
	handlers_call(&of_vms, s, ev);
	handlers_call(&handlers, s, ev);
}

/* Types of one name, which differ in their fields, are one row, where the first of them is. */
static json_t *events_json(const struct info_summary *s)
{
	_cleanup_free_ uint64_t *sum = calloc(EVENT_TYPES_MAX, sizeof(*sum));
	json_t *events = json_object();

	for (unsigned int i = 0; sum && i < event_types_count(); i++)
		sum[event_type_named(event_type_at(i)->name)->index] += s->counts[i];
	for (unsigned int i = 0; sum && i < event_types_count(); i++)
		if (sum[i])
			json_object_set_new(events, event_type_at(i)->name,
					    json_integer((json_int_t)sum[i]));
	return events;
}

static json_t *clocks_json(const struct info_summary *s, const json_t *meta, const json_t *events)
{
	json_t *khz = json_object_get(meta, "tsc_khz"),
	       *pairs = json_object_get(events, "clock_pair");

	return json_pack("[{s:s, s:s, s:O?, s:I, s:O}]", "source", "host", "clock", "monotonic",
			 "tsc_khz", khz ? khz : json_null(), "pairs",
			 (json_int_t)json_integer_value(pairs), "vcpus", s->vcpus);
}

static void set_meta(json_t *result, const json_t *meta, const char *key)
{
	json_t *v = json_object_get(meta, key);

	if (v)
		json_object_set(result, key, v);
	else
		json_object_set_new(result, key, json_null());
}

/*
 * What `stuck` saw at the start. "covers": the time window, if there is one, begins no later. Two recordings have two
 * looks, of which none is of all.
 */
static json_t *stuck_make(const struct input_set *in)
{
	json_t *kept = stuck_kept(json_object_get(in->reader->info.meta, "stuck"));

	if (kept && in->nr_hosts > 1) {
		json_decref(kept);
		return stuck_kept_error("several recordings are read");
	}
	if (kept && json_object_get(kept, "findings"))
		json_object_set_new(kept, "covers",
				    json_boolean(input_set_host_start_ns(in) <=
						 (uint64_t)number_of(kept, "end_ns")));
	return kept;
}

json_t *info_report_make(const struct info_summary *s, const struct input_set *in)
{
	const struct reader *r = in->reader;
	const json_t *meta = r->info.meta;
	json_t *o = json_object(), *events = events_json(s), *vms = info_vms_json(s->vms, in),
	       *probes, *stuck;
	json_t *vm = json_array_get(vms, 0);
	static const char *const optional[] = {"cost",	"budget",   "in_flight",
						"limits", "disks", "recorder"};

	json_object_set_new(o, "format", json_string(r->info.kind));
	set_meta(o, meta, "host");
	set_meta(o, meta, "kernel");
	json_object_set(o, "vm", vm ? vm : json_null());
	json_object_set_new(o, "vms", vms);
	if (s->vms->threads.refused)
		trace_info_caveat(&in->reader->info,
				  "vCPU threads beyond the first %d are not listed (%" PRIu64
				  " events)",
				  META_VCPUS_MAX, s->vms->threads.refused);
	bool ticks = trace_info_in_ticks(&r->info);

	json_object_set_new(o, ticks ? "start_ticks" : "start_ns",
			    json_integer((json_int_t)r->info.start_ns));
	if (ticks && !json_object_get(meta, "tsc_map"))
		json_object_set_new(o, "timeless", json_true());
	json_object_set_new(o, ticks ? "span_ticks" : "span_ns",
			    json_integer((json_int_t)(input_set_host_end_ns(in) -
						      input_set_host_start_ns(in))));
	if (!ticks && input_set_host_start_ns(in) != r->info.start_ns)
		json_object_set_new(o, "window_start_ns",
				    json_integer((json_int_t)input_set_host_start_ns(in)));
	set_meta(o, meta, "start_realtime_ns");
	json_object_set_new(o, "clocks", clocks_json(s, meta, events));
	json_object_set_new(o, "events", events);
	add_unplaced(s->lost, r->info.lost);
	json_object_set(o, "lost", s->lost);
	for (unsigned int i = 0; i < input_set_nr(in); i++)
		if (in->input[i].reader->info.truncated)
			json_object_set_new(o, "truncated", json_true());
	probes = json_object_get(meta, "probes");
	json_object_set_new(o, "probes", probes ? json_incref(probes) : json_array());
	if (json_object_get(meta, "guests"))
		set_meta(o, meta, "guests");
	set_meta(o, meta, "command");
	set_meta(o, meta, "end");
	if ((stuck = stuck_make(in)))
		json_object_set_new(o, "stuck", stuck);
	for (size_t i = 0; i < sizeof(optional) / sizeof(optional[0]); i++)
		if (json_object_get(meta, optional[i]))
			set_meta(o, meta, optional[i]);
	return o;
}

bool info_report_wants(const char *event, bool find_vms)
{
	return (find_vms && handlers_want(&of_vms, event)) || handlers_want(&handlers, event) ||
	       !strncmp(event, "guest:", 6);
}

/* Where the file itself knows its counts, reading only adds what the counts do not tell. */
static int counts_read(struct info_summary *s, const struct input_set *in)
{
	s->counts_events = in->is_trimmed;
	for (unsigned int i = 0; i < input_set_nr(in) && !in->is_trimmed; i++) {
		struct reader *r = in->input[i].reader;

		s->counted[i] = r->ops->counts != NULL;
		s->counts_events |= !s->counted[i];
		if (s->counted[i] && r->ops->counts(r, s->counts))
			return -1;
	}
	return 0;
}

struct info_summary *info_summary_new(const struct input_set *in)
{
	struct info_summary *s = calloc(1, sizeof(*s));

	if (s) {
		s->vms = info_vms_new();
		s->lost = json_object();
		s->vcpus = json_array();
		s->rows = HASH_TABLE(struct vcpu_row, 1, VCPUS_MAX);
	}
	if (s && s->vms && s->lost && s->vcpus && !counts_read(s, in))
		return s;
	if (!s || !s->vms || !s->lost || !s->vcpus)
		fail(-ENOMEM, "out of memory");
	info_summary_free(s);
	return NULL;
}

bool info_summary_counts(const struct info_summary *s)
{
	return s->counts_events;
}

void info_summary_free(struct info_summary *s)
{
	if (!s)
		return;
	info_vms_free(s->vms);
	json_decref(s->lost);
	json_decref(s->vcpus);
	hash_deinit(&s->rows);
	free(s);
}
