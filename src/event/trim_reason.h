/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * --reason GLOB: exits of these reasons, and the events of their thread until the next VM-entry. The reason is only in
 * the event that begins an exit, so whether the next event of that thread is requested depends on the previous ones:
 *
 *   kvm_exit (io)  kvm_pio  kvm_userspace_exit (io) ... kvm_run  kvm_entry  kvm_exit (hlt) ...
 *   '----------------------- requested by --reason io --------------------'
 *
 * A return to the VMM is an exit of its own, with reasons of its own (KVM_EXIT_*), until kvm_run.
 */
#ifndef HOSTRACE_TRIM_REASON_H
#define HOSTRACE_TRIM_REASON_H

#include "event/event.h"

struct trim_reason;

/*
 * globs: comma-separated, in either case, and with the names of other ISAs (exit_reason_synonyms()). NULL if memory is
 * short. NULL may be freed.
 */
struct trim_reason *trim_reason_new(const char *globs);
void trim_reason_free(struct trim_reason *f);

/* Is the event requested? To be called once for each event, in time order. */
bool trim_reason_passes(struct trim_reason *f, const struct event *ev);

/* Number of threads that could not be followed: of their exits only the first event passed. */
uint64_t trim_reason_unfollowed(const struct trim_reason *f);

/* Must this event be read for the filter to work, even if it is not wanted? */
bool trim_reason_wants(const char *event);

#endif
