// SPDX-License-Identifier: GPL-2.0-or-later
#include "exporter/downtime.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/hash.h"

enum { VMS_MAX = 1 << 14 };

struct vm {
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

const char *exported_state_name(unsigned int state)
{
	const char *name = state < EXPORT_STATES - 1 ? run_state_name(state) : NULL;

	return name ? name : "unknown";
}

bool exported_state_is_common(unsigned int state)
{
	static const char *const common[] = {"paused", "finish-migrate", "io-error"};

	for (unsigned int i = 0; i < sizeof(common) / sizeof(*common); i++)
		if (!strcmp(exported_state_name(state), common[i]))
			return true;
	return false;
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
	struct vm *vm = s->abandoned ? NULL : hash_add_u64(&d->vms, s->pid, NULL);

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
	struct vm *vm;

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
	const struct vm *vm = hash_find_u64(&d->vms, (uint64_t)pid);

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
	struct vm *vm;

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
		d->vms = HASH_TABLE(struct vm, 1, VMS_MAX);
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
