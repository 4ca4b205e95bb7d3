// SPDX-License-Identifier: GPL-2.0-or-later
/* The first pass: reads the host's clock and its vCPUs, by itself or by the events that its caller reads. */
#include <errno.h>

#include "base/array.h"
#include "base/error.h"
#include "base/saturate.h"
#include "clock/align_internal.h"
#include "event/records.h"
#include "readers/readers.h"

enum { CPUS = 4096 };

struct align_losses {
	uint64_t reported_ns[CPUS]; /* the newest report of each host CPU */
};

bool align_wants(const char *event, void *arg)
{
	static const char *const names[] = {"kvm_entry", "kvm_exit", "kvm_run",
					    "kvm_userspace_exit", "clock_pair", "vcpu_tsc",
					    "kvm_write_tsc_offset", "kvm_pvclock_update",
					    "lost", "gap"};

	(void)arg;
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (!strcmp(names[i], event))
			return true;
	return elements_wants(event, NULL);
}

/* tid: the thread that runs the vCPU, 0: unknown. It tells vCPUs apart where the process is unknown. */
static struct align_vcpu *vcpu_get(struct align *a, uint32_t pid, uint32_t tid, uint64_t vcpu)
{
	struct align_vcpu *v;

	for (unsigned int i = 0; i < a->nr_vcpus; i++) {
		v = &a->vcpu[i];
		if (v->pid == pid && v->vcpu == vcpu && (pid || !tid || !v->tid || v->tid == tid))
			return v;
	}
	if (a->nr_vcpus == ALIGN_VCPUS_MAX || vcpu >= RECORD_NO_VCPU)
		return NULL;
	v = &a->vcpu[a->nr_vcpus++];
	*v = (struct align_vcpu){.pid = pid, .vcpu = (uint16_t)vcpu};
	return v;
}

/*
 * Without a guest only the span from the first entry to the last exit matters, which is when an offset was in use.
 * True: it is known, and extended by this mark.
 */
static bool marks_span(struct align_vcpu *v, uint64_t ns, bool enter)
{
	size_t last = v->nr_marks && !v->mark[0].enter ? 2 : 1; /* it may begin in guest mode */

	if (v->nr_marks <= last)
		return false;
	if (!enter) {
		v->mark[last].ns = ns;
		v->mark[last].enter = false;
	}
	return true;
}

static int mark_add(struct align *a, const struct event *ev, bool enter, bool userspace)
{
	struct align_vcpu *v = vcpu_get(a, ev->pid, ev->tid, ev->vcpu);
	int err;

	if (!v)
		return 0;
	if (a->marks == a->marks_max) {
		a->marks_refused++;
		return 0;
	}
	v->exits |= !userspace;
	v->tid = v->tid ? v->tid : ev->tid;
	if (a->no_guest && marks_span(v, ev->time_ns, enter))
		return 0;
	err = array_room(v->mark, v->nr_marks);
	if (err)
		return err;
	a->marks++;
	v->mark[v->nr_marks++] =
		(struct align_mark){.ns = ev->time_ns, .enter = enter, .userspace = userspace};
	return 0;
}

/* False: the recording lacks a field of it. */
static bool report_read(const struct event *ev, struct clock_report *ret, uint64_t *ret_vcpu)
{
	if (ev->type->id == EV_kvm_write_tsc_offset) {
		RECORD(kvm_write_tsc_offset, change, ev);
		ret->change = record_has(ev, kvm_write_tsc_offset, old);
		ret->before = change->old;
		ret->offset = change->new;
		*ret_vcpu = change->target;
		return record_has(ev, kvm_write_tsc_offset, new) &&
		       record_has(ev, kvm_write_tsc_offset, target);
	}
	RECORD(vcpu_tsc, now, ev);
	ret->offset = now->offset;
	ret->scale = now->scale;
	ret->scale_bits = now->scale_bits;
	*ret_vcpu = ev->vcpu;
	return record_has(ev, vcpu_tsc, offset) && record_has(ev, vcpu_tsc, scale);
}

static int report_add(struct align *a, const struct event *ev)
{
	struct clock_report report = {.host_tsc = ev->time_ns};
	struct align_vcpu *v;
	uint64_t vcpu;

	if (!report_read(ev, &report, &vcpu))
		return 0;
	v = vcpu_get(a, ev->pid, vcpu == ev->vcpu ? ev->tid : 0, vcpu);
	if (!v || v->nr_reports >= CLOCK_SEGMENTS_MAX)
		return 0;
	return array_add(v->report, v->nr_reports, report);
}

/* The page as the guest gets it. Its version starts again when the guest, having zeroed it, registers it again. */
static int pvclock_add(struct align *a, const struct event *ev)
{
	RECORD(kvm_pvclock_update, page, ev);
	struct align_vcpu *v = vcpu_get(a, ev->pid, 0, page->target);
	struct clock_pvclock rec = {.host_tsc = ev->time_ns,
				    .tsc_timestamp = page->tsc_timestamp,
				    .system_time = page->system_time,
				    .mul = page->mul,
				    .shift = page->shift};
	int err;

	if (!v || !rec.mul || v->nr_pv >= CLOCK_SEGMENTS_MAX)
		return 0;
	err = array_room(v->pv, v->nr_pv);
	if (err)
		return err;
	if (page->version == 2)
		v->registered = ev->time_ns;
	v->pv[v->nr_pv++] = rec;
	return 0;
}

static int pair_add(struct align *a, const struct event *ev)
{
	RECORD(clock_pair, pair, ev);
	int err;

	if (a->nr_pairs >= CLOCK_PAIRS_MAX)
		return 0;
	err = array_room(a->pair, a->nr_pairs);
	if (!err)
		a->pair[a->nr_pairs++] =
			(struct clock_pair){.ns = ev->time_ns,
					    .tsc = pair->tsc,
					    .bracket = pair->bracket};
	return err;
}

static int hole_add(struct align *a, uint64_t from_ns, uint64_t to_ns)
{
	int err = array_room(a->hole, a->nr_holes);

	if (!err)
		a->hole[a->nr_holes++] = (struct clock_span){from_ns, to_ns};
	return err;
}

static int gap_add(struct align *a, const struct event *ev)
{
	uint64_t until = loss_until_ns(ev);

	return hole_add(a, ev->time_ns, until >= INT64_MAX ? UINT64_MAX : until);
}

/*
 * Intervals with possibly missing entries and exits. Older files lack their start: the CPU's previous report is used.
 */
static int lost_take(struct align *a, const struct event *ev)
{
	RECORD(lost, lost, ev);
	struct align_losses *l = a->losses;
	unsigned int cpu = lost->lost_cpu % CPUS;
	uint64_t what = lost->lost_event, from = ev->time_ns, to = lost->until;

	if (!to) {
		from = record_has(ev, lost, lost_cpu) ? l->reported_ns[cpu] : 0;
		to = ev->time_ns;
	}
	if (record_has(ev, lost, lost_cpu))
		l->reported_ns[cpu] = to;
	if (what && what != EV_kvm_entry && what != EV_kvm_exit && what != EV_kvm_run &&
	    what != EV_kvm_userspace_exit)
		return 0;
	return hole_add(a, from, to >= INT64_MAX ? UINT64_MAX : to);
}

/* An element that the device returned. */
static void element_left(void *arg, const struct element *el, enum element_end how,
			 const struct event *ev)
{
	struct align *a = arg;

	if (how != ELEMENT_RETURNED || el->unknown || a->nr_elements == ALIGN_BLOCKS_MAX ||
	    array_room(a->element, a->nr_elements))
		return;
	a->element[a->nr_elements++] = (struct align_element){
		.pid = el->pid, .vdev = el->vdev, .pop_ns = el->popped_ns, .fill_ns = ev->time_ns};
}

static int elements_begin(struct align *a)
{
	a->elements = elements_new();
	if (!a->elements)
		return fail(-ENOMEM, "out of memory");
	a->watch = (struct element_watch){.left = element_left, .arg = a};
	elements_watch(a->elements, &a->watch);
	return 0;
}

int align_host_event(struct align *a, const struct event *ev)
{
	if (!a->first_ns)
		a->first_ns = ev->time_ns;
	a->last_ns = ev->time_ns > a->last_ns ? ev->time_ns : a->last_ns;
	switch (ev->type->id) {
	case EV_kvm_entry:
	case EV_kvm_exit:
		return mark_add(a, ev, ev->type->id == EV_kvm_entry, false);
	case EV_kvm_run:
	case EV_kvm_userspace_exit:
		return mark_add(a, ev, ev->type->id == EV_kvm_run, true);
	case EV_vcpu_tsc:
	case EV_kvm_write_tsc_offset:
		return report_add(a, ev);
	case EV_kvm_pvclock_update:
		return pvclock_add(a, ev);
	case EV_clock_pair:
		return pair_add(a, ev);
	case EV_gap:
		return gap_add(a, ev);
	case EV_lost:
		return lost_take(a, ev);
	default:
		elements_event(a->elements, ev);
		return 0;
	}
}

/* A recording whose times were TSC ticks: two pairs far apart are equivalent to its map. */
static int map_take(struct align *a, const struct trace_info *info)
{
	json_t *map = json_object_get(info->meta, "tsc_map");
	double k = json_number_value(json_object_get(map, "ns_per_tick"));
	uint64_t offset = (uint64_t)json_integer_value(json_object_get(map, "ns_offset"));
	static const uint64_t at[] = {1ull << 20, 1ull << 50};
	int err = 0;

	if (!map || a->nr_pairs || !(k > 0))
		return 0;
	for (int i = 0; !err && i < 2; i++) {
		err = array_room(a->pair, a->nr_pairs);
		if (!err)
			a->pair[a->nr_pairs++] = (struct clock_pair){
				.tsc = at[i],
				.ns = uint64_of_double((double)at[i] * k + 0.5) + offset};
	}
	return err;
}

/* The VMs that the file lists: their names, and their trace ids if they were recorded together with this host. */
static void vms_read(struct align *a, const struct trace_info *info)
{
	json_t *vm, *id;
	size_t i;

	json_array_foreach (json_object_get(info->meta, "vms"), i, vm) {
		const char *name = json_string_value(json_object_get(vm, "name"));
		struct align_vm *to = &a->vm[a->nr_vms];

		if (a->nr_vms == ALIGN_VMS_MAX)
			break;
		id = json_object_get(vm, "trace_id");
		*to = (struct align_vm){
			.pid = (uint32_t)json_integer_value(json_object_get(vm, "pid")),
			.trace_id = (uint64_t)json_integer_value(id),
			.has_trace_id = id};
		snprintf(to->name, sizeof(to->name), "%s", name ? name : "");
		a->nr_vms++;
	}
}

int align_host_begin(struct align *a)
{
	free(a->losses);
	a->losses = calloc(1, sizeof(*a->losses));
	if (!a->losses)
		return fail(-ENOMEM, "out of memory");
	return a->elements ? 0 : elements_begin(a);
}

int align_host_info(struct align *a, const struct trace_info *info)
{
	uint64_t resolution = trace_info_resolution(info);

	vms_read(a, info);
	a->resolution_ns = resolution > a->resolution_ns ? resolution : a->resolution_ns;
	return map_take(a, info);
}

static int host_event(void *a, const struct event *ev)
{
	return align_host_event(a, ev);
}

int align_host_read(struct align *a, const char *path)
{
	struct read_hint hint = {.until_ns = UINT64_MAX,
				 .wants = align_wants,
				 .tsc_khz = a->tsc_khz,
				 .files = a->files};
	_cleanup_reader_ struct reader *r = NULL;
	int err = align_host_begin(a);

	if (!err)
		err = reader_open(path, &hint, &r);
	if (!err)
		err = reader_each(r, host_event, a);
	return err ? err : align_host_info(a, &r->info);
}

/* ---- ticks ---- */

static int mono_make(struct align *a)
{
	static const struct clock_pair same[] = {{.ns = 1, .tsc = 1},
						 {.ns = 1ull << 60, .tsc = 1ull << 60}};
	int err;

	a->ticks_known = a->nr_pairs >= 2 && !clock_mono_init(&a->mono, a->pair, a->nr_pairs);
	if (a->ticks_known) {
		a->host_error_ticks =
			1 + (clock_mono_error_ns(&a->mono) + (double)a->resolution_ns) *
				    clock_mono_ticks_per_ns(&a->mono);
		return 0;
	}
	err = clock_mono_init(&a->mono, same, 2);
	a->host_error_ticks = 1 + (double)a->resolution_ns;
	return err;
}

static int spans_make(struct align *a, struct align_vcpu *v)
{
	int err = 0;

	for (size_t i = 0; !err && i < v->nr_marks; i++) {
		const struct align_mark *m = &v->mark[i];
		uint64_t tsc = clock_mono_tsc(&a->mono, m->ns);

		if (v->exits && m->userspace)
			continue;
		err = m->enter ? clock_spans_enter(&v->spans, tsc)
			       : clock_spans_leave(&v->spans, tsc);
	}
	if (!err)
		err = clock_spans_allow(&v->spans, a->hole, a->nr_holes);
	for (size_t i = 0; i < v->nr_reports; i++)
		v->report[i].host_tsc = clock_mono_tsc(&a->mono, v->report[i].host_tsc);
	for (size_t i = 0; i < v->nr_pv; i++)
		v->pv[i].host_tsc = clock_mono_tsc(&a->mono, v->pv[i].host_tsc);
	v->registered = v->registered ? clock_mono_tsc(&a->mono, v->registered) : 0;
	free(v->mark);
	v->mark = NULL;
	v->nr_marks = 0;
	return err;
}

int align_host_end(struct align *a)
{
	int err = mono_make(a);

	for (size_t i = 0; !err && i < a->nr_holes; i++) {
		struct clock_span *h = &a->hole[i];

		h->enter = clock_mono_tsc(&a->mono, h->enter);
		h->leave = h->leave == UINT64_MAX ? UINT64_MAX : clock_mono_tsc(&a->mono, h->leave);
	}
	/* Each vCPU gets them all. What was not lost then counts as lost, which never refutes a right clock. */
	if (a->nr_vcpus && a->nr_holes > CLOCK_HOLES_MAX / a->nr_vcpus)
		a->nr_holes = clock_holes_join(a->hole, a->nr_holes,
					       CLOCK_HOLES_MAX / a->nr_vcpus);
	for (unsigned int i = 0; !err && i < a->nr_vcpus; i++)
		err = spans_make(a, &a->vcpu[i]);
	return err;
}

void align_vcpu_deinit(struct align_vcpu *v)
{
	free(v->mark);
	free(v->report);
	free(v->pv);
	clock_spans_deinit(&v->spans);
}

/* ---- all ---- */

/* Without anything read. */
static int align_make(const char *const *hosts, unsigned int nr, const char *clock,
		      const struct align_selection *selection, struct align **ret)
{
	struct align *a = *ret = calloc(1, sizeof(*a));

	if (!a)
		return fail(-ENOMEM, "out of memory");
	a->clock = clock;
	a->work_max = CLOCK_WORK_MAX;
	a->marks_max = ALIGN_MARKS_MAX;
	a->tsc_khz = selection ? selection->tsc_khz : 0;
	a->files = selection ? selection->files : NULL;
	a->no_guest = selection && selection->no_guest;
	a->nr_hosts = nr;
	a->host = malloc((nr + 1) * sizeof(*a->host));
	for (unsigned int i = 0; a->host && i < nr; i++)
		a->host[i] = hosts[i];
	return a->host ? align_clock_check(clock) : fail(-ENOMEM, "out of memory");
}

static int hosts_end(struct align *a, const struct align_selection *selection)
{
	int err;

	align_threads_split(a);
	err = selection ? align_select(a, selection) : 0;
	return err ? err : align_host_end(a);
}

int align_new(const char *const *hosts, unsigned int nr, const char *clock,
	      const struct align_selection *selection, struct align **ret)
{
	int err = align_make(hosts, nr, clock, selection, ret);

	for (unsigned int i = 0; !err && i < nr; i++)
		err = align_host_read(*ret, hosts[i]);
	if (!err)
		err = hosts_end(*ret, selection);
	if (err)
		align_free(take_ptr(*ret));
	return err;
}

int align_begin(const char *host, const char *clock, const struct align_selection *selection,
		struct align **ret)
{
	int err = align_make(&host, 1, clock, selection, ret);

	if (!err)
		err = align_host_begin(*ret);
	if (err)
		align_free(take_ptr(*ret));
	return err;
}

int align_end(struct align *a, const struct align_selection *selection,
	      const struct trace_info *info)
{
	int err = align_host_info(a, info);

	return err ? err : hosts_end(a, selection);
}
