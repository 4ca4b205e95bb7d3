// SPDX-License-Identifier: GPL-2.0-or-later
/* What limits the VMs from outside, and what that cost them meanwhile (vm/limits.h), in the file's metadata. */
#include "commands/live/record.h"
#include "vm/limits.h"

static struct vm_limits *limits; /* NULL: the recording is not open */

/* The first time privileges are still there. VMs that begin later are not in it. */
static void limits_meta(struct recording *r, json_t *meta, bool final)
{
	if (!limits)
		limits = vm_limits_open(r->vms, r->nr_vms, true);
	if (limits)
		json_object_set_new(meta, "limits", vm_limits_json(limits, !final));
}

static void limits_close(struct recording *r)
{
	(void)r;
	vm_limits_close(limits);
	limits = NULL;
}

const struct record_part record_limits_part = {
	.meta = limits_meta,
	.close = limits_close,
};
