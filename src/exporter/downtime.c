// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Stops of VMs as the exporter shows them (analyzers/downtime/downtime.h), from vm_state and migrate_step alone: exits
 * are too many to be read for ever. So a stop is from when QEMU has paused the vCPUs until they may run again.
 *
 * A stop is that of the VM that stopped. Of a migration to another host the time is known until the devices' state is
 * written; of one to another VM of this host, until that one runs.
 */
#include <errno.h>

#include "base/array.h"
#include "base/error.h"
#include "base/hash.h"
#include "exporter/page_private.h"

enum { VMS_MAX = 1 << 14 };

struct stopped_vm {
	uint64_t pid;
	struct exported_stops over[EXPORT_STATES], now[EXPORT_STATES]; /* now: with those that have not ended */
};

struct exported_downtime {
	struct downtime *downtime;
	struct hash_table vms;
	struct exported_phases over[EXPORT_STATES], now[EXPORT_STATES]; /* the same */
	uint64_t now_ns;
	int err;
};

/* "paused", "unknown" */
static const char *exported_state_name(unsigned int state)
{
	const char *name = state < EXPORT_STATES - 1 ? run_state_name(state) : NULL;

	return name ? name : "unknown";
}

/* Series of this state exist from the beginning, so that increase() sees the first stop. */
static bool exported_state_is_common(unsigned int state)
{
	static const char *const common[] = {"paused", "finish-migrate", "io-error"};

	return array_any(sizeof(common) / sizeof(*common), i,
			 !strcmp(exported_state_name(state), common[i]));
}

/* ---- stops ---- */

/* What of it is known by now; of a stop that goes on: up to now. */
static uint64_t stop_ns(const struct vm_stop *s, uint64_t now_ns)
{
	uint64_t ns;

	if (stop_end(s) == STOP_OPEN)
		return now_ns > s->at[STOP_STOPPED] ? now_ns - s->at[STOP_STOPPED] : 0;
	(void)stop_downtime_ns(s, &ns);
	return ns;
}

static void phases_add(struct exported_phases *to, const struct vm_stop *s)
{
	uint64_t ns;

	if (stop_end(s) == STOP_OPEN)
		return;
	to->nr++;
	for (unsigned int i = 0; i < STOP_RUNS; i++)
		if (stop_phase_ns(s, i, &ns))
			to->ns[i] += ns;
}

static void stops_add(struct exported_stops *to, const struct vm_stop *s, uint64_t now_ns)
{
	to->nr++;
	to->ns += stop_ns(s, now_ns);
}

static void on_stop(void *arg, const struct vm_stop *s, bool over)
{
	struct exported_downtime *d = arg;
	unsigned int state = s->state < EXPORT_STATES ? s->state : EXPORT_STATES - 1;
	/* That of a VM that has ended is only among those of the host. */
	struct stopped_vm *vm = s->abandoned ? NULL : hash_add_u64(&d->vms, s->pid, NULL);

	if (!vm && !s->abandoned)
		d->err = fail(-ENOMEM, "out of memory");
	if (over)
		phases_add(&d->over[state], s);
	phases_add(&d->now[state], s);
	if (!vm)
		return;
	if (over)
		stops_add(&vm->over[state], s, d->now_ns);
	stops_add(&vm->now[state], s, d->now_ns);
}

int exported_downtime_read(struct exported_downtime *d, uint64_t now_ns)
{
	struct stopped_vm *vm;

	d->err = 0;
	d->now_ns = now_ns;
	memcpy(d->now, d->over, sizeof(d->now));
	for (uint32_t at = 0; (vm = hash_next(&d->vms, &at));)
		memcpy(vm->now, vm->over, sizeof(vm->now));
	downtime_take(d->downtime, on_stop, d);
	return d->err;
}

struct exported_stops exported_downtime_of(const struct exported_downtime *d, pid_t pid,
					   unsigned int state)
{
	const struct stopped_vm *vm = hash_find_u64(&d->vms, (uint64_t)pid);

	return vm ? vm->now[state] : (struct exported_stops){0};
}

const struct exported_phases *exported_downtime_phases(const struct exported_downtime *d,
						       unsigned int state)
{
	return &d->now[state];
}

/* ---- events ---- */

int exported_downtime_event(struct exported_downtime *d, const struct event *ev)
{
	return downtime_event(d->downtime, ev);
}

void exported_downtime_forget(struct exported_downtime *d, pid_t pid)
{
	struct stopped_vm *vm;

	/* Stops that are over are counted, before another process may have the pid. */
	(void)exported_downtime_read(d, d->now_ns);
	downtime_forget(d->downtime, (uint32_t)pid);
	vm = hash_find_u64(&d->vms, (uint64_t)pid);
	if (vm)
		hash_remove(&d->vms, vm);
}

/* ---- start and end ---- */

struct exported_downtime *exported_downtime_new(void)
{
	struct exported_downtime *d = calloc(1, sizeof(*d));

	if (d)
		d->downtime = downtime_new();
	if (d && d->downtime) {
		d->vms = HASH_TABLE(struct stopped_vm, 1, VMS_MAX);
		return d;
	}
	free(d);
	fail(-ENOMEM, "out of memory");
	return NULL;
}

void exported_downtime_free(struct exported_downtime *d)
{
	if (!d)
		return;
	downtime_free(d->downtime);
	hash_deinit(&d->vms);
	free(d);
}

/* The families of stops: of a VM, and of the host. */

static void watched_write(struct page *p, const struct exported_vm *e)
{
	metric_number(&p->text, &e->labels, e->downtime_watched);
}

static void states_write(struct page *p, const struct exported_vm *e)
{
	for (unsigned int i = 0; i < EXPORT_STATES && e->downtime_watched; i++) {
		struct exported_stops stops = exported_downtime_of(p->state->downtime, e->pid, i);
		struct metric_labels l = e->labels;

		if (!stops.nr && !exported_state_is_common(i))
			continue;
		metric_label(&l, "state", exported_state_name(i));
		page_value(p, &l, &stops);
	}
}

const struct family downtime_families[] = {
	{"hostrace_vm_downtime_watched", "gauge",
	 "1: stops of the VM are counted; 0: probes are missing.", watched_write},
	{"hostrace_vm_stops_total", "counter",
	 "Times that QEMU stopped the VM, by the run state that it then had.", states_write,
	 offsetof(struct exported_stops, nr)},
	{"hostrace_vm_stopped_seconds_total", "counter",
	 "Time for which the VM's vCPUs were paused, with the stop that it is in.", states_write,
	 offsetof(struct exported_stops, ns)},
	{0},
};

/* ---- of the host ---- */

static bool state_is_shown(const struct page *p, unsigned int state)
{
	return exported_state_is_common(state) ||
	       exported_downtime_phases(p->state->downtime, state)->nr;
}

static void ended_write(struct page *p, unsigned int state)
{
	struct metric_labels l = {0};

	metric_label(&l, "state", exported_state_name(state));
	metric_number(&p->text, &l, exported_downtime_phases(p->state->downtime, state)->nr);
}

/* The first and the last phase are between exits, which are not known here. */
static void phases_write(struct page *p, unsigned int state)
{
	for (unsigned int i = STOP_STOPPED; i < STOP_STARTED; i++) {
		struct metric_labels l = {0};

		metric_label(&l, "state", exported_state_name(state));
		metric_label(&l, "phase", stop_phase_name(i));
		metric_seconds(&p->text, &l,
			       exported_downtime_phases(p->state->downtime, state)->ns[i]);
	}
}

void page_downtime_write(struct page *p)
{
	metric_family(&p->text, "hostrace_ended_stops_total", "counter",
		      "Stops of all VMs of this host that have ended, by QEMU's run state.");
	for (unsigned int i = 0; i < EXPORT_STATES; i++)
		if (state_is_shown(p, i))
			ended_write(p, i);
	metric_family(&p->text, "hostrace_ended_stop_phase_seconds_total", "counter",
		      "What the time of these stops went into.");
	for (unsigned int i = 0; i < EXPORT_STATES; i++)
		if (state_is_shown(p, i))
			phases_write(p, i);
}
