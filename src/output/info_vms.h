/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The VMs of a trace, for `info`: as the metadata lists them, else as KVM's events show them. */
#ifndef HOSTRACE_INFO_VMS_H
#define HOSTRACE_INFO_VMS_H

#include <jansson.h>

#include "base/cleanup.h"
#include "input/input_set.h"

enum { INFO_VCPUS_MAX = 1 << 16 }; /* vCPU threads found in events; further ones are not listed */

struct info_vms;

/* NULL: out of memory. */
struct info_vms *info_vms_new(void);
void info_vms_free(struct info_vms *v);
DEFINE_CLEANUP(info_vms, struct info_vms *, info_vms_free);

/* Which thread ran which vCPU of which process; other events are ignored. */
void info_vms_event(struct info_vms *v, const struct event *ev);

/*
 * [{"pid","name","vcpus": number,"vcpu_threads":[{"index","tid"}], ...}] of all hosts' inputs, with the keys that their
 * metadata has; a VM that is only known from events has no name unless its events have a pid. New reference.
 */
json_t *info_vms_json(const struct info_vms *v, const struct input_set *in);

#endif
