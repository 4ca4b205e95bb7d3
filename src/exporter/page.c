// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Names and units follow https://prometheus.io/docs/practices/naming/: base units, _total for counters. A VM's other
 * properties are labels of hostrace_vm_info only, to be joined by its pid.
 */
#include <errno.h>
#include <inttypes.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/time.h>

#include "base/clock.h"
#include "base/error.h"
#include "event/exit_reason.h"
#include "exporter/page_private.h"
#include "vm/cgroup_names.h"
#include "vm/proc.h"

/* ---- families of a VM ---- */

static void info_write(struct page *p, const struct exported_vm *e)
{
	metric_number(&p->text, &e->info, 1);
}

static void nr_vcpus_write(struct page *p, const struct exported_vm *e)
{
	metric_number(&p->text, &e->labels, e->nr_vcpus);
}

void export_bounds_make(uint64_t *ret)
{
	for (unsigned int i = 0; i < EXPORT_BUCKETS - 1; i++)
		ret[i] = UINT64_C(1) << (EXPORT_BOUND_FIRST + i);
}

/* "3", "0-7" */
static void group_label(struct metric_labels *l, const struct exported_vm *e, unsigned int group)
{
	unsigned int first = group * e->vcpus_per_group, last = first + e->vcpus_per_group - 1;
	char text[32];

	last = last < e->nr_vcpus ? last : e->nr_vcpus - 1;
	if (first == last)
		snprintf(text, sizeof(text), "%u", first);
	else
		snprintf(text, sizeof(text), "%u-%u", first, last);
	metric_label(l, "vcpus", text);
}

/* NULL: unknown */
static const char *reason_name(const struct page *p, uint32_t reason)
{
	return p->state->userspace_only ? userspace_reason_name(reason)
					: exit_reason_name(reason, vm_host_isa());
}

static void reason_label(struct metric_labels *l, const struct page *p,
			 const struct exported_exits *x)
{
	const char *name = reason_name(p, x->reason);
	char number[16];

	snprintf(number, sizeof(number), x->reason == STAT_NO_REASON ? "-" : "0x%x", x->reason);
	metric_label(l, "reason", x->other ? "other" : name ? name : number);
}

const struct metric_exemplar *page_exemplar(const struct page *p, const struct exported_vm *e,
					    const struct exemplar_query *q,
					    struct metric_exemplar *ret)
{
	struct exported_dump like = {.pid = e->pid};
	const struct exported_dump *dump;

	if (!p->state->dumps)
		return NULL;
	snprintf(like.vm, sizeof(like.vm), "%s", e->name);
	snprintf(like.uuid, sizeof(like.uuid), "%s", e->uuid);
	snprintf(like.what, sizeof(like.what), "%s", q->what);
	snprintf(like.trigger, sizeof(like.trigger), "%s", q->trigger);
	dump = exported_dumps_find(p->state->dumps, &like, q->first_vcpu, q->last_vcpu);
	if (!dump)
		return NULL;
	*ret = (struct metric_exemplar){dump->file, dump->value_ns, dump->unix_ms};
	return ret;
}

static const struct metric_exemplar *exit_exemplar(const struct page *p,
						   const struct exported_vm *e,
						   const struct exported_exits *x,
						   struct metric_exemplar *ret)
{
	const char *name = x->other ? NULL : reason_name(p, x->reason);
	unsigned int first = x->group * e->vcpus_per_group;

	if (!name)
		return NULL;
	return page_exemplar(
		p, e,
		&(struct exemplar_query){p->state->userspace_only ? "userspace-exit"
								  : "exit-latency",
					 name, first, first + e->vcpus_per_group - 1},
		ret);
}

static void exits_write(struct page *p, const struct exported_vm *e)
{
	uint64_t bounds[EXPORT_BUCKETS];

	export_bounds_make(bounds);
	for (unsigned int i = 0; i < e->nr_exits; i++) {
		const struct exported_exits *x = &e->exits[i];
		struct metric_labels l = e->labels;
		struct metric_exemplar exemplar;

		group_label(&l, e, x->group);
		reason_label(&l, p, x);
		metric_histogram(&p->text, &l,
				 &(struct metric_histogram){.bound_ns = bounds,
							    .count = x->bucket,
							    .nr = EXPORT_BUCKETS,
							    .native = x->native,
							    .sum_ns = x->total_ns,
							    .exemplar = exit_exemplar(
								    p, e, x, &exemplar)});
	}
}

static struct metric_labels vcpu_labels(const struct exported_vm *e, unsigned int vcpu)
{
	struct metric_labels l = e->labels;

	metric_label_number(&l, "vcpu", vcpu);
	return l;
}

void page_value(struct page *p, const struct metric_labels *l, const void *object)
{
	uint64_t value;

	memcpy(&value, (const char *)object + p->family->at, sizeof(value));
	if (strstr(p->family->name, "_seconds"))
		metric_seconds(&p->text, l, value);
	else
		metric_number(&p->text, l, value);
}

static void vcpu_counts_write(struct page *p, const struct exported_vm *e)
{
	for (unsigned int i = 0; i < e->nr_vcpus; i++) {
		struct metric_labels l = vcpu_labels(e, i);

		page_value(p, &l, &e->vcpu[i]);
	}
}

static void causes_write(struct page *p, const struct exported_vm *e)
{
	static const char *const names[STAT_CAUSES] = {
		[STAT_IN_KERNEL] = "kernel",		  [STAT_IN_VMM] = "vmm",
		[STAT_ASLEEP_IN_KERNEL] = "asleep-kernel", [STAT_ASLEEP_IN_VMM] = "asleep-vmm",
		[STAT_PREEMPTED] = "preempted",
	};

	for (unsigned int i = 0; i < e->nr_vcpus; i++)
		for (unsigned int c = 0; c < STAT_CAUSES; c++) {
			struct metric_labels l = vcpu_labels(e, i);

			metric_label(&l, "cause", names[c]);
			metric_seconds(&p->text, &l, e->vcpu[i].cause_ns[c]);
		}
}

static uint64_t open_exit_ns(const struct page *p, const struct exported_vcpu *v)
{
	const char *name = reason_name(p, v->open_reason);

	if (!v->open_since_ns || v->open_since_ns > p->state->now_ns ||
	    (name && exit_reason_is_idle(name)))
		return 0;
	return p->state->now_ns - v->open_since_ns;
}

static void open_exit_write(struct page *p, const struct exported_vm *e)
{
	for (unsigned int i = 0; i < e->nr_vcpus; i++) {
		struct metric_labels l = vcpu_labels(e, i);

		metric_seconds(&p->text, &l, open_exit_ns(p, &e->vcpu[i]));
	}
}

static void vcpu_sched_write(struct page *p, const struct exported_vm *e)
{
	for (unsigned int i = 0; i < e->nr_vcpus; i++) {
		struct metric_labels l = vcpu_labels(e, i);

		if (e->vcpu[i].has_sched)
			page_value(p, &l, &e->vcpu[i]);
	}
}

static void ports_write(struct page *p, const struct exported_vm *e)
{
	struct metric_labels other = e->labels;

	for (unsigned int i = 0; i < e->ports.nr; i++) {
		const struct top_k_key *port = &e->ports.shown[i];
		struct metric_labels l = e->labels;
		char text[16];

		snprintf(text, sizeof(text), "0x%x", (unsigned int)(port->key & 0xffff));
		metric_label(&l, "direction", port->key & STAT_PORT_OUT ? "out" : "in");
		metric_label(&l, "port", text);
		metric_number(&p->text, &l, port->count);
	}
	metric_label(&other, "direction", "any");
	metric_label(&other, "port", "other");
	metric_number(&p->text, &other, e->ports.other);
}

static void pages_write(struct page *p, const struct exported_vm *e)
{
	struct metric_labels other = e->labels;

	for (unsigned int i = 0; i < e->pages.nr; i++) {
		const struct top_k_key *page = &e->pages.shown[i];
		struct metric_labels l = e->labels;
		char text[24];

		snprintf(text, sizeof(text), "0x%" PRIx64,
			 page->key >> STAT_PAGE_SHIFT << STAT_PAGE_SHIFT);
		metric_label(&l, "direction", page->key & STAT_PAGE_WRITE ? "write" : "read");
		metric_label(&l, "page", text);
		metric_number(&p->text, &l, page->count);
	}
	metric_label(&other, "direction", "any");
	metric_label(&other, "page", "other");
	metric_number(&p->text, &other, e->pages.other);
}

static void steals_write(struct page *p, const struct exported_vm *e)
{
	struct metric_labels other = e->labels;

	for (unsigned int i = 0; i < e->steals.nr; i++) {
		const struct top_k_key *steal = &e->steals.shown[i];
		struct metric_labels l = e->labels;
		char path[METRIC_VALUE_MAX];

		metric_label(&l, "cgroup",
			     cgroup_name(p->state->cgroups, steal->key - 1, path, sizeof(path)));
		metric_seconds(&p->text, &l, steal->count);
	}
	metric_label(&other, "cgroup", "other");
	metric_seconds(&p->text, &other, e->steals.other);
}

/* What costs its vCPUs time: of each cause, that of the vCPU that lost most. */
static void lost_write(struct page *p, const struct exported_vm *e)
{
	const char *cause;
	json_t *ns;

	json_object_foreach (e->lost, cause, ns) {
		struct metric_labels l = e->labels;

		metric_label(&l, "cause", cause);
		metric_seconds(&p->text, &l, (uint64_t)json_integer_value(ns));
	}
}

static const struct family families[] = {
	{"hostrace_vm_info", "gauge", "Properties of a VM; the value is 1.", info_write},
	{"hostrace_vm_vcpus", "gauge", "vCPUs that are counted.", nr_vcpus_write},
	{"hostrace_exit_latency_seconds", "histogram",
	 "Time from VM-exit to the next VM-entry, by exit reason and group of vCPUs.", exits_write},
	{"hostrace_userspace_exit_latency_seconds", "histogram",
	 "Time from the return of KVM_RUN to its next call, by reason and group of vCPUs.",
	 exits_write},
	{"hostrace_vcpu_exits_total", "counter", "VM-exits.", vcpu_counts_write,
	 offsetof(struct exported_vcpu, exits), .needs_kvm_exit = true},
	{"hostrace_vcpu_userspace_exits_total", "counter", "VM-exits that the VMM handled.",
	 vcpu_counts_write, offsetof(struct exported_vcpu, userspace)},
	{"hostrace_vcpu_exit_cause_seconds_total", "counter",
	 "What the time of exits that ended went into.", causes_write},
	{"hostrace_vcpu_open_exit_seconds", "gauge",
	 "How long the vCPU has been in its present exit; 0: in guest mode, or halted.",
	 open_exit_write},
	{"hostrace_vcpu_run_seconds_total", "counter", "Time that the vCPU's thread ran on a CPU.",
	 vcpu_sched_write, offsetof(struct exported_vcpu, run_ns)},
	{"hostrace_vcpu_ready_seconds_total", "counter",
	 "Time that the vCPU's thread was runnable without a CPU, which KVM reports to its guest "
	 "as steal.",
	 vcpu_sched_write, offsetof(struct exported_vcpu, ready_ns)},
	{"hostrace_vm_stolen_seconds_total", "counter",
	 "Time that the VM's vCPUs were runnable without a CPU, by the cgroup of the task that had "
	 "it.",
	 steals_write},
	{"hostrace_vm_cause_seconds_total", "counter",
	 "Time of the vCPU that lost most to a cause, by the causes of hostrace diagnose.",
	 lost_write},
	{"hostrace_port_accesses_total", "counter", "Port I/O of the busiest ports.", ports_write},
	{"hostrace_mmio_accesses_total", "counter",
	 "Memory-mapped I/O of the busiest pages of 4 KiB.", pages_write},
};
enum { NR_FAMILIES = sizeof(families) / sizeof(*families) };

/* One of the two histograms is; all exits are counted only with kvm_exit. */
static bool is_measured(const struct page *p, const struct family *f)
{
	const struct export_state *s = p->state;

	if (f->write == exits_write)
		return s->userspace_only == !!strstr(f->name, "userspace");
	return (!f->needs_kvm_exit || !s->userspace_only) &&
	       (f->write != causes_write || s->has_causes) &&
	       (f->write != steals_write || s->cgroups) &&
	       (f->write != ports_write || s->has_ports) &&
	       (f->write != pages_write || s->has_pages);
}

static void samples_write(struct page *p, const struct family *f, const struct exported_vm *e)
{
	p->family = f;
	f->write(p, e);
}

static uint64_t samples_of(const struct page *p, const struct exported_vm *e)
{
	struct page counting = {.state = p->state};

	for (unsigned int i = 0; i < NR_FAMILIES; i++)
		if (is_measured(p, &families[i]))
			samples_write(&counting, &families[i], e);
	for (const struct family *f = device_families; p->state->devices && f->name; f++)
		samples_write(&counting, f, e);
	for (const struct family *f = downtime_families; p->state->downtime && f->name; f++)
		samples_write(&counting, f, e);
	return counting.text.samples;
}

static void family_write(struct page *p, const struct family *f, const struct exported_vm *vms,
			 unsigned int nr)
{
	metric_family(&p->text, f->name, f->type, f->help);
	for (unsigned int i = 0; i < nr; i++) {
		if (vms[i].left_out)
			continue;
		p->text.otlp.start_unix_ns = vms[i].since_unix_ns;
		samples_write(p, f, &vms[i]);
	}
	p->text.otlp.start_unix_ns = p->state->start_unix_s * NS_PER_S;
}

/* Returns how many VMs are left out. */
static unsigned int vms_select(const struct page *p, uint64_t limit, struct exported_vm *vms,
			       unsigned int nr)
{
	unsigned int left_out = 0;
	uint64_t samples = 0;

	for (unsigned int i = 0; i < nr; i++) {
		uint64_t more = samples_of(p, &vms[i]);

		vms[i].left_out = samples + more > limit;
		if (vms[i].left_out)
			left_out++;
		else
			samples += more;
	}
	return left_out;
}

/* ---- families of the exporter ---- */

static void labelled(struct page *p, const char *name, const char *value, uint64_t number)
{
	struct metric_labels l = {0};

	metric_label(&l, name, value);
	metric_number(&p->text, &l, number);
}

static void vms_write(struct page *p, unsigned int nr, unsigned int left_out)
{
	metric_family(&p->text, "hostrace_vms", "gauge",
		      "VMs of this host: exported, or left out because of a limit.");
	labelled(p, "state", "exported", nr - left_out);
	labelled(p, "state", "no-capacity", p->state->vms_no_capacity);
	labelled(p, "state", "over-series-limit", left_out);
}

static void events_write(struct page *p)
{
	metric_family(&p->text, "hostrace_attach_failures_total", "counter",
		      "Attempts to attach probes to a VM's process that failed; they are "
		      "repeated while it lives.");
	metric_number(&p->text, NULL, p->state->attach_failures);
	metric_family(&p->text, "hostrace_lost_device_events_total", "counter",
		      "Events of QEMU that were lost: requests that they may belong to are not "
		      "measured, stops may be missing or too long.");
	metric_number(&p->text, NULL, p->state->lost_device_events);
}

static void dumps_write(struct page *p)
{
	metric_family(&p->text, "hostrace_dumps", "gauge",
		      "Files *.hrt of --dumps: those that can be exemplars, and others.");
	labelled(p, "state", "exemplar", exported_dumps_nr(p->state->dumps));
	labelled(p, "state", "ignored", exported_dumps_ignored(p->state->dumps));
}

static void pushes_write(struct page *p)
{
	metric_family(&p->text, "hostrace_otlp_requests_total", "counter",
		      "Requests to the receiver of --otlp: accepted, accepted in part, failed.");
	labelled(p, "result", "accepted", p->state->pushes->accepted);
	labelled(p, "result", "partial", p->state->pushes->partial);
	labelled(p, "result", "failed", p->state->pushes->failed);
}

static void probes_write(struct page *p)
{
	const struct export_state *s = p->state;

	metric_family(&p->text, "hostrace_build_info", "gauge", "Version; the value is 1.");
	labelled(p, "version", s->version, 1);
	metric_family(&p->text, "hostrace_probe_attached", "gauge",
		      "1: the BPF program is attached; 0: the kernel rejected it, or a QEMU lacks "
		      "the probe.");
	for (unsigned int i = 0; i < s->nr_probes; i++)
		labelled(p, "probe", s->probe[i].name, s->probe[i].attached);
	metric_family(&p->text, "hostrace_lost_exits_total", "counter",
		      "Exits of vCPUs that were not counted yet: VMs that had just started, "
		      "hot-plugged vCPUs, VMs without capacity.");
	metric_number(&p->text, NULL, s->missed_exits);
	if (s->devices || s->downtime)
		events_write(p);
	if (s->dumps)
		dumps_write(p);
	if (s->pushes)
		pushes_write(p);
}

enum { NR_HELPERS = sizeof(((struct export_state *)0)->helper) / sizeof(pid_t) };

static uint64_t resident_bytes(const struct export_state *s)
{
	uint64_t bytes = proc_resident_bytes(getpid());

	for (unsigned int i = 0; i < NR_HELPERS && s->helper[i]; i++)
		bytes += proc_resident_bytes(s->helper[i]);
	return bytes;
}

static uint64_t cpu_ns(const struct export_state *s)
{
	uint64_t helpers_ns = 0;
	struct rusage own;

	getrusage(RUSAGE_SELF, &own);
	for (unsigned int i = 0; i < NR_HELPERS && s->helper[i]; i++) {
		uint64_t run_ns = 0, ready_ns = 0;

		proc_thread_sched(s->helper[i], s->helper[i], &run_ns, &ready_ns);
		helpers_ns += run_ns;
	}
	return helpers_ns + (uint64_t)(own.ru_utime.tv_sec + own.ru_stime.tv_sec) * NS_PER_S +
	       (uint64_t)(own.ru_utime.tv_usec + own.ru_stime.tv_usec) * 1000;
}

static void cost_write(struct page *p)
{
	const struct export_state *s = p->state;

	metric_family(&p->text, "hostrace_map_memory_bytes", "gauge",
		      "Kernel memory of the counters, which is also mapped by the exporter.");
	metric_number(&p->text, NULL, s->map_bytes);
	metric_family(
		&p->text, "process_cpu_seconds_total", "counter",
		"CPU time of the exporter's processes; that of its BPF programs is not in it.");
	metric_seconds(&p->text, NULL, cpu_ns(s));
	metric_family(&p->text, "process_resident_memory_bytes", "gauge",
		      "Memory of the exporter's processes, with the counters.");
	metric_number(&p->text, NULL, resident_bytes(s));
	metric_family(&p->text, "process_start_time_seconds", "gauge",
		      "Start of the exporter since the Unix epoch.");
	metric_number(&p->text, NULL, s->start_unix_s);
}

int metrics_page_write(const struct export_state *s, const struct export_limits *limits,
		       struct exported_vm *vms, unsigned int nr, enum metric_format format,
		       FILE *out)
{
	struct page p = {.text = {.out = out, .format = format, .otlp.sender = s->sender},
			 .state = s};
	unsigned int left_out = vms_select(&p, limits->series, vms, nr);

	for (unsigned int i = 0; i < NR_FAMILIES; i++)
		if (is_measured(&p, &families[i]))
			family_write(&p, &families[i], vms, nr);
	for (const struct family *f = device_families; s->devices && f->name; f++)
		family_write(&p, f, vms, nr);
	for (const struct family *f = downtime_families; s->downtime && f->name; f++)
		family_write(&p, f, vms, nr);
	if (s->downtime)
		page_downtime_write(&p);
	vms_write(&p, nr, left_out);
	probes_write(&p);
	cost_write(&p);
	if (metric_end(&p.text))
		return -ENOMEM;
	return ferror(out) ? fail(-ENOMEM, "out of memory") : 0;
}
