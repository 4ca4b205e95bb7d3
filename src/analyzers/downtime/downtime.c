// SPDX-License-Identifier: GPL-2.0-or-later
/* The state of each VM from QEMU's events of run states and migrations: which stop is open, and its points so far. */
#include "analyzers/downtime/downtime.h"

#include <errno.h>

#include "base/array.h"
#include "base/hash.h"
#include "event/handlers.h"
#include "event/records.h"
#include "event/virtio_ids.h"

enum {
	VMS_MAX = 1 << 14,
	STOPS_MAX = 1 << 16,
	NO_STOP = UINT32_MAX,
};

/* The field `step` of migrate_step. */
enum { STEP_SAVE_RAM = 1, STEP_SAVE_DEVICES, STEP_LOAD, STEP_LOADED, STEP_STOP, STEP_SENT,
       STEP_LOAD_DEVICES };

struct vm {
	uint64_t key; /* source, pid */
	struct loss_mark left_vmm, left_guest; /* the newest kvm_userspace_exit, kvm_exit since the newest entry */
	bool ran;			       /* an entry or exit was seen */
	uint64_t load_ns, loaded_ns;	       /* the newest steps of loading */
	uint64_t devices_ns;		       /* the first device is loaded */
	uint32_t open;			       /* its stop, until it starts again; NO_STOP: it runs */
	uint32_t resumed;		       /* the stop that its next VM-entry ends; NO_STOP: none */
};

struct downtime {
	struct hash_table vms;
	struct vm_stop *stops;
	size_t nr;
	struct loss_state losses;
	struct downtime_counts counts;
	int err;
};

const char *run_state_name(uint32_t state)
{
	static const char *const name[] = {
		"debug",      "inmigrate",	"internal-error", "io-error",
		"paused",     "postmigrate",	"prelaunch",	  "finish-migrate",
		"restore-vm", "running",	"save-vm",	  "shutdown",
		"suspended",  "watchdog",	"guest-panicked", "colo"};

	return state < sizeof(name) / sizeof(name[0]) ? name[state] : NULL;
}

const char *stop_phase_name(enum stop_point from)
{
	static const char *const name[] = {"stop", "stopped",  "ram",	"devices",
					   "load", "activate", "resume"};

	return name[from];
}

/* ---- stops ---- */

enum stop_end stop_end(const struct vm_stop *s)
{
	if (!s->at[STOP_STARTED])
		return s->at[STOP_SAVE_DEVICES] && s->state == RUN_STATE_FINISH_MIGRATE ? STOP_SENT
											: STOP_OPEN;
	if (!s->at[STOP_STOPPED])
		return STOP_ARRIVED;
	return s->to == s->pid ? STOP_RESUMED : STOP_MIGRATED;
}

bool stop_phase_ns(const struct vm_stop *s, enum stop_point from, uint64_t *ret)
{
	for (unsigned int next = from + 1; s->at[from] && next < STOP_POINTS; next++)
		if (s->at[next]) {
			*ret = s->at[next] - s->at[from];
			return true;
		}
	return false;
}

bool stop_downtime_ns(const struct vm_stop *s, uint64_t *ret)
{
	uint64_t ns;

	*ret = 0;
	for (unsigned int i = 0; i < STOP_POINTS; i++)
		if (stop_phase_ns(s, i, &ns))
			*ret += ns;
	return s->at[STOP_STOPPED] &&
	       (s->at[STOP_STARTED] || (s->at[STOP_LOADED] && stop_end(s) == STOP_SENT));
}

static uint32_t stop_add(struct downtime *d, const struct event *ev, uint32_t state)
{
	if (d->nr == STOPS_MAX) {
		d->counts.refused++;
		return NO_STOP;
	}
	if (array_room(d->stops, d->nr)) {
		d->err = -ENOMEM;
		return NO_STOP;
	}
	d->stops[d->nr] = (struct vm_stop){.pid = ev->pid, .state = state,
					   .mark = loss_mark_of(&d->losses, ev)};
	return (uint32_t)d->nr++;
}

/* May points be missing between the newest one and this event? */
static void lost_check(struct downtime *d, uint32_t stop, const struct event *ev)
{
	struct vm_stop *s = &d->stops[stop];

	s->lost |= end_is_unknown(&d->losses, &s->mark, ev);
}

static void point_add(struct downtime *d, uint32_t stop, enum stop_point point,
		      const struct event *ev)
{
	struct vm_stop *s = &d->stops[stop];

	lost_check(d, stop, ev);
	s->mark = loss_mark_of(&d->losses, ev);
	s->at[point] = ev->time_ns;
}

/* ---- events ---- */

static struct vm *vm_of(struct downtime *d, const struct event *ev)
{
	bool added;
	struct vm *vm = hash_add_u64(&d->vms, (uint64_t)ev->source << 32 | ev->pid, &added);

	if (!vm)
		d->counts.refused++;
	else if (added)
		vm->open = vm->resumed = NO_STOP;
	return vm;
}

/* Another migration begins (`begins`), or the VM stops again: its state was sent, and its start was not recorded. */
static void sent_close(struct downtime *d, struct vm *vm, bool begins)
{
	struct vm_stop *s = vm->open == NO_STOP ? NULL : &d->stops[vm->open];

	if (!s || s->state != RUN_STATE_FINISH_MIGRATE || (!begins && !s->at[STOP_LOADED]))
		return;
	s->abandoned = true;
	vm->open = NO_STOP;
}

static void on_stopped(struct downtime *d, struct vm *vm, const struct event *ev, uint32_t state)
{
	struct vm_stop *s;

	sent_close(d, vm, false);
	if (vm->open != NO_STOP) /* it is stopped already */
		return;
	if (vm->resumed != NO_STOP) /* there was no entry, or it is missing */
		lost_check(d, vm->resumed, ev);
	vm->open = stop_add(d, ev, state);
	vm->resumed = NO_STOP;
	if (vm->open == NO_STOP)
		return;
	s = &d->stops[vm->open];
	s->mark = vm->left_vmm.ns ? vm->left_vmm : vm->left_guest;
	s->at[STOP_RAN] = s->mark.ns;
	point_add(d, vm->open, STOP_STOPPED, ev);
}

/* The only VM that waits for its destination; NULL if there is none, or several, or if `to` has loaded no state. */
static struct vm *sender(struct downtime *d, const struct vm *to)
{
	struct vm *vm, *found = NULL;
	unsigned int nr = 0;

	if (d->counts.steps && !to->loaded_ns)
		return NULL;
	for (uint32_t at = 0; (vm = hash_next(&d->vms, &at));) {
		const struct vm_stop *s = vm->open == NO_STOP ? NULL : &d->stops[vm->open];

		if (vm == to || !s || s->state != RUN_STATE_FINISH_MIGRATE ||
		    (to->loaded_ns && s->at[STOP_STOPPED] > to->loaded_ns))
			continue;
		found = vm;
		nr++;
	}
	d->counts.ambiguous += nr > 1;
	return nr == 1 ? found : NULL;
}

/* A VM that was not stopped before starts: its state came from elsewhere, or it is new. */
static uint32_t arrival(struct downtime *d, struct vm *vm, const struct event *ev)
{
	struct vm *from = vm->ran ? NULL : sender(d, vm);
	uint32_t stop = NO_STOP;

	if (from) {
		stop = from->open;
		from->open = NO_STOP;
	} else if (vm->load_ns || vm->loaded_ns || vm->devices_ns) {
		stop = stop_add(d, ev, RUN_STATE_INMIGRATE);
	}
	if (stop == NO_STOP)
		return stop;
	d->stops[stop].at[STOP_LOADED] = vm->loaded_ns;
	if (vm->devices_ns && (!vm->loaded_ns || vm->devices_ns < vm->loaded_ns) &&
	    vm->devices_ns >= d->stops[stop].at[STOP_SAVE_DEVICES])
		d->stops[stop].at[STOP_LOAD] = vm->devices_ns;
	return stop;
}

static void on_started(struct downtime *d, struct vm *vm, const struct event *ev)
{
	uint32_t stop = vm->open != NO_STOP ? vm->open : arrival(d, vm, ev);

	vm->open = NO_STOP;
	vm->load_ns = vm->loaded_ns = vm->devices_ns = 0;
	vm->resumed = stop;
	if (stop == NO_STOP)
		return;
	point_add(d, stop, STOP_STARTED, ev);
	d->stops[stop].to = ev->pid;
}

static void on_step(struct downtime *d, const struct event *ev)
{
	static const enum stop_point points[] = {[STEP_SAVE_RAM] = STOP_SAVE_RAM,
						 [STEP_SAVE_DEVICES] = STOP_SAVE_DEVICES,
						 [STEP_LOAD] = STOP_LOAD,
						 [STEP_LOADED] = STOP_LOADED,
						 [STEP_STOP] = STOP_RAN,
						 [STEP_SENT] = STOP_LOADED};
	RECORD(migrate_step, r, ev);
	struct vm *vm = vm_of(d, ev);
	uint64_t step = r->step;

	d->counts.steps = true;
	if (vm && step == STEP_LOAD_DEVICES && !vm->devices_ns)
		vm->devices_ns = ev->time_ns;
	if (!vm || step < STEP_SAVE_RAM || step > STEP_SENT)
		return;
	if (step == STEP_STOP)
		sent_close(d, vm, true);
	if (step == STEP_STOP && vm->open == NO_STOP)
		vm->left_vmm = loss_mark_of(&d->losses, ev);
	if (step == STEP_LOAD)
		vm->load_ns = ev->time_ns;
	if (step == STEP_LOADED)
		vm->loaded_ns = ev->time_ns;
	if (vm->open != NO_STOP)
		point_add(d, vm->open, points[step], ev);
}

static void on_enters(struct downtime *d, const struct event *ev)
{
	struct vm *vm = vm_of(d, ev);

	if (!vm)
		return;
	if (vm->resumed != NO_STOP)
		point_add(d, vm->resumed, STOP_RUNS, ev);
	vm->resumed = NO_STOP;
	vm->left_vmm.ns = vm->left_guest.ns = 0;
	vm->ran = true;
}

static void on_exit_event(struct downtime *d, const struct event *ev)
{
	struct vm *vm = vm_of(d, ev);

	if (!vm)
		return;
	vm->left_guest = loss_mark_of(&d->losses, ev);
	vm->ran = true;
}

static void on_userspace_exit(struct downtime *d, const struct event *ev)
{
	struct vm *vm = vm_of(d, ev);

	if (!vm)
		return;
	vm->left_vmm = loss_mark_of(&d->losses, ev);
	vm->ran = true;
}

static void on_state(struct downtime *d, const struct event *ev)
{
	RECORD(vm_state, r, ev);
	struct vm *vm = vm_of(d, ev);

	if (!record_has(ev, vm_state, running))
		d->counts.nameless++;
	else if (vm && r->running)
		on_started(d, vm, ev);
	else if (vm)
		on_stopped(d, vm, ev,
			   record_has(ev, vm_state, state) ? r->state : STATE_NOT_RECORDED);
}

static void on_lost(struct downtime *d, const struct event *ev)
{
	loss_state_add(&d->losses, ev, loss_matters(ev, downtime_wants));
}

static const HANDLERS(struct downtime) handlers = {{
	[EV_kvm_exit] = on_exit_event,
	[EV_kvm_userspace_exit] = on_userspace_exit,
	[EV_kvm_entry] = on_enters,
	[EV_kvm_run] = on_enters,
	[EV_migrate_step] = on_step,
	[EV_vm_state] = on_state,
	[EV_lost] = on_lost,
	[EV_gap] = on_lost,
}};

bool downtime_wants(const char *event, void *arg)
{
	(void)arg;
	return handlers_want(&handlers, event);
}

int downtime_event(struct downtime *d, const struct event *ev)
{
	handlers_call(&handlers, d, ev);
	return d->err;
}

/* The next point of a stop that is not over may be missing. */
static void open_check(struct downtime *d)
{
	const struct vm *vm;

	for (uint32_t at = 0; (vm = hash_next(&d->vms, &at));) {
		uint32_t stop = vm->open != NO_STOP ? vm->open : vm->resumed;

		if (stop != NO_STOP)
			d->stops[stop].lost |= end_may_be_missing(&d->losses, &d->stops[stop].mark);
	}
}

/* ---- a caller that runs for ever ---- */

static void index_change(struct downtime *d, uint32_t from, uint32_t to)
{
	struct vm *vm;

	for (uint32_t at = 0; (vm = hash_next(&d->vms, &at));) {
		if (vm->open == from)
			vm->open = to;
		if (vm->resumed == from)
			vm->resumed = to;
	}
}

void downtime_take(struct downtime *d, downtime_stop_fn *fn, void *arg)
{
	uint32_t left = 0;

	open_check(d);
	for (uint32_t i = 0; i < d->nr; i++) {
		bool over = d->stops[i].abandoned || d->stops[i].at[STOP_STARTED];

		fn(arg, &d->stops[i], over);
		index_change(d, i, over ? NO_STOP : left);
		if (!over)
			d->stops[left++] = d->stops[i];
	}
	d->nr = left;
}

void downtime_forget(struct downtime *d, uint32_t pid)
{
	struct vm *vm;

	for (uint32_t at = 0; (vm = hash_next(&d->vms, &at));) {
		if ((uint32_t)vm->key != pid)
			continue;
		if (vm->open != NO_STOP)
			d->stops[vm->open].abandoned = true;
		at = hash_remove(&d->vms, vm);
	}
}

/* ---- results ---- */

const struct vm_stop *downtime_stops(struct downtime *d, size_t *ret_nr)
{
	open_check(d);
	*ret_nr = d->nr;
	return d->stops;
}

const struct downtime_counts *downtime_counts(const struct downtime *d)
{
	return &d->counts;
}

struct downtime *downtime_new(void)
{
	struct downtime *d = calloc(1, sizeof(*d));

	if (d)
		d->vms = HASH_TABLE(struct vm, 1, VMS_MAX);
	return d;
}

void downtime_free(struct downtime *d)
{
	if (!d)
		return;
	hash_deinit(&d->vms);
	loss_state_deinit(&d->losses);
	free(d->stops);
	free(d);
}
