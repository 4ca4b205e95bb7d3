// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * What the recorder may still do once its probes are attached. Next to nothing, if the VMs are known: CONFINE_DRAIN. As
 * long as it follows a command, or looks for a guest's trace in a VM that the command starts, it is CONFINE_FOLLOW and
 * keeps the capabilities for that.
 */
#include "commands/live/record.h"

static bool follows(const struct recording *r)
{
	return r->follow.active || record_guest_pending(r);
}

static uint64_t caps_needed(const struct recording *r)
{
	return (follows(r) ? CAPS_KEPT_TO_LOOK : 0) |
	       (r->follow.active ? collector_attach_caps() : 0) |
	       (record_guest_pending(r) ? CAPS_KEPT_TO_CONNECT : 0);
}

int record_confine(struct recording *r)
{
	int err;

	r->paths = confine_paths_new();
	err = r->paths ? 0 : -1;
	if (!err && !record_opt.stream)
		err = confine_paths_write(r->paths, record_opt.output, record_opt.ring_bytes);
	if (!err)
		err = record_guest_paths(r, r->paths);
	if (!err)
		err = record_trigger_paths(r, r->paths);
	if (err)
		return err;
	r->confinement = (struct confinement){
		.phase = follows(r) ? CONFINE_FOLLOW : CONFINE_DRAIN,
		.keep = caps_needed(r),
		.connects = record_guest_pending(r),
		.answers = record_control_fd(r) >= 0,
		.forks = record_has_triggers(),
		.paths = r->paths,
	};
	record_stop_pause(r);
	err = confine(&r->confinement);
	return err ? err : record_stop_watch(r);
}

int record_confine_more(struct recording *r)
{
	int err;

	if (r->confinement.phase != CONFINE_FOLLOW || follows(r))
		return 0;
	r->confinement.phase = CONFINE_DRAIN;
	record_stop_pause(r);
	err = confine_more(&r->confinement);
	return err ? err : record_stop_watch(r);
}

void record_confine_close(struct recording *r)
{
	confine_paths_free(r->paths);
}
