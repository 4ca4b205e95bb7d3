// SPDX-License-Identifier: GPL-2.0-or-later
/* --events: sets, names and globs. */
#include <errno.h>
#include <fnmatch.h>

#include "analyzers/downtime/downtime.h"
#include "analyzers/interrupts/interrupts.h"
#include "base/error.h"
#include "commands/live/record.h"

struct event_set {
	const char *name;
	const char *const *globs; /* a leading '-' excludes */
};

#define GLOBS(...) ((const char *const[]){__VA_ARGS__, NULL})

/* Several for each interrupt. */
#define NO_APIC                                                                                    \
	"-kvm_apic_accept_irq", "-kvm_eoi", "-kvm_pv_eoi", "-kvm_timer_irq", "-kvm_ioapic_set_irq"

/* Not kvm_emulate_insn: one record per emulated instruction is a flood of little use. */
static const struct event_set sets[] = {
	{"default", GLOBS("kvm_*", "-kvm_emulate_insn", NO_APIC, "sched_switch", "sched_wakeup",
			  "virtqueue_*", "virtio_*", "vm_state", "vhost_start", "qemu_pio")},
	{"kvm", GLOBS("kvm_*", "-kvm_emulate_insn")},
	{"sched", GLOBS("sched_switch", "sched_wakeup")},
	{"waits", GLOBS("sched_switch", "sched_block", "sched_ran", "sched_woken", "sched_holder")},
	{"qemu", GLOBS("virtqueue_*", "virtio_*", "vm_state", "vhost_start", "qemu_pio")},
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
			 "vcpu_ioctl*", "vcpu_run_exit", "region_*", "heap_*",
			 "migrate_*")},
	{"all", GLOBS("*")},
};

static bool choose_glob(const char *glob, bool on, bool wants[EV_LIMIT])
{
	bool found = false;

	for (unsigned int id = 1; id < EV_LIMIT; id++) {
		const struct event_type *t = event_type_ours(id);

		if (!t || fnmatch(glob, t->name, 0))
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

/* Reports whose name is not their analyzer's; or, where there is none, their events, or what they want. */
static const struct {
	const char *report, *analyzer, *events;
	bool (*wants)(const char *event, void *arg);
} reports[] = {
	{"exits", "exit-latency", NULL, NULL},
	{"ports", "pio", NULL, NULL},
	{"msrs", "msr", NULL, NULL},
	{"leaks", NULL, "qemu,-qemu_pio", NULL},
	{"virtio", NULL, "qemu,irq,-qemu_pio", NULL},
	{"requests", NULL,
	 "qemu,irq,blk_request,net_send,net_packet,sched_switch,sched_woken,host_io,kvm_exit,"
	 "kvm_entry,kvm_userspace_exit,kvm_run,-qemu_pio", NULL},
	{"timeline", NULL, "default", NULL},
	{"sched", NULL, "waits,-sched_holder,sched_wakeup,sched_stack", NULL},
	{"interrupts", NULL, NULL, interrupts_wants},
	{"downtime", NULL, NULL, downtime_wants},
	{"blame", NULL,
	 "waits,kvm_exit,kvm_nested_vmexit,kvm_entry,kvm_userspace_exit,kvm_run,kvm_pio,kvm_mmio,"
	 "kvm_page_fault,kvm_inj_virq,kvm_vcpu_wakeup", NULL},
};

static void choose_analyzer(const struct analyzer *a, bool wants[EV_LIMIT])
{
	for (unsigned int id = 1; id < EV_LIMIT; id++) {
		const struct event_type *t = event_type_ours(id);

		if (t && analyzer_wants(a, t->name))
			wants[id] = true;
	}
}

/* Events that name others are the collector's own, and recorded in any case. */
static void choose_wanted(bool (*event_wanted)(const char *event, void *arg), bool wants[EV_LIMIT])
{
	for (unsigned int id = 1; id < EV_LIMIT; id++) {
		const struct event_type *t = event_type_ours(id);

		if (t && !trim_is_naming(t) && event_wanted(t->name, NULL))
			wants[id] = true;
	}
}

static int choose_report(const char *name, bool wants[EV_LIMIT])
{
	struct pair_analyzer own;
	const struct analyzer *a, *other;

	for (unsigned int i = 0; i < sizeof(reports) / sizeof(reports[0]); i++) {
		if (strcmp(reports[i].report, name))
			continue;
		if (reports[i].events)
			return events_choose(reports[i].events, wants);
		if (reports[i].wants) {
			choose_wanted(reports[i].wants, wants);
			return 0;
		}
		name = reports[i].analyzer;
		break;
	}
	a = analyzer_find(name, &own);
	if (!a)
		return -EINVAL;
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

/* Reports are commands; any analyzer has its summary. */
const char *events_next_print(const char *list, char *buf, size_t size)
{
	int len = (int)strcspn(list, ",");

	snprintf(buf, size, "summary %.*s", len, list);
	for (unsigned int i = 0; i < sizeof(reports) / sizeof(reports[0]); i++)
		if (!strncmp(list, reports[i].report, (size_t)len) && !reports[i].report[len])
			snprintf(buf, size, "%s%s", reports[i].report,
				 strcmp(reports[i].report, "requests") ? "" : " --stages");
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
	if (!wants[EV_sched_block])
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

int events_choose(const char *list, bool wants[EV_LIMIT])
{
	_cleanup_free_ char *copy = strdup(list);
	char *save = NULL;

	if (!copy)
		return fail(-ENOMEM, "out of memory");
	for (char *item = strtok_r(copy, ",", &save); item; item = strtok_r(NULL, ",", &save)) {
		bool on = *item != '-';

		item += !on;
		if (!choose_set(item, on, wants) && !choose_glob(item, on, wants))
			return fail_usage(
				-EINVAL,
				"no event matches '%s'; the sets are default, kvm, sched, waits, "
				"qemu, irq, devices, block, coroutines, loops, locks, kvm-calls, "
				"regions, memory, migration, inside and all",
				item);
	}
	return 0;
}
