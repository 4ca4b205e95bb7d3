// SPDX-License-Identifier: GPL-2.0-or-later
/* --events: sets, names and globs. */
#include <errno.h>
#include <fnmatch.h>

#include "base/error.h"
#include "base/suggest.h"
#include "commands/live/record.h"
#include "reports/reports.h"

struct event_set {
	const char *name;
	const char *const *globs; /* a leading '-' excludes */
};

#define GLOBS(...) ((const char *const[]){__VA_ARGS__, NULL})

/* Several for each interrupt. */
#define NO_APIC                                                                                    \
	"-kvm_apic_accept_irq", "-kvm_eoi", "-kvm_pv_eoi", "-kvm_timer_irq", "-kvm_ioapic_set_irq"

/* bpf/events_kvm.def */
#define NO_MORE                                                                                    \
	"-kvm_apicv_*", "-kvm_avic_*", "-kvm_pi_*", "-kvm_try_async_*", "-kvm_async_*",            \
		"-kvm_hv_*", "-kvm_update_master_clock", "-kvm_track_tsc", "-kvm_dirty_ring_*",    \
		"-kvm_nested_vmenter*", "-kvm_nested_int*"

/* Not kvm_emulate_insn: one record per emulated instruction is a flood of little use. */
static const struct event_set sets[] = {
	{"default", GLOBS("kvm_*", "-kvm_emulate_insn", NO_APIC, NO_MORE, "sched_switch",
			  "sched_wakeup", "sched_block", "sched_ran", "virtqueue_*", "virtio_*",
			  "vm_state", "vhost_start", "qemu_pio")},
	{"kvm", GLOBS("kvm_*", "-kvm_emulate_insn")},
	{"sched", GLOBS("sched_switch", "sched_wakeup")},
	{"waits", GLOBS("sched_switch", "sched_block", "sched_ran", "sched_woken", "sched_holder")},
	{"qemu", GLOBS("virtqueue_*", "virtio_*", "vm_state", "vhost_start", "qemu_pio")},
	{"avic", GLOBS("kvm_apicv_*", "kvm_avic_*", "kvm_pi_*")},
	{"async-pf", GLOBS("kvm_try_async_*", "kvm_async_*")},
	{"hyperv", GLOBS("kvm_hv_*")},
	{"clock", GLOBS("kvm_update_master_clock", "kvm_track_tsc", "kvm_pvclock_update",
			"kvm_write_tsc_offset")},
	{"dirty-ring", GLOBS("kvm_dirty_ring_*")},
	{"irq", GLOBS("kvm_inj_virq", "kvm_set_irq", "kvm_msi_set_irq", "virtio_notify")},
	/* QEMU internals, by the groups of probes/inside.def. Mutexes are a flood. */
	{"devices", GLOBS("vblk_*", "vscsi_*", "scsi_*", "net_*")},
	{"block", GLOBS("block_*", "aio_submit", "uring_*", "pool_*")},
	{"coroutines", GLOBS("co_*")},
	{"loops", GLOBS("aio_poll", "aio_dispatch", "poll_*", "qemu_poll*", "bh_*", "timer*")},
	{"locks", GLOBS("bql_*")},
	{"kvm-calls", GLOBS("vcpu_ioctl*", "vcpu_run_exit")},
	{"regions", GLOBS("region_*")},
	{"memory", GLOBS("heap_*")},
	{"migration", GLOBS("migrate_*")},
	{"inside", GLOBS("vblk_*", "vscsi_*", "scsi_*", "net_*", "block_*", "aio_*", "uring_*",
			 "pool_*", "co_*", "poll_*", "qemu_poll*", "bh_*", "timer*", "bql_*",
			 "vcpu_ioctl*", "vcpu_run_exit", "region_*", "heap_*", "migrate_*")},
	{"all", GLOBS("*")},
};

/* Probes for each allocation, system call, or page that the host allocates: not without being named. */
static bool is_flood(const char *name, const char *glob)
{
	static const char *const prefixes[] = {"alloc_", "syscall_", "host_fault"};

	for (size_t i = 0; i < sizeof(prefixes) / sizeof(*prefixes); i++)
		if (!strncmp(name, prefixes[i], strlen(prefixes[i])) &&
		    strncmp(glob, prefixes[i], strlen(prefixes[i])) != 0)
			return true;
	return false;
}

static bool choose_glob(const char *glob, bool on, bool wants[EV_LIMIT])
{
	bool found = false;

	for (unsigned int id = 1; id < EV_LIMIT; id++) {
		const struct event_type *t = event_type_ours(id);

		if (!t || fnmatch(glob, t->name, 0))
			continue;
		if (on && is_flood(t->name, glob))
			continue;
		wants[id] = on;
		found = true;
	}
	return found;
}

static bool choose_set(const char *name, bool on, bool wants[EV_LIMIT])
{
	for (unsigned int i = 0; i < sizeof(sets) / sizeof(sets[0]); i++) {
		if (strcmp(sets[i].name, name))
			continue;
		for (const char *const *g = sets[i].globs; *g; g++)
			if (**g != '-')
				choose_glob(*g, on, wants);
			else if (on)
				choose_glob(*g + 1, false, wants);
		return true;
	}
	return false;
}

/* Other names of reports: of an analyzer, a list of events, or several reports. */
static const struct {
	const char *report, *analyzer, *events, *reports;
} others[] = {
	{"exits", "exit-latency", NULL, NULL},
	{"ports", "pio", NULL, NULL},
	{"msrs", "msr", NULL, NULL},
	{"timeline", NULL, "default", NULL},
	{"diagnose", NULL, NULL, REPORTS_OF_DIAGNOSE},
};

enum { NR_OTHERS = sizeof(others) / sizeof(others[0]) };

static void choose_analyzer(const struct analyzer *a, bool wants[EV_LIMIT])
{
	for (unsigned int id = 1; id < EV_LIMIT; id++) {
		const struct event_type *t = event_type_ours(id);

		if (t && analyzer_wants(a, t->name))
			wants[id] = true;
	}
}

static void name_offer(struct suggestion *s, const char *typed, const char *name, FILE *list)
{
	suggest_try(s, typed, name);
	if (list)
		fprintf(list, " %s", name);
}

static int name_unknown(const char *name)
{
	_cleanup_free_ char *names = NULL;
	struct suggestion s = {0};
	size_t size;
	FILE *list = open_memstream(&names, &size);

	for (unsigned int i = 0; report_recorded_name(i); i++)
		name_offer(&s, name, report_recorded_name(i), list);
	for (unsigned int i = 0; i < NR_OTHERS; i++)
		name_offer(&s, name, others[i].report, list);
	for (const struct analyzer *const *a = analyzers; *a; a++)
		name_offer(&s, name, (*a)->name, NULL);
	if (list)
		fclose(list);
	fail_usage(-EINVAL, "unknown report or analyzer '%s' (supported:%s, and each analyzer)",
		   name, names ?: "");
	return suggest_hint(-EINVAL, &s);
}

static int choose_report(const char *name, bool wants[EV_LIMIT])
{
	const struct report_ops *report = report_recorded(name);
	struct pair_analyzer own;
	const struct analyzer *a, *other;

	for (unsigned int id = 1; report && id < EV_LIMIT; id++)
		wants[id] |= report_records(report, id);
	if (report)
		return 0;
	for (unsigned int i = 0; i < NR_OTHERS; i++) {
		if (strcmp(others[i].report, name))
			continue;
		if (others[i].events)
			return events_choose(others[i].events, wants, NULL);
		if (others[i].reports)
			return events_choose_for(others[i].reports, wants);
		name = others[i].analyzer;
		break;
	}
	a = analyzer_find(name, &own);
	if (!a)
		return name_unknown(name);
	if (a->begin == a->name && strchr(name, ':'))
		return fail_usage(-EINVAL,
				  "--for takes reports and analyzers; record an event "
				  "with --events %s",
				  name);
	/*
	 * Those that it falls back to as well: here its own events may never come. But kvm_exit, the most frequent
	 * event, has nothing that kvm_pio and the like lack.
	 */
	choose_analyzer(a, wants);
	for (unsigned int i = 0; (other = analyzer_fallback(a, i)); i++)
		if (!other->access)
			choose_analyzer(other, wants);
	return 0;
}

static bool is_report(const char *name)
{
	bool found = report_recorded(name);

	for (unsigned int i = 0; i < NR_OTHERS; i++)
		found |= !strcmp(others[i].report, name);
	return found;
}

static bool any_occurred(const char *events, const uint64_t count[EV_LIMIT])
{
	for (unsigned int id = 1; id < EV_LIMIT; id++)
		if (count[id] && name_in_list(events, event_type_ours(id)->name))
			return true;
	return false;
}

/* Did events occur of which this report or analyzer makes its rows? It was chosen by events_choose_for(). */
static bool has_rows(const char *name, const uint64_t count[EV_LIMIT])
{
	const struct report_ops *report = report_recorded(name);
	const struct analyzer *a, *other;
	struct pair_analyzer own;
	bool any;

	if (report)
		return any_occurred(report->needs->events, count);
	for (unsigned int i = 0; i < NR_OTHERS; i++) {
		if (strcmp(others[i].report, name))
			continue;
		if (!others[i].analyzer)
			return true; /* it takes what there is */
		name = others[i].analyzer;
		break;
	}
	a = analyzer_find(name, &own);
	any = a && any_occurred(a->begin, count);
	for (unsigned int i = 0; a && (other = analyzer_fallback(a, i)); i++)
		any |= any_occurred(other->begin, count);
	return any;
}

/* The first report that these events are enough for. count: of each event. */
static const char *report_of(const uint64_t count[EV_LIMIT])
{
	static const struct {
		unsigned int event;
		const char *report;
	} first[] = {
		{EV_kvm_exit, "exits"},
		{EV_kvm_userspace_exit, "exits"},
		{EV_sched_switch, "sched"},
		{EV_virtqueue_pop, "virtio"},
		{EV_kvm_inj_virq, "interrupts"},
		{EV_kvm_pio, "ports"},
		{EV_kvm_msr, "msrs"},
		{EV_syscall_enter, "syscalls"},
		{EV_host_fault, "faults"},
	};

	for (size_t i = 0; i < sizeof(first) / sizeof(*first); i++)
		if (count[first[i].event])
			return first[i].report;
	return "list";
}

/* Reports are commands; any analyzer has its summary. The first of the list that has rows. */
const char *events_next_print(const char *list, const uint64_t count[EV_LIMIT], char *buf,
			      size_t size)
{
	char name[64];

	for (; list && *list; list += strcspn(list, ","), list += *list == ',') {
		snprintf(name, sizeof(name), "%.*s", (int)strcspn(list, ","), list);
		if (!has_rows(name, count))
			continue;
		snprintf(buf, size, "%s%s%s", is_report(name) ? "" : "summary ", name,
			 strcmp(name, "requests") ? "" : " --stages");
		return buf;
	}
	snprintf(buf, size, "%s", report_of(count));
	return buf;
}

int events_choose_for(const char *list, bool wants[EV_LIMIT])
{
	_cleanup_free_ char *copy = strdup(list);
	char *save = NULL;
	int err = 0;

	if (!copy)
		return fail(-ENOMEM, "out of memory");
	for (char *item = strtok_r(copy, ",", &save); item && !err;
	     item = strtok_r(NULL, ",", &save))
		err = choose_report(item, wants);
	return err;
}

int events_choose_exact(bool wants[EV_LIMIT])
{
	if (!wants[EV_sched_holder])
		return fail_usage(-EINVAL, "--exact requires --for blame");
	wants[EV_bql_locked] = wants[EV_bql_unlock] = true;
	return 0;
}

/* Without these a reader could not relate the guests' clocks, whatever else was recorded; they are
 * rare. */
void events_explain(bool wants[EV_LIMIT])
{
	wants[EV_kvm_write_tsc_offset] = true;
}

/* "SUBSYSTEM:EVENT", "kprobe:FUNCTION ARGUMENT ..." */
static int any_choose(const char *item, bool on, struct any_events *any)
{
	if (!any)
		return fail_usage(-EINVAL, "'%s' is not possible here", item);
	if (on)
		return any_events_add(any, item);
	any_events_remove(any, item);
	return 0;
}

static int item_choose(const char *item, bool wants[EV_LIMIT], struct any_events *any)
{
	bool on = *item != '-';

	item += !on;
	if (strchr(item, ':'))
		return any_choose(item, on, any);
	if (choose_set(item, on, wants) || choose_glob(item, on, wants))
		return 0;
	return fail_usage(-EINVAL,
			  "no event matches '%s'; the sets are default, kvm, sched, waits, qemu, "
			  "irq, devices, block, coroutines, loops, locks, kvm-calls, regions, "
			  "memory, migration, inside and all; the kernel's tracepoints are "
			  "SUBSYSTEM:EVENT, its functions kprobe:FUNCTION",
			  item);
}

int events_choose(const char *list, bool wants[EV_LIMIT], struct any_events *any)
{
	_cleanup_free_ char *copy = strdup(list);
	char *save = NULL;
	int err = 0;

	if (!copy)
		return fail(-ENOMEM, "out of memory");
	for (char *item = strtok_r(copy, ",", &save); item && !err;
	     item = strtok_r(NULL, ",", &save))
		err = item_choose(item, wants, any);
	return err;
}

int events_host(struct any_events *any, bool host)
{
	any->host = host;
	return !host || any->nr
		       ? 0
		       : fail_usage(-EINVAL, "--host requires a tracepoint of the kernel or a "
					     "probe in --events (SUBSYSTEM:EVENT)");
}

int events_announce(struct recording *r)
{
	int err = 0;

	for (unsigned int i = 0; i < r->any.nr && !err; i++) {
		uint16_t id;

		err = trace_writer_type(r->writer, r->any.event[i].format.type, &id);
		if (!err && id != ANY_FIRST + i)
			err = fail(-EINVAL, "%s has the type %u", r->any.event[i].name, id);
	}
	return err;
}
