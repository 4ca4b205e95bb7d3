// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * What limits the VMs from outside, and what that cost them meanwhile (vm/limits.h), where their threads may run
 * (vm/vm_places.h), in the file's metadata.
 */
#include "base/clock.h"
#include "commands/live/record.h"
#include "vm/host_load.h"
#include "vm/limits.h"
#include "vm/vm_places.h"

static struct vm_limits *limits; /* NULL: the recording is not open */
static struct vm_places places;
static json_t *frequency; /* when it began: later, the files cannot be opened */

static void limits_open(const struct recording *r)
{
	limits = vm_limits_open(r->vms, r->nr_vms, true);
	vm_places_open(&places, r->vms, r->nr_vms, true);
	frequency = host_frequencies((unsigned int)sysconf(_SC_NPROCESSORS_ONLN));
}

static int limits_round(struct recording *r, uint64_t now_ns)
{
	(void)r;
	if (limits)
		vm_limits_sample(limits, now_ns);
	return 0;
}

/* The first time privileges are still there. VMs that begin later are not in it. */
static void limits_meta(struct recording *r, json_t *meta, bool final)
{
	json_t *o;

	if (!limits)
		limits_open(r);
	o = limits ? vm_limits_json(limits, !final) : NULL;
	if (!o)
		return;
	json_object_set_new(o, "vms", vm_places_json(&places));
	if (frequency)
		json_object_set(o, "frequency", frequency);
	json_object_set_new(meta, "limits", o);
}

static void limits_close(struct recording *r)
{
	(void)r;
	vm_limits_close(limits);
	vm_places_close(&places);
	json_decref(frequency);
	limits = NULL;
	frequency = NULL;
}

const struct record_part record_limits_part = {
	.round = limits_round,
	.meta = limits_meta,
	.close = limits_close,
};
